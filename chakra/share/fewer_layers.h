// Level 3 of hiding: the ranks of a job lose the same layers. Inside share.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "chakra/edit/edit.h"
#include "chakra/share/fewer_stages.h"
#include "chakra/share/first_look.h"
#include "chakra/share/obfuscate.h"

namespace chakra::share {

class FewerLayers {
 public:
  FewerLayers() = default;
  /// `hides_stages`: layers of a stage count, not those of all stages.
  FewerLayers(const FirstLook& look, bool hides_stages);

  /// Errors: job.obfuscate.layers (the job repeats nothing, or too little for a cell), edit.grid.few (no cells).
  Result<void> set_cell(const edit::Grid& grid, const std::string& path);
  const edit::LayerHiding& hiding() const { return hiding_; }
  double growth() const { return hiding_.layers > 0 ? edit::growth(hiding_) : 1; }
  /// Bytes of communications of layers, relative to the job: those of the middle of the cell.
  double more() const { return hiding_.layers > 0 ? hiding_.cell.shown / static_cast<double>(hiding_.layers) : 1; }

  /// What a rank lost.
  struct OfRank {
    int64_t rank = 0;
    edit::HiddenLayers hidden;                                 ///< without `grows`
    std::map<std::string, std::string, std::less<>> group_of;  ///< by name: unique in the job
  };
  static OfRank of_rank(const trace::Trace& before, edit::HiddenLayers hidden);
  /// Make sure that all ranks lost the same communications. If they did not, return false once: hide the ranks again,
  /// since communications that differ between layers stay from now on. Errors: edit.layers.ranks.
  Result<bool> agree(std::span<const OfRank> ranks);
  /// Hide the layers of all classes, then the stages. `grows`: HiddenLayers::grows of each. Errors: as for agree(), and
  /// those of FewerStages::keep().
  Result<void> hide(trace::ClassJob& job, FewerStages& stages, std::vector<std::vector<uint8_t>>& grows);
  /// Count what a rank or a class lost.
  void add(const edit::HiddenLayers& hidden);

  double bytes() const { return bytes_; }  ///< of removed communications; of a job by classes, of the classes
  ObfuscatedJob::Layers finish(Findings& findings) const;

 private:
  edit::LayerHiding hiding_;
  bool of_stage_ = false;
  bool is_given_ = false;  ///< the number of layers
  ObfuscatedJob::Layers job_;
  double bytes_ = 0;
};

}  // namespace chakra::share
