// Files <-> Trace. The public lossless form is .et: length-prefixed protobuf messages of the
// published schema, one GlobalMetadata and then nodes (docs/formats/et.md). The other forms say the
// same in other ways: one JSON document, JSON lines (docs/formats/json.md), the container of a whole job
// (docs/formats/container.md). Two layers: a RecordSource hands out the messages of a file of any form,
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
#include "chakra/io/container.h"
#include "chakra/trace/trace.h"

namespace chakra::io {

// ---- records: what one message says --------------------------------------------------------------

/// One attribute. `field` is the member of the oneof that is set (3 to 32), 0 if none is.
struct AttrRecord {
  std::string_view name, doc;
  uint32_t field = 0;
  int64_t integer = 0;     ///< int32, int64, sint*, sfixed*, bool
  uint64_t natural = 0;    ///< uint32, uint64, fixed*; the bits of float and double
  double real = 0;         ///< float, double
  std::string_view bytes;  ///< string, bytes; the raw list message for the list members

  /// The value if it is one of the integer members and fits. Writers differ in which they use.
  bool as_integer(int64_t& value) const;
  bool as_natural(uint64_t& value) const;
};

/// The values of a list member, decoded; the vector that fits the member's type is filled.
struct AttrList {
  std::vector<int64_t> integers;
  std::vector<uint64_t> naturals;
  std::vector<double> reals;
  std::vector<uint64_t> bits;  ///< of the reals
  std::vector<std::string_view> texts;
};

/// Fields that the schema does not have are kept as they stand, tag included.
struct UnknownField {
  static constexpr int32_t kMessage = -1, kInputs = -2, kOutputs = -3;
  int32_t owner = kMessage;  ///< what they are in: the message, its inputs, outputs, or the attribute of that index
  std::string_view bytes;
};
using UnknownFields = std::vector<UnknownField>;
/// Errors: io.et.damaged.
Result<AttrList> decode_list(const AttrRecord& attr, UnknownFields* unknown = nullptr);

struct IoRecord {
  bool present = false;  ///< there is one, if only an empty one
  std::string_view values, shapes, types;
};
struct NodeRecord {
  uint64_t id = 0;
  std::string_view name;
  uint64_t type = 0;  ///< as stored; NodeType has only some values
  std::vector<uint64_t> ctrl_deps, data_deps;
  uint64_t start_micros = 0, duration_micros = 0;
  IoRecord inputs, outputs;
  std::vector<AttrRecord> attrs;
  UnknownFields unknown;
};
struct MetadataRecord {
  std::string_view version;
  std::vector<AttrRecord> attrs;
  UnknownFields unknown;
};

/// Errors: io.et.damaged (place: the message's; the caller adds it).
Result<void> decode(std::string_view message, NodeRecord& record);
Result<void> decode(std::string_view message, MetadataRecord& record);

/// The record as a message: fields in the order of their numbers, then unknown fields. decode() of it
/// gives an equal record.
std::string encode(const NodeRecord& record);
std::string encode(const MetadataRecord& record);

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
  /// Whether a file that begins like this (kSniffed bytes, or all of it) has this form.
  bool (*sniff)(std::string_view head);
  /// The trace of a file; null for forms of more than one trace.
  RecordSourcePtr (*open)(ByteSource source);
  /// Writes a trace of `nodes` nodes (-1: not known); null where the form is only read, or holds a job.
  RecordSinkPtr (*create)(PackedFile& file, int64_t nodes);
};
inline constexpr size_t kSniffed = 4096;

/// Of forms that are told by their names.
inline bool sniff_nothing(std::string_view) { return false; }
bool sniff_et(std::string_view head);
bool sniff_json(std::string_view head);
bool sniff_json_lines(std::string_view head);
bool sniff_container(std::string_view head);
bool sniff_eg(std::string_view head);
RecordSourcePtr open_et(ByteSource source);
RecordSourcePtr open_json(ByteSource source);
RecordSourcePtr open_json_lines(ByteSource source);
RecordSourcePtr open_eg(ByteSource source);
RecordSinkPtr create_et(PackedFile& file, int64_t nodes);
RecordSinkPtr create_json(PackedFile& file, int64_t nodes);
RecordSinkPtr create_json_lines(PackedFile& file, int64_t nodes);

/// In the order in which they are sniffed.
inline constexpr std::array<FormatRow, 6> kFormats{{
    {"container", "*.chakra", ".chakra", "all ranks of a job in one indexed file; read and written", sniff_container,
     nullptr, nullptr},
    {"json", "*.json, *.json.gz, *.json.zst", ".json", "a trace as one JSON document; read (packed, too) and written",
     sniff_json, open_json, create_json},
    {"jsonl", "*.jsonl, *.jsonl.gz, *.jsonl.zst", ".jsonl",
     "a trace as JSON lines: the metadata, then a node a line; read (packed, too) and written", sniff_json_lines,
     open_json_lines, create_json_lines},
    {"eg", "*.eg", ".eg", "the first schema of Chakra (v0.0.1); read", sniff_eg, open_eg, nullptr},
    {"ranks", "ranks.json", "ranks.json",
     "a job by classes of ranks that run the same trace: which rank, which class, with whom", sniff_nothing, nullptr,
     nullptr},
    {"et", "*.et, *.et.gz, *.et.zst", ".et",
     "Chakra execution trace, the public protobuf form; read (packed, too) and written", sniff_et, open_et, create_et},
}};
/// By name; null if there is none. By the ending of a file's name, packing left out; null likewise.
const FormatRow* find_format(std::string_view name);
const FormatRow* format_of_name(std::string_view path);

// ---- whole files ---------------------------------------------------------------------------------

struct ReadOptions {
  bool texts = false;  ///< keep tensors and attributes that have no column (comm_request and comm_wait always)
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
  std::shared_ptr<Container> container = {};            ///< of a rank of a container; the path is its file
  std::shared_ptr<const trace::ClassJob> classes = {};  ///< of a job by classes; the path is that of its ranks.json
};
/// The files of a job by ascending rank. `path` is a container, a job by classes, a file of any form, a prefix
/// (PREFIX.<rank>.et), or a folder with the files of one prefix; .et may be followed by .gz or .zst. Where there
/// are no .et, .jsonl or .json are taken that are traces.
/// Errors: io.job.none, io.job.name, io.job.ambiguous, io.job.rank_twice, those of Container::open and
/// read_class_job.
Result<std::vector<RankFile>> find_ranks(const std::string& path);
/// The records of a rank; the form is told by the contents, then by the name, unless `form` says it.
/// Errors: io.form.unknown, and those of ByteSource and Container.
Result<RecordSourcePtr> open_records(const RankFile& file, const FormatRow* form = nullptr);
/// Its rank is what the file says, else what its name says, else 0. Errors: io.job.rank, and those of
/// read_trace and open_records.
Result<trace::Trace> read_rank(const RankFile& file, const ReadOptions& options = {});
/// A job by classes of ranks is expanded. Errors: io.ranks.large above kMostNodesExpanded, those of read_class_job.
Result<trace::TraceSet> read_job(const std::string& path, const ReadOptions& options = {});
inline constexpr uint64_t kMostNodesExpanded = 50'000'000;  ///< in all ranks: about 5 GB
/// The same of a job by classes that was read from `path`.
Result<trace::TraceSet> expand(const trace::ClassJob& job, const std::string& path);

// ---- jobs by classes of ranks (docs/formats/ranks.md) ------------------------------------------------

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
/// The nodes of a file, by reading through it. Errors: as open_records.
Result<int64_t> count_nodes(const RankFile& file, const FormatRow* form);

}  // namespace chakra::io
