#include "chakra/sqlite/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace chakra::sqlite {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kHeader = 100;
constexpr int kLongestValue = 1 << 26, kLongestQuery = 1 << 16, kStepsBetweenLooks = 10'000;

/// Only reading: no functions, no recursion, no pragmas, no attached files.
int allow_reading(void*, int action, const char*, const char*, const char*, const char*) {
  return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else uri += c;
  }
  return uri + "?mode=ro&immutable=1";
}

/// Whether the file has all of its pages: SQLite reads zeros where the last one is cut.
bool is_whole(std::string_view head, int64_t size) {
  constexpr size_t kPageSize = 16;
  if (head.size() < kHeader) return true;  // for SQLite to refuse
  const auto byte = [&](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(head[at])); };
  const uint32_t stated = byte(kPageSize) << 8 | byte(kPageSize + 1);
  const int64_t page = stated == 1 ? 65536 : stated;
  return page == 0 || size % page == 0;
}

}  // namespace

struct Database::State {
  sqlite3* db = nullptr;
  std::string file;
  Limits limits;
  int64_t most_rows = 0;
  Clock::time_point deadline = Clock::time_point::max();

  ~State() { sqlite3_close_v2(db); }

  Failure failure() const {
    const int code = sqlite3_errcode(db) & 0xff;
    const char* const tag = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? "sqlite.damaged"
                            : code == SQLITE_INTERRUPT || code == SQLITE_TOOBIG || code == SQLITE_NOMEM ? "sqlite.limit"
                            : code == SQLITE_IOERR || code == SQLITE_CANTOPEN                           ? "sqlite.read"
                                                                              : "sqlite.query";
    return fail(Code::bad_input, tag, fmt::format("SQLite: {}", sqlite3_errmsg(db)), {file});
  }

  Failure cut() const {
    return fail(Code::bad_input, "sqlite.damaged", "the database ends inside of a page; was the file cut?",
                {file, most_rows});
  }

  static int look_at_clock(void* state) { return Clock::now() > static_cast<State*>(state)->deadline; }

  /// Takes away all that a hostile file could use, and reads the schema.
  Result<void> secure() {
    for (const auto& [option, value] : {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1),
                                        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}})
      sqlite3_db_config(db, option, value, nullptr);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kLongestQuery);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_progress_handler(db, kStepsBetweenLooks, look_at_clock, this);
    set_deadline();
    if (sqlite3_exec(db, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
    if (sqlite3_exec(db, "SELECT name FROM sqlite_master", nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
    sqlite3_set_authorizer(db, allow_reading, nullptr);
    return {};
  }

  void set_deadline() {
    deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds));
  }
};

struct Rows::State {
  const Database::State* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  int64_t row = 0;

  ~State() { sqlite3_finalize(statement); }
};

Rows::Rows(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(Rows&&) noexcept = default;
Rows::~Rows() = default;

Result<bool> Rows::next() {
  const int code = sqlite3_step(state_->statement);
  if (code == SQLITE_DONE) return false;
  if (code != SQLITE_ROW) return state_->database->failure();
  if (++state_->row > state_->database->most_rows)
    return fail(Code::bad_input, "sqlite.limit", "more rows than the file has bytes; the database is damaged",
                {state_->database->file});
  return true;
}

int64_t Rows::row() const { return state_->row; }
bool Rows::is_null(int column) const { return sqlite3_column_type(state_->statement, column) == SQLITE_NULL; }
bool Rows::is_integer(int column) const { return sqlite3_column_type(state_->statement, column) == SQLITE_INTEGER; }
int64_t Rows::integer(int column) const { return sqlite3_column_int64(state_->statement, column); }
std::string_view Rows::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(state_->statement, column);
  if (!text) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(state_->statement, column))};
}

std::string_view Rows::bytes(int column) const {
  const void* const bytes = sqlite3_column_blob(state_->statement, column);
  if (!bytes) return {};
  return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(state_->statement, column))};
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path, Limits limits) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));  // a missing file, a device or a folder
  auto state = std::make_unique<State>();
  state->file = path;
  state->limits = limits;
  std::error_code error;
  state->most_rows = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) return fail(Code::io, "base.file.open", error.message(), {path});
  CHAKRA_ASSIGN(const std::string_view head, source.peek(kHeader));
  if (!is_whole(head, state->most_rows)) return state->cut();
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  if (sqlite3_open_v2(uri_of(path).c_str(), &state->db, kFlags, nullptr) != SQLITE_OK) return state->failure();
  CHAKRA_TRY(state->secure());
  return Database(std::move(state));
}

Result<Database> Database::from_memory(std::string_view bytes, std::string file, Limits limits) {
  auto state = std::make_unique<State>();
  state->file = std::move(file);
  state->limits = limits;
  state->most_rows = static_cast<int64_t>(bytes.size());
  if (!is_whole(bytes, state->most_rows)) return state->cut();
  if (sqlite3_open_v2(":memory:", &state->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK)
    return state->failure();
  auto* const copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  CHAKRA_ASSERT(copy != nullptr);
  std::copy(bytes.begin(), bytes.end(), copy);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(state->db, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
    return state->failure();
  CHAKRA_TRY(state->secure());
  return Database(std::move(state));
}

const std::string& Database::file() const { return state_->file; }

Result<Rows> Database::prepare(std::string_view query) const {
  state_->set_deadline();
  auto rows = std::make_unique<Rows::State>();
  rows->database = state_.get();
  if (sqlite3_prepare_v2(state_->db, query.data(), static_cast<int>(query.size()), &rows->statement, nullptr) !=
      SQLITE_OK)
    return state_->failure();
  return Rows(std::move(rows));
}

Result<std::vector<std::string>> Database::tables() const {
  CHAKRA_ASSIGN(Rows rows, prepare("SELECT name FROM sqlite_master WHERE type = 'table'"));
  std::vector<std::string> names;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, rows.next());
    if (!more) return names;
    names.emplace_back(rows.text(0));
  }
}

Result<std::vector<std::string>> Database::columns(std::string_view table) const {
  CHAKRA_ASSIGN(const std::vector<std::string> known, tables());
  if (std::find(known.begin(), known.end(), table) == known.end()) return std::vector<std::string>();
  CHAKRA_ASSIGN(const Rows all, prepare(fmt::format("SELECT * FROM {} WHERE 0", quote_name(table))));
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(all.state_->statement); ++i)
    names.emplace_back(sqlite3_column_name(all.state_->statement, i));
  return names;
}

std::string quote_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace chakra::sqlite
