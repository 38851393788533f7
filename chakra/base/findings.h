// Findings by the thousand: the first are kept, the others are counted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "chakra/base/result.h"

namespace chakra {

/// Keeps the first findings of each tag and rank, and counts the others: a file may give one for every three bytes.
class LimitedFindings {
 public:
  explicit LimitedFindings(size_t limit = 100) : limit_(limit) {}
  void add(Finding finding);
  /// Errors first; one more per tag and rank says how many others there are.
  Findings take() &&;
  /// The same, behind those of `to`.
  void append_to(Findings& to) &&;

 private:
  size_t limit_;
  Findings listed_;
  std::map<std::pair<std::string, int64_t>, std::pair<size_t, Severity>> count_;
};

}  // namespace chakra
