#include "chakra/convert/traces.h"

#include <fmt/core.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "chakra/convert/network.h"
#include "chakra/filetype/filetype.h"
#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/view/view.h"

namespace chakra::convert {
namespace {

using answer::kTextRows;

using answer::column;
using answer::Unit;

/// "gz" or "zst" of a name that ends so, with the dot.
std::string_view packing_of(std::string_view path) {
  for (const std::string_view packing : {".gz", ".zst"})
    if (path.ends_with(packing)) return packing;
  return {};
}

Result<const io::FormatRow*> named_form(const std::string& name, bool written) {
  if (name.empty()) return nullptr;
  const io::FormatRow* row = io::find_format(name);
  if (!row || !(written ? row->create != nullptr : row->open != nullptr))
    return fail(
        Code::usage, "cli.usage",
        row && row->name == "container"
            ? std::string("for containers there are 'chakra pack' and 'chakra unpack'; as input they need no --from")
            : fmt::format("unknown format {} for {}; known: {}", quote(name), written ? "output" : "input",
                          known_forms(written)));
  return row;
}

struct Target {
  const io::FormatRow* form = nullptr;
  std::string prefix, ending;  ///< of files of ranks; ending with packing
};

/// What the names of the output and of its form mean: the form, and PREFIX.<rank><ending> for several ranks.
Result<Target> target_of(const ConvertOptions& o) {
  Target target;
  CHAKRA_ASSIGN(target.form, named_form(o.to, true));
  const io::FormatRow* const by_name = io::format_of_name(o.output);
  if (!target.form) target.form = by_name;
  if (!target.form || !target.form->create)
    return fail(Code::usage, "cli.usage",
                target.form && target.form->name == "container"
                    ? std::string("containers are written by 'chakra pack'")
                    : fmt::format("the ending of {} selects no format; name one with --to: {}", quote(o.output, 200),
                                  known_forms(true)));
  const std::string_view packing = packing_of(o.output);
  target.prefix = o.output.substr(0, o.output.size() - packing.size());
  if (by_name == target.form) target.prefix.resize(target.prefix.size() - by_name->ending.size());
  target.ending = std::string(target.form->ending) + std::string(packing);
  return target;
}

/// The job in a file of another tool's form; none where the input is not such a file.
Result<std::optional<trace::TraceSet>> foreign_job(const ConvertOptions& o, Findings& findings) {
  if (o.paths.size() != 1 || !is_file(o.paths[0]) || io::is_class_job(o.paths[0])) return std::nullopt;
  if (o.from.empty()) {
    CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.paths[0]));
    CHAKRA_ASSIGN(const std::string_view head, source.peek(filetype::kHead));
    const filetype::Row* const row = filetype::recognise(head, filetype::kAllGroups);
    const bool is_foreign = !(row && row->marked) && foreign::form_of(head);
    if (!is_foreign && row && row->group == filetype::Group::recording)
      return fail(Code::bad_input, "cli.convert.recording",
                  "this is a recording of PyTorch; 'chakra link' makes a trace of it", {o.paths[0]});
    if (!is_foreign) return std::nullopt;
  } else if (io::find_format(o.from) || !foreign::find(o.from)) {
    return std::nullopt;
  }
  CHAKRA_ASSIGN(trace::TraceSet job, foreign::read(o.from, o.paths[0], {}, findings));
  return std::optional(std::move(job));
}

/// What is to be converted.
struct Input {
  std::optional<trace::TraceSet> job;  ///< of another tool's form
  std::vector<io::RankFile> files;     ///< by rank; also those of `job`, each with the path of the whole
  std::vector<std::string> paths;      ///< all files that are read
};

/// Another tool's form holds a whole job in one file, or cannot hold it.
Result<void> write_foreign(const ConvertOptions& o, Input&& in, ConvertedJob& converted) {
  if (o.paths.size() != 1 || (!in.job && !o.from.empty()))
    return fail(Code::usage, "cli.usage", fmt::format("--to {} takes one job, and its form from its contents", o.to));
  in.paths = o.paths;
  if (!in.job) {
    CHAKRA_ASSIGN(in.paths, job::job_files(o.paths[0]));
  }
  CHAKRA_TRY(job::keep_apart(in.paths, {o.output}));
  foreign::Job job;
  if (in.job) {
    job = std::move(*in.job);
  } else if (io::is_class_job(o.paths[0])) {
    CHAKRA_ASSIGN(job, io::read_class_job(o.paths[0], {.texts = true}));
  } else {
    CHAKRA_ASSIGN(job, io::read_job(o.paths[0], {.texts = true}));
  }
  converted.outputs = {o.output};
  converted.ranks = std::visit([](const auto& any) { return any.ranks.size(); }, job);
  return foreign::write(o.to, job, o.output, converted.findings);
}

Result<void> find_files(const ConvertOptions& o, Input& in) {
  if (in.job) {
    for (const trace::Trace& trace : in.job->ranks) in.files.push_back({trace.rank, o.paths[0]});
    in.paths = {o.paths[0]};
    return {};
  }
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> some, io::find_ranks(path));
    in.files.insert(in.files.end(), some.begin(), some.end());
    CHAKRA_ASSIGN(const std::vector<std::string> paths, job::job_files(path));
    in.paths.insert(in.paths.end(), paths.begin(), paths.end());
  }
  return {};
}

bool is_folder(const std::string& output) { return is_directory(output) || output.ends_with('/'); }

/// A file per rank; one rank's may have any name.
Result<std::vector<std::string>> name_outputs(const std::string& output, const Target& target,
                                              const std::vector<io::RankFile>& files) {
  const bool folder = is_folder(output);
  if (files.size() == 1 && !folder) return std::vector<std::string>{output};
  std::vector<std::string> outputs;
  std::map<int64_t, std::string> ranks;
  for (const io::RankFile& file : files) {
    if (const auto [seen, added] = ranks.emplace(file.rank, file.path); !added)
      return fail(
          Code::bad_input, "io.job.rank_twice",
          fmt::format("two files of rank {}: {} and {}", file.rank, quote(seen->second, 200), quote(file.path, 200)));
    const std::string name = fmt::format("{}{}", file.rank, target.ending);
    outputs.push_back(folder ? (std::filesystem::path(output) / ("trace." + name)).string()
                             : fmt::format("{}.{}", target.prefix, name));
  }
  return outputs;
}

/// Writes the file of a rank. Returns its nodes.
Result<int64_t> write_rank(const Input& in, size_t i, const io::FormatRow* from, const io::FormatRow& to,
                           const std::string& output, std::optional<PackedFile>& written) {
  const io::RankFile& file = in.files[i];
  // JSON lines say first how many there are; a pipe cannot be read twice.
  int64_t count = in.job ? in.job->ranks[i].size() : int64_t{-1};
  if (!in.job && to.name == "jsonl" && is_file(file.path)) {
    CHAKRA_ASSIGN(count, io::count_nodes(file, from));
  }
  io::RecordSourcePtr source;
  std::string bytes;
  if (in.job) {
    bytes = io::to_et(in.job->ranks[i]);
    CHAKRA_ASSIGN(ByteSource memory, ByteSource::from_memory(bytes, file.path));
    source = io::open_et(std::move(memory));
  } else {
    CHAKRA_ASSIGN(source, io::open_records(file, from));
  }
  CHAKRA_ASSIGN(PackedFile out, PackedFile::create(output));
  CHAKRA_ASSIGN(const io::Converted copied, io::copy_records(*source, *to.create(out, count)));
  if (i >= FilesTogether<PackedFile>::kMostOpen) CHAKRA_TRY(out.close());
  written.emplace(std::move(out));
  return copied.nodes;
}

}  // namespace

std::string known_forms(bool written) {
  std::string names;
  for (const io::FormatRow& row : io::kFormats)
    if (written ? row.create != nullptr : row.open != nullptr)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

Result<ConvertedJob> convert_job(const ConvertOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  ConvertedJob converted;
  converted.output = o.output;
  if (is_network_form(o.to)) {
    if (o.paths.size() != 1 || !o.from.empty())
      return fail(Code::usage, "cli.usage", fmt::format("--to {} takes one network file, without --from", o.to));
    CHAKRA_TRY(job::keep_apart(o.paths, {o.output}));
    CHAKRA_ASSIGN(const int64_t ranks, convert_network(o.paths[0], o.to, o.output, converted.findings));
    converted.outputs = {o.output};
    converted.ranks = static_cast<size_t>(ranks);
    return converted;
  }
  Input in;
  CHAKRA_ASSIGN(in.job, foreign_job(o, converted.findings));
  if (!o.to.empty() && !io::find_format(o.to) && foreign::find(o.to)) {
    CHAKRA_TRY(write_foreign(o, std::move(in), converted));
    return converted;
  }
  CHAKRA_ASSIGN(const io::FormatRow* const from, named_form(in.job ? "" : o.from, false));
  CHAKRA_ASSIGN(const Target target, target_of(o));
  CHAKRA_TRY(find_files(o, in));
  CHAKRA_ASSIGN(converted.outputs, name_outputs(o.output, target, in.files));
  CHAKRA_TRY(job::keep_apart(in.paths, converted.outputs));
  if (in.files.size() > 1 && is_folder(o.output))
    CHAKRA_TRY(job::keep_other_ranks_out(o.output, converted.outputs, in.paths));
  std::vector<std::optional<PackedFile>> ranks(in.files.size());
  std::atomic<int64_t> nodes = 0;
  CHAKRA_TRY(each_in_parallel(ranks.size(), [&](size_t i) -> Result<void> {
    CHAKRA_ASSIGN(const int64_t copied, write_rank(in, i, from, *target.form, converted.outputs[i], ranks[i]));
    nodes += copied;
    return {};
  }));
  FilesTogether<PackedFile> written;
  for (std::optional<PackedFile>& rank : ranks) CHAKRA_TRY(written.add(std::move(*rank)));
  CHAKRA_TRY(written.commit());
  converted.ranks = in.files.size();
  converted.nodes = nodes;
  if (converted.outputs.size() == 1) converted.output = converted.outputs[0];
  return converted;
}

view::Text text_of(const ConvertedJob&) {
  static constexpr std::array<view::Show, 2> kText{
      {{.line = "{output}: {ranks} rank[{?ranks=1}|s][, {nodes} nodes]"}, {.findings = true}}};
  return {kText};
}

answer::Answer answer_of(const ConvertedJob& job) {
  constexpr std::array kOutput{
      column<&ConvertedJob::output>("output", Unit::none, "the file, the prefix or the folder")};
  constexpr std::array kSums{column<&ConvertedJob::ranks>("ranks", Unit::count, "ranks of the job"),
                             column<&ConvertedJob::nodes>("nodes", Unit::count, "nodes; not of another tool's form",
                                                          answer::Missing::left_out)};
  answer::Builder to("convert");
  to.values("", &job, kOutput);
  to.table("outputs", "the files: by rank, or one with the whole job", job.outputs, kTextRows);
  to.values("", &job, kSums);
  return std::move(to).finish(job.findings);
}

}  // namespace chakra::convert
