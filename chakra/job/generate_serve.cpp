#include "chakra/job/generate_serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/device/device.h"
#include "chakra/job/generate_parts.h"
#include "chakra/sim/sim.h"

namespace chakra::job {
namespace {

std::string shape(const gen::ServeMesh& mesh) {
  const std::string text = fmt::format("tp {} x pp {} x dp {}", mesh.tp, mesh.pp, mesh.dp);
  return mesh.ep > 1 ? fmt::format("{}; ep {}", text, mesh.ep) : text;
}

}  // namespace

Result<ServeJob> generate_serve(const ServeJobOptions& o, Findings& findings) {
  ServeJob made;
  made.serve = o.serve;
  device::System system;
  CHAKRA_ASSIGN(const device::Stack stack, use_device_and_stack(o.device, o.stack, system));
  made.stack = stack.name;
  made.serve.pass_ns = std::llround(stack.serving.pass_s * 1e9);
  made.serve.sequence_ns = std::llround(stack.serving.sequence_s * 1e9);
  made.device_memory_gib = memory_of_device(o.device_memory_gib, system);
  CHAKRA_ASSIGN(trace::ClassJob job, gen::serve(made.serve));
  CHAKRA_TRY(sim::retarget(job, system, findings));
  GenerateOptions files = o.files;
  files.name = "serve";
  CHAKRA_ASSIGN(made.files, generate_job(job, files));
  CHAKRA_ASSIGN(made.stats, gen::serve_stats(made.serve, job));
  made.job = std::move(job);
  made.ignored = options_without_effect(o, made.serve, made.stats);
  findings.insert(findings.end(), made.ignored.begin(), made.ignored.end());
  return made;
}

std::string to_text(const ServeJob& job) {
  const gen::ServeOptions& serve = job.serve;
  std::string ranks = shape(serve.mesh);
  if (serve.separate()) {
    gen::ServeMesh prefill = serve.prefill;
    for (int64_t* const size : {&prefill.tp, &prefill.pp, &prefill.dp, &prefill.ep})
      *size = std::max<int64_t>(*size, 1);
    ranks = fmt::format("prefill {}, decode {}", shape(prefill), ranks);
  }
  std::string text = to_text(job.files, ranks);
  const auto line = [&](const char* name, const gen::PhaseStats& phase) {
    if (phase.tokens == 0) return;
    text += fmt::format("{} {:.4g} tokens, {:.4g} FLOPs, {:.4g} GB of parameters and {:.4g} GB of the cache read\n",
                        name, phase.tokens, phase.operations, phase.parameter_bytes / 1e9, phase.cache_bytes / 1e9);
  };
  line("prefill:", job.stats.prefill);
  line("decode: ", job.stats.decode);
  if (serve.pass_ns > 0 || serve.sequence_ns > 0)
    text += fmt::format("stack {}: the host takes {:g} us between passes, and {:g} us for each sequence\n", job.stack,
                        static_cast<double>(serve.pass_ns) / 1e3, static_cast<double>(serve.sequence_ns) / 1e3);
  return text;
}

std::string memory_text_of(const ServeJob& job) {
  const gen::ServeStats& stats = job.stats;
  const gen::ServeClassStats& most = fullest(stats.classes);
  const gen::ServeMemory& m = most.memory;
  std::string text =
      parameters_text(stats.parameters, stats.active_parameters) +
      fmt::format("cache               {} bytes per token, all layers\n", show_count(stats.kv_bytes_per_token));
  if (stats.transfer_bytes > 0)
    text +=
        fmt::format("moved               {:.4f} GiB of the cache, to ranks that decode\n", stats.transfer_bytes / kGib);
  if (const double surplus = stats.prefill.surplus + stats.decode.surplus; surplus > 0.5)
    text += fmt::format("surplus             {:.6g} FLOPs: duplicate work of ranks, or padding\n", surplus);
  std::vector<MemoryLine> lines{{"parameters", m.parameters, "elements of the rank"},
                                {"cache", m.cache, "keys and values of its layers and heads, at the end"}};
  if (m.expanded > 0)
    lines.push_back({"expanded", m.expanded, "keys and values of all heads, between chunks of a prompt"});
  lines.push_back({"activations", m.activations, "inputs and output of the largest operator"});
  text += memory_text(most.first_rank, lines, job.device_memory_gib);
  return text + tables_of_classes(stats.classes);
}

}  // namespace chakra::job
