// What was hidden, as an answer and as text.
#include "chakra/job/parts.h"
#include "chakra/share/obfuscate.h"

namespace chakra::share {

using answer::column;
using answer::kTextRows;
using answer::Unit;

answer::Answer answer_of(const ObfuscatedJob& job) {
  constexpr std::array kWhole{
      column<&ObfuscatedJob::output>("output", Unit::none, "the folder"),
      column<&ObfuscatedJob::names_file>("names_file", Unit::none, "the sealed file of the names"),
      column<&ObfuscatedJob::ranks>("ranks", Unit::count, "ranks of the job"),
      column<&ObfuscatedJob::nodes>("nodes", Unit::count, "nodes of all ranks"),
      column<&ObfuscatedJob::revealed>("revealed", Unit::none, "names were restored"),
      column<&ObfuscatedJob::texts>("texts", Unit::count, "different names that were hidden or restored"),
      column<&ObfuscatedJob::hidden_nodes>("hidden_nodes", Unit::count,
                                           "nodes with a hidden name; of a job by classes, nodes of the classes"),
      column<&ObfuscatedJob::level>("level", Unit::count,
                                    "what is hidden: 1 names and ids, 2 also sizes, 3 also layers, stages and experts"),
      column<&ObfuscatedJob::words>("words", Unit::count, "words of shapes, types and values that became \"?\"")};
  constexpr std::array kDropped{column<&ObfuscatedJob::Dropped::name>("attribute", Unit::none, "name of the attribute"),
                                column<&ObfuscatedJob::Dropped::count>("count", Unit::count, "how many were removed")};
  answer::Builder to("obfuscate");
  constexpr std::array kSizes{
      column<&ObfuscatedJob::Sizes::width>("width", Unit::count, "width of the model, if known; a secret"),
      column<&ObfuscatedJob::Sizes::width_low>("width_low", Unit::count, "least width of the cell"),
      column<&ObfuscatedJob::Sizes::width_high>("width_high", Unit::count, "largest width of the cell"),
      column<&ObfuscatedJob::Sizes::width_shown>("width_shown", Unit::count, "width that the copy shows"),
      column<&ObfuscatedJob::Sizes::shown>("shown", Unit::count, "different sizes of communications in the copy"),
      column<&ObfuscatedJob::Sizes::changed>("changed", Unit::count, "sizes that are those of cells now"),
      column<&ObfuscatedJob::Sizes::removed>("removed", Unit::count, "computations whose operations were removed"),
      column<&ObfuscatedJob::Sizes::bytes>("bytes_ratio", Unit::share,
                                           "communicated bytes of the copy over the job's")};
  constexpr std::array kLayers{
      column<&ObfuscatedJob::Layers::layers>("layers", Unit::count, "layers of the model, or of a stage; a secret"),
      column<&ObfuscatedJob::Layers::of_stage>("of_stage", Unit::none,
                                               "layers of a stage count, since stages are hidden"),
      column<&ObfuscatedJob::Layers::low>("layers_low", Unit::count, "least number of layers of the cell"),
      column<&ObfuscatedJob::Layers::high>("layers_high", Unit::count, "largest number of layers of the cell"),
      column<&ObfuscatedJob::Layers::before>("before", Unit::count,
                                             "layers in a row, in the rank or class with the most; a secret"),
      column<&ObfuscatedJob::Layers::after>("after", Unit::count, "layers in a row of the copy, in that rank or class"),
      column<&ObfuscatedJob::Layers::removed>("removed", Unit::count,
                                              "nodes of removed layers; of a job by classes, of the classes"),
      column<&ObfuscatedJob::Layers::without>("without", Unit::count, "ranks or classes that repeat nothing")};
  constexpr std::array kStages{
      column<&ObfuscatedJob::Stages::stages>("stages", Unit::count, "pipeline stages of the job; a secret"),
      column<&ObfuscatedJob::Stages::hidden>("hidden", Unit::none, "the copy hides their number"),
      column<&ObfuscatedJob::Stages::low>("stages_low", Unit::count, "least number of stages of the cell"),
      column<&ObfuscatedJob::Stages::high>("stages_high", Unit::count, "largest number of stages of the cell"),
      column<&ObfuscatedJob::Stages::shown>("shown", Unit::count, "stages of the copy")};
  constexpr std::array kExperts{
      column<&ObfuscatedJob::Experts::experts>("experts", Unit::count, "experts of a layer, on each rank; a secret"),
      column<&ObfuscatedJob::Experts::hidden>("hidden", Unit::none, "the copy hides their number"),
      column<&ObfuscatedJob::Experts::low>("experts_low", Unit::count, "least number of experts of the cell"),
      column<&ObfuscatedJob::Experts::high>("experts_high", Unit::count, "largest number of experts of the cell")};
  to.values("", &job, kWhole);
  to.values("layers.", job.layers ? &*job.layers : nullptr, kLayers);
  to.values("stages.", job.stages ? &*job.stages : nullptr, kStages);
  to.values("experts.", job.experts ? &*job.experts : nullptr, kExperts);
  to.values("sizes.", job.sizes ? &*job.sizes : nullptr, kSizes);
  to.table("dropped", "attributes that were removed, by name", job.dropped, kDropped);
  to.table("other_files", "files of the folder that are not part of the job, and were not copied", job.other_files,
           kTextRows);
  return std::move(to).finish(job.findings);
}

view::Text text_of(const ObfuscatedJob&) {
  static constexpr std::array<view::ShowColumn, 2> kDropped{
      {{.key = "attribute", .heading = "removed attribute"}, {.key = "count", .heading = "count"}}};
  static constexpr std::array<view::Show, 10> kText{{
      {.line = "{output}: {ranks} rank[{?ranks=1}|s], {nodes} nodes; [{?revealed}{texts} names restored|{texts} names "
               "hidden, {words} words replaced]"},
      {.line = "  names: {names_file}"},
      {.line = "  sizes: {sizes.shown} different ones of communications, {sizes.bytes_ratio} of the bytes"},
      {.line = "  width: {sizes.width}, shown as {sizes.width_shown}, which stands for {sizes.width_low} to "
               "{sizes.width_high}"},
      {.line = "  stages: {stages.stages}, shown as {stages.shown}, which stands for {stages.stages_low} to "
               "{stages.stages_high}"},
      {.line = "  experts: {experts.experts} on each rank, shown as one of {experts.experts_low} to "
               "{experts.experts_high}"},
      {.line = "  layers: {layers.layers}[{?layers.of_stage} of a stage|], shown as the least of {layers.layers_low} "
               "to {layers.layers_high}; in a row "
               "{layers.before}, now {layers.after}"},
      {.table = "dropped", .first = 12, .columns = kDropped},
      {.line = "  not copied: {}", .table = "other_files", .first = 12},
      {.findings = true},
  }};
  return {kText};
}

}  // namespace chakra::share
