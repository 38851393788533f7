// Attributes of a node -> columns of a `Trace`. A table maps attributes to columns; the rest goes to Trace::attrs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/io/records.h"

namespace chakra::io {

/// A node during reading: its row, and the values of attributes that are combined into columns.
struct NodeDraft {
  trace::Builder& builder;
  bool texts = false;  ///< ReadOptions::texts

  trace::NodeId row{0};
  std::optional<int64_t> start_ns = {}, duration_ns = {}, tid = {}, stream = {};
  int64_t pid = 0, device = 0;
  AttrList dep_kinds = {}, dep_lags = {};  ///< parallel to the data_deps
  Result<void> lists = {};                 ///< the first error in a list, io.et.damaged: ends the reading

  /// Prepare for the next node; lists keep their room.
  void begin(trace::NodeId node, int64_t default_pid) {
    row = node;
    for (auto* time_or_lane : {&start_ns, &duration_ns, &tid, &stream}) time_or_lane->reset();
    pid = default_pid;
    device = 0;
    dep_kinds.naturals.clear();
    dep_lags.integers.clear();
  }
};

/// Return the attribute for a trace, text still in the file's memory; std::nullopt for lists and missing values.
std::optional<trace::Attr> kept(const AttrRecord& attr, trace::Trace& trace);

struct AttrRow {
  std::string_view name;
  /// Take the attribute, or leave out an attribute with a value of a wrong type. Errors go to
  /// NodeDraft::lists, because a Result for each of millions of attributes costs time.
  void (*take)(const AttrRecord& attr, NodeDraft& node) = nullptr;
};

/// Puts attributes where the table requires. Nodes of a file mostly have the same attributes at the same places, so the
/// reader remembers the rows of some names for each place.
class AttrReader {
 public:
  /// Read one attribute. `place`: the index of the attribute in its node.
  void read(const AttrRecord& attr, size_t place, NodeDraft& node);

 private:
  struct Seen {
    std::string name;
    const AttrRow* row = nullptr;  ///< null: no row has the name
  };
  static constexpr size_t kNames = 8;  ///< a place: nodes of different types have different attributes
  std::vector<Seen> seen_;             ///< by place, then by the name's size and last letter
};

}  // namespace chakra::io
