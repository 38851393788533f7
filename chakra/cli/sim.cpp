// chakra sim
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>

#include "chakra/check/check.h"
#include "chakra/cli/cli.h"
#include "chakra/cli/job_replay.h"
#include "chakra/cli/max_error.h"
#include "chakra/cli/no_effect.h"
#include "chakra/cli/rank_choice.h"
#include "chakra/cli/sim_delays.h"
#include "chakra/cli/sim_devices.h"
#include "chakra/cli/sim_stuck.h"
#include "chakra/io/io.h"
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

/// The first Ctrl-C ends the run, and what there is by then is written; one that comes seconds later ends that, too.
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
  std::string path, network, system, memory, groups, ranks, expand, compat, json, timeline;
  std::string workload, backend, rendezvous;
  std::string compute_scale, comm_scale, logging, logging_folder;  ///< accepted, as ASTRA-sim does, without effect
  std::string congestion, collectives, csv, routing, transfers;
  std::optional<int64_t> packet_bytes;
  std::optional<double> max_error;
  bool no_fold = false, align_starts = false;
  std::vector<std::string> delays;
  DeviceOptions devices;
  sim::CompatOptions compat_options;
  bool astra_output = false, no_check = false;
};

/// "ALL_REDUCE" or "messages".
std::string what(const sim::ActorReport::Exposed& e) {
  return e.type == trace::CommType::unknown ? "messages" : std::string(trace::name(e.type));
}

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

bool gives_transfers(const Options& o) { return o.transfers == "recorded"; }

bool is_recorded(const sim::SimInput& input) {
  return input.classes ? sim::has_recorded_starts(*input.classes) : sim::has_recorded_starts(input.job);
}

RecordingOptions recording_options(const Options& o) {
  RecordingOptions options{o.path, !o.compat.empty(), o.align_starts, gives_transfers(o), {}};
  if (!o.congestion.empty()) options.network_options.push_back("--congestion " + o.congestion);
  if (!o.collectives.empty()) options.network_options.emplace_back("--collectives");
  if (!o.routing.empty()) options.network_options.emplace_back("--routing");
  return options;
}

Json to_json(const Options& o, const std::string& network, const sim::SimReport& report,
             const std::optional<sim::JobReplay>& replay, const std::optional<DelayStudy>& delays) {
  const bool native = o.compat.empty();
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
  Json json{{"mode", native ? "native" : o.compat}, {"network", network},      {"makespan_ps", report.makespan_ps},
            {"interrupted", report.interrupted},    {"events", report.events}, {"ranks", std::move(ranks)},
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
    for (const sim::PathPiece& p : report.critical_path)
      path.push_back({{"kind", sim::kPathKindNames[static_cast<size_t>(p.kind)]},
                      {"rank", p.rank},
                      {"node", p.node},
                      {"name", p.name},
                      {"start_ps", p.start_ps},
                      {"end_ps", p.end_ps}});
    json["actors"] = std::move(actors);
    json["devices"] = devices_json(report);
    json["links"] = std::move(links);
    json["critical_path"] = std::move(path);
    json["transfers"] = gives_transfers(o) ? "recorded" : "simulated";
    if (replay) json["measured"] = cli::to_json(*replay, "ps");
    if (delays) json["delays"] = delays->to_json();
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

std::string to_text(const Options& o, const std::string& network, const sim::SimReport& report,
                    const std::optional<sim::JobReplay>& replay, const std::optional<DelayStudy>& delays) {
  std::string out = fmt::format("{}: {} ranks on a {}{}{}\n{} after {}\n", o.path, report.ranks.size(), network,
                                o.compat.empty() ? "" : ", by the rules of " + o.compat,
                                gives_transfers(o) ? ", transfers as recorded" : "",
                                report.interrupted ? "stopped" : "finished", show_time(report.makespan_ps));
  if (delays) out += delays->to_text();
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
  if (!report.critical_path.empty()) out += show_some(path_table(report), kPathShown, "rows");
  if (replay) out += cli::to_text(*replay);
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

/// What check::prove calls an error is the run's error, before it begins. The compatible mode has its own rules for
/// groups, and its own errors.
Result<void> check_before(const Options& o, sim::SimInput& input) {
  if (o.no_check) return {};
  input.matching = match::match(input.job, input.groups);
  Findings errors = check::prove(input.job, *input.matching);
  if (!o.compat.empty()) input.matching.reset();  // of no use there
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
  if (o.compat.empty() && (o.astra_output || o.compat_options.queues_per_dimension != 1 || !o.backend.empty() ||
                           !o.rendezvous.empty() || o.compat_options.injection_scale != 1))
    return fail(Code::usage, "cli.usage",
                "--astra-output, --backend, --num-queues-per-dim, --rendezvous-protocol and --injection-scale are for "
                "--compat");
  if (!o.compat.empty() && (!o.congestion.empty() || !o.collectives.empty() || !o.routing.empty() ||
                            !o.transfers.empty() || o.no_fold || o.align_starts || !o.delays.empty()))
    return fail(Code::usage, "cli.usage",
                "--congestion, --collectives, --routing, --transfers, --delay, --align-starts and --no-fold are for "
                "the native mode");
  if (o.packet_bytes && o.congestion != "packet")
    return fail(Code::usage, "cli.usage", "--packet-bytes is for --congestion packet");
  o.compat_options.congestion_aware = o.backend == "congestion_aware";
  o.compat_options.rendezvous = o.rendezvous == "true" || o.rendezvous == "1";
  return {};
}

/// --routing instead of what the network file says.
Result<void> set_routing(const Options& o, net::Fabric& fabric, Findings& findings) {
  const bool asked = !o.routing.empty();
  if (asked) {
    auto routing = net::parse_routing(o.routing);
    if (!routing) return fail(Code::usage, "cli.usage", fmt::format("--routing: {}", routing.error().text));
    fabric.routing = *routing;
  }
  if (!asked && fabric.routing.kind == net::Routing::spread) return {};
  const char* option = asked ? "--routing" : "'routing' of the network file";
  if (!o.compat.empty()) findings.push_back(no_effect(option, "ASTRA-sim's rules have routes of their own"));
  else if (!fabric.has_choice())
    findings.push_back(no_effect(option, "no two ranks of this network are joined by several shortest routes"));
  return {};
}

SimAsked asked_of(const Options& o, const sim::SimInput& input) {
  return {.native = o.compat.empty(),
          .classes = input.classes.has_value(),
          .memory = o.memory,
          .groups = o.groups,
          .expand = o.expand,
          .congestion = o.congestion,
          .collectives = o.collectives,
          .device = o.devices.device,
          .from_device = o.devices.from_device,
          .unrecorded = o.devices.unrecorded,
          .backend = o.backend,
          .rendezvous = o.rendezvous,
          .queues_per_dimension = o.compat_options.queues_per_dimension,
          .injection_scale = o.compat_options.injection_scale,
          .packet_bytes = o.packet_bytes.has_value(),
          .no_fold = o.no_fold,
          .timeline = !o.timeline.empty()};
}

Result<void> run_sim(Options o) {
  CHAKRA_TRY(settle(o));
  sim::SimInput input;
  Findings findings;
  for (const auto& [flag, value] :
       {std::pair("--compute-scale", o.compute_scale), std::pair("--comm-scale", o.comm_scale)})
    if (!value.empty() && value != "1")
      findings.push_back({"sim.compat.ignored", Severity::warning, -1, -1,
                          fmt::format("{} {} has no effect here, nor in ASTRA-sim", flag, value)});
  for (const auto& [flag, value] :
       {std::pair("--logging-configuration", o.logging), std::pair("--logging-folder", o.logging_folder)})
    if (!value.empty()) findings.push_back(no_effect(flag, "nothing is logged; --json says what happens"));
  std::vector<std::string> files{o.network, o.system, o.memory, o.groups};
  if (const auto ranks = job_files(o.path))  // what is wrong with the job is said after what is wrong with the system
    files.insert(files.end(), ranks->begin(), ranks->end());
  std::vector<std::string> outputs{o.timeline};
  if (!o.csv.empty())
    for (const char* name : {"ranks", "collectives", "links", "critical_path"})
      outputs.push_back(fmt::format("{}.{}.csv", o.csv, name));
  CHAKRA_TRY(keep_apart(files, outputs, o.json));
  CHAKRA_ASSIGN(input.fabric, net::load_fabric(o.network, &findings));
  CHAKRA_TRY(set_routing(o, input.fabric, findings));
  if (!o.system.empty()) {
    CHAKRA_ASSIGN(input.system, sim::load_system(o.system, findings));
  }
  CHAKRA_TRY(use_devices(o.devices, o.compat.empty(), input.system));
  if (!o.memory.empty()) CHAKRA_TRY(sim::load_memory(o.memory, input.system));
  if (!o.groups.empty()) {
    CHAKRA_ASSIGN(input.groups, match::load_groups(o.groups));
  }
  const match::GroupTable groups = input.groups;
  if (!o.compat.empty() && o.system.empty()) return fail(Code::usage, "cli.usage", "--compat needs --system");
  if (!o.compat.empty() && !o.timeline.empty())
    return fail(Code::usage, "cli.usage", "--timeline is for the native mode");
  if (o.compat.empty() && o.ranks.empty() && io::is_class_job(o.path)) {
    if (!o.expand.empty()) return fail(Code::usage, "cli.usage", "--expand is for jobs without a ranks.json");
    CHAKRA_ASSIGN(input.classes, io::read_class_job(o.path));
  } else {
    CHAKRA_ASSIGN(input.job, read_ranks(o.path, o.ranks, o.compat.empty() ? -1 : input.fabric.size(), findings));
    CHAKRA_TRY(expand_job(o.expand, input.job, input.groups, findings));
    CHAKRA_TRY(check_before(o, input));
  }
  input.timeline = !o.timeline.empty();
  input.compat = o.compat_options;
  if (o.packet_bytes) input.packets.packet_bytes = static_cast<uint64_t>(*o.packet_bytes);
  input.fold = !o.no_fold && (o.timeline.empty() || input.classes);  // a timeline shows every rank
  if (o.congestion == "fluid") input.congestion = sim::Congestion::fluid;
  if (o.congestion == "packet") input.congestion = sim::Congestion::packet;
  if (!o.collectives.empty()) {
    std::string text = o.collectives;
    if (is_file(text)) {
      CHAKRA_ASSIGN(text, read_file(o.collectives));
    }
    CHAKRA_ASSIGN(input.collectives,
                  coll::parse_selection(text, is_file(o.collectives) ? o.collectives : "--collectives"));
  }
  if (!o.compat.empty()) CHAKRA_TRY(read_custom_collectives(input));
  input.stop = &stop_asked;
  input.progress = progress_line();
  std::signal(SIGINT, stop);
  const std::string network = input.fabric.describe();
  input.system.use_roofline();
  const SimAsked asked = asked_of(o, input);
  const JobFacts facts = facts_of(input, groups, findings);
  if (!o.delays.empty() && o.transfers.empty() && is_recorded(input)) o.transfers = "recorded";
  CHAKRA_ASSIGN(std::optional<sim::JobReplay> replay, use_recording(recording_options(o), input, findings));
  std::optional<DelayStudy> delays;
  if (!o.delays.empty()) {
    CHAKRA_ASSIGN(delays, DelayStudy::begin(o.delays, o.path, input, findings));
  }
  std::vector<sim::Wait> waits;
  input.waits = &waits;
  Result<sim::SimReport> run = o.compat.empty() ? sim::simulate(std::move(input)) : sim::simulate_compat(input);
  if (!run) CHAKRA_TRY(write_waits(run.error(), waits, o.json));
  CHAKRA_ASSIGN(sim::SimReport report, std::move(run));
  const std::vector<Replayed> replays = replayed_job(replay, findings);
  for (Finding& finding : max_error_without_effect(o.max_error, replays)) findings.push_back(std::move(finding));
  if (replay && !report.interrupted && !gives_transfers(o)) replay->add(sim::TransferKind::simulated, report);
  if (delays) delays->add(report);
  report.findings.insert(report.findings.begin(), findings.begin(), findings.end());
  for (Finding& finding : options_without_effect(asked, facts, report)) report.findings.push_back(std::move(finding));
  const Json as_json = json_if_asked(o.json, [&] { return to_json(o, network, report, replay, delays); });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json, prepare_json(as_json, o.json));  // both files or none
  if (!o.timeline.empty()) CHAKRA_TRY(view::write_chrome_trace(report.timeline, o.timeline));
  if (!o.csv.empty()) CHAKRA_TRY(write_csv(report, o.csv));
  if (json) CHAKRA_TRY(json->commit());
  if (o.json == "-") print(cli::to_text(as_json));
  else if (o.astra_output) print(astra_lines(report) + cli::to_text(report.findings, ""));
  else print(to_text(o, network, report, replay, delays));
  if (report.interrupted)
    return fail(Code::interrupted, "sim.interrupted", "stopped; the result is what there was by then");
  return check_errors(o.max_error, replays);
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
            .target = &options->path,
            .help = "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace",
            .value = "PATH"},
           {.names = "--workload-configuration",
            .target = &options->workload,
            .help = "The job, as ASTRA-sim's command has it",
            .value = "PREFIX"},
           {.names = "--network,--network-configuration",
            .target = &options->network,
            .help = "The network (YAML: topology, npus_count, bandwidth in GB/s of 2^30, latency in ns)",
            .value = "FILE",
            .required = true},
           {.names = "--system,--system-configuration",
            .target = &options->system,
            .help = "What a rank can do (JSON: roofline-enabled, peak-perf, local-mem-bw, ...)",
            .value = "FILE"},
           {.names = "--memory,--remote-memory-configuration",
            .target = &options->memory,
            .help = "Remote memory (JSON), for --compat",
            .value = "FILE"},
           {.names = "--groups,--comm-group-configuration",
            .target = &options->groups,
            .help = "Process groups, name -> ranks (JSON)",
            .value = "FILE"},
           ranks_option(options->ranks),
           expand_option(options->expand),
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
            .target = &options->compat_options.queues_per_dimension,
            .help = "With --compat: queues for chunks in each dimension",
            .value = "N",
            .accepted = whole_number(1, kMostQueues)},
           {.names = "--rendezvous-protocol",
            .target = &options->rendezvous,
            .help = "With --compat: data leaves when the receiver has asked for it",
            .value = "BOOL",
            .accepted = one_of({"true", "false", "1", "0"})},
           {.names = "--injection-scale",
            .target = &options->compat_options.injection_scale,
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
            .target = &options->congestion,
            .help = "Who shares links: closed (nobody: every transfer alone), fluid (max-min fair), packet (store and "
                    "forward)",
            .value = "MODEL",
            .accepted = one_of({"closed", "fluid", "packet"})},
           {.names = "--packet-bytes",
            .target = &options->packet_bytes,
            .help = "Of --congestion packet; 0: a message is one packet",
            .value = "N",
            .accepted = whole_number(0, kMostPacket)},
           {.names = "--collectives",
            .target = &options->collectives,
            .help = "Which algorithms, as text or in a file: \"allreduce: 0-64KiB tree, 64KiB- ring\" (chakra list "
                    "collectives)",
            .value = "RULES"},
           {.names = "--routing",
            .target = &options->routing,
            .help =
                "Which of several shortest routes messages take: spread, ecmp[,channels=N][,seed=N], single, adaptive",
            .value = "NAME"},
           device_option(options->devices),
           from_device_option(options->devices),
           unrecorded_option(options->devices),
           {.names = "--transfers",
            .target = &options->transfers,
            .help = "How long collectives and messages of a recorded job take once all have come: as the network says "
                    "(simulated, the default), or as they did (recorded)",
            .value = "KIND",
            .accepted = one_of({"recorded", "simulated"})},
           delay_option(options->delays),
           {.names = "--align-starts",
            .target = &options->align_starts,
            .help = "Let all ranks of a recorded job begin at the same time, not when they were recorded to"},
           max_error_option(options->max_error),
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
