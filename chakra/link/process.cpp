// Which process a recording is of.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
/// Offsets of time zones are multiples of a quarter of an hour, from 12 hours behind to 14 ahead.
constexpr int64_t kZoneNs = 15 * 60 * kSecondNs;
constexpr int64_t kMostZonesNs = 14 * 3600 * kSecondNs;

std::optional<int64_t> number(const Linking& l, std::string_view name) {
  for (const trace::Attr& attr : l.host().metadata)
    if (const auto integer = attr.integer(); integer && l.text(attr.name) == name) return integer;
  return std::nullopt;
}

/// "2026-11-22 03:31:52", by the clock of a place that is not said, since 1970.
std::optional<int64_t> wall_clock_ns(const Linking& l) {
  for (const trace::Attr& attr : l.host().metadata) {
    const auto text = attr.text();
    if (!text || l.text(attr.name) != "time" || text->size() != 19) continue;
    int64_t parts[6];
    constexpr std::array<std::pair<size_t, size_t>, 6> kParts{{{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
    for (size_t i = 0; i < kParts.size(); ++i)
      if (!parse_integer(text->substr(kParts[i].first, kParts[i].second), parts[i]) || parts[i] < 0)
        return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(parts[0])),
                                           std::chrono::month(static_cast<unsigned>(parts[1])),
                                           std::chrono::day(static_cast<unsigned>(parts[2]))};
    if (!date.ok() || parts[0] < 1970 || parts[0] > 2200) return std::nullopt;
    const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return (((days * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5]) * kSecondNs;
  }
  return std::nullopt;
}

/// Whether the Kineto trace begins while the observer was registered, in some time zone. False where it is not known.
bool at_the_same_time(const Linking& l) {
  constexpr int64_t kMostMs = 24 * 3600 * int64_t{1000};
  const std::optional<int64_t> begin = wall_clock_ns(l), from = number(l, "start_ts"), to = number(l, "finish_ts");
  if (!begin || l.profile().ops.empty()) return false;
  int64_t lasts = 0, device = INT64_MAX;
  if (from && to && !__builtin_sub_overflow(*to, *from, &lasts)) lasts = std::clamp<int64_t>(lasts, 0, kMostMs);
  for (const CpuOp& op : l.profile().ops) device = std::min(device, op.start_ns);
  int64_t since = 0;
  if (__builtin_add_overflow(device, l.profile().base_ns, &device) || __builtin_sub_overflow(device, *begin, &since))
    return false;
  if (since < -kMostZonesNs || since > kMostZonesNs + lasts * 1'000'000) return false;
  const int64_t in_zone = ((since + kSecondNs) % kZoneNs + kZoneNs) % kZoneNs;
  return in_zone <= lasts * 1'000'000 + 2 * kSecondNs;
}

}  // namespace

Result<void> check_process(Linking& l, bool both_whole) {
  const std::optional<int64_t> host = number(l, "pid");
  if (!host || *host <= 0) return {};
  std::set<int64_t> processes;
  for (const trace::Lane& thread : l.profile().threads)
    if (thread.process > 0) processes.insert(thread.process);
  if (processes.empty() || processes.contains(*host)) return {};
  const std::string which =
      fmt::format("the host trace is of process {}, the Kineto trace of process {}", *host, *processes.begin());
  const bool together = at_the_same_time(l);
  if (!l.options.rank && (together || !both_whole))
    return fail(Code::bad_input, "pytorch.pair.process",
                fmt::format("{}: they are not of the same run{}; --rank N links them anyway", which,
                            together ? " or rank, though they ran at the same time" : ""),
                {l.host().file});
  l.find("pytorch.pair.other_process", Severity::warning,
         fmt::format("{}: they are of different runs of the same program, so tensors and times are not of one run",
                     which));
  return {};
}

}  // namespace chakra::link
