// Files <-> Trace. The public lossless form is .et: length-prefixed protobuf messages of the
// published schema, one GlobalMetadata and then nodes (docs/formats/et.md); plain, gzip or zstd.
// Two layers: EtFile hands out the messages and decodes them field by field without building
// anything; read_et builds a Trace from them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::io {

// ---- records: what one message says --------------------------------------------------------------

/// One attribute. `field` is the member of the oneof that is set (3 to 32), 0 if none is.
struct AttrRecord {
  std::string_view name, doc;
  uint32_t field = 0;
  int64_t integer = 0;     ///< int32, int64, sint*, sfixed*, bool
  uint64_t natural = 0;    ///< uint32, uint64, fixed*
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
  std::vector<std::string_view> texts;
};
Result<AttrList> decode_list(const AttrRecord& attr);

struct IoRecord {
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
};
struct MetadataRecord {
  std::string_view version;
  std::vector<AttrRecord> attrs;
  bool unknown_fields = false;  ///< there is more in it than the schema has
};

/// Errors: io.et.damaged (place: the message's; the caller adds it).
Result<void> decode(std::string_view message, NodeRecord& record);
Result<void> decode(std::string_view message, MetadataRecord& record);

/// The messages of a file one after the other.
class EtFile {
 public:
  static Result<EtFile> open(const std::string& path);
  explicit EtFile(ByteSource source) : source_(std::move(source)) {}

  /// The next message, valid until the following call; false at the end of the file.
  /// Errors: io.et.truncated, io.et.damaged, and those of ByteSource.
  Result<bool> next(std::string_view& message);
  /// Where the message that next() gave begins (its length prefix).
  Place place() const { return {source_.file(), message_at_}; }

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

struct FormatRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
};
inline constexpr std::array<FormatRow, 2> kFormats{{
    {"et", "*.et, *.et.gz, *.et.zst",
     "Chakra execution trace, the public protobuf form; read (packed, too) and written"},
    {"ranks", "ranks.json", "a job by classes of ranks that run the same trace: which rank, which class, with whom"},
}};

// ---- whole files ---------------------------------------------------------------------------------

struct ReadOptions {
  bool texts = false;  ///< keep tensors and attributes that have no column
};
/// Errors: io.et.empty, io.et.not_a_trace, io.et.truncated, io.et.damaged, io.et.range, and those of
/// ByteSource. Dangling and duplicate ids are no errors here: Trace::defects. Cost: O(file).
Result<trace::Trace> read_et(const std::string& path, const ReadOptions& options = {});
Result<trace::Trace> read_et(ByteSource source, const ReadOptions& options = {});

struct StreamOptions {
  bool control = false;    ///< control edges order, too, not only data_deps
  bool durations = false;  ///< fill in StreamedNode::duration, which costs a look at each attribute
};
/// The nodes of a file one after the other, for feed::StreamFeeder; memory does not grow with the file. A node's
/// message is what decode() reads. Errors, of opening or of the source: io.et.empty, io.et.not_a_trace,
/// io.et.truncated, io.et.damaged, io.et.range, and those of ByteSource.
Result<trace::NodeSource> open_nodes(const std::string& path, const StreamOptions& options = {});
Result<trace::NodeSource> open_nodes(ByteSource source, const StreamOptions& options = {});

/// Writes all a Trace holds, nodes in row order. The file appears whole or not at all.
Result<void> write_et(const trace::Trace& trace, const std::string& path);
/// The same into a file that the caller commits.
Result<void> write_et(const trace::Trace& trace, AtomicFile& file);
std::string to_et(const trace::Trace& trace);

// ---- jobs ----------------------------------------------------------------------------------------

struct RankFile {
  int64_t rank = 0;
  std::string path;
  bool named = true;  ///< the name says the rank
};
/// The files of a job by ascending rank. `path` is a file, a prefix (PREFIX.<rank>.et), or a folder
/// with the files of one prefix; .et may be followed by .gz or .zst.
/// Errors: io.job.none, io.job.name, io.job.ambiguous, io.job.rank_twice.
Result<std::vector<RankFile>> find_ranks(const std::string& path);
/// Its rank is what the file says, else what its name says, else 0. Errors: io.job.rank, and those of
/// read_et.
Result<trace::Trace> read_rank(const RankFile& file, const ReadOptions& options = {});
/// A job by classes of ranks is expanded. Errors: io.ranks.large above kMostNodesExpanded, those of read_class_job.
Result<trace::TraceSet> read_job(const std::string& path, const ReadOptions& options = {});
inline constexpr uint64_t kMostNodesExpanded = 50'000'000;  ///< in all ranks: about 5 GB

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
/// last; of more than 256 classes the first appear before. Errors: as read_class_job for what is wrong with the job,
/// those of AtomicFile.
Result<void> write_class_job(const trace::ClassJob& job, const std::string& folder);

}  // namespace chakra::io
