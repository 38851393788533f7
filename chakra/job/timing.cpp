#include "chakra/job/timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/analyze/analyze.h"
#include "chakra/io/io.h"
#include "chakra/sim/sim.h"

namespace chakra::job {
namespace {

using result::Table;

constexpr size_t kTimingRowsShown = 24;

/// Per step, in the order of the first rank that has it: its span on the rank where it is the longest.
using StepTimes = std::vector<std::pair<std::string, Picoseconds>>;

StepTimes step_times(const trace::TraceSet& job) {
  StepTimes times;
  for (const trace::Trace& t : job.ranks) {
    const analyze::Steps steps = analyze::find_steps(t);
    const auto spans = analyze::step_spans(
        steps, [&](trace::NodeId n) { return t.start_ps[n]; },
        [&](trace::NodeId n) { return add_saturated(t.start_ps[n], t.dur_ps[n]); });
    for (size_t s = 0; s < spans.size(); ++s) {
      if (spans[s].length() == 0) continue;
      const auto found =
          std::find_if(times.begin(), times.end(), [&](const auto& time) { return time.first == steps.names[s]; });
      if (found == times.end()) times.emplace_back(steps.names[s], spans[s].length());
      else found->second = std::max(found->second, spans[s].length());
    }
  }
  return times;
}

Table steps_timing(const trace::TraceSet& recorded, std::span<const trace::TraceSet> replayed) {
  Table t{"steps, of the rank where each is the longest",
          {{"step", Table::Kind::text},
           {"span", Table::Kind::time_ps},
           {"span replayed", Table::Kind::time_ps},
           {"ratio", Table::Kind::text},
           {"noise", Table::Kind::text}},
          {}};
  std::vector<StepTimes> again;
  for (const trace::TraceSet& job : replayed) again.push_back(step_times(job));
  for (const auto& [name, was] : step_times(recorded)) {
    std::vector<Picoseconds> is;
    for (const StepTimes& times : again)
      for (const auto& [its, time] : times)
        if (its == name) is.push_back(time);
    if (is.empty()) continue;
    std::sort(is.begin(), is.end());
    const Picoseconds middle = analyze::percentile_of(is, 50);
    const auto share = [&](double of) { return std::round(of / static_cast<double>(was) * 1e4) / 1e4; };
    t.rows.push_back({name, was, middle, share(static_cast<double>(middle)),
                      is.size() < 2 ? Table::Cell(std::string())
                                    : Table::Cell(share(static_cast<double>(is.back() - is.front()) / 2))});
  }
  return t;
}

}  // namespace

Result<TimesCompared> compare_times(const trace::TraceSet& recorded, std::span<const trace::TraceSet> replayed,
                                    const match::GroupTable& groups) {
  TimesCompared out;
  CHAKRA_ASSIGN(const analyze::JobTiming was, analyze::timing_of(recorded, groups, out.findings));
  std::vector<analyze::JobTiming> is;
  for (const trace::TraceSet& job : replayed) {
    Findings again;  // of each repetition the same
    CHAKRA_ASSIGN(analyze::JobTiming timing, analyze::timing_of(job, groups, is.empty() ? out.findings : again));
    is.push_back(std::move(timing));
  }
  Table order = analyze::order_timing(recorded, replayed, out.findings);
  analyze::join_ranks(out.findings);
  out.tables = analyze::timing_tables(was, is);
  if (!order.rows.empty()) out.tables.push_back({"order", std::move(order)});
  if (Table steps = steps_timing(recorded, replayed); !steps.rows.empty())
    out.tables.push_back({"steps", std::move(steps)});
  out.sentence = analyze::largest_difference(was, is);
  return out;
}

Result<TimesCompared> compare_times(const std::string& recorded, const std::string& replayed) {
  CHAKRA_ASSIGN(const trace::TraceSet a, io::read_job(recorded, {.texts = true}));
  CHAKRA_ASSIGN(const trace::TraceSet b, io::read_job(replayed, {.texts = true}));
  return compare_times(a, std::span(&b, 1), {});
}

void add_parts(const TimesCompared& compared, result::Report& report) {
  report.parts.emplace_back(fmt::format("\n{}\n", compared.sentence));
  for (const result::NamedTable& t : compared.tables)
    if (!t.table.rows.empty()) report.parts.emplace_back(result::first_rows(t.table, kTimingRowsShown, "rows"));
  report.parts.emplace_back(result::Report::Found{compared.findings, false});
}

result::Json to_json(const TimesCompared& compared) {
  result::Json json{{"sentence", compared.sentence}};
  for (const result::NamedTable& t : compared.tables) json[t.name] = result::to_json(t.table);
  json["findings"] = result::to_json(compared.findings);
  return json;
}

}  // namespace chakra::job
