// A training step: the trace of each pipeline stage, and which rank is in which.
#include <fmt/core.h>

#include <cmath>
#include <map>

#include "chakra/base/progress.h"
#include "chakra/base/real.h"
#include "chakra/gen/stage.h"
#include "chakra/gen/stats.h"
#include "chakra/trace/roles.h"

namespace chakra::gen {
namespace {

using trace::ClassJob;

/// The groups of a slot, for the job; and by rank which is its own, UINT32_MAX where it has none.
std::vector<uint32_t> add_groups(const Plan& plan, const Slot& slot, ClassJob& job) {
  std::vector<uint32_t> of(static_cast<size_t>(plan.mesh.ranks()), UINT32_MAX);
  std::vector<std::vector<int64_t>> members = groups(plan.mesh, slot);
  const std::string role(trace::name(trace::role_named(slot.name)));
  for (size_t g = 0; g < members.size(); ++g) {
    std::vector<int64_t>& ranks = members[g];
    for (const int64_t rank : ranks) of[static_cast<size_t>(rank)] = static_cast<uint32_t>(job.groups.size());
    job.groups.push_back({fmt::format("{}{}", slot.name, g), role, "", std::move(ranks), slot.size});
  }
  return of;
}

/// What a result needs to say how fast the model trains: tokens of a step, and a rank's mean operations.
void describe_work(const Plan& plan, ClassJob& job) {
  const ModelWork work = model_work(plan);
  const double ranks = real(plan.mesh.ranks());
  const double tokens =
      real(plan.o.sequence) * real(plan.o.micro_batch_size) * real(plan.o.micro_batches) * real(plan.o.dp);
  constexpr double kMost = 9e18;
  if (!(work.operations / ranks < kMost && tokens < kMost)) return;
  for (trace::Trace& t : job.classes) {
    t.metadata.push_back({t.strings.intern("tokens"), static_cast<int64_t>(tokens)});
    t.metadata.push_back({t.strings.intern("model_operations_per_rank"), std::llround(work.operations / ranks)});
    if (plan.o.fp8)
      t.metadata.push_back(
          {t.strings.intern("model_fp8_operations_per_rank"), std::llround(work.fp8_operations / ranks)});
  }
}

}  // namespace

Result<ClassJob> step(const StepOptions& options) {
  CHAKRA_ASSIGN(const Plan plan, gen::plan(options));
  ClassJob job;
  std::vector<std::vector<Slot>> slots;
  std::vector<std::vector<Neighbour>> peers;
  std::map<std::string, std::vector<uint32_t>> group_of;  // by slot, then rank
  const int64_t places = plan.places();
  for (int64_t cls = 0; cls < plan.pipeline.stages * places; ++cls) {
    const int64_t stage = cls / places, place = cls % places;
    const auto classes = static_cast<double>(plan.pipeline.stages * places);
    const ProgressPart part(static_cast<double>(cls) / classes, static_cast<double>(cls + 1) / classes);
    CHAKRA_ASSIGN(StageTrace built, build_stage(plan, stage, place));
    peers.push_back(std::move(built.peers));
    trace::Trace& t = job.classes.emplace_back(std::move(built.trace));
    t.file = places > 1 ? fmt::format("stage {}, place {} of ep", stage, place) : fmt::format("stage {}", stage);
    t.rank = stage * plan.mesh.stride[index(Axis::pp)] + place * plan.mesh.stride[index(Axis::ep)];
    t.says_rank = true;
    std::vector<std::string>& names = job.group_slots.emplace_back();
    for (const Slot& slot : slots.emplace_back(plan.slots(stage))) {
      if (!group_of.contains(slot.name)) group_of[slot.name] = add_groups(plan, slot, job);
      names.push_back(slot.name);
      t.groups.push_back({slot.name, "", "", {}, 0});
    }
    job.peer_slots.push_back(static_cast<uint32_t>(peers.back().size()));
  }
  std::vector<std::vector<const std::vector<uint32_t>*>> tables;  // by class and slot
  for (const std::vector<Slot>& stage : slots) {
    std::vector<const std::vector<uint32_t>*>& row = tables.emplace_back();
    for (const Slot& slot : stage) row.push_back(&group_of[slot.name]);
  }
  job.ranks.reserve(static_cast<size_t>(plan.mesh.ranks()));
  for (int64_t rank = 0; rank < plan.mesh.ranks(); ++rank) {
    const int64_t place = places > 1 ? plan.mesh.place(rank, Axis::ep) : 0;
    const auto cls = static_cast<size_t>(plan.mesh.place(rank, Axis::pp) * places + place);
    job.ranks.push_back({rank, static_cast<uint32_t>(cls), static_cast<uint32_t>(job.group_of.size()),
                         static_cast<uint32_t>(job.peer_of.size())});
    for (const auto* table : tables[cls]) job.group_of.push_back((*table)[static_cast<size_t>(rank)]);
    for (const Neighbour& to : peers[cls]) job.peer_of.push_back(plan.mesh.moved(rank, to.axis, to.steps));
  }
  describe_work(plan, job);
  for (trace::Trace& t : job.classes) describe_recipe(options, t);
  return job;
}

}  // namespace chakra::gen
