#include "chakra/recording/folders.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace chakra::recording {
namespace {

namespace fs = std::filesystem;

std::string without_links(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return (error ? path : resolved).string();
}

}  // namespace

Result<FoundFiles> files_below(const std::vector<std::string>& folders) {
  FoundFiles found;
  std::set<std::string> seen;  // folders and files, links resolved
  for (const std::string& folder : folders) {
    const auto first = static_cast<std::ptrdiff_t>(found.files.size());
    std::vector<fs::path> open{fs::path()};
    while (!open.empty()) {
      const fs::path below = std::move(open.back());
      open.pop_back();
      if (!seen.insert(without_links(folder / below)).second) continue;
      CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder((folder / below).string()));
      for (const std::string& name : names) {
        const fs::path path = folder / below / name;
        if (name.starts_with(".")) found.hidden.push_back(path.string());
        else if (is_directory(path.string())) open.push_back(below / name);
        else if (is_file(path.string()) && seen.insert(without_links(path)).second)
          found.files.push_back({path.string(), (below / name).string()});
      }
    }
    std::sort(found.files.begin() + first, found.files.end(),
              [](const FoundFile& a, const FoundFile& b) { return a.below < b.below; });
  }
  std::sort(found.hidden.begin(), found.hidden.end());
  return found;
}

}  // namespace chakra::recording
