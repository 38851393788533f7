#include "chakra/device/device.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

#include "chakra/device/units.h"

namespace chakra::device {
namespace {

constexpr double kBusy = 0.5;  ///< the share of its peak from which on a device is at its power limit
/// The share of the slowdown that GEMMs in 8 bits have: eight published steps of Megatron-Bridge and three of
/// llm-foundry in 8 bits (docs/explanation/accuracy.md).
constexpr double kHeatOf8Bits = 0.5;

/// The type in which operations run where a device has no number for their own. Nothing stands in for f64 and f32.
constexpr std::array<DType, trace::kDTypeNames.size()> kInstead = [] {
  std::array<DType, trace::kDTypeNames.size()> instead{};
  instead.fill(DType::f32);
  const auto set = [&](DType type, DType other) { instead[static_cast<size_t>(type)] = other; };
  set(DType::unknown, DType::f16);
  set(DType::f4, DType::f8);
  set(DType::f8, DType::f16);
  return instead;
}();

size_t place(DType type) {
  return static_cast<size_t>(std::find(kPeakTypes.begin(), kPeakTypes.end(), type) - kPeakTypes.begin());
}

constexpr std::array<std::string_view, 7> kFamilies{"nvidia ", "tesla ",  "quadro ",  "geforce ",
                                                    "amd ",    "radeon ", "instinct "};

/// In lower case, without vendor and family, with blanks for dashes: "NVIDIA A100-SXM4-40GB" is "a100 sxm4 40gb".
std::string plain_name(std::string_view name) {
  std::string text = to_lower(name);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view family : kFamilies)
      if (text.starts_with(family)) {
        text.erase(0, family.size());
        again = true;
      }
  }
  std::replace(text.begin(), text.end(), '-', ' ');
  return text;
}

template <class Visit>
void for_each_name(std::string_view joined, const Visit& visit) {
  while (!joined.empty()) {
    const size_t end = std::min(joined.find('|'), joined.size());
    visit(joined.substr(0, end));
    joined.remove_prefix(std::min(end + 1, joined.size()));
  }
}

bool is_called(const DeviceRow& row, const std::string& wanted) {
  bool is = plain_name(row.name) == wanted;
  for_each_name(row.recorded_as, [&](std::string_view name) { is |= plain_name(name) == wanted; });
  return is;
}

}  // namespace

Device device(const DeviceRow& row) {
  Device d;
  d.name = row.name;
  for (size_t i = 0; i < kPeakTypes.size(); ++i) d.ops_per_s[i] = row.tera_ops_per_s[i] * kTera;
  d.memory_bytes_per_s = row.gb_per_s * kGiga;
  d.memory_bytes = row.memory_gb * kGiga;
  for_each_name(row.recorded_as, [&](std::string_view name) { d.recorded_as.emplace_back(name); });
  d.source = row.source;
  d.prices = kUsualPrices;
  return d;
}

const DeviceRow* find(std::string_view name) {
  const std::string wanted = plain_name(name);
  const auto row =
      std::find_if(kDevices.begin(), kDevices.end(), [&](const DeviceRow& r) { return is_called(r, wanted); });
  return row == kDevices.end() ? nullptr : &*row;
}

std::string similar(std::string_view name) {
  const std::string wanted = plain_name(name);
  const std::string first = wanted.substr(0, wanted.find(' '));  // "h100" of "h100 80gb hbm2e"
  std::string names;
  if (first.size() < 2) return names;
  for (const DeviceRow& row : kDevices)
    if (contains(plain_name(row.name), first))
      names += (names.empty() ? "; similar names: " : ", ") + std::string(row.name);
  return names;
}

Device plain(std::string name, double ops_per_s, double memory_bytes_per_s) {
  Device d;
  d.name = std::move(name);
  d.ops_per_s.fill(ops_per_s);
  d.memory_bytes_per_s = memory_bytes_per_s;
  return d;
}

Peak peak(const Device& device, DType type) {
  for (size_t tries = 0; tries < kPeakTypes.size(); ++tries) {
    const size_t at = place(type);
    if (at < kPeakTypes.size() && device.ops_per_s[at] > 0) return {device.ops_per_s[at], type};
    if (type == DType::f64 || type == DType::f32) break;
    type = kInstead[static_cast<size_t>(type)];
  }
  return {};
}

double sustained(const Device& device, DType type, double used) {
  if (peak(device, type).ops_per_s <= peak(device, DType::f32).ops_per_s) return 1;
  const double heat = type == DType::f8 || type == DType::i8 ? kHeatOf8Bits : 1;
  return 1 + heat * (device.sustained_time - 1) * std::min(1.0, used / kBusy);
}

double roofline_seconds(const Device& device, const NodeWork& work) {
  const double best = work.ops > 0 ? peak(device, work.type).ops_per_s : 0;
  return std::max(best > 0 ? static_cast<double>(work.ops) / best : 0,
                  static_cast<double>(work.bytes) / device.memory_bytes_per_s);
}

Price predict(const Device& device, const NodeWork& work) {
  if (work.ops == 0 && work.bytes == 0) return {};
  if (!device.others)
    return device.prices ? price(device, work, *device.prices) : Price{roofline_seconds(device, work)};
  const double best = work.ops > 0 ? peak(device, work.type).ops_per_s : 0;
  return {(best > 0 ? device.others->ops_time * static_cast<double>(work.ops) / best : 0) +
          device.others->bytes_time * static_cast<double>(work.bytes) / device.memory_bytes_per_s +
          device.others->fixed_s};
}

int64_t devices_with_work(const trace::Trace& trace) {
  std::vector<char> works(trace.lanes.size(), 0);
  for (const trace::NodeId n : trace.nodes()) {
    const uint32_t lane = trace.lane[n];
    if (lane == trace::kNoLane || works[lane] || trace.type[n] != trace::NodeType::comp) continue;
    const NodeWork work = work::work_of(trace, n);
    works[lane] = work.ops > 0 || work.bytes > 0;
  }
  std::set<int64_t> devices;
  for (size_t lane = 0; lane < works.size(); ++lane)
    if (works[lane] && trace.lanes[lane].kind == trace::Lane::Kind::stream) devices.insert(trace.lanes[lane].process);
  return std::max<int64_t>(1, static_cast<int64_t>(devices.size()));
}

std::string show_times(double times) { return fmt::format("{:.{}f}", times, times < 10 ? 2 : times < 100 ? 1 : 0); }

TooFast too_fast(double ops_s, double bytes_s, double seconds) {
  const double least = std::max(seconds, 1 / kPsPerSecond);  // times are whole picoseconds
  const TooFast by_ops{ops_s / least, true}, by_bytes{bytes_s / least, false};
  if (by_ops.times > kMostOfPeak && by_ops.times >= by_bytes.times) return by_ops;
  if (by_bytes.times > kMostOfBandwidth) return by_bytes;
  return by_ops.times > kMostOfPeak ? by_ops : TooFast();
}

Rates rates(const WorkSum& work, Picoseconds time, const Device* device, int64_t devices) {
  Rates rates;
  if (time <= 0) return rates;
  const double seconds = static_cast<double>(time) / kPsPerSecond;
  rates.ops_per_s = static_cast<double>(work.all_ops()) / seconds;
  rates.bytes_per_s = static_cast<double>(work.bytes) / seconds;
  if (!device || work.all_ops() == 0) return rates;
  double at_peak = 0, at_peak_f8 = 0;
  for (size_t t = 0; t < work.ops.size(); ++t) {
    if (work.ops[t] == 0) continue;
    const double best = peak(*device, static_cast<DType>(t)).ops_per_s;
    if (!(best > 0)) return rates;
    const double time_at_peak = static_cast<double>(work.ops[t]) / best;
    at_peak += time_at_peak;
    if (static_cast<DType>(t) == DType::f8) at_peak_f8 += time_at_peak;
  }
  rates.mfu = at_peak / seconds / static_cast<double>(devices);
  rates.mfu_f8 = at_peak_f8 / seconds / static_cast<double>(devices);
  return rates;
}

std::string_view recorded_name(const trace::Trace& trace, int64_t device) {
  const std::string own = fmt::format("device_name_{}", device);
  std::string_view found;
  for (const trace::Attr& attr : trace.metadata) {
    const auto text = attr.text();
    if (!text) continue;
    if (trace.strings[attr.name] == own) return *text;
    if (trace.strings[attr.name] == "device_name") found = *text;
  }
  return found;
}

std::optional<Device> recorded_device(const trace::Trace& trace) {
  const std::string_view name = recorded_name(trace, -1);
  const DeviceRow* row = name.empty() ? nullptr : find(name);
  return row ? std::optional(device(*row)) : std::nullopt;
}

}  // namespace chakra::device
