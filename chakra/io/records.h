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

/// Add the source's place to an error without one.
template <class T>
Result<T> placed(Result<T> result, const RecordSource& source) {
  if (!result && result.error().place.file.empty()) result.error().place = source.place();
  return result;
}

}  // namespace chakra::io
