// Reading files: unpacked, then out of an archive, then with a look ahead.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "chakra/base/file.h"
#include "chakra/base/progress.h"
#include "chakra/base/unpacker.h"

namespace chakra {
namespace {

constexpr size_t kTarBlock = 512;
constexpr size_t kHead = 4096;  ///< bytes that tell the packing, and a few more

bool is_device(const struct stat& status) {
  const bool null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
  return (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && !null;
}

uint64_t padding(uint64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }

/// The only file of a tar archive, or the unchanged input if it is not an archive.
class TarReader {
 public:
  Unpacker in;
  Result<size_t> read(std::span<char> to);

 private:
  Result<void> look_for_tar();
  Result<bool> find_member(bool have_header);
  Result<void> skip(uint64_t bytes);

  bool looked_ = false, in_archive_ = false, ended_ = false;
  std::string head_;                 ///< unpacked bytes that were looked at and not given out yet
  uint64_t left_ = 0, padding_ = 0;  ///< bytes left of the archive's file; padding after the file
};

/// Looks at the first block: a tar archive, or the beginning of the file itself.
Result<void> TarReader::look_for_tar() {
  looked_ = true;
  head_.resize(kTarBlock);
  CHAKRA_ASSIGN(const size_t got, in.read(head_));
  head_.resize(got);
  if (got < kTarBlock || std::string_view(head_).substr(257, 5) != "ustar") return {};
  in_archive_ = true;
  CHAKRA_ASSIGN(const bool any, find_member(true));
  ended_ = !any;
  head_.clear();
  return {};
}

/// Reads headers until one of a file; false at the end of the archive. `head_` holds the first header.
Result<bool> TarReader::find_member(bool have_header) {
  for (;;) {
    if (!have_header) {
      head_.resize(kTarBlock);
      CHAKRA_ASSIGN(const size_t got, in.read(head_));
      if (got < kTarBlock || head_[0] == '\0') return false;
    }
    have_header = false;
    const std::string digits(head_.c_str() + 124);
    uint64_t size = 0;
    for (const char c : digits.substr(0, 12))
      if (c >= '0' && c <= '7') size = size * 8 + static_cast<uint64_t>(c - '0');
    left_ = size;
    padding_ = padding(size);
    if (const char type = head_[156]; type == '0' || type == '\0') return true;
    CHAKRA_TRY(skip(left_ + padding_));  // folders, long names, links
  }
}

Result<void> TarReader::skip(uint64_t bytes) {
  std::array<char, kTarBlock> block;
  while (bytes > 0) {
    CHAKRA_ASSIGN(const size_t got, in.read({block.data(), std::min<uint64_t>(bytes, block.size())}));
    if (got == 0) return fail(Code::bad_input, "base.tar.truncated", "the tar archive was cut", in.here(0));
    bytes -= got;
  }
  return {};
}

Result<size_t> TarReader::read(std::span<char> to) {
  if (!looked_) CHAKRA_TRY(look_for_tar());
  size_t done = std::min(to.size(), head_.size());
  if (done > 0) {
    std::memcpy(to.data(), head_.data(), done);
    head_.erase(0, done);
  }
  if (!in_archive_) {
    CHAKRA_ASSIGN(const size_t got, in.read(to.subspan(done)));
    return done + got;
  }
  if (ended_) return size_t{0};
  const auto size = static_cast<size_t>(std::min<uint64_t>(to.size(), left_));
  CHAKRA_ASSIGN(const size_t got, in.read(to.subspan(0, size)));
  if (got < size) return fail(Code::bad_input, "base.tar.truncated", "the tar archive was cut", in.here(got));
  left_ -= got;
  if (got < to.size()) {
    ended_ = true;
    CHAKRA_TRY(skip(padding_));
    CHAKRA_ASSIGN(const bool more, find_member(false));
    if (more)
      return fail(Code::bad_input, "base.tar.several", "the tar archive holds several files; unpack it", in.here(got));
    head_.clear();
  }
  return got;
}

}  // namespace

struct ByteSource::State {
  TarReader tar;
  Unpacker& in = tar.in;
  RawInput& raw = in.raw;
  std::string peeked;  ///< read and not given out yet, from peeked_at on
  size_t peeked_at = 0;
};

ByteSource::ByteSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  auto state = std::make_unique_for_overwrite<State>();  // the state of gzip has 87 KB, for packed files
  state->raw.file = path;
  state->raw.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (state->raw.fd < 0) return io_error("base.file.open", "cannot open", path, errno);
  if (is_directory(path)) return io_error("base.file.open", "cannot open", path, EISDIR);
  struct stat status {};
  if (::fstat(state->raw.fd, &status) == 0 && S_ISREG(status.st_mode))
    state->raw.file_size = static_cast<uint64_t>(status.st_size);
  if (is_device(status))
    return fail(Code::io, "base.file.device", "this is a device, which may never end; copy it into a file", {path});
  char* const buffer = (state->raw.buffer = std::make_unique_for_overwrite<char[]>(kPackingBuffer)).get();
  // The first bytes tell the packing: a pipe may give them one at a time. What is not packed goes past the buffer.
  size_t got = 0;
  while (got < 4) {
    CHAKRA_ASSIGN(const size_t more, state->raw.read(buffer + got, kHead - got));
    if (more == 0) break;
    got += more;
  }
  state->raw.ready = {buffer, got};
  state->in.start();
  return ByteSource(std::move(state));
}

Result<ByteSource> ByteSource::from_memory(std::string_view text, std::string file) {
  auto state = std::make_unique_for_overwrite<State>();
  state->raw.file = std::move(file);
  state->raw.ready = text;
  state->raw.memory_size = text.size();
  state->in.start();
  return ByteSource(std::move(state));
}

Result<size_t> ByteSource::read(std::span<char> to) {
  CHAKRA_TRY(keep_going());
  const size_t ready = std::min(to.size(), state_->peeked.size() - state_->peeked_at);
  if (ready > 0) std::memcpy(to.data(), state_->peeked.data() + state_->peeked_at, ready);
  state_->peeked_at += ready;
  if (ready > 0 && ready == to.size()) return ready;
  Result<size_t> got = state_->tar.read(to.subspan(ready));
  if (!got) return got;
  state_->in.offset += static_cast<int64_t>(*got);
  return ready + *got;
}

Result<std::string_view> ByteSource::peek(size_t size) {
  std::string& peeked = state_->peeked;
  peeked.erase(0, std::exchange(state_->peeked_at, 0));
  if (const size_t had = peeked.size(); had < size) {
    peeked.resize(size);
    Result<size_t> got = state_->tar.read({peeked.data() + had, size - had});
    peeked.resize(had + (got ? *got : 0));
    if (!got) return Failure(std::move(got.error()));
    state_->in.offset += static_cast<int64_t>(*got);
  }
  return std::string_view(peeked).substr(0, size);
}

void ByteSource::keep_what_is_whole() { state_->in.keep_what_is_whole = true; }
const std::string& ByteSource::file() const { return state_->raw.file; }
int64_t ByteSource::offset() const {
  return state_->in.offset - static_cast<int64_t>(state_->peeked.size() - state_->peeked_at);
}
double ByteSource::progress() const {
  if (state_->raw.file_read >= state_->raw.file_size) return 1;
  return static_cast<double>(state_->raw.file_read) / static_cast<double>(state_->raw.file_size);
}

}  // namespace chakra
