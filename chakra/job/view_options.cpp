// The options of figures and timelines, by theme, in the order of --help.
#include <fmt/core.h>

#include "chakra/job/shared_options.h"
#include "chakra/job/view.h"

namespace chakra::job {
namespace {

constexpr int64_t kMostHops = 1'000'000;
constexpr int64_t kMostBoxes = 1'000;
constexpr std::string_view kTimeline = "--to timeline, --to perfetto", kCsv = "--from csv";

/// The job, the file and its form.
Options file_rows(ViewOptions& o) {
  Option rank{"--rank", &o.rank, "Only this rank; a graph shows one rank", "N", whole_number(0, kMostRanks)};
  Option ranks = ranks_option(o.ranks);
  rank.excludes = kCsv;
  ranks.excludes = "--rank, --from csv";
  Option pick{"--pick", choice(o.pick, kPicks), "Ranks of a timeline: all, one of each class, or outliers", "KIND"};
  pick.excludes = "--rank, --ranks, --from csv";
  return {required({"path",
                    &o.path,
                    "Traces, or FILE.csv with issue and callback lines of a simulator",
                    "PATH",
                    {},
                    "Traces are a file, a prefix (PREFIX.<rank>.et), a folder or a container."}),
          required({"-o,--output", &o.output, "File to write; its extension selects the format", "FILE"}),
          {"--to", &o.form, "Output format, if the extension does not select it", "FORM", one_of(names(view::kForms))},
          {"--from", choice(o.from, kViewInputs), "Kind of PATH, if its extension does not show it", "KIND"},
          std::move(rank),
          std::move(ranks),
          std::move(pick)};
}

Options graph_rows(ViewOptions& o) {
  Options rows{{"--only", choice(o.graph.only, view::kOnlyNames),
                "Only nodes of a kind, with dependencies through hidden nodes", "KIND"},
               {"--focus", &o.graph.focus, "Only the neighbourhood of the node with this id", "NODE"},
               {"--hops", &o.graph.hops, "Largest distance from --focus, in edges", "N", whole_number(0, kMostHops)},
               {"--group", &o.graph.group, "Draw one box for many nodes: by lane, caller and repetition"},
               {"--boxes", &o.graph.boxes, "Largest number of boxes with --group", "N", whole_number(2, kMostBoxes)}};
  for (Option& row : rows) row.excludes = kTimeline;
  rows[2].needs = "--focus";
  rows[4].needs = "--group";
  return rows;
}

Options csv_rows(ViewOptions& o) {
  Options rows{{"--num-npus,--num_npus", &o.num_npus, "CSV: number of ranks; a higher rank is an error", "N",
                whole_number(1, kMostRanks)},
               {"--npu-frequency,--npu_frequency",
                &o.npu_frequency,
                "CSV: ticks per second, such as 1.5GHz; MHz without unit",
                "FREQUENCY",
                {},
                "Default: a tick is a nanosecond (1GHz)."}};
  for (Option& row : rows) row.needs = kCsv;
  return rows;
}

}  // namespace

Options rows_of(ViewOptions& o) {
  Options rows = file_rows(o);
  add(rows, graph_rows(o));
  add(rows, csv_rows(o));
  return rows;
}

}  // namespace chakra::job
