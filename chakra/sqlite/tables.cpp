#include "chakra/sqlite/tables.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>

#include "chakra/base/progress.h"
#include "chakra/sqlite/module.h"

namespace chakra::sqlite {

Cell Cell::real(double number) {
  if (!std::isfinite(number)) return {};
  return {Kind::present, std::bit_cast<int64_t>(number == 0 ? 0.0 : number)};  // -0.0 equals 0.0
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStepsBetweenQuestions = 1'000;
constexpr std::string_view kPlace = "SQL";

/// Functions that reach beyond values: all others compute values of values.
constexpr std::array<std::string_view, 4> kDeniedFunctions{"load_extension", "fts3_tokenizer", "readfile", "writefile"};

/// SQLite's limits: name, value. Together they keep each step, which the clock cannot interrupt, below about a second.
constexpr std::array<std::pair<int, int>, 11> kSqliteLimits{{{SQLITE_LIMIT_LENGTH, QueryLimits::kLongest},
                                                             {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                                             {SQLITE_LIMIT_COLUMN, 500},
                                                             {SQLITE_LIMIT_EXPR_DEPTH, 100},
                                                             {SQLITE_LIMIT_COMPOUND_SELECT, 50},
                                                             {SQLITE_LIMIT_VDBE_OP, 100'000},
                                                             {SQLITE_LIMIT_FUNCTION_ARG, 100},
                                                             {SQLITE_LIMIT_ATTACHED, 0},
                                                             {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1'000},
                                                             {SQLITE_LIMIT_VARIABLE_NUMBER, 1'000},
                                                             {SQLITE_LIMIT_WORKER_THREADS, 0}}};

/// Limits the memory of SQLite while it exists. The limit belongs to the process: the first of several sets it, and
/// the last restores it.
class HeapLimit {
 public:
  explicit HeapLimit(uint64_t bytes) {
    const std::lock_guard lock(mutex());
    if (users()++ > 0) return;
    hard() = sqlite3_hard_heap_limit64(-1);
    soft() = sqlite3_soft_heap_limit64(-1);
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + static_cast<sqlite3_int64>(std::min<uint64_t>(bytes, 1LL << 60)));
  }
  ~HeapLimit() {
    const std::lock_guard lock(mutex());
    if (--users() > 0) return;
    sqlite3_hard_heap_limit64(hard());
    sqlite3_soft_heap_limit64(soft());
  }
  HeapLimit(const HeapLimit&) = delete;
  HeapLimit& operator=(const HeapLimit&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex only;
    return only;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
  static sqlite3_int64& hard() {
    static sqlite3_int64 before = 0;
    return before;
  }
  static sqlite3_int64& soft() {
    static sqlite3_int64 before = 0;
    return before;
  }
};

std::string_view name_of_action(int action) {
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return "ATTACH and DETACH";
    case SQLITE_PRAGMA: return "PRAGMA";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT: return "transactions";
    default: return "statements that change data";
  }
}

int allow_queries(void* user, int action, const char*, const char* second, const char*, const char*) {
  auto& state = *static_cast<QueryState*>(user);
  if (state.declares || action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
    return SQLITE_OK;
  if (action == SQLITE_FUNCTION) {
    const std::string_view name = second ? second : "";
    if (std::find(kDeniedFunctions.begin(), kDeniedFunctions.end(), name) == kDeniedFunctions.end()) return SQLITE_OK;
    state.denied = fmt::format("function {}", name);
  } else {
    state.denied = name_of_action(action);
  }
  return SQLITE_DENY;
}

class Query {
 public:
  explicit Query(const QueryLimits& limits) : limits_(limits), heap_(limits.bytes) {}
  ~Query() {
    sqlite3_finalize(statement_);
    sqlite3_close_v2(state_.db);
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Result<QueriedRows> run(std::vector<Table>& tables, std::string_view sql, const std::vector<Parameter>& parameters) {
    CHAKRA_TRY(open(tables));
    CHAKRA_TRY(prepare(sql));
    CHAKRA_TRY(bind(parameters));
    return rows();
  }

 private:
  QueryLimits limits_;
  HeapLimit heap_;
  QueryState state_;
  std::deque<BoundTable> bound_;
  sqlite3_stmt* statement_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();

  Failure failure(const char* otherwise, Code code = Code::usage) const {
    if (state_.error) return Failure(*state_.error);
    const int at = sqlite3_error_offset(state_.db);
    const Place place{std::string(kPlace), at, -1};
    if (!state_.denied.empty())
      return fail(Code::usage, "query.denied", fmt::format("a query only reads: {} cannot be used", state_.denied),
                  place);
    switch (sqlite3_errcode(state_.db) & 0xff) {
      case SQLITE_INTERRUPT: return out_of_time();
      case SQLITE_NOMEM: return too_much_memory();
      case SQLITE_TOOBIG:
        return fail(Code::bad_input, "query.limit",
                    fmt::format("a text or the statement is too long; texts have at most {} bytes, statements 100000",
                                +QueryLimits::kLongest));
      default: return fail(code, otherwise, fmt::format("SQLite: {}", sqlite3_errmsg(state_.db)), place);
    }
  }
  Failure too_much_memory() const {
    return fail(Code::bad_input, "query.limit",
                fmt::format("the query needs more than {} MiB (--limit-memory)", limits_.bytes >> 20));
  }

  static int look(void* user) {
    auto& query = *static_cast<Query*>(user);
    if (const Result<void> going = keep_going(); !going) {
      query.state_.error = going.error();
      return 1;
    }
    return Clock::now() > query.deadline_;
  }

  Result<void> open(std::vector<Table>& tables) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(":memory:", &state_.db, kFlags, nullptr) != SQLITE_OK) return failure("query.failed");
    for (const auto& [option, value] : {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1),
                                        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                        {SQLITE_DBCONFIG_DQS_DML, 0},
                                        {SQLITE_DBCONFIG_DQS_DDL, 0}})
      sqlite3_db_config(state_.db, option, value, nullptr);
    // Sorting must not write files.
    if (sqlite3_exec(state_.db, "PRAGMA temp_store=MEMORY", nullptr, nullptr, nullptr) != SQLITE_OK)
      return failure("query.failed");
    for (Table& table : tables)
      if (bind_table(state_.db, bound_.emplace_back(&table, &state_)) != SQLITE_OK) return failure("query.failed");
    for (const auto& [limit, value] : kSqliteLimits) sqlite3_limit(state_.db, limit, value);
    sqlite3_set_authorizer(state_.db, allow_queries, &state_);
    sqlite3_progress_handler(state_.db, kStepsBetweenQuestions, look, this);
    return {};
  }

  Result<void> prepare(std::string_view sql) {
    const char* rest = nullptr;
    if (sqlite3_prepare_v2(state_.db, sql.data(), static_cast<int>(sql.size()), &statement_, &rest) != SQLITE_OK)
      return failure("query.sql");
    if (!statement_) return fail(Code::usage, "query.sql", "there is no statement");
    if (!sqlite3_stmt_readonly(statement_) || sqlite3_column_count(statement_) == 0)
      return fail(Code::usage, "query.denied", "a query only reads: use SELECT");
    const auto at = static_cast<size_t>(rest - sql.data());
    sqlite3_stmt* second = nullptr;
    const int code = sqlite3_prepare_v2(state_.db, rest, static_cast<int>(sql.size() - at), &second, nullptr);
    const bool more = code != SQLITE_OK || second;
    sqlite3_finalize(second);
    if (!more) return {};
    return fail(Code::usage, "query.sql", "there are several statements; run one at a time",
                {std::string(kPlace), static_cast<int64_t>(at), -1});
  }

  Result<void> bind(const std::vector<Parameter>& parameters) {
    std::vector<bool> used(parameters.size(), false);
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement_); ++i) {
      const char* const name = sqlite3_bind_parameter_name(statement_, i);
      if (!name || *name == '?')
        return fail(Code::usage, "query.parameter", "a parameter without a name; use :name instead of ?");
      const auto at = std::find_if(parameters.begin(), parameters.end(),
                                   [&](const Parameter& p) { return p.name == std::string_view(name + 1); });
      if (at == parameters.end())
        return fail(Code::usage, "query.parameter", fmt::format("the parameter {} has no value", quote(name)));
      used[static_cast<size_t>(at - parameters.begin())] = true;
      if (bind_value(i, at->value) != SQLITE_OK) return failure("query.parameter");
    }
    for (size_t p = 0; p < used.size(); ++p)
      if (!used[p])
        return fail(Code::usage, "query.parameter",
                    fmt::format("the query has no parameter :{}", quote(parameters[p].name)));
    return {};
  }
  int bind_value(int at, const QueryValue& value) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement_, at, *whole);
    if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement_, at, *real);
    if (const auto* text = std::get_if<std::string>(&value))
      return sqlite3_bind_text64(statement_, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_null(statement_, at);
  }

  Result<QueriedRows> rows() {
    QueriedRows made;
    const int columns = sqlite3_column_count(statement_);
    for (int c = 0; c < columns; ++c) {
      const char* const name = sqlite3_column_name(statement_, c);
      made.columns.emplace_back(name ? name : "");
    }
    made.values.resize(static_cast<size_t>(columns));
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(std::min(limits_.seconds, 1e8)));
    uint64_t bytes = 0;
    for (;;) {
      const int code = sqlite3_step(statement_);
      if (code == SQLITE_DONE) return made;
      if (code != SQLITE_ROW) return failure("query.failed", Code::bad_input);
      ++made.rows;
      for (int c = 0; c < columns; ++c) {
        CHAKRA_ASSIGN(QueryValue value, value_of(c, made.columns[static_cast<size_t>(c)]));
        bytes += sizeof(QueryValue);
        if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
        made.values[static_cast<size_t>(c)].push_back(std::move(value));
      }
      if (bytes > limits_.bytes) return too_much_memory();
      if (made.rows % 4096 == 0 && look(this)) return out_of_time();
    }
  }
  Failure out_of_time() const {
    if (state_.error) return Failure(*state_.error);
    return fail(Code::bad_input, "query.limit",
                fmt::format("the query took longer than {:g} s (--limit-seconds)", limits_.seconds));
  }
  Result<QueryValue> value_of(int column, const std::string& name) {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_INTEGER: return QueryValue(static_cast<int64_t>(sqlite3_column_int64(statement_, column)));
      case SQLITE_FLOAT: return QueryValue(sqlite3_column_double(statement_, column));
      case SQLITE_TEXT: {
        const unsigned char* const text = sqlite3_column_text(statement_, column);
        if (!text) return too_much_memory();
        return QueryValue(std::string(reinterpret_cast<const char*>(text),
                                      static_cast<size_t>(sqlite3_column_bytes(statement_, column))));
      }
      case SQLITE_BLOB:
        return fail(Code::bad_input, "query.blob",
                    fmt::format("column {} has bytes instead of text; use hex() or CAST(... AS TEXT)", quote(name)));
      default: return QueryValue();
    }
  }
};

}  // namespace

Result<QueriedRows> select(std::vector<Table>& tables, std::string_view sql, const std::vector<Parameter>& parameters,
                           const QueryLimits& limits) {
  return Query(limits).run(tables, sql, parameters);
}

}  // namespace chakra::sqlite
