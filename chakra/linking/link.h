// `chakra link` as a call: link recordings of a job to traces, compare the ranks, and self-check the traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/link/link.h"
#include "chakra/options/options.h"
#include "chakra/recorded/recorded.h"
#include "chakra/recording/recording.h"
#include "chakra/view/view.h"
#include "chakra/xla/xla.h"

namespace chakra::linking {

struct LinkJobOptions {
  /// Host and device trace of a rank, in any order, one of the two, one or two folders; or profiles of XLA with dumps
  /// of their programs, as files or in folders.
  std::vector<std::string> inputs;
  std::string output;  ///< the trace; for folders and XLA, the folder for trace.<rank>.et
  link::LinkOptions link;
  std::optional<int64_t> cycle{};  ///< for folders: index among the Kineto traces that a schedule made per rank, from 0
  std::optional<int64_t> process{};  ///< of a database that holds several
  std::optional<int64_t> explain;    ///< a node: explain the edges of this node
  std::optional<double> max_error;   ///< percent

  bool of_folders() const { return is_directory(inputs.front()); }
};
options::Options rows_of(LinkJobOptions& options);

/// Data kept for a rank after linking.
struct LinkedRank {
  recording::RankInput input;
  std::string output;
  link::LinkingReport report;
  analyze::SelfReplay replay;
  bool replayed = false;
  int64_t rank = 0;
  int64_t nodes = 0;
  std::string explanation;  ///< of the requested node
  int64_t events = 0;       ///< of XLA: executed instructions
};

struct LinkedJob {
  std::vector<LinkedRank> ranks;
  analyze::JobTimes times;  ///< for several ranks: clocks, stragglers, waiting and transfer
  Findings mismatches;      ///< in the communication of several ranks
  std::optional<recorded::JobReplay> replay;
  std::vector<recorded::Replayed> replays;
  std::vector<xla::ProgramReport> programs;  ///< of XLA
  Findings findings;
  std::vector<AtomicFile> files;  ///< by rank; written, but not visible before commit()

  /// Publish all traces, or no trace. Errors: base.file.write.
  Result<void> commit();
};

/// Link a job. Errors: cli.usage for inputs and options that do not go together; as for recording::pair_*,
/// link::link_rank, xla::link_profiles, analyze::self_replay, io::write_et. Cost: that of linking; several ranks are
/// all held in memory until the clocks are known.
Result<LinkedJob> link_job(const LinkJobOptions& options);

/// Return whether a path is a recording, or a folder with a recording, instead of the traces of a job. False for files
/// that cannot be read.
bool is_recording(const std::string& path);

/// Return the text: each rank and the job, or the explanation of one node (--explain).
view::Text text_of(const LinkedJob& linked);
/// Return the answer; docs/reference/formats/results.md has the keys. Cost: O(ranks + steps + findings).
answer::Answer answer_of(const LinkedJob& linked);

}  // namespace chakra::linking
