#include "chakra/result/result.h"

#include <gtest/gtest.h>

namespace chakra::result {
namespace {

TEST(AddTable, MakesColumnsOfThoseWithAKey) {
  using Kind = Table::Kind;
  const Table t{"Ranks of a job",
                {{"rank", Kind::id, "rank", "the rank"},
                 {"span", Kind::time_ps, "span_ps", "its time"},
                 {"", Kind::share},
                 {"rate", Kind::rate_bytes_per_s, "rate", "how fast", answer::Missing::unknown},
                 {"ratio", Kind::real, "ratio", "by the other", answer::Missing::empty}},
                {{int64_t{0}, int64_t{1500}, 0.5, 2e9, 0.25},
                 {int64_t{1}, int64_t{-2000}, 0.5, std::string("unknown"), std::string()}}};
  answer::Builder to("test");
  add_table(to, "ranks", t);
  const answer::Answer answer = std::move(to).finish();
  EXPECT_EQ(answer.table("ranks")->meaning, "ranks of a job");
  EXPECT_EQ(to_json_text(answer), R"({
  "ranks": [
    {
      "rank": 0,
      "span_ns": 1.5,
      "span_ps": 1500,
      "rate": 2000000000.0,
      "ratio": 0.25
    },
    {
      "rank": 1,
      "span_ns": -2,
      "span_ps": -2000,
      "rate": "unknown",
      "ratio": ""
    }
  ]
}
)");
}

}  // namespace
}  // namespace chakra::result
