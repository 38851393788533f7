// Attributes of a node -> columns of a `Trace`. A table maps attributes to columns; the rest goes to Trace::attrs.
#pragma once

#include <array>
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
  std::optional<uint64_t> comm_bytes = {};
  int64_t pid = 0, device = 0;
  AttrList dep_kinds = {}, dep_lags = {};  ///< parallel to the data_deps
  Result<void> lists = {};                 ///< the first error in a list, io.et.damaged: ends the reading

  /// Prepare for the next node; lists keep their room.
  void begin(trace::NodeId node, int64_t default_pid) {
    row = node;
    for (auto* time_or_lane : {&start_ns, &duration_ns, &tid, &stream}) time_or_lane->reset();
    comm_bytes.reset();
    pid = default_pid;
    device = 0;
    dep_kinds.naturals.clear();
    dep_lags.integers.clear();
  }
};

/// Return the attribute for a trace, text still in the file's memory; std::nullopt for lists and missing values.
std::optional<trace::Attr> kept(const AttrRecord& attr, trace::Trace& trace);

struct AttrRow {
  using TakeNumber = bool (*)(uint64_t number, NodeDraft& node);

  std::string_view name;
  /// Take the attribute, or leave out an attribute with a value of a wrong type. Errors go to
  /// NodeDraft::lists, because a Result for each of millions of attributes costs time.
  void (*take)(const AttrRecord& attr, NodeDraft& node) = nullptr;
  /// The same for a number from 0 on, which nearly all values are; false: use `take`. Null: always use `take`.
  TakeNumber take_number = nullptr;
};

/// Puts attributes where the table requires. Nodes of a file mostly have the same attributes at the same places, so the
/// reader remembers the first bytes and the rows of some attributes for each place.
class AttrReader {
 public:
  /// Read one attribute. `place`: the index of the attribute in its node.
  void read(const AttrRecord& attr, size_t place, NodeDraft& node);
  /// Read the message of an attribute that begins like one that was read before. False: decode the message, and read
  /// the record.
  bool read_known(std::string_view message, size_t place, NodeDraft& node);

 private:
  struct Seen {
    std::array<char, 32> head{};   ///< the bytes before the value: the name as a field, and the tag of the value
    size_t head_size = 0;          ///< 0: a value of another coding, or a long name
    const AttrRow* row = nullptr;  ///< null: no row has the name
    uint64_t most = 0;             ///< the largest number that is the value of its varint
    uint32_t field = 0;            ///< the member
    bool dropped = false;          ///< whatever the value and the node
    bool is_text = false;          ///< or a list; else a varint
    std::string name;
  };
  static constexpr size_t kNames = 8;        ///< a place: nodes of different types have different attributes
  static constexpr size_t kMostPlaces = 64;  ///< later places share the memory of earlier ones
  std::vector<Seen> seen_;                   ///< by place, then by slot()
  size_t places_ = 0;

  /// By the name's size and last letter.
  static size_t slot(size_t size, char last) { return (size * 3 + static_cast<unsigned char>(last)) % kNames; }
  static void take(const Seen& known, uint64_t number, std::string_view text, NodeDraft& node);
  static void remember(const AttrRecord& attr, const NodeDraft& node, Seen& known);
};

}  // namespace chakra::io
