// Synthetic recordings with a known truth: a model of a host with threads and a device with streams
// runs a program, writes the output that PyTorch's two observers would have written, and can run the
// same program again with other kernel durations. The model shares no code with the linker.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::recording::testing {

struct MachineOptions {
  int rank = 0, ranks = 1;       ///< of a job; each rank is a machine
  double device_scale = 1;       ///< kernels and copies take this much of their time
  bool scale_unrecorded = true;  ///< unrecorded kernels, too
  double host_scale = 1;         ///< the host takes this much of its time
  bool name_thirds = false;      ///< every third kernel without a name in the program is called third_kernel
  std::string named;             ///< kernels of this name ...
  double named_scale = 1;        ///< ... take this much of their time
  bool named_dropped = false;    ///< ... or do not run, though the host launches them
  int64_t launch_latency_ns = 1'600;
  int64_t dispatch_gap_ns = 1'100;
  int64_t graph_latency_ns = 14'000;
  int64_t copy_gap_ns = 5'000;   ///< copies take this much longer to start behind a kernel
  int64_t jitter_ns = 250;       ///< of both, up to this much more or less
  bool record_syncs = true;      ///< cuda_sync records name streams and events
  size_t queue_limit = 1024;     ///< launches of a stream that may be outstanding; the next call blocks
  bool record_functions = true;  ///< record-function ids join the two traces
};

/// Runs a program step by step. All times in nanoseconds.
class Machine {
 public:
  Machine(uint64_t seed, const MachineOptions& options)
      : o_(options), host_(seed), device_(seed + 1), jitter_(seed + 2) {}

  // ---- what a program consists of ----------------------------------------------------------------------

  /// Run an operator (or annotation) around the work of `body`.
  void op(const std::string& name, const std::function<void()>& body, bool annotation = false) {
    const size_t id = ops_.size();
    const bool has_caller = !open_.empty() && ops_[open_.back()].thread == thread_;
    ops_.push_back(
        {name, annotation, now_, 0, has_caller ? static_cast<int64_t>(open_.back()) : -1, thread_, next_rf_++});
    open_.push_back(id);
    body();
    open_.pop_back();
    ops_[id].end = now_;
  }
  void annotation(const std::string& name, const std::function<void()>& body) { op(name, body, true); }

  /// Host work of a random duration.
  void work(int64_t least, int64_t most) { now_ += host(least, most); }
  int64_t choose(int64_t least, int64_t most) { return host_.between(least, most); }

  /// Launch and wait on this device from now on.
  void use_device(int64_t device) { on_device_ = device; }

  /// Launch a kernel of a random duration. While a kernel that
  /// fills the device runs, no other operation can begin.
  void launch(int64_t stream, int64_t least, int64_t most, bool fills_device = false,
              std::string_view name = kSomeKernel) {
    if (o_.name_thirds && name == kSomeKernel && ++unnamed_ % 3 == 0) name = "third_kernel";
    const int64_t begin = now_;
    wait_for_room(stream);
    now_ += host(3'000, 6'000);
    const int64_t correlation = call("cudaLaunchKernel", begin, now_);
    const int64_t earliest = now_ + latency(), time = scaled(device_.between(least, most));
    const bool is_named = o_.named == name;
    if (is_named && o_.named_dropped) return void(gap());  // drawn as if it ran
    const int64_t end =
        enqueue("kernel", name, stream, correlation, earliest, is_named ? part(time, o_.named_scale) : time);
    if (fills_device) full_until_[on_device_] = end;
  }

  /// Run `body` on another thread while this thread waits outside all operators; each hand-over takes a while.
  void on_thread(int64_t thread, const std::function<void()>& body) {
    const int64_t caller = thread_;
    now_ += host(10'000, 20'000);
    thread_ = thread;
    body();
    thread_ = caller;
    now_ += host(10'000, 20'000);
  }

  /// Launch the kernel of an all-reduce of all ranks; return its begin, which is the arrival time of this rank.
  int64_t launch_all_reduce(int64_t stream, int64_t bytes) {
    const int64_t begin = now_;
    now_ += host(3'000, 6'000);
    const int64_t correlation = call("cudaLaunchKernel", begin, now_);
    enqueue("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", stream, correlation, now_ + latency(),
            0);
    device_ops_.back().all_reduce_bytes = bytes;
    return device_ops_.back().start;
  }
  /// End the last launched all-reduce of this rank.
  void end_all_reduce(int64_t stream, int64_t end) {
    DeviceOp& op = device_ops_.back();
    op.dur = end - op.start;
    stream_of(stream).end = end;
    stream_of(stream).ends.back() = end;
  }

  struct GraphNode {
    int64_t stream, least, most;
    int after;  ///< the node of another stream to wait for; -1: no such node
    bool recorded = true;
  };
  /// Launch a graph: the first kernels begin a while after the call began.
  void launch_graph(const std::vector<GraphNode>& nodes) {
    const int64_t begin = now_;
    now_ += host(20'000, 30'000);
    const int64_t correlation = call("cudaGraphLaunch", begin, now_);
    const int64_t earliest = begin + o_.graph_latency_ns + jitter_.between(-o_.jitter_ns, o_.jitter_ns);
    std::vector<int64_t> ends;
    for (const GraphNode& node : nodes) {
      const int64_t ready = node.after < 0 ? earliest : ends[static_cast<size_t>(node.after)] + gap();
      const int64_t time = device_.between(node.least, node.most);
      ends.push_back(enqueue("kernel", "graph_kernel", node.stream, correlation, std::max(earliest, ready),
                             node.recorded || o_.scale_unrecorded ? scaled(time) : time));
      if (node.recorded) continue;
      device_ops_.pop_back();
      ++unrecorded_;
    }
  }

  void record_event(int64_t event, int64_t stream) {
    const int64_t begin = now_;
    now_ += host(500, 1'000);
    events_[event] = {stream, call("cudaEventRecord", begin, now_), last_end(stream)};
  }
  void wait_event(int64_t event, int64_t stream) {
    const int64_t begin = now_;
    now_ += host(500, 1'000);
    const int64_t correlation = call("cudaStreamWaitEvent", begin, now_);
    Stream& s = stream_of(stream);
    if (events_[event].end) s.not_before = std::max(s.not_before.value_or(0), *events_[event].end + gap());
    if (o_.record_syncs)
      sync("Stream Wait Event", correlation, begin, now_, stream, events_[event].stream, events_[event].correlation);
  }

  void synchronize_stream(int64_t stream) {
    blocking("cudaStreamSynchronize", "Stream Sync", stream, last_end(stream));
  }
  void synchronize_device() {
    std::optional<int64_t> end;
    for (const auto& [place, stream] : streams_)
      if (place.first == on_device_ && stream.end) end = std::max(end.value_or(0), *stream.end);
    blocking("cudaDeviceSynchronize", "Context Sync", -1, end);
  }

  /// Copy to pageable memory: the call returns when the copy has ended.
  void copy_to_host(int64_t stream, int64_t least, int64_t most) {
    const int64_t begin = now_;
    now_ += host(3'000, 6'000);
    const int64_t correlation = next_correlation_++;
    const int64_t end = enqueue("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", stream, correlation, now_ + latency(),
                                scaled(device_.between(least, most)));
    now_ = end + host(3'000, 6'000);
    calls_.push_back({"cudaMemcpyAsync", begin, now_, correlation, thread_});
  }

  /// Copy from pageable memory: the call feeds the copy, so the call waits for the
  /// copy's turn on the stream and returns a little before the copy ends.
  void copy_from_host(int64_t stream, int64_t least, int64_t most) {
    const int64_t begin = now_;
    now_ += host(3'000, 6'000);
    const int64_t correlation = next_correlation_++;
    enqueue("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", stream, correlation, now_ + latency(),
            scaled(device_.between(least, most)));
    now_ = device_ops_.back().start + host(least / 3, least / 2);
    calls_.push_back({"cudaMemcpyAsync", begin, now_, correlation, thread_});
  }

  /// Wait without any record: inside an operator, until the stream is idle.
  void wait_silently(int64_t stream) {
    if (const auto end = last_end(stream); end && *end > now_) now_ = *end;
    now_ += host(2'000, 4'000);
  }

  /// Let the CPU poll memory that the last kernel of a stream writes at `percent` of the time of the kernel.
  void spin(int64_t stream, int64_t percent) {
    const Stream& s = stream_of(stream);
    now_ = std::max(now_, s.start + (*s.end - s.start) * percent / 100) + host(200, 500);
    ++spins_;
  }

  // ---- what comes out ------------------------------------------------------------------------------------

  /// Return the time from the first start to the last end, of host and device.
  int64_t span() const {
    int64_t end = 0;
    for (const Op& op : ops_) end = std::max(end, op.end);
    for (const DeviceOp& op : device_ops_) end = std::max(end, op.start + op.dur);
    return end;
  }

  std::string kineto() const {
    std::string out = fmt::format(
        "{{\"schemaVersion\": 1, \"distributedInfo\": {{{}\"rank\": {}, "
        "\"world_size\": {}}}, \"baseTimeNanoseconds\": 1700000000000000000,\n\"traceEvents\": [",
        o_.ranks > 1 ? "\"backend\": \"nccl\", " : "", o_.rank, o_.ranks);
    bool first = true;
    const auto event = [&](std::string_view cat, std::string_view name, int64_t pid, int64_t tid, int64_t start,
                           int64_t dur, const std::string& args) {
      out += fmt::format(
          "{}\n{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, "
          "\"args\": {{{}}}}}",
          first ? "" : ",", cat, name, pid, tid, us(start + 5'000'000'000), us(dur), args);
      first = false;
    };
    for (size_t i = 0; i < ops_.size(); ++i)
      event(
          ops_[i].annotation ? "user_annotation" : "cpu_op", ops_[i].name, 100, ops_[i].thread, ops_[i].start,
          ops_[i].end - ops_[i].start,
          fmt::format("\"External id\": {}, \"Record function id\": {}", i + 1, o_.record_functions ? ops_[i].rf : 0));
    for (const Call& c : calls_)
      event("cuda_runtime", c.name, 100, c.thread, c.start, c.end - c.start,
            fmt::format("\"cbid\": 211, \"correlation\": {}", c.correlation));
    for (const DeviceOp& d : device_ops_)
      event(d.category, d.name, d.device, d.stream, d.start, d.dur,
            fmt::format("\"device\": {}, \"context\": 1, \"stream\": {}, \"correlation\": {}{}", d.device, d.stream,
                        d.correlation, all_reduce_args(d)));
    for (const Sync& s : syncs_)
      event("cuda_sync", s.kind, s.device, s.stream, s.start, s.dur,
            fmt::format("\"cuda_sync_kind\": \"{}\", \"stream\": {}, \"correlation\": {}, \"wait_on_stream\": {}, "
                        "\"wait_on_cuda_event_record_corr_id\": {}, \"device\": {}",
                        s.kind, s.stream, s.correlation, s.source_stream, s.source_correlation, s.device));
    return out + "\n]}\n";
  }

  std::string host_trace() const {
    std::string out =
        "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 100, \"time\": \"2026-01-01 00:00:00\", \"start_ts\": "
        "1,\n\"nodes\": [";
    const auto node = [&](int64_t id, std::string_view name, int64_t parent, int64_t rf, int64_t thread) {
      out += fmt::format(
          "{}\n{{\"id\": {}, \"name\": \"{}\", \"ctrl_deps\": {}, \"inputs\": {{\"values\": [], \"shapes\": [], "
          "\"types\": [], \"strides\": []}}, "
          "\"outputs\": {{\"values\": [], \"shapes\": [], \"types\": [], \"strides\": []}}, \"attrs\": ["
          "{{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": {}}}, {{\"name\": \"tid\", \"type\": \"uint64\", "
          "\"value\": {}}}, "
          "{{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"\"}}]}}",
          id == 2 ? "" : ",", id, name, parent, rf, thread);
    };
    node(2, "[pytorch|profiler|execution_trace|thread]", 1, 0, 1);
    node(3, "[pytorch|profiler|execution_trace|thread]", 1, 0, 2);
    for (size_t i = ops_.size(); i-- > 0;) {
      const int64_t root = ops_[i].thread == 100 ? 2 : 3;
      node(static_cast<int64_t>(i) + 10, ops_[i].name, ops_[i].parent < 0 ? root : ops_[i].parent + 10, ops_[i].rf,
           root - 1);
    }
    node(1, "[pytorch|profiler|execution_trace|process]", 1, 0, 0);
    return out + "\n], \"finish_ts\": 2}\n";
  }

  size_t op_count() const { return ops_.size(); }
  size_t device_op_count() const { return device_ops_.size(); }
  int64_t spin_count() const { return spins_; }
  int64_t unrecorded_count() const { return unrecorded_; }

 private:
  struct Op {
    std::string name;
    bool annotation;
    int64_t start, end, parent, thread, rf;
  };
  struct Call {
    std::string name;
    int64_t start, end, correlation, thread;
  };
  struct DeviceOp {
    std::string category, name;
    int64_t device, stream, correlation, start, dur;
    int64_t all_reduce_bytes = 0;
  };
  struct Sync {
    std::string kind;
    int64_t device, correlation, start, dur, stream, source_stream, source_correlation;
  };
  struct Stream {
    std::optional<int64_t> end;         ///< of its last operation
    int64_t start = 0;                  ///< of that
    std::optional<int64_t> not_before;  ///< an event it waits for
    std::vector<int64_t> ends;          ///< of all its operations
  };
  struct Event {
    int64_t stream = 0, correlation = 0;
    std::optional<int64_t> end;
  };

  std::string all_reduce_args(const DeviceOp& op) const {
    if (op.all_reduce_bytes == 0) return "";
    std::string ranks;
    for (int r = 0; r < o_.ranks; ++r) ranks += fmt::format("{}{}", r > 0 ? ", " : "", r);
    return fmt::format(
        ", \"Collective name\": \"allreduce\", \"In msg nelems\": {0}, \"Out msg nelems\": {0}, \"Group size\": {1}, "
        "\"dtype\": \"Float\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[{2}]\"",
        op.all_reduce_bytes / 4, o_.ranks, ranks);
  }
  static std::string us(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
  int64_t latency() { return o_.launch_latency_ns + jitter_.between(-o_.jitter_ns, o_.jitter_ns); }
  int64_t gap() { return o_.dispatch_gap_ns + jitter_.between(-o_.jitter_ns, o_.jitter_ns); }
  static int64_t part(int64_t ns, double scale) { return static_cast<int64_t>(static_cast<double>(ns) * scale); }
  int64_t scaled(int64_t ns) const { return part(ns, o_.device_scale); }
  int64_t host(int64_t least, int64_t most) { return part(host_.between(least, most), o_.host_scale); }
  void wait_for_room(int64_t stream) {
    const std::vector<int64_t>& ends = stream_of(stream).ends;
    if (ends.size() >= o_.queue_limit) now_ = std::max(now_, ends[ends.size() - o_.queue_limit]);
  }
  Stream& stream_of(int64_t stream) { return streams_[{on_device_, stream}]; }
  std::optional<int64_t> last_end(int64_t stream) { return stream_of(stream).end; }

  int64_t call(const std::string& name, int64_t begin, int64_t end) {
    calls_.push_back({name, begin, end, next_correlation_, thread_});
    return next_correlation_++;
  }
  int64_t enqueue(const char* category, std::string_view name, int64_t stream, int64_t correlation, int64_t earliest,
                  int64_t dur) {
    Stream& s = stream_of(stream);
    // Drawn whether it matters or not: the same program, the same numbers.
    const int64_t dispatch = gap() + (category == std::string_view("gpu_memcpy") ? o_.copy_gap_ns : 0);
    int64_t start = earliest;
    if (s.end) start = std::max(start, *s.end + dispatch);
    if (s.not_before) start = std::max(start, *s.not_before);
    if (const auto full = full_until_.find(on_device_); full != full_until_.end())
      start = std::max(start, full->second);
    s.not_before.reset();
    s.start = start;
    s.end = start + dur;
    s.ends.push_back(start + dur);
    device_ops_.push_back({category, std::string(name), on_device_, stream, correlation, start, dur, 0});
    return start + dur;
  }
  void sync(const char* kind, int64_t correlation, int64_t begin, int64_t end, int64_t stream, int64_t source_stream,
            int64_t source_correlation) {
    syncs_.push_back({kind, on_device_, correlation, begin, end - begin, stream, source_stream, source_correlation});
  }
  void blocking(const char* name, const char* kind, int64_t stream, std::optional<int64_t> until) {
    const int64_t begin = now_;
    const int64_t returning = host(2'000, 4'000);
    now_ = std::max(now_, until.value_or(0)) + returning;
    const int64_t correlation = call(name, begin, now_);
    if (o_.record_syncs) sync(kind, correlation, begin, now_, stream, -1, -1);
  }

  MachineOptions o_;
  Prng host_, device_, jitter_;
  int64_t now_ = 0, thread_ = 100;
  int64_t next_rf_ = 1, next_correlation_ = 1000;
  std::vector<size_t> open_;
  std::vector<Op> ops_;
  std::vector<Call> calls_;
  std::vector<DeviceOp> device_ops_;
  std::vector<Sync> syncs_;
  static constexpr std::string_view kSomeKernel = "some_kernel";
  int64_t on_device_ = 0, spins_ = 0, unrecorded_ = 0, unnamed_ = 0;
  std::map<std::pair<int64_t, int64_t>, Stream> streams_;  ///< by device and number
  std::map<int64_t, int64_t> full_until_;                  ///< by device
  std::map<int64_t, Event> events_;
};

}  // namespace chakra::recording::testing
