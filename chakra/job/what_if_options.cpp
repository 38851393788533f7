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
           "Without it, transfers of the unchanged job take as long as they were recorded to."},
          {"--system", &o.system, "What a rank of the unchanged job can do (JSON), as for 'chakra sim'", "FILE"},
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
                    .more = std::string(change.assumes),
                    .one_each = true});
  }
  return rows;
}

Options noise_rows(WhatIfOptions& o) {
  constexpr int64_t kMostRepeats = 1'000'000;
  Option jitter = each_time(
      {"--jitter",
       &o.jitter,
       "Draw times of a kind anew for each node (chakra list distributions)",
       "KIND=DISTRIBUTION:WIDTH",
       {},
       "A node takes a random part or multiple of its time. The answer has quantiles of the total over the runs."});
  Option repeat{"--repeat", &o.repeats, "Runs with jitter", "N", whole_number(1, kMostRepeats)};
  Option seed{"--seed", &o.seed, "Seed of the draws of --jitter", "N", whole_number(0, INT64_MAX)};
  repeat.needs = seed.needs = "--jitter";
  return {std::move(jitter), std::move(repeat), std::move(seed)};
}

}  // namespace

Options rows_of(WhatIfOptions& o) {
  Options rows = unchanged_rows(o);
  rows.push_back({"--network", &o.network, "The job on this network", "FILE"});
  add(rows, device_options(o.devices, "--device"));
  add(rows, change_rows(o));
  add(rows, noise_rows(o));
  rows.push_back({"--sensitivity",
                  &o.sensitivity,
                  "Say what 10 % less of each kind of time would save",
                  {},
                  {},
                  "It is the answer where you ask for no change."});
  return rows;
}

}  // namespace chakra::job
