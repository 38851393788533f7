#include "chakra/job/dumps.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/filetype/filetype.h"

namespace chakra::job {
namespace {

/// A finding of linking about `count` nodes, of which `left` are left.
void correct(Findings& findings, std::string_view tag, int64_t& count, int64_t filled, std::string_view text) {
  if (count == 0 || filled == 0) return;
  count = std::max<int64_t>(0, count - filled);
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.tag == tag; });
  if (found == findings.end()) return;
  if (count == 0) findings.erase(found);
  else found->text = fmt::format("{} communications {}", show_count(count), text);
}

}  // namespace

bool is_dump_file(const std::string& path) {
  if (!is_file(path)) return false;
  const Result<const filetype::Row*> row = filetype::recognise(path, static_cast<unsigned>(filetype::Group::other));
  return row && *row && filetype::is_flight_dump(**row);
}

std::map<int64_t, flight::Dump> read_dumps_beside(const std::vector<std::string>& paths, Findings& findings) {
  std::map<int64_t, flight::Dump> dumps;
  if (paths.empty()) return dumps;
  Result<flight::Dumps> read = flight::read_dumps(paths);
  if (!read) {
    findings.push_back(
        {read.error().tag, Severity::warning, -1, -1,
         fmt::format("{}: {}; nothing is taken from the dumps", read.error().place.text(), read.error().text)});
    return dumps;
  }
  for (Finding& finding : read->findings) {
    finding.severity = std::min(finding.severity, Severity::warning);
    findings.push_back(std::move(finding));
  }
  for (flight::Dump& dump : read->ranks) dumps.emplace(dump.rank, std::move(dump));
  return dumps;
}

// `flight.beside.rank` (note): dumps of ranks without a recording; they are left out.
void find_unused_dumps(const std::map<int64_t, flight::Dump>& dumps, const std::vector<int64_t>& ranks,
                       Findings& findings) {
  std::string others;
  for (const auto& [rank, dump] : dumps)
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
      others += fmt::format("{}{}", others.empty() ? "" : ", ", rank);
  if (!others.empty())
    findings.push_back(
        {"flight.beside.rank", Severity::note, -1, -1,
         fmt::format("the dumps of these ranks are left out, since they have no recording here: {}", others)});
}

void fill_from_dump(trace::Trace& trace, const flight::Dump& dump, link::LinkingReport& report) {
  const flight::Filled filled = flight::fill_beside(trace, dump, report.counted_groups, report.findings);
  report.comm_bytes = add_bytes(report.comm_bytes, filled.bytes);
  correct(report.findings, "pytorch.comm.size_unknown", report.comm_without_size, filled.sizes,
          "do not say how much they move, nor does a dump; they count as 0 bytes");
  correct(report.findings, "pytorch.comm.group_unknown", report.comm_without_group, filled.groups,
          "do not say in which of several groups they are, nor does a dump");
}

}  // namespace chakra::job
