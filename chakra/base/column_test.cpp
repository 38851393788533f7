// Columns against vectors: whatever is done to one of those that share bytes, the others do not see it.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra {
namespace {

/// A value so large that a few rows take a large block.
struct Page {
  uint32_t value = 0;
  std::array<char, kLargeBlock / 8 - sizeof(uint32_t)> rest;

  Page(uint32_t v = 0) : value(v) {}  // NOLINT: the rest is not compared
  bool operator==(const Page& other) const { return value == other.value; }
};

/// Do random things to columns that share bytes, and to vectors, of at most about `most` rows.
template <class T>
void compare_with_vectors(int rounds, size_t most) {
  Prng random(1);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Column<T>> columns(1);
    std::vector<std::vector<T>> vectors(1);
    for (int step = 0; step < 200; ++step) {
      const size_t i = random.below(columns.size());
      Column<T>& column = columns[i];
      std::vector<T>& vector = vectors[i];
      const auto number = static_cast<uint32_t>(random.below(1000));
      const T value(number);
      switch (random.below(9)) {
        case 0:
        case 1:
        case 2: column.push_back(value), vector.push_back(value); break;
        case 3: {
          const size_t size = random.below(most);
          column.resize(size, value), vector.resize(size, value);
          break;
        }
        case 4:
          if (vector.empty()) break;
          column.edit(number % vector.size()) = value, vector[number % vector.size()] = value;
          break;
        case 5: {
          const std::vector<T> more(random.below(most * 2 / 3), value);
          column.append(more), vector.insert(vector.end(), more.begin(), more.end());
          break;
        }
        case 6:
          if (random.chance(0.1)) column.clear(), vector.clear();
          else if (!vector.empty()) column.push_back(column[0]), vector.push_back(T(vector[0]));
          break;
        case 7:
          if (columns.size() >= 6) columns.erase(columns.begin()), vectors.erase(vectors.begin());
          break;
        case 8: {
          Column<T> copy = column;
          EXPECT_TRUE(copy.shares_with(column));
          std::vector<T> same = vector;
          columns.push_back(std::move(copy)), vectors.push_back(std::move(same));
          break;
        }
      }
      for (size_t c = 0; c < columns.size(); ++c) ASSERT_TRUE(columns[c] == std::span<const T>(vectors[c])) << round;
    }
  }
}

TEST(Column, OfEqualOwnersDoNotSeeWhatOthersDo) { compare_with_vectors<uint32_t>(200, 60); }
/// Kernels before 6.17 move single mappings only.
TEST(Column, GrowsInOneMapping) {
  Column<uint64_t> column;
  while (column.size() < kLargeBlock) column.push_back(column.size());
  const auto first = reinterpret_cast<uintptr_t>(column.data()), last = reinterpret_cast<uintptr_t>(&column.back());
  std::ifstream maps("/proc/self/maps");
  int inside = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    inside += begin <= last && end > first;
  }
  EXPECT_EQ(inside, 1);
  for (size_t i = 0; i < column.size(); ++i) ASSERT_EQ(column[i], i);
}

TEST(Column, OfLargeBlocksIsLikeAnyOther) { compare_with_vectors<Page>(3, 12); }

TEST(Column, TakesMemoryOnlyWhereItDiffers) {
  Column<int64_t> a;
  a.resize(1000, 7);
  Column<int64_t> b = a;
  EXPECT_EQ(a.data(), b.data());
  a.push_back(8);  // beyond what b has: in place if there is room, and b does not see it
  EXPECT_EQ(b.size(), 1000u);
  b.edit(0) = 1;
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(a[0], 7);
  EXPECT_FALSE(a == b);
  b = a;
  EXPECT_TRUE(a.shares_with(b));
}

TEST(Arena, CopiesKeepTheirTextsAlive) {
  std::vector<std::string_view> texts;
  Arena copy;
  {
    Arena first;
    texts.push_back(first.add("one"));
    copy = first;
    texts.push_back(copy.add("two"));
    first.add("three");
  }
  EXPECT_EQ(texts[0], "one");
  EXPECT_EQ(texts[1], "two");
}

TEST(StringPool, CopiesShareUntilOneGetsAnother) {
  StringPool a;
  std::vector<StringId> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(a.intern(std::to_string(i)));
  StringPool b = a;
  EXPECT_EQ(b.intern("999"), ids[999]);
  EXPECT_EQ(b[ids[7]].data(), a[ids[7]].data());
  const StringId only_b = b.intern("new");
  EXPECT_EQ(a.find("new"), 0u);
  EXPECT_EQ(a.intern("other"), only_b);  // each counts for itself
  EXPECT_EQ(b[only_b], "new");
  EXPECT_EQ(a[only_b], "other");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.find(std::to_string(i)), ids[static_cast<size_t>(i)]);
    EXPECT_EQ(b.find(std::to_string(i)), ids[static_cast<size_t>(i)]);
  }
}

}  // namespace
}  // namespace chakra
