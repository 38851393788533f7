// What rocprofv3's JSON outputs and databases share: names of copies, and calls that enclose others. Inside recording.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "chakra/recording/profile.h"

namespace chakra::recording {

/// Streams of copies where the file gives no stream: one for each direction, which SDMA engines carry out in order.
inline constexpr int64_t kFirstCopyStream = 1'000'000;

/// Names of the operations of MEMORY_COPY, without their prefix, and of Kineto for the same copies.
struct CopyName {
  std::string_view operation, name;
};
inline constexpr std::array<CopyName, 5> kCopyOperations{{{"HOST_TO_DEVICE", "CopyHostToDevice"},
                                                          {"DEVICE_TO_HOST", "CopyDeviceToHost"},
                                                          {"DEVICE_TO_DEVICE", "CopyDeviceToDevice"},
                                                          {"HOST_TO_HOST", "CopyHostToHost"},
                                                          {"", "Memcpy Unknown"}}};
/// Return the row of an operation, the last one for unknown operations.
inline size_t copy_row(std::string_view operation) {
  const auto* const row = std::find_if(kCopyOperations.begin(), kCopyOperations.end() - 1,
                                       [&](const CopyName& one) { return operation.ends_with(one.operation); });
  return static_cast<size_t>(row - kCopyOperations.begin());
}

/// Whether a marker's operation is a range that nests on its thread.
inline bool is_nested_range(std::string_view operation) {
  return operation.find("RangePush") != std::string_view::npos ||
         operation.find("ThreadRange") != std::string_view::npos;
}

/// HIP calls by correlation. Device operations may have the correlation of a call of HSA within a HIP call.
class EnclosingCalls {
 public:
  /// `calls`: all HIP calls; must outlive this. Calls of a thread nest.
  explicit EnclosingCalls(const std::vector<RuntimeCall>& calls) {
    for (const RuntimeCall& call : calls) {
      known_.insert(call.correlation);
      by_thread_[call.lane].emplace(call.start_ns, &call);
    }
  }
  /// Note a call of HSA. The last HIP call of the thread that began before and ends after a time encloses the time.
  void add_inner(int64_t correlation, uint32_t thread, int64_t start_ns, int64_t end_ns) {
    if (known_.contains(correlation)) return;
    const auto calls = by_thread_.find(thread);
    if (calls == by_thread_.end()) return;
    auto at = calls->second.upper_bound(start_ns);
    while (at != calls->second.begin()) {
      --at;
      if (at->second->end_ns() >= end_ns) {
        outer_[correlation] = at->second->correlation;
        return;
      }
      if (at->second->end_ns() <= start_ns) return;  // an earlier call of the thread has ended, too, or is its outer
    }
  }
  /// Return the correlation of the HIP call, or the same number.
  int64_t outer(int64_t correlation) const {
    const auto found = outer_.find(correlation);
    return found == outer_.end() ? correlation : found->second;
  }
  bool contains(int64_t correlation) const { return known_.contains(correlation); }

 private:
  absl::flat_hash_map<int64_t, int64_t> outer_;  ///< correlation of an inner call -> that of the HIP call
  std::set<int64_t> known_;                      ///< correlations of HIP calls
  std::map<uint32_t, std::multimap<int64_t, const RuntimeCall*>> by_thread_;
};

}  // namespace chakra::recording
