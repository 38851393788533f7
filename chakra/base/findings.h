// Findings by the thousand: keep the first, count the others.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "chakra/base/result.h"

namespace chakra {

/// Keeps the first findings of each tag and rank, and counts the others: a file may cause one every three bytes.
class LimitedFindings {
 public:
  explicit LimitedFindings(size_t limit = 100) : limit_(limit) {}
  void add(Finding finding);
  /// Add what another collection with the same limit has listed and counted.
  void add(LimitedFindings&& others);
  /// Return the findings, errors first. One more finding per tag and rank gives the number of findings left out.
  Findings take() &&;
  /// Append the same findings to `to`.
  void append_to(Findings& to) &&;

 private:
  size_t limit_;
  Findings listed_;
  std::map<std::pair<std::string, int64_t>, std::pair<size_t, Severity>> count_;
};

}  // namespace chakra
