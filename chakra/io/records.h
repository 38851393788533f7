// What the readers and writers of the forms share.
#pragma once

#include <utility>

#include "chakra/io/io.h"

namespace chakra::io {

namespace wire = schema::wire;
using schema::are_fields;
using schema::kMostAttrs;
using schema::ListValue;

/// As protobuf's JSON mapping names a field: "data_deps" is "dataDeps".
std::string json_name(std::string_view name);

/// The metadata, with which a trace begins. `message`: its bytes, valid until the next one is read.
/// Errors: io.et.empty, io.et.not_a_trace, those of the source.
Result<MetadataRecord> first_record(RecordSource& source, std::string_view& message);

/// An empty message is a node of which everything is a default, its id 0, too. One may be. A second would have the
/// same id: zero bytes are empty messages, and a crash or a copy that was cut may leave many of them.
class EmptyNodes {
 public:
  /// For each node of a trace. Errors: io.et.damaged.
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
