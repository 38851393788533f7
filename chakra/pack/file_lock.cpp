#include "chakra/pack/file_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace chakra::pack {

Result<FileLock> FileLock::wait(const std::string& path) {
  for (;;) {
    FileLock lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (lock.fd_ < 0)
      return fail(Code::io, "base.file.open", fmt::format("cannot open: {}", std::strerror(errno)), {path});
    while (::flock(lock.fd_, LOCK_EX) != 0 && errno == EINTR) {}
    struct stat locked = {}, there = {};
    const bool same = ::fstat(lock.fd_, &locked) == 0 && ::stat(path.c_str(), &there) == 0 &&
                      locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
    if (same || there.st_ino == 0) return lock;  // gone: opening it will say so
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace chakra::pack
