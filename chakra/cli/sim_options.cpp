// The options of 'chakra sim', by theme, in the order of --help.
#include "chakra/cli/sim_options.h"

namespace chakra::cli {
namespace {

constexpr int64_t kMostQueues = 1024;
constexpr int64_t kMostPacket = int64_t{1} << 30;

Option ignored(std::string name, std::string* value) {
  return {.names = std::move(name), .target = value, .help = "Of ASTRA-sim's command; without effect", .hidden = true};
}

/// The job and the system.
std::vector<Option> job_rows(SimOptions& o) {
  return {
      {"path", &o.call.path, "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace", "PATH"},
      {"--workload-configuration", &o.workload, "The job, as ASTRA-sim's command has it", "PREFIX"},
      required({"--network,--network-configuration", &o.call.network,
                "The network (YAML: topology, npus_count, bandwidth in GB/s of 2^30, latency in ns)", "FILE"}),
      {"--system,--system-configuration", &o.call.system,
       "What a rank can do (JSON: roofline-enabled, peak-perf, local-mem-bw, ...)", "FILE"},
      {"--memory,--remote-memory-configuration", &o.call.memory, "Remote memory (JSON), for --compat", "FILE"},
      {"--groups,--comm-group-configuration", &o.call.groups, "Process groups, name -> ranks (JSON)", "FILE"},
      ranks_option(o.call.ranks),
      expand_option(o.call.expand),
      {"--no-check", &o.no_check, "Run also what 'chakra check' says cannot run"},
  };
}

/// The rules of ASTRA-sim, and its command line.
std::vector<Option> compat_rows(SimOptions& o) {
  return {
      {"--compat", &o.compat, "Follow the rules of another simulator to the nanosecond", "NAME", one_of({"astra-sim"})},
      {"--backend", &o.backend, "With --compat: whether messages compete for links", "NAME",
       one_of({"congestion_unaware", "congestion_aware"})},
      {"--num-queues-per-dim", &o.call.compat_options.queues_per_dimension,
       "With --compat: queues for chunks in each dimension", "N", whole_number(1, kMostQueues)},
      {"--rendezvous-protocol", &o.rendezvous, "With --compat: data leaves when the receiver has asked for it", "BOOL",
       one_of({"true", "false", "1", "0"})},
      {"--injection-scale", &o.call.compat_options.injection_scale, "With --compat: factor of the endpoint delay", "X",
       real_number(0, 1e9)},
      ignored("--compute-scale", &o.compute_scale),
      ignored("--comm-scale", &o.comm_scale),
      ignored("--logging-configuration", &o.logging),
      ignored("--logging-folder", &o.logging_folder),
      {"--astra-output", &o.astra_output, "With --compat: print the lines that ASTRA-sim prints"},
  };
}

/// How the network is used.
std::vector<Option> network_rows(SimOptions& o) {
  return {
      {"--congestion", &o.call.congestion,
       "Contention model: closed (every collective alone), fluid (max-min fair), packet (store and forward), or "
       "auto (the default): fluid where links are shared at the same time and that takes up to 10 s, else closed",
       "MODEL", one_of({"auto", "closed", "fluid", "packet"})},
      {"--packet-bytes", &o.call.packet_bytes, "Of --congestion packet; 0: a message is one packet", "N",
       whole_number(0, kMostPacket)},
      {"--collectives", &o.call.collectives,
       "Which algorithms, as text or in a file: \"allreduce: 0-64KiB tree, 64KiB- ring\" (chakra list collectives); an "
       "algorithm may be an MSCCL file: \"allreduce: ring.xml\"",
       "RULES"},
      {"--routing", &o.call.routing,
       "Which of several shortest routes messages take: spread, ecmp[,channels=N][,seed=N], single, adaptive, valiant",
       "NAME"},
  };
}

/// Devices.
std::vector<Option> device_rows(SimOptions& o) {
  return {
      {"--device", &o.call.devices.device,
       "Compute on this device: a name of 'chakra list devices' or a device file; measured times are scaled",
       "NAME|FILE"},
      {"--stack", &o.call.devices.stack,
       "The software on that device: a name of 'chakra list stacks' or a stack file (kernels)", "NAME|FILE"},
      {"--from-device", &o.call.devices.from_device,
       "What was measured, was measured on this device, whatever the traces say", "NAME|FILE"},
      {"--unrecorded", &o.call.devices.unrecorded,
       "Whether device work that was not recorded is scaled with the device and a rank's speed (scale, the default), "
       "or takes its time (keep)",
       "KIND", one_of({"scale", "keep"})},
  };
}

/// What of a recording counts.
std::vector<Option> recording_rows(SimOptions& o) {
  return {
      {"--transfers", &o.call.transfers,
       "How long collectives and messages of a recorded job take once all have come: as the network says (simulated, "
       "the default), or as they did (recorded)",
       "KIND", one_of({"recorded", "simulated"})},
      {.names = "--delay",
       .target = &o.call.delays,
       .help = "Delay each node of the rank (of all ranks without RANK:) whose name matches PATTERN (* any text, ? any "
               "character) by TIME (ps, ns, us, ms, s), and say how the total changes. A recorded job keeps its "
               "recorded transfers unless --transfers says otherwise. May be given several times",
       .value = "[RANK:]PATTERN=TIME",
       .one_each = true},
      {"--align-starts", &o.call.align_starts,
       "Let all ranks of a recorded job begin at the same time, not when they were recorded to"},
      max_error_option(o.call.max_error),
  };
}

/// What comes out.
std::vector<Option> output_rows(SimOptions& o) {
  return {
      {"--no-fold", &o.no_fold, "Simulate every rank, also those that nothing tells apart"},
      {"--csv", &o.csv, "Write the tables as PREFIX.ranks.csv, PREFIX.collectives.csv, ...", "PREFIX"},
      {"--timeline", &o.timeline, "Write what ran when, for ui.perfetto.dev", "FILE.json"},
      json_option(o.json),
  };
}

}  // namespace

std::vector<Option> sim_rows(SimOptions& options) {
  std::vector<Option> rows;
  for (const auto theme : {job_rows, compat_rows, network_rows, device_rows, recording_rows, output_rows})
    for (Option& row : theme(options)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace chakra::cli
