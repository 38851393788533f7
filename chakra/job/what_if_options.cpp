// The options of a changed job, by theme, in the order of --help.
#include "chakra/job/shared_options.h"
#include "chakra/job/what_if.h"

namespace chakra::job {
namespace {

/// The job as it is.
Options unchanged_rows(WhatIfOptions& o) {
  return {job_option(o.path),
          {"--from-network",
           &o.from_network,
           "The network of the unchanged job",
           "FILE",
           {},
           "Without it, transfers of the unchanged job keep their recorded durations."},
          {"--system", &o.system, "System of a rank of the unchanged job (JSON), as for 'chakra sim'", "FILE"},
          groups_option(o.groups),
          ranks_option(o.ranks)};
}

/// A row of whatif::kChanges each.
Options change_rows(WhatIfOptions& o) {
  Options rows;
  for (size_t r = 0; r < whatif::kChanges.size(); ++r) {
    const whatif::ChangeRow& change = whatif::kChanges[r];
    rows.push_back({.names = "--" + std::string(change.name),
                    .target = &o.changes[r],
                    .help = std::string(change.description),
                    .value = change.value,
                    .more = change.assumptions(),
                    .one_each = true});
  }
  return rows;
}

Options noise_rows(WhatIfOptions& o) {
  constexpr int64_t kMostRepeats = 1'000'000;
  Option jitter = each_time(
      {"--jitter",
       &o.jitter,
       "Randomize the time of each node of a kind (chakra list distributions)",
       "KIND=DISTRIBUTION:WIDTH",
       {},
       "The time of each node is multiplied by a random factor. The answer has quantiles of the total over the runs."});
  Option repeat{"--repeat", &o.repeats, "Number of runs with --jitter", "N", whole_number(1, kMostRepeats)};
  Option seed{"--seed", &o.seed, "Random seed for --jitter", "N", whole_number(0, INT64_MAX)};
  repeat.needs = seed.needs = "--jitter";
  return {std::move(jitter), std::move(repeat), std::move(seed)};
}

}  // namespace

Options rows_of(WhatIfOptions& o) {
  Options rows = unchanged_rows(o);
  rows.push_back({"--network", &o.network, "Move the job to this network", "FILE"});
  add(rows, device_options(o.devices, "--device"));
  add(rows, change_rows(o));
  add(rows, noise_rows(o));
  rows.push_back({"--sensitivity",
                  &o.sensitivity,
                  "Rank the savings from 10 % less of each kind of time",
                  {},
                  {},
                  "Without any change, this is the default."});
  return rows;
}

}  // namespace chakra::job
