// Which files make a job.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "chakra/io/io.h"
#include "chakra/io/names.h"

namespace chakra::io {
namespace {

std::string_view without_packing(std::string_view name) {
  for (const std::string_view packing : {".gz", ".zst"})
    if (name.ends_with(packing)) name.remove_suffix(packing.size());
  return name;
}

}  // namespace

bool split_name(std::string_view name, std::string_view& prefix, int64_t& rank) {
  name = without_packing(name);
  if (!name.ends_with(".et")) return false;
  name.remove_suffix(3);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  prefix = name.substr(0, dot);
  const std::string_view digits = name.substr(dot + 1);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos &&
         parse_integer(digits, rank);
}

Result<std::vector<RankFile>> find_ranks(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<RankFile> files;
  const bool folder = is_directory(path);
  if (!folder && fs::exists(path)) {
    std::string_view prefix;
    int64_t rank = 0;
    const std::string name = fs::path(path).filename().string();
    const bool named = split_name(name, prefix, rank);
    files.push_back({named ? rank : 0, path, named});
    return files;
  }
  const fs::path where = folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string wanted = folder ? "" : fs::path(path).filename().string();
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(where.empty() ? "." : where.string()));
  std::string prefix_seen;
  for (const std::string& name : names) {
    std::string_view prefix;
    int64_t rank = 0;
    if (!split_name(name, prefix, rank)) {
      if (folder && without_packing(name).ends_with(".et"))
        return fail(Code::bad_input, "io.job.name", "the name says no rank: <prefix>.<rank>.et is expected in a folder",
                    {(where / name).string()});
      continue;
    }
    if (!folder && prefix != wanted) continue;
    if (!files.empty() && prefix != prefix_seen)
      return fail(Code::bad_input, "io.job.ambiguous",
                  fmt::format("the folder holds traces of several jobs, {} and {}; name a prefix", quote(prefix_seen),
                              quote(prefix)),
                  {path});
    prefix_seen = prefix;
    files.push_back({rank, (where / name).string(), true});
  }
  if (files.empty())
    return fail(Code::io, "io.job.none",
                folder ? "the folder holds no file <prefix>.<rank>.et"
                       : "there is neither such a file or folder nor a file " + wanted + ".<rank>.et",
                {path});
  std::sort(files.begin(), files.end(), [](const RankFile& a, const RankFile& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < files.size(); ++i)
    if (files[i].rank == files[i - 1].rank)
      return fail(Code::bad_input, "io.job.rank_twice",
                  fmt::format("rank {} is there twice: {} and {}", files[i].rank, quote(files[i - 1].path, 200),
                              quote(files[i].path, 200)),
                  {path});
  return files;
}

Result<trace::Trace> read_rank(const RankFile& file, const ReadOptions& options) {
  CHAKRA_ASSIGN(trace::Trace trace, read_et(file.path, options));
  if (file.named && trace.says_rank && trace.rank != file.rank)
    return fail(Code::bad_input, "io.job.rank",
                fmt::format("its name says rank {}, its contents say rank {}", file.rank, trace.rank), {file.path});
  if (!trace.says_rank) trace.rank = file.rank;
  return trace;
}

Result<trace::TraceSet> read_job(const std::string& path, const ReadOptions& options) {
  if (is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob job, read_class_job(path, options));
    uint64_t nodes = 0;  // of less than 2^24 ranks of less than 2^32 nodes
    for (const trace::ClassJob::Rank& rank : job.ranks) nodes += job.classes[rank.cls].size();
    if (nodes > kMostNodesExpanded)
      return fail(Code::bad_input, "io.ranks.large",
                  fmt::format("its {} ranks have {} nodes, and this needs the traces of all ranks at once, at most {} "
                              "nodes; 'chakra sim' takes it as it is",
                              job.ranks.size(), nodes, kMostNodesExpanded),
                  {path});
    return trace::expand(job);
  }
  CHAKRA_ASSIGN(const std::vector<RankFile> files, find_ranks(path));
  trace::TraceSet job;
  for (const RankFile& file : files) {
    CHAKRA_ASSIGN(trace::Trace trace, read_rank(file, options));
    job.ranks.push_back(std::move(trace));
  }
  return job;
}

}  // namespace chakra::io
