// The options of 'chakra view', by theme, in the order of --help.
#include "chakra/cli/view_options.h"

#include <fmt/core.h>

namespace chakra::cli {
namespace {

constexpr int64_t kMostRanksViewed = 1 << 30;
constexpr int64_t kMostHops = 1'000'000;
constexpr int64_t kMostBoxes = 1'000;

/// The job, the file and its form.
std::vector<Option> file_rows(ViewOptions& o) {
  std::vector<std::string> forms;
  for (const view::FormRow& row : view::kForms) forms.emplace_back(row.name);
  Option some_ranks = ranks_option(o.call.ranks);
  some_ranks.excludes = "--rank";
  return {
      required({"path", &o.call.path,
                "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder; or FILE.csv with issue and callback lines",
                "PATH"}),
      required({"-o,--output", &o.call.output, "What to write; its ending says the form", "FILE"}),
      {"--to", &o.call.form, "The form, where the ending does not say it", {}, one_of(forms)},
      {"--from",
       &o.from,
       "What PATH is, where its ending does not say it",
       {},
       one_of(std::vector<std::string>{"traces", "csv"})},
      {"--rank", &o.call.rank, "Only this rank; a graph is drawn of one", "N", whole_number(0, kMostRanksViewed)},
      some_ranks,
  };
}

std::vector<Option> graph_rows(ViewOptions& o) {
  return {
      {"--only",
       &o.only,
       "Graphs: only nodes of a kind, and who waits for whom through the others",
       {},
       one_of(std::vector<std::string>(view::kOnlyNames.begin(), view::kOnlyNames.end()))},
      {"--focus",
       &o.call.graph.focus,
       "Graphs: only what is near the node of this id",
       "NODE",
       {[](const std::string& text) {
         uint64_t id = 0;
         return parse_decimal(text, id) ? std::string() : fmt::format("{} is not the id of a node", quote(text));
       }}},
      {.names = "--hops",
       .target = &o.call.graph.hops,
       .help = "Graphs: how many edges away from --focus (default: 2)",
       .value = "N",
       .accepted = whole_number(0, kMostHops),
       .needs = "--focus"},
      {"--group", &o.call.graph.group,
       "Graphs: a box for many nodes, by lane and by what called them, repetitions as one"},
      {.names = "--boxes",
       .target = &o.call.graph.boxes,
       .help = "Graphs: at most N boxes with --group (default: 30)",
       .value = "N",
       .accepted = whole_number(2, kMostBoxes),
       .needs = "--group"},
  };
}

std::vector<Option> csv_rows(ViewOptions& o) {
  return {
      {"--num-npus,--num_npus", &o.csv_ranks, "CSV: expect N ranks; others are an error (default: all)", "N",
       whole_number(1, kMostRanksViewed)},
      {"--npu-frequency,--npu_frequency", &o.frequency,
       "CSV: ticks per second: MHz, or with a unit, such as 1.5GHz (default: 1GHz)", "FREQUENCY"},
  };
}

}  // namespace

std::vector<Option> view_rows(ViewOptions& options) {
  std::vector<Option> rows = file_rows(options);
  for (const auto theme : {graph_rows, csv_rows})
    for (Option& row : theme(options)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace chakra::cli
