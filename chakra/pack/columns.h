// Nodes as columns: the contents of a container's blocks before packing.
// docs/reference/formats/container.md lists the columns and their contents.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/bytes.h"
#include "chakra/base/text_map.h"
#include "chakra/pack/texts.h"
#include "chakra/schema/schema.h"

namespace chakra::pack {

using schema::AttrRecord;
using schema::NodeRecord;
using schema::UnknownField;
namespace wire = schema::wire;

/// The kind of a dictionary entry. The bytes are: a text; a text with \0 for a number; the fields of a node; a column.
enum class EntryKind : uint8_t { text, pattern, shape, column };

/// The dictionary of a job during writing. Ids are dense.
class Dictionary {
 public:
  Dictionary() = default;
  /// An addition to the entries that `base` has now. `base` must outlive the addition.
  explicit Dictionary(const Dictionary& base) : base_(&base), base_size_(base.size()) {}

  /// Add an entry: bytes and kind together, the kind first.
  uint32_t add(EntryKind kind, std::string_view bytes);
  /// Return the id of an entry, if it exists.
  std::optional<uint32_t> find(EntryKind kind, std::string_view bytes) const;
  std::string_view operator[](uint32_t id) const { return id < base_size_ ? (*base_)[id] : texts_[id - base_size_]; }
  uint32_t size() const { return base_size_ + static_cast<uint32_t>(texts_.size()); }
  uint32_t base_size() const { return base_size_; }  ///< the first id of this addition

 private:
  std::optional<uint32_t> find(std::string_view entry) const;

  const Dictionary* base_ = nullptr;
  uint32_t base_size_ = 0;
  Arena arena_;
  std::vector<std::string_view> texts_;
  TextMap<uint32_t> ids_;
  std::string key_;
};

/// The columns of one group of nodes, by the id of the column's entry in the dictionary.
using Columns = std::map<uint32_t, std::string>;

/// A group during writing. `firsts` is not stored: per column of texts, by the id of its stream 0, the numbers to which
/// the first text of each pattern refers. With `firsts`, a column can be decoded without the column of names.
struct Group {
  Columns columns, firsts;
};

/// The columns that every group has; columns of attributes are found by name.
template <class Column>
struct FixedColumns {
  Column *shape = nullptr, *id = nullptr, *ctrl = nullptr, *data = nullptr, *start = nullptr, *duration = nullptr,
         *name = nullptr, *unknown = nullptr;
  std::array<Column*, 6> io{};
};

/// Put other ids in the place of those that an addition to a dictionary has: `ids` has one for each of its entries.
void renumber(Group& group, const Dictionary& addition, const std::vector<uint32_t>& ids);

/// Splits nodes into columns. Each group is independent.
class ColumnWriter {
 public:
  explicit ColumnWriter(Dictionary& dictionary);
  ~ColumnWriter();
  /// Add a node. Errors: io.et.damaged (an invalid list).
  Result<void> add(const NodeRecord& record);
  int64_t nodes() const { return nodes_; }  ///< in the group
  /// Return the group; the next node begins another group.
  Group take();

  struct Column;
  struct Shape;

 private:
  Column& column(char kind, uint32_t field = 0, std::string_view name = {});
  void text(Column& column, std::string_view text);
  Result<void> value(Column& column, const AttrRecord& attr);
  Shape& shape_of(const NodeRecord& record);

  Dictionary& dictionary_;
  std::map<std::string, std::unique_ptr<Column>, std::less<>> columns_;
  TextMap<std::unique_ptr<Shape>> shapes_;
  Arena keys_;
  std::string shape_key_, pattern_;
  wire::Bytes list_;
  std::vector<uint64_t> numbers_, recent_;
  int64_t nodes_ = 0, group_ = 0;
  FixedColumns<Column> fixed_;
};

/// Returns the entry of an id: kind, then bytes. The bytes must stay in place.
using EntryOf = std::function<Result<std::string_view>(uint64_t id)>;

class Substitutions;
struct Replacements;

/// The bytes of columns, ascending by the id of the column's entry.
using ColumnViews = std::vector<std::pair<uint32_t, std::string_view>>;

/// Reads the nodes of groups back. Damage in the columns is io.container.damaged without a place; after an error,
/// every call fails.
class ColumnReader {
 public:
  /// `entry_of` and `substitutions`, the values to replace, must outlive the reader.
  ColumnReader(const EntryOf& entry_of, const Substitutions& substitutions);
  ~ColumnReader();
  /// Begin a group. Its columns must stay in place until the next group begins.
  Result<void> begin(const ColumnViews& columns);
  /// Read the next node of the group; false after the last. The texts are valid until the following call.
  Result<bool> next(NodeRecord& record);

  struct Column;
  struct Shape;
  struct Text;

 private:
  using Stream = std::pair<Column*, size_t>;
  Column* column(char kind, uint32_t field = 0, std::string_view name = {});
  Result<Stream> stream_of(uint32_t id);
  std::string_view entry(uint64_t id);
  const Shape* shape(uint64_t id);
  uint64_t number(ByteReader& stream);
  uint64_t bits(ByteReader& stream, int bytes);
  std::string_view bytes(ByteReader& stream);
  uint64_t delta(Column& column);
  uint64_t replaced(const Column& column, uint64_t value);
  Text* next_text(Column& column);
  std::string_view text(Column& column);
  std::string_view list(Column& column, uint32_t field);
  void value(Column& column, AttrRecord& attr);
  void unknown_fields(NodeRecord& record);

  const EntryOf& entry_of_;
  const Substitutions& substitutions_;
  struct Known {  ///< from all groups so far
    std::map<std::string, std::unique_ptr<Column>, std::less<>> columns;
    absl::flat_hash_map<uint32_t, Stream> streams;  ///< by entry
    absl::flat_hash_map<uint64_t, std::unique_ptr<Shape>> shapes;
    std::pair<uint64_t, const Shape*> last_shape;
    size_t texts = 0;
  } known_;
  FixedColumns<Column> fixed_;
  struct Current {
    int64_t number = 0;
    std::vector<Column*> columns;
    std::vector<uint64_t> recent;  ///< the numbers of the last name
  } group_;
  bool ok_ = true;  ///< no column ended too early
  std::optional<Error> error_;
  size_t text_bytes_ = 0;  ///< of the node
  Scratch scratch_;
  std::string value_;
  wire::Bytes run_, list_;
};

}  // namespace chakra::pack
