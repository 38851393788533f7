#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "chakra/base/file.h"
#include "chakra/base/packing.h"
#include "chakra/base/progress.h"

namespace chakra {
namespace {

constexpr int64_t kHandOver = int64_t{16} << 20;

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

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Calls `make` with names for a temporary file beside `path` until one is not taken: a file that is there belongs to
/// others. Returns what `make` does, below 0 with errno.
template <class Make>
int with_free_name(const std::string& path, std::string& name, const Make& make) {
  constexpr int kMostNames = 1000;
  int made = -1;
  for (int i = 0; i < kMostNames; ++i) {
    name = fmt::format("{}.{}{}.tmp", path, ::getpid(), i == 0 ? "" : fmt::format("-{}", i));
    remove_on_signal(name);
    made = make(name);
    if (made >= 0) return made;
    const int error = errno;
    forget(name);
    errno = error;
    if (error != EEXIST) break;
  }
  name.clear();
  return made;
}

/// Calls `sync` with the file or folder. A file system that cannot say when it is done (EINVAL) is taken as it is.
template <class Sync>
Result<void> sync_path(const std::string& path, int flags, const Sync& sync) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0 && errno == EACCES) return {};  // a folder in which one may write but not read
  const int failed = fd < 0 ? errno : sync(fd) != 0 && errno != EINVAL ? errno : 0;
  if (fd >= 0) ::close(fd);
  if (failed) return io_error("base.file.write", "cannot write to the disk", path, failed);
  return {};
}

/// A file that takes another's place has its mode and, as far as the system lets it, its owner.
void take_mode(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  if (::fchown(fd, old.st_uid, old.st_gid) != 0) mode &= ~mode_t{070};  // the group is another one
  (void)::fchmod(fd, mode);
}

}  // namespace

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
    file.made_ = make_folders_of(file.path_);
    file.fd_ = ::open(folder_of(file.path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file.fd_ < 0)  // a file system without nameless files
      file.fd_ = with_free_name(file.path_, file.temporary_, [](const std::string& name) {
        return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      });
  }
  if (file.fd_ < 0) return io_error("base.file.create", "cannot create", path, errno);
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
    CHAKRA_TRY(keep_going());
    const std::string_view piece = bytes.substr(0, kHandOver);
    CHAKRA_TRY(write_all(fd_, piece, path_));
    bytes.remove_prefix(piece.size());
    written_ += static_cast<int64_t>(piece.size());
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

/// Gives the nameless file a name, from which it is moved into place.
Result<void> AtomicFile::name_it() {
  if (direct_ || !temporary_.empty()) return {};
  const std::string nameless = fmt::format("/proc/self/fd/{}", fd_);
  const int named = with_free_name(path_, temporary_, [&](const std::string& name) {
    return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  });
  if (named < 0) return io_error("base.file.write", "cannot name the written file", path_, errno);
  return {};
}

Result<void> AtomicFile::close() {
  if (fd_ < 0) return {};
  CHAKRA_TRY(name_it());
  if (::close(std::exchange(fd_, -1)) != 0) return io_error("base.file.write", "cannot write", path_, errno);
  return {};
}

Result<void> AtomicFile::sync() const {
  if (fd_ < 0) return sync_path(temporary_, 0, ::fsync);
  if (::fsync(fd_) != 0 && errno != EINVAL) return io_error("base.file.write", "cannot write", path_, errno);
  return {};
}

Result<void> AtomicFile::sync_file_system(std::set<uint64_t>& done) const {
  struct stat status;
  if (direct_ || ::stat(folder_of(path_).c_str(), &status) != 0 || !done.insert(status.st_dev).second) return {};
  return sync_path(folder_of(path_), O_DIRECTORY, ::syncfs);
}

Result<void> AtomicFile::commit(bool synced) {
  if (direct_) return close();
  if (!synced) CHAKRA_TRY(sync());
  CHAKRA_TRY(close());
  {
    const SignalsHeld hold;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      return io_error("base.file.write", "cannot rename", path_, errno);
    forget(std::exchange(temporary_, {}));
    made_.clear();
  }
  return synced ? Result<void>() : sync_path(folder_of(path_), O_DIRECTORY, ::fsync);
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return io_error("base.file.write", "cannot write", name, errno);
    }
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace chakra
