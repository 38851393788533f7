// The native simulator: actors (ranks that nothing tells apart, fold.h) walk their traces, one event after the
// other; collectives and messages are priced on an idle network (prices.h) or played out on a shared one
// (traffic.h).
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

#include "chakra/coll/coll.h"
#include "chakra/des/des.h"
#include "chakra/feed/feed.h"
#include "chakra/sim/fold.h"
#include "chakra/sim/packet_count.h"
#include "chakra/sim/prices.h"
#include "chakra/sim/retarget.h"
#include "chakra/sim/shared_links.h"
#include "chakra/sim/sim.h"
#include "chakra/sim/stuck.h"

namespace chakra::sim {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kWaitsNamed = 6;
constexpr uint64_t kEventsBetweenLooks = 1 << 14;  ///< at the stop flag and the progress

struct Event {
  uint32_t actor;
  NodeId node;
  enum class Kind : uint32_t { ready, done } kind;
};

/// Runs one node at a time: a thread, a stream, or, where the trace names none, the rank's processor or
/// a group's queue.
struct Queue {
  bool busy = false;
  /// Of a group's queue: its collectives, by index in the group, which run strictly in this order.
  std::vector<uint32_t> order;
  size_t next = 0;                            ///< into order: the one that is due
  NodeId last = trace::kNoNode;               ///< that it ran
  using Entry = std::pair<uint32_t, NodeId>;  ///< index of the collective, or the row, and the node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> pending;
};
constexpr uint32_t kNoQueue = UINT32_MAX;

/// What a rank is doing, and where its time went (RankReport says by which rule).
struct Account {
  struct Moving {
    NodeId node;
    uint32_t what;  ///< into Engine::exposed_keys_
  };
  int64_t computing = 0, hosting = 0, waiting = 0;  ///< nodes; waiting: receives whose message is not sent yet
  std::vector<Moving> moving;                       ///< communication, in the order in which it began
  Picoseconds since = 0;
  Picoseconds compute = 0, host = 0, bubble = 0, idle = 0;
  std::vector<Picoseconds> exposed;  ///< by Moving::what

  void up_to(Picoseconds now) {
    const Picoseconds passed = now - since;
    since = now;
    if (passed == 0) return;
    if (computing > 0) {
      compute += passed;
    } else if (!moving.empty()) {
      const uint32_t what = moving.front().what;
      if (exposed.size() <= what) exposed.resize(what + size_t{1});
      exposed[what] += passed;
    } else {
      (hosting > 0 ? host : waiting > 0 ? bubble : idle) += passed;
    }
  }
  Picoseconds total() const { return std::accumulate(exposed.begin(), exposed.end(), compute + host + bubble + idle); }
  void stop(NodeId node) {
    moving.erase(std::find_if(moving.begin(), moving.end(), [&](const Moving& m) { return m.node == node; }));
  }
};

struct Actor {
  explicit Actor(const Trace& t) : trace(&t), feeder(t) {}
  const Trace* trace;
  feed::Feeder feeder;
  std::vector<Queue> queues;  ///< one per lane, then those below
  uint32_t cpu = 0, device = 0, memory = 0, sends = 0;
  absl::flat_hash_map<uint32_t, uint32_t> group_queues;
  bool has_device = false;
  device::RankTraits traits;
  Account account;
  Picoseconds finish = 0;
  // Per node.
  std::vector<Picoseconds> started, ended;
  std::vector<NodeId> before;  ///< the node that its queue ran before
};

struct CollectiveState {
  uint32_t arrived = 0, ended = 0;
  std::vector<Picoseconds> arrival;  ///< per member
  std::vector<uint32_t> finished;    ///< on a shared network: members that wait for the last to arrive
  Picoseconds first = 0, last = 0;   ///< arrivals
};

struct MessageState {
  bool sent = false, posted = false, there = false;
  Picoseconds arrival = 0;
};

/// A group as its collectives are matched: actors instead of ranks.
struct GroupPlaces {
  uint32_t folded = 0;                ///< into Folded::groups
  std::vector<uint32_t> first_place;  ///< per member of the matched group: its first place in the whole group
  std::vector<uint32_t> member_at;    ///< per place: the member, or kNobody
};

class Engine {
 public:
  explicit Engine(SimInput&& input)
      : in_(std::move(input)), prices_(in_.fabric, in_.collectives, in_.congestion != Congestion::closed) {}

  Result<SimReport> run() {
    CHAKRA_TRY(prepare());
    for (uint32_t a = 0; a < actors_.size(); ++a) {
      ready_.clear();
      actors_[a].feeder.start(ready_);
      for (const feed::Ready& ready : ready_)
        queue_.push(ready_at(a, ready, actors_[a].traits.start_ps), {a, ready.node, Event::Kind::ready});
    }
    // All that happens at a time happens before a queue chooses what it runs next.
    uint64_t next_look = kEventsBetweenLooks;
    for (;;) {
      const Picoseconds time = next_time();
      if (time == net::kNever) break;
      if (time >= kLongestPs) return des::too_long();
      now_ = traffic_ ? traffic_->advance_to(time, traffic_done_) : time;
      for (const Traffic::Done& done : std::exchange(traffic_done_, {})) moved(done);
      while (!queue_.empty() && queue_.next_time() == now_) {
        const Event event = queue_.pop();
        ++report_.events;
        if (event.kind == Event::Kind::ready) CHAKRA_TRY(enqueue(event.actor, event.node));
        else finish(event.actor, event.node);
      }
      for (const auto& [a, q] : touched_) CHAKRA_TRY(serve(a, q));
      touched_.clear();
      if (report_.events >= next_look || traffic_) {
        if (in_.stop && in_.stop->load(std::memory_order_relaxed)) return interrupted();
        if (report_.events >= next_look && in_.progress)
          in_.progress({report_.events + (traffic_ ? traffic_->events() : 0), nodes_done_, nodes_, now_});
        if (report_.events >= next_look) next_look = report_.events + kEventsBetweenLooks;
      }
    }
    for (const Actor& actor : actors_)
      if (actor.feeder.remaining() > 0) return stuck();
    CHAKRA_ASSERT(!traffic_ || traffic_->idle());  // what was sent has arrived
    return summarize();
  }

 private:
  Picoseconds now() const { return now_; }
  const Trace& trace(uint32_t a) const { return *actors_[a].trace; }
  Picoseconds next_time() const {
    const Picoseconds own = queue_.empty() ? net::kNever : queue_.next_time();
    return traffic_ ? std::min(own, traffic_->next_event_time()) : own;
  }

  // ---- before the run ------------------------------------------------------------------------------------

  Result<void> prepare() {
    CHAKRA_TRY(begin_as_recorded(in_, report_.findings));
    const bool whole = !in_.fold || in_.transfers || in_.delays || in_.congestion != Congestion::closed;
    if (in_.classes) {
      for (const Trace& t : in_.classes->classes) CHAKRA_TRY(check_trace(t));
    } else {
      for (const Trace& t : in_.job.ranks) CHAKRA_TRY(check_trace(t));
      if (!in_.matching) in_.matching = match::match(in_.job, in_.groups);
      CHAKRA_TRY(check_match(*in_.matching));
      for (const match::Group& group : in_.matching->groups) in_.groups[group.name] = group.ranks;
      in_.matching.reset();
      in_.classes = trace::by_class(std::move(in_.job));
    }
    const trace::ClassJob& job = *in_.classes;
    const auto ranks = static_cast<int64_t>(job.ranks.size());
    if (ranks > 0 && job.ranks.back().rank >= in_.fabric.size())
      return fail(Code::bad_input, "sim.fabric.small",
                  fmt::format("rank {} does not fit into a network of {} ranks; --ranks 0:{} runs the ranks that do",
                              job.ranks.back().rank, in_.fabric.size(), in_.fabric.size()),
                  {job.classes[job.ranks.back().cls].file});
    for (const auto& [name, members] : in_.groups)
      for (const int64_t rank : members)
        if (rank >= in_.fabric.size())
          return fail(
              Code::bad_input, "sim.fabric.small",
              fmt::format("group {} has rank {}, but the network has {} ranks", quote(name), rank, in_.fabric.size()));
    if (ranks < in_.fabric.size())
      report_.findings.push_back(
          {"sim.rank.missing", Severity::warning, -1, -1,
           fmt::format("the network has {} ranks, the job has traces of {}: the others do nothing", in_.fabric.size(),
                       ranks)});
    in_.system.use_roofline();
    report_.distinct_traces = static_cast<int64_t>(job.classes.size());
    CHAKRA_ASSIGN(report_.devices, retarget(*in_.classes, in_.system, report_.findings));
    folded_ = fold(std::move(*in_.classes), in_.groups, in_.system, prices_, in_.fabric, whole);
    matching_ = match::match(folded_.actors, folded_.table);
    CHAKRA_TRY(check_match(matching_, true));
    prepare_actors();
    prepare_groups();
    if (in_.congestion == Congestion::packet) CHAKRA_TRY(check_packets());
    if (in_.congestion != Congestion::closed) traffic_.emplace(in_.fabric, in_.congestion, in_.packets);
    if (in_.timeline) start_timeline();
    return {};
  }

  static Result<void> check_trace(const Trace& t) {
    CHAKRA_TRY(feed::check_defects(t));
    for (NodeId n = 0; n < t.size(); ++n)
      if (t.type[n] == NodeType::invalid)
        return fail(Code::bad_input, "sim.trace.defect",
                    fmt::format("node {} of rank {} has no valid type", t.id[n], t.rank), {t.file});
    return {};
  }

  /// What makes ranks wait for ever is found by running; what makes their data differ is not.
  /// What actors count the job's ranks have counted before, where they were matched.
  Result<void> check_match(const match::Matching& matching, bool of_actors = false) {
    absl::flat_hash_set<std::string> tags;
    absl::flat_hash_set<std::pair<std::string, std::string>> known;
    const auto note = [&](const Finding& finding) {
      tags.insert(finding.tag);
      return known.emplace(finding.tag, finding.text).second;
    };
    for (const Finding& finding : report_.findings) note(finding);
    for (const Finding& finding : matching.findings) {
      const bool counted = of_actors && finding.rank < 0 && tags.contains(finding.tag);
      if (!counted && note(finding)) report_.findings.push_back(finding);
      if (match::is_contradiction(finding))
        return fail(Code::bad_input, "sim.match", fmt::format("{} ({})", finding.text, finding.tag));
    }
    return {};
  }

  void prepare_actors() {
    actors_.reserve(folded_.actors.ranks.size());
    for (const Trace& t : folded_.actors.ranks) {
      Actor& actor = actors_.emplace_back(t);
      actor.traits = in_.system.traits(t.rank);
      actor.queues.resize(t.lanes.size() + 4);
      actor.cpu = static_cast<uint32_t>(t.lanes.size());
      actor.device = actor.cpu + 1;
      actor.memory = actor.cpu + 2;
      actor.sends = actor.cpu + 3;
      for (NodeId n = 0; n < t.size() && !actor.has_device; ++n)
        actor.has_device = t.type[n] == NodeType::comp && t.on_device(n);
      actor.started.assign(t.size(), 0);
      actor.ended.assign(t.size(), -1);
      actor.before.assign(t.size(), trace::kNoNode);
      nodes_ += t.size();
    }
    collectives_.resize(matching_.collectives.size());
    messages_.resize(matching_.messages.size());
    for (const Trace& t : folded_.actors.ranks) member_of_.emplace_back(t.comms.size(), 0);
    for (const match::Collective& c : matching_.collectives)
      for (uint32_t m = 0; m < c.members.size(); ++m)
        if (const match::NodeRef& ref = c.members[m]; ref.node != trace::kNoNode)
          member_of_[ref.rank][trace(ref.rank).comm_row[ref.node]] = m;
    for (const match::Collective& c : matching_.collectives)  // ascending within a group
      for (const match::NodeRef& ref : c.members)
        if (ref.node != trace::kNoNode && trace(ref.rank).lane[ref.node] == trace::kNoLane)
          actors_[ref.rank].queues[queue_of(ref.rank, ref.node)].order.push_back(c.index);
  }

  void prepare_groups() {
    std::map<std::string_view, uint32_t> by_name;
    for (uint32_t g = 0; g < folded_.groups.size(); ++g) by_name.emplace(folded_.groups[g].names.front(), g);
    for (const match::Group& group : matching_.groups) {
      GroupPlaces& places = places_.emplace_back();
      places.folded = by_name.at(group.name);
      const Folded::Group& whole = folded_.groups[places.folded];
      absl::flat_hash_map<int64_t, uint32_t> member_of;
      for (uint32_t m = 0; m < group.ranks.size(); ++m) member_of.emplace(group.ranks[m], m);
      places.first_place.assign(group.ranks.size(), kNobody);
      for (uint32_t p = 0; p < whole.ranks.size(); ++p) {
        const int64_t rank = whole.actors[p] == kNobody ? whole.ranks[p] : folded_.actors.ranks[whole.actors[p]].rank;
        const uint32_t m = member_of.at(rank);
        places.member_at.push_back(m);
        if (places.first_place[m] == kNobody) places.first_place[m] = p;
      }
    }
  }

  /// Packets are played out one by one, so how many there will be is known before they are too many.
  Result<void> check_packets() {
    PacketCount count(in_.packets);
    absl::flat_hash_map<std::tuple<uint32_t, CommType, uint64_t, uint32_t>, double> known;  // by what a plan depends on
    for (const match::Collective& c : matching_.collectives) {
      const auto first = std::find_if(c.members.begin(), c.members.end(),
                                      [](const match::NodeRef& ref) { return ref.node != trace::kNoNode; });
      if (first == c.members.end() || c.type == CommType::unknown || transfer(first->rank, first->node)) continue;
      const coll::Operation op = operation(c, first->rank, first->node);
      const uint32_t shape = group_of(c).shape;
      const auto packets = [&] { return count.of_plan(prices_.choice(shape, op).plan); };
      if (!op.splits.empty()) count.add(packets());
      else if (const auto [at, added] = known.try_emplace({shape, op.type, op.bytes, op.root}, 0.0); added)
        count.add(at->second = packets());
      else count.add(at->second);
    }
    for (const match::Message& m : matching_.messages)
      if (m.send.node != trace::kNoNode && !transfer(m.send.rank, m.send.node)) count.add(count.of_message(m.bytes));
    return count.check();
  }

  // ---- queues ----------------------------------------------------------------------------------------

  uint32_t match_of(uint32_t a, NodeId n) const { return matching_.of_comm[a][trace(a).comm_row[n]]; }

  uint32_t queue_of(uint32_t a, NodeId n) {
    Actor& actor = actors_[a];
    const Trace& t = trace(a);
    switch (t.type[n]) {
      case NodeType::metadata: return kNoQueue;
      case NodeType::coll: {
        if (t.lane[n] != trace::kNoLane) return t.lane[n];
        const uint32_t group = matching_.collectives[match_of(a, n)].group;
        const auto [found, added] = actor.group_queues.emplace(group, static_cast<uint32_t>(actor.queues.size()));
        if (added) actor.queues.emplace_back();
        return found->second;
      }
      case NodeType::send: return t.lane[n] != trace::kNoLane ? t.lane[n] : actor.sends;
      case NodeType::recv: return t.lane[n] != trace::kNoLane ? t.lane[n] : kNoQueue;
      case NodeType::mem_load:
      case NodeType::mem_store: return t.lane[n] != trace::kNoLane ? t.lane[n] : actor.memory;
      default:
        if (t.lane[n] != trace::kNoLane) return t.lane[n];
        if (t.name_of(n) == trace::kInitialCondition) return kNoQueue;
        return t.on_cpu(n) ? actor.cpu : actor.device;
    }
  }

  Result<void> enqueue(uint32_t a, NodeId n) {
    if (trace(a).type[n] == NodeType::coll && match_of(a, n) == trace::kNoRow)
      return fail(Code::bad_input, "sim.comm.type",
                  fmt::format("node {} of rank {} belongs to no group", trace(a).id[n], trace(a).rank),
                  {trace(a).file});
    const uint32_t q = queue_of(a, n);
    if (q == kNoQueue) return start(a, n);
    Queue& queue = actors_[a].queues[q];
    queue.pending.push({queue.order.empty() ? n : matching_.collectives[match_of(a, n)].index, n});
    touched_.push_back({a, q});
    return {};
  }

  Result<void> serve(uint32_t a, uint32_t q) {
    Queue& queue = actors_[a].queues[q];
    if (queue.busy || queue.pending.empty()) return {};
    const auto [index, n] = queue.pending.top();
    if (!queue.order.empty()) {
      if (index != queue.order[queue.next]) return {};  // the collective that is due is not ready yet
      ++queue.next;
    }
    queue.pending.pop();
    queue.busy = true;
    actors_[a].before[n] = std::exchange(queue.last, n);
    return start(a, n);
  }

  // ---- running a node ----------------------------------------------------------------------------------

  bool is_work(const Trace& t, NodeId n) const {
    return t.type[n] == NodeType::comp || t.type[n] == NodeType::mem_load || t.type[n] == NodeType::mem_store;
  }
  bool computes(uint32_t a, NodeId n) const {
    const Trace& t = trace(a);
    if (!is_work(t, n)) return false;
    if (actors_[a].has_device) return t.on_device(n);
    const std::string_view name = t.name_of(n);
    return name != trace::kHostGap && name != trace::kInitialCondition && name != trace::kSyncRemainder;
  }
  bool hosts(uint32_t a, NodeId n) const {
    const Trace& t = trace(a);
    return actors_[a].has_device && is_work(t, n) && !t.on_device(n) && t.name_of(n) != trace::kInitialCondition &&
           t.name_of(n) != trace::kSyncRemainder;
  }

  /// What a communication is accounted under.
  uint32_t exposed_key(uint32_t a, NodeId n) {
    std::pair<uint32_t, CommType> key{kNobody, CommType::unknown};
    if (trace(a).type[n] == NodeType::coll) {
      const match::Collective& c = matching_.collectives[match_of(a, n)];
      key = {c.group, c.type};
    }
    const auto [found, added] = exposed_ids_.try_emplace(key, static_cast<uint32_t>(exposed_keys_.size()));
    if (added) exposed_keys_.push_back(key);
    return found->second;
  }

  void end_at(uint32_t a, NodeId n, Picoseconds time) { queue_.push(time, {a, n, Event::Kind::done}); }

  Result<void> start(uint32_t a, NodeId n) {
    Actor& actor = actors_[a];
    actor.account.up_to(now());
    actor.started[n] = now();
    const Trace& t = trace(a);
    switch (t.type[n]) {
      case NodeType::coll: actor.account.moving.push_back({n, exposed_key(a, n)}); return arrive(a, n);
      case NodeType::send: actor.account.moving.push_back({n, exposed_key(a, n)}); return send(a, n);
      case NodeType::recv: return receive(a, n);
      default: {
        actor.account.computing += computes(a, n);
        actor.account.hosting += hosts(a, n);
        end_at(a, n, add_saturated(now(), add_saturated(compute_time(actor, n), delay(a, n))));
        return {};
      }
    }
  }

  /// What the trace says, which retarget() has carried over to the rank's device; by a rank's speed.
  Picoseconds compute_time(const Actor& actor, NodeId n) const {
    const Trace& t = *actor.trace;
    const bool on_host = t.on_cpu(n) && actor.has_device;
    if (t.type[n] != NodeType::comp || on_host || actor.traits.speed == 1) return t.dur_ps[n];
    if (in_.system.keep_unrecorded && t.name_of(n) == trace::kUnrecorded) return t.dur_ps[n];
    return picoseconds(static_cast<double>(t.dur_ps[n]) / kPsPerSecond / actor.traits.speed);
  }

  /// By how much the caller delays the node.
  Picoseconds delay(uint32_t a, NodeId n) const { return in_.delays ? in_.delays->of(a, n) : 0; }
  Picoseconds ready_at(uint32_t a, const feed::Ready& ready, Picoseconds earliest) const {
    const Picoseconds late = trace::is_comm(trace(a).type[ready.node]) ? delay(a, ready.node) : 0;
    return add_saturated(std::max(ready.time, earliest), late);
  }

  /// What communication takes once all have come, where the caller says it.
  const Transfers::Row* transfer(uint32_t a, NodeId n) const {
    return in_.transfers ? in_.transfers->find(a, trace(a).comm_row[n]) : nullptr;
  }

  // ---- collectives -------------------------------------------------------------------------------------

  Result<void> arrive(uint32_t a, NodeId n) {
    const uint32_t id = match_of(a, n);
    const match::Collective& c = matching_.collectives[id];
    CollectiveState& state = collectives_[id];
    if (c.type == CommType::unknown)
      return fail(
          Code::bad_input, "sim.comm.type",
          fmt::format("node {} of rank {} is a collective that does not say which", trace(a).id[n], trace(a).rank),
          {trace(a).file});
    const uint32_t member = member_of_[a][trace(a).comm_row[n]];
    if (state.arrived++ == 0) {
      state.arrival.assign(c.members.size(), -1);
      state.first = now();
      if (!transfer(a, n)) note_choice(c, a, n);
      if (traffic_ && !transfer(a, n)) {
        const Folded::Group& group = group_of(c);
        const coll::Choice& choice = prices_.choice(group.shape, operation(c, a, n));
        traffic_->add(id, choice.plan, choice.order, group.ranks, group.flow);
      }
    }
    state.arrival[member] = now();
    state.last = now();
    const bool all = state.arrived == c.members.size();
    if (const Transfers::Row* given = transfer(a, n)) {
      const Picoseconds end = add_saturated(now(), given->transfer_ps);
      for (uint32_t m = 0; all && m < c.members.size(); ++m) end_member(id, m, end);
      return {};
    }
    if (traffic_) {
      std::vector<Traffic::Done> done;
      traffic_->begin(now(), id, member, done);
      for (const Traffic::Done& d : done) moved(d);
      if (all)
        for (const uint32_t m : std::exchange(state.finished, {})) end_member(id, m, now());
      return {};
    }
    if (all) price(id, a, n);
    return {};
  }

  /// What the first of some equal collectives is done with.
  void note_choice(const match::Collective& c, uint32_t a, NodeId n) {
    Totals& totals = totals_[{c.group, c.type, c.bytes}];
    if (totals.algorithm) return;
    const coll::Choice& choice = prices_.choice(group_of(c).shape, operation(c, a, n));
    totals.algorithm = choice.algorithm;
    totals.near = !choice.order.empty();
    totals.by_rule = choice.by_rule;
    totals.candidates = choice.candidates;
    totals.root = folded_.root[a][trace(a).comm_row[n]];
  }

  const Folded::Group& group_of(const match::Collective& c) const { return folded_.groups[places_[c.group].folded]; }

  /// The operation as the whole group does it; node n of actor a takes part. Valid until the next call.
  coll::Operation operation(const match::Collective& c, uint32_t a, NodeId n) {
    coll::Operation op{c.type, c.bytes, folded_.root[a][trace(a).comm_row[n]], {}};
    if (c.type != CommType::all_to_all) return op;  // the others have no sizes of their own, whatever a file says
    for (const match::NodeRef& ref : c.members)
      if (ref.node != trace::kNoNode && !trace(ref.rank).comm(ref.node)->in_split.empty()) {
        shares(c);
        op.splits = shares_;
        break;
      }
    return op;
  }

  /// Bytes from each member to each: what in_split says, in elements, of what the member puts in.
  void shares(const match::Collective& c) {
    const GroupPlaces& places = places_[c.group];
    const size_t n = places.member_at.size();
    shares_.assign(n * n, 0);
    for (size_t p = 0; p < n; ++p) {
      const match::NodeRef& ref = c.members[places.member_at[p]];
      if (ref.node == trace::kNoNode) continue;
      const trace::Comm& comm = *trace(ref.rank).comm(ref.node);
      const uint64_t bytes = comm.in_bytes ? comm.in_bytes : comm.bytes;
      std::vector<uint64_t> split;
      if (!trace::parse_split(comm.in_split, split)) split.clear();
      const double sum = std::accumulate(split.begin(), split.end(), 0.0);
      for (size_t q = 0; q < n; ++q)
        shares_[p * n + q] =
            split.size() != n || sum == 0
                ? (split.empty() ? bytes / n : 0)
                : static_cast<uint64_t>(static_cast<double>(bytes) / sum * static_cast<double>(split[q]) + 0.5);
    }
  }

  /// All have come: when they end on an idle network.
  void price(uint32_t id, uint32_t a, NodeId n) {
    const match::Collective& c = matching_.collectives[id];
    CollectiveState& state = collectives_[id];
    const Folded::Group& group = group_of(c);
    const GroupPlaces& places = places_[c.group];
    const coll::Operation op = operation(c, a, n);
    if (state.first == state.last) {
      const std::vector<Picoseconds>& after = prices_.together(group.shape, op);
      for (uint32_t m = 0; m < c.members.size(); ++m)
        end_member(id, m, add_saturated(now(), after[places.first_place[m]]));
      return;
    }
    ends_.resize(group.ranks.size());
    for (size_t p = 0; p < ends_.size(); ++p) ends_[p] = state.arrival[places.member_at[p]];
    prices_.run(group.shape, op, ends_);
    for (uint32_t m = 0; m < c.members.size(); ++m)
      end_member(id, m, std::max(now(), ends_[places.first_place[m]]));  // none leaves before the last has come
  }

  void end_member(uint32_t id, uint32_t m, Picoseconds time) {
    const match::Collective& c = matching_.collectives[id];
    CollectiveState& state = collectives_[id];
    end_at(c.members[m].rank, c.members[m].node, time);
    longest_[id] = std::max(longest_[id], time);
    if (++state.ended < c.members.size()) return;
    Totals& totals = totals_[{c.group, c.type, c.bytes}];
    ++totals.count;
    totals.time = add_saturated(totals.time, longest_[id] - state.last);
    totals.wait = add_saturated(totals.wait, state.last - state.first);
    longest_.erase(id);
    state.arrival = {};
  }

  /// The shared network has news.
  void moved(const Traffic::Done& done) {
    switch (done.kind) {
      case Traffic::Done::Kind::member: {
        CollectiveState& state = collectives_[done.id];
        if (state.arrived < matching_.collectives[done.id].members.size()) state.finished.push_back(done.member);
        else end_member(done.id, done.member, now());
        return;
      }
      case Traffic::Done::Kind::left: {
        const match::NodeRef& from = matching_.messages[done.id].send;
        end_at(from.rank, from.node, now());
        return;
      }
      case Traffic::Done::Kind::arrived:
        messages_[done.id].there = true;
        messages_[done.id].arrival = now();
        deliver(done.id);
    }
  }

  // ---- messages ----------------------------------------------------------------------------------------

  Result<void> send(uint32_t a, NodeId n) {
    const uint32_t id = match_of(a, n);
    if (id == trace::kNoRow) return no_peer(a, n);
    const Trace& t = trace(a);
    const int64_t to = folded_.peer[a][t.comm_row[n]];
    if (to >= in_.fabric.size())
      return fail(Code::bad_input, "sim.fabric.small",
                  fmt::format("node {} of rank {} sends to rank {}, but the network has {} ranks", t.id[n], t.rank, to,
                              in_.fabric.size()),
                  {t.file});
    MessageState& m = messages_[id];
    const match::Message& message = matching_.messages[id];
    m.sent = true;
    if (m.posted) now_moving(message.recv);
    if (const Transfers::Row* given = transfer(a, n)) {
      if (given->send_ps >= 0) end_at(a, n, add_saturated(now(), given->send_ps));
      if (m.posted) m.arrival = add_saturated(now(), given->transfer_ps);
      meet(id, given->transfer_ps);
      return {};
    }
    if (traffic_) {
      traffic_->send(now(), id, t.rank, to, message.bytes);
      return {};
    }
    const net::Path path = in_.fabric.alone(t.rank, to);
    const Picoseconds left = add_saturated(now(), net::serialization(message.bytes, path.bytes_per_s));
    m.there = true;
    m.arrival = add_saturated(left, path.latency_ps);
    end_at(a, n, left);
    deliver(id);
    return {};
  }

  Result<void> receive(uint32_t a, NodeId n) {
    const uint32_t id = match_of(a, n);
    if (id == trace::kNoRow) return no_peer(a, n);
    MessageState& m = messages_[id];
    m.posted = true;
    ++actors_[a].account.waiting;
    if (m.sent) now_moving({a, n});
    if (const Transfers::Row* given = transfer(a, n)) meet(id, given->transfer_ps);
    else deliver(id);
    return {};
  }

  /// A message whose time is given: it moves when both ends have come.
  void meet(uint32_t id, Picoseconds transfer_ps) {
    const MessageState& m = messages_[id];
    if (!m.sent || !m.posted) return;
    const match::Message& message = matching_.messages[id];
    const Picoseconds end = add_saturated(now(), transfer_ps);
    end_at(message.recv.rank, message.recv.node, end);
    const Transfers::Row* of_send = transfer(message.send.rank, message.send.node);
    if (of_send && of_send->send_ps < 0) end_at(message.send.rank, message.send.node, end);
  }

  /// A receive waits for the network now, not for the sender any more.
  void now_moving(const match::NodeRef& recv) {
    Account& account = actors_[recv.rank].account;
    account.up_to(now());
    --account.waiting;
    account.moving.push_back({recv.node, exposed_key(recv.rank, recv.node)});
  }

  void deliver(uint32_t id) {
    const MessageState& m = messages_[id];
    if (!m.there || !m.posted) return;
    const match::NodeRef& to = matching_.messages[id].recv;
    end_at(to.rank, to.node, std::max(m.arrival, now()));
  }

  tl::unexpected<Error> no_peer(uint32_t a, NodeId n) const {
    return fail(
        Code::bad_input, "sim.comm.peer",
        fmt::format("node {} of rank {} does not say with which rank it communicates", trace(a).id[n], trace(a).rank),
        {trace(a).file});
  }

  void finish(uint32_t a, NodeId n) {
    Actor& actor = actors_[a];
    actor.account.up_to(now());
    if (trace::is_comm(trace(a).type[n])) {
      actor.account.stop(n);
    } else {
      actor.account.computing -= computes(a, n);
      actor.account.hosting -= hosts(a, n);
    }
    actor.finish = actor.ended[n] = now();
    ++nodes_done_;
    if (in_.timeline) add_slice(a, n);
    ready_.clear();
    actor.feeder.done(n, now(), ready_);
    for (const feed::Ready& ready : ready_) queue_.push(ready_at(a, ready, now()), {a, ready.node, Event::Kind::ready});
    const uint32_t q = queue_of(a, n);
    if (q == kNoQueue) return;
    actor.queues[q].busy = false;
    touched_.push_back({a, q});
  }

  // ---- what comes out ------------------------------------------------------------------------------------

  Result<SimReport> interrupted() {
    report_.interrupted = true;
    for (Actor& actor : actors_) {
      actor.finish = now();
      actor.account.up_to(now());
    }
    report_.findings.push_back({"sim.interrupted", Severity::warning, -1, -1,
                                fmt::format("stopped at {} of simulated time, with {} of {} nodes done: what is said "
                                            "here is true up to then",
                                            show_time(now()), nodes_done_, nodes_)});
    return summarize();
  }

  SimReport summarize() {
    if (traffic_) report_.events += traffic_->events();
    for (uint32_t i = 0; i < folded_.ranks.size(); ++i) {
      const Actor& actor = actors_[folded_.actor_of[i]];
      const Account& account = actor.account;
      CHAKRA_ASSERT(account.total() == actor.finish);  // the parts add up
      report_.makespan_ps = std::max(report_.makespan_ps, actor.finish);
      report_.ranks.push_back({folded_.ranks[i], actor.finish, account.compute,
                               std::accumulate(account.exposed.begin(), account.exposed.end(), Picoseconds{0}),
                               account.host, account.bubble, account.idle, folded_.actor_of[i]});
    }
    for (uint32_t a = 0; a < actors_.size(); ++a) {
      ActorReport& actor = report_.actors.emplace_back();
      actor.ranks = folded_.count[a];
      count_work(actors_[a], actor);
      for (size_t k = 0; k < actors_[a].account.exposed.size(); ++k) {
        const auto& [group, type] = exposed_keys_[k];
        if (actors_[a].account.exposed[k] > 0)
          actor.exposed.push_back(
              {group == kNobody ? "" : matching_.groups[group].name, type, actors_[a].account.exposed[k]});
      }
    }
    summarize_collectives();
    if (!traffic_) look_at_shared_links();
    if (traffic_)
      for (const net::LinkTotal& total : traffic_->totals()) {
        const net::Link link = in_.fabric.link(total.link);
        report_.links.push_back(
            {in_.fabric.device_name(link.from), in_.fabric.device_name(link.to), total.bytes, total.busy_ps});
      }
    if (!report_.interrupted) find_critical_path();
    if (in_.timeline) finish_timeline();
    for (Actor& actor : actors_)
      if (in_.node_times) report_.times.push_back({std::move(actor.started), std::move(actor.ended)});
    return std::move(report_);
  }

  /// In closed form collectives do not meet: says so where they would have to.
  void look_at_shared_links() {
    SharedLinks links(in_.fabric);
    for (const auto& [key, totals] : totals_) {
      const auto& [group, type, bytes] = key;
      if (totals.count == 0 || !totals.algorithm) continue;
      const Folded::Group& whole = folded_.groups[places_[group].folded];
      const coll::Choice& choice = prices_.choice(whole.shape, {type, bytes, totals.root, {}});
      links.add(choice.plan, choice.order, whole.places, whole.flow, totals.count);
    }
    const SharedLinks::Busiest busiest = links.busiest();
    const double makespan = static_cast<double>(report_.makespan_ps) / kPsPerSecond;
    if (busiest.seconds <= makespan * 1.001) return;
    report_.findings.push_back(
        {"sim.closed.shared", Severity::warning, -1, -1,
         fmt::format("{} would take {} for what collectives send over it, but the job takes {}: without "
                     "congestion they do not meet there; run it with --congestion fluid",
                     busiest.link, show_time(picoseconds(busiest.seconds)), show_time(report_.makespan_ps))});
  }

  /// What the actor did per second, and on what.
  void count_work(const Actor& actor, ActorReport& report) const {
    const Trace& t = *actor.trace;
    for (NodeId n = 0; n < t.size(); ++n)
      if (t.type[n] == NodeType::comp && !t.on_cpu(n) && actor.ended[n] >= 0) report.work.add(device::work_of(t, n));
    const device::Device* on = in_.system.device_of(t.rank);
    const std::optional<device::Device> recorded = on ? std::nullopt : recorded_device(t, in_.system);
    if (!on && recorded) on = &*recorded;
    if (on) report.device = on->name;
    report.rates = device::rates(report.work, actor.finish - actor.traits.start_ps, on);
  }

  /// A row per group of the job, also where several were simulated as one.
  void summarize_collectives() {
    for (const auto& [key, totals] : totals_) {
      const auto& [group, type, bytes] = key;
      const Folded::Group& whole = folded_.groups[places_[group].folded];
      CollectiveReport c;
      c.type = type;
      c.bytes = bytes;
      c.members = static_cast<uint32_t>(whole.ranks.size());
      c.count = totals.count;
      c.total_ps = totals.time;
      c.wait_ps = totals.wait;
      c.algorithm = totals.algorithm;
      c.near = totals.near;
      c.by_rule = totals.by_rule;
      c.candidates = totals.candidates;
      if (totals.time > 0) {
        c.algorithm_bytes_per_s = coll::algorithm_factor(type, c.members) * static_cast<double>(bytes) *
                                  static_cast<double>(totals.count) / (static_cast<double>(totals.time) / kPsPerSecond);
        c.bus_bytes_per_s = c.algorithm_bytes_per_s * coll::bus_factor(type, c.members);
      }
      for (const std::string& name : whole.names) {
        report_.collectives.push_back(c);
        report_.collectives.back().group = name;
      }
    }
    const auto natural = [](const CollectiveReport& a, const CollectiveReport& b) {  // "tp2" before "tp10"
      return std::tuple(a.group.size(), std::string_view(a.group)) <
             std::tuple(b.group.size(), std::string_view(b.group));
    };
    std::stable_sort(report_.collectives.begin(), report_.collectives.end(), natural);
  }

  // ---- critical path -------------------------------------------------------------------------------------

  /// From the last node backwards, always to what it waited for last: a dependency, the node before in its
  /// queue, the last to arrive at a collective, the sender of a message.
  void find_critical_path() {
    match::NodeRef at{0, trace::kNoNode};
    for (uint32_t a = 0; a < actors_.size(); ++a)
      for (NodeId n = 0; n < trace(a).size() && at.node == trace::kNoNode; ++n)
        if (actors_[a].ended[n] == report_.makespan_ps) at = {a, n};
    Picoseconds cursor = report_.makespan_ps;
    const auto add = [&](PathPiece::Kind kind, match::NodeRef ref, Picoseconds start) {
      if (start >= cursor) return;
      const Trace& t = trace(ref.rank);
      PathPiece piece{kind,  t.rank, t.id[ref.node], std::string(t.name_of(ref.node)), "", CommType::unknown,
                      start, cursor};
      if (kind == PathPiece::Kind::collective) {
        const match::Collective& c = matching_.collectives[match_of(ref.rank, ref.node)];
        piece.group = matching_.groups[c.group].name;
        piece.type = c.type;
      }
      report_.critical_path.push_back(std::move(piece));
      cursor = start;
    };
    for (int64_t steps = 0; at.node != trace::kNoNode && steps <= 2 * nodes_; ++steps) {
      const Trace& t = trace(at.rank);
      match::NodeRef begun = at;  // whose beginning is to be explained
      const auto started = [&](match::NodeRef ref) { return actors_[ref.rank].started[ref.node]; };
      if (t.type[at.node] == NodeType::coll) {
        for (const match::NodeRef& other : matching_.collectives[match_of(at.rank, at.node)].members)
          if (started(other) > started(begun)) begun = other;
        add(PathPiece::Kind::collective, at, started(begun));
      } else if (trace::is_comm(t.type[at.node])) {
        const match::Message& m = matching_.messages[match_of(at.rank, at.node)];
        if (t.type[at.node] == NodeType::recv && messages_[match_of(at.rank, at.node)].arrival > started(at))
          begun = m.send;
        add(PathPiece::Kind::message, at, started(begun));
      } else {
        const bool memory = t.type[at.node] == NodeType::mem_load || t.type[at.node] == NodeType::mem_store;
        add(memory                                     ? PathPiece::Kind::memory
            : t.name_of(at.node) == trace::kUnrecorded ? PathPiece::Kind::unrecorded
            : computes(at.rank, at.node)               ? PathPiece::Kind::compute
                                                       : PathPiece::Kind::host,
            at, started(at));
      }
      at = what_held_up(begun);
      if (at.node != trace::kNoNode) add(PathPiece::Kind::lag, begun, actors_[at.rank].ended[at.node]);
      else add(PathPiece::Kind::start, begun, 0);
    }
    std::reverse(report_.critical_path.begin(), report_.critical_path.end());
  }

  match::NodeRef what_held_up(match::NodeRef ref) const {
    const Actor& actor = actors_[ref.rank];
    const Trace& t = *actor.trace;
    match::NodeRef found{ref.rank, trace::kNoNode};
    Picoseconds latest = -1;
    for (uint32_t e = t.deps.begin[ref.node]; e < t.deps.begin[ref.node + 1]; ++e)
      if (const Picoseconds ready = add_saturated(actor.ended[t.deps.node[e]], t.deps.lag_of(e)); ready > latest) {
        latest = ready;
        found.node = t.deps.node[e];
      }
    const NodeId before = actor.before[ref.node];
    if (before != trace::kNoNode && actor.ended[before] > latest) found.node = before;
    return found;
  }

  /// Nothing can happen any more, and there are nodes left.
  tl::unexpected<Error> stuck() {
    for (const Actor& actor : actors_)
      if (const trace::Order order = trace::topological_order(actor.trace->deps); !order.cycle.empty())
        return fail(Code::stuck, "sim.stuck.cycle",
                    fmt::format("rank {} cannot finish: node {} ({}) waits for itself through {} nodes; run 'chakra "
                                "check' for the path",
                                actor.trace->rank, actor.trace->id[order.cycle[0]],
                                quote(actor.trace->name_of(order.cycle[0])), order.cycle.size()),
                    {actor.trace->file});
    std::vector<Wait> waits;
    for (size_t i = 0; i < collectives_.size(); ++i)
      if (collectives_[i].arrived > 0 && collectives_[i].arrived < matching_.collectives[i].members.size())
        waits.push_back(wait_in_collective(i));
    for (size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i].posted && !messages_[i].sent) waits.push_back(wait_for_message(i));
    int64_t behind = 0;
    int64_t unfinished = 0;
    for (uint32_t a = 0; a < actors_.size(); ++a) {
      const int64_t left = actors_[a].feeder.remaining();
      behind += left * folded_.count[a];
      if (left > 0) unfinished += folded_.count[a];
    }
    std::string text = fmt::format("{} of {} ranks cannot finish ({} nodes left): ", unfinished, folded_.ranks.size(),
                                   show_count(behind));
    for (size_t i = 0; i < std::min(waits.size(), kWaitsNamed); ++i) text += (i ? "; " : "") + to_text(waits[i]);
    if (waits.size() > kWaitsNamed) text += fmt::format("; and {} more", waits.size() - kWaitsNamed);
    if (in_.waits) *in_.waits = std::move(waits);
    return fail(Code::stuck, "sim.stuck", std::move(text));
  }

  /// With the ranks of the job: of the first group that was simulated, every place.
  Wait wait_in_collective(size_t id) {
    const match::Collective& c = matching_.collectives[id];
    const Folded::Group& group = group_of(c);
    Wait wait{c.type, group.names, c.index, 0, {}, {}};
    for (size_t p = 0; p < group.ranks.size(); ++p) {
      const uint32_t m = places_[c.group].member_at[p];
      const match::NodeRef& ref = c.members[m];
      Wait::Rank rank{group.ranks[p], {}, {}};
      if (ref.node != trace::kNoNode) rank.node = trace(ref.rank).id[ref.node];
      const bool waits = collectives_[id].arrival[m] >= 0;
      if (!waits)
        rank.why = group.actors[p] == kNobody   ? "which is not in the job"
                   : ref.node == trace::kNoNode ? "which has no such collective"
                                                : why_not(ref);
      (waits ? wait.waiting : wait.missing).push_back(std::move(rank));
    }
    return wait;
  }

  /// Why a node that others wait for does not run.
  std::string why_not(const match::NodeRef& ref) const {
    if (!actors_[ref.rank].feeder.is_ready(ref.node)) return "which has not come that far";
    return "which is held up by what is before it in its queue";
  }

  Wait wait_for_message(size_t id) const {
    const match::Message& m = matching_.messages[id];
    const uint32_t a = m.recv.rank;
    Wait wait{CommType::unknown, {}, 0, trace(a).comm(m.recv.node)->tag, {}, {}};
    for (uint32_t i = 0; i < folded_.ranks.size(); ++i)
      if (folded_.actor_of[i] == a) wait.waiting.push_back({folded_.ranks[i], trace(a).id[m.recv.node], {}});
    Wait::Rank from{folded_.peer[a][trace(a).comm_row[m.recv.node]], {}, "which has not come that far"};
    if (m.send.node != trace::kNoNode) from.node = trace(m.send.rank).id[m.send.node];
    else from.why = "which never sends it";
    if (!std::binary_search(folded_.ranks.begin(), folded_.ranks.end(), from.rank))
      from.why = "which is not in the job";
    wait.missing.push_back(std::move(from));
    return wait;
  }

  // ---- timeline --------------------------------------------------------------------------------------------

  void start_timeline() {
    table::Timeline& tl = report_.timeline;
    for (uint32_t r = 0; r < actors_.size(); ++r) {
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
                         actors_[r].started[n], now(), t.id[n]});
  }

  void finish_timeline() {
    table::Timeline& tl = report_.timeline;
    const auto flow = [&](uint32_t from, uint32_t to, std::string_view name) {
      if (from != UINT32_MAX && to != UINT32_MAX) tl.flows.push_back({from, to, tl.strings.intern(name)});
    };
    for (uint32_t r = 0; r < actors_.size(); ++r) {
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

  SimInput in_;
  Prices prices_;
  Folded folded_;
  match::Matching matching_;  ///< of the actors
  std::vector<Actor> actors_;
  std::vector<GroupPlaces> places_;  ///< per group of matching_
  std::optional<Traffic> traffic_;
  std::vector<Traffic::Done> traffic_done_;
  des::EventQueue<Event> queue_;
  Picoseconds now_ = 0;
  int64_t nodes_ = 0, nodes_done_ = 0;
  std::vector<feed::Ready> ready_;
  std::vector<std::pair<uint32_t, uint32_t>> touched_;  ///< actors and queues in which something changed at this time
  std::vector<CollectiveState> collectives_;
  std::vector<MessageState> messages_;
  std::vector<std::vector<uint32_t>> member_of_;  ///< per actor and row of Trace::comms: which member of its collective
  absl::flat_hash_map<uint32_t, Picoseconds> longest_;  ///< of collectives under way: the latest end so far
  std::vector<Picoseconds> ends_;
  std::vector<uint64_t> shares_;
  std::map<std::pair<uint32_t, CommType>, uint32_t> exposed_ids_;
  std::vector<std::pair<uint32_t, CommType>> exposed_keys_;  ///< group of matching_ and type; kNobody: messages
  struct Totals {
    int64_t count = 0;
    Picoseconds time = 0, wait = 0;
    const coll::AlgorithmRow* algorithm = nullptr;
    bool near = false, by_rule = false;
    std::vector<coll::Candidate> candidates;
    uint32_t root = 0;
  };
  std::map<std::tuple<uint32_t, CommType, uint64_t>, Totals> totals_;
  SimReport report_;

  std::vector<std::vector<uint32_t>> slice_of_;
  std::vector<uint32_t> first_track_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> group_tracks_;
};

}  // namespace

Result<SimReport> simulate(SimInput input) { return Engine(std::move(input)).run(); }

}  // namespace chakra::sim
