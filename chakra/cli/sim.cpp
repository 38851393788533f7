// chakra sim
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>

#include "chakra/cli/cli.h"
#include "chakra/cli/job_replay.h"
#include "chakra/cli/sim_delays.h"
#include "chakra/cli/sim_devices.h"
#include "chakra/cli/sim_stuck.h"
#include "chakra/cli/sim_tiers.h"
#include "chakra/job/job.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

using table::Table;

constexpr size_t kRanksShown = 16;
constexpr size_t kCollectivesShown = 24;
constexpr size_t kPathShown = 10;
constexpr int64_t kMostQueues = 1024;
constexpr int64_t kMostPacket = int64_t{1} << 30;

/// Set by Ctrl-C: the run ends with what there is.
std::atomic<bool> stop_asked{false};

/// The first Ctrl-C ends the run, and what there is by then is written; one that comes seconds later also ends that.
void stop(int signal) {
  static std::time_t first = 0;
  const std::time_t now = std::time(nullptr);
  if (!stop_asked) first = now;
  stop_asked = true;
  if (now <= first + 1) return;
  end_on_signals();
  std::raise(signal);
}

struct Options {
  job::SimulateOptions call;
  std::string compat, json, csv, timeline;
  std::string workload, backend, rendezvous;
  std::string compute_scale, comm_scale, logging, logging_folder;  ///< accepted, as ASTRA-sim does, without effect
  bool no_fold = false, no_check = false, astra_output = false;
};

/// "ALL_REDUCE" or "messages".
std::string what(const sim::ActorReport::Exposed& e) {
  return e.type == trace::CommType::unknown ? "messages" : std::string(trace::name(e.type));
}

/// Which algorithm was taken, and what the others were predicted to take.
void add_algorithm(const sim::CollectiveReport& c, Json& json) {
  json["algorithm"] = c.algorithm->name;
  json["near_order"] = c.near;
  json["by_rule"] = c.by_rule;
  Json candidates = Json::array();
  for (const coll::Candidate& candidate : c.candidates)
    candidates.push_back({{"algorithm", candidate.algorithm->name},
                          {"near_order", candidate.near},
                          {"predicted_ps", candidate.predicted_ps ? Json(*candidate.predicted_ps) : Json(nullptr)}});
  json["candidates"] = std::move(candidates);
}

/// "direct, near", and why: "asked for", or the next best algorithm and how much longer it would take alone.
std::pair<std::string, std::string> algorithm_text(const sim::CollectiveReport& c) {
  if (!c.algorithm) return {};
  std::string name = fmt::format("{}{}", c.algorithm->name, c.near ? ", near" : "");
  if (c.by_rule) return {std::move(name), "asked for"};
  const coll::Candidate *taken = nullptr, *next = nullptr;
  for (const coll::Candidate& other : c.candidates) {
    if (other.algorithm == c.algorithm && other.near == c.near) taken = &other;
    else if (other.algorithm != c.algorithm && other.predicted_ps &&
             (!next || *other.predicted_ps < *next->predicted_ps))
      next = &other;
  }
  if (!taken || !taken->predicted_ps) return {std::move(name), "too large to compare"};
  if (!next || *taken->predicted_ps == 0) return {std::move(name), "no other"};
  const double more = static_cast<double>(*next->predicted_ps) / static_cast<double>(*taken->predicted_ps) - 1;
  if (std::abs(more) < 0.005) return {std::move(name), fmt::format("{}, as fast", next->algorithm->name)};
  return {std::move(name), fmt::format("{} {:+.1f} %", next->algorithm->name, 100 * more)};
}

Json to_json(const std::string& compat, const job::SimulateResult& result) {
  const sim::SimReport& report = result.report;
  const bool native = compat.empty();
  Json ranks = Json::array(), collectives = Json::array();
  for (const sim::RankReport& r : report.ranks) {
    Json rank{{"rank", r.rank},
              {"finish_ps", r.finish_ps},
              {"compute_ps", r.compute_ps},
              {"exposed_comm_ps", r.exposed_comm_ps}};
    if (native) {
      rank["host_ps"] = r.host_ps;
      rank["bubble_ps"] = r.bubble_ps;
    }
    if (!report.tiers.empty()) rank["exposed_storage_ps"] = r.exposed_storage_ps;
    rank["idle_ps"] = r.idle_ps;
    if (native) rank["actor"] = r.actor;
    ranks.push_back(std::move(rank));
  }
  for (const sim::CollectiveReport& c : report.collectives) {
    collectives.push_back({{"group", c.group},
                           {"type", trace::name(c.type)},
                           {"bytes", c.bytes},
                           {"members", c.members},
                           {"count", c.count},
                           {"total_ps", c.total_ps},
                           {"wait_ps", c.wait_ps},
                           {"algorithm_bytes_per_s", c.algorithm_bytes_per_s},
                           {"bus_bytes_per_s", c.bus_bytes_per_s}});
    if (c.algorithm) add_algorithm(c, collectives.back());
  }
  Json json{{"mode", native ? "native" : compat},   {"network", result.network}, {"makespan_ps", report.makespan_ps},
            {"interrupted", report.interrupted},    {"events", report.events},   {"ranks", std::move(ranks)},
            {"collectives", std::move(collectives)}};
  if (native) {
    Json actors = Json::array(), links = Json::array(), path = Json::array();
    for (const sim::ActorReport& a : report.actors) {
      Json exposed = Json::array();
      for (const auto& e : a.exposed)
        exposed.push_back({{"what", what(e)}, {"group", e.group}, {"time_ps", e.time_ps}});
      actors.push_back({{"ranks", a.ranks}, {"exposed", std::move(exposed)}});
      add_rates(a, actors.back());
    }
    for (const sim::LinkReport& l : report.links)
      links.push_back({{"from", l.from}, {"to", l.to}, {"bytes", l.bytes}, {"busy_ps", l.busy_ps}});
    for (const sim::PathPiece& p : report.critical_path) {
      path.push_back({{"kind", sim::kPathKindNames[static_cast<size_t>(p.kind)]},
                      {"rank", p.rank},
                      {"node", p.node},
                      {"name", p.name},
                      {"start_ps", p.start_ps},
                      {"end_ps", p.end_ps}});
      if (!p.tier.empty()) path.back()["tier"] = p.tier;
    }
    json["actors"] = std::move(actors);
    json["devices"] = devices_json(report);
    json["links"] = std::move(links);
    if (!report.tiers.empty()) json["tiers"] = tiers_json(report);
    json["critical_path"] = std::move(path);
    json["transfers"] = result.recorded_transfers ? "recorded" : "simulated";
    if (result.replay) json["measured"] = cli::to_json(*result.replay, "ps");
    if (result.delays) json["delays"] = cli::to_json(*result.delays);
  }
  json["findings"] = cli::to_json(report.findings);
  return json;
}

/// The lines that ASTRA-sim prints and that scripts look for.
std::string astra_lines(const sim::SimReport& report) {
  std::string out;
  for (const sim::RankReport& r : report.ranks)
    out += fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n", r.rank,
                       r.finish_ps / kPsPerNs, r.exposed_comm_ps / kPsPerNs);
  return out;
}

/// "0", or "0 (and 127 alike)" where one was simulated for all of them.
std::string rank_label(const sim::SimReport& report, const sim::RankReport& r) {
  const int64_t alike = report.actors.empty() ? 1 : report.actors[r.actor].ranks;
  return alike > 1 ? fmt::format("{} (and {} alike)", r.rank, show_count(alike - 1)) : fmt::format("{}", r.rank);
}

/// One row per rank; of ranks that were simulated as one, the first.
Table rank_table(const sim::SimReport& report, bool all) {
  using Part = std::pair<const char*, Picoseconds sim::RankReport::*>;
  std::vector<Part> parts{{"compute", &sim::RankReport::compute_ps},
                          {"exposed comm", &sim::RankReport::exposed_comm_ps}};
  if (!report.tiers.empty()) parts.push_back({"exposed storage", &sim::RankReport::exposed_storage_ps});
  for (const Part& part : {Part{"bubble", &sim::RankReport::bubble_ps}, Part{"host", &sim::RankReport::host_ps}})
    if (all || std::any_of(report.ranks.begin(), report.ranks.end(), [&](const auto& r) { return r.*part.second > 0; }))
      parts.push_back(part);
  parts.push_back({"idle", &sim::RankReport::idle_ps});
  const bool folded = !all && std::any_of(report.actors.begin(), report.actors.end(),
                                          [](const sim::ActorReport& actor) { return actor.ranks > 1; });
  Table table{"", {{"rank", folded ? Table::Kind::text : Table::Kind::count}, {"finish", Table::Kind::time_ps}}, {}};
  for (const Part& part : parts) {
    table.columns.push_back({part.first, Table::Kind::time_ps});
    if (!all) table.columns.push_back({"", Table::Kind::share});
  }
  std::vector<char> seen(report.actors.size(), 0);
  for (const sim::RankReport& r : report.ranks) {
    if (!all && !report.actors.empty() && std::exchange(seen[r.actor], 1)) continue;
    std::vector<Table::Cell> row{folded ? Table::Cell(rank_label(report, r)) : Table::Cell(r.rank), r.finish_ps};
    for (const Part& part : parts) {
      row.push_back(r.*part.second);
      if (!all)
        row.push_back(r.finish_ps ? static_cast<double>(r.*part.second) / static_cast<double>(r.finish_ps) : 0.0);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// A row per group; unless all are wanted, groups of which the same is to be said share one.
Table collective_table(const sim::SimReport& report, bool all) {
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
  const bool native = std::any_of(report.collectives.begin(), report.collectives.end(),
                                  [](const sim::CollectiveReport& c) { return c.algorithm; });
  if (native) {
    table.columns.push_back({"taken", Table::Kind::text});
    table.columns.push_back({"next best", Table::Kind::text});
  }
  std::map<std::vector<int64_t>, std::pair<size_t, int64_t>> alike;  // what is said -> its row, and groups
  for (const sim::CollectiveReport& c : report.collectives) {
    const std::vector<int64_t> said{
        static_cast<int64_t>(c.type), c.members, static_cast<int64_t>(c.bytes), c.count, c.total_ps, c.wait_ps};
    const auto [found, added] = alike.try_emplace(said, table.rows.size(), 0);
    ++found->second.second;
    if (!added && !all) continue;
    table.rows.push_back({std::string(trace::name(c.type)), c.group.empty() ? "all" : c.group, int64_t{c.members},
                          static_cast<double>(c.bytes), c.count, c.total_ps, c.wait_ps, c.algorithm_bytes_per_s,
                          c.bus_bytes_per_s});
    if (!native) continue;
    auto [name, why] = algorithm_text(c);
    table.rows.back().emplace_back(std::move(name));
    table.rows.back().emplace_back(std::move(why));
  }
  for (const auto& [said, row] : alike)
    if (!all && row.second > 1)
      std::get<std::string>(table.rows[row.first][1]) += fmt::format(" (and {} alike)", show_count(row.second - 1));
  return table;
}

Table link_table(const sim::SimReport& report) {
  Table table{"",
              {{"from", Table::Kind::text},
               {"to", Table::Kind::text},
               {"carried", Table::Kind::bytes},
               {"busy", Table::Kind::time_ps},
               {"", Table::Kind::share}},
              {}};
  for (const sim::LinkReport& l : report.links)
    table.rows.push_back(
        {l.from, l.to, static_cast<double>(l.bytes), l.busy_ps,
         report.makespan_ps ? static_cast<double>(l.busy_ps) / static_cast<double>(report.makespan_ps) : 0.0});
  return table;
}

/// A bar per link, as long as the busiest link is busy.
void add_bars(Table& links) {
  constexpr double kLongest = 20;
  links.columns.push_back({"", Table::Kind::text});
  const auto busy = [](const std::vector<Table::Cell>& row) { return static_cast<double>(std::get<int64_t>(row[3])); };
  const double most = links.rows.empty() ? 1 : std::max(1.0, busy(links.rows.front()));
  for (auto& row : links.rows)
    row.emplace_back(std::string(static_cast<size_t>(kLongest * busy(row) / most + 0.5), '#'));
}

/// How evenly links are used: one that carries what eight should stands out.
std::string link_summary(const sim::SimReport& report) {
  std::vector<Picoseconds> busy;
  for (const sim::LinkReport& l : report.links) busy.push_back(l.busy_ps);
  std::sort(busy.begin(), busy.end());
  return fmt::format("  {} links carried something; the busiest for {}, half of them for {} or less\n",
                     show_count(static_cast<int64_t>(busy.size())), show_time(busy.back()),
                     show_time(busy[busy.size() / 2]));
}

/// What the critical path is made of, the largest first; adds up to the makespan.
Table path_table(const sim::SimReport& report) {
  std::map<std::string, std::pair<Picoseconds, int64_t>> sums;
  for (const sim::PathPiece& p : report.critical_path) {
    std::string text(sim::kPathKindNames[static_cast<size_t>(p.kind)]);
    if (p.kind == sim::PathPiece::Kind::collective)
      text = fmt::format("{} of group {}", trace::name(p.type), p.group.empty() ? "all" : p.group);
    if (p.kind == sim::PathPiece::Kind::storage) text = fmt::format("storage, tier {}", p.tier);
    auto& [time, count] = sums[text];
    time += p.end_ps - p.start_ps;
    ++count;
  }
  Table table{"",
              {{"critical path", Table::Kind::text},
               {"pieces", Table::Kind::count},
               {"time", Table::Kind::time_ps},
               {"", Table::Kind::share}},
              {}};
  for (const auto& [text, sum] : sums)
    table.rows.push_back(
        {text, sum.second, sum.first,
         static_cast<double>(sum.first) / static_cast<double>(std::max<Picoseconds>(1, report.makespan_ps))});
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& x, const auto& y) { return std::get<int64_t>(x[2]) > std::get<int64_t>(y[2]); });
  return table;
}

std::string to_text(const std::string& path, const std::string& compat, const job::SimulateResult& result) {
  const sim::SimReport& report = result.report;
  std::string out = fmt::format("{}: {} ranks on a {}{}{}\n{} after {}\n", path, report.ranks.size(), result.network,
                                compat.empty() ? "" : ", by the rules of " + compat,
                                result.recorded_transfers ? ", transfers as recorded" : "",
                                report.interrupted ? "stopped" : "finished", show_time(report.makespan_ps));
  if (result.delays) out += cli::to_text(*result.delays);
  out += show_some(rank_table(report, false), kRanksShown, "ranks");
  out += rates_line(report);
  if (!report.devices.empty()) out += show_some(device_table(report), kPathShown, "rows");
  if (!report.collectives.empty()) out += show_some(collective_table(report, false), kCollectivesShown, "rows");
  if (!report.links.empty()) {
    Table links = link_table(report);
    std::stable_sort(links.rows.begin(), links.rows.end(),
                     [](const auto& x, const auto& y) { return std::get<int64_t>(x[3]) > std::get<int64_t>(y[3]); });
    add_bars(links);
    out += show_some(std::move(links), kPathShown, "links");
    out += link_summary(report);
  }
  if (!report.tiers.empty()) out += show_some(tier_table(report), kPathShown, "tiers");
  if (!report.critical_path.empty()) out += show_some(path_table(report), kPathShown, "rows");
  if (result.replay) out += cli::to_text(*result.replay);
  return out + cli::to_text(report.findings, "");
}

/// PREFIX.ranks.csv and so on; all or none.
Result<void> write_csv(const sim::SimReport& report, const std::string& prefix) {
  std::vector<AtomicFile> files;
  const auto add = [&](const char* name, const Table& table) -> Result<void> {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(fmt::format("{}.{}.csv", prefix, name)));
    CHAKRA_TRY(file.write(view::to_csv(table)));
    files.push_back(std::move(file));
    return {};
  };
  CHAKRA_TRY(add("ranks", rank_table(report, true)));
  CHAKRA_TRY(add("collectives", collective_table(report, true)));
  if (!report.links.empty()) CHAKRA_TRY(add("links", link_table(report)));
  if (!report.tiers.empty()) CHAKRA_TRY(add("tiers", tier_table(report)));
  if (!report.critical_path.empty()) CHAKRA_TRY(add("critical_path", path_table(report)));
  for (AtomicFile& file : files) CHAKRA_TRY(file.commit());
  return {};
}

/// On a terminal, and only past a second: how far a run is and how long it may still take.
std::function<void(const sim::Progress&)> progress_line() {
  if (!isatty(STDERR_FILENO)) return {};
  using Clock = std::chrono::steady_clock;
  return [begun = Clock::now(), last = Clock::now()](const sim::Progress& p) mutable {
    const auto now = Clock::now();
    const double passed = std::chrono::duration<double>(now - begun).count();
    if (passed < 1 || now - last < std::chrono::milliseconds(250)) return;
    last = now;
    const double done = p.nodes ? static_cast<double>(p.nodes_done) / static_cast<double>(p.nodes) : 0;
    print_error(fmt::format("\r{:.0f} M events, {:.1f} M/s, {} simulated, {:.0f} % of the nodes done, {:.0f} s left  ",
                            static_cast<double>(p.events) / 1e6, static_cast<double>(p.events) / 1e6 / passed,
                            show_time(p.now_ps), 100 * done, done > 0 ? passed / done - passed : 0.0));
  };
}

/// ASTRA-sim's own command line means its rules, and its lines. There, a path with "empty" in it names no file.
Result<void> settle(Options& o) {
  if (!o.workload.empty()) {
    if (!o.call.path.empty()) return fail(Code::usage, "cli.usage", "the job is given twice");
    o.call.path = o.workload;
    if (o.compat.empty()) o.compat = "astra-sim";
    o.astra_output = true;
  }
  if (o.call.path.empty()) return fail(Code::usage, "cli.usage", "which job? Give a prefix, a folder or one trace");
  if (contains(o.call.groups, "empty")) o.call.groups.clear();
  astra::Options& compat = o.call.compat_options;
  if (o.compat.empty() && (o.astra_output || compat.queues_per_dimension != 1 || !o.backend.empty() ||
                           !o.rendezvous.empty() || compat.injection_scale != 1))
    return fail(Code::usage, "cli.usage",
                "--astra-output, --backend, --num-queues-per-dim, --rendezvous-protocol and --injection-scale are for "
                "--compat");
  compat.congestion_aware = o.backend == "congestion_aware";
  compat.rendezvous = o.rendezvous == "true" || o.rendezvous == "1";
  o.call.compat = !o.compat.empty();
  o.call.fold = !o.no_fold;
  o.call.check = !o.no_check;
  o.call.timeline = !o.timeline.empty();
  return {};
}

/// Options of ASTRA-sim's command that are accepted without effect.
Findings ignored_options(const Options& o) {
  Findings findings;
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", o.compute_scale), std::pair("--comm-scale", o.comm_scale)})
    if (!value.empty() && value != "1")
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          fmt::format("{} {} has no effect here, nor in ASTRA-sim", flag, value)});
  for (const auto& [flag, value] :
       {std::pair("--logging-configuration", o.logging), std::pair("--logging-folder", o.logging_folder)})
    if (!value.empty()) findings.push_back(job::no_effect(flag, "nothing is logged; --json says what happens"));
  return findings;
}

Result<void> check_outputs(const Options& o) {
  std::vector<std::string> files{o.call.network, o.call.system, o.call.memory, o.call.groups};
  if (const auto ranks =
          job_files(o.call.path))  // the errors in the job are reported later, after the errors in the system
    files.insert(files.end(), ranks->begin(), ranks->end());
  std::vector<std::string> outputs{o.timeline};
  if (!o.csv.empty())
    for (const char* name : {"ranks", "collectives", "links", "tiers", "critical_path"})
      outputs.push_back(fmt::format("{}.{}.csv", o.csv, name));
  return keep_apart(files, outputs, o.json);
}

Result<void> run_sim(Options o) {
  CHAKRA_TRY(settle(o));
  CHAKRA_TRY(check_outputs(o));
  std::vector<sim::Wait> waits;
  Result<job::SimulateResult> run = job::simulate_job(
      o.call,
      {.begins = [] { std::signal(SIGINT, stop); }, .progress = progress_line(), .stop = &stop_asked, .waits = &waits});
  if (!run) CHAKRA_TRY(write_waits(run.error(), waits, o.json));
  CHAKRA_ASSIGN(job::SimulateResult result, std::move(run));
  sim::SimReport& report = result.report;
  const Findings ignored = ignored_options(o);
  report.findings.insert(report.findings.begin(), ignored.begin(), ignored.end());
  const Json as_json = json_if_asked(o.json, [&] { return to_json(o.compat, result); });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json, prepare_json(as_json, o.json));  // both files or none
  if (!o.timeline.empty()) CHAKRA_TRY(view::write_chrome_trace(report.timeline, o.timeline));
  if (!o.csv.empty()) CHAKRA_TRY(write_csv(report, o.csv));
  if (json) CHAKRA_TRY(json->commit());
  if (o.json == "-") print(cli::to_text(as_json));
  else if (o.astra_output) print(astra_lines(report) + cli::to_text(report.findings, ""));
  else print(to_text(o.call.path, o.compat, result));
  if (report.interrupted)
    return fail(Code::interrupted, "sim.interrupted", "stopped; the result is what there was by then");
  return job::check_errors(o.call.max_error, result.replays);
}

}  // namespace

Syntax sim_syntax() {
  auto options = std::make_shared<Options>();
  const auto ignored = [](std::string name, std::string* value) {
    return Option{
        .names = std::move(name), .target = value, .help = "Of ASTRA-sim's command; without effect", .hidden = true};
  };
  return {
      .options =
          {{.names = "path",
            .target = &options->call.path,
            .help = "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace",
            .value = "PATH"},
           {.names = "--workload-configuration",
            .target = &options->workload,
            .help = "The job, as ASTRA-sim's command has it",
            .value = "PREFIX"},
           {.names = "--network,--network-configuration",
            .target = &options->call.network,
            .help = "The network (YAML: topology, npus_count, bandwidth in GB/s of 2^30, latency in ns)",
            .value = "FILE",
            .required = true},
           {.names = "--system,--system-configuration",
            .target = &options->call.system,
            .help = "What a rank can do (JSON: roofline-enabled, peak-perf, local-mem-bw, ...)",
            .value = "FILE"},
           {.names = "--memory,--remote-memory-configuration",
            .target = &options->call.memory,
            .help = "Remote memory (JSON), for --compat",
            .value = "FILE"},
           {.names = "--groups,--comm-group-configuration",
            .target = &options->call.groups,
            .help = "Process groups, name -> ranks (JSON)",
            .value = "FILE"},
           ranks_option(options->call.ranks),
           expand_option(options->call.expand),
           {.names = "--no-check",
            .target = &options->no_check,
            .help = "Run also what 'chakra check' says cannot run"},
           {.names = "--compat",
            .target = &options->compat,
            .help = "Follow the rules of another simulator to the nanosecond",
            .value = "NAME",
            .accepted = one_of({"astra-sim"})},
           {.names = "--backend",
            .target = &options->backend,
            .help = "With --compat: whether messages compete for links",
            .value = "NAME",
            .accepted = one_of({"congestion_unaware", "congestion_aware"})},
           {.names = "--num-queues-per-dim",
            .target = &options->call.compat_options.queues_per_dimension,
            .help = "With --compat: queues for chunks in each dimension",
            .value = "N",
            .accepted = whole_number(1, kMostQueues)},
           {.names = "--rendezvous-protocol",
            .target = &options->rendezvous,
            .help = "With --compat: data leaves when the receiver has asked for it",
            .value = "BOOL",
            .accepted = one_of({"true", "false", "1", "0"})},
           {.names = "--injection-scale",
            .target = &options->call.compat_options.injection_scale,
            .help = "With --compat: factor of the endpoint delay",
            .value = "X",
            .accepted = real_number(0, 1e9)},
           ignored("--compute-scale", &options->compute_scale),
           ignored("--comm-scale", &options->comm_scale),
           ignored("--logging-configuration", &options->logging),
           ignored("--logging-folder", &options->logging_folder),
           {.names = "--astra-output",
            .target = &options->astra_output,
            .help = "With --compat: print the lines that ASTRA-sim prints"},
           {.names = "--congestion",
            .target = &options->call.congestion,
            .help = "Who shares links: closed (nobody: every transfer alone), fluid (max-min fair), packet (store and "
                    "forward)",
            .value = "MODEL",
            .accepted = one_of({"closed", "fluid", "packet"})},
           {.names = "--packet-bytes",
            .target = &options->call.packet_bytes,
            .help = "Of --congestion packet; 0: a message is one packet",
            .value = "N",
            .accepted = whole_number(0, kMostPacket)},
           {.names = "--collectives",
            .target = &options->call.collectives,
            .help = "Which algorithms, as text or in a file: \"allreduce: 0-64KiB tree, 64KiB- ring\" (chakra list "
                    "collectives)",
            .value = "RULES"},
           {.names = "--routing",
            .target = &options->call.routing,
            .help =
                "Which of several shortest routes messages take: spread, ecmp[,channels=N][,seed=N], single, adaptive",
            .value = "NAME"},
           device_option(options->call.devices),
           from_device_option(options->call.devices),
           unrecorded_option(options->call.devices),
           {.names = "--transfers",
            .target = &options->call.transfers,
            .help = "How long collectives and messages of a recorded job take once all have come: as the network says "
                    "(simulated, the default), or as they did (recorded)",
            .value = "KIND",
            .accepted = one_of({"recorded", "simulated"})},
           delay_option(options->call.delays),
           {.names = "--align-starts",
            .target = &options->call.align_starts,
            .help = "Let all ranks of a recorded job begin at the same time, not when they were recorded to"},
           max_error_option(options->call.max_error),
           {.names = "--no-fold",
            .target = &options->no_fold,
            .help = "Simulate every rank, also those that nothing tells apart"},
           {.names = "--csv",
            .target = &options->csv,
            .help = "Write the tables as PREFIX.ranks.csv, PREFIX.collectives.csv, ...",
            .value = "PREFIX"},
           {.names = "--timeline",
            .target = &options->timeline,
            .help = "Write what ran when, for ui.perfetto.dev",
            .value = "FILE.json"},
           json_option(options->json)},
      .run = exits_with_zero([options] { return run_sim(*options); })};
}

}  // namespace chakra::cli
