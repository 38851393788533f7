#include "chakra/base/findings.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <vector>

#include "chakra/base/prng.h"

namespace chakra {
namespace {

TEST(LimitedFindings, CountsWhatItDoesNotList) {
  LimitedFindings some;
  some.add({"a.b", Severity::note, -1, -1, "one"});
  for (int i = 0; i < 1250; ++i) some.add({"c.d", Severity::warning, -1, -1, std::to_string(i)});
  Findings findings{{"before", Severity::note, -1, -1, ""}};
  std::move(some).append_to(findings);
  ASSERT_EQ(findings.size(), 1u + 100 + 1 + 1);
  EXPECT_EQ(findings[0].tag, "before");
  EXPECT_EQ(findings[101].tag, "c.d");
  EXPECT_EQ(findings[101].severity, Severity::warning);
  EXPECT_EQ(findings[101].text, "and 1,150 more of these");
  EXPECT_EQ(findings[102].tag, "a.b");
}

TEST(LimitedFindings, PartsGiveTheSameAsOne) {
  Prng random(5);
  for (int round = 0; round < 300; ++round) {
    LimitedFindings whole(4);
    std::vector<LimitedFindings> parts(3, LimitedFindings(4));
    for (size_t part = 0; part < parts.size(); ++part)
      for (uint64_t n = random.below(30); n-- > 0;) {
        const uint64_t tag = random.below(3);
        const Finding finding{fmt::format("a.{}", tag), static_cast<Severity>(tag),
                              random.below(2) == 0 ? -1 : static_cast<int64_t>(part), -1, std::to_string(n)};
        whole.add(finding);
        parts[part].add(finding);
      }
    LimitedFindings merged(4);
    for (LimitedFindings& part : parts) merged.add(std::move(part));
    const Findings expected = std::move(whole).take(), found = std::move(merged).take();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tag, expected[i].tag);
      EXPECT_EQ(found[i].rank, expected[i].rank);
      EXPECT_EQ(found[i].severity, expected[i].severity);
      EXPECT_EQ(found[i].text, expected[i].text);
    }
  }
}

}  // namespace
}  // namespace chakra
