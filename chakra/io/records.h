// Helpers shared by the readers and writers of the forms.
#pragma once

#include <utility>

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

/// An empty message is a node with defaults only, its id 0, too. One such node is allowed. A second would have
/// the same id: zero bytes are empty messages, and a crash or a truncated copy may leave many zero bytes.
class EmptyNodes {
 public:
  /// Check a node; call for each node of a trace. Errors: io.et.damaged.
  Result<void> see(std::string_view message, const RecordSource& source) {
    if (!message.empty() || !std::exchange(any_, true)) return {};
    return fail(Code::bad_input, "io.et.damaged",
                "a second empty message, which would be a second node 0; zero bytes look like this: was the file cut "
                "and filled up?",
                source.place());
  }

 private:
  bool any_ = false;
};

}  // namespace chakra::io
