// What a file is: a table of the kinds of files that are read, each told by its first bytes or its first keys. By the
// name alone only where nothing else tells. A room that reads files asks here and does not look itself.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::kind {

enum class Group : uint8_t {
  trace = 1,     ///< ours: the forms of the room io
  workload = 2,  ///< of other tools: the forms of the room foreign
  recording = 4  ///< what a profiler wrote
};
inline constexpr unsigned kAllGroups = 7;

struct Row {
  std::string_view name;
  Group group;
  /// Whether a file that begins like this has this kind; null: only its name tells.
  bool (*matches)(std::string_view head);
  std::string_view file_name;  ///< of kinds that only the name tells
};

bool is_container(std::string_view head);
bool is_json(std::string_view head);
bool is_json_lines(std::string_view head);
bool is_eg(std::string_view head);
bool is_et(std::string_view head);
bool is_text(std::string_view head);
bool is_flexflow(std::string_view head);
bool is_msccl(std::string_view head);
bool is_feeder_json(std::string_view head);
bool is_linked_json(std::string_view head);
bool is_host_trace(std::string_view head);
bool is_kineto(std::string_view head);

/// In the order in which they are tried. The two that are protobuf come last: any bytes may look like a message by
/// chance.
inline constexpr std::array<Row, 13> kKinds{{
    {"container", Group::trace, is_container, ""},
    {"json", Group::trace, is_json, ""},
    {"jsonl", Group::trace, is_json_lines, ""},
    {"text", Group::workload, is_text, ""},
    {"flexflow", Group::workload, is_flexflow, ""},
    {"msccl", Group::workload, is_msccl, ""},
    {"feeder-json", Group::workload, is_feeder_json, ""},
    {"linked-json", Group::workload, is_linked_json, ""},
    {"host", Group::recording, is_host_trace, ""},
    {"kineto", Group::recording, is_kineto, ""},
    {"eg", Group::trace, is_eg, ""},
    {"et", Group::trace, is_et, ""},
    {"ranks", Group::trace, nullptr, "ranks.json"},
}};

/// Bytes of the beginning, unpacked, that a kind is told by; fewer do for traces, which may come slowly from a pipe.
inline constexpr size_t kHead = size_t{1} << 16, kTraceHead = 4096;

/// The first kind among some groups (one or more, as bits) whose rule fits the beginning; null if there is none.
const Row* recognise(std::string_view head, unsigned groups);
inline const Row* recognise(std::string_view head, Group group) {
  return recognise(head, static_cast<unsigned>(group));
}
/// The same of a file, packed or not; then by its name. Errors: those of ByteSource.
Result<const Row*> recognise(const std::string& path, unsigned groups = kAllGroups);

/// Whether the text begins as a JSON object with a member does.
bool is_json_object(std::string_view head);
/// The text of a string member near the beginning, without looking at the structure; empty if there is none.
std::string_view member(std::string_view head, std::string_view key);

inline constexpr std::string_view kContainerMagic = "CHAKRAJB";
/// With what a workload of ASTRA-sim 1.0 begins.
inline constexpr std::array<std::string_view, 11> kTextPolicies{
    "MICRO",
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_TRANSFORMER",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "HYBRID_CUSTOMIZED",
    "DISTRIBUTED_INFERENCE",
};

}  // namespace chakra::kind
