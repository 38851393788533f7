// Ranks of a container that are stored as values of another rank -> traces that share columns.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "chakra/io/masters.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

using pack::Container;
using trace::Comm;
using trace::Trace;
using Value = Container::ChangedAttr::Value;

/// The numbers of communications that ranks of one program may have different, and that are -1 or 0 unless given.
struct IntegerRow {
  std::string_view attr;
  int64_t Comm::*member;
};
constexpr std::array<IntegerRow, 6> kIntegers{{{"comm_src", &Comm::src},
                                               {"comm_dst", &Comm::dst},
                                               {"comm_tag", &Comm::tag},
                                               {"comm_priority", &Comm::priority},
                                               {"comm_seq", &Comm::sequence},
                                               {"comm_root", &Comm::root}}};

/// The integer that a reader makes of a value of this member; none for other members, and for values that change.
std::optional<int64_t> integer_of(uint32_t member, const Value& value) {
  AttrRecord attr;
  attr.field = member;
  attr.integer = value.integer;
  attr.natural = static_cast<uint64_t>(value.integer);
  int64_t integer = 0;
  return fits_member(attr) && attr.as_integer(integer) ? std::optional(integer) : std::nullopt;
}

bool is_text(uint32_t member) { return member == schema::kString || member == schema::kBytes; }

/// The name of a group in a value of `pg_name`.
std::optional<std::string> group_of(uint32_t member, const Value& value) {
  if (is_text(member)) return value.text;
  const std::optional<int64_t> number = integer_of(member, value);
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

/// A rank whose trace others are like.
class MasterTrace {
 public:
  static Result<std::optional<MasterTrace>> read(const RankFile& master, const ReadOptions& options) {
    MasterTrace made;
    CHAKRA_ASSIGN(made.trace_, read_rank(master, options));
    CHAKRA_ASSIGN(made.announced_, made.read_metadata_of(master, made.metadata_));
    made.find_other_uses();
    return std::optional(std::move(made));
  }

  /// Return the trace of another rank with these nodes; none if that rank must be read by itself.
  std::optional<Trace> like(const RankFile& file, const std::vector<Container::ChangedAttr>& attrs) const {
    Trace made = trace_;
    if (!take_metadata(file, made)) return std::nullopt;
    for (const Container::ChangedAttr& attr : attrs) {
      const auto row = std::find_if(kIntegers.begin(), kIntegers.end(),
                                    [&](const IntegerRow& known) { return known.attr == attr.name; });
      const bool taken = attr.name == "pg_name"   ? rename_groups(attr, made)
                         : row != kIntegers.end() ? change(attr, row->member, made)
                                                  : false;
      if (!taken) return std::nullopt;
    }
    return made;
  }

 private:
  static Result<Announced> read_metadata_of(const RankFile& file, Trace& trace) {
    CHAKRA_ASSIGN(const RecordSourcePtr source, open_rank(*file.container, file.rank, 0, 0));
    std::string_view message;
    CHAKRA_ASSIGN(const MetadataRecord record, first_record(*source, message));
    return read_metadata(record, file.path, trace);
  }

  /// Which strings are not only names of groups.
  void find_other_uses() {
    other_uses_.assign(trace_.strings.size(), false);
    const auto use = [&](StringId id) { other_uses_[id] = true; };
    for (StringId id = 0; id < metadata_.strings.size(); ++id) use(id);
    for (const StringId name : trace_.name) use(name);
    for (const Comm& comm : trace_.comms) use(comm.dtype);
    for (const trace::NodeId n : trace_.nodes())
      for (const trace::Attr& attr : trace_.attrs_of(n)) use(attr.name);
    for (const trace::Io io : trace_.ios)
      for (const trace::Tensors* tensors : {&io.inputs, &io.outputs})
        for (const StringId id : {tensors->shapes, tensors->types, tensors->strides}) use(id);
  }

  /// Put the rank's metadata into the trace. Their strings come first in a trace: they must be those of the master.
  bool take_metadata(const RankFile& file, Trace& made) const {
    Trace own;
    const Result<Announced> announced = read_metadata_of(file, own);
    if (!announced || announced->pid != announced_.pid || own.groups.empty() != metadata_.groups.empty() ||
        (announced->nodes >= 0 && announced->nodes != made.size()) || own.strings.size() != metadata_.strings.size())
      return false;
    for (StringId id = 0; id < own.strings.size(); ++id)
      if (own.strings[id] != metadata_.strings[id]) return false;
    made.rank = own.rank;
    made.says_rank = own.says_rank;
    made.metadata.clear();
    for (const trace::Attr& attr : own.metadata) {
      const auto text = attr.text();
      made.metadata.push_back(text ? trace::Attr{attr.name, made.texts.add(*text)} : attr);
    }
    if (!own.groups.empty()) made.groups = std::move(own.groups);
    return settle_rank(file, made).has_value();
  }

  /// The strings of a trace are in the order of their first uses. They stay so if new names take the places of others.
  bool rename_groups(const Container::ChangedAttr& attr, Trace& made) const {
    // Other nodes than communications may also have the attribute.
    if (const StringId name = trace_.strings.find(attr.name); name != 0 && other_uses_[name]) return false;
    std::map<StringId, std::string> names;
    for (const auto& [from, to] : attr.values) {
      const std::optional<std::string> before = group_of(attr.member, from), after = group_of(attr.member, to);
      if (!before || !after || before->empty() || after->empty()) return false;
      const StringId id = trace_.strings.find(*before);
      if (id == 0) continue;
      if (other_uses_[id]) return false;
      names.emplace(id, *after);
    }
    std::vector<std::pair<StringId, std::string_view>> renamed;
    std::set<std::string_view> texts;
    for (const auto& [id, text] : names) {
      const StringId known = trace_.strings.find(text);
      if (!texts.insert(text).second || (known != 0 && !names.contains(known))) return false;
      renamed.emplace_back(id, text);
    }
    made.strings.rename(renamed);
    return true;
  }

  bool change(const Container::ChangedAttr& attr, int64_t Comm::*member, Trace& made) const {
    absl::flat_hash_map<int64_t, int64_t> values;
    for (const auto& [from, to] : attr.values) {
      const std::optional<int64_t> before = integer_of(attr.member, from), after = integer_of(attr.member, to);
      if (!before || !after || *before == Comm().*member) return false;  // also of nodes without the attribute
      values.emplace(*before, *after);
    }
    for (Comm& comm : made.comms.edit())
      if (const auto found = values.find(comm.*member); found != values.end()) comm.*member = found->second;
    return true;
  }

  Trace trace_, metadata_;  ///< metadata_: without nodes
  Announced announced_;
  std::vector<bool> other_uses_;  ///< per string: not only the name of a group
};

}  // namespace

struct RankTraces::Shared {
  Masters<MasterTrace> masters;
};

RankTraces::RankTraces(const std::vector<RankFile>& files, const ReadOptions& options)
    : files_(files), options_(options), shared_(new Shared{Masters<MasterTrace>(files)}) {}
RankTraces::~RankTraces() = default;

Result<Trace> RankTraces::read(size_t i) {
  const RankFile& file = files_[i];
  const auto like = shared_->masters.of(i, [&](const RankFile& master) { return MasterTrace::read(master, options_); });
  if (like)  // read_rank() returns the errors, with their places
    if (const auto found = file.container->likeness(file.rank); found && found->only_values)
      if (std::optional<Trace> trace = like->like(file, found->attrs)) return std::move(*trace);
  return read_rank(file, options_);
}

}  // namespace chakra::io
