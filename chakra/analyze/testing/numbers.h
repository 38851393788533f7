// The numbers of a diagnosis, from a job that a test makes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze::testing {

/// Run the analyses that a diagnosis reads.
inline DiagnosisNumbers numbers_of_job(const trace::TraceSet& set, const match::GroupTable& groups) {
  Findings findings;
  const Result<Job> job = prepare(set, groups, findings);
  EXPECT_TRUE(job);
  std::vector<NamedTable> tables;
  for (const AnalysisRow& row : kAnalyses) {
    if (std::find(kDiagnosisSources.begin(), kDiagnosisSources.end(), row.name) == kDiagnosisSources.end()) continue;
    auto some = row.run(*job, findings);
    EXPECT_TRUE(some);
    for (NamedTable& table : *some) tables.push_back(std::move(table));
  }
  return numbers_of(tables);
}

}  // namespace chakra::analyze::testing
