// The members of the facade's options as rows, by the keys of the calls' rows.
// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.
#include "chakra/facade/facade.h"

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
constexpr std::array<std::string_view, 4> kOnly{"all", "comm", "compute", "device"};
constexpr std::array<std::string_view, 2> kStart{"recorded", "together"};

}  // namespace

Options fields_of(LinkOptions& o) {
  return {
      {"--output", &o.output, {}},       {"--rank", &o.rank, {}},           {"--steps", &o.steps, {}},
      {"--fit-steps", &o.fit_steps, {}}, {"--iteration", &o.iteration, {}}, {"--cycle", &o.cycle, {}},
      {"--salvage", &o.salvage, {}},     {"--max-error", &o.max_error, {}}, {"--explain", &o.explain, {}},
  };
}

Options fields_of(StepOptions& o) {
  return {
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
  };
}

Options fields_of(ServeOptions& o) {
  return {
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
  };
}

Options fields_of(EditOptions& o) {
  return {
      {"--ranks", &o.ranks, {}},
      {"--expand", &o.expand, {}},
  };
}

Options fields_of(CheckOptions& o) {
  return {
      {"--groups", &o.groups, {}},
      {"--expand", &o.expand, {}},
  };
}

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
      {"--device", &o.device, {}},
      {"--stack", &o.stack, {}},
      {"--from-device", &o.from_device, {}},
      {"--unrecorded", choice(o.unrecorded, kUnrecorded), {}},
      {"--max-error", &o.max_error, {}},
  };
}

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

Options fields_of(AnalyzeOptions& o) {
  return {
      {"--only", &o.only, {}},
      {"--groups", &o.groups, {}},
      {"--launched", choice(o.launched, kLaunched), {}},
  };
}

Options fields_of(ViewOptions& o) {
  return {
      {"--to", &o.to, {}},       {"--rank", &o.rank, {}},
      {"--ranks", &o.ranks, {}}, {"--only", choice(o.only, kOnly), {}},
      {"--focus", &o.focus, {}}, {"--hops", &o.hops, {}},
      {"--group", &o.group, {}}, {"--boxes", &o.boxes, {}},
  };
}

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
  };
}

Options fields_of(DiffOptions& o) {
  return {
      {"--threshold", &o.threshold, {}},
      {"--least-share", &o.least_share, {}},
  };
}

Options fields_of(WriteOptions& o) {
  return {
      {"--to", &o.to, {}},
  };
}

Options fields_of(CalibrateDeviceOptions& o) {
  return {
      {"--from", &o.from, {}},
      {"--output", &o.output, {}},
      {"--device", &o.device, {}},
  };
}

Options fields_of(CalibrateNetworkOptions& o) {
  return {
      {"--from", &o.from, {}},   {"--output", &o.output, {}},       {"--judge", &o.judge, {}},
      {"--where", &o.where, {}}, {"--operation", &o.operation, {}}, {"--npus", &o.npus, {}},
  };
}

}  // namespace chakra::facade
