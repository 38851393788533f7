// chakra list
#include <fmt/core.h>

#include <functional>

#include "chakra/analyze/analyze.h"
#include "chakra/check/check.h"
#include "chakra/cli/cli.h"
#include "chakra/cli/sim_devices.h"
#include "chakra/coll/coll.h"
#include "chakra/feed/feed.h"
#include "chakra/foreign/foreign.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"
#include "chakra/link/link.h"
#include "chakra/net/net.h"
#include "chakra/recording/recording.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

using table::Table;

struct Kind {
  std::string_view name;
  std::string_view description;
  Table (*table)();
};

Table two_columns(const char* first) {
  return {"", {{first, Table::Kind::text}, {"what it is", Table::Kind::text}}, {}};
}

template <class Rows>
Table named_rows(const char* first, const Rows& rows) {
  Table table = two_columns(first);
  for (const auto& row : rows) table.rows.push_back({std::string(row.name), std::string(row.description)});
  return table;
}

Table analyses() { return named_rows("analysis", analyze::kAnalyses); }
Table checks() { return named_rows("check", check::kRules); }
Table commands() { return named_rows("command", kCommands); }
Table edges() { return named_rows("edge kind", trace::kEdgeKinds); }
Table models() { return named_rows("model", gen::models()); }
Table names() { return named_rows("name", kNames); }
Table policies() { return named_rows("policy", feed::kPolicies); }
Table presets() { return named_rows("preset", gen::kPresets); }
Table schedules() {
  Table table{
      "",
      {{"schedule", Table::Kind::text}, {"what it is", Table::Kind::text}, {"idle time of a stage", Table::Kind::text}},
      {}};
  for (const gen::ScheduleRow& row : gen::schedules())
    table.rows.push_back({std::string(row.name), std::string(row.description), std::string(row.idle_formula)});
  return table;
}
Table topologies() {
  Table table = named_rows("topology", net::kTopologies);
  for (const net::ShapeRow& row : net::kShapes)
    table.rows.push_back({std::string(row.name), std::string(row.description)});
  return table;
}

Table collectives() {
  Table table{"",
              {{"algorithm", Table::Kind::text},
               {"operations", Table::Kind::text},
               {"what it is", Table::Kind::text},
               {"cost", Table::Kind::text}},
              {}};
  for (const coll::AlgorithmRow& row : coll::kAlgorithms) {
    std::string types;
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t)
      if (row.does(static_cast<trace::CommType>(t)))
        types += fmt::format("{}{}", types.empty() ? "" : ", ", trace::kCommTypeNames[t]);
    table.rows.push_back({std::string(row.name), types, std::string(row.description), std::string(row.cost)});
  }
  return table;
}

Table formats() {
  Table table{"", {{"format", Table::Kind::text}, {"files", Table::Kind::text}, {"what it is", Table::Kind::text}}, {}};
  for (const auto& row : io::kFormats)
    table.rows.push_back({std::string(row.name), std::string(row.files), std::string(row.description)});
  for (const auto& row : foreign::kForms)
    table.rows.push_back({std::string(row.name), std::string(row.files), std::string(row.description)});
  for (const auto& row : recording::kFormats)
    table.rows.push_back({std::string(row.name), std::string(row.files), std::string(row.description)});
  for (const auto& row : view::kForms)
    table.rows.push_back({std::string(row.name), std::string(row.files), std::string(row.description)});
  return table;
}

Table routings() {
  Table table{
      "",
      {{"routing", Table::Kind::text}, {"a message takes", Table::Kind::text}, {"stands for", Table::Kind::text}},
      {}};
  for (const net::RoutingRow& row : net::kRoutings)
    table.rows.push_back({std::string(row.name), std::string(row.description), std::string(row.stands_for)});
  return table;
}

Table work() {
  Table table{"",
              {{"kind", Table::Kind::text},
               {"operations", Table::Kind::text},
               {"bytes", Table::Kind::text},
               {"operators", Table::Kind::text}},
              {}};
  for (const link::WorkRow& row : link::kWorkRows)
    table.rows.push_back({std::string(link::name(row.kind)), std::string(row.operations), std::string(row.bytes),
                          std::string(row.names)});
  return table;
}

constexpr std::array<Kind, 15> kKinds{{
    {"analyses", "answers of 'chakra analyze'", analyses},
    {"checks", "rules of 'chakra check'", checks},
    {"collectives", "algorithms: their operations and what they cost", collectives},
    {"commands", "subcommands", commands},
    {"devices", "what they can do: peaks in 10^12 operations per second by element type, memory", list_devices},
    {"edges", "why a node waits for another", edges},
    {"formats", "files that can be read or written", formats},
    {"models", "models of 'chakra gen step --model'", models},
    {"names", "names of other tools' commands that this one answers to", names},
    {"policies", "which ready node a feeder hands out first", policies},
    {"presets", "models on ranks: 'chakra gen step --preset'", presets},
    {"routing", "which of several shortest routes messages take", routings},
    {"schedules", "pipeline schedules of 'chakra gen step'", schedules},
    {"topologies", "networks of 'chakra sim'", topologies},
    {"work", "operators of recordings: how their operations and bytes are counted", work},
}};

Result<void> run_list(const std::string& kind, const std::string& json_path) {
  Table table = named_rows("kind", kKinds);
  if (!kind.empty()) {
    const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == kind; });
    if (row == kKinds.end()) {
      std::string known;
      for (const Kind& k : kKinds) known += fmt::format("{}{}", known.empty() ? "" : ", ", k.name);
      return fail(Code::usage, "cli.usage", fmt::format("no kind {}; known: {}", quote(kind), known));
    }
    table = row->table();
  }
  if (!json_path.empty()) {
    Json json = Json::array();
    for (const auto& row : table.rows) {
      Json object;
      for (size_t i = 0; i < row.size(); ++i) object[table.columns[i].name] = std::get<std::string>(row[i]);
      json.push_back(object);
    }
    CHAKRA_TRY(write_json(json, json_path));
  }
  if (json_path != "-") print(view::to_text(table, SIZE_MAX));
  return {};
}

}  // namespace

Syntax list_syntax() {
  auto kind = std::make_shared<std::string>(), json = std::make_shared<std::string>();
  return {.options =
              {{.names = "kind", .target = kind.get(), .help = "What to list; without it, the kinds", .value = "KIND"},
               json_option(*json)},
          .run = exits_with_zero([kind, json] { return run_list(*kind, *json); })};
}

}  // namespace chakra::cli
