// The options of pictures and timelines, by theme, in the order of --help.
#include <fmt/core.h>

#include "chakra/job/shared_options.h"
#include "chakra/job/view.h"

namespace chakra::job {
namespace {

constexpr int64_t kMostRanksViewed = 1 << 30;
constexpr int64_t kMostHops = 1'000'000;
constexpr int64_t kMostBoxes = 1'000;
constexpr std::string_view kTimeline = "--to timeline", kCsv = "--from csv";

/// The job, the file and its form.
Options file_rows(ViewOptions& o) {
  Option rank{"--rank", &o.rank, "Only this rank; a graph is drawn of one", "N", whole_number(0, kMostRanksViewed)};
  Option ranks = ranks_option(o.ranks);
  rank.excludes = kCsv;
  ranks.excludes = "--rank, --from csv";
  return {required({"path",
                    &o.path,
                    "Traces, or FILE.csv with issue and callback lines of a simulator",
                    "PATH",
                    {},
                    "Traces are a file, a prefix (PREFIX.<rank>.et), a folder or a container."}),
          required({"-o,--output", &o.output, "The file to write; its ending says the form", "FILE"}),
          {"--to", &o.form, "The form, where the ending does not say it", "FORM", one_of(names(view::kForms))},
          {"--from", choice(o.from, kViewInputs), "What PATH is, where its ending does not say it", "KIND"},
          std::move(rank),
          std::move(ranks)};
}

Options graph_rows(ViewOptions& o) {
  Options rows{{"--only", choice(o.graph.only, view::kOnlyNames),
                "Only nodes of a kind, and who waits for whom through the rest", "KIND"},
               {"--focus", &o.graph.focus, "Only what is near the node of this id", "NODE"},
               {"--hops", &o.graph.hops, "How many edges away from --focus", "N", whole_number(0, kMostHops)},
               {"--group", &o.graph.group, "Draw a box for many nodes: by lane, by caller, repetitions as one"},
               {"--boxes", &o.graph.boxes, "Draw at most N boxes with --group", "N", whole_number(2, kMostBoxes)}};
  for (Option& row : rows) row.excludes = kTimeline;
  rows[2].needs = "--focus";
  rows[4].needs = "--group";
  return rows;
}

Options csv_rows(ViewOptions& o) {
  Options rows{{"--num-npus,--num_npus", &o.num_npus, "CSV: expect N ranks; others are an error", "N",
                whole_number(1, kMostRanksViewed)},
               {"--npu-frequency,--npu_frequency",
                &o.npu_frequency,
                "CSV: ticks per second, such as 1.5GHz; MHz without unit",
                "FREQUENCY",
                {},
                "Without it, a tick is a nanosecond (1GHz)."}};
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
