// The ranks and rows of an answer that a page shows. Inside report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/report/page.h"

namespace chakra::report {

/// Rows of tables that must be in the page, by the key of the table.
using Evidence = std::map<std::string, std::set<size_t>, std::less<>>;
/// Return the rows that the table `diagnosis` names.
Evidence evidence_of(const answer::Answer& answer);

/// Return the ranks to show; empty: all.
std::set<int64_t> chosen_ranks(std::span<const Part> parts);

struct Chosen {
  std::vector<size_t> rows;       ///< ascending
  std::vector<size_t> identical;  ///< rows that each of `rows` stands for, itself included; empty: one each
  bool cut = false;               ///< rows of the chosen ranks are missing
  size_t all() const;             ///< sum of `identical`
};
/// Return the rows of a table to show.
/// - Tables of ranks and of collectives: one of all rows that are equal except for ids and groups.
/// - Links and pieces of the critical path: the largest.
/// - Other tables: rows of the chosen ranks, and of each rank equally many.
Chosen chosen_rows(const answer::Table& table, const std::set<int64_t>& ranks, const std::set<size_t>& evidence);

}  // namespace chakra::report
