// The nodes of one file by row (their place in the file): ids, who waits for whom, and where each node's bytes are. The
// file is read once, as a stream; a node's bytes are read again when they are asked for, in pages of which some are
// kept. Of what cannot be read again (packed files, containers, other forms) the bytes are kept in memory.
// Memory: 20 to 24 bytes per node, 4 per edge, 8 more per edge while reading.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::compat {

class Index {
 public:
  using Row = uint32_t;

  /// `control`: nodes wait for their ctrl_deps, too. `cached_bytes`: of pages, one at least.
  /// Errors: those of io::open_nodes; feed.id.duplicate; io.et.range beyond 2^32 - 2 nodes or edges, or for a node of
  /// 4 GiB.
  static Result<std::shared_ptr<Index>> read(const std::string& path, bool control, uint64_t cached_bytes);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  Row size() const { return static_cast<Row>(ids_.size()); }
  uint64_t id(Row row) const { return ids_[row]; }
  /// Cost: O(1) where ids are dense, else O(log nodes).
  std::optional<Row> find(uint64_t id) const;
  /// Who waits for it, ascending.
  std::span<const Row> children(Row row) const {
    return {children_.data() + first_child_[row], children_.data() + first_child_[row + 1]};
  }
  /// By row: how many different nodes it waits for.
  const std::vector<uint32_t>& waits_for() const { return waits_for_; }
  /// Ids that nodes wait for and that are not in the file, with who waits; ascending.
  std::span<const std::pair<uint64_t, Row>> absent() const { return absent_; }
  /// A row that waits for itself, or for others that wait for it; none if there is none. Cost: O(nodes + edges).
  std::optional<Row> cycle() const;

  const std::string& file() const { return file_; }
  const std::string& metadata() const { return metadata_; }
  /// The node as io::decode and libprotobuf read it; valid until the next call.
  /// Errors: base.file.read; io.et.truncated where the file has become shorter.
  Result<std::string_view> message(Row row);

 private:
  struct Page {
    uint64_t at = 0, bytes = 0;
    Row first = 0;
    std::string text = {};  ///< of what cannot be read again
  };
  struct Cached {
    size_t page = SIZE_MAX;
    std::string text;
  };
  class Reader;
  Index() = default;
  Result<void> sort_ids();
  void link(std::vector<Row> parents, std::vector<std::pair<uint64_t, Row>> unresolved);

  std::string file_, metadata_;
  int fd_ = -1;  ///< of a file that can be read again
  std::vector<uint64_t> ids_;
  std::vector<Row> by_id_;  ///< rows by ascending id; empty where rows are
  std::vector<uint32_t> begin_, size_, waits_for_;
  std::vector<uint32_t> first_child_;
  std::vector<Row> children_;
  std::vector<std::pair<uint64_t, Row>> absent_;
  std::vector<Page> pages_;
  std::vector<Cached> cache_;
  size_t missed_ = SIZE_MAX;  ///< the page of the last node that was not in the cache: the second one fetches it
  std::string alone_;         ///< a node whose page was not fetched
};

/// What is thrown for an error: std::runtime_error with its message and tag.
[[noreturn]] void raise(const Error& error);
template <class T>
T must(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace chakra::compat
