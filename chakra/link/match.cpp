// Which Kineto operator is which operator of the host trace.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/row_map.h"
#include "chakra/link/matching.h"

namespace chakra::link {

Result<void> match_host_ops(Linking& l) {
  const std::vector<CpuOp>& ops = l.profile().ops;  // match_by_names() may cut it
  l.match.host_of_op.assign(ops.size(), kNone);
  l.match.op_of_host.assign(l.host().ops.size(), kNone);
  l.report.has_host_trace = l.recording.has_host;
  if (!l.recording.has_host) {
    l.report.host_ops = static_cast<int64_t>(ops.size());
    return {};
  }
  l.report.host_ops = static_cast<int64_t>(l.host().op_count);

  if (std::none_of(ops.begin(), ops.end(), [](const CpuOp& op) { return op.rf_id != 0; })) return match_by_names(l);
  RowMap by_id(ops, [](const CpuOp& op) { return op.rf_id == 0 ? std::nullopt : std::optional<uint64_t>(op.rf_id); });
  for (uint32_t i = 0; i < ops.size(); ++i)
    if (ops[i].rf_id != 0)
      if (uint32_t& first = by_id[ops[i].rf_id]; first == kNone) first = i;
  if (l.options.iteration)
    return fail(Code::bad_input, "pytorch.scope.iteration",
                "the recording is matched by record-function ids and has no iterations to select", {l.profile().file});

  for (uint32_t h = 0; h < l.host().ops.size(); ++h) {
    const HostOp& op = l.host().ops[h];
    if (op.kind != HostOp::Kind::op) continue;
    if (l.scope.left_out.contains(op.rf_id)) {
      --l.report.host_ops;
      continue;
    }
    const uint32_t found = op.rf_id == 0 ? kNone : by_id.find(op.rf_id);
    if (found == kNone || l.match.host_of_op[found] != kNone) continue;
    if (!names_agree(l.text(op.name), l.text(ops[found].name))) continue;
    l.match.host_of_op[found] = h;
    l.match.op_of_host[h] = found;
    ++l.report.matched_host_ops;
  }
  CHAKRA_TRY(judge_match(l, by_id));
  match_other_names(l, by_id);
  take_host_names(l);
  report_missing(l);
  return {};
}

namespace {

/// Of records that cannot all be of one recording, the one furthest from most of the others.
Place odd_one_out(const Profile& k) {
  std::vector<std::pair<int64_t, int64_t>> starts;  // and where they stand
  const auto add = [&](const auto& records) {
    for (const Record& record : records) starts.emplace_back(record.start_ns, record.byte);
  };
  add(k.ops);
  add(k.calls);
  add(k.device_ops);
  std::sort(starts.begin(), starts.end());
  const int64_t median = starts[starts.size() / 2].first;
  const auto distance = [&](const auto& start) {
    return static_cast<uint64_t>(std::max(start.first, median)) - static_cast<uint64_t>(std::min(start.first, median));
  };
  const auto& odd = distance(starts.front()) > distance(starts.back()) ? starts.front() : starts.back();
  return {k.file, odd.second};
}

}  // namespace

Result<void> set_zero(Linking& l) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
  const auto over_all = [&](const auto& use) {
    for (auto& op : l.profile().ops) use(op);
    for (auto& call : l.profile().calls) use(call);
    for (auto& op : l.profile().device_ops) use(op);
  };
  over_all([&](const Record& record) {
    first = std::min(first, record.start_ns);
    last = std::max(last, record.end_ns());
  });
  if (first > last)
    return fail(Code::bad_input, "pytorch.kineto.nothing",
                "the trace holds no operators, runtime calls or device operations of PyTorch; is it a Kineto trace?",
                {l.profile().file});
  int64_t span = 0, absolute = 0;
  if (__builtin_sub_overflow(last, first, &span) || span > kLongestPs / kPsPerNs)
    return fail(Code::bad_input, "pytorch.kineto.time", "the records are more than 26 days apart; this one is furthest",
                odd_one_out(l.profile()));
  if (__builtin_add_overflow(l.profile().base_ns, first, &absolute) ||
      __builtin_add_overflow(l.profile().base_ns, last, &absolute))
    return fail(Code::bad_input, "pytorch.kineto.time",
                "the records are too far from baseTimeNanoseconds for 64 bits of nanoseconds", {l.profile().file});
  l.scope.zero_ns = first;
  over_all([&](Record& record) { record.start_ns -= first; });
  for (Record& module : l.profile().modules) {  // they stand for no time of their own
    const int64_t start = std::clamp(module.start_ns, first, last), end = std::clamp(module.end_ns(), start, last);
    module.start_ns = start - first;
    module.dur_ns = end - start;
  }
  return {};
}

}  // namespace chakra::link
