// Ranks of a container that are stored as values of another rank -> messages, most of which are those of that rank.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "chakra/io/masters.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using pack::Container;

constexpr size_t kMostKept = size_t{1} << 26;  ///< of the messages of a rank that are kept

using Names = std::set<std::string>;

/// The messages of a master's nodes, and the nodes with attributes of some names.
struct MasterMessages {
  std::string bytes;
  std::vector<uint32_t> ends;                                           ///< of each message, in `bytes`
  std::vector<int64_t> blocks;                                          ///< of each message, where its block begins
  std::map<std::string, std::vector<uint32_t>, std::less<>> with_attr;  ///< by name: the nodes, ascending

  std::string_view message(size_t node) const {
    const uint32_t begin = node == 0 ? 0 : ends[node - 1];
    return std::string_view(bytes).substr(begin, ends[node] - begin);
  }

  /// Return none for a large rank, and for a rank whose messages do not show the values of its columns.
  static Result<std::optional<MasterMessages>> read(const RankFile& master, const Names& names) {
    CHAKRA_ASSIGN(pack::RankReader reader, master.container->open_rank(master.rank));
    CHAKRA_TRY(reader.metadata());
    MasterMessages made;
    for (const std::string& name : names) made.with_attr[name];
    NodeRecord record;
    wire::Bytes out;
    for (;;) {
      CHAKRA_ASSIGN(const bool more, reader.next(record));
      if (!more) return std::optional(std::move(made));
      const auto node = static_cast<uint32_t>(made.ends.size());
      for (const AttrRecord& attr : record.attrs)
        for (auto& [name, nodes] : made.with_attr)
          if (attr.name == name && (nodes.empty() || nodes.back() != node)) nodes.push_back(node);
      out.clear();
      encode(record, out);
      if (out.size() == 0 || !survives_a_message(record) || made.bytes.size() + out.size() > kMostKept)
        return std::nullopt;
      made.bytes += out.view();
      made.ends.push_back(static_cast<uint32_t>(made.bytes.size()));
      made.blocks.push_back(reader.place().byte);
    }
  }
};

/// The values that take the places of others.
class NewValues {
 public:
  explicit NewValues(std::vector<Container::ChangedAttr> attrs) : attrs_(std::move(attrs)) {}

  void put(NodeRecord& record) const {
    for (AttrRecord& attr : record.attrs)
      for (const Container::ChangedAttr& changed : attrs_)
        if (attr.field == changed.member && attr.name == changed.name) put(attr, changed);
  }
  const std::vector<Container::ChangedAttr>& attrs() const { return attrs_; }

 private:
  static void put(AttrRecord& attr, const Container::ChangedAttr& changed) {
    const bool text = schema::kMembers[attr.field].coding == schema::Coding::text;
    for (const auto& [from, to] : changed.values) {
      if (text ? attr.bytes != from.text : integer_in(attr) != from.integer) continue;
      if (text) attr.bytes = to.text;
      else attr.natural = static_cast<uint64_t>(attr.integer = to.integer);
      return;
    }
  }
  static int64_t integer_in(const AttrRecord& attr) {
    switch (schema::kMembers[attr.field].coding) {
      case schema::Coding::natural:
      case schema::Coding::fixed32:
      case schema::Coding::fixed64: return static_cast<int64_t>(attr.natural);
      default: return attr.integer;
    }
  }

  std::vector<Container::ChangedAttr> attrs_;
};

class LikeRank : public RecordSource {
 public:
  LikeRank(const RankFile& file, std::shared_ptr<const MasterMessages> like, pack::RankReader reader, NewValues values)
      : file_(file), like_(std::move(like)), reader_(std::move(reader)), values_(std::move(values)) {
    for (const Container::ChangedAttr& attr : values_.attrs()) {
      const auto nodes = like_->with_attr.find(attr.name);
      if (nodes != like_->with_attr.end()) changed_.insert(changed_.end(), nodes->second.begin(), nodes->second.end());
    }
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }

  Result<bool> next(std::string_view& message) override {
    if (!std::exchange(any_metadata_, true)) {
      CHAKRA_ASSIGN(message, reader_.metadata());
      return true;
    }
    if (next_ == like_->ends.size()) return false;
    message = like_->message(next_);
    if (next_changed_ < changed_.size() && changed_[next_changed_] == next_) {
      ++next_changed_;
      CHAKRA_TRY(decode(message, record_));
      values_.put(record_);
      out_.clear();
      encode(record_, out_);
      message = out_.view();
    }
    ++next_;
    return true;
  }
  bool makes_messages() const override { return true; }
  Place place() const override { return next_ == 0 ? reader_.place() : Place{file_.path, like_->blocks[next_ - 1]}; }

 private:
  const RankFile& file_;
  std::shared_ptr<const MasterMessages> like_;
  pack::RankReader reader_;  ///< of the metadata
  NewValues values_;
  std::vector<uint32_t> changed_;  ///< nodes with one of the attributes
  bool any_metadata_ = false;
  size_t next_ = 0, next_changed_ = 0;
  NodeRecord record_;
  wire::Bytes out_;
};

}  // namespace

struct RankRecords::Shared {
  Masters<MasterMessages> masters;
  std::map<std::pair<const Container*, int64_t>, Names> names = {};  ///< by master: attributes with other values
};

RankRecords::RankRecords(const std::vector<RankFile>& files)
    : files_(files), shared_(new Shared{Masters<MasterMessages>(files)}) {
  for (const RankFile& file : files)
    if (file.container)
      if (const auto like = file.container->likeness(file.rank))
        for (const Container::ChangedAttr& attr : like->attrs)
          shared_->names[{file.container.get(), like->master}].insert(attr.name);
}
RankRecords::~RankRecords() = default;

Result<RecordSourcePtr> RankRecords::open(size_t i) {
  const RankFile& file = files_[i];
  static const Names kNone;
  auto messages = shared_->masters.of(i, [&](const RankFile& master) {
    const auto names = shared_->names.find({master.container.get(), master.rank});
    return MasterMessages::read(master, names == shared_->names.end() ? kNone : names->second);
  });
  if (messages)  // open_records() returns the errors, with their places
    if (auto found = file.container->likeness(file.rank); found && found->only_values) {
      CHAKRA_ASSIGN(pack::RankReader reader, file.container->open_rank(file.rank, 0, 0));
      return std::make_unique<LikeRank>(file, std::move(messages), std::move(reader),
                                        NewValues(std::move(found->attrs)));
    }
  return open_records(file);
}

}  // namespace chakra::io
