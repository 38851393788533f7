// chakra import
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/cli/cli.h"
#include "chakra/foreign/foreign.h"
#include "chakra/io/io.h"
#include "chakra/kind/kind.h"

namespace chakra::cli {
namespace {

struct Options {
  std::string input, output, form, json;
  foreign::Options read;
  std::string dims;
  std::string run_time;
  std::vector<std::string> given;
};

/// "8,8" as numbers.
Result<std::vector<int64_t>> list_of(const std::string& text) {
  std::vector<int64_t> out;
  for (size_t at = 0; at <= text.size() && !text.empty();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    int64_t number = 0;
    if (!parse_decimal(text.substr(at, comma - at), number) || number < 1)
      return fail(Code::usage, "cli.usage", fmt::format("--dims {} is no list of whole numbers from 1", quote(text)));
    out.push_back(number);
    at = comma + 1;
  }
  return out;
}

/// "7", "7us", "250ns": microseconds unless a unit follows.
Result<Picoseconds> time_of(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, Picoseconds>, 4> kUnits{
      {{"ns", kPsPerNs}, {"us", kPsPerUs}, {"ms", 1000 * kPsPerUs}, {"s", 1'000'000 * kPsPerUs}}};
  std::string_view number = text;
  Picoseconds unit = kPsPerUs;
  for (const auto& [name, ps] : kUnits)
    if (text.ends_with(name)) {
      unit = ps;
      number.remove_suffix(name.size());
      break;
    }
  int64_t value = 0;
  if (!parse_decimal(number, value) || value < 0 || value > kLongestPs / unit)
    return fail(Code::usage, "cli.usage", fmt::format("{} is not a time such as 7us or 250ns", quote(text)));
  return value * unit;
}

/// Options and the forms that they are for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFormsOfOptions{
    {{"--dims", "text"},
     {"--num-npus", "text"},
     {"--num-passes", "text"},
     {"--time-unit", "text flexflow"},
     {"--coll-size", "msccl"},
     {"--default-simulated-run-time", "msccl"}}};

Result<void> run_import(Options& o) {
  CHAKRA_ASSIGN(o.read.dims, list_of(o.dims));
  if (!o.run_time.empty()) {
    CHAKRA_ASSIGN(o.read.default_run_time, time_of(o.run_time));
  }
  Findings findings;
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(o.input));
  if (o.form.empty()) {
    CHAKRA_ASSIGN(const std::string_view head, source.peek(kind::kHead));
    if (const foreign::FormRow* const form = foreign::form_of(head)) o.form = form->name;
  }
  for (const auto& [option, forms] : kFormsOfOptions)
    if (foreign::find(o.form) && std::find(o.given.begin(), o.given.end(), option) != o.given.end() &&
        !contains(forms, to_lower(o.form)))
      return fail(Code::usage, "cli.usage", fmt::format("{} is not for the form {}", option, o.form), {o.input});
  CHAKRA_ASSIGN(const trace::TraceSet job, foreign::read(o.form, std::move(source), o.read, findings));
  const bool folder = is_directory(o.output) || o.output.ends_with('/');
  const std::string prefix = folder ? (std::filesystem::path(o.output) / "trace").string() : o.output;
  int64_t nodes = 0;
  std::vector<std::string> outputs;
  for (const trace::Trace& trace : job.ranks) {
    outputs.push_back(fmt::format("{}.{}.et", prefix, trace.rank));
    nodes += trace.size();
  }
  for (const std::string& output : outputs)  // which differ from one another
    CHAKRA_TRY(keep_apart({o.input}, {output}, o.json));
  const Json json = json_if_asked(o.json, [&] {
    return Json{{"file", o.input},
                {"ranks", job.ranks.size()},
                {"nodes", nodes},
                {"outputs", outputs},
                {"findings", to_json(findings)}};
  });
  CHAKRA_ASSIGN(std::optional<AtomicFile> json_file, prepare_json(json, o.json));
  if (folder) CHAKRA_TRY(make_directories(o.output));
  FilesTogether<AtomicFile> written;
  for (size_t r = 0; r < outputs.size(); ++r) {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(outputs[r]));
    CHAKRA_TRY(io::write_et(job.ranks[r], file));
    CHAKRA_TRY(written.add(std::move(file)));
  }
  if (json_file) CHAKRA_TRY(written.add(std::move(*json_file)));
  CHAKRA_TRY(written.commit());
  if (o.json == "-") return write_json(json, o.json);
  print(fmt::format("{}: {} ranks, {} nodes -> {}.<rank>.et\n", o.input,
                    show_count(static_cast<int64_t>(job.ranks.size())), show_count(nodes), prefix));
  print(to_text(findings));
  return {};
}

}  // namespace

Syntax import_syntax() {
  auto o = std::make_shared<Options>();
  std::string forms;
  for (const foreign::FormRow& row : foreign::kForms) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", row.name);
  return {.options = {{.names = "file",
                       .target = &o->input,
                       .help = "A workload of another tool, packed or not",
                       .value = "FILE",
                       .required = true},
                      {.names = "-o,--output",
                       .target = &o->output,
                       .help = "Writes PREFIX.<rank>.et; into a folder, trace.<rank>.et",
                       .value = "PREFIX",
                       .required = true},
                      {.names = "--from",
                       .target = &o->form,
                       .help = fmt::format("Its form ({}); else told by its beginning", forms),
                       .value = "FORM"},
                      {.names = "--dims",
                       .target = &o->dims,
                       .help = "text: ranks along each dimension of the network, inner first: 8,8",
                       .value = "LIST"},
                      {.names = "--num-npus",
                       .target = &o->read.num_npus,
                       .help = "text: ranks, where --dims does not say",
                       .value = "N",
                       .accepted = whole_number(1, INT64_MAX)},
                      {.names = "--num-passes",
                       .target = &o->read.num_passes,
                       .help = "text: training iterations (1)",
                       .value = "N",
                       .accepted = whole_number(1, INT64_MAX)},
                      {.names = "--time-unit",
                       .target = &o->read.time_unit,
                       .help = "text (us), flexflow (ms): unit of the file's times: ns, us, ms, s",
                       .value = "UNIT"},
                      {.names = "--coll-size",
                       .target = &o->read.coll_bytes,
                       .help = "msccl: bytes of the collective (1 MiB)",
                       .value = "BYTES",
                       .accepted = whole_number(1, int64_t{1} << 60)},
                      {.names = "--default-simulated-run-time",
                       .target = &o->run_time,
                       .help = "msccl: time of each reduction and copy (0): 7us",
                       .value = "TIME"},
                      json_option(o->json)},
          .run = exits_with_zero([o] { return run_import(*o); }),
          .given = &o->given};
}

}  // namespace chakra::cli
