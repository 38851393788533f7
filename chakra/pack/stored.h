// A container in a file: reads and checks blocks, the index of a rank, the columns of a group.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/pack/blocks.h"
#include "chakra/pack/columns.h"

namespace chakra::pack {

/// The file's bytes.
class StoredFile {
 public:
  /// Open as if the file ended after `bytes`. Errors: base.file.open, io.container.not_one (not a regular file).
  static Result<StoredFile> open(const std::string& path, uint64_t bytes);
  StoredFile(StoredFile&& other) noexcept;
  StoredFile& operator=(StoredFile&&) = delete;
  ~StoredFile();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  int64_t touched() const { return touched_; }  ///< bytes read so far
  Failure damaged(std::string text, uint64_t at) const;
  Result<std::string> read(uint64_t offset, uint64_t length, std::string_view what);
  /// Read a block, checked and unpacked.
  Result<std::string> block(const Block& block, std::string_view before, std::string_view what);
  size_t most_unpacked() const;  ///< of a block

 private:
  StoredFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
  uint64_t size_ = 0;
  std::atomic<int64_t> touched_ = 0;
};

/// A group of a rank in memory.
struct UnpackedGroup {
  std::string base;  ///< the first group of the rank's master; empty: not read yet
  std::string of_master, own;
  ColumnViews columns;  ///< into these bytes
};

/// The contents of the file. Several threads can read ranks at once.
struct Stored {
  StoredFile file;
  uint32_t version = kVersion;
  Directory directory = {};
  std::mutex mutex = {};                         ///< of the following, and of the pages of the directory
  std::map<int64_t, RankHeader> headers = {};    ///< read so far; they stay where they are
  std::vector<std::atomic<bool>> has_page = {};  ///< by page of the directory: the page is read and does not change

  /// Errors: io.container.not_one, io.container.version, io.container.truncated, io.container.damaged.
  Result<void> load_directory();
  const DirectoryEntry* entry_of(int64_t rank) const;  ///< null: the container does not hold the rank
  /// Errors: io.container.rank, io.container.damaged.
  Result<const RankHeader*> header(int64_t rank);
  /// Return the headers of a rank and of its master, which is stored alone.
  Result<std::pair<const RankHeader*, const RankHeader*>> headers_of(int64_t rank);
  /// Return an entry of the dictionary.
  Result<std::string_view> entry(uint64_t id);
  Result<std::string> metadata(const RankHeader& own, const RankHeader& master);
  /// Read the columns of a group into `unpacked`, which belongs to the rank.
  Result<void> columns(const RankHeader& own, const RankHeader& master, size_t group, UnpackedGroup& unpacked);

 private:
  Result<void> check_header();
  Result<Block> read_trailer();
  Result<void> read_page(Page& page);
  Result<void> columns_of_master(const RankHeader& master, size_t group, UnpackedGroup& unpacked);
  Result<ColumnViews> split(const RankHeader& header, size_t group, std::string_view bytes) const;
};

/// Return a name for people.
std::string name_of_block(const RankHeader& header, size_t group);
/// Return the bytes of a column; none if the group has no such column.
std::string_view find_column(const Columns& columns, uint64_t id);
std::string_view find_column(const ColumnViews& columns, uint64_t id);
/// Return the sizes, then the bytes, of some columns.
template <class Some>
std::string joined(const std::vector<uint64_t>& wanted, const Some& columns) {
  std::string out;
  size_t all = 0;
  for (const uint64_t id : wanted) {
    const size_t size = find_column(columns, id).size();
    put_varint(out, size);
    all += size;
  }
  out.reserve(out.size() + all);
  for (const uint64_t id : wanted) out += find_column(columns, id);
  return out;
}

}  // namespace chakra::pack
