#include "chakra/share/fewer_stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace chakra::share {

namespace {

/// The views of all ranks.
std::vector<edit::StageView> views_of(const trace::ClassJob& job) {
  std::vector<edit::StageView> of_class, views;
  for (const trace::Trace& cls : job.classes) of_class.push_back(edit::stage_view(cls));
  for (const trace::ClassJob::Rank& rank : job.ranks) {
    edit::StageView& view = views.emplace_back(of_class[rank.cls]);
    view.rank = rank.rank;
    view.peers.clear();
    view.parts.clear();  // slots: keep_stages() knows their members
    for (const auto& [slot, messages] : of_class[rank.cls].peers) {
      const bool known = slot >= 0 && slot < int64_t{job.peer_slots[rank.cls]};
      view.peers.emplace(known ? job.peer_of[rank.first_peer + static_cast<size_t>(slot)] : -1, messages);
    }
  }
  return views;
}

}  // namespace

Result<void> FewerStages::look(const FirstLook& look, const trace::ClassJob* classes, const edit::Cells& cells) {
  stages_ = look.stages;
  for (const edit::StageView& view : look.views) ranks_.push_back(view.rank);
  if (stages_ < 2) return {};
  const std::vector<edit::StageView> of_classes = classes ? views_of(*classes) : std::vector<edit::StageView>();
  const std::span<const edit::StageView> views = classes ? of_classes : look.views;
  const auto pipeline = edit::pipeline_of(views);
  if (!pipeline) return why_ = pipeline.error().text, Result<void>();
  stages_ = pipeline->stages;
  if (cells.empty()) return why_ = "the fleet shows too few different numbers of stages", Result<void>();
  if (stages_ < 2 || static_cast<double>(stages_) < cells.front().low)
    return why_ = fmt::format("{} stages are below the smallest cell", stages_), Result<void>();
  hiding_ = edit::stage_hiding(*pipeline, edit::layer_cell_of(cells, stages_), views);
  is_stated_ = std::none_of(views.begin(), views.end(), [](const auto& view) { return view.schedule.empty(); });
  const auto kept = try_to_keep(views, classes);
  if (kept) return {};
  if (kept.error().tag != edit::kStagesGroup) return kept;
  why_ = kept.error().text;
  hiding_.reset();
  return {};
}

/// Stages that exchange parts of a buffer cannot be removed: they stay visible.
Result<void> FewerStages::try_to_keep(std::span<const edit::StageView> views, const trace::ClassJob* classes) const {
  if (!classes) return edit::check_groups(*hiding_, views);
  std::vector<size_t> kept;
  edit::HiddenStages hidden;
  CHAKRA_TRY(edit::keep_stages(*classes, *hiding_, kept, hidden));
  return {};
}

/// A single stage waits for no other stage, so that its own times decide. Its ranks differ little: the first one
/// counts.
Result<void> FewerStages::measure(const std::vector<io::RankFile>& files) {
  if (!hides() || hiding_->shown() > 1 || files.empty()) return {};
  CHAKRA_ASSIGN(const trace::Trace t, io::read_rank(files.front(), {.texts = true}));
  if (const double by = edit::measured_stretch(t, *hiding_); by > 0) hiding_->stretch = by;
  return {};
}

std::vector<io::RankFile> FewerStages::kept(const std::vector<io::RankFile>& files) const {
  if (!hides()) return files;
  std::vector<io::RankFile> kept;
  CHAKRA_ASSERT(files.size() == ranks_.size());
  for (size_t i = 0; i < files.size(); ++i)
    if (hiding_->ranks.contains(ranks_[i])) kept.push_back(files[i]);
  return kept;
}

Result<trace::Trace> FewerStages::keep(trace::Trace trace, edit::HiddenStages& hidden) const {
  if (!hides()) return trace;
  return edit::keep_stages(trace, *hiding_, hidden);
}

Result<std::vector<size_t>> FewerStages::keep(trace::ClassJob& job) {
  std::vector<size_t> classes;
  if (hides()) {
    CHAKRA_ASSIGN(job, edit::keep_stages(job, *hiding_, classes, hidden_));
    return classes;
  }
  classes.resize(job.classes.size());
  std::iota(classes.begin(), classes.end(), size_t{0});
  return classes;
}

ObfuscatedJob::Stages FewerStages::finish(Findings& findings) const {
  ObfuscatedJob::Stages stages;
  stages.stages = stages_;
  stages.shown = hides() ? hiding_->shown() : stages_;
  stages.hidden = hides();
  if (hides()) stages.low = hiding_->cell.low, stages.high = hiding_->cell.high;
  if (!why_.empty())
    findings.push_back({"job.obfuscate.stages", Severity::warning, -1, -1,
                        fmt::format("the number of pipeline stages stays visible: {}", why_)});
  if (hidden_.unstretched > 0)
    findings.push_back({"job.obfuscate.passes", Severity::warning, -1, -1,
                        fmt::format("{} traces keep their measured times, since other numbers of messages arrive from "
                                    "the stage before than are sent to it: the copy is shorter than the job",
                                    hidden_.unstretched)});
  if (hides() && !is_stated_)
    findings.push_back({"job.obfuscate.schedule", Severity::warning, -1, -1,
                        "the traces state no schedule: the number of pipeline stages is hidden only if passes run in "
                        "the order of GPipe or 1F1B, since other orders of passes show the number"});
  return stages;
}

}  // namespace chakra::share
