// Random traces, made and written by libprotobuf.
#pragma once

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "et_def.pb.h"

namespace chakra::testing {

inline std::string random_text(Prng& random) {
  static const std::string kTexts[] = {"",
                                       "a",
                                       "aten::mm",
                                       "mb12.transformer.0@007",
                                       "\"quoted\\ \n\t\x01\x1f",
                                       std::string("nul\0inside", 10),
                                       "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80",
                                       "no utf-8: \xff\xfe",
                                       "\xed\xa0\x80",
                                       "18446744073709551615 999999999999999999 0 00 01",
                                       std::string(300, 'x')};
  std::string text = kTexts[random.below(std::size(kTexts))];
  if (random.chance(0.3)) text += fmt::format(".{}", random.below(1000));
  return text;
}

inline uint64_t random_bits(Prng& random) {
  switch (random.below(5)) {
    case 0: return 0;
    case 1: return ~uint64_t{0};
    case 2: return uint64_t{1} << random.below(64);
    case 3: return random.below(1000);
    default: return random.next();
  }
}
inline double random_real(Prng& random) {
  static const double kReals[] = {0.0,
                                  -0.0,
                                  0.1,
                                  1e300,
                                  5e-324,
                                  std::numeric_limits<double>::quiet_NaN(),
                                  std::bit_cast<double>(uint64_t{0xfff8000000000123}),
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity()};
  return random.chance(0.5) ? kReals[random.below(std::size(kReals))] : std::bit_cast<double>(random.next());
}
inline float random_float(Prng& random) {
  static const float kReals[] = {0.0f,
                                 -0.0f,
                                 0.1f,
                                 3.4e38f,
                                 1e-45f,
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::infinity()};
  return random.chance(0.5) ? kReals[random.below(std::size(kReals))]
                            : std::bit_cast<float>(static_cast<uint32_t>(random.next()));
}

inline void put_unknown(google::protobuf::Message& message, Prng& random) {
  auto* fields = message.GetReflection()->MutableUnknownFields(&message);
  const int number = 40 + static_cast<int>(random.below(100));
  switch (random.below(4)) {
    case 0: fields->AddVarint(number, random_bits(random)); break;
    case 1: fields->AddFixed32(number, static_cast<uint32_t>(random.next())); break;
    case 2: fields->AddFixed64(number, random.next()); break;
    default: fields->AddLengthDelimited(number, random_text(random));
  }
}

/// Fills any message of the schema through reflection, so that no field is forgotten.
inline void fill(google::protobuf::Message& message, Prng& random, double unknown) {
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  for (int i = 0; i < descriptor->field_count(); ++i)
    if (!descriptor->field(i)->containing_oneof()) fields.push_back(descriptor->field(i));
  for (int i = 0; i < descriptor->oneof_decl_count(); ++i)
    if (random.chance(0.95))  // else an attribute without a value
      fields.push_back(descriptor->oneof_decl(i)->field(
          static_cast<int>(random.below(static_cast<uint64_t>(descriptor->oneof_decl(i)->field_count())))));
  for (const google::protobuf::FieldDescriptor* field : fields) {
    const bool repeated = field->is_repeated();
    const uint64_t count = repeated ? random.below(5) : field->containing_oneof() || random.chance(0.7);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t bits = random_bits(random);
#define CHAKRA_PUT(Kind, value) \
  repeated ? reflection->Add##Kind(&message, field, value) : reflection->Set##Kind(&message, field, value)
      using google::protobuf::FieldDescriptor;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT32: CHAKRA_PUT(Int32, static_cast<int32_t>(bits)); break;
        case FieldDescriptor::CPPTYPE_INT64: CHAKRA_PUT(Int64, static_cast<int64_t>(bits)); break;
        case FieldDescriptor::CPPTYPE_UINT32: CHAKRA_PUT(UInt32, static_cast<uint32_t>(bits)); break;
        case FieldDescriptor::CPPTYPE_UINT64: CHAKRA_PUT(UInt64, bits); break;
        case FieldDescriptor::CPPTYPE_DOUBLE: CHAKRA_PUT(Double, random_real(random)); break;
        case FieldDescriptor::CPPTYPE_FLOAT: CHAKRA_PUT(Float, random_float(random)); break;
        case FieldDescriptor::CPPTYPE_BOOL: CHAKRA_PUT(Bool, bits & 1); break;
        case FieldDescriptor::CPPTYPE_ENUM:
          CHAKRA_PUT(EnumValue, random.chance(0.9) ? static_cast<int>(random.below(8)) : static_cast<int>(bits));
          break;
        case FieldDescriptor::CPPTYPE_STRING: CHAKRA_PUT(String, random_text(random)); break;
        case FieldDescriptor::CPPTYPE_MESSAGE:
          fill(repeated ? *reflection->AddMessage(&message, field) : *reflection->MutableMessage(&message, field),
               random, unknown);
          break;
      }
#undef CHAKRA_PUT
    }
  }
  if (random.chance(unknown)) put_unknown(message, random);
}

inline void append(std::string& file, const std::string& message) {
  size_t size = message.size();
  for (; size >= 0x80; size >>= 7) file += static_cast<char>(size | 0x80);
  file += static_cast<char>(size);
  file += message;
}

using Messages = std::vector<std::string>;
inline std::string file_of(const Messages& messages) {
  std::string file;
  for (const std::string& message : messages) append(file, message);
  return file;
}

inline Messages random_trace(Prng& random, uint64_t most_nodes, double unknown = 0.1) {
  const google::protobuf::LogSilencer quiet;  // texts that are no UTF-8 are wanted here
  Messages messages;
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version("0.0.4");  // what is metadata must be seen to be some
  if (random.chance(0.5)) fill(*metadata.add_attr(), random, unknown);
  messages.push_back(metadata.SerializeAsString());
  for (uint64_t n = random.below(most_nodes + 1); n > 0; --n) {
    ChakraProtoMsg::Node node;
    fill(node, random, unknown);
    messages.push_back(node.SerializeAsString());
  }
  return messages;
}

}  // namespace chakra::testing
