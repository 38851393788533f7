#include "chakra/cli/rank_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "chakra/io/io.h"

namespace chakra::cli {
namespace {

struct Range {
  int64_t first = 0, count = 1;
  bool has(int64_t rank) const { return rank >= first && rank - first < count; }
};

Result<std::vector<Range>> parse(const std::string& text) {
  std::vector<Range> ranges;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(','), colon = rest.substr(0, comma).find(':');
    const std::string_view item = rest.substr(0, comma);
    Range range;
    if (!parse_integer(item.substr(0, colon), range.first) || range.first < 0 ||
        (colon != item.npos && (!parse_integer(item.substr(colon + 1), range.count) || range.count < 1)))
      return fail(Code::usage, "cli.usage",
                  fmt::format("--ranks {}: a rank, FIRST:COUNT, or several of them with commas between are expected",
                              quote(text)));
    ranges.push_back(range);
    if (comma == rest.npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

/// The ranks must all be there: one that is left out unnoticed changes the result.
Result<void> check_there(const std::string& text, const std::vector<Range>& ranges, const std::vector<int64_t>& ranks) {
  for (const Range& range : ranges) {
    int64_t next = range.first;
    for (const int64_t rank : ranks)  // ascending
      if (range.has(rank) && rank == next) ++next;
    if (next - range.first < range.count)
      return fail(Code::usage, "cli.usage",
                  fmt::format("--ranks {}: the job has no trace of rank {}", quote(text), next));
  }
  return {};
}

}  // namespace

void add_ranks_option(CLI::App& app, std::string& text) {
  app.add_option("--ranks", text, "Only these ranks of the job, for example 0:8 (the first 8) or 0,2,5")
      ->type_name("FIRST:COUNT");
}

Result<trace::TraceSet> read_ranks(const std::string& path, const std::string& text, int64_t first_of,
                                   Findings& findings) {
  if (text.empty() && first_of < 0) return io::read_job(path);
  std::vector<Range> ranges;
  std::vector<int64_t> ranks;
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
  for (const io::RankFile& file : files) ranks.push_back(file.rank);
  if (!text.empty()) {
    CHAKRA_ASSIGN(ranges, parse(text));
    CHAKRA_CHECK(check_there(text, ranges, ranks));
    std::erase_if(ranks, [&](int64_t rank) {
      return std::none_of(ranges.begin(), ranges.end(), [&](const Range& range) { return range.has(rank); });
    });
  }
  const auto beyond = first_of < 0 ? ranks.end() : std::lower_bound(ranks.begin(), ranks.end(), first_of);
  if (beyond != ranks.end() && beyond != ranks.begin()) {
    findings.push_back(
        {"sim.compat.more_ranks", Severity::warning, -1, -1,
         fmt::format("the network has {} ranks, the job has traces of {}: those from rank {} on do not run, as in "
                     "ASTRA-sim",
                     first_of, ranks.size(), *beyond)});
    ranks.erase(beyond, ranks.end());
  }
  return io::read_job(path, {}, [ranks](int64_t rank) { return std::binary_search(ranks.begin(), ranks.end(), rank); });
}

}  // namespace chakra::cli
