#include "chakra/sqlite/module.h"

#include <fmt/core.h>

#include <bit>
#include <numeric>

#include "chakra/sqlite/sqlite.h"

namespace chakra::sqlite {
namespace {

struct VirtualTable : sqlite3_vtab {
  BoundTable* bound = nullptr;
};
struct Cursor : sqlite3_vtab_cursor {
  size_t part = 0, row = 0, end = 0;  ///< a scan: the row of a part, and the end of the parts
  bool listed = false;
  std::vector<uint64_t> rows;  ///< numbers of rows, if listed
  size_t at = 0;
};

BoundTable& bound_of(sqlite3_vtab* table) { return *static_cast<VirtualTable*>(table)->bound; }
BoundTable& bound_of(sqlite3_vtab_cursor* cursor) { return bound_of(cursor->pVtab); }

int connect(sqlite3* db, void* user, int, const char* const*, sqlite3_vtab** made, char**) {
  auto& bound = *static_cast<BoundTable*>(user);
  std::string sql = "CREATE TABLE x(";
  for (size_t c = 0; c < bound.table->columns.size(); ++c) {
    const TableColumn& column = bound.table->columns[c];
    sql += fmt::format("{}{} {}", c == 0 ? "" : ", ", quote_name(column.name), name(column.type));
  }
  bound.state->declares = true;
  const int code = sqlite3_declare_vtab(db, (sql + ")").c_str());
  bound.state->declares = false;
  if (code != SQLITE_OK) return code;
  auto table = std::make_unique<VirtualTable>();
  *static_cast<sqlite3_vtab*>(table.get()) = {};
  table->bound = &bound;
  *made = table.release();
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<VirtualTable*>(table);
  return SQLITE_OK;
}

bool use(BoundTable& bound) {
  if (bound.rows) return true;
  if (auto load = std::exchange(bound.table->load, nullptr))
    if (const Result<void> loaded = load(*bound.table); !loaded) {
      bound.state->error = loaded.error();
      bound.table->load = std::move(load);
      return false;
    }
  bound.rows = std::make_unique<TableRows>(*bound.table);
  return true;
}

// A plan is kKey, kValue or both in idxNum, the column of kValue above kColumn, and columns to sort by in idxStr.
constexpr int kKey = 1, kValue = 2, kColumn = 8;

/// The constraints that a scan can use: equality of the key, and of one more column.
struct Usable {
  int key = -1, value = -1;
};

Usable usable(const Table& table, sqlite3_index_info* info) {
  Usable found;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (!constraint.usable || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ || constraint.iColumn < 0) continue;
    const TableColumn& column = table.columns[static_cast<size_t>(constraint.iColumn)];
    if (column.type == ValueType::real) continue;
    if (column.type == ValueType::text && std::string_view(sqlite3_vtab_collation(info, i)) != "BINARY") continue;
    if (table.by_key && constraint.iColumn == 0) found.key = i;
    else if (found.value < 0 || column.unique) found.value = i;
  }
  return found;
}

double rows_with_key(BoundTable& bound, sqlite3_index_info* info, int constraint) {
  const auto parts = static_cast<double>(std::max<size_t>(bound.table->parts.size(), 1));
  sqlite3_value* value = nullptr;
  if (sqlite3_vtab_rhs_value(info, constraint, &value) != SQLITE_OK || sqlite3_value_type(value) != SQLITE_INTEGER)
    return static_cast<double>(bound.rows->size()) / parts;
  const auto part = bound.rows->find_part(sqlite3_value_int64(value));
  return part ? static_cast<double>(bound.table->parts[*part].rows) : 0;
}

/// Sort by plain columns for ORDER BY, GROUP BY and DISTINCT: each value is compared once instead of once a row.
/// (sqlite3_vtab_distinct() cannot be used: SQLite relies on it also where ORDER BY repeats GROUP BY.)
int sort(sqlite3_index_info* info) {
  if (info->nOrderBy == 0) return SQLITE_OK;
  std::string columns;
  for (int i = 0; i < info->nOrderBy; ++i) {
    if (info->aOrderBy[i].iColumn < 0) return SQLITE_OK;
    columns += fmt::format("{}{},", info->aOrderBy[i].iColumn, info->aOrderBy[i].desc ? "d" : "");
  }
  info->idxStr = sqlite3_mprintf("%s", columns.c_str());
  if (!info->idxStr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->orderByConsumed = 1;
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* virtual_table, sqlite3_index_info* info) {
  BoundTable& bound = bound_of(virtual_table);
  if (!use(bound)) return SQLITE_ERROR;
  const Table& table = *bound.table;
  const Usable found = usable(table, info);
  auto rows = static_cast<double>(bound.rows->size());
  auto parts = static_cast<double>(table.parts.size());
  int arguments = 0;
  if (found.key >= 0) {
    info->idxNum |= kKey;
    info->aConstraintUsage[found.key].argvIndex = ++arguments;
    rows = rows_with_key(bound, info, found.key);
    parts = 1;
  }
  double looks = rows;
  if (found.value >= 0) {
    const int column = info->aConstraint[found.value].iColumn;
    info->idxNum |= kValue | column << kColumn;
    info->aConstraintUsage[found.value].argvIndex = ++arguments;
    rows = table.columns[static_cast<size_t>(column)].unique ? std::min(parts, rows) : rows / 20;
    looks = rows + 10 * parts;
  }
  info->estimatedRows = static_cast<sqlite3_int64>(rows);
  info->estimatedCost = looks + 1;
  return sort(info);
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** made) {
  *made = new Cursor();
  return SQLITE_OK;
}
int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

void skip_empty_parts(const Table& table, Cursor& cursor) {
  while (cursor.part < cursor.end && cursor.row >= table.parts[cursor.part].rows) ++cursor.part, cursor.row = 0;
}

/// Limit the scan to the parts with the key. A value of another type may be equal by SQLite's conversions: then all
/// parts stay, and SQLite compares.
void take_key(BoundTable& bound, Cursor& cursor, sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) cursor.end = 0;
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return;
  const std::optional<size_t> part = bound.rows->find_part(sqlite3_value_int64(value));
  cursor.part = part.value_or(0);
  cursor.end = part ? *part + 1 : 0;
}

/// List the rows with the value; likewise.
void take_value(BoundTable& bound, Cursor& cursor, size_t column, sqlite3_value* value) {
  const Table& table = *bound.table;
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_NULL) {
    cursor.listed = true;
    return;
  }
  int64_t bits = 0;
  if (table.columns[column].type == ValueType::text) {
    if (type != SQLITE_TEXT) return;
    const std::string_view text(reinterpret_cast<const char*>(sqlite3_value_text(value)),
                                static_cast<size_t>(sqlite3_value_bytes(value)));
    bits = table.texts->find(text);
    cursor.listed = bits == 0 && !text.empty();  // in no row
    if (cursor.listed) return;
  } else {
    if (type != SQLITE_INTEGER) return;
    bits = sqlite3_value_int64(value);
  }
  cursor.listed = true;
  for (size_t part = cursor.part; part < cursor.end; ++part) bound.rows->find(part, column, bits, cursor.rows);
}

/// "3,4d," as sort() writes.
std::vector<SortBy> order_of(const char* text) {
  std::vector<SortBy> order;
  for (SortBy by; text && *text; ++text) {
    if (*text == ',') order.push_back(std::exchange(by, {}));
    else if (*text == 'd') by.descending = true;
    else by.column = by.column * 10 + static_cast<size_t>(*text - '0');
  }
  return order;
}

int filter(sqlite3_vtab_cursor* of, int plan, const char* sorted, int, sqlite3_value** arguments) {
  auto& cursor = *static_cast<Cursor*>(of);
  BoundTable& bound = bound_of(of);
  const Table& table = *bound.table;
  cursor.part = cursor.row = cursor.at = 0;
  cursor.end = table.parts.size();
  cursor.listed = false;
  cursor.rows.clear();
  if (plan & kKey) take_key(bound, cursor, *arguments++);
  if (plan & kValue) take_value(bound, cursor, static_cast<size_t>(plan >> kColumn), *arguments);
  if (const std::vector<SortBy> order = order_of(sorted); !order.empty()) {
    if (!std::exchange(cursor.listed, true) && cursor.part < cursor.end) {
      const size_t begin = bound.rows->begin_of(cursor.part);
      cursor.rows.resize(bound.rows->begin_of(cursor.end) - begin);
      std::iota(cursor.rows.begin(), cursor.rows.end(), begin);
    }
    bound.rows->sort(order, cursor.rows);
  }
  if (!cursor.listed) skip_empty_parts(table, cursor);
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* of) {
  auto& cursor = *static_cast<Cursor*>(of);
  if (cursor.listed) ++cursor.at;
  else {
    ++cursor.row;
    skip_empty_parts(*bound_of(of).table, cursor);
  }
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* of) {
  const auto& cursor = *static_cast<Cursor*>(of);
  return cursor.listed ? cursor.at >= cursor.rows.size() : cursor.part >= cursor.end;
}

/// The part and the row of a cursor.
std::pair<const Part*, size_t> place_of(BoundTable& bound, Cursor& cursor) {
  if (!cursor.listed) return {&bound.table->parts[cursor.part], cursor.row};
  const size_t row = cursor.rows[cursor.at];
  cursor.part = bound.rows->part_of(row, cursor.part);
  return {&bound.table->parts[cursor.part], row - bound.rows->begin_of(cursor.part)};
}

int column(sqlite3_vtab_cursor* of, sqlite3_context* to, int number) {
  BoundTable& bound = bound_of(of);
  const Table& table = *bound.table;
  const auto [part, row] = place_of(bound, *static_cast<Cursor*>(of));
  const auto c = static_cast<size_t>(number);
  const TableColumn& column = table.columns[c];
  const Cell cell = c == 0 && table.by_key ? Cell::whole(part->key) : column.get(part->of, c, row);
  if (cell.kind == Cell::Kind::missing) return SQLITE_OK;
  if (cell.kind == Cell::Kind::large) {
    bound.state->error = Error{
        Code::bad_input,
        "query.number",
        fmt::format("{}.{} has a number beyond 64 bits with a sign, which SQL does not have", table.name, column.name),
        {}};
    sqlite3_result_error_code(to, SQLITE_ERROR);
    return SQLITE_ERROR;
  }
  switch (column.type) {
    case ValueType::whole: sqlite3_result_int64(to, cell.bits); break;
    case ValueType::real: sqlite3_result_double(to, std::bit_cast<double>(cell.bits)); break;
    case ValueType::text: {
      const std::string_view text = (*table.texts)[static_cast<StringId>(cell.bits)];
      sqlite3_result_text64(to, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
      break;
    }
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* of, sqlite3_int64* id) {
  auto& cursor = *static_cast<Cursor*>(of);
  BoundTable& bound = bound_of(of);
  *id = static_cast<sqlite3_int64>(cursor.listed ? cursor.rows[cursor.at]
                                                 : bound.rows->begin_of(cursor.part) + cursor.row);
  return SQLITE_OK;
}

/// With this function, a statement that writes gets as far as the authorizer.
int update(sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64*) { return SQLITE_READONLY; }

/// Without xCreate, the name of the module is that of its only table.
/// Newer versions of SQLite have more members, which stay null.
constexpr sqlite3_module kModule = [] {
  sqlite3_module module{};
  module.iVersion = 1;
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = row_id;
  module.xUpdate = update;
  return module;
}();

}  // namespace

int bind_table(sqlite3* db, BoundTable& table) {
  return sqlite3_create_module(db, table.table->name.c_str(), &kModule, &table);
}

}  // namespace chakra::sqlite
