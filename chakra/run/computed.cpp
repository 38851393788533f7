// What became of the operators of a replay that ran them (--compute torch).
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "chakra/run/replay.h"

namespace chakra::run {
namespace {

using answer::column;
using answer::Unit;
using replay::OperatorsRun;

constexpr size_t kReasonsShown = 8;

/// Operators of a rank.
struct OperatorsOf {
  int64_t rank = 0;
  const OperatorsRun* run = nullptr;
};
template <auto Member>
constexpr auto of_run(std::string_view key, Unit unit, std::string_view meaning) {
  return column<OperatorsOf>(key, unit, meaning, [](const OperatorsOf& row) { return row.run->*Member; });
}
constexpr std::array kComputed{
    column<&OperatorsOf::rank>("rank", Unit::id, "the rank"),
    of_run<&OperatorsRun::operators>("operators", Unit::count, "operators at the top level"),
    of_run<&OperatorsRun::ran>("ran", Unit::count, "operators that ran"),
    of_run<&OperatorsRun::same_shapes>("same_shapes", Unit::count, "operators with outputs of the recorded shapes"),
    of_run<&OperatorsRun::substituted>("substituted", Unit::count, "operators replaced by another operator"),
    of_run<&OperatorsRun::in_float>("in_float", Unit::count, "operators that ran in float32 instead"),
    of_run<&OperatorsRun::unknown_inputs>("unknown_inputs", Unit::count, "recorded arguments left out"),
    of_run<&OperatorsRun::live_bytes>("live_bytes", Unit::bytes, "peak memory of tensors"),
    answer::rows<OperatorsOf>("not_run", "operators that could not run"),
    answer::rows<OperatorsOf>("other_shapes", "operators with other shapes than recorded")};
using Reason = OperatorsRun::Reasons::value_type;
constexpr std::array kReasons{
    column<Reason>("operator", Unit::none, "the operator", [](const Reason& r) { return r.first.first; }),
    column<Reason>("why", Unit::none, "the reason", [](const Reason& r) { return r.first.second; }),
    column<Reason>("count", Unit::count, "how many", [](const Reason& r) { return r.second; })};
constexpr std::array kNotComputed{column<ReplayedJob>("computed", Unit::none, "null where no operators ran",
                                                      [](const ReplayedJob&) { return std::optional<bool>(); })};

/// The most frequent first.
std::string show_reasons(const OperatorsRun::Reasons& reasons) {
  std::multimap<int64_t, std::string, std::greater<>> by_count;
  for (const auto& [what, count] : reasons)
    by_count.emplace(count, fmt::format("{} {} ({})", count, what.first, what.second));
  std::string text;
  size_t shown = 0;
  for (const auto& [count, one] : by_count) {
    if (shown++ == kReasonsShown) break;
    text += fmt::format("{}{}", text.empty() ? "" : "; ", one);
  }
  if (by_count.size() > kReasonsShown)
    text += fmt::format("; and {} more, which --json lists", by_count.size() - kReasonsShown);
  return text;
}

int64_t sum(const OperatorsRun::Reasons& reasons) {
  int64_t all = 0;
  for (const auto& [what, count] : reasons) all += count;
  return all;
}

}  // namespace

void add_computed(const ReplayedJob& job, answer::Builder& to) {
  std::vector<OperatorsOf> ranks;
  for (size_t r = 0; r < job.runs.size(); ++r)
    if (const auto& run = job.runs[r].computed.operators) ranks.push_back({job.recorded.ranks[r].rank, &*run});
  to.values("", ranks.empty() ? &job : nullptr, kNotComputed);
  to.table("computed", "operators that ran (--compute torch)", ranks, kComputed, !ranks.empty());
  to.children(
      "computed", "not_run", ranks, [](const auto& row) -> const auto& { return row.run->not_run; }, kReasons);
  to.children(
      "computed", "other_shapes", ranks, [](const auto& row) -> const auto& { return row.run->other_shapes; },
      kReasons);
}

void add_computed_findings(ReplayedJob& job) {
  for (size_t r = 0; r < job.runs.size(); ++r) {
    if (!job.runs[r].computed.operators) continue;
    const OperatorsRun& c = *job.runs[r].computed.operators;
    const int64_t rank = job.recorded.ranks[r].rank;
    const auto add = [&](std::string_view tag, Severity severity, std::string text) {
      job.findings.push_back({std::string(tag), severity, rank, -1, std::move(text)});
    };
    // `replay.torch.none` (warning): the trace has no operators with a schema, so none could run.
    if (c.operators == 0)
      add("replay.torch.none", Severity::warning,
          "no node is an operator with a schema ('chakra link' keeps those of a host trace): all take their recorded "
          "time");
    // `replay.torch.not_run` (warning): operators that could not run took their recorded time.
    if (!c.not_run.empty())
      add("replay.torch.not_run", Severity::warning,
          fmt::format("{} of {} operators could not run and took their recorded time: {}", sum(c.not_run), c.operators,
                      show_reasons(c.not_run)));
    // `replay.torch.shapes` (warning): outputs of operators that ran do not have the recorded shapes.
    if (!c.other_shapes.empty())
      add("replay.torch.shapes", Severity::warning,
          fmt::format("{} operators produced other shapes than recorded: {}", sum(c.other_shapes),
                      show_reasons(c.other_shapes)));
    // `replay.torch.inputs` (note): recorded arguments that the local operators do not have were left out.
    if (c.unknown_inputs > 0)
      add("replay.torch.inputs", Severity::note,
          fmt::format("{} recorded arguments are not in this libtorch's schemas and were left out", c.unknown_inputs));
    // `replay.torch.in_float` (note): operators ran in float32 where this libtorch has no kernel of the recorded type.
    if (c.in_float > 0)
      add("replay.torch.in_float", Severity::note,
          fmt::format("{} operators ran in float32, because this libtorch lacks the recorded type on the CPU",
                      c.in_float));
  }
}

}  // namespace chakra::run
