// The files of a recording as one, and what has to be said about how they were read.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/filetype/filetype.h"
#include "chakra/json/json.h"
#include "chakra/recording/export_tools.h"
#include "chakra/recording/kineto.h"
#include "chakra/recording/recording.h"
#include "chakra/recording/rocprof.h"

namespace chakra::recording {
namespace {

void find(Recording& r, std::string tag, Severity severity, std::string sentence) {
  r.findings.push_back({std::move(tag), severity, -1, -1, std::move(sentence)});
}

/// The error, and what to do about it, where it is one of damaged records.
Error name_salvage(Error error) {
  if (error.tag == "pytorch.json.syntax" || error.tag == "pytorch.json.encoding")
    error.text +=
        "; PyTorch does not escape quotes, backslashes and control characters in the names of annotations; "
        "--salvage leaves such records out and counts them";
  else if (error.tag == "pytorch.json.truncated" || error.tag == "base.gzip.truncated" ||
           error.tag == "base.zstd.truncated")
    error.text += "; --salvage links the intact part";
  return error;
}
template <class T>
Result<T> name_salvage(Result<T> result) {
  if (!result) return Failure(name_salvage(std::move(result.error())));
  return result;
}

void report_salvage(Recording& r, const Salvage& salvage) {
  r.left_out += salvage.left_out;
  if (salvage.left_out > 0)
    find(
        r, "pytorch.salvaged", Severity::warning,
        fmt::format("{} records were left out; the first: {}", show_count(salvage.left_out), salvage.first->message()));
}

/// Fields are found by name, so another version may do; but the reader of the report should know.
void report_schema(Recording& r) {
  if (std::find(kHostSchemas.begin(), kHostSchemas.end(), r.host.schema) == kHostSchemas.end())
    find(r, "pytorch.host.schema", Severity::note,
         fmt::format("unknown schema {} of the host trace; it was read by the names of its fields",
                     quote(r.host.schema)));
}

/// What the observer left open when it stopped.
void report_open(Recording& r, bool damaged) {
  const HostTrace::Open& open = r.host.open;
  if (open.nodes > 0)
    find(r, "pytorch.host.open_parent", Severity::warning,
         fmt::format(
             "{} nodes of the host trace are attached to the root of their thread, because {} not in the file ({} "
             "first){}",
             show_count(open.nodes),
             open.parents == 1 ? std::string("their parent is")
                               : fmt::format("their {} parents are", show_count(open.parents)),
             open.first,
             damaged || open.damaged ? ""
                                     : ": the observer does not write operators that are still running when it stops; "
                                       "stop it after the step has ended"));
}

Result<void> read_host(Recording& r, ByteSource source, StringPool& strings, Arena& texts, const ReadOptions& o) {
  Salvage salvage;
  CHAKRA_ASSIGN(r.host,
                name_salvage(read_host_trace(std::move(source), strings, texts, o.salvage ? &salvage : nullptr)));
  report_salvage(r, salvage);
  report_schema(r);
  report_open(r, salvage.left_out > 0);
  r.has_host = true;
  if (r.host.op_count > 0) return {};
  return fail(Code::bad_input, "pytorch.host.nothing",
              "the host trace holds no operators: its observer was not active; start() it, or pass it to profile() as "
              "execution_trace_observer; a Kineto trace can also be linked alone",
              {r.host.file});
}

/// Times that cannot be, and duplicate records.
// `kineto.no_duration` (warning): records without "dur", which count as 0
void report_times(Recording& r, const StringPool& strings) {
  const Profile& p = r.profile;
  if (const int64_t count = p.no_time.host + p.no_time.device; count > 0) {
    find(r, "kineto.no_time", Severity::warning,
         fmt::format("{} records were left out, because the profiler did not fill their time ({} device operations, {} "
                     "operators and calls; first {} at byte {})",
                     show_count(count), show_count(p.no_time.device), show_count(p.no_time.host),
                     quote(strings[p.no_time.name]), p.no_time.byte));
    r.findings.back().facts = {{"device_ops", p.no_time.device}, {"host_records", p.no_time.host}};
  }
  if (const int64_t count = p.no_duration.host + p.no_duration.device; count > 0) {
    find(r, "kineto.no_duration", Severity::warning,
         fmt::format("the durations (\"dur\") of {} are missing, and count as 0 ({} on devices; first {} at byte {})",
                     show_count(count, "record"), show_count(p.no_duration.device), quote(strings[p.no_duration.name]),
                     p.no_duration.byte));
    r.findings.back().facts = {{"device_ops", p.no_duration.device}, {"host_records", p.no_duration.host}};
  }
  if (const int64_t count = p.repeats.host + p.repeats.device; count > 0) {
    find(r, "kineto.repeated", Severity::warning,
         fmt::format("{} records were left out, because they repeat others: equal in name, place, times and ids ({} "
                     "device operations, {} operators and calls; first {} at byte {})",
                     show_count(count), show_count(p.repeats.device), show_count(p.repeats.host),
                     quote(strings[p.repeats.name]), p.repeats.byte));
    r.findings.back().facts = {{"device_ops", p.repeats.device}, {"host_records", p.repeats.host}};
  }
  if (const Profile::Overrun& o = p.overruns; o.count > 0) {
    const trace::Lane& stream = p.streams[o.lane];
    find(r, "device.overrun", Severity::warning,
         fmt::format("{} device operations last beyond the end of later operations of their stream; each was clipped "
                     "to the next start. The longest is {} on device {}, stream {}: {} recorded, {} kept (byte {})",
                     show_count(o.count), quote(strings[o.name]), stream.process, stream.index,
                     show_time(std::min(o.dur_ns, INT64_MAX / kPsPerNs) * kPsPerNs), show_time(o.clipped_ns * kPsPerNs),
                     o.byte));
    r.findings.back().facts = {{"device_ops", o.count}};
  }
}

/// A process recorded itself: records of several were put into one file by a tool.
Result<void> refuse_two_ranks(const Profile& p, const StringPool& strings) {
  std::vector<char> runs(p.threads.size(), 0);
  for (const CpuOp& op : p.ops) runs[op.lane] |= !op.annotation;
  for (const RuntimeCall& call : p.calls) runs[call.lane] = 1;
  std::vector<std::string> processes;
  const auto add = [&](std::string name) {
    if (std::find(processes.begin(), processes.end(), name) == processes.end()) processes.push_back(std::move(name));
  };
  for (size_t thread = 0; thread < p.threads.size(); ++thread) {
    const int64_t pid = p.threads[thread].process;
    if (runs[thread]) add(pid < 0 ? quote(strings[static_cast<StringId>(-1 - pid)], 40) : std::to_string(pid));
  }
  if (processes.size() < 2) {
    processes.clear();
    for (const std::string& pids : p.stream_pids)
      if (const size_t comma = pids.find(", "); comma != std::string::npos) {
        add(quote(pids.substr(0, comma), 40));
        add(quote(pids.substr(comma + 2), 40));
      }
  }
  if (processes.size() < 2) return {};
  constexpr size_t kNamed = 8;
  std::string names;
  for (size_t i = 0; i < std::min(processes.size(), kNamed); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 == processes.size() ? " and " : ", ", processes[i]);
  if (processes.size() > kNamed) names += fmt::format(" and {} more", processes.size() - kNamed);
  return fail(Code::bad_input, "kineto.two_ranks",
              fmt::format("the file holds the records of {} processes, {}: a tool merged the ranks into one file; link "
                          "the original files of the ranks",
                          processes.size(), names),
              {p.file});
}

// `pytorch.kineto.world` (warning): distributedInfo has a rank outside of its world_size
// `recording.database` (1): an SQLite database without the tables of a known profiler
Result<void> read_profile(Recording& r, ByteSource source, StringPool& strings, Arena& texts, const ReadOptions& o) {
  CHAKRA_ASSIGN(const std::string_view head, source.peek(sqlite::kMagic.size()));
  if (head == sqlite::kMagic) {  // SQLite reads the file itself
    CHAKRA_ASSIGN(const sqlite::Database database, sqlite::Database::open(source.file()));
    CHAKRA_ASSIGN(const ExportTool* const tool, export_tool_of(database));
    if (!tool)
      return fail(Code::bad_input, "recording.database", "the SQLite database has tables of an unknown program",
                  {source.file()});
    CHAKRA_ASSIGN(r.profile, tool->read(database, o.choice, strings, r.findings));
    report_times(r, strings);
    return {};
  }
  CHAKRA_ASSIGN(const std::string_view begin, source.peek(filetype::kTraceHead));
  if (is_rocprof(begin)) {
    CHAKRA_ASSIGN(r.profile, read_rocprof(std::move(source), strings, r.findings));
    report_times(r, strings);
    return {};
  }
  Salvage salvage;
  CHAKRA_ASSIGN(r.profile, name_salvage(read_kineto(std::move(source), strings, texts, o.shapes_wanted,
                                                    o.salvage ? &salvage : nullptr)));
  CHAKRA_TRY(refuse_two_ranks(r.profile, strings));
  report_salvage(r, salvage);
  if (r.profile.unknown.count > 0)
    find(r, "pytorch.kineto.category", Severity::warning,
         fmt::format("{} device operations are of unknown kinds, the first is {}; they count as computation",
                     show_count(r.profile.unknown.count), quote(r.profile.unknown.category)));
  if (r.profile.begin_end > 0)
    find(r, "pytorch.kineto.begin_end", Severity::warning,
         fmt::format("{} records of separate beginnings and ends (\"ph\" B and E) were left out",
                     show_count(r.profile.begin_end)));
  if (const auto& p = r.profile; p.world_size > 0 && p.rank >= p.world_size)
    find(r, "pytorch.kineto.world", Severity::warning,
         fmt::format("distributedInfo has the rank {} and a world_size of {}; the rank counts, and the world is larger",
                     p.rank, p.world_size));
  report_times(r, strings);
  return {};
}

}  // namespace

Result<Recording> read_recording(std::optional<ByteSource> host, std::optional<ByteSource> profile, StringPool& strings,
                                 Arena& texts, const ReadOptions& options) {
  Recording recording;
  if (host) CHAKRA_TRY(read_host(recording, std::move(*host), strings, texts, options));
  if (profile) CHAKRA_TRY(read_profile(recording, std::move(*profile), strings, texts, options));
  return recording;
}

}  // namespace chakra::recording
