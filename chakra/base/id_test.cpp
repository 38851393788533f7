#include "chakra/base/id.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <unordered_set>
#include <vector>

#include "chakra/base/column.h"

namespace chakra {
namespace {

using Cat = Id<struct CatTag>;
using Dog = Id<struct DogTag>;

// An array of ids is one of numbers.
static_assert(sizeof(Cat) == 4 && std::is_trivially_copyable_v<Cat> && std::is_trivially_default_constructible_v<Cat>);

// An integer becomes an id only where that is said.
static_assert(std::is_constructible_v<Cat, int> && std::is_constructible_v<Cat, size_t>);
static_assert(!std::is_convertible_v<int, Cat> && !std::is_convertible_v<uint32_t, Cat>);
static_assert(!std::is_assignable_v<Cat&, int> && !std::is_assignable_v<Cat&, uint32_t>);
static_assert(!std::is_constructible_v<Cat, double>);

// An id is an integer.
static_assert(std::is_convertible_v<Cat, uint32_t> && std::is_convertible_v<Cat, size_t>);

// One of another kind it is not, nor can it be made one.
static_assert(!std::is_convertible_v<Dog, Cat> && !std::is_constructible_v<Cat, Dog> &&
              !std::is_assignable_v<Cat&, Dog>);
template <class A, class B>
concept Compare = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept Order = requires(A a, B b) {
  a < b;
};
static_assert(Compare<Cat, Cat> && Compare<Cat, uint32_t> && Compare<size_t, Cat> && !Compare<Cat, Dog>);
static_assert(Order<Cat, Cat> && Order<Cat, uint32_t> && Order<size_t, Cat> && !Order<Cat, Dog>);

// Distances.
template <class A, class B>
concept AddsToId = requires(A a, B b) {
  { a + b } -> std::same_as<A>;
};
static_assert(AddsToId<Cat, int> && AddsToId<Cat, uint32_t>);
static_assert(!AddsToId<Cat, size_t> && !AddsToId<Cat, Cat> && !AddsToId<Cat, Dog>);
static_assert(std::is_same_v<decltype(Cat(3) - Cat(1)), uint32_t>);
static_assert(std::is_same_v<decltype(Cat(3) + size_t{1}), size_t>);

TEST(Id, IsOrderedMovedAndAnIndex) {
  Cat cat(1);
  const Cat two(2);
  EXPECT_LT(cat, two);
  EXPECT_EQ(++cat, two);
  EXPECT_EQ(cat--, 2u);
  EXPECT_EQ(cat + 1, two);
  EXPECT_EQ(two - 1, cat);
  EXPECT_EQ(two - cat, 1u);
  EXPECT_EQ(Cat(UINT32_MAX) + size_t{1}, size_t{1} << 32);  // as of the number: nothing is cut off
  const std::vector<int> values{10, 11, 12};
  EXPECT_EQ(values[two], 12);
  const Column<Cat> column{two, cat};
  EXPECT_EQ(column[cat], cat);
}

TEST(Id, IsHashedAndFormattedAsItsNumber) {
  const std::unordered_set<Cat> cats{Cat(1), Cat(2), Cat(1)};
  EXPECT_EQ(cats.size(), 2u);
  EXPECT_EQ(fmt::format("{} {:>3}", Cat(7), Cat(8)), "7   8");
  EXPECT_EQ(std::vector<Cat>(2), (std::vector{Cat(0), Cat(0)}));
}

TEST(Ids, AreARange) {
  const IdRange<Cat> some = ids(Cat(2), Cat(4));
  EXPECT_EQ(std::vector<Cat>(some.begin(), some.end()), (std::vector{Cat(2), Cat(3)}));
  uint32_t count = 0;
  for (const Cat cat : ids<Cat>(3)) EXPECT_EQ(cat, count++);
  EXPECT_EQ(count, 3u);
  for (const Cat cat : ids<Cat>(0)) ADD_FAILURE() << cat;
}

#ifdef CHAKRA_SLOW_ASSERTIONS
TEST(Contract, OfIds) {
  EXPECT_DEATH((void)Cat(-1), "in_range");
  EXPECT_DEATH((void)Cat(uint64_t{1} << 32), "in_range");
}
#endif

}  // namespace
}  // namespace chakra
