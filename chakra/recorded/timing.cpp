#include "chakra/recorded/timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "chakra/analyze/analyze.h"
#include "chakra/base/quantile.h"
#include "chakra/io/io.h"
#include "chakra/sim/sim.h"

namespace chakra::recorded {
namespace {

using answer::Missing;
using result::Table;

constexpr std::array kPaths{answer::column<&TimesCompared::recorded>(
                                "recorded", answer::Unit::none, "the job whose times the others are compared with"),
                            answer::column<&TimesCompared::replayed>("replayed", answer::Unit::none, "the other job")};

constexpr std::array<view::Show, 4> kTimingText{{
    {.line = "recorded: {recorded}\nreplayed: {replayed}\n"},
    {.line = "{sentence}"},
    {.table = "*", .first = 24},
    {.findings = true},
}};

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
          {{"step", Table::Kind::text, "step", "name of the step"},
           {"span", Table::Kind::time_ps, "span_ps", "its time"},
           {"span replayed", Table::Kind::time_ps, "span_replayed_ps", "the same of the replay"},
           {"ratio", Table::Kind::real, "ratio", "span replayed / span"},
           {"noise", Table::Kind::real, "noise", "half the range over repetitions / span", Missing::empty}},
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
    const Picoseconds middle = whole_quantile(is, 0.5);
    const auto share = [&was = was](double of) { return std::round(of / static_cast<double>(was) * 1e4) / 1e4; };
    t.rows.push_back({name, was, middle, share(static_cast<double>(middle)),
                      is.size() < 2 ? Table::Cell(std::string())
                                    : Table::Cell(share(static_cast<double>(is.back() - is.front()) / 2))});
  }
  return t;
}

std::vector<result::NamedTable> all_tables(const analyze::JobTiming& was, const std::vector<analyze::JobTiming>& is,
                                           const trace::TraceSet& recorded, std::span<const trace::TraceSet> replayed,
                                           Findings& findings) {
  std::vector<result::NamedTable> tables = analyze::timing_tables(was, is);
  tables.push_back({"order", analyze::order_timing(recorded, replayed, findings)});
  tables.push_back({"steps", steps_timing(recorded, replayed)});
  return tables;
}

/// Leaves those ranks that all jobs have, by which alone they can be compared.
// `analyze.timing.alone` (warning): ranks that one of two compared jobs lacks; they are in no figure
// `analyze.timing.ranks` (1): two compared jobs have no rank in common
Result<void> leave_common_ranks(trace::TraceSet& recorded, std::vector<trace::TraceSet>& replayed, Findings& findings) {
  std::set<int64_t> common, all;
  for (const trace::Trace& t : recorded.ranks) all.insert(t.rank);
  common = all;
  for (const trace::TraceSet& job : replayed) {
    for (const trace::Trace& t : job.ranks) all.insert(t.rank);
    std::erase_if(common, [&](int64_t rank) { return !job.find(rank); });
  }
  if (common.empty())
    return fail(Code::bad_input, "analyze.timing.ranks",
                "the two jobs have no rank in common, so nothing can be compared");
  if (common.size() == all.size()) return {};
  std::vector<int64_t> alone;
  std::set_difference(all.begin(), all.end(), common.begin(), common.end(), std::back_inserter(alone));
  findings.push_back({"analyze.timing.alone", Severity::warning, -1, -1,
                      fmt::format("{} of {} ranks are in one job only, the first is rank {}: they are in no figure",
                                  alone.size(), all.size(), alone[0])});
  const auto leave = [&](trace::TraceSet& job) {
    std::erase_if(job.ranks, [&](const trace::Trace& t) { return !common.contains(t.rank); });
  };
  leave(recorded);
  std::for_each(replayed.begin(), replayed.end(), leave);
  return {};
}

/// Add findings of one job, each with its number of ranks, unless another job has the same.
void add_new(Findings& findings, Findings more) {
  for (Finding& finding : more) {
    const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
      return f.tag == finding.tag && f.text == finding.text && f.rank == finding.rank;
    });
    if (!known) findings.push_back(std::move(finding));
  }
}

}  // namespace

Result<TimesCompared> compare_times(trace::TraceSet recorded, std::vector<trace::TraceSet> replayed,
                                    const match::GroupTable& groups) {
  TimesCompared out;
  CHAKRA_TRY(leave_common_ranks(recorded, replayed, out.findings));
  Findings of_recorded, of_order;
  CHAKRA_ASSIGN(const analyze::JobTiming was, analyze::timing_of(recorded, groups, of_recorded));
  add_new(out.findings, std::move(of_recorded));
  std::vector<analyze::JobTiming> is;
  for (const trace::TraceSet& job : replayed) {
    Findings of_job;
    CHAKRA_ASSIGN(analyze::JobTiming timing, analyze::timing_of(job, groups, of_job));
    if (is.empty()) add_new(out.findings, std::move(of_job));  // of each repetition the same
    is.push_back(std::move(timing));
  }
  out.tables = all_tables(was, is, recorded, replayed, of_order);
  analyze::join_ranks(of_order);
  add_new(out.findings, std::move(of_order));
  std::erase_if(out.tables, [](const result::NamedTable& t) {
    return (t.name == "order" || t.name == "steps") && t.table.rows.empty();
  });
  out.sentence = analyze::largest_difference(was, is);
  return out;
}

Result<TimesCompared> compare_times(const std::string& recorded, const std::string& replayed) {
  CHAKRA_ASSIGN(trace::TraceSet a, io::read_job(recorded, {.texts = true}));
  CHAKRA_ASSIGN(trace::TraceSet b, io::read_job(replayed, {.texts = true}));
  std::vector<trace::TraceSet> again;
  again.push_back(std::move(b));
  CHAKRA_ASSIGN(TimesCompared compared, compare_times(std::move(a), std::move(again), {}));
  compared.recorded = recorded;
  compared.replayed = replayed;
  return compared;
}

void add_times(const std::string& prefix, const TimesCompared* compared, answer::Builder& to) {
  constexpr std::array kSentence{answer::column<TimesCompared>(
      "sentence", answer::Unit::none, "what differs most",
      [](const auto& c) { return c.sentence.empty() ? std::nullopt : std::optional(c.sentence); })};
  const TimesCompared none;
  const TimesCompared& times = compared ? *compared : none;
  to.values(prefix, &times, kSentence);
  const std::vector<trace::TraceSet> no_traces(1);
  Findings ignored;
  result::add_tables(to, prefix, all_tables({}, {{}}, no_traces[0], no_traces, ignored), times.tables);
}

answer::Answer answer_of(const TimesCompared& compared) {
  answer::Builder to("diff --timing");
  to.values("", &compared, kPaths);
  add_times("", &compared, to);
  return std::move(to).finish(compared.findings);
}

view::Text text_of(const TimesCompared&) { return {kTimingText}; }

}  // namespace chakra::recorded
