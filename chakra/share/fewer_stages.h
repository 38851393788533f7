// Level 3 of hiding: the last stages of a pipeline stay. Inside share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chakra/edit/edit.h"
#include "chakra/io/io.h"
#include "chakra/share/first_look.h"
#include "chakra/share/obfuscate.h"

namespace chakra::share {

class FewerStages {
 public:
  /// Find the stages, and their cell. A job whose stages cannot be hidden keeps them. Errors: edit.stages.class.
  Result<void> look(const FirstLook& look, const trace::ClassJob* classes, const edit::Cells& cells);

  bool hides() const { return hiding_.has_value(); }
  double growth() const { return hides() ? edit::growth(*hiding_) : 1; }
  /// Bytes of communications of passes, relative to the job: those of the middle of the cell.
  double more() const {
    if (!hides()) return 1;
    const auto others = static_cast<double>(hiding_->micro_batches - 1);
    return (others + hiding_->cell.shown) / (others + static_cast<double>(hiding_->stages));
  }

  /// Return the files of the ranks that stay. `files`: as look() found them.
  std::vector<io::RankFile> kept(const std::vector<io::RankFile>& files) const;
  /// Set the factor of times by a recorded rank. `files`: of ranks that stay. Errors: those of io::read_rank.
  Result<void> measure(const std::vector<io::RankFile>& files);
  Result<trace::Trace> keep(trace::Trace trace, edit::HiddenStages& hidden) const;
  /// Return the classes that stay. Errors: edit.stages.class.
  Result<std::vector<size_t>> keep(trace::ClassJob& job);
  /// Count what happened to the ranks.
  void add(const edit::HiddenStages& hidden) { hidden_.unstretched += hidden.unstretched; }

  ObfuscatedJob::Stages finish(Findings& findings) const;

 private:
  Result<void> try_to_keep(std::span<const edit::StageView> views, const trace::ClassJob* classes) const;

  int64_t stages_ = 1;
  std::string why_;             ///< the stages stay visible
  bool is_stated_ = true;       ///< the schedule, by all traces
  std::vector<int64_t> ranks_;  ///< of the files
  std::optional<edit::StageHiding> hiding_;
  edit::HiddenStages hidden_;
};

}  // namespace chakra::share
