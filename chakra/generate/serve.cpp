#include "chakra/generate/serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/device/device.h"
#include "chakra/generate/parts.h"
#include "chakra/sim/sim.h"

namespace chakra::generate {
namespace {

std::string shape(const gen::ServeMesh& mesh) {
  const std::string text = fmt::format("tp {} x pp {} x dp {}", mesh.tp, mesh.pp, mesh.dp);
  return mesh.ep > 1 ? fmt::format("{}; ep {}", text, mesh.ep) : text;
}

std::string shape_of(const gen::ServeOptions& serve) {
  if (!serve.separate()) return shape(serve.mesh);
  gen::ServeMesh prefill = serve.prefill;
  for (int64_t* const size : {&prefill.tp, &prefill.pp, &prefill.dp, &prefill.ep}) *size = std::max<int64_t>(*size, 1);
  return fmt::format("prefill {}, decode {}", shape(prefill), shape(serve.mesh));
}

}  // namespace

Result<ServeJob> generate_serve(const ServeJobOptions& o, Findings& findings) {
  ServeJob made;
  made.shows_memory = o.shows_memory;
  made.serve = o.serve;
  device::System system;
  CHAKRA_ASSIGN(const device::Stack stack, use_device_and_stack(o.device, o.stack, system));
  made.stack = stack.name;
  made.assumed = assumed_device(made.serve, o);
  made.serve.pass_ns = std::llround(stack.serving.pass_s * 1e9);
  made.serve.sequence_ns = std::llround(stack.serving.sequence_s * 1e9);
  made.device_memory_gib = memory_of_device(o.device_memory_gib, system);
  CHAKRA_ASSIGN(trace::ClassJob job, gen::serve(made.serve));
  CHAKRA_ASSIGN(made.stats, gen::serve_stats(made.serve, job));
  describe_memory(made.stats.classes, job);
  CHAKRA_TRY(sim::retarget(job, system, findings));
  for (trace::Trace& t : job.classes) gen::describe_recipe_device({o.device, o.stack}, t);
  GenerateOptions files = o.files;
  files.name = "serve";
  CHAKRA_ASSIGN(made.files, generate_job(job, files));
  made.files.shape = shape_of(made.serve);
  if (!system.target && o.device_memory_gib) note_memory(made.stats.classes, false, *o.device_memory_gib, findings);
  made.job = std::move(job);
  for (Finding& finding : options_without_effect(o, made.serve, made.stats)) findings.push_back(std::move(finding));
  made.findings = findings;
  return made;
}

}  // namespace chakra::generate
