// What generators say of a job, as text and as JSON.
#pragma once

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/gen/gen.h"

namespace chakra::cli {

/// Two lines: ranks and nodes, parameters and operations.
std::string step_text(const job::GeneratedJob& files, const gen::StepOptions& step, const gen::StepStats& stats);
/// Parameters, operations, communication and memory, each with its formula.
std::string stats_text(const gen::StepStats& stats, double device_memory_gib);
Json step_json(const job::GeneratedJob& files, const gen::StepStats& stats, const Findings& findings);

/// What ranks of each class send, read and write.
class RankTables {
 public:
  RankTables();
  void add(const std::string& ranks, const std::vector<gen::Communication>& communication,
           const std::vector<gen::StorageSum>& storage);
  std::string text() const;  ///< each table after an empty line; those without rows are left out

 private:
  result::Table communication_, storage_;
};
/// Of the classes of StepStats or ServeStats.
template <class Classes>
std::string rank_tables(const Classes& classes) {
  RankTables tables;
  for (const auto& rank : classes)
    tables.add(fmt::format("{} ({} alike)", rank.first_rank, rank.ranks), rank.communication, rank.storage);
  return tables.text();
}

/// After an empty line.
std::string parameters_text(int64_t parameters, int64_t active);
struct MemoryLine {
  const char* name;
  double bytes;
  const char* formula;
};
/// Of the rank that needs most, with the sum, and whether it fits.
std::string memory_text(int64_t rank, const std::vector<MemoryLine>& lines, double device_memory_gib);
Json communication_json(const std::vector<gen::Communication>& communication);
Json storage_json(const std::vector<gen::StorageSum>& storage);
inline constexpr double kGib = 1024.0 * 1024 * 1024;
inline int64_t whole(double bytes) { return std::llround(bytes); }

}  // namespace chakra::cli
