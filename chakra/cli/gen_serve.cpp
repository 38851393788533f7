// chakra gen serve
#include "chakra/cli/cli.h"
#include "chakra/cli/gen_options.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {
namespace {

struct ServeOptions {
  job::ServeJobOptions call;
  std::string model;
  std::vector<int64_t> contexts;
  std::array<std::optional<int64_t>, gen::kServeNumbers.size()> numbers;  ///< parallel to gen::kServeNumbers
  std::array<std::optional<bool>, gen::kServeSwitches.size()> switches;   ///< parallel to gen::kServeSwitches
  gen::ModelChange change;
  std::optional<double> kv_tier_share;
  DeviceOptions device;
  std::optional<double> fp8_tflops;
};

/// Texts and changes -> what the call serves.
Result<void> settle(ServeOptions& o, Findings& findings) {
  gen::ServeOptions& serve = o.call.serve;
  serve.model = gen::default_model();
  if (!o.model.empty()) {
    CHAKRA_ASSIGN(serve.model, gen::find_or_read_model(o.model, findings));
  }
  CHAKRA_ASSIGN(serve.model, gen::changed(std::move(serve.model), o.change));
  for (size_t i = 0; i < o.numbers.size(); ++i)
    if (o.numbers[i]) gen::kServeNumbers[i].value(serve) = *o.numbers[i];
  for (size_t i = 0; i < o.switches.size(); ++i)
    if (o.switches[i]) serve.*gen::kServeSwitches[i].value = *o.switches[i];
  if (!o.contexts.empty()) serve.contexts = o.contexts;
  if (!serve.kv_tier.empty()) serve.kv_tier_share = 1;
  if (o.kv_tier_share) serve.kv_tier_share = *o.kv_tier_share;
  o.device.settle(serve);
  if (o.fp8_tflops) serve.fp8_flop_per_s = *o.fp8_tflops * 1e12;
  o.call.device_memory_gib = o.device.memory_gib;
  return check_device(o.call.device, o.device, o.fp8_tflops);
}

Result<void> run_serve(ServeOptions o) {
  CHAKRA_TRY(check_output(o.call.files, o.call.shows_memory));
  Findings findings;
  const Result<void> settled = settle(o, findings);
  const Result<job::ServeJob> generated =
      settled ? job::generate_serve(o.call, findings) : Result<job::ServeJob>(tl::unexpected(settled.error()));
  if (!findings.empty()) print_error(to_text(findings, ""));
  if (!generated) return tl::unexpected(generated.error());
  const job::ServeJob& made = *generated;
  const std::string& json = o.call.files.report;
  if (!json.empty()) CHAKRA_TRY(write_json(to_json(made), json));
  if (json == "-") return {};
  print(to_text(made));
  if (o.call.shows_memory) print(memory_text_of(made));
  return {};
}

}  // namespace

Syntax gen_serve_syntax() {
  auto options = std::make_shared<ServeOptions>();
  ServeOptions* const o = options.get();
  Syntax syntax{.options = {output_option(o->call.files.output), model_option(o->model)},
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
  add({{"--kv-tier", &o->call.serve.kv_tier,
        "A tier of storage has a share of the cache: each layer fetches it and evicts what is new", "TIER"},
       {"--kv-tier-share", &o->kv_tier_share, "The share, above 0 to 1 (1)", "X", real_number(0, 1)}});
  add({{"--fp8", &o->call.serve.fp8,
        "Matrices of the layers lie in 8 bits, and their products read 8 bits; all else keeps --bytes-per-element"},
       {"--device", &o->call.device,
        "The device that computes (chakra list devices, or a device file): nodes take the times that 'chakra sim "
        "--device' gives them",
        "NAME|FILE"},
       {"--stack", &o->call.stack,
        "The software: a name of 'chakra list stacks' or a stack file (kernels). It decides what the host takes "
        "between "
        "passes and, with --device, how long attention and elementwise operations take",
        "NAME|FILE"}});
  add(device_options(o->device));
  add({fp8_option(o->fp8_tflops)});
  add({stats_option(o->call.shows_memory), all_ranks_option(o->call.files.all_ranks, "serve"),
       json_option(o->call.files.report)});
  syntax.given = &o->call.given;
  return syntax;
}

}  // namespace chakra::cli
