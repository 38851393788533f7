// What a communication node moves (comm_nodes.cpp).
#pragma once

#include <map>

#include "chakra/pytorch/linking.h"

namespace chakra::pytorch {

struct CommNode {
  trace::NodeType type = trace::NodeType::coll;
  trace::Comm comm;
};

class CommNodes {
 public:
  explicit CommNodes(Linking& l);

  /// Whether a device operation, or an operator, is a communication, and which.
  bool device(uint32_t op, CommNode& node);
  /// One of Linking::messages: always.
  bool message(uint32_t row, CommNode& node);
  bool host(uint32_t op, CommNode& node);
  /// Whether an operator of the host trace alone is one: record_param_comms, but for waits.
  bool record(uint32_t host_op, CommNode& node);

  /// Groups and sequence numbers, when all nodes are in the trace.
  void finish(trace::Trace& trace);

 private:
  void fill(CommNode& node, CommKind kind, const CommRecord& record, std::string_view tensors, std::string_view types,
            std::string_view backend);
  void ask_host(uint32_t op, CommRecord& record, std::string_view& tensors, std::string_view& types) const;
  void find_ends(CommRecord& record, CommKind kind, std::string_view annotation);
  trace::ProcessGroup* find_group(std::string_view name);  ///< null: not known yet
  StringId only_group(std::string_view backend);
  void note_group(const CommRecord& record);
  std::string libraries() const;
  static void number(std::span<trace::Comm* const> collectives);

  Linking& l_;
  std::vector<trace::ProcessGroup> groups_;
  StringId last_noted_ = 0;
  int64_t unnamed_groups_ = 0, size_unknown_ = 0;
  std::map<std::string_view, int64_t> size_unknown_of_;  ///< by library, of device operations
};

}  // namespace chakra::pytorch
