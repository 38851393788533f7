// What communication allows clocks to show: nobody leaves before those have come that it cannot do without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace chakra::analyze {

class Meetings {
 public:
  explicit Meetings(size_t ranks) : of_rank_(ranks) {}

  /// Begins a meeting; no end that is added to it comes before any start that is.
  void begin() { meetings_.emplace_back(); }
  /// A start and an end of a rank by its own clock: minus and plus infinity where it has none.
  void add(uint32_t rank, double start_ns, double end_ns);

  /// A clock that is known now: it shows t + at_zero_ns + slope * t.
  void know(uint32_t rank, double at_zero_ns, double slope);
  /// The least and the most at_zero of a rank's clock beside those that are known; least > most where they
  /// contradict each other.
  std::pair<double, double> range(uint32_t rank, double slope) const;

 private:
  struct Meeting {
    double last_start_ns, first_end_ns;  ///< of ranks whose clock is known, by the reference's
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
