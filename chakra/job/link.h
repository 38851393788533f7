// Recordings of a job become traces, compared with each other and replayed: what `chakra link` does, as a call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/job_replay.h"
#include "chakra/job/max_error.h"
#include "chakra/link/link.h"
#include "chakra/options/options.h"
#include "chakra/recording/recording.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct LinkJobOptions {
  std::vector<std::string>
      inputs;          ///< host and device trace of a rank, in any order, one of them, or one or two folders
  std::string output;  ///< the trace; of folders the folder for trace.<rank>.et
  link::LinkOptions link;
  std::optional<int64_t> cycle{};  ///< of folders: which of the Kineto traces that a schedule made of each rank, from 0
  std::optional<int64_t> explain;  ///< a node: why its edges are there
  std::optional<double> max_error;  ///< percent

  bool of_folders() const { return is_directory(inputs.front()); }
};
options::Options rows_of(LinkJobOptions& options);

/// What is kept of a rank once it is linked.
struct LinkedRank {
  recording::RankInput input;
  std::string output;
  link::LinkingReport report;
  analyze::SelfReplay replay;
  bool replayed = false;
  int64_t rank = 0;
  int64_t nodes = 0;
  std::string explanation;  ///< of the node that is asked for
};

struct LinkedJob {
  std::vector<LinkedRank> ranks;
  analyze::JobTimes times;  ///< of several ranks: clocks, stragglers, waiting and transfer
  Findings mismatches;      ///< of the communication of several ranks
  std::optional<JobReplay> replay;
  std::vector<Replayed> replays;
  Findings findings;
  std::vector<AtomicFile> files;  ///< by rank; written, and not there yet

  /// The traces appear, all of them or none. Errors: base.file.write.
  Result<void> commit();
};

/// Errors: cli.usage for inputs and options that do not go together; those of recording::pair_*, link::link_rank,
/// analyze::self_replay, io::write_et. Cost: that of linking; several ranks are all in memory until their clocks are
/// known.
Result<LinkedJob> link_job(const LinkJobOptions& options);

/// The facts of each rank and what the ranks say together, or the explanation that was asked for.
view::Text text_of(const LinkedJob& linked);
/// docs/reference/formats/results.md has the keys. Cost: O(ranks + steps + findings).
answer::Answer answer_of(const LinkedJob& linked);

}  // namespace chakra::job
