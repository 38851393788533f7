#include "chakra/feed/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace chakra::feed {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kGuess = 512;  ///< bytes of most nodes

struct Header {
  uint64_t next, id;
  int64_t duration;
  uint64_t deps, message;  ///< how many, bytes
};

Failure failed(const char* tag, const char* what, const std::string& folder, int code) {
  return fail(Code::io, tag, fmt::format("{}: {}", what, std::strerror(code)), {folder});
}

}  // namespace

Spill::~Spill() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> Spill::create() {
  if (fd_ >= 0) return {};
  if (folder_.empty()) {
    const char* const given = ::getenv("TMPDIR");
    folder_ = given && *given ? given : "/tmp";
  }
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) {  // a file system without nameless files
    std::string name = folder_ + "/chakra-feed-XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(name.c_str());
  }
  if (fd_ < 0) return failed("base.file.create", "cannot create a temporary file", folder_, errno);
  return {};
}

Result<uint64_t> Spill::append(const trace::StreamedNode& node, uint64_t next) {
  const uint64_t place = written_ + buffer_.size() + 1;
  const Header header{next, node.id, node.duration, node.deps.size(), node.message.size()};
  buffer_.append(reinterpret_cast<const char*>(&header), sizeof header);
  buffer_.append(reinterpret_cast<const char*>(node.deps.data()), node.deps.size() * sizeof(uint64_t));
  buffer_.append(node.message);
  if (buffer_.size() >= kBuffer) CHAKRA_TRY(flush());
  return place;
}

Result<void> Spill::flush() {
  CHAKRA_TRY(create());
  for (size_t at = 0; at < buffer_.size();) {
    const ssize_t wrote = ::pwrite(fd_, buffer_.data() + at, buffer_.size() - at, static_cast<off_t>(written_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0)
      return failed("base.file.write", "cannot write to the temporary file", folder_, wrote < 0 ? errno : ENOSPC);
    at += static_cast<size_t>(wrote);
    written_ += static_cast<uint64_t>(wrote);
  }
  buffer_ = {};
  return {};
}

Result<void> Spill::read_bytes(uint64_t at, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(fd_, to, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed("base.file.read", "cannot read the temporary file", folder_, got < 0 ? errno : EIO);
    at += static_cast<uint64_t>(got);
    to += got;
    size -= static_cast<size_t>(got);
  }
  return {};
}

Result<uint64_t> Spill::read(uint64_t place, trace::StreamedNode& node) {
  const uint64_t at = place - 1;
  char guess[kGuess];
  const size_t first = std::min<uint64_t>(kGuess, written_ - at);
  CHAKRA_TRY(read_bytes(at, guess, first));
  Header header;
  std::memcpy(&header, guess, sizeof header);
  const size_t deps = header.deps * sizeof(uint64_t), size = sizeof header + deps + header.message;
  std::string rest;
  const char* bytes = guess;
  if (size > first) {
    rest.resize(size);
    CHAKRA_TRY(read_bytes(at, rest.data(), size));
    bytes = rest.data();
  }
  node.id = header.id;
  node.duration = header.duration;
  node.deps.resize(header.deps);
  if (deps > 0) std::memcpy(node.deps.data(), bytes + sizeof header, deps);
  node.message.assign(bytes + sizeof header + deps, header.message);
  return header.next;
}

Result<void> Spill::set_next(uint64_t place, uint64_t next) {
  while (::pwrite(fd_, &next, sizeof next, static_cast<off_t>(place - 1)) != static_cast<ssize_t>(sizeof next))
    if (errno != EINTR) return failed("base.file.write", "cannot write to the temporary file", folder_, errno);
  return {};
}

}  // namespace chakra::feed
