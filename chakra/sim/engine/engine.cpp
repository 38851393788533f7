// The native simulator: actors walk their traces, one event after the other; collectives and messages are priced on an
// idle network or played out on a shared one.
#include "chakra/sim/engine/engine.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/progress.h"
#include "chakra/base/times.h"
#include "chakra/sim/engine/collectives.h"
#include "chakra/sim/engine/late_start.h"
#include "chakra/sim/engine/messages.h"
#include "chakra/sim/engine/packet_count.h"
#include "chakra/sim/engine/path.h"
#include "chakra/sim/engine/reprice.h"
#include "chakra/sim/engine/run.h"
#include "chakra/sim/engine/sharing.h"
#include "chakra/sim/engine/standstill.h"
#include "chakra/sim/engine/summary.h"
#include "chakra/sim/engine/tiers.h"
#include "chakra/sim/engine/timeline.h"

namespace chakra::sim {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr uint64_t kEventsBetweenLooks = 1 << 14;  ///< at the stop flag and the progress
constexpr uint64_t kStepsBetweenLooks = 64;        ///< of a shared network, whose steps may take long

class Engine {
 public:
  /// Requires a run with a job; the run must outlive this object.
  explicit Engine(Run& run) : run_(run), collectives_(run_), messages_(run_), tiers_(run_) {}

  Result<SimReport> run() {
    CHAKRA_TRY(prepare());
    CHAKRA_ASSIGN(const bool ended, loop());
    return ended ? report() : interrupted();
  }

  /// Run at the lower bounds. The run is then as before, without actors. Empty: stopped.
  Result<std::vector<Earliest>> earliest() {
    CHAKRA_TRY(prepare());
    CHAKRA_ASSIGN(const bool ended, loop());
    std::vector<Earliest> out;
    if (ended) out = take_earliest(run_);
    run_.actors.clear();
    run_.exposed = {};
    run_.agenda = {};
    run_.report.events = 0;
    return out;
  }

 private:
  // ---- before the run ------------------------------------------------------------------------------------

  Result<void> prepare() {
    make_actors();
    collectives_.prepare();
    messages_.prepare();
    tiers_.prepare();
    if (run_.in.congestion == Congestion::packet) CHAKRA_TRY(check_packets(run_));
    if (run_.in.congestion != Congestion::closed)
      run_.traffic.emplace(run_.in.fabric, run_.in.congestion, run_.in.packets,
                           run_.job.folded.links ? &*run_.job.folded.links : nullptr);
    if (run_.traffic && run_.in.link_loads) run_.traffic->keep_history();
    if (run_.in.timeline && !run_.earliest) timeline_.emplace(run_);
    return {};
  }

  void make_actors() {
    feed::Graphs graphs;
    const auto count = static_cast<uint32_t>(run_.job.folded.actors.ranks.size());
    run_.actors.reserve(count);
    for (const ActorId a : ids<ActorId>(count)) {
      const Trace& t = run_.job.trace(a);
      Actor& actor = run_.actors.emplace_back(run_.job, a, run_.in.system.traits(t.rank), graphs);
      for (NodeId n{0}; n < t.size() && !actor.has_device; ++n)
        actor.has_device = t.type[n] == NodeType::comp && t.on_device(n);
      actor.times.start.assign(t.size(), 0);
      actor.times.end.assign(t.size(), -1);
      nodes_ += t.size();
    }
  }

  void begin(ActorId a) {
    ready_.clear();
    run_.actors[a].feeder.start(ready_);
    announce(a, run_.actors[a].traits.start_ps);
  }

  // ---- the loop: all that happens at a time happens before a queue chooses what it runs next ---------------------

  /// Return false if the caller stopped the run.
  Result<bool> loop() {
    for (const ActorId a : ids<ActorId>(run_.actors.size())) begin(a);
    for (Picoseconds time = next_time(); time != net::kNever; time = next_time()) {
      if (time >= kLongestPs) return des::too_long();
      advance_to(time);
      CHAKRA_TRY(handle_events());
      CHAKRA_TRY(serve_queues());
      if (is_stopped()) return false;
    }
    for (const Actor& actor : run_.actors)
      if (actor.feeder.remaining() > 0) return stuck(run_, collectives_, messages_);
    CHAKRA_ASSERT(!run_.traffic || run_.traffic->idle());  // what was sent has arrived
    return true;
  }

  Picoseconds next_time() const {
    const Picoseconds own = run_.agenda.events.empty() ? net::kNever : run_.agenda.events.next_time();
    return run_.traffic ? std::min(own, run_.traffic->next_event_time()) : own;
  }

  void advance_to(Picoseconds time) {
    run_.agenda.now = time;
    if (!run_.traffic) return;
    run_.agenda.now = run_.traffic->advance_to(time, moved_);
    for (const Traffic::Done& done : moved_) switch (done.kind) {
        case Traffic::Done::Kind::member: collectives_.member_done(done.id, done.member); break;
        case Traffic::Done::Kind::left: messages_.left(done.id); break;
        case Traffic::Done::Kind::arrived: messages_.arrived(done.id); break;
      }
    moved_.clear();
  }

  Result<void> handle_events() {
    des::EventQueue<Event>& events = run_.agenda.events;
    while (!events.empty() && events.next_time() == run_.agenda.now) {
      const Event event = events.pop();
      ++run_.report.events;
      switch (event.kind) {
        case Event::Kind::ready: CHAKRA_TRY(enqueue(event.actor, event.node)); break;
        case Event::Kind::done: finish(event.actor, event.node); break;
        case Event::Kind::tier: tiers_.advance(event.actor, event.node); break;
      }
    }
    return {};
  }

  Result<void> serve_queues() {
    for (const auto& [a, q] : touched_) {
      const NodeId n = run_.actors[a].queues.take(q);
      if (n != trace::kNoNode) CHAKRA_TRY(start(a, n));
    }
    touched_.clear();
    return {};
  }

  /// Whether the caller wants the run to end; tells it how far the run is.
  bool is_stopped() {
    const bool due = run_.report.events >= next_look_;
    if (!due && !run_.traffic) return false;
    if (run_.in.stop && run_.in.stop->load(std::memory_order_relaxed)) return true;
    if (due) {
      if (run_.in.progress)
        run_.in.progress(
            {run_.report.events + (run_.traffic ? run_.traffic->events() : 0), nodes_done_, nodes_, run_.agenda.now});
      next_look_ = run_.report.events + kEventsBetweenLooks;
    }
    return (due || ++steps_ % kStepsBetweenLooks == 0) && chakra::is_stopped();
  }

  // ---- a node: ready, started, finished ----------------------------------------------------------------------

  /// Nodes in ready_ become ready at their times, but not before `earliest`; communication by its delay later.
  void announce(ActorId a, Picoseconds earliest) {
    for (const feed::Ready& ready : ready_) {
      const Picoseconds late = trace::is_comm(run_.job.trace(a).type[ready.node]) ? run_.delay(a, ready.node) : 0;
      run_.agenda.events.push(add_saturated(std::max(ready.time, earliest), late), {a, ready.node, Event::Kind::ready});
    }
  }

  Result<void> enqueue(ActorId a, NodeId n) {
    const Trace& t = run_.job.trace(a);
    if (t.type[n] == NodeType::coll && run_.job.match_of(a, n) == trace::kNoRow)
      return fail(Code::bad_input, "sim.comm.type",
                  fmt::format("node {} of rank {} belongs to no group", t.id[n], t.rank), {t.file});
    feed::Queues& queues = run_.actors[a].queues;
    const uint32_t q = queues.of(n);
    if (q == feed::Queues::kNone) return start(a, n);
    queues.push(q, n);
    touched_.push_back({a, q});
    return {};
  }

  Result<void> start(ActorId a, NodeId n) {
    Actor& actor = run_.actors[a];
    Account& account = actor.account;
    account.up_to(run_.agenda.now);
    actor.times.start[n] = run_.agenda.now;
    switch (actor.trace->type[n]) {
      case NodeType::coll: {
        const match::Collective& c = run_.job.collective_of(a, n);
        account.start_moving(n, run_.exposed.number({c.group, c.type}));
        return collectives_.arrive(a, n);
      }
      case NodeType::send:
        account.start_moving(n, run_.exposed.number(ExposedKinds::kMessage));
        return messages_.send(a, n);
      case NodeType::recv: return messages_.receive(a, n);
      default: {
        if (const TierUse* use = run_.job.tier_use(a, n)) {
          ++account.storing;
          tiers_.begin(a, n, *use);
          return {};
        }
        if (computes(actor, n)) account.start_computing();
        account.hosting += hosts(actor, n);
        const Picoseconds time = add_saturated(compute_time(a, n), run_.delay(a, n));
        run_.agenda.end_at(a, n, add_saturated(run_.agenda.now, time));
        return {};
      }
    }
  }

  /// What the trace says, which retarget() has carried over to the rank's device; by a rank's speed.
  Picoseconds compute_time(ActorId a, NodeId n) const {
    const Actor& actor = run_.actors[a];
    const Trace& t = *actor.trace;
    if (const NodeId whole = trace::whole_communication(t, n); whole != n) return piece_time(a, whole, t.dur_ps[n]);
    const bool on_host = t.on_cpu(n) && actor.has_device;
    if (t.type[n] != NodeType::comp || on_host || actor.traits.speed == 1) return t.dur_ps[n];
    if (run_.in.system.keep_unrecorded && t.name_of(n) == trace::kUnrecorded) return t.dur_ps[n];
    return picoseconds(static_cast<double>(t.dur_ps[n]) / kPsPerSecond / actor.traits.speed);
  }

  /// A piece of communication takes its own time where the caller says the whole's; what the network prices is all of
  /// it.
  Picoseconds piece_time(ActorId a, NodeId whole, Picoseconds recorded) const {
    const bool described = run_.job.trace(a).comm_row[whole] != trace::kNoRow;
    const Transfers::Row* given = described ? run_.transfer(a, whole) : nullptr;
    return given ? times(recorded, given->pieces) : 0;
  }

  void finish(ActorId a, NodeId n) {
    Actor& actor = run_.actors[a];
    const Picoseconds now = run_.agenda.now;
    actor.account.up_to(now);
    if (trace::is_comm(actor.trace->type[n])) {
      actor.account.stop_moving(n);
    } else if (run_.job.tier_use(a, n)) {
      --actor.account.storing;
    } else {
      actor.account.computing -= computes(actor, n);
      actor.account.hosting -= hosts(actor, n);
    }
    actor.finish = actor.times.end[n] = now;
    ++nodes_done_;
    if (timeline_) timeline_->add(a, n);
    ready_.clear();
    actor.feeder.done(n, now, ready_);
    announce(a, now);
    const uint32_t q = actor.queues.of(n);
    if (q == feed::Queues::kNone) return;
    actor.queues.release(q);
    touched_.push_back({a, q});
  }

  // ---- after the run -----------------------------------------------------------------------------------------

  Result<SimReport> interrupted() {
    run_.report.interrupted = true;
    for (Actor& actor : run_.actors) {
      actor.finish = run_.agenda.now;
      actor.account.up_to(run_.agenda.now);
    }
    run_.report.findings.push_back(
        {"sim.interrupted", Severity::warning, -1, -1,
         fmt::format("stopped at {} of simulated time, with {} of {} nodes done; the results cover the time up to then",
                     show_time(run_.agenda.now), nodes_done_, nodes_)});
    return report();
  }

  SimReport report() {
    SimReport& out = run_.report;
    if (run_.traffic) out.events += run_.traffic->events();
    summarize(run_, collectives_.totals());
    if (!run_.traffic) find_sharing(run_, collectives_, messages_);
    tiers_.summarize();
    if (!out.interrupted) out.critical_path = find_critical_path(run_, messages_);
    if (!run_.in.other_fabrics.empty()) out.path_longer = reprice_path(run_);
    if (timeline_) timeline_->finish();
    return std::move(out);
  }

  Run& run_;
  Collectives collectives_;
  Messages messages_;
  Tiers tiers_;
  std::optional<TimelineWriter> timeline_;
  std::vector<std::pair<ActorId, uint32_t>> touched_;  ///< actors and queues in which something changed at this time
  std::vector<feed::Ready> ready_;
  std::vector<Traffic::Done> moved_;
  uint64_t next_look_ = kEventsBetweenLooks, steps_ = 0;
  int64_t nodes_ = 0, nodes_done_ = 0;
};

Result<SimReport> run_actors(Run& run) {
  std::vector<Earliest> earliest;
  if (run.job.folded.exact_members) {
    run.earliest = true;
    CHAKRA_ASSIGN(earliest, Engine(run).earliest());
    run.earliest = false;
  }
  CHAKRA_ASSIGN(SimReport report, Engine(run).run());
  if (!earliest.empty() && !report.interrupted) add_bounds(run, earliest, report);
  if (run.in.node_times)
    for (Actor& actor : run.actors) report.times.push_back(std::move(actor.times));
  return report;
}

}  // namespace

Result<Attempt> try_engine(SimInput input, double most_share) {
  CHAKRA_ASSERT(input.congestion != Congestion::automatic);
  Run run(std::move(input));
  CHAKRA_ASSIGN(run.job, make_actor_job(run.in, run.prices, run.report, most_share));
  Attempt attempt{run.job.folded.share, {}};
  if (attempt.share > most_share) return attempt;
  CHAKRA_ASSIGN(attempt.report, run_actors(run));
  return attempt;
}

Result<SimReport> run_engine(SimInput input) {
  CHAKRA_ASSERT(input.congestion != Congestion::automatic);
  Run run(std::move(input));
  CHAKRA_ASSIGN(run.job, make_actor_job(run.in, run.prices, run.report, 1));
  return run_actors(run);
}

}  // namespace chakra::sim
