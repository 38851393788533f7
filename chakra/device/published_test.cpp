#include "chakra/device/published.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chakra/device/device.h"
#include "chakra/device/stack.h"

namespace chakra::device {
namespace {

TEST(Published, RangesHaveThePredictionInsideAndCoverWhatTheirNumberOfStepsAllows) {
  for (const PublishedSteps& row : kPublishedSteps) {
    EXPECT_LT(0, row.least) << row.source;
    EXPECT_LE(row.least, 1) << row.source;
    EXPECT_GE(row.most, 1) << row.source;
    const auto n = static_cast<double>(row.steps);
    EXPECT_NEAR(row.covers, row.steps < 40 ? (n - 1) / (n + 1) : 0.9, 0.006) << row.source;
    if (!row.stack.empty()) EXPECT_TRUE(find_or_load_stack(std::string(row.stack))) << row.stack;
  }
}

/// A device with or without a table of measured kernels, and what it has published steps of.
const PublishedSteps* steps_on(const char* name, const std::string& stack, bool kernels, bool experts,
                               Measured what = Measured::step) {
  Device device = chakra::device::device(*find(name));
  std::vector<MeasuredKernel> measured;
  for (int i = 1; i <= 30; ++i) measured.push_back({{100.0 * i, 1000}, 1e-6 * i});
  if (kernels) device.kernels.emplace_back(device, "add", DType::f16, KernelConstants{}, measured);
  EXPECT_TRUE(use_stack(stack, device));
  return published_steps(device, experts, what);
}

TEST(Published, ClassesAreByStackDeviceFileAndExperts) {
  const auto* const own = steps_on("H100-SXM", "megatron-te", true, false);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->stack, "megatron-te");
  const auto* const experts = steps_on("H100-SXM", "torchtitan", true, true);
  ASSERT_TRUE(experts);
  EXPECT_TRUE(experts->experts);
  EXPECT_GT(experts->most, own->most);
  EXPECT_NE(experts, steps_on("H100-SXM", "megatron-te", true, true));  // has the price of a dispatch
  const auto* const plain = steps_on("A100-SXM-80GB", "", true, false);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain, steps_on("H100-SXM", "kernels", true, false));
  EXPECT_GT(plain->most, own->most);
  const auto* const sheet = steps_on("H100-SXM", "", false, false);
  ASSERT_TRUE(sheet);
  EXPECT_GT(sheet->most, plain->most);
}

TEST(Published, NoStepsNoClass) {
  EXPECT_FALSE(steps_on("H100-SXM", "vllm", true, false));          // serves
  EXPECT_FALSE(steps_on("H100-SXM", "megatron-te", false, false));  // no such predictions were compared
  EXPECT_FALSE(steps_on("MI300X", "", true, false));
  EXPECT_FALSE(steps_on("H200-SXM", "", true, false));
  Device device = chakra::device::device(*find("H100-SXM"));
  device.others = WorkConstants{};
  EXPECT_FALSE(published_steps(device, false));
}

TEST(Published, TimesOfServingAreAnotherClass) {
  for (const char* stack : {"vllm", "trtllm"}) {
    const auto *const token = steps_on("H100-SXM", stack, true, false, Measured::token), *const first = steps_on(
                                                                                             "H100-SXM", stack, true,
                                                                                             false,
                                                                                             Measured::first_token);
    ASSERT_TRUE(token && first) << stack;
    EXPECT_EQ(token->stack, stack);
    EXPECT_LT(token->most / token->least, first->most / first->least);  // the queue has no price
    EXPECT_FALSE(steps_on("H100-SXM", stack, true, true, Measured::token));
  }
  EXPECT_TRUE(steps_on("H100-SXM", "sglang", true, false, Measured::token));
  EXPECT_FALSE(steps_on("H100-SXM", "sglang", true, false, Measured::first_token));
  EXPECT_FALSE(steps_on("H100-SXM", "", true, false, Measured::token));
}

TEST(Published, MoreChangedOptionsAreNotBetterKnown) {
  for (const PublishedSteps& row : kPublishedSteps)
    for (const PublishedPairs& pairs : row.pairs) {
      EXPECT_GT(pairs.factor, 1) << row.source;
      EXPECT_LT(pairs.factor, row.most / row.least) << row.source;  // a part of the error is that of both steps
      EXPECT_NEAR(pairs.covers, 0.9, 0.07) << row.source;
      for (const PublishedPairs& fewer : row.pairs)
        if ((fewer.options & ~pairs.options) == 0) EXPECT_LE(fewer.factor, pairs.factor) << row.source;
    }
}

TEST(Published, PairsAreOfOneClassAndOfThoseOptions) {
  const auto *const fsdp = steps_on("H100-SXM", "fsdp-eager", true, false),
                    *const plain = steps_on("H100-SXM", "", true, false),
                    *const te = steps_on("H100-SXM", "megatron-te", true, false);
  const unsigned dp = bit(StepOption::dp), device = bit(StepOption::device), tp = bit(StepOption::tp);
  ASSERT_TRUE(published_pairs(*fsdp, *fsdp, dp) && published_pairs(*fsdp, *fsdp, device));
  EXPECT_EQ(published_pairs(*fsdp, *fsdp, dp)->options, dp);
  EXPECT_TRUE(published_pairs(*fsdp, *fsdp, dp | device)->options & device);
  EXPECT_FALSE(published_pairs(*fsdp, *fsdp, 0));
  EXPECT_FALSE(published_pairs(*fsdp, *fsdp, tp));  // no published step of FSDP has them
  EXPECT_FALSE(published_pairs(*fsdp, *plain, device));
  EXPECT_FALSE(published_pairs(*te, *te, dp));
  ASSERT_TRUE(published_pairs(*plain, *plain, tp));
  EXPECT_FALSE(published_pairs(*plain, *plain, tp | device));
  const auto* const tokens = steps_on("H100-SXM", "vllm", true, false, Measured::token);
  EXPECT_TRUE(published_pairs(*tokens, *tokens, tp | bit(StepOption::batch)));
  EXPECT_FALSE(published_pairs(*tokens, *tokens, bit(StepOption::pp)));  // no published server has stages
}

}  // namespace
}  // namespace chakra::device
