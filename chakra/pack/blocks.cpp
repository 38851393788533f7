#include "chakra/pack/blocks.h"

#include <isa-l/crc.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "chakra/schema/schema.h"

namespace chakra::pack {
namespace {

/// A block's first byte says how it is packed.
enum class Packed : char { plain, zstd };

constexpr size_t kAtOnce = size_t{1} << 17;  ///< bytes of a block that is unpacked at once
constexpr uint64_t kLeastHeader = 10;        ///< bytes of a rank's index: its kind, numbers, checksum

}  // namespace

uint32_t checksum(std::string_view bytes) {
  return crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data())), static_cast<int>(bytes.size()),
                     ~0u);
}

std::string pack_block(std::string_view bytes, std::string_view before, int level) {
  static thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                                         &ZSTD_freeCCtx);
  std::string out(1 + ZSTD_compressBound(bytes.size()), static_cast<char>(Packed::zstd));
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  if (!before.empty()) {
    const auto wanted = static_cast<int>(std::bit_width(bytes.size() + before.size()));
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, std::clamp(wanted, 10, 27));
    ZSTD_CCtx_refPrefix(context.get(), before.data(), before.size());
  }
  const size_t size = ZSTD_compress2(context.get(), out.data() + 1, out.size() - 1, bytes.data(), bytes.size());
  const bool too_well = bytes.size() > kSmallBlock && bytes.size() / size >= kMostUnpackedTimes;  // to be unpacked
  if (ZSTD_isError(size) || size >= bytes.size() || too_well) {
    out.assign(1, static_cast<char>(Packed::plain));
    return out += bytes;
  }
  out.resize(1 + size);
  return out;
}

bool unpack(std::string_view packed, std::string_view before, std::string& out, size_t most) {
  out.clear();
  if (packed.empty()) return false;
  const char kind = packed[0];
  packed.remove_prefix(1);
  if (kind == static_cast<char>(Packed::plain)) {
    out = packed;
    return true;
  }
  if (kind != static_cast<char>(Packed::zstd)) return false;
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                                         &ZSTD_freeDCtx);
  const auto begin = [&] {
    ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
    if (!before.empty()) ZSTD_DCtx_refPrefix(context.get(), before.data(), before.size());
  };
  // Most blocks are small: at once, without zstd's buffer between. A stream finds the end of one frame by itself.
  static thread_local const std::unique_ptr<char[]> small = std::make_unique_for_overwrite<char[]>(kAtOnce);
  if (ZSTD_findFrameCompressedSize(packed.data(), packed.size()) == packed.size()) {
    begin();
    const size_t size = ZSTD_decompressDCtx(context.get(), small.get(), kAtOnce, packed.data(), packed.size());
    if (!ZSTD_isError(size) && size <= most) {
      out.assign(small.get(), size);
      return true;
    }
  }
  begin();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (size_t room = std::max<size_t>(4096, packed.size() * 8);; room *= 2) {
    const size_t had = out.size();
    if (had > most) return false;
    out.resize(had + std::min(room, most + 1 - had));
    ZSTD_outBuffer to{out.data(), out.size(), had};
    const size_t status = ZSTD_decompressStream(context.get(), &to, &in);
    if (ZSTD_isError(status)) return false;
    const bool full = to.pos == out.size();
    out.resize(to.pos);
    if (status == 0) return in.pos == in.size;
    if (!full && in.pos == in.size) return false;
  }
}

std::string encode(const Directory& directory) {
  std::string out;
  put_varint(out, directory.ranks.size());
  int64_t rank = -1;
  uint64_t at = 0;
  for (const DirectoryEntry& entry : directory.ranks) {
    put_varint(out, zigzag(entry.rank - rank - 1));
    put_varint(out, zigzag(static_cast<int64_t>(entry.header.offset - at)));
    put_varint(out, entry.header.size);
    rank = entry.rank;
    at = entry.header.offset + entry.header.size;
  }
  put_varint(out, directory.pages.size());
  for (const Page& page : directory.pages) {
    put_varint(out, page.block.offset);
    put_varint(out, page.block.size);
    put_fixed(out, page.block.checksum, 4);
    put_varint(out, page.first);
  }
  put_varint(out, directory.entries);
  return out;
}

bool decode(std::string_view bytes, Directory& directory) {
  ByteReader in(bytes);
  int64_t rank = -1;
  uint64_t at = 0;
  for (uint64_t left = in.varint(); left > 0 && in.ok; --left) {
    DirectoryEntry entry;
    entry.rank = rank =
        static_cast<int64_t>(static_cast<uint64_t>(rank) + 1 + static_cast<uint64_t>(unzigzag(in.varint())));
    entry.header.offset = at + static_cast<uint64_t>(unzigzag(in.varint()));
    entry.header.size = in.varint();
    at = entry.header.offset + entry.header.size;
    if (entry.header.size < kLeastHeader) return false;
    directory.ranks.push_back(entry);
  }
  for (uint64_t left = in.varint(); left > 0 && in.ok; --left) {
    Page page;
    page.block.offset = in.varint();
    page.block.size = in.varint();
    page.block.checksum = static_cast<uint32_t>(in.fixed(4));
    page.first = in.varint();
    if (!directory.pages.empty() && page.first <= directory.pages.back().first) return false;
    directory.pages.push_back(std::move(page));
  }
  directory.entries = in.varint();
  if (!directory.pages.empty() &&
      (directory.pages.front().first != 0 || directory.pages.back().first >= directory.entries))
    return false;
  for (size_t i = 1; i < directory.ranks.size(); ++i)
    if (directory.ranks[i].rank <= directory.ranks[i - 1].rank) return false;
  return in.done();
}

std::string encode(const RankHeader& header, uint64_t offset, uint32_t version) {
  std::string out;
  uint64_t all = header.metadata.size;
  for (const Block& block : header.groups) all += block.size;
  put_varint(out, zigzag(header.rank));
  put_varint(out, zigzag(header.master - header.rank));
  put_varint(out, header.nodes);
  put_varint(out, header.group_nodes);
  put_varint(out, offset - all);
  put_varint(out, header.columns.size());
  uint64_t last = 0;
  for (const uint64_t column : header.columns) put_varint(out, column - std::exchange(last, column));
  if (version >= kVersionOfChanges)
    for (const std::string* const changes : {&header.changes.values, &header.changes.numbers}) {
      put_varint(out, changes->size());
      out += *changes;
    }
  const auto put = [&](const Block& block) {
    put_varint(out, block.size);
    if (block.size > 0) put_fixed(out, block.checksum, 4);
  };
  put(header.metadata);
  // Groups that are the master's come in runs.
  for (size_t i = 0; i < header.groups.size();) {
    if (header.groups[i].size > 0) {
      put(header.groups[i++]);
      continue;
    }
    const size_t begin = i;
    while (i < header.groups.size() && header.groups[i].size == 0) ++i;
    put_varint(out, 0);
    put_varint(out, i - begin);
  }
  return out;
}

bool decode(std::string_view bytes, RankHeader& header, uint32_t version) {
  ByteReader in(bytes);
  header.rank = unzigzag(in.varint());
  header.master =
      static_cast<int64_t>(static_cast<uint64_t>(header.rank) + static_cast<uint64_t>(unzigzag(in.varint())));
  header.nodes = in.varint();
  header.group_nodes = in.varint();
  uint64_t at = in.varint(), last = 0;
  for (uint64_t left = in.varint(); left > 0 && in.ok; --left) {
    const uint64_t step = in.varint();
    if (step > UINT32_MAX - last || (step == 0 && !header.columns.empty())) return false;
    header.columns.push_back(last += step);
  }
  if (version >= kVersionOfChanges)
    for (std::string* const changes : {&header.changes.values, &header.changes.numbers})
      *changes = in.bytes(in.varint());
  if (header.alone() && !(header.changes.values.empty() && header.changes.numbers.empty())) return false;
  if (!in.ok || header.group_nodes == 0) return false;
  const auto block = [&](uint64_t size) {
    Block read{at, size, static_cast<uint32_t>(in.fixed(4))};
    at += size;
    return read;
  };
  if (const uint64_t size = in.varint()) header.metadata = block(size);
  const uint64_t groups = header.nodes / header.group_nodes + (header.nodes % header.group_nodes != 0);
  while (in.ok && header.groups.size() < groups) {
    if (const uint64_t size = in.varint()) {
      header.groups.push_back(block(size));
      continue;
    }
    const uint64_t run = in.varint();
    // A rank that stands alone has all its blocks; the run is short, for nodes fill the master's groups.
    if (!in.ok || run == 0 || run > groups - header.groups.size() || header.alone() || run > kMostBlock) return false;
    header.groups.resize(header.groups.size() + run);
  }
  return in.done();
}

}  // namespace chakra::pack
