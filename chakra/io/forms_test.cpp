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
#include "chakra/schema/testing/random_trace.h"

namespace chakra::io {
namespace {

using testing::append;
using testing::file_of;
using testing::fill;
using testing::Messages;
using testing::must_read;
using testing::random_trace;
using testing::tag_of;
using testing::TemporaryFolder;

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

TEST(Forms, AreToldByTheirContents) {
  const google::protobuf::LogSilencer quiet;
  TemporaryFolder folder;
  Prng random(7);
  for (int round = 0; round < 50; ++round) {
    const std::string et = file_of(random_trace(random, 5));
    for (const char* form : {"et", "json", "jsonl"}) {
      const std::string bytes = write_as(et, form, folder.path("t"));
      EXPECT_EQ(form_of(bytes), find_format(form)) << form;
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
  ASSERT_EQ(form_of(eg), find_format("eg"));
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
    auto packer = pack::Packer::create(folder.path("out.chakra"));
    ASSERT_TRUE(packer);
    EtFile source(*ByteSource::from_memory(et));
    ASSERT_TRUE(add_rank(*packer, 3, source)) << path;
    ASSERT_TRUE(packer->finish());
    const auto container = pack::Container::open(folder.path("out.chakra"));
    ASSERT_TRUE(container);
    const auto read = all_of(**open_rank(**container, 3));
    ASSERT_TRUE(read) << path << read.error().message();
    ASSERT_EQ(*read, *messages) << path;
    ++files;
  }
  EXPECT_GT(files, 100u);
}

/// The .et files of `folder`, by their folder.
std::map<std::string, std::vector<std::string>> sets_in(const std::string& folder) {
  std::map<std::string, std::vector<std::string>> sets;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".et") sets[entry.path().parent_path().string()].push_back(entry.path().string());
  return sets;
}

TEST(Forms, EverySetThereIsInAContainer) {
  CHAKRA_NEEDS_DATA();
  TemporaryFolder folder;
  size_t number = 0, ranks = 0;
  for (const char* kind : {"et_proto", "stage"})
    for (const auto& entry : std::filesystem::directory_iterator(testing::data_folder() + "/" + kind)) {
      const std::string path = entry.path().string();
      if (!contains(path, "json_trace") && !contains(path, "old_two") && !contains(path, "L16"))
        testing::unpack(path, folder.path("in/" + std::to_string(number++)));
    }
  for (const auto& [name, files] : sets_in(folder.path("in"))) {
    auto packer = pack::Packer::create(folder.path("out.chakra"));
    ASSERT_TRUE(packer);
    std::vector<std::vector<std::string>> expected;
    for (const std::string& file : files) {
      const auto rank = static_cast<int64_t>(expected.size());
      const auto messages = read_as(must_read(file), "et");
      ASSERT_TRUE(messages) << file;
      expected.push_back(*messages);
      pack::RankWriter writer = packer->begin_rank(expected.back()[0]);
      schema::NodeRecord record;
      for (size_t i = 1; i < expected.back().size(); ++i) {
        ASSERT_TRUE(decode(expected.back()[i], record));
        ASSERT_TRUE(writer.node(record));
      }
      ASSERT_TRUE(packer->add(std::move(writer), rank, file));
    }
    ASSERT_TRUE(packer->finish());
    const auto container = pack::Container::open(folder.path("out.chakra"));
    ASSERT_TRUE(container);
    for (size_t rank = 0; rank < expected.size(); ++rank) {
      const auto read = all_of(**open_rank(**container, static_cast<int64_t>(rank)));
      ASSERT_TRUE(read) << name << read.error().message();
      ASSERT_EQ(*read, expected[rank]) << name << " rank " << rank;
    }
    ranks += expected.size();
  }
  EXPECT_GT(ranks, 100u);
}

TEST(Forms, TheWholeJobInAContainer) {
  CHAKRA_NEEDS_DATA();
  TemporaryFolder folder;
  testing::unpack(testing::data_folder() + "/stage/dense_dp8tp8pp4_L16.tar.zst", folder.path("in"));
  std::string in;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("in"))) in = entry.path().string();
  const auto files = find_ranks(in);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 256u);
  const std::string path = folder.path("job.chakra");
  auto packer = pack::Packer::create(path);
  ASSERT_TRUE(packer);
  for (const RankFile& file : *files) ASSERT_TRUE(add_rank(*packer, file.rank, **open_records(file)));
  ASSERT_TRUE(packer->finish());
  constexpr int64_t kTar = 603'674;  // tar and zstd -19 --long=27 of the same
  EXPECT_LE(static_cast<int64_t>(std::filesystem::file_size(path)), kTar / 4);
  for (size_t i = 0; i < files->size(); i += 5) {
    const RankFile& file = (*files)[i];
    auto container = pack::Container::open(path);
    ASSERT_TRUE(container);
    const auto read = all_of(**open_rank(**container, file.rank));
    ASSERT_TRUE(read);
    ASSERT_EQ(file_of(*read), must_read(file.path)) << file.path;
    EXPECT_LE((*container)->touched() * 100, kTar * 5) << file.rank;
    container = pack::Container::open(path);
    ASSERT_TRUE(all_of(**open_rank(**container, file.rank, 3000, 100)));
    EXPECT_LE((*container)->touched() * 100, kTar) << file.rank;
  }
}

}  // namespace
}  // namespace chakra::io
