// chakra gen serve
#include <fmt/core.h>

#include <algorithm>

#include "chakra/cli/cli.h"
#include "chakra/cli/gen_no_effect.h"
#include "chakra/cli/gen_options.h"
#include "chakra/cli/gen_stats.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {
namespace {

struct ServeOptions {
  std::string model, folder, json;
  std::vector<int64_t> contexts;
  std::array<std::optional<int64_t>, gen::kServeNumbers.size()> numbers;  ///< parallel to gen::kServeNumbers
  std::array<std::optional<bool>, gen::kServeSwitches.size()> switches;   ///< parallel to gen::kServeSwitches
  gen::ModelChange change;
  std::string kv_tier;
  std::optional<double> kv_tier_share;
  DeviceOptions device;
  bool all_ranks = false, stats = false;
  std::vector<std::string> given;
};

Result<gen::ServeOptions> settle(const ServeOptions& o) {
  gen::ServeOptions serve;
  serve.model = gen::default_model();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(serve.model, model_of(o.model));
  }
  CHAKRA_ASSIGN(serve.model, gen::changed(std::move(serve.model), o.change));
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) gen::kServeNumbers[i].value(serve) = *o.numbers[i];
  for (size_t i = 0; i < o.switches.size(); ++i)
    if (o.switches[i]) serve.*gen::kServeSwitches[i].value = *o.switches[i];
  if (!o.contexts.empty()) serve.contexts = o.contexts;
  serve.kv_tier = o.kv_tier;
  if (!o.kv_tier.empty()) serve.kv_tier_share = 1;
  if (o.kv_tier_share) serve.kv_tier_share = *o.kv_tier_share;
  o.device.settle(serve);
  return serve;
}

const gen::ServeClassStats& fullest_of(const gen::ServeStats& stats) {
  return *std::max_element(stats.classes.begin(), stats.classes.end(),
                           [](const auto& a, const auto& b) { return a.memory.sum() < b.memory.sum(); });
}

std::string shape(const gen::ServeMesh& mesh) {
  const std::string text = fmt::format("tp {} x pp {} x dp {}", mesh.tp, mesh.pp, mesh.dp);
  return mesh.ep > 1 ? fmt::format("{}; ep {}", text, mesh.ep) : text;
}

std::string serve_text(const job::GeneratedJob& files, const gen::ServeOptions& serve, const gen::ServeStats& stats) {
  std::string ranks = shape(serve.mesh);
  if (serve.separate()) {
    gen::ServeMesh prefill = serve.prefill;
    for (int64_t* const size : {&prefill.tp, &prefill.pp, &prefill.dp, &prefill.ep})
      *size = std::max<int64_t>(*size, 1);
    ranks = fmt::format("prefill {}, decode {}", shape(prefill), ranks);
  }
  std::string text = to_text(files, ranks);
  const auto line = [&](const char* name, const gen::PhaseStats& phase) {
    if (phase.tokens == 0) return;
    text +=
        fmt::format("{} {:.4g} tokens, {:.4g} operations, {:.4g} GB of parameters and {:.4g} GB of the cache read\n",
                    name, phase.tokens, phase.operations, phase.parameter_bytes / 1e9, phase.cache_bytes / 1e9);
  };
  line("prefill:", stats.prefill);
  line("decode: ", stats.decode);
  return text;
}

std::string serve_stats_text(const gen::ServeStats& stats, double device_memory_gib) {
  const gen::ServeClassStats& most = fullest_of(stats);
  const gen::ServeMemory& m = most.memory;
  std::string text =
      parameters_text(stats.parameters, stats.active_parameters) +
      fmt::format("cache               {} bytes a token, all layers\n", show_count(stats.kv_bytes_per_token));
  if (stats.transfer_bytes > 0)
    text +=
        fmt::format("moved               {:.4f} GiB of the cache, to ranks that decode\n", stats.transfer_bytes / kGib);
  if (const double surplus = stats.prefill.surplus + stats.decode.surplus; surplus > 0.5)
    text += fmt::format("surplus             {:.6g} operations: ranks do the same, or padding\n", surplus);
  std::vector<MemoryLine> lines{{"parameters", m.parameters, "elements of the rank"},
                                {"cache", m.cache, "keys and values of its layers and heads, when all is done"}};
  if (m.expanded > 0)
    lines.push_back({"expanded", m.expanded, "keys and values of all heads, between chunks of a prompt"});
  lines.push_back({"activations", m.activations, "inputs and output of an operator, the most of them all"});
  text += memory_text(most.first_rank, lines, device_memory_gib);
  return text + rank_tables(stats.classes);
}

Json phase_json(const gen::PhaseStats& phase) {
  return {{"tokens", phase.tokens},
          {"operations", phase.operations},
          {"surplus", phase.surplus},
          {"parameter_bytes", phase.parameter_bytes},
          {"cache_bytes", phase.cache_bytes}};
}
Json serve_memory_json(const gen::ServeMemory& memory) {
  return {{"parameters", whole(memory.parameters)},
          {"cache", whole(memory.cache)},
          {"expanded", whole(memory.expanded)},
          {"activations", whole(memory.activations)}};
}

Json serve_json(const job::GeneratedJob& files, const gen::ServeStats& stats, const Findings& findings) {
  Json json = to_json(files);
  if (!findings.empty()) json["findings"] = to_json(findings);
  json["parameters"] = stats.parameters;
  json["active_parameters"] = stats.active_parameters;
  json["kv_bytes_per_token"] = stats.kv_bytes_per_token;
  json["prefill"] = phase_json(stats.prefill);
  json["decode"] = phase_json(stats.decode);
  json["operations"] = stats.prefill.operations + stats.decode.operations;
  json["transfer_bytes"] = stats.transfer_bytes;
  json["memory_per_rank"] = serve_memory_json(fullest_of(stats).memory);
  json["rank_count"] = files.ranks;
  json["ranks"] = Json::array();
  for (const gen::ServeClassStats& rank : stats.classes) {
    json["ranks"].push_back({{"first_rank", rank.first_rank},
                             {"count", rank.ranks},
                             {"prefill", rank.prefill},
                             {"decode", rank.decode},
                             {"parameters", whole(rank.parameters)},
                             {"operations", rank.operations},
                             {"parameter_bytes", rank.parameter_bytes},
                             {"cache_bytes", rank.cache_bytes},
                             {"memory_per_rank", serve_memory_json(rank.memory)},
                             {"communication", communication_json(rank.communication)}});
    if (!rank.storage.empty()) json["ranks"].back()["storage"] = storage_json(rank.storage);
  }
  return json;
}

Result<void> run_serve(const ServeOptions& o) {
  if (o.folder.empty() && !o.stats && o.json.empty())
    return fail(Code::usage, "cli.usage", "give a folder with -o, or --stats to write no job");
  CHAKRA_ASSIGN(const gen::ServeOptions serve, settle(o));
  CHAKRA_ASSIGN(const trace::ClassJob job, gen::serve(serve));
  CHAKRA_ASSIGN(const job::GeneratedJob files, job::generate_job(job, {o.folder, "serve", o.all_ranks, o.json}));
  CHAKRA_ASSIGN(const gen::ServeStats stats, gen::serve_stats(serve, job));
  const Findings ignored = options_without_effect(o.given, {!o.folder.empty(), o.stats}, serve, stats);
  if (!ignored.empty()) print_error(to_text(ignored, ""));
  if (!o.json.empty()) CHAKRA_TRY(write_json(serve_json(files, stats, ignored), o.json));
  if (o.json == "-") return {};
  print(serve_text(files, serve, stats));
  if (o.stats) print(serve_stats_text(stats, o.device.memory_gib.value_or(DeviceOptions::kMemoryGib)));
  return {};
}

}  // namespace

Syntax gen_serve_syntax() {
  auto options = std::make_shared<ServeOptions>();
  ServeOptions* const o = options.get();
  Syntax syntax{.options = {output_option(o->folder), model_option(o->model)},
                .run = exits_with_zero([options] { return run_serve(*options); })};
  const auto add = [&](const std::vector<Option>& more) {
    syntax.options.insert(syntax.options.end(), more.begin(), more.end());
  };
  add({{.names = "--contexts",
        .target = &o->contexts,
        .help =
            "Tokens of the prompts, or of the contexts of the first step (--prompts false); one number for all (1024)",
        .value = "N,...",
        .delimiter = ','}});
  add(model_numbers(o->change));
  add_numbers(
      gen::kServeNumbers, [&](size_t i) { return &o->numbers[i]; }, syntax.options);
  add_switches(
      gen::kServeSwitches, [&](size_t i) { return &o->switches[i]; }, syntax.options);
  add(model_switches(o->change));
  add({{.names = "--kv-tier",
        .target = &o->kv_tier,
        .help = "A tier of storage has a share of the cache: each layer fetches it and evicts what is new",
        .value = "TIER"},
       {.names = "--kv-tier-share",
        .target = &o->kv_tier_share,
        .help = "The share, above 0 to 1 (1)",
        .value = "X",
        .accepted = real_number(0, 1)}});
  add(device_options(o->device));
  add({stats_option(o->stats), all_ranks_option(o->all_ranks, "serve"), json_option(o->json)});
  syntax.given = &o->given;
  return syntax;
}

}  // namespace chakra::cli
