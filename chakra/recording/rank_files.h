// Finds the files of a job that belong together: the recordings of each rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::recording {

/// The files of a rank's recordings. Without a host trace, the operators
/// are the profile's; without a profile there are no times.
struct RankInput {
  int64_t rank = 0;
  bool rank_known = false;                       ///< the rank comes from the files or their names
  std::string host;                              ///< PyTorch execution trace; may be empty
  std::string device;                            ///< Kineto trace; may be empty
  int64_t process = -1;                          ///< of `device`, if the file holds several; -1: the only one
  std::vector<trace::ProcessGroup> groups = {};  ///< communicators that the files of all ranks describe together
};

/// Recognize the host trace and the Kineto trace of two files, in either order. The rank comes from the files,
/// else is 0. Ranks of one job share names and ids, so files with different ranks are rejected. Errors:
/// pytorch.pair.kind, pytorch.pair.rank, and those of ByteSource.
Result<RankInput> pair_files(const std::string& first, const std::string& second, bool ranks_may_differ = false);
/// Recognize one file: a Kineto trace alone, or a host trace alone.
Result<RankInput> pair_file(const std::string& path);

/// The ranks of a job, from folders with host traces and Kineto traces, or one kind alone, including subfolders.
struct Pairing {
  std::vector<RankInput> ranks;    ///< ascending
  std::vector<std::string> dumps;  ///< of PyTorch's flight recorder, beside the recordings
  /// pytorch.pair.other_file: files of other kinds, with the fact files (one path a line); pytorch.pair.rank_order,
  /// .rank_assumed;
  /// recording.overhead and recording.manifest, from the manifests of chakra_et.record().
  Findings findings;
};
/// Find the ranks of a job. The rank of a file is distributedInfo's, else the number after rank, worker, host, device
/// or kineto in the name, else the number after rank in the name of an enclosing folder, else tp + TP * pp of SGLang's
/// names (TP-1-DP-0-PP-2), else the only number in the name or in a folder's name; a single pair needs no rank. Numbers
/// outside the recorded groups (process ids) give way to the ranks in the records, else to the order of the numbers.
/// Only numbers in names may not join recordings that show no communication (check_connected).
/// `cycle`: which Kineto trace of each rank, from 0 in the order of names, if a schedule made several; and which host
/// trace, if a rank has as many of them.
/// Errors: pytorch.pair.none, pytorch.pair.pipe, pytorch.pair.rank, pytorch.pair.rank_twice, pytorch.pair.cycle,
/// pytorch.pair.incomplete, pytorch.pair.unconnected, and those of ByteSource.
Result<Pairing> pair_folder(const std::string& folder);
Result<Pairing> pair_folders(const std::vector<std::string>& folders, std::optional<int64_t> cycle = std::nullopt);

/// Replace each database of several processes (Nsight Systems, rocprofv3) by one rank per process, and find the members
/// of communicators. `process`: link only this process. A process has the rank that the largest communicator gives it;
/// without one, the processes of a single database count in the order of devices and process ids. Findings:
/// recording.rank_order, recording.members. Errors: cli.usage, recording.processes, pytorch.pair.rank,
/// pytorch.pair.rank_twice, those of the databases. Cost: O(rows of the databases).
Result<void> split_processes(std::vector<RankInput>& ranks, std::optional<int64_t> process, Findings& findings);

}  // namespace chakra::recording
