#include "chakra/replay/plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

namespace chakra::replay {
namespace {

std::string last_error() {
  const char* const text = ::dlerror();
  return text ? text : "no reason is given";
}

}  // namespace

std::string find_plugin(std::string_view name) {
  const std::string file = fmt::format("libchakra_replay_{}.so", name);
  const auto in = [&](const std::filesystem::path& folder) {
    const std::string path = (folder / file).string();
    return is_file(path) ? path : std::string();
  };
  if (const char* const given = std::getenv("CHAKRA_PLUGINS")) return in(given);
  std::error_code none;
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  std::string found = in(beside);
  return found.empty() ? in(beside.parent_path() / "lib" / "chakra") : found;
}

// `replay.library` (2): a plugin or a library of a back end that cannot be opened, or lacks a function.
Result<void*> open_library(const std::string& file) {
  if (void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  return fail(Code::usage, "replay.library", fmt::format("{} cannot be opened: {}", quote(file), last_error()));
}

Result<void*> find_symbol(void* library, const char* name) {
  if (void* const symbol = ::dlsym(library, name)) return symbol;
  return fail(Code::usage, "replay.library", fmt::format("a library lacks {}: {}", name, last_error()));
}

}  // namespace chakra::replay
