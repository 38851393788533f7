// Columns -> nodes.
#include <bit>

#include "chakra/pack/column_keys.h"
#include "chakra/pack/substitution.h"
#include "chakra/pack/texts.h"

namespace chakra::pack {
namespace {

/// A node's texts together; a file with more is not a trace but a bomb.
constexpr size_t kMostText = size_t{1} << 28;
/// Texts that are remembered from group to group.
constexpr size_t kMostKnownTexts = size_t{1} << 16;

Error damaged(std::string text) { return fail(Code::bad_input, "io.container.damaged", std::move(text)).error(); }

}  // namespace

struct ColumnReader::Column {
  std::array<ByteReader, 3> streams{ByteReader({}), ByteReader({}), ByteReader({})};
  const Replacements* replaced = nullptr;  ///< null: the values stay as they are
  uint64_t last = 0, last_text = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Text>> texts;  ///< by entry of the dictionary
  Text* text = nullptr;                                        ///< that of last_text; null: not looked up
};

/// A text of a column, or a pattern of texts.
struct ColumnReader::Text {
  Pattern pattern;
  int64_t group = -1;             ///< of the last text
  std::vector<uint64_t> numbers;  ///< of the last text
};

struct ColumnReader::Shape {
  uint64_t flags = 0, type = 0, texts = 0;
  struct Attr {
    std::string_view name;
    uint32_t field = 0;
    Column* value = nullptr;
    Column* doc = nullptr;
  };
  std::vector<Attr> attrs;
};

ColumnReader::ColumnReader(const EntryOf& entry_of, const Substitutions& substitutions)
    : entry_of_(entry_of), substitutions_(substitutions) {
  fixed_ = fixed_columns<Column>([&](char kind, uint32_t field) { return column(kind, field); });
}
ColumnReader::~ColumnReader() = default;

Result<void> ColumnReader::begin(const ColumnViews& columns) {
  ++group_.number;
  group_.recent.clear();
  const bool forget = known_.texts > kMostKnownTexts;
  if (forget) known_.texts = 0;
  for (Column* const column : group_.columns) {
    column->streams.fill(ByteReader({}));
    column->replaced = nullptr;
    column->last = column->last_text = 0;
    column->text = nullptr;
    if (forget) column->texts.clear();
  }
  group_.columns.clear();
  for (const auto& [id, bytes] : columns) {
    auto known = known_.streams.find(id);
    if (known == known_.streams.end()) {
      CHAKRA_ASSIGN(const Stream stream, stream_of(id));
      known = known_.streams.emplace(id, stream).first;
    }
    const auto& [column, stream] = known->second;
    if (stream == kMain) column->replaced = substitutions_.of(id);
    column->streams[stream] = ByteReader(bytes);
    group_.columns.push_back(column);
  }
  return {};
}

/// The column and the stream of an entry.
Result<ColumnReader::Stream> ColumnReader::stream_of(uint32_t id) {
  CHAKRA_ASSIGN(const std::string_view entry, entry_of_(id));
  if (entry.size() < 4 || entry[0] != static_cast<char>(EntryKind::column) || entry[1] < '0' || entry[1] > '2')
    return Failure(damaged("a column has an invalid name"));
  auto& column = known_.columns[std::string(entry.substr(2))];
  if (!column) column = std::make_unique<Column>();
  return Stream(column.get(), static_cast<size_t>(entry[1] - '0'));
}

/// A missing column is equivalent to a column without bytes.
ColumnReader::Column* ColumnReader::column(char kind, uint32_t field, std::string_view name) {
  std::unique_ptr<Column>& column = known_.columns[column_key(kind, field, name)];
  if (!column) column = std::make_unique<Column>();
  return column.get();
}

std::string_view ColumnReader::entry(uint64_t id) {
  Result<std::string_view> entry = entry_of_(id);
  if (entry && !entry->empty()) return *entry;
  if (!error_) error_ = entry ? damaged("an entry of the dictionary is empty") : entry.error();
  return {};
}

uint64_t ColumnReader::number(ByteReader& stream) {
  const uint64_t value = stream.varint();
  ok_ = ok_ && stream.ok;
  return value;
}

uint64_t ColumnReader::bits(ByteReader& stream, int bytes) {
  const uint64_t value = stream.fixed(bytes);
  ok_ = ok_ && stream.ok;
  return value;
}

std::string_view ColumnReader::bytes(ByteReader& stream) {
  const std::string_view value = stream.bytes(stream.varint());
  ok_ = ok_ && stream.ok;
  return value;
}

uint64_t ColumnReader::delta(Column& column) {
  return column.last += static_cast<uint64_t>(unzigzag(number(column.streams[kMain])));
}

/// The value that the rank has where its master has `value`.
uint64_t ColumnReader::replaced(const Column& column, uint64_t value) {
  if (!column.replaced) return value;
  value_.clear();
  put_varint(value_, zigzag(static_cast<int64_t>(value)));
  const Replacement* const other = column.replaced->find(value_);
  return other ? other->integer : value;
}

/// Return the entry of the column's next text; null for damage.
ColumnReader::Text* ColumnReader::next_text(Column& column) {
  const uint64_t step = number(column.streams[kMain]);
  if (!column.streams[kMain].ok) return nullptr;
  if (step == 0 && column.text) return column.text;
  const uint64_t id = column.last_text += static_cast<uint64_t>(unzigzag(step));
  if (const auto known = column.texts.find(id); known != column.texts.end()) return column.text = known->second.get();
  const std::string_view found = entry(id);
  if (found.empty()) return nullptr;
  const auto kind = static_cast<EntryKind>(found[0]);
  if (kind != EntryKind::text && kind != EntryKind::pattern) {
    if (!error_) error_ = damaged("invalid text entry");
    return nullptr;
  }
  ++known_.texts;
  auto text = std::make_unique<Text>(Text{Pattern(found.substr(1), kind == EntryKind::pattern), -1, {}});
  return column.text = column.texts.emplace(id, std::move(text)).first->second.get();
}

std::string_view ColumnReader::text(Column& column) {
  Text* const entry = next_text(column);
  if (!entry) return {};
  const Pattern& pattern = entry->pattern;
  text_bytes_ += pattern.text().size();
  if (text_bytes_ > kMostText && !error_) error_ = damaged("a node with more than 256 MiB of text");
  if (error_) return {};
  std::string_view text = pattern.text();
  std::vector<uint64_t>& numbers = entry->numbers;
  if (pattern.has_numbers()) {
    if (std::exchange(entry->group, group_.number) != group_.number) numbers = group_.recent;
    numbers.resize(pattern.numbers());
    for (uint64_t& number : numbers) number += static_cast<uint64_t>(unzigzag(this->number(column.streams[kNumbers])));
    if (&column == fixed_.name) group_.recent = numbers;
    char* const begin = scratch_.room(pattern.most_bytes());
    text = {begin, static_cast<size_t>(pattern.join(numbers, begin) - begin)};
    scratch_.take(text.size());
    text_bytes_ += text.size();
  }
  if (!column.replaced) return text;
  value_.clear();
  put_varint(value_, column.last_text);
  for (const uint64_t number : numbers) put_varint(value_, number);
  const Replacement* const other = column.replaced->find(value_);
  if (!other) return text;
  text_bytes_ += other->text.size();
  return other->text;
}

/// Return the message of a list's values.
std::string_view ColumnReader::list(Column& column, uint32_t field) {
  const uint64_t count = number(column.streams[kCounts]);
  if (count == 0) return bytes(column.streams[kCounts]);
  const Coding coding = schema::kMembers[field].coding;
  const int fixed = fixed_bytes(coding);
  const bool narrow = schema::is_narrow(field);
  run_.clear();
  for (uint64_t i = 1; i < count && column.streams[kMain].ok && !error_; ++i) {
    schema::ListValue value;
    if (coding == Coding::text) value.text = text(column);
    else value.bits = fixed > 0 ? bits(column.streams[kMain], fixed) : delta(column);
    put_list_value(run_, coding, narrow, value);
  }
  list_.clear();
  put_list(list_, coding, run_.view());
  return scratch_.add(list_.view());
}

void ColumnReader::value(Column& column, AttrRecord& attr) {
  if (schema::is_list(attr.field)) {
    attr.bytes = list(column, attr.field);
    return;
  }
  const Coding coding = schema::kMembers[attr.field].coding;
  switch (coding) {
    case Coding::none: return;
    case Coding::text: attr.bytes = text(column); return;
    case Coding::real32:
      attr.natural = bits(column.streams[kMain], fixed_bytes(coding));
      attr.real = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(attr.natural)));
      return;
    case Coding::real64:
      attr.natural = bits(column.streams[kMain], fixed_bytes(coding));
      attr.real = std::bit_cast<double>(attr.natural);
      return;
    default: attr.natural = replaced(column, delta(column)); attr.integer = static_cast<int64_t>(attr.natural);
  }
}

const ColumnReader::Shape* ColumnReader::shape(uint64_t id) {
  if (known_.last_shape.second && known_.last_shape.first == id) return known_.last_shape.second;
  std::unique_ptr<Shape>& shape = known_.shapes[id];
  if (shape) return (known_.last_shape = {id, shape.get()}).second;
  const std::string_view found = entry(id);
  if (found.empty()) return nullptr;
  auto parsed = std::make_unique<Shape>();
  ByteReader bytes(found.substr(1));
  parsed->flags = bytes.varint();
  parsed->type = bytes.varint();
  parsed->texts = bytes.varint();
  bool ok = found[0] == static_cast<char>(EntryKind::shape);
  while (ok && bytes.ok && !bytes.done()) {
    Shape::Attr attr;
    attr.name = bytes.bytes(bytes.varint());
    attr.field = static_cast<uint32_t>(bytes.fixed(1));
    ok = attr.field == 0 || (attr.field >= 3 && attr.field < schema::kMembers.size());
    if (!ok) break;
    if (attr.field != 0) attr.value = column(kAttr, attr.field, attr.name);
    if (bytes.fixed(1) != 0) attr.doc = column(kDoc, attr.field, attr.name);
    parsed->attrs.push_back(attr);
  }
  if (!ok || !bytes.ok) {
    error_ = damaged("invalid entry for the columns of a node");
    return nullptr;
  }
  shape = std::move(parsed);
  return shape.get();
}

void ColumnReader::unknown_fields(NodeRecord& r) {
  ByteReader& fields = fixed_.unknown->streams[kMain];
  for (uint64_t left = number(fixed_.unknown->streams[kCounts]); left > 0 && fields.ok && !error_; --left) {
    const int64_t owner = unzigzag(number(fields));
    const std::string_view field = bytes(fields);
    if (owner < UnknownField::kOutputs || owner >= static_cast<int64_t>(r.attrs.size()) || !schema::are_fields(field))
      error_ = damaged("unknown fields of a missing record");
    else r.unknown.push_back({static_cast<int32_t>(owner), field});
  }
}

Result<bool> ColumnReader::next(NodeRecord& r) {
  if (error_) return Failure(*error_);
  if (fixed_.shape->streams[kMain].done()) return false;
  scratch_.clear();
  text_bytes_ = 0;
  r.ctrl_deps.clear();
  r.data_deps.clear();
  r.unknown.clear();
  const Shape* const shape = this->shape(delta(*fixed_.shape));
  if (!shape) return Failure(*error_);
  const auto has = [&](uint64_t flag) { return (shape->flags & flag) != 0; };
  r.type = shape->type;
  r.id = delta(*fixed_.id);
  const auto ids = [&](Column& column, std::vector<uint64_t>& list) {
    uint64_t last = r.id;
    ByteReader& values = column.streams[kMain];
    for (uint64_t left = number(column.streams[kCounts]); left > 0 && values.ok; --left)
      list.push_back(last += static_cast<uint64_t>(unzigzag(number(values))));
  };
  if (has(kHasCtrl)) ids(*fixed_.ctrl, r.ctrl_deps);
  if (has(kHasData)) ids(*fixed_.data, r.data_deps);
  r.start_micros = has(kHasStart) ? delta(*fixed_.start) : 0;
  r.duration_micros = has(kHasDuration) ? number(fixed_.duration->streams[kMain]) : 0;
  r.name = has(kHasName) ? text(*fixed_.name) : std::string_view();
  r.inputs = r.outputs = {};
  r.inputs.present = has(kHasInputs);
  r.outputs.present = has(kHasOutputs);
  if (shape->texts != 0) {
    size_t bit = 0;
    for (std::string_view* io : {&r.inputs.values, &r.inputs.shapes, &r.inputs.types, &r.outputs.values,
                                 &r.outputs.shapes, &r.outputs.types}) {
      if (shape->texts >> bit & 1) *io = text(*fixed_.io[bit]);
      ++bit;
    }
  }
  r.attrs.clear();
  r.attrs.resize(shape->attrs.size());
  for (size_t i = 0; i < shape->attrs.size() && !error_; ++i) {
    const Shape::Attr& of = shape->attrs[i];
    AttrRecord& attr = r.attrs[i];
    attr.name = of.name;
    attr.field = of.field;
    if (of.value) value(*of.value, attr);
    if (of.doc) attr.doc = text(*of.doc);
  }
  if (has(kHasUnknown)) unknown_fields(r);
  if (!error_ && !ok_) error_ = damaged("a column ends too early");
  if (error_) return Failure(*error_);
  return true;
}

}  // namespace chakra::pack
