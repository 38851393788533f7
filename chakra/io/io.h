// Files <-> Trace. The public lossless form is .et: length-prefixed protobuf messages of the
// published schema, one GlobalMetadata and then nodes (docs/reference/formats/et.md). The other forms say the
// same in other ways: one JSON document, JSON lines (docs/reference/formats/json.md), the container of a whole job
// (docs/reference/formats/container.md). Two layers: a RecordSource hands out the messages of a file of any form,
// and decode() their fields, without building anything; read_trace builds a Trace from them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/kind/kind.h"
#include "chakra/pack/pack.h"
#include "chakra/schema/schema.h"
#include "chakra/trace/trace.h"

namespace chakra::io {

// ---- records: what one message says (chakra/schema/schema.h) ---------------------------------------

using schema::AttrList;
using schema::AttrRecord;
using schema::decode;
using schema::decode_list;
using schema::encode;
using schema::IoRecord;
using schema::MetadataRecord;
using schema::NodeRecord;
using schema::UnknownField;
using schema::UnknownFields;

/// The messages of one trace one after the other, whatever form its file has: first the metadata, then nodes.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// The next message, valid until the following call; false at the end of the file.
  /// Errors: those of the form, and those of ByteSource.
  virtual Result<bool> next(std::string_view& message) = 0;
  /// Where in the file the message that next() gave begins.
  virtual Place place() const = 0;
};
using RecordSourcePtr = std::unique_ptr<RecordSource>;

/// .et. Errors of next(): io.et.truncated, io.et.damaged.
class EtFile : public RecordSource {
 public:
  static Result<EtFile> open(const std::string& path);
  explicit EtFile(ByteSource source) : source_(std::move(source)) {}

  Result<bool> next(std::string_view& message) override;
  Place place() const override { return {source_.file(), message_at_}; }

 private:
  Result<bool> fill(size_t wanted);

  ByteSource source_;
  std::string buffer_;
  size_t begin_ = 0, end_ = 0;  ///< unread bytes of the buffer
  int64_t buffer_at_ = 0;       ///< offset of buffer_[0] in the file
  int64_t message_at_ = 0;
  bool ended_ = false;
};

// ---- what there is -------------------------------------------------------------------------------

/// Takes the messages of one trace and writes them in some form.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual Result<void> metadata(std::string_view message, const MetadataRecord& record) = 0;
  virtual Result<void> node(std::string_view message, const NodeRecord& record) = 0;
  virtual Result<void> finish() = 0;
};
using RecordSinkPtr = std::unique_ptr<RecordSink>;

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view ending;  ///< of a file's name, packing left out
  std::string_view description;
  /// The trace of a file; null for forms of more than one trace.
  RecordSourcePtr (*open)(ByteSource source);
  /// Writes a trace of `nodes` nodes (-1: not known); null where the form is only read, or holds a job.
  RecordSinkPtr (*create)(PackedFile& file, int64_t nodes);
};

RecordSourcePtr open_et(ByteSource source);
RecordSourcePtr open_json(ByteSource source);
RecordSourcePtr open_json_lines(ByteSource source);
RecordSourcePtr open_eg(ByteSource source);
RecordSinkPtr create_et(PackedFile& file, int64_t nodes);
RecordSinkPtr create_json(PackedFile& file, int64_t nodes);
RecordSinkPtr create_json_lines(PackedFile& file, int64_t nodes);

/// What tells each of them stands in kind::kKinds, by the same names.
inline constexpr std::array<FormatRow, 6> kFormats{{
    {"container", "*.chakra", ".chakra", "all ranks of a job in one indexed file; read and written", nullptr, nullptr},
    {"json", "*.json, *.json.gz, *.json.zst", ".json", "a trace as one JSON document; read (packed, too) and written",
     open_json, create_json},
    {"jsonl", "*.jsonl, *.jsonl.gz, *.jsonl.zst", ".jsonl",
     "a trace as JSON lines: the metadata, then a node a line; read (packed, too) and written", open_json_lines,
     create_json_lines},
    {"eg", "*.eg", ".eg", "the first schema of Chakra (v0.0.1); read", open_eg, nullptr},
    {"ranks", "ranks.json", "ranks.json",
     "a job by classes of ranks that run the same trace: which rank, which class, with whom", nullptr, nullptr},
    {"et", "*.et, *.et.gz, *.et.zst", ".et",
     "Chakra execution trace, the public protobuf form; read (packed, too) and written", open_et, create_et},
}};
/// Which a file has that begins like this; null if none can be told.
const FormatRow* form_of(std::string_view head);
/// By name; null if there is none. By the ending of a file's name, packing left out; null likewise.
const FormatRow* find_format(std::string_view name);
const FormatRow* format_of_name(std::string_view path);

// ---- whole files ---------------------------------------------------------------------------------

struct ReadOptions {
  /// Keep tensors and attributes that have no column. Without it only comm_request, comm_wait, pass, micro_batch,
  /// chunk, kernel and weight_bytes of computations, and storage_tier, io_kind and bytes of loads and stores.
  bool texts = false;
};
/// Errors: io.et.empty, io.et.not_a_trace, io.et.truncated, io.et.damaged, io.et.range, and those of the
/// source. Dangling and duplicate ids are no errors here: Trace::defects. Cost: O(file).
Result<trace::Trace> read_trace(RecordSource& source, const ReadOptions& options = {});
Result<trace::Trace> read_et(const std::string& path, const ReadOptions& options = {});
Result<trace::Trace> read_et(ByteSource source, const ReadOptions& options = {});

/// Writes all a Trace holds, nodes in row order. The file appears whole or not at all.
Result<void> write_et(const trace::Trace& trace, const std::string& path);
/// The same into a file that the caller commits.
Result<void> write_et(const trace::Trace& trace, AtomicFile& file);
std::string to_et(const trace::Trace& trace);

// ---- jobs ----------------------------------------------------------------------------------------

struct RankFile {
  int64_t rank = 0;
  std::string path;
  bool named = true;                                    ///< the name says the rank
  pack::ContainerPtr container = {};                    ///< of a rank of a container; the path is its file
  std::shared_ptr<const trace::ClassJob> classes = {};  ///< of a job by classes; the path is that of its ranks.json
};
/// The files of a job by ascending rank. `path` is a container, a job by classes, a file of any form, a prefix
/// (PREFIX.<rank>.et), or a folder with the files of one prefix; .et may be followed by .gz or .zst. Where there
/// are no .et, .jsonl or .json are taken that are traces.
/// Errors: io.job.none, io.job.name, io.job.ambiguous, io.job.rank_twice, those of pack::Container::open and
/// read_class_job.
Result<std::vector<RankFile>> find_ranks(const std::string& path);
/// The records of a rank; the form is told by the contents, then by the name, unless `form` says it.
/// Errors: io.form.unknown, and those of ByteSource and pack::Container.
Result<RecordSourcePtr> open_records(const RankFile& file, const FormatRow* form = nullptr);
/// Its rank is what the file says, else what its name says, else 0. Errors: io.job.rank, and those of
/// read_trace and open_records.
Result<trace::Trace> read_rank(const RankFile& file, const ReadOptions& options = {});
/// A job by classes of ranks is expanded. Errors: io.ranks.large above kMostNodesExpanded, those of read_class_job.
Result<trace::TraceSet> read_job(const std::string& path, const ReadOptions& options = {});
inline constexpr uint64_t kMostNodesExpanded = 50'000'000;  ///< in all ranks: about 5 GB
/// The same of a job by classes that was read from `path`.
Result<trace::TraceSet> expand(const trace::ClassJob& job, const std::string& path);

// ---- jobs by classes of ranks (docs/reference/formats/ranks.md) ------------------------------------------------

/// Whether the path is a ranks.json, or a folder with one.
bool is_class_job(const std::string& path);
/// `path` as for is_class_job. Everything that a ClassJob requires holds in what is returned. Cost: O(files); a
/// hundred thousand ranks take 0.1 s and 100 MB.
/// Errors: io.ranks.syntax, io.ranks.schema, io.ranks.form, io.ranks.class, io.ranks.rank, io.ranks.group,
/// io.ranks.peer, io.ranks.slot, io.ranks.large, io.job.ambiguous, those of read_et.
Result<trace::ClassJob> read_class_job(const std::string& path, const ReadOptions& options = {});
/// The same from text; `folder` is where the classes' traces are.
Result<trace::ClassJob> parse_class_job(std::string_view json, const std::string& folder, const std::string& file,
                                        const ReadOptions& options = {});
/// Writes ranks.json and class<N>.et into a folder that is made if there is none. They appear together, ranks.json
/// last. Errors: those of read_class_job for an invalid job,
/// those of AtomicFile.
Result<void> write_class_job(const trace::ClassJob& job, const std::string& folder);
/// The same into files that the caller commits. Returns their paths, ranks.json last.
Result<std::vector<std::string>> write_class_job(const trace::ClassJob& job, const std::string& folder,
                                                 FilesTogether<AtomicFile>& files);

// ---- nodes one after the other -------------------------------------------------------------------------

struct StreamOptions {
  bool control = false;    ///< control edges order, too, not only data_deps
  bool durations = false;  ///< fill in StreamedNode::duration, which costs a look at each attribute
};
/// The nodes of one rank one after the other, for feed::StreamFeeder; memory does not grow with the file. A node's
/// message is what decode() reads. `path` as for find_ranks(), of one rank; of several, open_records() opens one.
/// Errors, of opening or of the source: io.job.several, io.et.empty, io.et.not_a_trace, io.et.truncated,
/// io.et.damaged, io.et.range, and those of find_ranks and open_records.
Result<trace::NodeSource> open_nodes(const std::string& path, const StreamOptions& options = {});
Result<trace::NodeSource> open_nodes(RecordSourcePtr source, const StreamOptions& options = {});

// ---- conversion ----------------------------------------------------------------------------------

struct Converted {
  int64_t nodes = 0;
  std::optional<int64_t> rank;  ///< what the file says
};
/// Hands the records of a source to a sink, record by record: memory does not grow with the trace, nothing is
/// lost, edges to absent nodes are kept. Errors: io.et.empty, io.et.not_a_trace, io.et.truncated (fewer nodes
/// than announced, unless the source is not to give the `whole` trace: then no number is announced to the sink,
/// either), io.et.damaged, those of source and sink.
Result<Converted> copy_records(RecordSource& source, RecordSink& sink, bool whole = true);
/// The metadata and some nodes of a rank of a container. Errors: those of pack::Container::open_rank.
Result<RecordSourcePtr> open_rank(pack::Container& container, int64_t rank, int64_t first = 0,
                                  int64_t count = pack::Container::kAll);
/// Adds a rank to a container, by default the one that the source says, or 0. Returns its nodes. Errors: io.job.rank
/// (the source says another), those of copy_records and of pack::Packer.
Result<int64_t> add_rank(pack::Packer& packer, std::optional<int64_t> rank, RecordSource& source);
/// The nodes of a file, by reading through it. Errors: as open_records.
Result<int64_t> count_nodes(const RankFile& file, const FormatRow* form);

}  // namespace chakra::io
