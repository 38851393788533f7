// Files. ByteSource reads a plain, gzip or zstd file, also the only file of a tar archive, as a stream of
// uncompressed bytes; AtomicFile
// writes one so that it appears whole or not at all; PackedFile packs it as its name says.
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

/// Unpacking stops at this many times the bytes that are packed, or at this many bytes if those are fewer: a few bytes
/// may be packed so that they never end.
inline constexpr uint64_t kMostUnpackedTimes = 1000, kMostUnpacked = uint64_t{1} << 34;
/// Replaces both limits by `bytes`, for what is opened from now on in this process; 0: both hold again. A pipe ends at
/// the same number of bytes, packed or not.
void set_most_unpacked(uint64_t bytes);

/// A stream of uncompressed bytes. Compression and archive are told from the first bytes, not from the
/// name.
class ByteSource {
 public:
  /// Files and pipes. Errors: base.file.open, base.file.read, base.file.device (a device, which may never end; but
  /// /dev/null is an empty file).
  static Result<ByteSource> open(const std::string& path);
  /// Reads from memory; `text` must outlive the source.
  static Result<ByteSource> from_memory(std::string_view text, std::string file = "memory");
  template <std::same_as<std::string> Temporary>
  static Result<ByteSource> from_memory(Temporary&& text, std::string file = "memory") = delete;

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  /// Fills as much of `to` as there is; fewer bytes than asked for mean the end.
  /// Errors: base.file.read, base.gzip.truncated, base.gzip.damaged, base.zstd.truncated,
  /// base.zstd.damaged, base.tar.several (an archive of more than one file), base.tar.truncated,
  /// base.unpack.limit (set_most_unpacked).
  Result<size_t> read(std::span<char> to);

  /// The next bytes without taking them: `size` of them, or fewer where the input ends. Errors: as read().
  Result<std::string_view> peek(size_t size);

  /// From now on, what could be unpacked before damage is given out before the error is: fewer bytes than
  /// asked for may then also mean an error, which the following read() returns.
  void keep_what_is_whole();

  const std::string& file() const;
  /// Uncompressed bytes read so far.
  int64_t offset() const;
  /// Which part of the file has been read, about; 1 where its size is not known.
  double progress() const;

 private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The whole file, uncompressed. Errors: as ByteSource; base.file.large above `limit` bytes.
Result<std::string> read_file(const std::string& path, size_t limit = size_t{1} << 34);

/// A file that appears under its name only with commit(): until then the written bytes have no name,
/// or a temporary one beside the target that the destructor removes. A target that exists and is
/// not a regular file (/dev/null, a pipe) is written to directly; links are followed, also where they lead to nothing
/// yet; a file that exists keeps its mode. What commit() returns from is on the disk, the name too: whatever happens to
/// the machine, there is the old file or the new one. Folders that are missing on the way are made, and removed again
/// with a file that does not appear.
class AtomicFile {
 public:
  /// Errors: base.file.create.
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  /// Errors: base.file.write.
  Result<void> write(std::string_view bytes);
  /// Nothing more is written, and no descriptor is held until commit(): the file has its temporary name from now on.
  Result<void> close();
  /// Waits until what has been written into the folder's file system is on the disk, once for each: `done`.
  /// Errors: base.file.write.
  Result<void> sync_file_system(std::set<uint64_t>& done) const;
  /// `synced`: the caller sees to it that bytes and names are on the disk.
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
  std::vector<std::string> made_;  ///< folders that it is the reason for, the innermost first
  int fd_ = -1;
  bool direct_ = false;
  int64_t written_ = 0;  ///< bytes
  int64_t started_ = 0;  ///< up to here the disk has been asked to take them
};

/// An AtomicFile that is gzip or zstd where the name ends in .gz or .zst.
class PackedFile {
 public:
  /// Errors: base.file.create.
  static Result<PackedFile> create(const std::string& path);
  PackedFile(PackedFile&&) noexcept;
  ~PackedFile();

  /// Errors: base.file.write.
  Result<void> write(std::string_view bytes);
  /// As AtomicFile's.
  Result<void> close();
  Result<void> sync_file_system(std::set<uint64_t>& done) const;
  Result<void> commit(bool synced = false);

 private:
  struct State;
  explicit PackedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Files (AtomicFile, PackedFile), any number of them, that appear together when all have been written, or not at
/// all: those beyond the first kMostOpen are closed until then.
template <class File>
class FilesTogether {
 public:
  static constexpr size_t kMostOpen = 64;   ///< what packs takes some memory, too
  static constexpr size_t kMostSynced = 4;  ///< one by one; of more, whole file systems, which takes as long as a few

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

/// All of the bytes, also where the descriptor does not block: waits until it takes more. `name` is for the error.
/// Errors: base.file.write.
Result<void> write_all(int fd, std::string_view bytes, const std::string& name);

/// create, write, commit.
Result<void> write_file(const std::string& path, std::string_view bytes);

/// The absolute path of what the name stands for: links followed, also one that leads to nothing yet.
std::string resolve_links(const std::string& path);

/// Errors: base.file.create.
Result<void> make_directories(const std::string& path);

/// Names (not paths) of what is in a folder, of any kind, ascending. Errors: base.file.open.
Result<std::vector<std::string>> list_folder(const std::string& folder);
bool is_directory(const std::string& path);
bool is_file(const std::string& path);
/// In bytes; 0 for what is no regular file.
uint64_t file_size(const std::string& path);
/// Whether two regular files hold the same bytes; false where one cannot be read. Cost: O(bytes up to the first
/// that differs).
bool same_contents(const std::string& a, const std::string& b);

}  // namespace chakra
