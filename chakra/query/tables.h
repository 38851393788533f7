// Tables of a job for SQL: traces, matched communication, timelines and answers as virtual tables, which room sqlite
// queries in place. Ready queries for frequent questions.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/sqlite/sqlite.h"
#include "chakra/trace/trace.h"

namespace chakra::query {

struct Tables {
  std::vector<sqlite::Table> all;
  /// Findings of tables that were used, such as mismatches of collectives.
  std::shared_ptr<Findings> findings = std::make_shared<Findings>();
};

/// Append findings, without duplicates: several tables can be of one answer.
void add_findings(Findings& to, const Findings& more);

/// Return the traces of the job, which must outlive the tables: called once, at the first use of a table.
using MakeTraces = std::function<Result<const trace::TraceSet*>()>;
/// Add the tables of traces (ranks, nodes, edges) and of their matched communication (groups, members, collectives,
/// collective_nodes, messages). Times count from the earliest Trace::base_ns of a rank with measured starts. A table is
/// filled at its first use.
void add_job(Tables& to, MakeTraces make);

/// Make a timeline: called once, at the first use of its table.
using MakeTimeline = std::function<Result<std::shared_ptr<const result::Timeline>>()>;
/// Add a table with a row for each slice of a timeline.
void add_timeline(Tables& to, std::string name, std::string meaning, MakeTimeline make);

/// Make the answer that has a table: called once, at the first use of the table. `key`: of answer::Table.
using MakeAnswer = std::function<Result<answer::Answer>(std::string_view key)>;
/// Add each table of an answer under the name "<prefix>_<key>", with `_` for dots. `schema`: an answer with all tables.
/// A table that the made answer lacks has no rows. The findings of the made answer become findings of the tables.
void add_answer(Tables& to, std::string_view prefix, const answer::Answer& schema, const MakeAnswer& make);

/// Add the table "<prefix>_values", with a row for each value of an answer that is not in a table.
void add_values(Tables& to, std::string_view prefix, const MakeAnswer& make);

/// Add the table `columns`, which describes each column of all tables. Call this last.
void add_columns(Tables& to);

/// A parameter of a ready query. The text is read as a number if it is one.
struct ParameterRow {
  std::string_view name, value, meaning;
};
/// A query for a frequent question.
struct QueryRow {
  std::string_view name;
  std::string_view description;  ///< the answer, with units
  std::string_view sql;
  std::span<const ParameterRow> parameters = {};
};
extern const std::span<const QueryRow> kQueries;

/// Read "name=value": the value is a whole number, a number, or else a text. Errors: query.parameter.
Result<sqlite::Parameter> parse_parameter(std::string_view text);

/// Return names for columns of a result: unique, not empty, without dots, since keys with dots are objects in JSON.
std::vector<std::string> keys_of(const std::vector<std::string>& names);

}  // namespace chakra::query
