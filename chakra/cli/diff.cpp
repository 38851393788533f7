// chakra diff
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using DiffAsked = With<DiffOptions>;

options::Options diff_rows(DiffAsked& o) {
  options::Options rows = rows_of(o.options, {{"a", &o.path}, {"b", &o.other}});
  options::Options tables = table_options(o.files);
  for (options::Option& row : tables) row.value = "FILE";
  tables[0].help = "Write the rows as CSV; with --timing each table as FILE.<table>.csv";
  tables[1].help = "Write the rows as an Arrow file; with --timing each table as FILE.<table>.arrow";
  add(rows, std::move(tables));
  return rows;
}

Result<int> run_diff(const DiffAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job a, open(o.path, {.keep = false}));
  CHAKRA_ASSIGN(const Job b, open(o.other, {.keep = false}));
  const Result<Answer> answer = a.diff(b, o.options, globals.control(o.files));
  CHAKRA_ASSIGN(const int code, show(globals, answer));
  const auto exceeding = answer->table("exceeding");
  const bool fails = (exceeding && exceeding->rows() > 0) || answer->whole("step.longer") == 1;
  return fails ? static_cast<int>(Code::bad_input) : code;
}

}  // namespace

Syntax diff_syntax() { return syntax_of<DiffAsked>(diff_rows, run_diff); }

}  // namespace chakra::cli
