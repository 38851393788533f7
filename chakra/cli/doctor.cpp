// chakra doctor
#include <fmt/core.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/kind/kind.h"
#include "chakra/link/link.h"
#include "chakra/pack/pack.h"
#include "chakra/recording/recording.h"

namespace chakra::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLittleRoom = 1ULL << 30;  ///< bytes of disk or memory below which things are tight
constexpr size_t kListed = 40;                ///< files without a problem that are listed

/// What was looked at and what to do about it.
struct Check {
  enum class Is : uint8_t { ok, note, wrong } is = Is::ok;
  std::string what, text, advice;
};
constexpr std::array<std::string_view, 3> kIsNames{"ok", "note", "wrong"};

std::string_view name_of(Check::Is is) { return kIsNames[static_cast<size_t>(is)]; }

// ---- the installation --------------------------------------------------------------------------------------

/// Where a program is, as the shell finds it; "" if nowhere.
std::string in_path(std::string_view program) {
  const char* const path = ::getenv("PATH");
  const std::string_view all = path ? path : "";
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find(':', at), all.size());
    const std::string candidate = (fs::path(all.substr(at, end - at)) / program).string();
    if (end > at && ::access(candidate.c_str(), X_OK) == 0 && is_file(candidate)) return candidate;
    at = end + 1;
  }
  return "";
}

/// The installed folder or that of the sources, whichever this command stands in.
std::string find_examples(const fs::path& command) {
  for (const char* place : {"../share/chakra/examples", "../../../examples"}) {
    const fs::path folder = (command.parent_path() / place).lexically_normal();
    if (is_directory((folder / "traces").string())) return folder.string();
  }
  return "";
}

std::vector<Check> check_installation() {
  using Is = Check::Is;
  std::vector<Check> checks;
  std::error_code ignored;
  const fs::path command = fs::read_symlink("/proc/self/exe", ignored);
  checks.push_back({Is::ok, "command", fmt::format("chakra {}, {}", CHAKRA_VERSION, command.string()), ""});

  const std::string found = in_path("chakra");
  if (found.empty())
    checks.push_back({Is::note, "path", "the shell does not find 'chakra'",
                      fmt::format("export PATH={}:$PATH", command.parent_path().string())});
  else if (!fs::equivalent(found, command, ignored))
    checks.push_back({Is::note, "path", fmt::format("'chakra' is another one, {}", found),
                      fmt::format("export PATH={}:$PATH", command.parent_path().string())});
  else checks.push_back({Is::ok, "path", "the shell finds this command", ""});

  std::string absent;
  for (const NameRow& row : kNames) {
    const fs::path link = command.parent_path() / row.name;
    if (!fs::equivalent(link, command, ignored)) absent += fmt::format("{}{}", absent.empty() ? "" : ", ", row.name);
  }
  if (absent.empty())
    checks.push_back({Is::ok, "names", "the names of the Chakra tools lead here (docs/reference/names.md)", ""});
  else
    checks.push_back({Is::note, "names", fmt::format("these do not lead here: {}", absent),
                      fmt::format("ln -s chakra {}/NAME", command.parent_path().string())});

  const std::string examples = find_examples(command);
  if (!examples.empty()) checks.push_back({Is::ok, "examples", examples, ""});
  else
    checks.push_back({Is::note, "examples", "not found beside this command",
                      "install with 'cmake --install' or unpack the whole tarball"});

  struct sysinfo memory {};
  ::sysinfo(&memory);
  const uint64_t available = memory.freeram * memory.mem_unit, total = memory.totalram * memory.mem_unit;
  checks.push_back(
      {total < kLittleRoom ? Is::wrong : Is::ok, "memory",
       fmt::format("{}, {} of it unused; {} cores", show_bytes(static_cast<double>(total)),
                   show_bytes(static_cast<double>(available)), std::thread::hardware_concurrency()),
       total < kLittleRoom ? "linking takes up to twice the size of the recordings; use a larger machine" : ""});

  const char* const given = ::getenv("TMPDIR");
  const std::string temporary = given && *given ? given : "/tmp";
  const fs::space_info space = fs::space(temporary, ignored);
  if (::access(temporary.c_str(), W_OK | X_OK) != 0 || !is_directory(temporary))
    checks.push_back({Is::wrong, "temporary files", fmt::format("cannot write to {}", temporary),
                      "set TMPDIR to a folder that can be written"});
  else if (space.available < kLittleRoom)
    checks.push_back({Is::note, "temporary files",
                      fmt::format("{} free in {}", show_bytes(static_cast<double>(space.available)), temporary),
                      "set TMPDIR to a folder with more room before feeding large traces"});
  else
    checks.push_back({Is::ok, "temporary files",
                      fmt::format("{} free in {}", show_bytes(static_cast<double>(space.available)), temporary), ""});

  const std::string dot = in_path("dot");
  if (!dot.empty()) checks.push_back({Is::ok, "graphviz", dot, ""});
  else
    checks.push_back({Is::note, "graphviz",
                      "no program dot: graphs can be written as .dot and .graphml, not drawn as .svg or .pdf",
                      "apt install graphviz"});

  struct winsize window {};
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (!terminal) checks.push_back({Is::ok, "terminal", "none: no progress is shown", ""});
  else if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_col < 100)
    checks.push_back(
        {Is::note, "terminal", fmt::format("{} columns", window.ws_col), "tables are up to 160 columns wide"});
  else checks.push_back({Is::ok, "terminal", "yes", ""});
  return checks;
}

// ---- a folder ------------------------------------------------------------------------------------------------

struct File {
  std::string name, path;
  enum class Kind : uint8_t { other, trace, host, kineto, classes } kind = Kind::other;
  std::string packed = {};   ///< "gzip", "zstd" or ""
  std::string version = {};  ///< of host traces; the form of traces that are no .et
  int64_t rank = -1, nodes = -1;
  int64_t ranks = 1;  ///< in it
  std::optional<Error> wrong = {};
};
constexpr std::array<std::string_view, 5> kKindNames{"unknown", "Chakra trace", "PyTorch execution trace",
                                                     "Kineto trace", "job by classes of ranks"};

std::string packing_of(const std::string& path) {
  std::array<unsigned char, 4> magic{};
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    if (std::fread(magic.data(), 1, magic.size(), file) < magic.size()) magic = {};
    std::fclose(file);
  }
  if (magic[0] == 0x1f && magic[1] == 0x8b) return "gzip";
  if (magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) return "zstd";
  return "";
}

/// A JSON file is told by its keys and read to its end, which must be one.
Result<void> look_at_json(File& file, ByteSource source, std::string head) {
  std::string block(kind::kHead, 0);
  std::string tail = head;
  bool ended = head.size() < kind::kHead;
  for (; !ended;) {
    CHAKRA_ASSIGN(const size_t got, source.read(block));
    ended = got < block.size();
    if (got > 0) tail.assign(block, got > 256 ? got - 256 : 0, got > 256 ? 256 : got);
  }
  const kind::Row* const row = kind::recognise(head, kind::Group::recording);
  if (!row) return {};
  file.kind = row->name == "host" ? File::Kind::host : File::Kind::kineto;
  if (file.kind == File::Kind::host) file.version = kind::member(head, "schema");
  const size_t last = tail.find_last_not_of(" \t\r\n");
  if (last == std::string::npos || tail[last] != '}')
    return fail(Code::bad_input, "cli.doctor.cut",
                "the file ends before its JSON does; 'chakra link --salvage' takes what is whole");
  return {};
}

/// The rank that the metadata names; -1 if none.
Result<int64_t> rank_inside(const io::RankFile& file) {
  CHAKRA_ASSIGN(const io::RecordSourcePtr records, io::open_records(file));
  std::string_view message;
  CHAKRA_ASSIGN(const bool any, records->next(message));
  io::MetadataRecord metadata;
  int64_t rank = -1;
  if (any && io::decode(message, metadata))
    for (const io::AttrRecord& attr : metadata.attrs)
      if (attr.name == "rank") (void)attr.as_integer(rank);
  return rank;
}

/// Reads all ranks of a file in one of our forms to their ends.
Result<void> look_at_trace(File& file, const io::FormatRow& form) {
  file.kind = File::Kind::trace;
  if (form.name != "et") file.version = form.name;
  CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(file.path));
  file.nodes = 0;
  trace::StreamedNode node;
  for (const io::RankFile& rank : ranks) {
    CHAKRA_ASSIGN(const int64_t inside, rank_inside(rank));
    if (ranks.size() == 1) file.rank = rank.named ? rank.rank : inside;
    if (rank.named && inside >= 0 && inside != rank.rank)
      return fail(Code::bad_input, "io.job.rank",
                  fmt::format("its name says rank {}, its contents say rank {}: name it so", rank.rank, inside));
    CHAKRA_ASSIGN(io::RecordSourcePtr records, io::open_records(rank));
    CHAKRA_ASSIGN(const trace::NodeSource nodes, io::open_nodes(std::move(records)));
    for (;; ++file.nodes) {
      CHAKRA_ASSIGN(const bool more, nodes(node));
      if (!more) break;
    }
  }
  file.ranks = static_cast<int64_t>(ranks.size());
  return {};
}

Result<void> look_at_contents(File& file) {
  if (file.name == "ranks.json") {
    file.kind = File::Kind::classes;
    CHAKRA_ASSIGN(const trace::ClassJob job, io::read_class_job(file.path));
    file.ranks = static_cast<int64_t>(job.ranks.size());
    return {};
  }
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file.path));
  CHAKRA_ASSIGN(const std::string_view begin, source.peek(kind::kTraceHead));
  const io::FormatRow* const named = io::format_of_name(file.name);
  const io::FormatRow* const form = io::form_of(begin);
  // A message may begin with the bytes of a JSON object by chance, and then only the name tells.
  const bool object = kind::is_json_object(begin);
  if (form && (!object || form->name.starts_with("json") || named == form)) return look_at_trace(file, *form);
  std::string head(kind::kHead, 0);
  CHAKRA_ASSIGN(const size_t got, source.read(head));
  head.resize(got);
  if (object) return look_at_json(file, std::move(source), std::move(head));
  // Of other files it is no news that they are no traces.
  if (named && named->name == "et") return look_at_trace(file, *named);
  return {};
}

struct Folder {
  std::string path;
  std::vector<File> files;
  std::vector<std::string> folders;
  Findings findings;
  std::vector<std::string> next;  ///< commands

  void find(std::string tag, Severity severity, int64_t rank, std::string text) {
    findings.push_back({std::move(tag), severity, rank, -1, std::move(text)});
  }
  bool has(File::Kind kind) const {
    return std::any_of(files.begin(), files.end(), [&](const File& f) { return f.kind == kind; });
  }
};

/// "1", "1, 2 and 5" or "1, 2, 3 and 97 more".
std::string show_ranks(const std::vector<int64_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size() && i < 8; ++i) out += fmt::format("{}{}", i ? ", " : "", ranks[i]);
  if (ranks.size() > 8) out += fmt::format(" and {} more", ranks.size() - 8);
  return out;
}

void find_missing(Folder& folder, const std::vector<int64_t>& ranks, const char* of) {
  std::vector<int64_t> missing;
  int64_t expected = 0, count = 0;
  for (const int64_t rank : ranks) {
    for (; expected < rank && count < 1000; ++expected, ++count) missing.push_back(expected);
    expected = rank + 1;
  }
  if (ranks.size() > 1 && !missing.empty())
    folder.find("cli.doctor.rank_missing", Severity::error, -1,
                fmt::format("no {} of rank{} {}, though there is one of rank {}: copy what is missing here", of,
                            missing.size() > 1 ? "s" : "", show_ranks(missing), ranks.back()));
}

void judge_traces(Folder& folder) {
  bool several = false;
  for (const File& file : folder.files)  // a folder is not read for the containers in it
    if (is_directory(folder.path) && file.version == "container") {
      folder.next.push_back(fmt::format("chakra info {}", file.path));
      several = true;
    }
  if (several) return;
  const auto ranks = io::find_ranks(folder.path);
  if (!ranks) {
    folder.find(ranks.error().tag, Severity::error, -1,
                ranks.error().text + "; move what does not belong here elsewhere");
    return;
  }
  std::vector<int64_t> numbers;
  for (const io::RankFile& rank : *ranks) numbers.push_back(rank.rank);
  find_missing(folder, numbers, "trace");
  folder.next.push_back(fmt::format("chakra check {}", folder.path));
  folder.next.push_back(fmt::format("chakra sim {} --network NETWORK.yml", folder.path));
}

void judge_recordings(Folder& folder) {
  if (!is_directory(folder.path)) {
    folder.next.push_back(fmt::format("chakra link {} -o trace.0.et", folder.path));
    return;
  }
  const auto pairing = recording::pair_folder(folder.path);
  if (!pairing) {
    folder.find(pairing.error().tag, Severity::error, -1, pairing.error().text);
    return;
  }
  std::vector<int64_t> numbers, alone;
  bool hosts = false, devices = false;
  for (const recording::RankInput& rank : pairing->ranks) {
    numbers.push_back(rank.rank);
    hosts |= !rank.host.empty();
    devices |= !rank.device.empty();
    for (File& file : folder.files)
      if (file.path == rank.host || file.path == rank.device) file.rank = rank.rank;
  }
  if (!devices)
    folder.find("cli.doctor.alone", Severity::warning, -1,
                "there are no Kineto traces: the traces will have no times; record with torch.profiler, too");
  else if (!hosts)
    folder.find("cli.doctor.alone", Severity::note, -1,
                "there are no PyTorch execution traces: tensors and storages will be missing; record with "
                "ExecutionTraceObserver, too");
  find_missing(folder, numbers, "recording");
  folder.next.push_back(fmt::format("chakra link {} -o traces/", folder.path));
}

Result<Folder> look_at(const std::string& path) {
  Folder folder{path, {}, {}, {}, {}};
  if (is_directory(path)) {
    CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(path));
    for (const std::string& name : names) {
      const std::string inside = (fs::path(path) / name).string();
      if (is_file(inside)) folder.files.push_back({name, inside});
      else if (is_directory(inside)) folder.folders.push_back(inside);
    }
  } else if (is_file(path)) {
    folder.files.push_back({fs::path(path).filename().string(), path});
  } else {
    return fail(Code::io, "base.file.open", "the file or folder does not exist", {path});
  }
  for (File& file : folder.files) {
    file.packed = packing_of(file.path);
    if (auto looked = look_at_contents(file); !looked) {
      file.wrong = looked.error();
      folder.find(looked.error().tag, Severity::error, -1, fmt::format("{}: {}", file.name, looked.error().text));
    } else if (file.kind == File::Kind::host &&
               std::find(recording::kHostSchemas.begin(), recording::kHostSchemas.end(), file.version) ==
                   recording::kHostSchemas.end()) {
      folder.find("cli.doctor.version", Severity::warning, -1,
                  fmt::format("{}: the schema {} is not known; it is read by the names of its fields", file.name,
                              quote(file.version)));
    }
  }
  const bool traces = folder.has(File::Kind::trace), classes = folder.has(File::Kind::classes);
  const bool recordings = folder.has(File::Kind::host) || folder.has(File::Kind::kineto);
  if (classes) {
    folder.next.push_back(fmt::format("chakra info {}", path));
    folder.next.push_back(fmt::format("chakra sim {} --network NETWORK.yml", path));
  } else if (traces) {
    judge_traces(folder);
  }
  if (recordings) judge_recordings(folder);
  if (!traces && !classes && !recordings) {
    std::string text = "there are no traces or recordings here";
    if (!folder.folders.empty()) text += fmt::format("; look into {}", folder.folders[0]);
    folder.find("cli.doctor.none", Severity::error, -1, text);
    for (const std::string& inside : folder.folders)
      if (folder.next.size() < 8) folder.next.push_back(fmt::format("chakra doctor {}", inside));
  }
  return folder;
}

std::string describe(const File& file) {
  std::string text(kKindNames[static_cast<size_t>(file.kind)]);
  if (!file.version.empty()) text += " " + file.version;
  if (!file.packed.empty()) text += fmt::format(" ({})", file.packed);
  if (file.ranks > 1) text += fmt::format(", {} ranks", show_count(file.ranks));
  if (file.rank >= 0) text += fmt::format(", rank {}", file.rank);
  if (file.nodes >= 0) text += fmt::format(", {} node{}", show_count(file.nodes), file.nodes == 1 ? "" : "s");
  if (file.wrong) text += fmt::format(": {} [{}]", file.wrong->text, file.wrong->tag);
  return text;
}

std::string to_text(const Folder& folder) {
  std::string out =
      fmt::format("{}: {} {}\n", folder.path, folder.files.size(), folder.files.size() == 1 ? "file" : "files");
  size_t listed = 0, width = 0;
  for (const File& file : folder.files) width = std::max(width, std::min<size_t>(file.name.size(), 40));
  for (const File& file : folder.files)
    if (file.wrong || listed++ < kListed) out += fmt::format("  {:<{}}  {}\n", file.name, width, describe(file));
  if (listed > kListed) out += fmt::format("  and {} more\n", listed - kListed);
  out += cli::to_text(folder.findings, "");
  if (!folder.next.empty()) out += "next:\n";
  for (const std::string& command : folder.next) out += fmt::format("  {}\n", command);
  return out;
}

Json to_json(const Folder& folder) {
  Json files = Json::array();
  for (const File& file : folder.files)
    files.push_back({{"name", file.name},
                     {"kind", kKindNames[static_cast<size_t>(file.kind)]},
                     {"version", file.version},
                     {"packed", file.packed},
                     {"ranks", file.ranks},
                     {"rank", file.rank < 0 ? Json(nullptr) : Json(file.rank)},
                     {"nodes", file.nodes < 0 ? Json(nullptr) : Json(file.nodes)},
                     {"error", file.wrong ? Json(file.wrong->tag) : Json(nullptr)}});
  return {{"path", folder.path}, {"files", files}, {"findings", cli::to_json(folder.findings)}, {"next", folder.next}};
}

Result<int> run_doctor(const std::string& path, const std::string& json_path) {
  Json json;
  std::string text;
  bool wrong = false;
  if (path.empty()) {
    Json list = Json::array();
    for (const Check& check : check_installation()) {
      wrong |= check.is == Check::Is::wrong;
      list.push_back(
          {{"name", check.what}, {"status", name_of(check.is)}, {"text", check.text}, {"advice", check.advice}});
      text += fmt::format("{:<6}{:<16} {}\n", name_of(check.is), check.what, check.text);
      if (!check.advice.empty()) text += fmt::format("{:<22} -> {}\n", "", check.advice);
    }
    json = {{"version", CHAKRA_VERSION}, {"checks", std::move(list)}};
  } else {
    CHAKRA_TRY(keep_apart({path}, {}, json_path));
    CHAKRA_ASSIGN(const Folder folder, look_at(path));
    for (const Finding& finding : folder.findings) wrong |= finding.severity == Severity::error;
    json = to_json(folder);
    text = to_text(folder);
  }
  if (!json_path.empty()) CHAKRA_TRY(write_json(json, json_path));
  if (json_path != "-") print(text);
  return wrong ? static_cast<int>(Code::bad_input) : 0;
}

Result<int> run_repair(const std::string& path, const std::string& json_path) {
  if (path.empty()) return fail(Code::usage, "cli.usage", "which container is to be repaired?");
  CHAKRA_TRY(keep_apart({path}, {}, json_path));
  CHAKRA_ASSIGN(const pack::Repaired repaired, pack::repair_container(path));
  const std::string now = fmt::format("{} rank{}, {} bytes, all of which can be read", show_count(repaired.ranks),
                                      repaired.ranks == 1 ? "" : "s", show_count(repaired.bytes));
  if (!json_path.empty())
    CHAKRA_TRY(
        write_json({{"path", path}, {"ranks", repaired.ranks}, {"bytes", repaired.bytes}, {"cut_bytes", repaired.cut}},
                   json_path));
  if (json_path != "-")
    print(repaired.cut > 0 ? fmt::format("{}: {} bytes behind the last index were cut off; it holds {}\n", path,
                                         show_count(repaired.cut), now)
                           : fmt::format("{}: nothing to repair; it holds {}\n", path, now));
  return 0;
}

}  // namespace

Syntax doctor_syntax() {
  auto path = std::make_shared<std::string>(), json = std::make_shared<std::string>();
  auto repair = std::make_shared<bool>(false);
  return {
      .options =
          {{.names = "path",
            .target = path.get(),
            .help = "Recordings or traces: a folder or a file; without it, the installation is looked at",
            .value = "PATH"},
           {.names = "--repair",
            .target = repair.get(),
            .help =
                "Cut a container that does not end with its index behind the last one that it holds: what was in it "
                "before adding was interrupted"},
           json_option(*json)},
      .run = [path, json, repair] { return *repair ? run_repair(*path, *json) : run_doctor(*path, *json); }};
}

}  // namespace chakra::cli
