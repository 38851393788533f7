#include "chakra/share/first_look.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "chakra/fleet/fleet.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
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

class Look {
 public:
  Look(const Known& known, bool counts_layers) : known_(known), counts_layers_(counts_layers) {
    look_.job.width = known.width;
    look_.job.layers = known.layers;
  }
  bool guesses() const { return known_.width == 0 || counts_layers_; }

  /// Can be called by several threads: sums and largest numbers do not depend on the order.
  void add(const trace::Trace& t, bool is_class, const trace::RolesByName& roles) {
    synth::AttributeGuess guess;
    if (guesses()) guess.add(t, is_class);
    const int64_t layers = counts_layers_ ? edit::layers_of(t) : 0;
    const bool is_measured = edit::is_measured(t), is_priced = has_priced_kernels(t);
    const bool has_experts = shows_experts(t, roles);
    const std::lock_guard lock(mutex_);
    guess_.add(guess);
    if (counts_layers_) {
      int64_t& most = layers_[trace::metadata_number(t, "stage").value_or(0)];
      most = std::max(most, layers);
    }
    look_.job.is_measured |= is_measured;
    look_.is_priced |= is_priced;
    look_.has_experts |= has_experts;
  }
  void keep(int64_t rank, const trace::Trace& t) {
    const std::lock_guard lock(mutex_);
    if (kept_ + int64_t{t.size()} > kMostKept) return;
    kept_ += t.size();
    look_.traces.emplace(rank, t);
  }
  void add_messages(const trace::ClassJob& job) {
    if (guesses()) synth::add_messages(job, guess_);
  }

  FirstLook finish() {
    const synth::Attributes shown = guess_.finish();
    if (known_.width == 0) look_.job.width = shown.width;
    if (!counts_layers_) return std::move(look_);
    look_.stages = std::max<int64_t>(1, shown.stages);
    for (const auto& [stage, most] : layers_) look_.longest = std::max(look_.longest, most);
    look_.job.stages = look_.stages;
    look_.job.experts = shown.experts / guess_.expert_ranks();
    if (look_.stages > 1) look_.job.layers_of_stage = look_.longest;
    look_.knows_layers = known_.layers > 0;
    if (look_.knows_layers) return std::move(look_);
    for (const auto& [stage, most] : layers_) look_.job.layers += most;
    if (layers_.size() == 1) look_.job.layers *= look_.stages;
    return std::move(look_);
  }

 private:
  Known known_;
  bool counts_layers_;
  FirstLook look_;
  synth::AttributeGuess guess_;
  std::map<int64_t, int64_t> layers_;  ///< by stage: of the rank with the most
  int64_t kept_ = 0;                   ///< nodes
  std::mutex mutex_;
};

}  // namespace

FirstLook look_at(const trace::ClassJob& classes, const Known& known, bool counts_layers) {
  Look look(known, counts_layers);
  const auto add = [&](const trace::Trace& t, int64_t, const trace::RolesByName& roles) -> Result<void> {
    look.add(t, true, roles);
    return {};
  };
  const auto done = fleet::for_each_part(classes, add);
  CHAKRA_ASSERT(done);
  look.add_messages(classes);
  return look.finish();
}

Result<FirstLook> look_at(const std::string& path, const Known& known, bool counts_layers, bool keeps) {
  Look look(known, counts_layers);
  const io::ReadOptions read{.texts = keeps || look.guesses()};
  if (io::is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob classes, io::read_class_job(path, read));
    return look_at(classes, known, counts_layers);
  }
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
  io::RankTraces traces(files, read);
  std::vector<edit::StageView> views(counts_layers ? files.size() : 0);
  CHAKRA_TRY(each_in_parallel(files.size(), [&](size_t i) -> Result<void> {
    CHAKRA_ASSIGN(const trace::Trace t, traces.read(i));
    look.add(t, false, {});
    if (counts_layers) views[i] = edit::stage_view(t);
    if (keeps) look.keep(files[i].rank, t);
    return {};
  }));
  FirstLook found = look.finish();
  found.views = std::move(views);
  return found;
}

Result<edit::FleetJob> with_sizes(const std::string& path, edit::FleetJob job) {
  if (io::is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob classes, io::read_class_job(path));
    edit::add_sizes(classes, job);
    return job;
  }
  const auto add = [&](const trace::Trace& t, int64_t, const trace::RolesByName&) -> Result<void> {
    edit::add_sizes(t, {}, job);
    return {};
  };
  CHAKRA_TRY(fleet::for_each_part(path, add));
  return job;
}

}  // namespace chakra::share
