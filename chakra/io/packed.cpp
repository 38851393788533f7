// A rank of a container as a source of messages, and the other way round.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "chakra/io/records.h"

namespace chakra::io {

bool fits_member(const AttrRecord& attr) {
  if (attr.field == 0 || schema::is_list(attr.field)) return true;
  switch (schema::kMembers[attr.field].coding) {
    case schema::Coding::boolean: return attr.natural <= 1;
    case schema::Coding::natural:
    case schema::Coding::fixed32: return !schema::is_narrow(attr.field) || attr.natural <= UINT32_MAX;
    case schema::Coding::varint:
    case schema::Coding::zigzag:
    case schema::Coding::sfixed32:
      return !schema::is_narrow(attr.field) || attr.integer == static_cast<int32_t>(attr.integer);
    default: return true;
  }
}

bool survives_a_message(const NodeRecord& r) {
  const auto has_text = [](const IoRecord& io) {
    return !io.values.empty() || !io.shapes.empty() || !io.types.empty();
  };
  return r.unknown.empty() && r.attrs.size() <= kMostAttrs && r.type <= INT32_MAX &&
         (r.inputs.present || !has_text(r.inputs)) && (r.outputs.present || !has_text(r.outputs)) &&
         std::all_of(r.attrs.begin(), r.attrs.end(), fits_member);
}

namespace {

/// Whether the record's message is empty. Requires that the record survives a message.
bool is_empty(const NodeRecord& r) {
  return r.id == 0 && r.name.empty() && r.type == 0 && r.ctrl_deps.empty() && r.data_deps.empty() &&
         r.start_micros == 0 && r.duration_micros == 0 && !r.inputs.present && !r.outputs.present && r.attrs.empty();
}

class PackedRank : public RecordSource {
 public:
  explicit PackedRank(pack::RankReader reader) : reader_(std::move(reader)) {}

  Result<bool> next(std::string_view& message) override {
    if (!std::exchange(any_metadata_, true)) {
      CHAKRA_ASSIGN(message, reader_.metadata());
      return true;
    }
    CHAKRA_ASSIGN(const bool more, reader_.next(record_));
    if (!more) return false;
    encode_record(record_);
    message = out_.view();
    if (record_.unknown.empty() && record_.attrs.size() <= kMostAttrs) return true;
    CHAKRA_TRY(placed(decode(message, record_), *this));
    return true;
  }
  Result<bool> next_node(NodeRecord& record, std::vector<std::string_view>*) override {
    CHAKRA_ASSIGN(const bool more, reader_.next(record));
    if (!more) return false;
    const bool survives = survives_a_message(record);
    if (!survives) encode_record(record);
    CHAKRA_TRY(empty_nodes_.see(survives ? is_empty(record) : out_.size() == 0, *this));
    if (!survives) CHAKRA_TRY(placed(decode(out_.view(), record), *this));
    return true;
  }
  bool makes_messages() const override { return true; }
  Place place() const override { return reader_.place(); }

 private:
  void encode_record(const NodeRecord& record) {
    out_.clear();
    encode(record, out_);
  }

  pack::RankReader reader_;
  bool any_metadata_ = false;
  NodeRecord record_;
  wire::Bytes out_;
};

class PackSink : public RecordSink {
 public:
  explicit PackSink(const pack::Packer& packer) : packer_(packer) {}
  Result<void> metadata(std::string_view message, const MetadataRecord&) override {
    writer.emplace(packer_.begin_rank(message));
    return {};
  }
  Result<void> node(std::string_view, const NodeRecord& record) override { return writer->node(record); }
  Result<void> finish() override { return {}; }

  std::optional<pack::RankWriter> writer;

 private:
  const pack::Packer& packer_;
};

}  // namespace

Result<RecordSourcePtr> open_rank(pack::Container& container, int64_t rank, int64_t first, int64_t count) {
  CHAKRA_ASSIGN(pack::RankReader reader, container.open_rank(rank, first, count));
  return std::make_unique<PackedRank>(std::move(reader));
}

Result<UnaddedRank> read_for(const pack::Packer& packer, std::optional<int64_t> rank, RecordSource& source) {
  PackSink sink(packer);
  CHAKRA_ASSIGN(const Converted copied, copy_records(source, sink));
  const std::string file = source.place().file;
  CHAKRA_TRY(check_rank(rank, copied.rank, file));
  return UnaddedRank{std::move(*sink.writer), copied, rank ? *rank : copied.rank.value_or(0), file};
}

Result<Converted> add_rank(pack::Packer& packer, std::optional<int64_t> rank, RecordSource& source) {
  CHAKRA_ASSIGN(UnaddedRank read, read_for(packer, rank, source));
  CHAKRA_TRY(packer.add(std::move(read.writer), read.rank, read.file));
  return read.copied;
}

}  // namespace chakra::io
