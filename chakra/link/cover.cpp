// Which part of the host trace the Kineto trace covers. The observer records all threads from its start to its stop;
// Kineto records those that its profiler was started on, and theirs, in one cycle of a schedule.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/base/row_map.h"
#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

bool is_missing(const Linking& l, uint32_t h) {
  const HostOp& op = l.host().ops[h];
  return op.kind == HostOp::Kind::op && l.match.op_of_host[h] == kNone && !l.scope.left_out.contains(op.rf_id);
}

Uncovered uncovered_by_rf_id(const Linking& l) {
  const std::vector<HostOp>& ops = l.host().ops;
  std::vector<char> known(l.host().threads.size(), 0);
  std::vector<uint32_t> missing;
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (uint32_t h = 0; h < ops.size(); ++h) {
    if (l.match.op_of_host[h] != kNone) {
      known[ops[h].thread] = 1;
      first = std::min(first, ops[h].rf_id);
      last = std::max(last, ops[h].rf_id);
    } else if (ops[h].rf_id != 0 && is_missing(l, h)) {
      missing.push_back(h);
    }
  }
  return find_uncovered(ops, missing, known, &HostOp::rf_id, first, last);
}

std::string list(const std::set<int64_t>& numbers) {
  constexpr size_t kNamed = 8;
  std::string text;
  size_t i = 0;
  for (const int64_t number : numbers) {
    if (i++ == kNamed) return text + fmt::format(" and {} more", numbers.size() - kNamed);
    text += fmt::format("{}{}", i == 1 ? "" : i == numbers.size() ? " and " : ", ", number);
  }
  return text;
}

/// " (ProfilerStep#7 to #9)", where there are such among them.
std::string steps_among(const Linking& l, const std::vector<uint32_t>& rows) {
  std::optional<int64_t> first, last;
  for (const uint32_t h : rows)
    if (const auto step = trace::step_number(l.text(l.host().ops[h].name))) {
      first = std::min(first.value_or(*step), *step);
      last = std::max(last.value_or(*step), *step);
    }
  if (!first) return "";
  return *first == *last ? fmt::format(" (ProfilerStep#{})", *first)
                         : fmt::format(" (ProfilerStep#{} to #{})", *first, *last);
}

Failure too_low(const Linking& l, int64_t host_ops, int64_t kineto_ops, int64_t same_id) {
  uint32_t example = kNone;
  for (uint32_t h = 0; h < l.host().ops.size() && example == kNone; ++h)
    if (is_missing(l, h)) example = h;
  const int64_t matched = l.report.matched_host_ops;
  const auto share = [&](int64_t of) {
    return show_percent(of > 0 ? static_cast<double>(matched) / static_cast<double>(of) : 0);
  };
  std::string first;
  if (example != kNone)
    first = fmt::format("; the first that is not is {} (node {})", quote(l.text(l.host().ops[example].name)),
                        l.host().ops[example].id);
  return fail(Code::bad_input, "pytorch.match.low",
              fmt::format("only {} of {} operators of the host trace ({}) are among the {} of the Kineto trace ({}) by "
                          "record-function id and name ({} by id alone){}; the two are not of the same run",
                          show_count(matched), show_count(host_ops), share(host_ops), show_count(kineto_ops),
                          share(kineto_ops), show_count(same_id), first),
              {l.host().file, example == kNone ? 0 : l.host().ops[example].byte});
}

}  // namespace

void leave_out(Linking& l, const Uncovered& uncovered, int64_t host_ops) {
  if (uncovered.count() == 0) return;
  std::set<int64_t> threads;
  for (const uint32_t h : uncovered.on_threads) threads.insert(l.host().threads[l.host().ops[h].thread]);
  std::string text = fmt::format(
      "the Kineto trace covers {} of the {} operators of the host trace; the others are "
      "left out:",
      show_count(host_ops - uncovered.count()), show_count(host_ops));
  const char* separator = "";
  if (!threads.empty()) {
    text += fmt::format(
        " {} on {} ({} in the host trace), which Kineto did not record: from PyTorch 2.7 on "
        "experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=True) of "
        "profile() records all",
        show_count(static_cast<int64_t>(uncovered.on_threads.size())),
        threads.size() == 1 ? "a thread" : fmt::format("{} threads", threads.size()), list(threads));
    separator = ";";
  }
  const auto add_cycle = [&](const std::vector<uint32_t>& rows, const char* when) {
    if (rows.empty()) return;
    text += fmt::format("{} {} that {}{}", separator, show_count(static_cast<int64_t>(rows.size())), when,
                        steps_among(l, rows));
    separator = ",";
  };
  add_cycle(uncovered.before, "ran before it began");
  add_cycle(uncovered.after, "ran after it ended");
  if (!uncovered.before.empty() || !uncovered.after.empty())
    text +=
        ", in other cycles of the profiler's schedule or outside of it: schedule(..., repeat=1) records one cycle, "
        "and the observer has to start and stop with it (execution_trace_observer of profile() does that)";
  l.find("pytorch.match.part", Severity::warning, std::move(text));
  for (const auto* rows : {&uncovered.on_threads, &uncovered.before, &uncovered.after})
    for (const uint32_t h : *rows)
      if (l.host().ops[h].rf_id != 0) l.scope.left_out.insert(l.host().ops[h].rf_id);
  l.report.host_ops = host_ops - uncovered.count();
}

Result<void> judge_match(Linking& l, const RowMap& by_id) {
  int64_t same_id = 0, kineto_ops = 0;
  const int64_t host_ops = l.report.host_ops, matched = l.report.matched_host_ops;
  for (const HostOp& op : l.host().ops)
    same_id += op.kind == HostOp::Kind::op && op.rf_id != 0 && by_id.find(op.rf_id) != kNone;
  for (const CpuOp& op : l.profile().ops) kineto_ops += op.rf_id != 0;
  // Of a recording that was cut, what is in both files has to agree.
  const bool host_whole = enough(matched, l.options.salvage ? std::max<int64_t>(same_id, 1) : host_ops);
  const bool kineto_whole = enough(matched, kineto_ops);
  if (matched == 0 || (!host_whole && !kineto_whole)) return too_low(l, host_ops, kineto_ops, same_id);
  if (!host_whole) {
    const Uncovered uncovered = uncovered_by_rf_id(l);
    if (!enough(matched, host_ops - uncovered.count())) return too_low(l, host_ops, kineto_ops, same_id);
    leave_out(l, uncovered, host_ops);
  }
  return check_process(l, enough(matched, host_ops) && kineto_whole);
}

void report_missing(Linking& l) {
  if (l.report.matched_host_ops >= l.report.host_ops) return;
  for (uint32_t h = 0; h < l.host().ops.size(); ++h)
    if (is_missing(l, h))
      return l.find("pytorch.match.some_missing", Severity::warning,
                    fmt::format("{} operators of the host trace are not in the Kineto trace and have no time; the "
                                "first is {} (node {})",
                                show_count(l.report.host_ops - l.report.matched_host_ops),
                                quote(l.text(l.host().ops[h].name)), l.host().ops[h].id));
}

}  // namespace chakra::link
