// Shared by readers of several ranks of containers: a value per master, made once and dropped after the last of its
// ranks.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "chakra/io/io.h"

namespace chakra::io {

/// Values of type Made for the masters of ranks. Several threads can ask at once.
template <class Made>
class Masters {
 public:
  explicit Masters(const std::vector<RankFile>& files) : of_(files.size()) {
    std::map<std::pair<const pack::Container*, int64_t>, std::shared_ptr<Master>> masters;
    for (size_t i = 0; i < files.size(); ++i) {
      if (!files[i].container) continue;
      const auto info = files[i].container->info(files[i].rank);
      if (!info) continue;  // the error comes back when the rank is read
      std::shared_ptr<Master>& master = masters[{files[i].container.get(), info->master}];
      if (!master) master = std::make_shared<Master>();
      master->file = {info->master, files[i].path, true, files[i].container};
      ++master->left;
      of_[i] = master;
    }
    for (std::shared_ptr<Master>& master : of_)
      if (master && master->left < 2) master.reset();
  }

  /// Return the value of the master of rank i, for which make(master) is called once; null if the rank shares its
  /// master with no other rank, or if the call fails or returns no value. Requires at most one call per rank.
  template <class Make>
  std::shared_ptr<const Made> of(size_t i, const Make& make) {
    if (!of_[i]) return nullptr;
    Master& master = *of_[i];
    const std::lock_guard lock(master.mutex);
    if (!std::exchange(master.tried, true))
      if (Result<std::optional<Made>> made = make(master.file); made && *made)
        master.made = std::make_shared<const Made>(std::move(**made));
    return --master.left > 0 ? master.made : std::exchange(master.made, nullptr);
  }

 private:
  struct Master {
    RankFile file;
    std::mutex mutex;  ///< of the following
    size_t left = 0;   ///< ranks that did not ask yet
    bool tried = false;
    std::shared_ptr<const Made> made;
  };
  std::vector<std::shared_ptr<Master>> of_;  ///< by rank
};

}  // namespace chakra::io
