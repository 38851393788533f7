#include "chakra/pack/stored.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "chakra/pack/metadata.h"

namespace chakra::pack {

Result<StoredFile> StoredFile::open(const std::string& path, uint64_t bytes) {
  StoredFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (file.fd_ < 0 || ::fstat(file.fd_, &status) != 0)
    return fail(Code::io, "base.file.open", fmt::format("cannot open: {}", std::strerror(errno)), {path});
  if (!S_ISREG(status.st_mode))
    return fail(Code::bad_input, "io.container.not_one", "a container can only be read from a file", {path});
  file.size_ = std::min(static_cast<uint64_t>(status.st_size), bytes);
  return file;
}

StoredFile::StoredFile(StoredFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      touched_(other.touched_.load()) {}
StoredFile::~StoredFile() {
  if (fd_ >= 0) ::close(fd_);
}

Failure StoredFile::damaged(std::string text, uint64_t at) const {
  return fail(Code::bad_input, "io.container.damaged", std::move(text), {path_, static_cast<int64_t>(at)});
}

Result<std::string> StoredFile::read(uint64_t offset, uint64_t length, std::string_view what) {
  if (offset > size_ || length > size_ - offset)
    return damaged(fmt::format("{} would lie beyond the end of the file", what), std::min(offset, size_));
  std::string bytes(length, '\0');
  for (size_t done = 0; done < length;) {
    const ssize_t got = ::pread(fd_, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(Code::io, "base.file.read",
                  fmt::format("cannot read: {}", got < 0 ? std::strerror(errno) : "it has shrunk"),
                  {path_, static_cast<int64_t>(offset)});
    done += static_cast<size_t>(got);
  }
  touched_ += static_cast<int64_t>(length);
  return bytes;
}

size_t StoredFile::most_unpacked() const {
  return std::clamp<uint64_t>(std::min<uint64_t>(size_, kMostBlock) * kMostUnpackedTimes, kSmallBlock, kMostBlock);
}

Result<std::string> StoredFile::block(const Block& block, std::string_view before, std::string_view what) {
  CHAKRA_ASSIGN(const std::string packed, read(block.offset, block.size, what));
  if (checksum(packed) != block.checksum)
    return damaged(fmt::format("{} is damaged: its checksum is wrong", what), block.offset);
  std::string bytes;
  if (!unpack(packed, before, bytes, most_unpacked())) {
    if (bytes.size() <= most_unpacked()) return damaged(fmt::format("{} cannot be unpacked", what), block.offset);
    return fail(Code::bad_input, "base.unpack.limit",
                fmt::format("{} unpacks to more than {} bytes, too many for this file", what, most_unpacked()),
                {path_, static_cast<int64_t>(block.offset)});
  }
  return bytes;
}

Result<void> Stored::check_header() {
  CHAKRA_ASSIGN(const std::string header, file.read(0, kHeader, "the header"));
  if (!header.starts_with(kMagic))
    return fail(Code::bad_input, "io.container.not_one", "the file is not a container of a job", {file.path(), 0});
  ByteReader head(std::string_view(header).substr(kMagic.size()));
  version = static_cast<uint32_t>(head.fixed(4));
  if (head.fixed(4) != checksum(std::string_view(header).substr(0, kHeader - 4)))
    return file.damaged("the header is damaged", 0);
  if (version == 0 || version > kVersion)
    return fail(Code::bad_input, "io.container.version", fmt::format("unknown version {}", version), {file.path(), 8});
  return {};
}

Result<Block> Stored::read_trailer() {
  const uint64_t at = file.size() - kTrailer;
  CHAKRA_ASSIGN(const std::string trailer, file.read(at, kTrailer, "the trailer"));
  ByteReader in(trailer);
  Block block;
  block.offset = in.fixed(8);
  block.size = in.fixed(8);
  block.checksum = static_cast<uint32_t>(in.fixed(4));
  const uint64_t said = in.fixed(8);
  if (!trailer.ends_with(kEndMagic) || said != file.size())
    return fail(Code::bad_input, "io.container.truncated",
                "the file does not end with an index: it was truncated, or an append was interrupted; 'chakra doctor "
                "--repair' restores the state before an append",
                {file.path(), static_cast<int64_t>(at)});
  if (in.fixed(4) != checksum(std::string_view(trailer).substr(0, 28)))
    return file.damaged("the trailer is damaged", at);
  return block;
}

Result<void> Stored::load_directory() {
  if (file.size() < kHeader + kTrailer)
    return fail(Code::bad_input, "io.container.truncated", "the file ends before its index",
                {file.path(), static_cast<int64_t>(file.size())});
  CHAKRA_TRY(check_header());
  CHAKRA_ASSIGN(const Block block, read_trailer());
  CHAKRA_ASSIGN(const std::string bytes, file.block(block, {}, "the directory"));
  if (!decode(bytes, directory)) return file.damaged("the directory makes no sense", block.offset);
  has_page = std::vector<std::atomic<bool>>(directory.pages.size());
  return {};
}

const DirectoryEntry* Stored::entry_of(int64_t rank) const {
  const auto entry = std::lower_bound(directory.ranks.begin(), directory.ranks.end(), rank,
                                      [](const DirectoryEntry& e, int64_t r) { return e.rank < r; });
  return entry == directory.ranks.end() || entry->rank != rank ? nullptr : &*entry;
}

Result<const RankHeader*> Stored::header(int64_t rank) {
  const std::lock_guard lock(mutex);
  if (const auto found = headers.find(rank); found != headers.end()) return &found->second;
  const DirectoryEntry* const entry = entry_of(rank);
  if (!entry)
    return fail(Code::bad_input, "io.container.rank", fmt::format("the container does not hold rank {}", rank),
                {file.path()});
  const std::string what = fmt::format("the index of rank {}", rank);
  CHAKRA_ASSIGN(const std::string stored, file.read(entry->header.offset, entry->header.size, what));
  std::string bytes;
  RankHeader header;
  if (stored.size() < 4) return file.damaged(what + " is too short", entry->header.offset);
  const std::string_view packed = std::string_view(stored).substr(0, stored.size() - 4);
  if (ByteReader(std::string_view(stored).substr(packed.size())).fixed(4) != checksum(packed))
    return file.damaged(what + " is damaged: its checksum is wrong", entry->header.offset);
  if (!unpack(packed, {}, bytes, file.most_unpacked()) || !decode(bytes, header, version) || header.rank != rank)
    return file.damaged(what + " makes no sense", entry->header.offset);
  return &headers.emplace(rank, std::move(header)).first->second;
}

Result<std::pair<const RankHeader*, const RankHeader*>> Stored::headers_of(int64_t rank) {
  CHAKRA_ASSIGN(const RankHeader* const own, header(rank));
  const RankHeader* master = own;
  if (!own->alone()) {
    CHAKRA_ASSIGN(master, header(own->master));
    if (!master->alone() || master->group_nodes != own->group_nodes)
      return file.damaged(
          fmt::format("rank {} is stored as a difference from rank {}, which is invalid", rank, own->master), 0);
  }
  return std::pair(own, master);
}

Result<void> Stored::read_page(Page& page) {
  CHAKRA_ASSIGN(page.bytes, file.block(page.block, {}, fmt::format("the dictionary from entry {} on", page.first)));
  ByteReader in(page.bytes);
  while (in.ok && !in.done()) page.entries.push_back(in.bytes(in.varint()));
  const uint64_t next = &page == &directory.pages.back() ? directory.entries : (&page + 1)->first;
  if (in.ok && page.entries.size() == next - page.first) return {};
  page.entries.clear();
  return file.damaged("the dictionary makes no sense", page.block.offset);
}

Result<std::string_view> Stored::entry(uint64_t id) {
  auto page = std::upper_bound(directory.pages.begin(), directory.pages.end(), id,
                               [](uint64_t i, const Page& p) { return i < p.first; });
  if (page == directory.pages.begin() || id >= directory.entries)
    return file.damaged("an entry that the dictionary does not have", 0);
  --page;
  std::atomic<bool>& has = has_page[static_cast<size_t>(page - directory.pages.begin())];
  if (!has.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex);
    if (!has) CHAKRA_TRY(read_page(*page));
    has.store(true, std::memory_order_release);
  }
  return page->entries[id - page->first];
}

Result<std::string> Stored::metadata(const RankHeader& own, const RankHeader& master) {
  std::string before;
  if (!own.alone()) {
    CHAKRA_ASSIGN(before, file.block(master.metadata, {}, fmt::format("the metadata of rank {}", master.rank)));
    if (!own.changes.numbers.empty()) {
      std::optional<std::string> message = with_differences(before, own.changes.numbers);
      if (!message)
        return file.damaged(fmt::format("the metadata of rank {} do not fit those of rank {}", own.rank, master.rank),
                            master.metadata.offset);
      return std::move(*message);
    }
    if (own.metadata.size == 0) return before;
  }
  return file.block(own.metadata, before, fmt::format("the metadata of rank {}", own.rank));
}

/// The columns of a group of a rank that stands alone.
Result<void> Stored::columns_of_master(const RankHeader& master, size_t group, UnpackedGroup& unpacked) {
  if (unpacked.base.empty()) {
    CHAKRA_ASSIGN(unpacked.base, file.block(master.groups[0], {}, name_of_block(master, 0)));
  }
  if (group > 0) {
    CHAKRA_ASSIGN(unpacked.of_master, file.block(master.groups[group], unpacked.base, name_of_block(master, group)));
  }
  CHAKRA_ASSIGN(unpacked.columns, split(master, group, group > 0 ? unpacked.of_master : unpacked.base));
  return {};
}

Result<ColumnViews> Stored::split(const RankHeader& header, size_t group, std::string_view bytes) const {
  ColumnViews columns;
  ByteReader in(bytes);
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < header.columns.size() && in.ok; ++i) sizes.push_back(in.varint());
  for (size_t i = 0; i < sizes.size() && in.ok; ++i)
    if (const std::string_view column = in.bytes(sizes[i]); !column.empty())
      columns.emplace_back(static_cast<uint32_t>(header.columns[i]), column);
  if (!in.done()) return file.damaged(name_of_block(header, group) + " makes no sense", header.groups[group].offset);
  return columns;
}

Result<void> Stored::columns(const RankHeader& own, const RankHeader& master, size_t group, UnpackedGroup& unpacked) {
  unpacked.columns.clear();
  if (group < master.groups.size()) CHAKRA_TRY(columns_of_master(master, group, unpacked));
  if (own.alone() || own.groups[group].size == 0) return {};
  const std::string before = joined(own.columns, unpacked.columns);
  CHAKRA_ASSIGN(unpacked.own, file.block(own.groups[group], before, name_of_block(own, group)));
  CHAKRA_ASSIGN(ColumnViews changed, split(own, group, unpacked.own));
  for (const auto& [id, bytes] : unpacked.columns)
    if (!std::binary_search(own.columns.begin(), own.columns.end(), id)) changed.emplace_back(id, bytes);
  std::sort(changed.begin(), changed.end());
  unpacked.columns = std::move(changed);
  return {};
}

std::string name_of_block(const RankHeader& header, size_t group) {
  const uint64_t first = group * header.group_nodes;
  return fmt::format("the block of nodes {} to {} of rank {}", first,
                     std::min(header.nodes, first + header.group_nodes) - 1, header.rank);
}

std::string_view find_column(const Columns& columns, uint64_t id) {
  const auto found = columns.find(static_cast<uint32_t>(id));
  return found == columns.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view find_column(const ColumnViews& columns, uint64_t id) {
  const auto found = std::lower_bound(columns.begin(), columns.end(), id,
                                      [](const auto& column, uint64_t wanted) { return column.first < wanted; });
  return found == columns.end() || found->first != id ? std::string_view() : found->second;
}

}  // namespace chakra::pack
