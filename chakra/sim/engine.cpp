// The native simulator.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "chakra/coll/coll.h"
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

constexpr size_t kWaitsNamed = 6;

struct Event {
  uint32_t rank;
  NodeId node;
  enum class Kind : uint32_t { ready, done } kind;
};

/// Runs one node at a time: a thread, a stream, or, where the trace names none, the rank's processor or
/// a group's queue.
struct Queue {
  bool busy = false;
  bool ordered = false;                       ///< runs the collectives of a group, strictly one after the other
  uint32_t next_index = 0;                    ///< of an ordered queue: the collective that is due
  using Entry = std::pair<uint32_t, NodeId>;  ///< index of the collective, or the row, and the node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending;
};
constexpr uint32_t kNoQueue = UINT32_MAX;

struct RankState {
  explicit RankState(const Trace& t) : trace(&t), feeder(t) {}
  const Trace* trace;
  feed::Feeder feeder;
  std::vector<Queue> queues;  ///< one per lane, then those below
  uint32_t cpu = 0, device = 0, memory = 0, sends = 0;
  absl::flat_hash_map<uint32_t, uint32_t> group_queues;
  bool has_device = false;
  int64_t computing = 0, communicating = 0;
  Picoseconds since = 0;
  RankReport report;
};

struct CollectiveState {
  uint32_t arrived = 0;
  std::vector<Picoseconds> arrival;  ///< per member
};

struct MessageState {
  bool sent = false, posted = false;
  Picoseconds arrival = 0, post = 0;
};

class Engine {
 public:
  explicit Engine(const SimInput& input) : in_(input), matching_(match::match(input.job, input.groups)) {}

  Result<SimReport> run() {
    CHAKRA_CHECK(check_input());
    prepare();
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      ready_.clear();
      ranks_[r].feeder.start(ready_);
      for (const feed::Ready& ready : ready_) queue_.push(ready.time, {r, ready.node, Event::Kind::ready});
    }
    // All that happens at a time happens before a queue chooses what it runs next.
    while (!queue_.empty()) {
      const Picoseconds time = queue_.next_time();
      if (time >= kLongestPs) return too_long();
      while (!queue_.empty() && queue_.next_time() == time) {
        const Event event = queue_.pop();
        ++report_.events;
        if (event.kind == Event::Kind::ready) CHAKRA_CHECK(enqueue(event.rank, event.node));
        else finish(event.rank, event.node);
      }
      for (const auto& [r, q] : touched_) CHAKRA_CHECK(serve(r, q));
      touched_.clear();
    }
    for (const RankState& rank : ranks_)
      if (rank.feeder.remaining() > 0) return stuck();
    return summarize();
  }

 private:
  Picoseconds now() const { return queue_.now(); }
  const Trace& trace(uint32_t r) const { return *ranks_[r].trace; }

  Result<void> check_input() {
    if (in_.fabric.dimensions.size() > 1)
      return fail(Code::bad_input, "net.dimensions",
                  fmt::format("a network of {} dimensions; the native mode of this version simulates one, --compat "
                              "astra-sim any number",
                              in_.fabric.dimensions.size()));
    for (const Trace& t : in_.job.ranks) {
      CHAKRA_CHECK(check_defects(t));
      if (t.rank >= in_.fabric.size())
        return fail(Code::bad_input, "sim.fabric.small",
                    fmt::format("rank {} does not fit into a network of {} ranks", t.rank, in_.fabric.size()),
                    {t.file});
      for (NodeId n = 0; n < t.size(); ++n)
        if (t.type[n] == NodeType::invalid)
          return fail(Code::bad_input, "sim.trace.defect",
                      fmt::format("node {} of rank {} has no valid type", t.id[n], t.rank), {t.file});
    }
    // What makes ranks wait for ever is found by running; what makes their data differ is not.
    for (const Finding& finding : matching_.findings) {
      report_.findings.push_back(finding);
      if (match::is_contradiction(finding))
        return fail(Code::bad_input, "sim.match", fmt::format("{} ({})", finding.text, finding.tag));
    }
    const auto traces = static_cast<int64_t>(in_.job.ranks.size());
    if (traces < in_.fabric.size())
      report_.findings.push_back(
          {"sim.rank.missing", Severity::warning, -1, -1,
           fmt::format("the network has {} ranks, the job has traces of {}: the others do nothing", in_.fabric.size(),
                       traces)});
    return {};
  }

  void prepare() {
    ranks_.reserve(in_.job.ranks.size());
    for (const Trace& t : in_.job.ranks) {
      RankState& rank = ranks_.emplace_back(t);
      rank.report.rank = t.rank;
      rank.queues.resize(t.lanes.size() + 4);
      rank.cpu = static_cast<uint32_t>(t.lanes.size());
      rank.device = rank.cpu + 1;
      rank.memory = rank.cpu + 2;
      rank.sends = rank.cpu + 3;
      for (NodeId n = 0; n < t.size() && !rank.has_device; ++n)
        rank.has_device = t.type[n] == NodeType::comp && t.on_device(n);
    }
    collectives_.resize(matching_.collectives.size());
    messages_.resize(matching_.messages.size());
    for (const Trace& t : in_.job.ranks) member_of_.emplace_back(t.comms.size(), 0);
    for (const match::Collective& c : matching_.collectives)
      for (uint32_t m = 0; m < c.members.size(); ++m)
        if (const match::NodeRef& ref = c.members[m]; ref.node != trace::kNoNode)
          member_of_[ref.rank][trace(ref.rank).comm_row[ref.node]] = m;
    if (in_.timeline) start_timeline();
  }

  // ---- queues ----------------------------------------------------------------------------------------

  uint32_t match_of(uint32_t r, NodeId n) const { return matching_.of_comm[r][trace(r).comm_row[n]]; }

  uint32_t queue_of(uint32_t r, NodeId n) {
    RankState& rank = ranks_[r];
    const Trace& t = trace(r);
    switch (t.type[n]) {
      case NodeType::metadata: return kNoQueue;
      case NodeType::coll: {
        if (t.lane[n] != trace::kNoLane) return t.lane[n];
        const uint32_t group = matching_.collectives[match_of(r, n)].group;
        const auto [found, added] = rank.group_queues.emplace(group, static_cast<uint32_t>(rank.queues.size()));
        if (added) rank.queues.emplace_back().ordered = true;
        return found->second;
      }
      case NodeType::send: return t.lane[n] != trace::kNoLane ? t.lane[n] : rank.sends;
      case NodeType::recv: return t.lane[n] != trace::kNoLane ? t.lane[n] : kNoQueue;
      case NodeType::mem_load:
      case NodeType::mem_store: return t.lane[n] != trace::kNoLane ? t.lane[n] : rank.memory;
      default:
        if (t.lane[n] != trace::kNoLane) return t.lane[n];
        if (t.name_of(n) == trace::kInitialCondition) return kNoQueue;
        return t.on_cpu(n) ? rank.cpu : rank.device;
    }
  }

  Result<void> enqueue(uint32_t r, NodeId n) {
    if (trace(r).type[n] == NodeType::coll && match_of(r, n) == trace::kNoRow)
      return fail(Code::bad_input, "sim.comm.type",
                  fmt::format("node {} of rank {} belongs to no group", trace(r).id[n], trace(r).rank),
                  {trace(r).file});
    const uint32_t q = queue_of(r, n);
    if (q == kNoQueue) return start(r, n);
    Queue& queue = ranks_[r].queues[q];
    queue.pending.push({queue.ordered ? matching_.collectives[match_of(r, n)].index : n, n});
    touched_.push_back({r, q});
    return {};
  }

  Result<void> serve(uint32_t r, uint32_t q) {
    Queue& queue = ranks_[r].queues[q];
    if (queue.busy || queue.pending.empty()) return {};
    const auto [index, n] = queue.pending.top();
    if (queue.ordered) {
      if (index != queue.next_index) return {};  // the collective that is due is not ready yet
      ++queue.next_index;
    }
    queue.pending.pop();
    queue.busy = true;
    return start(r, n);
  }

  // ---- running a node ----------------------------------------------------------------------------------

  bool computes(uint32_t r, NodeId n) const {
    const Trace& t = trace(r);
    if (t.type[n] != NodeType::comp && t.type[n] != NodeType::mem_load && t.type[n] != NodeType::mem_store)
      return false;
    if (ranks_[r].has_device) return t.on_device(n);
    const std::string_view name = t.name_of(n);
    return name != trace::kHostGap && name != trace::kInitialCondition && name != trace::kSyncRemainder;
  }

  void account(RankState& rank) {
    const Picoseconds passed = now() - rank.since;
    (rank.computing > 0       ? rank.report.compute_ps
     : rank.communicating > 0 ? rank.report.exposed_comm_ps
                              : rank.report.idle_ps) += passed;
    rank.since = now();
  }

  void begin(uint32_t r, NodeId n, int by) {
    RankState& rank = ranks_[r];
    account(rank);
    if (trace::is_comm(trace(r).type[n])) rank.communicating += by;
    else if (computes(r, n)) rank.computing += by;
  }

  void end_at(uint32_t r, NodeId n, Picoseconds time) { queue_.push(time, {r, n, Event::Kind::done}); }

  Result<void> start(uint32_t r, NodeId n) {
    begin(r, n, 1);
    if (in_.timeline) started_[r][n] = now();
    const Trace& t = trace(r);
    switch (t.type[n]) {
      case NodeType::coll: return arrive(r, n);
      case NodeType::send: return send(r, n);
      case NodeType::recv: return receive(r, n);
      default: {
        CHAKRA_ASSIGN(const Picoseconds duration, compute_time(t, n));
        end_at(r, n, add_saturated(now(), duration));
        return {};
      }
    }
  }

  /// Measured, or what the roofline gives for the work.
  Result<Picoseconds> compute_time(const Trace& t, NodeId n) const {
    if (!in_.system.roofline || t.on_cpu(n) || t.type[n] != NodeType::comp) return t.dur_ps[n];
    const double ops = t.num_ops.empty() ? 0 : static_cast<double>(t.num_ops[n]);
    const double bytes = t.tensor_bytes.empty() ? 0 : static_cast<double>(t.tensor_bytes[n]);
    if (ops == 0 && bytes == 0) return t.dur_ps[n];
    return picoseconds(std::max(ops / in_.system.peak_flop_per_s, bytes / in_.system.memory_bytes_per_s));
  }

  Result<void> arrive(uint32_t r, NodeId n) {
    const uint32_t id = match_of(r, n);
    const match::Collective& c = matching_.collectives[id];
    CollectiveState& state = collectives_[id];
    if (c.type == CommType::unknown)
      return fail(
          Code::bad_input, "sim.comm.type",
          fmt::format("node {} of rank {} is a collective that does not say which", trace(r).id[n], trace(r).rank),
          {trace(r).file});
    if (state.arrival.empty()) state.arrival.assign(c.members.size(), -1);
    state.arrival[member_of_[r][trace(r).comm_row[n]]] = now();
    if (++state.arrived < c.members.size()) return {};

    const match::Group& group = matching_.groups[c.group];
    const Picoseconds first = *std::min_element(state.arrival.begin(), state.arrival.end());
    const auto root = std::find(group.ranks.begin(), group.ranks.end(), c.root);
    const auto root_member = static_cast<uint32_t>(root == group.ranks.end() ? 0 : root - group.ranks.begin());
    std::vector<Picoseconds> ends(c.members.size(), now());  // nothing moves before the last has come
    coll::run_closed(plan(c, root_member), in_.fabric, group.ranks, ends);
    Picoseconds last = now();
    for (size_t m = 0; m < c.members.size(); ++m) {
      end_at(c.members[m].rank, c.members[m].node, ends[m]);
      last = std::max(last, ends[m]);
    }
    Totals& totals = totals_[{c.group, c.type, c.bytes}];
    ++totals.count;
    totals.time = add_saturated(totals.time, last - now());
    totals.wait = add_saturated(totals.wait, now() - first);
    return {};
  }

  const coll::Plan& plan(const match::Collective& c, uint32_t root) {
    const auto members = static_cast<uint32_t>(c.members.size());
    const auto [found, added] = plans_.try_emplace({c.type, members, c.bytes, root});
    if (added) found->second = coll::algorithm(c.type).plan(members, c.bytes, root);
    return found->second;
  }

  Result<void> send(uint32_t r, NodeId n) {
    const uint32_t id = match_of(r, n);
    if (id == trace::kNoRow) return no_peer(r, n);
    const Trace& t = trace(r);
    const int64_t to = t.comm(n)->dst;
    if (to >= in_.fabric.size())
      return fail(Code::bad_input, "sim.fabric.small",
                  fmt::format("node {} of rank {} sends to rank {}, but the network has {} ranks", t.id[n], t.rank, to,
                              in_.fabric.size()),
                  {t.file});
    MessageState& m = messages_[id];
    const Picoseconds left = add_saturated(now(), in_.fabric.serialization(matching_.messages[id].bytes));
    m.sent = true;
    m.arrival = add_saturated(left, in_.fabric.latency(t.rank, to));
    end_at(r, n, left);
    deliver(id);
    return {};
  }

  Result<void> receive(uint32_t r, NodeId n) {
    const uint32_t id = match_of(r, n);
    if (id == trace::kNoRow) return no_peer(r, n);
    messages_[id].posted = true;
    messages_[id].post = now();
    deliver(id);
    return {};
  }

  void deliver(uint32_t id) {
    const MessageState& m = messages_[id];
    if (!m.sent || !m.posted) return;
    const match::NodeRef& to = matching_.messages[id].recv;
    end_at(to.rank, to.node, std::max(m.arrival, m.post));
  }

  tl::unexpected<Error> no_peer(uint32_t r, NodeId n) const {
    return fail(
        Code::bad_input, "sim.comm.peer",
        fmt::format("node {} of rank {} does not say with which rank it communicates", trace(r).id[n], trace(r).rank),
        {trace(r).file});
  }

  void finish(uint32_t r, NodeId n) {
    begin(r, n, -1);
    RankState& rank = ranks_[r];
    rank.report.finish_ps = now();
    if (in_.timeline) add_slice(r, n);
    ready_.clear();
    rank.feeder.done(n, now(), ready_);
    for (const feed::Ready& ready : ready_)
      queue_.push(std::max(ready.time, now()), {r, ready.node, Event::Kind::ready});
    const uint32_t q = queue_of(r, n);
    if (q == kNoQueue) return;
    rank.queues[q].busy = false;
    touched_.push_back({r, q});
  }

  // ---- what comes out ------------------------------------------------------------------------------------

  SimReport summarize() {
    for (RankState& rank : ranks_) {
      report_.makespan_ps = std::max(report_.makespan_ps, rank.report.finish_ps);
      report_.ranks.push_back(rank.report);
    }
    for (const auto& [key, totals] : totals_) {
      const auto& [group, type, bytes] = key;
      CollectiveReport c;
      c.group = matching_.groups[group].name;
      c.type = type;
      c.bytes = bytes;
      c.members = static_cast<uint32_t>(matching_.groups[group].ranks.size());
      c.count = totals.count;
      c.total_ps = totals.time;
      c.wait_ps = totals.wait;
      if (totals.time > 0) {
        c.algorithm_bytes_per_s = static_cast<double>(bytes) * static_cast<double>(totals.count) /
                                  (static_cast<double>(totals.time) / kPsPerSecond);
        c.bus_bytes_per_s = c.algorithm_bytes_per_s * coll::bus_factor(type, c.members);
      }
      report_.collectives.push_back(std::move(c));
    }
    if (in_.timeline) finish_timeline();
    return std::move(report_);
  }

  /// Nothing can happen any more, and there are nodes left.
  tl::unexpected<Error> stuck() {
    for (const RankState& rank : ranks_)
      if (const trace::Order order = trace::topological_order(rank.trace->deps); !order.cycle.empty())
        return fail(Code::stuck, "sim.stuck.cycle",
                    fmt::format("rank {} cannot finish: node {} ({}) waits for itself through {} nodes; run 'chakra "
                                "check' for the path",
                                rank.trace->rank, rank.trace->id[order.cycle[0]],
                                quote(rank.trace->name_of(order.cycle[0])), order.cycle.size()),
                    {rank.trace->file});
    std::vector<std::string> waits;
    for (size_t i = 0; i < collectives_.size(); ++i)
      if (collectives_[i].arrived > 0 && collectives_[i].arrived < matching_.collectives[i].members.size())
        waits.push_back(describe_collective(i));
    for (size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i].posted && !messages_[i].sent) waits.push_back(describe_receive(i));
    int64_t behind = 0;
    size_t unfinished = 0;
    for (const RankState& rank : ranks_) {
      behind += rank.feeder.remaining();
      unfinished += rank.feeder.remaining() > 0;
    }
    std::string text =
        fmt::format("{} of {} ranks cannot finish ({} nodes left): ", unfinished, ranks_.size(), show_count(behind));
    for (size_t i = 0; i < std::min(waits.size(), kWaitsNamed); ++i) text += (i ? "; " : "") + waits[i];
    if (waits.size() > kWaitsNamed) text += fmt::format("; and {} more", waits.size() - kWaitsNamed);
    return fail(Code::stuck, "sim.stuck", std::move(text));
  }

  std::string describe_collective(size_t id) {
    const match::Collective& c = matching_.collectives[id];
    const match::Group& group = matching_.groups[c.group];
    std::string waiting, missing;
    for (size_t m = 0; m < c.members.size(); ++m) {
      const int64_t rank = group.ranks[m];
      if (collectives_[id].arrival[m] >= 0) {
        waiting += fmt::format("{}rank {} (node {})", waiting.empty() ? "" : ", ", rank,
                               trace(c.members[m].rank).id[c.members[m].node]);
        continue;
      }
      missing += fmt::format("{}rank {}", missing.empty() ? "" : ", ", rank);
      if (!in_.job.find(rank)) missing += ", which is not in the job";
      else if (c.members[m].node == trace::kNoNode) missing += ", which has no such collective";
      else
        missing += fmt::format(" (node {}){}", trace(c.members[m].rank).id[c.members[m].node], why_not(c.members[m]));
    }
    return fmt::format("{} waits in {} number {} of group {} for {}", waiting, trace::name(c.type), c.index,
                       quote(group.name), missing);
  }

  /// Why a node that others wait for does not run.
  std::string why_not(const match::NodeRef& ref) {
    const RankState& rank = ranks_[ref.rank];
    if (!rank.feeder.is_ready(ref.node)) return ", which has not come that far";
    return ", which is held up by what is before it in its queue";
  }

  std::string describe_receive(size_t id) const {
    const match::Message& m = matching_.messages[id];
    const Trace& t = trace(m.recv.rank);
    const int64_t from = t.comm(m.recv.node)->src;
    return fmt::format("rank {} (node {}) waits for a message from rank {} with tag {}{}", t.rank, t.id[m.recv.node],
                       from, t.comm(m.recv.node)->tag,
                       !in_.job.find(from)             ? ", which is not in the job"
                       : m.send.node == trace::kNoNode ? ", which never sends it"
                                                       : fmt::format(" (node {}), which has not come that far",
                                                                     trace(m.send.rank).id[m.send.node]));
  }

  // ---- timeline --------------------------------------------------------------------------------------------

  void start_timeline() {
    table::Timeline& tl = report_.timeline;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      started_.emplace_back(trace(r).size(), 0);
      slice_of_.emplace_back(trace(r).size(), UINT32_MAX);
      first_track_.push_back(static_cast<uint32_t>(tl.tracks.size()));
      for (const trace::Lane& lane : trace(r).lanes)
        tl.tracks.push_back({trace(r).rank, lane.kind == trace::Lane::Kind::thread
                                                ? fmt::format("thread {}", lane.index)
                                                : fmt::format("device {} stream {}", lane.process, lane.index)});
      for (const char* name : {"CPU", "compute", "memory", "sends", "receives"})
        tl.tracks.push_back({trace(r).rank, name});
    }
  }

  uint32_t track_of(uint32_t r, NodeId n) {
    const uint32_t q = queue_of(r, n);
    const auto lanes = static_cast<uint32_t>(trace(r).lanes.size());
    if (q == kNoQueue) return first_track_[r] + lanes + 4;
    if (q < lanes + 4) return first_track_[r] + q;
    const auto [found, added] =
        group_tracks_.emplace(std::pair(r, q), static_cast<uint32_t>(report_.timeline.tracks.size()));
    if (added)
      report_.timeline.tracks.push_back(
          {trace(r).rank, fmt::format("collectives of group {}", quote(trace(r).strings[trace(r).comm(n)->group]))});
    return found->second;
  }

  void add_slice(uint32_t r, NodeId n) {
    const Trace& t = trace(r);
    const std::string_view name = t.name_of(n);
    if (t.type[n] == NodeType::metadata || name == trace::kHostGap || name == trace::kInitialCondition) return;
    table::Timeline& tl = report_.timeline;
    slice_of_[r][n] = static_cast<uint32_t>(tl.slices.size());
    tl.slices.push_back({track_of(r, n), tl.strings.intern(name), tl.strings.intern(trace::name(t.type[n])),
                         started_[r][n], now(), t.id[n]});
  }

  void finish_timeline() {
    table::Timeline& tl = report_.timeline;
    const auto flow = [&](uint32_t from, uint32_t to, std::string_view name) {
      if (from != UINT32_MAX && to != UINT32_MAX) tl.flows.push_back({from, to, tl.strings.intern(name)});
    };
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      const Trace& t = trace(r);
      const std::vector<NodeId> shown = trace::shown_nodes(t);
      for (NodeId n = 0; n < t.size(); ++n)
        for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
          if (const trace::EdgeKind kind = trace::kind_of(t.deps.kind[e]);
              kind == trace::EdgeKind::launch || kind == trace::EdgeKind::comm)
            flow(slice_of_[r][shown[t.deps.node[e]]], slice_of_[r][shown[n]], trace::name(kind));
    }
    for (const match::Message& m : matching_.messages)
      if (m.send.node != trace::kNoNode && m.recv.node != trace::kNoNode)
        flow(slice_of_[m.send.rank][m.send.node], slice_of_[m.recv.rank][m.recv.node], "message");
  }

  const SimInput& in_;
  match::Matching matching_;
  std::vector<RankState> ranks_;
  des::EventQueue<Event> queue_;
  std::vector<feed::Ready> ready_;
  std::vector<std::pair<uint32_t, uint32_t>> touched_;  ///< ranks and queues in which something changed at this time
  std::vector<CollectiveState> collectives_;
  std::vector<MessageState> messages_;
  std::vector<std::vector<uint32_t>> member_of_;  ///< per rank and row of Trace::comms: which member of its collective
  std::map<std::tuple<CommType, uint32_t, uint64_t, uint32_t>, coll::Plan> plans_;
  struct Totals {
    int64_t count = 0;
    Picoseconds time = 0, wait = 0;
  };
  std::map<std::tuple<uint32_t, CommType, uint64_t>, Totals> totals_;
  SimReport report_;

  std::vector<std::vector<Picoseconds>> started_;
  std::vector<std::vector<uint32_t>> slice_of_;
  std::vector<uint32_t> first_track_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> group_tracks_;
};

}  // namespace

Result<SimReport> simulate(const SimInput& input) { return Engine(input).run(); }

}  // namespace chakra::sim
