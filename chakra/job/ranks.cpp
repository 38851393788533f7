#include "chakra/job/ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "chakra/edit/edit.h"
#include "chakra/io/io.h"

namespace chakra::job {
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
    if (!parse_decimal(item.substr(0, colon), range.first) || range.first < 0 ||
        (colon != item.npos && (!parse_decimal(item.substr(colon + 1), range.count) || range.count < 1)))
      return fail(
          Code::usage, "cli.usage",
          fmt::format("--ranks {}: expected a rank, FIRST:COUNT, or several, separated by commas", quote(text)));
    ranges.push_back(range);
    if (comma == rest.npos) return ranges;
    rest.remove_prefix(comma + 1);
  }
}

/// The ranks must all be there: one that is left out unnoticed changes the result.
Result<void> check_there(const std::string& text, const std::vector<Range>& ranges,
                         const std::vector<io::RankFile>& files) {
  for (const Range& range : ranges) {
    int64_t next = range.first;
    for (const io::RankFile& file : files)  // ascending
      if (range.has(file.rank) && file.rank == next) ++next;
    if (next - range.first < range.count)
      return fail(Code::usage, "cli.usage",
                  fmt::format("--ranks {}: the job has no trace of rank {}", quote(text), next));
  }
  return {};
}

/// The ranks of a job; of one that is in memory none has a file.
Result<std::vector<io::RankFile>> ranks_of(const std::string& path, const LoadedPtr& loaded) {
  if (!loaded) return io::find_ranks(path);
  std::vector<io::RankFile> files;
  std::visit(
      [&](const auto& job) {
        for (const auto& rank : job.ranks) files.push_back({rank.rank, path});
      },
      loaded->job);
  return files;
}

/// `files` are of one job.
Result<trace::TraceSet> read_files(const std::string& path, const LoadedPtr& loaded,
                                   const std::vector<io::RankFile>& files, const io::ReadOptions& how) {
  trace::TraceSet job;
  if (is_class_job(path, loaded)) {
    CHAKRA_ASSIGN(trace::ClassJob classes, read_class_job(path, loaded));
    size_t next = 0;  // both ascend
    std::erase_if(classes.ranks, [&](const trace::ClassJob::Rank& rank) {
      const bool wanted = next < files.size() && files[next].rank == rank.rank;
      next += wanted;
      return !wanted;
    });
    return io::expand(classes, path);
  }
  if (!loaded) return io::read_ranks(files, how);
  for (const io::RankFile& file : files) job.ranks.push_back(*std::get<trace::TraceSet>(loaded->job).find(file.rank));
  return job;
}

}  // namespace

Result<trace::TraceSet> read_ranks(const std::string& path, const LoadedPtr& loaded, const std::string& text,
                                   int64_t first_of, Findings& findings, const io::ReadOptions& how) {
  CHAKRA_ASSIGN(std::vector<io::RankFile> files, ranks_of(path, loaded));
  if (files.empty() || (text.empty() && first_of < 0)) return read_job(path, loaded, how);
  if (text.empty() && (files.back().rank < first_of || files.front().rank >= first_of))
    return read_job(path, loaded, how);
  if (!text.empty()) {
    CHAKRA_ASSIGN(const std::vector<Range> ranges, parse(text));
    CHAKRA_TRY(check_there(text, ranges, files));
    std::erase_if(files, [&](const io::RankFile& file) {
      return std::none_of(ranges.begin(), ranges.end(), [&](const Range& range) { return range.has(file.rank); });
    });
  }
  const auto beyond = std::find_if(files.begin(), files.end(),
                                   [&](const io::RankFile& file) { return first_of >= 0 && file.rank >= first_of; });
  if (beyond != files.end() && beyond != files.begin()) {
    findings.push_back(
        {"sim.compat.more_ranks", Severity::warning, -1, -1,
         fmt::format("the network has {} ranks, the job has traces of {}: those from rank {} on do not run, as in "
                     "ASTRA-sim",
                     first_of, files.size(), beyond->rank)});
    files.erase(beyond, files.end());
  }
  return read_files(path, loaded, files, how);
}

Result<void> expand_job(const std::string& text, trace::TraceSet& job, match::GroupTable& groups, Findings& findings) {
  if (text.empty()) return {};
  const std::string_view view = text;
  const size_t colon = view.find(':');
  int64_t ranks = 0, like = -1;
  if (!parse_decimal(view.substr(0, colon), ranks) || ranks < 1 ||
      (colon != std::string_view::npos && (!parse_decimal(view.substr(colon + 1), like) || like < 0)))
    return fail(Code::usage, "cli.usage",
                fmt::format("--expand {}: expected a number of ranks, or N:RANK", quote(text)));
  CHAKRA_ASSIGN(job, edit::expand(std::move(job), groups, ranks, like, findings));
  return {};
}

}  // namespace chakra::job
