// Which part of a recording is linked: all of it, some steps, or, where a Kineto trace of many
// iterations meets a host trace of one, the iteration that is asked for.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/matching.h"
#include "chakra/link/pool.h"

namespace chakra::link {
namespace {

/// Drops what does not begin in [begin, last]: operators and calls. Of the device operations remain those
/// that were launched in it, however late they ran, and those from before that had not ended at the
/// beginning: they stand before the others on their streams. Communication among those belongs to an earlier step, so
/// only its time stays, as device work whose launch is not recorded. Returns old row -> new row of the operators.
// `pytorch.scope.before` (note): communication that an earlier step launched and that ran on into those that were kept.
std::vector<uint32_t> cut(Linking& l, int64_t begin, int64_t last) {
  Profile& p = l.profile();
  const auto inside = [&](const Record& r) { return r.start_ns >= begin && r.start_ns <= last; };
  std::vector<uint32_t> row_of(p.ops.size(), kNone);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < p.ops.size(); ++i) {
    if (inside(p.ops[i])) p.ops[row_of[i] = rows++] = p.ops[i];
    else if (p.ops[i].rf_id != 0) l.scope.left_out.insert(p.ops[i].rf_id);
  }
  p.ops.resize(rows);
  absl::flat_hash_map<int64_t, int64_t> launched_at;
  for (const RuntimeCall& call : p.calls) {
    const auto [found, added] = launched_at.try_emplace(call.correlation, call.start_ns);
    if (!added) found->second = std::max(found->second, call.start_ns);  // of nested calls the inner one launches
  }
  std::erase_if(p.calls, [&](const RuntimeCall& call) { return !inside(call); });
  std::erase_if(p.device_ops, [&](const DeviceOp& op) {
    const auto found = op.correlation < 0 ? launched_at.end() : launched_at.find(op.correlation);
    const bool known = found != launched_at.end();
    if (known && found->second >= begin) return found->second > last;
    return op.end_ns() <= begin || (!known && op.start_ns > last);
  });
  int64_t earlier = 0;
  for (DeviceOp& op : p.device_ops) {
    const auto found = op.correlation < 0 ? launched_at.end() : launched_at.find(op.correlation);
    const bool before = found != launched_at.end() ? found->second < begin : op.start_ns < begin;
    if (!before || (op.comm == trace::kNoRow && comm_kernel(l.text(op.name)) == nullptr)) continue;
    op.comm = trace::kNoRow;
    op.name = l.trace.strings.intern(trace::kUnrecorded);
    ++earlier;
  }
  if (earlier > 0)
    l.find(
        "pytorch.scope.before", Severity::note,
        fmt::format("{} communications that earlier steps launched end in the steps that were kept; they count as {}",
                    show_count(earlier), trace::kUnrecorded));
  return row_of;
}

// ---- matching by names -----------------------------------------------------------------------------------

/// A thread of the host trace: its operators in the order in which they began.
struct HostThread {
  int64_t number = 0;
  std::vector<uint32_t> rows;
  bool calls = false;     ///< records of Gloo are on this thread, as that of their caller
  uint32_t lane = kNone;  ///< the Kineto thread that runs them
  /// Where they stand in the Kineto thread's operators, once per iteration.
  std::vector<size_t> found;
};

std::vector<HostThread> host_threads(const Linking& l) {
  const HostTrace& host = l.host();
  std::vector<HostThread> threads;  // by their first operator
  absl::flat_hash_map<uint32_t, size_t> index;
  absl::flat_hash_set<uint32_t> callers;
  for (const uint32_t h : ops_by_id(host)) {
    if (is_host_comm(l, host.ops[h])) {  // Kineto has it on another thread
      callers.insert(host.ops[h].thread);
      continue;
    }
    const auto [at, added] = index.try_emplace(host.ops[h].thread, threads.size());
    if (added) threads.emplace_back().number = host.threads[host.ops[h].thread];
    threads[at->second].rows.push_back(h);
  }
  for (const auto& [thread, at] : index) threads[at].calls = at == 0 || callers.contains(thread);
  return threads;
}

class NameMatcher {
 public:
  explicit NameMatcher(Linking& l) : l_(l), p_(l.profile()), threads_(host_threads(l)) {}

  Result<void> run() {
    if (threads_.empty())
      return fail(Code::bad_input, "pytorch.match.low",
                  "the Kineto trace names no record functions, and the host trace holds only records of Gloo",
                  {l_.host().file});
    CHAKRA_TRY(find_threads());
    find_iterations();
    CHAKRA_TRY(find_pool());
    if (places_.empty())
      return fail(Code::bad_input, "pytorch.match.low",
                  fmt::format("the operators of each thread of the host trace are in the Kineto trace, but no "
                              "iteration contains those of all {} threads",
                              threads_.size()),
                  {l_.host().file});
    CHAKRA_ASSIGN(const size_t chosen, choose());
    take(places_[chosen]);
    match_host_comm(l_, 0, UINT64_MAX);
    report_missing(l_);
    return check_process(l_, false);
  }

 private:
  struct Place {
    std::vector<size_t> at;  ///< per host thread: position in the Kineto thread's operators
    std::optional<PoolPart> pool = PoolPart();
    int64_t begin = 0, end = std::numeric_limits<int64_t>::min();
    int64_t last = std::numeric_limits<int64_t>::min();  ///< all have begun by then, also those that take no time
    void add(const CpuOp& op) {
      if (!op.host_comm) end = std::max(end, op.end_ns());
      last = std::max({last, op.start_ns, op.host_comm ? op.start_ns : op.end_ns() - 1});
    }
    int64_t length_ns() const {  // nobody has looked at the times yet
      const uint64_t length = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
      return static_cast<int64_t>(std::min<uint64_t>(length, kLongestPs / kPsPerNs));
    }
  };

  /// The operators of the Kineto threads that the host trace may know by name.
  void list_operators() {
    absl::flat_hash_set<StringId> known;
    for (const HostThread& thread : threads_)
      for (const uint32_t h : thread.rows) known.insert(l_.host().ops[h].name);
    sort_thread_ops(l_);
    ops_.resize(p_.threads.size());
    names_.resize(p_.threads.size());
    for (size_t lane = 0; lane < ops_.size(); ++lane)
      for (const uint32_t op : l_.threads.ops[lane])
        if (known.contains(p_.ops[op].name) && !p_.ops[op].host_comm) {
          ops_[lane].push_back(op);
          names_[lane].push_back(p_.ops[op].name);
        }
  }

  /// Threads that call Gloo are looked for everywhere, the others not where Gloo's pool runs: what is found nowhere
  /// else runs there.
  Result<void> find_threads() {
    l_.report.by_names = true;
    list_operators();
    std::vector<char> taken(ops_.size(), 0);
    for (HostThread& thread : threads_)
      if (thread.calls) CHAKRA_TRY(find_thread(thread, taken));
    std::vector<uint32_t> lanes = pool_lanes(taken);
    for (const uint32_t lane : lanes) taken[lane] = 1;
    std::vector<std::vector<uint32_t>> of_pool;
    for (HostThread& thread : threads_) {
      if (thread.calls) continue;
      Result<void> found = find_thread(thread, taken);
      if (!found && lanes.empty()) return found;
      if (!found) of_pool.push_back(std::move(thread.rows)), thread.rows.clear();
    }
    std::erase_if(threads_, [](const HostThread& thread) { return thread.rows.empty(); });
    if (of_pool.empty()) return {};
    pool_.emplace(l_, std::move(of_pool), lanes, ops_);
    const int64_t all = l_.report.host_ops;
    if (pool_->has_operators() || enough(all - pool_->host_ops(), all)) return {};
    return fail(Code::bad_input, "pytorch.match.low",
                fmt::format("{} of {} operators of the host trace run on threads that carry out communication, and the "
                            "Kineto trace lacks the operators of these threads",
                            show_count(pool_->host_ops()), show_count(all)),
                {l_.host().file});
  }

  Result<void> find_thread(HostThread& thread, std::vector<char>& taken) const {
    std::vector<StringId> wanted;
    for (const uint32_t h : thread.rows) wanted.push_back(l_.host().ops[h].name);
    size_t longest = 0;
    for (uint32_t lane = 0; lane < ops_.size(); ++lane) {
      if (taken[lane]) continue;
      std::vector<size_t> found = occurrences(wanted, names_[lane], longest);
      if (found.size() > thread.found.size()) thread.found = std::move(found), thread.lane = lane;
    }
    if (thread.lane == kNone) {
      const HostOp& stop = l_.host().ops[thread.rows[std::min(longest, thread.rows.size() - 1)]];
      return fail(Code::bad_input, "pytorch.match.low",
                  fmt::format("the Kineto trace names no record functions, and no thread contains the {} operators "
                              "of thread {} of the host trace in order; the longest match has {} operators, up to {} "
                              "(node {}); the two traces are not of the same run",
                              show_count(static_cast<int64_t>(thread.rows.size())), thread.number, longest,
                              quote(l_.text(stop.name)), stop.id),
                  {l_.host().file, stop.byte});
    }
    taken[thread.lane] = 1;
    return {};
  }

  std::vector<uint32_t> pool_lanes(const std::vector<char>& taken) const {
    std::vector<uint32_t> lanes;
    for (uint32_t lane = 0; lane < ops_.size(); ++lane)
      if (!taken[lane] && std::any_of(l_.threads.ops[lane].begin(), l_.threads.ops[lane].end(),
                                      [&](uint32_t op) { return runs_on_pool(l_, p_.ops[op]); }))
        lanes.push_back(lane);
    return lanes;
  }

  const CpuOp& op(const HostThread& thread, size_t at) const { return p_.ops[ops_[thread.lane][at]]; }

  /// The first thread of the host trace leads. The part of another thread is the first that begins after
  /// what stands before it in the host trace, and before what the first thread does after the iteration.
  void find_iterations() {
    const HostThread& main = threads_[0];
    for (const size_t at : main.found) {
      Place iteration;
      iteration.at = {at};
      iteration.begin = op(main, at).start_ns;
      const int64_t next = begin_after(at);
      bool whole = true;
      for (size_t t = 1; t < threads_.size() && whole; ++t) {
        const HostThread& thread = threads_[t];
        const uint64_t first_id = l_.host().ops[thread.rows[0]].id;
        const auto leads =
            static_cast<size_t>(std::partition_point(main.rows.begin(), main.rows.end(),
                                                     [&](uint32_t h) { return l_.host().ops[h].id < first_id; }) -
                                main.rows.begin());
        const int64_t from = op(main, at + (leads > 0 ? leads - 1 : 0)).start_ns;
        const auto found = std::partition_point(thread.found.begin(), thread.found.end(),
                                                [&](size_t other) { return op(thread, other).start_ns < from; });
        whole = found != thread.found.end() && op(thread, *found).start_ns < next;
        if (whole) iteration.at.push_back(*found);
      }
      if (!whole) continue;
      for (size_t t = 0; t < threads_.size(); ++t)
        for (size_t i = 0; i < threads_[t].rows.size(); ++i) iteration.add(op(threads_[t], iteration.at[t] + i));
      places_.push_back(std::move(iteration));
    }
  }

  /// When the first thread goes on after an iteration that begins at its operator `at`.
  int64_t begin_after(size_t at) const {
    const size_t after = at + threads_[0].rows.size();
    return after < ops_[threads_[0].lane].size() ? op(threads_[0], after).start_ns
                                                 : std::numeric_limits<int64_t>::max();
  }

  /// Iterations in which the operators of the pool do not match keep their number, but cannot be linked.
  Result<void> find_pool() {
    if (!pool_ || places_.empty()) return {};
    for (Place& place : places_) {
      place.pool = pool_->find(place.begin, begin_after(place.at[0]));
      if (!place.pool) continue;
      for (const auto& [row, h] : place.pool->pairs) place.add(p_.ops[row]);
    }
    if (std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.pool.has_value(); }))
      return {};
    return refuse_pool();
  }

  Failure refuse_pool() const {
    return fail(
        Code::bad_input, "pytorch.match.low",
        fmt::format("the operators of {} threads of the host trace run on threads that carry out communication, "
                    "and do not match those of the Kineto trace: {}",
                    pool_->threads(), pool_->why()),
        {l_.host().file});
  }

  std::vector<Iteration> iterations() const {
    ShapeComparer shapes(l_);
    std::vector<Iteration> all;
    for (const Place& place : places_) {
      Iteration& iteration = all.emplace_back(Iteration{place.length_ns(), 0, place.pool.has_value()});
      for (size_t t = 0; t < threads_.size(); ++t)
        for (size_t i = 0; i < threads_[t].rows.size(); ++i)
          iteration.other_shapes += shapes.differ(ops_[threads_[t].lane][place.at[t] + i], threads_[t].rows[i]);
      if (place.pool)
        for (const auto& [row, h] : place.pool->pairs) iteration.other_shapes += shapes.differ(row, h);
    }
    return all;
  }

  Result<size_t> choose() {
    std::vector<Iteration> all = iterations();
    const size_t count = all.size();
    if (l_.options.iteration && *l_.options.iteration >= static_cast<int64_t>(count))
      return fail(Code::bad_input, "pytorch.scope.iteration",
                  fmt::format("unknown iteration {}; there are {}, from 0", *l_.options.iteration, count), {p_.file});
    const size_t chosen = l_.options.iteration ? static_cast<size_t>(*l_.options.iteration) : choose_iteration(all);
    const Place& it = places_[chosen];
    if (!it.pool) return refuse_pool();
    std::string which;
    if (threads_[0].found.size() > 1) {
      which = fmt::format("; iteration {} of {} that can be linked ({} times the first thread does this){}", chosen,
                          count, threads_[0].found.size(), l_.options.iteration ? "" : ", the one of median length");
      l_.report.iteration = static_cast<int64_t>(chosen);
      l_.report.iterations = std::move(all);
    }
    l_.find("pytorch.match.by_names", Severity::note,
            fmt::format("the Kineto trace names no record functions; operators are matched by the order of their names "
                        "on each thread{}{}; it takes {}",
                        pool_ ? ", and those of a pool of threads by the communication that they run for" : "", which,
                        show_time(it.length_ns() * kPsPerNs)));
    if (it.pool->undecided > 0)
      l_.find("pytorch.match.pool", Severity::warning,
              fmt::format("{} communications began beside others of the same name and sizes, which leaves open which "
                          "is which; they match in the order in which they began, so two may be exchanged",
                          show_count(it.pool->undecided)));
    return chosen;
  }

  void take(const Place& iteration) {
    std::vector<uint32_t> row_of;
    if (threads_[0].found.size() > 1) row_of = cut(l_, iteration.begin, iteration.last);
    l_.match.host_of_op.assign(p_.ops.size(), kNone);
    l_.match.op_of_host.assign(l_.host().ops.size(), kNone);
    const auto match = [&](uint32_t row, uint32_t h) {
      if (!row_of.empty()) row = row_of[row];
      l_.match.host_of_op[row] = h;
      l_.match.op_of_host[h] = row;
      ++l_.report.matched_host_ops;
    };
    for (size_t t = 0; t < threads_.size(); ++t)
      for (size_t i = 0; i < threads_[t].rows.size(); ++i)
        match(ops_[threads_[t].lane][iteration.at[t] + i], threads_[t].rows[i]);
    for (const auto& [row, h] : iteration.pool->pairs) match(row, h);
  }

  Linking& l_;
  Profile& p_;
  std::vector<HostThread> threads_;
  std::vector<std::vector<uint32_t>> ops_;    ///< per Kineto thread, as far as the host trace knows their names
  std::vector<std::vector<StringId>> names_;  ///< parallel to ops_
  std::optional<Pool> pool_;
  std::vector<Place> places_;  ///< one for each iteration
};

}  // namespace

std::vector<size_t> occurrences(const std::vector<StringId>& wanted, const std::vector<StringId>& names,
                                size_t& longest) {
  std::vector<size_t> fallback(wanted.size() + 1, 0), found;
  for (size_t i = 1, p = 0; i < wanted.size(); ++i) {
    while (p > 0 && wanted[i] != wanted[p]) p = fallback[p];
    if (wanted[i] == wanted[p]) ++p;
    fallback[i + 1] = p;
  }
  for (size_t i = 0, p = 0; i < names.size(); ++i) {
    while (p > 0 && names[i] != wanted[p]) p = fallback[p];
    if (names[i] == wanted[p]) ++p;
    longest = std::max(longest, p);
    if (p < wanted.size()) continue;
    found.push_back(i + 1 - p);
    p = 0;
  }
  return found;
}

Result<void> match_by_names(Linking& l) {
  Result<void> matched = NameMatcher(l).run();
  if (!matched && matched.error().tag == "pytorch.match.low") {
    CHAKRA_ASSIGN(const bool part, match_part_by_names(l));
    if (part) matched = {};
  }
  if (matched) compare_shapes(l);
  return matched;
}

namespace {

struct StepWindow {
  int64_t begin, end, number;
};

/// Find the ProfilerSteps, by their beginning. A program may give one of its annotations such a name: an annotation
/// inside of another is not a step.
std::vector<StepWindow> find_steps(const Linking& l) {
  std::vector<StepWindow> all, steps;
  for (const CpuOp& op : l.profile().ops)
    if (const auto number = trace::step_number(l.text(op.name))) all.push_back({op.start_ns, op.end_ns(), *number});
  std::stable_sort(all.begin(), all.end(), [](const StepWindow& a, const StepWindow& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  for (const StepWindow& step : all)
    if (steps.empty() || step.end > steps.back().end) steps.push_back(step);
  return steps;
}

/// From the start of the first of the ProfilerSteps `wanted` to the end of the last.
Result<std::pair<int64_t, int64_t>> window_of(const Linking& l, std::pair<int64_t, int64_t> wanted) {
  const auto [first, last] = wanted;
  int64_t begin = std::numeric_limits<int64_t>::max(), end = std::numeric_limits<int64_t>::min();
  int64_t lowest = std::numeric_limits<int64_t>::max(), highest = -1;
  for (const StepWindow& step : find_steps(l)) {
    lowest = std::min(lowest, step.number);
    highest = std::max(highest, step.number);
    if (step.number < first || step.number > last) continue;
    begin = std::min(begin, step.begin);
    end = std::max(end, step.end);
  }
  if (begin > end)
    return fail(Code::bad_input, "pytorch.scope.steps",
                highest < 0 ? std::string("the recording has no ProfilerStep annotations")
                            : fmt::format("the recording has the steps {} to {}, but no step from {} to {}", lowest,
                                          highest, first, last),
                {l.profile().file});
  return std::pair(begin, end);
}

}  // namespace

Result<void> keep_steps(Linking& l) {
  if (l.options.fit_steps) {
    CHAKRA_ASSIGN(l.scope.fit_window, window_of(l, *l.options.fit_steps));
  }
  if (l.options.steps) {
    CHAKRA_ASSIGN(const auto window, window_of(l, *l.options.steps));
    const auto records = [&] {
      return l.profile().ops.size() + l.profile().calls.size() + l.profile().device_ops.size();
    };
    const size_t before = records();
    cut(l, window.first, window.second - 1);
    l.report.cut = static_cast<int64_t>(before - records());
  }
  return {};
}

size_t choose_iteration(const std::vector<Iteration>& iterations) {
  const auto rank = [](const Iteration& iteration) { return std::pair(!iteration.whole, iteration.other_shapes); };
  auto best = rank(iterations.front());
  for (const Iteration& iteration : iterations) best = std::min(best, rank(iteration));
  std::vector<size_t> ascending;
  for (size_t i = 0; i < iterations.size(); ++i)
    if (rank(iterations[i]) == best) ascending.push_back(i);
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](size_t a, size_t b) { return iterations[a].duration_ns < iterations[b].duration_ns; });
  return ascending[(ascending.size() - 1) / 2];
}

}  // namespace chakra::link
