// The numbers of a diagnosis, from a job that a test makes.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze::testing {

/// Run the analyses that a diagnosis reads.
inline DiagnosisNumbers numbers_of_job(const trace::TraceSet& set, const match::GroupTable& groups) {
  Findings findings;
  const Result<Job> job = prepare(set, groups, findings);
  EXPECT_TRUE(job);
  Result<DiagnosisNumbers> numbers = diagnosis_numbers(*job, findings);
  EXPECT_TRUE(numbers);
  return std::move(*numbers);
}

}  // namespace chakra::analyze::testing
