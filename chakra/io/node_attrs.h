// Attributes of a node -> columns of a `Trace`. A table says which attribute goes where; the rest goes to Trace::attrs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/io/records.h"

namespace chakra::io {

/// A node while it is read: its row, and the values of attributes that go into columns together with others.
struct NodeDraft {
  trace::Builder& builder;
  bool texts = false;  ///< ReadOptions::texts

  trace::NodeId row{0};
  std::optional<int64_t> start_ns = {}, duration_ns = {}, tid = {}, stream = {};
  int64_t pid = 0, device = 0;
  AttrList dep_kinds = {}, dep_lags = {};  ///< parallel to the data_deps
  Result<void> lists = {};                 ///< the first error in a list, io.et.damaged: reading ends then

  /// For the next node; lists keep their room.
  void begin(trace::NodeId node, int64_t default_pid) {
    row = node;
    for (auto* time_or_lane : {&start_ns, &duration_ns, &tid, &stream}) time_or_lane->reset();
    pid = default_pid;
    device = 0;
    dep_kinds.naturals.clear();
    dep_lags.integers.clear();
  }
};

/// What a trace keeps of an attribute, text still the file's; nothing for lists and what has no value.
std::optional<trace::Attr> kept(const AttrRecord& attr, trace::Trace& trace);

struct AttrRow {
  std::string_view name;
  /// Takes the attribute, or leaves it out where its value has a wrong type. Errors go to NodeDraft::lists: a Result
  /// for each of millions of attributes costs time.
  void (*take)(const AttrRecord& attr, NodeDraft& node) = nullptr;
};

/// Puts attributes where the table says. Nodes of a file mostly have the same attributes at the same places, so it
/// remembers which row was used last at each place.
class AttrReader {
 public:
  /// `place`: the attribute's among those of its node.
  void read(const AttrRecord& attr, size_t place, NodeDraft& node);

 private:
  struct Seen {
    std::string name;
    const AttrRow* row = nullptr;  ///< null: there is none
  };
  std::vector<Seen> seen_;  ///< by place
};

}  // namespace chakra::io
