#include "chakra/job/import.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "chakra/io/io.h"
#include "chakra/job/paths.h"
#include "chakra/kind/kind.h"
#include "chakra/view/view.h"

namespace chakra::job {
namespace {

/// Options and the forms that they are for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFormsOfOptions{
    {{"--dims", "text"},
     {"--num-npus", "text"},
     {"--num-passes", "text"},
     {"--time-unit", "text flexflow"},
     {"--coll-size", "msccl"},
     {"--default-simulated-run-time", "msccl"}}};

Result<void> check_given(const std::vector<std::string>& given, const std::string& form, const std::string& input) {
  if (!foreign::find(form)) return {};
  for (const auto& [option, forms] : kFormsOfOptions)
    if (std::find(given.begin(), given.end(), option) != given.end() && !contains(forms, to_lower(form)))
      return fail(Code::usage, "cli.usage", fmt::format("{} is not for the form {}", option, form), {input});
  return {};
}

}  // namespace

Result<ImportedJob> import_job(const ImportOptions& o) {
  ImportedJob imported;
  imported.input = o.input;
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.input));
  std::string form = o.form;
  if (form.empty()) {
    CHAKRA_ASSIGN(const std::string_view head, source.peek(kind::kHead));
    if (const foreign::FormRow* const row = foreign::form_of(head)) form = row->name;
  }
  CHAKRA_TRY(check_given(o.given, form, o.input));
  CHAKRA_ASSIGN(const trace::TraceSet job, foreign::read(form, std::move(source), o.read, imported.findings));
  imported.ranks = job.ranks.size();
  const bool folder = is_directory(o.output) || o.output.ends_with('/');
  imported.prefix = folder ? (std::filesystem::path(o.output) / "trace").string() : o.output;
  for (const trace::Trace& trace : job.ranks) {
    imported.outputs.push_back(fmt::format("{}.{}.et", imported.prefix, trace.rank));
    imported.nodes += trace.size();
  }
  for (const std::string& output : imported.outputs)  // which differ from one another
    CHAKRA_TRY(keep_apart({o.input}, {output}, o.report));
  if (!o.report.empty() && o.report != "-") {
    CHAKRA_ASSIGN(imported.report, AtomicFile::create(o.report));
  }
  if (folder) CHAKRA_TRY(make_directories(o.output));
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(imported.outputs[r]));
    CHAKRA_TRY(io::write_et(job.ranks[r], file));
    CHAKRA_TRY(imported.files.add(std::move(file)));
  }
  return imported;
}

std::string to_text(const ImportedJob& job) {
  return fmt::format("{}: {} ranks, {} nodes -> {}.<rank>.et\n", job.input, show_count(static_cast<int64_t>(job.ranks)),
                     show_count(job.nodes), job.prefix) +
         view::to_text(job.findings);
}

table::Json to_json(const ImportedJob& job) {
  return {{"file", job.input},
          {"ranks", job.ranks},
          {"nodes", job.nodes},
          {"outputs", job.outputs},
          {"findings", table::to_json(job.findings)}};
}

}  // namespace chakra::job
