#include "chakra/list/list.h"

#include <fmt/core.h>

#include <string>

#include "chakra/analyze/analyze.h"
#include "chakra/base/join.h"
#include "chakra/certify/certify.h"
#include "chakra/check/check.h"
#include "chakra/coll/coll.h"
#include "chakra/convert/convert.h"
#include "chakra/device/device.h"
#include "chakra/doctor/doctor.h"
#include "chakra/feed/feed.h"
#include "chakra/fleet/fleet.h"
#include "chakra/foreign/foreign.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/generate.h"
#include "chakra/infragraph/infragraph.h"
#include "chakra/io/io.h"
#include "chakra/job/job.h"
#include "chakra/link/link.h"
#include "chakra/linking/linking.h"
#include "chakra/model/model.h"
#include "chakra/net/net.h"
#include "chakra/query/query.h"
#include "chakra/recording/recording.h"
#include "chakra/replay/replay.h"
#include "chakra/report/report.h"
#include "chakra/run/run.h"
#include "chakra/share/share.h"
#include "chakra/sweep/sweep.h"
#include "chakra/view/view.h"
#include "chakra/whatif/whatif.h"
#include "chakra/work/work.h"
#include "chakra/xla/xla.h"

namespace chakra::list {

using options::names;

namespace {

using result::Table;

/// Without rows, all columns texts.
Table columns(std::initializer_list<const char*> names) {
  Table table;
  for (const char* name : names) table.columns.push_back({name, Table::Kind::text, name});
  return table;
}

template <class Rows>
void add_formats(Table& table, const Rows& rows) {
  for (const auto& row : rows)
    table.rows.push_back({std::string(row.name), std::string(row.files), std::string(row.description)});
}

Table analyses() { return list_rows("analysis", analyze::kAnalyses); }
Table changes() {
  Table table = columns({"change", "value", "what it does", "what it assumes"});
  for (const whatif::ChangeRow& row : whatif::kChanges)
    table.rows.push_back(
        {std::string(row.name), std::string(row.value), std::string(row.description), row.assumptions()});
  return table;
}
Table distributions() { return list_rows("distribution", whatif::kDistributions); }
Table times() {
  Table table = list_rows("kind of time", whatif::kKinds);
  for (const whatif::KindRow& row : whatif::kWorks)
    table.rows.push_back({std::string(row.name), fmt::format("of compute: {}", row.description)});
  for (const whatif::SumRow& row : whatif::kSums)
    table.rows.push_back({std::string(row.name), std::string(row.description)});
  return table;
}
Table checks() { return list_rows("check", check::kRules); }
Table columns_of_traces() {
  Table table = columns({"column", "on disk", "what it says"});
  trace::each_column([&](const auto& row) {
    table.rows.push_back({std::string(row.name), std::string(row.wire), std::string(row.meaning)});
  });
  return table;
}
Table edge_kinds() { return list_rows("edge kind", trace::kEdgeKinds); }
Table policies() { return list_rows("policy", feed::kPolicies); }
Table presets() { return list_rows("preset", gen::kPresets); }

Table blueprints() {
  Table table = columns({"blueprint", "what it is", "parameters"});
  for (const infragraph::Blueprint& row : infragraph::kBlueprints) {
    std::string parameters;
    for (const infragraph::Parameter& p : row.parameters)
      parameters += fmt::format("{}{}={}: {} ({} to {})", parameters.empty() ? "" : "; ", p.name, p.value, p.meaning,
                                p.least, p.most);
    table.rows.push_back({std::string(row.name), std::string(row.description), parameters});
  }
  return table;
}

Table blocks() {
  Table table = columns({"block", "where", "what it is", "model that has it", "its operators there"});
  for (const model::BlockKind& kind : model::block_kinds())
    table.rows.push_back({std::string(kind.name), std::string(kind.place), std::string(kind.description),
                          std::string(kind.sample), kind.operators});
  return table;
}

Table models() {
  Table table = list_rows("model", model::models());
  for (const model::ModelTypeRow& row : model::model_types())
    table.rows.push_back({std::string(row.name), fmt::format("a config.json of this model_type: {}", row.source)});
  return table;
}

Table schedules() {
  Table table = columns({"schedule", "what it is", "idle time of a stage"});
  for (const gen::ScheduleRow& row : gen::schedules())
    table.rows.push_back({std::string(row.name), std::string(row.description), std::string(row.idle_formula)});
  return table;
}

Table topologies() {
  Table table = list_rows("topology", net::kTopologies);
  for (const net::ShapeRow& row : net::kShapes)
    table.rows.push_back({std::string(row.name), std::string(row.description)});
  return table;
}

Table collectives() {
  Table table = columns({"algorithm", "operations", "what it is", "cost"});
  for (const coll::AlgorithmRow& row : coll::kAlgorithms) {
    std::string types;
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
      if (row.does(static_cast<trace::CommType>(t)))
        types += fmt::format("{}{}", types.empty() ? "" : ", ", trace::kCommTypeNames[t]);
    table.rows.push_back({std::string(row.name), types, std::string(row.description), std::string(row.cost)});
  }
  return table;
}

Table replays() {
  Table table = columns({"option", "value", "what it is"});
  for (const replay::BackendRow& row : run::kBackends) {
    const std::string_view missing = row.missing ? row.missing() : "";
    table.rows.push_back({"--backend", std::string(row.name),
                          fmt::format("{}{}", row.description, missing.empty() ? "" : fmt::format(" ({})", missing))});
    for (const replay::SettingRow& setting : row.settings)
      table.rows.push_back({"--backend-option", fmt::format("{}=", setting.name), std::string(setting.description)});
  }
  for (const replay::ComputeRow& row : run::kComputes) {
    table.rows.push_back({"--compute", std::string(row.name), std::string(row.description)});
    for (const replay::SettingRow& setting : row.settings)
      table.rows.push_back({"--compute-option", fmt::format("{}=", setting.name), std::string(setting.description)});
  }
  for (const replay::FileCacheRow& row : replay::kFileCaches)
    table.rows.push_back({"--file-cache", std::string(row.name), std::string(row.description)});
  for (const replay::FileOrderRow& row : replay::kFileOrders)
    table.rows.push_back({"--file-order", std::string(row.name), std::string(row.description)});
  return table;
}

Table formats() {
  Table table = columns({"format", "files", "what it is"});
  add_formats(table, io::kFormats);
  add_formats(table, foreign::kForms);
  add_formats(table, recording::kFormats);
  add_formats(table, xla::kFormats);
  add_formats(table, view::kForms);
  return table;
}

Table devices() {
  Table table = columns({"device"});
  for (const device::DType type : device::kPeakTypes)
    table.columns.push_back({trace::name(type), Table::Kind::text, trace::name(type)});
  for (const char* column : {"GB/s", "GB", "also called", "source"})
    table.columns.push_back({column, Table::Kind::text, column});
  const auto number = [](double value) { return value > 0 ? fmt::format("{:g}", value) : std::string("-"); };
  for (const device::DeviceRow& row : device::kDevices) {
    std::vector<Table::Cell> cells{std::string(row.name)};
    for (const double peak : row.tera_ops_per_s) cells.push_back(number(peak));
    std::string names(row.recorded_as);
    for (size_t at = 0; (at = names.find('|', at)) != std::string::npos; at += 2) names.replace(at, 1, ", ");
    cells.insert(cells.end(), {number(row.gb_per_s), number(row.memory_gb), names, std::string(row.source)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table stacks() {
  Table table = columns({"stack", "attention, TFLOP/s", "elementwise time", "host, us", "bytes a logit", "activations",
                         "sharding", "selective", "products", "pass, us", "sequence, us", "prefill share",
                         "dispatch ranks", "expert, us", "error", "source"});
  const auto number = [](double value) { return value > 0 ? fmt::format("{:g}", value) : std::string("-"); };
  for (const device::StackRow& row : device::kStacks) {
    std::string attention;
    for (const auto& [name, tflops] : row.attention)
      if (!name.empty()) attention += fmt::format("{}{} {:g}", attention.empty() ? "" : ", ", name, tflops);
    table.rows.push_back({std::string(row.name), attention.empty() ? "by the device's tables" : attention,
                          number(row.elementwise_time), number(row.host_us), number(row.memory.logit_bytes),
                          row.memory.eager ? "eager" : "fused", row.memory.fsdp ? "fsdp" : "zero",
                          row.memory.per_operator ? "per-operator" : "attention", row.bursts ? "bursts" : "sustained",
                          number(row.pass_us), number(row.sequence_us), number(row.prefill_share),
                          number(static_cast<double>(row.dispatch_ranks)), number(row.expert_us),
                          row.error > 0 ? show_percent(row.error) : std::string("-"), std::string(row.source)});
  }
  return table;
}

Table optimizers() {
  Table table = columns({"optimizer", "keeps"});
  for (const gen::OptimizerRow& row : gen::kOptimizers)
    table.rows.push_back({std::string(row.name), std::string(row.description)});
  return table;
}

Table kernels() {
  Table table = columns({"kernel", "sizes", "what it is"});
  for (const work::KernelKind& row : work::kKernelKinds) {
    const std::span sizes(row.sizes.data(), row.size());
    table.rows.push_back({std::string(row.name), join(sizes, ", "), std::string(row.meaning)});
  }
  return table;
}

Table routings() {
  Table table = columns({"routing", "a message takes", "stands for"});
  for (const net::RoutingRow& row : net::kRoutings)
    table.rows.push_back({std::string(row.name), std::string(row.description), std::string(row.stands_for)});
  return table;
}

Table work() {
  Table table = columns({"kind", "operations", "bytes", "operators"});
  for (const work::WorkRow& row : work::kWorkRows)
    table.rows.push_back({std::string(work::name(row.kind)), std::string(row.operations), std::string(row.bytes),
                          std::string(row.names)});
  return table;
}

Table queries() {
  Table table = columns({"query", "answer", "parameters", "SQL"});
  for (const query::QueryRow& row : query::kQueries) {
    std::string parameters, sql;
    for (const query::ParameterRow& p : row.parameters)
      parameters += fmt::format("{}{}={}: {}", parameters.empty() ? "" : "; ", p.name, p.value, p.meaning);
    for (const char c : row.sql)
      if ((c != ' ' && c != '\n') || !sql.ends_with(' ')) sql += c == '\n' ? ' ' : c;
    table.rows.push_back({std::string(row.name), std::string(row.description), parameters, sql});
  }
  return table;
}

Table sql() {
  Table table = columns({"table", "column", "type", "unit", "meaning"});
  for (const sqlite::Table& is : query::tables_of_queries().all)
    for (const sqlite::TableColumn& column : is.columns)
      table.rows.push_back({is.name, column.name, std::string(sqlite::name(column.type)), column.unit, column.meaning});
  return table;
}

/// Empty answers, each with its whole schema.
constexpr answer::Answer (*kAnswers[])() = {
    [] { return answer_of(job::AnalyzedJob()); },
    [] { return answer_of(calibrate::FittedDevice()); },
    [] { return answer_of(calibrate::FittedNetwork()); },
    [] { return answer_of(std::span<const job::CheckedJob>()); },
    [] { return answer_of(convert::ConvertedJob()); },
    [] { return answer_of(job::JobsDiff()); },
    [] { return answer_of(recorded::TimesCompared()); },
    [] { return answer_of(doctor::CheckedInstallation()); },
    [] { return answer_of(doctor::ExaminedFiles()); },
    [] { return answer_of(share::FoundSecrets()); },
    [] { return answer_of(convert::RepairedContainer()); },
    [] { return answer_of(generate::CaseOptions()); },
    [] { return answer_of(generate::GeneratedNetwork()); },
    [] { return answer_of(generate::ServeJob()); },
    [] { return answer_of(generate::StepJob()); },
    [] { return answer_of(convert::ImportedJob()); },
    [] { return answer_of(job::JobSummary()); },
    [] { return answer_of(convert::ContainerStats()); },
    [] { return answer_of(share::ObfuscatedJob()); },
    [] { return answer_of(convert::PackedJob()); },
    [] { return answer_of(query::QueriedJob()); },
    [] { return answer_of(report::ReportedJob()); },
    [] { return answer_of(share::SelectedJobs()); },
    [] { return answer_of(sweep::Sweep()); },
    [] { return answer_of(fleet::FleetReport()); },
    [] { return answer_of(certify::CertifiedJob()); },
    [] { return answer_of(certify::CheckedCertificate()); },
    [] { return answer_of(linking::LinkedJob()); },
    [] { return answer_of(run::ReplayedJob()); },
    [] { return run::answer_of(replay_fabric::FlowSchedule()); },
    [] { return answer_of(job::SimulateResult()); },
    [] { return sim::answer_of(Error(), {}); },
    [] { return answer_of(convert::UnpackedJob()); },
    [] { return answer_of(job::ViewedJob()); },
    [] { return answer_of(job::WhatIf()); },
};

/// What answers may have.
Table results() {
  Table table = columns({"answer", "key", "unit", "type", "where it is missing", "meaning"});
  for (const auto& make : kAnswers) {
    const answer::Answer answer = make();
    for (const answer::SchemaRow& row : schema_of(answer))
      table.rows.push_back({answer.verb(), row.key, std::string(answer::kUnitNames[static_cast<size_t>(row.info.unit)]),
                            std::string(answer::kTypeNames[static_cast<size_t>(row.info.type)]),
                            std::string(answer::kMissingNames[static_cast<size_t>(row.info.missing)]),
                            std::string(row.info.meaning)});
  }
  return table;
}

}  // namespace

constexpr KindRow kKindRows[] = {
    {"analyses", "answers of 'chakra analyze'", analyses},
    {"blocks", "building blocks of models of 'chakra gen step'", blocks},
    {"blueprints", "networks of 'chakra gen network', and their parameters", blueprints},
    {"changes", "changes of 'chakra whatif'", changes},
    {"checks", "rules of 'chakra check'", checks},
    {"collectives", "algorithms of collectives, and their costs", collectives},
    {"columns", "columns of a trace, and their attributes on disk", columns_of_traces},
    {"devices", "devices: peak TFLOP/s by element type, memory bandwidth and size", devices},
    {"distributions", "distributions of 'chakra whatif --jitter'", distributions},
    {"edges", "kinds of dependencies between nodes", edge_kinds},
    {"formats", "files that can be read or written", formats},
    {"kernels", "kernels with measured times in device files, and their sizes", kernels},
    {"models", "models of 'chakra gen step --model'", models},
    {"optimizers", "optimizers of 'chakra gen step --optimizer'", optimizers},
    {"policies", "orders in which a feeder issues ready nodes", policies},
    {"presets", "models with ranks for 'chakra gen step --preset'", presets},
    {"queries", "ready queries of 'chakra query'", queries},
    {"replay", "back ends and computations of 'chakra replay', and their options", replays},
    {"results", "values and tables of answers, by their keys in JSON", results},
    {"routing", "routing policies of messages", routings},
    {"schedules", "pipeline schedules of 'chakra gen step'", schedules},
    {"sql", "tables and columns of 'chakra query'", sql},
    {"stacks", "software on a device: attention rate, and times of elementwise kernels and launches", stacks},
    {"times", "kinds of time of 'chakra whatif'", times},
    {"topologies", "networks of 'chakra sim'", topologies},
    {"work", "operators of recordings, and the formulas of their FLOPs and bytes", work},
};
constinit const std::span<const KindRow> kKinds = kKindRows;

std::vector<answer::Answer> schemas_of(std::string_view command) {
  std::vector<answer::Answer> schemas;
  for (const auto& make : kAnswers)
    if (answer::Answer schema = make();
        schema.verb() == command || schema.verb().starts_with(std::string(command) + " "))
      schemas.push_back(std::move(schema));
  return schemas;
}

}  // namespace chakra::list
