// Other tools' forms of a workload -> the traces of a job, and back where a form can hold them: ASTRA-sim 1.0
// text, FlexFlow task graphs, MSCCL algorithms, the JSON of mlcommons/chakra's feeder and that of its linker. One row
// per form; what each holds and how it is read is a page of docs/reference/formats.
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

/// What the files do not say. Each form uses some of it; the rest is without effect.
struct Options {
  std::vector<int64_t> dims;         ///< text: ranks along each dimension of the network, inner first
  int64_t num_npus = 0;              ///< text: ranks; 0: the product of dims
  int64_t num_passes = 1;            ///< text: training iterations
  std::string time_unit;             ///< text, flexflow: ns, us, ms or s; empty: us for text, ms for flexflow
  uint64_t coll_bytes = 1 << 20;     ///< msccl: bytes of the whole collective
  Picoseconds default_run_time = 0;  ///< msccl: of each reduction and copy, of which the file gives no time
};

/// The most nodes of a job that is read rank by rank, of all ranks together. By classes there may be more.
inline constexpr uint64_t kMostNodes = 20'000'000;

/// A job rank by rank, or by classes of ranks where the form says which do the same.
using Job = std::variant<trace::TraceSet, trace::ClassJob>;

struct FormRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
  /// Whether a file that begins like this (its first filetype::kHead bytes) has this form.
  bool (*matches)(std::string_view head);
  Result<trace::TraceSet> (*read)(ByteSource source, const Options& options, Findings& findings);
  /// The file's text, or null where the form cannot hold what our traces hold.
  Result<std::string> (*write)(const Job& job, Findings& findings);
  /// The same as `read`, but by classes; null where the form has none.
  Result<Job> (*read_job)(ByteSource source, const Options& options, Findings& findings) = nullptr;
};
/// In the order in which they are tried.
extern const std::span<const FormRow> kForms;

/// The row of that name, in any case; null where there is none.
const FormRow* find(std::string_view name);

/// Which form the bytes are of, by their beginning; null where of none.
const FormRow* form_of(std::string_view bytes);

/// Reads a file, packed or not, as the form of that name ("": told by its contents). Omissions and assumptions are in
/// `findings`. Ranks ascending, ids from 0 (or as the file numbers them) in each rank.
/// Errors: foreign.form (no such form, or none recognised), foreign.<form>.*, those of ByteSource.
/// Cost: O(file) per rank.
Result<trace::TraceSet> read(std::string_view form, const std::string& path, const Options& options,
                             Findings& findings);
Result<trace::TraceSet> read(std::string_view form, ByteSource source, const Options& options, Findings& findings);

/// The same, by classes where the form has them: memory is that of the classes, however many ranks there are.
Result<Job> read_job(std::string_view form, ByteSource source, const Options& options, Findings& findings);

/// Errors: foreign.large above kMostNodes, groups and texts of the ranks included.
Result<trace::TraceSet> rank_by_rank(const trace::ClassJob& job);

/// Writes the job in that form. What comes out has been read again. It is the same job, or `findings` say what the form
/// leaves out; a form that cannot hold it is refused, with what differs.
/// Errors: foreign.form, foreign.write.none (the form is only read), foreign.write.cannot_hold, and those of
/// write_file.
Result<void> write(std::string_view form, const Job& job, const std::string& path, Findings& findings);
Result<std::string> to_text(std::string_view form, const Job& job, Findings& findings);

/// An MSCCL file, packed or not, as an algorithm of collectives that rules call `name`. It has been carried out on
/// symbols (docs/reference/formats/msccl.md). Errors: foreign.msccl.*, foreign.large, those of ByteSource. Cost:
/// O(steps x ranks of a sum).
Result<std::shared_ptr<const coll::Program>> read_program(ByteSource source, std::string name);

/// What differs between two traces, in words; "" where nothing does that a file could show: texts are compared, not
/// their ids in a pool, and edges as sets. Cost: O(nodes + edges log edges of a node).
std::string difference(const trace::Trace& a, const trace::Trace& b);

}  // namespace chakra::foreign
