// Nodes that wait on disk: a temporary file without a name, to which nodes are appended and from which they are
// read again. Those that wait for the same id form a list through the file.
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

  /// Appends a node that is followed in its list by `next`, and says where it is: its place + 1. What was appended
  /// is in the file after flush(). Errors: base.file.create, base.file.write.
  Result<uint64_t> append(const trace::StreamedNode& node, uint64_t next);
  Result<void> flush();
  /// Reads the node at a place + 1, and what follows it. Errors: base.file.read.
  Result<uint64_t> read(uint64_t place, trace::StreamedNode& node);
  /// What follows the node there. Errors: base.file.write.
  Result<void> set_next(uint64_t place, uint64_t next);

 private:
  Result<void> create();
  Result<void> read_bytes(uint64_t at, char* to, size_t size);

  std::string folder_, buffer_;
  uint64_t written_ = 0;  ///< bytes in the file
  int fd_ = -1;
};

}  // namespace chakra::feed
