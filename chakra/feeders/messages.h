// The bytes of a file's nodes, by row. They are read again when they are asked for, in pages of which some are kept. Of
// what cannot be read again (packed files, containers, other forms) the bytes are kept in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/feeders/ids.h"

namespace chakra::feeders {

/// Reads all of `to` from a place of a file. Errors: base.file.read; io.et.truncated where the file ends before.
Result<void> read_again(int fd, uint64_t at, std::string& to, const std::string& file);

/// Memory: 8 bytes per node, and the pages.
class Messages {
 public:
  /// `fd`: of a file that can be read again, which this closes; -1: the bytes are kept. `file`: for errors.
  Messages(std::string file, int fd) : file_(std::move(file)), fd_(fd) {}
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void add(std::string_view message);
  /// Where in the file the message that was added last ends, which is known when the next one has been read.
  void end_last(uint64_t end);
  /// Once all are there. `cached_bytes`: of pages, one at least.
  void finish(uint64_t cached_bytes);

  /// Valid until the next call. Errors: those of read_again.
  Result<std::string_view> get(Row row);

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

  std::string file_;
  int fd_;
  std::vector<uint32_t> begin_, size_;  ///< by row; begin_ from its page
  std::vector<Page> pages_;
  std::vector<Cached> cache_;
  size_t missed_ = SIZE_MAX;  ///< the page of the last node that was not in the cache: the second one fetches it
  std::string alone_;         ///< a node whose page was not fetched
};

}  // namespace chakra::feeders
