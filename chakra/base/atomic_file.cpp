#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "chakra/base/file.h"
#include "chakra/base/packing.h"

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

Result<void> write_file(const std::string& path, std::string_view bytes) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace chakra
