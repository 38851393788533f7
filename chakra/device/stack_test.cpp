#include "chakra/device/stack.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "chakra/device/device.h"

namespace chakra::device {
namespace {

class StackFile : public ::testing::Test {
 protected:
  Result<Stack> read(const std::string& text) {
    std::ofstream(path_) << text;
    return find_or_load_stack(path_);
  }
  std::string error(const std::string& text) {
    const auto stack = read(text);
    return stack ? "none" : stack.error().tag + ":" + std::to_string(stack.error().place.line);
  }
  const std::string path_ = ::testing::TempDir() + "stack.yml";
};

TEST(Stacks, EachHasASourceAndNumbersThatCanBe) {
  for (const StackRow& row : kStacks) {
    const auto stack = find_or_load_stack(std::string(row.name));
    ASSERT_TRUE(stack) << row.name;
    EXPECT_FALSE(stack->source.empty()) << row.name;
    EXPECT_GE(stack->elementwise_time, 0.3) << row.name;  // everything fused still reads and writes
    EXPECT_LE(stack->elementwise_time, 4) << row.name;
    for (const AttentionRate& rate : stack->attention) {
      const DeviceRow* const device = find(rate.device + "-SXM");
      const DeviceRow* const other = device ? device : find(rate.device + "-SXM-80GB");
      ASSERT_TRUE(other) << rate.device;
      EXPECT_LT(rate.ops_per_s, peak(chakra::device::device(*other), DType::bf16).ops_per_s) << row.name;
    }
  }
}

TEST_F(StackFile, ChangesTheDeviceThatItNames) {
  const auto stack = read(
      "name: own\nattention: {H100: 300, H100-NVL: 200, A100: 100}\nelementwise-time: 1.5\nhost-us: 9\n"
      "dispatch-ranks: 4\nexpert-us: 500\n");
  ASSERT_TRUE(stack) << stack.error().message();
  const auto rate = [&](const char* name) {
    Device device = chakra::device::device(*find(name));
    use_stack(*stack, device);
    EXPECT_EQ(device.stack.name, "own");
    EXPECT_EQ(device.stack.elementwise_time, 1.5);
    EXPECT_DOUBLE_EQ(device.host_s, 9e-6);
    EXPECT_DOUBLE_EQ(device.stack.expert_layer_s, 500e-6);
    return device.stack.attention_ops_per_s;
  };
  EXPECT_EQ(rate("H100-SXM"), 300e12);
  EXPECT_EQ(rate("H100-NVL"), 200e12);
  EXPECT_EQ(rate("A100-SXM-80GB"), 100e12);
  EXPECT_EQ(rate("V100-SXM2"), 0);
}

TEST_F(StackFile, RefusesWhatIsNot) {
  EXPECT_EQ(error("[1]"), "device.stack.value:1");
  EXPECT_EQ(error("elementwise-time: 2\n"), "device.stack.key:1");
  EXPECT_EQ(error("name: a\nattention: 7\n"), "device.stack.value:2");
  EXPECT_EQ(error("name: a\nattention: {H100: 0}\n"), "device.stack.value:2");
  EXPECT_EQ(error("name: a\nelementwise-time: 0\n"), "device.stack.value:2");
  EXPECT_EQ(error("name: a\nhost-us: -1\n"), "device.stack.value:2");
  EXPECT_EQ(error("name: a\nhost: 1\n"), "device.stack.key:2");
  EXPECT_EQ(find_or_load_stack("no-such-stack").error().tag, "device.stack.unknown");
}

}  // namespace
}  // namespace chakra::device
