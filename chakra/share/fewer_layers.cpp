#include "chakra/share/fewer_layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "chakra/base/join.h"

namespace chakra::share {

namespace {

/// Groups of different ranks can have one name, so the members are a part of the key.
std::string group_key(const trace::Trace& t, const std::string& name) {
  for (const trace::ProcessGroup& group : t.groups)
    if (group.name == name) return fmt::format("{} of {}", name, join(group.ranks, ","));
  return name;
}

/// Whether the members of each group keep the same communications.
Result<void> agree_on(const trace::ClassJob& job, const std::vector<edit::HiddenLayers>& hidden) {
  edit::LayerAgreement agreement;
  for (const trace::ClassJob::Rank& rank : job.ranks) {
    const std::vector<std::string>& slots = job.group_slots[rank.cls];
    const auto group_of = [&](const std::string& group) {
      const auto slot = std::find(slots.begin(), slots.end(), group);
      if (slot == slots.end()) return group;
      return job.groups[job.group_of[rank.first_group + static_cast<size_t>(slot - slots.begin())]].name;
    };
    const auto peer_of = [&](int64_t slot) { return job.peer_of[rank.first_peer + static_cast<size_t>(slot)]; };
    CHAKRA_TRY(agreement.add(rank.rank, hidden[rank.cls], group_of, peer_of));
  }
  return agreement.finish();
}

}  // namespace

FewerLayers::FewerLayers(const FirstLook& look, bool hides_stages)
    : of_stage_(hides_stages), is_given_(look.knows_layers) {
  hiding_.layers = look.job.layers;
  hiding_.stages = look.stages;
  hiding_.longest = look.longest;
  if (!hides_stages) return;
  hiding_.layers = look.knows_layers ? (look.job.layers + look.stages - 1) / look.stages : look.longest;
  hiding_.stages = 1;
}

Result<void> FewerLayers::set_cell(const edit::Grid& grid, const std::string& path) {
  const edit::Cells& cells = of_stage_ ? grid.layers_of_stage : grid.layers;
  if (hiding_.longest == 0)
    return fail(Code::bad_input, "job.obfuscate.layers",
                "no rank has equal parts that could be layers, so their number cannot be hidden; --level 2 hides sizes",
                {path});
  if (cells.empty())
    return fail(Code::usage, "edit.grid.few",
                fmt::format("the fleet shows too few different numbers of layers{}; a cell needs {} jobs with {}",
                            of_stage_ ? " of a stage" : "", edit::kLeastJobs, edit::kLeastLayers));
  if (static_cast<double>(hiding_.layers) < cells.front().low)
    return fail(Code::bad_input, "job.obfuscate.layers",
                fmt::format("the {} has {} {}, fewer than the {:.0f} layers of the smallest cell, so "
                            "their number cannot be hidden; --level 2 hides sizes",
                            of_stage_ ? "longest stage" : "job", hiding_.layers,
                            is_given_ ? "layers by --layers" : "equal parts in a row", cells.front().low),
                {path});
  hiding_.cell = edit::layer_cell_of(cells, hiding_.layers);
  return {};
}

FewerLayers::OfRank FewerLayers::of_rank(const trace::Trace& before, edit::HiddenLayers hidden) {
  OfRank of{before.rank, std::move(hidden), {}};
  of.hidden.grows = {};
  for (const auto& [group, hash] : of.hidden.collectives) of.group_of.emplace(group, group_key(before, group));
  return of;
}

Result<bool> FewerLayers::agree(std::span<const OfRank> ranks) {
  edit::LayerAgreement agreement;
  const auto same = [&]() -> Result<void> {
    for (const OfRank& rank : ranks)
      CHAKRA_TRY(agreement.add(
          rank.rank, rank.hidden, [&](const std::string& group) { return rank.group_of.at(group); },
          [](int64_t peer) { return peer; }));
    return agreement.finish();
  }();
  if (!same) {
    if (same.error().tag != edit::kLayersDiffer || !hiding_.removes_uneven) return Failure(same.error());
    hiding_.removes_uneven = false;
    return false;
  }
  for (const OfRank& rank : ranks) add(rank.hidden);
  return true;
}

Result<void> FewerLayers::hide(trace::ClassJob& job, FewerStages& stages, std::vector<std::vector<uint8_t>>& grows) {
  std::vector<edit::HiddenLayers> hidden;
  std::vector<trace::Trace> fewer;
  const auto hide_all = [&]() -> Result<void> {
    hidden.assign(job.classes.size(), {});
    fewer.clear();
    for (size_t c = 0; c < job.classes.size(); ++c) {
      CHAKRA_ASSIGN(trace::Trace made, edit::hide_layers(job.classes[c], hiding_, hidden[c]));
      fewer.push_back(std::move(made));
    }
    return agree_on(job, hidden);
  };
  if (const auto even = hide_all(); !even) {
    if (even.error().tag != edit::kLayersDiffer) return even;
    hiding_.removes_uneven = false;
    CHAKRA_TRY(hide_all());
  }
  job.classes = std::move(fewer);
  CHAKRA_ASSIGN(const std::vector<size_t> classes, stages.keep(job));
  for (const size_t cls : classes) {
    add(hidden[cls]);
    grows.push_back(std::move(hidden[cls].grows));
  }
  return {};
}

void FewerLayers::add(const edit::HiddenLayers& hidden) {
  bytes_ += hidden.bytes;
  job_.removed += hidden.nodes;
  job_.without += hidden.before == 0;
  if (hidden.before > job_.before) job_.before = hidden.before, job_.after = hidden.after;
}

ObfuscatedJob::Layers FewerLayers::finish(Findings& findings) const {
  ObfuscatedJob::Layers job = job_;
  job.layers = hiding_.layers;
  job.of_stage = of_stage_;
  job.low = hiding_.cell.low, job.high = hiding_.cell.high;
  if (job.without > 0)
    findings.push_back(
        {"job.obfuscate.layers", Severity::warning, -1, -1,
         fmt::format("{} traces have no equal parts that could be layers, and keep their structure", job.without)});
  return job;
}

}  // namespace chakra::share
