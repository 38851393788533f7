// ASTRA-sim's rules (docs/reference/compat.md, whose section numbers stand in brackets). Times are whole
// nanoseconds held in picoseconds.
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "chakra/des/des.h"
#include "chakra/feed/feed.h"
#include "chakra/sim/compat/algorithms.h"
#include "chakra/sim/compat/quirks.h"
#include "chakra/sim/refusals.h"
#include "chakra/sim/sim.h"

namespace chakra::sim {
namespace {

using compat::Action;
using compat::Algorithm;
using compat::AlgorithmKind;
using compat::Phase;
using compat::Quirk;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr Picoseconds kTick = kPsPerNs;
constexpr int64_t kGroupDelayNs = 10;  // a strict subset of the ranks ignores endpoint-delay [3]
constexpr int64_t kFirstGroupStream = 1'000'000;
constexpr size_t kWaitsNamed = 6;
constexpr uint64_t kMostChunks = 1 << 16;  // of a collective
constexpr uint64_t kEventsBetweenLooks = 1 << 16;

Picoseconds ticks(double ns) {
  return ns < static_cast<double>(kLongestPs / kTick) ? static_cast<Picoseconds>(ns) * kTick : kLongestPs;
}

/// Who takes part in a collective: all ranks, or a group of the groups file in the order given there.
struct Members {
  std::vector<uint32_t> ranks;
  bool everyone = false;
};

/// The ranks of one phase, in order: every stride-th of all ranks, or the members of a group.
struct Line {
  const std::vector<uint32_t>* ranks = nullptr;  ///< of a group; nullptr: base, base + stride, ...
  uint32_t base = 0, stride = 1, places = 0, self = 0;
  uint32_t rank(uint32_t place) const { return ranks ? (*ranks)[place] : base + place * stride; }
  bool same_ranks(const Line& other) const {
    return ranks == other.ranks && base == other.base && stride == other.stride && places == other.places;
  }
};

/// A phase to come: what a chunk does in one dimension.
struct Plan {
  size_t queue = 0;
  CommType type = CommType::unknown;
  Algorithm algorithm;
  Line line;
  uint64_t bytes = 0;
  bool clockwise = true;
  bool max_root = true;

  bool is_ring() const { return algorithm.kind == AlgorithmKind::packets && !algorithm.direct; }

  /// Whether two ranks with these plans send each other what they wait for.
  bool same_messages(const Plan& other) const {
    const bool same_way = clockwise == other.clockwise || line.places == 2;  // of two, each is the other's neighbour
    return type == other.type && bytes == other.bytes && same_way && line.places == other.line.places;
  }
};

using Plans = absl::InlinedVector<Plan, 2>;

/// One rank's part in one chunk of a collective.
struct Stream {
  uint32_t rank = 0;
  NodeId node = 0;        ///< the workload's node
  bool everyone = false;  ///< all ranks take part
  int64_t id = 0;         ///< equal on all ranks for the same chunk
  int64_t priority = 0;
  Plans plans;
  size_t current = 0;  ///< of plans
  std::optional<Phase> phase;
  // A collective given as traces.
  const Trace* custom = nullptr;
  std::unique_ptr<feed::Feeder> feeder;
};

/// What happens at a time.
struct Event {
  enum class Kind : uint8_t {
    node_done,    ///< rank, node
    bundle_done,  ///< stream: the delay before a send, or behind the last receive
    reduction,    ///< stream, message: the endpoint's delay is over, `message` bytes are reduced
    received,     ///< parties_: who has asked for a message that was there before
    phase_done,   ///< stream
    arrival,      ///< message
    custom_done,  ///< stream, node
    memory_done,  ///< rank, node
    batch,        ///< rank, message: the batch of all that is due for it at this time
    hop_done,     ///< message: it has come over a link
    link_free,    ///< message: the link's number
    ring_ahead,   ///< rank, stream, message: when the rank's ring ends, as has been worked out
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
  bool request = false;  ///< for a message of this tag, the other way
  bool operator==(const Channel&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const Channel& c) {
    return H::combine(std::move(h), c.tag, c.from, c.to, c.bytes, c.request);
  }
};
/// Who is told about the end of a send or receive.
struct Party {
  enum class Kind : uint8_t { nobody, workload, phase, custom, receiver, sender } kind = Kind::nobody;
  uint32_t rank = 0;
  NodeId node = 0;      ///< of the workload or of the custom collective
  uint32_t stream = 0;  ///< of the phase or of the custom collective
  uint64_t number = 0;  ///< rendezvous: whose request has arrived, of askers_; whose message may leave, of flights_
};
struct Traffic {
  absl::InlinedVector<Party, 1> receives;  ///< posted, nothing arrived yet
  uint64_t arrived = 0;                    ///< arrived, no receive posted yet
};
/// Things that come and go, by number.
template <class T>
class Pool {
 public:
  uint64_t put(const T& thing) {
    if (unused_.empty()) return things_.push_back(thing), things_.size() - 1;
    const uint64_t number = unused_.back();
    unused_.pop_back();
    things_[number] = thing;
    return number;
  }
  T take(uint64_t number) {
    drop(number);
    return things_[number];
  }
  void drop(uint64_t number) { unused_.push_back(number); }
  T& operator[](uint64_t number) { return things_[number]; }
  bool empty() const { return things_.size() == unused_.size(); }

 private:
  std::vector<T> things_;
  std::vector<uint64_t> unused_;
};
struct Link {
  bool busy = false;
  size_t next = 0;                ///< of waiting: those before it have gone
  std::vector<uint64_t> waiting;  ///< flights
};
/// Streams in one queue of a dimension [2].
struct PhaseQueue {
  std::set<std::tuple<int64_t, uint64_t, uint32_t>> waiting;  ///< priority (the highest first), order, stream
  int64_t running = 0;
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
  std::vector<PhaseQueue> queues;                                      ///< per dimension, --num-queues-per-dim
  struct Turn {
    size_t all = 0, first = 0, last = 0;
  };
  std::vector<Turn> turns;                               ///< per dimension: the queue whose turn it is
  std::map<std::pair<CommType, size_t>, bool> max_root;  ///< per type and dimension: the tree whose turn it is
  int64_t next_stream = 0;
  int64_t next_priority = 0;
  absl::flat_hash_map<uint32_t, int64_t> next_group_stream;
  absl::flat_hash_map<NodeId, int64_t> chunks_left;
  struct Due {
    Picoseconds time;
    uint64_t batch;
  };
  absl::InlinedVector<Due, 4> due;  ///< by time, from now on
  Picoseconds finish = 0, computed = 0;
};

/// A ring of one chunk in one dimension, from its first rank's beginning to its last one's.
struct RingKey {
  int64_t stream;
  const std::vector<uint32_t>* ranks;
  uint32_t base, stride;
  size_t phase;
  bool operator==(const RingKey&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const RingKey& k) {
    return H::combine(std::move(h), k.stream, k.ranks, k.base, k.stride, k.phase);
  }
};
struct RingRun {
  uint32_t begun = 0;
  std::vector<uint32_t> streams;  ///< by place in the line
  std::vector<Picoseconds> at;    ///< when they began
};

class Compat {
 public:
  explicit Compat(const SimInput& input) : in_(input) {}

  Result<SimReport> run() {
    CHAKRA_TRY(prepare());
    for (uint32_t r = 0; r < ranks_.size(); ++r) CHAKRA_TRY(issue(r));
    while (!queue_.empty()) {
      if (rings_begun_ == ranks_.size()) look_ahead();
      if (queue_.next_time() >= kLongestPs) return too_long();
      const Event event = queue_.pop();
      if (++report_.events % kEventsBetweenLooks == 0 && in_.stop && in_.stop->load(std::memory_order_relaxed)) {
        report_.interrupted = true;
        report_.findings.push_back({"sim.interrupted", Severity::warning, -1, -1,
                                    fmt::format("stopped at {} of simulated time", show_time(now()))});
        break;
      }
      CHAKRA_TRY(handle(event));
    }
    for (const RankState& rank : ranks_)
      if (rank.feeder->remaining() > 0 && !report_.interrupted) return stuck();
    for (const RankState& rank : ranks_) {
      report_.makespan_ps = std::max(report_.makespan_ps, rank.finish);
      report_.ranks.push_back({rank.trace->rank, rank.finish, rank.computed, rank.finish - rank.computed, 0});
    }
    for (const compat::QuirkRow& row : compat::kQuirks)
      if (quirks_ & 1u << static_cast<unsigned>(row.quirk))
        report_.findings.push_back(
            {"sim.compat.quirk", Severity::note, -1, -1, "the result depends on a quirk: " + std::string(row.text)});
    return std::move(report_);
  }

 private:
  Picoseconds now() const { return queue_.now(); }
  Result<void> handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::node_done: return node_done(event.rank, event.node);
      case Event::Kind::memory_done: return memory_done(event.rank, event.node);
      case Event::Kind::bundle_done: return bundle_done(event.stream);
      case Event::Kind::reduction: return reduce(event), Result<void>();
      case Event::Kind::received: return tell(parties_.take(event.message));
      case Event::Kind::phase_done: return end_phase(event.stream);
      case Event::Kind::custom_done: return custom_done(event.stream, event.node);
      case Event::Kind::arrival: return arrival(event.message);
      case Event::Kind::batch: return run_batch(event.rank, event.message);
      case Event::Kind::hop_done: return hop_done(event.message);
      case Event::Kind::link_free: return link_free(event.message), Result<void>();
      case Event::Kind::ring_ahead:
        at(event.rank, static_cast<Picoseconds>(event.message),
           {Event::Kind::phase_done, event.rank, 0, event.stream, 0});
        return {};
    }
    return {};
  }

  void note(Quirk quirk) { quirks_ |= 1u << static_cast<unsigned>(quirk); }

  /// What is due for one rank at one time happens together, at the place of the first that was planned [1].
  void at(uint32_t rank, Picoseconds time, const Event& event) {
    auto& due = ranks_[rank].due;
    auto next = due.end();  // those after it are later; most often none
    while (next != due.begin() && std::prev(next)->time > time) --next;
    if (next != due.begin() && std::prev(next)->time == time) return batches_[std::prev(next)->batch].push_back(event);
    const uint64_t number = batches_.put({event});
    due.insert(next, {time, number});
    queue_.push(time, {Event::Kind::batch, rank, 0, 0, number});
  }
  Result<void> run_batch(uint32_t rank, uint64_t number) {
    for (size_t done = 0; done < batches_[number].size(); ++done) {  // more may be added meanwhile
      const Event event = batches_[number][done];
      CHAKRA_TRY(handle(event));
    }
    batches_.drop(number);
    ranks_[rank].due.erase(ranks_[rank].due.begin());
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
    if (in_.system.shared_bus)
      return fail(Code::bad_input, "sim.compat.shared_bus",
                  "the shared memory bus (model-shared-bus, LogGP) is not simulated; remove the key or set it to 0",
                  {in_.system.file});
    const auto its_own = [](const net::Dimension& d) { return d.kind <= net::TopologyKind::fully_connected; };
    if (in_.fabric.graph || !in_.fabric.odd_links.empty() ||
        !std::all_of(in_.fabric.dimensions.begin(), in_.fabric.dimensions.end(), its_own))
      return fail(Code::bad_input, "sim.compat.topology",
                  fmt::format("ASTRA-sim knows Ring, Switch and FullyConnected with equal links; this is a {}",
                              in_.fabric.describe()));
    if (in_.compat.congestion_aware && dims() > 1)
      return fail(Code::bad_input, "sim.compat.dimensions",
                  fmt::format("the congestion-aware back end has one dimension, the network {}", dims()));
    if (in_.groups.contains("0"))
      return fail(Code::bad_input, "sim.compat.group",
                  "the groups file has a group '0', which is all ranks in ASTRA-sim; give it another name");
    if (in_.job.ranks.size() != ranks)
      return fail(Code::bad_input, "sim.compat.ranks",
                  fmt::format("the network has {} ranks, the job has traces of {}", ranks, in_.job.ranks.size()));
    feed::Graphs graphs;
    for (uint32_t r = 0; r < ranks; ++r) {
      const Trace& t = in_.job.ranks[r];
      if (t.rank != r) return fail(Code::bad_input, "sim.compat.ranks", fmt::format("rank {} has no trace", r));
      for (const trace::Defect& defect : t.defects)
        if (defect.kind == trace::Defect::Kind::dangling_ctrl)  // here, callers order nodes, too
          return bad_ctrl(t, defect);
      CHAKRA_TRY(check_defects(t));
      RankState& rank = ranks_.emplace_back();
      rank.trace = &t;
      rank.queues.resize(dims() * queues_per_dim());
      rank.turns.resize(dims());
      rank.feeder = std::make_unique<feed::Feeder>(t, true, &graphs);
      ready_.clear();
      rank.feeder->start(ready_);
      for (const feed::Ready& ready : ready_) set_free(rank, ready.node);
    }
    const bool two_links = in_.fabric.dimensions[0].kind != net::TopologyKind::fully_connected;
    if (in_.compat.congestion_aware && two_links) links_.resize(size_t{2} * ranks);
    everyone_.everyone = true;
    for (uint32_t r = 0; r < ranks; ++r) everyone_.ranks.push_back(r);
    return {};
  }

  size_t dims() const { return in_.fabric.dimensions.size(); }
  size_t queues_per_dim() const { return static_cast<size_t>(in_.compat.queues_per_dimension); }

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
    for (const auto& [id, n] : issued) CHAKRA_TRY(start(r, n));
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
    at(r, add_saturated(now(), delay), {Event::Kind::node_done, r, n, 0, 0});
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

  Result<const Members*> members_of(uint32_t r, NodeId n) {
    const Trace& t = *ranks_[r].trace;
    const std::string name(t.strings[t.comm(n)->group]);
    if (name.empty() || name == "0") return &everyone_;
    int64_t number = 0;
    if (!parse_integer(name, number))
      return bad("group", r, n, fmt::format("group {} is no whole number", quote(name)));
    const auto given = in_.groups.find(name);
    if (given == in_.groups.end())
      return bad("group", r, n, fmt::format("group {} is not in the groups file", quote(name)));
    Members& group = groups_[name];
    if (group.ranks.empty()) {
      for (const int64_t rank : given->second) {
        if (rank >= static_cast<int64_t>(ranks_.size()))
          return bad("group", r, n, fmt::format("group {} names rank {}", quote(name), rank));
        group.ranks.push_back(static_cast<uint32_t>(rank));
      }
      group.everyone = group.ranks.size() == ranks_.size();
      if (group.everyone) group.ranks = everyone_.ranks;
    }
    if (std::find(group.ranks.begin(), group.ranks.end(), r) == group.ranks.end())
      return bad("group", r, n, fmt::format("the rank is not in its group {}", quote(name)));
    if (group.ranks.size() < 2)
      return bad("group", r, n, fmt::format("group {} has one member; ASTRA-sim would hang here", quote(name)));
    return &group;
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
    if (comm.type == CommType::broadcast) {
      note(Quirk::broadcast);
      return after(r, n, measured(*rank.trace, n)), Result<void>();
    }
    CHAKRA_ASSIGN(const std::vector<std::string>* names, algorithms(r, n, comm.type));
    if (!in_.system.splits_given)
      return fail(Code::bad_input, "sim.compat.splits", "the system file needs 'preferred-dataset-splits'",
                  {in_.system.file});
    CHAKRA_ASSIGN(const Members* members, members_of(r, n));

    uint64_t size = comm.bytes;
    const auto splits = static_cast<uint64_t>(in_.system.splits);
    uint64_t chunk = size / splits;
    if (comm.type != CommType::all_gather && chunk < ranks_.size()) {
      chunk = ranks_.size();
      size = splits * chunk;
    }
    if (chunk == 0) return bad("size", r, n, fmt::format("{} bytes cannot be split into {}", size, splits));
    const uint64_t chunks = (size + chunk - 1) / chunk;
    if (chunks > kMostChunks)
      return bad("size", r, n, fmt::format("it would be split into {} chunks; {} are the most", chunks, kMostChunks));
    if (size % chunk != 0) note(Quirk::remainder);

    rank.chunks_left[n] = static_cast<int64_t>(chunks);
    const int64_t priority = in_.system.scheduling == "LIFO"   ? rank.next_priority++
                             : in_.system.scheduling == "FIFO" ? rank.next_priority--
                                                               : comm.priority;
    const auto custom = in_.custom.find(comm.type);
    for (uint64_t c = 0; c < chunks; ++c) {
      const uint32_t id = new_stream();
      Stream& stream = streams_[id];
      stream.rank = r;
      stream.node = n;
      stream.everyone = members->everyone;
      stream.id = next_stream_id(rank, *rank.trace, n, members);
      stream.priority = priority;
      if (custom != in_.custom.end()) {
        stream.custom = custom->second.find(r);
        if (!stream.custom) return bad("custom", r, n, "the custom collective has no trace of this rank");
        stream.plans.resize(1);
      } else {
        CHAKRA_TRY(plan(r, n, *names, *members, chunk, stream.plans));
      }
      enqueue(id);
      CHAKRA_TRY(run_queue(r, streams_[id].plans[0].queue));
    }
    return {};
  }

  uint32_t new_stream() {
    if (unused_streams_.empty()) {
      streams_.emplace_back();
      return static_cast<uint32_t>(streams_.size() - 1);
    }
    const uint32_t id = unused_streams_.back();
    unused_streams_.pop_back();
    streams_[id].current = 0;
    streams_[id].plans.clear();
    streams_[id].custom = nullptr;
    return id;
  }

  int64_t next_stream_id(RankState& rank, const Trace& t, NodeId n, const Members* members) {
    if (members == &everyone_) return rank.next_stream++;
    int64_t number = 0;
    (void)parse_integer(t.strings[t.comm(n)->group], number);
    const auto [found, added] = rank.next_group_stream.emplace(t.comm(n)->group, number * kFirstGroupStream);
    return found->second++;
  }

  Result<Algorithm> algorithm(uint32_t r, NodeId n, const std::string& name) const {
    const auto found = compat::algorithm_named(name);
    if (!found) return bad("algorithm", r, n, fmt::format("ASTRA-sim has no algorithm {}", quote(name)));
    return *found;
  }

  /// ASTRA-sim crashes or waits for ever here.
  Result<void> check_algorithm(uint32_t r, NodeId n, const Plan& p, bool everyone) {
    const bool power = std::has_single_bit(p.line.places);
    if (p.algorithm.kind == AlgorithmKind::halving_doubling && p.type == CommType::all_to_all)
      return bad("algorithm", r, n, "halvingDoubling has no ALL_TO_ALL");
    if (p.algorithm.kind != AlgorithmKind::packets && !power)
      return bad("algorithm", r, n,
                 fmt::format("halvingDoubling and doubleBinaryTree need a power of two ranks, not {}", p.line.places));
    if (p.algorithm.kind == AlgorithmKind::tree) {
      if (!everyone) return bad("algorithm", r, n, "doubleBinaryTree is for all ranks, not for a group");
      if (p.type != CommType::all_reduce) note(Quirk::tree_reduces);
    }
    return {};
  }

  /// The tree leaves a chunk's size as it is, whatever the phase is for [4].
  static bool keeps_size(const Plan& p) {
    return p.algorithm.kind == AlgorithmKind::tree &&
           (p.type == CommType::all_gather || p.type == CommType::reduce_scatter);
  }

  /// The phases of a chunk [2].
  Result<void> plan(uint32_t r, NodeId n, const std::vector<std::string>& names, const Members& members, uint64_t chunk,
                    Plans& plans) {
    const trace::Comm& comm = *ranks_[r].trace->comm(n);
    if (names.empty())
      return bad("algorithm", r, n, fmt::format("the system file names no algorithm for {}", trace::name(comm.type)));
    if (names.size() > dims())
      return bad("algorithm", r, n,
                 fmt::format("the system file names {} algorithms for {} dimensions", names.size(), dims()));
    Plans lines;  // per logical dimension
    if (!members.everyone) {
      Plan& p = lines.emplace_back();
      // Groups are flat; several dimensions make them rings, whatever the file says [7].
      CHAKRA_ASSIGN(p.algorithm, algorithm(r, n, names.size() == 1 ? names[0] : "ring"));
      const auto self = std::find(members.ranks.begin(), members.ranks.end(), r) - members.ranks.begin();
      p.line = {&members.ranks, 0, 1, static_cast<uint32_t>(members.ranks.size()), static_cast<uint32_t>(self)};
      if (dims() > 1) note(Quirk::lowest_dimension);
    } else {
      uint32_t stride = 1;
      for (size_t d = 0; d < names.size(); ++d) {
        Plan& p = lines.emplace_back();
        CHAKRA_ASSIGN(p.algorithm, algorithm(r, n, names[d]));
        const auto size = static_cast<uint32_t>(in_.fabric.dimensions[d].ranks);
        if (p.algorithm.one_line) {
          p.line = {nullptr, 0, 1, static_cast<uint32_t>(ranks_.size()), r};
          if (dims() > 1) note(Quirk::lowest_dimension);
          break;
        }
        const uint32_t self = r / stride % size;
        p.line = {nullptr, r - self * stride, stride, size, self};
        stride *= size;
      }
      if (names.size() < dims() && !lines.back().algorithm.one_line) note(Quirk::missing_dimensions);
      if (stride < ranks_.size() && lines.back().algorithm.kind == AlgorithmKind::tree)
        return bad("algorithm", r, n,
                   fmt::format("the system file names {} algorithms for {} dimensions, doubleBinaryTree last, where "
                               "ASTRA-sim crashes; name one for each dimension",
                               names.size(), dims()));
    }
    absl::InlinedVector<size_t, 4> active;
    for (size_t d = 0; d < lines.size(); ++d) {
      bool involved = true;  // of a named group, whatever the node says
      if (&members == &everyone_) {
        CHAKRA_ASSIGN(involved, is_involved(r, n, d));
      }
      if (involved && lines[d].line.places > 1) active.push_back(d);
    }
    if (active.empty()) return bad("dimensions", r, n, "no dimension takes part; ASTRA-sim would hang here");

    const auto add = [&](size_t d, CommType type, int half) -> Result<void> {
      Plan p = lines[d];
      p.type = type;
      p.bytes = chunk;
      take_turn(ranks_[r], d, half, p);
      CHAKRA_TRY(check_algorithm(r, n, p, members.everyone));
      if (p.algorithm.kind == AlgorithmKind::tree) {
        bool& max_root = ranks_[r].max_root.try_emplace({comm.type, d}, true).first->second;
        p.max_root = std::exchange(max_root, !max_root);
      } else if (type == CommType::all_gather) {
        chunk *= p.line.places;
      } else if (type == CommType::reduce_scatter) {
        chunk /= p.line.places;
      }
      if (!plans.empty() && keeps_size(plans.back())) note(Quirk::tree_keeps_size);
      plans.push_back(p);
      return {};
    };
    if (comm.type == CommType::all_gather) {
      for (size_t i = active.size(); i-- > 0;) CHAKRA_TRY(add(active[i], comm.type, 0));
    } else if (comm.type == CommType::all_reduce && in_.system.local_bw_aware) {
      for (size_t i = 0; i + 1 < active.size(); ++i) CHAKRA_TRY(add(active[i], CommType::reduce_scatter, 1));
      CHAKRA_TRY(add(active.back(), CommType::all_reduce, 1));
      for (size_t i = active.size() - 1; i-- > 0;) CHAKRA_TRY(add(active[i], CommType::all_gather, 2));
    } else {
      for (const size_t d : active) CHAKRA_TRY(add(d, comm.type, 0));
    }
    return {};
  }

  /// The queue whose turn it is: of all (half 0), of the first half (1) or of the second (2).
  void take_turn(RankState& rank, size_t dim, int half, Plan& p) const {
    const size_t queues = queues_per_dim(), middle = queues / 2;
    RankState::Turn& turn = rank.turns[dim];
    size_t queue = 0;
    if (half == 0) {
      queue = turn.all++ % queues;
      p.clockwise = queues == 1 || queue < middle;
    } else if (half == 1) {
      queue = queues == 1 ? 0 : turn.first++ % middle;
    } else {
      queue = queues == 1 ? 0 : middle + turn.last++ % (queues - middle);
      p.clockwise = false;
    }
    p.queue = dim * queues + queue;
  }

  /// Which dimensions a collective uses; all, if it does not say, but ASTRA-sim then means four.
  Result<bool> is_involved(uint32_t r, NodeId n, size_t dim) {
    const trace::Comm& comm = *ranks_[r].trace->comm(n);
    const size_t known = comm.involved_count == 0 ? 4 : comm.involved_count;
    if (dim >= known) return bad("dimensions", r, n, fmt::format("involved_dim says nothing about dimension {}", dim));
    return comm.involved_count == 0 || (comm.involved >> dim & 1) != 0;
  }

  void enqueue(uint32_t id) {
    const Stream& s = streams_[id];
    ranks_[s.rank].queues[s.plans[s.current].queue].waiting.insert({~s.priority, next_order_++, id});
  }

  Result<void> run_queue(uint32_t r, size_t number) {
    const auto queues = static_cast<int64_t>(queues_per_dim());
    const int64_t limit = (in_.system.active_chunks + queues - 1) / queues;
    while (!ranks_[r].queues[number].waiting.empty() && ranks_[r].queues[number].running < limit) {
      PhaseQueue& queue = ranks_[r].queues[number];
      const uint32_t id = std::get<2>(*queue.waiting.begin());
      queue.waiting.erase(queue.waiting.begin());
      ++queue.running;
      CHAKRA_TRY(begin_phase(id));
    }
    return {};
  }

  Result<void> end_phase(uint32_t id) {
    Stream& s = streams_[id];
    const uint32_t r = s.rank;
    const NodeId n = s.node;
    const size_t left = s.plans[s.current].queue;
    s.phase.reset();
    if (++s.current < s.plans.size()) {
      const size_t entered = s.plans[s.current].queue;
      --ranks_[r].queues[left].running;
      enqueue(id);
      CHAKRA_TRY(run_queue(r, left));
      return run_queue(r, entered);
    }
    s.feeder.reset();
    unused_streams_.push_back(id);
    if (--ranks_[r].chunks_left[n] == 0) {  // who waits for the collective goes on before its queue is free
      ranks_[r].chunks_left.erase(n);
      CHAKRA_TRY(node_done(r, n));
    }
    --ranks_[r].queues[left].running;
    return run_queue(r, left);
  }

  // ---- a phase, step by step [3, 4] --------------------------------------------------------------------

  /// A packet bundle waits for the endpoint, and then for the reduction of what was received before it.
  Picoseconds endpoint_delay(const Stream& s) const {
    if (!s.everyone) return kGroupDelayNs * kTick;
    return ticks(std::trunc(static_cast<double>(in_.system.endpoint_delay_ns) * in_.compat.injection_scale));
  }
  Picoseconds reduction(uint64_t bytes) const {
    if (in_.system.memory_bytes_per_s == 0) return 0;
    return ticks(3 * std::floor(static_cast<double>(bytes) / in_.system.memory_bytes_per_s * 1e9));
  }

  Result<void> begin_phase(uint32_t id) {
    Stream& s = streams_[id];
    if (s.custom) return begin_custom(id);
    const Plan& p = s.plans[s.current];
    if (p.is_ring() && !in_.compat.rendezvous && !in_.compat.every_message) {
      if (in_.compat.congestion_aware) {
        rings_begun_ = now() == rings_began_ ? rings_begun_ + 1 : 1;
        rings_began_ = now();
      } else if (queues_per_dim() == 1) {
        // Where messages do not compete, a ring needs no events: it ends on no rank before all have begun. With
        // several queues rings go both ways, and those that end at one time do so in an order that only their messages
        // tell.
        return join_ring(id), Result<void>();
      }
    }
    s.phase.emplace(p.algorithm, p.type, p.line.self, p.line.places, p.bytes, p.clockwise, s.everyone, p.max_root);
    compat::Actions actions;
    s.phase->start(actions);
    return act(id, actions);
  }

  void join_ring(uint32_t id) {
    const Stream& s = streams_[id];
    const Line& line = s.plans[s.current].line;
    const RingKey key{s.id, line.ranks, line.base, line.stride, s.current};
    RingRun& run = rings_[key];
    if (run.streams.empty()) {
      run.streams.assign(line.places, UINT32_MAX);
      run.at.resize(line.places);
    }
    run.streams[line.self] = id;
    run.at[line.self] = now();
    if (++run.begun < line.places) return;
    for (const uint32_t other : run.streams)  // ranks that disagree never find each other's messages
      if (!streams_[other].plans[streams_[other].current].same_messages(s.plans[s.current])) return;
    const bool alike = run_ring(run, s);
    for (uint32_t place = 0; place < line.places; ++place)
      at(line.rank(place), run.at[alike ? 0 : place],
         {Event::Kind::phase_done, line.rank(place), 0, run.streams[place], 0});
    rings_.erase(key);
  }

  /// From when each place began to when it ends. A step begins on a rank when it has received the message of the
  /// step before and has waited for the endpoint. Returns whether all places are alike; then run.at[0] stands for
  /// them. Cost: O(steps), times places if they are not alike.
  bool run_ring(RingRun& run, const Stream& s) {
    const Plan& p = s.plans[s.current];
    const uint32_t n = p.line.places;
    const uint64_t bytes = compat::message_bytes(p.type, n, p.bytes);
    const int64_t steps = compat::ring_steps(p.type, n);
    const Picoseconds plain = endpoint_delay(s), reducing = add_saturated(plain, reduction(bytes));
    const auto source = [&](uint32_t place) { return compat::neighbour(place, n, !p.clockwise); };
    std::vector<Picoseconds>& at = run.at;
    std::vector<Picoseconds> travels(n), next(n);
    for (uint32_t place = 0; place < n; ++place)
      travels[place] = travel(p.line.rank(source(place)), p.line.rank(place), bytes);
    const auto equal = [](const std::vector<Picoseconds>& values) {
      return std::all_of(values.begin(), values.end(), [&](Picoseconds v) { return v == values[0]; });
    };
    for (uint32_t place = 0; place < n; ++place) at[place] = std::min(at[place] + plain, kLongestPs);
    if (equal(at) && equal(travels)) {
      at[0] = ring_end(s, at[0], travels[0]);
      return true;
    }
    for (int64_t step = 1; step <= steps; ++step) {
      const Picoseconds wait = compat::ring_reduces(p.type, n, step) ? reducing : plain;
      for (uint32_t place = 0; place < n; ++place) {
        const Picoseconds arrival = at[source(place)] + travels[place];
        next[place] = std::min(std::max(arrival, at[place]) + wait, kLongestPs);
      }
      at.swap(next);
    }
    return false;
  }

  /// When a ring ends whose places all send first at `time` and whose messages all take `travel`. Cost: O(steps).
  Picoseconds ring_end(const Stream& s, Picoseconds time, Picoseconds travel) const {
    const Plan& p = s.plans[s.current];
    const Picoseconds plain = endpoint_delay(s);
    const Picoseconds reducing = add_saturated(plain, reduction(compat::message_bytes(p.type, p.line.places, p.bytes)));
    const int64_t steps = compat::ring_steps(p.type, p.line.places);
    for (int64_t step = 1; step <= steps; ++step) {
      const Picoseconds wait = compat::ring_reduces(p.type, p.line.places, step) ? reducing : plain;
      time = std::min(time + travel + wait, kLongestPs);
    }
    return time;
  }

  /// With congestion: as many rings have begun at this time as there are ranks. If every rank is at the beginning of
  /// one, no two messages share a link and nothing else happens before the rings end, all ranks stay alike and no
  /// message need be followed. What remains of the messages is the order of the ranks at the end: a rank that received
  /// first goes first, so with each step every turn passes on to the next place [1]. Cost: O(ranks + steps).
  void look_ahead() {
    rings_begun_ = 0;
    if (!flights_.empty() || !parties_.empty()) return;
    const auto next_due = [&](uint32_t r) -> const Event* {
      const auto& due = ranks_[r].due;
      if (due.empty() || due[0].time <= now() || due[0].time != ranks_[0].due[0].time) return nullptr;
      const auto& batch = batches_[due[0].batch];
      return batch.size() == 1 ? &batch[0] : nullptr;
    };
    std::vector<uint32_t> streams;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      const Event* event = next_due(r);
      if (!event || event->kind != Event::Kind::bundle_done) return;
      const Stream& s = streams_[event->stream];
      if (!s.plans[s.current].is_ring() || !s.phase || !s.phase->untouched()) return;
      streams.push_back(event->stream);
    }
    const net::Dimension& d = in_.fabric.dimensions[0];
    const Stream& first = streams_[streams[0]];
    const Plan& plan = first.plans[first.current];
    for (const uint32_t id : streams) {
      const Stream& s = streams_[id];
      const Plan& p = s.plans[s.current];
      const uint32_t receiver = p.line.rank(compat::neighbour(p.line.self, p.line.places, p.clockwise));
      const Stream& next = streams_[streams[receiver]];
      if (!p.same_messages(plan) || s.id != next.id || !p.line.same_ranks(next.plans[next.current].line)) return;
      if (d.kind == net::TopologyKind::ring && d.topology().hops(s.rank, receiver, d.ranks) > 1) return;
    }
    const uint64_t bytes = compat::message_bytes(plan.type, plan.line.places, plan.bytes);
    const int64_t hops = d.kind == net::TopologyKind::switch_ ? 2 : 1;
    const Picoseconds hop = ticks(d.latency_ns + static_cast<double>(bytes) / bytes_per_ns(d));
    const Picoseconds end = ring_end(first, ranks_[0].due[0].time, std::min(hops * hop, kLongestPs));
    for (const RankState& rank : ranks_)
      if (rank.due.size() > 1 && rank.due[1].time <= end) return;
    const auto turns = static_cast<uint32_t>(compat::ring_steps(plan.type, plan.line.places) % plan.line.places);
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      const Plan& p = streams_[streams[r]].plans[streams_[streams[r]].current];
      const uint32_t on = p.clockwise ? turns : p.line.places - turns;
      const uint32_t last = p.line.rank((p.line.self + on) % p.line.places);
      Event& event = batches_[ranks_[r].due[0].batch][0];
      event = {Event::Kind::ring_ahead, last, 0, streams[last], static_cast<uint64_t>(end)};
    }
  }

  void reduce(const Event& event) {
    at(event.rank, add_saturated(now(), reduction(event.message)),
       {Event::Kind::bundle_done, event.rank, 0, event.stream, 0});
  }

  Result<void> bundle_done(uint32_t id) {
    compat::Actions actions;
    streams_[id].phase->bundle_done(actions);
    return act(id, actions);
  }

  Result<void> phase_received(uint32_t id) {
    compat::Actions actions;
    streams_[id].phase->received(actions);
    return act(id, actions);
  }

  Result<void> act(uint32_t id, const compat::Actions& actions) {
    for (const Action& action : actions) {
      Stream& s = streams_[id];
      const Line& line = s.plans[s.current].line;
      const int64_t tag = s.id % kMessageTags;  // those of group 500 are those of all ranks again [5]
      switch (action.kind) {
        case Action::Kind::bundle:
          at(s.rank, add_saturated(now(), endpoint_delay(s)),
             {action.reduces ? Event::Kind::reduction : Event::Kind::bundle_done, s.rank, 0, id, action.bytes});
          break;
        case Action::Kind::send: send({tag, s.rank, line.rank(action.peer), action.bytes}, {}); break;
        case Action::Kind::receive:
          receive({tag, line.rank(action.peer), s.rank, action.bytes}, {Party::Kind::phase, s.rank, 0, id});
          break;
        case Action::Kind::end: return end_phase(id);
      }
    }
    return {};
  }

  // ---- messages [1, 5] ---------------------------------------------------------------------------------

  double bytes_per_ns(const net::Dimension& d) const { return d.gib_per_s * 1073741824.0 / 1e9; }

  /// Without congestion. Where ranks differ in several dimensions, the lowest alone counts.
  Picoseconds travel(uint32_t from, uint32_t to, uint64_t bytes) {
    for (const net::Dimension& d : in_.fabric.dimensions) {
      const auto n = static_cast<uint32_t>(d.ranks);
      const uint32_t a = from % n, b = to % n;
      from /= n;
      to /= n;
      if (a == b) continue;
      if (from != to) note(Quirk::lowest_dimension);
      const int64_t hops = net::kTopologies[static_cast<size_t>(d.kind)].hops(a, b, n);
      return ticks(static_cast<double>(hops) * d.latency_ns + static_cast<double>(bytes) / bytes_per_ns(d));
    }
    return 0;
  }

  struct Flight {
    Channel channel;
    Party sender;
    uint32_t at = 0;  ///< the device where it is: a rank, or the switch, numbered after the ranks
  };

  void send(const Channel& channel, const Party& sender) {
    const uint64_t flight = flights_.put({channel, sender, channel.from});
    if (!in_.compat.rendezvous) return leave(flight);
    await({channel.tag, channel.to, channel.from, kRequestBytes, true}, {Party::Kind::sender, 0, 0, 0, flight});
  }

  void receive(const Channel& channel, const Party& receiver) {
    if (!in_.compat.rendezvous) return await(channel, receiver);
    // A receive begins when its request is at the sender [5].
    const Channel request{channel.tag, channel.to, channel.from, kRequestBytes, true};
    const uint64_t asker = askers_.put({channel, receiver});
    leave(flights_.put({request, {Party::Kind::receiver, 0, 0, 0, asker}, request.from}));
  }

  void leave(uint64_t flight) {
    if (in_.compat.congestion_aware) return hop(flight);
    const Channel& channel = flights_[flight].channel;
    queue_.push(add_saturated(now(), travel(channel.from, channel.to, channel.bytes)),
                {Event::Kind::arrival, channel.to, 0, 0, flight});
  }

  // Over links, one after the other [1]: a link carries one message at a time.

  /// The link that leads on from where the message is, and where it leads.
  std::pair<uint64_t, uint32_t> next_link(const Flight& f) const {
    const auto n = static_cast<uint32_t>(ranks_.size());
    const uint32_t to = f.channel.to;
    switch (in_.fabric.dimensions[0].kind) {
      case net::TopologyKind::ring: {
        const uint32_t ahead = to >= f.at ? to - f.at : to + n - f.at;
        const bool clockwise = ahead <= n - ahead;  // the shorter way, on ties to the next rank
        return {uint64_t{f.at} * 2 + (clockwise ? 0 : 1), compat::neighbour(f.at, n, clockwise)};
      }
      case net::TopologyKind::switch_:
        if (f.at == n) return {uint64_t{n} + to, to};
        return {f.at, n};
      case net::TopologyKind::fully_connected:
      case net::TopologyKind::mesh:
      case net::TopologyKind::torus: break;  // the last two were refused
    }
    return {uint64_t{f.at} * n + to, to};
  }

  Link& link_of(uint64_t number) { return number < links_.size() ? links_[number] : sparse_links_[number]; }

  void hop(uint64_t flight) {
    const uint64_t number = next_link(flights_[flight]).first;
    Link& link = link_of(number);
    if (link.busy) return link.waiting.push_back(flight);
    link.busy = true;
    transmit(flight, number);
  }

  void transmit(uint64_t flight, uint64_t link) {
    const net::Dimension& d = in_.fabric.dimensions[0];
    const double serialization = static_cast<double>(flights_[flight].channel.bytes) / bytes_per_ns(d);
    queue_.push(add_saturated(now(), ticks(d.latency_ns + serialization)), {Event::Kind::hop_done, 0, 0, 0, flight});
    queue_.push(add_saturated(now(), ticks(serialization)), {Event::Kind::link_free, 0, 0, 0, link});
  }

  void link_free(uint64_t number) {
    Link& link = link_of(number);
    if (link.next == link.waiting.size()) {
      link.busy = false;
      link.next = 0;
      link.waiting.clear();
      return;
    }
    transmit(link.waiting[link.next++], number);
  }

  Result<void> hop_done(uint64_t flight) {
    flights_[flight].at = next_link(flights_[flight]).second;
    if (flights_[flight].at == flights_[flight].channel.to) return arrival(flight);
    hop(flight);
    return {};
  }

  /// Who is told when the channel's next message is there.
  void await(const Channel& channel, const Party& receiver) {
    const auto traffic = traffic_.try_emplace(channel).first;
    if (traffic->second.arrived == 0) return traffic->second.receives.push_back(receiver);
    if (--traffic->second.arrived == 0) traffic_.erase(traffic);
    // At once, but as an event of its own: other things of this time come first, and a long row of them must not nest.
    queue_.push(now(), {Event::Kind::received, receiver.rank, 0, 0, parties_.put(receiver)});
  }

  Result<void> arrival(uint64_t flight) {
    const Flight f = flights_.take(flight);
    CHAKRA_TRY(tell(f.sender));  // a send ends when its message arrives, wanted or not
    const auto traffic = traffic_.try_emplace(f.channel).first;
    auto& receives = traffic->second.receives;
    if (receives.empty()) {
      ++traffic->second.arrived;
    } else {
      const Party receiver = receives.front();
      receives.erase(receives.begin());
      if (receives.empty()) traffic_.erase(traffic);
      return tell(receiver);
    }
    return {};
  }

  Result<void> tell(const Party& party) {
    switch (party.kind) {
      case Party::Kind::nobody: return {};
      case Party::Kind::workload: return node_done(party.rank, party.node);
      case Party::Kind::phase: return phase_received(party.stream);
      case Party::Kind::custom: return custom_done(party.stream, party.node);
      case Party::Kind::receiver: {
        const auto [channel, receiver] = askers_.take(party.number);
        return await(channel, receiver), Result<void>();
      }
      case Party::Kind::sender: return leave(party.number), Result<void>();
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
    return receive({tag, other, r, comm.bytes}, party), Result<void>();
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
        CHAKRA_TRY(start_peer_to_peer(t, next.node, s.rank, custom_tag(s, t.comm(next.node)->tag),
                                      {Party::Kind::custom, s.rank, next.node, id}));
      else
        at(s.rank, add_saturated(now(), measured(t, next.node)), {Event::Kind::custom_done, s.rank, next.node, id, 0});
    }
    return {};
  }
  static int64_t custom_tag(const Stream& s, int64_t tag) {
    return (s.id + 1) * kMessageTags + std::max<int64_t>(0, tag);
  }

  Result<void> custom_done(uint32_t id, NodeId n) {
    std::vector<feed::Ready> ready;
    streams_[id].feeder->done(n, now(), ready);
    CHAKRA_TRY(run_custom(id, ready));
    return streams_[id].feeder->remaining() == 0 ? end_phase(id) : Result<void>();
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
    at(r, add_saturated(now(), memory_time(r, n)), {Event::Kind::memory_done, r, n, 0, 0});
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
  static constexpr uint64_t kRequestBytes = 8192;

  const SimInput& in_;
  des::EventQueue<Event> queue_;
  std::vector<RankState> ranks_;
  std::vector<feed::Ready> ready_;
  Members everyone_;
  std::map<std::string, Members> groups_;
  std::deque<Stream> streams_;  // references stay valid while more are added
  std::vector<uint32_t> unused_streams_;
  uint64_t next_order_ = 0;
  absl::flat_hash_map<Channel, Traffic> traffic_;
  Pool<Flight> flights_;
  Pool<Party> parties_;
  Pool<std::pair<Channel, Party>> askers_;
  std::vector<Link> links_;                           ///< two of a rank, on a ring or a switch
  absl::flat_hash_map<uint64_t, Link> sparse_links_;  ///< of all pairs of ranks, those that were used
  absl::flat_hash_map<RingKey, RingRun> rings_;
  Pool<absl::InlinedVector<Event, 1>> batches_;
  size_t rings_begun_ = 0;  ///< with congestion: of all ranks together, at rings_began_
  Picoseconds rings_began_ = -1;
  uint32_t quirks_ = 0;
  std::map<uint32_t, SharedMemory> memories_;
  SimReport report_;
};

}  // namespace

Result<SimReport> simulate_compat(const SimInput& input) { return Compat(input).run(); }

}  // namespace chakra::sim
