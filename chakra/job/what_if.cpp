#include "chakra/job/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"
#include "chakra/job/replays.h"
#include "chakra/job/simulate_input.h"
#include "chakra/trace/roles.h"

namespace chakra::job {
namespace {

using trace::NodeId;
using trace::Trace;

SimulateOptions unchanged(const WhatIfOptions& o) {
  SimulateOptions options;
  options.path = o.path;
  options.network = o.from_network;
  options.system = o.system;
  options.groups = o.groups;
  options.ranks = o.ranks;
  options.loaded = o.loaded;
  return options;
}

bool communicates(const trace::TraceSet& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(), [](const Trace& t) {
    return std::any_of(t.type.begin(), t.type.end(), [](trace::NodeType type) { return trace::is_comm(type); });
  });
}

/// Of a communication node that has a measured time of its own: that time. Of several members of a collective the
/// shortest, since who comes last waits least.
class OwnTimes {
 public:
  OwnTimes(const sim::SimInput& input, sim::Transfers& transfers) : job_(input.job), transfers_(transfers) {
    for (const match::Collective& c : input.matching->collectives) fill({c.members.begin(), c.members.end()});
    for (const match::Message& m : input.matching->messages) fill({m.send, m.recv});
  }
  int64_t filled = 0, unmeasured = 0;

 private:
  sim::Transfers::Row& row(const match::NodeRef& ref) {
    return transfers_.rows[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]];
  }
  void fill(std::vector<match::NodeRef> refs) {
    std::erase_if(refs, [](const match::NodeRef& ref) { return ref.node == trace::kNoNode; });
    if (refs.empty() || row(refs.front()).known()) return;
    Picoseconds shortest = INT64_MAX;
    for (const match::NodeRef& ref : refs) {
      const Trace& t = job_.ranks[ref.rank];
      if (t.has_start(ref.node)) shortest = std::min(shortest, t.dur_ps[ref.node]);
    }
    ++(shortest == INT64_MAX ? unmeasured : filled);
    if (shortest == INT64_MAX) return;
    for (const match::NodeRef& ref : refs) row(ref) = {shortest, -1, -1, 1};
  }

  const trace::TraceSet& job_;
  sim::Transfers& transfers_;
};

/// Empties lists of what goes to each member where members are missing: in groups that are `smaller` than recorded, and
/// in those that nobody lists but whose lists are for more ranks than there are; these are then also `smaller`.
void forget_splits(sim::SimInput& input, std::vector<char>& smaller) {
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    Trace& t = input.job.ranks[r];
    for (size_t row = 0; row < t.comms.size(); ++row) {
      const trace::Comm& c = t.comms[row];
      const uint32_t id = input.matching->of_comm[r][row];
      if (id == trace::kNoRow || (c.in_split.empty() && c.out_split.empty())) continue;
      const uint32_t g = input.matching->collectives[id].group;
      const match::Group& group = input.matching->groups[g];
      const auto numbers = [](std::string_view list) { return std::count(list.begin(), list.end(), ',') + 1; };
      const bool larger =
          group.assumed && std::max(numbers(c.in_split), numbers(c.out_split)) > std::ssize(group.ranks);
      if (!smaller[g] && !larger) continue;
      smaller[g] = 1;
      t.comms.edit(row).in_split = t.comms.edit(row).out_split = {};
    }
  }
}

/// No rank waits for those that are not there: groups are those of their ranks that the job has.
// `whatif.rank.missing` (finding): ranks of groups have no trace; no rank waits for them
void leave_out_missing(sim::SimInput& input, Findings& findings) {
  input.matching = match::match(input.job, input.groups);
  match::GroupTable there;
  std::vector<char> smaller;  // by group
  for (const match::Group& group : input.matching->groups) {
    std::vector<int64_t>& ranks = there[group.name] = group.ranks;
    smaller.push_back(std::erase_if(ranks, [&](int64_t rank) { return !input.job.find(rank); }) > 0 ||
                      group.size > std::ssize(ranks));
  }
  forget_splits(input, smaller);
  if (std::find(smaller.begin(), smaller.end(), 1) == smaller.end()) return;
  input.groups = std::move(there);
  for (Trace& t : input.job.ranks) trace::forget_members(t);  // the table has them
  input.matching = match::match(input.job, input.groups);
  findings.push_back({"whatif.rank.missing", Severity::warning, -1, -1,
                      fmt::format("the job has {} rank{}, but its groups have more: ranks without a trace cause no "
                                  "waits, so the answer leaves out their effect",
                                  input.job.ranks.size(), input.job.ranks.size() == 1 ? "" : "s")});
}

/// Without a network, all communication takes as long as it was recorded to.
// `whatif.network` (1): the duration of communication is unknown: the job was not recorded, and no network is given
// `whatif.transfer.own` (finding): collectives or messages that are not recorded on all their ranks by one clock: each
// takes its own measured time, waiting included
Result<void> give_transfers(sim::SimInput& input, Findings& findings) {
  leave_out_missing(input, findings);
  CHAKRA_ASSIGN(sim::Transfers transfers, sim::recorded_transfers(input.job, *input.matching));
  const OwnTimes own(input, transfers);
  if (own.unmeasured > 0)
    return fail(Code::bad_input, "whatif.network",
                fmt::format("{} collectives and messages have no measured time; describe the network of the job with "
                            "--from-network FILE",
                            show_count(own.unmeasured)));
  if (own.filled > 0)
    findings.push_back({"whatif.transfer.own", Severity::warning, -1, -1,
                        fmt::format("{} of {} collectives and messages are not recorded on all of their ranks by one "
                                    "clock: each keeps its measured time, including waits",
                                    show_count(own.filled), show_count(transfers.known + transfers.unknown))});
  input.transfers = std::move(transfers);
  return {};
}

/// Gives nodes their times on the devices of the system now: rules change these times, not the measured ones.
Result<std::vector<sim::ScaledTime>> bring_to_devices(sim::SimInput& input, Findings& findings) {
  input.system.use_roofline();
  if (!input.system.target && input.system.devices.empty()) return std::vector<sim::ScaledTime>();
  trace::ClassJob classes = trace::by_class(std::move(input.job));
  CHAKRA_ASSIGN(std::vector<sim::ScaledTime> rows, sim::retarget(classes, input.system, findings));
  input.job = trace::expand(classes);
  input.matching.reset();
  input.system.roofline = false;
  input.system.target.reset();
  input.system.devices.clear();
  for (auto& [rank, traits] : input.system.unlike) traits.device = -1;
  return rows;
}

/// How long the job took by its recording.
Result<std::optional<Picoseconds>> measured(const trace::TraceSet& job) {
  if (JobReplay::possible(job)) {
    CHAKRA_ASSIGN(const JobReplay replay, JobReplay::measure(job));
    return std::optional(replay.job().measured_ps);
  }
  if (job.ranks.size() != 1) return std::optional<Picoseconds>();
  const auto replay = analyze::self_replay(job.ranks.front());
  return replay ? std::optional(replay->measured_ps) : std::nullopt;
}

/// The job as it was recorded, then on the devices of the system file.
Result<sim::SimInput> read_unchanged(const WhatIfOptions& o, WhatIf& out) {
  sim::SimInput input;
  CHAKRA_TRY(read_input(unchanged(o), input, out.findings));
  if (input.classes) {
    CHAKRA_ASSIGN(input.job, io::expand(*input.classes, o.path));
    input.classes.reset();
  }
  if (gives_times(input.system) && !o.devices.device.empty())
    return fail(Code::usage, "cli.usage",
                "--device and a system file that gives devices or a roofline exclude each other; put the devices into "
                "the system file of one call, and compare two calls");
  CHAKRA_ASSIGN(out.measured_ps, measured(input.job));
  out.change = RunChange::of(input.job);
  if (o.from_network.empty()) {
    if (input.job.ranks.empty())
      return fail(Code::bad_input, "whatif.network", "the job has no ranks; --from-network FILE runs it on a network");
    input.fabric = any_fabric(input.job);
    if (communicates(input.job)) CHAKRA_TRY(give_transfers(input, out.findings));
  }
  CHAKRA_TRY(bring_to_devices(input, out.findings));
  return input;
}

// `whatif.network.unchecked` (finding): the unchanged job has recorded transfers and the changed one those of a network
// file, with an unknown error
Result<void> change_network(const WhatIfOptions& o, sim::SimInput& input, WhatIf& out) {
  if (o.network.empty()) return {};
  CHAKRA_ASSIGN(input.fabric, net::load_fabric(o.network, &out.findings));
  out.network = input.fabric.describe();
  if (input.transfers)
    out.findings.push_back({"whatif.network.unchecked", Severity::warning, -1, -1,
                            "the unchanged job has recorded transfers, but the changed job has transfers of the "
                            "network file, with an unknown error; describe the network of the recording with "
                            "--from-network FILE, so that the error covers both"});
  input.transfers.reset();
  return {};
}

// `whatif.network.small` (1): the change adds ranks, and the network has no place for them
Result<void> check_places(const WhatIfOptions& o, const sim::SimInput& input) {
  const int64_t last = input.job.ranks.empty() ? -1 : input.job.ranks.back().rank;
  if (!o.network.empty() || o.from_network.empty() || last < input.fabric.size()) return {};
  return fail(
      Code::bad_input, "whatif.network.small",
      fmt::format("the changed job has a rank {}, but the network has {} ranks; --network FILE sets the network of the "
                  "changed job",
                  last, input.fabric.size()),
      {o.from_network});
}

/// Returns how times came to another device.
Result<std::vector<sim::ScaledTime>> apply(const WhatIfOptions& o, sim::SimInput& input, WhatIf& out) {
  CHAKRA_TRY(change_network(o, input, out));
  CHAKRA_TRY(use_devices(o.devices, input.system));
  CHAKRA_ASSIGN(std::vector<sim::ScaledTime> devices, bring_to_devices(input, out.findings));
  if (!o.devices.device.empty() && devices.empty())
    return fail(Code::bad_input, "whatif.rule.nothing",
                fmt::format("--device {} has no effect: {}", o.devices.device, kNoDeviceTime));
  for (size_t r = 0; r < o.changes.size(); ++r)
    for (const std::string& value : o.changes[r]) {
      const whatif::ChangeRow& row = whatif::kChanges[r];
      CHAKRA_ASSIGN(whatif::Reached reached, row.apply(value, input));
      out.findings.insert(out.findings.end(), reached.findings.begin(), reached.findings.end());
      out.applied.push_back({&row, value, std::move(reached)});
    }
  return devices;
}

/// Changes that would contradict each other.
Result<void> check_once(const WhatIfOptions& o) {
  for (size_t r = 0; r < o.changes.size(); ++r)
    if (whatif::kChanges[r].once && o.changes[r].size() > 1)
      return fail(
          Code::usage, "cli.usage",
          fmt::format("--{} was given {} times; only one is allowed", whatif::kChanges[r].name, o.changes[r].size()));
  return {};
}

std::string described(const sim::CollectiveReport& c) {
  return fmt::format("{}{}", c.algorithm->name, c.near ? ", members in the order of the network" : "");
}

/// Where a link is slow or gone, another algorithm may be the fastest: then the change is not the link's alone.
// `whatif.algorithm.changed` (finding): a collective is done by another algorithm than on the network without the
// change of a link
void compare_algorithms(const sim::SimReport& before, const WhatIf& now, Findings& findings) {
  const bool links = std::any_of(now.applied.begin(), now.applied.end(), [](const WhatIf::Applied& a) {
    return a.row->name == "fail-link" || a.row->name == "slow-link";
  });
  if (!links) return;
  using Key = std::tuple<std::string, trace::CommType, uint64_t, uint32_t>;
  const auto key = [](const sim::CollectiveReport& c) { return Key(c.group, c.type, c.bytes, c.members); };
  std::map<Key, const sim::CollectiveReport*> known;
  for (const sim::CollectiveReport& c : before.collectives) known.emplace(key(c), &c);
  struct Changed {
    int64_t kinds = 0;
    const sim::CollectiveReport* first = nullptr;
  };
  std::map<std::tuple<std::string_view, std::string, std::string>, Changed> changes;  // operation, before, now
  for (const sim::CollectiveReport& c : now.report.collectives) {
    const auto found = known.find(key(c));
    if (found == known.end() || !c.algorithm || !found->second->algorithm) continue;
    if (described(c) == described(*found->second)) continue;
    Changed& changed = changes[{trace::name(c.type), described(*found->second), described(c)}];
    if (changed.kinds++ == 0) changed.first = &c;
  }
  for (const auto& [names, changed] : changes) {
    const auto& [operation, old_way, new_way] = names;
    const std::string others = changed.kinds > 1 ? fmt::format(" and {} more", changed.kinds - 1) : "";
    findings.push_back({"whatif.algorithm.changed", Severity::note, -1, -1,
                        fmt::format("{} of {} among {} ranks{}: {} on the whole network, {} on the changed one; a part "
                                    "of the difference may be the algorithm's",
                                    operation, show_bytes(static_cast<double>(changed.first->bytes)),
                                    changed.first->members, others, old_way, new_way)});
  }
}

}  // namespace

std::optional<double> WhatIf::error() const {
  if (!measured_ps || *measured_ps == 0) return std::nullopt;
  return static_cast<double>(change.job.before_ps) / static_cast<double>(*measured_ps) - 1;
}

Result<WhatIf> what_if(const WhatIfOptions& o, const std::atomic<bool>* stop) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_TRY(check_once(o));
  WhatIf out;
  out.path = o.path;
  CHAKRA_ASSIGN(sim::SimInput input, read_unchanged(o, out));
  input.stop = stop;
  input.decisive_path = true;
  out.transfers = !communicates(input.job) ? "none" : input.transfers ? "recorded" : "simulated";
  input.node_times = out.change.has_steps();
  CHAKRA_ASSIGN(sim::SimReport before, sim::simulate(whatif::copy_of(input)));
  out.change.take(before, &RunChange::Change::before_ps);
  const bool changes = std::any_of(o.changes.begin(), o.changes.end(), [](const auto& all) { return !all.empty(); });
  out.changed = changes || !o.network.empty() || !o.devices.device.empty();
  if (out.changed) {
    CHAKRA_ASSIGN(std::vector<sim::ScaledTime> devices, apply(o, input, out));
    CHAKRA_TRY(check_places(o, input));
    if (input.job.ranks.size() != out.change.ranks.size()) out.change.ranks.clear(), out.change.steps.clear();
    CHAKRA_ASSIGN(out.report, sim::simulate(whatif::copy_of(input)));
    out.report.devices = std::move(devices);
    compare_algorithms(before, out, out.findings);
  } else {
    out.report = std::move(before);
  }
  out.change.take(out.report, &RunChange::Change::after_ps);
  if (!o.jitter.empty()) {
    std::vector<whatif::Jitter> jitters;
    for (const std::string& text : o.jitter) {
      CHAKRA_ASSIGN(whatif::Jitter jitter, whatif::parse_jitter(text));
      jitters.push_back(std::move(jitter));
    }
    CHAKRA_ASSIGN(out.noise, whatif::noise(input, jitters, o.repeats, o.seed));
  }
  if (o.sensitivity || (!out.changed && o.jitter.empty())) {
    CHAKRA_ASSIGN(out.sensitivity, whatif::sensitivity(input, out.report));
  }
  const bool network = !o.from_network.empty() || !o.network.empty();
  for (const Finding& finding : out.report.findings)  // without a network its size is ours
    if (network || finding.tag != "sim.rank.missing") out.findings.push_back(finding);
  return out;
}

}  // namespace chakra::job
