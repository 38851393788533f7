// Trace -> Trace: hide names and ids, and restore the names of a hidden trace.
//
// An allow-list decides: members, attributes, names and words that are not on the list do not reach the result. Times,
// sizes, shapes, edges, kinds of operations and places in groups stay, so a simulation takes the same time. Readers
// can still conclude the model from sizes and structure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// What the caller decides. All functions can be called by several threads.
struct Hiding {
  bool (*is_public_name)(std::string_view text) = nullptr;  ///< names that are the same in every recording stay
  bool (*is_public_word)(std::string_view text) = nullptr;  ///< words and numbers of lists that stay
  std::string_view (*public_device)(std::string_view device) = nullptr;  ///< published name of a device, or empty
  std::function<std::string(std::string_view kind, std::string_view text)> token;  ///< 20 digits,
                                                                                   ///< unique for kind and text
  std::string mark;                                                                ///< of the job, for kHiddenMark
  int64_t zero_ns = 0;  ///< the new zero of times since 1970; no start of the job is before this time
  /// What the copy hides. 1: names; 2: also shapes, arguments, and attributes that show sizes (hide_sizes() shows other
  /// sizes); 3: also the number of layers (hide_layers()).
  int64_t level = 1;
};

/// By hidden name, the text that the name stands for.
using HiddenTexts = std::map<std::string, std::string, std::less<>>;

/// What was hidden. Sums over ranks by add().
struct Hidden {
  int64_t names = 0;       ///< nodes with a hidden name
  int64_t words = 0;       ///< words of lists that became "?"
  int64_t edges = 0;       ///< references to absent nodes and other defects of the file, which are left out
  bool has_tiers = false;  ///< names of storage tiers were hidden
  std::map<std::string, int64_t, std::less<>> dropped;  ///< attributes that were removed, by name: how often
  HiddenTexts texts;

  /// Errors: edit.hide.equal (two texts have one token).
  Result<void> add(Hidden&& other);
};

/// The name of the metadata attribute that marks a hidden job.
inline constexpr std::string_view kHiddenMark = "chakra_hidden";
/// The name of the metadata attribute with the level of a hidden job; without it, the level is 1.
inline constexpr std::string_view kHiddenLevel = "chakra_hidden_level";

/// Hide the trace of a rank. Nodes keep their order. Ids of nodes, processes and threads become their places in
/// ascending order. Names become KIND.TOKEN (work/hidden_names.h), names of groups ROLE.TOKEN or group.TOKEN.
/// Errors: edit.hide.time (a start before `zero_ns`), edit.hide.equal. Cost: O(nodes + edges + text).
Result<trace::Trace> hide(const trace::Trace& trace, const Hiding& hiding, Hidden& hidden);
/// Hide the traces of a job by classes, its groups and its slots. Errors and cost: as for hide() of each class.
Result<trace::ClassJob> hide(const trace::ClassJob& job, const Hiding& hiding, Hidden& hidden);

/// Restore the names of nodes, groups, slots and tiers of a hidden trace. Everything else stays hidden. Errors:
/// edit.reveal.unknown (a hidden name that `texts` does not have). Cost: O(nodes + text).
Result<trace::Trace> reveal(const trace::Trace& trace, const HiddenTexts& texts);
Result<trace::ClassJob> reveal(const trace::ClassJob& job, const HiddenTexts& texts);

// ---- the map of hidden names, as bytes
// -------------------------------------------------------------------------------

struct HiddenMap {
  std::string mark;  ///< of the job
  HiddenTexts texts;
};
/// Return the bytes: the line "chakra-names-1", the line of the mark, then for each text the hidden name and the text,
/// each behind its size in bytes as four bytes, the lowest first. Requires a mark in one line. Cost: O(bytes).
std::string to_bytes(const HiddenMap& map);
/// Errors: edit.names.form. Cost: O(bytes).
Result<HiddenMap> parse_hidden_map(std::string_view bytes, const std::string& file);

}  // namespace chakra::edit
