// The options of a simulation, by theme, in the order of --help.
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
           "What a rank can do (JSON): roofline-enabled, peak-perf, local-mem-bw, ...", "FILE"},
          {"--memory,--remote-memory-configuration", &o.memory, "With --compat: the remote memory (JSON)", "FILE"},
          {"--groups,--comm-group-configuration", &o.groups, "Process groups, name -> ranks (JSON)", "FILE"},
          ranks_option(o.ranks),
          expand_option(o.expand),
          {"--no-check", &o.no_check, "Run also what 'chakra check' says cannot run"}};
}

/// The rules of ASTRA-sim.
Options compat_rows(SimulateOptions& o) {
  astra::Options& c = o.compat_options;
  Options rows{{"--backend", choice(c.congestion_aware, kBackends), "whether messages compete for links", "NAME"},
               {"--num-queues-per-dim", &c.queues_per_dimension, "queues for chunks in each dimension", "N",
                whole_number(1, kMostQueues)},
               {"--rendezvous-protocol", &c.rendezvous, "data leaves when the receiver has asked for it", "BOOL"},
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
  Option packet{"--packet-bytes", &o.packet_bytes, "Size of a packet; 0: a message is one packet", "N",
                whole_number(0, kMostPacket)};
  packet.needs = "--congestion packet";
  return {
      {"--congestion",
       choice(o.congestion, sim::kCongestionNames),
       "How messages share links (default: auto)",
       "MODEL",
       {},
       "closed prices every collective alone. fluid shares links fairly (max-min). packet stores and forwards. auto "
       "takes fluid where links are shared at the same time and that takes up to 10 s, else closed."},
      std::move(packet),
      {"--collectives",
       &o.collectives,
       "Algorithms of collectives: rules, or a file (chakra list collectives)",
       "RULES",
       {},
       "A rule names an operation, sizes and an algorithm: \"allreduce: 0-64KiB tree, 64KiB- ring\". An algorithm "
       "may be an MSCCL file: \"allreduce: ring.xml\"."},
      {"--routing",
       &o.routing,
       "Routes of messages: spread, ecmp, single, adaptive or valiant",
       "NAME",
       {},
       "All of them choose among shortest routes, but valiant. ecmp takes numbers: ecmp,channels=N,seed=N."}};
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
       "The result says how the total changes. A recorded job keeps its recorded transfers unless --transfers "
       "says otherwise."});
  return {{"--transfers",
           choice(o.transfers, recorded::kTransferKinds),
           "How long communication takes once all have come (default: simulated)",
           "KIND",
           {},
           "simulated: as the network says. recorded: as the recording says, in a recorded job."},
          std::move(delay),
          {"--align-starts", &o.align_starts, "Let all ranks of a recorded job begin at the same time"}};
}

}  // namespace

Options rows_of(SimulateOptions& o) {
  Options rows = job_rows(o);
  add(rows, compat_rows(o));
  Options native = network_rows(o);
  add(native, recording_rows(o));
  native.push_back({"--no-fold", &o.no_fold, "Simulate every rank, also those that nothing tells apart"});
  for (Option& row : native) row.excludes = "--compat astra-sim";
  add(rows, std::move(native));
  Options devices = device_options(o.devices, "");
  for (Option& row : devices) row.excludes = "--compat astra-sim";
  add(rows, std::move(devices));
  rows.push_back(max_error_option(o.max_error));
  return rows;
}

}  // namespace chakra::job
