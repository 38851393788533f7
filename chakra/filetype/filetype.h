// What a file is: a table of the kinds of files that are ours, that a profiler wrote, or that other tools wrote and
// nobody here reads, each told by its first bytes or its first keys. By the name alone only where nothing else tells. A
// room that reads files asks here and does not look itself. Other tools' workloads that can be imported are told by the
// table of their forms (room foreign).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::filetype {

enum class Group : uint8_t {
  trace = 1,      ///< ours: the forms of the room io
  recording = 2,  ///< what a profiler wrote
  other = 4       ///< another tool's, which is named and refused
};
inline constexpr unsigned kAllGroups = 7;

struct Words;

struct Row {
  std::string_view name;
  Group group;
  /// Whether a file that begins like this has this kind; null: only its name tells. The words are those of the head.
  bool (*matches)(std::string_view head, Words words);
  bool marked = false;              ///< its beginning says it alone, whatever comes after
  std::string_view file_name = "";  ///< of kinds that only the name tells
  std::string_view title = "";      ///< with its article: "a Kineto trace"
  std::string_view advice = "";     ///< what to do with it, where something else was expected
};

/// Bytes of the beginning, unpacked, that a kind is told by; fewer do for traces, which may come slowly from a pipe.
inline constexpr size_t kHead = size_t{1} << 16, kTraceHead = 4096;

/// The first kind among some groups (one or more, as bits) whose rule fits the beginning; null if none does, or if it
/// is another tool's file and that group is not asked for.
const Row* recognise(std::string_view head, unsigned groups);
inline const Row* recognise(std::string_view head, Group group) {
  return recognise(head, static_cast<unsigned>(group));
}
/// The same of a file, packed or not; then by its name. Errors: those of ByteSource.
Result<const Row*> recognise(const std::string& path, unsigned groups = kAllGroups);

/// Refuse a file where something else is expected ("a recording"): "this is ..., not a recording; ... [kind.other]".
Failure refuse(const Row& row, std::string_view expected, std::string file);
/// Refuse a file of another tool; any other file passes. Errors: kind.other.
Result<void> refuse_others(std::string_view head, std::string_view expected, const std::string& file);

/// Whether the text begins as a JSON object with a member does.
bool is_json_object(std::string_view head);
/// The text of a string member near the beginning, without looking at the structure; empty if there is none.
std::string_view member(std::string_view head, std::string_view key);

/// From the first byte that is not blank on.
std::string_view trimmed(std::string_view text);

/// Whether it is a dump of PyTorch's flight recorder, in either form.
inline bool is_flight_dump(const Row& row) { return row.name.starts_with("nccl-flight-"); }
/// The name of the row of what --json writes, which is no input of anything.
inline constexpr std::string_view kResult = "result";
/// The kinds of other tools' files (others.cpp), in the order in which they are tried.
extern const std::span<const Row> kOthers;

inline constexpr std::string_view kContainerMagic = "CHAKRAJB";

}  // namespace chakra::filetype
