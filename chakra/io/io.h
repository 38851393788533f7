// Files <-> Trace. The public lossless form is .et: length-prefixed protobuf messages of the published schema,
// one GlobalMetadata and then nodes (docs/reference/formats/et.md). The other forms have the same content in
// another encoding: one JSON document, JSON lines (docs/reference/formats/json.md), the container of a whole job
// (docs/reference/formats/container.md). Two layers: a RecordSource returns the messages of a file of any form,
// and decode() returns their fields without building a Trace; read_trace builds a Trace from the fields.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/filetype/filetype.h"
#include "chakra/pack/pack.h"
#include "chakra/schema/schema.h"
#include "chakra/trace/trace.h"

namespace chakra::io {

// ---- records: the content of one message (chakra/schema/schema.h) ----------------------------------

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

class RecordSource;

/// An empty message is a node with defaults only, its id 0, too. One such node is allowed. A second would have
/// the same id: zero bytes are empty messages, and a crash or a truncated copy may leave many zero bytes.
class EmptyNodes {
 public:
  /// Check a node; call for each node of a trace. Errors: io.et.damaged.
  Result<void> see(bool empty, const RecordSource& source) {
    return !empty || !std::exchange(any_, true) ? Result<void>() : second(source);
  }

 private:
  static Failure second(const RecordSource& source);
  bool any_ = false;
};

/// The messages of one trace in order, whatever the form of the file: first the metadata, then nodes.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Return the next message, valid until the following call; false at the end of the file.
  /// Errors: those of the form, and those of ByteSource.
  virtual Result<bool> next(std::string_view& message) = 0;
  /// Return the next message, which is a node, as the record that decode() makes, valid until the following call; false
  /// at the end of the file. Errors: those of next(), decode() and EmptyNodes.
  /// `undecoded`, if given, may get the messages of the attributes, which the record then lacks.
  virtual Result<bool> next_node(NodeRecord& record, std::vector<std::string_view>* undecoded = nullptr);
  /// Whether decode() accepts all messages of nodes.
  virtual bool makes_messages() const { return false; }
  /// Return the number of next messages, all of nodes, that `run` has as they stand in an .et file: each after its
  /// size. Valid until the following call. 0: no more, or next() returns the others.
  virtual Result<int64_t> next_run(std::string_view& run) { return run = {}, 0; }
  /// Return where in the file the message last returned by next() begins.
  virtual Place place() const = 0;

 protected:
  EmptyNodes empty_nodes_;  ///< of next_node()
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

// ---- forms ---------------------------------------------------------------------------------------

/// Takes the messages of one trace and writes the messages in some form.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual Result<void> metadata(std::string_view message, const MetadataRecord& record) = 0;
  /// Whether node() takes messages, not records.
  virtual bool takes_messages() const { return false; }
  /// Take the messages of RecordSource::next_run(). Requires takes_messages().
  virtual Result<void> run(std::string_view) { return {}; }
  virtual Result<void> node(std::string_view message, const NodeRecord& record) = 0;
  virtual Result<void> finish() = 0;
};
using RecordSinkPtr = std::unique_ptr<RecordSink>;

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view ending;  ///< of a file's name, without .gz or .zst
  std::string_view description;
  /// Open the trace of a file; null for forms of more than one trace.
  RecordSourcePtr (*open)(ByteSource source);
  /// Write a trace of `nodes` nodes (-1: unknown); null for forms that are read only, or hold a job.
  RecordSinkPtr (*create)(PackedFile& file, int64_t nodes);
};

RecordSourcePtr open_et(ByteSource source);
RecordSourcePtr open_json(ByteSource source);
RecordSourcePtr open_json_lines(ByteSource source);
RecordSourcePtr open_eg(ByteSource source);
RecordSinkPtr create_et(PackedFile& file, int64_t nodes);
RecordSinkPtr create_json(PackedFile& file, int64_t nodes);
RecordSinkPtr create_json_lines(PackedFile& file, int64_t nodes);

/// filetype::kKinds has the test that recognizes each form, by the same name.
inline constexpr std::array<FormatRow, 6> kFormats{{
    {"container", "*.chakra", ".chakra", "all ranks of a job in one indexed file; read and written", nullptr, nullptr},
    {"json", "*.json, *.json.gz, *.json.zst", ".json", "a trace as one JSON document; read (packed, too) and written",
     open_json, create_json},
    {"jsonl", "*.jsonl, *.jsonl.gz, *.jsonl.zst", ".jsonl",
     "a trace as JSON lines: the metadata, then a node a line; read (packed, too) and written", open_json_lines,
     create_json_lines},
    {"eg", "*.eg", ".eg", "the first schema of Chakra (v0.0.1); read", open_eg, nullptr},
    {"ranks", "ranks.json", "ranks.json",
     "a job by classes of ranks with the same trace: class, groups and partners of each rank", nullptr, nullptr},
    {"et", "*.et, *.et.gz, *.et.zst", ".et",
     "Chakra execution trace, the public protobuf form; read (packed, too) and written", open_et, create_et},
}};
/// Return the form of a file by its first bytes; null if unrecognized.
const FormatRow* form_of(std::string_view head);
/// Return the form by name, or by the ending of a file's name, without .gz or .zst; null if unknown.
const FormatRow* find_format(std::string_view name);
const FormatRow* format_of_name(std::string_view path);

// ---- whole files ---------------------------------------------------------------------------------

struct ReadOptions {
  /// Keep tensors and attributes without a column. Otherwise keep only comm_request, comm_wait, pass, phase, chunk,
  /// micro_batch, kernel, weight_bytes (computations), and storage_tier, io_kind, bytes (loads and stores).
  bool texts = false;
};
/// Errors: io.et.empty, io.et.not_a_trace, io.et.truncated, io.et.damaged, io.et.range, and those of the
/// source. Dangling and duplicate ids are not errors here: see Trace::defects. Cost: O(file).
Result<trace::Trace> read_trace(RecordSource& source, const ReadOptions& options = {});
Result<trace::Trace> read_et(const std::string& path, const ReadOptions& options = {});
Result<trace::Trace> read_et(ByteSource source, const ReadOptions& options = {});

/// Write the complete Trace, nodes in row order. The file appears whole or not at all.
Result<void> write_et(const trace::Trace& trace, const std::string& path);
/// Write the same into a file that the caller commits.
Result<void> write_et(const trace::Trace& trace, AtomicFile& file);
std::string to_et(const trace::Trace& trace);

// ---- jobs ----------------------------------------------------------------------------------------

struct RankFile {
  int64_t rank = 0;
  std::string path;
  bool named = true;                                    ///< the file's name contains the rank
  pack::ContainerPtr container = {};                    ///< of a rank of a container; `path` is the container's file
  std::shared_ptr<const trace::ClassJob> classes = {};  ///< of a job by classes; `path` is that of its ranks.json
};
/// Return the files of a job by ascending rank. `path` is a container, a job by classes, a file of any
/// form, a prefix (PREFIX.<rank>.et), or a folder with the files of one prefix; .et may be followed by
/// .gz or .zst. Without any .et file, .jsonl or .json files that are traces are used.
/// Errors: io.job.none, io.job.name, io.job.ambiguous, io.job.rank_twice,
/// those of pack::Container::open and read_class_job.
Result<std::vector<RankFile>> find_ranks(const std::string& path);
/// Open the records of a rank. The contents determine the form, else the name, unless `form` is given.
/// Errors: io.form.unknown, and those of ByteSource and pack::Container.
Result<RecordSourcePtr> open_records(const RankFile& file, const FormatRow* form = nullptr);
/// Read the trace of a rank. The rank comes from the file, else from the file's name,
/// else is 0. Errors: io.job.rank, and those of read_trace and open_records.
Result<trace::Trace> read_rank(const RankFile& file, const ReadOptions& options = {});

/// Reads the traces of ranks, which may be read by several threads at once. Ranks of a container that differ in values
/// of communications only are decoded once, and share the columns of their nodes.
class RankTraces {
 public:
  /// `files` must outlive the reader.
  RankTraces(const std::vector<RankFile>& files, const ReadOptions& options);
  ~RankTraces();
  /// Read the trace of files[i], once for each i. The result is that of read_rank(). Errors: those of read_rank().
  Result<trace::Trace> read(size_t i);

 private:
  struct Shared;
  const std::vector<RankFile>& files_;
  ReadOptions options_;
  std::unique_ptr<Shared> shared_;
};
/// Opens the records of ranks likewise.
class RankRecords {
 public:
  /// `files` must outlive the reader.
  explicit RankRecords(const std::vector<RankFile>& files);
  ~RankRecords();
  /// Open the records of files[i], once for each i. The result is that of open_records(). Errors: as open_records().
  Result<RecordSourcePtr> open(size_t i);

 private:
  struct Shared;
  const std::vector<RankFile>& files_;
  std::unique_ptr<Shared> shared_;
};

/// Read the traces of ranks, ascending and side by side. Ranks with equal files are read once, and equal columns share
/// memory. The result does not depend on the number of cores. Errors: those of read_rank.
Result<trace::TraceSet> read_ranks(const std::vector<RankFile>& files, const ReadOptions& options = {});
/// Read a job; a job by classes is expanded. Errors: io.ranks.large above kMostNodesExpanded, those of read_class_job.
Result<trace::TraceSet> read_job(const std::string& path, const ReadOptions& options = {});
inline constexpr uint64_t kMostNodesExpanded = 50'000'000;  ///< in all ranks: about 5 GB
/// Expand a job by classes that was read from `path`, with the same limit.
Result<trace::TraceSet> expand(const trace::ClassJob& job, const std::string& path);

// ---- jobs by classes of ranks (docs/reference/formats/ranks.md) ------------------------------------------------

/// Whether the path is a ranks.json, or a folder with one.
bool is_class_job(const std::string& path);
/// Read a job by classes. `path` as for is_class_job. The result satisfies all requirements
/// of a ClassJob. Cost: O(files); a hundred thousand ranks take 0.1 s and 100 MB.
/// Errors: io.ranks.syntax, io.ranks.schema, io.ranks.form, io.ranks.class, io.ranks.rank, io.ranks.group,
/// io.ranks.peer, io.ranks.slot, io.ranks.large, io.job.ambiguous, those of read_et.
Result<trace::ClassJob> read_class_job(const std::string& path, const ReadOptions& options = {});
/// Read the same from text; `folder` contains the classes' traces.
Result<trace::ClassJob> parse_class_job(std::string_view json, const std::string& folder, const std::string& file,
                                        const ReadOptions& options = {});
/// Write ranks.json and class<N>.et into a folder, created if missing.
/// The files appear together, ranks.json last. Errors: those of
/// read_class_job for an invalid job, those of AtomicFile.
Result<void> write_class_job(const trace::ClassJob& job, const std::string& folder);
/// Write the same into files that the caller commits. Return the paths, ranks.json last.
Result<std::vector<std::string>> write_class_job(const trace::ClassJob& job, const std::string& folder,
                                                 FilesTogether<AtomicFile>& files);

// ---- nodes one after the other -------------------------------------------------------------------------

struct StreamOptions {
  bool control = false;    ///< control edges are dependencies, too, not only data_deps
  bool durations = false;  ///< fill in StreamedNode::duration, at the cost of a look at each attribute
};
/// Return the nodes of one rank, for feed::StreamFeeder; memory does not grow with the file. A node's message is the
/// input of decode(). `path` as for find_ranks(), of one rank; open_records() opens one of several ranks.
/// Errors, of opening or of the source: io.job.several, io.et.empty, io.et.not_a_trace, io.et.truncated,
/// io.et.damaged, io.et.range, and those of find_ranks and open_records.
Result<trace::NodeSource> open_nodes(const std::string& path, const StreamOptions& options = {});
Result<trace::NodeSource> open_nodes(RecordSourcePtr source, const StreamOptions& options = {});

// ---- conversion ----------------------------------------------------------------------------------

struct Converted {
  int64_t nodes = 0;
  std::optional<int64_t> rank;  ///< the rank in the file
};
/// Copy the records of a source to a sink, one by one: memory does not grow with the trace, no data
/// is lost, edges to absent nodes are kept. Errors: io.et.empty, io.et.not_a_trace, io.et.truncated
/// (fewer nodes than announced; without `whole`, the source may contain a part of the trace, and
/// the sink gets no announced number), io.et.damaged, those of source and sink.
Result<Converted> copy_records(RecordSource& source, RecordSink& sink, bool whole = true);
/// Open the metadata and some nodes of a rank of a container. Errors: those of pack::Container::open_rank.
Result<RecordSourcePtr> open_rank(pack::Container& container, int64_t rank, int64_t first = 0,
                                  int64_t count = pack::Container::kAll);
/// A rank that was read for a container.
struct UnaddedRank {
  pack::RankWriter writer;
  Converted copied;
  int64_t rank = 0;
  std::string file;
};
/// Read a rank, by default the rank in the source, or 0. Several threads may read ranks of one packer.
/// Errors: io.job.rank (the source has another rank), those of copy_records and of pack::RankWriter.
Result<UnaddedRank> read_for(const pack::Packer& packer, std::optional<int64_t> rank, RecordSource& source);
/// Read a rank and add it to a container. Errors: those of read_for and of pack::Packer::add().
Result<Converted> add_rank(pack::Packer& packer, std::optional<int64_t> rank, RecordSource& source);
/// The beginning of an .et file that is not packed.
struct EtHead {
  std::string metadata;         ///< the message
  std::optional<int64_t> rank;  ///< in the metadata
  int64_t announced = -1;       ///< number of nodes; -1: not given
  uint64_t nodes_at = 0;        ///< offset of the first node
  uint64_t size = 0;            ///< of the file
};
/// Return none for other files, and for files without valid metadata.
std::optional<EtHead> et_head(const RankFile& file);
/// Return the number of nodes of a file, by reading the whole file. Errors: as open_records.
Result<int64_t> count_nodes(const RankFile& file, const FormatRow* form);

}  // namespace chakra::io
