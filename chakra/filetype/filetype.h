// The kind of a file: a table of chakra's kinds of files, of files that profilers write, and of other tools'
// files that chakra does not read. The first bytes or the first keys determine the kind; the name decides
// only if the contents cannot. A room that reads files must use this table instead of inspecting files.
// Importable workloads of other tools are recognized by the table of forms (room foreign).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::filetype {

enum class Group : uint8_t {
  trace = 1,      ///< chakra's: the forms of the room io
  recording = 2,  ///< a profiler's output
  other = 4       ///< another tool's file, which is named and rejected
};
inline constexpr unsigned kAllGroups = 7;

struct Words;

struct Row {
  std::string_view name;
  Group group;
  /// Whether the beginning of a file has this kind; null: only the name determines the kind. `words`: of the head.
  bool (*matches)(std::string_view head, Words words);
  bool marked = false;              ///< the beginning is sufficient, whatever follows
  std::string_view file_name = "";  ///< of kinds determined only by name
  std::string_view title = "";      ///< with its article: "a Kineto trace"
  std::string_view advice = "";     ///< advice about the file if another kind was expected
};

/// Bytes of the beginning, unpacked, that determine a kind; traces need fewer, since a pipe may deliver a trace slowly.
inline constexpr size_t kHead = size_t{1} << 16, kTraceHead = 4096;

/// Return the first kind among some groups (one or more, as bits) with a rule that fits the beginning.
/// Null if no rule fits, or if the file is another tool's and that group is not requested.
const Row* recognise(std::string_view head, unsigned groups);
inline const Row* recognise(std::string_view head, Group group) {
  return recognise(head, static_cast<unsigned>(group));
}
/// Recognize a file, packed or not, by its contents, then by its name. Errors: those of ByteSource.
Result<const Row*> recognise(const std::string& path, unsigned groups = kAllGroups);

/// Refuse a file where another kind is expected ("a recording"): "this is ..., not a recording; ... [kind.other]".
Failure refuse(const Row& row, std::string_view expected, std::string file);
/// Refuse a file of another tool; any other file passes. Errors: kind.other.
Result<void> refuse_others(std::string_view head, std::string_view expected, const std::string& file);

/// Whether the text begins like a JSON object with a member.
bool is_json_object(std::string_view head);
/// Return a string member near the beginning, without parsing the structure; empty if absent.
std::string_view member(std::string_view head, std::string_view key);

/// Return the text from the first non-blank byte on.
std::string_view trimmed(std::string_view text);

/// Whether the row is a dump of PyTorch's flight recorder, in either form.
inline bool is_flight_dump(const Row& row) { return row.name.starts_with("nccl-flight-"); }
/// The name of the row for the output of --json, which is not an input of any command.
inline constexpr std::string_view kResult = "result", kNsys = "nsys-sqlite", kRocprof = "rocprof-json",
                                  kRocpd = "rocpd-sqlite";
/// The kinds of other tools' files (others.cpp), in the order of recognition.
extern const std::span<const Row> kOthers;

inline constexpr std::string_view kContainerMagic = "CHAKRAJB";

}  // namespace chakra::filetype
