#include "chakra/analyze/meetings.h"

#include <algorithm>
#include <cmath>

namespace chakra::analyze {

Meetings::Meeting::Meeting() : last_start_ns(-INFINITY), first_end_ns(INFINITY) {}

void Meetings::add(uint32_t rank, double start_ns, double end_ns) {
  of_rank_[rank].push_back({static_cast<uint32_t>(meetings_.size() - 1), start_ns, end_ns});
}

void Meetings::know(uint32_t rank, double at_zero_ns, double slope) {
  for (const Row& row : of_rank_[rank]) {
    Meeting& meeting = meetings_[row.meeting];
    meeting.last_start_ns = std::max(meeting.last_start_ns, (row.start_ns - at_zero_ns) / (1 + slope));
    meeting.first_end_ns = std::min(meeting.first_end_ns, (row.end_ns - at_zero_ns) / (1 + slope));
  }
}

std::pair<double, double> Meetings::range(uint32_t rank, double slope) const {
  double least = -INFINITY, most = INFINITY;
  for (const Row& row : of_rank_[rank]) {
    const Meeting& meeting = meetings_[row.meeting];
    least = std::max(least, row.start_ns - meeting.first_end_ns * (1 + slope));
    most = std::min(most, row.end_ns - meeting.last_start_ns * (1 + slope));
  }
  return {least, most};
}

}  // namespace chakra::analyze
