#include "chakra/replay/plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

namespace chakra::replay {
namespace {

namespace fs = std::filesystem;

std::string last_error() {
  const char* const text = ::dlerror();
  return text ? text : "no reason is given";
}

}  // namespace

std::vector<std::string> plugin_places(std::string_view name, const std::string& program) {
  const std::string file = fmt::format("libchakra_replay_{}.so", name);
  if (const char* const given = std::getenv("CHAKRA_PLUGINS"); given && *given)
    return {(fs::path(given) / file).string()};
  const fs::path own = fs::path(program).parent_path(), above = own.parent_path();
  std::vector<std::string> places{(own / file).string()};
  if (own.filename() == "bin") places.push_back((above / "lib" / "chakra" / file).string());
  if (is_file((above / "CMakeCache.txt").string())) places.push_back((above.parent_path() / name / file).string());
  return places;
}

std::vector<std::string> plugin_places(std::string_view name) {
  std::error_code none;
  return plugin_places(name, fs::read_symlink("/proc/self/exe", none).string());
}

std::string find_plugin(std::string_view name) {
  for (std::string& place : plugin_places(name))
    if (is_file(place)) return std::move(place);
  return "";
}

// `replay.library` (2): a plugin or a library of a back end that cannot be opened, or lacks a function.
Result<void*> open_library(const std::string& file, bool for_others) {
  const int names = for_others ? RTLD_GLOBAL : RTLD_LOCAL;
  if (void* const library = ::dlopen(file.c_str(), RTLD_NOW | names)) return library;
  return fail(Code::usage, "replay.library", fmt::format("{} cannot be opened: {}", quote(file), last_error()));
}

Result<void*> find_symbol(void* library, const char* name) {
  if (void* const symbol = ::dlsym(library, name)) return symbol;
  return fail(Code::usage, "replay.library", fmt::format("a library lacks {}: {}", name, last_error()));
}

}  // namespace chakra::replay
