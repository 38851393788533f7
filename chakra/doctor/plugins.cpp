// Plugins of `chakra replay`: where each one is, or how to build it.
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "chakra/doctor/installation.h"
#include "chakra/replay/replay.h"

namespace chakra::doctor {
namespace {

namespace fs = std::filesystem;
using Status = Checked::Status;

struct PluginRow {
  std::string_view name;
  std::string_view used_by;
  std::string_view needs;
  std::string_view of_sources;  ///< the command that builds it in a folder of sources
  std::string_view elsewhere;   ///< the same for an installation; {0}: sources, {1}: folder of plugins
};

constexpr std::array<PluginRow, 2> kPlugins{{
    {"mpi", "replay --backend mpi", "a C++20 compiler and MPI (Debian: g++ libopenmpi-dev openmpi-bin)", "./dev build",
     "mpicxx -std=c++20 -O2 -fPIC -shared -I{0} {0}/chakra/replay/mpi/mpi_plugin.cpp -o {1}/libchakra_replay_mpi.so"},
    {"torch", "replay --compute torch",
     "a C++20 compiler, CMake and PyTorch for the python3 in use (Debian: g++ cmake make libtorch-dev)", "./dev torch",
     "cmake -S {0}/chakra/replay_torch/plugin -B chakra_torch -DCMAKE_LIBRARY_OUTPUT_DIRECTORY={1} && "
     "cmake --build chakra_torch --target chakra_replay_torch"},
}};

/// Where the user can put plugins: the installation's folder, or one that CHAKRA_PLUGINS names.
std::string folder_of_plugins(const fs::path& program) {
  const fs::path own = program.parent_path().parent_path() / "lib" / "chakra";
  fs::path existing = own;
  while (!is_directory(existing.string()) && existing.has_relative_path()) existing = existing.parent_path();
  return ::access(existing.c_str(), W_OK) == 0 ? own.string() : "$CHAKRA_PLUGINS";
}

std::string advice(const PluginRow& row, const fs::path& program) {
  const fs::path prefix = program.parent_path().parent_path();
  const auto needs = [&](const std::string& command) {
    return fmt::format("requires {}; build it with: {}", row.needs, command);
  };
  if (is_file((prefix.parent_path().parent_path() / "dev").string()) && is_file((prefix / "CMakeCache.txt").string()))
    return needs(std::string(row.of_sources));
  const std::string sources = (prefix / "share" / "chakra" / "plugins").string();
  if (!is_directory(sources))
    return fmt::format("the sources of plugins are missing from {}; install chakra again", sources);
  const std::string to = folder_of_plugins(program);
  const std::string first = to.starts_with('$') ? "export CHAKRA_PLUGINS=$HOME/.local/lib/chakra; " : "";
  return needs(fmt::format("{}mkdir -p {} && {}", first, to, fmt::format(fmt::runtime(row.elsewhere), sources, to)));
}

Checked check_plugin(const PluginRow& row, const std::string& program) {
  std::string places;
  for (const std::string& place : replay::plugin_places(row.name, program)) {
    if (is_file(place)) {
      const Result<void*> opened = replay::open_library(place, false);
      if (opened) return {Status::ok, fmt::format("{}, for '{}'", place, row.used_by)};
      return {Status::wrong, opened.error().message(), advice(row, program)};
    }
    places += fmt::format("{}{}", places.empty() ? "" : ", ", place);
  }
  return {Status::note, fmt::format("not found, so '{}' cannot run; searched {}", row.used_by, places),
          advice(row, program)};
}

}  // namespace

CheckedInstallation check_plugins(const Installation& installation) {
  CheckedInstallation checked;
  for (const PluginRow& row : kPlugins) checked.rows.push_back({row.name, check_plugin(row, installation.command)});
  return checked;
}

}  // namespace chakra::doctor
