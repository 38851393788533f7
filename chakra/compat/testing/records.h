// Files of nodes, for tests of the feeders.
#pragma once

#include <string>
#include <vector>

#include "et_def.pb.h"

namespace chakra::compat::testing {

/// Messages behind one another, as in a file.
inline std::string records(const std::vector<ChakraProtoMsg::Node>& nodes) {
  std::string bytes;
  const auto put = [&](const std::string& message) {
    for (size_t size = message.size();; size >>= 7) {
      bytes += static_cast<char>(size < 0x80 ? size : (size & 0x7f) | 0x80);
      if (size < 0x80) break;
    }
    bytes += message;
  };
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  put(metadata.SerializeAsString());
  for (const auto& node : nodes) put(node.SerializeAsString());
  return bytes;
}

/// A COMP node, "node <id>".
inline ChakraProtoMsg::Node node(uint64_t id, const std::vector<uint64_t>& deps) {
  ChakraProtoMsg::Node out;
  out.set_id(id);
  out.set_name("node " + std::to_string(id));
  out.set_type(ChakraProtoMsg::COMP_NODE);
  for (const uint64_t dep : deps) out.add_data_deps(dep);
  return out;
}

}  // namespace chakra::compat::testing
