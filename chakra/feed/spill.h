// Waiting nodes on disk: an unnamed temporary file to which nodes are appended and from
// which nodes are read again. Nodes that wait for the same id form a list through the file.
#pragma once

#include <cstdint>
#include <string>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::feed {

class Spill {
 public:
  explicit Spill(std::string folder) : folder_(std::move(folder)) {}
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;
  ~Spill();

  /// Append a node with its list successor `next`; return the place of the node + 1. The
  /// data is in the file only after flush(). Errors: base.file.create, base.file.write.
  Result<uint64_t> append(const trace::StreamedNode& node, uint64_t next);
  Result<void> flush();
  /// Read the node at a place + 1; return its successor. Errors: base.file.read.
  Result<uint64_t> read(uint64_t place, trace::StreamedNode& node);
  /// Set the successor of the node at a place + 1. Errors: base.file.write.
  Result<void> set_next(uint64_t place, uint64_t next);

 private:
  Result<void> create();
  Result<void> read_bytes(uint64_t at, char* to, size_t size);

  std::string folder_, buffer_;
  uint64_t written_ = 0;  ///< bytes in the file
  int fd_ = -1;
};

}  // namespace chakra::feed
