// The files below folders, in an order that does not depend on the file system.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::recording {

struct FoundFile {
  std::string path;
  std::string below;  ///< the path from the folder that was searched
};
/// Everything in the folders and their subfolders that is not a folder, each file once, by folder and then by path.
/// What is hidden (".git") is `hidden` and not looked into; a folder that is reached again through a link is passed
/// over. Errors: base.file.open.
struct FoundFiles {
  std::vector<FoundFile> files;
  std::vector<std::string> hidden;  ///< paths
};
Result<FoundFiles> files_below(const std::vector<std::string>& folders);

}  // namespace chakra::recording
