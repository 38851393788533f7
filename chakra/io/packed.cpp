// A rank of a container as a source of messages, and the other way round.
#include <fmt/core.h>

#include "chakra/io/records.h"

namespace chakra::io {
namespace {

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
    out_.clear();
    encode(record_, out_);
    message = out_.view();
    return true;
  }
  Place place() const override { return reader_.place(); }

 private:
  pack::RankReader reader_;
  bool any_metadata_ = false;
  NodeRecord record_;
  wire::Bytes out_;
};

class PackSink : public RecordSink {
 public:
  explicit PackSink(pack::Packer& packer) : packer_(packer) {}
  Result<void> metadata(std::string_view message, const MetadataRecord&) override {
    packer_.begin_rank(message);
    return {};
  }
  Result<void> node(std::string_view, const NodeRecord& record) override { return packer_.node(record); }
  Result<void> finish() override { return {}; }

 private:
  pack::Packer& packer_;
};

}  // namespace

Result<RecordSourcePtr> open_rank(pack::Container& container, int64_t rank, int64_t first, int64_t count) {
  CHAKRA_ASSIGN(pack::RankReader reader, container.open_rank(rank, first, count));
  return std::make_unique<PackedRank>(std::move(reader));
}

Result<Converted> add_rank(pack::Packer& packer, std::optional<int64_t> rank, RecordSource& source) {
  PackSink sink(packer);
  CHAKRA_ASSIGN(const Converted copied, copy_records(source, sink));
  if (rank && copied.rank && *copied.rank != *rank)
    return fail(Code::bad_input, "io.job.rank",
                fmt::format("the file name has rank {}, but the contents have rank {}", *rank, *copied.rank),
                {source.place().file});
  CHAKRA_TRY(packer.end_rank(rank ? *rank : copied.rank.value_or(0), source.place().file));
  return copied;
}

}  // namespace chakra::io
