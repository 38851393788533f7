// Chakra execution traces: make a job, query the job, write the job. Options go in, a Result comes out: a value, or an
// Error with a stable tag (docs/reference/errors.md). The library never throws, prints or exits.
//
//   Result<Job> job = chakra::open("traces");                                     // or link(), generate(), Job::from()
//   Result<Answer> run = job->simulate({.network = "network.yml"});
//   int64_t makespan = run->whole("makespan_ps").value_or(0);
//
// Three kinds of verbs: open, link, generate, import_workload and Job::edit make a job; check, simulate, what_if,
// analyze, query, run, diff and info query a job, and return values and tables; write, convert, pack, unpack and view
// write files. The command `chakra` is made of these verbs alone. Times are picoseconds in int64_t, except where a name
// has another unit.
#pragma once

#include <atomic>
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
CHAKRA_API std::string_view version();  ///< version of the loaded library: "0.1.0"

// ---- answers ---------------------------------------------------------------------------------------------------

/// Rows of an answer, in columns. A copy costs a pointer, and keeps the underlying data alive.
class CHAKRA_API Table {
 public:
  /// The values of a column. Depending on the type of the column, whole(), real() or text() returns the values.
  class CHAKRA_API Column {
   public:
    /// natural: whole() has the bits of a uint64_t. rows: the place of a nested table. any: the type depends on the
    /// row, and only json() returns the values.
    enum class Type : uint8_t { whole, natural, real, text, truth, rows, any };

    std::string_view key() const;
    Type type() const;
    std::string_view unit() const;  ///< "ps", "bytes", "bytes/s", "count", "share", "id" and so on; "": no unit
    std::string_view meaning() const;
    size_t rows() const;
    bool has(size_t row) const;               ///< false: the cell is missing; whole() and real() then have 0
    std::span<const int64_t> whole() const;   ///< whole numbers, and truth values as 0 and 1; else empty
    std::span<const double> real() const;     ///< other numbers; else empty
    std::string_view text(size_t row) const;  ///< of a column of texts; else empty. Requires row < rows()
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
  std::optional<Column> find(std::string_view key) const;  ///< nullopt if no column has this key
  /// For a nested table such as "collectives.candidates": the rows that belong to row p of "collectives" are
  /// [begin()[p], begin()[p + 1]). Empty for other tables.
  std::span<const size_t> begin() const;
  /// Return the rows of a table of findings, which has no columns; else empty.
  const std::vector<Finding>& findings() const;

 private:
  friend class Answer;
  Table(std::shared_ptr<const void> owner, const void* table) : owner_(std::move(owner)), table_(table) {}
  std::shared_ptr<const void> owner_;
  const void* table_;
};

/// The result of a verb: values, tables and findings. An Answer is complete and immutable. A copy costs a pointer.
/// `chakra list results` lists all keys with units and meanings.
class CHAKRA_API Answer {
 public:
  Answer();  ///< empty

  std::string_view verb() const;  ///< "sim", "check": determines the keys
  // Values by key, such as "makespan_ps", "congestion.mode"; nullopt if the value is missing or has another type.
  std::optional<int64_t> whole(std::string_view key) const;  ///< also truth values, as 0 or 1
  std::optional<double> real(std::string_view key) const;    ///< also whole numbers
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::string> json(std::string_view key) const;  ///< of any type: 12, "closed", true, null
  std::vector<std::string> keys() const;                        ///< keys of the values present
  std::optional<Table> table(std::string_view key) const;
  std::vector<std::string> tables() const;  ///< keys of the tables present
  const std::vector<Finding>& findings() const;

  /// Return the error of a run that was stopped or has a wrong result, if Control::partial asked for such an answer.
  const std::optional<Error>& failure() const;

  std::string to_text() const;  ///< the text that the command prints
  /// Return a table with all rows and columns. Errors: cli.usage for a table that this answer lacks.
  Result<std::string> to_text(std::string_view table) const;
  std::string to_json() const;  ///< the JSON of --json. Cost: memory for the whole text
  /// Write the JSON in pieces. Errors: as for `write`.
  Result<void> to_json(Result<void> (*write)(void* user, std::string_view piece), void* user = nullptr) const;
  /// Write the answer in the form "json", "txt", "csv" or "arrow" (an Arrow IPC file). Without a form, the ending .txt,
  /// .csv or .arrow selects the form, and any other ending means JSON. CSV and Arrow: for PREFIX.csv, a file
  /// PREFIX.<table>.csv for each table. Each file appears whole, or none does. Errors: base.file.*; cli.usage for
  /// another form, and for tables of an answer that has none.
  Result<void> write(const std::string& path, std::string_view form = {}) const;

 private:
  friend struct AnswerMaker;
  std::shared_ptr<const struct AnswerData> data_;
};

// ---- jobs ------------------------------------------------------------------------------------------------------

/// How a call runs, and where the answer goes beside the caller.
struct Control {
  /// Called with 0 first, then repeatedly (at most every 10 ms), and with 1 after the work; in the thread of the call.
  /// `share` is the completed part of the work, an estimate that never decreases. Return false to stop the call (with
  /// 1, too late): the call then returns an Error with Code::interrupted, leaves no partial file, and returns a partial
  /// answer only with `partial`.
  bool (*progress)(void* user, double share) = nullptr;
  void* user = nullptr;
  std::atomic<bool>* stop = nullptr;  ///< true stops the call likewise: for signal handlers and other threads
  /// Files for the answer, none of which may be an input: JSON, and for each table PREFIX.<table>.csv and
  /// PREFIX.<table>.arrow (diff of contents: the rows, as this one file). All files of the call appear together; after
  /// an error no file appears. json "-": the caller prints the JSON.
  std::string json = {}, csv = {}, arrow = {};
  bool brief = false;  ///< omit tables that to_text() does not show, unless there are files for the answer
  /// Return the answer of a run that was stopped, is stuck or misses `max_error`; Answer::failure() has the error.
  bool partial = false;
};

/// A collective at the arrival of the last member.
struct Meeting {
  std::string_view group;  ///< valid during the call
  std::string_view type;   ///< "ALL_REDUCE"
  uint64_t bytes = 0;      ///< that each rank contributes
  size_t members = 0;
  int64_t first_ps = 0, last_ps = 0;  ///< arrivals
};

/// Your models, in place of the built-in ones. The event loop, the graph and all other parts stay.
class CHAKRA_API Models {
 public:
  virtual ~Models() = default;
  /// Return whether equivalent ranks may be simulated once: true if neither function below depends on the rank or the
  /// group.
  virtual bool rank_independent() const { return true; }
  /// Replace the durations of nodes: `inout[n]` is the duration of row n of `trace`. Called before the simulation, once
  /// for each trace (in a job by classes: once for each class, and `rank` is the first rank of the class).
  virtual Result<void> prices(const Trace& trace, int64_t rank, std::span<int64_t> inout);
  /// Return the time from the last arrival to the end of the collective, in ps, or nullopt to use the network model.
  /// Called during the simulation. Requires congestion `closed`, which is then the default.
  virtual Result<std::optional<int64_t>> collective(const Meeting& meeting);
};

/// The traces of all ranks of a job. A copy costs a pointer, and shares the traces. Several threads may use a const
/// Job. The first verb that needs a trace reads that trace.
class CHAKRA_API Job {
 public:
  /// Make a job from traces in memory. The ranks must differ. Errors: io.job.rank_twice; cli.usage for no trace at all.
  static Result<Job> from(std::span<const Trace> traces);

  const std::string& path() const;  ///< the path of the traces, as given; "" for a job in memory
  Result<std::vector<int64_t>> ranks(Control control = {}) const;  ///< ascending
  /// Return the trace of a rank. In a job by classes, only this trace is made. Errors: cli.usage for an unknown rank.
  Result<Trace> trace(int64_t rank, Control control = {}) const;
  const Answer& made() const;  ///< the answer of link(), generate() or edit(); else empty

  // Queries. Errors: cli.usage for options that are out of range or do not go together; errors of reading; errors that
  // `docs/reference/errors.md` lists for the command. Cost: that of the command without reading twice.
  Result<Answer> check(const CheckOptions& options = {}, Control control = {}) const;
  Result<Answer> simulate(const SimulateOptions& options, Control control = {}, Models* models = nullptr) const;
  Result<Answer> what_if(const WhatIfOptions& options = {}, Control control = {}) const;
  Result<Answer> analyze(const AnalyzeOptions& options = {}, Control control = {}) const;
  /// Run one SELECT over the tables of `chakra list sql`, or the ready query `options.named`. The rows are table
  /// "rows".
  Result<Answer> query(const std::string& sql, const QueryOptions& options = {}, Control control = {}) const;
  /// Write a page with the answers of analyze() and check(): one HTML file that needs no network. Errors: as for these.
  Result<Answer> report(const std::string& path, const ReportOptions& options = {}, Control control = {}) const;
  Result<Answer> diff(const Job& other, const DiffOptions& options = {}, Control control = {}) const;
  Result<Answer> run(const RunOptions& options = {}, Control control = {}) const;  ///< for real, on this machine
  Result<Answer> info(Control control = {}) const;                                 ///< ranks, nodes and their kinds

  /// Return a job with fewer or more ranks. made().findings() of the new job has the findings.
  Result<Job> edit(const EditOptions& options, Control control = {}) const;

  /// Write a container if `path` ends in .chakra; else a file for each rank (PREFIX.<rank>.et, or trace.<rank>.et in a
  /// folder: a path that ends in / or is a folder). The options or the ending select the format.
  Result<Answer> write(const std::string& path, const WriteOptions& options = {}, Control control = {}) const;
  /// Draw a timeline (FILE.json, for Perfetto) of the job, or the graph of one rank. The ending of `path` selects the
  /// form unless `options.to` does. Errors: cli.usage; view.large for a timeline that no browser opens.
  Result<Answer> view(const std::string& path, const ViewOptions& options = {}, Control control = {}) const;

 private:
  friend struct JobMaker;
  explicit Job(std::shared_ptr<struct JobData> data) : data_(std::move(data)) {}
  std::shared_ptr<struct JobData> data_;
};

struct OpenOptions {
  bool keep = true;  ///< keep the traces in memory for further verbs; else each verb reads only the traces it needs
};
/// Open a prefix (PREFIX.<rank>.et), a folder, a container, one trace, or a job by classes (ranks.json). Only names are
/// inspected: the first verb that reads a damaged file fails. Errors: as for io::find_ranks, such as `io.job.none`.
CHAKRA_API Result<Job> open(const std::string& path, OpenOptions options = {});
/// Link recordings of one rank (host trace, device trace or both, in any order), or folders with the recordings of a
/// job. Without `options.output`, traces stay in memory. Errors: as for `chakra link`.
CHAKRA_API Result<Job> link(const std::vector<std::string>& recordings, const LinkOptions& options = {},
                            Control control = {});
/// Generate a training step or a serving step of a model. Errors: as for `chakra gen`.
CHAKRA_API Result<Job> generate(const StepOptions& options, Control control = {});
CHAKRA_API Result<Job> generate(const ServeOptions& options, Control control = {});
/// Write the named test cases, each a job of one or two nodes per rank. Errors: as for `chakra gen cases`.
CHAKRA_API Result<Answer> generate(const CasesOptions& options, Control control = {});
/// Write a network from a blueprint, as an InfraGraph file. Errors: as for `chakra gen network`.
CHAKRA_API Result<Answer> generate(const BlueprintOptions& options, Control control = {});
/// Import a workload of another tool as traces. Errors: as for `chakra import`.
CHAKRA_API Result<Job> import_workload(const std::string& file, const ImportOptions& options, Control control = {});
/// Fit a device file to measured kernels, or a network file to measured collectives, and write the file. Errors: as for
/// `chakra calibrate`.
CHAKRA_API Result<Answer> calibrate(const CalibrateDeviceOptions& options, Control control = {});
CHAKRA_API Result<Answer> calibrate(const CalibrateNetworkOptions& options, Control control = {});

// ---- files -----------------------------------------------------------------------------------------------------

/// Check several jobs, and dumps of PyTorch's flight recorder: a folder of dumps is a job, and single dumps are one
/// job together. Errors: as for Job::check; broken rules are findings, and the value "ok" is then false.
CHAKRA_API Result<Answer> check(const std::vector<std::string>& paths, const CheckOptions& options = {},
                                Control control = {});
/// Convert jobs, or a file of another tool, to another format. Errors: as for `chakra convert`.
CHAKRA_API Result<Answer> convert(const std::vector<std::string>& paths, const ConvertOptions& options,
                                  Control control = {});
/// Put jobs into a container, or (with `stats` and without an output) read the statistics of a container. With `stats`,
/// to_text() has the statistics as well. Errors: as for `chakra pack`.
CHAKRA_API Result<Answer> pack(const std::vector<std::string>& paths, const PackOptions& options, Control control = {});
/// Extract the ranks of a container into files. Errors: as for `chakra unpack`.
CHAKRA_API Result<Answer> unpack(const std::string& container, const UnpackOptions& options, Control control = {});
/// Hide the names and ids of a job, or restore the names. Errors: as for `chakra obfuscate`.
CHAKRA_API Result<Answer> obfuscate(const std::string& path, const ObfuscateOptions& options, Control control = {});
/// Judge a shared copy of a job against the original, and write a certificate; or compare a certificate with the copy.
/// Failed claims are values: "holds" is then false, or "agrees". Errors: as for `chakra certify`.
CHAKRA_API Result<Answer> certify(const std::string& original, const std::string& shared,
                                  const CertifyOptions& options = {}, Control control = {});
/// Choose the jobs that represent a fleet. Errors: as for `chakra select`.
CHAKRA_API Result<Answer> select(const std::vector<std::string>& paths, const SelectOptions& options = {},
                                 Control control = {});
/// Generate and simulate all points of a space of options, on all cores. `file` describes the space; the folder
/// `options.output` keeps finished points for later calls. A point that fails is a row of the answer. Errors: as for
/// `chakra sweep`.
CHAKRA_API Result<Answer> sweep(const std::string& file, const SweepOptions& options, Control control = {});
/// Link recordings of many jobs, as one of many processes that share the folder `options.output`. A job that fails is a
/// row of the answer, and the value "ok" is then false. Errors: as for `chakra fleet link`.
CHAKRA_API Result<Answer> fleet_link(const std::vector<std::string>& paths, const FleetLinkOptions& options,
                                     Control control = {});
/// Analyze many jobs, likewise. Errors: as for `chakra fleet analyze`.
CHAKRA_API Result<Answer> fleet_analyze(const std::vector<std::string>& paths, const FleetAnalyzeOptions& options,
                                        Control control = {});
/// Report on a fleet without running a task. Errors: as for `chakra fleet merge`.
CHAKRA_API Result<Answer> fleet_merge(const FleetMergeOptions& options, Control control = {});
/// Draw like Job::view(), also the CSV of issue and callback lines of a simulator.
CHAKRA_API Result<Answer> view(const std::string& path, const std::string& output, const ViewOptions& options = {},
                               Control control = {});
/// Diagnose a file or a folder, or (without a path) this installation. The value "ok" is false if anything is wrong.
/// Errors: as for `chakra doctor`.
CHAKRA_API Result<Answer> doctor(const std::string& path = {}, const DoctorOptions& options = {}, Control control = {});

// ---- the library -----------------------------------------------------------------------------------------------

/// Limit all later calls to this number of cores; 0: all cores of the machine. Must not be called during another call.
CHAKRA_API void use_cores(int cores);

/// Run the command `chakra` with the arguments of main(). Prints, and handles SIGINT and SIGPIPE. Returns the exit
/// code.
CHAKRA_API int command(int argc, char** argv);

/// Return the names that an option accepts: names("devices"), names("models"). Errors: cli.usage for an unknown kind.
CHAKRA_API Result<std::vector<std::string>> names(std::string_view kind);
/// Return the table of a kind, such as list("devices"); without a kind, the kinds. Errors: cli.usage.
CHAKRA_API Result<Answer> list(std::string_view kind = {}, Control control = {});

}  // namespace v1
}  // namespace chakra
