// The back end `nccl`: NCCL's operations in the memory of a GPU for each rank. Each group has a separate communicator
// and stream, and so have the messages from one rank to another with a tag. All members must enqueue operations in the
// same order: where their traces do not determine it, they meet at the rendezvous first. NCCL has no all-to-all,
// gather and scatter: they are groups of sends and receives. A barrier is an all-reduce of a byte.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "chakra/replay/backend.h"
#include "chakra/replay/backends.h"
#include "chakra/replay/data.h"
#include "chakra/replay/elements.h"
#include "chakra/replay/meetings.h"
#include "chakra/replay/naps.h"
#include "chakra/replay/nccl/api.h"
#include "chakra/replay/parties.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {

namespace nccl {
namespace {

using namespace std::chrono_literals;
using NcclClock = std::chrono::steady_clock;
using trace::CommType;

// `replay.nccl` (2, 4): NCCL or CUDA could not do something, and said why; or the machine has no GPU.
Result<void> nccl_ok(const Api& api, int code, std::string_view doing) {
  if (code == 0) return {};
  return fail(Code::stuck, "replay.nccl", fmt::format("{}: NCCL error: {}", doing, api.nccl_error(code)));
}
Result<void> cuda_ok(const Api& api, int code, std::string_view doing) {
  if (code == 0) return {};
  const char* why = nullptr;
  if (api.cuda_error(code, &why) != 0 || !why) why = "an error without a name";
  return fail(Code::stuck, "replay.nccl", fmt::format("{}: CUDA error: {}", doing, why));
}

/// How NCCL adds up an element type.
struct NcclType {
  std::string_view name;  ///< first name of its ElementRow
  int type;
  int parts = 1;            ///< values of that type in an element
  bool is_boolean = false;  ///< "or" is the maximum, "and" the minimum
};
constexpr std::array<NcclType, 15> kTypes{{{"byte", kUint8},
                                           {"float", kFloat},
                                           {"double", kDouble},
                                           {"half", kHalf},
                                           {"bfloat16", kBfloat16},
                                           {"float8_e4m3fn", kE4m3},
                                           {"float8_e5m2", kE5m2},
                                           {"char", kInt8},
                                           {"int", kInt32},
                                           {"uint32", kUint32},
                                           {"long", kInt64},
                                           {"uint64", kUint64},
                                           {"bool", kUint8, 1, true},
                                           {"complexfloat", kFloat, 2},
                                           {"complexdouble", kDouble, 2}}};

// `replay.nccl.type` (1): a sum of elements of 16-bit integers, which NCCL does not have.
Result<const NcclType*> type_of(const Operation& op) {
  const ElementRow& element = element_of(op.dtype);
  const std::string_view name = element.names.substr(0, element.names.find(' '));
  for (const NcclType& row : kTypes)
    if (row.name == name) return &row;
  return fail(Code::bad_input, "replay.nccl.type",
              fmt::format("{}: NCCL cannot combine values of the type {}; leave such operations out (--allow-ops)",
                          describe(op), quote(op.dtype)));
}

int reduce_of(ReduceOp op, const NcclType& type) {
  switch (op) {
    case ReduceOp::sum: return type.is_boolean ? kMaximum : kSum;
    case ReduceOp::product: return type.is_boolean ? kMinimum : kProduct;
    case ReduceOp::average: return type.is_boolean ? kMaximum : kAverage;
    case ReduceOp::minimum: return kMinimum;
    default: return kMaximum;
  }
}

struct Channel {
  Comm comm = nullptr;
  Stream stream = nullptr;
  bool at_once = false;
};

/// Memory of the device, used again and again.
class DeviceMemory {
 public:
  explicit DeviceMemory(const Api& api) : api_(api) {}
  ~DeviceMemory() {
    for (const DevicePointer at : all_) api_.release(at);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  struct Block {
    size_t size = 0;
    DevicePointer at = 0;
  };
  Result<Block> take(uint64_t bytes) {
    bytes = std::max<uint64_t>(bytes, 1);
    if (const auto found = free_.lower_bound(bytes); found != free_.end() && found->first / 2 <= bytes) {
      const Block block{found->first, found->second};
      free_.erase(found);
      return block;
    }
    Block block{bytes, 0};
    CHAKRA_TRY(cuda_ok(api_, api_.allocate(&block.at, bytes), fmt::format("{} bytes on the device", bytes)));
    all_.push_back(block.at);
    return block;
  }
  void give(const Block& block) { free_.emplace(block.size, block.at); }

 private:
  const Api& api_;
  std::vector<DevicePointer> all_;
  std::multimap<size_t, DevicePointer> free_;  ///< by size
};

/// An operation in its stream.
struct InStream {
  Operation op;
  Ticket ticket = 0;
  NcclClock::time_point since = NcclClock::now();
  bool told = false;  ///< that it has ended
  Event event = nullptr;
  DeviceMemory::Block in{}, out{};
};

/// Puts an operation into its stream.
class Putter {
 public:
  Putter(const Api& api, const Channel& channel, const InStream& o)
      : a_(api), c_(channel), op_(o.op), n_(op_.members.size()), in_(o.in.at), out_(o.out.at) {}

  static uint64_t in_bytes(const Operation& op) {
    const uint64_t n = op.members.size();
    if (op.kind != Operation::Kind::collective) return op.in_bytes;
    if (op.type == CommType::reduce_scatter || op.type == CommType::reduce_scatter_block) return n * part_bytes(op);
    if (op.type == CommType::scatter && op.place == op.root) return n * op.out_bytes;
    return op.in_bytes;
  }
  static uint64_t out_bytes(const Operation& op) {
    if (op.kind != Operation::Kind::collective) return op.out_bytes;
    if (op.type == CommType::reduce_scatter || op.type == CommType::reduce_scatter_block) return part_bytes(op);
    return op.type == CommType::broadcast ? std::max(op.in_bytes, op.out_bytes) : op.out_bytes;
  }

  Result<void> run() const {
    if (op_.kind == Operation::Kind::send) return ok(a_.send(at(in_), op_.in_bytes, kUint8, 1, c_.comm, c_.stream));
    if (op_.kind == Operation::Kind::receive)
      return ok(a_.receive(at(out_), op_.out_bytes, kUint8, 0, c_.comm, c_.stream));
    const auto root = static_cast<int>(op_.root);
    switch (op_.type) {
      case CommType::all_reduce:
      case CommType::reduce:
      case CommType::reduce_scatter:
      case CommType::reduce_scatter_block: return sum(root);
      case CommType::broadcast:
        return ok(a_.broadcast(at(op_.place == op_.root ? in_ : out_), at(out_), out_bytes(op_), kUint8, root, c_.comm,
                               c_.stream));
      case CommType::all_gather: return ok(a_.all_gather(at(in_), at(out_), op_.in_bytes, kUint8, c_.comm, c_.stream));
      case CommType::barrier: return ok(a_.all_reduce(at(in_), at(out_), 1, kUint8, kSum, c_.comm, c_.stream));
      default: break;
    }
    CHAKRA_TRY(ok(a_.group_start()));
    const Result<void> put = exchange();
    CHAKRA_TRY(ok(a_.group_end()));
    return put;
  }

 private:
  static uint64_t part_bytes(const Operation& op) {
    const uint64_t n = op.members.size(), bytes = element_of(op.dtype).bytes, all = op.in_bytes / bytes;
    return (all / n + (all % n != 0)) * bytes;
  }
  static void* at(DevicePointer place) { return reinterpret_cast<void*>(static_cast<uintptr_t>(place)); }
  Result<void> ok(int code) const { return nccl_ok(a_, code, describe(op_)); }

  Result<void> sum(int root) const {
    CHAKRA_ASSIGN(const NcclType* const row, type_of(op_));
    const ElementRow& element = element_of(op_.dtype);
    const int op = reduce_of(op_.reduce, *row);
    const uint64_t count = op_.in_bytes / element.bytes * static_cast<uint64_t>(row->parts);
    if (op_.type == CommType::all_reduce)
      return ok(a_.all_reduce(at(in_), at(out_), count, row->type, op, c_.comm, c_.stream));
    if (op_.type == CommType::reduce)
      return ok(a_.reduce(at(in_), at(out_), count, row->type, op, root, c_.comm, c_.stream));
    const uint64_t part = part_bytes(op_) / element.bytes * static_cast<uint64_t>(row->parts);
    return ok(a_.reduce_scatter(at(in_), at(out_), part, row->type, op, c_.comm, c_.stream));
  }

  Result<void> put_one(bool sends, DevicePointer place, uint64_t bytes, uint64_t other) const {
    if (bytes == 0) return {};
    const auto peer = static_cast<int>(other);
    return ok(sends ? a_.send(at(place), bytes, kUint8, peer, c_.comm, c_.stream)
                    : a_.receive(at(place), bytes, kUint8, peer, c_.comm, c_.stream));
  }

  /// All-to-all, gather and scatter, as sends and receives.
  Result<void> exchange() const {
    const bool is_root = op_.place == op_.root;
    if (op_.type == CommType::gather) CHAKRA_TRY(put_one(true, in_, op_.in_bytes, op_.root));
    if (op_.type == CommType::scatter) CHAKRA_TRY(put_one(false, out_, op_.out_bytes, op_.root));
    DevicePointer in = in_, out = out_;
    for (uint64_t j = 0; j < n_; ++j) {
      if (op_.type == CommType::gather && is_root) CHAKRA_TRY(put_one(false, out_ + j * op_.in_bytes, op_.in_bytes, j));
      if (op_.type == CommType::scatter && is_root)
        CHAKRA_TRY(put_one(true, in_ + j * op_.out_bytes, op_.out_bytes, j));
      if (op_.type != CommType::all_to_all) continue;
      const uint64_t to = op_.in_split.empty() ? op_.in_bytes / n_ : op_.in_split[j];
      const uint64_t from = op_.out_split.empty() ? op_.out_bytes / n_ : op_.out_split[j];
      CHAKRA_TRY(put_one(true, in, to, j));
      CHAKRA_TRY(put_one(false, out, from, j));
      in += to;
      out += from;
    }
    return {};
  }

  const Api& a_;
  const Channel& c_;
  const Operation& op_;
  uint64_t n_;
  DevicePointer in_, out_;
};

class NcclSession final : public Session {
 public:
  NcclSession(const World& world, Rendezvous& rendezvous, const Api& api)
      : world_(world), rendezvous_(rendezvous), api_(api), memory_(api_) {}

  Result<void> prepare(std::span<const Party> parties, bool) override {
    BodyWriter mine;  // a communicator's id is made by its first member
    for (const Party& p : parties)
      if (p.complete && p.members[0] == world_.rank) {
        UniqueId id{};
        CHAKRA_TRY(nccl_ok(api_, api_.unique_id(&id), "an id cannot be made"));
        mine.text(p.key).text({id.bytes, sizeof id.bytes});
      }
    CHAKRA_ASSIGN(const std::vector<std::string> all, rendezvous_.exchange(mine.body));
    for (const Party& p : parties) {  // all ranks have theirs in the order of the keys
      if (!p.complete) continue;      // who starts its operations waits for those who are missing
      UniqueId id{};
      BodyReader read(all[static_cast<size_t>(p.members[0])]);
      for (std::string_view key = read.text(), its = read.text(); read.ok(); key = read.text(), its = read.text())
        if (key == p.key && its.size() == sizeof id.bytes) std::memcpy(id.bytes, its.data(), sizeof id.bytes);
      Channel& c = channels_[place_of(p.is_group, p.group, p.members[0], p.members[1 % p.members.size()], p.tag)];
      const auto place = std::find(p.members.begin(), p.members.end(), world_.rank) - p.members.begin();
      c.at_once = p.agreed;
      CHAKRA_TRY(nccl_ok(api_, api_.init_rank(&c.comm, static_cast<int>(p.members.size()), id, static_cast<int>(place)),
                         p.key));
      CHAKRA_TRY(cuda_ok(api_, api_.stream_create(&c.stream, kStreamNonBlocking), "a stream cannot be made"));
    }
    return {};
  }

  Result<void> start(const Operation& op, Ticket ticket) override {
    const auto found = channels_.find(place_of(op));
    if (found == channels_.end() && op.kind != Operation::Kind::collective) return {};  // its partner never comes
    if (found != channels_.end() && found->second.at_once) return put(op, ticket, false, found->second);
    return meetings_.come(op, ticket, op.in_split.empty() && op.out_split.empty() ? whole_bytes(op) : 0);
  }

  Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ticket>& ended) override {
    return progress_by_looks(
        rendezvous_, naps_, running_, patience, ended, [this](std::vector<Ticket>& done) { return look(done); },
        [this](const Met& met) { return begin_met(met); });
  }

  bool quiet() const override { return running_.empty() && !meetings_.keeps(); }

  Result<void> close() override {
    for (auto& [place, c] : channels_) {
      CHAKRA_TRY(nccl_ok(api_, api_.destroy(c.comm), "cannot release a communicator"));
      CHAKRA_TRY(cuda_ok(api_, api_.stream_destroy(c.stream), "cannot release a stream"));
    }
    channels_.clear();
    return {};
  }
  void abort(std::string_view) override {
    for (auto& [place, c] : channels_)
      if (c.comm) api_.abort(c.comm);
    for (auto& [place, c] : channels_)
      if (c.stream) api_.stream_destroy(c.stream);
    for (const InStream& o : running_) api_.event_destroy(o.event);
    channels_.clear();
    running_.clear();
  }

 private:
  static constexpr auto kPatienceOfSends = 50ms;

  using Place = std::tuple<std::string, int64_t, int64_t, int64_t>;  ///< a group, or sender, receiver and tag
  static Place place_of(bool is_group, std::string_view group, int64_t from, int64_t to, int64_t tag) {
    return is_group ? Place{group, -1, -1, 0} : Place{"", from, to, tag};
  }
  Place place_of(const Operation& op) const {
    const bool sends = op.kind == Operation::Kind::send;
    return place_of(op.kind == Operation::Kind::collective, op.group, sends ? world_.rank : op.partner,
                    sends ? op.partner : world_.rank, op.tag);
  }

  Result<void> begin_met(const Met& met) {
    CHAKRA_ASSIGN(const Meetings::Complete found, meetings_.complete(met));
    const Operation& op = found.operation;
    const auto channel = channels_.find(place_of(op));
    if (channel != channels_.end()) return put(op, found.ticket, found.told, channel->second);
    return fail(Code::bad_input, "replay.comm.differ",
                fmt::format("{}: the members of the group differ between ranks", describe(op)));
  }

  /// Data come from the host only where they will be looked at. `told`: the operation counts as ended.
  Result<void> put(const Operation& op, Ticket ticket, bool told, const Channel& channel) {
    InStream o{.op = op, .ticket = ticket, .told = told};
    CHAKRA_ASSIGN(o.in, memory_.take(Putter::in_bytes(op)));
    CHAKRA_ASSIGN(o.out, memory_.take(Putter::out_bytes(op)));
    if (!op.in.empty())
      CHAKRA_TRY(cuda_ok(api_, api_.to_device(o.in.at, op.in.data(), std::min(op.in.size(), o.in.size)), describe(op)));
    CHAKRA_TRY(Putter(api_, channel, o).run());
    CHAKRA_TRY(cuda_ok(api_, api_.event_create(&o.event, kEventWithoutTiming), describe(op)));
    CHAKRA_TRY(cuda_ok(api_, api_.event_record(o.event, channel.stream), describe(op)));
    running_.push_back(std::move(o));
    naps_.wake();
    return {};
  }

  Result<void> look(std::vector<Ticket>& ended) {
    meetings_.end_old_sends(kPatienceOfSends, ended);
    for (size_t i = 0; i < running_.size();) {
      InStream& o = running_[i];
      const int state = api_.event_query(o.event);
      const bool late = o.op.kind == Operation::Kind::send && NcclClock::now() - o.since > kPatienceOfSends;
      if (state == 0 && !o.told && !o.op.out.empty())
        CHAKRA_TRY(cuda_ok(api_, api_.to_host(o.op.out.data(), o.out.at, std::min(o.op.out.size(), o.out.size)),
                           describe(o.op)));
      if ((state == 0 || late) && !std::exchange(o.told, true)) ended.push_back(o.ticket);
      if (state != 0 && state != kCudaNotReady) CHAKRA_TRY(cuda_ok(api_, state, describe(o.op)));
      if (state != 0) {
        ++i;
        continue;
      }
      api_.event_destroy(o.event);
      memory_.give(o.in);
      memory_.give(o.out);
      running_.erase(running_.begin() + static_cast<ptrdiff_t>(i));
    }
    return {};
  }

  const World world_;
  Rendezvous& rendezvous_;
  const Api api_;
  DeviceMemory memory_;
  std::map<Place, Channel> channels_;
  std::vector<InStream> running_;
  Meetings meetings_{world_.rank, rendezvous_};
  Naps naps_;
};

/// Which of the machine's devices is this rank's, by what launchers say.
int64_t local_rank(const World& world) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"})
    if (int64_t rank = 0; const char* const given = std::getenv(name))
      if (parse_integer(std::string_view(given), rank) && rank >= 0) return rank;
  return world.rank;
}

}  // namespace
}  // namespace nccl

Result<std::unique_ptr<Session>> open_nccl(const World& world, Rendezvous& rendezvous, const Settings& settings) {
  CHAKRA_ASSIGN(const nccl::Api api, nccl::open_api(setting(settings, "library", "libnccl.so.2"),
                                                    setting(settings, "driver", "libcuda.so.1")));
  int count = 0, device = 0;
  nccl::Context context = nullptr;
  CHAKRA_TRY(nccl::cuda_ok(api, api.init(0), "CUDA does not start"));
  CHAKRA_TRY(nccl::cuda_ok(api, api.device_count(&count), "devices cannot be counted"));
  if (count < 1) return fail(Code::usage, "replay.nccl", "this machine has no GPU");
  int64_t wanted = nccl::local_rank(world) % count;
  const std::string named = setting(settings, "device");
  if (settings.contains("device") && !(parse_integer(named, wanted) && wanted >= 0 && wanted < count))
    return fail(Code::usage, "cli.usage",
                fmt::format("--backend-option device={}: expected a number below {}", named, count));
  CHAKRA_TRY(nccl::cuda_ok(api, api.device(&device, static_cast<int>(wanted)), "the device does not exist"));
  CHAKRA_TRY(nccl::cuda_ok(api, api.retain_context(&context, device), "the device gives no context"));
  CHAKRA_TRY(nccl::cuda_ok(api, api.set_context(context), "the device's context cannot be used"));
  return std::make_unique<nccl::NcclSession>(world, rendezvous, api);
}

}  // namespace chakra::replay
