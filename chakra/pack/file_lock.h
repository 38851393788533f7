// A lock on a file that is replaced as a whole, so that two processes add to the file one after the other.
#pragma once

#include <string>

#include "chakra/base/base.h"

namespace chakra::pack {

/// Held until destruction, or the end of the process. The lock affects only processes that take the lock.
class FileLock {
 public:
  /// Wait until the lock is free, then for the file that has replaced this file. On
  /// a file system without locks, there is no lock. Errors: base.file.open.
  static Result<FileLock> wait(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace chakra::pack
