// Which rank this process is, by what launchers leave in its environment.
#include <fmt/core.h>

#include <array>
#include <cstdlib>

#include "chakra/replay/rendezvous.h"

namespace chakra::replay {
namespace {

struct LauncherRow {
  const char *rank, *ranks;
};
constexpr std::array<LauncherRow, 4> kLaunchers{{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"RANK", "WORLD_SIZE"},
}};

/// torchrun's own store may listen at MASTER_PORT, so that ours is the next one.
std::string torchrun_rendezvous() {
  const char *host = std::getenv("MASTER_ADDR"), *port = std::getenv("MASTER_PORT");
  int64_t number = 0;
  if (!host || !port || !parse_decimal(std::string_view(port), number)) return {};
  const std::string name(host);
  return fmt::format("{}:{}", name.find(':') == name.npos ? name : fmt::format("[{}]", name), number + 1);
}

/// OpenMPI has a folder for each run, which it removes; where all ranks are on one machine they meet in it.
std::string openmpi_rendezvous() {
  const char *folder = std::getenv("OMPI_MCA_orte_jobfam_session_dir"),
             *here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!folder) folder = std::getenv("PMIX_SERVER_TMPDIR");  // from version 5 on
  if (!folder || !here || !all || std::string_view(here) != all) return {};
  return std::string(folder) + "/chakra";
}

}  // namespace

Result<bool> world_from_launcher(World& world) {
  for (const LauncherRow& row : kLaunchers) {
    const char *rank = std::getenv(row.rank), *ranks = std::getenv(row.ranks);
    if (!rank || !ranks) continue;
    if (!parse_decimal(std::string_view(rank), world.rank) || !parse_decimal(std::string_view(ranks), world.ranks) ||
        world.rank < 0 || world.rank >= world.ranks)
      return fail(
          Code::usage, "replay.world.launcher",
          fmt::format("the launcher says {}={} and {}={}, which is not a rank of a job; give --rank and --ranks",
                      row.rank, quote(rank), row.ranks, quote(ranks)));
    if (world.rendezvous.empty()) world.rendezvous = openmpi_rendezvous();
    if (world.rendezvous.empty()) world.rendezvous = torchrun_rendezvous();
    return true;
  }
  return false;
}

}  // namespace chakra::replay
