// The plans of the simulator (room coll) with real data: the back end `fabric`, and the flows of a job as a table.
#pragma once

#include <array>
#include <memory>

#include "chakra/replay/replay.h"
#include "chakra/replay_fabric/flows.h"  // IWYU pragma: export

namespace chakra::replay_fabric {

/// Errors: cli.usage for a setting; those of net::load_fabric, coll::parse_selection and the wire.
Result<std::unique_ptr<replay::Session>> open_fabric(const replay::World& world, replay::Rendezvous& rendezvous,
                                                     const replay::Settings& settings);
inline constexpr std::array<replay::SettingRow, 7> kSettings{{
    {"network", "network file for the selection of algorithms, as `chakra sim --network` (default: one switch)"},
    {"collectives", "rules of algorithms, as `chakra sim --collectives` (default: the least predicted time)"},
    {"rate", "rate of each rank's link in both directions, such as 200Mbit/s or 25GB/s (default: unlimited)"},
    {"address", "address or interface of this rank (default: 127.0.0.1)"},
    {"wire", "transport of the data: sockets or libfabric (default: sockets)"},
    {"provider", "provider of libfabric (default: tcp;ofi_rxm)"},
    {"log", "write the flows that each rank received to LOG.RANK.csv"},
}};
inline constexpr replay::BackendRow kFabric{
    .name = "fabric",
    .description = "the algorithms of the simulator, with real data between the ranks",
    .settings = kSettings,
    .moves_data = true,
    .open = open_fabric};

}  // namespace chakra::replay_fabric
