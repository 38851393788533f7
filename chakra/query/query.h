// `chakra query` as a call: SQL over the tables of a job.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/job/job.h"
#include "chakra/job/parts.h"
#include "chakra/options/options.h"
#include "chakra/query/tables.h"  // IWYU pragma: export

namespace chakra::query {

struct QueryOptions {
  std::string path = {};                ///< the job: a prefix, a folder, a container, or one trace
  std::string sql = {};                 ///< one SELECT; empty: a ready query
  std::string named = {};               ///< name of a row in query::kQueries
  std::vector<std::string> param = {};  ///< name=value
  double limit_seconds = 60;            ///< wall time for the rows
  int64_t limit_memory = 1024;          ///< MiB
  job::SimulateOptions simulate = {};   ///< with a network: tables of a simulation; `path` is that above
  job::LoadedPtr loaded = {};           ///< read instead of `path`
};
options::Options rows_of(QueryOptions& options);

struct QueriedJob {
  std::string path;  ///< the job, as given
  std::string sql;   ///< the statement
  /// Names of the columns: each answer of this result refers to them.
  std::shared_ptr<const std::vector<std::string>> keys = std::make_shared<const std::vector<std::string>>();
  std::vector<std::vector<sqlite::QueryValue>> values;  ///< by column
  Findings findings;                                    ///< of the tables that the query used
};

/// Run a query. The tables are those of query::add_job(), `timeline`, and the tables of answers: as analyze_<key> those
/// of analyze_job(), and as sim_<key> those of simulate_job(). Analyses and the simulation run if the query needs them.
/// Errors: cli.usage for neither or both of `sql` and `named`, and for tables of a simulation without a network; those
/// of sqlite::select; errors of reading, of the analyses and of the simulation.
Result<QueriedJob> query_job(const QueryOptions& options, const std::atomic<bool>* stop = nullptr);
/// Return all tables of a job, without rows.
Tables tables_of_queries();

/// Return the answer: the rows as table `rows`. A column is of whole numbers, of numbers, or of texts if all values
/// are, else of any values. Requires that `job.keys` lives as long as the answer. Cost: O(cells).
answer::Answer answer_of(const QueriedJob& job);
/// Return the text of the answer of a query: the first rows, and the findings.
std::string query_text(const answer::Answer& answer);

}  // namespace chakra::query
