// Chakra execution traces: make a job, ask it, write it. Options go in, a Result comes out: a value, or an Error with a
// stable tag (docs/reference/errors.md). Nothing here throws, prints or exits.
//
//   Result<Job> job = chakra::open("traces");                                     // or link(), generate(), Job::from()
//   Result<Answer> run = job->simulate({.network = "network.yml"});
//   int64_t makespan = run->whole("makespan_ps").value_or(0);
//
// Three kinds of verbs: open, link, generate and Job::edit make a job; check, simulate, what_if, analyze, run and diff
// ask one, and answer with values and tables; write writes. The command `chakra` has the same verbs and options. Times
// are picoseconds in int64_t unless a name says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/result.h"  // Result, Error, Finding
#include "chakra/options.h"

namespace chakra {
inline namespace v1 {

class Trace;                            // chakra/trace.h
CHAKRA_API std::string_view version();  ///< of the library that runs: "0.1.0"

// ---- answers ---------------------------------------------------------------------------------------------------

/// Rows of an answer, in columns. A copy costs a pointer, and keeps what it shows alive.
class CHAKRA_API Table {
 public:
  /// The values of a column. Its type decides which of whole(), real() and text() has them.
  class CHAKRA_API Column {
   public:
    /// natural: whole() has the bits of a uint64_t. rows: the place of a table below this one. any: each row has a
    /// type, and json() alone has the values.
    enum class Type : uint8_t { whole, natural, real, text, truth, rows, any };

    std::string_view key() const;
    Type type() const;
    std::string_view unit() const;  ///< "ps", "bytes", "bytes/s", "count", "share", "id" and so on; "": none
    std::string_view meaning() const;
    size_t rows() const;
    bool has(size_t row) const;               ///< false: it has no value there; whole() and real() have 0
    std::span<const int64_t> whole() const;   ///< whole numbers; of truth values 0 and 1; else empty
    std::span<const double> real() const;     ///< other numbers; else empty
    std::string_view text(size_t row) const;  ///< of texts; else empty. Requires row < rows()
    std::string json(size_t row) const;       ///< of any type: 12, "closed", null. Requires row < rows()

   private:
    friend class Table;
    Column(std::shared_ptr<const void> owner, const void* series) : owner_(std::move(owner)), series_(series) {}
    std::shared_ptr<const void> owner_;
    const void* series_;
  };

  std::string_view key() const;  ///< "ranks", "collectives.candidates"
  std::string_view meaning() const;
  size_t rows() const;
  size_t columns() const;
  Column column(size_t index) const;                       ///< requires index < columns()
  std::optional<Column> find(std::string_view key) const;  ///< nothing where no column has that key
  /// Of a table below another one, such as "collectives.candidates": the rows of row p of "collectives" are
  /// [begin()[p], begin()[p + 1]). Empty for others.
  std::span<const size_t> begin() const;
  /// Of a table of findings, which has no columns: its rows.
  const std::vector<Finding>& findings() const;

 private:
  friend class Answer;
  Table(std::shared_ptr<const void> owner, const void* table) : owner_(std::move(owner)), table_(table) {}
  std::shared_ptr<const void> owner_;
  const void* table_;
};

/// What a verb found: values, tables and findings, complete and never changed. A copy costs a pointer.
/// `chakra list results` has all keys with their units and meanings.
class CHAKRA_API Answer {
 public:
  Answer();  ///< empty

  std::string_view verb() const;  ///< "sim", "check": whose keys it has
  // Nothing where the answer has no such value, or it has another type. "makespan_ps", "congestion.mode".
  std::optional<int64_t> whole(std::string_view key) const;  ///< also of truth values: 0 or 1
  std::optional<double> real(std::string_view key) const;    ///< also of whole numbers
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::string> json(std::string_view key) const;  ///< of any type: 12, "closed", true, null
  std::vector<std::string> keys() const;                        ///< of values that are there
  std::optional<Table> table(std::string_view key) const;
  std::vector<std::string> tables() const;  ///< keys of tables that are there
  const std::vector<Finding>& findings() const;

  std::string to_text() const;  ///< as the command prints it
  std::string to_json() const;  ///< as the command's --json. Cost: memory for all of it
  /// A file that appears whole or not at all, in the form "json" or "txt"; without one, text where the name ends in
  /// .txt, else JSON. Errors: base.file.*, cli.usage for another form.
  Result<void> write(const std::string& path, std::string_view form = {}) const;

 private:
  friend struct AnswerMaker;
  std::shared_ptr<const struct AnswerData> data_;
};

// ---- jobs ------------------------------------------------------------------------------------------------------

/// How a long call is watched and stopped.
struct Control {
  /// Called now and then, by the thread that called the verb; `share`: of the work that is done, 0 to 1. False stops
  /// the call: it returns an Error with Code::interrupted, never a part of an answer.
  bool (*progress)(void* user, double share) = nullptr;
  void* user = nullptr;
};

/// A collective whose last member has come.
struct Meeting {
  std::string_view group;  ///< lives as long as the call
  std::string_view type;   ///< "ALL_REDUCE"
  uint64_t bytes = 0;      ///< that a rank puts in
  size_t members = 0;
  int64_t first_ps = 0, last_ps = 0;  ///< arrivals
};

/// Models of a simulator of your own, in place of ours. The loop, the graph and all else stay.
class CHAKRA_API Models {
 public:
  virtual ~Models() = default;
  /// Whether ranks that nothing tells apart may be simulated once: true where nothing below depends on the rank or the
  /// group.
  virtual bool rank_independent() const { return true; }
  /// How long nodes take, in place of recorded or generated times: `inout[n]` is the time of row n of `trace`. Called
  /// before the simulation, once for each trace (of a job by classes: for each class; `rank` is its first one).
  virtual Result<void> prices(const Trace& trace, int64_t rank, std::span<int64_t> inout);
  /// From the last arrival to the end of the collective, in ps; nothing: the network prices it. Called as time goes on.
  /// Needs the congestion closed, which is then the default.
  virtual Result<std::optional<int64_t>> collective(const Meeting& meeting);
};

/// The traces of all ranks of a job. A value: a copy costs a pointer, and shares traces. A const Job may be used by
/// several threads. Traces are read when a verb needs them first.
class CHAKRA_API Job {
 public:
  /// A job of traces that a program has built; their ranks differ. Errors: io.job.rank_twice, cli.usage for none.
  static Result<Job> from(std::span<const Trace> traces);

  const std::string& path() const;             ///< as it was opened; "" of a job that no file has
  Result<std::vector<int64_t>> ranks() const;  ///< their numbers, ascending
  /// Of a job by classes, the trace of this rank alone is made. Errors: cli.usage for a rank that is not there.
  Result<Trace> trace(int64_t rank) const;
  const Answer& made() const;  ///< what link() or generate() found; else empty

  // Ask. Errors: cli.usage for options that are out of range or do not go together; those of reading; those that
  // `docs/reference/errors.md` names for the command. Cost: that of the command without reading twice.
  Result<Answer> check(const CheckOptions& options = {}, Control control = {}) const;
  Result<Answer> simulate(const SimulateOptions& options, Control control = {}, Models* models = nullptr) const;
  Result<Answer> what_if(const WhatIfOptions& options = {}, Control control = {}) const;
  Result<Answer> analyze(const AnalyzeOptions& options = {}, Control control = {}) const;
  Result<Answer> diff(const Job& other, const DiffOptions& options = {}, Control control = {}) const;
  Result<Answer> run(const RunOptions& options = {}, Control control = {}) const;  ///< for real, on this machine

  /// A job of some of the ranks, or of more. What was said about that is made().findings().
  Result<Job> edit(const EditOptions& options, Control control = {}) const;

  /// A container where `path` ends in .chakra; else a file for each rank (PREFIX.<rank>.et, or trace.<rank>.et in a
  /// folder: a path that ends in / or is one), in the form that the options or the ending say.
  Result<Answer> write(const std::string& path, const WriteOptions& options = {}, Control control = {}) const;

 private:
  friend struct JobMaker;
  explicit Job(std::shared_ptr<struct JobData> data) : data_(std::move(data)) {}
  std::shared_ptr<struct JobData> data_;
};

/// A prefix (PREFIX.<rank>.et), a folder, a container, one trace, or a job by classes (ranks.json). Only its name is
/// looked at: damaged files are found by the first verb. Errors: those of io::find_ranks, such as io.job.none.
CHAKRA_API Result<Job> open(const std::string& path);
/// Recordings of one rank (host and device trace, in any order, or one of them), or folders with those of a job.
/// Without `options.output`, traces stay in memory. Errors: those of `chakra link`.
CHAKRA_API Result<Job> link(const std::vector<std::string>& recordings, const LinkOptions& options = {},
                            Control control = {});
/// A training step or a serving step of a model. Errors: those of `chakra gen`.
CHAKRA_API Result<Job> generate(const StepOptions& options, Control control = {});
CHAKRA_API Result<Job> generate(const ServeOptions& options, Control control = {});
/// Fits a device file to measured kernels, or a network file to measured collectives, and writes it. Errors: those of
/// `chakra calibrate`.
CHAKRA_API Result<Answer> calibrate(const CalibrateDeviceOptions& options);
CHAKRA_API Result<Answer> calibrate(const CalibrateNetworkOptions& options);

/// The command `chakra`, with the arguments of main(). It prints, and handles SIGINT and SIGPIPE. Returns the exit
/// code.
CHAKRA_API int command(int argc, char** argv);

/// The names that an option may take: names("devices"), names("models"). Errors: cli.usage for a kind that
/// `chakra list` does not have.
CHAKRA_API Result<std::vector<std::string>> names(std::string_view kind);

}  // namespace v1
}  // namespace chakra
