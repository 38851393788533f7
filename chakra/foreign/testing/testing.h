// Helpers for the tests of the forms: read from memory, and check every prefix of a sample.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "chakra/foreign/foreign.h"

namespace chakra::foreign::testing {

inline Result<trace::TraceSet> read_memory(std::string_view form, std::string_view text, const Options& options = {},
                                           Findings* findings = nullptr) {
  Findings ignored;
  auto source = ByteSource::from_memory(text, "sample.0.json");
  if (!source) return Failure(source.error());
  return read(form, std::move(*source), options, findings ? *findings : ignored);
}

inline Result<std::string> write_memory(std::string_view form, const Job& job, Findings* findings = nullptr) {
  Findings ignored;
  return to_text(form, job, findings ? *findings : ignored);
}

/// Return "" or the tag of the error.
inline std::string tag_of_memory(std::string_view form, std::string_view text, const Options& options = {}) {
  const auto job = read_memory(form, text, options);
  return job ? "" : job.error().tag;
}

/// Return the difference between two jobs, "" if the jobs are equal.
inline std::string difference_of(const trace::TraceSet& a, const trace::TraceSet& b) {
  if (a.ranks.size() != b.ranks.size()) return "the number of ranks";
  for (size_t r = 0; r < a.ranks.size(); ++r)
    if (const std::string differs = difference(a.ranks[r], b.ranks[r]); !differs.empty()) return differs;
  return "";
}

/// Expect for each prefix that ends before `complete` an error with a tag of the form and a place.
inline void expect_prefixes_refused(std::string_view form, std::string_view sample, size_t complete,
                                    const Options& options = {}, size_t step = 1) {
  ASSERT_EQ(tag_of_memory(form, sample, options), "");
  for (size_t size = 0; size < complete; size += step) {
    const auto job = read_memory(form, sample.substr(0, size), options);
    ASSERT_FALSE(job) << form << ": the first " << size << " bytes pass";
    EXPECT_TRUE(job.error().tag.starts_with("foreign.")) << size << ": " << job.error().message();
    EXPECT_FALSE(job.error().place.file.empty()) << size << ": " << job.error().message();
    EXPECT_EQ(job.error().code, Code::bad_input) << size << ": " << job.error().message();
  }
}

}  // namespace chakra::foreign::testing
