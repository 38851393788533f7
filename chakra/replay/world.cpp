// Which rank this process is, by what launchers leave in its environment.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "chakra/base/base.h"
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

/// The parent of a process, 0 if nobody knows.
int64_t parent_of(int64_t process) {
  // "PID (NAME) STATE PARENT ...": the name may hold anything.
  const Result<std::string> stat = read_file(fmt::format("/proc/{}/stat", process), 4096);
  const size_t name_ends = stat ? stat->rfind(") ") : std::string::npos;
  if (name_ends == std::string::npos) return 0;
  const size_t first = name_ends + 4;
  int64_t parent = 0;
  return parse_decimal(std::string_view(*stat).substr(first, stat->find(' ', first) - first), parent) ? parent : 0;
}

/// MPICH's Hydra starts each rank in a separate session, by one process on each machine: where that has started all
/// ranks, they meet at a socket with its number.
std::string mpich_rendezvous() {
  const char *here = std::getenv("MPI_LOCALNRANKS"), *all = std::getenv("PMI_SIZE");
  if (!here || !all || std::string_view(here) != all) return {};
  const int64_t launcher = parent_of(getsid(0));
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  if (launcher <= 1 || none) return {};
  return (folder / fmt::format("chakra.{}.{}", getuid(), launcher)).string();
}

}  // namespace

Result<bool> world_from_launcher(World& world) {
  for (const LauncherRow& row : kLaunchers) {
    const char *rank = std::getenv(row.rank), *ranks = std::getenv(row.ranks);
    if (!rank || !ranks) continue;
    if (!parse_decimal(std::string_view(rank), world.rank) || !parse_decimal(std::string_view(ranks), world.ranks) ||
        world.rank < 0 || world.rank >= world.ranks)
      return fail(Code::usage, "replay.world.launcher",
                  fmt::format("the launcher sets {}={} and {}={}, which is not a valid rank; give --rank and --ranks",
                              row.rank, quote(rank), row.ranks, quote(ranks)));
    if (world.rendezvous.empty()) world.rendezvous = openmpi_rendezvous();
    if (world.rendezvous.empty()) world.rendezvous = mpich_rendezvous();
    if (world.rendezvous.empty()) world.rendezvous = torchrun_rendezvous();
    return true;
  }
  return false;
}

}  // namespace chakra::replay
