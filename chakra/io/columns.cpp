#include "chakra/io/columns.h"

#include <fmt/core.h>

#include <charconv>

namespace chakra::io {
namespace {

using schema::Coding;

// Streams of a column: texts are an entry of the dictionary in `kMain` and its numbers in `kNumbers`; lists have
// how many in `kCounts`.
constexpr size_t kMain = 0, kNumbers = 1, kCounts = 2;

constexpr char kShape = 'S', kId = 'I', kCtrl = 'C', kData = 'D', kStart = 'B', kDuration = 'L', kName = 'N', kIo = 'V',
               kAttr = 'A', kDoc = 'O', kUnknown = 'U';

constexpr uint64_t kHasInputs = 1, kHasOutputs = 2, kHasCtrl = 4, kHasData = 8, kHasStart = 16, kHasDuration = 32,
                   kHasName = 64, kHasUnknown = 128;
/// A node's texts together; a file with more is not a trace but a bomb.
constexpr size_t kMostText = size_t{1} << 28;

std::string column_key(char kind, uint32_t field, std::string_view name) {
  std::string key{kind, static_cast<char>(field)};
  return key += name;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The list in its usual form, which most have.
void put_list(wire::Bytes& out, const AttrList& list, uint32_t field) {
  const Coding coding = schema::kMembers[field].coding;
  const bool narrow = schema::is_narrow(field);
  wire::Bytes packed;
  for (const int64_t v : list.integers) put_list_value(packed, coding, narrow, {static_cast<uint64_t>(v), {}});
  for (const uint64_t v : list.naturals) put_list_value(packed, coding, narrow, {v, {}});
  for (const uint64_t v : list.bits) put_list_value(packed, coding, narrow, {v, {}});
  for (const std::string_view v : list.texts) put_list_value(packed, coding, narrow, {0, v});
  if (coding == Coding::text) out.end(wire::bytes_at(out.room(packed.size() + 16), packed.view()));
  else if (packed.size() > 0) wire::put_text(out, schema::kListValues, packed.view());
}

int fixed_bytes(Coding coding) { return coding == Coding::real64 ? 8 : coding == Coding::real32 ? 4 : 0; }

}  // namespace

// ---- bytes ---------------------------------------------------------------------------------------

uint64_t ByteReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && at != end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return ok ? value : 0;
  }
  ok = false;
  return 0;
}

uint64_t ByteReader::fixed(int size) {
  const std::string_view text = bytes(static_cast<uint64_t>(size));
  uint64_t value = 0;
  for (size_t i = 0; i < text.size(); ++i) value |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  return value;
}

std::string_view ByteReader::bytes(uint64_t size) {
  if (!ok || size > static_cast<uint64_t>(end - at)) {
    ok = false;
    return {};
  }
  at += size;
  return {at - size, static_cast<size_t>(size)};
}

void put_varint(std::string& out, uint64_t value) {
  char bytes[wire::kMostVarint];
  out.append(bytes, static_cast<size_t>(wire::varint_at(bytes, value) - bytes));
}

void put_fixed(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint32_t Dictionary::add(EntryKind kind, std::string_view bytes) {
  key_.assign(1, static_cast<char>(kind));
  key_ += bytes;
  if (const auto found = ids_.find(key_); found != ids_.end()) return found->second;
  const std::string_view kept = arena_.add(key_);
  const auto id = static_cast<uint32_t>(texts_.size());
  texts_.push_back(kept);
  ids_.emplace(kept, id);
  return id;
}

// ---- writing -------------------------------------------------------------------------------------

struct ColumnWriter::Column {
  std::string key;
  std::array<std::string, 3> streams;
  std::array<std::optional<uint32_t>, 3> ids;
  uint64_t last = 0, last_text = 0;
  /// The numbers of the last text of each pattern, of the group that is said. The first of a pattern is told
  /// from those of the last name, which it often repeats.
  struct Numbers {
    int64_t group = -1;
    std::vector<uint64_t> values;
  };
  absl::flat_hash_map<uint32_t, Numbers> numbers;

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
      shape_(column(kShape)),
      id_(column(kId)),
      ctrl_(column(kCtrl)),
      data_(column(kData)),
      start_(column(kStart)),
      duration_(column(kDuration)),
      name_(column(kName)),
      unknown_(column(kUnknown)) {
  for (uint32_t i = 0; i < io_.size(); ++i) io_[i] = &column(kIo, i);
}
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
  numbers_.clear();
  pattern_.clear();
  EntryKind kind = EntryKind::text;
  if (text.find('\0') == text.npos) {
    size_t literal = 0;
    for (size_t i = 0; i < text.size();) {
      if (!is_digit(text[i])) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < text.size() && is_digit(text[end])) ++end;
      // What would not come out again as it was stays text: leading zeros, numbers beyond 18 digits.
      if (end - i <= 18 && (text[i] != '0' || end - i == 1)) {
        uint64_t number = 0;
        for (size_t d = i; d < end; ++d) number = number * 10 + static_cast<uint64_t>(text[d] - '0');
        numbers_.push_back(number);
        pattern_.append(text, literal, i - literal);
        pattern_ += '\0';
        literal = end;
      }
      i = end;
    }
    if (!numbers_.empty()) {
      kind = EntryKind::pattern;
      pattern_.append(text, literal);
    }
  }
  const uint32_t id = dictionary_.add(kind, kind == EntryKind::text ? text : pattern_);
  put_varint(column.streams[kMain], zigzag(static_cast<int64_t>(id - std::exchange(column.last_text, id))));
  if (kind == EntryKind::text) return;
  Column::Numbers& last = column.numbers[id];
  if (last.group != group_) {
    last.group = group_;
    last.values = recent_;
    last.values.resize(numbers_.size());
  }
  for (size_t i = 0; i < numbers_.size(); ++i)
    put_varint(column.streams[kNumbers],
               zigzag(static_cast<int64_t>(numbers_[i] - std::exchange(last.values[i], numbers_[i]))));
  if (&column == &name_) recent_ = numbers_;
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
  UnknownFields unknown;
  CHAKRA_ASSIGN(const AttrList list, decode_list(attr, &unknown));
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
  shape_.delta(shape.id);
  id_.delta(r.id);
  const auto ids = [&](Column& column, const std::vector<uint64_t>& list) {
    if (list.empty()) return;
    put_varint(column.streams[kCounts], list.size());
    uint64_t last = r.id;
    for (const uint64_t id : list)
      put_varint(column.streams[kMain], zigzag(static_cast<int64_t>(id - std::exchange(last, id))));
  };
  ids(ctrl_, r.ctrl_deps);
  ids(data_, r.data_deps);
  if (r.start_micros) start_.delta(r.start_micros);
  if (r.duration_micros) put_varint(duration_.streams[kMain], r.duration_micros);
  if (!r.name.empty()) text(name_, r.name);
  size_t index = 0;
  for (const std::string_view io :
       {r.inputs.values, r.inputs.shapes, r.inputs.types, r.outputs.values, r.outputs.shapes, r.outputs.types}) {
    Column& column = *io_[index++];
    if (!io.empty()) text(column, io);
  }
  for (size_t i = 0; i < r.attrs.size(); ++i) {
    const auto& [values, docs] = shape.attrs[i];
    if (values) CHAKRA_TRY(value(*values, r.attrs[i]));
    if (docs) text(*docs, r.attrs[i].doc);
  }
  if (!r.unknown.empty()) {
    put_varint(unknown_.streams[kCounts], r.unknown.size());
    for (const UnknownField& field : r.unknown) {
      put_varint(unknown_.streams[kMain], zigzag(field.owner));
      put_varint(unknown_.streams[kMain], field.bytes.size());
      unknown_.streams[kMain] += field.bytes;
    }
  }
  ++nodes_;
  return {};
}

Columns ColumnWriter::take() {
  Columns columns;
  for (auto& [key, column] : columns_) {
    for (size_t s = 0; s < column->streams.size(); ++s) {
      if (column->streams[s].empty()) continue;
      if (!column->ids[s])
        column->ids[s] = dictionary_.add(EntryKind::column, std::string(1, static_cast<char>('0' + s)) + key);
      columns.emplace(*column->ids[s], std::exchange(column->streams[s], {}));
    }
    column->last = column->last_text = 0;
  }
  recent_.clear();
  ++group_;
  nodes_ = 0;
  return columns;
}

// ---- reading -------------------------------------------------------------------------------------

struct ColumnReader::Column {
  std::array<ByteReader, 3> streams{ByteReader({}), ByteReader({}), ByteReader({})};
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

namespace {
Error damaged(std::string text) { return fail(Code::bad_input, "io.container.damaged", std::move(text)).value(); }
}  // namespace

ColumnReader::ColumnReader(const EntryOf& entry_of) : entry_of_(entry_of) {}
ColumnReader::~ColumnReader() = default;

Result<std::unique_ptr<ColumnReader>> ColumnReader::create(const Columns& columns, const EntryOf& entry_of) {
  std::unique_ptr<ColumnReader> reader(new ColumnReader(entry_of));
  for (const auto& [id, bytes] : columns) {
    CHAKRA_ASSIGN(const std::string_view entry, entry_of(id));
    if (entry.size() < 4 || entry[0] != static_cast<char>(EntryKind::column) || entry[1] < '0' || entry[1] > '2')
      return tl::unexpected<Error>(damaged("a column has the name of something else"));
    auto& column = reader->columns_[std::string(entry.substr(2))];
    if (!column) column = std::make_unique<Column>();
    column->streams[static_cast<size_t>(entry[1] - '0')] = ByteReader(bytes);
  }
  reader->shape_ = reader->column(kShape);
  reader->id_ = reader->column(kId);
  reader->ctrl_ = reader->column(kCtrl);
  reader->data_ = reader->column(kData);
  reader->start_ = reader->column(kStart);
  reader->duration_ = reader->column(kDuration);
  reader->name_ = reader->column(kName);
  reader->unknown_ = reader->column(kUnknown);
  for (uint32_t i = 0; i < reader->io_.size(); ++i) reader->io_[i] = reader->column(kIo, i);
  return reader;
}

/// One that is not there is one without bytes.
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

std::string_view ColumnReader::text(Column& column) {
  const uint64_t id = column.last_text += static_cast<uint64_t>(unzigzag(column.streams[kMain].varint()));
  const std::string_view found = column.streams[kMain].ok ? entry(id) : std::string_view();
  if (found.empty()) return {};
  const auto kind = static_cast<EntryKind>(found[0]);
  const std::string_view pattern = found.substr(1);
  text_bytes_ += pattern.size();
  if (text_bytes_ > kMostText && !error_) error_ = damaged("a node with more than 256 MiB of text");
  if (error_ || kind == EntryKind::text) return pattern;
  if (kind != EntryKind::pattern) {
    error_ = damaged("what should be a text is something else");
    return {};
  }
  const auto [known, first] = column.numbers.try_emplace(id);
  std::vector<uint64_t>& last = known->second;
  if (first) last = recent_;
  std::string& out = fresh();
  size_t slot = 0;
  for (size_t at = 0;;) {
    const size_t next = pattern.find('\0', at);
    out.append(pattern, at, next == pattern.npos ? pattern.npos : next - at);
    if (next == pattern.npos) break;
    if (slot == last.size()) last.push_back(0);
    last[slot] += static_cast<uint64_t>(unzigzag(column.streams[kNumbers].varint()));
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, last[slot]).ptr);
    ++slot;
    at = next + 1;
  }
  last.resize(slot);
  if (&column == name_) recent_ = last;
  text_bytes_ += out.size();
  return out;
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
      default: attr.natural = delta(column); attr.integer = static_cast<int64_t>(attr.natural);
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
    ListValue value;
    if (coding == Coding::text) value.text = text(column);
    else value.bits = fixed > 0 ? column.streams[kMain].fixed(fixed) : delta(column);
    put_list_value(packed, coding, narrow, value);
  }
  if (coding != Coding::text && packed.size() > 0) wire::put_text(message, schema::kListValues, packed.view());
  attr.bytes = fresh().assign(coding == Coding::text ? packed.view() : message.view());
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
    error_ = damaged("what should say what a node has is something else");
    return nullptr;
  }
  shape = std::move(parsed);
  return shape.get();
}

Result<bool> ColumnReader::next(NodeRecord& r) {
  if (shape_->streams[kMain].done()) return false;
  used_ = text_bytes_ = 0;
  r.ctrl_deps.clear();
  r.data_deps.clear();
  r.attrs.clear();
  r.unknown.clear();
  const Shape* const shape = this->shape(delta(*shape_));
  if (!shape) return tl::unexpected<Error>(*error_);
  const auto has = [&](uint64_t flag) { return (shape->flags & flag) != 0; };
  r.type = shape->type;
  r.id = delta(*id_);
  const auto ids = [&](Column& column, std::vector<uint64_t>& list) {
    uint64_t last = r.id;
    ByteReader& values = column.streams[kMain];
    for (uint64_t left = column.streams[kCounts].varint(); left > 0 && values.ok; --left)
      list.push_back(last += static_cast<uint64_t>(unzigzag(values.varint())));
  };
  if (has(kHasCtrl)) ids(*ctrl_, r.ctrl_deps);
  if (has(kHasData)) ids(*data_, r.data_deps);
  r.start_micros = has(kHasStart) ? delta(*start_) : 0;
  r.duration_micros = has(kHasDuration) ? duration_->streams[kMain].varint() : 0;
  r.name = has(kHasName) ? text(*name_) : std::string_view();
  r.inputs = r.outputs = {};
  r.inputs.present = has(kHasInputs);
  r.outputs.present = has(kHasOutputs);
  size_t bit = 0;
  for (std::string_view* io :
       {&r.inputs.values, &r.inputs.shapes, &r.inputs.types, &r.outputs.values, &r.outputs.shapes, &r.outputs.types}) {
    if (shape->texts >> bit & 1) *io = text(*io_[bit]);
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
    ByteReader& fields = unknown_->streams[kMain];
    for (uint64_t left = unknown_->streams[kCounts].varint(); left > 0 && fields.ok; --left) {
      const int64_t owner = unzigzag(fields.varint());
      const std::string_view bytes = fields.bytes(fields.varint());
      if (owner < UnknownField::kOutputs || owner >= static_cast<int64_t>(r.attrs.size()) || !are_fields(bytes))
        error_ = damaged("unknown fields of something that is not there");
      else r.unknown.push_back({static_cast<int32_t>(owner), bytes});
      if (error_) break;
    }
  }
  if (error_) return tl::unexpected<Error>(*error_);
  for (const auto& [key, column] : columns_)
    for (const ByteReader& stream : column->streams)
      if (!stream.ok) return tl::unexpected<Error>(damaged("a column ends too early"));
  return true;
}

}  // namespace chakra::io
