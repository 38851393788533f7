#include "chakra/recording/rocprof.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/filetype/filetype.h"
#include "chakra/recording/broken_times.h"
#include "chakra/recording/lanes.h"
#include "chakra/recording/rocprof_file.h"
#include "chakra/recording/rocprof_parts.h"

namespace chakra::recording {

// `rocprof.json` (1): not JSON, or a member is missing or has another type
// `rocprof.value` (1): a record has an impossible value
// `rocprof.nothing` (1): no activity of a device
// `rocprof.processes` (1): several processes in one file
// `rocprof.ranges` (note): ROCTx ranges that need not nest, and marks, are left out
// `rocprof.launch` (note): device operations whose HIP call is not in the file

namespace {

constexpr size_t kMostBytes = UINT32_MAX;  ///< that simdjson reads
class RocprofReader {
 public:
  RocprofReader(const std::string& file, StringPool& strings, Findings& findings)
      : strings_(strings), findings_(findings), file_(file) {
    out_.file = file;
  }

  Result<Profile> run(simdjson::padded_string& text) {
    CHAKRA_TRY(file_.open(text));
    out_.device_names = file_.device_names();
    CHAKRA_TRY(file_.each("hip_api", [&](const Activity& a) { return add_call(a); }));
    calls_.emplace(out_.calls);
    CHAKRA_TRY(file_.each("hsa_api", [&](const Activity& a) { return add_inner_call(a); }));
    CHAKRA_TRY(file_.each("kernel_dispatch", [&](const Activity& a) { return add_kernel(a); }));
    CHAKRA_TRY(file_.each("memory_copy", [&](const Activity& a) { return add_copy(a); }));
    if (out_.device_ops.empty())
      return fail(Code::bad_input, "rocprof.nothing",
                  "the file holds no activity of a device; record with 'rocprofv3 --hip-trace --kernel-trace "
                  "--memory-copy-trace --marker-trace --output-format json'",
                  {out_.file});
    CHAKRA_TRY(file_.each("marker_api", [&](const Activity& a) { return add_range(a); }));
    report();
    clip_overruns(out_);
    return std::move(out_);
  }

 private:
  Record record_of(const Activity& a, std::string_view name, uint32_t lane) {
    Record record;
    record.start_ns = a.start;
    record.dur_ns = a.end - a.start;
    record.name = strings_.intern(name);
    record.lane = lane;
    record.byte = ++records_;
    return record;
  }
  uint32_t thread_of(const Activity& a) { return lanes_.of(out_.threads, {trace::Lane::Kind::thread, 0, a.thread}); }

  Result<void> add_call(const Activity& a) {
    CHAKRA_ASSIGN(const std::string_view name, file_.operation_of(a));
    if (!file_.is_runtime(a)) return {};  // of the compiler's
    RuntimeCall call;
    static_cast<Record&>(call) = record_of(a, name, thread_of(a));
    call.correlation = a.correlation;
    out_.vendor = std::min(out_.vendor, vendor_of_call(name));
    out_.calls.push_back(call);
    return {};
  }

  Result<void> add_inner_call(const Activity& a) {
    calls_->add_inner(a.correlation, thread_of(a), a.start, a.end);
    return {};
  }

  Result<void> add_device_op(const Activity& a, DeviceOp::Kind kind, std::string_view name, int64_t agent,
                             int64_t stream) {
    const std::optional<int64_t> device = file_.device(agent);
    if (!device) return file_.impossible(a, "its agent is not a device of the file");
    DeviceOp op;
    static_cast<Record&>(op) =
        record_of(a, name, lanes_.of(out_.streams, {trace::Lane::Kind::stream, *device, stream}));
    if (op.lane == out_.stream_pids.size()) out_.stream_pids.emplace_back(fmt::format("{}", *device));
    op.kind = kind;
    op.correlation = calls_->outer(a.correlation);
    op.bytes = a.bytes;
    without_call_ += !calls_->contains(op.correlation);
    out_.device_ops.push_back(op);
    return {};
  }
  Result<void> add_kernel(const Activity& a) {
    const std::string* const name = file_.kernel(a.kernel);
    if (!name) return file_.impossible(a, "its kernel has no symbol");
    return add_device_op(a, DeviceOp::Kind::kernel, *name, a.agent, a.stream >= 0 ? a.stream : a.queue);
  }
  Result<void> add_copy(const Activity& a) {
    CHAKRA_ASSIGN(const std::string_view operation, file_.operation_of(a));
    const size_t copy = copy_row(operation);
    // The device that takes part; between two devices, the one that receives.
    const int64_t agent = file_.device(a.target) ? a.target : a.source;
    if (!file_.device(agent)) return {};  // between two places of the host
    const int64_t stream = a.stream >= 0 ? a.stream : kFirstCopyStream + static_cast<int64_t>(copy);
    return add_device_op(a, DeviceOp::Kind::copy, kCopyOperations[copy].name, agent, stream);
  }

  /// Pushed and popped ranges nest; ranges of a start and an end need not, and marks have no duration.
  Result<void> add_range(const Activity& a) {
    CHAKRA_ASSIGN(const std::string_view operation, file_.operation_of(a));
    if (!is_nested_range(operation)) {
      ++other_ranges_;
      return {};
    }
    const std::string* const message = file_.message(a.correlation);
    CpuOp range;
    static_cast<Record&>(range) = record_of(a, message ? std::string_view(*message) : operation, thread_of(a));
    range.annotation = true;
    out_.ops.push_back(range);
    return {};
  }

  void report() {
    if (other_ranges_ > 0)
      findings_.push_back({"rocprof.ranges", Severity::note, -1, -1,
                           fmt::format("ROCTx records left out: {}; marks have no duration, and ranges of a start and "
                                       "a stop need not nest",
                                       other_ranges_)});
    if (without_call_ > 0)
      findings_.push_back({"rocprof.launch", Severity::note, -1, -1,
                           fmt::format("{} device operations have no HIP call in the file; record with --hip-trace",
                                       show_count(without_call_))});
  }

  StringPool& strings_;
  Findings& findings_;
  RocprofFile file_;
  Profile out_;
  std::optional<EnclosingCalls> calls_;
  LaneNumbers lanes_;
  int64_t records_ = 0, without_call_ = 0, other_ranges_ = 0;
};

}  // namespace

bool is_rocprof(std::string_view head) {
  const filetype::Row* const row = filetype::recognise(head, static_cast<unsigned>(filetype::Group::recording));
  return row && row->name == filetype::kRocprof;
}

Result<Profile> read_rocprof(ByteSource source, StringPool& strings, Findings& findings) {
  std::string bytes;
  CHAKRA_ASSIGN(const bool whole, read_whole(source, kMostBytes, bytes));
  if (!whole)
    return fail(Code::bad_input, "rocprof.json", fmt::format("the file is larger than {} bytes", kMostBytes),
                {source.file()});
  simdjson::padded_string text(bytes);
  return RocprofReader(source.file(), strings, findings).run(text);
}

}  // namespace chakra::recording
