// A file to which lines are added: a journal of finished work, which survives the end of the process at any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/result.h"

namespace chakra {

/// Whole lines, each added by one write. After the end of the process, the file has every line that add() returned for,
/// and perhaps a part of one more line, which open() removes. After a crash of the machine, the lines of the last
/// kBetweenSyncs can be missing. Not thread safe.
class AppendFile {
 public:
  static constexpr std::chrono::seconds kBetweenSyncs{1};

  /// Open or create a file, lock the file until destruction, and remove a last line without an end. `lines` gets the
  /// contents. Errors: base.file.open, base.file.read, base.file.write, base.file.busy (another process has the lock).
  static Result<AppendFile> open(const std::string& path, std::string& lines);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  /// Add a line, which must not contain line ends. After an error, the file has its former contents, if the file system
  /// permits. Errors: base.file.write.
  Result<void> add(std::string_view line);
  /// Wait until all lines are on the disk. Errors: base.file.write.
  Result<void> sync();

 private:
  AppendFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
  int64_t size_ = 0;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace chakra
