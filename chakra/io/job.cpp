// Which files make a job.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/io/io.h"
#include "chakra/io/names.h"
#include "chakra/trace/share.h"

namespace chakra::io {
bool split_name(std::string_view name, std::string_view ending, std::string_view& prefix, int64_t& rank) {
  name = without_packing(name);
  if (!name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  prefix = name.substr(0, dot);
  const std::string_view digits = name.substr(dot + 1);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos &&
         parse_integer(digits, rank);
}

namespace {

/// Other JSON than ours lies beside traces: groups, recordings.
bool is_trace(const std::string& path, const FormatRow& form) {
  const auto kind = filetype::recognise(path, static_cast<unsigned>(filetype::Group::trace));
  return kind && *kind && (*kind)->name == form.name;
}

Result<std::vector<RankFile>> ranks_of_file(const std::string& path) {
  std::vector<RankFile> files;
  // A pipe can be read once only, and cannot be a container.
  if (is_file(path) && is_trace(path, *find_format("container"))) {
    CHAKRA_ASSIGN(const pack::ContainerPtr container, pack::Container::open(path));
    for (const int64_t rank : container->ranks()) files.push_back({rank, path, true, container});
    return files;
  }
  std::string_view prefix;
  int64_t rank = 0;
  const std::string name = std::filesystem::path(path).filename().string();
  bool named = false;
  for (const FormatRow& form : kFormats) named = named || split_name(name, form.ending, prefix, rank);
  files.push_back({named ? rank : 0, path, named});
  return files;
}

Result<std::vector<RankFile>> ranks_of_classes(const std::string& path) {
  CHAKRA_ASSIGN(trace::ClassJob job, read_class_job(path, {.texts = true}));
  const auto classes = std::make_shared<const trace::ClassJob>(std::move(job));
  const std::string file = is_directory(path) ? (std::filesystem::path(path) / "ranks.json").string() : path;
  std::vector<RankFile> files;
  for (const trace::ClassJob::Rank& rank : classes->ranks) files.push_back({rank.rank, file, true, {}, classes});
  return files;
}

Result<std::vector<RankFile>> ranks_of_form(const std::string& path, const FormatRow& form) {
  namespace fs = std::filesystem;
  const bool folder = is_directory(path), et = form.name == "et";
  std::vector<RankFile> files;
  const fs::path where = folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string wanted = folder ? "" : fs::path(path).filename().string();
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(where.empty() ? "." : where.string()));
  std::string prefix_seen;
  for (const std::string& name : names) {
    std::string_view prefix;
    int64_t rank = 0;
    if (!split_name(name, form.ending, prefix, rank)) {
      if (folder && et && without_packing(name).ends_with(".et"))
        return fail(Code::bad_input, "io.job.name",
                    "the file name has no rank; in a folder, traces must be named <prefix>.<rank>.et",
                    {(where / name).string()});
      continue;
    }
    if (!folder && prefix != wanted) continue;
    if (!is_file((where / name).string())) continue;  // reading a pipe may wait for ever
    if (!et && !is_trace((where / name).string(), form)) continue;
    if (!files.empty() && prefix != prefix_seen)
      return fail(Code::bad_input, "io.job.ambiguous",
                  fmt::format("the folder holds traces of several jobs, {} and {}; name a prefix", quote(prefix_seen),
                              quote(prefix)),
                  {path});
    prefix_seen = prefix;
    files.push_back({rank, (where / name).string(), true});
  }
  std::sort(files.begin(), files.end(), [](const RankFile& a, const RankFile& b) { return a.rank < b.rank; });
  for (size_t i = 1; i < files.size(); ++i)
    if (files[i].rank == files[i - 1].rank)
      return fail(Code::bad_input, "io.job.rank_twice",
                  fmt::format("two files of rank {}: {} and {}", files[i].rank, quote(files[i - 1].path, 200),
                              quote(files[i].path, 200)),
                  {path});
  return files;
}

}  // namespace

Result<std::vector<RankFile>> find_ranks(const std::string& path) {
  namespace fs = std::filesystem;
  if (is_class_job(path)) return ranks_of_classes(path);
  std::error_code ignored;
  const bool folder = is_directory(path);
  if (!folder && fs::exists(path, ignored)) return ranks_of_file(path);
  for (const std::string_view form : {"et", "jsonl", "json"}) {
    CHAKRA_ASSIGN(std::vector<RankFile> files, ranks_of_form(path, *find_format(form)));
    if (!files.empty()) return files;
  }
  return fail(Code::io, "io.job.none",
              folder ? "the folder has no file <prefix>.<rank>.et"
                     : "no such file, folder or trace prefix (" + fs::path(path).filename().string() + ".<rank>.et)",
              {path});
}

Result<void> check_rank(std::optional<int64_t> named, std::optional<int64_t> inside, const std::string& file) {
  if (!named || !inside || *named == *inside) return {};
  return fail(Code::bad_input, "io.job.rank",
              fmt::format("the file name has rank {}, but the contents have rank {}", *named, *inside), {file});
}

Result<void> settle_rank(const RankFile& file, trace::Trace& trace) {
  if (!trace.says_rank) trace.rank = file.rank;
  return file.named ? check_rank(file.rank, trace.rank, file.path) : Result<void>();
}

Result<trace::Trace> read_rank(const RankFile& file, const ReadOptions& options) {
  CHAKRA_ASSIGN(const RecordSourcePtr source, open_records(file));
  CHAKRA_ASSIGN(trace::Trace trace, read_trace(*source, options));
  CHAKRA_TRY(settle_rank(file, trace));
  return trace;
}

Result<trace::TraceSet> expand(const trace::ClassJob& job, const std::string& path) {
  uint64_t nodes = 0;  // of less than 2^24 ranks of less than 2^32 nodes
  for (const trace::ClassJob::Rank& rank : job.ranks) nodes += job.classes[rank.cls].size();
  if (nodes > kMostNodesExpanded)
    return fail(Code::bad_input, "io.ranks.large",
                fmt::format("its {} ranks have {} nodes, but the traces of all ranks are required at once, with at "
                            "most {} nodes; 'chakra sim' reads the job by classes",
                            job.ranks.size(), nodes, kMostNodesExpanded),
                {path});
  trace::TraceSet set;  // as trace::expand(), which cannot be stopped
  set.ranks.reserve(job.ranks.size());
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    CHAKRA_TRY(keep_going(i, job.ranks.size()));
    set.ranks.push_back(trace::concrete(job, i));
  }
  return set;
}

namespace {

/// For each file, an earlier one with the same contents, or itself. Ranks that do the same often have equal files.
std::vector<size_t> equal_files(const std::vector<RankFile>& files) {
  std::vector<size_t> equal(files.size());
  std::map<uint64_t, size_t> last_of_size;
  for (size_t i = 0; i < files.size(); ++i) {
    equal[i] = i;
    if (files[i].container) continue;
    if (const uint64_t size = file_size(files[i].path); size > 0) {
      const auto [last, added] = last_of_size.emplace(size, i);
      if (!added && same_contents(files[i].path, files[last->second].path)) equal[i] = last->second;
      else last->second = i;
    }
  }
  return equal;
}

/// Rows of the largest column that ranks of one program do not share, without room for more.
Column<trace::Comm> trimmed(const Column<trace::Comm>& rows) {
  Column<trace::Comm> out;
  out.append(rows);
  return out;
}

/// Reads ranks, which share the memory of equal columns with an earlier read rank of as many nodes.
class RankReader {
 public:
  RankReader(const std::vector<RankFile>& files, const ReadOptions& options) : traces_(files, options) {
    job.ranks.resize(files.size());
  }

  Result<void> read(size_t i) {
    CHAKRA_ASSIGN(trace::Trace trace, traces_.read(i));
    // Comparing is short beside reading. Without the lock, ranks that end together would share nothing.
    const std::lock_guard lock(mutex_);
    const auto [last, is_first] = last_of_nodes_.emplace(trace.size(), i);
    if (!is_first) trace::share_equal(trace, job.ranks[std::exchange(last->second, i)]);
    if (trace.comms.capacity() > trace.comms.size()) trace.comms = trimmed(trace.comms);
    job.ranks[i] = std::move(trace);
    return {};
  }

  trace::TraceSet job;

 private:
  RankTraces traces_;
  std::mutex mutex_;
  std::map<size_t, size_t> last_of_nodes_;  ///< places of ranks that are read, by nodes
};

}  // namespace

Result<trace::TraceSet> read_ranks(const std::vector<RankFile>& files, const ReadOptions& options) {
  const std::vector<size_t> equal = equal_files(files);
  std::vector<size_t> different;
  for (size_t i = 0; i < files.size(); ++i)
    if (equal[i] == i) different.push_back(i);
  RankReader reader(files, options);
  CHAKRA_TRY(each_in_parallel(different.size(), [&](size_t i) { return reader.read(different[i]); }));
  for (size_t i = 0; i < files.size(); ++i) {
    if (equal[i] == i) continue;
    const trace::Trace& like = reader.job.ranks[equal[i]];
    if (like.says_rank) {  // an error if the names of the files have other ranks
      CHAKRA_TRY(reader.read(i));
      continue;
    }
    trace::Trace& rank = reader.job.ranks[i] = like;
    rank.file = files[i].path;
    rank.rank = files[i].rank;
  }
  return std::move(reader.job);
}

Result<trace::TraceSet> read_job(const std::string& path, const ReadOptions& options) {
  if (is_class_job(path)) {
    CHAKRA_ASSIGN(const trace::ClassJob job, read_class_job(path, options));
    return expand(job, path);
  }
  CHAKRA_ASSIGN(const std::vector<RankFile> files, find_ranks(path));
  return read_ranks(files, options);
}

}  // namespace chakra::io
