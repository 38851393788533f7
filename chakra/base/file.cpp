#include "chakra/base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "chakra/base/interrupt.h"

namespace chakra {
namespace {

constexpr size_t kTarBlock = 512;
constexpr size_t kInputBuffer = size_t{1} << 18;

auto io_error(std::string tag, std::string_view what, const std::string& file, int error) {
  return fail(Code::io, std::move(tag), fmt::format("{}: {}", what, std::strerror(error)), {file});
}

enum class Packing { plain, gzip, zstd };

std::atomic<uint64_t> most_unpacked{0};  // 0: kMostUnpacked and kMostUnpackedTimes

bool is_device(const struct stat& status) {
  const bool null = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
  return (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && !null;
}

Packing packing_of(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Packing::gzip;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
  return Packing::plain;
}

}  // namespace

struct ByteSource::State {
  std::string file;
  int fd = -1;  // -1: all of the input is in `input`
  Packing packing = Packing::plain;
  std::vector<char> buffer;
  std::string_view input;    // compressed bytes not used yet
  uint64_t memory_size = 0;  // of a text that is read from memory
  bool input_ended = false;
  int64_t offset = 0;
  uint64_t file_size = 0, file_read = 0;  // 0: not known
  uint64_t unpacked = 0, chosen_limit = most_unpacked;

  std::string peeked;  ///< read and not given out yet, from peeked_at on
  size_t peeked_at = 0;

  bool keep_what_is_whole = false;
  std::optional<Error> damage;  // found behind what was given out

  inflate_state gzip;
  bool in_member = false;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd{nullptr, &ZSTD_freeDCtx};

  bool looked_for_tar = false, in_tar = false, tar_ended = false;
  std::string head;                        ///< unpacked bytes that were looked at and not given out yet
  uint64_t tar_left = 0, tar_padding = 0;  ///< bytes left in the archive's file; padding after the file

  ~State() {
    if (fd >= 0) ::close(fd);
  }

  Result<size_t> read_raw(char* to, size_t size) {
    for (;;) {
      const ssize_t got = ::read(fd, to, size);
      if (got >= 0) {
        file_read += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR) return io_error("base.file.read", "cannot read", file, errno);
    }
  }

  /// More compressed bytes into `input`, which must be empty.
  Result<void> refill() {
    if (fd < 0 || input_ended) {
      input_ended = true;
      return {};
    }
    CHAKRA_ASSIGN(const size_t got, read_raw(buffer.data(), buffer.size()));
    input = {buffer.data(), got};
    input_ended = got == 0;
    return {};
  }

  Result<void> read_plain(std::span<char> to, size_t& done) {
    const size_t ready = std::min(to.size() - done, input.size());
    if (ready > 0) std::memcpy(to.data() + done, input.data(), ready);
    input.remove_prefix(ready);
    done += ready;
    while (done < to.size() && fd >= 0) {
      CHAKRA_ASSIGN(const size_t got, read_raw(to.data() + done, to.size() - done));
      if (got == 0) break;
      done += got;
    }
    return {};
  }

  Result<void> read_gzip(std::span<char> to, size_t& done) {
    while (done < to.size()) {
      if (input.empty()) CHAKRA_TRY(refill());
      if (input.empty()) {
        if (in_member)
          return fail(Code::bad_input, "base.gzip.truncated",
                      "the gzip data ends before its end mark; the file was cut", here(done));
        break;
      }
      if (!in_member) {  // gzip files may hold several members one after the other
        // Input may end inside the two magic bytes: then the first alone must do.
        if (input[0] != '\x1f') {
          if (offset + static_cast<int64_t>(done) == 0 || input[0] != '\0')
            return fail(Code::bad_input, "base.gzip.damaged", "no gzip data where some should follow", here(done));
          input.remove_prefix(1);  // zero padding after the last member
          continue;
        }
        isal_inflate_init(&gzip);
        gzip.crc_flag = ISAL_GZIP;
        in_member = true;
      }
      gzip.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(input.data()));
      gzip.avail_in = static_cast<uint32_t>(std::min<size_t>(input.size(), 1u << 30));
      gzip.next_out = reinterpret_cast<uint8_t*>(to.data() + done);
      const auto room = static_cast<uint32_t>(std::min<size_t>(to.size() - done, 1u << 30));
      gzip.avail_out = room;
      const uint32_t offered = gzip.avail_in;
      const int status = isal_inflate(&gzip);
      input.remove_prefix(offered - gzip.avail_in);
      done += room - gzip.avail_out;
      if (status != ISAL_DECOMP_OK)
        return fail(Code::bad_input, "base.gzip.damaged", fmt::format("the gzip data is damaged (code {})", status),
                    here(done));
      if (gzip.block_state == ISAL_BLOCK_FINISH) in_member = false;
    }
    return {};
  }

  Result<void> read_zstd(std::span<char> to, size_t& done) {
    while (done < to.size()) {
      if (input.empty()) CHAKRA_TRY(refill());
      if (input.empty() && !in_member) break;  // between frames: asking on would begin a new one
      ZSTD_inBuffer in{input.data(), input.size(), 0};
      ZSTD_outBuffer out{to.data() + done, to.size() - done, 0};
      const size_t status = ZSTD_decompressStream(zstd.get(), &out, &in);
      if (ZSTD_isError(status))
        return fail(Code::bad_input, "base.zstd.damaged",
                    fmt::format("the zstd data is damaged: {}", ZSTD_getErrorName(status)), here(done));
      input.remove_prefix(in.pos);
      done += out.pos;
      in_member = status != 0;
      if (input_ended && in_member && out.pos == 0)
        return fail(Code::bad_input, "base.zstd.truncated", "the zstd data ends before its end mark; the file was cut",
                    here(done));
    }
    return {};
  }

  /// Of all unpacked bytes; files that are not packed have none.
  uint64_t limit() const {
    constexpr uint64_t kNone = uint64_t{1} << 62;
    if (packing == Packing::plain && (fd < 0 || file_size > 0)) return kNone;
    if (chosen_limit > 0) return std::min(chosen_limit, kNone);
    if (packing == Packing::plain) return kMostUnpacked;
    const uint64_t packed = std::max({file_size, file_read, fd < 0 ? memory_size : 0});
    return packed > kMostUnpacked / kMostUnpackedTimes ? kMostUnpacked : packed * kMostUnpackedTimes;
  }
  tl::unexpected<Error> beyond_limit(size_t done) const {
    return fail(Code::bad_input, "base.unpack.limit",
                packing == Packing::plain
                    ? fmt::format("the pipe gives more than {} bytes; --max-unpacked raises the limit", limit())
                    : fmt::format("unpacking gives more than {} bytes, which is too much for what is packed; "
                                  "--max-unpacked raises the limit",
                                  limit()),
                here(done));
  }

  /// Unpacked bytes, tar headers included.
  Result<size_t> read_unpacked(std::span<char> to) {
    if (damage) return tl::unexpected<Error>(*damage);
    size_t done = 0;
    Result<void> result;
    for (bool ended = false; result && !ended && done < to.size();) {
      const size_t before = done, piece = std::min<uint64_t>(to.size() - done, limit() - unpacked + 1);
      const std::span<char> part = to.first(done + piece);
      if (packing == Packing::gzip) result = read_gzip(part, done);
      else if (packing == Packing::zstd) result = read_zstd(part, done);
      else result = read_plain(part, done);
      ended = done < part.size();
      unpacked += done - before;
      if (result && unpacked > limit()) result = beyond_limit(done);
    }
    if (result) return done;
    if (!keep_what_is_whole || done == 0) return tl::unexpected<Error>(std::move(result.error()));
    damage = std::move(result.error());
    return done;
  }

  /// Looks at the first block: a tar archive, or the beginning of the file itself.
  Result<void> look_for_tar() {
    looked_for_tar = true;
    head.resize(kTarBlock);
    CHAKRA_ASSIGN(const size_t got, read_unpacked(head));
    head.resize(got);
    if (got < kTarBlock || std::string_view(head).substr(257, 5) != "ustar") return {};
    in_tar = true;
    CHAKRA_ASSIGN(const bool any, find_member(true));
    tar_ended = !any;
    head.clear();
    return {};
  }

  /// Reads headers until one of a file; false at the end of the archive. `head` holds the first header.
  Result<bool> find_member(bool have_header) {
    for (;;) {
      if (!have_header) {
        head.resize(kTarBlock);
        CHAKRA_ASSIGN(const size_t got, read_unpacked(head));
        if (got < kTarBlock || head[0] == '\0') return false;
      }
      have_header = false;
      const std::string digits(head.c_str() + 124);
      uint64_t size = 0;
      for (const char c : digits.substr(0, 12))
        if (c >= '0' && c <= '7') size = size * 8 + static_cast<uint64_t>(c - '0');
      tar_left = size;
      tar_padding = padding(size);
      if (const char type = head[156]; type == '0' || type == '\0') return true;
      CHAKRA_TRY(skip(tar_left + tar_padding));  // folders, long names, links
    }
  }
  static uint64_t padding(uint64_t size) { return (kTarBlock - size % kTarBlock) % kTarBlock; }

  Result<void> skip(uint64_t bytes) {
    std::array<char, kTarBlock> block;
    while (bytes > 0) {
      CHAKRA_ASSIGN(const size_t got, read_unpacked({block.data(), std::min<uint64_t>(bytes, block.size())}));
      if (got == 0) return fail(Code::bad_input, "base.tar.truncated", "the tar archive was cut", here(0));
      bytes -= got;
    }
    return {};
  }

  Result<size_t> read(std::span<char> to) {
    if (!looked_for_tar) CHAKRA_TRY(look_for_tar());
    size_t done = std::min(to.size(), head.size());
    if (done > 0) {
      std::memcpy(to.data(), head.data(), done);
      head.erase(0, done);
    }
    if (!in_tar) {
      CHAKRA_ASSIGN(const size_t got, read_unpacked(to.subspan(done)));
      return done + got;
    }
    if (tar_ended) return size_t{0};
    const auto size = static_cast<size_t>(std::min<uint64_t>(to.size(), tar_left));
    CHAKRA_ASSIGN(const size_t got, read_unpacked(to.subspan(0, size)));
    if (got < size) return fail(Code::bad_input, "base.tar.truncated", "the tar archive was cut", here(got));
    tar_left -= got;
    if (got < to.size()) {
      tar_ended = true;
      CHAKRA_TRY(skip(tar_padding));
      CHAKRA_ASSIGN(const bool more, find_member(false));
      if (more)
        return fail(Code::bad_input, "base.tar.several", "the tar archive holds several files; unpack it", here(got));
      head.clear();
    }
    return got;
  }

  Place here(size_t done) const { return {file, offset + static_cast<int64_t>(done)}; }

  Result<void> start() {
    packing = packing_of(input);
    if (packing == Packing::zstd) {
      zstd.reset(ZSTD_createDCtx());
      in_member = true;
    }
    return {};
  }
};

ByteSource::ByteSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->file = path;
  state->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (state->fd < 0) return io_error("base.file.open", "cannot open", path, errno);
  if (is_directory(path)) return io_error("base.file.open", "cannot open", path, EISDIR);
  struct stat status {};
  if (::fstat(state->fd, &status) == 0 && S_ISREG(status.st_mode))
    state->file_size = static_cast<uint64_t>(status.st_size);
  if (is_device(status))
    return fail(Code::io, "base.file.device", "this is a device, which may never end; copy it into a file", {path});
  state->buffer.resize(kInputBuffer);
  // The first bytes tell the packing: a pipe may give them one at a time.
  size_t got = 0;
  while (got < 4) {
    CHAKRA_ASSIGN(const size_t more, state->read_raw(state->buffer.data() + got, state->buffer.size() - got));
    if (more == 0) break;
    got += more;
  }
  state->input = {state->buffer.data(), got};
  CHAKRA_TRY(state->start());
  return ByteSource(std::move(state));
}

Result<ByteSource> ByteSource::from_memory(std::string_view text, std::string file) {
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->input = text;
  state->memory_size = text.size();
  CHAKRA_TRY(state->start());
  return ByteSource(std::move(state));
}

Result<size_t> ByteSource::read(std::span<char> to) {
  const size_t ready = std::min(to.size(), state_->peeked.size() - state_->peeked_at);
  if (ready > 0) std::memcpy(to.data(), state_->peeked.data() + state_->peeked_at, ready);
  state_->peeked_at += ready;
  if (ready > 0 && ready == to.size()) return ready;
  Result<size_t> got = state_->read(to.subspan(ready));
  if (!got) return got;
  state_->offset += static_cast<int64_t>(*got);
  return ready + *got;
}

Result<std::string_view> ByteSource::peek(size_t size) {
  std::string& peeked = state_->peeked;
  peeked.erase(0, std::exchange(state_->peeked_at, 0));
  if (const size_t had = peeked.size(); had < size) {
    peeked.resize(size);
    Result<size_t> got = state_->read({peeked.data() + had, size - had});
    peeked.resize(had + (got ? *got : 0));
    if (!got) return tl::unexpected<Error>(std::move(got.error()));
    state_->offset += static_cast<int64_t>(*got);
  }
  return std::string_view(peeked).substr(0, size);
}

void ByteSource::keep_what_is_whole() { state_->keep_what_is_whole = true; }
const std::string& ByteSource::file() const { return state_->file; }
int64_t ByteSource::offset() const {
  return state_->offset - static_cast<int64_t>(state_->peeked.size() - state_->peeked_at);
}
double ByteSource::progress() const {
  if (state_->file_read >= state_->file_size) return 1;
  return static_cast<double>(state_->file_read) / static_cast<double>(state_->file_size);
}

void set_most_unpacked(uint64_t bytes) { most_unpacked = bytes; }

Result<std::string> read_file(const std::string& path, size_t limit) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(std::max<size_t>(size_t{1} << 16, before * 2));
    CHAKRA_ASSIGN(const size_t got, source.read({text.data() + before, text.size() - before}));
    const bool ended = got < text.size() - before;
    text.resize(before + got);
    if (text.size() > limit)
      return fail(Code::bad_input, "base.file.large", fmt::format("the file is larger than {} bytes", limit), {path});
    if (ended) return text;
  }
}

constexpr int64_t kHandOver = int64_t{16} << 20;

namespace {

/// Makes the folders that are missing on the way to a file; those that were made, the innermost first.
std::vector<std::string> make_folders_of(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> missing, made;
  std::error_code error;
  for (fs::path at = path.parent_path(); !at.empty() && !fs::exists(at, error) && !error; at = at.parent_path())
    missing.push_back(at.string());
  for (size_t i = missing.size(); i-- > 0;)
    if (::mkdir(missing[i].c_str(), 0777) == 0) made.insert(made.begin(), missing[i]);
    else if (errno != EEXIST) break;
  return made;
}

/// A file that takes another's place has its mode and, as far as the system lets it, its owner.
void take_mode(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  if (::fchown(fd, old.st_uid, old.st_gid) != 0) mode &= ~mode_t{070};  // the group is another one
  (void)::fchmod(fd, mode);
}

}  // namespace

std::string resolve_links(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as the system
  std::error_code error;
  fs::path at = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(at, error)); ++i) {
    const fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  const fs::path resolved = fs::weakly_canonical(fs::absolute(at, error), error);
  return error ? path : resolved.string();
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  namespace fs = std::filesystem;
  AtomicFile file;
  file.path_ = resolve_links(path);
  if (std::error_code ignored; fs::is_symlink(fs::symlink_status(file.path_, ignored)))
    return io_error("base.file.create", "cannot create", path, ELOOP);
  struct stat status;
  const bool exists = ::stat(file.path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    file.direct_ = true;
    file.fd_ = ::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    fs::path folder = fs::path(file.path_).parent_path();
    if (folder.empty()) folder = ".";
    file.made_ = make_folders_of(file.path_);
    file.fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file.fd_ < 0) {  // a file system without nameless files
      file.temporary_ = fmt::format("{}.{}.tmp", file.path_, ::getpid());
      remove_on_signal(file.temporary_);
      file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
  }
  if (file.fd_ < 0) {
    const int error = errno;
    if (!file.temporary_.empty()) forget(std::exchange(file.temporary_, {}));
    return io_error("base.file.create", "cannot create", path, error);
  }
  if (exists && !file.direct_) take_mode(file.fd_, status);
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      made_(std::exchange(other.made_, {})),
      fd_(std::exchange(other.fd_, -1)),
      direct_(other.direct_),
      written_(other.written_),
      started_(other.started_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    abandon();
    path_ = std::move(other.path_);
    temporary_ = std::exchange(other.temporary_, {});
    made_ = std::exchange(other.made_, {});
    fd_ = std::exchange(other.fd_, -1);
    direct_ = other.direct_;
    written_ = other.written_;
    started_ = other.started_;
  }
  return *this;
}

AtomicFile::~AtomicFile() { abandon(); }

void AtomicFile::abandon() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    forget(std::exchange(temporary_, {}));
  }
  for (const std::string& folder : std::exchange(made_, {})) ::rmdir(folder.c_str());  // stays if others use it
}

Result<void> AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0) {
      if (errno == EINTR) continue;
      return io_error("base.file.write", "cannot write", path_, errno);
    }
    bytes.remove_prefix(static_cast<size_t>(put));
    written_ += put;
    if (written_ - started_ >= kHandOver) hand_over();
  }
  return {};
}

/// Of a large file the system keeps only the newest bytes: the pages that the disk has taken are used again,
/// where otherwise each page would be a new one (which costs more than filling it), and what others have
/// cached stays. Only advice: if it is not taken, the file is none the worse.
void AtomicFile::hand_over() noexcept {
  const int64_t before = std::max<int64_t>(0, started_ - kHandOver);
  ::sync_file_range(fd_, started_, written_ - started_, SYNC_FILE_RANGE_WRITE);
  if (started_ > before) {
    ::sync_file_range(fd_, before, started_ - before,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    ::posix_fadvise(fd_, before, started_ - before, POSIX_FADV_DONTNEED);
  }
  started_ = written_;
}

Result<void> AtomicFile::close() {
  if (fd_ < 0) return {};
  if (!direct_ && temporary_.empty()) {  // give the nameless file a name, then move it into place
    const std::string name = fmt::format("{}.{}.tmp", path_, ::getpid());
    ::unlink(name.c_str());
    temporary_ = name;
    remove_on_signal(name);
    if (::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) !=
        0)
      return io_error("base.file.write", "cannot name the written file", path_, errno);
  }
  if (::close(std::exchange(fd_, -1)) != 0) return io_error("base.file.write", "cannot write", path_, errno);
  return {};
}

Result<void> AtomicFile::sync() {
  if (fd_ >= 0 && ::fsync(fd_) != 0 && errno != EINVAL)
    return io_error("base.file.write", "cannot write", path_, errno);
  return {};
}

Result<void> AtomicFile::commit() {
  CHAKRA_TRY(close());
  if (direct_) return {};
  const SignalsHeld hold;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return io_error("base.file.write", "cannot rename", path_, errno);
  forget(std::exchange(temporary_, {}));
  made_.clear();
  return {};
}

// ---- PackedFile ----------------------------------------------------------------------------------

struct PackedFile::State {
  AtomicFile file;
  Packing packing = Packing::plain;
  std::vector<char> buffer;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd{nullptr, &ZSTD_freeCCtx};
  isal_zstream gzip;
  std::vector<uint8_t> gzip_level;

  explicit State(AtomicFile to) : file(std::move(to)) {}

  Result<void> pack_zstd(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
      const size_t left = ZSTD_compressStream2(zstd.get(), &out, &in, end);
      if (ZSTD_isError(left))
        return fail(Code::io, "base.file.write", fmt::format("cannot pack: {}", ZSTD_getErrorName(left)));
      CHAKRA_TRY(file.write({buffer.data(), out.pos}));
      if (end == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }
  Result<void> pack_gzip(std::string_view bytes, bool end) {
    do {
      const std::string_view part = bytes.substr(0, size_t{1} << 30);
      bytes.remove_prefix(part.size());
      gzip.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(part.data()));
      gzip.avail_in = static_cast<uint32_t>(part.size());
      gzip.end_of_stream = end && bytes.empty() ? 1 : 0;
      do {
        gzip.next_out = reinterpret_cast<uint8_t*>(buffer.data());
        gzip.avail_out = static_cast<uint32_t>(buffer.size());
        if (const int status = isal_deflate(&gzip); status != COMP_OK)
          return fail(Code::io, "base.file.write", fmt::format("cannot pack (code {})", status));
        CHAKRA_TRY(file.write({buffer.data(), buffer.size() - gzip.avail_out}));
      } while (gzip.avail_out == 0);
    } while (!bytes.empty());
    return {};
  }
};

PackedFile::PackedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackedFile::PackedFile(PackedFile&&) noexcept = default;
PackedFile::~PackedFile() = default;

Result<PackedFile> PackedFile::create(const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  auto state = std::make_unique<State>(std::move(file));
  if (path.ends_with(".gz")) {
    state->packing = Packing::gzip;
    isal_deflate_init(&state->gzip);
    state->gzip_level.resize(ISAL_DEF_LVL1_DEFAULT);
    state->gzip.level = 1;
    state->gzip.level_buf = state->gzip_level.data();
    state->gzip.level_buf_size = static_cast<uint32_t>(state->gzip_level.size());
    state->gzip.gzip_flag = IGZIP_GZIP;
    state->gzip.flush = NO_FLUSH;
  } else if (path.ends_with(".zst")) {
    state->packing = Packing::zstd;
    state->zstd.reset(ZSTD_createCCtx());
    ZSTD_CCtx_setParameter(state->zstd.get(), ZSTD_c_compressionLevel, 3);
    ZSTD_CCtx_setParameter(state->zstd.get(), ZSTD_c_checksumFlag, 1);
  }
  if (state->packing != Packing::plain) state->buffer.resize(kInputBuffer);
  return PackedFile(std::move(state));
}

Result<void> PackedFile::write(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (state_->packing == Packing::gzip) return state_->pack_gzip(bytes, false);
  if (state_->packing == Packing::zstd) return state_->pack_zstd(bytes, ZSTD_e_continue);
  return state_->file.write(bytes);
}

Result<void> PackedFile::close() {
  if (state_->packing == Packing::gzip) CHAKRA_TRY(state_->pack_gzip({}, true));
  if (state_->packing == Packing::zstd) CHAKRA_TRY(state_->pack_zstd({}, ZSTD_e_end));
  state_->packing = Packing::plain;
  state_->zstd.reset();
  state_->buffer = {};
  state_->gzip_level = {};
  return state_->file.close();
}

Result<void> PackedFile::commit() {
  CHAKRA_TRY(close());
  return state_->file.commit();
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(file.write(bytes));
  return file.commit();
}

Result<void> make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !is_directory(path))
    return fail(Code::io, "base.file.create",
                fmt::format("cannot create the folder: {}", error ? error.message() : "a file is there"), {path});
  return {};
}

Result<std::vector<std::string>> list_folder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return fail(Code::io, "base.file.open", "cannot list the folder: " + error.message(), {folder});
  std::sort(names.begin(), names.end());
  return names;
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

uint64_t file_size(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
}

bool same_contents(const std::string& a, const std::string& b) {
  constexpr size_t kPiece = size_t{1} << 14;
  std::ifstream files[2] = {std::ifstream(a, std::ios::binary), std::ifstream(b, std::ios::binary)};
  std::string pieces[2] = {std::string(kPiece, 0), std::string(kPiece, 0)};
  while (files[0] && files[1]) {
    for (int i = 0; i < 2; ++i) files[i].read(pieces[i].data(), kPiece);
    const auto got = files[0].gcount();
    if (got != files[1].gcount() || std::memcmp(pieces[0].data(), pieces[1].data(), static_cast<size_t>(got)) != 0)
      return false;
    if (got < static_cast<std::streamsize>(kPiece)) return files[0].eof() && files[1].eof();
  }
  return false;
}

}  // namespace chakra
