// The members of the facade's options as rows, by the keys of the calls' rows.
// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.
#include "chakra/facade/fields.h"

#include "chakra/facade/calls.h"

namespace chakra::facade {
namespace {

using options::choice;
using options::Options;

constexpr std::array<std::string_view, 3> kContext{"ring", "gather", "all-to-all"};
constexpr std::array<std::string_view, 4> kRecompute{"none", "selective", "per-operator", "full"};
constexpr std::array<std::string_view, 3> kDtype{"bf16", "fp16", "fp32"};
constexpr std::array<std::string_view, 3> kHostWaits{"messages", "passes", "parts"};
constexpr std::array<std::string_view, 2> kCompat{"native", "astra-sim"};
constexpr std::array<std::string_view, 2> kBackend{"congestion_unaware", "congestion_aware"};
constexpr std::array<std::string_view, 4> kCongestion{"closed", "fluid", "packet", "auto"};
constexpr std::array<std::string_view, 2> kTransfers{"recorded", "simulated"};
constexpr std::array<std::string_view, 2> kUnrecorded{"scale", "keep"};
constexpr std::array<std::string_view, 3> kLaunched{"all", "steps", "before-last-step"};
constexpr std::array<std::string_view, 2> kFrom{"traces", "csv"};
constexpr std::array<std::string_view, 3> kPick{"all", "classes", "outliers"};
constexpr std::array<std::string_view, 4> kOnly{"all", "comm", "compute", "device"};
constexpr std::array<std::string_view, 2> kStart{"recorded", "together"};
constexpr std::array<std::string_view, 2> kMethod{"medoids", "facility"};

}  // namespace

Options fields_of(LinkOptions& o) {
  return {
      {"--output", &o.output, {}},       {"--rank", &o.rank, {}},           {"--steps", &o.steps, {}},
      {"--fit-steps", &o.fit_steps, {}}, {"--iteration", &o.iteration, {}}, {"--cycle", &o.cycle, {}},
      {"--process", &o.process, {}},     {"--salvage", &o.salvage, {}},     {"--max-error", &o.max_error, {}},
      {"--explain", &o.explain, {}},
  };
}
Options rows_of(LinkOptions& o, const Arguments& more) { return bound<linking::LinkJobOptions>(fields_of(o), more); }

Options fields_of(StepOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--preset", &o.preset, {}},
      {"--model", &o.model, {}},
      {"--layers", &o.layers, {}},
      {"--hidden", &o.hidden, {}},
      {"--ffn", &o.ffn, {}},
      {"--heads", &o.heads, {}},
      {"--kv-heads", &o.kv_heads, {}},
      {"--head-dim", &o.head_dim, {}},
      {"--vocab", &o.vocab, {}},
      {"--sequence", &o.sequence, {}},
      {"--micro-batches", &o.micro_batches, {}},
      {"--micro-batch-size", &o.micro_batch_size, {}},
      {"--tp", &o.tp, {}},
      {"--cp", &o.cp, {}},
      {"--pp", &o.pp, {}},
      {"--dp", &o.dp, {}},
      {"--ep", &o.ep, {}},
      {"--etp", &o.etp, {}},
      {"--virtual-stages", &o.virtual_stages, {}},
      {"--zero", &o.zero, {}},
      {"--zero-ranks", &o.zero_ranks, {}},
      {"--seed", &o.seed, {}},
      {"--bytes-per-element", &o.bytes_per_element, {}},
      {"--lora-rank", &o.lora_rank, {}},
      {"--gradient-bytes", &o.gradient_bytes, {}},
      {"--sequence-parallel", &o.sequence_parallel, {}},
      {"--keep-gathered", &o.keep_gathered, {}},
      {"--fused-attention", &o.fused_attention, {}},
      {"--overlap", &o.overlap, {}},
      {"--lora-mlp", &o.lora_mlp, {}},
      {"--clip", &o.clip, {}},
      {"--ends", &o.ends, {}},
      {"--mtp", &o.mtp, {}},
      {"--gated", &o.gated, {}},
      {"--causal", &o.causal, {}},
      {"--schedule", &o.schedule, {}},
      {"--context", choice(o.context, kContext), {}},
      {"--recompute", choice(o.recompute, kRecompute), {}},
      {"--optimizer", &o.optimizer, {}},
      {"--dtype", choice(o.dtype, kDtype), {}},
      {"--fp8", &o.fp8, {}},
      {"--order", &o.order, {}},
      {"--expert-skew", &o.expert_skew, {}},
      {"--data-tier", &o.data_tier, {}},
      {"--sample-bytes", &o.sample_bytes, {}},
      {"--checkpoint-tier", &o.checkpoint_tier, {}},
      {"--checkpoint-behind", &o.checkpoint_behind, {}},
      {"--restart-tier", &o.restart_tier, {}},
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--host-waits", choice(o.host_waits, kHostWaits), {}},
      {"--device-peak-tflops", &o.device_peak_tflops, {}},
      {"--device-fp8-tflops", &o.device_fp8_tflops, {}},
      {"--device-mem-gb-per-s", &o.device_mem_gb_per_s, {}},
      {"--efficiency", &o.efficiency, {}},
      {"--device-memory-gib", &o.device_memory_gib, {}},
      {"--stats", &o.stats, {}},
      {"--all-ranks", &o.all_ranks, {}},
  };
}
Options rows_of(StepOptions& o, const Arguments& more) {
  return bound<generate::GenerateStepOptions>(fields_of(o), more);
}

Options fields_of(ServeOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--model", &o.model, {}},
      {"--contexts", &o.contexts, {}},
      {"--layers", &o.layers, {}},
      {"--hidden", &o.hidden, {}},
      {"--ffn", &o.ffn, {}},
      {"--heads", &o.heads, {}},
      {"--kv-heads", &o.kv_heads, {}},
      {"--head-dim", &o.head_dim, {}},
      {"--vocab", &o.vocab, {}},
      {"--tp", &o.tp, {}},
      {"--pp", &o.pp, {}},
      {"--dp", &o.dp, {}},
      {"--ep", &o.ep, {}},
      {"--prefill-tp", &o.prefill_tp, {}},
      {"--prefill-pp", &o.prefill_pp, {}},
      {"--prefill-dp", &o.prefill_dp, {}},
      {"--prefill-ep", &o.prefill_ep, {}},
      {"--batch", &o.batch, {}},
      {"--chunk", &o.chunk, {}},
      {"--steps", &o.steps, {}},
      {"--bytes-per-element", &o.bytes_per_element, {}},
      {"--kv-bytes-per-element", &o.kv_bytes_per_element, {}},
      {"--prompts", &o.prompts, {}},
      {"--absorbed", &o.absorbed, {}},
      {"--all-logits", &o.all_logits, {}},
      {"--overlap", &o.overlap, {}},
      {"--merged-products", &o.merged_products, {}},
      {"--gated", &o.gated, {}},
      {"--causal", &o.causal, {}},
      {"--kv-tier", &o.kv_tier, {}},
      {"--kv-tier-share", &o.kv_tier_share, {}},
      {"--fp8", &o.fp8, {}},
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--device-peak-tflops", &o.device_peak_tflops, {}},
      {"--device-fp8-tflops", &o.device_fp8_tflops, {}},
      {"--device-mem-gb-per-s", &o.device_mem_gb_per_s, {}},
      {"--efficiency", &o.efficiency, {}},
      {"--device-memory-gib", &o.device_memory_gib, {}},
      {"--stats", &o.stats, {}},
      {"--all-ranks", &o.all_ranks, {}},
  };
}
Options rows_of(ServeOptions& o, const Arguments& more) {
  return bound<generate::GenerateServeOptions>(fields_of(o), more);
}

Options fields_of(CasesOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--num-npus", &o.num_npus, {}},
      {"--default-runtime", &o.default_runtime, {}},
      {"--default-tensor-size", &o.default_tensor_size, {}},
      {"--default-comm-size", &o.default_comm_size, {}},
  };
}
Options rows_of(CasesOptions& o, const Arguments& more) { return bound<generate::CaseOptions>(fields_of(o), more); }

Options fields_of(BlueprintOptions& o) {
  return {
      {"--blueprint", &o.blueprint, {}},
      {"--output", &o.output, {}},
      {"--set", &o.set, {}},
  };
}
Options rows_of(BlueprintOptions& o, const Arguments& more) {
  return bound<generate::NetworkOptions>(fields_of(o), more);
}

Options fields_of(ImportOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--classes", &o.classes, {}},
      {"--from", &o.from, {}},
      {"--dims", &o.dims, {}},
      {"--num-npus", &o.num_npus, {}},
      {"--num-passes", &o.num_passes, {}},
      {"--time-unit", &o.time_unit, {}},
      {"--coll-size", &o.coll_size, {}},
      {"--default-simulated-run-time", &o.default_simulated_run_time, {}},
  };
}
Options rows_of(ImportOptions& o, const Arguments& more) { return bound<convert::ImportOptions>(fields_of(o), more); }

Options fields_of(EditOptions& o) {
  return {
      {"--ranks", &o.ranks, {}},
      {"--expand", &o.expand, {}},
  };
}
Options rows_of(EditOptions& o, const Arguments& more) { return bound<job::SimulateOptions>(fields_of(o), more); }

Options fields_of(CheckOptions& o) {
  return {
      {"--groups", &o.groups, {}},
      {"--expand", &o.expand, {}},
  };
}
Options rows_of(CheckOptions& o, const Arguments& more) { return bound<job::CheckOptions>(fields_of(o), more); }

Options fields_of(SimulateOptions& o) {
  return {
      {"--network", &o.network, {}},
      {"--system", &o.system, {}},
      {"--memory", &o.memory, {}},
      {"--groups", &o.groups, {}},
      {"--ranks", &o.ranks, {}},
      {"--expand", &o.expand, {}},
      {"--no-check", &o.no_check, {}},
      {"--compat", choice(o.compat, kCompat), {}},
      {"--backend", choice(o.backend, kBackend), {}},
      {"--num-queues-per-dim", &o.num_queues_per_dim, {}},
      {"--rendezvous-protocol", &o.rendezvous_protocol, {}},
      {"--injection-scale", &o.injection_scale, {}},
      {"--congestion", choice(o.congestion, kCongestion), {}},
      {"--packet-bytes", &o.packet_bytes, {}},
      {"--collectives", &o.collectives, {}},
      {"--routing", &o.routing, {}},
      {"--transfers", choice(o.transfers, kTransfers), {}},
      {"--delay", &o.delay, {}},
      {"--align-starts", &o.align_starts, {}},
      {"--no-fold", &o.no_fold, {}},
      {"--diagnose", &o.diagnose, {}},
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--from-device", &o.from_device, {}},
      {"--unrecorded", choice(o.unrecorded, kUnrecorded), {}},
      {"--max-error", &o.max_error, {}},
      {"--astra-output", &o.astra_output, {}},
      {"--timeline", &o.timeline, {}},
  };
}
Options rows_of(SimulateOptions& o, const Arguments& more) { return bound<job::SimulateOptions>(fields_of(o), more); }

Options fields_of(WhatIfOptions& o) {
  return {
      {"--from-network", &o.from_network, {}},
      {"--system", &o.system, {}},
      {"--groups", &o.groups, {}},
      {"--ranks", &o.ranks, {}},
      {"--network", &o.network, {}},
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--from-device", &o.from_device, {}},
      {"--unrecorded", choice(o.unrecorded, kUnrecorded), {}},
      {"--tp", &o.tp, {}},
      {"--pp", &o.pp, {}},
      {"--dp", &o.dp, {}},
      {"--micro-batches", &o.micro_batches, {}},
      {"--batch", &o.batch, {}},
      {"--slow-link", &o.slow_link, {}},
      {"--fail-link", &o.fail_link, {}},
      {"--overlap", &o.overlap, {}},
      {"--scale", &o.scale, {}},
      {"--scale-node", &o.scale_node, {}},
      {"--remove", &o.remove, {}},
      {"--speed", &o.speed, {}},
      {"--jitter", &o.jitter, {}},
      {"--repeat", &o.repeat, {}},
      {"--seed", &o.seed, {}},
      {"--sensitivity", &o.sensitivity, {}},
  };
}
Options rows_of(WhatIfOptions& o, const Arguments& more) { return bound<job::WhatIfOptions>(fields_of(o), more); }

Options fields_of(AnalyzeOptions& o) {
  return {
      {"--only", &o.only, {}},
      {"--groups", &o.groups, {}},
      {"--launched", choice(o.launched, kLaunched), {}},
      {"--svg", &o.svg, {}},
  };
}
Options rows_of(AnalyzeOptions& o, const Arguments& more) { return bound<job::AnalyzeOptions>(fields_of(o), more); }

Options fields_of(QueryOptions& o) {
  return {
      {"--named", &o.named, {}},
      {"--param", &o.param, {}},
      {"--limit-seconds", &o.limit_seconds, {}},
      {"--limit-memory", &o.limit_memory, {}},
      {"--network", &o.network, {}},
      {"--system", &o.system, {}},
      {"--memory", &o.memory, {}},
      {"--ranks", &o.ranks, {}},
      {"--expand", &o.expand, {}},
      {"--no-check", &o.no_check, {}},
      {"--compat", choice(o.compat, kCompat), {}},
      {"--backend", choice(o.backend, kBackend), {}},
      {"--num-queues-per-dim", &o.num_queues_per_dim, {}},
      {"--rendezvous-protocol", &o.rendezvous_protocol, {}},
      {"--injection-scale", &o.injection_scale, {}},
      {"--congestion", choice(o.congestion, kCongestion), {}},
      {"--packet-bytes", &o.packet_bytes, {}},
      {"--collectives", &o.collectives, {}},
      {"--routing", &o.routing, {}},
      {"--transfers", choice(o.transfers, kTransfers), {}},
      {"--delay", &o.delay, {}},
      {"--align-starts", &o.align_starts, {}},
      {"--no-fold", &o.no_fold, {}},
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--from-device", &o.from_device, {}},
      {"--unrecorded", choice(o.unrecorded, kUnrecorded), {}},
  };
}
Options rows_of(QueryOptions& o, const Arguments& more) { return bound<query::QueryOptions>(fields_of(o), more); }

Options fields_of(ReportOptions& o) {
  return {
      {"--against", &o.against, {}},
      {"--against-network", &o.against_network, {}},
      {"--timeline", &o.timeline, {}},
      {"--xlsx", &o.xlsx, {}},
      {"--groups", &o.groups, {}},
      {"--launched", choice(o.launched, kLaunched), {}},
      {"--network", &o.network, {}},
      {"--system", &o.system, {}},
      {"--memory", &o.memory, {}},
      {"--ranks", &o.ranks, {}},
      {"--expand", &o.expand, {}},
      {"--no-check", &o.no_check, {}},
      {"--compat", choice(o.compat, kCompat), {}},
      {"--backend", choice(o.backend, kBackend), {}},
      {"--num-queues-per-dim", &o.num_queues_per_dim, {}},
      {"--rendezvous-protocol", &o.rendezvous_protocol, {}},
      {"--injection-scale", &o.injection_scale, {}},
      {"--congestion", choice(o.congestion, kCongestion), {}},
      {"--packet-bytes", &o.packet_bytes, {}},
      {"--collectives", &o.collectives, {}},
      {"--routing", &o.routing, {}},
      {"--transfers", choice(o.transfers, kTransfers), {}},
      {"--delay", &o.delay, {}},
      {"--align-starts", &o.align_starts, {}},
      {"--no-fold", &o.no_fold, {}},
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--from-device", &o.from_device, {}},
      {"--unrecorded", choice(o.unrecorded, kUnrecorded), {}},
  };
}
Options rows_of(ReportOptions& o, const Arguments& more) { return bound<report::ReportOptions>(fields_of(o), more); }

Options fields_of(ViewOptions& o) {
  return {
      {"--to", &o.to, {}},
      {"--from", choice(o.from, kFrom), {}},
      {"--rank", &o.rank, {}},
      {"--ranks", &o.ranks, {}},
      {"--pick", choice(o.pick, kPick), {}},
      {"--only", choice(o.only, kOnly), {}},
      {"--focus", &o.focus, {}},
      {"--hops", &o.hops, {}},
      {"--group", &o.group, {}},
      {"--boxes", &o.boxes, {}},
      {"--num-npus", &o.num_npus, {}},
      {"--npu-frequency", &o.npu_frequency, {}},
  };
}
Options rows_of(ViewOptions& o, const Arguments& more) { return bound<job::ViewOptions>(fields_of(o), more); }

Options fields_of(RunOptions& o) {
  return {
      {"--groups", &o.groups, {}},
      {"--backend", &o.backend, {}},
      {"--backend-option", &o.backend_option, {}},
      {"--compute", &o.compute, {}},
      {"--compute-option", &o.compute_option, {}},
      {"--scale-compute", &o.scale_compute, {}},
      {"--files", &o.files, {}},
      {"--file-cache", &o.file_cache, {}},
      {"--file-order", &o.file_order, {}},
      {"--start", choice(o.start, kStart), {}},
      {"--verify", &o.verify, {}},
      {"--no-check", &o.no_check, {}},
      {"--timeout", &o.timeout, {}},
      {"--rank", &o.rank, {}},
      {"--ranks", &o.ranks, {}},
      {"--rendezvous", &o.rendezvous, {}},
      {"--shrink", &o.shrink, {}},
      {"--auto-shrink", &o.auto_shrink, {}},
      {"--expand", &o.expand, {}},
      {"--dry-run", &o.dry_run, {}},
      {"--steps", &o.steps, {}},
      {"--subgraph", &o.subgraph, {}},
      {"--allow-ops", &o.allow_ops, {}},
      {"--only-groups", &o.only_groups, {}},
      {"--min-size", &o.min_size, {}},
      {"--max-size", &o.max_size, {}},
      {"--warmup-iter", &o.warmup_iter, {}},
      {"--num-replays", &o.num_replays, {}},
      {"--compare", &o.compare, {}},
      {"--output", &o.output, {}},
      {"--timeline", &o.timeline, {}},
      {"--flows", &o.flows, {}},
      {"--network", &o.network, {}},
      {"--collectives", &o.collectives, {}},
  };
}
Options rows_of(RunOptions& o, const Arguments& more) { return bound<run::ReplayOptions>(fields_of(o), more); }

Options fields_of(DiffOptions& o) {
  return {
      {"--threshold", &o.threshold, {}}, {"--least-share", &o.least_share, {}}, {"--fail-over", &o.fail_over, {}},
      {"--markdown", &o.markdown, {}},   {"--timing", &o.timing, {}},
  };
}
Options rows_of(DiffOptions& o, const Arguments& more) { return bound<job::DiffOptions>(fields_of(o), more); }

Options fields_of(WriteOptions& o) {
  return {
      {"--to", &o.to, {}},
  };
}
Options rows_of(WriteOptions& o, const Arguments& more) { return bound<convert::ConvertOptions>(fields_of(o), more); }

Options fields_of(ConvertOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--from", &o.from, {}},
      {"--to", &o.to, {}},
  };
}
Options rows_of(ConvertOptions& o, const Arguments& more) { return bound<convert::ConvertOptions>(fields_of(o), more); }

Options fields_of(PackOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--append", &o.append, {}},
      {"--stats", &o.stats, {}},
      {"--group", &o.group, {}},
  };
}
Options rows_of(PackOptions& o, const Arguments& more) { return bound<convert::PackOptions>(fields_of(o), more); }

Options fields_of(UnpackOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--ranks", &o.ranks, {}},
      {"--nodes", &o.nodes, {}},
      {"--to", &o.to, {}},
  };
}
Options rows_of(UnpackOptions& o, const Arguments& more) { return bound<convert::UnpackOptions>(fields_of(o), more); }

Options fields_of(SelectOptions& o) {
  return {
      {"--count", &o.count, {}},
      {"--method", choice(o.method, kMethod), {}},
      {"--svg", &o.svg, {}},
  };
}
Options rows_of(SelectOptions& o, const Arguments& more) { return bound<share::SelectOptions>(fields_of(o), more); }

Options fields_of(SweepOptions& o) {
  return {
      {"--output", &o.output, {}},
      {"--shard", &o.shard, {}},
      {"--svg", &o.svg, {}},
  };
}
Options rows_of(SweepOptions& o, const Arguments& more) { return bound<sweep::SweepOptions>(fields_of(o), more); }

Options fields_of(FleetLinkOptions& o) {
  return {
      {"--output", &o.output, {}}, {"--shard", &o.shard, {}},         {"--wait", &o.wait, {}},
      {"--memory", &o.memory, {}}, {"--plan", &o.plan, {}},           {"--again", &o.again, {}},
      {"--steps", &o.steps, {}},   {"--fit-steps", &o.fit_steps, {}}, {"--iteration", &o.iteration, {}},
      {"--cycle", &o.cycle, {}},   {"--salvage", &o.salvage, {}},     {"--split", &o.split, {}},
  };
}
Options rows_of(FleetLinkOptions& o, const Arguments& more) {
  return bound<fleet::FleetLinkOptions>(fields_of(o), more);
}

Options fields_of(FleetAnalyzeOptions& o) {
  return {
      {"--output", &o.output, {}}, {"--shard", &o.shard, {}},
      {"--wait", &o.wait, {}},     {"--memory", &o.memory, {}},
      {"--plan", &o.plan, {}},     {"--again", &o.again, {}},
      {"--only", &o.only, {}},     {"--launched", choice(o.launched, kLaunched), {}},
  };
}
Options rows_of(FleetAnalyzeOptions& o, const Arguments& more) {
  return bound<fleet::FleetAnalyzeOptions>(fields_of(o), more);
}

Options fields_of(FleetMergeOptions& o) {
  return {
      {"--output", &o.output, {}},
  };
}
Options rows_of(FleetMergeOptions& o, const Arguments& more) {
  return bound<fleet::FleetMergeOptions>(fields_of(o), more);
}

Options fields_of(CertifyOptions& o) {
  return {
      {"--output", &o.output, {}},     {"--among", &o.among, {}}, {"--level", &o.level, {}},
      {"--examples", &o.examples, {}}, {"--check", &o.check, {}},
  };
}
Options rows_of(CertifyOptions& o, const Arguments& more) { return bound<certify::CertifyOptions>(fields_of(o), more); }

Options fields_of(ObfuscateOptions& o) {
  return {
      {"--key", &o.key, {}},       {"--output", &o.output, {}}, {"--new-key", &o.new_key, {}},
      {"--level", &o.level, {}},   {"--among", &o.among, {}},   {"--width", &o.width, {}},
      {"--layers", &o.layers, {}}, {"--reveal", &o.reveal, {}}, {"--names", &o.names, {}},
  };
}
Options rows_of(ObfuscateOptions& o, const Arguments& more) {
  return bound<share::ObfuscateOptions>(fields_of(o), more);
}

Options fields_of(DoctorOptions& o) {
  return {
      {"--repair", &o.repair, {}},
      {"--secrets", &o.secrets, {}},
      {"--plugins", &o.plugins, {}},
  };
}
Options rows_of(DoctorOptions& o, const Arguments& more) { return bound<doctor::DoctorOptions>(fields_of(o), more); }

Options fields_of(CalibrateDeviceOptions& o) {
  return {
      {"--from", &o.from, {}},
      {"--output", &o.output, {}},
      {"--device", &o.device, {}},
  };
}
Options rows_of(CalibrateDeviceOptions& o, const Arguments& more) {
  return bound<job::CalibrateDeviceOptions>(fields_of(o), more);
}

Options fields_of(CalibrateNetworkOptions& o) {
  return {
      {"--from", &o.from, {}},   {"--output", &o.output, {}},       {"--judge", &o.judge, {}},
      {"--where", &o.where, {}}, {"--operation", &o.operation, {}}, {"--npus", &o.npus, {}},
  };
}
Options rows_of(CalibrateNetworkOptions& o, const Arguments& more) {
  return bound<job::CalibrateNetworkOptions>(fields_of(o), more);
}

}  // namespace chakra::facade

namespace chakra {
inline namespace v1 {

using facade::set_checked;
using Name = std::string_view;
using Text = const std::string&;

Result<void> set(LinkOptions& o, Name name, Text text) { return set_checked<linking::LinkJobOptions>(o, name, text); }
Result<void> set(StepOptions& o, Name name, Text text) {
  return set_checked<generate::GenerateStepOptions>(o, name, text);
}
Result<void> set(ServeOptions& o, Name name, Text text) {
  return set_checked<generate::GenerateServeOptions>(o, name, text);
}
Result<void> set(CasesOptions& o, Name name, Text text) { return set_checked<generate::CaseOptions>(o, name, text); }
Result<void> set(BlueprintOptions& o, Name name, Text text) {
  return set_checked<generate::NetworkOptions>(o, name, text);
}
Result<void> set(ImportOptions& o, Name name, Text text) { return set_checked<convert::ImportOptions>(o, name, text); }
Result<void> set(EditOptions& o, Name name, Text text) { return set_checked<job::SimulateOptions>(o, name, text); }
Result<void> set(CheckOptions& o, Name name, Text text) { return set_checked<job::CheckOptions>(o, name, text); }
Result<void> set(SimulateOptions& o, Name name, Text text) { return set_checked<job::SimulateOptions>(o, name, text); }
Result<void> set(WhatIfOptions& o, Name name, Text text) { return set_checked<job::WhatIfOptions>(o, name, text); }
Result<void> set(AnalyzeOptions& o, Name name, Text text) { return set_checked<job::AnalyzeOptions>(o, name, text); }
Result<void> set(QueryOptions& o, Name name, Text text) { return set_checked<query::QueryOptions>(o, name, text); }
Result<void> set(ReportOptions& o, Name name, Text text) { return set_checked<report::ReportOptions>(o, name, text); }
Result<void> set(ViewOptions& o, Name name, Text text) { return set_checked<job::ViewOptions>(o, name, text); }
Result<void> set(RunOptions& o, Name name, Text text) { return set_checked<run::ReplayOptions>(o, name, text); }
Result<void> set(DiffOptions& o, Name name, Text text) { return set_checked<job::DiffOptions>(o, name, text); }
Result<void> set(WriteOptions& o, Name name, Text text) { return set_checked<convert::ConvertOptions>(o, name, text); }
Result<void> set(ConvertOptions& o, Name name, Text text) {
  return set_checked<convert::ConvertOptions>(o, name, text);
}
Result<void> set(PackOptions& o, Name name, Text text) { return set_checked<convert::PackOptions>(o, name, text); }
Result<void> set(UnpackOptions& o, Name name, Text text) { return set_checked<convert::UnpackOptions>(o, name, text); }
Result<void> set(SelectOptions& o, Name name, Text text) { return set_checked<share::SelectOptions>(o, name, text); }
Result<void> set(SweepOptions& o, Name name, Text text) { return set_checked<sweep::SweepOptions>(o, name, text); }
Result<void> set(FleetLinkOptions& o, Name name, Text text) {
  return set_checked<fleet::FleetLinkOptions>(o, name, text);
}
Result<void> set(FleetAnalyzeOptions& o, Name name, Text text) {
  return set_checked<fleet::FleetAnalyzeOptions>(o, name, text);
}
Result<void> set(FleetMergeOptions& o, Name name, Text text) {
  return set_checked<fleet::FleetMergeOptions>(o, name, text);
}
Result<void> set(CertifyOptions& o, Name name, Text text) {
  return set_checked<certify::CertifyOptions>(o, name, text);
}
Result<void> set(ObfuscateOptions& o, Name name, Text text) {
  return set_checked<share::ObfuscateOptions>(o, name, text);
}
Result<void> set(DoctorOptions& o, Name name, Text text) { return set_checked<doctor::DoctorOptions>(o, name, text); }
Result<void> set(CalibrateDeviceOptions& o, Name name, Text text) {
  return set_checked<job::CalibrateDeviceOptions>(o, name, text);
}
Result<void> set(CalibrateNetworkOptions& o, Name name, Text text) {
  return set_checked<job::CalibrateNetworkOptions>(o, name, text);
}

}  // namespace v1
}  // namespace chakra
