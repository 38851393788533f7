// Writes the contents of a node: name, type, attributes, communication, work (node_writer.cpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "chakra/link/comm_nodes.h"
#include "chakra/link/linking.h"

namespace chakra::link {

/// The nodes of items and host operators.
struct Numbering {
  struct Origin {
    Item::Kind kind;
    uint32_t record;
  };
  std::vector<Origin> origins;  ///< per node
  std::vector<trace::NodeId> node_of_item, node_of_host;
  uint32_t nodes() const { return static_cast<uint32_t>(origins.size()); }
};

/// For calls with recorded times that differ from the times of the pieces: how much later the pieces begin.
using LateCalls = std::map<uint32_t, int64_t>;

class NodeWriter {
 public:
  NodeWriter(Linking& l, trace::Builder& builder);

  /// Write one node; call in order. Requires that the trace has a row per node in each column but attr_begin.
  void write(trace::NodeId node, const Numbering& numbering, const LateCalls& late_calls);
  /// Set groups and sequence numbers, after all nodes are in the trace.
  void finish(trace::Trace& trace) { comms_.finish(trace); }

 private:
  /// Write a later piece of an operator or a device operation.
  void write_rest(trace::NodeId node, StringId name);
  bool write_record(trace::NodeId node, const Numbering& numbering, CommNode& comm);
  bool write_op(trace::NodeId node, uint32_t record, const Numbering& numbering, CommNode& comm);
  bool write_untimed(trace::NodeId node, uint32_t record, const Numbering& numbering, CommNode& comm);
  bool write_message(trace::NodeId node, uint32_t record, CommNode& comm);
  bool write_device_op(trace::NodeId node, uint32_t record, CommNode& comm);
  void write_call(uint32_t record, const LateCalls& late_calls);
  void write_inside(uint32_t record);
  void host_attrs(trace::NodeId node, uint32_t h, const Numbering& numbering);
  void source(std::optional<uint64_t> host_id, std::optional<int64_t> byte);
  void put_work(trace::NodeId node, const NodeWork& work, int64_t begin_ns, int64_t duration_ns);
  void put_device_work(trace::NodeId node, uint32_t record);

  struct Names {
    StringId fw_parent, seq_id, scope, fw_tid, op_schema, bytes, call_late_ns, call_dur_ns, inside_dur_ns;
    StringId host_gap, remainder, initial, unrecorded, correlation, source, rf_id, kernel, module, annotation, shapes;
    explicit Names(StringPool& s);
  };

  Linking& l_;
  const Profile& p_;
  trace::Builder& b_;
  trace::Trace& t_;
  CommNodes comms_;
  std::vector<StringId> modules_;  ///< by device operation, the path of modules around its launch
  Names names_;
  std::string text_;
};

}  // namespace chakra::link
