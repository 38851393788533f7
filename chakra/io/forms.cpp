// Which form a file has, and copying records from one form to another.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "chakra/io/records.h"

namespace chakra::io {
namespace {

constexpr unsigned kNoTraces =
    static_cast<unsigned>(filetype::Group::recording) | static_cast<unsigned>(filetype::Group::other);
constexpr std::string_view kNodeCount = "chakra_nodes";

class EtSink : public RecordSink {
 public:
  explicit EtSink(PackedFile& file) : file_(file) {}

  Result<void> metadata(std::string_view message, const MetadataRecord&) override { return add(message); }
  bool takes_messages() const override { return true; }
  Result<void> node(std::string_view message, const NodeRecord&) override { return add(message); }
  Result<void> run(std::string_view run) override {
    CHAKRA_TRY(finish());
    return file_.write(run);
  }
  Result<void> finish() override {
    CHAKRA_TRY(file_.write(out_.view()));
    out_.clear();
    return {};
  }

 private:
  Result<void> add(std::string_view message) {
    char* at = out_.room(wire::kMostVarint + message.size());
    out_.end(wire::bytes_at(wire::varint_at(at, message.size()), message));
    return out_.size() < size_t{1} << 20 ? Result<void>() : finish();
  }

  PackedFile& file_;
  wire::Bytes out_;
};

/// A rank of a job by classes, as its own file would be.
class ClassRank : public RecordSource {
 public:
  static Result<RecordSourcePtr> open(const RankFile& file) {
    const std::vector<trace::ClassJob::Rank>& ranks = file.classes->ranks;
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), file.rank,
                                     [](const trace::ClassJob::Rank& r, int64_t rank) { return r.rank < rank; });
    auto source = std::make_unique<ClassRank>();
    source->text_ = to_et(trace::concrete(*file.classes, static_cast<size_t>(at - ranks.begin())));
    CHAKRA_ASSIGN(ByteSource bytes, ByteSource::from_memory(source->text_, file.path));
    source->file_.emplace(std::move(bytes));
    return RecordSourcePtr(std::move(source));
  }
  Result<bool> next(std::string_view& message) override { return file_->next(message); }
  Place place() const override { return {file_->place().file}; }

 private:
  std::string text_;
  std::optional<EtFile> file_;
};

/// The number of nodes and the rank, where the metadata have them.
void read_counts(const MetadataRecord& metadata, int64_t& nodes, std::optional<int64_t>& rank) {
  for (const AttrRecord& attr : metadata.attrs) {
    int64_t number = 0;
    if (attr.name == kNodeCount) (void)attr.as_integer(nodes);
    if (attr.name == "rank" && attr.as_integer(number) && number >= 0) rank = number;
  }
}

/// The metadata without the number of nodes, which is that of the whole trace.
std::string without_count(MetadataRecord metadata) {
  for (auto i = static_cast<int32_t>(metadata.attrs.size()); i-- > 0;) {
    if (metadata.attrs[static_cast<size_t>(i)].name != kNodeCount) continue;
    metadata.attrs.erase(metadata.attrs.begin() + i);
    std::erase_if(metadata.unknown, [i](const UnknownField& field) { return field.owner == i; });
    for (UnknownField& field : metadata.unknown) field.owner -= field.owner > i;
  }
  return encode(metadata);
}

}  // namespace

const FormatRow* form_of(std::string_view head) {
  const filetype::Row* const row = filetype::recognise(head, filetype::Group::trace);
  return row ? find_format(row->name) : nullptr;
}

const FormatRow* find_format(std::string_view name) {
  for (const FormatRow& row : kFormats)
    if (row.name == name) return &row;
  return nullptr;
}

std::string_view without_packing(std::string_view name) {
  for (const std::string_view packing : {".gz", ".zst"})
    if (name.ends_with(packing)) name.remove_suffix(packing.size());
  return name;
}

const FormatRow* format_of_name(std::string_view path) {
  path = without_packing(path);
  for (const FormatRow& row : kFormats)
    if (path.ends_with(row.ending)) return &row;
  return nullptr;
}

RecordSourcePtr open_et(ByteSource source) { return std::make_unique<EtFile>(std::move(source)); }
RecordSinkPtr create_et(PackedFile& file, int64_t) { return std::make_unique<EtSink>(file); }

Result<RecordSourcePtr> open_records(const RankFile& file, const FormatRow* form) {
  if (file.classes) return ClassRank::open(file);
  if (file.container) return open_rank(*file.container, file.rank);
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file.path));
  if (!form) {
    CHAKRA_ASSIGN(const std::string_view head, source.peek(filetype::kTraceHead));
    form = form_of(head);
    if (const filetype::Row* const row = form ? nullptr : filetype::recognise(head, kNoTraces))
      return filetype::refuse(*row, "a Chakra trace", file.path);
  }
  if (!form) form = format_of_name(file.path);
  if (!form) form = find_format("et");  // whose reader will report the error
  if (!form->open)
    return fail(Code::bad_input, "io.form.job", "this format holds a job, not one trace; read the job instead",
                {file.path});
  return form->open(std::move(source));
}

Failure EmptyNodes::second(const RecordSource& source) {
  return fail(Code::bad_input, "io.et.damaged",
              "a second empty message, which would be a second node 0; zero bytes look like this: was the file cut "
              "and filled up?",
              source.place());
}

Result<bool> RecordSource::next_node(NodeRecord& record, std::vector<std::string_view>* undecoded) {
  std::string_view message;
  CHAKRA_ASSIGN(const bool more, next(message));
  if (!more) return false;
  CHAKRA_TRY(empty_nodes_.see(message.empty(), *this));
  CHAKRA_TRY(placed(undecoded ? decode(message, record, *undecoded) : decode(message, record), *this));
  return true;
}

Result<MetadataRecord> first_record(RecordSource& source, std::string_view& message) {
  CHAKRA_ASSIGN(const bool any, source.next(message));
  if (!any) return fail(Code::bad_input, "io.et.empty", "the file is empty", {source.place().file});
  MetadataRecord metadata;
  if (!decode(message, metadata) || !is_metadata(metadata))
    return fail(Code::bad_input, "io.et.not_a_trace", "the file does not begin with the metadata of a Chakra trace",
                source.place());
  return metadata;
}

std::optional<EtHead> et_head(const RankFile& file) {
  if (file.container || file.classes || !is_file(file.path)) return std::nullopt;
  EtHead head;
  head.size = file_size(file.path);
  auto source = ByteSource::open(file.path);
  const auto begin = source ? source->peek(filetype::kTraceHead) : Result<std::string_view>(std::string_view());
  if (!source || !begin || form_of(*begin) != find_format("et")) return std::nullopt;
  EtFile et(std::move(*source));
  std::string_view message;
  const auto record = first_record(et, message);
  if (!record) return std::nullopt;
  head.metadata = message;
  read_counts(*record, head.announced, head.rank);
  const auto more = et.next(message);
  if (!more || !*more) return std::nullopt;
  head.nodes_at = static_cast<uint64_t>(et.place().byte);
  // The file of a packed trace begins with other bytes.
  std::string bytes(head.nodes_at, '\0');
  std::ifstream raw(file.path, std::ios::binary);
  if (!raw.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) || !bytes.ends_with(head.metadata))
    return std::nullopt;
  return head;
}

Result<Converted> copy_records(RecordSource& source, RecordSink& sink, bool whole) {
  Converted converted;
  int64_t announced = -1;
  std::string_view message;
  CHAKRA_ASSIGN(MetadataRecord metadata, first_record(source, message));
  read_counts(metadata, announced, converted.rank);
  std::string rest;
  if (!whole && announced >= 0) {
    rest = without_count(std::move(metadata));
    message = rest;
    CHAKRA_TRY(decode(message, metadata));
  }
  CHAKRA_TRY(placed(sink.metadata(message, metadata), source));
  while (sink.takes_messages()) {
    CHAKRA_ASSIGN(const int64_t nodes, source.next_run(message));
    if (nodes == 0) break;
    CHAKRA_TRY(sink.run(message));
    converted.nodes += nodes;
  }
  NodeRecord node;
  EmptyNodes empty_nodes;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, sink.takes_messages() ? source.next(message) : source.next_node(node));
    if (!more) break;
    if (sink.takes_messages()) {
      CHAKRA_TRY(empty_nodes.see(message.empty(), source));
      if (!source.makes_messages()) CHAKRA_TRY(placed(decode(message, node), source));
    }
    CHAKRA_TRY(placed(sink.node(message, node), source));
    ++converted.nodes;
  }
  if (whole && announced >= 0 && announced != converted.nodes)
    return fail(Code::bad_input, "io.et.truncated",
                fmt::format("the file announces {} nodes and holds {}", announced, converted.nodes), source.place());
  CHAKRA_TRY(sink.finish());
  return converted;
}

Result<int64_t> count_nodes(const RankFile& file, const FormatRow* form) {
  CHAKRA_ASSIGN(const RecordSourcePtr source, open_records(file, form));
  std::string_view message;
  int64_t count = -1;  // the metadata
  EmptyNodes empty_nodes;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, source->next(message));
    if (!more) return std::max<int64_t>(count, 0);
    if (++count > 0) CHAKRA_TRY(empty_nodes.see(message.empty(), *source));
  }
}

}  // namespace chakra::io
