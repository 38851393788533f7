// Libraries that are opened on demand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::replay {

/// Return the possible locations of a plugin ("mpi": libchakra_replay_mpi.so), in order. If CHAKRA_PLUGINS is set: only
/// that folder. Else beside the program; in lib/chakra, if the program is in the bin/ beside lib/; and, for a program
/// in a build tree, in the build tree NAME beside that one. A plugin is code that runs, so no other folder is searched.
std::vector<std::string> plugin_places(std::string_view name, const std::string& program);
std::vector<std::string> plugin_places(std::string_view name);  ///< for this program
/// Return the first location that is a file, or "".
std::string find_plugin(std::string_view name);

/// Open a shared library, which stays open. `for_others`: libraries that it opens can see
/// its symbols. `file`: a path, or a name that the system resolves. Errors: replay.library.
Result<void*> open_library(const std::string& file, bool for_others = true);

/// Set a pointer to a function of the library. Errors: replay.library.
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
