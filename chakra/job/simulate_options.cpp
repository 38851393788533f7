// The options of a simulation, by theme, in the order of --help.
#include <algorithm>
#include <array>

#include "chakra/job/shared_options.h"
#include "chakra/job/simulate.h"

namespace chakra::job {
namespace {

constexpr int64_t kMostQueues = 1024;
constexpr int64_t kMostPacket = int64_t{1} << 30;
constexpr std::array<std::string_view, 2> kBackends{"congestion_unaware", "congestion_aware"};

/// The job and the system.
Options job_rows(SimulateOptions& o) {
  return {job_option(o.path),
          required({"--network,--network-configuration",
                    &o.network,
                    "The network (YAML): topology, npus_count, bandwidth, latency, ...",
                    "FILE",
                    {},
                    "Bandwidth is in GB/s of 2^30 bytes and latency in ns; docs/reference/formats has all keys."}),
          {"--system,--system-configuration", &o.system,
           "System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...", "FILE"},
          {"--memory,--remote-memory-configuration", &o.memory, "With --compat: the remote memory (JSON)", "FILE"},
          {"--groups,--comm-group-configuration", &o.groups, "Process groups, name -> ranks (JSON)", "FILE"},
          ranks_option(o.ranks),
          expand_option(o.expand),
          {"--no-check", &o.no_check, "Skip the checks of 'chakra check'"}};
}

/// The rules of ASTRA-sim.
Options compat_rows(SimulateOptions& o) {
  astra::Options& c = o.compat_options;
  Options rows{{"--backend", choice(c.congestion_aware, kBackends), "model or ignore contention for links", "NAME"},
               {"--num-queues-per-dim", &c.queues_per_dimension, "queues for chunks in each dimension", "N",
                whole_number(1, kMostQueues)},
               {"--rendezvous-protocol", &c.rendezvous, "send data only after the receiver requests it", "BOOL"},
               {"--injection-scale", &c.injection_scale, "factor of the endpoint delay", "X", real_number(0, 1e9)}};
  for (Option& row : rows) {
    row.needs = "--compat astra-sim";
    row.help = "With --compat: " + row.help;
  }
  rows.insert(rows.begin(), {"--compat", choice(o.rules, kRuleNames),
                             "Follow the rules of another simulator to the nanosecond", "NAME"});
  return rows;
}

/// How the network is used.
Options network_rows(SimulateOptions& o) {
  Option packet{"--packet-bytes", &o.packet_bytes, "Packet size; 0: one packet per message", "N",
                whole_number(0, kMostPacket)};
  packet.needs = "--congestion packet";
  return {{"--congestion",
           choice(o.congestion, sim::kCongestionNames),
           "Contention model (default: auto)",
           "MODEL",
           {},
           "closed: price each collective alone, by formula. fluid: share links fairly (max-min). packet: store and "
           "forward packets. auto: fluid if concurrent transfers share links and fluid takes at most 10 s of processor "
           "time, else closed."},
          std::move(packet),
          {"--collectives",
           &o.collectives,
           "Algorithms for collectives: rules, or a file (chakra list collectives)",
           "RULES",
           {},
           "A rule names an operation, sizes and an algorithm: \"allreduce: 0-64KiB tree, 64KiB- ring\". An algorithm "
           "may be an MSCCL file: \"allreduce: ring.xml\"."},
          {"--routing",
           &o.routing,
           "Routing policy: spread, ecmp, single, adaptive or valiant",
           "NAME",
           {},
           "All policies except valiant use shortest routes. ecmp takes parameters: ecmp,channels=N,seed=N."}};
}

/// What of a recording counts.
Options recording_rows(SimulateOptions& o) {
  Option delay = each_time(
      {"--delay",
       &o.delays,
       "Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s)",
       "[RANK:]PATTERN=TIME",
       {},
       "In PATTERN, * stands for any text and ? for any character. Without RANK:, nodes of all ranks are delayed. "
       "The result shows the effect on the total. A recorded job keeps its recorded transfers without --transfers "
       "simulated."});
  return {{"--transfers",
           choice(o.transfers, recorded::kTransferKinds),
           "Duration of communication once all ranks have arrived (default: simulated)",
           "KIND",
           {},
           "simulated: by the network model. recorded: as measured, for a recorded job."},
          std::move(delay),
          {"--align-starts", &o.align_starts, "Start all ranks of a recorded job at the same time"}};
}

}  // namespace

Options rows_of(SimulateOptions& o) {
  Options rows = job_rows(o);
  add(rows, compat_rows(o));
  Options native = network_rows(o);
  add(native, recording_rows(o));
  native.push_back({"--no-fold", &o.no_fold, "Simulate every rank, instead of one for each set of identical ranks"});
  native.push_back({"--diagnose",
                    &o.diagnose,
                    "Find problems that cost time, by simulating again without each",
                    {},
                    {},
                    "A suspect takes one or two further simulations, all together at most ten."});
  for (Option& row : native) row.excludes = "--compat astra-sim";
  add(rows, std::move(native));
  Options devices = device_options(o.devices, "");
  for (Option& row : devices) row.excludes = "--compat astra-sim";
  add(rows, std::move(devices));
  rows.push_back(max_error_option(o.max_error));
  Option lines{"--astra-output", &o.astra_output, "With --compat: print ASTRA-sim's output lines"};
  lines.needs = "--compat astra-sim";
  rows.push_back(std::move(lines));
  Option timeline{"--timeline", &o.timeline, "Write a timeline for https://ui.perfetto.dev; .pftrace is smaller",
                  "FILE.json"};
  timeline.excludes = "--compat astra-sim";
  rows.push_back(std::move(timeline));
  return rows;
}

Options simulation_options(SimulateOptions& o, std::string_view needs) {
  constexpr std::array<std::string_view, 6> kOthers{"path",         "groups",    "timeline",
                                                    "astra-output", "max-error", "diagnose"};
  Options rows;
  for (Option& row : rows_of(o)) {
    const std::string key = options::key_of(row);
    if (std::find(kOthers.begin(), kOthers.end(), key) != kOthers.end()) continue;
    if (key == "network") {
      row.required = false;
      row.help = "Simulate the job on this network (YAML), instead of analyzing it";
    } else if (row.needs.empty()) {
      row.needs = needs;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace chakra::job
