#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "chakra/pack/column_keys.h"
#include "chakra/pack/pack.h"
#include "chakra/pack/stored.h"
#include "chakra/pack/substitution.h"

namespace chakra::pack {

// ---- one rank ------------------------------------------------------------------------------------

struct RankReader::State {
  ContainerPtr container;
  Stored& stored;
  const RankHeader &own, &master;
  uint64_t node, last;
  std::string metadata = {};
  size_t group = 0;
  bool begun = false;  ///< the group is
  UnpackedGroup unpacked = {};
  EntryOf entry_of = [this](uint64_t id) { return stored.entry(id); };
  Substitutions substitutions = {};
  std::optional<ColumnReader> reader = {};
  uint64_t at = 0;  ///< in the file: the block that is read

  Failure named(Error error) const {
    if (error.place.file.empty())
      return stored.file.damaged(fmt::format("{}: {}", name_of_block(own, group), error.text), at);
    return Failure(std::move(error));
  }
  Result<void> begin(size_t wanted) {
    begun = false;
    group = wanted;
    const Block& block =
        own.groups[group].size || group >= master.groups.size() ? own.groups[group] : master.groups[group];
    at = block.offset;
    CHAKRA_TRY(stored.columns(own, master, group, unpacked));
    if (!reader) {
      auto parsed = Substitutions::parse(own.changes.values, entry_of);
      if (!parsed) return named(std::move(parsed.error()));
      substitutions = std::move(*parsed);
      reader.emplace(entry_of, substitutions);
    }
    if (auto done = reader->begin(unpacked.columns); !done) return named(std::move(done.error()));
    begun = true;
    return {};
  }
  Result<void> read(NodeRecord& record) {
    Result<bool> more = reader->next(record);
    if (!more) return named(std::move(more.error()));
    if (!*more) return stored.file.damaged(name_of_block(own, group) + " holds fewer nodes than the index lists", at);
    return {};
  }
};

RankReader::RankReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RankReader::RankReader(RankReader&&) noexcept = default;
RankReader::~RankReader() = default;

Result<std::string_view> RankReader::metadata() {
  State& s = *state_;
  s.at = s.own.metadata.size ? s.own.metadata.offset : s.master.metadata.offset;
  CHAKRA_ASSIGN(s.metadata, s.stored.metadata(s.own, s.master));
  return std::string_view(s.metadata);
}

Result<bool> RankReader::next(schema::NodeRecord& record) {
  State& s = *state_;
  if (s.node >= s.last) return false;
  const size_t group = s.node / s.own.group_nodes;
  if (!s.begun || group != s.group) {
    CHAKRA_TRY(s.begin(group));
    for (uint64_t skip = s.node % s.own.group_nodes; skip > 0; --skip) CHAKRA_TRY(s.read(record));
  }
  CHAKRA_TRY(s.read(record));
  ++s.node;
  return true;
}

Place RankReader::place() const { return {state_->stored.file.path(), static_cast<int64_t>(state_->at)}; }

// ---- all of them ---------------------------------------------------------------------------------

Container::Container(std::unique_ptr<Stored> stored) : stored_(std::move(stored)) {
  for (const DirectoryEntry& entry : stored_->directory.ranks) ranks_.push_back(entry.rank);
}
Container::~Container() = default;

Result<ContainerPtr> Container::open(const std::string& path) {
  return open_beginning(path, std::numeric_limits<uint64_t>::max());
}

Result<ContainerPtr> Container::open_beginning(const std::string& path, uint64_t bytes) {
  CHAKRA_ASSIGN(StoredFile file, StoredFile::open(path, bytes));
  std::unique_ptr<Stored> stored(new Stored{std::move(file)});
  CHAKRA_TRY(stored->load_directory());
  return ContainerPtr(new Container(std::move(stored)));
}

Result<RankReader> Container::open_rank(int64_t rank, int64_t first, int64_t count) {
  CHAKRA_ASSIGN(const auto headers, stored_->headers_of(rank));
  const auto& [own, master] = headers;
  const uint64_t begin = std::min<uint64_t>(own->nodes, static_cast<uint64_t>(std::max<int64_t>(first, 0)));
  const uint64_t left = own->nodes - begin;
  const uint64_t last = begin + std::min(left, static_cast<uint64_t>(std::max<int64_t>(count, 0)));
  return RankReader(std::unique_ptr<RankReader::State>(
      new RankReader::State{shared_from_this(), *stored_, *own, *master, begin, last}));
}

namespace {

/// Whether all nodes of a rank come from the groups of its master.
bool has_nodes_of(const RankHeader& own, const RankHeader& master) {
  return own.alone() || (own.nodes == master.nodes && std::all_of(own.groups.begin(), own.groups.end(),
                                                                  [](const Block& block) { return block.size == 0; }));
}

/// Whether a rank has the metadata and nodes of its master.
bool is_equal(const RankHeader& own, const RankHeader& master) {
  const RankHeader::Changes& changes = own.changes;
  return own.alone() ||
         (own.metadata.size == 0 && changes.numbers.empty() && changes.values.empty() && has_nodes_of(own, master));
}

/// The name of the attribute of a column; none for other columns.
std::optional<std::string_view> attr_of(std::string_view entry) {
  return entry.size() < kNameAt || entry[kKindAt] != kAttr ? std::nullopt : std::optional(entry.substr(kNameAt));
}

}  // namespace

Result<Container::Likeness> Container::likeness(int64_t rank) {
  CHAKRA_ASSIGN(const auto headers, stored_->headers_of(rank));
  const auto& [own, master] = headers;
  Likeness like{master->rank, has_nodes_of(*own, *master), {}};
  if (!like.only_values || own->changes.values.empty()) return like;
  const EntryOf entry_of = [this](uint64_t id) { return stored_->entry(id); };
  CHAKRA_TRY(for_each_pair(
      own->changes.values, entry_of, [&](std::string_view entry, const Replacement& from, const Replacement& to) {
        const std::optional<std::string_view> name = attr_of(entry);
        if (!name) {
          like.only_values = false;
          return;
        }
        const uint32_t member = static_cast<unsigned char>(entry[kFieldAt]);
        if (like.attrs.empty() || like.attrs.back().name != *name || like.attrs.back().member != member)
          like.attrs.push_back({std::string(*name), member, {}});
        like.attrs.back().values.push_back(
            {{from.text, static_cast<int64_t>(from.integer)}, {to.text, static_cast<int64_t>(to.integer)}});
      }));
  // A value stands for one attribute: no node may also have the name with another member.
  for (const uint64_t id : master->columns) {
    CHAKRA_ASSIGN(const std::string_view entry, stored_->entry(id));
    const std::optional<std::string_view> name = attr_of(entry);
    for (const ChangedAttr& attr : like.attrs)
      if (name && *name == attr.name && static_cast<unsigned char>(entry[kFieldAt]) != attr.member)
        like.only_values = false;
  }
  return like;
}

Result<Container::RankInfo> Container::info(int64_t rank) {
  CHAKRA_ASSIGN(const RankHeader* const header, stored_->header(rank));
  RankInfo info;
  info.nodes = static_cast<int64_t>(header->nodes);
  info.master = header->master;
  CHAKRA_ASSIGN(const auto headers, stored_->headers_of(rank));
  info.equal = is_equal(*headers.first, *headers.second);
  uint64_t bytes = header->metadata.size;
  for (const Block& block : header->groups) bytes += block.size;
  bytes += stored_->entry_of(rank)->header.size;
  info.bytes = static_cast<int64_t>(bytes);
  return info;
}

int64_t Container::size() const { return static_cast<int64_t>(stored_->file.size()); }
int64_t Container::touched() const { return stored_->file.touched(); }

Result<void> Container::verify() {
  schema::NodeRecord record;
  for (const int64_t rank : ranks_) {
    CHAKRA_ASSIGN(RankReader reader, open_rank(rank));
    CHAKRA_TRY(reader.metadata());
    for (;;) {
      CHAKRA_ASSIGN(const bool more, reader.next(record));
      if (!more) break;
    }
  }
  return {};
}

}  // namespace chakra::pack
