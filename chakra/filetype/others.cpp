// The kinds of files that other tools write and that are neither recordings nor traces: each is named, so that nobody
// takes it for something else. To add one: its rule, its row, a line in kind_test.cpp.
#include <algorithm>
#include <array>

#include "chakra/filetype/filetype.h"
#include "chakra/filetype/words.h"

namespace chakra::filetype {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

template <size_t n>
bool contains_any(std::string_view text, const std::array<std::string_view, n>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(text, part); });
}

/// The next line that is neither blank nor a comment; `text` becomes the rest after it.
std::string_view next_line(std::string_view& text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && !line.starts_with('#') && !line.starts_with("//")) return line;
  }
  return {};
}

std::string_view next_word(std::string_view& line) {
  line = trimmed(line);
  const size_t end = std::min(line.find_first_of(kSpaces), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// ---- profiles
// --------------------------------------------------------------------------------------------------------

/// Kineto writes schemaVersion and deviceProperties, XLA's converter neither.
bool is_xla_chrome_trace(std::string_view, Words words) {
  return words.has(Word::trace_events) && !words.has(Word::kineto) && words.has(Word::xla);
}

bool is_xplane(std::string_view head, Words) {
  static constexpr std::array<std::string_view, 5> kPlanes{
      "/host:CPU", "/device:GPU:", "/device:TPU:", "/host:metadata", "/host:TFStreamz"};
  return head.starts_with('\x0a') && contains_any(head, kPlanes);
}

bool is_nccl_profile(std::string_view, Words words) {
  return words.has(Word::nccl_category) && words.has(Word::async_phase);
}

/// Of PyTorch's ProcessGroupNCCL (TORCH_NCCL_DUMP_ON_TIMEOUT and the like).
bool has_flight_keys(std::string_view head) {
  static constexpr std::array<std::string_view, 4> kKeys{"pg_config", "collective_seq_id", "pg_status",
                                                         "time_discovered_started_ns"};
  return contains_any(head, kKeys) && (contains(head, "version") || contains(head, "entries"));
}
bool is_flight_json(std::string_view head, Words words) {
  return words.is_object && words.has(Word::flight) && !words.has(Word::trace_events) && !words.has(Word::kineto) &&
         !words.has(Word::schema) && !words.has(Word::no_flight) && has_flight_keys(head);
}

/// Of protocols 0 and 1: a dict or list that is put into place 0 of the memo.
bool is_old_pickle(std::string_view head, Words) {
  using namespace std::string_view_literals;
  return head.starts_with("(dp0\n"sv) || head.starts_with("(lp0\n"sv) || head.starts_with("}q\0"sv) ||
         head.starts_with("]q\0"sv);
}
/// Protocols 2 to 5 begin with their number.
bool is_pickle(std::string_view head, Words) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
         contains(std::string_view("\x95}](c\x8c(X\x8a", 10), head.substr(2, 1));
}
bool is_flight_pickle(std::string_view head, Words) { return is_pickle(head, {}) && has_flight_keys(head); }
bool is_memory_snapshot(std::string_view head, Words) {
  static constexpr std::array<std::string_view, 3> kKeys{"device_traces", "allocator_settings", "segment_type"};
  return is_pickle(head, {}) && contains_any(head, kKeys);
}

bool is_sqlite(std::string_view head, Words) { return head.starts_with(std::string_view("SQLite format 3\0", 16)); }
bool is_nsys_sqlite(std::string_view head, Words) {
  static constexpr std::array<std::string_view, 4> kTables{"CUPTI_ACTIVITY_KIND", "NVTX_EVENTS", "TARGET_INFO_",
                                                           "META_DATA_EXPORT"};
  return is_sqlite(head, {}) && contains_any(head, kTables);
}
bool is_rocpd(std::string_view head, Words) { return is_sqlite(head, {}) && contains(head, "rocpd_info_process"); }

/// The only member of the file.
bool is_rocprof_json(std::string_view head, Words) {
  return is_json_object(head) && trimmed(trimmed(head).substr(1)).starts_with("\"rocprofiler-sdk-tool\"");
}

// ---- workloads and systems
// -------------------------------------------------------------------------------------------

/// "num_ranks 2", then "rank 0 {".
bool is_goal(std::string_view head, Words) {
  std::string_view line = next_line(head);
  return next_word(line) == "num_ranks" && is_number(next_word(line));
}

/// Each line a rank, an action and its numbers: "0 send 1 0 1000", "p0 send 1 1000".
bool is_tit(std::string_view head, Words) {
  static constexpr std::array<std::string_view, 26> kActions{
      "init",    "finalize", "compute",   "send",     "isend",      "recv",      "irecv",         "wait",    "waitall",
      "test",    "barrier",  "bcast",     "reduce",   "allreduce",  "alltoall",  "alltoallv",     "gather",  "gatherv",
      "scatter", "scatterv", "allgather", "sendrecv", "allgatherv", "comm_size", "reducescatter", "comm_dup"};
  int lines = 0;
  for (; lines < 4 && contains(head, "\n"); ++lines) {  // the last line may be cut
    std::string_view line = next_line(head);
    if (line.empty()) break;
    std::string_view rank = next_word(line);
    if (rank.starts_with('p')) rank.remove_prefix(1);
    const std::string action = to_lower(next_word(line));
    if (!is_number(rank) || std::find(kActions.begin(), kActions.end(), action) == kActions.end()) return false;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line))
      if (word.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return false;
  }
  return lines > 0;
}

bool is_infragraph(std::string_view head, Words words) {
  if (words.is_object)
    return words.has(Word::devices) && words.has(Word::instances) && words.has(Word::infragraph_part);
  const auto has_key = [&](std::string_view line, std::string_view behind) {
    return head.starts_with(line) || contains(head, behind);
  };
  return has_key("devices:", "\ndevices:") && has_key("instances:", "\ninstances:");
}

bool is_hlo_text(std::string_view head, Words) { return trimmed(head).starts_with("HloModule "); }
/// A message whose first field is a module, which begins with its name; a parameter or a constant is among the first
/// instructions.
bool is_hlo_proto(std::string_view head, Words) {
  if (!head.starts_with('\x0a') || !(contains(head, "\x12\x09parameter") || contains(head,
                                                                                     "\x12\x08"
                                                                                     "constant")))
    return false;
  const auto end = std::find_if(head.begin() + 1, head.end(), [](char byte) { return (byte & '\x80') == 0; });
  return end != head.end() && end + 1 != head.end() && *(end + 1) == '\x0a';
}
bool is_mlir(std::string_view head, Words) {
  if (head.starts_with("ML\xefR")) return true;  // in bytes
  const std::string_view text = trimmed(head);
  return (text.starts_with("module ") || text.starts_with("#loc")) && contains(head, "func.func");
}

bool is_zip(std::string_view head, Words) { return head.starts_with(std::string_view("PK\3\4", 4)); }

// ---- what this command writes
// ------------------------------------------------------------------------------------------

/// By --json: two blanks, and a first key that no recording or trace begins with.
bool is_result(std::string_view head, Words words) {
  static constexpr std::array<std::string_view, 8> kFirst{"\"ranks\"", "\"ok\"",   "\"mode\"",      "\"path\"",
                                                          "\"a\"",     "\"file\"", "\"before_ps\"", "\"checks\""};
  if (!head.starts_with("{\n  ") || words.has(Word::schema)) return false;  // a job by classes has a schema
  head.remove_prefix(4);
  return std::any_of(kFirst.begin(), kFirst.end(), [&](std::string_view key) {
    return head.starts_with(key) && head.substr(key.size()).starts_with(": ");
  });
}
bool is_timeline(std::string_view head, Words) {
  return head.starts_with(
      "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", ");
}

constexpr std::string_view kRecord = "'chakra link' reads PyTorch recordings (torch.profiler, ExecutionTraceObserver)";

constexpr std::string_view kLinkXla = "'chakra link' makes traces of it",
                           kImportXla = "'chakra import' makes traces of it";

constexpr std::string_view kHangs = "'chakra check' reports the rank that hangs";

constexpr Row other(std::string_view name, std::string_view title, bool (*matches)(std::string_view, Words),
                    std::string_view advice = "") {
  return {.name = name, .group = Group::other, .matches = matches, .title = title, .advice = advice};
}

/// A row with a stricter rule stands before those that it is a case of.
constexpr Row kRows[] = {
    other("nccl-flight-json", "an NCCL flight recorder dump (JSON)", is_flight_json, kHangs),
    other("nccl-flight-pickle", "an NCCL flight recorder dump (pickle)", is_flight_pickle, kHangs),
    other("torch-memory", "a memory snapshot of PyTorch (pickle)", is_memory_snapshot, kRecord),
    other("pickle", "a Python pickle", is_pickle, kRecord),
    other("old-pickle", "a Python pickle of protocol 0 or 1", is_old_pickle, "write it with protocol 2 or later"),
    other("nccl-profile", "an NCCL profiler trace (JSON)", is_nccl_profile, kRecord),
    other("xla-chrome", "a Chrome trace of JAX, XLA or TensorFlow", is_xla_chrome_trace,
          "give 'chakra link' the .xplane.pb beside the file, or this file with dumps of the programs"),
    other("xplane", "a profile of JAX, XLA or TensorFlow (XPlane)", is_xplane, kLinkXla),
    {.name = kNsys,
     .group = Group::recording,
     .matches = is_nsys_sqlite,
     .title = "an export of Nsight Systems (SQLite)",
     .advice = "'chakra link' makes a trace of it"},
    {.name = kRocpd,
     .group = Group::recording,
     .matches = is_rocpd,
     .title = "a database of rocprofv3 (rocpd)",
     .advice = "'chakra link' makes a trace of it"},
    {.name = kRocprof,
     .group = Group::recording,
     .matches = is_rocprof_json,
     .title = "an output of rocprofv3 (JSON)",
     .advice = "'chakra link' makes a trace of it"},
    other("sqlite", "an SQLite database", is_sqlite),
    other("goal", "a GOAL schedule (LogGOPSim, ATLAHS)", is_goal),
    other("tit", "a time-independent trace of SMPI (SimGrid)", is_tit),
    other("infragraph", "an InfraGraph description", is_infragraph, "--network takes the file as a network"),
    other("hlo", "an HLO module (text)", is_hlo_text, kImportXla),
    other("hlo-proto", "an HLO module (protobuf)", is_hlo_proto, kImportXla),
    other("mlir", "an MLIR module", is_mlir),
    other(kResult, "a result of chakra (--json)", is_result),
    other("timeline", "a timeline of 'chakra view'", is_timeline),
    other("zip", "a zip archive", is_zip, "unpack it first"),
};

}  // namespace

constinit const std::span<const Row> kOthers = kRows;

}  // namespace chakra::filetype
