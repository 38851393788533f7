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
      {.names = "path",
       .target = &o.call.path,
       .help = "The job: a prefix (PREFIX.<rank>.et), a folder, or one trace",
       .value = "PATH"},
      {.names = "--workload-configuration",
       .target = &o.workload,
       .help = "The job, as ASTRA-sim's command has it",
       .value = "PREFIX"},
      {.names = "--network,--network-configuration",
       .target = &o.call.network,
       .help = "The network (YAML: topology, npus_count, bandwidth in GB/s of 2^30, latency in ns)",
       .value = "FILE",
       .required = true},
      {.names = "--system,--system-configuration",
       .target = &o.call.system,
       .help = "What a rank can do (JSON: roofline-enabled, peak-perf, local-mem-bw, ...)",
       .value = "FILE"},
      {.names = "--memory,--remote-memory-configuration",
       .target = &o.call.memory,
       .help = "Remote memory (JSON), for --compat",
       .value = "FILE"},
      {.names = "--groups,--comm-group-configuration",
       .target = &o.call.groups,
       .help = "Process groups, name -> ranks (JSON)",
       .value = "FILE"},
      ranks_option(o.call.ranks),
      expand_option(o.call.expand),
      {.names = "--no-check", .target = &o.no_check, .help = "Run also what 'chakra check' says cannot run"},
  };
}

/// The rules of ASTRA-sim, and its command line.
std::vector<Option> compat_rows(SimOptions& o) {
  return {
      {.names = "--compat",
       .target = &o.compat,
       .help = "Follow the rules of another simulator to the nanosecond",
       .value = "NAME",
       .accepted = one_of({"astra-sim"})},
      {.names = "--backend",
       .target = &o.backend,
       .help = "With --compat: whether messages compete for links",
       .value = "NAME",
       .accepted = one_of({"congestion_unaware", "congestion_aware"})},
      {.names = "--num-queues-per-dim",
       .target = &o.call.compat_options.queues_per_dimension,
       .help = "With --compat: queues for chunks in each dimension",
       .value = "N",
       .accepted = whole_number(1, kMostQueues)},
      {.names = "--rendezvous-protocol",
       .target = &o.rendezvous,
       .help = "With --compat: data leaves when the receiver has asked for it",
       .value = "BOOL",
       .accepted = one_of({"true", "false", "1", "0"})},
      {.names = "--injection-scale",
       .target = &o.call.compat_options.injection_scale,
       .help = "With --compat: factor of the endpoint delay",
       .value = "X",
       .accepted = real_number(0, 1e9)},
      ignored("--compute-scale", &o.compute_scale),
      ignored("--comm-scale", &o.comm_scale),
      ignored("--logging-configuration", &o.logging),
      ignored("--logging-folder", &o.logging_folder),
      {.names = "--astra-output",
       .target = &o.astra_output,
       .help = "With --compat: print the lines that ASTRA-sim prints"},
  };
}

/// How the network is used.
std::vector<Option> network_rows(SimOptions& o) {
  return {
      {.names = "--congestion",
       .target = &o.call.congestion,
       .help = "Who shares links: closed (nobody: every transfer alone), fluid (max-min fair), packet (store and "
               "forward)",
       .value = "MODEL",
       .accepted = one_of({"closed", "fluid", "packet"})},
      {.names = "--packet-bytes",
       .target = &o.call.packet_bytes,
       .help = "Of --congestion packet; 0: a message is one packet",
       .value = "N",
       .accepted = whole_number(0, kMostPacket)},
      {.names = "--collectives",
       .target = &o.call.collectives,
       .help = "Which algorithms, as text or in a file: \"allreduce: 0-64KiB tree, 64KiB- ring\" (chakra list "
               "collectives)",
       .value = "RULES"},
      {.names = "--routing",
       .target = &o.call.routing,
       .help = "Which of several shortest routes messages take: spread, ecmp[,channels=N][,seed=N], single, adaptive",
       .value = "NAME"},
  };
}

/// Devices.
std::vector<Option> device_rows(SimOptions& o) {
  return {
      {.names = "--device",
       .target = &o.call.devices.device,
       .help = "Compute on this device: a name of 'chakra list devices' or a device file; measured times are scaled",
       .value = "NAME|FILE"},
      {.names = "--from-device",
       .target = &o.call.devices.from_device,
       .help = "What was measured, was measured on this device, whatever the traces say",
       .value = "NAME|FILE"},
      {.names = "--unrecorded",
       .target = &o.call.devices.unrecorded,
       .help = "Whether device work that was not recorded is scaled with the device and a rank's speed (scale, the "
               "default), or takes its time (keep)",
       .value = "KIND",
       .accepted = one_of({"scale", "keep"})},
  };
}

/// What of a recording counts.
std::vector<Option> recording_rows(SimOptions& o) {
  return {
      {.names = "--transfers",
       .target = &o.call.transfers,
       .help = "How long collectives and messages of a recorded job take once all have come: as the network says "
               "(simulated, the default), or as they did (recorded)",
       .value = "KIND",
       .accepted = one_of({"recorded", "simulated"})},
      {.names = "--delay",
       .target = &o.call.delays,
       .help = "Delay each node of the rank (of all ranks without RANK:) whose name matches PATTERN (* any text, ? "
               "any character) by TIME (ps, ns, us, ms, s), and say how the total changes. A recorded job keeps its "
               "recorded transfers unless --transfers says otherwise. May be given several times",
       .value = "[RANK:]PATTERN=TIME",
       .one_each = true},
      {.names = "--align-starts",
       .target = &o.call.align_starts,
       .help = "Let all ranks of a recorded job begin at the same time, not when they were recorded to"},
      max_error_option(o.call.max_error),
  };
}

/// What comes out.
std::vector<Option> output_rows(SimOptions& o) {
  return {
      {.names = "--no-fold", .target = &o.no_fold, .help = "Simulate every rank, also those that nothing tells apart"},
      {.names = "--csv",
       .target = &o.csv,
       .help = "Write the tables as PREFIX.ranks.csv, PREFIX.collectives.csv, ...",
       .value = "PREFIX"},
      {.names = "--timeline",
       .target = &o.timeline,
       .help = "Write what ran when, for ui.perfetto.dev",
       .value = "FILE.json"},
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
