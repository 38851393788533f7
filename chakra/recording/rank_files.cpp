// Which files belong together.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "chakra/filetype/filetype.h"
#include "chakra/json/json.h"
#include "chakra/recording/export_tools.h"
#include "chakra/recording/folders.h"
#include "chakra/recording/json_value.h"
#include "chakra/recording/manifest.h"
#include "chakra/recording/rank_doubts.h"
#include "chakra/recording/rank_files.h"
#include "chakra/recording/rank_names.h"

namespace chakra::recording {
namespace {

enum class FileKind : uint8_t { other, host, device };

struct Sniffed {
  std::string path;
  FileKind kind = FileKind::other;
  std::optional<int64_t> said;           ///< rank in distributedInfo
  std::optional<int64_t> named;          ///< rank in the name
  bool by_word = false;                  ///< it stands behind a word that means rank
  const filetype::Row* known = nullptr;  ///< what it is, if it is something else than a recording
  std::optional<int64_t> rank() const { return said ? said : named; }
};

Failure rank_error(const std::string& path, std::string text) {
  return fail(Code::bad_input, "pytorch.pair.rank", std::move(text), {path});
}

/// What begins as JSON may be a recording, unless it is marked as ours: "metadata" is a first key of both.
const filetype::Row* kind_if_no_recording(const filetype::Row* row, std::string_view head) {
  if (!row || row->group == filetype::Group::recording) return nullptr;
  const bool is_ours = contains(head.substr(0, 64), "\"chakraTrace\"");
  return row->group == filetype::Group::other || is_ours || !filetype::is_json_object(head) ? row : nullptr;
}

/// Reads as far as the first element of the bulk array, or, to find the rank, all of the file.
Result<void> sniff_contents(Sniffed& file, bool all) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file.path));
  CHAKRA_ASSIGN(const std::string_view head, source.peek(filetype::kHead));
  const filetype::Row* const row = filetype::recognise(head, filetype::kAllGroups);
  file.known = kind_if_no_recording(row, head);
  if (head.starts_with(sqlite::kMagic)) {  // the tables may stand far behind the beginning
    CHAKRA_ASSIGN(const sqlite::Database database, sqlite::Database::open(file.path));
    CHAKRA_ASSIGN(const ExportTool* const tool, export_tool_of(database));
    if (tool) file.kind = FileKind::device, file.known = nullptr;
    return {};
  }
  if (file.known) return {};
  if (row && row->name == filetype::kRocprof) {
    file.kind = FileKind::device;
    return {};
  }
  JsonStream stream(std::move(source), {"nodes", "traceEvents"});
  stream.be_patient();  // the later reader of the file reports damage, or passes over it
  simdjson::ondemand::parser parser;
  for (;;) {
    const Result<JsonStream::Part> next = stream.next();
    if (!next) {
      const Result<bool> found = stream.skip_to_array();
      if (!found || !*found) return Failure(next.error());
      continue;
    }
    const JsonStream::Part part = *next;
    if (part == JsonStream::Part::finished) return {};
    if (part == JsonStream::Part::window) {
      file.kind = stream.key() == "nodes" ? FileKind::host : FileKind::device;
      if (all) continue;
      return {};
    }
    simdjson::ondemand::document document;
    simdjson::ondemand::object info;
    simdjson::ondemand::value rank;
    int64_t number = 0;
    if (stream.key() == "schemaVersion" || stream.key() == "deviceProperties") file.kind = FileKind::device;
    if (stream.key() == "schema") file.kind = FileKind::host;
    if (stream.key() == "distributedInfo" && !parser.iterate(stream.value()).get(document) &&
        !document.get_object().get(info) && !info["rank"].get(rank)) {
      const std::string_view text = token(rank);  // a value can be looked at once
      if (!parse_integer(text, number) || number < 0)
        return rank_error(file.path, fmt::format("distributedInfo names the rank {}", quote(text)));
      file.said = number;
    }
  }
}

std::optional<int64_t> number_at(std::string_view name, size_t at) {
  size_t end = at;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  int64_t number = 0;
  if (end == at || !parse_integer(name.substr(at, end - at), number)) return std::nullopt;
  return number;
}

/// The number of a name that has no other.
std::optional<int64_t> only_number(std::string_view name) {
  std::optional<int64_t> only;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') continue;
    if (only) return std::nullopt;
    only = number_at(name, i);
    if (!only) return std::nullopt;
    while (i < name.size() && name[i] >= '0' && name[i] <= '9') ++i;
  }
  return only;
}

std::optional<int64_t> rank_in_name(const std::string& path, bool& by_word) {
  const std::string name = to_lower(std::filesystem::path(path).filename().string());
  static constexpr std::array<std::string_view, 5> kWords{"rank", "worker", "host", "device", "kineto"};
  const bool of_profiler = contains(name, ".pt.trace.json");  // begins with the machine's name, "job-worker-0_4399."
  for (const std::string_view word : kWords)
    for (size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
      size_t digits = at + word.size();
      if (digits < name.size() && (name[digits] == '.' || name[digits] == '_' || name[digits] == '-')) ++digits;
      if (const auto number = number_at(name, digits)) return by_word = !of_profiler || word == "rank", number;
    }
  return only_number(name);
}

/// "rank3/host.json", "3/host.json": the folder says it where the name has no word for it; the nearest one that does.
void look_at_folders(Sniffed& file, const std::string& below) {
  if (file.by_word) return;
  const std::filesystem::path folders = std::filesystem::path(to_lower(below)).parent_path();
  std::vector<std::string> names;
  for (const auto& part : folders) names.insert(names.begin(), part.string());
  for (const std::string& name : names)
    if (const size_t at = name.find("rank"); at != std::string::npos) {
      const size_t digits = name.find_first_of("0123456789", at);
      if (const auto number = digits == std::string::npos ? std::nullopt : number_at(name, digits)) {
        file.named = number;
        file.by_word = true;
        return;
      }
    }
  for (const std::string& name : names)
    if (const auto number = only_number(name); number && !file.named) file.named = number;
}

Result<Sniffed> sniff(const std::string& path) {
  Sniffed file;
  file.path = path;
  file.named = rank_in_name(path, file.by_word);
  if (std::filesystem::exists(path) && !is_file(path) && !is_directory(path))
    return fail(Code::io, "pytorch.pair.pipe", "recordings are read twice, so they cannot come from a pipe", {path});
  CHAKRA_TRY(sniff_contents(file, false));
  return file;
}

Result<void> check_rank(const Sniffed& file) {
  if (file.said && file.by_word && *file.said != *file.named)
    return rank_error(file.path, fmt::format("the trace contains rank {}, but the name or folder has rank {}",
                                             *file.said, *file.named));
  return {};
}

/// Two files that were named together belong together, unless both say of which rank they are.
Result<RankInput> make_input(const Sniffed* host, const Sniffed& device) {
  RankInput input;
  input.device = device.path;
  if (host) input.host = host->path;
  std::optional<int64_t> rank = device.said;
  if (!rank && device.by_word) rank = device.named;
  if (!rank && host && host->named == device.named) rank = device.named;
  input.rank = rank.value_or(0);
  input.rank_known = rank.has_value();
  return input;
}

bool is_dump(const std::string& path) {
  const Result<const filetype::Row*> row = filetype::recognise(path, static_cast<unsigned>(filetype::Group::other));
  return row && *row && filetype::is_flight_dump(**row);
}

/// " (a Chakra trace)", or nothing.
std::string title_of(const std::string& path) {
  const Result<const filetype::Row*> row = filetype::recognise(path, filetype::kAllGroups);
  return row && *row ? fmt::format(" ({})", (*row)->title) : "";
}

Finding belong_to_no_rank(const std::vector<std::string>& paths) {
  constexpr size_t kNamed = 8;
  std::string named, all;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i < kNamed) named += fmt::format("{}{}{}", i ? ", " : "", quote(paths[i], 200), title_of(paths[i]));
    all += (i ? "\n" : "") + paths[i];
  }
  if (paths.size() > kNamed) named += fmt::format(" and {} more", paths.size() - kNamed);
  return {"pytorch.pair.other_file",
          Severity::note,
          -1,
          -1,
          fmt::format("left out, since {} neither a PyTorch execution trace nor a Kineto trace: {}",
                      paths.size() == 1 ? "it is" : "they are", named),
          {{"files", all}}};
}

/// Names in the order in which people count: "r2" before "r10".
bool counts_before(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto number = [&](const std::string& text, size_t& at) {
      while (at + 1 < text.size() && text[at] == '0' && digit(text[at + 1])) ++at;
      const size_t begin = at;
      while (at < text.size() && digit(text[at])) ++at;
      return std::string_view(text).substr(begin, at - begin);
    };
    const std::string_view x = number(a, i), y = number(b, j);
    if (x != y) return std::pair(x.size(), x) < std::pair(y.size(), y);
  }
  return a.size() < b.size();
}

/// Of the Kineto traces of a rank, one for each cycle of its schedule, the one that is asked for.
// `pytorch.pair.cycle` (error): a rank has no Kineto trace of the cycle that is asked for.
Result<std::string> choose_cycle(int64_t rank, std::vector<std::string>& files, std::optional<int64_t> cycle) {
  if (files.size() == 1 && cycle.value_or(0) == 0) return files[0];
  std::sort(files.begin(), files.end(), counts_before);
  if (!cycle)
    return fail(Code::bad_input, "pytorch.pair.rank_twice",
                fmt::format("{} Kineto traces are of rank {}: this one, {}{}; if they are cycles of one schedule, "
                            "--cycle N links one of them, from 0 in the order of their names",
                            files.size(), rank, quote(files[1], 200), files.size() > 2 ? ", ..." : ""),
                {files[0]});
  if (std::cmp_greater_equal(*cycle, files.size()))
    return fail(Code::bad_input, "pytorch.pair.cycle",
                fmt::format("rank {} has no cycle {}; its last cycle is {}", rank, *cycle, files.size() - 1),
                {files[0]});
  return files[static_cast<size_t>(*cycle)];
}

/// Return the host trace of a rank: of the cycle, where each cycle has its own, else the only one.
Result<std::string> choose_host(int64_t rank, std::vector<std::string>& files, size_t devices,
                                std::optional<int64_t> cycle) {
  if (files.size() == 1) return files[0];
  if (cycle && files.size() == devices) {
    std::sort(files.begin(), files.end(), counts_before);
    return files[static_cast<size_t>(*cycle)];  // choose_cycle() found a Kineto trace of this number
  }
  return fail(Code::bad_input, "pytorch.pair.rank_twice",
              fmt::format("two host traces are of rank {}: this one and {}", rank, quote(files[0], 200)), {files[1]});
}

RankInput host_alone(const Sniffed& file) {
  RankInput input;
  input.host = file.path;
  input.rank_known = file.by_word;
  if (file.by_word) input.rank = file.named.value_or(0);
  return input;
}

bool is_manifest(const Sniffed& file) {
  return file.known && file.known->name == filetype::kResult &&
         std::filesystem::path(file.path).filename().string().starts_with("manifest.");
}

Result<void> sniff_folders(const std::vector<std::string>& folders, std::vector<Sniffed>& hosts,
                           std::vector<Sniffed>& devices, std::vector<std::string>& manifests, Pairing& pairing) {
  CHAKRA_ASSIGN(FoundFiles found, files_below(folders));
  std::vector<std::string> others = std::move(found.hidden);
  for (const FoundFile& at : found.files) {
    Sniffed file;
    const std::string name = std::filesystem::path(at.path).filename().string();
    if (contains(name, ".json") || name.ends_with(".sqlite") || name.ends_with(".db")) {
      CHAKRA_ASSIGN(file, sniff(at.path));
      look_at_folders(file, at.below);
    }
    if (file.kind == FileKind::host) hosts.push_back(std::move(file));
    else if (file.kind == FileKind::device) devices.push_back(std::move(file));
    else if (is_dump(at.path)) pairing.dumps.push_back(at.path);
    else if (is_manifest(file)) manifests.push_back(at.path);
    else if (!file.known || file.known->name != filetype::kResult) others.push_back(at.path);
  }
  if (!others.empty()) pairing.findings.push_back(belong_to_no_rank(others));
  return {};
}

/// Numbers in names that are no ranks, of processes say: the records say the ranks, or which numbers are ranks.
Result<void> settle_numbers(std::vector<Sniffed>& devices, Findings& findings) {
  std::set<int64_t> world, numbers, said;
  std::vector<RecordedRanks> recorded;
  for (const Sniffed& file : devices) {
    CHAKRA_ASSIGN(RecordedRanks found, recorded_ranks(file.path));
    if (found.rank) said.insert(*found.rank);
    world.insert(found.world.begin(), found.world.end());
    if (file.named) numbers.insert(*file.named);
    recorded.push_back(std::move(found));
  }
  if (said.size() == devices.size()) {
    for (size_t i = 0; i < devices.size(); ++i) devices[i].named = recorded[i].rank, devices[i].by_word = true;
    return {};
  }
  if (world.empty() || std::includes(world.begin(), world.end(), numbers.begin(), numbers.end())) return {};
  if (numbers.size() != devices.size() || world.size() != devices.size())
    return rank_error(devices[0].path,
                      fmt::format("the numbers in the names of the {} Kineto traces are not the ranks of the {} that "
                                  "their groups name; put rank<N> into the names",
                                  devices.size(), world.size()));
  std::sort(devices.begin(), devices.end(), [](const Sniffed& a, const Sniffed& b) { return *a.named < *b.named; });
  auto rank = world.begin();
  for (Sniffed& file : devices) file.named = *rank++, file.by_word = true;
  findings.push_back({"pytorch.pair.rank_order", Severity::warning, -1, -1,
                      fmt::format("the numbers {} to {} in the names are not ranks of the recorded groups (possibly "
                                  "process ids); the files count as ranks {} to {} in that order",
                                  *numbers.begin(), *numbers.rbegin(), *world.begin(), *world.rbegin())});
  return {};
}

/// The ranks of several Kineto traces where neither distributedInfo near the beginning nor a word in the name says
/// them.
Result<void> settle_ranks(std::vector<Sniffed>& devices, bool alone, Findings& findings) {
  std::vector<Sniffed*> open;
  for (Sniffed& file : devices) {
    if (!file.said && !file.by_word) CHAKRA_TRY(sniff_contents(file, true));
    if (!file.said && !file.by_word) open.push_back(&file);
  }
  int64_t tp = 0;
  bool in_grid = !open.empty();
  for (const Sniffed* file : open) {
    const auto place = grid_place(std::filesystem::path(file->path).filename().string());
    in_grid = in_grid && place.has_value();
    if (place) tp = std::max(tp, place->tp + 1);
  }
  if (in_grid) {
    for (Sniffed* file : open) {
      const auto place = grid_place(std::filesystem::path(file->path).filename().string());
      file->named = place->tp + tp * place->pp;
      file->by_word = true;
    }
    return {};
  }
  const auto is_doubtful = [&](const Sniffed* file) {
    return !file->named || *file->named >= static_cast<int64_t>(devices.size());
  };
  if (!alone || open.size() != devices.size() || std::none_of(open.begin(), open.end(), is_doubtful)) return {};
  return settle_numbers(devices, findings);
}

}  // namespace

Result<RankInput> pair_file(const std::string& path) {
  CHAKRA_ASSIGN(const Sniffed file, sniff(path));
  if (file.known) return filetype::refuse(*file.known, "a recording", path);
  if (file.kind == FileKind::host) return host_alone(file);
  return make_input(nullptr, file);
}

Result<RankInput> pair_files(const std::string& first, const std::string& second, bool ranks_may_differ) {
  CHAKRA_ASSIGN(Sniffed host, sniff(first));
  CHAKRA_ASSIGN(Sniffed device, sniff(second));
  for (const Sniffed* file : {&host, &device})
    if (file->known) return filetype::refuse(*file->known, "a recording", file->path);
  if (host.kind == FileKind::device && device.kind == FileKind::host) std::swap(host, device);
  if (host.kind != FileKind::other && host.kind == device.kind)
    return fail(
        Code::bad_input, "pytorch.pair.kind",
        host.kind == FileKind::host ? "both files are PyTorch execution traces" : "both files are Kineto traces",
        {first});
  const int64_t of_host = host.by_word ? host.named.value_or(-1) : -1;
  const int64_t of_device = device.said.value_or(device.by_word ? device.named.value_or(-1) : -1);
  if (!ranks_may_differ && of_host >= 0 && of_device >= 0 && of_host != of_device)
    return rank_error(host.path, fmt::format("the host trace is named as rank {}, but the Kineto trace is of rank {}; "
                                             "--rank N links them anyway",
                                             of_host, of_device));
  return make_input(&host, device);
}

namespace {

/// Numbers in names make separate jobs look like one. Host traces beside Kineto traces follow these.
Result<void> check_doubts(const std::vector<Sniffed>& hosts, const std::vector<Sniffed>& devices, Findings& findings) {
  std::vector<RankFile> files;
  const auto add = [&](const Sniffed& file, bool may_doubt) {
    if (file.rank()) files.push_back({file.path, *file.rank(), may_doubt && !file.said && !file.by_word});
  };
  for (const Sniffed& file : devices) add(file, true);
  for (const Sniffed& file : hosts) add(file, devices.empty());
  return check_connected(files, findings);
}

/// The ranks of the files; see pair_folders.
Result<void> pair(const std::vector<std::string>& folders, std::vector<Sniffed> hosts, std::vector<Sniffed> devices,
                  std::optional<int64_t> cycle, Pairing& pairing) {
  if (devices.empty() && hosts.empty())
    return fail(Code::bad_input, "pytorch.pair.none",
                "the folder holds neither PyTorch execution traces nor Kineto traces (*.json, *.json.gz, *.json.zst)" +
                    (pairing.findings.empty() ? "" : "; " + pairing.findings.front().text),
                {folders.front()});
  if (hosts.size() == 1 && devices.size() == 1) {
    CHAKRA_TRY(check_rank(devices[0]));
    if (hosts[0].by_word && (devices[0].said || devices[0].by_word) && *hosts[0].named != *devices[0].rank())
      return rank_error(hosts[0].path,
                        fmt::format("the only host trace is named as rank {}, the only Kineto trace is of rank {}",
                                    *hosts[0].named, *devices[0].rank()));
    CHAKRA_ASSIGN(RankInput input, make_input(&hosts[0], devices[0]));
    pairing.ranks.push_back(std::move(input));
    return {};
  }
  if (devices.size() > 1) CHAKRA_TRY(settle_ranks(devices, hosts.empty(), pairing.findings));
  CHAKRA_TRY(check_doubts(hosts, devices, pairing.findings));
  std::map<int64_t, RankInput> ranks;
  std::map<int64_t, std::vector<std::string>> cycles;  // the Kineto traces of each rank
  for (Sniffed& file : devices) {
    CHAKRA_TRY(check_rank(file));
    if (!file.rank() && devices.size() > 1)
      return rank_error(file.path, "neither the contents nor the name of the Kineto trace give a rank");
    RankInput& input = ranks[file.rank().value_or(0)];
    input.rank = file.rank().value_or(0);
    input.rank_known = file.rank().has_value();
    cycles[input.rank].push_back(file.path);
  }
  for (auto& [rank, files] : cycles) {
    CHAKRA_ASSIGN(ranks[rank].device, choose_cycle(rank, files, cycle));
  }
  std::map<int64_t, std::vector<std::string>> of_cycles;  // the host traces of each rank
  for (const Sniffed& file : hosts) {
    if (!file.named) return rank_error(file.path, "the name of the host trace has no rank");
    if (!devices.empty() && !ranks.contains(*file.named))
      return fail(Code::bad_input, "pytorch.pair.incomplete",
                  fmt::format("rank {} has a host trace but no Kineto trace", *file.named), {file.path});
    if (devices.empty()) {
      RankInput& input = ranks.try_emplace(*file.named, host_alone(file)).first->second;
      input.rank = *file.named;
      input.rank_known = true;
    }
    of_cycles[*file.named].push_back(file.path);
  }
  for (auto& [rank, files] : of_cycles) {
    CHAKRA_ASSIGN(ranks[rank].host, choose_host(rank, files, cycles[rank].size(), cycle));
  }
  for (auto& [rank, input] : ranks) {
    if (input.host.empty() && !hosts.empty())
      return fail(Code::bad_input, "pytorch.pair.incomplete",
                  fmt::format("rank {} has a Kineto trace but no host trace", rank), {input.device});
    pairing.ranks.push_back(std::move(input));
  }
  return {};
}

/// What the manifests beside the chosen recordings say about them.
// `recording.manifest` (warning): the manifest of a recording cannot be read, so its overhead is unknown.
void read_manifests(const std::vector<std::string>& files, Pairing& pairing) {
  std::set<std::filesystem::path> chosen;  // folders
  for (const RankInput& rank : pairing.ranks) chosen.insert(std::filesystem::path(rank.device).parent_path());
  std::vector<Manifest> manifests;
  for (const std::string& file : files) {
    if (!chosen.contains(std::filesystem::path(file).parent_path())) continue;
    const Result<std::optional<Manifest>> manifest = read_manifest(file);
    if (!manifest)
      pairing.findings.push_back({"recording.manifest", Severity::warning, -1, -1,
                                  fmt::format("the overhead of the recording is unknown: {}: {}",
                                              manifest.error().place.text(), manifest.error().text)});
    else if (*manifest) manifests.push_back(**manifest);
  }
  report_overhead(manifests, pairing.findings);
}

}  // namespace

Result<Pairing> pair_folder(const std::string& folder) { return pair_folders({folder}); }

Result<Pairing> pair_folders(const std::vector<std::string>& folders, std::optional<int64_t> cycle) {
  Pairing pairing;
  std::vector<Sniffed> hosts, devices;
  std::vector<std::string> manifests;
  CHAKRA_TRY(sniff_folders(folders, hosts, devices, manifests, pairing));
  CHAKRA_TRY(pair(folders, std::move(hosts), std::move(devices), cycle, pairing));
  read_manifests(manifests, pairing);
  return pairing;
}

}  // namespace chakra::recording
