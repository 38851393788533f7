#include "chakra/replay/backend.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/replay/rows.h"

namespace chakra::replay {

namespace {

constexpr std::array<SettingRow, 1> kNullSettings{{
    {"scale", "factor of the recorded durations; 0: collectives and messages take no time (default: 1)"},
}};

constexpr std::array<SettingRow, 7> kFabricSettings{{
    {"network", "network file for the selection of algorithms, as `chakra sim --network` (default: one switch)"},
    {"collectives", "rules of algorithms, as `chakra sim --collectives` (default: the least predicted time)"},
    {"rate", "rate of each rank's link in both directions, such as 200Mbit/s or 25GB/s (default: unlimited)"},
    {"address", "address or interface of this rank (default: 127.0.0.1)"},
    {"wire", "transport of the data: sockets or libfabric (default: sockets)"},
    {"provider", "provider of libfabric (default: tcp;ofi_rxm)"},
    {"log", "write the flows that each rank received to LOG.RANK.csv"},
}};

constexpr std::array<SettingRow, 3> kNcclSettings{{
    {"library", "NCCL's library, a path or a name (default: libnccl.so.2)"},
    {"driver", "CUDA's driver library (default: libcuda.so.1)"},
    {"device", "number of this rank's GPU (default: the rank's number on its machine)"},
}};

constexpr std::array<BackendRow, 4> kRows{{
    {.name = "null",
     .description =
         "no data is sent: partners wait for each other, then for the shortest time that any of them recorded",
     .settings = kNullSettings,
     .open = open_null},
    {.name = "fabric",
     .description = "the algorithms of the simulator, with real data between the ranks",
     .settings = kFabricSettings,
     .moves_data = true,
     .open = open_fabric},
    {.name = "mpi",
     .description = "MPI's own operations, between processes that mpirun starts",
     .settings = {},
     .moves_data = true,
     .threads = false,
     .missing = missing_mpi,
     .open = open_mpi},
    {.name = "nccl",
     .description = "NCCL's operations between GPUs; all-to-all, gather and scatter as groups of sends and receives",
     .settings = kNcclSettings,
     .moves_data = true,
     .own_memory = true,
     .open = open_nccl},
}};

}  // namespace

const std::span<const BackendRow> kBackends = kRows;

const BackendRow* find_backend(std::string_view name) {
  const auto found =
      std::find_if(kBackends.begin(), kBackends.end(), [&](const auto& row) { return row.name == name; });
  return found == kBackends.end() ? nullptr : &*found;
}

std::string setting(const Settings& settings, std::string_view name, std::string_view otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string(otherwise) : found->second;
}

Result<Settings> parse_settings(std::string_view of, std::string_view option, std::span<const SettingRow> rows,
                                const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    std::string known;
    bool found = false;
    for (const SettingRow& row : rows) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
      found |= row.name == name;
    }
    if (equals == text.npos || !found)
      return fail(Code::usage, "cli.usage",
                  fmt::format("{} {}: expected KEY=VALUE; {} has {}", option, quote(text), of,
                              known.empty() ? "no keys" : "the keys " + known));
    if (!settings.emplace(name, text.substr(equals + 1)).second)
      return fail(Code::usage, "cli.usage", fmt::format("{} {}: {} is a duplicate", option, quote(text), name));
  }
  return settings;
}

std::string describe(const Operation& op) {
  switch (op.kind) {
    case Operation::Kind::send:
      return fmt::format("send number {} to rank {} with tag {} (node {})", op.index, op.partner, op.tag, op.node);
    case Operation::Kind::receive:
      return fmt::format("receive number {} from rank {} with tag {} (node {})", op.index, op.partner, op.tag, op.node);
    default:
      return fmt::format("{} number {} of group {} (node {})", trace::name(op.type), op.index, quote(op.group),
                         op.node);
  }
}

}  // namespace chakra::replay
