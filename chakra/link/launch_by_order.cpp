// Communication kernels that carry no correlation, as RCCL's: a stream runs what is launched to it in order, so the
// n-th kernel belongs to the n-th launch without an operation.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/link/device_parts.h"

namespace chakra::link {
namespace {

class ByOrder {
 public:
  explicit ByOrder(Linking& l) : l_(l), p_(l.profile()), record_(l.trace.strings.find("record_param_comms")) {}

  /// How many were joined.
  int64_t run() {
    if (record_ == 0 || !find_kernels()) return 0;
    find_launches();
    if (kernels_.size() == 1) {  // one stream carries all groups
      std::vector<uint32_t> all;
      for (const auto& [group, calls] : launches_) all.insert(all.end(), calls.begin(), calls.end());
      sort_rows(all, [&](uint32_t a, uint32_t b) {
        return std::pair(p_.calls[a].start_ns, a) < std::pair(p_.calls[b].start_ns, b);
      });
      const std::vector<uint32_t>& kernels = kernels_.begin()->second;
      return fits(all, kernels) ? join(all, kernels) : 0;
    }
    int64_t joined = 0;
    for (const auto& [group, calls] : launches_) {
      const std::vector<uint32_t>* only = nullptr;
      int fitting = 0;
      for (const auto& [stream, kernels] : kernels_)
        if (fits(calls, kernels)) only = &kernels, ++fitting;
      if (fitting == 1) joined += join(calls, *only);
    }
    return joined;
  }

 private:
  /// By stream, in order.
  bool find_kernels() {
    for (uint32_t op = 0; op < p_.device_ops.size(); ++op)
      if (p_.device_ops[op].correlation <= 0 && l_.device.call_of_op[op] == kNone &&
          l_.device.comm_kernel[op] != nullptr && l_.device.comm_kernel[op]->of_c10d)
        kernels_[p_.device_ops[op].lane].push_back(op);
    for (auto& [stream, kernels] : kernels_)
      sort_rows(kernels, [&](uint32_t a, uint32_t b) {
        return std::pair(p_.device_ops[a].start_ns, a) < std::pair(p_.device_ops[b].start_ns, b);
      });
    return !kernels_.empty();
  }

  /// The last launching call without an operation in each record of c10d, by group, in order.
  void find_launches() {
    std::vector<char> launched(p_.calls.size(), 0);
    for (const uint32_t call : l_.device.call_of_op)
      if (call != kNone) launched[call] = 1;
    std::map<uint32_t, uint32_t> of_record;
    for (const auto& thread : l_.threads.calls)
      for (const uint32_t call : thread) {
        if (launched[call] || !is_launch(l_.text(p_.calls[call].name))) continue;
        uint32_t op = l_.threads.enclosing_op[call];
        while (op != kNone && p_.ops[op].name != record_) op = l_.threads.parent_op[op];
        if (op != kNone) of_record[op] = call;
      }
    std::vector<std::pair<uint32_t, uint32_t>> in_order(of_record.begin(), of_record.end());
    std::sort(in_order.begin(), in_order.end(), [&](const auto& a, const auto& b) {
      return std::pair(p_.ops[a.first].start_ns, a.first) < std::pair(p_.ops[b.first].start_ns, b.first);
    });
    for (const auto& [op, call] : in_order) {
      const uint32_t row = p_.ops[op].comm;
      launches_[row == trace::kNoRow ? 0 : p_.comms[row].group].push_back(call);
    }
  }

  /// Kernels that are too many were launched before the recording, so they come first; no kernel begins before its
  /// launch.
  bool fits(const std::vector<uint32_t>& calls, const std::vector<uint32_t>& kernels) const {
    if (calls.empty() || calls.size() > kernels.size()) return false;
    const size_t before = kernels.size() - calls.size();
    for (size_t i = 0; i < calls.size(); ++i)
      if (p_.device_ops[kernels[before + i]].start_ns + kToleranceNs < p_.calls[calls[i]].start_ns) return false;
    return true;
  }

  int64_t join(const std::vector<uint32_t>& calls, const std::vector<uint32_t>& kernels) {
    for (size_t i = 0; i < calls.size(); ++i)
      l_.device.call_of_op[kernels[kernels.size() - calls.size() + i]] = calls[i];
    return static_cast<int64_t>(calls.size());
  }

  Linking& l_;
  const Profile& p_;
  StringId record_;
  std::map<uint32_t, std::vector<uint32_t>> kernels_;   ///< by stream
  std::map<StringId, std::vector<uint32_t>> launches_;  ///< by group
};

}  // namespace

void join_by_order(Linking& l) {
  if (const int64_t joined = ByOrder(l).run(); joined > 0)
    l.find("pytorch.device.by_order", Severity::note,
           fmt::format("{} communication kernels have no correlation; each was matched with its launch by order",
                       show_count(joined)));
}

}  // namespace chakra::link
