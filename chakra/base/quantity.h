// Times, sizes and rates: the units used inside, conversions
// that check for overflow, and the format for people.
//
// Inside, a time is int64_t picoseconds (2^63 ps are 106 days), a size is uint64_t bytes, a rate is
// double bytes per second.
#pragma once

#include <cstdint>
#include <string>

namespace chakra {

using Picoseconds = int64_t;

inline constexpr Picoseconds kPsPerNs = 1'000;
inline constexpr Picoseconds kPsPerUs = 1'000'000;
inline constexpr double kPsPerSecond = 1e12;
/// Larger times are rejected, so that sums of a few thousand times cannot overflow.
inline constexpr Picoseconds kLongestPs = INT64_MAX / 4;

/// Return left + right, kept within +-kLongestPs.
constexpr Picoseconds add_saturated(Picoseconds left, Picoseconds right) {
  Picoseconds sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) sum = left < 0 ? -kLongestPs : kLongestPs;
  return sum < -kLongestPs ? -kLongestPs : sum > kLongestPs ? kLongestPs : sum;
}

/// Return time * times, at most kLongestPs. Requires that neither is below 0.
constexpr Picoseconds multiply_saturated(Picoseconds time, int64_t times) {
  Picoseconds product = 0;
  return __builtin_mul_overflow(time, times, &product) || product > kLongestPs ? kLongestPs : product;
}

/// Return left + right, at most UINT64_MAX.
constexpr uint64_t add_bytes(uint64_t left, uint64_t right) {
  return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}
/// Return count * bytes, at most UINT64_MAX.
constexpr uint64_t multiply_bytes(uint64_t count, uint64_t bytes) {
  uint64_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? UINT64_MAX : product;
}

/// Return seconds as picoseconds, rounded to nearest, halves away from 0 (as std::llround,
/// but inline); kLongestPs if the result would not fit or is not a number.
inline Picoseconds picoseconds(double seconds) {
  const double value = seconds * kPsPerSecond;
  constexpr auto kLongest = static_cast<double>(kLongestPs);
  if (!(value > -kLongest && value < kLongest)) return value < 0 ? -kLongestPs : kLongestPs;
  const auto whole = static_cast<Picoseconds>(value);
  const double rest = value - static_cast<double>(whole);  // exact: whole has the bits of value above 1
  return whole + (rest >= 0.5) - (rest <= -0.5);
}

// For people: "12.34 ms", "1.5 GiB", "50.0 GB/s", "3,774".
std::string show_time(Picoseconds time);
std::string show_bytes(double bytes);
std::string show_rate(double bytes_per_second);
std::string show_count(int64_t count);
std::string show_count(int64_t count, std::string_view what);  ///< "1 node", "3,774 nodes"
std::string show_percent(double share);

/// Return a time as decimal nanoseconds without rounding: 1500 ps is "1.5".
std::string exact_ns(Picoseconds time);

}  // namespace chakra
