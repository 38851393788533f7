// A report about a job: one HTML page that holds answers as data, with tables and figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"

namespace chakra::report {

/// Limits of a page, so that the page of a large job stays below 5 MB.
inline constexpr size_t kMostRanks = 64;  ///< ranks in tables with a row per rank
inline constexpr size_t kStragglers = 8;  ///< first rows of the table `stragglers`, whose ranks are added
inline constexpr size_t kMostRows = 600;  ///< rows of a table
inline constexpr size_t kMostText = 300;  ///< bytes of a text

struct Subject {
  std::string name;                                 ///< of the job, as given
  int64_t ranks = 0;                                ///< of the job
  std::vector<const answer::Answer*> answers = {};  ///< not null; nested tables are not shown
};

struct Page {
  std::string html;
  int64_t tables = 0;        ///< with rows
  int64_t rows = 0;          ///< in the page
  int64_t rows_omitted = 0;  ///< that are in the answers but not in the page
  int64_t texts_cut = 0;     ///< longer than kMostText
  int64_t ranks = 0;         ///< in the page
};

/// Return the page. The page needs no network, and the content security policy of the page allows only the script of
/// the page. Texts of the answers are data: no text becomes markup. For more than kMostRanks ranks, the ranks in the
/// page are those at equal steps in the order of the lengths of their critical paths, with the shortest and the
/// longest, and the worst stragglers. Rows that the table `diagnosis` names as evidence, and their ranks, are always in
/// the page. Cost: O(cells).
Page page_of(const Subject& subject);

}  // namespace chakra::report
