// Other tools' forms of a workload -> the traces of a job, and back if a form can hold the traces: ASTRA-sim 1.0
// text, FlexFlow task graphs, MSCCL algorithms, the JSON of mlcommons/chakra's feeder and of its linker, programs of
// torch.compile, programs of XLA. One row per form; docs/reference/formats has a page for each form about the contents
// and the reading.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/coll/coll.h"
#include "chakra/trace/trace.h"

namespace chakra::foreign {

/// Values missing in the files. Each form uses some of the options and ignores the others.
struct Options {
  std::vector<int64_t> dims;      ///< text: ranks along each dimension of the network; torch: of the mesh; inner first
  int64_t num_npus = 0;           ///< text: ranks; 0: the product of dims; torch: ranks; 0: as in the file
  int64_t num_passes = 1;         ///< text: training iterations
  std::string time_unit;          ///< text, flexflow: ns, us, ms or s; empty: us for text, ms for flexflow
  uint64_t coll_bytes = 1 << 20;  ///< msccl: bytes of the whole collective
  Picoseconds default_run_time = 0;  ///< msccl: duration of each reduction and copy, which the file lacks
};

/// The most nodes of a job that is read rank by rank, over all ranks. A job by classes may have more.
inline constexpr uint64_t kMostNodes = 20'000'000;

/// A job rank by rank, or by classes of ranks if the form groups equal ranks.
using Job = std::variant<trace::TraceSet, trace::ClassJob>;

struct FormRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
  /// Whether the beginning of a file (its first filetype::kHead bytes) has this form.
  bool (*matches)(std::string_view head);
  Result<trace::TraceSet> (*read)(ByteSource source, const Options& options, Findings& findings);
  /// Return the file's text; null for forms that cannot hold the contents of our traces.
  Result<std::string> (*write)(const Job& job, Findings& findings);
  /// The same as `read`, but by classes; null for forms without classes.
  Result<Job> (*read_job)(ByteSource source, const Options& options, Findings& findings) = nullptr;
};
/// The name of the form that room xla reads, with a report.
inline constexpr std::string_view kXla = "xla";
/// In the order of recognition.
extern const std::span<const FormRow> kForms;

/// Return the row of that name, in any case; null if the name is unknown.
const FormRow* find(std::string_view name);

/// Recognize the form by the first bytes; null if unrecognized.
const FormRow* form_of(std::string_view bytes);

/// Read a file, packed or not, as the form of that name ("": recognized by its contents). `findings` lists
/// omissions and assumptions. Ranks ascending, ids from 0 (or as numbered in the file) in each rank.
/// Errors: foreign.form (unknown form, or unrecognized file), foreign.<form>.*, those of ByteSource.
/// Cost: O(file) per rank.
Result<trace::TraceSet> read(std::string_view form, const std::string& path, const Options& options,
                             Findings& findings);
Result<trace::TraceSet> read(std::string_view form, ByteSource source, const Options& options, Findings& findings);

/// Read the same, by classes if the form has classes: memory is that of the classes, for any number of ranks.
Result<Job> read_job(std::string_view form, ByteSource source, const Options& options, Findings& findings);

/// Expand a job by classes. Errors: foreign.large above kMostNodes, groups and texts of the ranks included.
Result<trace::TraceSet> rank_by_rank(const trace::ClassJob& job);

/// Write the job in that form. The output is read again and compared: the result is the same job, or `findings`
/// list the omissions of the form. A form that cannot hold the job is rejected, with the difference.
/// Errors: foreign.form, foreign.write.none (the form is only read), foreign.write.cannot_hold, and those of
/// write_file.
Result<void> write(std::string_view form, const Job& job, const std::string& path, Findings& findings);
Result<std::string> to_text(std::string_view form, const Job& job, Findings& findings);

/// Read an MSCCL file, packed or not, as an algorithm of collectives that rules call `name`,
/// verified by symbolic execution (docs/reference/formats/msccl.md). Errors: foreign.msccl.*,
/// foreign.large, those of ByteSource. Cost: O(steps x ranks of a sum).
Result<std::shared_ptr<const coll::Program>> read_program(ByteSource source, std::string name);

/// Return the difference between two traces, in words; "" if no file could show a difference: texts are
/// compared, not ids in a pool, and edges as sets. Cost: O(nodes + edges log edges of a node).
std::string difference(const trace::Trace& a, const trace::Trace& b);

/// Reject a file that 'chakra import' reads (`expected`: "a recording"); accept any other path. Errors: kind.other; as
/// for ByteSource.
Result<void> refuse_workload(const std::string& path, std::string_view expected);

/// Return the name of the format, detected from the first bytes; "" for other files.
std::string_view workload_form(std::string_view head);

}  // namespace chakra::foreign
