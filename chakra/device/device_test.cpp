#include "chakra/device/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

namespace chakra::device {
namespace {

TEST(Table, EveryNameIsOfOneRow) {
  std::set<std::string> seen;
  for (const DeviceRow& row : kDevices) {
    EXPECT_EQ(find(row.name), &row) << row.name;
    EXPECT_TRUE(seen.insert(to_lower(row.name)).second) << row.name;
    for (const std::string& name : device(row).recorded_as) {
      EXPECT_EQ(find(name), &row) << name;
      EXPECT_TRUE(seen.insert(to_lower(name)).second) << name;
    }
  }
}

/// What no data sheet would say: a narrower type that is slower, an intensity at the ridge that no device has.
TEST(Table, RowsAreOfDevices) {
  for (const DeviceRow& row : kDevices) {
    const Device d = device(row);
    const auto of = [&](DType type) { return peak(d, type).ops_per_s; };
    EXPECT_FALSE(d.source.empty()) << row.name;
    EXPECT_GE(of(DType::f16), of(DType::f32)) << row.name;
    EXPECT_GE(of(DType::f32), of(DType::f64)) << row.name;
    EXPECT_GE(of(DType::f8), of(DType::f16)) << row.name;
    EXPECT_GE(of(DType::f4), of(DType::f8)) << row.name;
    const double ridge = of(DType::f16) / d.memory_bytes_per_s;
    EXPECT_GT(ridge, 20) << row.name;
    EXPECT_LT(ridge, 500) << row.name;
    EXPECT_GT(d.memory_bytes / d.memory_bytes_per_s, 0.01) << row.name;  // seconds to read it all
    EXPECT_LT(d.memory_bytes / d.memory_bytes_per_s, 0.1) << row.name;
  }
}

/// deviceProperties of the recordings in the test data.
TEST(Table, NamesAsRecorded) {
  for (const auto& [recorded, name] : {std::pair("NVIDIA H100 80GB HBM3", "H100-SXM"),
                                       std::pair("Tesla V100-SXM2-32GB", "V100-SXM2"),
                                       std::pair("Tesla V100-DGXS-32GB", "V100-SXM2"),
                                       std::pair("NVIDIA A100-PG509-200", "A100-SXM-40GB"),
                                       std::pair("NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"),
                                       std::pair("NVIDIA GeForce RTX 2080 Ti", "RTX-2080-Ti"),
                                       std::pair("Quadro GP100", "GP100"),
                                       std::pair("AMD Instinct MI300X", "MI300X"),
                                       std::pair("AMD Instinct MI300X VF", "MI300X"),
                                       std::pair("AMD Instinct MI210", "MI210")}) {
    ASSERT_TRUE(find(recorded)) << recorded;
    EXPECT_EQ(find(recorded)->name, name);
  }
  EXPECT_FALSE(find("AMD Radeon Graphics"));  // an MI250 among others
  EXPECT_FALSE(find(""));
  EXPECT_FALSE(find("NVIDIA"));
  EXPECT_FALSE(find("H100"));
  EXPECT_EQ(similar("h100"), "; similar names: H100-SXM, H100-PCIe, H100-NVL");
  EXPECT_EQ(similar("x"), "");
}

TEST(Peaks, StandInWhereThereIsNone) {
  const Device v100 = device(*find("V100-SXM2"));
  EXPECT_EQ(peak(v100, DType::f16).ops_per_s, 125e12);
  EXPECT_EQ(peak(v100, DType::bf16).as, DType::f32);
  EXPECT_EQ(peak(v100, DType::bf16).ops_per_s, 15.7e12);
  EXPECT_EQ(peak(v100, DType::tf32).ops_per_s, 15.7e12);
  EXPECT_EQ(peak(v100, DType::f8).as, DType::f16);
  EXPECT_EQ(peak(v100, DType::f4).as, DType::f16);
  EXPECT_EQ(peak(v100, DType::unknown).as, DType::f16);
  EXPECT_EQ(peak(v100, DType::i64).as, DType::f32);
  EXPECT_EQ(peak(device(*find("L4")), DType::f64).ops_per_s, 0);
  for (size_t t = 0; t < trace::kDTypeNames.size(); ++t)
    EXPECT_EQ(peak(Device{}, static_cast<DType>(t)).ops_per_s, 0);
}

TEST(Roofline, ByHand) {
  const Device h100 = device(*find("H100-SXM"));
  EXPECT_DOUBLE_EQ(roofline_seconds(h100, {989'400'000'000'000, 1, DType::bf16}), 1.0);
  EXPECT_DOUBLE_EQ(roofline_seconds(h100, {1, 3'350'000'000'000, DType::bf16}), 1.0);
  EXPECT_DOUBLE_EQ(roofline_seconds(h100, {}), 0.0);
  EXPECT_DOUBLE_EQ(roofline_seconds(device(*find("L4")), {1000, 300'000'000'000, DType::f64}), 1.0);
}

TEST(Rates, ByHand) {
  const Device h100 = device(*find("H100-SXM"));
  WorkSum work;
  work.add({98'940'000'000'000, 335'000'000'000, DType::bf16});  // a tenth of a second at the peak
  work.add({6'700'000'000'000, 0, DType::f32});                  // another one
  const Rates r = rates(work, picoseconds(0.5), &h100);
  EXPECT_DOUBLE_EQ(r.ops_per_s, 2 * (98.94e12 + 6.7e12));
  EXPECT_DOUBLE_EQ(r.bytes_per_s, 670e9);
  ASSERT_TRUE(r.mfu);
  EXPECT_DOUBLE_EQ(*r.mfu, 0.4);
  EXPECT_FALSE(rates(work, picoseconds(0.5), nullptr).mfu);
  EXPECT_EQ(rates(work, 0, &h100).ops_per_s, 0);
  work.add({UINT64_MAX, UINT64_MAX, DType::bf16});
  EXPECT_EQ(work.all_ops(), UINT64_MAX);
  WorkSum f64;
  f64.add({1, 0, DType::f64});
  const Device l4 = device(*find("L4"));
  EXPECT_FALSE(rates(f64, 1, &l4).mfu);
}

class File : public ::testing::Test {
 protected:
  ~File() override { std::remove(path_.c_str()); }
  Result<Device> read(const std::string& text) {
    std::ofstream(path_) << text;
    return load(path_);
  }
  std::string error(const std::string& text) {
    const auto device = read(text);
    return device ? "" : device.error().tag + ":" + std::to_string(device.error().place.line);
  }
  const std::string path_ = ::testing::TempDir() + "device.yml";
};

TEST_F(File, SaysWhatADeviceCan) {
  const auto d = read("name: own\npeaks:\n  bf16: 100\n  f32: 12.5\nmemory-bandwidth: 1e3\nmemory: 64\n"
                      "recorded-as: [Own One]\nsource: measured\n");
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_EQ(peak(*d, DType::bf16).ops_per_s, 100e12);
  EXPECT_EQ(peak(*d, DType::f32).ops_per_s, 12.5e12);
  EXPECT_EQ(d->memory_bytes_per_s, 1e12);
  EXPECT_EQ(d->memory_bytes, 64e9);
  EXPECT_EQ(d->recorded_as, std::vector<std::string>{"Own One"});
  EXPECT_EQ(find_or_load(path_)->name, "own");
  EXPECT_TRUE(read("{\"name\": \"j\", \"peaks\": {\"i8\": 1}, \"memory-bandwidth\": 1}"));
}

TEST_F(File, RefusesWhatIsNot) {
  const std::string good = "name: a\nmemory-bandwidth: 1\n";
  EXPECT_EQ(error("[1]"), "device.file.value:1");
  EXPECT_EQ(error(good), "device.file.key:1");
  EXPECT_EQ(error(good + "peaks: {}\n"), "device.file.value:3");
  EXPECT_EQ(error(good + "peaks: 7\n"), "device.file.value:3");
  EXPECT_EQ(error(good + "peaks:\n  fp16: 7\n"), "device.file.key:4");
  EXPECT_EQ(error(good + "peaks:\n  f16: 0\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks:\n  f16: -1\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks:\n  f16: 1e300\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks:\n  f16: nan\n"), "base.spec.type:4");
  EXPECT_EQ(error(good + "peaks:\n  f16: fast\n"), "base.spec.type:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nmemory-bandwith: 3\n"), "device.file.key:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nrecorded-as: H\n"), "device.file.value:4");
  EXPECT_EQ(error("name: a\npeaks: {f16: 1}\nmemory-bandwidth: 0\n"), "device.file.value:3");
  EXPECT_EQ(error(good + "peaks: {f16: 1, f16: 2}\n"), "base.spec.duplicate_key:3");
  EXPECT_EQ(find_or_load("no-such-device").error().tag, "device.name.unknown");
}

}  // namespace
}  // namespace chakra::device
