// Helpers shared by the readers and writers of the forms.
#pragma once

#include "chakra/io/io.h"

namespace chakra::io {

namespace wire = schema::wire;
using schema::are_fields;
using schema::kMostAttrs;
using schema::ListValue;

/// Return the name of a field in protobuf's JSON mapping: "data_deps" is "dataDeps".
std::string json_name(std::string_view name);

/// Return the metadata, the first record of a trace. `message`: the bytes, valid until the next message is read.
/// Errors: io.et.empty, io.et.not_a_trace, those of the source.
Result<MetadataRecord> first_record(RecordSource& source, std::string_view& message);

/// Whether the value of an integer is one of its member, which may have 32 bits or be a truth.
bool fits_member(const AttrRecord& attr);
/// Whether decode() of the record's message gives the record. Fields outside of the schema may repeat known fields,
/// columns may hold values that are too large for their members.
bool survives_a_message(const NodeRecord& record);

/// Errors: io.job.rank, if the name of a file and its contents have different ranks.
Result<void> check_rank(std::optional<int64_t> named, std::optional<int64_t> inside, const std::string& file);
/// Give a trace the rank of its file unless the trace has a rank. Errors: io.job.rank, if both differ.
Result<void> settle_rank(const RankFile& file, trace::Trace& trace);

/// The metadata about the nodes that follow.
struct Announced {
  int64_t nodes = -1;  ///< the number of nodes; -1: not given
  int64_t pid = 0;     ///< of nodes without a pid
};
/// Read the metadata of `file` into a trace without nodes. Errors: those of parse_spec, for the process groups.
Result<Announced> read_metadata(const MetadataRecord& record, const std::string& file, trace::Trace& trace);

/// Add the source's place to an error without one.
template <class T>
Result<T> placed(Result<T> result, const RecordSource& source) {
  if (!result && result.error().place.file.empty()) result.error().place = source.place();
  return result;
}

}  // namespace chakra::io
