#include "chakra/convert/import.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "chakra/filetype/filetype.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/view/view.h"

namespace chakra::convert {
namespace {

using answer::kTextRows;

using answer::column;
using answer::Unit;

/// Options and the forms that they are for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFormsOfOptions{
    {{"--dims", "text torch"},
     {"--num-npus", "text torch"},
     {"--num-passes", "text"},
     {"--time-unit", "text flexflow"},
     {"--coll-size", "msccl"},
     {"--default-simulated-run-time", "msccl"}}};

Result<void> check_form(const ImportOptions& o, const std::string& form) {
  if (!foreign::find(form)) return {};
  ImportOptions copy = o, fresh;
  const options::Options rows = rows_of(copy), before = rows_of(fresh);
  for (const auto& [option, forms] : kFormsOfOptions)
    if (is_given(rows, before, option) && !contains(forms, to_lower(form)))
      return fail(Code::usage, "cli.usage", fmt::format("{} is not for the form {}", option, form), {o.input});
  return {};
}

int64_t count_nodes(const trace::ClassJob& job) {
  int64_t nodes = 0;
  for (const trace::ClassJob::Rank& rank : job.ranks) nodes += job.classes[rank.cls].size();
  return nodes;
}

/// By classes if that is asked for, or if there is no room for a file per rank.
foreign::Job settle_classes(foreign::Job&& job, bool asked, Findings& findings) {
  if (auto* const set = std::get_if<trace::TraceSet>(&job)) {
    if (asked) return trace::by_class(std::move(*set));
    return std::move(job);
  }
  const auto& classes = std::get<trace::ClassJob>(job);
  if (asked) return std::move(job);
  if (auto set = foreign::rank_by_rank(classes)) return std::move(*set);
  findings.push_back(
      {"job.import.classes", Severity::note, -1, -1,
       fmt::format("{} ranks with {} nodes are too many for a file per rank: the job is a folder with "
                   "classes of ranks (as with --classes)",
                   show_count(static_cast<int64_t>(classes.ranks.size())), show_count(count_nodes(classes)))});
  return std::move(job);
}

Result<void> write_ranks(const ImportOptions& o, const trace::TraceSet& job, ImportedJob& imported) {
  const bool folder = is_directory(o.output) || o.output.ends_with('/');
  imported.prefix = folder ? (std::filesystem::path(o.output) / "trace").string() : o.output;
  for (const trace::Trace& trace : job.ranks) {
    imported.outputs.push_back(fmt::format("{}.{}.et", imported.prefix, trace.rank));
    imported.nodes += trace.size();
  }
  for (const std::string& output : imported.outputs)  // which differ from one another
    CHAKRA_TRY(job::keep_apart({o.input}, {output}, o.report));
  if (folder) CHAKRA_TRY(make_directories(o.output));
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(imported.outputs[r]));
    CHAKRA_TRY(io::write_et(job.ranks[r], file));
    CHAKRA_TRY(imported.files.add(std::move(file)));
  }
  return {};
}

Result<void> write_classes(const ImportOptions& o, const trace::ClassJob& job, ImportedJob& imported) {
  imported.prefix = o.output;
  imported.classes = job.classes.size();
  imported.nodes = count_nodes(job);
  CHAKRA_ASSIGN(imported.outputs, io::write_class_job(job, o.output, imported.files));
  for (const std::string& output : imported.outputs) CHAKRA_TRY(job::keep_apart({o.input}, {output}, o.report));
  return {};
}

/// The forms of other tools; room xla also reports about its program.
Result<foreign::Job> read_form(const std::string& form, ByteSource source, const ImportOptions& o,
                               ImportedJob& imported) {
  if (to_lower(form) != foreign::kXla) return foreign::read_job(form, std::move(source), o.read, imported.findings);
  CHAKRA_ASSIGN(xla::ImportedProgram program, xla::import_program(std::move(source), imported.findings));
  imported.programs.push_back(std::move(program.report));
  return foreign::Job(std::move(program.job));
}

}  // namespace

Result<ImportedJob> import_job(const ImportOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  ImportedJob imported;
  imported.input = o.input;
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.input));
  std::string form = o.form;
  if (form.empty()) {
    CHAKRA_ASSIGN(const std::string_view head, source.peek(filetype::kHead));
    if (const foreign::FormRow* const row = foreign::form_of(head)) form = row->name;
  }
  CHAKRA_TRY(check_form(o, form));
  CHAKRA_ASSIGN(foreign::Job read, read_form(form, std::move(source), o, imported));
  const foreign::Job job = settle_classes(std::move(read), o.classes, imported.findings);
  imported.ranks = std::visit([](const auto& any) { return any.ranks.size(); }, job);
  if (const auto* const set = std::get_if<trace::TraceSet>(&job)) CHAKRA_TRY(write_ranks(o, *set, imported));
  else CHAKRA_TRY(write_classes(o, std::get<trace::ClassJob>(job), imported));
  return imported;
}

view::Text text_of(const ImportedJob&) {
  static constexpr std::array<view::Show, 4> kText{
      {{.line = "{file}: {ranks} ranks, {nodes} nodes -> [{classes} classes in {prefix}|{prefix}.<rank>.et]"},
       {.table = "programs", .columns = job::kShowPrograms},
       {.table = "programs.collectives", .columns = job::kShowCollectives},
       {.findings = true}}};
  return {kText};
}

answer::Answer answer_of(const ImportedJob& job) {
  constexpr std::array kImported{
      column<&ImportedJob::input>("file", Unit::none, "the workload of another tool"),
      column<&ImportedJob::ranks>("ranks", Unit::count, "ranks of the job"),
      column<&ImportedJob::nodes>("nodes", Unit::count, "nodes of all ranks"),
      column<&ImportedJob::prefix>("prefix", Unit::none, "of the traces; or the folder of a job by classes"),
      column<ImportedJob>(
          "classes", Unit::count, "classes of ranks, of a job by classes",
          [](const auto& j) { return j.classes > 0 ? std::optional(j.classes) : std::nullopt; },
          answer::Missing::left_out)};
  answer::Builder to("import");
  to.values("", &job, kImported);
  to.table("outputs", "the traces, by rank", job.outputs, kTextRows);
  job::add_programs(job.programs, to);
  return std::move(to).finish(job.findings);
}

}  // namespace chakra::convert
