#include "chakra/io/container.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <isa-l/crc.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>

#include "chakra/io/columns.h"
#include "chakra/io/file_lock.h"

namespace chakra::io {
namespace {

constexpr std::string_view kMagic = "CHAKRAJB", kEndMagic = "CHAKRAJE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 16;   ///< magic, version, checksum
constexpr size_t kTrailer = 40;  ///< directory: offset, size, checksum; size of the file; checksum; magic
constexpr size_t kPageBytes = size_t{1} << 15;
constexpr size_t kMostBlock = size_t{1} << 30;  ///< unpacked
/// A larger block has at most kMostUnpackedTimes the bytes of the file, else it is a few bytes that never end.
constexpr size_t kSmallBlock = size_t{1} << 24;
/// Masters whose columns are kept to compare with.
constexpr size_t kMostMasters = 16, kMostMasterBytes = size_t{1} << 28;
/// zstd's levels: differences and small traces the best, large traces in the time that reading them takes.
constexpr int kBest = 19, kFast = 3;
constexpr size_t kLarge = size_t{4} << 20;  ///< bytes of columns

uint32_t checksum(std::string_view bytes) {
  return crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data())), static_cast<int>(bytes.size()),
                     ~0u);
}

/// Where a block is, and what it must be.
struct Block {
  uint64_t offset = 0, size = 0;
  uint32_t checksum = 0;
};

/// A block's first byte says how it is packed.
enum class Packed : char { plain, zstd };

/// Packs bytes against `before`, which unpack() is also given.
class BlockPacker {
 public:
  BlockPacker() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {}

  std::string pack(std::string_view bytes, std::string_view before, int level = kBest) {
    std::string out(1 + ZSTD_compressBound(bytes.size()), static_cast<char>(Packed::zstd));
    ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 0);
    if (!before.empty()) {
      const auto wanted = static_cast<int>(std::bit_width(bytes.size() + before.size()));
      ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, std::clamp(wanted, 10, 27));
      ZSTD_CCtx_refPrefix(context_.get(), before.data(), before.size());
    }
    const size_t size = ZSTD_compress2(context_.get(), out.data() + 1, out.size() - 1, bytes.data(), bytes.size());
    const bool too_well = bytes.size() > kSmallBlock && bytes.size() / size >= kMostUnpackedTimes;  // to be unpacked
    if (ZSTD_isError(size) || size >= bytes.size() || too_well) {
      out.assign(1, static_cast<char>(Packed::plain));
      return out += bytes;
    }
    out.resize(1 + size);
    return out;
  }

 private:
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
};

/// False if it cannot be unpacked, or gives more than `most` bytes. Memory grows with what comes out.
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
  ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  if (!before.empty()) ZSTD_DCtx_refPrefix(context.get(), before.data(), before.size());
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

struct Page {
  Block block;
  uint64_t first = 0;  ///< id of its first entry
  std::string bytes;   ///< unpacked; empty until it is needed
  std::vector<std::string_view> entries;
};

/// What the block of a rank says.
struct RankHeader {
  int64_t rank = 0, master = 0;
  uint64_t nodes = 0, group_nodes = 1;
  std::vector<uint64_t> columns;  ///< its own; the others are its master's
  Block metadata;                 ///< size 0: the master's
  std::vector<Block> groups;      ///< size 0: the master's
  bool alone() const { return rank == master; }
};

constexpr uint64_t kLeastHeader = 10;  ///< bytes of a rank's index: its kind, numbers, checksum

struct DirectoryEntry {
  int64_t rank = 0;
  Block header;
};

struct Directory {
  std::vector<DirectoryEntry> ranks;
  std::vector<Page> pages;
  uint64_t entries = 0;  ///< of the dictionary
};

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

/// The blocks of a rank stand one behind the other before its header, the metadata first.
std::string encode(const RankHeader& header, uint64_t offset) {
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

bool decode(std::string_view bytes, RankHeader& header) {
  ByteReader in(bytes);
  header.rank = unzigzag(in.varint());
  header.master =
      static_cast<int64_t>(static_cast<uint64_t>(header.rank) + static_cast<uint64_t>(unzigzag(in.varint())));
  header.nodes = in.varint();
  header.group_nodes = in.varint();
  uint64_t at = in.varint(), last = 0;
  for (uint64_t left = in.varint(); left > 0 && in.ok; --left) header.columns.push_back(last += in.varint());
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

}  // namespace

// ---- reading -------------------------------------------------------------------------------------

struct Container::State {
  std::string file;
  int fd = -1;
  uint64_t size = 0;
  int64_t touched = 0;
  Directory directory;
  std::map<int64_t, RankHeader> headers;
  EntryOf entry_of;

  ~State() {
    if (fd >= 0) ::close(fd);
  }

  tl::unexpected<Error> damaged(std::string text, uint64_t at) const {
    return fail(Code::bad_input, "io.container.damaged", std::move(text), {file, static_cast<int64_t>(at)});
  }

  Result<std::string> read(uint64_t offset, uint64_t length, std::string_view what) {
    if (offset > size || length > size - offset)
      return damaged(fmt::format("{} would lie beyond the end of the file", what), std::min(offset, size));
    std::string bytes(length, '\0');
    for (size_t done = 0; done < length;) {
      const ssize_t got = ::pread(fd, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        return fail(Code::io, "base.file.read",
                    fmt::format("cannot read: {}", got < 0 ? std::strerror(errno) : "it has shrunk"),
                    {file, static_cast<int64_t>(offset)});
      done += static_cast<size_t>(got);
    }
    touched += static_cast<int64_t>(length);
    return bytes;
  }

  /// Of a block.
  size_t most_unpacked() const {
    return std::clamp<uint64_t>(std::min<uint64_t>(size, kMostBlock) * kMostUnpackedTimes, kSmallBlock, kMostBlock);
  }

  /// A block, checked and unpacked.
  Result<std::string> block(const Block& block, std::string_view before, std::string_view what) {
    CHAKRA_ASSIGN(const std::string packed, read(block.offset, block.size, what));
    if (checksum(packed) != block.checksum)
      return damaged(fmt::format("{} is damaged: its checksum is wrong", what), block.offset);
    std::string bytes;
    if (!unpack(packed, before, bytes, most_unpacked())) {
      if (bytes.size() <= most_unpacked()) return damaged(fmt::format("{} cannot be unpacked", what), block.offset);
      return fail(Code::bad_input, "base.unpack.limit",
                  fmt::format("{} unpacks to more than {} bytes, too much for this file", what, most_unpacked()),
                  {file, static_cast<int64_t>(block.offset)});
    }
    return bytes;
  }

  Result<void> load_directory() {
    if (size < kHeader + kTrailer)
      return fail(Code::bad_input, "io.container.truncated", "the file ends before its index",
                  {file, static_cast<int64_t>(size)});
    CHAKRA_ASSIGN(const std::string header, read(0, kHeader, "the header"));
    if (!header.starts_with(kMagic))
      return fail(Code::bad_input, "io.container.not_one", "this is no container of a job", {file, 0});
    ByteReader head(std::string_view(header).substr(kMagic.size()));
    const auto version = static_cast<uint32_t>(head.fixed(4));
    if (head.fixed(4) != checksum(std::string_view(header).substr(0, kHeader - 4)))
      return damaged("the header is damaged", 0);
    if (version != kVersion)
      return fail(Code::bad_input, "io.container.version", fmt::format("version {} is not known here", version),
                  {file, 8});
    const uint64_t at = size - kTrailer;
    CHAKRA_ASSIGN(const std::string trailer, read(at, kTrailer, "the trailer"));
    ByteReader in(trailer);
    Block block;
    block.offset = in.fixed(8);
    block.size = in.fixed(8);
    block.checksum = static_cast<uint32_t>(in.fixed(4));
    const uint64_t said = in.fixed(8);
    if (!trailer.ends_with(kEndMagic) || said != size)
      return fail(Code::bad_input, "io.container.truncated",
                  "the file does not end with an index: it was cut, or adding to it was; 'chakra doctor --repair' "
                  "restores it as it was before that",
                  {file, static_cast<int64_t>(at)});
    if (in.fixed(4) != checksum(std::string_view(trailer).substr(0, 28))) return damaged("the trailer is damaged", at);
    CHAKRA_ASSIGN(const std::string bytes, this->block(block, {}, "the directory"));
    if (!decode(bytes, directory)) return damaged("the directory makes no sense", block.offset);
    return {};
  }

  Result<const RankHeader*> header(int64_t rank) {
    if (const auto found = headers.find(rank); found != headers.end()) return &found->second;
    const auto entry = std::lower_bound(directory.ranks.begin(), directory.ranks.end(), rank,
                                        [](const DirectoryEntry& e, int64_t r) { return e.rank < r; });
    if (entry == directory.ranks.end() || entry->rank != rank)
      return fail(Code::bad_input, "io.container.rank", fmt::format("it does not hold rank {}", rank), {file});
    const std::string what = fmt::format("the index of rank {}", rank);
    CHAKRA_ASSIGN(const std::string stored, read(entry->header.offset, entry->header.size, what));
    std::string bytes;
    RankHeader header;
    if (stored.size() < 4) return damaged(what + " is too short", entry->header.offset);
    const std::string_view packed = std::string_view(stored).substr(0, stored.size() - 4);
    if (ByteReader(std::string_view(stored).substr(packed.size())).fixed(4) != checksum(packed))
      return damaged(what + " is damaged: its checksum is wrong", entry->header.offset);
    if (!unpack(packed, {}, bytes, most_unpacked()) || !decode(bytes, header) || header.rank != rank)
      return damaged(what + " makes no sense", entry->header.offset);
    return &headers.emplace(rank, std::move(header)).first->second;
  }

  /// A rank's header and that of its master, which stands alone.
  Result<std::pair<const RankHeader*, const RankHeader*>> headers_of(int64_t rank) {
    CHAKRA_ASSIGN(const RankHeader* const own, header(rank));
    const RankHeader* master = own;
    if (!own->alone()) {
      CHAKRA_ASSIGN(master, header(own->master));
      if (!master->alone() || master->group_nodes != own->group_nodes)
        return damaged(
            fmt::format("rank {} is stored as a difference from rank {}, which cannot be", rank, own->master), 0);
    }
    return std::pair(own, master);
  }

  Result<std::string_view> entry(uint64_t id) {
    auto page = std::upper_bound(directory.pages.begin(), directory.pages.end(), id,
                                 [](uint64_t i, const Page& p) { return i < p.first; });
    if (page == directory.pages.begin() || id >= directory.entries)
      return damaged("an entry that the dictionary does not have", 0);
    --page;
    if (page->entries.empty()) {
      CHAKRA_ASSIGN(page->bytes, block(page->block, {}, fmt::format("the dictionary from entry {} on", page->first)));
      ByteReader in(page->bytes);
      while (in.ok && !in.done()) page->entries.push_back(in.bytes(in.varint()));
      const uint64_t next = &*page == &directory.pages.back() ? directory.entries : (page + 1)->first;
      if (!in.ok || page->entries.size() != next - page->first) {
        page->entries.clear();
        return damaged("the dictionary makes no sense", page->block.offset);
      }
    }
    return page->entries[id - page->first];
  }

  Result<std::string> metadata(const RankHeader& own, const RankHeader& master) {
    std::string before;
    if (!own.alone()) {
      CHAKRA_ASSIGN(before, block(master.metadata, {}, fmt::format("the metadata of rank {}", master.rank)));
      if (own.metadata.size == 0) return before;
    }
    return block(own.metadata, before, fmt::format("the metadata of rank {}", own.rank));
  }

  std::string name(const RankHeader& header, size_t group) const {
    const uint64_t first = group * header.group_nodes;
    return fmt::format("the block of nodes {} to {} of rank {}", first,
                       std::min(header.nodes, first + header.group_nodes) - 1, header.rank);
  }

  /// The columns of a group of a rank that stands alone; `base` is its first group unpacked, where it is known.
  Result<Columns> columns_of_master(const RankHeader& master, size_t group, std::string& base) {
    if (base.empty()) {
      CHAKRA_ASSIGN(base, block(master.groups[0], {}, name(master, 0)));
    }
    std::string bytes;
    if (group > 0) {
      CHAKRA_ASSIGN(bytes, block(master.groups[group], base, name(master, group)));
    }
    return split(master, group, group > 0 ? bytes : base);
  }

  Result<Columns> split(const RankHeader& header, size_t group, std::string_view bytes) const {
    Columns columns;
    ByteReader in(bytes);
    std::vector<uint64_t> sizes;
    for (size_t i = 0; i < header.columns.size() && in.ok; ++i) sizes.push_back(in.varint());
    for (size_t i = 0; i < sizes.size() && in.ok; ++i)
      if (const std::string_view column = in.bytes(sizes[i]); !column.empty())
        columns.emplace(static_cast<uint32_t>(header.columns[i]), column);
    if (!in.done()) return damaged(name(header, group) + " makes no sense", header.groups[group].offset);
    return columns;
  }

  Result<Columns> columns(const RankHeader& own, const RankHeader& master, size_t group, std::string& base) {
    Columns columns;
    if (group < master.groups.size()) {
      CHAKRA_ASSIGN(columns, columns_of_master(master, group, base));
    }
    if (own.alone() || own.groups[group].size == 0) return columns;
    const std::string before = joined(own.columns, columns);
    CHAKRA_ASSIGN(const std::string bytes, block(own.groups[group], before, name(own, group)));
    CHAKRA_ASSIGN(Columns changed, split(own, group, bytes));
    for (const uint64_t column : own.columns) columns.erase(static_cast<uint32_t>(column));
    columns.merge(changed);
    return columns;
  }

  /// Sizes, then bytes, of some columns.
  static std::string joined(const std::vector<uint64_t>& wanted, const Columns& columns) {
    std::string out;
    size_t all = 0;
    for (const uint64_t column : wanted) {
      const auto found = columns.find(static_cast<uint32_t>(column));
      const size_t size = found == columns.end() ? 0 : found->second.size();
      put_varint(out, size);
      all += size;
    }
    out.reserve(out.size() + all);
    for (const uint64_t column : wanted)
      if (const auto found = columns.find(static_cast<uint32_t>(column)); found != columns.end()) out += found->second;
    return out;
  }
};

namespace {

/// Metadata and a window of the nodes of a rank.
class ContainerSource : public RecordSource {
 public:
  ContainerSource(ContainerPtr container, Container::State& state, const RankHeader& own, const RankHeader& master,
                  uint64_t first, uint64_t last)
      : container_(std::move(container)), state_(state), own_(own), master_(master), node_(first), last_(last) {}

  Result<bool> next(std::string_view& message) override {
    if (!std::exchange(any_metadata_, true)) {
      at_ = own_.metadata.size ? own_.metadata.offset : master_.metadata.offset;
      CHAKRA_ASSIGN(metadata_, state_.metadata(own_, master_));
      message = metadata_;
      return true;
    }
    if (node_ >= last_) return false;
    const size_t group = node_ / own_.group_nodes;
    if (!reader_ || group != group_) {
      CHAKRA_TRY(begin(group));
      for (uint64_t skip = node_ % own_.group_nodes; skip > 0; --skip) CHAKRA_TRY(read());
    }
    CHAKRA_TRY(read());
    out_.clear();
    encode(record_, out_);
    message = out_.view();
    ++node_;
    return true;
  }
  Place place() const override { return {state_.file, static_cast<int64_t>(at_)}; }

 private:
  Result<void> begin(size_t group) {
    reader_.reset();
    group_ = group;
    const Block& block =
        own_.groups[group].size || group >= master_.groups.size() ? own_.groups[group] : master_.groups[group];
    at_ = block.offset;
    CHAKRA_ASSIGN(columns_, state_.columns(own_, master_, group, base_));
    auto reader = ColumnReader::create(columns_, state_.entry_of);
    if (!reader) return named(std::move(reader.error()));
    reader_ = std::move(*reader);
    return {};
  }
  Result<void> read() {
    Result<bool> more = reader_->next(record_);
    if (!more) return named(std::move(more.error()));
    if (!*more) return state_.damaged(state_.name(own_, group_) + " holds fewer nodes than the index says", at_);
    return {};
  }
  tl::unexpected<Error> named(Error error) const {
    if (error.place.file.empty())
      return state_.damaged(fmt::format("{}: {}", state_.name(own_, group_), error.text), at_);
    return tl::unexpected<Error>(std::move(error));
  }

  ContainerPtr container_;
  Container::State& state_;
  const RankHeader &own_, &master_;
  uint64_t node_, last_;
  bool any_metadata_ = false;
  std::string metadata_, base_;
  size_t group_ = 0;
  Columns columns_;
  std::unique_ptr<ColumnReader> reader_;
  NodeRecord record_;
  wire::Bytes out_;
  uint64_t at_ = 0;
};

}  // namespace

Container::Container(std::unique_ptr<State> state) : state_(std::move(state)) {}
Container::~Container() = default;

Result<ContainerPtr> Container::open(const std::string& path) {
  return open_beginning(path, std::numeric_limits<uint64_t>::max());
}

Result<ContainerPtr> Container::open_beginning(const std::string& path, uint64_t bytes) {
  auto state = std::make_unique<State>();
  state->file = path;
  state->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (state->fd < 0 || ::fstat(state->fd, &status) != 0)
    return fail(Code::io, "base.file.open", fmt::format("cannot open: {}", std::strerror(errno)), {path});
  if (!S_ISREG(status.st_mode))
    return fail(Code::bad_input, "io.container.not_one", "a container can only be read from a file", {path});
  state->size = std::min(static_cast<uint64_t>(status.st_size), bytes);
  CHAKRA_TRY(state->load_directory());
  State* const raw = state.get();
  state->entry_of = [raw](uint64_t id) { return raw->entry(id); };
  ContainerPtr container(new Container(std::move(state)));
  for (const DirectoryEntry& entry : raw->directory.ranks) container->ranks_.push_back(entry.rank);
  return container;
}

Result<std::unique_ptr<RecordSource>> Container::open_rank(int64_t rank, int64_t first, int64_t count) {
  CHAKRA_ASSIGN(const auto headers, state_->headers_of(rank));
  const auto& [own, master] = headers;
  const uint64_t begin = std::min<uint64_t>(own->nodes, static_cast<uint64_t>(std::max<int64_t>(first, 0)));
  const uint64_t left = own->nodes - begin;
  return std::make_unique<ContainerSource>(shared_from_this(), *state_, *own, *master, begin,
                                           begin + std::min(left, static_cast<uint64_t>(std::max<int64_t>(count, 0))));
}

Result<Container::RankInfo> Container::info(int64_t rank) {
  CHAKRA_ASSIGN(const RankHeader* const header, state_->header(rank));
  RankInfo info;
  info.nodes = static_cast<int64_t>(header->nodes);
  info.master = header->master;
  uint64_t bytes = header->metadata.size;
  for (const Block& block : header->groups) bytes += block.size;
  for (const DirectoryEntry& entry : state_->directory.ranks)
    if (entry.rank == rank) bytes += entry.header.size;
  info.bytes = static_cast<int64_t>(bytes);
  return info;
}

int64_t Container::size() const { return static_cast<int64_t>(state_->size); }
int64_t Container::touched() const { return state_->touched; }

Result<void> Container::verify() {
  for (const int64_t rank : ranks_) {
    CHAKRA_ASSIGN(const auto source, open_rank(rank));
    std::string_view message;
    for (;;) {
      CHAKRA_ASSIGN(const bool more, source->next(message));
      if (!more) break;
    }
  }
  return {};
}

bool sniff_container(std::string_view head) { return head.starts_with(kMagic); }

// ---- writing -------------------------------------------------------------------------------------

namespace {

/// A rank in memory: groups of columns.
struct RankColumns {
  RankHeader header;
  std::string metadata;
  std::vector<Columns> groups;
  size_t bytes = 0;
};

class Collector : public RecordSink {
 public:
  Collector(RankColumns& to, ColumnWriter& writer) : to_(to), writer_(writer) {}
  Result<void> metadata(std::string_view message, const MetadataRecord&) override {
    to_.metadata = message;
    return {};
  }
  Result<void> node(std::string_view, const NodeRecord& record) override {
    CHAKRA_TRY(writer_.add(record));
    ++to_.header.nodes;
    if (static_cast<uint64_t>(writer_.nodes()) == to_.header.group_nodes) take();
    return {};
  }
  Result<void> finish() override {
    if (writer_.nodes() > 0) take();
    return {};
  }

 private:
  void take() {
    Columns& columns = to_.groups.emplace_back(writer_.take());
    for (const auto& [id, bytes] : columns) to_.bytes += bytes.size();
  }
  RankColumns& to_;
  ColumnWriter& writer_;
};

/// The file that is written: a new one. What is added to begins as a copy, which takes the place of the old file when
/// it is whole: the old one stays as it is until then.
class Output {
 public:
  static Result<Output> create(const std::string& path) {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
    return Output(std::move(file));
  }
  static Result<Output> append(Container::State& old) {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    CHAKRA_ASSIGN(Output out, create(old.file));
    while (out.at_ < old.size) {
      CHAKRA_ASSIGN(const std::string piece, old.read(out.at_, std::min(kPiece, old.size - out.at_), "the container"));
      CHAKRA_TRY(out.write(piece));
    }
    out.sync_ = true;
    return out;
  }

  uint64_t at() const { return at_; }
  Result<void> write(std::string_view bytes) {
    at_ += bytes.size();
    return file_.write(bytes);
  }
  Result<void> commit() {
    if (sync_) CHAKRA_TRY(file_.sync());
    return file_.commit();
  }

 private:
  explicit Output(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  bool sync_ = false;  ///< the disk has it before the old file goes
  uint64_t at_ = 0;
};

}  // namespace

struct Packer::State {
  Output out;
  uint64_t group_nodes = kGroupNodes;
  Directory directory;
  Dictionary dictionary;
  uint64_t written_entries = 0;
  ColumnWriter columns{dictionary};
  std::list<RankColumns> masters;  ///< the last one first
  BlockPacker packer;
  std::optional<FileLock> lock;  ///< of the container that is added to

  explicit State(Output output) : out(std::move(output)) {}

  Result<Block> write_block(std::string_view bytes, std::string_view before, int level = kBest) {
    const std::string packed = packer.pack(bytes, before, level);
    Block block{out.at(), packed.size(), checksum(packed)};
    CHAKRA_TRY(out.write(packed));
    return block;
  }

  /// New entries of the dictionary, in pages.
  Result<void> write_pages(bool all) {
    for (;;) {
      std::string bytes;
      uint64_t id = written_entries;
      for (; id < dictionary.size() && bytes.size() < kPageBytes; ++id) {
        const std::string_view entry = dictionary[static_cast<uint32_t>(id)];
        put_varint(bytes, entry.size());
        bytes += entry;
      }
      if (bytes.empty() || (bytes.size() < kPageBytes && !all)) return {};
      Page page;
      page.first = written_entries;
      CHAKRA_ASSIGN(page.block, write_block(bytes, {}));
      directory.pages.push_back(std::move(page));
      written_entries = id;
    }
  }

  /// Columns that are not the same in all groups of both.
  static std::vector<uint64_t> differing(const RankColumns& rank, const RankColumns& master, size_t& bytes) {
    std::map<uint32_t, bool> differ;
    static const std::string nothing;
    const auto compare = [&](const Columns& left, const Columns& right) {
      for (const auto& [id, column] : left) {
        const auto other = right.find(id);
        if ((other == right.end() ? nothing : other->second) != column) differ[id] = true;
      }
    };
    static const Columns none;
    for (size_t g = 0; g < rank.groups.size(); ++g) {
      const Columns& other = g < master.groups.size() ? master.groups[g] : none;
      compare(rank.groups[g], other);
      compare(other, rank.groups[g]);
    }
    std::vector<uint64_t> own;
    for (const auto& [id, yes] : differ) own.push_back(id);
    bytes = 0;
    for (const Columns& group : rank.groups)
      for (const uint64_t id : own)
        if (const auto found = group.find(static_cast<uint32_t>(id)); found != group.end())
          bytes += found->second.size();
    return own;
  }

  Result<void> write_rank(RankColumns rank) {
    const RankColumns* master = nullptr;
    size_t least = rank.bytes / 2;  // worth it below half
    for (const RankColumns& candidate : masters) {
      if (candidate.header.group_nodes != rank.header.group_nodes) continue;
      size_t bytes = 0;
      std::vector<uint64_t> own = differing(rank, candidate, bytes);
      if (bytes >= least && !(bytes == 0 && least == 0)) continue;
      master = &candidate;
      least = bytes;
      rank.header.columns = std::move(own);
      if (bytes == 0) break;
    }
    RankHeader& header = rank.header;
    header.master = master ? master->header.rank : header.rank;
    if (!master) {
      std::map<uint32_t, bool> all;
      for (const Columns& group : rank.groups)
        for (const auto& [id, bytes] : group) all[id] = true;
      header.columns.clear();
      for (const auto& [id, yes] : all) header.columns.push_back(id);
    }
    CHAKRA_TRY(write_pages(false));
    if (!master || master->metadata != rank.metadata) {
      CHAKRA_ASSIGN(header.metadata,
                    write_block(rank.metadata, master ? std::string_view(master->metadata) : std::string_view()));
    }
    static const Columns none;
    std::string first;
    for (size_t g = 0; g < rank.groups.size(); ++g) {
      const std::string bytes = Container::State::joined(header.columns, rank.groups[g]);
      std::string before = first;
      if (master) {
        const bool there = g < master->groups.size();
        before = Container::State::joined(header.columns, there ? master->groups[g] : none);
        if (there && before == bytes) {
          header.groups.emplace_back();
          continue;
        }
      }
      CHAKRA_ASSIGN(const Block block, write_block(bytes, before, !master && rank.bytes > kLarge ? kFast : kBest));
      header.groups.push_back(block);
      if (g == 0) first = bytes;
    }
    std::string packed = packer.pack(encode(header, out.at()), {});
    put_fixed(packed, checksum(packed), 4);
    directory.ranks.push_back({header.rank, {out.at(), packed.size(), 0}});
    CHAKRA_TRY(out.write(packed));
    if (!master) remember(std::move(rank));
    return {};
  }

  void remember(RankColumns rank) {
    masters.push_front(std::move(rank));
    size_t bytes = 0, kept = 0;
    for (auto it = masters.begin(); it != masters.end(); ++it) {
      bytes += it->bytes;
      if (++kept > kMostMasters || (bytes > kMostMasterBytes && kept > 1)) {
        masters.erase(it, masters.end());
        return;
      }
    }
  }
};

Packer::Packer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Packer::Packer(Packer&&) noexcept = default;
Packer::~Packer() = default;

Result<Packer> Packer::create(const std::string& path, int64_t group_nodes) {
  CHAKRA_ASSIGN(Output out, Output::create(path));
  auto state = std::make_unique<State>(std::move(out));
  state->group_nodes = static_cast<uint64_t>(std::max<int64_t>(group_nodes, 1));
  std::string header(kMagic);
  put_fixed(header, kVersion, 4);
  put_fixed(header, checksum(header), 4);
  CHAKRA_TRY(state->out.write(header));
  return Packer(std::move(state));
}

Result<Packer> Packer::append(const std::string& path) {
  CHAKRA_ASSIGN(FileLock lock, FileLock::wait(path));
  CHAKRA_ASSIGN(const ContainerPtr container, Container::open(path));
  Container::State& old = container->state();
  CHAKRA_ASSIGN(Output out, Output::append(old));
  auto state = std::make_unique<State>(std::move(out));
  state->lock = std::move(lock);
  for (uint64_t id = 0; id < old.directory.entries; ++id) {
    CHAKRA_ASSIGN(const std::string_view entry, old.entry(id));
    if (entry.empty() || state->dictionary.add(static_cast<EntryKind>(entry[0]), entry.substr(1)) != id)
      return old.damaged("the dictionary has an entry twice, or an empty one", 0);
  }
  state->written_entries = old.directory.entries;
  // The last masters, to compare with.
  for (const DirectoryEntry& entry : old.directory.ranks) {
    CHAKRA_ASSIGN(const RankHeader* const header, old.header(entry.rank));
    state->group_nodes = header->group_nodes;
    if (!header->alone()) continue;
    RankColumns rank;
    rank.header = *header;
    CHAKRA_ASSIGN(rank.metadata, old.metadata(*header, *header));
    std::string base;
    for (size_t g = 0; g < header->groups.size(); ++g) {
      CHAKRA_ASSIGN(Columns columns, old.columns(*header, *header, g, base));
      for (const auto& [id, bytes] : columns) rank.bytes += bytes.size();
      rank.groups.push_back(std::move(columns));
    }
    state->remember(std::move(rank));
  }
  for (Page& page : old.directory.pages) {
    page.bytes.clear();
    page.entries.clear();
  }
  state->directory = std::move(old.directory);
  return Packer(std::move(state));
}

Result<int64_t> Packer::add(std::optional<int64_t> rank, RecordSource& source) {
  RankColumns columns;
  columns.header.group_nodes = state_->group_nodes;
  Collector collector(columns, state_->columns);
  CHAKRA_ASSIGN(const Converted copied, copy_records(source, collector));
  if (rank && copied.rank && *copied.rank != *rank)
    return fail(Code::bad_input, "io.job.rank",
                fmt::format("its name says rank {}, its contents say rank {}", *rank, *copied.rank),
                {source.place().file});
  columns.header.rank = rank ? *rank : copied.rank.value_or(0);
  for (const DirectoryEntry& entry : state_->directory.ranks)
    if (entry.rank == columns.header.rank)
      return fail(Code::bad_input, "io.container.rank_twice", fmt::format("rank {} is in it already", entry.rank),
                  {source.place().file});
  CHAKRA_TRY(state_->write_rank(std::move(columns)));
  return copied.nodes;
}

Result<void> Packer::finish() {
  State& s = *state_;
  CHAKRA_TRY(s.write_pages(true));
  std::sort(s.directory.ranks.begin(), s.directory.ranks.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.rank < b.rank; });
  s.directory.entries = s.dictionary.size();
  CHAKRA_ASSIGN(const Block block, s.write_block(encode(s.directory), {}));
  std::string trailer;
  put_fixed(trailer, block.offset, 8);
  put_fixed(trailer, block.size, 8);
  put_fixed(trailer, block.checksum, 4);
  put_fixed(trailer, s.out.at() + kTrailer, 8);
  put_fixed(trailer, checksum(trailer), 4);
  trailer += kEndMagic;
  CHAKRA_TRY(s.out.write(trailer));
  return s.out.commit();
}

}  // namespace chakra::io
