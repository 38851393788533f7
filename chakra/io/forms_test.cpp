// Every form gives back what went in, byte for byte; what is cut or changed is an error.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "et_def.pb.h"

namespace chakra::io {
namespace {

using testing::must_read;
using testing::tag_of;
using testing::TemporaryFolder;

// ---- random traces, made and written by libprotobuf -------------------------------------------------

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string random_text(Prng& random) {
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

uint64_t random_bits(Prng& random) {
  switch (random.below(5)) {
    case 0: return 0;
    case 1: return ~uint64_t{0};
    case 2: return uint64_t{1} << random.below(64);
    case 3: return random.below(1000);
    default: return random.next();
  }
}
double random_real(Prng& random) {
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
float random_float(Prng& random) {
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

void put_unknown(Message& message, Prng& random) {
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
void fill(Message& message, Prng& random, double unknown) {
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < descriptor->field_count(); ++i)
    if (!descriptor->field(i)->containing_oneof()) fields.push_back(descriptor->field(i));
  for (int i = 0; i < descriptor->oneof_decl_count(); ++i)
    if (random.chance(0.95))  // else an attribute without a value
      fields.push_back(descriptor->oneof_decl(i)->field(
          static_cast<int>(random.below(static_cast<uint64_t>(descriptor->oneof_decl(i)->field_count())))));
  for (const FieldDescriptor* field : fields) {
    const bool repeated = field->is_repeated();
    const uint64_t count = repeated ? random.below(5) : field->containing_oneof() || random.chance(0.7);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t bits = random_bits(random);
#define CHAKRA_PUT(Kind, value) \
  repeated ? reflection->Add##Kind(&message, field, value) : reflection->Set##Kind(&message, field, value)
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

void append(std::string& file, const std::string& message) {
  size_t size = message.size();
  for (; size >= 0x80; size >>= 7) file += static_cast<char>(size | 0x80);
  file += static_cast<char>(size);
  file += message;
}

using Messages = std::vector<std::string>;
std::string file_of(const Messages& messages) {
  std::string file;
  for (const std::string& message : messages) append(file, message);
  return file;
}

Messages random_trace(Prng& random, uint64_t most_nodes, double unknown = 0.1) {
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

Result<Messages> all_of(RecordSource& source) {
  Messages messages;
  std::string_view message;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, source.next(message));
    if (!more) return messages;
    messages.emplace_back(message);
  }
}

Result<Messages> read_as(const std::string& bytes, const char* form) {
  CHAKRA_ASSIGN(ByteSource bytes_source, ByteSource::from_memory(bytes));
  return all_of(*find_format(form)->open(std::move(bytes_source)));
}

/// The trace in a form, as a file's bytes.
std::string write_as(const std::string& et, const char* form, const std::string& path) {
  EtFile source(*ByteSource::from_memory(et));
  auto file = PackedFile::create(path);
  EXPECT_TRUE(file);
  const auto sink = find_format(form)->create(*file, -1);
  auto copied = copy_records(source, *sink);
  EXPECT_TRUE(copied) << copied.error().message();
  EXPECT_TRUE(file->commit());
  return must_read(path);  // unpacked
}

TEST(Forms, AllFormsGiveBackRandomTraces) {
  const google::protobuf::LogSilencer quiet;
  TemporaryFolder folder;
  Prng random(1);
  for (int round = 0; round < 300; ++round) {
    const Messages messages = random_trace(random, 8);
    for (const char* form : {"et", "json", "jsonl"})
      for (const char* packing : {"", ".gz", ".zst"}) {
        if (round > 20 && *packing) continue;
        const std::string bytes = write_as(file_of(messages), form, folder.path(std::string("t") + packing));
        auto read = read_as(bytes, form);
        ASSERT_TRUE(read) << read.error().message() << "\n" << bytes;
        ASSERT_EQ(*read, messages) << form << " " << round << "\n" << bytes;
      }
  }
}

TEST(Forms, WhatIsUnusualOnTheWireKeepsItsMeaning) {
  // Fields out of order, twice, not packed, with the wrong wire type; libprotobuf says what they mean.
  Prng random(2);
  TemporaryFolder folder;
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

TEST(Forms, AreToldByTheirContents) {
  const google::protobuf::LogSilencer quiet;
  TemporaryFolder folder;
  Prng random(7);
  for (int round = 0; round < 50; ++round) {
    const std::string et = file_of(random_trace(random, 5));
    for (const char* form : {"et", "json", "jsonl"}) {
      const std::string bytes = write_as(et, form, folder.path("t"));
      for (const FormatRow& row : kFormats)
        EXPECT_EQ(row.sniff(std::string_view(bytes).substr(0, kSniffed)), row.name == form) << row.name << " " << form;
    }
  }
}

TEST(Forms, EveryPrefixIsAnError) {
  const google::protobuf::LogSilencer quiet;
  TemporaryFolder folder;
  Prng random(3);
  Messages messages = random_trace(random, 0);
  for (const Messages more = random_trace(random, 12); const std::string& node : more)
    if (&node != &more[0]) messages.push_back(node);
  for (const char* form : {"json", "jsonl"}) {
    const std::string path = folder.path("t");
    const std::string et = file_of(messages);
    EtFile source(*ByteSource::from_memory(et));
    auto file = PackedFile::create(path);
    ASSERT_TRUE(file);
    const auto sink = find_format(form)->create(*file, static_cast<int64_t>(messages.size()) - 1);
    ASSERT_TRUE(copy_records(source, *sink));
    ASSERT_TRUE(file->commit());
    const std::string bytes = must_read(path);
    ASSERT_TRUE(read_as(bytes, form));
    for (size_t size = 0; size < bytes.size() - 1; ++size) {
      auto read = read_as(bytes.substr(0, size), form);
      ASSERT_FALSE(read) << form << " " << size;
      EXPECT_EQ(read.error().tag, size == 0 ? "io.json.empty" : "io.json.truncated") << size;
      EXPECT_FALSE(read.error().place.file.empty());
    }
  }
}

TEST(Forms, WhatIsNoRecordIsAnErrorWithItsPlace) {
  const auto tag = [](const std::string& node) {
    return tag_of(read_as("{\"chakraTrace\":\"jsonl/1\"}\n{\"id\":\"1\"}\n" + node, "jsonl"));
  };
  EXPECT_EQ(tag("{\"id\":\"2\",\"dataDeps\":[\"1\",2],\"data_deps\":[]}"), "io.json.field");  // twice
  EXPECT_EQ(tag("{\"id\":\"2\",\"dataDeps\":[\"1\",2]}"), "");
  EXPECT_EQ(tag("{\"id\":-1}"), "io.json.field");
  EXPECT_EQ(tag("{\"id\":18446744073709551615}"), "");
  EXPECT_EQ(tag("{\"id\":18446744073709551616}"), "io.json.field");
  EXPECT_EQ(tag("{\"id\":1.5}"), "io.json.field");
  EXPECT_EQ(tag("{\"id\":null}"), "io.json.field");
  EXPECT_EQ(tag("{\"colour\":1}"), "io.json.field");
  EXPECT_EQ(tag("{\"version\":\"1\"}"), "io.json.field");  // of metadata
  EXPECT_EQ(tag("{\"type\":\"COMPUTE\"}"), "io.json.field");
  EXPECT_EQ(tag("{\"type\":99}"), "");
  EXPECT_EQ(tag("{\"name\":5}"), "io.json.field");
  EXPECT_EQ(tag("{\"name\":{\"base64\":\"!!\"}}"), "io.json.field");
  EXPECT_EQ(tag("{\"attr\":[{\"name\":\"x\",\"int32Val\":1,\"boolVal\":true}]}"), "io.json.field");
  EXPECT_EQ(tag("{\"attr\":[{\"int32Val\":2147483648}]}"), "io.json.field");
  EXPECT_EQ(tag("{\"attr\":[{\"int32Val\":-2147483648}]}"), "");
  EXPECT_EQ(tag("{\"attr\":[{\"floatVal\":1e39}]}"), "io.json.field");
  EXPECT_EQ(tag("{\"attr\":[{\"boolVal\":1}]}"), "io.json.field");
  EXPECT_EQ(tag("{\"attr\":{}}"), "io.json.field");
  EXPECT_EQ(tag("{\"unknownFields\":\"CA==\"}"), "io.json.field");  // a tag without its value
  EXPECT_EQ(tag("{\"name\":\"\xff\"}"), "io.json.encoding");
  EXPECT_EQ(tag("{\"name\" \"x\"}"), "io.json.syntax");
  EXPECT_EQ(tag("[]"), "io.json.element");
  EXPECT_EQ(tag("{} x {}"), "io.json.syntax");
  EXPECT_EQ(tag("]"), "io.json.syntax");
  EXPECT_EQ(tag_of(read_as("{\"metadata\":{},\"nodes\":[{} {}]}", "json")), "io.json.syntax");
  EXPECT_EQ(tag_of(read_as("{\"nodes\":[{}],\"metadata\":{}}", "json")), "io.json.field");
  EXPECT_EQ(tag_of(read_as("{\"chakraTrace\":\"json/2\",\"nodes\":[]}", "json")), "io.json.field");
  const auto read = read_as("{\"metadata\":{},\"nodes\":[{\"id\":1},\n{\"id\":-1}]}", "json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().place.byte, 34);  // of the second node
}

TEST(Forms, ReadsWhatThePeersJsonizerWrites) {
  const auto read = read_as(
      "{\n  \"version\": \"0.0.4\"\n}{\n  \"id\": \"7\",\n  \"type\": \"COMP_NODE\",\n  \"attr\": [\n    {\n      "
      "\"name\": \"is_cpu_op\",\n      \"boolVal\": true\n    }\n  ]\n}{\n  \"id\": \"8\",\n  \"dataDeps\": [\n    "
      "\"7\"\n  ]\n}",
      "jsonl");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 3u);
  ChakraProtoMsg::Node node;
  ASSERT_TRUE(node.ParseFromString((*read)[2]));
  EXPECT_EQ(node.id(), 8u);
  EXPECT_EQ(node.data_deps(0), 7u);
}

TEST(Forms, TheFirstSchemaIsConverted) {
  // Two compute nodes of 5, the second waits for the first; then one with attributes.
  const std::string eg(
      "\x11\x08\x00\x12\x09"
      "COMP_NODE\x18\x03\x38\x05\x13\x08\x01\x12\x09"
      "COMP_NODE\x18\x03\x20\x00\x38\x05",
      38);
  ASSERT_TRUE(sniff_eg(eg));
  ASSERT_FALSE(sniff_et(eg));
  const auto read = read_as(eg, "eg");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 3u);
  ChakraProtoMsg::Node node;
  ASSERT_TRUE(node.ParseFromString((*read)[2]));
  EXPECT_EQ(node.type(), ChakraProtoMsg::COMP_NODE);
  EXPECT_EQ(node.duration_micros(), 5u);
  ASSERT_EQ(node.data_deps_size(), 1);
  EXPECT_EQ(node.data_deps(0), 0u);
  for (size_t size = 1; size < eg.size(); ++size)
    if (size != 18) EXPECT_EQ(tag_of(read_as(eg.substr(0, size), "eg")), "io.et.truncated") << size;
  EXPECT_EQ(tag_of(read_as(std::string("\x04\x08\x00\x18\x09", 5), "eg")), "io.eg.field");  // no such type
  EXPECT_EQ(tag_of(read_as(std::string("\x04\x08\x00\x48\x09", 5), "eg")), "io.eg.field");  // field 9
  EXPECT_EQ(tag_of(read_as(std::string("\x04\x08\x00\x12\x09", 5), "eg")), "io.eg.damaged");
}

TEST(Forms, EveryTraceThereIsInEveryForm) {
  CHAKRA_NEEDS_DATA();
  TemporaryFolder folder;
  size_t number = 0, files = 0;
  for (const char* kind : {"et_proto", "stage"})
    for (const auto& entry : std::filesystem::directory_iterator(testing::data_folder() + "/" + kind)) {
      const std::string path = entry.path().string();
      if (contains(path, "json_trace") || contains(path, "old_two") || contains(path, "L8.") || contains(path, "L16"))
        continue;
      testing::unpack(path, folder.path("in/" + std::to_string(number++)));
    }
  std::vector<std::string> paths{testing::golden_folder() + "/pipeline/resnet_ddp.et.zst",
                                 testing::golden_folder() + "/pipeline/dlrm_rank0.et.zst"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path("in")))
    if (entry.path().extension() == ".et") paths.push_back(entry.path().string());
  for (const std::string& path : paths) {
    const std::string et = must_read(path);
    const auto messages = read_as(et, "et");
    ASSERT_TRUE(messages) << path;
    for (const char* form : {"json", "jsonl"}) {
      const auto read = read_as(write_as(et, form, folder.path("out")), form);
      ASSERT_TRUE(read) << path << read.error().message();
      ASSERT_EQ(*read, *messages) << path;
    }
    auto packer = Packer::create(folder.path("out.chakra"));
    ASSERT_TRUE(packer);
    EtFile source(*ByteSource::from_memory(et));
    ASSERT_TRUE(packer->add(3, source)) << path;
    ASSERT_TRUE(packer->finish());
    const auto container = Container::open(folder.path("out.chakra"));
    ASSERT_TRUE(container);
    const auto read = all_of(**(*container)->open_rank(3));
    ASSERT_TRUE(read) << path << read.error().message();
    ASSERT_EQ(*read, *messages) << path;
    ++files;
  }
  EXPECT_GT(files, 100u);
}

// ---- the container ----------------------------------------------------------------------------------

using Job = std::map<int64_t, Messages>;

/// Ranks that are like one another, but for what `random` changes.
Job random_job(Prng& random, uint64_t most_ranks, uint64_t most_nodes) {
  Job job;
  Messages last = random_trace(random, most_nodes);
  for (uint64_t r = 1 + random.below(most_ranks); r > 0; --r) {
    if (random.chance(0.2)) last = random_trace(random, most_nodes);
    for (uint64_t change = random.below(4); change > 0 && last.size() > 1; --change) {
      ChakraProtoMsg::Node node;
      const google::protobuf::LogSilencer quiet;
      fill(node, random, 0.05);
      std::string& message = last[1 + random.below(last.size() - 1)];
      switch (random.below(3)) {
        case 0: message = node.SerializeAsString(); break;
        case 1: last.push_back(node.SerializeAsString()); break;
        default: last.pop_back();
      }
    }
    job[static_cast<int64_t>(random.below(1000))] = last;
  }
  return job;
}

void add(Packer& packer, int64_t rank, const Messages& messages) {
  const std::string et = file_of(messages);
  EtFile source(*ByteSource::from_memory(et));
  const auto added = packer.add(rank, source);
  ASSERT_TRUE(added) << added.error().message();
}

void pack(const std::string& path, const Job& job, int64_t group) {
  auto packer = Packer::create(path, group);
  ASSERT_TRUE(packer);
  for (const auto& [rank, messages] : job) add(*packer, rank, messages);
  ASSERT_TRUE(packer->finish());
}

TEST(Container, GivesBackAThousandRandomJobs) {
  TemporaryFolder folder;
  Prng random(4);
  const std::string path = folder.path("job.chakra");
  for (int round = 0; round < 1000; ++round) {
    const Job job = random_job(random, 6, 12);
    const auto group = static_cast<int64_t>(1 + random.below(8));
    if (random.chance(0.5)) {
      pack(path, job, group);
    } else {  // some of them later
      const auto half = std::next(job.begin(), static_cast<std::ptrdiff_t>(random.below(job.size() + 1)));
      pack(path, Job(job.begin(), half), group);
      const std::string before = must_read(path);
      auto packer = Packer::append(path);
      ASSERT_TRUE(packer) << packer.error().message();
      for (auto it = half; it != job.end(); ++it) add(*packer, it->first, it->second);
      ASSERT_TRUE(packer->finish());
      ASSERT_TRUE(must_read(path).starts_with(before));
    }
    auto container = Container::open(path);
    ASSERT_TRUE(container) << container.error().message();
    ASSERT_EQ((*container)->ranks().size(), job.size());
    for (const auto& [rank, messages] : job) {
      auto source = (*container)->open_rank(rank);
      ASSERT_TRUE(source) << source.error().message();
      const auto read = all_of(**source);
      ASSERT_TRUE(read) << read.error().message();
      ASSERT_EQ(*read, messages) << "round " << round << " rank " << rank;
      const auto nodes = static_cast<int64_t>(messages.size()) - 1;
      const int64_t first = random.between(0, nodes), count = random.between(0, nodes);
      const auto window = all_of(**(*container)->open_rank(rank, first, count));
      ASSERT_TRUE(window);
      const int64_t end = std::min(nodes, first + count);
      Messages wanted{messages[0]};
      wanted.insert(wanted.end(), messages.begin() + 1 + first, messages.begin() + 1 + end);
      ASSERT_EQ(*window, wanted);
    }
  }
}

Messages regular_trace(int64_t rank, int changed = -1) {
  Messages messages;
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  messages.push_back(metadata.SerializeAsString());
  Prng random(5);
  for (int n = 0; n < 3000; ++n) {
    ChakraProtoMsg::Node node;
    node.set_id(static_cast<uint64_t>(n) + 1);
    node.set_name(fmt::format("layer{}.op{}", n / 20, n % 20));
    node.set_type(ChakraProtoMsg::COMP_NODE);
    if (n > 0) node.add_data_deps(static_cast<uint64_t>(n));
    node.set_duration_micros(random.below(100'000));
    auto* attr = node.add_attr();
    attr->set_name("size");
    const auto size = static_cast<int64_t>(random.below(1'000'000));
    attr->set_int64_val(n == changed ? rank : size);
    messages.push_back(node.SerializeAsString());
  }
  return messages;
}

TEST(Container, ARankThatDiffersInOneAttributeCostsLittle) {
  TemporaryFolder folder;
  Job job{{0, regular_trace(0)}};
  pack(folder.path("one"), job, Packer::kGroupNodes);
  for (int64_t rank = 1; rank <= 100; ++rank) job[rank] = regular_trace(rank, static_cast<int>(rank * 29));
  pack(folder.path("all"), job, Packer::kGroupNodes);
  const auto one = std::filesystem::file_size(folder.path("one")), all = std::filesystem::file_size(folder.path("all"));
  EXPECT_LT((all - one) / 100, 200u);
  const auto read = all_of(**(*Container::open(folder.path("all")))->open_rank(77));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, job[77]);
}

TEST(Container, EveryChangedByteIsFoundAndNamed) {
  TemporaryFolder folder;
  Prng random(6);
  Job job;
  Messages messages;
  while (messages.size() < 20) messages = random_trace(random, 30);
  for (int64_t rank = 0; rank < 3; ++rank) {
    messages[5 + static_cast<size_t>(rank)] = messages[12];
    job[rank] = messages;
  }
  pack(folder.path("job"), job, 8);
  const std::string bytes = must_read(folder.path("job"));
  size_t named = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= static_cast<char>(1 << at % 8);
    folder.write("changed", changed);
    const auto container = Container::open(folder.path("changed"));
    const auto whole = container ? (*container)->verify() : Result<void>(tl::unexpected<Error>(container.error()));
    ASSERT_FALSE(whole) << at;
    EXPECT_TRUE(whole.error().tag.starts_with("io.container.")) << whole.error().message();
    EXPECT_EQ(whole.error().place.file, folder.path("changed"));
    named += contains(whole.error().text, "rank ");
  }
  EXPECT_GT(named, bytes.size() / 2);
  for (size_t size = 0; size < bytes.size(); ++size) {
    folder.write("cut", std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(Container::open(folder.path("cut"))) << size;
  }
}

TEST(Container, AddingNeedsFinish) {
  TemporaryFolder folder;
  const Job job{{0, regular_trace(0)}};
  const std::string path = folder.path("job");
  pack(path, job, 64);
  const std::string before = must_read(path);
  {
    auto packer = Packer::append(path);
    ASSERT_TRUE(packer);
    add(*packer, 1, regular_trace(1, 5));
  }
  EXPECT_EQ(must_read(path), before);
  auto packer = Packer::append(path);
  ASSERT_TRUE(packer);
  const std::string et = file_of(job.at(0));
  EtFile source(*ByteSource::from_memory(et));
  EXPECT_EQ(tag_of(packer->add(0, source)), "io.container.rank_twice");
}

/// Packs one job, adds another; the bytes before and after.
std::pair<std::string, std::string> added_to(const TemporaryFolder& folder) {
  const std::string path = folder.path("job");
  const auto some = [](int64_t rank, size_t nodes) {
    Messages messages = regular_trace(rank, static_cast<int>(rank));
    messages.resize(nodes + 1);
    return messages;
  };
  pack(path, {{0, some(0, 9)}}, 4);
  const std::string before = must_read(path);
  auto packer = Packer::append(path);
  EXPECT_TRUE(packer);
  add(*packer, 1, some(1, 7));
  add(*packer, 2, some(2, 11));
  EXPECT_TRUE(packer->finish());
  return {before, must_read(path)};
}

TEST(Container, IsRepairedWhereverAddingWasCut) {
  TemporaryFolder folder;
  const auto [before, after] = added_to(folder);
  ASSERT_TRUE(after.starts_with(before));
  const std::string path = folder.path("cut");
  for (size_t size = before.size(); size <= after.size(); ++size)
    for (const bool zeros : {false, true}) {  // zeros: a disk that was told of the size before it had the bytes
      std::string image = after.substr(0, size);
      if (zeros) image.resize(after.size());
      folder.write("cut", image);
      const bool whole = image == before || image == after;
      EXPECT_EQ(Container::open(path).has_value(), whole) << size;
      const auto repaired = repair_container(path);
      ASSERT_TRUE(repaired) << size << repaired.error().message();
      const std::string& expected = image == after ? after : before;
      EXPECT_EQ(repaired->cut, static_cast<int64_t>(image.size() - expected.size()));
      EXPECT_EQ(repaired->ranks, image == after ? 3 : 1);
      ASSERT_EQ(must_read(path), expected) << size;
    }
}

TEST(Container, RepairLeavesWhatItCannotMend) {
  TemporaryFolder folder;
  const auto [before, after] = added_to(folder);
  std::string damaged = after;
  damaged[before.size() + 3] ^= 1;  // a block: its ranks are not worth the loss of the later ones
  for (const std::string& image :
       {before.substr(0, before.size() - 1), after.substr(0, 20), std::string("CHAKRAJE"), std::string(), damaged}) {
    folder.write("cut", image);
    EXPECT_FALSE(repair_container(folder.path("cut")));
    EXPECT_EQ(must_read(folder.path("cut")), image);
  }
}

TEST(Container, TwoAddOneAfterTheOther) {
  TemporaryFolder folder;
  const std::string path = folder.path("job");
  pack(path, {{0, regular_trace(0)}}, 64);
  auto first = Packer::append(path);
  ASSERT_TRUE(first);
  std::thread second([&] {
    auto packer = Packer::append(path);
    ASSERT_TRUE(packer);
    add(*packer, 2, regular_trace(2));
    ASSERT_TRUE(packer->finish());
  });
  add(*first, 1, regular_trace(1));
  EXPECT_TRUE(first->finish());
  { const auto release = std::move(first); }
  second.join();
  const auto container = Container::open(path);
  ASSERT_TRUE(container);
  EXPECT_EQ((*container)->ranks(), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Container, TheWholeJob) {
  CHAKRA_NEEDS_DATA();
  TemporaryFolder folder;
  testing::unpack(testing::data_folder() + "/stage/dense_dp8tp8pp4_L16.tar.zst", folder.path("in"));
  std::string in;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("in"))) in = entry.path().string();
  const auto files = find_ranks(in);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 256u);
  const std::string path = folder.path("job.chakra");
  auto packer = Packer::create(path);
  ASSERT_TRUE(packer);
  for (const RankFile& file : *files) ASSERT_TRUE(packer->add(file.rank, **open_records(file)));
  ASSERT_TRUE(packer->finish());
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  EXPECT_LE(size, 603'674);  // tar and zstd -19 --long=27 of the same
  for (size_t i = 0; i < files->size(); i += 5) {
    const RankFile& file = (*files)[i];
    auto container = Container::open(path);
    ASSERT_TRUE(container);
    const auto read = all_of(**(*container)->open_rank(file.rank));
    ASSERT_TRUE(read);
    ASSERT_EQ(file_of(*read), must_read(file.path)) << file.path;
    EXPECT_LE((*container)->touched() * 100, size * 5) << file.rank;
    container = Container::open(path);
    ASSERT_TRUE(all_of(**(*container)->open_rank(file.rank, 3000, 100)));
    EXPECT_LE((*container)->touched() * 100, size) << file.rank;
  }
}

}  // namespace
}  // namespace chakra::io
