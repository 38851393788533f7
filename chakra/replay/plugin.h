// Libraries that are opened when they are wanted. Inside replay.
#pragma once

#include <string>
#include <string_view>

#include "chakra/base/base.h"

namespace chakra::replay {

/// Where the plugin of that name ("mpi": libchakra_replay_mpi.so) is: in the folder CHAKRA_PLUGINS, where that is set,
/// else beside the program or in ../lib/chakra from there. Empty: nowhere.
std::string find_plugin(std::string_view name);

/// Opens a shared library, which stays open, with its names for those that it opens itself. `file`: a path, or a name
/// that the system knows. Errors: replay.library.
Result<void*> open_library(const std::string& file);

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
