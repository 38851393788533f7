// A table of an answer as an Arrow IPC file (https://arrow.apache.org/docs/format/Columnar.html, IPC File Format): a
// schema, batches of rows, and a footer with the places of the batches. FlatBuffers writes the metadata; the numbers of
// members are those in Schema.fbs, Message.fbs and File.fbs there.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "chakra/view/show.h"

namespace chakra::view {
namespace {

using answer::Series;
using answer::Type;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Piece = std::function<Result<void>(std::string_view piece)>;

static_assert(std::endian::native == std::endian::little, "Arrow's schema states the order of bytes");

constexpr size_t kMostRows = size_t{1} << 16, kMostBytes = size_t{1} << 26;  // of a batch
constexpr int16_t kVersion = 4, kDouble = 2;                                 // MetadataVersion V5, Precision DOUBLE
enum Header : uint8_t { kSchema = 1, kRecordBatch = 3 };
enum FieldType : uint8_t { kInt = 2, kFloatingPoint = 3, kUtf8 = 5, kBool = 6 };

/// The place of a member of a FlatBuffers table.
constexpr flatbuffers::voffset_t member(int number) { return static_cast<flatbuffers::voffset_t>(4 + 2 * number); }

/// A column of numbers (8 bytes each), of truth values (a bit each) or of texts.
struct Field {
  std::string name, unit, meaning;
  FieldType type = kInt;
  bool is_signed = true;
  std::function<bool(size_t row)> has = {};
  std::function<int64_t(size_t row)> number = {};         ///< for reals: the bits of a double
  std::function<std::string_view(size_t row)> text = {};  ///< of kUtf8; valid until the next call
};

Field field_of(const Series& series, std::string name) {
  const answer::Info& info = series.info();
  Field field{std::move(name), std::string(answer::kUnitNames[static_cast<size_t>(info.unit)]),
              std::string(info.meaning)};
  field.has = [&series](size_t row) { return series.has(row); };
  field.number = [&series](size_t row) { return series.whole(row); };
  switch (info.type) {
    case Type::truth: field.type = kBool; break;
    case Type::natural: field.is_signed = false; break;
    case Type::real:
      field.type = kFloatingPoint;
      field.number = [&series](size_t row) { return std::bit_cast<int64_t>(series.real(row)); };
      break;
    case Type::text:
      field.type = kUtf8;
      field.text = [&series](size_t row) { return series.text(row); };
      break;
    case Type::any:
      field.type = kUtf8;
      field.text = [&series, json = std::string()](size_t row) mutable -> std::string_view {
        return json = answer::json_of(series.any(row), Type::any);
      };
      break;
    default: break;
  }
  return field;
}

Field number_field(std::string name, std::function<int64_t(size_t)> number, std::function<bool(size_t)> has) {
  return {std::move(name), {}, {}, kInt, true, std::move(has), std::move(number)};
}
Field text_field(std::string name, std::function<std::string_view(size_t)> text) {
  return {std::move(name), {}, {}, kUtf8, true, [](size_t) { return true; }, {}, std::move(text)};
}

std::vector<Field> fields_of(const Findings& findings) {
  const auto number = [&](std::string name, auto member) {
    return number_field(
        std::move(name), [&findings, member](size_t row) { return int64_t{findings[row].*member}; },
        [&findings, member](size_t row) { return findings[row].*member >= 0; });
  };
  return {text_field("tag", [&](size_t row) -> std::string_view { return findings[row].tag; }),
          text_field("severity", [&](size_t row) -> std::string_view { return chakra::name(findings[row].severity); }),
          number("rank", &Finding::rank), number("node", &Finding::node),
          text_field("text", [&](size_t row) -> std::string_view { return findings[row].text; })};
}

/// The columns with the names that the Python package uses. `parents`: of the rows of a nested table.
std::vector<Field> fields_of(const answer::Table& table, const std::vector<size_t>& parents) {
  std::vector<Field> fields;
  if (table.parent >= 0)
    fields.push_back(number_field(
        "row", [&](size_t row) { return static_cast<int64_t>(parents[row]); }, [](size_t) { return true; }));
  if (table.findings)
    for (Field& field : fields_of(*table.findings)) fields.push_back(std::move(field));
  for (const Series& series : table.columns) {
    if (series.info().type == Type::rows) continue;  // the nested table has the rows
    std::string name(series.info().key);
    if (name.empty()) name = table.is_object() && &series == &table.columns[0] ? "name" : "value";
    fields.push_back(field_of(series, std::move(name)));
  }
  return fields;
}

// ---- metadata -----------------------------------------------------------------------------------------------

Offset<void> type_of(FlatBufferBuilder& to, const Field& field) {
  const auto start = to.StartTable();
  if (field.type == kInt) {
    to.AddElement<int32_t>(member(0), 64, 0);
    to.AddElement<uint8_t>(member(1), field.is_signed, 0);
  } else if (field.type == kFloatingPoint) {
    to.AddElement<int16_t>(member(0), kDouble, 0);
  }
  return {to.EndTable(start)};
}

Offset<void> key_value(FlatBufferBuilder& to, const char* key, const std::string& value) {
  const auto key_at = to.CreateString(key), value_at = to.CreateString(value);
  const auto start = to.StartTable();
  to.AddOffset(member(0), key_at);
  to.AddOffset(member(1), value_at);
  return {to.EndTable(start)};
}

Offset<void> field_of(FlatBufferBuilder& to, const Field& field) {
  std::string valid;
  append_utf8(valid, field.name);
  const auto name = to.CreateString(valid);
  const Offset<void> type = type_of(to, field);
  const auto children = to.CreateVector(std::vector<Offset<void>>());
  std::vector<Offset<void>> pairs;
  if (!field.unit.empty()) pairs.push_back(key_value(to, "unit", field.unit));
  if (!field.meaning.empty()) pairs.push_back(key_value(to, "meaning", field.meaning));
  const auto metadata = to.CreateVector(pairs);
  const auto start = to.StartTable();
  to.AddOffset(member(0), name);
  to.AddElement<uint8_t>(member(1), true, 0);  // nullable
  to.AddElement<uint8_t>(member(2), field.type, 0);
  to.AddOffset(member(3), type);
  to.AddOffset(member(5), children);
  if (!pairs.empty()) to.AddOffset(member(6), metadata);
  return {to.EndTable(start)};
}

Offset<void> schema_of(FlatBufferBuilder& to, const std::vector<Field>& fields) {
  std::vector<Offset<void>> places;
  for (const Field& field : fields) places.push_back(field_of(to, field));
  const auto all = to.CreateVector(places);
  const auto start = to.StartTable();
  to.AddOffset(member(1), all);
  return {to.EndTable(start)};
}

// Structs of the metadata; their layout is fixed.
struct FieldNode {
  int64_t rows, nulls;
};
struct Buffer {
  int64_t at, bytes;
};
struct Block {
  int64_t at;
  int32_t metadata_bytes, padding;
  int64_t body_bytes;
};

Offset<void> message_of(FlatBufferBuilder& to, Header type, Offset<void> header, size_t body_bytes) {
  const auto start = to.StartTable();
  to.AddElement<int16_t>(member(0), kVersion, 0);
  to.AddElement<uint8_t>(member(1), type, 0);
  to.AddOffset(member(2), header);
  to.AddElement<int64_t>(member(3), static_cast<int64_t>(body_bytes), 0);
  return {to.EndTable(start)};
}

// ---- bodies -------------------------------------------------------------------------------------------------

size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

/// The buffers of some rows, one after the other.
class Body {
 public:
  std::string bytes;
  std::vector<FieldNode> nodes;
  std::vector<Buffer> buffers;

  void add(const Field& field, size_t from, size_t to) {
    int64_t nulls = 0;
    for (size_t row = from; row < to; ++row) nulls += !field.has(row);
    nodes.push_back({static_cast<int64_t>(to - from), nulls});
    if (nulls > 0) add_bits(from, to, field.has);
    else end(bytes.size());
    if (field.type == kUtf8) return add_texts(field, from, to);
    if (field.type == kBool)
      return add_bits(from, to, [&](size_t row) { return field.has(row) && field.number(row) != 0; });
    const size_t at = bytes.size();
    for (size_t row = from; row < to; ++row) append(field.has(row) ? field.number(row) : 0);
    end(at);
  }

 private:
  template <class Number>
  void append(Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void end(size_t begin) {
    buffers.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(bytes.size() - begin)});
    bytes.resize(padded(bytes.size()));
  }
  void add_bits(size_t from, size_t to, const std::function<bool(size_t)>& get) {
    const size_t at = bytes.size();
    bytes.resize(at + (to - from + 7) / 8);
    for (size_t row = from; row < to; ++row)
      if (get(row)) bytes[at + (row - from) / 8] |= static_cast<char>(1 << (row - from) % 8);
    end(at);
  }
  void add_texts(const Field& field, size_t from, size_t to) {
    std::string texts;
    const size_t at = bytes.size();
    append(int32_t{0});
    for (size_t row = from; row < to; ++row) {
      if (field.has(row)) append_utf8(texts, field.text(row));
      append(static_cast<int32_t>(texts.size()));
    }
    end(at);
    const size_t text_at = bytes.size();
    bytes += texts;
    end(text_at);
  }
};

/// The end of a batch that begins at row `from`: few rows, and texts whose offsets fit in 32 bits.
size_t end_of_batch(const std::vector<Field>& fields, size_t from, size_t rows) {
  size_t bytes = 0, row = from;
  for (; row < rows && row - from < kMostRows && bytes < kMostBytes; ++row)
    for (const Field& field : fields)
      if (field.type == kUtf8 && field.has(row)) bytes += field.text(row).size();
  return row;
}

class File {
 public:
  explicit File(const Piece& write) : write_(write) {}

  Result<void> run(const std::vector<Field>& fields, size_t rows) {
    CHAKRA_TRY(put({"ARROW1\0\0", 8}));
    FlatBufferBuilder schema;
    CHAKRA_TRY(message(schema, message_of(schema, kSchema, schema_of(schema, fields), 0)));
    for (size_t from = 0; from < rows;) {
      const size_t to = end_of_batch(fields, from, rows);
      CHAKRA_TRY(batch(fields, from, to));
      from = to;
    }
    CHAKRA_TRY(put({"\xff\xff\xff\xff\0\0\0\0", 8}));  // the end of the messages
    return footer(fields);
  }

 private:
  const Piece& write_;
  size_t at_ = 0;
  std::vector<Block> blocks_;

  Result<void> put(std::string_view piece) {
    at_ += piece.size();
    return write_(piece);
  }
  Result<void> put_number(int32_t number) { return put({reinterpret_cast<const char*>(&number), sizeof number}); }

  /// Write a message without its body. The length in front of it counts the padding.
  Result<void> message(FlatBufferBuilder& made, Offset<void> root) {
    made.Finish(root);
    std::string bytes(reinterpret_cast<const char*>(made.GetBufferPointer()), made.GetSize());
    bytes.resize(padded(bytes.size()));
    CHAKRA_TRY(put_number(-1));
    CHAKRA_TRY(put_number(static_cast<int32_t>(bytes.size())));
    return put(bytes);
  }

  Result<void> batch(const std::vector<Field>& fields, size_t from, size_t to) {
    Body body;
    for (const Field& field : fields) body.add(field, from, to);
    FlatBufferBuilder made;
    const auto nodes = made.CreateVectorOfStructs(body.nodes);
    const auto buffers = made.CreateVectorOfStructs(body.buffers);
    const auto start = made.StartTable();
    made.AddElement<int64_t>(member(0), static_cast<int64_t>(to - from), 0);
    made.AddOffset(member(1), nodes);
    made.AddOffset(member(2), buffers);
    const Offset<void> header(made.EndTable(start));
    const size_t at = at_;
    CHAKRA_TRY(message(made, message_of(made, kRecordBatch, header, body.bytes.size())));
    blocks_.push_back(
        {static_cast<int64_t>(at), static_cast<int32_t>(at_ - at), 0, static_cast<int64_t>(body.bytes.size())});
    return put(body.bytes);
  }

  Result<void> footer(const std::vector<Field>& fields) {
    FlatBufferBuilder made;
    const Offset<void> schema = schema_of(made, fields);
    const auto none = made.CreateVectorOfStructs(std::vector<Block>());
    const auto blocks = made.CreateVectorOfStructs(blocks_);
    const auto start = made.StartTable();
    made.AddElement<int16_t>(member(0), kVersion, 0);
    made.AddOffset(member(1), schema);
    made.AddOffset(member(2), none);
    made.AddOffset(member(3), blocks);
    made.Finish(Offset<void>(made.EndTable(start)));
    CHAKRA_TRY(put({reinterpret_cast<const char*>(made.GetBufferPointer()), made.GetSize()}));
    CHAKRA_TRY(put_number(static_cast<int32_t>(made.GetSize())));
    return put("ARROW1");
  }
};

}  // namespace

Result<void> write_arrow(const answer::Table& table, const Piece& write) {
  const std::vector<size_t> parents = table.parents();
  return File(write).run(fields_of(table, parents), table.rows);
}

}  // namespace chakra::view
