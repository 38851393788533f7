// A generated job with other options: it is made again from its recipe.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "chakra/device/device.h"
#include "chakra/trace/metadata.h"
#include "chakra/whatif/generated.h"
#include "chakra/whatif/layouts.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::Trace;

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

bool same_nodes(const Trace& a, const Trace& b) {
  if (gen::recipe_text(a) != gen::recipe_text(b)) return false;
  if (a.size() != b.size() || a.comms.size() != b.comms.size()) return false;
  for (const NodeId n : a.nodes())
    if (!same_node(a, b, n)) return false;
  for (size_t row = 0; row < a.comms.size(); ++row) {
    const trace::Comm &x = a.comms[row], &y = b.comms[row];
    if (x.type != y.type || x.bytes != y.bytes || a.strings[x.group] != b.strings[y.group] || x.src != y.src ||
        x.dst != y.dst || x.in_split != y.in_split || x.out_split != y.out_split)
      return false;
  }
  return true;
}

bool same_rank(const Trace& a, const Trace& b) {
  if (a.rank != b.rank || !same_nodes(a, b)) return false;
  return std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.ranks == y.ranks; });
}

Result<trace::ClassJob> make(const gen::StepOptions& options) {
  CHAKRA_ASSIGN(trace::ClassJob classes, gen::step(options));
  CHAKRA_ASSIGN(const gen::StepStats stats, gen::stats(options, classes));
  for (size_t cls = 0; cls < classes.classes.size(); ++cls)
    trace::describe_memory(stats.classes[cls].memory.sum(), classes.classes[cls]);
  return classes;
}
Result<trace::ClassJob> make(const gen::ServeOptions& options) {
  CHAKRA_ASSIGN(trace::ClassJob classes, gen::serve(options));
  CHAKRA_ASSIGN(const gen::ServeStats stats, gen::serve_stats(options, classes));
  for (size_t cls = 0; cls < classes.classes.size(); ++cls)
    trace::describe_memory(stats.classes[cls].memory.sum(), classes.classes[cls]);
  return classes;
}

Result<trace::ClassJob> make(const Recipe& recipe, Findings& findings) {
  CHAKRA_ASSIGN(const device::System system, system_of(recipe));
  return generate(recipe, system, findings);
}

bool same(const trace::ClassJob& a, const trace::ClassJob& b) {
  const auto same_rank = [](const trace::ClassJob::Rank& x, const trace::ClassJob::Rank& y) {
    return x.rank == y.rank && x.cls == y.cls && x.first_group == y.first_group && x.first_peer == y.first_peer;
  };
  const auto same_group = [](const trace::ProcessGroup& x, const trace::ProcessGroup& y) {
    return x.name == y.name && x.ranks == y.ranks;
  };
  return std::equal(a.classes.begin(), a.classes.end(), b.classes.begin(), b.classes.end(),
                    [](const Trace& x, const Trace& y) { return same_nodes(x, y); }) &&
         std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), same_rank) &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), same_group) &&
         a.group_slots == b.group_slots && a.group_of == b.group_of && a.peer_of == b.peer_of;
}

bool same(const trace::TraceSet& a, const trace::TraceSet& b) {
  return std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), same_rank);
}

/// Whether each rank of the job generated with `after` stands where a rank of the job of `before` stood, or in another
/// replica of a step.
bool keeps_places(const Recipe& before, const Recipe& after) {
  const auto *x = std::get_if<gen::StepOptions>(&before.options), *y = std::get_if<gen::StepOptions>(&after.options);
  if (x && y) return x->tp == y->tp && x->pp == y->pp;
  const auto *s = std::get_if<gen::ServeOptions>(&before.options), *t = std::get_if<gen::ServeOptions>(&after.options);
  return s && t && s->mesh.tp == t->mesh.tp && s->mesh.pp == t->mesh.pp && s->mesh.dp == t->mesh.dp;
}

/// Why the job of a recipe cannot be generated again with the options of `after`; empty: it can.
Result<std::string> obstacle(const Recipe& recipe, const Recipe& after, const sim::SimInput& input) {
  if (!input.system.unlike.empty() && !keeps_places(recipe, after))
    return std::string("the system file has rows for single ranks, whose places in the changed job are unknown");
  return std::string(is_as_generated(recipe, input)
                         ? ""
                         : "this job differs from the generated job; it was edited, or moved to another device");
}

const Trace& first_of(const sim::SimInput& input) {
  return input.classes ? input.classes->classes.front() : input.job.ranks.front();
}

Result<Reached> replace(const Recipe& recipe, sim::SimInput& input) {
  Reached reached;
  reached.again = true;
  for (const Trace& t : input.job.ranks) {
    reached.nodes += static_cast<int64_t>(t.size());
    for (const NodeId n : t.nodes()) reached.time_ps = add_saturated(reached.time_ps, t.dur_ps[n]);
  }
  CHAKRA_ASSIGN(trace::ClassJob made, make(recipe, reached.findings));
  const std::optional<gen::Layout> now = gen::layout_of(first_of(input)), then = gen::layout_of(made.classes.front());
  if (now && then) move_rank_rows(now->mesh, then->mesh, input.system);
  if (input.classes) input.classes = std::move(made);
  else input.job = trace::expand(made);
  input.groups = {};
  input.matching.reset();
  input.transfers.reset();
  return reached;
}

const ChangeRow& row_of(std::string_view change) {
  return *std::find_if(kChanges.begin(), kChanges.end(), [&](const ChangeRow& row) { return row.name == change; });
}

// `whatif.mesh.recipe` (1): the metadata of the job has no recipe, or the job differs from the generated one
Failure refuse(std::string_view option, const std::string& why) {
  return fail(Code::bad_input, "whatif.mesh.recipe", fmt::format("--{} requires a generated job: {}", option, why));
}

/// A change that other jobs cannot have.
Result<Reached> only_generated(std::string_view change, std::string_view value, sim::SimInput& input) {
  if (input.job.ranks.empty()) return refuse(change, "this job has no ranks");
  std::optional<Recipe> recipe = recipe_of(input.job);
  if (!recipe) return refuse(change, "the metadata of this job has no recipe");
  const Recipe before = *recipe;
  CHAKRA_TRY(row_of(change).generate(value, *recipe));
  CHAKRA_ASSIGN(const std::string why, obstacle(before, *recipe, input));
  if (!why.empty()) return refuse(change, why);
  return replace(*recipe, input);
}

Result<int64_t> whole_number(std::string_view change, std::string_view value) {
  int64_t wanted = 0;
  if (parse_decimal(value, wanted) && wanted >= 1) return wanted;
  return fail(Code::usage, "whatif.rule.form",
              fmt::format("{} is not a value of --{}, a whole number from 1 on", quote(value), change));
}

/// Set the size of an axis, and refuse the size that it has.
Result<bool> set_axis(std::string_view change, std::string_view value, int64_t& axis) {
  CHAKRA_ASSIGN(const int64_t wanted, whole_number(change, value));
  if (axis == wanted)
    CHAKRA_TRY(reached_something({}, change, value, fmt::format("the job already has {} {}", change, wanted)));
  axis = wanted;
  return true;
}

int64_t& axis(Recipe& recipe, int64_t gen::StepOptions::*step, int64_t gen::ServeMesh::*serve) {
  if (auto* const options = std::get_if<gen::StepOptions>(&recipe.options)) return options->*step;
  return std::get<gen::ServeOptions>(recipe.options).mesh.*serve;
}

/// `n` times a factor, if that is a whole number but for the digits of the factor.
std::optional<int64_t> times_whole(int64_t n, double factor) {
  constexpr double kDigits = 1e-6, kMost = 1e15;
  const double product = static_cast<double>(n) * factor;
  if (!(product >= 0.5 && product < kMost) || std::abs(product / std::round(product) - 1) > kDigits)
    return std::nullopt;
  return static_cast<int64_t>(product + 0.5);
}

/// Each sequence of a replica as often as the factor says.
bool multiply_sequences(double factor, gen::ServeOptions& o) {
  const bool alike =
      std::adjacent_find(o.contexts.begin(), o.contexts.end(), std::not_equal_to<>()) == o.contexts.end();
  const int64_t sequences = o.batch > 0 ? o.batch : std::ssize(o.contexts);
  const std::optional<int64_t> wanted = times_whole(sequences, factor);
  if (!wanted) return false;
  if (alike) {
    o.contexts.resize(1);
  } else {
    constexpr int64_t kMostSequences = 1 << 20;
    const std::optional<int64_t> copies = times_whole(1, factor);
    if (!copies || *copies * std::ssize(o.contexts) > kMostSequences) return false;
    const std::vector<int64_t> once = o.contexts;
    for (int64_t copy = 1; copy < *copies; ++copy) o.contexts.insert(o.contexts.end(), once.begin(), once.end());
  }
  o.batch = *wanted;
  return true;
}

}  // namespace

Result<device::System> system_of(const Recipe& recipe) {
  device::System system;
  if (recipe.of.device.empty()) return system;
  CHAKRA_ASSIGN(system.target, device::find_or_load(recipe.of.device));
  CHAKRA_TRY(device::use_stack(recipe.of.stack, *system.target));
  return system;
}

Result<trace::ClassJob> generate(const Recipe& recipe, const device::System& system, Findings& findings) {
  CHAKRA_ASSIGN(trace::ClassJob classes, std::visit([](const auto& options) { return make(options); }, recipe.options));
  if (!system.target) return classes;
  CHAKRA_TRY(sim::retarget(classes, system, findings));
  for (Trace& t : classes.classes) gen::describe_recipe_device(recipe.of, t);
  return classes;
}

std::optional<Recipe> recipe_of(const Trace& t) {
  if (auto step = gen::recipe_of(t)) return Recipe{*std::move(step), gen::recipe_device_of(t)};
  if (auto serve = gen::serve_recipe_of(t)) return Recipe{*std::move(serve), gen::recipe_device_of(t)};
  return std::nullopt;
}
std::optional<Recipe> recipe_of(const trace::TraceSet& job) {
  return job.ranks.empty() ? std::nullopt : recipe_of(job.ranks.front());
}

Result<std::vector<Applied>> generate_again(const std::vector<std::vector<std::string>>& changes,
                                            sim::SimInput& input) {
  std::optional<Recipe> recipe = recipe_of(input.job);
  std::vector<Applied> applied;
  if (!recipe || input.transfers) return applied;
  const Recipe before = *recipe;
  for (size_t r = 0; r < changes.size(); ++r)
    for (const std::string& value : changes[r]) {
      if (!kChanges[r].generate) continue;
      CHAKRA_ASSIGN(const bool set, kChanges[r].generate(value, *recipe));
      if (set) applied.push_back({&kChanges[r], value, {}});
    }
  if (applied.empty()) return applied;
  CHAKRA_ASSIGN(const std::string why, obstacle(before, *recipe, input));
  if (!why.empty()) return std::vector<Applied>();
  CHAKRA_ASSIGN(const Reached reached, replace(*recipe, input));
  for (Applied& one : applied) one.reached = reached;
  for (size_t later = 1; later < applied.size(); ++later) applied[later].reached.findings.clear();
  return applied;
}

std::optional<Result<Reached>> generate_with(std::string_view change, std::string_view value, sim::SimInput& input) {
  std::vector<std::vector<std::string>> changes(kChanges.size());
  changes[static_cast<size_t>(&row_of(change) - kChanges.data())].emplace_back(value);
  auto applied = generate_again(changes, input);
  if (!applied) return Result<Reached>(Failure(applied.error()));
  if (applied->empty()) return std::nullopt;
  return Result<Reached>(std::move(applied->front().reached));
}

namespace {
/// Why the job of a recipe is not generated again with the change.
std::string why_not_again(std::string_view change, std::string_view value, const Recipe& before,
                          const sim::SimInput& input) {
  Recipe recipe = before;
  const auto set = row_of(change).generate(value, recipe);
  if (!set || !*set) return "the generator has no such value";
  if (input.transfers) return "its transfers are recorded";
  const auto found = obstacle(before, recipe, input);
  return found ? *found : std::string(found.error().message());
}
}  // namespace

// `whatif.generated.edited` (warning): a change cannot generate a generated job again, so that the rule for other jobs
// is used
std::optional<Finding> not_generated(std::string_view change, std::string_view value, const sim::SimInput& input) {
  const std::optional<Recipe> recipe = recipe_of(input.job);
  if (!recipe) return std::nullopt;
  return Finding{
      "whatif.generated.edited", Severity::warning, -1, -1,
      fmt::format("--{} {} cannot generate this job again: {}. The rule for recorded jobs changes it instead", change,
                  value, why_not_again(change, value, *recipe, input))};
}

Result<void> check_other_rule(std::string_view change, std::string_view value, const sim::SimInput& input) {
  const std::optional<Recipe> recipe = recipe_of(input.job);
  if (!recipe || !std::holds_alternative<gen::ServeOptions>(recipe->options)) return {};
  return refuse(change, why_not_again(change, value, *recipe, input));
}

// ---- the host of a stack --------------------------------------------------------------------------------------------

namespace {

/// Whether published steps can be like the step: they train all weights of decoders, and wait for no storage.
bool has_published_like(const gen::StepOptions& o) {
  return o.model.family == model::Family::decoder && o.lora_rank == 0 && o.storage.data_tier.empty() &&
         o.storage.checkpoint_tier.empty() && o.storage.restart_tier.empty();
}

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9 + 0.5); }

bool has_host(const gen::ServeOptions& o) { return o.pass_ns > 0 || o.sequence_ns > 0; }
bool has_host(const gen::StepOptions& o) { return o.host_ns > 0; }
/// Set the host times of a device and its stack. False: they are the same.
bool set_host(const device::Device& device, gen::ServeOptions& o) {
  const auto before = std::pair(o.pass_ns, o.sequence_ns);
  o.pass_ns = nanoseconds(device.stack.pass_s), o.sequence_ns = nanoseconds(device.stack.sequence_s);
  return before != std::pair(o.pass_ns, o.sequence_ns);
}
bool set_host(const device::Device& device, gen::StepOptions& o) {
  const int64_t before = o.host_ns;
  if (before > 0) o.host_ns = nanoseconds(device.host_s);  // a step without a host does not get one
  return before != o.host_ns;
}

}  // namespace

bool is_as_generated(const Recipe& recipe, const sim::SimInput& input) {
  Findings known;  // the generator told them
  const Result<trace::ClassJob> made = make(recipe, known);
  return made && (input.classes ? same(*made, *input.classes) : same(trace::expand(*made), input.job));
}

const device::Device* device_of(const device::System& recipe, const device::System& run) {
  if (!run.devices.empty() || run.target_is_roofline || (run.roofline && !run.target)) return nullptr;
  if (run.target) return &*run.target;
  return recipe.target ? &*recipe.target : nullptr;
}

std::optional<RecipeFacts> recipe_facts(const Trace& generated, const device::System& system) {
  const std::optional<Recipe> recipe = recipe_of(generated);
  if (!recipe) return std::nullopt;
  RecipeFacts facts;
  const auto* const step = std::get_if<gen::StepOptions>(&recipe->options);
  if (step) facts.fsdp = step->framework.fsdp;
  Result<device::System> of;
  if (!system.target) of = system_of(*recipe);
  const device::Device* const device = of ? device_of(*of, system) : nullptr;  // the file is not here, or not any more
  if (!device) return facts;
  facts.device = device->name, facts.device_bytes = device->memory_bytes;
  if (step && has_published_like(*step))
    facts.published = device::published_steps(*device, trace::metadata_number(generated, "experts").value_or(0) != 0);
  return facts;
}

void RecipeFacts::settle(std::optional<sim::MemoryUse>& use, Findings& findings) const {
  if (!use || !fsdp) return;
  use->fsdp = *fsdp;
  if (use->device.empty()) use->device = device, use->device_bytes = device_bytes;
  const auto is_known = [](const Finding& finding) { return finding.tag == "sim.device.memory"; };
  if (std::any_of(findings.begin(), findings.end(), is_known)) return;
  if (auto finding = sim::memory_finding(*use)) findings.push_back(std::move(*finding));
}

namespace {

/// The options in which two recipes of one model differ, as bits.
unsigned differences(const Recipe& a, const Recipe& b) {
  using device::StepOption;
  unsigned options = 0;
  const auto compare = [&](auto x, auto y, StepOption option) { options |= x == y ? 0 : bit(option); };
  const auto compare_mesh = [&](const auto& x, const auto& y) {
    compare(x.dp, y.dp, StepOption::dp), compare(x.tp, y.tp, StepOption::tp), compare(x.pp, y.pp, StepOption::pp);
  };
  const auto *x = std::get_if<gen::StepOptions>(&a.options), *y = std::get_if<gen::StepOptions>(&b.options);
  if (x && y) {
    compare_mesh(*x, *y);
    compare(x->micro_batches, y->micro_batches, StepOption::batch);
    compare(x->micro_batch_size, y->micro_batch_size, StepOption::batch);
  }
  const auto *s = std::get_if<gen::ServeOptions>(&a.options), *t = std::get_if<gen::ServeOptions>(&b.options);
  if (s && t) {
    compare_mesh(s->mesh, t->mesh);
    compare(s->batch, t->batch, StepOption::batch), compare(s->contexts, t->contexts, StepOption::batch);
  }
  return options;
}

/// Pairs of published steps that differ in the device are of an A100 and an H100.
bool is_of_other_kind(std::string_view a, std::string_view b) {
  const auto kind = [](std::string_view name) {
    return name.starts_with("A100") ? 1 : name.starts_with("H100") ? 2 : 0;
  };
  return kind(a) != kind(b);
}

}  // namespace

void Likely::settle(const std::vector<Applied>& changes, const sim::SimInput& unchanged, const sim::SimInput& changed,
                    bool other_links) {
  const bool generated = std::all_of(changes.begin(), changes.end(), [](const Applied& a) { return a.reached.again; });
  if (!generated) after = nullptr, served_after.reset();
  if (served_before) before = served_before->token;
  if (served_after) after = served_after->token;
  if (!before || !after) return;
  const bool known = std::all_of(changes.begin(), changes.end(), [](const Applied& a) { return a.row->option; });
  const std::optional<Recipe> was = recipe_of(unchanged.job), is = recipe_of(changed.job);
  if (!known || other_links || !was || !is) return;
  unsigned options = differences(*was, *is);
  if (device_before != device_after) {
    if (!is_of_other_kind(device_before, device_after)) return;
    options |= bit(device::StepOption::device);
  }
  if (options != 0) pairs = device::published_pairs(*before, *after, options);
}

// `sim.device.stack` (note): a generated job keeps its stack on another device, or gets the host times of a stack
Result<void> use_stack_of_job(const std::string& asked, sim::SimInput& input, Findings& findings) {
  const bool classes = input.classes.has_value();
  if (!input.system.target || (classes ? input.classes->classes.empty() : input.job.ranks.empty())) return {};
  const Trace& first = first_of(input);
  const auto note = [&](Severity severity, const char* tag, std::string text) {
    findings.push_back({tag, severity, -1, -1, std::move(text)});
  };
  const std::string of = gen::recipe_device_of(first).stack;
  if (asked.empty() && of.empty()) return {};
  if (asked.empty()) {
    if (auto used = device::use_stack(of, *input.system.target); !used)
      return fail(used.error().code, used.error().tag,
                  fmt::format("the job was generated with the stack {}: {}; --stack gives another", quote(of),
                              used.error().text));
    note(Severity::note, "sim.device.stack",
         fmt::format("the job was generated with the stack {}, which it keeps on {}; --stack gives another", of,
                     input.system.target->name));
  }
  CHAKRA_ASSIGN(const device::Stack stack, device::find_or_load_stack(asked.empty() ? of : asked));
  if (auto finding = stack_keys_without_effect(stack, *input.system.target, first))
    findings.push_back(*std::move(finding));
  const std::optional<Recipe> before = recipe_of(first);
  if (!before) return {};
  Recipe recipe = *before;
  if (!std::visit([&](auto& options) { return set_host(*input.system.target, options); }, recipe.options)) return {};
  CHAKRA_ASSIGN(const std::string why, obstacle(*before, recipe, input));
  if (!why.empty()) {  // without a host, sim::retarget says so
    if (std::visit([](const auto& options) { return has_host(options); }, before->options))
      note(Severity::warning, "sim.device.host",
           fmt::format("the job keeps the host times that it was generated with, not those of the stack on {}: {}",
                       input.system.target->name, why));
    return {};
  }
  CHAKRA_TRY(replace(recipe, input));
  note(Severity::note, "sim.device.stack", "the job was generated again with the host times of the stack");
  return {};
}

// ---- changes --------------------------------------------------------------------------------------------------------

Result<Reached> change_tp(std::string_view value, sim::SimInput& input) { return only_generated("tp", value, input); }
Result<Reached> change_pp(std::string_view value, sim::SimInput& input) { return only_generated("pp", value, input); }

Result<bool> generate_tp(std::string_view value, Recipe& recipe) {
  return set_axis("tp", value, axis(recipe, &gen::StepOptions::tp, &gen::ServeMesh::tp));
}
Result<bool> generate_pp(std::string_view value, Recipe& recipe) {
  return set_axis("pp", value, axis(recipe, &gen::StepOptions::pp, &gen::ServeMesh::pp));
}
Result<bool> generate_dp(std::string_view value, Recipe& recipe) {
  CHAKRA_ASSIGN(const WantedReplicas wanted, parse_replicas(value));
  if (!wanted.pattern.empty()) return false;
  axis(recipe, &gen::StepOptions::dp, &gen::ServeMesh::dp) = wanted.number;
  return true;
}
Result<bool> generate_micro_batches(std::string_view value, Recipe& recipe) {
  CHAKRA_ASSIGN(const int64_t wanted, parse_micro_batches(value));
  auto* const options = std::get_if<gen::StepOptions>(&recipe.options);
  if (!options) return false;
  options->micro_batches = wanted;
  return true;
}
Result<bool> generate_batch(std::string_view value, Recipe& recipe) {
  CHAKRA_ASSIGN(const BatchFactor batch, parse_batch(value));
  if (!batch.pattern.empty()) return false;
  if (auto* const serve = std::get_if<gen::ServeOptions>(&recipe.options))
    return multiply_sequences(batch.factor, *serve);
  int64_t& size = std::get<gen::StepOptions>(recipe.options).micro_batch_size;
  const std::optional<int64_t> wanted = times_whole(size, batch.factor);
  size = wanted.value_or(size);
  return wanted.has_value();
}
Result<bool> generate_overlap(std::string_view value, Recipe& recipe) {
  CHAKRA_ASSIGN(const bool on, parse_overlap(value));
  bool& overlap = std::visit([](auto& options) -> bool& { return options.overlap; }, recipe.options);
  if (overlap == on)
    CHAKRA_TRY(reached_something({}, "overlap", value, fmt::format("the job was generated with --overlap {}", on)));
  overlap = on;
  return true;
}

}  // namespace chakra::whatif
