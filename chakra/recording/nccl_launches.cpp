#include "chakra/recording/nccl_launches.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/recording/comm_kernels.h"

namespace chakra::recording {
namespace {

using trace::CommType;
using trace::NodeType;

/// Something that a thread did: a call of the library, or a launch of its kernels.
struct Step {
  int64_t start_ns = 0, end_ns = 0;
  bool is_launch = false;
  uint32_t row = 0;  ///< of Profile::ops or Profile::calls
};

class CallJoiner {
 public:
  CallJoiner(Profile& profile, const StringPool& strings) : p_(profile), strings_(strings) {
    for (uint32_t i = 0; i < p_.device_ops.size(); ++i) {
      const DeviceOp& op = p_.device_ops[i];
      const CommKernelRow* const row = op.correlation < 0 ? nullptr : comm_kernel(strings_[op.name]);
      if (row && row->of_c10d) kernels_[op.correlation].push_back(i);
    }
  }

  /// Return the number of collective calls that belong to no kernel.
  int64_t run() {
    std::vector<std::vector<Step>> threads(p_.threads.size());
    for (uint32_t i = 0; i < p_.ops.size(); ++i)
      if (const CpuOp& op = p_.ops[i]; op.library_call)
        threads[op.lane].push_back({op.start_ns, op.end_ns(), false, i});
    for (uint32_t i = 0; i < p_.calls.size(); ++i)
      if (const RuntimeCall& call = p_.calls[i]; kernels_.contains(call.correlation))
        threads[call.lane].push_back({call.start_ns, call.end_ns(), true, i});
    for (std::vector<Step>& steps : threads) {
      // A call that contains another one comes first.
      std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
        return std::pair(a.start_ns, -a.end_ns) < std::pair(b.start_ns, -b.end_ns);
      });
      walk(steps);
    }
    return without_kernel_;
  }

 private:
  void walk(const std::vector<Step>& steps) {
    int64_t depth = 0;
    open_until_ = INT64_MIN;
    for (const Step& step : steps) {
      if (depth == 0 && step.start_ns >= open_until_) settle();
      if (step.is_launch) {
        if (depth == 0 && step.start_ns < open_until_)
          for (const uint32_t kernel : kernels_[p_.calls[step.row].correlation]) launched_.push_back(kernel);
        continue;
      }
      const std::string_view name = strings_[p_.ops[step.row].name];
      if (name == "ncclGroupStart") ++depth;
      else if (name == "ncclGroupEnd") depth = std::max<int64_t>(0, depth - 1);
      else if (p_.ops[step.row].comm != trace::kNoRow) pending_.push_back(step.row);
      else if (comm_kind(name).type != NodeType::invalid) unknown_ = true;
      else continue;
      if (depth == 0) open_until_ = std::max(open_until_, step.end_ns);
    }
    settle();
  }

  const CommRecord& record_of(uint32_t op) const { return p_.comms[p_.ops[op].comm]; }
  CommKind kind_of(uint32_t op) const { return comm_kind(strings_[record_of(op).collective]); }
  void give(uint32_t kernel, uint32_t comm) { p_.device_ops[kernel].comm = comm; }

  /// The calls of a group, and the kernels that its end launched.
  void settle() {
    const auto is_message = [&](uint32_t op) { return kind_of(op).type != NodeType::coll; };
    const bool messages = std::any_of(pending_.begin(), pending_.end(), is_message);
    const bool done = pending_.empty() || (!unknown_ && (messages ? settle_messages() : settle_collectives()));
    if (!done)
      without_kernel_ += std::count_if(pending_.begin(), pending_.end(), [&](uint32_t op) { return !is_message(op); });
    pending_.clear(), launched_.clear();
    unknown_ = false;
    open_until_ = INT64_MIN;
  }
  /// One kernel carries out all messages of a group, which the linker finds by their calls.
  bool settle_messages() const {
    return std::all_of(pending_.begin(), pending_.end(),
                       [&](uint32_t op) { return kind_of(op).type != NodeType::coll; });
  }
  /// One kernel per call, if the names of kernels tell which, or one kernel for calls of one kind on one communicator.
  bool settle_collectives() {
    if (launched_.size() == pending_.size()) return settle_each();
    if (launched_.size() != 1) return false;
    CommRecord sum = record_of(pending_[0]);
    for (size_t i = 1; i < pending_.size(); ++i) {
      const CommRecord& one = record_of(pending_[i]);
      if (one.collective != sum.collective || one.group != sum.group || one.rank != sum.rank || one.in_bytes < 0 ||
          sum.in_bytes < 0 || __builtin_add_overflow(sum.in_bytes, one.in_bytes, &sum.in_bytes) ||
          __builtin_add_overflow(sum.out_bytes, one.out_bytes, &sum.out_bytes))
        return false;
    }
    give(launched_[0], static_cast<uint32_t>(p_.comms.size()));
    p_.comms.push_back(sum);
    return true;
  }

  /// NCCL sorts the calls of a group by size, so two calls that fit a kernel must be equal.
  bool settle_each() {
    std::vector<uint32_t> open = pending_;
    std::vector<uint32_t> given;
    for (const uint32_t kernel : launched_) {
      const CommKind kind = comm_kind(function_name(strings_[p_.device_ops[kernel].name]));
      const auto fits_kernel = [&](uint32_t op) {
        return kind.type == NodeType::invalid || kind.collective == kind_of(op).collective;
      };
      const auto first = std::find_if(open.begin(), open.end(), fits_kernel);
      if (first == open.end()) return false;
      const bool unique = std::all_of(first, open.end(), [&](uint32_t op) {
        return !fits_kernel(op) || are_equal(record_of(*first), record_of(op));
      });
      if (!unique) return false;
      given.push_back(p_.ops[*first].comm);
      open.erase(first);
    }
    for (size_t i = 0; i < launched_.size(); ++i) give(launched_[i], given[i]);
    return true;
  }
  static bool are_equal(const CommRecord& a, const CommRecord& b) {
    return a.collective == b.collective && a.group == b.group && a.rank == b.rank && a.in_bytes == b.in_bytes &&
           a.out_bytes == b.out_bytes;
  }

  Profile& p_;
  const StringPool& strings_;
  absl::flat_hash_map<int64_t, std::vector<uint32_t>> kernels_;  ///< by correlation: kernels of the library
  std::vector<uint32_t> pending_;                                ///< calls of the group, or the call outside of groups
  std::vector<uint32_t> launched_;                               ///< its kernels
  bool unknown_ = false;                                         ///< a call of the group has no record
  int64_t open_until_ = INT64_MIN;                               ///< launches until then belong to pending_
  int64_t without_kernel_ = 0;
};

}  // namespace

CommRecord describe_call(CommKind kind, const NcclArguments& arguments, int64_t ranks) {
  CommRecord record;
  record.group_size = ranks;
  record.in_group = true;
  record.rank = arguments.peer >= 0 ? arguments.peer : arguments.root;
  int64_t all = -1;  // the messages of all ranks
  if (ranks <= 0 || __builtin_mul_overflow(arguments.bytes, ranks, &all)) all = -1;
  record.in_bytes = record.out_bytes = arguments.bytes;
  if (kind.type == NodeType::send) record.out_bytes = 0;
  if (kind.type == NodeType::recv) record.in_bytes = 0;
  switch (kind.collective) {
    case CommType::all_gather:
    case CommType::gather: record.out_bytes = all; break;
    case CommType::reduce_scatter:
    case CommType::scatter: record.in_bytes = all; break;
    case CommType::all_to_all: record.in_bytes = record.out_bytes = all; break;
    default: break;
  }
  return record;
}

// `nsys.calls` (warning): collective calls of NCCL whose kernel is not known, so a kernel has no size
void join_library_calls(Profile& profile, const StringPool& strings, Findings& findings) {
  if (const int64_t count = CallJoiner(profile, strings).run(); count > 0)
    findings.push_back(
        {"nsys.calls", Severity::warning, -1, -1,
         fmt::format("{} collective calls of NCCL could not be joined with their kernels, which have no "
                     "size: the calls were captured in a CUDA graph, made in a group of different calls, "
                     "or launched by another thread",
                     show_count(count))});
}

}  // namespace chakra::recording
