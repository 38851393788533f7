#include "chakra/base/archive.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace chakra {
namespace {

enum class Colour : uint8_t { red, blue };
struct Inner {
  std::string name;
  std::optional<double> share;
  bool operator==(const Inner&) const = default;
};
struct Outer {
  bool truth = false;
  int64_t whole = 0;
  uint64_t natural = 0;
  Colour colour = Colour::red;
  std::array<int32_t, 2> pair{};
  std::vector<Inner> list;
  std::map<uint64_t, std::vector<int64_t>> table;
  bool operator==(const Outer&) const = default;
};

}  // namespace

template <>
struct Described<Inner> {
  static void members(auto& all, auto& inner) { all(inner.name, inner.share); }
};
template <>
struct Described<Outer> {
  static void members(auto& all, auto& o) { all(o.truth, o.whole, o.natural, o.colour, o.pair, o.list, o.table); }
};

namespace {

const Outer kOuter{true,
                   std::numeric_limits<int64_t>::min(),
                   std::numeric_limits<uint64_t>::max(),
                   Colour::blue,
                   {-1, 7},
                   {{"a\0b", 0.1}, {"", std::nullopt}},
                   {{0, {}}, {9, {1, -2}}}};

TEST(Archive, ReadsWhatWasWritten) {
  ArchiveWriter writer;
  writer(kOuter);
  Outer read;
  ArchiveReader reader(writer.bytes());
  reader(read);
  EXPECT_TRUE(reader.is_whole());
  EXPECT_EQ(read, kOuter);
}

TEST(Archive, EveryPrefixAndEveryTailIsRefused) {
  ArchiveWriter writer;
  writer(kOuter);
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    Outer read;
    ArchiveReader reader(std::string_view(writer.bytes()).substr(0, size));
    reader(read);
    EXPECT_FALSE(reader.is_whole()) << size;
  }
  Outer read;
  const std::string longer = writer.bytes() + "x";
  ArchiveReader reader(longer);
  reader(read);
  EXPECT_FALSE(reader.is_whole());
}

TEST(Archive, ImpossibleSizesAllocateNothing) {
  const std::string huge(16, '\xff');
  std::vector<Inner> list;
  ArchiveReader reader(huge);
  reader(list);
  EXPECT_FALSE(reader.is_whole());
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace chakra
