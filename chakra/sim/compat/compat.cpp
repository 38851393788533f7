// ASTRA-sim's rules (docs/compat.md, whose section numbers stand in brackets). Times are whole
// nanoseconds held in picoseconds.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "chakra/des/des.h"
#include "chakra/feed/feed.h"
#include "chakra/sim/refusals.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr Picoseconds kTick = kPsPerNs;
constexpr int64_t kGroupDelayNs = 10;  // a strict subset of the ranks ignores endpoint-delay [3]
constexpr int64_t kFirstGroupStream = 1'000'000;
constexpr size_t kWaitsNamed = 6;

Picoseconds ticks(double ns) {
  return ns < static_cast<double>(kLongestPs / kTick) ? static_cast<Picoseconds>(ns) * kTick : kLongestPs;
}

/// Who a collective's ring consists of.
struct Ring {
  std::vector<uint32_t> members;  ///< ranks in ring order
  bool everyone = false;
};

/// One rank's part in one chunk of a collective.
struct Stream {
  uint32_t rank = 0;
  NodeId node = 0;  ///< the workload's node
  const Ring* ring = nullptr;
  int64_t id = 0;  ///< equal on all ranks for the same chunk
  int64_t priority = 0;
  uint32_t self = 0;  ///< place in the ring
  CommType type = CommType::unknown;
  uint64_t message = 0;  ///< bytes of one ring step
  int64_t steps = 0;     ///< ring steps in all
  int64_t reducing = 0;  ///< of them, those whose receive is reduced
  int64_t received = 0;
  // A collective given as traces.
  const Trace* custom = nullptr;
  std::unique_ptr<feed::Feeder> feeder;
};

/// What happens at a time.
struct Event {
  enum class Kind : uint8_t {
    node_done,    ///< rank, node
    bundle_done,  ///< stream: the delay before a send, or behind the last receive
    arrival,      ///< message
    custom_done,  ///< stream, node
    memory_done,  ///< rank, node
  } kind;
  uint32_t rank = 0;
  NodeId node = 0;
  uint32_t stream = 0;
  uint64_t message = 0;
};

/// Messages match by (tag, sender, receiver, size) and order [5].
struct Channel {
  int64_t tag;
  uint32_t from, to;
  uint64_t bytes;
  auto operator<=>(const Channel&) const = default;
};
/// Who is told about the end of a send or receive.
struct Party {
  enum class Kind : uint8_t { nobody, workload, ring, custom } kind = Kind::nobody;
  uint32_t rank = 0;
  NodeId node = 0;      ///< of the workload or of the custom collective
  uint32_t stream = 0;  ///< of the ring or of the custom collective
};
struct Traffic {
  std::deque<Party> receives;  ///< posted, nothing arrived yet
  uint64_t arrived = 0;        ///< arrived, no receive posted yet
};
/// Remote memory serves one request at a time, in order, where ranks share it [8].
struct SharedMemory {
  bool busy = false;
  std::deque<std::pair<uint32_t, NodeId>> waiting;
};

enum Resource : uint8_t { kNoResource, kCpu, kCompute, kComm };
constexpr size_t kResources = 4;

struct RankState {
  const Trace* trace = nullptr;
  std::unique_ptr<feed::Feeder> feeder;
  std::array<std::set<std::pair<uint64_t, NodeId>>, kResources> free;  ///< ready and not issued, by id
  std::array<bool, kResources> busy{};                                 ///< one operation at a time each [6]
  std::set<std::pair<int64_t, uint32_t>> queue;                        ///< waiting streams by priority, then age [2]
  int64_t running = 0;
  int64_t next_stream = 0;
  int64_t next_priority = 0;
  absl::flat_hash_map<uint32_t, int64_t> next_group_stream;
  absl::flat_hash_map<NodeId, int64_t> chunks_left;
  Picoseconds finish = 0, computed = 0;
};

class Compat {
 public:
  explicit Compat(const SimInput& input) : in_(input), d_(input.fabric.dimensions[0]) {}

  Result<SimReport> run() {
    CHAKRA_CHECK(prepare());
    for (uint32_t r = 0; r < ranks_.size(); ++r) CHAKRA_CHECK(issue(r));
    while (!queue_.empty()) {
      if (queue_.next_time() >= kLongestPs) return too_long();
      const Event event = queue_.pop();
      ++report_.events;
      CHAKRA_CHECK(handle(event));
    }
    for (const RankState& rank : ranks_)
      if (rank.feeder->remaining() > 0) return stuck();
    for (const RankState& rank : ranks_) {
      report_.makespan_ps = std::max(report_.makespan_ps, rank.finish);
      report_.ranks.push_back({rank.trace->rank, rank.finish, rank.computed, rank.finish - rank.computed, 0});
    }
    return std::move(report_);
  }

 private:
  Picoseconds now() const { return queue_.now(); }
  Result<void> handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::node_done: return node_done(event.rank, event.node);
      case Event::Kind::memory_done: return memory_done(event.rank, event.node);
      case Event::Kind::bundle_done: return bundle_done(event.stream);
      case Event::Kind::custom_done: return custom_done(event.stream, event.node);
      case Event::Kind::arrival: return arrival(event.message);
    }
    return {};
  }

  tl::unexpected<Error> bad(std::string tag, uint32_t r, NodeId n, std::string text) const {
    return fail(Code::bad_input, "sim.compat." + std::move(tag),
                fmt::format("node {} of rank {}: {}", ranks_[r].trace->id[n], ranks_[r].trace->rank, text),
                {ranks_[r].trace->file});
  }

  static tl::unexpected<Error> bad_ctrl(const Trace& t, const trace::Defect& defect) {
    return fail(Code::bad_input, "sim.trace.defect",
                fmt::format("node {} of rank {} has the caller {}, which is not in the file", t.id[defect.node], t.rank,
                            defect.id),
                {t.file});
  }

  Result<void> prepare() {
    const auto ranks = static_cast<uint32_t>(in_.fabric.size());
    if (in_.job.ranks.size() != ranks)
      return fail(Code::bad_input, "sim.compat.ranks",
                  fmt::format("the network has {} ranks, the job has traces of {}", ranks, in_.job.ranks.size()));
    for (uint32_t r = 0; r < ranks; ++r) {
      const Trace& t = in_.job.ranks[r];
      if (t.rank != r) return fail(Code::bad_input, "sim.compat.ranks", fmt::format("there is no trace of rank {}", r));
      for (const trace::Defect& defect : t.defects)
        if (defect.kind == trace::Defect::Kind::dangling_ctrl)  // here, callers order nodes, too
          return bad_ctrl(t, defect);
      CHAKRA_CHECK(check_defects(t));
      RankState& rank = ranks_.emplace_back();
      rank.trace = &t;
      rank.feeder = std::make_unique<feed::Feeder>(t, true);
      ready_.clear();
      rank.feeder->start(ready_);
      for (const feed::Ready& ready : ready_) set_free(rank, ready.node);
    }
    everyone_.everyone = true;
    for (uint32_t r = 0; r < ranks; ++r) everyone_.members.push_back(r);
    return {};
  }

  // ---- the workload [6] ------------------------------------------------------------------------------

  /// Everything that is ready and has its resource free, by ascending id.
  Result<void> issue(uint32_t r) {
    RankState& rank = ranks_[r];
    std::vector<std::pair<uint64_t, NodeId>> issued;
    for (size_t resource = 0; resource < kResources; ++resource) {
      auto& free = rank.free[resource];
      if (resource == kNoResource) {
        issued.insert(issued.end(), free.begin(), free.end());
        free.clear();
      } else if (!rank.busy[resource] && !free.empty()) {
        issued.push_back(*free.begin());
        free.erase(free.begin());
        rank.busy[resource] = true;
      }
    }
    std::sort(issued.begin(), issued.end());
    for (const auto& [id, n] : issued) CHAKRA_CHECK(start(r, n));
    return {};
  }

  void set_free(RankState& rank, NodeId n) { rank.free[resource_of(rank, n)].insert({rank.trace->id[n], n}); }

  /// What a node needs for itself while it runs.
  static Resource resource_of(const RankState& rank, NodeId n) {
    const Trace& t = *rank.trace;
    if (t.type[n] == NodeType::recv || t.type[n] == NodeType::metadata) return kNoResource;
    if (t.on_cpu(n)) return kCpu;
    return t.type[n] == NodeType::comp ? kCompute : kComm;
  }

  void after(uint32_t r, NodeId n, Picoseconds delay) {
    queue_.push(add_saturated(now(), delay), {Event::Kind::node_done, r, n, 0, 0});
  }

  /// The duration in whole microseconds, as other tools read it; at least 1 ns.
  static Picoseconds measured(const Trace& t, NodeId n) {
    const int64_t micros = (t.dur_ps[n] / kPsPerNs + 500) / 1000;
    return micros > 0 ? micros * kPsPerUs : kTick;
  }

  Result<void> start(uint32_t r, NodeId n) {
    const Trace& t = *ranks_[r].trace;
    if (t.type[n] == NodeType::metadata) return after(r, n, 0), Result<void>();
    if (t.type[n] == NodeType::invalid) return bad("type", r, n, "it has no valid type");
    if (in_.system.replay_only) return after(r, n, measured(t, n)), Result<void>();
    switch (t.type[n]) {
      case NodeType::coll: return start_collective(r, n);
      case NodeType::send:
      case NodeType::recv: return start_message(r, n);
      case NodeType::mem_load:
      case NodeType::mem_store: return start_memory(r, n);
      default: {
        CHAKRA_ASSIGN(const Picoseconds time, compute_time(r, n));
        after(r, n, time);
        return {};
      }
    }
  }

  Result<Picoseconds> compute_time(uint32_t r, NodeId n) const {
    const Trace& t = *ranks_[r].trace;
    if (!in_.system.roofline || t.on_cpu(n)) return measured(t, n);
    if (t.tensor_bytes.empty() || t.tensor_bytes[n] == 0) return Picoseconds{0};
    if (t.num_ops.empty() || t.num_ops[n] == 0)
      return bad("num_ops", r, n, "the roofline needs a number of operations");
    const auto ops = static_cast<double>(t.num_ops[n]);
    const double intensity = ops / static_cast<double>(t.tensor_bytes[n]);
    const double rate = std::min(in_.system.memory_bytes_per_s * intensity, in_.system.peak_flop_per_s);
    return ticks(ops / rate * 1e9);
  }

  Result<void> node_done(uint32_t r, NodeId n) {
    RankState& rank = ranks_[r];
    const Trace& t = *rank.trace;
    rank.busy[resource_of(rank, n)] = false;
    rank.finish = now();
    if (t.type[n] == NodeType::comp && !t.on_cpu(n)) {
      CHAKRA_ASSIGN(const Picoseconds time, in_.system.replay_only ? measured(t, n) : compute_time(r, n));
      rank.computed += time;
    }
    ready_.clear();
    rank.feeder->done(n, now(), ready_);
    for (const feed::Ready& ready : ready_) set_free(rank, ready.node);
    return issue(r);
  }

  // ---- collectives: chunks and queues [2] ------------------------------------------------------------

  Result<const Ring*> ring_of(uint32_t r, NodeId n) {
    const Trace& t = *ranks_[r].trace;
    const std::string name(t.strings[t.comm(n)->group]);
    if (name.empty() || name == "0") return &everyone_;
    int64_t number = 0;
    if (!parse_integer(name, number))
      return bad("group", r, n, fmt::format("group {} is no whole number", quote(name)));
    const auto given = in_.groups.find(name);
    if (given == in_.groups.end())
      return bad("group", r, n, fmt::format("group {} is not in the groups file", quote(name)));
    Ring& ring = rings_[name];
    if (ring.members.empty()) {
      for (const int64_t rank : given->second) {
        if (rank >= static_cast<int64_t>(ranks_.size()))
          return bad("group", r, n, fmt::format("group {} names rank {}", quote(name), rank));
        ring.members.push_back(static_cast<uint32_t>(rank));
      }
      ring.everyone = ring.members.size() == ranks_.size();
      if (ring.everyone) ring.members = everyone_.members;
    }
    if (std::find(ring.members.begin(), ring.members.end(), r) == ring.members.end())
      return bad("group", r, n, fmt::format("the rank is not in its group {}", quote(name)));
    if (ring.members.size() < 2)
      return bad("group", r, n, fmt::format("group {} has one member; ASTRA-sim would hang here", quote(name)));
    return &ring;
  }

  Result<const std::vector<std::string>*> algorithms(uint32_t r, NodeId n, CommType type) const {
    switch (type) {
      case CommType::all_reduce: return &in_.system.all_reduce;
      case CommType::all_gather: return &in_.system.all_gather;
      case CommType::reduce_scatter: return &in_.system.reduce_scatter;
      case CommType::all_to_all: return &in_.system.all_to_all;
      default: return bad("collective", r, n, fmt::format("ASTRA-sim has no {}", trace::name(type)));
    }
  }

  Result<void> start_collective(uint32_t r, NodeId n) {
    RankState& rank = ranks_[r];
    const trace::Comm& comm = *rank.trace->comm(n);
    if (comm.type == CommType::broadcast) return after(r, n, measured(*rank.trace, n)), Result<void>();
    CHAKRA_ASSIGN(const std::vector<std::string>* names, algorithms(r, n, comm.type));
    const auto custom = in_.custom.find(comm.type);
    if (custom == in_.custom.end()) {
      if (names->empty())
        return bad("algorithm", r, n, fmt::format("the system file names no algorithm for {}", trace::name(comm.type)));
      const std::string& name = names->front();
      if (name != "ring" && name != "oneRing")
        return bad("algorithm", r, n, fmt::format("this version has ring and oneRing, not {}", quote(name)));
    }
    if (!in_.system.splits_given)
      return fail(Code::bad_input, "sim.compat.splits", "the system file needs 'preferred-dataset-splits'",
                  {in_.system.file});
    CHAKRA_ASSIGN(const Ring* ring, ring_of(r, n));

    uint64_t size = comm.bytes;
    const auto splits = static_cast<uint64_t>(in_.system.splits);
    uint64_t chunk = size / splits;
    if (comm.type != CommType::all_gather && chunk < ranks_.size()) {
      chunk = ranks_.size();
      size = splits * chunk;
    }
    if (chunk == 0) return bad("size", r, n, fmt::format("{} bytes cannot be split into {}", size, splits));
    const uint64_t chunks = (size + chunk - 1) / chunk;

    rank.chunks_left[n] = static_cast<int64_t>(chunks);
    const int64_t priority = in_.system.scheduling == "LIFO"   ? rank.next_priority++
                             : in_.system.scheduling == "FIFO" ? rank.next_priority--
                                                               : comm.priority;
    const auto members = static_cast<uint32_t>(ring->members.size());
    for (uint64_t c = 0; c < chunks; ++c) {
      Stream stream;
      stream.rank = r;
      stream.node = n;
      stream.ring = ring;
      stream.id = next_stream_id(rank, *rank.trace, n, ring);
      stream.priority = priority;
      stream.type = comm.type;
      stream.self =
          static_cast<uint32_t>(std::find(ring->members.begin(), ring->members.end(), r) - ring->members.begin());
      plan(stream, members, chunk);
      if (custom != in_.custom.end()) {
        stream.custom = custom->second.find(r);
        if (!stream.custom) return bad("custom", r, n, "the custom collective has no trace of this rank");
      }
      enqueue(rank, std::move(stream));
    }
    return run_queue(r);
  }

  int64_t next_stream_id(RankState& rank, const Trace& t, NodeId n, const Ring* ring) {
    if (ring->everyone) return rank.next_stream++;
    int64_t number = 0;
    (void)parse_integer(t.strings[t.comm(n)->group], number);
    const auto [found, added] = rank.next_group_stream.emplace(t.comm(n)->group, number * kFirstGroupStream);
    return found->second++;
  }

  /// Messages and steps of the ring [4].
  static void plan(Stream& s, uint32_t members, uint64_t chunk) {
    const auto n = static_cast<int64_t>(members);
    s.message = s.type == CommType::all_gather ? chunk : chunk / members;
    switch (s.type) {
      case CommType::all_reduce: s.steps = 2 * (n - 1), s.reducing = n - 1; break;
      case CommType::reduce_scatter: s.steps = s.reducing = n - 1; break;
      case CommType::all_gather: s.steps = n - 1; break;
      default: s.steps = n * (n - 1) / 2;  // all-to-all
    }
  }

  void enqueue(RankState& rank, Stream stream) {
    const auto id = static_cast<uint32_t>(streams_.size());
    streams_.push_back(std::move(stream));
    rank.queue.insert({~streams_[id].priority, id});  // the highest first
  }

  Result<void> run_queue(uint32_t r) {
    RankState& rank = ranks_[r];
    while (!rank.queue.empty() && rank.running < in_.system.active_chunks) {
      const uint32_t id = rank.queue.begin()->second;
      rank.queue.erase(rank.queue.begin());
      ++rank.running;
      CHAKRA_CHECK(begin_stream(id));
    }
    return {};
  }

  Result<void> end_stream(uint32_t id) {
    const uint32_t r = streams_[id].rank;
    const NodeId n = streams_[id].node;
    RankState& rank = ranks_[r];
    --rank.running;
    const bool last = --rank.chunks_left[n] == 0;
    CHAKRA_CHECK(run_queue(r));
    return last ? node_done(r, n) : Result<void>();
  }

  // ---- the ring, step by step [3, 4] -----------------------------------------------------------------

  /// The delay of a packet bundle, with the reduction of what was received before it.
  Picoseconds bundle(const Stream& s, bool reduces) const {
    double delay_ns = static_cast<double>(s.ring->everyone ? in_.system.endpoint_delay_ns : kGroupDelayNs);
    if (reduces && in_.system.memory_bytes_per_s > 0)
      delay_ns += 3 * std::floor(static_cast<double>(s.message) / in_.system.memory_bytes_per_s * 1e9);
    return ticks(delay_ns);
  }

  Result<void> begin_stream(uint32_t id) {
    Stream& s = streams_[id];
    if (s.custom) return begin_custom(id);
    queue_.push(add_saturated(now(), bundle(s, false)), {Event::Kind::bundle_done, s.rank, 0, id, 0});
    return {};
  }

  Result<void> bundle_done(uint32_t id) {
    Stream& s = streams_[id];
    if (s.received == s.steps) return end_stream(id);
    const auto members = static_cast<uint32_t>(s.ring->members.size());
    const uint32_t next = s.ring->members[(s.self + 1) % members],
                   previous = s.ring->members[(s.self + members - 1) % members];
    send({s.id, s.rank, next, s.message}, {});
    return receive({s.id, previous, s.rank, s.message}, {Party::Kind::ring, s.rank, 0, id});
  }

  Result<void> ring_received(uint32_t id) {
    Stream& s = streams_[id];
    ++s.received;
    queue_.push(add_saturated(now(), bundle(s, s.received <= s.reducing)),
                {Event::Kind::bundle_done, s.rank, 0, id, 0});
    return {};
  }

  // ---- messages [1, 5] ---------------------------------------------------------------------------------

  Picoseconds travel(uint32_t from, uint32_t to, uint64_t bytes) const {
    const double bytes_per_ns = d_.gib_per_s * 1073741824.0 / 1e9;
    return ticks(static_cast<double>(in_.fabric.hops(from, to)) * d_.latency_ns +
                 static_cast<double>(bytes) / bytes_per_ns);
  }

  struct Flight {
    Channel channel;
    Party sender;
  };

  void send(const Channel& channel, const Party& sender) {
    const uint64_t flight = flights_.size();
    flights_.push_back({channel, sender});
    queue_.push(add_saturated(now(), travel(channel.from, channel.to, channel.bytes)),
                {Event::Kind::arrival, channel.to, 0, 0, flight});
  }

  Result<void> receive(const Channel& channel, const Party& receiver) {
    Traffic& traffic = traffic_[channel];
    if (traffic.arrived == 0) {
      traffic.receives.push_back(receiver);
      return {};
    }
    --traffic.arrived;
    // At once, but as an event: a long row of receives whose messages are there must not nest.
    switch (receiver.kind) {
      case Party::Kind::workload: after(receiver.rank, receiver.node, 0); break;
      case Party::Kind::custom:
        queue_.push(now(), {Event::Kind::custom_done, receiver.rank, receiver.node, receiver.stream, 0});
        break;
      default: return tell(receiver);
    }
    return {};
  }

  Result<void> arrival(uint64_t flight) {
    const Flight f = flights_[flight];
    Traffic& traffic = traffic_[f.channel];
    if (traffic.receives.empty()) {
      ++traffic.arrived;
    } else {
      const Party receiver = traffic.receives.front();
      traffic.receives.pop_front();
      CHAKRA_CHECK(tell(receiver));
    }
    return tell(f.sender);  // a send ends when its message arrives, wanted or not
  }

  Result<void> tell(const Party& party) {
    switch (party.kind) {
      case Party::Kind::nobody: return {};
      case Party::Kind::workload: return node_done(party.rank, party.node);
      case Party::Kind::ring: return ring_received(party.stream);
      case Party::Kind::custom: return custom_done(party.stream, party.node);
    }
    return {};
  }

  /// A send or receive of the workload, or of a custom collective with the stream's id as tag.
  Result<void> start_peer_to_peer(const Trace& t, NodeId n, uint32_t r, int64_t tag, const Party& party) {
    const trace::Comm& comm = *t.comm(n);
    const bool sends = t.type[n] == NodeType::send;
    const int64_t peer = sends ? comm.dst : comm.src;
    if (peer < 0 || peer >= static_cast<int64_t>(ranks_.size()) || peer == r)
      return fail(Code::bad_input, "sim.compat.peer",
                  fmt::format("node {} of rank {} communicates with rank {}", t.id[n], r, peer), {t.file});
    const auto other = static_cast<uint32_t>(peer);
    if (sends) return send({tag, r, other, comm.bytes}, party), Result<void>();
    return receive({tag, other, r, comm.bytes}, party);
  }

  Result<void> start_message(uint32_t r, NodeId n) {
    const Trace& t = *ranks_[r].trace;
    // Tags of collectives begin above those of messages; here they are kept apart by their sign.
    const int64_t tag = -1 - std::max<int64_t>(0, t.comm(n)->tag) % kMessageTags;
    return start_peer_to_peer(t, n, r, tag, {Party::Kind::workload, r, n, 0});
  }

  // ---- collectives given as traces [10] ----------------------------------------------------------------

  Result<void> begin_custom(uint32_t id) {
    streams_[id].feeder = std::make_unique<feed::Feeder>(*streams_[id].custom, true);
    std::vector<feed::Ready> ready;
    streams_[id].feeder->start(ready);
    return run_custom(id, ready);
  }

  /// All that is ready starts at once: nothing is in short supply there.
  Result<void> run_custom(uint32_t id, const std::vector<feed::Ready>& ready) {
    for (const feed::Ready& next : ready) {
      const Stream& s = streams_[id];
      const Trace& t = *s.custom;
      const NodeType type = t.type[next.node];
      if (type == NodeType::send || type == NodeType::recv)
        CHAKRA_CHECK(start_peer_to_peer(t, next.node, s.rank, custom_tag(s, t.comm(next.node)->tag),
                                        {Party::Kind::custom, s.rank, next.node, id}));
      else
        queue_.push(add_saturated(now(), measured(t, next.node)), {Event::Kind::custom_done, s.rank, next.node, id, 0});
    }
    return {};
  }
  static int64_t custom_tag(const Stream& s, int64_t tag) {
    return (s.id + 1) * kMessageTags + std::max<int64_t>(0, tag);
  }

  Result<void> custom_done(uint32_t id, NodeId n) {
    std::vector<feed::Ready> ready;
    streams_[id].feeder->done(n, now(), ready);
    CHAKRA_CHECK(run_custom(id, ready));
    return streams_[id].feeder->remaining() == 0 ? end_stream(id) : Result<void>();
  }

  // ---- remote memory [8] -----------------------------------------------------------------------------

  Result<void> start_memory(uint32_t r, NodeId n) {
    if (in_.system.memory == MemoryKind::none)
      return bad("memory", r, n, "it uses remote memory, and the memory file says there is none");
    if (in_.system.memory == MemoryKind::per_rank) return after(r, n, memory_time(r, n)), Result<void>();
    SharedMemory& memory = memories_[memory_of(r)];
    memory.waiting.push_back({r, n});
    serve(memory);
    return {};
  }
  uint32_t memory_of(uint32_t r) const {
    return in_.system.memory == MemoryKind::pool ? 0
                                                 : r / static_cast<uint32_t>(in_.system.remote_memory_ranks_per_node);
  }
  Picoseconds memory_time(uint32_t r, NodeId n) const {
    const Trace& t = *ranks_[r].trace;
    const double bytes = t.tensor_bytes.empty() ? 0 : static_cast<double>(t.tensor_bytes[n]);
    return add_saturated(ticks(in_.system.remote_memory_latency_ns),
                         ticks(bytes / in_.system.remote_memory_bytes_per_ns));
  }
  void serve(SharedMemory& memory) {
    if (memory.busy || memory.waiting.empty()) return;
    memory.busy = true;
    const auto [r, n] = memory.waiting.front();
    queue_.push(add_saturated(now(), memory_time(r, n)), {Event::Kind::memory_done, r, n, 0, 0});
  }
  Result<void> memory_done(uint32_t r, NodeId n) {
    SharedMemory& memory = memories_[memory_of(r)];
    memory.busy = false;
    memory.waiting.pop_front();
    serve(memory);
    return node_done(r, n);
  }

  // ---- when it cannot go on --------------------------------------------------------------------------

  tl::unexpected<Error> stuck() const {
    std::string text;
    size_t unfinished = 0;
    for (const RankState& rank : ranks_) {
      if (rank.feeder->remaining() == 0) continue;
      if (++unfinished > kWaitsNamed) continue;
      text += fmt::format("; rank {} waits ", rank.trace->rank);
      if (const trace::Order order = trace::topological_order(rank.trace->deps); !order.cycle.empty())
        text += fmt::format("in a cycle at node {}", rank.trace->id[order.cycle[0]]);
      else text += describe_wait(rank);
    }
    if (unfinished > kWaitsNamed) text += fmt::format("; and {} more", unfinished - kWaitsNamed);
    return fail(Code::stuck, "sim.stuck",
                fmt::format("{} of {} ranks cannot finish{}", unfinished, ranks_.size(), text));
  }

  /// The first node that has started and not ended.
  std::string describe_wait(const RankState& rank) const {
    const Trace& t = *rank.trace;
    for (NodeId n = 0; n < t.size(); ++n) {
      if (!rank.feeder->is_ready(n) || rank.free[resource_of(rank, n)].contains({rank.trace->id[n], n})) continue;
      const trace::Comm* comm = t.comm(n);
      if (t.type[n] == NodeType::coll)
        return fmt::format(
            "in node {} ({} of {} bytes in group {}) for members that do not run the same collective next", t.id[n],
            trace::name(comm->type), comm->bytes, quote(t.strings[comm->group]));
      if (t.type[n] == NodeType::recv)
        return fmt::format("in node {} for a message of {} bytes with tag {} from rank {}", t.id[n], comm->bytes,
                           comm->tag, comm->src);
      return fmt::format("in node {}", t.id[n]);
    }
    return "for a node that cannot start";
  }

  static constexpr int64_t kMessageTags = 500'000'000;

  const SimInput& in_;
  const net::Dimension& d_;
  des::EventQueue<Event> queue_;
  std::vector<RankState> ranks_;
  std::vector<feed::Ready> ready_;
  Ring everyone_;
  std::map<std::string, Ring> rings_;
  std::deque<Stream> streams_;  // references stay valid while more are added
  std::map<Channel, Traffic> traffic_;
  std::deque<Flight> flights_;
  std::map<uint32_t, SharedMemory> memories_;
  SimReport report_;
};

}  // namespace

Result<SimReport> simulate_compat(const SimInput& input) { return Compat(input).run(); }

}  // namespace chakra::sim
