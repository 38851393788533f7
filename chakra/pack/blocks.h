// The bytes of a container below the columns: checked and packed blocks, the directory,
// the index of a rank. docs/reference/formats/container.md is the contract.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/bytes.h"
#include "chakra/filetype/filetype.h"

namespace chakra::pack {

inline constexpr std::string_view kMagic = filetype::kContainerMagic, kEndMagic = "CHAKRAJE";
/// Of new files. Files of version 1 are read and added to as such: their ranks have no RankHeader::changes.
inline constexpr uint32_t kVersion = 2, kVersionOfChanges = 2;
inline constexpr size_t kHeader = 16;   ///< magic, version, checksum
inline constexpr size_t kTrailer = 40;  ///< directory: offset, size, checksum; size of the file; checksum; magic
inline constexpr size_t kMostBlock = size_t{1} << 30;  ///< unpacked
/// A larger block must have at most kMostUnpackedTimes the bytes of the file: a few bytes can expand without end.
inline constexpr size_t kSmallBlock = size_t{1} << 24;
/// zstd's levels: the best for differences and small traces; for large traces a level as fast as reading.
inline constexpr int kBest = 19, kFast = 3;

uint32_t checksum(std::string_view bytes);

/// Where a block is, and its expected checksum.
struct Block {
  uint64_t offset = 0, size = 0;
  uint32_t checksum = 0;
};

/// Pack bytes against `before`, which unpack() must also get.
std::string pack_block(std::string_view bytes, std::string_view before, int level = kBest);

/// Unpack; false for invalid data, or more than `most` bytes. Memory grows with the output.
bool unpack(std::string_view packed, std::string_view before, std::string& out, size_t most);

struct Page {
  Block block;
  uint64_t first = 0;  ///< id of the first entry
  std::string bytes;   ///< unpacked; empty until needed
  std::vector<std::string_view> entries;
};

/// The contents of the block of a rank.
struct RankHeader {
  int64_t rank = 0, master = 0;
  uint64_t nodes = 0, group_nodes = 1;
  std::vector<uint64_t> columns;  ///< the rank's columns; the others are the master's
  struct Changes {
    std::string values;       ///< replaced values of the master's columns, see substitution.h
    std::string numbers;      ///< of the master's metadata, see metadata.h; empty: `metadata`
  } changes;                  ///< since version 2
  Block metadata;             ///< size 0: the master's
  std::vector<Block> groups;  ///< size 0: the master's
  bool alone() const { return rank == master; }
};

struct DirectoryEntry {
  int64_t rank = 0;
  Block header;
};

struct Directory {
  std::vector<DirectoryEntry> ranks;
  std::vector<Page> pages;
  uint64_t entries = 0;  ///< number of entries of the dictionary
};

std::string encode(const Directory& directory);
bool decode(std::string_view bytes, Directory& directory);
/// Encode a header, which is at `offset`. The rank's blocks come directly before the header, the metadata first.
std::string encode(const RankHeader& header, uint64_t offset, uint32_t version);
bool decode(std::string_view bytes, RankHeader& header, uint32_t version);

}  // namespace chakra::pack
