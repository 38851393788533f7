// A stand-in for NCCL and CUDA's driver, for tests: the same functions, in host memory, between threads of a process.
// Streams are separate threads, so that enqueued operations run later and in order. Operations of a communicator
// meet by their number in it, as NCCL's do: members whose operations, counts, types or roots differ get an
// error. The arithmetic is independent of the house's, so that it can be wrong where the house is right.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

/// Also of nothing, from nowhere.
void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

constexpr int kOk = 0, kInvalidArgument = 4, kNotReady = 600, kFailed = 719;

// ---- arithmetic ----------------------------------------------------------------------------------------------------

enum Type { kI8, kU8, kI32, kU32, kI64, kU64, kF16, kF32, kF64, kBf16, kE4m3, kE5m2 };
constexpr std::array<size_t, 12> kBytes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/// A narrow float by its bits: all its values, so that the nearest can be looked up.
struct NarrowFloat {
  std::vector<double> values;  // of the codes without a sign, up to the greatest finite one; ascending
  NarrowFloat(int exponent_bits, int mantissa_bits, size_t codes) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    for (size_t code = 0; code < codes; ++code) {
      const int exponent = static_cast<int>(code >> mantissa_bits);
      const double mantissa = static_cast<double>(code & ((1u << mantissa_bits) - 1)) / (1 << mantissa_bits);
      values.push_back(exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias));
    }
  }
  double decode(size_t code, size_t sign) const {
    const double value = values[std::min(code & (sign - 1), values.size() - 1)];
    return code & sign ? -value : value;
  }
  size_t encode(double value, size_t sign) const {
    const auto above = std::lower_bound(values.begin(), values.end(), std::fabs(value));
    size_t code = static_cast<size_t>(std::min(above, values.end() - 1) - values.begin());
    if (code > 0 && std::fabs(value) - values[code - 1] < values[code] - std::fabs(value)) --code;
    return code | (std::signbit(value) ? sign : 0);
  }
};

template <class T>
T combined(T a, T b, int op) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  switch (op) {
    case 1: return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case 2: return a < b ? b : a;
    case 3: return b < a ? b : a;
    default: return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  }
}

template <class T>
void combine_as(void* into, const void* from, size_t count, int op) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, static_cast<char*>(into) + i * sizeof(T), sizeof(T));
    std::memcpy(&b, static_cast<const char*>(from) + i * sizeof(T), sizeof(T));
    a = combined(a, b, op);
    std::memcpy(static_cast<char*>(into) + i * sizeof(T), &a, sizeof(T));
  }
}
template <class Bits>
void combine_narrow(const NarrowFloat& format, void* into, const void* from, size_t count, int op) {
  constexpr size_t kSign = size_t{1} << (8 * sizeof(Bits) - 1);
  for (size_t i = 0; i < count; ++i) {
    Bits a, b;
    std::memcpy(&a, static_cast<char*>(into) + i * sizeof(Bits), sizeof(Bits));
    std::memcpy(&b, static_cast<const char*>(from) + i * sizeof(Bits), sizeof(Bits));
    a = static_cast<Bits>(format.encode(combined(format.decode(a, kSign), format.decode(b, kSign), op), kSign));
    std::memcpy(static_cast<char*>(into) + i * sizeof(Bits), &a, sizeof(Bits));
  }
}

void combine(int type, void* into, const void* from, size_t count, int op) {
  static const NarrowFloat half(5, 10, 0x7c00), bfloat(8, 7, 0x7f80), e4m3(4, 3, 0x7f), e5m2(5, 2, 0x7c);
  switch (type) {
    case kI8: return combine_as<int8_t>(into, from, count, op);
    case kU8: return combine_as<uint8_t>(into, from, count, op);
    case kI32: return combine_as<int32_t>(into, from, count, op);
    case kU32: return combine_as<uint32_t>(into, from, count, op);
    case kI64: return combine_as<int64_t>(into, from, count, op);
    case kU64: return combine_as<uint64_t>(into, from, count, op);
    case kF32: return combine_as<float>(into, from, count, op);
    case kF64: return combine_as<double>(into, from, count, op);
    case kF16: return combine_narrow<uint16_t>(half, into, from, count, op);
    case kBf16: return combine_narrow<uint16_t>(bfloat, into, from, count, op);
    case kE4m3: return combine_narrow<uint8_t>(e4m3, into, from, count, op);
    default: return combine_narrow<uint8_t>(e5m2, into, from, count, op);
  }
}

// ---- streams and events --------------------------------------------------------------------------------------------

class Stream {
 public:
  Stream() : thread_([this] { run(); }) {}
  ~Stream() {
    put(nullptr);
    thread_.join();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void put(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }
  std::atomic<bool> failed{false};

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      if (!task) return;
      task();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

struct Event {
  std::shared_ptr<std::atomic<int>> state = std::make_shared<std::atomic<int>>(kOk);
};

// ---- communicators -------------------------------------------------------------------------------------------------

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter };

/// What a member puts into an operation.
struct Part {
  Kind kind{};
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  int type = 0, op = 0, root = 0;
  bool fits(const Part& o) const {
    return kind == o.kind && count == o.count && type == o.type && op == o.op && root == o.root;
  }
};
struct MeetingSlot {
  std::map<int, Part> parts;
  size_t done = 0;
};
struct Message {
  const void* from = nullptr;
  size_t bytes = 0;
  bool taken = false;
};

/// What the members of a communicator share.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 0, joined = 0;
  bool aborted = false;
  std::map<uint64_t, MeetingSlot> slots;                                     // by number of the operation
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> mail;  // by sender and receiver
};
struct Comm {
  std::shared_ptr<Shared> shared;
  int rank = 0;
  uint64_t next = 0;
};

void compute(const Part& mine, const std::map<int, Part>& all, int rank) {
  const size_t bytes = mine.count * kBytes[static_cast<size_t>(mine.type)];
  const auto part = [&](int r) { return static_cast<const char*>(all.at(r).in); };
  const int ranks = static_cast<int>(all.size());
  switch (mine.kind) {
    case Kind::broadcast:
      if (mine.out != part(mine.root)) copy_bytes(mine.out, part(mine.root), bytes);
      return;
    case Kind::all_gather:
      for (int r = 0; r < ranks; ++r)
        copy_bytes(static_cast<char*>(mine.out) + static_cast<size_t>(r) * bytes, part(r), bytes);
      return;
    case Kind::reduce:
      if (rank != mine.root) return;
      break;
    default: break;
  }
  const size_t from = mine.kind == Kind::reduce_scatter ? static_cast<size_t>(rank) * bytes : 0;
  std::vector<char> sum(part(0) + from, part(0) + from + bytes);
  for (int r = 1; r < ranks; ++r) combine(mine.type, sum.data(), part(r) + from, mine.count, mine.op);
  copy_bytes(mine.out, sum.data(), bytes);
}

bool meet(Shared& s, int rank, uint64_t number, const Part& mine) {
  std::unique_lock lock(s.mutex);
  MeetingSlot& slot = s.slots[number];
  slot.parts[rank] = mine;
  s.changed.notify_all();
  const auto all = static_cast<size_t>(s.ranks);
  s.changed.wait(lock, [&] { return s.aborted || slot.parts.size() == all; });
  if (s.aborted) return false;
  bool fits = true;
  for (const auto& [other, part] : slot.parts) fits = fits && part.fits(mine);
  lock.unlock();
  if (fits) compute(mine, slot.parts, rank);
  lock.lock();
  ++slot.done;
  s.changed.notify_all();
  s.changed.wait(lock, [&] { return s.aborted || slot.done >= all; });  // until then the others read what this put in
  if (++slot.done == 2 * all) s.slots.erase(number);
  return fits;
}

struct PointToPoint {
  bool sends = false;
  void* at = nullptr;
  size_t bytes = 0;
  int peer = 0;
};

bool exchange(Shared& s, int rank, const std::vector<PointToPoint>& group) {
  std::unique_lock lock(s.mutex);
  std::vector<std::shared_ptr<Message>> sent;
  for (const PointToPoint& p : group)
    if (p.sends) {
      sent.push_back(std::make_shared<Message>(Message{p.at, p.bytes}));
      s.mail[{rank, p.peer}].push_back(sent.back());
    }
  s.changed.notify_all();
  bool fits = true;
  for (const PointToPoint& p : group) {
    if (p.sends) continue;
    auto& mail = s.mail[{p.peer, rank}];
    s.changed.wait(lock, [&] { return s.aborted || !mail.empty(); });
    if (s.aborted) return false;
    const std::shared_ptr<Message> message = mail.front();
    mail.pop_front();
    fits = fits && message->bytes == p.bytes;
    if (fits) copy_bytes(p.at, message->from, p.bytes);
    message->taken = true;
    s.changed.notify_all();
  }
  for (const auto& message : sent) s.changed.wait(lock, [&] { return s.aborted || message->taken; });
  return fits && !s.aborted;
}

std::mutex all_mutex;
std::map<std::string, std::shared_ptr<Shared>> all_shared;
std::map<std::string, uint64_t> all_calls;
std::atomic<uint64_t> next_id{1};

void record(const char* name) {
  const std::lock_guard lock(all_mutex);
  ++all_calls[name];
}

// Of the thread: what stands between ncclGroupStart and ncclGroupEnd.
thread_local int group_depth = 0;
struct Grouped {
  Comm* comm = nullptr;
  Stream* stream = nullptr;
  std::vector<PointToPoint> all;
};
thread_local std::vector<Grouped> grouped;

void put_group() {
  for (Grouped& g : grouped)
    g.stream->put([shared = g.comm->shared, rank = g.comm->rank, stream = g.stream, all = std::move(g.all)] {
      if (!exchange(*shared, rank, all)) stream->failed = true;
    });
  grouped.clear();
}

int put_message(const char* name, const PointToPoint& p, Comm* comm, Stream* stream) {
  record(name);
  if (p.peer < 0 || p.peer >= comm->shared->ranks) return kInvalidArgument;
  auto at = std::find_if(grouped.begin(), grouped.end(), [&](const Grouped& g) { return g.comm == comm; });
  if (at == grouped.end()) at = grouped.insert(grouped.end(), Grouped{comm, stream, {}});
  at->all.push_back(p);
  if (group_depth == 0) put_group();
  return kOk;
}

int put(const char* name, const Part& part, Comm* comm, Stream* stream) {
  record(name);
  if (part.type < 0 || part.type > kE5m2 || part.root < 0 || part.root >= comm->shared->ranks) return kInvalidArgument;
  stream->put([shared = comm->shared, rank = comm->rank, number = comm->next++, part, stream] {
    if (!meet(*shared, rank, number, part)) stream->failed = true;
  });
  return kOk;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

struct StandInId {
  char bytes[128];
};

EXPORT int ncclGetUniqueId(StandInId* id) {
  *id = {};
  const uint64_t number = next_id++;
  std::memcpy(id->bytes, &number, sizeof number);
  return kOk;
}
EXPORT int ncclCommInitRank(Comm** made, int ranks, StandInId id, int rank) {
  record("ncclCommInitRank");
  if (rank < 0 || rank >= ranks) return kInvalidArgument;
  std::shared_ptr<Shared> shared;
  {
    const std::lock_guard lock(all_mutex);
    auto& place = all_shared[std::string(id.bytes, sizeof id.bytes)];
    if (!place) place = std::make_shared<Shared>();
    shared = place;
  }
  std::unique_lock lock(shared->mutex);
  shared->ranks = ranks;
  ++shared->joined;
  shared->changed.notify_all();
  shared->changed.wait(lock, [&] { return shared->joined >= shared->ranks; });
  *made = new Comm{shared, rank, 0};
  return kOk;
}
EXPORT int ncclAllReduce(const void* in, void* out, size_t n, int type, int op, Comm* comm, Stream* stream) {
  return put("ncclAllReduce", {Kind::all_reduce, in, out, n, type, op, 0}, comm, stream);
}
EXPORT int ncclReduce(const void* in, void* out, size_t n, int type, int op, int root, Comm* comm, Stream* stream) {
  return put("ncclReduce", {Kind::reduce, in, out, n, type, op, root}, comm, stream);
}
EXPORT int ncclBroadcast(const void* in, void* out, size_t n, int type, int root, Comm* comm, Stream* stream) {
  return put("ncclBroadcast", {Kind::broadcast, in, out, n, type, 0, root}, comm, stream);
}
EXPORT int ncclAllGather(const void* in, void* out, size_t n, int type, Comm* comm, Stream* stream) {
  return put("ncclAllGather", {Kind::all_gather, in, out, n, type, 0, 0}, comm, stream);
}
EXPORT int ncclReduceScatter(const void* in, void* out, size_t n, int type, int op, Comm* comm, Stream* stream) {
  return put("ncclReduceScatter", {Kind::reduce_scatter, in, out, n, type, op, 0}, comm, stream);
}
EXPORT int ncclSend(const void* in, size_t n, int type, int peer, Comm* comm, Stream* stream) {
  return put_message("ncclSend", {true, const_cast<void*>(in), n * kBytes[static_cast<size_t>(type)], peer}, comm,
                     stream);
}
EXPORT int ncclRecv(void* out, size_t n, int type, int peer, Comm* comm, Stream* stream) {
  return put_message("ncclRecv", {false, out, n * kBytes[static_cast<size_t>(type)], peer}, comm, stream);
}
EXPORT int ncclGroupStart() {
  ++group_depth;
  return kOk;
}
EXPORT int ncclGroupEnd() {
  if (--group_depth == 0) put_group();
  return kOk;
}
EXPORT int ncclCommDestroy(Comm* comm) {
  delete comm;
  return kOk;
}
EXPORT int ncclCommAbort(Comm* comm) {
  const std::shared_ptr<Shared> shared = comm->shared;  // what is in streams still needs it
  delete comm;
  const std::lock_guard lock(shared->mutex);
  shared->aborted = true;
  shared->changed.notify_all();
  return kOk;
}
EXPORT const char* ncclGetErrorString(int code) { return code == kInvalidArgument ? "invalid argument" : "stand-in"; }

EXPORT int cuInit(unsigned) { return kOk; }
EXPORT int cuDeviceGetCount(int* count) {
  *count = 16;
  return kOk;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kOk;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = nullptr;
  return kOk;
}
EXPORT int cuCtxSetCurrent(void*) { return kOk; }
EXPORT int cuStreamCreate(Stream** stream, unsigned) {
  *stream = new Stream();
  return kOk;
}
EXPORT int cuStreamDestroy_v2(Stream* stream) {
  delete stream;
  return kOk;
}
EXPORT int cuMemAlloc_v2(unsigned long long* at, size_t bytes) {
  *at = reinterpret_cast<uintptr_t>(std::malloc(bytes));
  return kOk;
}
EXPORT int cuMemFree_v2(unsigned long long at) {
  std::free(reinterpret_cast<void*>(at));
  return kOk;
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  copy_bytes(reinterpret_cast<void*>(to), from, bytes);
  return kOk;
}
EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  copy_bytes(to, reinterpret_cast<const void*>(from), bytes);
  return kOk;
}
EXPORT int cuEventCreate(Event** event, unsigned) {
  *event = new Event();
  return kOk;
}
EXPORT int cuEventRecord(Event* event, Stream* stream) {
  *event->state = kNotReady;
  stream->put([state = event->state, stream] { *state = stream->failed ? kFailed : kOk; });
  return kOk;
}
EXPORT int cuEventQuery(Event* event) { return *event->state; }
EXPORT int cuEventDestroy_v2(Event* event) {
  delete event;
  return kOk;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  *text = code == kFailed ? "operations of a communicator do not fit together" : "stand-in";
  return kOk;
}

/// How often a function was called.
EXPORT uint64_t nccl_stand_in_calls(const char* name) {
  const std::lock_guard lock(all_mutex);
  return all_calls[name];
}
