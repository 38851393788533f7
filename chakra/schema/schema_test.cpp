// What a message says is what libprotobuf says of it.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/schema/schema.h"
#include "chakra/schema/testing/random_trace.h"

namespace chakra::schema {
namespace {

using testing::Messages;
using testing::random_trace;

TEST(Schema, WhatIsUnusualOnTheWireKeepsItsMeaning) {
  // Fields out of order, twice, not packed, with the wrong wire type; libprotobuf says what they mean.
  Prng random(2);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    const google::protobuf::LogSilencer quiet;
    Messages messages = random_trace(random, 3, 0.3);
    if (messages.size() < 2) continue;
    std::string& message = messages[1];
    ChakraProtoMsg::Node wanted;
    if (random.chance(0.5)) message += messages.back();  // merges
    else if (!message.empty()) message[random.below(message.size())] ^= static_cast<char>(1 << random.below(8));
    NodeRecord record;
    const bool ours = decode(message, record).has_value();
    const bool theirs = wanted.ParseFromString(message);
    if (ours && !theirs) continue;  // lists are looked at only where they are needed
    if (!ours) continue;
    ++read;
    ChakraProtoMsg::Node again;
    ASSERT_TRUE(again.ParseFromString(encode(record)));
    ASSERT_EQ(again.SerializeAsString(), wanted.SerializeAsString()) << round;
  }
  EXPECT_GT(read, 300);
}

}  // namespace
}  // namespace chakra::schema
