#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "chakra/pack/file_lock.h"
#include "chakra/pack/metadata.h"
#include "chakra/pack/pack.h"
#include "chakra/pack/stored.h"
#include "chakra/pack/substitution.h"

namespace chakra::pack {
namespace {

constexpr size_t kPageBytes = size_t{1} << 15;
/// Masters whose columns are kept to compare with.
constexpr size_t kMostMasters = 16, kMostMasterBytes = size_t{1} << 28;
constexpr size_t kLarge = size_t{4} << 20;       ///< bytes of columns
constexpr size_t kSideBySide = size_t{1} << 16;  ///< bytes of columns whose blocks are packed by several threads

/// A rank in memory: groups of columns.
struct RankColumns {
  RankHeader header;
  std::string metadata;
  std::vector<Group> groups;
  size_t bytes = 0;

  void end_group(ColumnWriter& columns) {
    const Group& taken = groups.emplace_back(columns.take());
    for (const auto& [id, column] : taken.columns) bytes += column.size();
  }
};

/// A rank whose nodes are those of its master, but for changes of values.
struct Repeatable {
  int64_t master = 0;
  std::string values;
};

/// The file that is written: a new one. What is added to begins as a copy, which takes the place of the old file when
/// it is whole: the old one stays as it is until then.
class Output {
 public:
  static Result<Output> create(const std::string& path) {
    CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
    return Output(std::move(file));
  }
  static Result<Output> append(StoredFile& old) {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    CHAKRA_ASSIGN(Output out, create(old.path()));
    while (out.at_ < old.size()) {
      CHAKRA_ASSIGN(const std::string piece,
                    old.read(out.at_, std::min(kPiece, old.size() - out.at_), "the container"));
      CHAKRA_TRY(out.write(piece));
    }
    return out;
  }

  uint64_t at() const { return at_; }
  Result<void> write(std::string_view bytes) {
    at_ += bytes.size();
    return file_.write(bytes);
  }
  Result<void> commit() { return file_.commit(); }

 private:
  explicit Output(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  uint64_t at_ = 0;
};

}  // namespace

struct RankWriter::State {
  explicit State(const Dictionary& job) : dictionary(job) {}

  Dictionary dictionary;
  ColumnWriter columns{dictionary};
  RankColumns rank;
};

RankWriter::RankWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
RankWriter::RankWriter(RankWriter&&) noexcept = default;
RankWriter::~RankWriter() = default;

Result<void> RankWriter::node(const schema::NodeRecord& record) {
  RankColumns& rank = state_->rank;
  CHAKRA_TRY(state_->columns.add(record));
  ++rank.header.nodes;
  if (static_cast<uint64_t>(state_->columns.nodes()) == rank.header.group_nodes) rank.end_group(state_->columns);
  return {};
}

struct Packer::State {
  Output out;
  uint32_t version = kVersion;
  uint64_t group_nodes = kGroupNodes;
  Directory directory;
  std::unordered_set<int64_t> ranks;  ///< of the directory
  Dictionary dictionary;
  uint64_t written_entries = 0;
  std::list<RankColumns> masters;  ///< the last one first
  std::map<int64_t, Repeatable> repeatable;
  std::optional<FileLock> lock;  ///< of the container that is added to

  explicit State(Output output) : out(std::move(output)) {}

  Result<Block> write_packed(std::string_view packed) {
    Block block{out.at(), packed.size(), checksum(packed)};
    CHAKRA_TRY(out.write(packed));
    return block;
  }
  Result<Block> write_block(std::string_view bytes, std::string_view before) {
    return write_packed(pack_block(bytes, before));
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

  using ColumnBytes = std::map<uint32_t, size_t>;

  static ColumnBytes bytes_of(const RankColumns& rank) {
    ColumnBytes bytes;
    for (const Group& group : rank.groups)
      for (const auto& [id, column] : group.columns) bytes[id] += column.size();
    return bytes;
  }

  /// The columns that are not the same in all groups of both, and their bytes in the rank.
  struct Difference {
    std::set<uint64_t> columns;
    size_t bytes = 0;
  };
  /// Return none if the difference has `most` bytes or more, unless it is empty. `sizes`: of the rank, filled when a
  /// column differs.
  static std::optional<Difference> difference(const RankColumns& rank, ColumnBytes& sizes, const RankColumns& master,
                                              size_t most) {
    Difference found;
    const auto note = [&](uint32_t id, const std::string& left, const std::string& right) {
      if (found.columns.contains(id) || left == right) return;
      found.columns.insert(id);
      if (sizes.empty()) sizes = bytes_of(rank);
      if (const auto size = sizes.find(id); size != sizes.end()) found.bytes += size->second;
    };
    static const std::string nothing;
    static const Columns none;
    for (size_t g = 0; g < rank.groups.size(); ++g) {
      const Columns &own = rank.groups[g].columns, &others = g < master.groups.size() ? master.groups[g].columns : none;
      auto other = others.begin();
      for (const auto& [id, column] : own) {
        for (; other != others.end() && other->first < id; ++other) note(other->first, nothing, other->second);
        const bool both = other != others.end() && other->first == id;
        note(id, column, both ? (other++)->second : nothing);
      }
      for (; other != others.end(); ++other) note(other->first, nothing, other->second);
      if (found.bytes > 0 && found.bytes >= most) return std::nullopt;
    }
    return found;
  }

  Result<void> write_metadata(RankColumns& rank, const RankColumns* master) {
    if (master && master->metadata == rank.metadata) return {};
    if (master && version >= kVersionOfChanges)
      if (auto numbers = number_differences(rank.metadata, master->metadata)) {
        rank.header.changes.numbers = std::move(*numbers);
        return {};
      }
    CHAKRA_ASSIGN(rank.header.metadata,
                  write_block(rank.metadata, master ? std::string_view(master->metadata) : std::string_view()));
    return {};
  }

  Result<void> write_index(const RankHeader& header) {
    std::string packed = pack_block(encode(header, out.at(), version), {});
    put_fixed(packed, checksum(packed), 4);
    directory.ranks.push_back({header.rank, {out.at(), packed.size(), 0}});
    ranks.insert(header.rank);
    return out.write(packed);
  }

  Result<void> check_new(int64_t rank, const std::string& source) const {
    if (ranks.contains(rank))
      return fail(Code::bad_input, "io.container.rank_twice", fmt::format("rank {} is already in the container", rank),
                  {source});
    return {};
  }

  /// Make the entries that only the rank has entries of the job.
  void take_entries(RankColumns& rank, const Dictionary& own) {
    std::vector<uint32_t> ids;
    bool same = true;
    for (uint32_t id = own.base_size(); id < own.size(); ++id) {
      ids.push_back(dictionary.add(static_cast<EntryKind>(own[id][0]), own[id].substr(1)));
      same &= ids.back() == id;
    }
    if (same) return;
    rank.bytes = 0;
    for (Group& group : rank.groups) {
      renumber(group, own, ids);
      for (const auto& [id, column] : group.columns) rank.bytes += column.size();
    }
  }

  Result<void> write_rank(RankColumns rank) {
    const RankColumns* master = nullptr;
    size_t least = rank.bytes / 2;  // worth it below half
    ColumnBytes sizes;
    for (const RankColumns& candidate : masters) {
      if (candidate.header.group_nodes != rank.header.group_nodes) continue;
      const auto found = difference(rank, sizes, candidate, least);
      if (!found) continue;
      master = &candidate;
      least = found->bytes;
      rank.header.columns.assign(found->columns.begin(), found->columns.end());
      if (least == 0) break;
    }
    RankHeader& header = rank.header;
    header.master = master ? master->header.rank : header.rank;
    if (!master)
      for (const auto& [id, bytes] : bytes_of(rank)) header.columns.push_back(id);
    if (master && version >= kVersionOfChanges)
      header.changes.values = encode(substitute(rank.groups, master->groups, dictionary, header.columns));
    CHAKRA_TRY(write_pages(false));
    CHAKRA_TRY(write_metadata(rank, master));
    CHAKRA_TRY(write_groups(rank, master));
    CHAKRA_TRY(write_index(header));
    if (header.alone() || (header.columns.empty() && header.nodes == master->header.nodes))
      repeatable[header.rank] = {header.master, header.changes.values};
    if (!master) remember(std::move(rank));
    return {};
  }

  Result<void> write_groups(RankColumns& rank, const RankColumns* master) {
    RankHeader& header = rank.header;
    static const Columns none;
    const std::string first = rank.groups.empty() || master ? "" : joined(header.columns, rank.groups[0].columns);
    const int level = !master && rank.bytes > kLarge ? kFast : kBest;
    std::vector<std::string> packed(rank.groups.size());  // empty: the master's
    const auto pack = [&](size_t g) -> Result<void> {
      const std::string bytes = joined(header.columns, rank.groups[g].columns);
      if (!master) {
        packed[g] = pack_block(bytes, g == 0 ? std::string_view() : std::string_view(first), level);
        return {};
      }
      const bool there = g < master->groups.size();
      const std::string before = joined(header.columns, there ? master->groups[g].columns : none);
      if (!there || before != bytes) packed[g] = pack_block(bytes, before, level);
      return {};
    };
    if (!header.columns.empty() && rank.bytes > kSideBySide) CHAKRA_TRY(each_in_parallel(packed.size(), pack));
    else
      for (size_t g = 0; g < packed.size(); ++g) CHAKRA_TRY(pack(g));
    for (const std::string& block : packed) {
      header.groups.emplace_back();
      if (block.empty()) continue;
      CHAKRA_ASSIGN(header.groups.back(), write_packed(block));
    }
    return {};
  }

  /// Return the groups of a rank that stands alone. They are made again from its nodes, for `Group::firsts`; none if
  /// the stored columns differ from these.
  Result<std::optional<RankColumns>> read_master(Container& container, const RankHeader& header) {
    ColumnWriter columns(dictionary);
    Stored& stored = container.stored();
    RankColumns rank;
    rank.header = header;
    CHAKRA_ASSIGN(rank.metadata, stored.metadata(header, header));
    CHAKRA_ASSIGN(RankReader reader, container.open_rank(header.rank));
    UnpackedGroup as_stored;
    schema::NodeRecord record;
    for (size_t g = 0; g < header.groups.size(); ++g) {
      for (uint64_t n = g * header.group_nodes; n < std::min(header.nodes, (g + 1) * header.group_nodes); ++n) {
        CHAKRA_TRY(reader.next(record));
        CHAKRA_TRY(columns.add(record));
      }
      CHAKRA_TRY(stored.columns(header, header, g, as_stored));
      rank.end_group(columns);
      const Group& group = rank.groups.back();
      if (ColumnViews(group.columns.begin(), group.columns.end()) != as_stored.columns) return std::nullopt;
    }
    return std::optional(std::move(rank));
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
  Stored& old = container->stored();
  CHAKRA_ASSIGN(Output out, Output::append(old.file));
  auto state = std::make_unique<State>(std::move(out));
  state->lock = std::move(lock);
  state->version = old.version;
  for (uint64_t id = 0; id < old.directory.entries; ++id) {
    CHAKRA_ASSIGN(const std::string_view entry, old.entry(id));
    if (entry.empty() || state->dictionary.add(static_cast<EntryKind>(entry[0]), entry.substr(1)) != id)
      return old.file.damaged("the dictionary has a duplicate or an empty entry", 0);
  }
  state->written_entries = old.directory.entries;
  std::vector<const RankHeader*> masters;
  for (const DirectoryEntry& entry : old.directory.ranks) {
    CHAKRA_ASSIGN(const RankHeader* const header, old.header(entry.rank));
    state->group_nodes = header->group_nodes;
    if (header->alone()) masters.push_back(header);
  }
  if (masters.size() > kMostMasters) masters.erase(masters.begin(), masters.end() - kMostMasters);
  for (const RankHeader* const header : masters) {
    CHAKRA_ASSIGN(std::optional<RankColumns> master, state->read_master(*container, *header));
    if (master) state->remember(std::move(*master));
  }
  for (Page& page : old.directory.pages) {
    page.bytes.clear();
    page.entries.clear();
  }
  state->directory = std::move(old.directory);
  for (const DirectoryEntry& entry : state->directory.ranks) state->ranks.insert(entry.rank);
  return Packer(std::move(state));
}

RankWriter Packer::begin_rank(std::string_view metadata) const {
  auto writer = std::make_unique<RankWriter::State>(state_->dictionary);
  writer->rank.header.group_nodes = state_->group_nodes;
  writer->rank.metadata = metadata;
  return RankWriter(std::move(writer));
}

Result<void> Packer::add(RankWriter written, int64_t rank, const std::string& source) {
  RankWriter::State& w = *written.state_;
  if (w.columns.nodes() > 0) w.rank.end_group(w.columns);
  w.rank.header.rank = rank;
  CHAKRA_TRY(state_->check_new(rank, source));
  state_->take_entries(w.rank, w.dictionary);
  return state_->write_rank(std::move(w.rank));
}

Result<bool> Packer::repeat_rank(int64_t rank, int64_t of, std::string_view metadata, const std::string& source) {
  State& s = *state_;
  const auto known = s.repeatable.find(of);
  if (known == s.repeatable.end()) return false;
  const auto master = std::find_if(s.masters.begin(), s.masters.end(),
                                   [&](const RankColumns& m) { return m.header.rank == known->second.master; });
  if (master == s.masters.end()) return false;
  CHAKRA_TRY(s.check_new(rank, source));
  RankColumns repeated;
  repeated.metadata = metadata;
  RankHeader& header = repeated.header;
  header.rank = rank;
  header.master = master->header.rank;
  header.nodes = master->header.nodes;
  header.group_nodes = master->header.group_nodes;
  header.changes.values = known->second.values;
  header.groups.resize(master->header.groups.size());
  CHAKRA_TRY(s.write_metadata(repeated, &*master));
  CHAKRA_TRY(s.write_index(header));
  return true;
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

}  // namespace chakra::pack
