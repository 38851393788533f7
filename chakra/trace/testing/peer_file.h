// Reads an .et file through libprotobuf, independently of chakra's reader.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "et_def.pb.h"

namespace chakra::testing {

/// Return the messages of a file.
inline std::vector<std::string> messages_of(const std::string& bytes) {
  std::vector<std::string> messages;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  for (uint32_t size = 0; in.ReadVarint32(&size);)
    EXPECT_TRUE(in.ReadString(&messages.emplace_back(), static_cast<int>(size)));
  return messages;
}

struct PeerFile {
  ChakraProtoMsg::GlobalMetadata metadata;
  std::vector<ChakraProtoMsg::Node> nodes;
};
inline PeerFile parse_peer(const std::string& bytes) {
  PeerFile file;
  const std::vector<std::string> messages = messages_of(bytes);
  EXPECT_FALSE(messages.empty());
  for (size_t i = 0; i < messages.size(); ++i)
    EXPECT_TRUE(i == 0 ? file.metadata.ParseFromString(messages[i])
                       : file.nodes.emplace_back().ParseFromString(messages[i]));
  return file;
}

}  // namespace chakra::testing
