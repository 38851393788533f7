// Our JSON against nlohmann's: the same text for the same value.
#include "chakra/result/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "chakra/base/base.h"

namespace chakra::result {
namespace {

using Oracle = nlohmann::ordered_json;

std::string text_of(const Oracle& oracle) { return oracle.dump(2, ' ', false, Oracle::error_handler_t::replace); }

std::string random_text(Prng& random) {
  std::string text;
  for (uint64_t n = random.below(12); n > 0; --n)
    if (random.chance(0.3)) text += static_cast<char>(random.below(256));
    else if (random.chance(0.2)) text += random.chance(0.5) ? "\u00e9" : "\U0001f600";
    else text += static_cast<char>('a' + random.below(26));
  return text;
}

/// A value and the oracle's.
std::pair<Json, Oracle> random_value(Prng& random, int depth) {
  switch (random.below(depth > 3 ? 6 : 8)) {
    case 0: return {nullptr, nullptr};
    case 1: return {true, true};
    case 2: {
      const auto number = static_cast<int64_t>(random.next()) >> random.below(64);
      return {number, number};
    }
    case 3: {
      const uint64_t number = random.next() >> random.below(64);
      return {number, number};
    }
    case 4: {
      const double number = static_cast<double>(random.between(-1'000'000, 1'000'000)) / 64;
      return {number, number};
    }
    case 5: {
      const std::string text = random_text(random);
      return {text, text};
    }
    case 6: {
      Json ours = Json::array();
      Oracle theirs = Oracle::array();
      for (uint64_t n = random.below(4); n > 0; --n) {
        auto [item, oracle] = random_value(random, depth + 1);
        ours.push_back(std::move(item));
        theirs.push_back(std::move(oracle));
      }
      return {std::move(ours), std::move(theirs)};
    }
    default: {
      Json ours = Json::object();
      Oracle theirs = Oracle::object();
      for (uint64_t n = random.below(4); n > 0; --n) {
        auto [item, oracle] = random_value(random, depth + 1);
        const std::string key = "key" + std::to_string(random.below(3));
        ours[key] = std::move(item);
        theirs[key] = std::move(oracle);
      }
      return {std::move(ours), std::move(theirs)};
    }
  }
}

TEST(Json, PrintsWhatNlohmannPrints) {
  Prng random(1);
  for (int round = 0; round < 20'000; ++round) {
    const auto [ours, theirs] = random_value(random, 0);
    ASSERT_EQ(ours.text(), text_of(theirs));
  }
}

TEST(Json, OfBracesIsWhatItIsThere) {
  const Json inner{{"a", 1}};
  const Json ours{{"name", "x"},
                  {"list", {1, 2.5, "three", nullptr}},
                  {"pairs", {{"k", inner}, {"none", Json(nullptr)}}},
                  {"big", UINT64_MAX}};
  const Oracle theirs{{"name", "x"},
                      {"list", {1, 2.5, "three", nullptr}},
                      {"pairs", {{"k", {{"a", 1}}}, {"none", nullptr}}},
                      {"big", UINT64_MAX}};
  EXPECT_EQ(ours.text(), text_of(theirs));
  EXPECT_EQ(Json(std::vector<int64_t>{1, 2}).text(), text_of(Oracle(std::vector<int64_t>{1, 2})));
  EXPECT_EQ(Json().text(), "null");
  EXPECT_EQ(Json::array().text() + Json::object().text(), "[]{}");
  Json copy = ours;
  copy["name"] = "y";
  EXPECT_EQ(ours.text(), text_of(theirs));
}

TEST(Json, NumbersReadBackExactly) {
  Prng random(2);
  for (int round = 0; round < 100'000; ++round) {
    const auto number = std::bit_cast<double>(random.next());
    const std::string text = Json(number).text();
    if (!std::isfinite(number)) {
      EXPECT_EQ(text, "null");
      continue;
    }
    EXPECT_EQ(Oracle::parse(text).get<double>(), number) << text;
    EXPECT_LE(text.size(), text_of(Oracle(number)).size());
  }
  for (const double number :
       {0.0, -0.0, 1.0, 1e-4, 9.9e-5, 1e14, 1e15, 1e16, 123456.75, 5e-324, 1.7976931348623157e308, 1e-7, 0.1})
    EXPECT_EQ(Json(number).text(), text_of(Oracle(number)));
}

}  // namespace
}  // namespace chakra::result
