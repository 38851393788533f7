// Files between the phases of linking a job whose ranks are tasks. Inside fleet.
#pragma once

#include <string>

#include "chakra/fleet/work.h"
#include "chakra/linking/linking.h"
#include "chakra/recorded/recorded.h"

namespace chakra::fleet {

/// Results of linking a rank, beside the trace.
struct RankResult {
  linking::LinkedRank rank;
  recorded::RankFacts facts;
};
/// Results of comparing the ranks, beside their communication.
struct JobResult {
  analyze::JobTimes times;
  Findings mismatches, findings;
};

/// Write results for the same key. Errors: base.file.*.
Result<void> write_result(const RankResult& result, const std::string& key, const std::string& path);
Result<void> write_result(const JobResult& result, const std::string& key, const std::string& path);
Result<void> write_result(const trace::Trace& communication, const std::string& key, const std::string& path);
/// Read results. Errors: those of read_file; fleet.between for another key or damage.
Result<RankResult> read_rank_result(const std::string& key, const std::string& path);
Result<trace::Trace> read_communication(const std::string& key, const std::string& path);
Result<JobResult> read_job_result(const std::string& key, const std::string& path);

}  // namespace chakra::fleet
