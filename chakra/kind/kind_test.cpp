// Every kind is told by its beginning, and by its name only where nothing else tells.
#include "chakra/kind/kind.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "chakra/base/testing/testing.h"

namespace chakra::kind {
namespace {

using namespace std::string_view_literals;

std::string_view name_of(const Row* row) { return row ? row->name : ""; }

const std::vector<std::pair<std::string_view, std::string_view>> kSamples{
    {"container", "CHAKRAJB\1\0\0\0"sv},
    {"json", " {\n \"chakraTrace\": \"json/1\""},
    {"json", "\xef\xbb\xbf{\"metadata\": {}"},
    {"jsonl", "{\"chakraTrace\":\"jsonl/1\"}"},
    {"jsonl", "{}\n{\"id\": 1}"},
    {"host", "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": ["},
    {"host", "{ \"nodes\": [{\"rf_id\": 1"},
    {"kineto", "{\"schemaVersion\": 1, \"traceEvents\": ["},
    {"eg", "\x04\x08\x00\x12\x00"sv},
    {"et", "\x07\x0a\x05\x30.0.4"sv},
    {"et", "\x00"sv},
    {"", ""},
    {"", "hello"},
    {"", "DATA\nx\n"},
    {"", "DATA"},
    {"", "digraph {}"},
    {"", "<svg/>"},
    {"", "{\"nodes\": []}"},
    {"", "[1, 2]"}};

TEST(Kinds, AreToldByTheirBeginning) {
  for (const auto& [name, head] : kSamples) {
    const Row* const row = recognise(head, kAllGroups);
    EXPECT_EQ(name_of(row), name) << head;
    if (row) EXPECT_EQ(recognise(head, row->group), row) << head;
  }
}

TEST(Kinds, OfAFileThenByItsName) {
  chakra::testing::TemporaryFolder folder;
  for (const auto& [name, head] : kSamples) {
    const auto row = recognise(folder.write("some.file", head));
    ASSERT_TRUE(row);
    EXPECT_EQ(name_of(*row), name) << head;
  }
  EXPECT_EQ(name_of(*recognise(folder.write("ranks.json", "{}"))), "ranks");
  EXPECT_EQ(name_of(*recognise(folder.write("other.json", "{}"))), "");
  EXPECT_EQ(chakra::testing::tag_of(recognise(folder.path("absent"))), "base.file.open");
}

TEST(Kinds, NoBeginningHarmsThem) {
  Prng random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string head(random.below(40), '\0');
    for (char& c : head)
      c = random.chance(0.5) ? "{\"\n <\x08\x0a\x12"[random.below(8)] : static_cast<char>(random.next());
    (void)recognise(head, kAllGroups);
  }
}

}  // namespace
}  // namespace chakra::kind
