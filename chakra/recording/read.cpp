// The files of a recording as one, and what has to be said about how they were read.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/json/json.h"
#include "chakra/recording/kineto.h"
#include "chakra/recording/recording.h"

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
    error.text += "; --salvage links what is whole of it";
  return error;
}
template <class T>
Result<T> name_salvage(Result<T> result) {
  if (!result) return tl::unexpected<Error>(name_salvage(std::move(result.error())));
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
         fmt::format("the schema {} of the host trace is not known here; it was read by the names of its fields",
                     quote(r.host.schema)));
}

/// What the observer left open when it stopped.
void report_open(Recording& r, bool damaged) {
  const HostTrace::Open& open = r.host.open;
  if (open.nodes > 0)
    find(r, "pytorch.host.open_parent", Severity::warning,
         fmt::format("{} nodes of the host trace hang on the root of their thread, because {} not in the file ({} "
                     "first){}",
                     show_count(open.nodes),
                     open.parents == 1 ? std::string("their parent is")
                                       : fmt::format("their {} parents are", show_count(open.parents)),
                     open.first,
                     damaged || open.damaged
                         ? ""
                         : ": what has not ended when the observer stops is not written; stop it when the "
                           "step has ended"));
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
              "the host trace holds no operators: its observer did not run while the program did; start() it, or hand "
              "it to profile() as execution_trace_observer; a Kineto trace alone can be linked, too",
              {r.host.file});
}

Result<void> read_profile(Recording& r, ByteSource source, StringPool& strings, Arena& texts, const ReadOptions& o) {
  Salvage salvage;
  CHAKRA_ASSIGN(r.profile, name_salvage(read_kineto(std::move(source), strings, texts, o.shapes_wanted,
                                                    o.salvage ? &salvage : nullptr)));
  report_salvage(r, salvage);
  if (r.profile.unknown.count > 0)
    find(r, "pytorch.kineto.category", Severity::warning,
         fmt::format("{} device operations are of kinds not known here, {} first; they count as computation",
                     show_count(r.profile.unknown.count), quote(r.profile.unknown.category)));
  if (r.profile.begin_end > 0)
    find(r, "pytorch.kineto.begin_end", Severity::warning,
         fmt::format("{} records of separate beginnings and ends (\"ph\" B and E) were left out",
                     show_count(r.profile.begin_end)));
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
