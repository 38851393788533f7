// Files of nodes, for tests of the feeders.
#pragma once

#include <string>
#include <vector>

#include "chakra/base/testing/testing.h"
#include "et_def.pb.h"

namespace chakra::feeders::testing {

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

/// What `run` makes of the path of a file of these nodes, without its last `cut` bytes; or the tag of the exception
/// with which it ends.
template <class Exception, class Run>
std::string outcome(const std::vector<ChakraProtoMsg::Node>& nodes, size_t cut, const Run& run) {
  chakra::testing::TemporaryFolder folder;
  std::string bytes = records(nodes);
  bytes.resize(bytes.size() - cut);
  try {
    return run(folder.write("job.0.et", bytes));
  } catch (const Exception& error) {
    const std::string text = error.what();
    return text.substr(text.rfind('['));
  }
}

}  // namespace chakra::feeders::testing
