#include "chakra/device/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
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

/// Narrower types are at least as fast, and the intensity at the ridge is one that devices have.
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

/// Rows of one kind of chip, and the ratios of their peaks. A number with sparsity among dense ones is twice too large;
/// data sheets round by a few percent.
struct Chips {
  std::vector<std::string_view> rows;
  double f16_to_f32, f64_to_f32;
  double tf32, bf16, f8, f4, i8;  ///< to f16
};

TEST(Table, PeaksAreInTheRatiosOfTheirChips) {
  const std::vector<Chips> all{
      {{"P100-SXM2", "P100-PCIe", "P100-PCIe-12GB", "GP100"}, 2, 0.5, 0, 0, 0, 0, 0},
      {{"V100-SXM2", "V100-SXM2-16GB", "V100-PCIe", "V100-PCIe-16GB", "V100S-PCIe"}, 8, 0.5, 0, 0, 0, 0, 0},
      {{"T4"}, 8, 0, 0, 0, 0, 0, 2},
      {{"RTX-2080-Ti"}, 4, 0, 0, 0, 0, 0, 4},  // f16 with sums in f32 at half the rate
      {{"A100-SXM-40GB", "A100-SXM-80GB", "A100-PCIe-40GB", "A100-PCIe-80GB", "A800-SXM-80GB", "A800-PCIe-80GB", "A30"},
       16,
       1,
       0.5,
       1,
       0,
       0,
       2},
      {{"A40", "A10", "RTX-A6000"}, 4, 0, 0.5, 1, 0, 0, 2},
      {{"A10G"}, 2, 0, 0.5, 1, 0, 0, 2},
      {{"RTX-3090"}, 2, 0, 0.5, 1, 0, 0, 4},  // as the RTX 2080 Ti
      {{"L4", "L40S"}, 4, 0, 0.5, 1, 2, 0, 2},
      {{"L40", "L20"}, 2, 0, 0.5, 1, 2, 0, 2},
      {{"RTX-4090"}, 2, 0, 0.5, 1, 2, 0, 4},
      {{"RTX-5090"}, 2, 0, 0.5, 1, 2, 8, 4},
      {{"H100-SXM", "H100-PCIe", "H100-NVL", "H200-SXM", "H200-NVL", "GH200-96GB", "GH200-144GB"},
       14.4,  // 16 a clock, but the data sheet's clocks differ
       1,
       0.5,
       1,
       2,
       0,
       2},
      {{"H800-SXM"}, 14.4, 1 / 67.0, 0.5, 1, 2, 0, 2},
      {{"H800-PCIe"}, 14.4, 0, 0.5, 1, 2, 0, 2},
      {{"H20", "H20-3e"}, 148 / 44.0, 1 / 44.0, 0.5, 1, 2, 0, 2},
      {{"B200", "GB200"}, 30.6, 0.5, 0.5, 1, 2, 4, 2},
      {{"B300", "GB300"}, 30.6, 1 / 61.0, 0.5, 1, 2, 6, 1 / 15.0},
      {{"MI100"}, 4, 0.25, 0, 0.5, 0, 0, 1},
      {{"MI210", "MI250", "MI250X"}, 4, 1, 0, 1, 0, 0, 1},
      {{"MI300A", "MI300X", "MI325X"}, 8, 1, 0.5, 1, 2, 0, 2},
      {{"MI350X", "MI355X"}, 16, 0.5, 0, 1, 2, 4, 2},
  };
  std::set<std::string_view> left;
  for (const DeviceRow& row : kDevices) left.insert(row.name);
  for (const Chips& chips : all)
    for (const std::string_view name : chips.rows) {
      ASSERT_EQ(left.erase(name), 1u) << name;
      const auto& [f64, f32, tf32, f16, bf16, f8, f4, i8] = find(name)->tera_ops_per_s;
      const auto expect = [&](double value, double of, double ratio, const char* type) {
        EXPECT_NEAR(value / of, ratio, 0.04 * ratio) << name << " " << type;
      };
      expect(f16, f32, chips.f16_to_f32, "f16");
      expect(f64, f32, chips.f64_to_f32, "f64");
      expect(tf32, f16, chips.tf32, "tf32");
      expect(bf16, f16, chips.bf16, "bf16");
      expect(f8, f16, chips.f8, "f8");
      expect(f4, f16, chips.f4, "f4");
      expect(i8, f16, chips.i8, "i8");
    }
  EXPECT_TRUE(left.empty()) << *left.begin();
}

/// "A100-SXM4-80GB" has 80 GiB less a reserve of the driver. GH200's names have the memory of the host.
TEST(Table, NamesHaveTheSizeOfTheMemory) {
  for (const DeviceRow& row : kDevices) {
    if (row.name.starts_with("GH200")) continue;
    Device d = device(row);
    d.recorded_as.push_back(d.name);
    for (const std::string& name : d.recorded_as) {
      const size_t end = name.find("GB");
      if (end == std::string::npos || end == 0) continue;  // "GB200"
      const size_t before = name.find_last_not_of("0123456789", end - 1);
      const double named = std::stod(name.substr(before + 1, end - before - 1));
      EXPECT_GT(d.memory_bytes, named * 1e9) << name;
      EXPECT_LT(d.memory_bytes, named * (1 << 30)) << name;
    }
  }
}

/// Names in deviceProperties of public recordings, in the list of NVIDIA's driver and in amdgpu.ids of libdrm.
TEST(Table, EveryFileOfTheExamplesIsOfItsDevice) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/devices")) {
    const auto loaded = load(entry.path().string());
    ASSERT_TRUE(loaded) << loaded.error().message();
    EXPECT_EQ(measured_file(loaded->name), entry.path().filename().string());
    EXPECT_FALSE(loaded->kernels.empty());
    ++files;
  }
  size_t named = 0;
  for (const DeviceRow& row : kDevices) named += !measured_file(row.name).empty();
  EXPECT_EQ(named, files);
}

TEST(Table, NamesAsRecorded) {
  for (const auto& [recorded, name] : {std::pair("NVIDIA H100 80GB HBM3", "H100-SXM"),
                                       std::pair("Tesla P100-SXM2-16GB", "P100-SXM2"),
                                       std::pair("Tesla P100-PCIE-12GB", "P100-PCIe-12GB"),
                                       std::pair("Tesla P100-PCIE-16GB", "P100-PCIe"),
                                       std::pair("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
                                       std::pair("Tesla V100-SXM2-32GB", "V100-SXM2"),
                                       std::pair("Tesla V100-DGXS-16GB", "V100-SXM2-16GB"),
                                       std::pair("Tesla V100-DGXS-32GB", "V100-SXM2"),
                                       std::pair("Tesla V100-PCIE-16GB", "V100-PCIe-16GB"),
                                       std::pair("Tesla V100-PCIE-32GB", "V100-PCIe"),
                                       std::pair("Tesla V100S-PCIE-32GB", "V100S-PCIe"),
                                       std::pair("Tesla T4", "T4"),
                                       std::pair("NVIDIA A100-SXM4-40GB", "A100-SXM-40GB"),
                                       std::pair("NVIDIA A100-PG509-200", "A100-SXM-40GB"),
                                       std::pair("NVIDIA A100-SXM4-80GB", "A100-SXM-80GB"),
                                       std::pair("NVIDIA PG509-210", "A100-SXM-80GB"),
                                       std::pair("NVIDIA A100-PCIE-40GB", "A100-PCIe-40GB"),
                                       std::pair("NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"),
                                       std::pair("NVIDIA A800-SXM4-80GB", "A800-SXM-80GB"),
                                       std::pair("NVIDIA A800 80GB PCIe", "A800-PCIe-80GB"),
                                       std::pair("NVIDIA A30", "A30"),
                                       std::pair("NVIDIA A40", "A40"),
                                       std::pair("NVIDIA A10", "A10"),
                                       std::pair("NVIDIA A10G", "A10G"),
                                       std::pair("NVIDIA RTX A6000", "RTX-A6000"),
                                       std::pair("NVIDIA L4", "L4"),
                                       std::pair("NVIDIA L20", "L20"),
                                       std::pair("NVIDIA L40", "L40"),
                                       std::pair("NVIDIA L40S", "L40S"),
                                       std::pair("NVIDIA H100 PCIe", "H100-PCIe"),
                                       std::pair("NVIDIA H100 NVL", "H100-NVL"),
                                       std::pair("NVIDIA H800", "H800-SXM"),
                                       std::pair("NVIDIA H800 PCIe", "H800-PCIe"),
                                       std::pair("NVIDIA H20", "H20"),
                                       std::pair("NVIDIA H20-3e", "H20-3e"),
                                       std::pair("NVIDIA H200", "H200-SXM"),
                                       std::pair("NVIDIA H200 NVL", "H200-NVL"),
                                       std::pair("NVIDIA GH200 120GB", "GH200-96GB"),
                                       std::pair("NVIDIA GH200 480GB", "GH200-96GB"),
                                       std::pair("NVIDIA GH200 144G HBM3e", "GH200-144GB"),
                                       std::pair("NVIDIA B200", "B200"),
                                       std::pair("NVIDIA GB200", "GB200"),
                                       std::pair("NVIDIA B300 SXM6 AC", "B300"),
                                       std::pair("NVIDIA GB300", "GB300"),
                                       std::pair("NVIDIA GeForce RTX 2080 Ti", "RTX-2080-Ti"),
                                       std::pair("NVIDIA GeForce RTX 3090", "RTX-3090"),
                                       std::pair("NVIDIA GeForce RTX 4090", "RTX-4090"),
                                       std::pair("NVIDIA GeForce RTX 5090", "RTX-5090"),
                                       std::pair("Quadro GP100", "GP100"),
                                       std::pair("AMD Instinct MI100", "MI100"),
                                       std::pair("AMD Instinct MI210", "MI210"),
                                       std::pair("AMD Instinct MI250X", "MI250X"),
                                       std::pair("AMD Instinct MI300A", "MI300A"),
                                       std::pair("AMD Instinct MI300X", "MI300X"),
                                       std::pair("AMD Instinct MI300X VF", "MI300X"),
                                       std::pair("AMD Instinct MI300X HF", "MI300X"),
                                       std::pair("AMD Instinct MI325X", "MI325X"),
                                       std::pair("AMD Instinct MI350X", "MI350X"),
                                       std::pair("AMD Instinct MI350X VF", "MI350X"),
                                       std::pair("AMD Instinct MI355X", "MI355X"),
                                       std::pair("AMD Instinct MI355X VF", "MI355X")}) {
    ASSERT_TRUE(find(recorded)) << recorded;
    EXPECT_EQ(find(recorded)->name, name);
  }
  for (const char* name : {"AMD Radeon Graphics",          // an MI250 among others
                           "AMD Instinct MI250X / MI250",  // of both
                           "NVIDIA H100",                  // 94 or 96 GB
                           "NVIDIA H100 80GB HBM2e",       // of several boards
                           "NVIDIA A100-SXM-64GB",         // other units, other memory
                           "NVIDIA PG506-232",             // of several boards
                           "Tesla V100-SXM3-32GB",         // other clocks
                           "Tesla V100-FHHL-16GB",         // other clocks
                           "NVIDIA GeForce RTX 4090 D",    // fewer units
                           "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H20 NVL16", "NVIDIA H800 NVL",
                           "AMD Instinct MI308X", "", "NVIDIA"})
    EXPECT_FALSE(find(name)) << name;
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
  for (size_t t = 0; t < trace::kDTypeNames.size(); ++t) EXPECT_EQ(peak(Device{}, static_cast<DType>(t)).ops_per_s, 0);
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
  const auto d = read(
      "name: own\npeaks:\n  bf16: 100\n  f32: 12.5\nmemory-bandwidth: 1e3\nmemory: 64\n"
      "recorded-as: [Own One]\nsource: measured\n");
  ASSERT_TRUE(d) << d.error().message();
  EXPECT_EQ(peak(*d, DType::bf16).ops_per_s, 100e12);
  EXPECT_EQ(peak(*d, DType::f32).ops_per_s, 12.5e12);
  EXPECT_EQ(d->memory_bytes_per_s, 1e12);
  EXPECT_EQ(d->memory_bytes, 64e9);
  EXPECT_EQ(d->recorded_as, std::vector<std::string>{"Own One"});
  EXPECT_EQ(find_or_load(path_)->name, "own");
  EXPECT_TRUE(read("{\"name\": \"j\", \"peaks\": {\"i8\": 1}, \"memory-bandwidth\": 1}"));
  EXPECT_FALSE(d->others);
  const auto more = read(
      "name: own\npeaks: {bf16: 100}\nmemory-bandwidth: 1000\nhost-us: 12\nunaligned-time: 2.5\n"
      "others: {ops-time: 2, bytes-time: 3, fixed-us: 4}\n");
  ASSERT_TRUE(more) << more.error().message();
  EXPECT_DOUBLE_EQ(more->host_s, 12e-6);
  EXPECT_EQ(more->unaligned_time, 2.5);
  for (const auto& [text, times] : {std::pair("3", Tensors{3, 3, 3}), {"[1, 2, 3]", Tensors{1, 2, 3}}}) {
    const auto tables =
        read(std::string("name: own\npeaks: {bf16: 100}\nmemory-bandwidth: 1000\nkernels:\n- kernel: gemm\n"
                         "  type: f16\n  measured: [[1, 1, 1, 1]]\n  bytes-time: ") +
             text + "\n");
    ASSERT_TRUE(tables) << tables.error().message();
    EXPECT_EQ(tables->kernels[0].constants().bytes_time, times);
  }
  const NodeWork work{1'000'000'000, 1'000'000, DType::bf16};
  EXPECT_NEAR(predict(*more, work).seconds, 2 * 10e-6 + 3 * 1e-6 + 4e-6, 1e-12);
  EXPECT_EQ(predict(*more, work).error, 0);
  EXPECT_EQ(predict(*more, {}).seconds, 0);
  EXPECT_NEAR(predict(*d, work).seconds, kUsualPrices.compute.times * 10e-6 + kUsualPrices.fixed_s, 1e-12);
  EXPECT_NEAR(predict(plain("p", 100e12, 1e12), work).seconds, 10e-6, 1e-12);
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
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nhost-us: -1\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nunaligned-time: 0.5\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nsustained-time: 0.9\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nothers: 1\n"), "device.file.value:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nothers: {ops: 1}\n"), "device.file.key:4");
  const std::string gemm =
      good + "peaks: {f16: 1}\nkernels:\n- kernel: gemm\n  type: f16\n  measured: [[1, 1, 1, 1]]\n";
  for (const char* wrong : {"[]", "[1, 2]", "[1, 2, 3, 4]", "[1, 2, 0]", "-1", "0"})
    EXPECT_EQ(error(gemm + "  bytes-time: " + wrong + "\n"), "device.file.value:8") << wrong;
  EXPECT_EQ(error(good + "peaks: {f16: 1}\nothers: {bytes-time: [1, 2, 3]}\n"), "base.spec.type:4");
  // Tables in JSON are read without a tree; an error has its line all the same.
  EXPECT_EQ(error("{\"name\": \"j\", \"peaks\": {\"i8\": 1}, \"memory-bandwidth\": 1, \"kernels\": [\n"
                  "{\"kernel\": \"norm\", \"type\": \"f16\",\n\"measured\": [[1, 1, 1],\n[1, 2, 0]]}]}"),
            "device.file.value:4");
  EXPECT_EQ(error(good + "peaks: {f16: 1, f16: 2}\n"), "base.spec.duplicate_key:3");
  EXPECT_EQ(find_or_load("no-such-device").error().tag, "device.name.unknown");
}

/// A rank with several devices has the peaks of all of them.
TEST(Rates, OfSeveralDevices) {
  trace::Builder b;
  const auto add = [&](uint64_t id, trace::Lane lane, uint64_t operations) {
    const trace::NodeId n = b.add(id, b.trace.strings.intern("k"), trace::NodeType::comp);
    b.trace.lane.edit(n) = b.lane(lane);
    b.trace.num_ops.resize(b.trace.size());
    b.trace.num_ops.edit(n) = operations;
  };
  using Kind = trace::Lane::Kind;
  add(1, {Kind::stream, 0, 7}, 10);
  add(2, {Kind::stream, 0, 8}, 10);
  EXPECT_EQ(devices_with_work(b.trace), 1);
  add(3, {Kind::stream, 1, 7}, 0);
  add(4, {Kind::thread, 2, 7}, 10);
  EXPECT_EQ(devices_with_work(b.trace), 1);
  add(5, {Kind::stream, 1, 7}, 10);
  EXPECT_EQ(devices_with_work(b.trace), 2);
  WorkSum work;
  work.ops[static_cast<size_t>(trace::DType::f32)] = 1'000'000'000'000;
  const Device on = device(*find("H100-SXM"));
  EXPECT_DOUBLE_EQ(*rates(work, kPsPerSecond, &on, 2).mfu, *rates(work, kPsPerSecond, &on).mfu / 2);
}

}  // namespace
}  // namespace chakra::device
