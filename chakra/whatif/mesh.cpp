// A generated job with other tensor-parallel ranks or other stages: the step is made again from its recipe.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/trace/metadata.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::Trace;

// `whatif.mesh.recipe` (1): the metadata of the job has no recipe, or the job differs from the generated one
Failure refuse(std::string_view option, const std::string& why) {
  return fail(Code::bad_input, "whatif.mesh.recipe", fmt::format("--{} requires a generated job: {}", option, why));
}

template <class Column>
auto at(const Column& column, NodeId n) {
  return n < column.size() ? column[n] : 0;
}

bool same_node(const Trace& a, const Trace& b, NodeId n) {
  constexpr Picoseconds kRounding = kPsPerNs;  // of files
  if (a.type[n] != b.type[n] || a.name_of(n) != b.name_of(n) || at(a.num_ops, n) != at(b.num_ops, n) ||
      at(a.tensor_bytes, n) != at(b.tensor_bytes, n) || std::abs(a.dur_ps[n] - b.dur_ps[n]) > kRounding)
    return false;
  std::vector<NodeId> before(a.deps.of(n).begin(), a.deps.of(n).end()), now(b.deps.of(n).begin(), b.deps.of(n).end());
  std::sort(before.begin(), before.end()), std::sort(now.begin(), now.end());
  return before == now;
}

bool same(const Trace& a, const Trace& b) {
  if (a.rank != b.rank || a.size() != b.size() || a.comms.size() != b.comms.size()) return false;
  for (const NodeId n : a.nodes())
    if (!same_node(a, b, n)) return false;
  for (size_t row = 0; row < a.comms.size(); ++row) {
    const trace::Comm &x = a.comms[row], &y = b.comms[row];
    if (x.type != y.type || x.bytes != y.bytes || a.strings[x.group] != b.strings[y.group] || x.src != y.src ||
        x.dst != y.dst || x.in_split != y.in_split || x.out_split != y.out_split)
      return false;
  }
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.ranks == y.ranks; });
}

/// The step on the device that `like` was generated for.
Result<trace::TraceSet> generate(const gen::StepOptions& options, const Trace& like, Findings& findings) {
  CHAKRA_ASSIGN(trace::ClassJob classes, gen::step(options));
  CHAKRA_ASSIGN(const gen::StepStats stats, gen::stats(options, classes));
  for (size_t cls = 0; cls < classes.classes.size(); ++cls)
    trace::describe_memory(stats.classes[cls].memory.sum(), classes.classes[cls]);
  const gen::RecipeDevice of = gen::recipe_device_of(like);
  if (of.device.empty()) return trace::expand(classes);
  device::System system;
  CHAKRA_ASSIGN(system.target, device::find_or_load(of.device));
  CHAKRA_TRY(device::use_stack(of.stack, *system.target));
  CHAKRA_TRY(sim::retarget(classes, system, findings));
  for (Trace& t : classes.classes) gen::describe_recipe_device(of, t);
  return trace::expand(classes);
}

/// The step with other options. Errors: whatif.mesh.recipe, whatif.rule.nothing, and those of gen::step.
Result<Reached> make_again(std::string_view option, const ChangeOptions& change, sim::SimInput& input) {
  if (input.job.ranks.empty()) return refuse(option, "this job has no ranks");
  std::optional<gen::StepOptions> options = gen::recipe_of(input.job.ranks.front());
  if (!options) return refuse(option, "the metadata of this job has no recipe");
  if (!input.system.unlike.empty()) return refuse(option, "the system file has rows for single ranks of this job");
  Reached reached;
  CHAKRA_ASSIGN(const trace::TraceSet before, generate(*options, input.job.ranks.front(), reached.findings));
  bool as_generated = before.ranks.size() == input.job.ranks.size();
  for (size_t r = 0; as_generated && r < before.ranks.size(); ++r)
    as_generated = same(before.ranks[r], input.job.ranks[r]);
  if (!as_generated)
    return refuse(option, "this job differs from the generated job; it was edited, or moved to another device");
  reached.findings.clear();  // of the job that there is; its generator told them
  change(*options);
  CHAKRA_ASSIGN(input.job, generate(*options, before.ranks.front(), reached.findings));
  for (const Trace& t : before.ranks) {
    reached.nodes += static_cast<int64_t>(t.size());
    for (const NodeId n : t.nodes()) reached.time_ps = add_saturated(reached.time_ps, t.dur_ps[n]);
  }
  input.groups = {};
  input.matching.reset();
  input.transfers.reset();
  return reached;
}

Result<Reached> change_mesh(std::string_view option, int64_t gen::StepOptions::*axis, std::string_view value,
                            sim::SimInput& input) {
  int64_t wanted = 0;
  if (!parse_decimal(value, wanted) || wanted < 1)
    return fail(Code::usage, "whatif.rule.form", fmt::format("{} is not a number of ranks", quote(value)));
  const auto options = input.job.ranks.empty() ? std::nullopt : gen::recipe_of(input.job.ranks.front());
  if (options && (*options).*axis == wanted)
    return reached_something({}, option, value, fmt::format("the job already has {} {}", option, wanted));
  return make_again(
      option, [&](gen::StepOptions& of) { of.*axis = wanted; }, input);
}

}  // namespace

std::optional<Result<Reached>> change_generated(std::string_view option, const ChangeOptions& change,
                                                sim::SimInput& input) {
  Result<Reached> reached = make_again(option, change, input);
  if (!reached && reached.error().tag == "whatif.mesh.recipe") return std::nullopt;
  return reached;
}

Result<Reached> change_tp(std::string_view value, sim::SimInput& input) {
  return change_mesh("tp", &gen::StepOptions::tp, value, input);
}
Result<Reached> change_pp(std::string_view value, sim::SimInput& input) {
  return change_mesh("pp", &gen::StepOptions::pp, value, input);
}

}  // namespace chakra::whatif
