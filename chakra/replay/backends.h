// The back ends of this room. `chakra/run/rows.h` has the table of all.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "chakra/replay/backend.h"

namespace chakra::replay {

Result<std::unique_ptr<Session>> open_null(const World& world, Rendezvous& rendezvous, const Settings& settings);
inline constexpr std::array<SettingRow, 1> kNullSettings{{
    {"scale", "factor of the recorded durations; 0: collectives and messages take no time (default: 1)"},
}};
inline constexpr BackendRow kNull{
    .name = "null",
    .description =
        "no data is sent: partners wait for each other, then for the shortest time that any of them recorded",
    .settings = kNullSettings,
    .open = open_null};

Result<std::unique_ptr<Session>> open_mpi(const World& world, Rendezvous& rendezvous, const Settings& settings);
std::string_view missing_mpi();
inline constexpr BackendRow kMpi{.name = "mpi",
                                 .description = "MPI's own operations, between processes that mpirun starts",
                                 .settings = {},
                                 .moves_data = true,
                                 .threads = false,
                                 .missing = missing_mpi,
                                 .open = open_mpi};

Result<std::unique_ptr<Session>> open_nccl(const World& world, Rendezvous& rendezvous, const Settings& settings);
inline constexpr std::array<SettingRow, 3> kNcclSettings{{
    {"library", "NCCL's library, a path or a name (default: libnccl.so.2)"},
    {"driver", "CUDA's driver library (default: libcuda.so.1)"},
    {"device", "number of this rank's GPU (default: the rank's number on its machine)"},
}};
inline constexpr BackendRow kNccl{
    .name = "nccl",
    .description = "NCCL's operations between GPUs; all-to-all, gather and scatter as groups of sends and receives",
    .settings = kNcclSettings,
    .moves_data = true,
    .own_memory = true,
    .open = open_nccl};

}  // namespace chakra::replay
