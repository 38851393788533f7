#include "chakra/edit/stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "chakra/edit/stage_passes.h"
#include "chakra/trace/metadata.h"

namespace chakra::edit {

// `edit.stages.visible` (1): the number of stages cannot be hidden

namespace {

using trace::Comm;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Schedules whose last stages run their passes in one order, however many stages are before them.
constexpr auto kSchedules = std::to_array<std::string_view>({"", "gpipe", "1f1b"});

Failure visible(std::string why) { return fail(Code::bad_input, std::string(kStagesVisible), std::move(why)); }

/// Ranks by number.
class Views {
 public:
  explicit Views(std::span<const StageView> views) {
    for (const StageView& view : views) by_rank_.emplace(view.rank, &view);
  }
  const StageView* find(int64_t rank) const {
    const auto found = by_rank_.find(rank);
    return found == by_rank_.end() ? nullptr : found->second;
  }
  auto begin() const { return by_rank_.begin(); }
  auto end() const { return by_rank_.end(); }
  size_t size() const { return by_rank_.size(); }

 private:
  std::map<int64_t, const StageView*> by_rank_;
};

Result<void> check_peers(const Views& ranks) {
  for (const auto& [rank, view] : ranks) {
    if (std::find(kSchedules.begin(), kSchedules.end(), view->schedule) == kSchedules.end())
      return visible(fmt::format("the order of passes of schedule {} depends on their number", view->schedule));
    for (const auto& [peer, messages] : view->peers)
      if (!ranks.find(peer))
        return visible(fmt::format("rank {} has messages with rank {}, which has no trace", rank, peer));
  }
  return {};
}

/// Follow the messages from the first stage, which has one neighbour and sends first.
Result<std::map<int64_t, int64_t>> paths_of(const Views& ranks) {
  std::map<int64_t, int64_t> stage_of;
  for (const auto& [first, view] : ranks) {
    if (view->peers.size() != 1 || !view->sends_first) continue;
    int64_t before = -1, at = first, stage = 0;
    for (; at >= 0; ++stage) {
      if (!stage_of.emplace(at, stage).second) return visible("messages of several first stages meet");
      int64_t next = -1;
      for (const auto& [peer, messages] : ranks.find(at)->peers)
        if (peer != before) next = next < 0 ? peer : std::max(next, peer);
      if (ranks.find(at)->peers.size() > 2)
        return visible(fmt::format("rank {} has messages with more than two ranks", at));
      before = std::exchange(at, next);
    }
  }
  if (stage_of.size() < ranks.size())
    return visible(fmt::format("messages join {} of {} ranks to stages", stage_of.size(), ranks.size()));
  return stage_of;
}

Result<std::map<int64_t, int64_t>> stages_of(const Views& ranks) {
  std::map<int64_t, int64_t> stated;
  for (const auto& [rank, view] : ranks)
    if (view->stage) stated.emplace(rank, *view->stage);
  if (stated.size() == ranks.size()) return stated;
  return paths_of(ranks);
}

/// The groups whose collectives exchange parts of buffers, by their first such collectives.
std::vector<StageView::Parts> parts_of(const Trace& t) {
  std::vector<StageView::Parts> parts;
  std::set<StringId> seen;
  for (const NodeId n : t.nodes()) {
    const Comm* const comm = t.comm(n);
    if (!comm || t.type[n] == NodeType::send || t.type[n] == NodeType::recv || has_whole_buffers(comm->type)) continue;
    if (!seen.insert(comm->group).second) continue;
    const std::string_view name = t.strings[comm->group];
    const auto group = std::find_if(t.groups.begin(), t.groups.end(), [&](const trace::ProcessGroup& described) {
      return described.name == name && !described.ranks.empty();
    });
    const bool is_listed = group != t.groups.end();
    if (!is_listed && comm->group != 0 && name != "0") continue;
    parts.push_back({!is_listed, is_listed ? group->ranks : std::vector<int64_t>(), text_of_parts(t, n)});
  }
  return parts;
}

}  // namespace

StageView stage_view(const Trace& t) {
  StageView view;
  view.rank = t.rank;
  view.stage = trace::metadata_number(t, "stage");
  if (const auto schedule = trace::metadata(t, "schedule")) view.schedule = schedule->text().value_or("?");
  const Passes passes(t);
  std::vector<NodeId> messages;
  Picoseconds begin = std::numeric_limits<Picoseconds>::max(), end = 0;
  for (const NodeId n : t.nodes()) {
    if (t.has_start(n))
      begin = std::min(begin, t.start_ps[n]), end = std::max(end, add_saturated(t.start_ps[n], t.dur_ps[n]));
    if (passes.holds(n) && t.type[n] == NodeType::comp && !t.has_start(n))
      view.busy = add_saturated(view.busy, t.dur_ps[n]);
    const bool is_message = t.type[n] == NodeType::send || t.type[n] == NodeType::recv;
    if (t.comm(n) && t.part_of[n] == trace::kNoNode && is_message) messages.push_back(n);
  }
  view.span = std::max<Picoseconds>(0, end - begin);
  std::stable_sort(messages.begin(), messages.end(), [&](NodeId a, NodeId b) { return t.start_ps[a] < t.start_ps[b]; });
  view.sends_first = !messages.empty() && t.type[messages.front()] == NodeType::send;
  view.parts = parts_of(t);
  for (const NodeId n : messages) {
    const bool sends = t.type[n] == NodeType::send;
    StageView::Messages& with = view.peers[sends ? t.comm(n)->dst : t.comm(n)->src];
    with.steps += sends && with.sent == with.received;
    ++(sends ? with.sent : with.received);
    with.tags.insert(t.comm(n)->tag);
  }
  return view;
}

Result<Pipeline> pipeline_of(std::span<const StageView> views) {
  const Views ranks(views);
  CHAKRA_TRY(check_peers(ranks));
  Pipeline pipeline;
  CHAKRA_ASSIGN(pipeline.stage_of, stages_of(ranks));
  std::map<int64_t, int64_t> ranks_of;  // by stage
  for (const auto& [rank, stage] : pipeline.stage_of) ++ranks_of[stage];
  pipeline.stages = std::ssize(ranks_of);
  for (int64_t expected = 0; const auto& [stage, count] : ranks_of) {
    if (stage != expected)
      return visible(fmt::format("the stages are not numbered from 0 on: stage {} stands for {}", stage, expected));
    ++expected;
    if (count != ranks_of.begin()->second)
      return visible(fmt::format("the stages have different numbers of ranks, such as stage {} with {}", stage, count));
  }
  pipeline.busy.assign(static_cast<size_t>(pipeline.stages), 0);
  for (const auto& [rank, view] : ranks) {
    const int64_t stage = pipeline.stage_of.at(rank);
    Picoseconds& busy = pipeline.busy[static_cast<size_t>(stage)];
    busy = std::max(busy, view->busy);
    pipeline.span = std::max(pipeline.span, view->span);
    for (const auto& [peer, messages] : view->peers) {
      const int64_t other = pipeline.stage_of.at(peer);
      if (std::abs(other - stage) > 1)
        return visible(fmt::format("stage {} has messages with stage {}, which is not a neighbour", stage, other));
      if (other == 1 && stage == 0)
        pipeline.micro_batches = std::max(pipeline.micro_batches, messages.sent / std::max<int64_t>(1, messages.steps));
    }
  }
  if (pipeline.stages > 1 && pipeline.micro_batches == 0) return visible("the stages exchange no messages");
  return pipeline;
}

int64_t StageHiding::shown() const { return static_cast<int64_t>(cell.low) - 1; }

StageHiding stage_hiding(const Pipeline& pipeline, const Cell& cell, std::span<const StageView> ranks) {
  StageHiding hiding;
  hiding.cell = cell;
  hiding.stages = pipeline.stages;
  hiding.micro_batches = pipeline.micro_batches;
  hiding.ranks_before = std::ssize(pipeline.stage_of);
  hiding.span = pipeline.span;
  CHAKRA_ASSERT(hiding.shown() > 0 && hiding.removed() > 0);
  for (const auto& [rank, stage] : pipeline.stage_of)
    if (stage >= hiding.removed()) hiding.ranks.emplace(rank, StageHiding::Place{std::ssize(hiding.ranks), stage});
  std::set<int64_t> tags;
  for (const StageView& view : ranks)
    for (const auto& [peer, messages] : view.peers)
      if (hiding.ranks.contains(view.rank) && hiding.ranks.contains(peer))
        tags.insert(messages.tags.begin(), messages.tags.end());
  for (const int64_t tag : tags) hiding.tags.emplace(tag, tag < 0 ? tag : std::ssize(hiding.tags));
  // The longest stage takes all slots but one, and each other stage is waited for once.
  const auto slots = [&](std::span<const Picoseconds> busy) {
    double most = 0, sum = 0;
    for (const Picoseconds time : busy)
      most = std::max(most, static_cast<double>(time)), sum += static_cast<double>(time);
    return static_cast<double>(pipeline.micro_batches - 1) * most + sum;
  };
  const std::span<const Picoseconds> all = pipeline.busy;
  const double kept = slots(all.subspan(static_cast<size_t>(hiding.removed())));
  const auto batches = static_cast<double>(pipeline.micro_batches);
  hiding.stretch = kept > 0 ? slots(all) / kept
                            : (batches + static_cast<double>(hiding.stages - 1)) /
                                  (batches + static_cast<double>(hiding.shown() - 1));
  return hiding;
}

Result<void> check_groups(const StageHiding& hiding, std::span<const StageView> ranks) {
  for (const StageView& view : ranks) {
    if (!hiding.ranks.contains(view.rank)) continue;
    for (const StageView::Parts& group : view.parts) {
      const auto stays = [&](int64_t rank) { return hiding.ranks.contains(rank); };
      const int64_t before = group.is_all ? hiding.ranks_before : std::ssize(group.members);
      const int64_t after =
          group.is_all ? std::ssize(hiding.ranks) : std::count_if(group.members.begin(), group.members.end(), stays);
      if (after < before && after > 1) return fail(Code::bad_input, std::string(kStagesGroup), group.node);
    }
  }
  return {};
}

double growth(const StageHiding& hiding) {
  const auto batches = static_cast<double>(hiding.micro_batches);
  return (batches + hiding.cell.shown - 1) / (batches + static_cast<double>(hiding.shown() - 1));
}

}  // namespace chakra::edit
