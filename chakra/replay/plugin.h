// Libraries that are opened when they are wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::replay {

/// Where the plugin of that name ("mpi": libchakra_replay_mpi.so) may be, in order. Where CHAKRA_PLUGINS is set: in
/// that folder. Else beside the program; in lib/chakra, where the program is in the bin/ beside that; and of a program
/// in a build tree, in the build tree NAME beside it. A plugin is code that is run, so it is looked for nowhere else.
std::vector<std::string> plugin_places(std::string_view name, const std::string& program);
std::vector<std::string> plugin_places(std::string_view name);  ///< for this program
/// The first of these that is a file, or "".
std::string find_plugin(std::string_view name);

/// Opens a shared library, which stays open. `for_others`: those that it opens itself see its names. `file`: a path, or
/// a name that the system knows. Errors: replay.library.
Result<void*> open_library(const std::string& file, bool for_others = true);

/// Fills a pointer to a function. Errors: replay.library.
template <class Function>
Result<void> find_function(void* library, const char* name, Function*& function);
Result<void*> find_symbol(void* library, const char* name);

template <class Function>
Result<void> find_function(void* library, const char* name, Function*& function) {
  CHAKRA_ASSIGN(void* const symbol, find_symbol(library, name));
  function = reinterpret_cast<Function*>(symbol);
  return {};
}

}  // namespace chakra::replay
