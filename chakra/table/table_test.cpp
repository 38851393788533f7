#include "chakra/table/table.h"

#include <gtest/gtest.h>

namespace chakra::table {
namespace {

TEST(Show, EveryKindHasItsUnit) {
  EXPECT_EQ(show(std::string("x"), Table::Kind::text), "x");
  EXPECT_EQ(show(int64_t{1234}, Table::Kind::text), "1234");
  EXPECT_EQ(show(int64_t{1234}, Table::Kind::count), "1,234");
  EXPECT_EQ(show(2048.0, Table::Kind::bytes), "2.0 KiB");
  EXPECT_EQ(show(int64_t{2'000'000}, Table::Kind::time_ps), "2.000 us");
  EXPECT_EQ(show(5e9, Table::Kind::rate_bytes_per_s), "5.0 GB/s");
  EXPECT_EQ(show(0.25, Table::Kind::share), "25.00 %");
}

}  // namespace
}  // namespace chakra::table
