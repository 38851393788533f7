#include "chakra/job/what_if.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/answer/rows.h"
#include "chakra/io/io.h"
#include "chakra/job/no_effect.h"
#include "chakra/job/simulate_input.h"
#include "chakra/sim/comparison.h"
#include "chakra/trace/metadata.h"

namespace chakra::job {
namespace {

using trace::Trace;

SimulateOptions unchanged(const WhatIfOptions& o) {
  SimulateOptions options;
  options.path = o.path;
  options.network = o.from_network;
  options.system = o.system;
  options.groups = o.groups;
  options.ranks = o.ranks;
  options.loaded = o.loaded;
  options.networks = o.networks;
  return options;
}

bool communicates(const trace::TraceSet& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(), [](const Trace& t) {
    return std::any_of(t.type.begin(), t.type.end(), [](trace::NodeType type) { return trace::is_comm(type); });
  });
}

/// The job as it was recorded, and on the devices of the system file.
struct Unchanged {
  sim::SimInput input;
  std::optional<sim::SimInput> recorded;     ///< absent: the same
  std::optional<whatif::RecipeFacts> facts;  ///< of the job as it is now
  Findings device_findings;                  ///< about the times on devices
  bool on_devices = false;                   ///< nodes got times on devices
};

/// Whether a computation has a duration.
bool has_times(const trace::TraceSet& job) {
  return std::any_of(job.ranks.begin(), job.ranks.end(), [](const trace::Trace& t) {
    const auto nodes = t.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](trace::NodeId n) { return t.type[n] == trace::NodeType::comp && t.dur_ps[n] > 0; });
  });
}

/// Call it while the system has the device.
std::optional<whatif::RecipeFacts> facts_of_recipe(const sim::SimInput& input) {
  return input.job.ranks.empty() ? std::nullopt : whatif::recipe_facts(input.job.ranks.front(), input.system);
}

/// Whether two networks differ in more than their sizes.
bool have_other_links(const net::Fabric& a, const net::Fabric& b) {
  const auto same = [](const net::Dimension& x, const net::Dimension& y) {
    return x.kind == y.kind && x.gib_per_s == y.gib_per_s && x.latency_ns == y.latency_ns;
  };
  return a.dimensions.empty() || !a.odd_links.empty() || !b.odd_links.empty() ||
         !std::equal(a.dimensions.begin(), a.dimensions.end(), b.dimensions.begin(), b.dimensions.end(), same);
}

/// A finding about one of the two jobs.
Finding about(const char* job, Finding finding) {
  finding.text = fmt::format("{} job: {}", job, finding.text);
  return finding;
}

/// Findings about times on devices. If both jobs have such times, a finding that both do not have names its job.
void add_device_findings(const Findings& before, const Findings& after, bool both, Findings& all) {
  const auto is_in = [](const Findings& others, const Finding& one) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Finding& other) { return other.tag == one.tag && other.text == one.text; });
  };
  for (const Finding& one : before) all.push_back(both && !is_in(after, one) ? about("unchanged", one) : one);
  for (const Finding& one : after)
    if (!is_in(before, one)) all.push_back(both ? about("changed", one) : one);
}

/// A job without times, such as an imported program, runs on --from-device before it runs on --device.
Result<void> price_unchanged(const DeviceOptions& o, sim::SimInput& input) {
  if (o.device.empty() || o.from_device.empty() || has_times(input.job)) return {};
  CHAKRA_ASSIGN(input.system.target, device::find_or_load(o.from_device));
  return device::use_stack(o.stack, *input.system.target);
}

Result<Unchanged> read_unchanged(const WhatIfOptions& o, WhatIf& out) {
  Unchanged unchanged_job;
  sim::SimInput& input = unchanged_job.input;
  CHAKRA_TRY(read_input(unchanged(o), input, out.findings));
  if (input.classes) {
    CHAKRA_ASSIGN(input.job, io::expand(*input.classes, o.path));
    input.classes.reset();
  }
  if (gives_times(input.system) && !o.devices.device.empty())
    return fail(Code::usage, "cli.usage",
                "--device and a system file that gives devices or a roofline exclude each other; put the devices into "
                "the system file of one call, and compare two calls");
  CHAKRA_ASSIGN(out.measured_ps, recorded::measured_time(input.job));
  out.change = recorded::RunChange::of(input.job);
  if (o.from_network.empty()) {
    if (input.job.ranks.empty())
      return fail(Code::bad_input, "whatif.network", "the job has no ranks; --from-network FILE runs it on a network");
    input.fabric = recorded::any_fabric(input.job);
    if (communicates(input.job)) CHAKRA_TRY(whatif::give_transfers(input, out.findings));
  }
  if (gives_times(input.system)) unchanged_job.recorded = sim::copy_of(input);
  CHAKRA_TRY(price_unchanged(o.devices, input));
  unchanged_job.facts = facts_of_recipe(input);
  if (const auto& facts = unchanged_job.facts; facts && o.ranks.empty())
    out.likely.before = facts->published, out.likely.device_before = facts->device;
  if (o.ranks.empty() && !input.transfers) out.likely.served_before = whatif::served(input);
  CHAKRA_ASSIGN(const std::vector<sim::ScaledTime> devices,
                whatif::bring_to_devices(input, unchanged_job.device_findings));
  unchanged_job.on_devices = !devices.empty();
  return unchanged_job;
}

// `whatif.network.unchecked` (finding): the unchanged job has recorded transfers and the changed one those of a network
// file, with an unknown error
Result<void> change_network(const WhatIfOptions& o, sim::SimInput& input, WhatIf& out) {
  if (o.network.empty()) return {};
  CHAKRA_ASSIGN(input.fabric, load_network(o.network, o.networks, out.findings));
  out.network = input.fabric.describe();
  if (input.transfers)
    out.findings.push_back({"whatif.network.unchecked", Severity::warning, -1, -1,
                            "the unchanged job has recorded transfers, but the changed job has transfers of the "
                            "network file, with an unknown error; describe the network of the recording with "
                            "--from-network FILE, so that the error covers both"});
  input.transfers.reset();
  return {};
}

// `whatif.network.small` (1): the network has no place for a rank of the changed job
Result<void> check_places(const WhatIfOptions& o, const sim::SimInput& input) {
  const std::string& network = o.network.empty() ? o.from_network : o.network;
  const int64_t last = input.job.ranks.empty() ? -1 : input.job.ranks.back().rank;
  if (network.empty() || last < input.fabric.size()) return {};
  return fail(Code::bad_input, "whatif.network.small",
              fmt::format("the changed job has a rank {}, but the network has {} ranks; {}", last, input.fabric.size(),
                          o.network.empty() ? "--network FILE sets the network of the changed job"
                                            : "enlarge the network (npus_count)"),
              {network});
}

void add_applied(std::vector<whatif::Applied> applied, WhatIf& out) {
  for (whatif::Applied& one : applied) {
    out.findings.insert(out.findings.end(), one.reached.findings.begin(), one.reached.findings.end());
    out.applied.push_back(std::move(one));
  }
}

/// Generates the job again, then on the devices of the system file, with the changes that this is possible for.
Result<void> generate_again(const WhatIfOptions& o, Unchanged& job, WhatIf& out) {
  sim::SimInput& generated = job.recorded ? *job.recorded : job.input;
  CHAKRA_ASSIGN(std::vector<whatif::Applied> applied, whatif::generate_again(o.changes, generated));
  if (applied.empty()) return {};
  if (!o.devices.device.empty())  // of a device that the changed job does not run on
    for (whatif::Applied& one : applied)
      std::erase_if(one.reached.findings, [](const Finding& f) { return f.tag.starts_with("sim.device."); });
  add_applied(std::move(applied), out);
  if (!job.recorded) return {};
  Findings known;  // of the unchanged job, too
  CHAKRA_TRY(whatif::bring_to_devices(*job.recorded, known));
  job.input.job = std::move(job.recorded->job);
  job.input.system.unlike = job.recorded->system.unlike;
  job.input.memory_use = std::move(job.recorded->memory_use);
  job.input.groups = {};
  job.input.matching.reset();
  return {};
}

bool is_applied(const WhatIf& now, const whatif::ChangeRow& row, std::string_view value) {
  return std::any_of(now.applied.begin(), now.applied.end(), [&](const whatif::Applied& one) {
    return one.reached.again && one.row == &row && one.value == value;
  });
}

/// The memory that the generator states is that of another job now.
void forget_memory(sim::SimInput& input) {
  input.memory_use.reset();
  for (trace::Trace& t : input.job.ranks)
    std::erase_if(t.metadata, [&](const trace::Attr& a) { return t.strings[a.name] == trace::kMemoryPerRank; });
}

/// Returns how times came to another device.
Result<std::vector<sim::ScaledTime>> apply(const WhatIfOptions& o, Unchanged& job, WhatIf& out) {
  sim::SimInput& input = job.input;
  CHAKRA_TRY(change_network(o, input, out));
  CHAKRA_TRY(generate_again(o, job, out));
  CHAKRA_TRY(use_devices(o.devices, input.system));
  Findings found;
  if (!o.devices.device.empty()) CHAKRA_TRY(whatif::use_stack_of_job(o.devices.stack, input, found));
  job.facts = facts_of_recipe(input);
  if (job.facts && o.ranks.empty())
    out.likely.after = job.facts->published, out.likely.device_after = job.facts->device;
  if (out.likely.served_before && !input.transfers) out.likely.served_after = whatif::served(input);
  CHAKRA_ASSIGN(std::vector<sim::ScaledTime> devices, whatif::bring_to_devices(input, found));
  add_device_findings(job.device_findings, found, job.on_devices && !devices.empty(), out.findings);
  if (!o.devices.device.empty() && devices.empty())
    return fail(Code::bad_input, "whatif.rule.nothing",
                fmt::format("--device {} has no effect: {}", o.devices.device, kNoDeviceTime));
  for (size_t r = 0; r < o.changes.size(); ++r)
    for (const std::string& value : o.changes[r]) {
      const whatif::ChangeRow& row = whatif::kChanges[r];
      if (is_applied(out, row, value)) continue;
      CHAKRA_ASSIGN(whatif::Reached reached, row.apply(value, input));
      if (row.option) forget_memory(input);
      add_applied({{&row, value, std::move(reached)}}, out);
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

bool ignores_contention(const Finding& finding) { return finding.tag.starts_with("sim.closed."); }
bool has_free_nodes(const Finding& finding) {
  return finding.tag == "sim.compute.free" || finding.tag == "sim.memory.free";
}

/// What the unchanged job leaves out, and the changed one does not: their difference has another reason than the
/// change.
void note_free_nodes(const sim::SimReport& before, const sim::SimReport& after, Findings& findings) {
  for (const Finding& finding : before.findings)
    if (has_free_nodes(finding) && std::none_of(after.findings.begin(), after.findings.end(),
                                                [&](const Finding& other) { return other.tag == finding.tag; }))
      findings.push_back(about("unchanged", finding));
}

bool changes_links(const WhatIf& now) {
  return std::any_of(now.applied.begin(), now.applied.end(),
                     [](const whatif::Applied& a) { return a.row->name == "fail-link" || a.row->name == "slow-link"; });
}

bool is_fluid(const sim::SimReport& report) { return report.congestion == sim::Congestion::fluid; }

/// Both jobs with the same contention model: the more exact one that can simulate both. Sensitivity and noise exist in
/// closed form only, and the job has the same time there.
class Comparison {
 public:
  /// `input`: becomes a copy, whose texts are those of the job here.
  Comparison(const WhatIfOptions& o, bool changed, sim::SimInput& input)
      : closed_(o.sensitivity || !o.jitter.empty() || !changed) {
    input.decisive_path = closed_;
    unchanged_ = std::move(input);
    input = sim::copy_of(unchanged_);
  }

  Result<sim::SimReport> simulate(const sim::SimInput& input) const {
    return closed_ ? sim::simulate(sim::copy_of(input)) : sim::simulate_to_compare(sim::copy_of(input));
  }
  const sim::SimInput& unchanged() const { return unchanged_; }
  Result<sim::SimReport> before() const { return simulate(unchanged_); }
  /// The report of the changed job. `before` may become that of the other contention model.
  Result<sim::SimReport> after(const sim::SimInput& changed, sim::SimReport& before) const {
    CHAKRA_ASSIGN(sim::SimReport after, simulate(changed));
    if (is_fluid(before) && !is_fluid(after))
      CHAKRA_TRY(sim::simulate_alike(sim::copy_of(changed), after, sim::copy_of(unchanged_), before));
    else if (is_fluid(after) && !is_fluid(before))
      CHAKRA_TRY(sim::simulate_alike(sim::copy_of(unchanged_), before, sim::copy_of(changed), after));
    return after;
  }

 private:
  bool closed_;
  sim::SimInput unchanged_;
};

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
  CHAKRA_ASSIGN(Unchanged job, read_unchanged(o, out));
  sim::SimInput& input = job.input;
  input.stop = stop;
  out.transfers = !communicates(input.job) ? "none" : input.transfers ? "recorded" : "simulated";
  input.node_times = out.change.has_steps();
  const bool changes = std::any_of(o.changes.begin(), o.changes.end(), [](const auto& all) { return !all.empty(); });
  out.changed = changes || !o.network.empty() || !o.devices.device.empty();
  const Comparison comparison(o, out.changed, input);
  CHAKRA_ASSIGN(sim::SimReport before, comparison.before());
  if (out.changed) {
    CHAKRA_ASSIGN(std::vector<sim::ScaledTime> devices, apply(o, job, out));
    CHAKRA_TRY(check_places(o, input));
    const sim::SimInput& was = comparison.unchanged();
    out.likely.settle(out.applied, was, input, !o.network.empty() && have_other_links(was.fabric, input.fabric));
    CHAKRA_ASSIGN(out.report, comparison.after(input, before));
    out.change.take(before, &recorded::RunChange::Change::before_ps);
    if (input.job.ranks.size() != out.change.ranks.size()) out.change.ranks.clear(), out.change.steps.clear();
    for (const Finding& finding : before.findings)
      if (ignores_contention(finding)) out.findings.push_back(about("unchanged", finding));
    out.report.devices = std::move(devices);
    note_free_nodes(before, out.report, out.findings);
    if (changes_links(out)) whatif::compare_algorithms(before, out.report, out.findings);
  } else {
    add_device_findings(job.device_findings, {}, false, out.findings);
    out.change.take(before, &recorded::RunChange::Change::before_ps);
    out.report = std::move(before);
  }
  out.change.take(out.report, &recorded::RunChange::Change::after_ps);
  if (job.facts) job.facts->settle(out.report.memory, out.findings);
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
    if (network || finding.tag != "sim.rank.missing")
      out.findings.push_back(out.changed && ignores_contention(finding) ? about("changed", finding) : finding);
  return out;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using answer::column;
using answer::Unit;

constexpr std::array kWhatIf{
    column<&WhatIf::path>("path", Unit::none, "the path of the job"),
    column<&WhatIf::changed>("changed", Unit::none, "false: only sensitivity or noise"),
    column<&WhatIf::transfers>("transfers", Unit::none, "transfers of the unchanged job: recorded, simulated or none"),
    column<&WhatIf::measured_ps>("measured_ps", Unit::ps, "measured time of the unchanged job; null: not measured"),
    column<WhatIf>("error", Unit::share, "before_ps / measured_ps - 1", [](const WhatIf& r) { return r.error(); }),
    column<WhatIf>(
        "congestion", Unit::none, "the contention model of both simulations: closed or fluid",
        [](const auto& r) { return std::string(sim::kCongestionNames[static_cast<size_t>(r.report.congestion)]); }),
    column<WhatIf>("congestion_reason", Unit::none, "why this model, for the changed job",
                   [](const auto& r) { return r.report.congestion_reason; })};
constexpr std::array kNetwork{answer::column_if<WhatIf>([](const WhatIf& r) { return !r.network.empty(); }, "network",
                                                        Unit::none, "of the changed job, where it has another one",
                                                        [](const WhatIf& r) { return r.network; })};

template <class Part>
const Part* or_null(const std::optional<Part>& part) {
  return part ? &*part : nullptr;
}

}  // namespace

answer::Answer answer_of(const WhatIf& result) {
  answer::Builder to("whatif");
  recorded::add_change("", &result.change, to);
  to.values("", &result, kWhatIf);
  whatif::add_changes(result.applied, to);
  to.values("", &result, kNetwork);
  whatif::add_likely(result.likely, result.change.job.before_ps, result.change.job.after_ps, to);
  sim::add_devices(result.report.devices, to);
  sim::add_memory(result.report, to);
  whatif::add_sensitivity(or_null(result.sensitivity), to);
  whatif::add_noise(or_null(result.noise), to);
  return std::move(to).finish(result.findings);
}

}  // namespace chakra::job
