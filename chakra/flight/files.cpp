// Which files are dumps, and of which rank.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "chakra/flight/flight.h"

namespace chakra::flight {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHead = size_t{1} << 16;
constexpr size_t kFirstFiles = 64;  ///< of a folder that are looked at to tell what it holds

bool is_dump_file(const std::string& path) {
  if (!is_file(path)) return false;
  auto source = ByteSource::open(path);
  if (!source) return false;
  const auto head = source->peek(kHead);
  return head && is_dump(*head);
}

/// Regular files of a folder by name, hidden ones left out.
Result<std::vector<std::string>> files_of(const std::string& folder) {
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(folder));
  std::vector<std::string> files;
  for (const std::string& name : names)
    if (const std::string path = (fs::path(folder) / name).string(); !name.starts_with('.') && is_file(path))
      files.push_back(path);
  return files;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number that begins at `at`; -1 if it is too large.
int64_t number_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  int64_t number = -1;
  while (at + 1 < end && text[at] == '0') ++at;
  return parse_integer(text.substr(at, end - at), number) && number <= INT32_MAX ? number : -1;
}

/// Endings that say the form, not the rank ("dump_3.json.gz", "rank3.pkl").
std::string_view without_endings(std::string_view name) {
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view ending : {".gz", ".zst", ".tar", ".json", ".pickle", ".pkl", ".pt", ".bin", ".txt"})
      if (name.ends_with(ending)) {
        name.remove_suffix(ending.size());
        cut = true;
      }
  }
  return name;
}

// `flight.group.ranks` (warning): a dump whose rank is in none of its groups: its file may have the name of another.
void find_foreign_rank(const Dump& dump, Findings& findings) {
  bool listed = false;
  for (const Group& group : dump.groups) {
    listed = listed || !group.ranks.empty();
    if (std::find(group.ranks.begin(), group.ranks.end(), dump.rank) != group.ranks.end()) return;
  }
  if (listed)
    findings.push_back({"flight.group.ranks", Severity::warning, dump.rank, -1,
                        fmt::format("{}: the rank is a member of no group in this dump; its file may have another "
                                    "rank's name",
                                    dump.file)});
}

// `flight.dump.mixed` (warning): dumps of different versions.
void find_versions(const std::vector<Dump>& dumps, Findings& findings) {
  const auto other =
      std::find_if(dumps.begin(), dumps.end(), [&](const Dump& dump) { return dump.version != dumps.front().version; });
  if (other != dumps.end())
    findings.push_back({"flight.dump.mixed", Severity::warning, other->rank, -1,
                        fmt::format("has a dump of version {}, rank {} one of version {}", other->version,
                                    dumps.front().rank, dumps.front().version)});
}

}  // namespace

int64_t rank_of_name(std::string_view path) {
  const std::string lower = to_lower(without_endings(path.substr(path.rfind('/') + 1)));
  int64_t rank = -1;
  for (size_t at = lower.find("rank"); at != std::string::npos; at = lower.find("rank", at + 4)) {
    const size_t digit = lower.find_first_not_of("-_.", at + 4);
    if (digit != std::string::npos && is_digit(lower[digit])) rank = number_at(lower, digit);
  }
  if (rank >= 0) return rank;
  const size_t last = lower.find_last_of("0123456789");
  if (last == std::string::npos) return -1;
  const size_t before = lower.find_last_not_of("0123456789", last);
  return number_at(lower, before == std::string::npos ? 0 : before + 1);
}

bool is_dump_path(const std::string& path) {
  if (!is_directory(path)) return is_dump_file(path);
  const auto files = files_of(path);
  if (!files) return false;
  const size_t looked_at = std::min(files->size(), kFirstFiles);
  return std::any_of(files->begin(), files->begin() + static_cast<std::ptrdiff_t>(looked_at), is_dump_file);
}

// `flight.dump.none` (1): no dump among the files.
// `flight.dump.rank` (1): a dump without a rank in its file name, or two dumps of one rank.
// `flight.dump.other_file` (note): files beside the dumps that are none; they are left out.
Result<Dumps> read_dumps(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_directory(path)) {
      files.push_back(path);
      continue;
    }
    CHAKRA_ASSIGN(const std::vector<std::string> inside, files_of(path));
    files.insert(files.end(), inside.begin(), inside.end());
  }
  std::map<int64_t, std::string> of_rank;
  std::vector<std::string> others;
  for (const std::string& path : files) {
    if (!is_dump_file(path)) {
      others.push_back(path);
      continue;
    }
    int64_t rank = rank_of_name(path);
    if (rank < 0) rank = rank_of_name(fs::path(path).parent_path().string());
    if (rank < 0)
      return fail(Code::bad_input, "flight.dump.rank",
                  "the file name has no rank; rename the file, for example nccl_trace_rank_3", {path});
    const auto [at, is_new] = of_rank.try_emplace(rank, path);
    if (!is_new)
      return fail(Code::bad_input, "flight.dump.rank", fmt::format("{} is also a dump of rank {}", at->second, rank),
                  {path});
  }
  if (of_rank.empty())
    return fail(Code::bad_input, "flight.dump.none", "no dump of a flight recorder", {paths.empty() ? "" : paths[0]});
  Dumps dumps;
  for (const auto& [rank, path] : of_rank) {
    Result<Dump> dump = read_dump(path, rank);
    if (!dump && of_rank.size() == 1) return Failure(dump.error());
    if (!dump) {
      dumps.findings.push_back(
          {dump.error().tag, Severity::error, rank, -1,
           fmt::format("{}: {}; the dump is left out", dump.error().place.text(), dump.error().text)});
      continue;
    }
    find_foreign_rank(*dump, dumps.findings);
    dumps.ranks.push_back(std::move(*dump));
  }
  if (dumps.ranks.empty())
    return fail(Code::bad_input, "flight.dump.none", "no dump can be read: " + dumps.findings[0].text);
  find_versions(dumps.ranks, dumps.findings);
  if (!others.empty())
    dumps.findings.push_back({"flight.dump.other_file", Severity::note, -1, -1,
                              fmt::format("{} files are not dumps and are left out: {}{}", others.size(), others[0],
                                          others.size() > 1 ? ", ..." : "")});
  return dumps;
}

}  // namespace chakra::flight
