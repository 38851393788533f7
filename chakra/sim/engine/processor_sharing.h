// A server that works on all jobs it has at once, at equal shares: with n of them each takes n times as long as alone
// (L. Kleinrock: "Queueing Systems", volume 2, 1976, section 4.4).
//
// Virtual time grows by dt / n while n jobs are there, so each job ends when virtual time has grown by its own work:
// that is known when it comes, whatever jobs come and go meanwhile. Both times are whole picoseconds and 64 binary
// digits behind the point. So no rounding adds up, and n equal jobs that come together end after exactly n times their
// work.
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
  /// `weight` equal jobs that need `work` each, alone. Requires that all that end by now have been taken.
  void add(Picoseconds now, Picoseconds work, uint64_t weight, const Payload& payload) {
    CHAKRA_ASSERT(now >= 0 && work >= 0 && weight > 0 && weight + weight_ <= kMostJobs);
    CHAKRA_ASSERT(now <= next_end());
    move_to(exact(now));
    jobs_.push({virtual_ + exact(work), number_++, weight, payload});
    weight_ += weight;
  }

  bool empty() const { return jobs_.empty(); }
  /// When the next of them end, if nobody comes before: to the picosecond above. kLongestPs: none, or not before that.
  Picoseconds next_end() const {
    if (jobs_.empty()) return kLongestPs;
    const Exact end = (first_end() + kOne - 1 - kSlack) >> 64;
    return end < kLongestPs ? static_cast<Picoseconds>(end) : kLongestPs;
  }

  /// Adds those that have ended by now to `done`, in the order in which they ended and came.
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
  using Exact = unsigned __int128;                 ///< of 2^-64 ps
  static constexpr Exact kOne = Exact{1} << 64;    ///< a picosecond
  static constexpr Exact kSlack = Exact{1} << 44;  ///< a millionth of one: for what a division leaves
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
