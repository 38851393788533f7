// Which files of a job belong together: the recordings of each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::recording {

/// Where the recordings of a rank are. Without a host trace, the operators are the profile's; without a profile there
/// are no times.
struct RankInput {
  int64_t rank = 0;
  bool rank_known = false;  ///< the files or their names say it
  std::string host;         ///< PyTorch execution trace; may be empty
  std::string device;       ///< Kineto trace; may be empty
};

/// Finds out which of two files is which; both orders are understood. The rank is what the files
/// say, else 0. Ranks of one job share names and ids, so files that say different ranks are refused. Errors:
/// pytorch.pair.kind, pytorch.pair.rank, and those of ByteSource.
Result<RankInput> pair_files(const std::string& first, const std::string& second, bool ranks_may_differ = false);
/// One file: a Kineto trace alone, or a host trace alone.
Result<RankInput> pair_file(const std::string& path);

/// The ranks of a job, from folders with host traces and Kineto traces, or one kind alone; their subfolders count.
struct Pairing {
  std::vector<RankInput> ranks;    ///< ascending
  std::vector<std::string> dumps;  ///< of PyTorch's flight recorder, beside the recordings
  /// pytorch.pair.other_file: files that are neither, with the fact files (one path a line); pytorch.pair.rank_order.
  Findings findings;
};
/// The rank of a file is distributedInfo's, else the number after rank, worker, host, device or kineto
/// in the name, else the number after rank in the name of a folder around it, else tp + TP * pp of SGLang's names
/// (TP-1-DP-0-PP-2), else the only number in the name or in that of a folder; one pair alone needs none. Numbers that
/// are no ranks of the recorded groups (process ids) give way to the ranks that the records name, else to their order.
/// `cycle`: which Kineto trace of each rank, from 0 in the order of their names, where a schedule made several.
/// Errors: pytorch.pair.none, pytorch.pair.pipe, pytorch.pair.rank, pytorch.pair.rank_twice, pytorch.pair.cycle,
/// pytorch.pair.incomplete, and those of ByteSource.
Result<Pairing> pair_folder(const std::string& folder);
Result<Pairing> pair_folders(const std::vector<std::string>& folders, std::optional<int64_t> cycle = std::nullopt);

}  // namespace chakra::recording
