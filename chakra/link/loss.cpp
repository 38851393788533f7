// How much of a damaged recording is missing.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

std::string share_of(int64_t part, int64_t whole) {
  return show_percent(whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0);
}

struct Span {
  int64_t begin = INT64_MAX, end = INT64_MIN;
  template <class Records>
  explicit Span(const Records& records) {
    for (const Record& record : records) begin = std::min(begin, record.start_ns), end = std::max(end, record.end_ns());
  }
  int64_t length() const { return begin > end ? 0 : end - begin; }
};

/// How many device operations there would be if every operator launched as many as those of its name that launched any:
/// of a file that was cut, operators are left whose launches are not.
int64_t expected_device_ops(const Linking& l) {
  std::map<StringId, std::pair<int64_t, int64_t>> launches;  // by name: operators that launched any, and what
  std::vector<int64_t> of_op(l.profile().ops.size(), 0);
  int64_t outside = 0;  // launched by no operator
  for (uint32_t call = 0; call < l.profile().calls.size(); ++call) {
    const auto launched = static_cast<int64_t>(l.waits.roles[call].launched());
    if (l.threads.enclosing_op[call] == kNone) outside += launched;
    else of_op[l.threads.enclosing_op[call]] += launched;
  }
  for (uint32_t op = 0; op < of_op.size(); ++op)
    if (of_op[op] > 0) {
      auto& [ops, launched] = launches[l.profile().ops[op].name];
      ++ops;
      launched += of_op[op];
    }
  double expected = static_cast<double>(outside + l.report.launched_before);
  for (const CpuOp& op : l.profile().ops)
    if (const auto found = launches.find(op.name); found != launches.end())
      expected += static_cast<double>(found->second.second) / static_cast<double>(found->second.first);
  return std::max(std::llround(expected), static_cast<long long>(l.profile().device_ops.size()));
}

/// The steps that the host trace has and the Kineto trace has not.
std::string steps_lost(const Linking& l) {
  std::set<int64_t> host, device;
  for (const HostOp& op : l.host().ops)
    if (const auto step = trace::step_number(l.text(op.name))) host.insert(*step);
  for (const CpuOp& op : l.profile().ops)
    if (const auto step = trace::step_number(l.text(op.name))) device.insert(*step);
  int64_t lost = 0;
  for (const int64_t step : host) lost += !device.contains(step);
  return lost == 0 ? "" : fmt::format(", and {} of {} steps", lost, host.size());
}

void add_operators(const Linking& l, std::vector<std::string>& parts) {
  if (!l.recording.has_host || l.profile().file.empty()) return;
  if (const int64_t lost = l.report.host_ops - l.report.matched_host_ops; lost > 0)
    parts.push_back(fmt::format("{} of {} operators of the host trace ({}){} are not in the Kineto trace",
                                show_count(lost), show_count(l.report.host_ops), share_of(lost, l.report.host_ops),
                                steps_lost(l)));
  const auto all = static_cast<int64_t>(l.profile().ops.size());
  if (const int64_t lost = all - l.report.matched_host_ops; lost > 0)
    parts.push_back(fmt::format("{} of {} operators of the Kineto trace ({}) are not in the host trace",
                                show_count(lost), show_count(all), share_of(lost, all)));
}

void add_device(const Linking& l, std::vector<std::string>& parts) {
  const auto left = static_cast<int64_t>(l.profile().device_ops.size());
  if (left == 0 && (!l.profile().device_names.empty() || !l.profile().calls.empty()))
    return parts.push_back(fmt::format("no device operation is left{}",
                                       l.recording.has_host ? "" : ", and the number of missing operators is unknown"));
  if (left == 0) return;
  if (const int64_t all = expected_device_ops(l); all > left)
    parts.push_back(
        fmt::format("about {} of {} device operations ({}) are missing, judged by other operators of the same name",
                    show_count(all - left), show_count(all), share_of(all - left, all)));
  const Span host(l.profile().ops), device(l.profile().device_ops);
  if (host.length() > 0 && device.end < host.end)
    parts.push_back(fmt::format("the remaining device operations end {} before the operators, {} of the recorded {}",
                                show_time((host.end - device.end) * kPsPerNs),
                                share_of(host.end - std::max(host.begin, device.end), host.length()),
                                show_time(host.length() * kPsPerNs)));
}

}  // namespace

void report_loss(Linking& l) {
  if (l.report.left_out == 0) return;
  std::vector<std::string> parts;
  add_operators(l, parts);
  add_device(l, parts);
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  if (parts.empty()) text = "the number of missing records, apart from the skipped ones, is unknown";
  l.find("pytorch.salvage.missing", Severity::warning, text + "; the self-check covers only the remaining part");
}

}  // namespace chakra::link
