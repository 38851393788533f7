// chakra sim
#include <fmt/format.h>

#include <filesystem>

#include "chakra/check/check.h"
#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

using table::Table;

constexpr size_t kRanksShown = 16;
constexpr int64_t kMostQueues = 1024;

struct Options {
  std::string path, network, system, memory, groups, expand, compat, json, timeline;
  std::string workload, backend = "congestion_unaware", rendezvous = "false";
  std::string compute_scale, comm_scale, logging, logging_folder;  ///< accepted, as ASTRA-sim does, without effect
  sim::CompatOptions compat_options;
  bool astra_output = false, no_check = false;
};

/// A collective given as one trace per rank: its path counts from the system file's folder, else from
/// the working folder.
Result<trace::TraceSet> read_custom(const std::string& prefix, const std::string& system_file) {
  const std::string beside = (std::filesystem::path(system_file).parent_path() / prefix).string();
  return io::read_job(io::find_ranks(beside) ? beside : prefix);
}

Result<void> read_custom_collectives(sim::SimInput& input) {
  const sim::System& s = input.system;
  using Row = std::pair<trace::CommType, const std::string*>;
  for (const auto& [type, prefix] :
       {Row{trace::CommType::all_reduce, &s.all_reduce_custom}, Row{trace::CommType::all_gather, &s.all_gather_custom},
        Row{trace::CommType::reduce_scatter, &s.reduce_scatter_custom},
        Row{trace::CommType::all_to_all, &s.all_to_all_custom}})
    if (!prefix->empty()) {
      CHAKRA_ASSIGN(trace::TraceSet custom, read_custom(*prefix, s.file));
      input.custom.emplace(type, std::move(custom));
    }
  return {};
}

Json to_json(const Options& o, const sim::SimInput& input, const sim::SimReport& report) {
  Json ranks = Json::array(), collectives = Json::array();
  for (const sim::RankReport& r : report.ranks)
    ranks.push_back({{"rank", r.rank},
                     {"finish_ps", r.finish_ps},
                     {"compute_ps", r.compute_ps},
                     {"exposed_comm_ps", r.exposed_comm_ps},
                     {"idle_ps", r.idle_ps}});
  for (const sim::CollectiveReport& c : report.collectives)
    collectives.push_back({{"group", c.group},
                           {"type", trace::name(c.type)},
                           {"bytes", c.bytes},
                           {"members", c.members},
                           {"count", c.count},
                           {"total_ps", c.total_ps},
                           {"wait_ps", c.wait_ps},
                           {"algorithm_bytes_per_s", c.algorithm_bytes_per_s},
                           {"bus_bytes_per_s", c.bus_bytes_per_s}});
  return {{"mode", o.compat.empty() ? "native" : o.compat},
          {"network", input.fabric.describe()},
          {"makespan_ps", report.makespan_ps},
          {"events", report.events},
          {"ranks", ranks},
          {"collectives", collectives},
          {"findings", cli::to_json(report.findings)}};
}

/// The lines that ASTRA-sim prints and that scripts look for.
std::string astra_lines(const sim::SimReport& report) {
  std::string out;
  for (const sim::RankReport& r : report.ranks)
    out += fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n", r.rank,
                       r.finish_ps / kPsPerNs, r.exposed_comm_ps / kPsPerNs);
  return out;
}

std::string to_text(const Options& o, const sim::SimInput& input, const sim::SimReport& report) {
  std::string out =
      fmt::format("{}: {} ranks on a {}{}\nfinished after {}\n", o.path, report.ranks.size(), input.fabric.describe(),
                  o.compat.empty() ? "" : ", by the rules of " + o.compat, show_time(report.makespan_ps));
  Table ranks{"",
              {{"rank", Table::Kind::count},
               {"finish", Table::Kind::time_ps},
               {"compute", Table::Kind::time_ps},
               {"", Table::Kind::share},
               {"exposed comm", Table::Kind::time_ps},
               {"", Table::Kind::share},
               {"idle", Table::Kind::time_ps},
               {"", Table::Kind::share}},
              {}};
  for (size_t i = 0; i < std::min(report.ranks.size(), kRanksShown); ++i) {
    const sim::RankReport& r = report.ranks[i];
    const auto share = [&](Picoseconds part) {
      return r.finish_ps ? static_cast<double>(part) / static_cast<double>(r.finish_ps) : 0.0;
    };
    ranks.rows.push_back({r.rank, r.finish_ps, r.compute_ps, share(r.compute_ps), r.exposed_comm_ps,
                          share(r.exposed_comm_ps), r.idle_ps, share(r.idle_ps)});
  }
  out += "\n" + view::to_text(ranks);
  if (report.ranks.size() > kRanksShown)
    out += fmt::format("  ... and {} more ranks (--json has all)\n", report.ranks.size() - kRanksShown);
  if (!report.collectives.empty()) {
    Table table{"",
                {{"collective", Table::Kind::text},
                 {"group", Table::Kind::text},
                 {"members", Table::Kind::count},
                 {"size", Table::Kind::bytes},
                 {"count", Table::Kind::count},
                 {"time", Table::Kind::time_ps},
                 {"waiting", Table::Kind::time_ps},
                 {"algorithm", Table::Kind::rate_bytes_per_s},
                 {"bus", Table::Kind::rate_bytes_per_s}},
                {}};
    for (const sim::CollectiveReport& c : report.collectives)
      table.rows.push_back({std::string(trace::name(c.type)), c.group.empty() ? "all" : c.group, int64_t{c.members},
                            static_cast<double>(c.bytes), c.count, c.total_ps, c.wait_ps, c.algorithm_bytes_per_s,
                            c.bus_bytes_per_s});
    out += "\n" + view::to_text(table);
  }
  return out + cli::to_text(report.findings, "");
}

/// What check::prove calls an error is the run's error, before it begins. The compatible mode has its own rules for
/// groups, and its own errors.
Result<void> check_before(const Options& o, const sim::SimInput& input) {
  if (o.no_check) return {};
  Findings errors = check::prove(input.job, match::match(input.job, input.groups));
  std::erase_if(errors, [&](const Finding& f) {
    return f.severity != Severity::error ||
           (!o.compat.empty() && (f.tag.starts_with("match.group.") || f.tag.starts_with("match.rank.")));
  });
  if (errors.empty()) return {};
  const Finding& first = errors.front();
  const std::string where = first.rank < 0   ? ""
                            : first.node < 0 ? fmt::format("rank {}: ", first.rank)
                                             : fmt::format("rank {}: node {}: ", first.rank, first.node);
  return fail(Code::bad_input, first.tag,
              fmt::format("{}{} ({}'chakra check' says more, --no-check runs it nevertheless)", where, first.text,
                          errors.size() > 1 ? fmt::format("and {} more; ", errors.size() - 1) : ""),
              {o.path});
}

/// ASTRA-sim's own command line means its rules, and its lines. A path with "empty" in it is no file there.
Result<void> settle(Options& o) {
  if (!o.workload.empty()) {
    if (!o.path.empty()) return fail(Code::usage, "cli.usage", "the job is given twice");
    o.path = o.workload;
    if (o.compat.empty()) o.compat = "astra-sim";
    o.astra_output = true;
  }
  if (o.path.empty()) return fail(Code::usage, "cli.usage", "which job? Give a prefix, a folder or one trace");
  if (contains(o.groups, "empty")) o.groups.clear();
  if (o.compat.empty() && (o.astra_output || o.compat_options.queues_per_dimension != 1))
    return fail(Code::usage, "cli.usage", "--astra-output and --num-queues-per-dim are for --compat");
  o.compat_options.congestion_aware = o.backend == "congestion_aware";
  o.compat_options.rendezvous = o.rendezvous == "true" || o.rendezvous == "1";
  return {};
}

Result<void> run_sim(Options o) {
  CHAKRA_CHECK(settle(o));
  sim::SimInput input;
  Findings findings;
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", o.compute_scale), std::pair("--comm-scale", o.comm_scale)})
    if (!value.empty() && value != "1")
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          fmt::format("{} {} has no effect here, nor in ASTRA-sim", flag, value)});
  std::vector<std::string> files{o.network, o.system, o.memory, o.groups};
  if (const auto ranks = job_files(o.path))  // what is wrong with the job is said after what is wrong with the system
    files.insert(files.end(), ranks->begin(), ranks->end());
  CHAKRA_CHECK(keep_apart(files, {o.timeline}, o.json));
  CHAKRA_ASSIGN(input.fabric, net::load_fabric(o.network));
  if (!o.system.empty()) {
    CHAKRA_ASSIGN(input.system, sim::load_system(o.system, findings));
  }
  if (!o.memory.empty()) CHAKRA_CHECK(sim::load_memory(o.memory, input.system));
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(input.groups, match::load_groups(o.groups));
  }
  if (!o.compat.empty() && o.system.empty()) return fail(Code::usage, "cli.usage", "--compat needs --system");
  if (!o.compat.empty() && !o.timeline.empty())
    return fail(Code::usage, "cli.usage", "--timeline is for the native mode");
  CHAKRA_ASSIGN(input.job, io::read_job(o.path));
  CHAKRA_CHECK(expand_job(o.expand, input.job, input.groups, findings));
  CHAKRA_CHECK(check_before(o, input));
  input.timeline = !o.timeline.empty();
  input.compat = o.compat_options;
  if (!o.compat.empty()) CHAKRA_CHECK(read_custom_collectives(input));
  CHAKRA_ASSIGN(sim::SimReport report, o.compat.empty() ? sim::simulate(input) : sim::simulate_compat(input));
  report.findings.insert(report.findings.begin(), findings.begin(), findings.end());
  CHAKRA_ASSIGN(std::optional<AtomicFile> json, prepare_json(to_json(o, input, report), o.json));  // both files or none
  if (!o.timeline.empty()) CHAKRA_CHECK(view::write_chrome_trace(report.timeline, o.timeline));
  if (json) CHAKRA_CHECK(json->commit());
  if (o.json == "-") print(cli::to_text(to_json(o, input, report)));
  else print(o.astra_output ? astra_lines(report) + cli::to_text(report.findings, "") : to_text(o, input, report));
  return {};
}

}  // namespace

void add_sim(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  app.add_option("path", options->path, "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace")
      ->type_name("PATH");
  app.add_option("--workload-configuration", options->workload, "The job, as ASTRA-sim's command has it")
      ->type_name("PREFIX");
  app.add_option("--network,--network-configuration", options->network,
                 "The network (YAML: topology, npus_count, bandwidth in GB/s of 2^30, latency in ns)")
      ->required()
      ->type_name("FILE");
  app.add_option("--system,--system-configuration", options->system,
                 "What a rank can do (JSON: roofline-enabled, peak-perf, local-mem-bw, ...)")
      ->type_name("FILE");
  app.add_option("--memory,--remote-memory-configuration", options->memory, "Remote memory (JSON), for --compat")
      ->type_name("FILE");
  app.add_option("--groups,--comm-group-configuration", options->groups, "Process groups, name -> ranks (JSON)")
      ->type_name("FILE");
  add_expand_option(app, options->expand);
  app.add_flag("--no-check", options->no_check, "Run also what 'chakra check' says cannot run");
  app.add_option("--compat", options->compat, "Follow the rules of another simulator to the nanosecond")
      ->type_name("NAME")
      ->check(CLI::IsMember({"astra-sim"}));
  app.add_option("--backend", options->backend, "With --compat: whether messages compete for links")
      ->type_name("NAME")
      ->check(CLI::IsMember({"congestion_unaware", "congestion_aware"}));
  app.add_option("--num-queues-per-dim", options->compat_options.queues_per_dimension,
                 "With --compat: queues for chunks in each dimension")
      ->type_name("N")
      ->check(whole_number(1, kMostQueues));
  app.add_option("--rendezvous-protocol", options->rendezvous,
                 "With --compat: data leaves when the receiver has asked for it")
      ->type_name("BOOL")
      ->check(CLI::IsMember({"true", "false", "1", "0"}));
  app.add_option("--injection-scale", options->compat_options.injection_scale,
                 "With --compat: factor of the endpoint delay")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1e9));
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", &options->compute_scale), std::pair("--comm-scale", &options->comm_scale),
        std::pair("--logging-configuration", &options->logging),
        std::pair("--logging-folder", &options->logging_folder)})
    app.add_option(flag, *value, "Of ASTRA-sim's command; without effect")->group("");
  app.add_flag("--astra-output", options->astra_output, "With --compat: print the lines that ASTRA-sim prints");
  app.add_option("--timeline", options->timeline, "Write what ran when, for ui.perfetto.dev")->type_name("FILE.json");
  add_json_option(app, options->json);
  app.callback([options, &exit_code] {
    if (auto done = run_sim(*options); !done) exit_code = report(done.error());
  });
}

}  // namespace chakra::cli
