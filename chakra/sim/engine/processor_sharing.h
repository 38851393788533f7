// A server that works on all its jobs at once, in equal shares: with n jobs each job takes
// n times as long as alone (L. Kleinrock: "Queueing Systems", volume 2, 1976, section 4.4).
//
// Virtual time grows by dt / n while n jobs are present, so each job ends when virtual time
// has grown by the job's work. This end is known at arrival, regardless of later arrivals and
// departures. Both times have whole picoseconds and 64 fractional bits, so rounding errors do
// not add up, and n equal jobs that come together end after exactly n times their work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::sim {

template <class Payload>
class ProcessorSharing {
 public:
  /// Add `weight` equal jobs that need `work` each, alone. Requires that all jobs that have ended by now were taken.
  void add(Picoseconds now, Picoseconds work, uint64_t weight, const Payload& payload) {
    CHAKRA_ASSERT(now >= 0 && work >= 0 && weight > 0 && weight + weight_ <= kMostJobs);
    CHAKRA_ASSERT(now <= next_end());
    move_to(exact(now));
    jobs_.push({virtual_ + exact(work), number_++, weight, payload});
    weight_ += weight;
  }

  bool empty() const { return jobs_.empty(); }
  /// Return the next end without further arrivals, rounded up to a picosecond. kLongestPs: none, or not before that.
  Picoseconds next_end() const {
    if (jobs_.empty()) return kLongestPs;
    const Exact end = (first_end() + kOne - 1 - kSlack) >> 64;
    return end < kLongestPs ? static_cast<Picoseconds>(end) : kLongestPs;
  }

  /// Append the jobs that have ended by now to `done`, in the order of their ends and arrivals.
  void take_done(Picoseconds now, std::vector<Payload>& done) {
    while (!jobs_.empty()) {
      const Exact end = first_end();
      if (end > exact(now) + kSlack) break;
      clock_ = end;
      virtual_ = jobs_.top().end;
      for (; !jobs_.empty() && jobs_.top().end == virtual_; jobs_.pop()) {
        weight_ -= jobs_.top().weight;
        done.push_back(jobs_.top().payload);
      }
    }
    move_to(exact(now));
  }

 private:
  using Exact = unsigned __int128;                 ///< in units of 2^-64 ps
  static constexpr Exact kOne = Exact{1} << 64;    ///< a picosecond
  static constexpr Exact kSlack = Exact{1} << 44;  ///< a millionth of a picosecond: tolerance for division
  static constexpr uint64_t kMostJobs = uint64_t{1} << 40;

  struct Job {
    Exact end;  ///< in virtual time
    uint64_t number, weight;
    Payload payload;
    bool operator<(const Job& other) const { return end != other.end ? end > other.end : number > other.number; }
  };

  static Exact exact(Picoseconds time) { return static_cast<Exact>(time) << 64; }

  Exact first_end() const {
    const Exact left = jobs_.top().end > virtual_ ? jobs_.top().end - virtual_ : 0;
    const Exact whole = (left >> 64) * weight_, part = static_cast<uint64_t>(left) * Exact{weight_};
    return whole >= kLongestPs ? exact(kLongestPs) : clock_ + (whole << 64) + part;
  }

  void move_to(Exact time) {
    if (time > clock_) {
      if (weight_ > 0) virtual_ += (time - clock_) / weight_;
      clock_ = time;
    }
    if (weight_ == 0) virtual_ = 0;
  }

  std::priority_queue<Job> jobs_;
  uint64_t weight_ = 0, number_ = 0;
  Exact clock_ = 0, virtual_ = 0;
};

}  // namespace chakra::sim
