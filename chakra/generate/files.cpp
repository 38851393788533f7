#include "chakra/generate/files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/io/io.h"
#include "chakra/job/parts.h"

namespace chakra::generate {
namespace {

namespace fs = std::filesystem;

std::string rank_file(const GenerateOptions& o, int64_t rank) {
  return (fs::path(o.output) / fmt::format("{}.{}.et", o.name, rank)).string();
}

Result<void> check_folder(const GenerateOptions& o, const trace::ClassJob& job) {
  std::error_code ignored;
  const auto place = [&](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path), ignored); };
  const std::string report = fs::path(o.report).filename().string();
  if (!o.report.empty() && (report == "ranks.json" || report.ends_with(".et")) &&
      place(o.report).parent_path() == place(fs::path(o.output) / "").parent_path())
    return fail(Code::usage, "cli.usage", fmt::format("two results would be written to {}", quote(o.report, 200)));
  if (!o.all_ranks && io::is_class_job(o.output)) return {};  // it is replaced
  std::vector<std::string> files;
  if (o.all_ranks)
    for (const trace::ClassJob::Rank& rank : job.ranks) files.push_back(rank_file(o, rank.rank));
  return job::keep_other_ranks_out(o.output, files);
}

Result<void> write_all_ranks(const GenerateOptions& o, const trace::ClassJob& job) {
  CHAKRA_TRY(make_directories(o.output));
  for (size_t i = 0; i < job.ranks.size(); ++i)
    CHAKRA_TRY(io::write_et(trace::concrete(job, i), rank_file(o, job.ranks[i].rank)));
  return {};
}

}  // namespace

Result<GeneratedJob> generate_job(const trace::ClassJob& job, const GenerateOptions& o) {
  CHAKRA_ASSERT(!job.classes.empty());
  if (!o.output.empty()) {
    CHAKRA_TRY(check_folder(o, job));
    CHAKRA_TRY(o.all_ranks ? write_all_ranks(o, job) : io::write_class_job(job, o.output));
  }
  const auto [least, most] =
      std::minmax_element(job.classes.begin(), job.classes.end(),
                          [](const trace::Trace& a, const trace::Trace& b) { return a.size() < b.size(); });
  return GeneratedJob{o.output, o.name, job.ranks.size(), job.classes.size(), least->size(), most->size()};
}

Result<void> write_cases(const CaseOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  gen::CaseOptions cases = o.cases;
  cases.runtime = o.runtime_us * kPsPerUs;
  CHAKRA_TRY(make_directories(o.output));
  for (const gen::NamedCase& row : gen::cases())
    for (int64_t rank = 0; rank < o.ranks; ++rank) {
      const std::string path = fmt::format("{}/{}.{}.et", o.output, row.name, rank);
      if (row.file) CHAKRA_TRY(write_file(path, row.file(rank)));
      else CHAKRA_TRY(io::write_et(row.trace(rank, o.ranks, cases), path));
    }
  return {};
}

}  // namespace chakra::generate
