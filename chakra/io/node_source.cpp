// A file of any form -> its nodes one after the other, for who does not want to hold them all.
#include <fmt/core.h>

#include <memory>
#include <protozero/pbf_reader.hpp>

#include "chakra/io/records.h"

namespace chakra::io {
namespace {

struct Stream {
  RecordSourcePtr file;
  StreamOptions options;
  int64_t announced = -1, nodes = 0;
  NodeRecord record = {};
  EmptyNodes empty_nodes = {};

  Result<void> begin() {
    std::string_view message;
    CHAKRA_ASSIGN(const MetadataRecord metadata, first_record(*file, message));
    for (const AttrRecord& attr : metadata.attrs)
      if (int64_t number = 0; attr.name == "chakra_nodes" && attr.as_integer(number)) announced = number;
    return {};
  }

  Result<bool> next(trace::StreamedNode& node) {
    std::string_view message;
    CHAKRA_ASSIGN(const bool more, file->next(message));
    if (!more) {
      if (announced >= 0 && announced != nodes)
        return fail(Code::bad_input, "io.et.truncated",
                    fmt::format("the file announces {} nodes and holds {}", announced, nodes), file->place());
      return false;
    }
    ++nodes;
    CHAKRA_TRY(empty_nodes.see(message.empty(), *file));
    auto read = options.durations ? all_fields(message, node) : edges(message, node);
    if (!read) {
      if (read.error().place.file.empty()) read.error().place = file->place();
      return Failure(std::move(read.error()));
    }
    node.message.assign(message);
    return true;
  }

  Result<void> all_fields(std::string_view message, trace::StreamedNode& node) {
    CHAKRA_TRY(decode(message, record));
    node.id = record.id;
    node.deps = record.data_deps;
    if (options.control) node.deps.insert(node.deps.end(), record.ctrl_deps.begin(), record.ctrl_deps.end());
    constexpr auto kMostNs = static_cast<uint64_t>(kLongestPs / kPsPerNs);
    uint64_t ns = 0;
    bool too_long = __builtin_mul_overflow(record.duration_micros, uint64_t{1000}, &ns) || ns > kMostNs;
    for (const AttrRecord& attr : record.attrs)
      if (attr.name == "dur_ns" && attr.as_natural(ns)) too_long = ns > kMostNs;
    if (too_long) return fail(Code::bad_input, "io.et.range", fmt::format("invalid duration of node {}", node.id));
    node.duration = static_cast<Picoseconds>(ns) * kPsPerNs;
    return {};
  }

  /// Id and edges only; what else is there must be fields, but is not looked into.
  Result<void> edges(std::string_view message, trace::StreamedNode& node) {
    node.id = 0;
    node.deps.clear();
    const auto ids = [&](protozero::pbf_reader& reader) {
      if (reader.wire_type() == protozero::pbf_wire_type::length_delimited)
        for (const uint64_t id : reader.get_packed_uint64()) node.deps.push_back(id);
      else if (reader.wire_type() == protozero::pbf_wire_type::varint) node.deps.push_back(reader.get_uint64());
      else reader.skip();
    };
    try {
      protozero::pbf_reader reader(message.data(), message.size());
      while (reader.next()) {
        const uint32_t field = reader.tag();
        if (field == schema::kNodeId && reader.wire_type() == protozero::pbf_wire_type::varint)
          node.id = reader.get_uint64();
        else if (field == schema::kNodeDataDeps || (field == schema::kNodeCtrlDeps && options.control)) ids(reader);
        else reader.skip();
      }
    } catch (const protozero::exception& error) {
      return fail(Code::bad_input, "io.et.damaged",
                  fmt::format("not a message of the Chakra schema ({})", error.what()));
    }
    return {};
  }
};

}  // namespace

Result<trace::NodeSource> open_nodes(RecordSourcePtr source, const StreamOptions& options) {
  auto stream = std::make_shared<Stream>(Stream{std::move(source), options});
  CHAKRA_TRY(stream->begin());
  return trace::NodeSource([stream](trace::StreamedNode& node) { return stream->next(node); });
}

Result<trace::NodeSource> open_nodes(const std::string& path, const StreamOptions& options) {
  CHAKRA_ASSIGN(const std::vector<RankFile> ranks, find_ranks(path));
  if (ranks.size() != 1)
    return fail(Code::bad_input, "io.job.several",
                fmt::format("there are {} ranks, but a single rank is required", ranks.size()), {path});
  CHAKRA_ASSIGN(RecordSourcePtr source, open_records(ranks[0]));
  return open_nodes(std::move(source), options);
}

}  // namespace chakra::io
