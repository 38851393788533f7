// The bytes of a file's nodes, by their places in the file. Bytes are read again on demand, in pages, some of which are
// cached. If the file cannot be read again (packed files, containers, other formats), all bytes are kept in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/feeders/ids.h"

namespace chakra::feeders {

/// Read all of `to` from an offset of a file. Errors: base.file.read; io.et.truncated if the file ends before.
Result<void> read_again(int fd, uint64_t at, std::string& to, const std::string& file);

/// Memory: 8 bytes per node, and the pages.
class Messages {
 public:
  /// `fd`: of a file that can be read again, closed by this object; -1: keep the bytes. `file`: for errors.
  Messages(std::string file, int fd) : file_(std::move(file)), fd_(fd) {}
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void add(std::string_view message);
  /// Set the end of the last message in the file, which is known when the next message has been read.
  void end_last(uint64_t end);
  /// Must be called after the last message. `cached_bytes`: for pages, at least one page.
  void finish(uint64_t cached_bytes);

  /// Return the bytes of a node; valid until the next call. Errors: those of read_again.
  Result<std::string_view> get(Row place);

 private:
  struct Page {
    uint64_t at = 0, bytes = 0;
    Row first = 0;
    std::string text = {};  ///< bytes of a file that cannot be read again
  };
  struct Cached {
    size_t page = SIZE_MAX;
    std::string text;
  };

  std::string file_;
  int fd_;
  std::vector<uint32_t> begin_, size_;  ///< by place; begin_ relative to the page
  std::vector<Page> pages_;
  std::vector<Cached> cache_;
  size_t missed_ = SIZE_MAX;  ///< page of the last cache miss: a second miss on the same page loads it
  std::string alone_;         ///< a node read without its page
};

}  // namespace chakra::feeders
