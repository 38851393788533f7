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

TEST(Schema, APlainAttributeIsReadAsOneWithADescription) {
  // An empty description changes no value, but the attribute is then read field by field.
  Prng random(3);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string name(random.below(140), 'n'), value;
    const auto field = static_cast<char>(3 + random.below(13));
    value += static_cast<char>(field << 3 | (random.chance(0.3) ? 2 : 0));
    if (value[0] & 2) {
      const size_t size = random.below(6);
      value += static_cast<char>(size);
      for (size_t i = 0; i < size; ++i) value += static_cast<char>(random.below(256));
    } else {
      for (size_t i = random.below(11); i > 0; --i) value += static_cast<char>(0x80 | random.below(128));
      value += static_cast<char>(random.below(128));
    }
    if (random.chance(0.1)) value.resize(random.below(value.size() + 1));
    std::string message = "\x0a";
    if (name.size() >= 0x80) message += {static_cast<char>((name.size() & 0x7f) | 0x80), '\x01'};
    else message += static_cast<char>(name.size());
    message += name + value;
    AttrRecord plain, general;
    const bool ours = decode(message, plain).has_value();
    const std::string described = std::string("\x12\0", 2) + message;
    ASSERT_EQ(ours, decode(described, general).has_value()) << round;
    if (!ours) continue;
    read += plain.field != 0;
    ASSERT_EQ(std::tie(plain.name, plain.field, plain.integer, plain.natural, plain.bytes),
              std::tie(general.name, general.field, general.integer, general.natural, general.bytes));
    const auto list = decode_list(plain), same = decode_list(general);
    ASSERT_EQ(list.has_value(), same.has_value());
  }
  EXPECT_GT(read, 3000);
}

TEST(Schema, AListIsTheSameInOneRunOrInParts) {
  for (const uint32_t field : {kInt64List, kUint32List}) {
    AttrRecord run, parts;
    run.field = parts.field = field;
    run.bytes = "\x0a\x03\x01\x7f\x02";
    parts.bytes = "\x0a\x01\x01\x08\x7f\x0a\x01\x02";
    const auto one = decode_list(run), other = decode_list(parts);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(one->integers, other->integers);
    EXPECT_EQ(one->naturals, other->naturals);
    EXPECT_EQ(one->integers.size() + one->naturals.size(), 3U);
  }
}

}  // namespace
}  // namespace chakra::schema
