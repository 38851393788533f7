// The files of a shared copy: their digests, and the attack on names. Inside certify.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/certify/certify.h"
#include "chakra/job/parts.h"

namespace chakra::certify {

/// Return the files of the copy with digests, by name. Errors: job.certify.file (a pipe, a device); as for
/// files_below(), job_files() and seal::digest_of_file(). Cost: O(bytes).
Result<std::vector<CertifiedJob::File>> digests_of(const std::string& shared);

struct NamesFound {
  int64_t words = 0;  ///< of the original
  int64_t in_original = 0;
  std::vector<std::string> in_copy;  ///< the words
};
/// Search words of the original in the copy, and in the original itself. `loaded`: the original. Errors: as for
/// reading. Cost: that of reading both.
Result<NamesFound> find_names(const std::string& original, const job::Loaded& loaded, const std::string& shared);

}  // namespace chakra::certify
