#include "chakra/job/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/base/progress.h"
#include "chakra/check/check.h"
#include "chakra/device/device.h"
#include "chakra/io/io.h"
#include "chakra/job/collectives.h"
#include "chakra/job/no_effect.h"
#include "chakra/job/ranks.h"
#include "chakra/job/simulate_input.h"
#include "chakra/trace/metadata.h"
#include "chakra/whatif/whatif.h"

namespace chakra::job {
namespace {

/// A collective given as one trace per rank: its path counts from the system file's folder, else from
/// the working folder.
Result<trace::TraceSet> read_custom(const std::string& prefix, const std::string& system_file) {
  const std::string beside = (std::filesystem::path(system_file).parent_path() / prefix).string();
  return io::read_job(io::find_ranks(beside) ? beside : prefix);
}

using Custom = std::map<trace::CommType, trace::TraceSet>;
Result<Custom> read_custom_collectives(const device::System& s) {
  using Row = std::pair<trace::CommType, const std::string*>;
  Custom all;
  for (const auto& [type, prefix] :
       {Row{trace::CommType::all_reduce, &s.all_reduce_custom}, Row{trace::CommType::all_gather, &s.all_gather_custom},
        Row{trace::CommType::reduce_scatter, &s.reduce_scatter_custom},
        Row{trace::CommType::all_to_all, &s.all_to_all_custom}})
    if (!prefix->empty()) {
      CHAKRA_ASSIGN(trace::TraceSet custom, read_custom(*prefix, s.file));
      all.emplace(type, std::move(custom));
    }
  return all;
}

bool gives_transfers(const SimulateOptions& o) { return o.transfers == recorded::TransferKind::recorded; }

bool is_recorded(const sim::SimInput& input) {
  return input.classes ? sim::has_recorded_starts(*input.classes) : sim::has_recorded_starts(input.job);
}

recorded::RecordingOptions recording_options(const SimulateOptions& o) {
  recorded::RecordingOptions options{o.path, o.compat(), o.align_starts, gives_transfers(o), {}};
  if (o.congestion)
    options.network_options.push_back(
        fmt::format("--congestion {}", sim::kCongestionNames[static_cast<size_t>(*o.congestion)]));
  if (!o.collectives.empty()) options.network_options.emplace_back("--collectives");
  if (!o.routing.empty()) options.network_options.emplace_back("--routing");
  return options;
}

/// What check::prove calls an error is the run's error, before it begins. The compatible mode has its own rules for
/// groups, and its own errors.
Result<void> check_before(const SimulateOptions& o, sim::SimInput& input) {
  if (o.no_check) return {};
  input.matching = match::match(input.job, input.groups);
  Findings errors = check::prove(input.job, *input.matching);
  if (o.compat()) input.matching.reset();  // of no use there
  std::erase_if(errors, [&](const Finding& f) {
    return f.severity != Severity::error ||
           (o.compat() && (f.tag.starts_with("match.group.") || f.tag.starts_with("match.rank.")));
  });
  if (errors.empty()) return {};
  const Finding& first = errors.front();
  const std::string where = first.rank < 0   ? ""
                            : first.node < 0 ? fmt::format("rank {}: ", first.rank)
                                             : fmt::format("rank {}: node {}: ", first.rank, first.node);
  return fail(Code::bad_input, first.tag,
              fmt::format("{}{} ({}run 'chakra check' for details; --no-check skips this check)", where, first.text,
                          errors.size() > 1 ? fmt::format("and {} more; ", errors.size() - 1) : ""),
              {o.path});
}

/// --routing instead of what the network file says.
Result<void> set_routing(const SimulateOptions& o, net::Fabric& fabric, Findings& findings) {
  const bool asked = !o.routing.empty();
  if (asked) {
    auto routing = net::parse_routing(o.routing);
    if (!routing) return fail(Code::usage, "cli.usage", fmt::format("--routing: {}", routing.error().text));
    fabric.routing = *routing;
    if (auto checked = net::check_routing(fabric); !checked)
      return fail(Code::usage, "cli.usage", fmt::format("--routing: {}", checked.error().text));
  }
  if (!asked && fabric.routing.kind == net::Routing::spread) return {};
  const char* option = asked ? "--routing" : "'routing' of the network file";
  if (o.compat()) findings.push_back(no_effect(option, "ASTRA-sim's rules define the routes"));
  else if (!fabric.has_choice() && fabric.routing.kind != net::Routing::valiant)
    findings.push_back(no_effect(option, "this network has only one shortest route between any two ranks"));
  return {};
}

/// The network, the system and all else that is said beside the job.
Result<void> read_system(const SimulateOptions& o, sim::SimInput& input, Findings& findings) {
  if (!o.network.empty()) {
    CHAKRA_ASSIGN(input.fabric, load_network(o.network, o.networks, findings));
    CHAKRA_TRY(set_routing(o, input.fabric, findings));
  }
  if (o.compat() && !input.fabric.fits.empty())
    findings.push_back({"sim.fitted.not_used", Severity::warning, -1, -1,
                        "ASTRA-sim does not support measured 'collectives'; those of the network file have no effect"});
  if (o.compat() && input.fabric.burst_bytes > 0)
    findings.push_back({"sim.burst.not_used", Severity::warning, -1, -1,
                        "ASTRA-sim does not support 'burst'; the key of the network file has no effect"});
  if (!o.system.empty()) {
    CHAKRA_ASSIGN(input.system, device::load_system(o.system, findings));
  }
  CHAKRA_TRY(use_devices(o.devices, input.system));
  if (!o.memory.empty()) CHAKRA_TRY(device::load_memory(o.memory, input.system));
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(input.groups, match::load_groups(o.groups));
  }
  if (o.compat() && o.system.empty()) return fail(Code::usage, "cli.usage", "--compat needs --system");
  return {};
}

/// Groups of all ranks, of which the traces do not list the members, consist of the ranks of the job: those that were
/// selected, and their copies.
void shrink_to_selection(const trace::TraceSet& job, match::GroupTable& groups) {
  std::vector<int64_t> ranks;
  for (const trace::Trace& t : job.ranks) ranks.push_back(t.rank);
  for (const char* const name : {"", "0"}) {
    const bool listed = std::any_of(job.ranks.begin(), job.ranks.end(), [&](const trace::Trace& t) {
      return std::any_of(t.groups.begin(), t.groups.end(),
                         [&](const trace::ProcessGroup& group) { return group.name == name && !group.ranks.empty(); });
    });
    if (!listed) groups.try_emplace(name, ranks);
  }
}

Result<void> read_traces(const SimulateOptions& o, sim::SimInput& input, Findings& findings) {
  if (!o.compat() && o.ranks.empty() && is_class_job(o.path, o.loaded)) {
    if (!o.expand.empty()) return fail(Code::usage, "cli.usage", "--expand does not support jobs with a ranks.json");
    CHAKRA_ASSIGN(input.classes, read_class_job(o.path, o.loaded));
    return {};
  }
  CHAKRA_ASSIGN(input.job, read_ranks(o.path, o.loaded, o.ranks, o.compat() ? input.fabric.size() : -1, findings));
  CHAKRA_TRY(expand_job(o.expand, input.job, input.groups, findings));
  if (!o.ranks.empty() && !o.compat()) shrink_to_selection(input.job, input.groups);
  if (o.compat()) astra::number_groups(input.job, input.groups, findings);
  return check_before(o, input);
}

Result<void> set_options(const SimulateOptions& o, sim::SimInput& input) {
  input.timeline = !o.timeline.empty();
  input.link_loads = o.link_loads || (input.timeline && !o.compat());
  if (o.packet_bytes) input.packets.packet_bytes = static_cast<uint64_t>(*o.packet_bytes);
  input.fold = !o.no_fold && (o.timeline.empty() || input.classes);  // a timeline shows every rank
  if (o.congestion) input.congestion = *o.congestion;
  CHAKRA_ASSIGN(input.collectives, read_collectives(o.collectives));
  return {};
}

/// The job by ASTRA-sim's rules, where all that is not compute is exposed communication.
Result<sim::SimReport> simulate_as_astra(const SimulateOptions& o, sim::SimInput&& input, Custom&& custom) {
  CHAKRA_ASSIGN(astra::Report run, astra::simulate({.job = std::move(input.job),
                                                    .fabric = std::move(input.fabric),
                                                    .system = std::move(input.system),
                                                    .groups = std::move(input.groups),
                                                    .options = o.compat_options,
                                                    .custom = std::move(custom),
                                                    .stop = input.stop}));
  sim::SimReport report;
  report.makespan_ps = run.makespan_ps;
  for (const astra::Report::Rank& r : run.ranks)
    report.ranks.push_back({.rank = r.rank,
                            .finish_ps = r.finish_ps,
                            .compute_ps = r.compute_ps,
                            .exposed_comm_ps = r.finish_ps - r.compute_ps});
  report.interrupted = run.interrupted;
  report.events = run.events;
  report.findings = std::move(run.findings);
  return report;
}

// `sim.unrecorded` (warning or, below 1 %, note): device work that the recording lacks counts as computation.
void note_unrecorded(const sim::SimInput& input, Findings& findings) {
  int64_t nodes = 0, ranks = 0;
  double time = 0, all = 0;  // ps, of device nodes of these ranks
  const auto& traces = input.classes ? input.classes->classes : input.job.ranks;
  for (const trace::Trace& t : traces) {
    if (t.strings.find(trace::kUnrecorded) == 0) continue;
    ++ranks;
    for (const trace::NodeId n : t.nodes()) {
      if (t.on_cpu(n) || trace::is_comm(t.type[n])) continue;
      all += static_cast<double>(t.dur_ps[n]);
      if (t.name_of(n) != trace::kUnrecorded) continue;
      ++nodes;
      time += static_cast<double>(t.dur_ps[n]);
    }
  }
  if (nodes == 0 || time <= 0) return;
  const double part = time / all;
  findings.push_back(
      {"sim.unrecorded", part < 0.01 ? Severity::note : Severity::warning, -1, -1,
       fmt::format("the recording lacks device work: {} nodes {} on {} of {} ranks, {} of their computation "
                   "on devices, are assumed computation, though they may be communication",
                   show_count(nodes), trace::kUnrecorded, ranks, traces.size(), show_percent(part))});
}

}  // namespace

Result<void> use_devices(const DeviceOptions& options, device::System& system) {
  system.keep_unrecorded = options.unrecorded == Unrecorded::keep;
  if (!options.device.empty()) {
    CHAKRA_ASSIGN(system.target, device::find_or_load(options.device));
    CHAKRA_TRY(device::use_stack(options.stack, *system.target));
  }
  if (!options.from_device.empty()) {
    CHAKRA_ASSIGN(system.recorded, device::find_or_load(options.from_device));
  }
  return {};
}

Result<match::GroupTable> read_input(const SimulateOptions& o, sim::SimInput& input, Findings& findings) {
  CHAKRA_TRY(read_system(o, input, findings));
  match::GroupTable groups = input.groups;
  CHAKRA_TRY(read_traces(o, input, findings));
  if (!o.devices.device.empty()) CHAKRA_TRY(whatif::use_stack_of_job(o.devices.stack, input, findings));
  CHAKRA_TRY(set_options(o, input));
  note_unrecorded(input, findings);
  return groups;
}

namespace {

const trace::Trace* first_of(const sim::SimInput& input) {
  if (input.classes && !input.classes->classes.empty()) return &input.classes->classes.front();
  return input.job.ranks.empty() ? nullptr : &input.job.ranks.front();
}

/// Of the job as it was generated: not where other ranks than its own run.
void read_work(const SimulateOptions& o, const trace::Trace& first, const std::optional<whatif::RecipeFacts>& facts,
               SimulateResult& result) {
  if (!o.ranks.empty() || !o.expand.empty()) return;
  result.step.tokens = std::max<int64_t>(trace::metadata_number(first, "tokens").value_or(0), 0);
  result.step.model_operations =
      std::max<int64_t>(trace::metadata_number(first, "model_operations_per_rank").value_or(0), 0);
  if (const auto fp8 = trace::metadata_number(first, "model_fp8_operations_per_rank"))
    result.step.model_fp8_operations = std::clamp<int64_t>(*fp8, 0, result.step.model_operations);
  if (result.step.tokens > 0 && o.delays.empty() && facts) result.step.published = facts->published;
}

}  // namespace

Result<SimulateResult> simulate_job(SimulateOptions o, const SimulateHooks& hooks) {
  CHAKRA_TRY(options::check_call(o));
  sim::SimInput input;
  SimulateResult result;
  result.path = o.path;
  result.compat = o.compat();
  Findings findings;
  CHAKRA_ASSIGN(const match::GroupTable groups, read_input(o, input, findings));
  if (hooks.change && gives_times(input.system))
    return fail(Code::usage, "cli.usage",
                "devices, a roofline and Models::prices() all determine node times and exclude each other");
  if (hooks.change) CHAKRA_TRY(hooks.change(input));
  Custom custom;
  if (o.compat()) {
    CHAKRA_ASSIGN(custom, read_custom_collectives(input.system));
  }
  if (!o.compat() && !o.congestion) input.congestion = sim::Congestion::automatic;
  input.stop = hooks.stop;
  input.partial = true;
  input.progress = hooks.progress;
  input.waits = hooks.waits;
  if (hooks.begins) hooks.begins();
  result.network = input.fabric.describe();
  std::optional<whatif::RecipeFacts> facts_of_recipe;
  if (const trace::Trace* const first = first_of(input)) {
    if (!o.compat()) facts_of_recipe = whatif::recipe_facts(*first, input.system);
    read_work(o, *first, facts_of_recipe, result);
  }
  const bool whole = o.ranks.empty() && o.expand.empty() && o.delays.empty();
  if (!o.compat() && whole && !hooks.change) result.served = whatif::served(input);
  input.system.use_roofline();
  JobFacts facts = facts_of(input, groups, findings);
  facts.serves = result.served.has_value();
  if (!o.delays.empty() && !o.transfers && is_recorded(input)) o.transfers = recorded::TransferKind::recorded;
  result.recorded_transfers = gives_transfers(o);
  std::string reason;  // of the congestion, where another run decided it
  CHAKRA_ASSIGN(result.replay, recorded::use_recording(recording_options(o), input, findings));
  if (!o.delays.empty()) {
    const bool automatic = input.congestion == sim::Congestion::automatic;
    CHAKRA_ASSIGN(result.delays, recorded::DelayStudy::begin(o.delays, o.path, input, findings));
    if (automatic) reason = fmt::format("as without the delays: {}", result.delays->congestion_reason);
  }
  std::optional<sim::SimInput> again;
  if (o.diagnose && !hooks.change) again = sim::copy_of(input);
  else if (o.diagnose)
    findings.push_back(no_effect("--diagnose", "your models may give other results in a second run"));
  CHAKRA_ASSIGN(result.report, o.compat() ? simulate_as_astra(o, std::move(input), std::move(custom))
                                          : sim::simulate(std::move(input)));
  sim::SimReport& report = result.report;
  result.replays = recorded::replayed_job(result.replay, findings);
  for (Finding& finding : recorded::max_error_without_effect(o.max_error, result.replays))
    findings.push_back(std::move(finding));
  if (result.replay && !report.interrupted && !result.recorded_transfers)
    result.replay->add(recorded::TransferKind::simulated, report);
  if (report.interrupted) result.delays.reset();  // a part of the run is not compared with the whole one
  if (result.delays) {
    result.delays->add(report);
    if (!reason.empty()) report.congestion_reason = reason;
  }
  report.findings.insert(report.findings.begin(), findings.begin(), findings.end());
  if (facts_of_recipe) facts_of_recipe->settle(report.memory, report.findings);
  if (again && !report.interrupted) {
    CHAKRA_ASSIGN(result.diagnoses, whatif::diagnose(std::move(*again), report));
  }
  if (!report.interrupted)
    for (Finding& finding : options_without_effect(o, facts, report)) report.findings.push_back(std::move(finding));
  return result;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using answer::column;
using answer::Unit;

constexpr std::array kRules{
    column<SimulateResult>("mode", Unit::none, "rules of the run: native or astra-sim",
                           [](const auto& r) { return std::string(r.compat ? "astra-sim" : "native"); }),
    column<&SimulateResult::network>("network", Unit::none, "the network, described")};
constexpr std::array kTransfers{
    column<SimulateResult>("transfers", Unit::none, "duration of transfers: simulated or recorded", [](const auto& r) {
      return std::string(recorded::kTransferKinds[static_cast<size_t>(
          r.recorded_transfers ? recorded::TransferKind::recorded : recorded::TransferKind::simulated)]);
    })};

}  // namespace

Result<SimulateResult> simulate_to_end(const SimulateOptions& options, const std::atomic<bool>* stop) {
  SimulateHooks hooks;
  hooks.stop = stop;
  hooks.progress = [](const sim::Progress& p) { (void)keep_going(p.nodes_done, p.nodes); };
  CHAKRA_ASSIGN(SimulateResult result, simulate_job(options, hooks));
  if (result.report.interrupted)
    return fail(Code::interrupted, "sim.interrupted", "stopped before the end of the simulation");
  return result;
}

answer::Answer answer_of(const SimulateResult& result, bool candidates) {
  const bool native = !result.compat;
  answer::Builder to("sim");
  to.values("", &result, kRules);
  sim::add_report(result.report, {native, candidates, result.step}, to);
  whatif::add_served("serving.", native && result.served && !result.report.interrupted ? &*result.served : nullptr, to);
  to.values("", native ? &result : nullptr, kTransfers);
  recorded::add_measured("measured.", native ? result.replay : std::nullopt, to);
  recorded::add_delays(native ? result.delays : std::nullopt, to);
  result::add_tables(
      to, "", analyze::diagnosis_tables({}),
      result.diagnoses ? analyze::diagnosis_tables(*result.diagnoses) : std::vector<result::NamedTable>());
  return std::move(to).finish(result.report.findings);
}

}  // namespace chakra::job
