#include "chakra/share/fewer_stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "chakra/job/parts.h"

namespace chakra::share {

Result<std::vector<edit::StageView>> FewerStages::views_of(const std::string& path) {
  std::vector<edit::StageView> views;
  if (!io::is_class_job(path)) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
    views.resize(files.size());
    CHAKRA_TRY(each_in_parallel(files.size(), [&](size_t i) -> Result<void> {
      CHAKRA_ASSIGN(const trace::Trace t, io::read_rank(files[i], {.texts = true}));
      views[i] = edit::stage_view(t);
      return {};
    }));
    for (const edit::StageView& view : views) ranks_.push_back(view.rank);
    return views;
  }
  CHAKRA_ASSIGN(const trace::ClassJob job, io::read_class_job(path, {.texts = true}));
  std::vector<edit::StageView> of_class;
  for (const trace::Trace& cls : job.classes) of_class.push_back(edit::stage_view(cls));
  for (const trace::ClassJob::Rank& rank : job.ranks) {
    edit::StageView& view = views.emplace_back(of_class[rank.cls]);
    view.rank = rank.rank;
    view.peers.clear();
    for (const auto& [slot, messages] : of_class[rank.cls].peers) {
      const bool known = slot >= 0 && slot < int64_t{job.peer_slots[rank.cls]};
      view.peers.emplace(known ? job.peer_of[rank.first_peer + static_cast<size_t>(slot)] : -1, messages);
    }
  }
  return views;
}

Result<void> FewerStages::look(const std::string& path, int64_t stages, const edit::Cells& cells) {
  stages_ = stages;
  if (stages < 2) return {};
  CHAKRA_ASSIGN(const std::vector<edit::StageView> views, views_of(path));
  const auto pipeline = edit::pipeline_of(views);
  if (!pipeline) return why_ = pipeline.error().text, Result<void>();
  stages_ = pipeline->stages;
  if (cells.empty()) return why_ = "the fleet shows too few different numbers of stages", Result<void>();
  if (stages_ < 2 || static_cast<double>(stages_) < cells.front().low)
    return why_ = fmt::format("{} stages are below the smallest cell", stages_), Result<void>();
  hiding_ = edit::stage_hiding(*pipeline, edit::layer_cell_of(cells, stages_), views);
  is_stated_ = std::none_of(views.begin(), views.end(), [](const auto& view) { return view.schedule.empty(); });
  return try_to_keep(path);
}

/// Stages that exchange parts of a buffer cannot be removed: they stay visible.
Result<void> FewerStages::try_to_keep(const std::string& path) {
  const auto visible = [this](const Error& error) -> Result<void> {
    if (error.tag != edit::kStagesGroup) return Failure(error);
    why_ = error.text;
    return {};
  };
  if (io::is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob job, io::read_class_job(path, {.texts = true}));
    std::vector<size_t> classes;
    edit::HiddenStages hidden;
    if (const auto kept = edit::keep_stages(job, *hiding_, classes, hidden); !kept) CHAKRA_TRY(visible(kept.error()));
  } else {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> all, io::find_ranks(path));
    const std::vector<io::RankFile> files = kept(all);
    std::mutex mutex;
    CHAKRA_TRY(each_in_parallel(files.size(), [&](size_t i) -> Result<void> {
      CHAKRA_ASSIGN(const trace::Trace t, io::read_rank(files[i], {.texts = true}));
      edit::HiddenStages hidden;
      const auto kept = edit::keep_stages(t, *hiding_, hidden);
      const std::lock_guard lock(mutex);
      return kept ? Result<void>() : visible(kept.error());
    }));
  }
  if (!why_.empty()) hiding_.reset();
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
