#include "chakra/replay/executor.h"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/base/quantile.h"
#include "chakra/des/des.h"
#include "chakra/feed/feed.h"
#include "chakra/replay/data.h"
#include "chakra/replay/memory.h"
#include "chakra/replay/parties.h"
#include "chakra/replay/standstill.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {
namespace {

using Clock = std::chrono::steady_clock;
using trace::NodeId;
using trace::NodeType;

constexpr auto kLongestNap = std::chrono::milliseconds(20);  ///< between looks at the other ranks
constexpr auto kNoPatience = std::chrono::nanoseconds(0);
constexpr auto kShortNap = std::chrono::microseconds(100);  ///< between looks at operators and communication in turn
constexpr unsigned long kTimerSlackNs = 1000;               ///< else the system may wake us 50 us late

/// Lets this thread be woken when it asked for it, while it exists.
class ExactTimers {
 public:
  ExactTimers() : before_(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) { prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0); }
  ExactTimers(const ExactTimers&) = delete;
  ExactTimers& operator=(const ExactTimers&) = delete;
  ~ExactTimers() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_), 0, 0, 0);
  }

 private:
  int before_;
};

/// What lasts from one repetition to the next.
struct Bench {
  const RankPlan& plan;
  const World& world;
  Rendezvous& rendezvous;
  Session& session;
  const BackendRow& backend;
  const RunOptions& options;
  Crew crew;  ///< perhaps without computers
  Clock::time_point zero{};
  std::optional<Picoseconds> begin{};  ///< after the first rank
  Memory memory{};
  BusyThreads busy{};
  std::vector<Picoseconds> late{};
};

/// Whether the other ranks are alive, and what they are doing where nothing has happened for long.
class Watch {
 public:
  Watch(const World& world, Rendezvous& rendezvous) : world_(world), rendezvous_(rendezvous) {}

  void begin() { last_change_ = last_look_ = Clock::now(); }
  void changed() { last_change_ = Clock::now(); }
  /// `bytes`: as many as have moved so far.
  void moved(uint64_t bytes) {
    if (std::exchange(moved_bytes_, bytes) != bytes) changed();
  }
  int64_t idle_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_change_).count();
  }

  /// `computes`: this rank does, so it is not stuck.
  Result<void> look(bool computes) {
    const auto at = Clock::now();
    if (at - last_look_ < kLongestNap) return {};
    last_look_ = at;
    CHAKRA_TRY(keep_going());
    CHAKRA_TRY(rendezvous_.look());
    if (const auto answers = rendezvous_.answers()) {
      asked_ = at;
      if (const auto text = who_waits(*answers, world_.timeout.count() / 2))
        return fail(Code::stuck, "replay.stuck", *text);
    }
    const bool asked = asked_ && at - *asked_ < world_.timeout;
    if (at - last_change_ < world_.timeout || asked || computes) return {};
    asked_ = at;
    return rendezvous_.ask();
  }

 private:
  const World& world_;
  Rendezvous& rendezvous_;
  Clock::time_point last_change_{}, last_look_{};
  std::optional<Clock::time_point> asked_;
  uint64_t moved_bytes_ = 0;
};

/// Ranks that wait for this one are answered until the work is done that it does in another thread. Comes back at once
/// with the errors of Rendezvous::look().
template <class T>
Result<void> answer_until(const std::future<T>& work, Rendezvous& rendezvous) {
  while (work.wait_for(kLongestNap) != std::future_status::ready) {
    CHAKRA_TRY(keep_going());
    CHAKRA_TRY(rendezvous.look());
  }
  return {};
}

/// One repetition.
class Repetition {
 public:
  Repetition(Bench& bench, uint32_t number, feed::Graphs& graphs)
      : b_(bench),
        t_(*bench.plan.trace),
        number_(number),
        feeder_(t_, false, &graphs),
        queues_(t_, bench.plan.turns),
        open_{std::vector<Operation>(t_.comms.size()), {}, 0},
        watch_(bench.world, bench.rendezvous) {
    times_.start.assign(t_.size(), 0);
    times_.end.assign(t_.size(), -1);
  }

  Result<NodeTimes> run() {
    b_.rendezvous.describe_with([this] { return to_answer(doing()); });
    Result<void> ran = loop();
    b_.busy.keep(0);
    if (!ran && ran.error().tag == "replay.rank.died" && !open_.under_way.empty())
      ran.error().text += fmt::format("; rank {} waited in {}", t_.rank, describe(operation(open_.under_way[0])));
    b_.rendezvous.describe_with([] { return to_answer({Doing::State::has_finished, 0}); });  // this one is gone then
    CHAKRA_TRY(ran);
    return std::move(times_);
  }

 private:
  struct Event {
    NodeId node;
    bool done;  ///< else ready
  };

  Result<void> loop() {
    watch_.begin();
    feeder_.start(ready_);
    announce(add_saturated(now(), b_.begin.value_or(0)));
    for (;;) {
      CHAKRA_TRY(handle_events(now()));
      if (feeder_.remaining() == 0) return drain();
      if (events_.empty() && open_.under_way.empty() && open_.computed == 0) return stuck_here();
      CHAKRA_TRY(progress());
      CHAKRA_TRY(watch_.look(computing_ > 0 || open_.computed > 0));
    }
  }

  /// Sends that have ended here may still have to arrive.
  Result<void> drain() {
    b_.rendezvous.describe_with([] { return to_answer({Doing::State::has_finished, 0}); });
    while (!b_.session.quiet()) {
      std::vector<Ticket> none;
      CHAKRA_TRY(b_.session.progress(kLongestNap, none));
      CHAKRA_TRY(watch_.look(false));
    }
    return {};
  }

  Picoseconds now() const { return since_zero(Clock::now()); }
  Picoseconds since_zero(Clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - b_.zero).count() * kPsPerNs;
  }

  // ---- the loop: all that happens at a time happens before a queue chooses what it runs next ---------------------

  Result<void> handle_events(Picoseconds until) {
    while (!events_.empty() && events_.next_time() <= until) {
      const Picoseconds time = events_.next_time();
      while (!events_.empty() && events_.next_time() == time) {
        const Event event = events_.pop();
        if (event.done) finish(event.node, time);
        else CHAKRA_TRY(enqueue(event.node, time));
      }
      CHAKRA_TRY(serve(time));
      watch_.changed();
    }
    open_.reached = std::max(open_.reached, until);
    return {};
  }

  Result<void> progress() {
    const bool busy = b_.options.compute->keeps_busy && computing_ > 0;
    if (b_.options.compute->keeps_busy) b_.busy.keep(computing_ > 0 ? computing_ - 1 : 0);
    std::chrono::nanoseconds patience = kLongestNap;
    if (!events_.empty())
      patience = std::clamp<std::chrono::nanoseconds>(
          std::chrono::nanoseconds((events_.next_time() - now()) / kPsPerNs), kNoPatience, patience);
    CHAKRA_TRY(progress_computers(patience));
    std::vector<Ticket> ended;
    CHAKRA_TRY(b_.session.progress(busy ? kNoPatience : patience, ended));
    watch_.moved(b_.session.moved_bytes());
    if (ended.empty()) return {};
    watch_.changed();
    std::vector<std::pair<Picoseconds, NodeId>> in_order;
    for (const Ticket ticket : ended) {
      const auto at = b_.session.ended_at(ticket);
      in_order.emplace_back(at ? std::clamp(since_zero(*at), open_.reached, now()) : now(), NodeId(ticket));
    }
    std::sort(in_order.begin(), in_order.end());
    for (const auto& [time, n] : in_order) {
      CHAKRA_TRY(handle_events(time));  // what came before
      const size_t erased = std::erase(open_.under_way, n);
      CHAKRA_ASSERT(erased == 1);
      if (verifies()) CHAKRA_TRY(look_at(operation(n), verify_output));
      b_.memory.give_back(operation(n));
      finish(n, time);
      CHAKRA_TRY(serve(time));
    }
    return {};
  }

  /// `patience`: in, how long there is; out, how long is left for communication.
  Result<void> progress_computers(std::chrono::nanoseconds& patience) {
    if (open_.computed == 0) return {};
    std::vector<Crew::Ended> ended;
    const bool alone = open_.under_way.empty();
    CHAKRA_TRY(b_.crew.progress(alone ? patience : kNoPatience, ended));
    patience = alone || !ended.empty() ? kNoPatience : std::min<std::chrono::nanoseconds>(patience, kShortNap);
    if (ended.empty()) return {};
    watch_.changed();
    const Picoseconds time = now();
    CHAKRA_TRY(handle_events(time));  // what came before
    for (const Crew::Ended& e : ended) {
      --open_.computed;
      times_.start[e.node] = since_zero(e.begin);
      const Picoseconds end = add_saturated(times_.start[e.node], compute_time(e.node));
      if (e.ran || end <= time) finish(e.node, time);
      else events_.push(end, {e.node, true});
    }
    return serve(time);
  }

  // ---- a node: ready, started, finished ----------------------------------------------------------------------------

  void announce(Picoseconds earliest) {
    for (const feed::Ready& ready : ready_) events_.push(std::max(ready.time, earliest), {ready.node, false});
    ready_.clear();
  }

  bool verifies() const { return b_.options.verify && b_.backend.moves_data; }
  bool runs(NodeId n) const { return b_.options.selected.empty() || b_.options.selected[n]; }

  Result<void> enqueue(NodeId n, Picoseconds time) {
    const uint32_t q = queues_.of(n);
    if (q == feed::Queues::kNone) return start(n, time);
    queues_.push(q, n);
    touched_.push_back(q);
    return {};
  }

  Result<void> serve(Picoseconds time) {
    for (const uint32_t q : touched_) {
      const NodeId n = queues_.take(q);
      if (n != trace::kNoNode) CHAKRA_TRY(start(n, time));
    }
    touched_.clear();
    return {};
  }

  Result<void> start(NodeId n, Picoseconds time) {
    times_.start[n] = time;
    if (trace::is_comm(t_.type[n]) && runs(n)) return start_operation(n, time);
    const Picoseconds takes = compute_time(n);
    computing_ += takes > 0;
    if (part(n) == Computer::Part::runs) {
      ++open_.computed;
      b_.crew.start(n);
      return {};
    }
    events_.push(add_saturated(time, takes), {n, true});
    return {};
  }

  Computer::Part part(NodeId n) const { return runs(n) ? b_.crew.part(n) : Computer::Part::timed; }

  Picoseconds compute_time(NodeId n) const {
    if (part(n) == Computer::Part::covered) return 0;
    if (!runs(n) || !b_.options.compute->takes_time || trace::is_comm(t_.type[n])) return 0;
    if (t_.type[n] == NodeType::metadata) return 0;
    if (b_.options.scale_compute == 1) return std::max<Picoseconds>(0, t_.dur_ps[n]);
    return picoseconds(std::max(0.0, b_.options.scale_compute * static_cast<double>(t_.dur_ps[n]) / kPsPerSecond));
  }

  Result<void> start_operation(NodeId n, Picoseconds time) {
    const RankPlan::Step& step = b_.plan.step(n);
    Operation& op = operation(n) = step.operation;
    op.index += number_ * step.per_repetition;
    if (b_.backend.moves_data && (verifies() || !b_.backend.own_memory)) CHAKRA_TRY(b_.memory.lend(op));
    // The memory is this rank's own; back ends only read it.
    if (verifies())
      CHAKRA_TRY(look_at(op, [](const Operation& o) -> Result<void> {
        fill_input(o, {const_cast<std::byte*>(o.in.data()), o.in.size()});
        return {};
      }));
    times_.start[n] = now();
    b_.late.push_back(times_.start[n] - time);
    open_.under_way.push_back(n);
    return b_.session.start(op, n);
  }

  /// Fills or verifies an operation's data. Where they are many it takes seconds: ranks that wait for this one are
  /// answered meanwhile that it works.
  template <class Look>
  Result<void> look_at(const Operation& op, const Look& look) {
    constexpr uint64_t kMany = 1 << 20;
    if (op.in.size() + op.out.size() < kMany) return look(op);
    ++open_.computed;
    auto looking = std::async(std::launch::async, [&] { return look(op); });
    const Result<void> answered = answer_until(looking, b_.rendezvous);
    const Result<void> right = looking.get();
    --open_.computed;
    watch_.changed();
    CHAKRA_TRY(answered);
    return right;
  }

  void finish(NodeId n, Picoseconds time) {
    times_.end[n] = time;
    if (compute_time(n) > 0) --computing_;
    feeder_.done(n, time, ready_);
    announce(time);
    const uint32_t q = queues_.of(n);
    if (q == feed::Queues::kNone) return;
    queues_.release(q);
    touched_.push_back(q);
  }

  // ---- the other ranks ---------------------------------------------------------------------------------------------

  Doing doing() const {
    Doing doing{
        open_.under_way.empty() || !events_.empty() || open_.computed > 0 ? Doing::State::works : Doing::State::waits,
        t_.rank, watch_.idle_ms()};
    for (const NodeId n : open_.under_way) doing.operations.push_back(&open_.operations[t_.comm_row[n]]);
    return doing;
  }

  /// Nothing is under way, and nothing can begin.
  Failure stuck_here() const {
    const trace::Order order = trace::topological_order(t_.deps);
    for (const NodeId n : t_.nodes())
      if (order.cycle.empty() ? !feeder_.is_done(n) && feeder_.is_ready(n) : n == order.cycle[0])
        return fail(Code::stuck, "replay.stuck.local",
                    fmt::format("rank {} cannot finish: node {} ({}) waits for {}; run 'chakra check' for details",
                                t_.rank, t_.id[n], quote(t_.name_of(n)),
                                order.cycle.empty() ? "later nodes of the same lane" : "itself"),
                    {t_.file});
    return fail(Code::stuck, "replay.stuck.local", fmt::format("rank {} cannot finish", t_.rank), {t_.file});
  }

  Operation& operation(NodeId n) { return open_.operations[t_.comm_row[n]]; }

  struct Open {
    std::vector<Operation> operations;  ///< by row of Trace::comms: those that were started
    std::vector<NodeId> under_way;
    uint32_t computed = 0;    ///< nodes that computers have
    Picoseconds reached = 0;  ///< what happened up to then has been handled
  };
  Bench& b_;
  const trace::Trace& t_;
  uint32_t number_;
  feed::Feeder feeder_;
  feed::Queues queues_;
  des::EventQueue<Event> events_;
  Open open_;
  uint32_t computing_ = 0;  ///< lanes
  NodeTimes times_;
  Watch watch_;
  std::vector<feed::Ready> ready_;
  std::vector<uint32_t> touched_;
};

/// The zero of the job's clock: ranks of one machine have one clock, and take the latest of their times. `begin`: in,
/// when the rank began as it was recorded; out, how long after the first rank that was, where all know it.
Result<Clock::time_point> common_zero(Rendezvous& rendezvous, std::optional<Picoseconds>& begin) {
  const auto own = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
  CHAKRA_ASSIGN(
      const auto all,
      rendezvous.exchange(
          BodyWriter().number(own).number(begin.has_value()).number(begin.value_or(0)).text(this_machine()).body));
  int64_t latest = own;
  Picoseconds first = INT64_MAX;
  for (const std::string& other : all) {
    BodyReader read(other);
    const int64_t time = read.number();
    const bool knows = read.number() != 0;
    first = std::min(first, read.number());
    if (!knows) begin.reset();
    if (read.text() == this_machine() && read.ok()) latest = std::max(latest, time);
  }
  if (begin) *begin -= first;
  return Clock::time_point(std::chrono::nanoseconds(latest));
}

using Computers = std::vector<std::unique_ptr<Computer>>;

/// In the order in which they are asked for a node.
Result<Computers> open_computers(const trace::Trace& trace, const RunOptions& options, const std::atomic<bool>& stop) {
  Computers computers;
  const ComputerInput input{trace, options.selected, options.compute_settings, options.scale_compute, stop};
  if (options.compute->open) {
    CHAKRA_ASSIGN(std::unique_ptr<Computer> computer, options.compute->open(input));
    computers.push_back(std::move(computer));
  }
  if (!options.files.empty()) {
    CHAKRA_ASSIGN(std::unique_ptr<Computer> computer,
                  open_files(input, options.files, *options.file_cache, *options.file_order));
    computers.push_back(std::move(computer));
  }
  return computers;
}

/// The same, which may take long; ranks that wait for this one are answered meanwhile.
Result<Computers> open_and_answer(const trace::Trace& trace, const RunOptions& options, Rendezvous& rendezvous) {
  if (!options.compute->open && options.files.empty()) return Computers();
  std::atomic<bool> stop{false};
  auto opening = std::async(std::launch::async, [&] { return open_computers(trace, options, stop); });
  const Result<void> looked = answer_until(opening, rendezvous);
  stop = !looked;
  Result<Computers> computers = opening.get();
  CHAKRA_TRY(looked);
  return computers;
}

}  // namespace

Result<RankRun> run_rank(const RankPlan& plan, const World& world, Rendezvous& rendezvous, Session& session,
                         const BackendRow& backend, const RunOptions& options) {
  CHAKRA_ASSERT(options.selected.empty() || options.selected.size() == plan.trace->size());
  CHAKRA_ASSERT(options.compute && options.repetitions > 0 && options.scale_compute >= 0);
  const ExactTimers exact;
  CHAKRA_ASSIGN(Computers computers, open_and_answer(*plan.trace, options, rendezvous));
  Bench bench{plan, world, rendezvous, session, backend, options, Crew(std::move(computers))};
  RankRun run;
  feed::Graphs graphs;
  for (uint32_t r = 0; r < options.warmup + options.repetitions; ++r) {
    Repetition repetition(bench, r, graphs);
    if (r <= options.warmup) {
      bench.begin = options.begin_ps;
      CHAKRA_ASSIGN(bench.zero, common_zero(rendezvous, bench.begin));
      bench.late.clear();
    } else {
      CHAKRA_TRY(rendezvous.barrier());
    }
    bench.crew.begin();
    CHAKRA_ASSIGN(NodeTimes times, repetition.run());
    if (r >= options.warmup) run.times.push_back(std::move(times));
  }
  run.computed = bench.crew.close();
  CHAKRA_TRY(rendezvous.barrier());
  std::sort(bench.late.begin(), bench.late.end());
  if (!bench.late.empty()) {
    run.late_median_ps = whole_quantile(bench.late, 0.5);
    run.late_max_ps = bench.late.back();
    for (const Picoseconds late : bench.late) run.late_total_ps = add_saturated(run.late_total_ps, late);
  }
  run.begin_ps = bench.begin;
  run.meetings = session.meeting_times();
  for (const trace::NodeId n : plan.trace->nodes()) {
    if (!trace::is_comm(plan.trace->type[n]) || !(options.selected.empty() || options.selected[n])) continue;
    const Operation& op = plan.step(n).operation;
    ++(op.kind == Operation::Kind::collective ? run.collectives : run.messages);
    run.bytes = add_bytes(run.bytes, op.in_bytes);
  }
  return run;
}

}  // namespace chakra::replay
