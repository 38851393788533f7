// A lock on a file that is replaced as a whole, so that two processes that add to it do so one after the other.
#pragma once

#include <string>

#include "chakra/base/base.h"

namespace chakra::pack {

/// Held until it is destroyed, or its process ends. Only those who take it are held up.
class FileLock {
 public:
  /// Waits for who holds it, then for the file that has taken the place of this one. On a file system without locks
  /// there is none. Errors: base.file.open.
  static Result<FileLock> wait(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace chakra::pack
