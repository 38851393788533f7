// The data moved by a communication node (comm_nodes.cpp).
#pragma once

#include <map>

#include "chakra/link/linking.h"

namespace chakra::link {

struct CommNode {
  trace::NodeType type = trace::NodeType::coll;
  trace::Comm comm;
};

/// Fill in the missing fields of `to`.
void complete(CommRecord& to, const CommRecord& from);

class CommNodes {
 public:
  explicit CommNodes(Linking& l);

  /// Whether a device operation, or an operator, is a communication, and if so its node.
  bool device(uint32_t op, CommNode& node);
  /// Describe one of Comms::messages: always true.
  bool message(uint32_t row, CommNode& node);
  /// Describe an operator of the Kineto trace: one of Linking::host_comms.
  bool host(uint32_t op, CommNode& node);
  /// Whether an operator of the host trace alone is one of Linking::host_comms, or a record_param_comms except waits.
  bool record(uint32_t host_op, CommNode& node);

  /// Set groups and sequence numbers, after all nodes are in the trace.
  void finish(trace::Trace& trace);

 private:
  void fill(CommNode& node, CommKind kind, const CommRecord& record, std::string_view tensors, std::string_view types,
            std::string_view backend);
  void describe(CommNode& node, CommKind kind, const CommRecord& record, std::string_view dtype,
                std::string_view backend);
  void carried_out(const HostComm& comm, CommNode& node);
  void find_place(CommKind kind, CommRecord& record, int64_t place);
  void ask_host(uint32_t op, CommRecord& record, std::string_view& tensors, std::string_view& types) const;
  void find_ends(CommRecord& record, CommKind kind, std::string_view annotation);
  trace::ProcessGroup* find_group(std::string_view name);  ///< null: still unknown
  StringId only_group(std::string_view backend);
  void note_group(const CommRecord& record);
  void describe_only_group(const trace::Trace& trace);
  std::string libraries() const;
  static void number(std::span<trace::Comm* const> collectives);
  /// A collective, and its HostComm::turn; kNone: of another kind.
  struct Turn {
    uint32_t turn;
    trace::Comm* comm;
  };
  static void number_by_turn(std::span<const Turn> collectives);
  static void put_in_turn(std::vector<Turn>& collectives);

  Linking& l_;
  std::vector<trace::ProcessGroup> groups_;
  std::vector<uint32_t> turns_;                   ///< of the nodes described by host() and record()
  std::map<size_t, std::vector<int64_t>> peers_;  ///< by index in turns_: the possible peers of a message
  StringId last_noted_ = 0;
  int64_t unnamed_groups_ = 0, size_unknown_ = 0, lost_ = 0;
  uint64_t lost_bytes_ = 0;
  std::map<std::string_view, int64_t> size_unknown_of_;  ///< by library, of device operations
};

}  // namespace chakra::link
