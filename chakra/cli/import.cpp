// chakra import
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/cli/cli.h"
#include "chakra/foreign/foreign.h"

namespace chakra::cli {
namespace {

struct ImportOptions {
  job::ImportOptions call;  ///< its report is that of --json
  std::string dims, run_time;
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

Result<void> run_import(ImportOptions& o) {
  CHAKRA_ASSIGN(o.call.read.dims, list_of(o.dims));
  if (!o.run_time.empty()) {
    CHAKRA_ASSIGN(o.call.read.default_run_time, time_of(o.run_time));
  }
  CHAKRA_ASSIGN(job::ImportedJob imported, job::import_job(o.call));
  const Json json = json_if_asked(o.call.report, [&] { return to_json(imported); });
  if (imported.report) {
    CHAKRA_TRY(imported.report->write(to_text(json)));
    CHAKRA_TRY(imported.files.add(std::move(*imported.report)));
  }
  CHAKRA_TRY(imported.commit());
  print(o.call.report == "-" ? to_text(json) : to_text(imported));
  return {};
}

}  // namespace

Syntax import_syntax() {
  auto o = std::make_shared<ImportOptions>();
  const std::string forms = names_of(foreign::kForms);
  return {.options = {{.names = "file",
                       .target = &o->call.input,
                       .help = "A workload of another tool, packed or not",
                       .value = "FILE",
                       .required = true},
                      {.names = "-o,--output",
                       .target = &o->call.output,
                       .help = "Writes PREFIX.<rank>.et; into a folder, trace.<rank>.et",
                       .value = "PREFIX",
                       .required = true},
                      {.names = "--classes",
                       .target = &o->call.classes,
                       .help = "Write a folder with one trace for each class of equal ranks (ranks.json)"},
                      {.names = "--from",
                       .target = &o->call.form,
                       .help = fmt::format("Its form ({}); else told by its beginning", forms),
                       .value = "FORM"},
                      {.names = "--dims",
                       .target = &o->dims,
                       .help = "text: ranks along each dimension of the network, inner first: 8,8",
                       .value = "LIST"},
                      {.names = "--num-npus",
                       .target = &o->call.read.num_npus,
                       .help = "text: ranks, where neither --dims nor the file says",
                       .value = "N",
                       .accepted = whole_number(1, INT64_MAX)},
                      {.names = "--num-passes",
                       .target = &o->call.read.num_passes,
                       .help = "text: training iterations (1)",
                       .value = "N",
                       .accepted = whole_number(1, INT64_MAX)},
                      {.names = "--time-unit",
                       .target = &o->call.read.time_unit,
                       .help = "text (us, SimAI ns), flexflow (ms): unit of the file's times: ns, us, ms, s",
                       .value = "UNIT"},
                      {.names = "--coll-size",
                       .target = &o->call.read.coll_bytes,
                       .help = "msccl: bytes of the collective (1 MiB)",
                       .value = "BYTES",
                       .accepted = whole_number(1, int64_t{1} << 60)},
                      {.names = "--default-simulated-run-time",
                       .target = &o->run_time,
                       .help = "msccl: time of each reduction and copy (0): 7us",
                       .value = "TIME"},
                      json_option(o->call.report)},
          .run = exits_with_zero([o] { return run_import(*o); }),
          .given = &o->call.given};
}

}  // namespace chakra::cli
