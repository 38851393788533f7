// Limits that communication sets for clocks: no rank leaves a meeting before all required ranks have arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace chakra::analyze {

class Meetings {
 public:
  explicit Meetings(size_t ranks) : of_rank_(ranks) {}

  /// Begin a meeting. By assumption, no end added to the meeting precedes any start.
  void begin() { meetings_.emplace_back(); }
  /// Add the start and end of a rank on the clock of that rank: minus and plus infinity if missing.
  void add(uint32_t rank, double start_ns, double end_ns);

  /// Set a known clock: shows t + at_zero_ns + slope * t.
  void know(uint32_t rank, double at_zero_ns, double slope);
  /// Return the smallest and largest at_zero of a clock that the known clocks permit; smallest > largest: the clocks
  /// contradict each other.
  std::pair<double, double> range(uint32_t rank, double slope) const;

 private:
  struct Meeting {
    double last_start_ns, first_end_ns;  ///< of ranks with known clocks, on the reference clock
    Meeting();
  };
  struct Row {
    uint32_t meeting;
    double start_ns, end_ns;
  };
  std::vector<Meeting> meetings_;
  std::vector<std::vector<Row>> of_rank_;
};

}  // namespace chakra::analyze
