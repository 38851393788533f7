// chakra convert
#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "chakra/cli/cli.h"
#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"
#include "chakra/kind/kind.h"

namespace chakra::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  std::string output, from, to;
};

/// "gz" or "zst" of a name that ends so, with the dot.
std::string_view packing_of(std::string_view path) {
  for (const std::string_view packing : {".gz", ".zst"})
    if (path.ends_with(packing)) return packing;
  return {};
}

std::string known_forms(bool written) {
  std::string names;
  for (const io::FormatRow& row : io::kFormats)
    if (written ? row.create != nullptr : row.open != nullptr)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

Result<const io::FormatRow*> named_form(const std::string& name, bool written) {
  if (name.empty()) return nullptr;
  const io::FormatRow* row = io::find_format(name);
  if (!row || !(written ? row->create != nullptr : row->open != nullptr))
    return fail(
        Code::usage, "cli.usage",
        row && row->name == "container"
            ? std::string("for containers there are 'chakra pack' and 'chakra unpack'; as input they need no --from")
            : fmt::format("no form {} can be {}; known: {}", quote(name), written ? "written" : "read",
                          known_forms(written)));
  return row;
}

struct Target {
  const io::FormatRow* form = nullptr;
  std::string prefix, ending;  ///< of files of ranks; ending with packing
};

/// What -o and --to mean: the form, and PREFIX.<rank><ending> for several ranks.
Result<Target> target_of(const Options& o) {
  Target target;
  CHAKRA_ASSIGN(target.form, named_form(o.to, true));
  const io::FormatRow* const by_name = io::format_of_name(o.output);
  if (!target.form) target.form = by_name;
  if (!target.form || !target.form->create)
    return fail(
        Code::usage, "cli.usage",
        target.form && target.form->name == "container"
            ? std::string("containers are written by 'chakra pack'")
            : fmt::format("the name {} says no form; name one with --to: {}", quote(o.output, 200), known_forms(true)));
  const std::string_view packing = packing_of(o.output);
  target.prefix = o.output.substr(0, o.output.size() - packing.size());
  if (by_name == target.form) target.prefix.resize(target.prefix.size() - by_name->ending.size());
  target.ending = std::string(target.form->ending) + std::string(packing);
  return target;
}

/// The job in a file of another tool's form; none where the input is not such a file.
Result<std::optional<trace::TraceSet>> foreign_job(const Options& o, Findings& findings) {
  if (o.paths.size() != 1 || !is_file(o.paths[0]) || io::is_class_job(o.paths[0])) return std::nullopt;
  if (o.from.empty()) {
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.paths[0]));
    CHAKRA_ASSIGN(const std::string_view head, source.peek(kind::kHead));
    const kind::Row* const row = kind::recognise(head, kind::kAllGroups);
    if (row && row->group == kind::Group::recording)
      return fail(Code::bad_input, "cli.convert.recording",
                  "this is a recording of PyTorch; 'chakra link' makes a trace of it", {o.paths[0]});
    if (!row || row->group != kind::Group::workload) return std::nullopt;
  } else if (io::find_format(o.from) || !foreign::find(o.from)) {
    return std::nullopt;
  }
  CHAKRA_ASSIGN(trace::TraceSet job, foreign::read(o.from, o.paths[0], {}, findings));
  return std::optional(std::move(job));
}

/// Another tool's form holds a whole job in one file, or cannot hold it.
Result<void> write_foreign(const Options& o, std::optional<trace::TraceSet> job) {
  if (o.paths.size() != 1 || (!job && !o.from.empty()))
    return fail(Code::usage, "cli.usage", fmt::format("--to {} takes one job, and its form from its contents", o.to));
  CHAKRA_ASSIGN(const std::vector<std::string> inputs,
                job ? Result<std::vector<std::string>>(o.paths) : job_files(o.paths[0]));
  CHAKRA_TRY(keep_apart(inputs, {o.output}, ""));
  if (!job) {
    CHAKRA_ASSIGN(job, io::read_job(o.paths[0], {.texts = true}));
  }
  CHAKRA_TRY(foreign::write(o.to, *job, o.output));
  print(fmt::format("{}: {} rank{}\n", o.output, job->ranks.size(), job->ranks.size() == 1 ? "" : "s"));
  return {};
}

Result<int> run_convert(const Options& o) {
  Findings findings;
  CHAKRA_ASSIGN(std::optional<trace::TraceSet> job, foreign_job(o, findings));
  if (!o.to.empty() && !io::find_format(o.to) && foreign::find(o.to)) {
    CHAKRA_TRY(write_foreign(o, std::move(job)));
    print(to_text(findings));
    return 0;
  }
  CHAKRA_ASSIGN(const io::FormatRow* const from, named_form(job ? "" : o.from, false));
  CHAKRA_ASSIGN(const Target target, target_of(o));
  std::vector<io::RankFile> files;
  std::vector<std::string> inputs;
  for (const std::string& path : o.paths) {
    if (job) {
      for (const trace::Trace& trace : job->ranks) files.push_back({trace.rank, path});
      inputs.push_back(path);
      break;
    }
    CHAKRA_ASSIGN(const std::vector<io::RankFile> some, io::find_ranks(path));
    files.insert(files.end(), some.begin(), some.end());
    CHAKRA_ASSIGN(const std::vector<std::string> paths, job_files(path));
    inputs.insert(inputs.end(), paths.begin(), paths.end());
  }
  std::vector<std::string> outputs;
  std::map<int64_t, std::string> ranks;
  const bool folder = is_directory(o.output) || o.output.ends_with('/');
  for (const io::RankFile& file : files) {
    if (files.size() == 1 && !folder) {
      outputs.push_back(o.output);
      break;
    }
    if (const auto [seen, added] = ranks.emplace(file.rank, file.path); !added)
      return fail(
          Code::bad_input, "io.job.rank_twice",
          fmt::format("two files of rank {}: {} and {}", file.rank, quote(seen->second, 200), quote(file.path, 200)));
    outputs.push_back(folder ? (fs::path(o.output) / fmt::format("trace.{}{}", file.rank, target.ending)).string()
                             : fmt::format("{}.{}{}", target.prefix, file.rank, target.ending));
  }
  CHAKRA_TRY(keep_apart(inputs, outputs, ""));
  if (folder) CHAKRA_TRY(make_directories(o.output));
  int64_t nodes = 0;
  FilesTogether<PackedFile> written;
  for (size_t i = 0; i < files.size(); ++i) {
    // JSON lines say first how many there are; a pipe cannot be read twice.
    int64_t count = job ? job->ranks[i].size() : int64_t{-1};
    if (!job && target.form->name == "jsonl" && is_file(files[i].path)) {
      CHAKRA_ASSIGN(count, io::count_nodes(files[i], from));
    }
    io::RecordSourcePtr source;
    std::string bytes;
    if (job) {
      bytes = io::to_et(job->ranks[i]);
      CHAKRA_ASSIGN(ByteSource memory, ByteSource::from_memory(bytes, files[i].path));
      source = io::open_et(std::move(memory));
    } else {
      CHAKRA_ASSIGN(source, io::open_records(files[i], from));
    }
    CHAKRA_ASSIGN(PackedFile out, PackedFile::create(outputs[i]));
    const io::RecordSinkPtr sink = target.form->create(out, count);
    CHAKRA_ASSIGN(const io::Converted converted, io::copy_records(*source, *sink));
    nodes += converted.nodes;
    CHAKRA_TRY(written.add(std::move(out)));
  }
  CHAKRA_TRY(written.commit());
  print(fmt::format("{}: {} rank{}, {} nodes\n", outputs.size() == 1 ? outputs[0] : o.output, files.size(),
                    files.size() == 1 ? "" : "s", show_count(nodes)));
  print(to_text(findings));
  return 0;
}

}  // namespace

Syntax convert_syntax() {
  auto options = std::make_shared<Options>();
  return {
      .options =
          {{.names = "paths",
            .target = &options->paths,
            .help = "Traces of any form: files, a prefix (PREFIX.<rank>.et), a folder, a container, a job by classes "
                    "(ranks.json); "
                    "or one file of another tool's form ('chakra import' has options for those)",
            .value = "IN...",
            .required = true},
           {.names = "-o,--output",
            .target = &options->output,
            .help =
                "File to write; of several ranks a prefix (PREFIX.<rank>.et) or a folder; .gz or .zst at the end packs",
            .value = "OUT",
            .required = true},
           {.names = "--from",
            .target = &options->from,
            .help =
                "Form of the inputs: " + known_forms(false) + ", or one of 'chakra import'; else told by the contents",
            .value = "FORM"},
           {.names = "--to",
            .target = &options->to,
            .help = "Form of the output: " + known_forms(true) +
                    ", or text (ASTRA-sim 1.0) of a job that is one; else told by its name",
            .value = "FORM"}},
      .run = [options] { return run_convert(*options); }};
}

}  // namespace chakra::cli
