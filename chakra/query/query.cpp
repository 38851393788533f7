#include "chakra/query/query.h"

#include <fmt/core.h>

#include <map>

#include "chakra/job/job.h"
#include "chakra/trace/starts.h"
#include "chakra/view/view.h"

namespace chakra::query {
namespace {

constexpr size_t kRowsShown = 20;

/// The analysis that makes a table; null: none does.
const analyze::AnalysisRow* analysis_of(std::string_view table) {
  const trace::TraceSet none;
  Findings findings;
  const Result<analyze::Job> job = analyze::prepare(none, {}, findings);
  for (const analyze::AnalysisRow& row : analyze::kAnalyses)
    if (const auto made = row.run(*job, findings))
      for (const analyze::NamedTable& one : *made)
        if (one.name == table) return &row;
  return nullptr;
}

/// Runs each analysis once, when a query uses one of its tables.
struct Analyses {
  job::AnalyzeOptions options;
  std::map<std::string, answer::Answer, std::less<>> made = {};  ///< by analysis

  Result<answer::Answer> answer_with(std::string_view table) {
    const analyze::AnalysisRow* const row = analysis_of(table);
    CHAKRA_ASSERT(row != nullptr);
    const auto found = made.find(row->name);
    if (found != made.end()) {
      answer::Answer again = found->second;
      return again;
    }
    job::AnalyzeOptions only = options;
    only.only = {std::string(row->name)};
    CHAKRA_ASSIGN(const job::AnalyzedJob job, job::analyze_job(only));
    return made.emplace(row->name, answer_of(job)).first->second;
  }
};

/// Simulates the job once, when a query uses one of its tables.
struct Simulation {
  job::SimulateOptions options;
  const std::atomic<bool>* stop = nullptr;
  std::shared_ptr<job::SimulateResult> made = {};
  std::shared_ptr<const result::Timeline> timeline = {};

  Result<void> run(bool with_timeline, bool with_diagnosis) {
    if (made && (timeline || !with_timeline) && (made->diagnoses || !with_diagnosis)) return {};
    if (options.network.empty())
      return fail(Code::usage, "cli.usage", "the tables sim_* need a simulation: choose a network with --network FILE");
    job::SimulateOptions call = options;
    if (with_timeline) call.timeline = "timeline";  // fills the report, and no file is written
    call.diagnose = with_diagnosis && !call.compat();
    CHAKRA_ASSIGN(job::SimulateResult result, job::simulate_to_end(call, stop));
    if (with_timeline) timeline = std::make_shared<const result::Timeline>(std::move(result.report.timeline));
    made = std::make_shared<job::SimulateResult>(std::move(result));
    return {};
  }
};

/// The ranks with measured starts: a timeline would place the nodes of the others by their dependencies.
trace::TraceSet measured(const trace::TraceSet& job, Findings& findings) {
  trace::TraceSet some;
  for (const trace::Trace& t : job.ranks)
    if (trace::has_starts(t)) some.ranks.push_back(t);
  if (const size_t others = job.ranks.size() - some.ranks.size(); others > 0)
    findings.push_back(
        {"query.not_measured", Severity::warning, -1, -1,
         fmt::format("'timeline' lacks {} without measured starts", show_count(static_cast<int64_t>(others), "rank"))});
  return some;
}

/// The traces of the job, expanded at the first use if the job is by classes.
struct Ranks {
  std::string path;
  job::LoadedPtr loaded;
  std::optional<trace::TraceSet> expanded = {};

  Result<const trace::TraceSet*> traces() {
    if (!loaded->classes()) return &std::get<trace::TraceSet>(loaded->job);
    if (!expanded) {
      CHAKRA_ASSIGN(expanded, job::read_job(path, loaded));
    }
    return &*expanded;
  }
};

void add_tables(Tables& to, const std::shared_ptr<Ranks>& ranks, job::AnalyzeOptions analyze,
                const std::shared_ptr<Simulation>& simulation) {
  add_job(to, [ranks] { return ranks->traces(); });
  add_timeline(to, "timeline", "measured operations; an operator lasts until the end of those it calls",
               [ranks, findings = to.findings]() -> Result<std::shared_ptr<const result::Timeline>> {
                 CHAKRA_ASSIGN(const trace::TraceSet* const traces, ranks->traces());
                 CHAKRA_ASSIGN(result::Timeline made, view::timeline_of(measured(*traces, *findings), *findings));
                 return std::make_shared<const result::Timeline>(std::move(made));
               });
  const auto analyses = std::make_shared<Analyses>(Analyses{std::move(analyze)});
  add_answer(to, "analyze", answer_of(job::AnalyzedJob()),
             [analyses](std::string_view table) { return analyses->answer_with(table); });
  const auto simulated = [simulation](std::string_view table) -> Result<answer::Answer> {
    CHAKRA_TRY(simulation->run(false, table.starts_with(analyze::kDiagnosis)));
    return answer_of(*simulation->made);
  };
  add_answer(to, "sim", answer_of(job::SimulateResult()), simulated);
  add_values(to, "sim", simulated);
  add_timeline(to, "sim_timeline", "operations of the simulation",
               [simulation, findings = to.findings]() -> Result<std::shared_ptr<const result::Timeline>> {
                 CHAKRA_TRY(simulation->run(true, false));
                 add_findings(*findings, simulation->made->report.findings);
                 return simulation->timeline;
               });
  add_columns(to);
}

/// The statement and its parameters: those of a ready query have defaults.
Result<std::string> statement_of(const QueryOptions& o, std::vector<sqlite::Parameter>& parameters) {
  for (const std::string& text : o.param) {
    CHAKRA_ASSIGN(sqlite::Parameter made, parse_parameter(text));
    for (const sqlite::Parameter& before : parameters)
      if (before.name == made.name)
        return fail(Code::usage, "query.parameter", fmt::format("the parameter {} has two values", quote(made.name)));
    parameters.push_back(std::move(made));
  }
  if (o.sql.empty() == o.named.empty())
    return fail(Code::usage, "cli.usage",
                o.sql.empty() ? "the query is missing: give a SELECT, or --named NAME (chakra list queries)"
                              : "give either a SELECT or --named");
  if (o.named.empty()) return o.sql;
  const QueryRow* const row = find_row(kQueries, o.named);
  CHAKRA_ASSERT(row != nullptr);  // by the table of options
  for (const ParameterRow& p : row->parameters) {
    const auto is_it = [&](const sqlite::Parameter& given) { return given.name == p.name; };
    if (std::find_if(parameters.begin(), parameters.end(), is_it) != parameters.end()) continue;
    CHAKRA_ASSIGN(sqlite::Parameter made, parse_parameter(fmt::format("{}={}", p.name, p.value)));
    parameters.push_back(std::move(made));
  }
  return std::string(row->sql);
}

answer::Type type_of(const std::vector<sqlite::QueryValue>& values) {
  std::array<bool, 4> has{};
  for (const sqlite::QueryValue& value : values) has[value.index()] = true;
  if (has[1] + has[2] + has[3] != 1) return answer::Type::any;
  return has[1] ? answer::Type::whole : has[2] ? answer::Type::real : answer::Type::text;
}

answer::Cell cell_of(const sqlite::QueryValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

answer::Series first_rows(const answer::Series& all, size_t rows) {
  answer::Series some(all.info());
  for (size_t r = 0; r < rows; ++r) {
    if (!all.has(r)) some.add_missing();
    else if (all.info().type == answer::Type::any) some.add(all.any(r));
    else if (all.info().type == answer::Type::real) some.add_real(all.real(r));
    else if (all.info().type == answer::Type::text) some.add_text(all.text(r));
    else some.add_whole(all.whole(r));
  }
  return some;
}

}  // namespace

Result<QueriedJob> query_job(const QueryOptions& o, const std::atomic<bool>* stop) {
  CHAKRA_TRY(options::check_call(o));
  QueriedJob queried;
  queried.path = o.path;
  std::vector<sqlite::Parameter> parameters;
  CHAKRA_ASSIGN(queried.sql, statement_of(o, parameters));
  job::LoadedPtr loaded = o.loaded;
  if (!loaded) {
    CHAKRA_ASSIGN(loaded, job::load(o.path));
  }
  job::AnalyzeOptions analyses;
  analyses.path = o.path;
  analyses.details = true;
  analyses.loaded = loaded;
  const auto simulation = std::make_shared<Simulation>(Simulation{o.simulate, stop});
  simulation->options.path = o.path;
  simulation->options.loaded = loaded;
  Tables tables;
  add_tables(tables, std::make_shared<Ranks>(Ranks{o.path, loaded}), std::move(analyses), simulation);
  CHAKRA_ASSIGN(sqlite::QueriedRows rows,
                sqlite::select(tables.all, queried.sql, parameters,
                               {.seconds = o.limit_seconds, .bytes = static_cast<uint64_t>(o.limit_memory) << 20}));
  queried.keys = std::make_shared<const std::vector<std::string>>(keys_of(rows.columns));
  queried.values = std::move(rows.values);
  queried.findings = std::move(*tables.findings);
  if (!o.simulate.network.empty() && !simulation->made)
    queried.findings.push_back(options::no_effect("--network", "the query uses no table of the simulation (sim_*)"));
  return queried;
}

Tables tables_of_queries() {
  const auto none = std::make_shared<const job::Loaded>();
  Tables tables;
  add_tables(tables, std::make_shared<Ranks>(Ranks{{}, none}), {}, std::make_shared<Simulation>());
  return tables;
}

answer::Answer answer_of(const QueriedJob& job) {
  constexpr std::array kJob{answer::column<&QueriedJob::path>("path", answer::Unit::none, "the path of the job"),
                            answer::column<&QueriedJob::sql>("sql", answer::Unit::none, "the statement")};
  answer::Builder to("query");
  to.values("", &job, kJob);
  std::vector<answer::Series> columns;
  for (size_t c = 0; c < job.values.size(); ++c) {
    const std::string& key = (*job.keys)[c];
    answer::Series& series = columns.emplace_back(
        answer::Info{key, type_of(job.values[c]), answer::Unit::none, "", answer::Missing::null, false, key});
    series.reserve(job.values[c].size());
    for (const sqlite::QueryValue& value : job.values[c]) series.add(cell_of(value));
  }
  to.table("rows", "rows of the query: the query determines the columns", std::move(columns));
  return std::move(to).finish(job.findings);
}

std::string query_text(const answer::Answer& answer) {
  const answer::Table& rows = *answer.table("rows");
  if (rows.columns.empty()) return view::to_text(answer.findings());
  const size_t shown = std::min(rows.rows, kRowsShown);
  std::vector<answer::Series> columns;
  for (const answer::Series& series : rows.columns) columns.push_back(first_rows(series, shown));
  answer::Builder to("query");
  to.table("rows", "", std::move(columns));
  const answer::Answer first = std::move(to).finish();
  std::string text = view::to_text(first, first.tables()[0]);
  if (const size_t rest = rows.rows - shown; rest > 0)
    text += fmt::format("  ... and {} more {}; '--all rows' shows {}\n", show_count(static_cast<int64_t>(rest)),
                        rest == 1 ? "row" : "rows", rest == 1 ? "it" : "them");
  return text + view::to_text(answer.findings());
}

}  // namespace chakra::query
