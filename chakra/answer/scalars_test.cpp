// Our JSON against nlohmann's: the same text for the same value.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "chakra/answer/answer.h"

namespace chakra::answer {
namespace {

using Oracle = nlohmann::json;

std::string text_of(const Oracle& oracle) { return oracle.dump(2, ' ', false, Oracle::error_handler_t::replace); }

std::string real(double value) {
  std::string text;
  append_real(text, value);
  return text;
}

TEST(Scalars, TextsAreThoseOfNlohmann) {
  Prng random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text, ours;
    for (uint64_t n = random.below(12); n > 0; --n)
      if (random.chance(0.3)) text += static_cast<char>(random.below(256));
      else if (random.chance(0.2)) text += random.chance(0.5) ? "\u00e9" : "\U0001f600";
      else text += static_cast<char>('a' + random.below(26));
    append_text(ours, text);
    ASSERT_EQ(ours, text_of(text));
  }
}

TEST(Scalars, NumbersReadBackExactly) {
  Prng random(2);
  for (int round = 0; round < 100'000; ++round) {
    const auto number = std::bit_cast<double>(random.next());
    const std::string text = real(number);
    if (!std::isfinite(number)) {
      EXPECT_EQ(text, "null");
      continue;
    }
    EXPECT_EQ(Oracle::parse(text).get<double>(), number) << text;
    EXPECT_LE(text.size(), text_of(number).size());
  }
  for (int round = 0; round < 20'000; ++round) {
    const double number = static_cast<double>(random.between(-1'000'000, 1'000'000)) / 64;
    EXPECT_EQ(real(number), text_of(number));
  }
  for (const double number :
       {0.0, -0.0, 1.0, 1e-4, 9.9e-5, 1e14, 1e15, 1e16, 123456.75, 5e-324, 1.7976931348623157e308, 1e-7, 0.1})
    EXPECT_EQ(real(number), text_of(number));
}

}  // namespace
}  // namespace chakra::answer
