// Files. ByteSource reads a plain, gzip or zstd file, or the only file of a tar archive,
// as a stream of uncompressed bytes. AtomicFile writes a file that appears whole or not
// at all. PackedFile does the same, and packs the file as the name requires.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/interrupt.h"
#include "chakra/base/result.h"

namespace chakra {

/// Unpacking stops at this many times the packed bytes, or at this many
/// bytes if that is less: a few packed bytes can expand without end.
inline constexpr uint64_t kMostUnpackedTimes = 1000, kMostUnpacked = uint64_t{1} << 34;
/// Replace both limits by `bytes`, for all sources that this process opens from now on; 0
/// restores both limits. A pipe ends at the same number of bytes, packed or not.
void set_most_unpacked(uint64_t bytes);

/// A stream of uncompressed bytes. The first bytes, not the
/// name, determine the compression and the archive.
class ByteSource {
 public:
  /// Open a file or a pipe. Errors: base.file.open, base.file.read, base.file.device
  /// (a device, which may never end; but /dev/null is an empty file).
  static Result<ByteSource> open(const std::string& path);
  /// Read from memory; `text` must outlive the source.
  static Result<ByteSource> from_memory(std::string_view text, std::string file = "memory");
  template <std::same_as<std::string> Temporary>
  static Result<ByteSource> from_memory(Temporary&& text, std::string file = "memory") = delete;

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Fill as much of `to` as the input has; a smaller count than requested means the end.
  /// Errors: base.file.read, base.gzip.truncated, base.gzip.damaged, base.zstd.truncated,
  /// base.zstd.damaged, base.tar.several (an archive of more than one file), base.tar.truncated,
  /// base.unpack.limit (set_most_unpacked).
  Result<size_t> read(std::span<char> to);

  /// Return the next `size` bytes without consuming them; fewer where the input ends. Errors: as read().
  Result<std::string_view> peek(size_t size);

  /// From now on, return the bytes that could be unpacked before damage, then the error. A smaller
  /// count than requested may then also mean an error, which the following read() returns.
  void keep_what_is_whole();

  const std::string& file() const;
  /// Return the number of uncompressed bytes read so far.
  int64_t offset() const;
  /// Return the share of the file that has been read, approximately; 1 if the size of the file is unknown.
  double progress() const;

 private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Read the rest of a source into an empty `text`; `expected`: the bytes to read first. Return false, with a part of
/// the text, if there are more than `limit` bytes. Errors: as ByteSource::read().
Result<bool> read_whole(ByteSource& source, size_t limit, std::string& text, size_t expected = 0);
/// Return the whole file, uncompressed. Errors: as ByteSource; base.file.large above `limit` bytes.
Result<std::string> read_file(const std::string& path, size_t limit = size_t{1} << 34);

/// A file that appears under its name only with commit(). Until then the written bytes have no name,
/// or a temporary name beside the target that the destructor removes. An existing target that is
/// not a regular file (/dev/null, a pipe) is written directly. Links are followed, also dangling
/// links. An existing file keeps its mode. When commit() returns, the bytes and the name are on the
/// disk: after a crash of the machine, either the old file or the new file exists. Missing parent
/// folders are created, and removed again if the file does not appear.
class AtomicFile {
 public:
  /// Errors: base.file.create.
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  /// Errors: base.file.write.
  Result<void> write(std::string_view bytes);
  /// End the writing and hold no descriptor until commit(): from now on the file has its temporary name.
  Result<void> close();
  /// Wait until all bytes written to the folder's file system are on the disk. `done`: the file systems already synced.
  /// Errors: base.file.write.
  Result<void> sync_file_system(std::set<uint64_t>& done) const;
  /// Give the file its name. `synced`: the caller ensures that bytes and names are on the disk.
  /// Errors: base.file.write.
  Result<void> commit(bool synced = false);

 private:
  AtomicFile() = default;
  Result<void> name_it();
  Result<void> sync() const;
  void abandon() noexcept;
  void hand_over() noexcept;

  std::string path_;               ///< the target, links resolved
  std::string temporary_;          ///< empty: the file has no name yet, or is written directly
  std::vector<std::string> made_;  ///< folders created for this file, the innermost first
  int fd_ = -1;
  bool direct_ = false;
  int64_t written_ = 0;  ///< bytes
  int64_t started_ = 0;  ///< the disk has been asked to write the bytes before this offset
};

/// An AtomicFile that is gzip or zstd if the name ends in .gz or .zst.
class PackedFile {
 public:
  /// Errors: base.file.create.
  static Result<PackedFile> create(const std::string& path);
  PackedFile(PackedFile&&) noexcept;
  ~PackedFile();

  /// Errors: base.file.write.
  Result<void> write(std::string_view bytes);
  /// As in AtomicFile.
  Result<void> close();
  Result<void> sync_file_system(std::set<uint64_t>& done) const;
  Result<void> commit(bool synced = false);

 private:
  struct State;
  explicit PackedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Any number of files (AtomicFile, PackedFile) that appear together when all have been
/// written, or not at all. Files beyond the first kMostOpen are closed until then.
template <class File>
class FilesTogether {
 public:
  static constexpr size_t kMostOpen = 64;   ///< a packer takes some memory, too
  static constexpr size_t kMostSynced = 4;  ///< synced one by one; more files: sync whole file systems, as fast

  /// Errors: base.file.write.
  Result<void> add(File file) {
    if (files_.size() >= kMostOpen) CHAKRA_TRY(file.close());
    files_.push_back(std::move(file));
    return {};
  }
  Result<void> commit() {
    const bool many = files_.size() > kMostSynced;
    if (many) {
      for (File& file : files_) CHAKRA_TRY(file.close());  // all bytes are handed over before the first name changes
      CHAKRA_TRY(sync_file_systems());
    }
    const SignalsHeld hold;
    for (File& file : files_) CHAKRA_TRY(file.commit(many));
    if (many) CHAKRA_TRY(sync_file_systems());
    files_.clear();
    return {};
  }

 private:
  Result<void> sync_file_systems() const {
    std::set<uint64_t> done;
    for (const File& file : files_) CHAKRA_TRY(file.sync_file_system(done));
    return {};
  }

  std::vector<File> files_;
};

/// Write all bytes, also to a non-blocking descriptor: wait until the descriptor accepts more. `name` is for the error.
/// Errors: base.file.write.
Result<void> write_all(int fd, std::string_view bytes, const std::string& name);

/// Create, write and commit a file.
Result<void> write_file(const std::string& path, std::string_view bytes);

/// Return the absolute path behind a name: links are followed, also a dangling link.
std::string resolve_links(const std::string& path);

/// Errors: base.file.create.
Result<void> make_directories(const std::string& path);

/// Return the names (not paths) of all entries of a folder, of any kind, ascending. Errors: base.file.open.
Result<std::vector<std::string>> list_folder(const std::string& folder);
bool is_directory(const std::string& path);
bool is_file(const std::string& path);
/// Return the size in bytes; 0 for anything but a regular file.
uint64_t file_size(const std::string& path);
/// Whether two regular files hold the same bytes, from an offset in each on; false if a file is
/// unreadable. Cost: O(bytes up to the first difference).
bool same_contents(const std::string& a, const std::string& b, uint64_t from_a = 0, uint64_t from_b = 0);

}  // namespace chakra
