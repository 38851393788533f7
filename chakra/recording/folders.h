// The files below folders, in an order independent of the file system.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::recording {

struct FoundFile {
  std::string path;
  std::string below;  ///< the path relative to the searched folder
};
/// All files in the folders and their subfolders, each file once, by folder and then by path. Hidden entries
/// (".git") are listed in `hidden` and not searched. A folder that a link reaches again is skipped.
/// Errors: base.file.open.
struct FoundFiles {
  std::vector<FoundFile> files;
  std::vector<std::string> hidden;  ///< paths
};
Result<FoundFiles> files_below(const std::vector<std::string>& folders);

}  // namespace chakra::recording
