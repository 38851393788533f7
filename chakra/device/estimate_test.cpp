#include "chakra/device/estimate.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chakra/base/number_rows.h"
#include "chakra/base/testing/testing.h"
#include "chakra/device/device.h"

namespace chakra::device {
namespace {

constexpr double kPeak = 100e12, kBandwidth = 1e12;

/// A table of a kind whose kernels take `times` their bytes, or operations, at any size, and `fixed` seconds.
KernelTable table(const Device& device, const char* name, double times, double fixed) {
  std::vector<MeasuredKernel> measured;
  const KernelKind& kind = *find_kernel_kind(name);
  for (int i = 0; i < 30; ++i) {
    Sizes sizes{1, 1, 1, 1, 1};
    for (size_t s = 0; s < kind.size(); ++s) sizes[s] = std::floor(std::exp2(i * 0.9));
    const RooflineParts parts = roofline_parts(device, kind, DType::f16, sizes);
    measured.push_back({sizes, times * std::max(parts.ops_s, parts.bytes_s()) + fixed});
  }
  return {device, name, DType::f16, {}, measured};
}

Device device_of(const std::vector<std::pair<const char*, double>>& kinds, double fixed = 0) {
  Device device = plain("d", kPeak, kBandwidth);
  device.ops_per_s[1] = kPeak / 10;  // f32
  for (const auto& [name, times] : kinds) device.kernels.push_back(table(device, name, times, fixed));
  return device;
}

/// A device file with a table of 40 sums, medians that cannot be those of its rows, and a checksum for them.
struct ClassesFile {
  std::string peak = "100", bandwidth = "1000", rows, checksum, classes, of;

  ClassesFile() {
    for (int i = 0; i < 40; ++i) rows += fmt::format("{}[{},1000,{}]", i ? "," : "[", 1000 + 1000 * i, 20 + i);
    rows += "]";
    checksum = text_checksum(rows);
    Device device = plain("d", kPeak, kBandwidth);
    classes = R"("memory": 7, "seconds": 9e-06)";
    of = class_checksum(device, {device, "add", DType::f16, {}, {MeasuredKernel{{1, 1}, 1}}}, checksum);
  }
  Result<ClassPrices> prices() const {
    const testing::TemporaryFolder folder;
    CHAKRA_ASSIGN(const Device device,
                  load(folder.write("d.json", fmt::format(R"({{"name": "d", "peaks": {{"f16": {}}},
"memory-bandwidth": {}, "kernels": [{{"kernel": "add", "type": "f16",
"classes": {{{}, "of": "{}"}}, "checksum": "{}", "measured": {}}}]}})",
                                                          peak, bandwidth, classes, of, checksum, rows))));
    return *device.prices;
  }
};

TEST(Estimate, MediansOfAFileCountUntilTheirRowsOrRatesChange) {
  const auto with = [](auto change) {
    ClassesFile file;
    change(file);
    return file.prices();
  };
  const auto unchanged = with([](ClassesFile&) {});
  ASSERT_TRUE(unchanged) << unchanged.error().message();
  EXPECT_EQ(unchanged->memory.times, 7);
  EXPECT_EQ(unchanged->fixed_s, 9e-6);
  EXPECT_EQ(with([](ClassesFile& f) { f.peak = "200"; })->memory.times, 7);  // sums have no operations
  for (const auto& changed :
       {with([](ClassesFile& f) { f.rows.replace(f.rows.find(",20]"), 4, ",30]"); }),
        with([](ClassesFile& f) { f.bandwidth = "1001"; }), with([](ClassesFile& f) { f.of = "00000000"; }),
        with([](ClassesFile& f) { f.checksum = "00000000"; }), with([](ClassesFile& f) { f.checksum = f.of; })}) {
    ASSERT_TRUE(changed);
    EXPECT_LT(changed->memory.times, 2);
    EXPECT_EQ(changed->fixed_s, kUsualPrices.fixed_s);
  }
  for (const char* bad : {R"("memory": 0)", R"("memory": "much")", R"("bytes": 1)", R"("memory": [1])"}) {
    const auto refused = with([&](ClassesFile& f) { f.classes = bad; });
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().place.line, 3) << bad;
  }
}

TEST(Estimate, AClassIsTheMedianOfItsKinds) {
  const ClassPrices prices = prices_of(device_of({{"add", 1.2}, {"norm", 2}, {"rope", 3}, {"gemm", 1.25}}));
  EXPECT_NEAR(prices.memory.times, 2, 1e-6);
  // Each by the others: 1.2 by sqrt(2 x 3), 2 by sqrt(1.2 x 3), 3 by sqrt(1.2 x 2).
  const double off = (std::log(std::sqrt(6.0) / 1.2) + std::log(2 / std::sqrt(3.6)) + std::log(3 / std::sqrt(2.4))) / 3;
  EXPECT_NEAR(prices.memory.error, std::exp(off) - 1, 1e-6);
  EXPECT_NEAR(prices.compute.times, 1.25, 1e-6);
  EXPECT_EQ(prices.compute.error, kUsualPrices.compute.error);  // of one kind nobody knows the spread
}

TEST(Estimate, WithoutTablesTheUsualPricesHold) {
  const ClassPrices prices = prices_of(device_of({}));
  EXPECT_EQ(prices.compute.times, kUsualPrices.compute.times);
  EXPECT_EQ(prices.memory.error, kUsualPrices.memory.error);
  EXPECT_EQ(prices.fixed_s, kUsualPrices.fixed_s);
}

TEST(Estimate, WhatEveryKernelTakesIsFoundAtSmallSizes) {
  const ClassPrices prices = prices_of(device_of({{"add", 1}, {"norm", 1}, {"rope", 1}}, 4e-6));
  EXPECT_NEAR(prices.fixed_s, 4e-6, 1e-6);
}

TEST(Estimate, APriceIsThatOfTheClass) {
  const Device device = device_of({});
  const ClassPrices prices{{1.5, 0.3}, {2, 0.6}, 3e-6, 0.4};
  const Price compute = price(device, {1'000'000'000'000, 1000, DType::f16}, prices);
  EXPECT_EQ(compute.of, KernelClass::compute);
  EXPECT_NEAR(compute.seconds, 1.5 * 10e-3 + 3e-6, 1e-9);
  EXPECT_NEAR(compute.error, 0.3, 1e-3);
  const Price memory = price(device, {0, 1'000'000'000, DType::f16}, prices);
  EXPECT_EQ(memory.of, KernelClass::memory);
  EXPECT_NEAR(memory.seconds, 2e-3 + 3e-6, 1e-9);
  EXPECT_EQ(price(device, {0, 1000, DType::f16}, prices).of, KernelClass::latency);
  EXPECT_EQ(price(device, {}, prices).seconds, 0);
  // Wider elements: the same bytes are fewer elements.
  EXPECT_NEAR(price(device, {0, 1'000'000'000, DType::f32}, prices).seconds, 1.5e-3 + 3e-6, 1e-9);
}

TEST(Estimate, NothingIsFasterThanTheRoofline) {
  Device device = device_of({{"add", 1.1}, {"norm", 2}, {"gemm", 1.3}});
  device.prices = prices_of(device);
  for (uint64_t ops = 1; ops < uint64_t{1} << 50; ops *= 7)
    for (uint64_t bytes = 1; bytes < uint64_t{1} << 45; bytes *= 5)
      EXPECT_GT(predict(device, {ops, bytes, DType::f16}).seconds, roofline_seconds(device, {ops, bytes, DType::f16}));
}

TEST(Estimate, ALongJobSlowsProductsOfTypesWithUnitsOfTheirOwn) {
  Device device = device_of({});
  device.sustained_time = 1.2;
  EXPECT_EQ(sustained(device, DType::f16, 0.7), 1.2);
  EXPECT_NEAR(sustained(device, DType::f16, 0.25), 1.1, 1e-9);
  EXPECT_EQ(sustained(device, DType::f32, 0.7), 1);
  EXPECT_NEAR(sustained(device, DType::f8, 0.7), 1.1, 1e-9);
}

}  // namespace
}  // namespace chakra::device
