#include "chakra/doctor/examine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "chakra/answer/rows.h"
#include "chakra/filetype/filetype.h"
#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"
#include "chakra/recording/recording.h"
#include "chakra/view/view.h"

namespace chakra::doctor {
namespace {

namespace fs = std::filesystem;
using answer::column;
using answer::Unit;

// ---- a file --------------------------------------------------------------------------------------------------

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
Result<void> look_at_json(ExaminedFile& file, ByteSource source, std::string head) {
  std::string block(filetype::kHead, 0);
  std::string tail = head;
  bool ended = head.size() < filetype::kHead;
  for (; !ended;) {
    CHAKRA_ASSIGN(const size_t got, source.read(block));
    ended = got < block.size();
    if (got > 0) tail.assign(block, got > 256 ? got - 256 : 0, got > 256 ? 256 : got);
  }
  const filetype::Row* const row = filetype::recognise(head, filetype::Group::recording);
  if (!row) return {};
  file.kind = row->name == "host" ? ExaminedFile::Kind::host : ExaminedFile::Kind::kineto;
  if (file.kind == ExaminedFile::Kind::host) file.version = filetype::member(head, "schema");
  const size_t last = tail.find_last_not_of(" \t\r\n");
  if (last == std::string::npos || tail[last] != '}')
    return fail(Code::bad_input, "cli.doctor.cut",
                "the JSON is truncated; 'chakra link --salvage' links the intact part");
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
Result<void> look_at_trace(ExaminedFile& file, const io::FormatRow& form) {
  file.kind = ExaminedFile::Kind::trace;
  if (form.name != "et") file.version = form.name;
  CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(file.path));
  file.nodes = 0;
  trace::StreamedNode node;
  for (const io::RankFile& rank : ranks) {
    CHAKRA_ASSIGN(const int64_t inside, rank_inside(rank));
    if (ranks.size() == 1) file.rank = rank.named ? rank.rank : inside;
    if (rank.named && inside >= 0 && inside != rank.rank)
      return fail(
          Code::bad_input, "io.job.rank",
          fmt::format("the file name has rank {}, but the contents have rank {}; rename the file", rank.rank, inside));
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

/// A database of a profiler with its processes, or another one with its tables.
Result<void> look_at_database(ExaminedFile& file) {
  CHAKRA_ASSIGN(const sqlite::Database database, sqlite::Database::open(file.path));
  CHAKRA_ASSIGN(const recording::ExportTool* const tool, recording::export_tool_of(database));
  if (tool) {
    file.kind = tool->name == filetype::kNsys ? ExaminedFile::Kind::nsys : ExaminedFile::Kind::rocpd;
    CHAKRA_ASSIGN(const recording::ExportSurvey survey, tool->survey(database));
    file.ranks = std::max<int64_t>(1, survey.ranks());
    return {};
  }
  constexpr size_t kNamed = 4;
  CHAKRA_ASSIGN(const std::vector<std::string> tables, database.tables());
  file.kind = ExaminedFile::Kind::foreign;
  file.version = "an SQLite database";
  for (size_t i = 0; i < std::min(tables.size(), kNamed); ++i)
    file.version += (i == 0 ? " with the tables " : ", ") + quote(tables[i], 40);
  if (tables.size() > kNamed) file.version += fmt::format(" and {} more", tables.size() - kNamed);
  return {};
}

Result<void> look_at_contents(ExaminedFile& file) {
  if (file.name == "ranks.json") {
    file.kind = ExaminedFile::Kind::classes;
    CHAKRA_ASSIGN(const trace::ClassJob job, io::read_class_job(file.path));
    file.ranks = static_cast<int64_t>(job.ranks.size());
    return {};
  }
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file.path));
  CHAKRA_ASSIGN(const std::string_view begin, source.peek(filetype::kHead));
  if (begin.starts_with(sqlite::kMagic)) return look_at_database(file);
  if (const filetype::Row* const row = filetype::recognise(begin, filetype::Group::other)) {
    file.kind = ExaminedFile::Kind::foreign;
    file.version = row->title;
    return {};
  }
  if (const filetype::Row* const row = filetype::recognise(begin, filetype::Group::recording))
    if (row->name == filetype::kRocprof) {
      file.kind = ExaminedFile::Kind::rocprof;
      return {};
    }
  if (const std::string_view form = foreign::workload_form(begin); !form.empty()) {
    file.kind = ExaminedFile::Kind::foreign;
    file.version = fmt::format("a workload in the format {}", form);
    return {};
  }
  const io::FormatRow* const named = io::format_of_name(file.name);
  const io::FormatRow* const form = io::form_of(begin);
  // A message may begin with the bytes of a JSON object by chance, and then only the name tells.
  const bool object = filetype::is_json_object(begin);
  if (form && (!object || form->name.starts_with("json") || named == form)) return look_at_trace(file, *form);
  std::string head(filetype::kHead, 0);
  CHAKRA_ASSIGN(const size_t got, source.read(head));
  head.resize(got);
  if (object) return look_at_json(file, std::move(source), std::move(head));
  // Examine files of other forms as a trace only if their name is that of a trace.
  if (named && named->name == "et") return look_at_trace(file, *named);
  return {};
}

// ---- the files together --------------------------------------------------------------------------------------

void add(ExaminedFiles& folder, std::string tag, Severity severity, std::string text) {
  folder.findings.push_back({std::move(tag), severity, -1, -1, std::move(text)});
}

bool has(const ExaminedFiles& folder, ExaminedFile::Kind kind) {
  return std::any_of(folder.files.begin(), folder.files.end(), [&](const ExaminedFile& f) { return f.kind == kind; });
}

/// "1", "1, 2 and 5" or "1, 2, 3 and 97 more".
std::string show_ranks(const std::vector<int64_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size() && i < 8; ++i) out += fmt::format("{}{}", i ? ", " : "", ranks[i]);
  if (ranks.size() > 8) out += fmt::format(" and {} more", ranks.size() - 8);
  return out;
}

void find_missing(ExaminedFiles& folder, const std::vector<int64_t>& ranks, const char* of) {
  std::vector<int64_t> missing;
  int64_t expected = 0, count = 0;
  for (const int64_t rank : ranks) {
    for (; expected < rank && count < 1000; ++expected, ++count) missing.push_back(expected);
    expected = rank + 1;
  }
  if (ranks.size() > 1 && !missing.empty())
    add(folder, "cli.doctor.rank_missing", Severity::error,
        fmt::format("no {} of rank{} {}, but one of rank {}; copy the missing files into the folder", of,
                    missing.size() > 1 ? "s" : "", show_ranks(missing), ranks.back()));
}

void judge_traces(ExaminedFiles& folder) {
  bool several = false;
  for (const ExaminedFile& file : folder.files)  // a folder is not read for the containers in it
    if (is_directory(folder.path) && file.version == "container") {
      folder.next.push_back(fmt::format("chakra info {}", file.path));
      several = true;
    }
  if (several) return;
  const auto ranks = io::find_ranks(folder.path);
  if (!ranks) {
    add(folder, ranks.error().tag, Severity::error, ranks.error().text + "; move other files out of the folder");
    return;
  }
  std::vector<int64_t> numbers;
  for (const io::RankFile& rank : *ranks) numbers.push_back(rank.rank);
  find_missing(folder, numbers, "trace");
  folder.next.push_back(fmt::format("chakra check {}", folder.path));
  folder.next.push_back(fmt::format("chakra sim {} --network NETWORK.yml", folder.path));
}

void judge_recordings(ExaminedFiles& folder) {
  if (!is_directory(folder.path)) {
    const bool several = folder.files.front().ranks > 1;
    folder.next.push_back(fmt::format("chakra link {} -o {}", folder.path, several ? "traces/" : "trace.0.et"));
    return;
  }
  const auto pairing = recording::pair_folder(folder.path);
  if (!pairing) {
    add(folder, pairing.error().tag, Severity::error, pairing.error().text);
    return;
  }
  std::vector<int64_t> numbers;
  bool hosts = false, devices = false;
  for (const recording::RankInput& rank : pairing->ranks) {
    numbers.push_back(rank.rank);
    hosts |= !rank.host.empty();
    devices |= !rank.device.empty();
    for (ExaminedFile& file : folder.files)
      if (file.path == rank.host || file.path == rank.device) file.rank = rank.rank;
  }
  if (!devices)
    add(folder, "cli.doctor.alone", Severity::warning,
        "Kineto traces are missing, so the traces will have no times; also record with torch.profiler");
  else if (!hosts && has(folder, ExaminedFile::Kind::kineto))
    add(folder, "cli.doctor.alone", Severity::note,
        "PyTorch execution traces are missing, so tensors and storages will be missing; also record with "
        "ExecutionTraceObserver");
  find_missing(folder, numbers, "recording");
  folder.next.push_back(fmt::format("chakra link {} -o traces/", folder.path));
}

Result<void> list_files(ExaminedFiles& folder) {
  const std::string& path = folder.path;
  if (is_file(path)) {
    folder.files.push_back({fs::path(path).filename().string(), path});
    return {};
  }
  if (!is_directory(path)) return fail(Code::io, "base.file.open", "the file or folder does not exist", {path});
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(path));
  for (const std::string& name : names) {
    const std::string inside = (fs::path(path) / name).string();
    if (is_file(inside)) folder.files.push_back({name, inside});
    else if (is_directory(inside)) folder.folders.push_back(inside);
  }
  return {};
}

void look_at_file(ExaminedFiles& folder, ExaminedFile& file) {
  constexpr auto& kKnown = recording::kHostSchemas;
  file.packed = packing_of(file.path);
  if (auto looked = look_at_contents(file); !looked) {
    file.wrong = looked.error();
    add(folder, looked.error().tag, Severity::error, fmt::format("{}: {}", file.name, looked.error().text));
  } else if (file.kind == ExaminedFile::Kind::host &&
             std::find(kKnown.begin(), kKnown.end(), file.version) == kKnown.end()) {
    add(folder, "cli.doctor.version", Severity::warning,
        fmt::format("{}: unknown schema {}; the file is read by the names of its fields", file.name,
                    quote(file.version)));
  }
}

/// 'chakra link FOLDER' also reads recordings in subfolders.
void add_recordings_below(ExaminedFiles& folder) {
  const auto pairing = recording::pair_folder(folder.path);
  if (!pairing) return;
  for (const recording::RankInput& rank : pairing->ranks)
    for (const std::string& path : {rank.host, rank.device})
      if (!path.empty()) {
        folder.files.push_back({fs::path(path).lexically_relative(folder.path).string(), path});
        look_at_file(folder, folder.files.back());
      }
}

void judge_neither(ExaminedFiles& folder) {
  std::string text = fmt::format("the {} has no traces or recordings", is_file(folder.path) ? "file" : "folder");
  if (!folder.folders.empty()) text += fmt::format("; look into {}", folder.folders[0]);
  add(folder, "cli.doctor.none", Severity::error, text);
  for (const std::string& inside : folder.folders)
    if (folder.next.size() < 8) folder.next.push_back(fmt::format("chakra doctor {}", inside));
}

}  // namespace

bool ExaminedFiles::ok() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::error; });
}

Result<ExaminedFiles> examine_files(const std::string& path) {
  using Holds = ExaminedFile::Kind;
  ExaminedFiles folder;
  folder.path = path;
  CHAKRA_TRY(list_files(folder));
  for (ExaminedFile& file : folder.files) look_at_file(folder, file);
  const auto holds_any = [&] {
    return std::any_of(folder.files.begin(), folder.files.end(),
                       [](const ExaminedFile& file) { return file.kind != Holds::other; });
  };
  if (!folder.folders.empty() && !holds_any()) add_recordings_below(folder);
  const bool traces = has(folder, Holds::trace), classes = has(folder, Holds::classes);
  const bool recordings = has(folder, Holds::host) || has(folder, Holds::kineto) || has(folder, Holds::nsys) ||
                          has(folder, Holds::rocprof) || has(folder, Holds::rocpd);
  if (classes) {
    folder.next.push_back(fmt::format("chakra info {}", path));
    folder.next.push_back(fmt::format("chakra sim {} --network NETWORK.yml", path));
  } else if (traces) {
    judge_traces(folder);
  }
  if (recordings) judge_recordings(folder);
  if (!traces && !classes && !recordings) judge_neither(folder);
  for (const ExaminedFile& file : folder.files)
    if (file.version.starts_with("a workload")) folder.next.push_back(fmt::format("chakra import {}", file.path));
  return folder;
}

// ---- as text and as JSON -------------------------------------------------------------------------------------

namespace {

constexpr std::string_view kFileLine =
    "  {name}: [{?kind=file of another tool}{version}|{kind}[{?version} {version}]][{?packed} ({packed})]"
    "[{?ranks=1}|, {ranks} ranks][, rank {rank}][, {nodes} node[{?nodes=1}|s]][: {error}]";
constexpr std::array<view::Show, 5> kFilesText{{
    {.line = "{path}: {#files} file[{?#files=1}|s]"},
    {.line = kFileLine, .table = "files", .first = 40},
    {.table = "findings", .findings = true},
    {.line = "{?#next}next:"},
    {.line = "  {}", .table = "next", .first = view::kAllRows},
}};

std::optional<int64_t> known(int64_t number) { return number < 0 ? std::nullopt : std::optional(number); }

}  // namespace

view::Text text_of(const ExaminedFiles&) { return {kFilesText}; }

answer::Answer answer_of(const ExaminedFiles& folder) {
  constexpr std::array kFolder{
      column<ExaminedFiles>("ok", Unit::none, "no finding is an error", [](const auto& f) { return f.ok(); }),
      column<&ExaminedFiles::path>("path", Unit::none, "the file or folder")};
  constexpr std::array kFiles{
      column<&ExaminedFile::name>("name", Unit::none, "its name"),
      column<ExaminedFile>("kind", Unit::none, "kind of file",
                           [](const auto& f) { return std::string(kExaminedKindNames[static_cast<size_t>(f.kind)]); }),
      column<&ExaminedFile::version>("version", Unit::none, "version or format; may be empty"),
      column<&ExaminedFile::packed>("packed", Unit::none, "gzip, zstd or empty"),
      column<&ExaminedFile::ranks>("ranks", Unit::count, "ranks in it"),
      column<ExaminedFile>("rank", Unit::id, "its rank; null: unknown", [](const auto& f) { return known(f.rank); }),
      column<ExaminedFile>("nodes", Unit::count, "its nodes; null: unknown",
                           [](const auto& f) { return known(f.nodes); }),
      column<ExaminedFile>("error", Unit::none, "the tag of its error; null: no error",
                           [](const auto& f) { return f.wrong ? std::optional(f.wrong->tag) : std::nullopt; })};
  answer::Builder to("doctor PATH");
  to.values("", &folder, kFolder);
  to.table("files", "files, by name", folder.files, kFiles);
  to.findings("findings", "what was found", folder.findings);
  to.table("next", "commands to run next", folder.next, answer::kTextRows);
  return std::move(to).finish();
}

}  // namespace chakra::doctor
