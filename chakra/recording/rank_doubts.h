// Whether recordings belong to one job, if only numbers in their names say which rank each is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::recording {

struct RankFile {
  std::string path;
  int64_t rank = 0;
  bool is_doubtful = false;  ///< the rank is a number in the name that no word like "rank" precedes
};

/// Check that recordings with doubtful ranks belong to one job. They do if they are all files of one folder whose
/// names differ only in the numbers 0 to N - 1, or if each of these ranks communicates. Another file of a rank (the
/// host trace) may show the communication. Findings: pytorch.pair.rank_assumed. Errors: pytorch.pair.unconnected,
/// those of ByteSource. Cost: O(text) of the doubtful files, none without doubt.
Result<void> check_connected(const std::vector<RankFile>& files, Findings& findings);

}  // namespace chakra::recording
