// Columns -> nodes.
#include "chakra/pack/column_keys.h"
#include "chakra/pack/substitution.h"
#include "chakra/pack/texts.h"

namespace chakra::pack {
namespace {

/// A node's texts together; a file with more is not a trace but a bomb.
constexpr size_t kMostText = size_t{1} << 28;

Error damaged(std::string text) { return fail(Code::bad_input, "io.container.damaged", std::move(text)).error(); }

}  // namespace

struct ColumnReader::Column {
  std::array<ByteReader, 3> streams{ByteReader({}), ByteReader({}), ByteReader({})};
  const Replacements* replaced = nullptr;  ///< null: the values stay as they are
  uint64_t last = 0, last_text = 0;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> numbers;
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

ColumnReader::ColumnReader(const EntryOf& entry_of) : entry_of_(entry_of) {}
ColumnReader::~ColumnReader() = default;

Result<std::unique_ptr<ColumnReader>> ColumnReader::create(const Columns& columns, const EntryOf& entry_of,
                                                           const Substitutions& substitutions) {
  std::unique_ptr<ColumnReader> reader(new ColumnReader(entry_of));
  for (const auto& [id, bytes] : columns) {
    CHAKRA_ASSIGN(const std::string_view entry, entry_of(id));
    if (entry.size() < 4 || entry[0] != static_cast<char>(EntryKind::column) || entry[1] < '0' || entry[1] > '2')
      return Failure(damaged("a column has an invalid name"));
    auto& column = reader->columns_[std::string(entry.substr(2))];
    if (!column) column = std::make_unique<Column>();
    if (entry[1] == '0' + kMain) column->replaced = substitutions.of(id);
    column->streams[static_cast<size_t>(entry[1] - '0')] = ByteReader(bytes);
  }
  reader->fixed_ = fixed_columns<Column>([&](char kind, uint32_t field) { return reader->column(kind, field); });
  return reader;
}

/// A missing column is equivalent to a column without bytes.
ColumnReader::Column* ColumnReader::column(char kind, uint32_t field, std::string_view name) {
  std::unique_ptr<Column>& column = columns_[column_key(kind, field, name)];
  if (!column) column = std::make_unique<Column>();
  return column.get();
}

std::string_view ColumnReader::entry(uint64_t id) {
  Result<std::string_view> entry = entry_of_(id);
  if (entry && !entry->empty()) return *entry;
  if (!error_) error_ = entry ? damaged("an entry of the dictionary is empty") : entry.error();
  return {};
}

std::string& ColumnReader::fresh() {
  if (used_ == pool_.size()) pool_.emplace_back();
  std::string& text = pool_[used_++];
  text.clear();
  return text;
}

uint64_t ColumnReader::delta(Column& column) {
  return column.last += static_cast<uint64_t>(unzigzag(column.streams[kMain].varint()));
}

/// The value that the rank has where its master has `value`.
uint64_t ColumnReader::replaced(const Column& column, uint64_t value) {
  if (!column.replaced) return value;
  value_.clear();
  put_varint(value_, schema::zigzag(static_cast<int64_t>(value)));
  const Replacement* const other = column.replaced->find(value_);
  return other ? other->integer : value;
}

std::string_view ColumnReader::text(Column& column) {
  const uint64_t id = column.last_text += static_cast<uint64_t>(unzigzag(column.streams[kMain].varint()));
  const std::string_view found = column.streams[kMain].ok ? entry(id) : std::string_view();
  if (found.empty()) return {};
  const auto kind = static_cast<EntryKind>(found[0]);
  const std::string_view pattern = found.substr(1);
  text_bytes_ += pattern.size();
  if (text_bytes_ > kMostText && !error_) error_ = damaged("a node with more than 256 MiB of text");
  if (kind != EntryKind::text && kind != EntryKind::pattern && !error_) error_ = damaged("invalid text entry");
  if (error_) return {};
  if (column.replaced) {
    value_.clear();
    put_varint(value_, id);
  }
  std::string_view text = pattern;
  if (kind == EntryKind::pattern) {
    const auto [known, first] = column.numbers.try_emplace(id);
    std::vector<uint64_t>& last = known->second;
    if (first) last = recent_;
    last.resize(count_numbers(pattern));
    for (uint64_t& number : last) {
      number += static_cast<uint64_t>(unzigzag(column.streams[kNumbers].varint()));
      if (column.replaced) put_varint(value_, number);
    }
    std::string& out = fresh();
    join_numbers(pattern, last, out);
    text = out;
    text_bytes_ += text.size();
    if (&column == fixed_.name) recent_ = last;
  }
  const Replacement* const other = column.replaced ? column.replaced->find(value_) : nullptr;
  if (!other) return text;
  text_bytes_ += other->text.size();
  return other->text;
}

void ColumnReader::value(Column& column, AttrRecord& attr) {
  const Coding coding = schema::kMembers[attr.field].coding;
  const int fixed = fixed_bytes(coding);
  if (!schema::is_list(attr.field)) {
    switch (coding) {
      case Coding::none: return;
      case Coding::text: attr.bytes = text(column); return;
      case Coding::real32:
      case Coding::real64: attr.natural = column.streams[kMain].fixed(fixed); return;
      default: attr.natural = replaced(column, delta(column)); attr.integer = static_cast<int64_t>(attr.natural);
    }
    return;
  }
  ByteReader& counts = column.streams[kCounts];
  const uint64_t count = counts.varint();
  if (count == 0) {
    attr.bytes = counts.bytes(counts.varint());
    return;
  }
  wire::Bytes packed, message;
  const bool narrow = schema::is_narrow(attr.field);
  for (uint64_t i = 1; i < count && column.streams[kMain].ok && !error_; ++i) {
    schema::ListValue value;
    if (coding == Coding::text) value.text = text(column);
    else value.bits = fixed > 0 ? column.streams[kMain].fixed(fixed) : delta(column);
    put_list_value(packed, coding, narrow, value);
  }
  put_list(message, coding, packed.view());
  attr.bytes = fresh().assign(message.view());
}

const ColumnReader::Shape* ColumnReader::shape(uint64_t id) {
  std::unique_ptr<Shape>& shape = shapes_[id];
  if (shape) return shape.get();
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

Result<bool> ColumnReader::next(NodeRecord& r) {
  if (fixed_.shape->streams[kMain].done()) return false;
  used_ = text_bytes_ = 0;
  r.ctrl_deps.clear();
  r.data_deps.clear();
  r.attrs.clear();
  r.unknown.clear();
  const Shape* const shape = this->shape(delta(*fixed_.shape));
  if (!shape) return Failure(*error_);
  const auto has = [&](uint64_t flag) { return (shape->flags & flag) != 0; };
  r.type = shape->type;
  r.id = delta(*fixed_.id);
  const auto ids = [&](Column& column, std::vector<uint64_t>& list) {
    uint64_t last = r.id;
    ByteReader& values = column.streams[kMain];
    for (uint64_t left = column.streams[kCounts].varint(); left > 0 && values.ok; --left)
      list.push_back(last += static_cast<uint64_t>(unzigzag(values.varint())));
  };
  if (has(kHasCtrl)) ids(*fixed_.ctrl, r.ctrl_deps);
  if (has(kHasData)) ids(*fixed_.data, r.data_deps);
  r.start_micros = has(kHasStart) ? delta(*fixed_.start) : 0;
  r.duration_micros = has(kHasDuration) ? fixed_.duration->streams[kMain].varint() : 0;
  r.name = has(kHasName) ? text(*fixed_.name) : std::string_view();
  r.inputs = r.outputs = {};
  r.inputs.present = has(kHasInputs);
  r.outputs.present = has(kHasOutputs);
  size_t bit = 0;
  for (std::string_view* io :
       {&r.inputs.values, &r.inputs.shapes, &r.inputs.types, &r.outputs.values, &r.outputs.shapes, &r.outputs.types}) {
    if (shape->texts >> bit & 1) *io = text(*fixed_.io[bit]);
    ++bit;
  }
  for (const Shape::Attr& of : shape->attrs) {
    AttrRecord& attr = r.attrs.emplace_back();
    attr.name = of.name;
    attr.field = of.field;
    if (of.value) value(*of.value, attr);
    if (of.doc) attr.doc = text(*of.doc);
    if (error_) break;
  }
  if (has(kHasUnknown)) {
    ByteReader& fields = fixed_.unknown->streams[kMain];
    for (uint64_t left = fixed_.unknown->streams[kCounts].varint(); left > 0 && fields.ok; --left) {
      const int64_t owner = unzigzag(fields.varint());
      const std::string_view bytes = fields.bytes(fields.varint());
      if (owner < UnknownField::kOutputs || owner >= static_cast<int64_t>(r.attrs.size()) || !schema::are_fields(bytes))
        error_ = damaged("unknown fields of a missing record");
      else r.unknown.push_back({static_cast<int32_t>(owner), bytes});
      if (error_) break;
    }
  }
  if (error_) return Failure(*error_);
  for (const auto& [key, column] : columns_)
    for (const ByteReader& stream : column->streams)
      if (!stream.ok) return Failure(damaged("a column ends too early"));
  return true;
}

}  // namespace chakra::pack
