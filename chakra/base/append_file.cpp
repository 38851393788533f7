#include "chakra/base/append_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "chakra/base/file.h"

namespace chakra {

// `base.file.busy` (3): another process writes the file

namespace {

Failure wrong(const char* tag, std::string_view what, const std::string& path) {
  return fail(Code::io, tag, fmt::format("{}: {}", what, std::strerror(errno)), {path});
}

/// Read the whole file as it is, also if its first bytes look like a packed file.
bool read_all(int fd, std::string& text) {
  std::string piece(size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(piece, 0, static_cast<size_t>(got));
  }
}

}  // namespace

Result<AppendFile> AppendFile::open(const std::string& path, std::string& lines) {
  AppendFile file(path, ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
  if (file.fd_ < 0) return wrong("base.file.open", "cannot open", path);
  struct stat status {};
  if (::fstat(file.fd_, &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Code::io, "base.file.open", "not a regular file", {path});
  while (::flock(file.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(Code::io, "base.file.busy", "another process writes this file", {path});
    if (errno != EINTR) break;  // a file system without locks
  }
  lines.clear();
  if (!read_all(file.fd_, lines)) return wrong("base.file.read", "cannot read", path);
  lines.resize(lines.rfind('\n') + 1);  // npos + 1 is 0
  file.size_ = static_cast<int64_t>(lines.size());
  if (::ftruncate(file.fd_, file.size_) != 0) return wrong("base.file.write", "cannot cut", path);
  return file;
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_), synced_(other.synced_) {}
AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(synced_, other.synced_);
  return *this;
}
AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> AppendFile::add(std::string_view line) {
  const std::string whole = std::string(line) + '\n';
  if (Result<void> done = write_all(fd_, whole, path_); !done) {
    (void)!::ftruncate(fd_, size_);
    return done;
  }
  size_ += static_cast<int64_t>(whole.size());
  return std::chrono::steady_clock::now() - synced_ < kBetweenSyncs ? Result<void>() : sync();
}

Result<void> AppendFile::sync() {
  synced_ = std::chrono::steady_clock::now();
  if (::fdatasync(fd_) != 0 && errno != EINVAL) return wrong("base.file.write", "cannot synchronize", path_);
  return {};
}

}  // namespace chakra
