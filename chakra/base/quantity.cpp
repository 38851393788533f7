#include "chakra/base/quantity.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace chakra {

std::string show_time(Picoseconds time) {
  struct Unit {
    double ps;
    const char* name;
  };
  static constexpr std::array<Unit, 5> kUnits{{{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}}};
  for (const Unit& unit : kUnits) {
    const double value = static_cast<double>(time) / unit.ps;
    if (std::abs(value) < 1) continue;
    const int digits = std::abs(value) < 10 ? 3 : std::abs(value) < 100 ? 2 : 1;
    return fmt::format("{:.{}f} {}", value, unit.ps == 1 ? 0 : digits, unit.name);
  }
  return "0 s";
}

std::string show_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string show_rate(double bytes_per_second) {
  static constexpr std::array<const char*, 5> kUnits{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  size_t unit = 0;
  while (std::abs(bytes_per_second) >= 1000 && unit + 1 < kUnits.size()) {
    bytes_per_second /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", bytes_per_second, kUnits[unit]);
}

std::string show_count(int64_t count) {
  std::string digits = fmt::format("{}", count);
  const auto first = static_cast<std::ptrdiff_t>(digits[0] == '-' ? 1 : 0);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string show_count(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", show_count(count), what, count == 1 ? "" : "s");
}

std::string show_percent(double share) { return fmt::format("{:.2f} %", share * 100); }

std::string exact_ns(Picoseconds time) {
  const int64_t whole = time / kPsPerNs;
  const int64_t rest = std::abs(time % kPsPerNs);
  std::string out = fmt::format("{}{}", time < 0 && whole == 0 ? "-" : "", whole);
  if (rest == 0) return out;
  out += fmt::format(".{:03}", rest);
  while (out.back() == '0') out.pop_back();
  return out;
}

}  // namespace chakra
