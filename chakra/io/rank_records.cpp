// Ranks of a container that are stored as values of another rank -> messages, most of which are those of that rank.
#include <algorithm>
#include <map>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <span>

#include "chakra/io/masters.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using pack::Container;

constexpr size_t kMostKept = size_t{1} << 26;  ///< of the messages of a rank that are kept
constexpr size_t kRun = size_t{1} << 18;       ///< of messages that are copied into one run

void add(wire::Bytes& out, std::string_view bytes) { out.end(wire::bytes_at(out.room(bytes.size()), bytes)); }
void add_size(wire::Bytes& out, size_t size) { out.end(wire::varint_at(out.room(wire::kMostVarint), size)); }

using Names = std::vector<std::string>;  ///< few

/// The messages of a master's nodes, and where attributes stand in them whose values other ranks replace.
struct MasterMessages {
  wire::Bytes bytes;                   ///< each message after its size
  std::vector<uint32_t> begins, ends;  ///< of each message, without its size, in `bytes`
  std::vector<int64_t> blocks;         ///< of each message, where its block begins

  /// The field of an attribute in the message of a node.
  struct Part {
    uint32_t node = 0, begin = 0, end = 0;  ///< bytes of the message
    StringId kind = 0;                      ///< in `kinds`
  };
  std::vector<Part> parts;  ///< in the order of the messages
  StringPool kinds;         ///< the different fields: each a message of a node with this attribute alone

  std::string_view message(size_t node) const { return bytes.view().substr(begins[node], ends[node] - begins[node]); }
  /// The messages of nodes [first, end), each after its size.
  std::string_view run(size_t first, size_t end) const {
    const uint32_t begin = first == 0 ? 0 : ends[first - 1];
    return bytes.view().substr(begin, first == end ? 0 : ends[end - 1] - begin);
  }

  /// Return none for a large rank, and for a rank whose messages do not show the values of its columns.
  static Result<std::optional<MasterMessages>> read(const RankFile& master, const Names& names) {
    CHAKRA_ASSIGN(pack::RankReader reader, master.container->open_rank(master.rank));
    CHAKRA_TRY(reader.metadata());
    MasterMessages made;
    NodeRecord record;
    wire::Bytes out;
    for (;;) {
      CHAKRA_ASSIGN(const bool more, reader.next(record));
      if (!more) return std::optional(std::move(made));
      out.clear();
      encode(record, out);
      if (out.size() == 0 || !survives_a_message(record) || made.bytes.size() + out.size() > kMostKept)
        return std::nullopt;
      made.find_parts(record, out.view(), names);
      add_size(made.bytes, out.size());
      add(made.bytes, out.view());
      made.begins.push_back(static_cast<uint32_t>(made.bytes.size() - out.size()));
      made.ends.push_back(static_cast<uint32_t>(made.bytes.size()));
      made.blocks.push_back(reader.place().byte);
    }
  }

 private:
  /// Requires a message that encode() made of the record: the attributes stand in it in their order.
  void find_parts(const NodeRecord& record, std::string_view message, const Names& names) {
    const auto replaced = [&](const AttrRecord& attr) {
      return std::find(names.begin(), names.end(), attr.name) != names.end();
    };
    if (std::none_of(record.attrs.begin(), record.attrs.end(), replaced)) return;
    protozero::pbf_reader reader(message.data(), message.size());
    size_t attr = 0;
    for (const char* begin = reader.data().data(); reader.next(); begin = reader.data().data()) {
      const bool is_attr = reader.tag() == schema::kNodeAttr;
      reader.skip();  // and forget the tag
      if (!is_attr || !replaced(record.attrs[attr++])) continue;
      const auto at = static_cast<size_t>(begin - message.data()),
                 end = static_cast<size_t>(reader.data().data() - message.data());
      parts.push_back({static_cast<uint32_t>(ends.size()), static_cast<uint32_t>(at), static_cast<uint32_t>(end),
                       kinds.intern(message.substr(at, end - at))});
    }
  }
};

/// Put the value of another rank into an attribute.
void change(AttrRecord& attr, const Container::ChangedAttr& changed) {
  if (attr.field != changed.member || attr.name != changed.name) return;
  const schema::Coding coding = schema::kMembers[attr.field].coding;
  const bool natural =
      coding == schema::Coding::natural || coding == schema::Coding::fixed32 || coding == schema::Coding::fixed64;
  const int64_t integer = natural ? static_cast<int64_t>(attr.natural) : attr.integer;
  for (const auto& [from, to] : changed.values) {
    if (coding == schema::Coding::text ? attr.bytes != from.text : integer != from.integer) continue;
    if (coding == schema::Coding::text) attr.bytes = to.text;
    else attr.natural = static_cast<uint64_t>(attr.integer = to.integer);
    return;
  }
}

/// Return the field of an attribute of a rank like the master, for the field of the master.
Result<std::string> changed_field(std::string_view field, const std::vector<Container::ChangedAttr>& changes) {
  NodeRecord record;
  CHAKRA_TRY(decode(field, record));
  for (AttrRecord& attr : record.attrs)
    for (const Container::ChangedAttr& changed : changes) change(attr, changed);
  return encode(record);
}

class LikeRank : public RecordSource {
 public:
  /// `fields`: of this rank, by kind of the master's parts.
  LikeRank(const RankFile& file, std::shared_ptr<const MasterMessages> like, pack::RankReader reader,
           std::vector<std::string> fields)
      : file_(file), like_(std::move(like)), reader_(std::move(reader)), fields_(std::move(fields)) {}

  Result<bool> next(std::string_view& message) override {
    if (!std::exchange(any_metadata_, true)) {
      CHAKRA_ASSIGN(message, reader_.metadata());
      return true;
    }
    if (next_ == like_->ends.size()) return false;
    message = like_->message(next_);
    if (next_ == changed_node()) {
      out_.clear();
      add_changed();
      message = out_.view();
    }
    ++next_;
    return true;
  }
  Result<int64_t> next_run(std::string_view& run) override {
    const size_t first = next_;
    out_.clear();
    run = {};
    while (next_ < like_->ends.size() && out_.size() < kRun) {
      const std::string_view same = like_->run(next_, changed_node());
      if (same.size() >= kRun && out_.size() > 0) break;
      next_ = changed_node();
      if (same.size() >= kRun) return run = same, static_cast<int64_t>(next_ - first);
      add(out_, same);
      if (next_ == like_->ends.size()) break;
      add_size(out_, changed_size());
      add_changed();
      ++next_;
    }
    run = out_.view();
    return static_cast<int64_t>(next_ - first);
  }
  bool makes_messages() const override { return true; }
  Place place() const override { return next_ == 0 ? reader_.place() : Place{file_.path, like_->blocks[next_ - 1]}; }

 private:
  using Part = MasterMessages::Part;

  /// The next node whose message is not that of the master; the number of nodes if there is none.
  size_t changed_node() const { return part_ < like_->parts.size() ? like_->parts[part_].node : like_->ends.size(); }
  /// The parts of that node.
  std::span<const Part> parts() const {
    const auto begin = like_->parts.begin() + static_cast<std::ptrdiff_t>(part_);
    return {begin, std::find_if(begin, like_->parts.end(), [&](const Part& part) { return part.node != next_; })};
  }
  size_t changed_size() const {
    size_t size = like_->message(next_).size();
    for (const Part& part : parts()) size += fields_[part.kind].size() - (part.end - part.begin);
    return size;
  }
  /// Append the message of that node, which is next.
  void add_changed() {
    const std::string_view message = like_->message(next_);
    size_t at = 0;
    for (const Part& part : parts()) {
      add(out_, message.substr(at, part.begin - at));
      add(out_, fields_[part.kind]);
      at = part.end;
    }
    add(out_, message.substr(at));
    part_ += parts().size();
  }

  const RankFile& file_;
  std::shared_ptr<const MasterMessages> like_;
  pack::RankReader reader_;  ///< of the metadata
  std::vector<std::string> fields_;
  bool any_metadata_ = false;
  size_t next_ = 0;  ///< node
  size_t part_ = 0;  ///< the first of the following nodes
  wire::Bytes out_;
};

}  // namespace

struct RankRecords::Shared {
  Masters<MasterMessages> masters;
  std::map<std::pair<const Container*, int64_t>, Names> names = {};  ///< by master: attributes with other values

  void add_name(std::pair<const Container*, int64_t> master, const std::string& name) {
    Names& of_master = names[master];
    if (std::find(of_master.begin(), of_master.end(), name) == of_master.end()) of_master.push_back(name);
  }
};

RankRecords::RankRecords(const std::vector<RankFile>& files)
    : files_(files), shared_(new Shared{Masters<MasterMessages>(files)}) {
  for (const RankFile& file : files)
    if (file.container)
      if (const auto like = file.container->likeness(file.rank))
        for (const Container::ChangedAttr& attr : like->attrs)
          shared_->add_name({file.container.get(), like->master}, attr.name);
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
      std::vector<std::string> fields;
      for (StringId kind = 0; kind < messages->kinds.size(); ++kind) {
        CHAKRA_ASSIGN(fields.emplace_back(), changed_field(messages->kinds[kind], found->attrs));
      }
      return std::make_unique<LikeRank>(file, std::move(messages), std::move(reader), std::move(fields));
    }
  return open_records(file);
}

}  // namespace chakra::io
