// A report about a job: one HTML page that holds answers as data, with tables and figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/result/result.h"

namespace chakra::report {

/// Limits of a page, so that the page of a large job stays below 5 MB.
inline constexpr size_t kMostRanks = 64;  ///< ranks in tables with a row per rank
inline constexpr size_t kStragglers = 8;  ///< first rows of the table `stragglers`, whose ranks are added
inline constexpr size_t kMostRows = 600;  ///< rows of a table
inline constexpr size_t kMostText = 300;  ///< bytes of a text
/// Bytes of a page with timelines. In a page that would be larger, times of timelines are rounded to kCoarseUnit.
inline constexpr size_t kMostPage = 8'000'000;
inline constexpr Picoseconds kCoarseUnit = 1'000;

/// An answer about a job, and the command that prints the answer; "": no such command.
struct Part {
  const answer::Answer* answer = nullptr;  ///< not null
  std::string command = {};
};

/// How slices of a timeline belong together. A slice is its place in Timeline::slices.
struct SliceLinks {
  /// A part of the critical path.
  struct Piece {
    uint32_t slice = 0;
    Picoseconds start_ps = 0, end_ps = 0;
  };
  std::vector<result::Timeline::Flow> arrows;      ///< dependencies and messages; the name is the kind
  std::vector<std::vector<uint32_t>> collectives;  ///< the slices of each, of at least two ranks
  std::vector<Piece> path;                         ///< ascending; times without a slice are left out
  std::string path_of;                             ///< the subject of the path, such as "rank 3"
};

struct Subject {
  std::string name;   ///< of the job, as given
  int64_t ranks = 0;  ///< of the job
  std::vector<Part> parts = {};
  const result::Timeline* timeline = nullptr;  ///< null: none
  const SliceLinks* links = nullptr;           ///< of `timeline`; null: none
};

struct Page {
  std::string html;
  int64_t tables = 0;        ///< with rows
  int64_t rows = 0;          ///< in the page
  int64_t rows_omitted = 0;  ///< that are in the answers, and neither in the page nor equal to a row in the page
  int64_t texts_cut = 0;     ///< longer than kMostText
  int64_t slices = 0;        ///< of the timelines
  int64_t ranks = 0;         ///< of all subjects, that are in the page or equal to a rank in the page
  size_t exact_bytes = 0;    ///< of the page with exact times, if times of timelines are rounded; else 0
};

/// Return the page. `comparison`: answers about all subjects together. The page needs no network, and the content
/// security policy of the page allows only the script of the page. Texts of the answers are data: no text becomes
/// markup. For more than kMostRanks ranks, a row of a table of a simulation stands for all ranks with equal values. If
/// these are still more than kMostRanks, the page has kMostRanks of them: ordered by the length of the critical path or
/// by the finish, at equal steps from the shortest to the longest. The worst stragglers are added. Rows that the table
/// `diagnosis` names as evidence, and their ranks, are always in the page. Times of timelines are exact if the page has
/// at most `most_bytes` then, and are rounded to kCoarseUnit if not. Errors: job.report.lanes, base.file.write.
/// Cost: O(cells), and O(n log n) for n slices.
Result<Page> page_of(std::span<const Subject> subjects, std::span<const Part> comparison = {},
                     size_t most_bytes = kMostPage);

struct Workbook {
  std::string bytes;  ///< XLSX; empty: none
  int64_t sheets = 0;
  int64_t rows = 0;              ///< of all tables
  int64_t numbers_as_texts = 0;  ///< whole numbers with more than 15 digits, which Excel would round
  int64_t texts_cut = 0;         ///< longer than a cell of Excel can hold
};

/// Return a workbook with all rows of all tables, a sheet each, and sheets for the contents, the columns, the values
/// and the findings. A table with more rows than a sheet can have continues on further sheets. Texts are never
/// formulas. Errors: base.zip.large. Cost: O(cells), and memory for the text of a sheet.
Result<Workbook> workbook_of(std::span<const Subject> subjects, std::span<const Part> comparison = {});

}  // namespace chakra::report
