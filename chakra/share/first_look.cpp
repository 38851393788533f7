#include "chakra/share/first_look.h"

#include <algorithm>
#include <map>
#include <utility>

#include "chakra/fleet/fleet.h"
#include "chakra/io/io.h"
#include "chakra/synth/synth.h"
#include "chakra/trace/metadata.h"

namespace chakra::share {

namespace {

/// Whether kernels have a duration without a measured start: the duration is a price.
bool has_priced_kernels(const trace::Trace& t) {
  const StringId kernel = t.strings.find("kernel");
  for (const trace::NodeId n : t.nodes()) {
    if (t.has_start(n) || t.dur_ps[n] == 0) continue;
    for (const trace::Attr& attr : t.attrs_of(n))
      if (attr.name == kernel) return true;
  }
  return false;
}

/// Whether groups of the trace are those of experts.
bool shows_experts(const trace::Trace& t, const trace::RolesByName& roles) {
  const auto is_of_experts = [](trace::Role role) { return role == trace::Role::ep || role == trace::Role::edp; };
  return std::any_of(roles.begin(), roles.end(), [&](const auto& named) { return is_of_experts(named.second); }) ||
         std::any_of(t.groups.begin(), t.groups.end(),
                     [&](const trace::ProcessGroup& group) { return is_of_experts(trace::role_of(group)); });
}

}  // namespace

Result<FirstLook> look_at(const std::string& path, const Known& known, bool counts_layers) {
  FirstLook look;
  look.job.width = known.width;
  look.job.layers = known.layers;
  synth::AttributeGuess guess;
  std::map<int64_t, int64_t> layers;  // by stage: of the rank with the most
  const bool guesses = known.width == 0 || counts_layers;
  const auto add = [&](const trace::Trace& t, int64_t, const trace::RolesByName& roles) -> Result<void> {
    if (guesses) guess.add(t, io::is_class_job(path));
    if (counts_layers) {
      int64_t& most = layers[trace::metadata_number(t, "stage").value_or(0)];
      most = std::max(most, edit::layers_of(t));
    }
    look.job.is_measured |= edit::is_measured(t);
    look.is_priced |= has_priced_kernels(t);
    look.has_experts |= shows_experts(t, roles);
    return {};
  };
  CHAKRA_TRY(fleet::for_each_part(path, add, {.texts = guesses}));
  if (guesses && io::is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob job, io::read_class_job(path));
    synth::add_messages(job, guess);
  }
  const synth::Attributes shown = guess.finish();
  if (known.width == 0) look.job.width = shown.width;
  if (!counts_layers) return look;
  look.stages = std::max<int64_t>(1, shown.stages);
  for (const auto& [stage, most] : layers) look.longest = std::max(look.longest, most);
  look.job.stages = look.stages;
  look.job.experts = shown.experts / guess.expert_ranks();
  if (look.stages > 1) look.job.layers_of_stage = look.longest;
  look.knows_layers = known.layers > 0;
  if (look.knows_layers) return look;
  for (const auto& [stage, most] : layers) look.job.layers += most;
  if (layers.size() == 1) look.job.layers *= look.stages;
  return look;
}

Result<edit::FleetJob> with_sizes(const std::string& path, edit::FleetJob job) {
  const auto add = [&](const trace::Trace& t, int64_t, const trace::RolesByName& roles) -> Result<void> {
    edit::add_sizes(t, roles, job);
    return {};
  };
  CHAKRA_TRY(fleet::for_each_part(path, add));
  return job;
}

}  // namespace chakra::share
