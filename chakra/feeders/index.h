// The nodes of one file by row, which ascends by id: ids, dependencies, and each node's bytes. The file is
// read once, as a stream. Memory: 20 to 24 bytes per node, 4 per edge, 8 more per edge while reading.
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
#include "chakra/feeders/ids.h"
#include "chakra/feeders/messages.h"
#include "chakra/feeders/waits.h"

namespace chakra::feeders {

class Index {
 public:
  using Row = feeders::Row;

  /// Read a file. `control`: nodes also wait for their ctrl_deps. `cached_bytes`: for pages, at least one page.
  /// Errors: those of io::open_nodes; feed.id.duplicate; io.et.range beyond 2^32 - 2 nodes or edges, or for a
  /// node of 4 GiB.
  static Result<std::shared_ptr<Index>> read(const std::string& path, bool control, uint64_t cached_bytes);

  Row size() const { return ids_.size(); }
  uint64_t id(Row row) const { return ids_[row]; }
  /// Return the row of an id. Cost: O(1) if ids are dense, else O(log nodes).
  std::optional<Row> find(uint64_t id) const { return ids_.find(id); }
  /// Return the position of a node in the file.
  Row place(Row row) const { return ids_.place(row); }
  /// Return the nodes that wait for this one, ascending.
  std::span<const Row> children(Row row) const { return waits_.children(row); }
  /// Return the number of distinct dependencies, by row.
  const std::vector<uint32_t>& waits_for() const { return waits_.waits_for; }
  /// Return missing ids with the nodes that wait for them, ascending.
  std::span<const std::pair<uint64_t, Row>> absent() const { return waits_.absent; }
  /// Return a row on a dependency cycle, or no value. Cost: O(nodes + edges).
  std::optional<Row> cycle() const { return waits_.cycle(); }

  const std::string& file() const { return file_; }
  const std::string& metadata() const { return metadata_; }
  /// Return the bytes of a node, for io::decode and libprotobuf; valid until the next
  /// call. Errors: base.file.read; io.et.truncated if the file has become shorter.
  Result<std::string_view> message(Row row) { return messages_.get(ids_.place(row)); }

 private:
  Index(const std::string& file, int fd) : file_(file), messages_(file, fd) {}

  std::string file_, metadata_;
  Ids ids_;
  Waits waits_;
  Messages messages_;
};

/// Throw an error as std::runtime_error with its message and tag.
[[noreturn]] void raise(const Error& error);
template <class T>
T must(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace chakra::feeders
