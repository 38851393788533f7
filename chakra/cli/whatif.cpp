// chakra whatif
#include <fmt/core.h>

#include <atomic>
#include <csignal>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

std::atomic<bool> no_longer_wanted{false};

struct WhatIfOptions {
  job::WhatIfOptions call;
  std::vector<std::vector<std::string>> values =
      std::vector<std::vector<std::string>>(whatif::kChanges.size());  ///< by row of kChanges
  std::string json;
};

Result<void> run_whatif(WhatIfOptions o) {
  CHAKRA_ASSIGN(std::vector<std::string> files, job_files(o.call.path));
  for (const std::string& file : {o.call.from_network, o.call.network, o.call.system, o.call.groups})
    files.push_back(file);
  CHAKRA_TRY(keep_apart(files, {}, o.json));
  for (size_t r = 0; r < o.values.size(); ++r) {
    if (whatif::kChanges[r].once && o.values[r].size() > 1)
      return fail(
          Code::usage, "cli.usage",
          fmt::format("--{} was given {} times; one of them can hold", whatif::kChanges[r].name, o.values[r].size()));
    for (const std::string& value : o.values[r]) o.call.changes.emplace_back(&whatif::kChanges[r], value);
  }
  std::signal(SIGINT, [](int) { no_longer_wanted = true; });
  CHAKRA_ASSIGN(const job::WhatIf result, job::what_if(o.call, &no_longer_wanted));
  end_on_signals();
  const Json json = json_if_asked(o.json, [&] { return to_json(result); });
  if (!o.json.empty()) CHAKRA_TRY(write_json(json, o.json));
  if (o.json != "-") print(view::to_text(report_of(result)));
  return {};
}

/// The job as it is.
std::vector<Option> job_rows(WhatIfOptions& o) {
  return {
      required({"path", &o.call.path, "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace", "PATH"}),
      {"--from-network", &o.call.from_network,
       "The network of the unchanged job (default: its transfers take as long as they were recorded to)", "FILE"},
      {"--system", &o.call.system, "What a rank of the unchanged job can do (JSON), as for 'chakra sim'", "FILE"},
      {"--groups", &o.call.groups, "Process groups, name -> ranks (JSON)", "FILE"},
      ranks_option(o.call.ranks),
  };
}

/// Another network, other devices.
std::vector<Option> system_rows(WhatIfOptions& o) {
  return {
      {"--network", &o.call.network, "The job on this network", "FILE"},
      {"--device", &o.call.devices.device,
       "The job on this device: a name of 'chakra list devices' or a device file; measured times are scaled",
       "NAME|FILE"},
      {"--stack", &o.call.devices.stack,
       "The software on that device: a name of 'chakra list stacks' or a stack file (kernels)", "NAME|FILE"},
      {"--from-device", &o.call.devices.from_device,
       "What was measured, was measured on this device, whatever the traces say", "NAME|FILE"},
      {"--unrecorded", &o.call.devices.unrecorded,
       "Whether device work that was not recorded is scaled with the device (scale, the default) or not (keep)", "KIND",
       one_of({"scale", "keep"})},
  };
}

std::vector<Option> noise_rows(WhatIfOptions& o) {
  constexpr int64_t kMostRepeats = 1'000'000;
  return {
      {.names = "--jitter",
       .target = &o.call.jitter,
       .help = "Nodes of a kind take a random part or multiple of their time, drawn anew for each (chakra list "
               "distributions); says quantiles of the total over the runs",
       .value = "KIND=DISTRIBUTION:WIDTH",
       .one_each = true},
      {.names = "--repeat",
       .target = &o.call.repeats,
       .help = "Runs with jitter (default: 100)",
       .value = "N",
       .accepted = whole_number(1, kMostRepeats),
       .needs = "--jitter"},
      {.names = "--seed",
       .target = &o.call.seed,
       .help = "Of the draws of --jitter (default: 1)",
       .value = "N",
       .accepted = whole_number(0, INT64_MAX),
       .needs = "--jitter"},
  };
}

std::vector<Option> rows(WhatIfOptions& o) {
  std::vector<Option> all = job_rows(o);
  for (Option& row : system_rows(o)) all.push_back(std::move(row));
  for (size_t r = 0; r < o.values.size(); ++r) {
    const whatif::ChangeRow& change = whatif::kChanges[r];
    all.push_back({.names = "--" + std::string(change.name),
                   .target = &o.values[r],
                   .help = std::string(change.description),
                   .value = change.value,
                   .one_each = true});
  }
  for (Option& row : noise_rows(o)) all.push_back(std::move(row));
  all.push_back({"--sensitivity", &o.call.sensitivity,
                 "Say what 10 % less of each kind of time would save; the answer where no change is asked for"});
  all.push_back(json_option(o.json));
  return all;
}

}  // namespace

Syntax whatif_syntax() {
  auto options = std::make_shared<WhatIfOptions>();
  return {.options = rows(*options), .run = exits_with_zero([options] { return run_whatif(*options); })};
}

}  // namespace chakra::cli
