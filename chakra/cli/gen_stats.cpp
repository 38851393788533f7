#include "chakra/cli/gen_stats.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

const gen::ClassStats& fullest(const gen::StepStats& stats) {
  return *std::max_element(
      stats.classes.begin(), stats.classes.end(),
      [](const gen::ClassStats& a, const gen::ClassStats& b) { return a.memory.sum() < b.memory.sum(); });
}

Json memory_json(const gen::Memory& memory) {
  return {{"parameters", whole(memory.parameters)},
          {"gradients", whole(memory.gradients)},
          {"optimizer", whole(memory.optimizer)},
          {"activations_peak", whole(memory.activations_peak)},
          {"working", whole(memory.working)}};
}

}  // namespace

std::string step_text(const job::GeneratedJob& files, const gen::StepOptions& step, const gen::StepStats& stats) {
  std::string shape = fmt::format("tp {} x pp {} x dp {}", step.tp, step.pp, step.dp);
  if (step.cp > 1) shape = fmt::format("tp {} x cp {} x pp {} x dp {}", step.tp, step.cp, step.pp, step.dp);
  if (step.ep > 1) shape += fmt::format("; ep {}", step.ep);
  return to_text(files, shape) +
         fmt::format("{:.4g} parameters, {:.4g} tokens, {:.4g} operations; ideal pipeline bubble {}{}\n",
                     static_cast<double>(stats.parameters), stats.tokens, stats.operations, show_percent(stats.bubble),
                     stats.bubble_depends ? " where forward and both gradients take the same time" : "");
}

std::string stats_text(const gen::StepStats& stats, double device_memory_gib) {
  const gen::ClassStats& most = fullest(stats);
  const gen::Memory& m = most.memory;
  std::string text = parameters_text(stats.parameters, stats.active_parameters) +
                     fmt::format("operations          {:.6g} of all ranks: products only, a multiply-add counts 2\n",
                                 stats.operations);
  if (stats.fp8_operations > 0) text += fmt::format("  with 8-bit inputs {:.6g}\n", stats.fp8_operations);
  for (const gen::Surplus& row : stats.surplus)
    text += fmt::format("  surplus           {:.6g} in {}: ranks do the same, or padding\n", row.operations, row.name);
  text +=
      memory_text(most.first_rank,
                  {{"parameters", m.parameters,
                    stats.fp8_operations > 0 ? "elements of the rank, matrices also in 8 bits; ZeRO 3: its share"
                                             : "elements of the rank; ZeRO 3: its share"},
                   {"gradients", m.gradients, "likewise; ZeRO 2 and 3: its share"},
                   {"optimizer", m.optimizer, "Adam: 12 bytes an element; ZeRO 1 to 3: of its share"},
                   {"activations", m.activations_peak, "tensors that backward needs, of the micro-batches in flight"},
                   {"working", m.working, "of the part at work: computed again, gathered, not yet reduced"}},
                  device_memory_gib);
  return text + rank_tables(stats.classes);
}

std::string parameters_text(int64_t parameters, int64_t active) {
  return fmt::format("\nparameters          {} (tied once), {} active for a token\n", show_count(parameters),
                     show_count(active));
}

std::string memory_text(int64_t rank, const std::vector<MemoryLine>& lines, double device_memory_gib) {
  std::string text = fmt::format("memory of rank {}, which needs most\n", rank);
  double sum = 0;
  const auto add = [&](const MemoryLine& line) {
    text += fmt::format("  {:<14}{:>12.2f} GiB  {}\n", line.name, line.bytes / kGib, line.formula);
  };
  for (const MemoryLine& line : lines) {
    add(line);
    sum += line.bytes;
  }
  add({"sum", sum, sum <= device_memory_gib * kGib ? "fits into the device" : "does not fit into the device"});
  return text;
}

RankTables::RankTables() {
  for (const char* name : {"rank", "group", "type", "count", "buffers", "sent with a ring"})
    communication_.columns.push_back({name, result::Table::Kind::text});
  for (const char* name : {"rank", "tier", "kind", "count", "bytes"})
    storage_.columns.push_back({name, result::Table::Kind::text});
}

void RankTables::add(const std::string& ranks, const std::vector<gen::Communication>& communication,
                     const std::vector<gen::StorageSum>& storage) {
  for (const gen::Communication& c : communication)
    communication_.rows.push_back({ranks, c.group, c.type, show_count(c.count),
                                   fmt::format("{:.4f} GiB", c.bytes / kGib),
                                   fmt::format("{:.4f} GiB", c.wire_bytes / kGib)});
  for (const gen::StorageSum& io : storage)
    storage_.rows.push_back({ranks, io.tier, io.kind, show_count(io.count), show_count(whole(io.bytes))});
}

std::string RankTables::text() const {
  std::string text;
  if (!communication_.rows.empty()) text += "\n" + view::to_text(communication_, SIZE_MAX);
  if (!storage_.rows.empty()) text += "\n" + view::to_text(storage_, SIZE_MAX);
  return text;
}

Json communication_json(const std::vector<gen::Communication>& communication) {
  Json json = Json::array();
  for (const gen::Communication& c : communication)
    json.push_back({{"group", c.group},
                    {"type", c.type},
                    {"count", c.count},
                    {"bytes", whole(c.bytes)},
                    {"wire_bytes", whole(c.wire_bytes)}});
  return json;
}

Json storage_json(const std::vector<gen::StorageSum>& storage) {
  Json json = Json::array();
  for (const gen::StorageSum& io : storage)
    json.push_back({{"tier", io.tier}, {"io_kind", io.kind}, {"count", io.count}, {"bytes", whole(io.bytes)}});
  return json;
}

Json step_json(const job::GeneratedJob& files, const gen::StepStats& stats, const Findings& findings) {
  Json json = to_json(files);
  if (!findings.empty()) json["findings"] = to_json(findings);
  json["parameters"] = stats.parameters;
  json["active_parameters"] = stats.active_parameters;
  json["tokens"] = stats.tokens;
  json["operations"] = stats.operations;
  if (stats.fp8_operations > 0) json["fp8_operations"] = stats.fp8_operations;
  json["ideal_bubble"] = stats.bubble;
  json["memory_per_rank"] = memory_json(fullest(stats).memory);
  json["surplus"] = Json::array();
  for (const gen::Surplus& row : stats.surplus)
    json["surplus"].push_back({{"name", row.name}, {"operations", row.operations}});
  json["rank_count"] = files.ranks;
  for (const gen::ClassStats& rank : stats.classes) {
    json["ranks"].push_back({{"first_rank", rank.first_rank},
                             {"count", rank.ranks},
                             {"parameters", whole(rank.parameters)},
                             {"operations", rank.operations},
                             {"memory_per_rank", memory_json(rank.memory)},
                             {"communication", communication_json(rank.communication)}});
    if (rank.fp8_operations > 0) json["ranks"].back()["fp8_operations"] = rank.fp8_operations;
    if (!rank.storage.empty()) json["ranks"].back()["storage"] = storage_json(rank.storage);
  }
  return json;
}

}  // namespace chakra::cli
