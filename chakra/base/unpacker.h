// Bytes of a file, a pipe or memory, unpacked.
#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "chakra/base/packing.h"

namespace chakra {

/// Raw bytes as read.
struct RawInput {
  std::string file;
  int fd = -1;                     ///< -1: all of the input is in `ready`
  std::unique_ptr<char[]> buffer;  ///< kPackingBuffer bytes, of a file
  std::string_view ready;          ///< bytes not used yet
  uint64_t memory_size = 0;        ///< size of a text in memory
  bool ended = false;
  uint64_t file_size = 0, file_read = 0;  ///< 0: not known

  RawInput() = default;
  RawInput(const RawInput&) = delete;
  ~RawInput();
  Result<size_t> read(char* to, size_t size);
  /// Read more bytes into `ready`, which must be empty.
  Result<void> refill();
};

class Unpacker {
 public:
  Unpacker();
  RawInput raw;
  int64_t offset = 0;               ///< offset of the bytes returned, for the places of errors
  bool keep_what_is_whole = false;  ///< see ByteSource

  /// Detect the packing from the first bytes, which are ready.
  void start();
  /// Fill `to` unless the input ends.
  Result<size_t> read(std::span<char> to);
  Place here(size_t done) const { return {raw.file, offset + static_cast<int64_t>(done)}; }

 private:
  Result<void> read_plain(std::span<char> to, size_t& done);
  Result<void> read_gzip(std::span<char> to, size_t& done);
  Result<void> read_zstd(std::span<char> to, size_t& done);
  uint64_t limit() const;
  Failure beyond_limit(size_t done) const;

  Packing packing_ = Packing::plain;
  uint64_t unpacked_ = 0, chosen_limit_;
  std::optional<Error> damage_;  ///< found behind the returned bytes
  inflate_state gzip_;
  bool in_member_ = false;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd_{nullptr, &ZSTD_freeDCtx};
};

}  // namespace chakra
