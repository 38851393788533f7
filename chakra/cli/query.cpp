// chakra query
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using QueryAsked = With<QueryOptions>;

constexpr size_t kLongestStatement = 1 << 20;

options::Options query_rows(QueryAsked& o) {
  options::Options rows = rows_of(o.options, {{"path", &o.path}, {"sql", &o.other}});
  add(rows, table_options(o.files));
  return rows;
}

/// A line of standard input without its end; nullopt after the last one. Errors: query.limit.
Result<std::optional<std::string>> read_line() {
  std::string line;
  for (int c = std::fgetc(stdin); c != EOF; c = std::fgetc(stdin)) {
    if (c == '\n') return std::optional(std::move(line));
    if (line.size() == kLongestStatement)
      return fail(Code::bad_input, "query.limit", "a line of standard input is longer than 1 MiB");
    line += static_cast<char>(c);
  }
  if (line.empty()) return std::optional<std::string>();
  return std::optional(std::move(line));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// Statements of standard input, one after the other.
class Shell {
 public:
  Shell(const QueryAsked& asked, const Globals& globals, const Job& job)
      : asked_(asked), globals_(globals), job_(job), is_terminal_(isatty(STDIN_FILENO) != 0) {}

  Result<int> run() {
    if (is_terminal_) print_error(".tables, .schema TABLE and .queries list; .quit ends; a statement ends with ;\n");
    for (;;) {
      if (is_terminal_) print_error(statement_.empty() ? "chakra> " : "   ...> ");
      CHAKRA_ASSIGN(const std::optional<std::string> line, read_line());
      if (line && trimmed(*line) == ".quit") return code_;
      CHAKRA_TRY(take(line));
      if (!line) return code_;
    }
  }

 private:
  const QueryAsked& asked_;
  const Globals& globals_;
  const Job& job_;
  bool is_terminal_;
  std::string statement_;
  size_t statements_ = 0;
  int code_ = 0;

  /// Add a line to the statement, and run a statement that is complete. On a terminal, errors are reported here.
  Result<void> take(const std::optional<std::string>& line) {
    const std::string_view words = line ? trimmed(*line) : std::string_view();
    if (trimmed(statement_).empty() && words.starts_with('.')) {
      statement_.clear();
      return judge(command(words));
    }
    if (line) statement_ += *line + "\n";
    if (statement_.size() > kLongestStatement)
      return fail(Code::bad_input, "query.limit", "a statement is longer than 1 MiB");
    if ((line && !words.ends_with(';')) || trimmed(statement_).empty()) return {};
    return judge(statement(std::exchange(statement_, {})));
  }

  Result<void> judge(const Result<int>& done) {
    if (done) {
      code_ = *done;
      return {};
    }
    if (!is_terminal_ || done.error().code == Code::interrupted) return Failure(done.error());
    code_ = report(done.error());
    return {};
  }

  Result<int> statement(const std::string& sql) {
    if (++statements_ > 1 && !(globals_.json.empty() && asked_.files.csv.empty() && asked_.files.arrow.empty()))
      return fail(Code::usage, "cli.usage",
                  "--json, --csv and --arrow take one statement, but standard input has several");
    return show(globals_, job_.query(sql, asked_.options, globals_.control(asked_.files)));
  }

  Result<int> command(std::string_view words) {
    Globals all;
    all.all = "rows";
    const std::string_view table = trimmed(words.substr(std::min(words.find(' '), words.size())));
    if (words == ".tables")
      return show(all, job_.query("select table_name, count(*) as columns from columns group by table_name"));
    if (words.starts_with(".schema"))
      return show(all, job_.query("select table_name, name, type, unit, meaning from columns "
                                  "where '@' || table_name = :table or :table = '@'",
                                  {.param = {fmt::format("table=@{}", table)}}));
    if (words == ".queries") return show({}, list("queries"));
    return fail(Code::usage, "cli.usage",
                fmt::format("unknown command {}; known: .tables, .schema TABLE, .queries, .quit", quote(words)));
  }
};

Result<int> run_query(const QueryAsked& o, const Globals& globals) {
  if (o.other == "-" && !o.options.named.empty())
    return fail(Code::usage, "cli.usage", "give either statements on standard input or --named");
  CHAKRA_ASSIGN(const Job job, open(o.path));
  const bool from_input = o.other == "-" || (o.other.empty() && o.options.named.empty());
  if (from_input) return Shell(o, globals, job).run();
  return show(globals, job.query(o.other, o.options, globals.control(o.files)));
}

}  // namespace

Syntax query_syntax() { return syntax_of<QueryAsked>(query_rows, run_query); }

}  // namespace chakra::cli
