// Nodes -> columns.
#include "chakra/pack/column_keys.h"
#include "chakra/pack/texts.h"

namespace chakra::pack {
namespace {

/// The list in its usual form, which most have.
void put_list(wire::Bytes& out, const schema::AttrList& list, uint32_t field) {
  const Coding coding = schema::kMembers[field].coding;
  const bool narrow = schema::is_narrow(field);
  wire::Bytes packed;
  for (const int64_t v : list.integers) put_list_value(packed, coding, narrow, {static_cast<uint64_t>(v), {}});
  for (const uint64_t v : list.naturals) put_list_value(packed, coding, narrow, {v, {}});
  for (const uint64_t v : list.bits) put_list_value(packed, coding, narrow, {v, {}});
  for (const std::string_view v : list.texts) put_list_value(packed, coding, narrow, {0, v});
  put_list(out, coding, packed.view());
}

}  // namespace

uint32_t Dictionary::add(EntryKind kind, std::string_view bytes) {
  key_.assign(1, static_cast<char>(kind));
  key_ += bytes;
  if (const std::optional<uint32_t> known = find(key_)) return *known;
  const std::string_view kept = arena_.add(key_);
  const uint32_t id = size();
  texts_.push_back(kept);
  ids_.emplace(kept, id);
  return id;
}

std::optional<uint32_t> Dictionary::find(std::string_view entry) const {
  if (base_)  // later entries of the base are not seen
    if (const std::optional<uint32_t> id = base_->find(entry); id && *id < base_size_) return id;
  const auto found = ids_.find(entry);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> Dictionary::find(EntryKind kind, std::string_view bytes) const {
  return find(std::string(1, static_cast<char>(kind)).append(bytes));
}

namespace {

/// Whether the values of a column are entries of the dictionary.
bool holds_entries(std::string_view column) {
  if (column[kStreamAt] != '0' + static_cast<char>(kMain)) return false;
  switch (column[kKindAt]) {
    case kShape:
    case kName:
    case kIo:
    case kDoc: return true;
    case kAttr: return schema::kMembers[static_cast<unsigned char>(column[kFieldAt])].coding == Coding::text;
    default: return false;
  }
}

}  // namespace

void renumber(Group& group, const Dictionary& addition, const std::vector<uint32_t>& ids) {
  const uint32_t base = addition.base_size();
  const auto now = [&](uint64_t id) { return id < base ? id : ids[id - base]; };
  const auto columns = [&](Columns& of, bool values) {
    Columns renumbered;
    for (auto& [id, bytes] : of) {
      std::string& to = renumbered[static_cast<uint32_t>(now(id))];
      if (!values || !holds_entries(addition[id])) {
        to = std::move(bytes);
        continue;
      }
      uint64_t before = 0, after = 0;
      for (ByteReader in(bytes); !in.done();) {
        const uint64_t entry = now(before += static_cast<uint64_t>(unzigzag(in.varint())));
        put_varint(to, zigzag(static_cast<int64_t>(entry - std::exchange(after, entry))));
      }
    }
    of = std::move(renumbered);
  };
  columns(group.columns, true);
  columns(group.firsts, false);
}

struct ColumnWriter::Column {
  std::string key;
  std::array<std::string, 3> streams;
  std::string firsts;  ///< see Group
  std::array<std::optional<uint32_t>, 3> ids;
  uint64_t last = 0, last_text = 0;
  /// An entry of the dictionary, and the numbers of its last text in the group `group`. The first differences of a
  /// pattern in a group refer to the numbers of the last name, which it often repeats.
  struct Text {
    uint32_t id = 0;
    int64_t group = -1;
    std::vector<uint64_t> numbers;
  };
  std::array<TextMap<std::unique_ptr<Text>>, 2> known;  ///< texts, patterns
  std::string previous;                                 ///< the last text of the group
  size_t previous_numbers = 0;
  int64_t previous_group = -1;

  void delta(uint64_t value) {
    put_varint(streams[kMain], zigzag(static_cast<int64_t>(value - std::exchange(last, value))));
  }
};

struct ColumnWriter::Shape {
  uint32_t id = 0;
  std::vector<std::pair<Column*, Column*>> attrs;  ///< value and doc, null where there is none
};

ColumnWriter::ColumnWriter(Dictionary& dictionary)
    : dictionary_(dictionary),
      fixed_(fixed_columns<Column>([&](char kind, uint32_t field) { return &column(kind, field); })) {}
ColumnWriter::~ColumnWriter() = default;

ColumnWriter::Column& ColumnWriter::column(char kind, uint32_t field, std::string_view name) {
  std::unique_ptr<Column>& column = columns_[column_key(kind, field, name)];
  if (!column) {
    column = std::make_unique<Column>();
    column->key = column_key(kind, field, name);
  }
  return *column;
}

/// Numbers in texts count up from node to node; without them few texts are left.
void ColumnWriter::text(Column& column, std::string_view text) {
  if (column.previous_group == group_ && column.previous == text) {  // then all differences are 0
    column.streams[kMain] += '\0';
    column.streams[kNumbers].append(column.previous_numbers, '\0');
    return;
  }
  split_numbers(text, pattern_, numbers_);
  column.previous = text;
  column.previous_group = group_;
  column.previous_numbers = numbers_.size();
  const EntryKind kind = numbers_.empty() ? EntryKind::text : EntryKind::pattern;
  const std::string_view bytes = kind == EntryKind::text ? text : std::string_view(pattern_);
  auto& known = column.known[kind == EntryKind::pattern];
  auto found = known.find(bytes);
  if (found == known.end()) {
    auto entry = std::make_unique<Column::Text>();
    entry->id = dictionary_.add(kind, bytes);
    found = known.emplace(dictionary_[entry->id].substr(1), std::move(entry)).first;
  }
  Column::Text& last = *found->second;
  put_varint(column.streams[kMain], zigzag(static_cast<int64_t>(last.id - std::exchange(column.last_text, last.id))));
  if (kind == EntryKind::text) return;
  if (std::exchange(last.group, group_) != group_) {
    last.numbers = recent_;
    last.numbers.resize(numbers_.size());
    for (const uint64_t number : last.numbers) put_varint(column.firsts, number);
  }
  for (size_t i = 0; i < numbers_.size(); ++i)
    put_varint(column.streams[kNumbers],
               zigzag(static_cast<int64_t>(numbers_[i] - std::exchange(last.numbers[i], numbers_[i]))));
  if (&column == fixed_.name) recent_ = numbers_;
}

Result<void> ColumnWriter::value(Column& column, const AttrRecord& attr) {
  const Coding coding = schema::kMembers[attr.field].coding;
  const int fixed = fixed_bytes(coding);
  if (!schema::is_list(attr.field)) {
    switch (coding) {
      case Coding::none: break;
      case Coding::text: text(column, attr.bytes); break;
      case Coding::natural:
      case Coding::fixed32:
      case Coding::fixed64: column.delta(attr.natural); break;
      case Coding::real32:
      case Coding::real64: put_fixed(column.streams[kMain], attr.natural, fixed); break;
      default: column.delta(static_cast<uint64_t>(attr.integer));
    }
    return {};
  }
  schema::UnknownFields unknown;
  CHAKRA_ASSIGN(const schema::AttrList list, decode_list(attr, &unknown));
  list_.clear();
  put_list(list_, list, attr.field);
  std::string& counts = column.streams[kCounts];
  if (list_.view() != attr.bytes) {  // unusual: as it stands
    put_varint(counts, 0);
    put_varint(counts, attr.bytes.size());
    counts += attr.bytes;
    return {};
  }
  put_varint(counts, 1 + std::max({list.integers.size(), list.naturals.size(), list.bits.size(), list.texts.size()}));
  for (const int64_t v : list.integers) column.delta(static_cast<uint64_t>(v));
  for (const std::string_view v : list.texts) text(column, v);
  for (const uint64_t v : list.naturals) column.delta(v);
  for (const uint64_t v : list.bits) put_fixed(column.streams[kMain], v, fixed);
  return {};
}

/// What a node has, without the values. Its bytes: flags, type, which texts of inputs and outputs, then per
/// attribute length of the name, name, member, whether there is a doc string.
ColumnWriter::Shape& ColumnWriter::shape_of(const NodeRecord& r) {
  std::string& key = shape_key_;
  key.clear();
  put_varint(key, (r.inputs.present ? kHasInputs : 0) | (r.outputs.present ? kHasOutputs : 0) |
                      (r.ctrl_deps.empty() ? 0 : kHasCtrl) | (r.data_deps.empty() ? 0 : kHasData) |
                      (r.start_micros ? kHasStart : 0) | (r.duration_micros ? kHasDuration : 0) |
                      (r.name.empty() ? 0 : kHasName) | (r.unknown.empty() ? 0 : kHasUnknown));
  put_varint(key, r.type);
  uint64_t texts = 0;
  size_t bit = 0;
  for (const std::string_view text :
       {r.inputs.values, r.inputs.shapes, r.inputs.types, r.outputs.values, r.outputs.shapes, r.outputs.types})
    texts |= uint64_t{!text.empty()} << bit++;
  put_varint(key, texts);
  for (const AttrRecord& attr : r.attrs) {
    put_varint(key, attr.name.size());
    key += attr.name;
    key += static_cast<char>(attr.field);
    key += attr.doc.empty() ? '\0' : '\1';
  }
  if (const auto found = shapes_.find(key); found != shapes_.end()) return *found->second;
  auto shape = std::make_unique<Shape>();
  shape->id = dictionary_.add(EntryKind::shape, key);
  for (const AttrRecord& attr : r.attrs)
    shape->attrs.emplace_back(attr.field == 0 ? nullptr : &column(kAttr, attr.field, attr.name),
                              attr.doc.empty() ? nullptr : &column(kDoc, attr.field, attr.name));
  return *shapes_.emplace(keys_.add(key), std::move(shape)).first->second;
}

Result<void> ColumnWriter::add(const NodeRecord& r) {
  Shape& shape = shape_of(r);
  fixed_.shape->delta(shape.id);
  fixed_.id->delta(r.id);
  const auto ids = [&](Column& column, const std::vector<uint64_t>& list) {
    if (list.empty()) return;
    put_varint(column.streams[kCounts], list.size());
    uint64_t last = r.id;
    for (const uint64_t id : list)
      put_varint(column.streams[kMain], zigzag(static_cast<int64_t>(id - std::exchange(last, id))));
  };
  ids(*fixed_.ctrl, r.ctrl_deps);
  ids(*fixed_.data, r.data_deps);
  if (r.start_micros) fixed_.start->delta(r.start_micros);
  if (r.duration_micros) put_varint(fixed_.duration->streams[kMain], r.duration_micros);
  if (!r.name.empty()) text(*fixed_.name, r.name);
  size_t index = 0;
  for (const std::string_view io :
       {r.inputs.values, r.inputs.shapes, r.inputs.types, r.outputs.values, r.outputs.shapes, r.outputs.types}) {
    Column& column = *fixed_.io[index++];
    if (!io.empty()) text(column, io);
  }
  for (size_t i = 0; i < r.attrs.size(); ++i) {
    const auto& [values, docs] = shape.attrs[i];
    if (values) CHAKRA_TRY(value(*values, r.attrs[i]));
    if (docs) text(*docs, r.attrs[i].doc);
  }
  if (!r.unknown.empty()) {
    put_varint(fixed_.unknown->streams[kCounts], r.unknown.size());
    for (const UnknownField& field : r.unknown) {
      put_varint(fixed_.unknown->streams[kMain], zigzag(field.owner));
      put_varint(fixed_.unknown->streams[kMain], field.bytes.size());
      fixed_.unknown->streams[kMain] += field.bytes;
    }
  }
  ++nodes_;
  return {};
}

Group ColumnWriter::take() {
  Group group;
  for (auto& [key, column] : columns_) {
    for (size_t s = 0; s < column->streams.size(); ++s) {
      if (column->streams[s].empty()) continue;
      if (!column->ids[s])
        column->ids[s] = dictionary_.add(EntryKind::column, std::string(1, static_cast<char>('0' + s)) + key);
      group.columns.emplace(*column->ids[s], std::exchange(column->streams[s], {}));
    }
    if (!column->firsts.empty()) group.firsts.emplace(*column->ids[kMain], std::exchange(column->firsts, {}));
    column->last = column->last_text = 0;
  }
  recent_.clear();
  ++group_;
  nodes_ = 0;
  return group;
}

}  // namespace chakra::pack
