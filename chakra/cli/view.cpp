// chakra view
#include <fmt/format.h>

#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/view/view.h"

namespace chakra::cli {
namespace {

struct Options {
  std::string path, output;
};

Result<void> run_view(const Options& o) {
  CHAKRA_ASSIGN(const std::vector<std::string> files, job_files(o.path));
  CHAKRA_CHECK(keep_apart(files, {o.output}, ""));
  CHAKRA_ASSIGN(const trace::TraceSet job, io::read_job(o.path));
  Findings findings;
  CHAKRA_ASSIGN(const table::Timeline timeline, view::timeline_of(job, findings));
  CHAKRA_CHECK(view::write_chrome_trace(timeline, o.output));
  print(fmt::format(
      "{}: {} slices on {} tracks of {} ranks, {} arrows; open it in https://ui.perfetto.dev or chrome://tracing\n",
      o.output, show_count(static_cast<int64_t>(timeline.slices.size())), timeline.tracks.size(), job.ranks.size(),
      show_count(static_cast<int64_t>(timeline.flows.size()))));
  print(to_text(findings));
  return {};
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  app.add_option("path", options->path, "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder")
      ->required()
      ->type_name("PATH");
  app.add_option("-o,--output", options->output, "The timeline to write")->required()->type_name("FILE.json");
  app.callback([options, &exit_code] {
    if (auto done = run_view(*options); !done) exit_code = report(done.error());
  });
}

}  // namespace chakra::cli
