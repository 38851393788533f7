// ASTRA-sim's rules (docs/reference/compat.md, whose section numbers are in brackets). Times are whole nanoseconds,
// held in picoseconds.
#include "chakra/astra/astra.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/astra/phases.h"
#include "chakra/astra/run.h"
#include "chakra/astra/stuck.h"
#include "chakra/base/progress.h"

namespace chakra::astra {
namespace {

using trace::Trace;

constexpr uint64_t kEventsBetweenLooks = 1 << 16;

Failure refuse(std::string tag, std::string text, std::string file = {}) {
  return fail(Code::bad_input, std::move(tag), std::move(text), {std::move(file)});
}

Result<void> check_input(const Input& in) {
  if (in.system.shared_bus)
    return refuse("sim.compat.shared_bus",
                  "the shared memory bus (model-shared-bus, LogGP) is not simulated; remove the key or set it to 0",
                  in.system.file);
  const auto& dimensions = in.fabric.dimensions;
  const auto its_own = [](const net::Dimension& d) { return d.kind <= net::TopologyKind::fully_connected; };
  if (in.fabric.graph || !in.fabric.odd_links.empty() || !std::all_of(dimensions.begin(), dimensions.end(), its_own))
    return refuse("sim.compat.topology",
                  fmt::format("ASTRA-sim knows Ring, Switch and FullyConnected with equal links; this is a {}",
                              in.fabric.describe()));
  if (in.options.congestion_aware && dimensions.size() > 1)
    return refuse("sim.compat.dimensions",
                  fmt::format("the congestion-aware back end has one dimension, the network {}", dimensions.size()));
  if (in.groups.contains("0"))
    return refuse("sim.compat.group",
                  "the groups file has a group '0', which is all ranks in ASTRA-sim; give it another name");
  if (in.job.ranks.size() != static_cast<size_t>(in.fabric.size()))
    return refuse("sim.compat.ranks", fmt::format("the network has {} ranks, the job has traces of {}",
                                                  in.fabric.size(), in.job.ranks.size()));
  return {};
}

Result<void> prepare(Run& run) {
  const auto ranks = static_cast<uint32_t>(run.in.fabric.size());
  prepare_collectives(run, ranks);
  run.clock.due.resize(ranks);
  run.ranks.reserve(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    const Trace& t = run.in.job.ranks[r];
    if (t.rank != r) return refuse("sim.compat.ranks", fmt::format("rank {} has no trace", r));
    CHAKRA_TRY(add_rank(run, t));
  }
  const bool two_links = run.in.fabric.dimensions[0].kind != net::TopologyKind::fully_connected;
  if (run.in.options.congestion_aware && two_links) run.messages.links.resize(size_t{2} * ranks);
  return {};
}

void run_batch(Run& run, const Event& batch);

void handle(Run& run, const Event& event) {
  switch (event.kind) {
    case Event::Kind::node_done: return node_done(run, event.rank, event.node);
    case Event::Kind::memory_done: return memory_done(run, event.rank, event.node);
    case Event::Kind::bundle_done: return bundle_done(run, event.stream);
    case Event::Kind::reduction: return reduce(run, event);
    case Event::Kind::received: return tell(run, run.messages.parties.take(event.number));
    case Event::Kind::phase_done: return end_phase(run, event.stream);
    case Event::Kind::custom_done: return custom_done(run, event.stream, event.node);
    case Event::Kind::arrival: return arrival(run, event.number);
    case Event::Kind::hop_done: return hop_done(run, event.number);
    case Event::Kind::link_free: return link_free(run, event.number);
    case Event::Kind::batch: return run_batch(run, event);
    case Event::Kind::ring_ahead:
      return run.clock.at(static_cast<Picoseconds>(event.number),
                          {.kind = Event::Kind::phase_done, .rank = event.rank, .stream = event.stream});
  }
}

void run_batch(Run& run, const Event& batch) {
  auto& batches = run.clock.batches;
  for (size_t done = 0; done < batches[batch.number].size() && !run.error; ++done) {  // more may be added meanwhile
    const Event event = batches[batch.number][done];
    handle(run, event);
  }
  batches.drop(batch.number);
  auto& due = run.clock.due[batch.rank];
  due.erase(due.begin());
}

bool stop_is_asked(const Run& run) {
  if (run.report.events % kEventsBetweenLooks != 0) return false;
  return (run.in.stop && run.in.stop->load(std::memory_order_relaxed)) || is_stopped();
}

void interrupt(Run& run) {
  run.report.interrupted = true;
  run.report.findings.push_back({"sim.interrupted", Severity::warning, -1, -1,
                                 fmt::format("stopped at {} of simulated time", show_time(run.now()))});
}

Report report_of(Run& run) {
  for (const Rank& rank : run.ranks) {
    run.report.makespan_ps = std::max(run.report.makespan_ps, rank.finish);
    run.report.ranks.push_back({rank.trace->rank, rank.finish, rank.computed});
  }
  for (const QuirkRow& row : kQuirks)
    if (run.quirks & 1u << static_cast<unsigned>(row.quirk))
      run.report.findings.push_back(
          {"sim.compat.quirk", Severity::note, -1, -1, "the result depends on a quirk: " + std::string(row.text)});
  return std::move(run.report);
}

}  // namespace

Picoseconds ticks(double ns) {
  return ns < static_cast<double>(kLongestPs / kTick) ? static_cast<Picoseconds>(ns) * kTick : kLongestPs;
}

Failure bad(const Run& run, uint32_t r, trace::NodeId n, std::string tag, const std::string& text) {
  const Trace& t = *run.ranks[r].trace;
  return fail(Code::bad_input, std::move(tag), fmt::format("node {} of rank {}: {}", t.id[n], t.rank, text), {t.file});
}

Result<Report> simulate(const Input& input) {
  CHAKRA_TRY(check_input(input));
  Run run(input);
  CHAKRA_TRY(prepare(run));
  for (uint32_t r = 0; r < run.ranks.size() && !run.error; ++r) issue(run, r);
  while (!run.error && !run.clock.queue.empty()) {
    if (all_begin_rings(run)) look_ahead(run);
    if (run.clock.queue.next_time() >= kLongestPs) return des::too_long();
    const Event event = run.clock.queue.pop();
    ++run.report.events;
    if (stop_is_asked(run)) {
      interrupt(run);
      break;
    }
    handle(run, event);
  }
  if (run.error) return Failure(std::move(*run.error));
  const auto unfinished = [](const Rank& rank) { return rank.feeder.remaining() > 0; };
  if (!run.report.interrupted && std::any_of(run.ranks.begin(), run.ranks.end(), unfinished)) return stuck(run);
  return report_of(run);
}

}  // namespace chakra::astra
