// The storage used by a load or a store: its attributes storage_tier,
// io_kind and bytes (docs/reference/formats/et.md).
#pragma once

#include <optional>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::trace {

struct StorageUse {
  std::optional<std::string_view> tier;
  std::string_view kind;          ///< "" if absent
  bool says_bytes = false;        ///< the node has the attribute bytes, valid as a size or not
  std::optional<uint64_t> bytes;  ///< the attribute bytes; without the attribute tensor_size, if not 0
};

constexpr bool is_memory(NodeType type) { return type == NodeType::mem_load || type == NodeType::mem_store; }

/// Reads the storage of the nodes of one trace, which must outlive the reader.
class StorageReader {
 public:
  explicit StorageReader(const Trace& trace)
      : t_(trace),
        tier_(trace.strings.find("storage_tier")),
        kind_(trace.strings.find("io_kind")),
        bytes_(trace.strings.find("bytes")) {}

  /// Return the storage of a node. Requires is_memory(). Cost: O(attributes of the node).
  StorageUse of(NodeId n) const {
    CHAKRA_ASSERT(is_memory(t_.type[n]));
    StorageUse use;
    for (const Attr& attr : t_.attrs_of(n)) {
      if (attr.name == 0) continue;
      if (attr.name == tier_) use.tier = attr.text().value_or("");
      if (attr.name == kind_) use.kind = attr.text().value_or("");
      if (attr.name != bytes_) continue;
      use.says_bytes = true;
      use.bytes.reset();
      if (const auto* natural = std::get_if<uint64_t>(&attr.value)) use.bytes = *natural;
      else if (const int64_t integer = attr.integer().value_or(-1); integer >= 0)
        use.bytes = static_cast<uint64_t>(integer);
    }
    if (const uint64_t tensors = t_.tensor_bytes.empty() ? 0 : t_.tensor_bytes[n]; !use.says_bytes && tensors > 0)
      use.bytes = tensors;
    return use;
  }

 private:
  const Trace& t_;
  StringId tier_, kind_, bytes_;
};

}  // namespace chakra::trace
