// Times from measured kernels: the devices here take the same time for every norm of their tables.
#include "chakra/sim/kernel_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "chakra/sim/retarget.h"

namespace chakra::sim {
namespace {

using device::DType;
using device::MeasuredKernel;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

device::Device measured_device(const std::string& name, double us) {
  device::Device device = device::plain(name, 1e12, 1e9);
  std::vector<MeasuredKernel> rows;
  for (const double width : {256, 1000, 4096}) rows.push_back({{1024, width}, us * 1e-6});
  device.kernels.emplace_back(device, "norm", DType::f16, device::KernelConstants{0, {1e-12}, us * 1e-6}, rows);
  return device;
}

/// A rank that was recorded on an H100 and does a norm of 1024 x `width` in 10 us, then half of one in 4 us.
trace::ClassJob recorded(const std::string& kernel, bool measured = true) {
  trace::Builder builder;
  Trace& t = builder.trace;
  t.metadata.push_back({t.strings.intern("device_name"), t.texts.add("NVIDIA H100 80GB HBM3")});
  const std::array<Picoseconds, 2> times{10 * kPsPerUs, 4 * kPsPerUs};
  for (size_t i = 0; i < 2; ++i) {
    const NodeId n = builder.add(i + 1, t.strings.intern("k"), NodeType::comp);
    builder.attr({t.strings.intern("kernel"), std::string_view(kernel)});
    t.flags.edit(n) = trace::kSaysCpuOrNot | (measured ? trace::kHasStart | trace::kHasDuration : 0);
    if (measured) t.dur_ps.edit(n) = times[i];
    t.lane.edit(n) = builder.lane({trace::Lane::Kind::stream, 0, 7});
    t.num_ops.resize(n + 1, 0);
    t.tensor_bytes.resize(n + 1, i == 0 ? 2 * 1024 * 1000 * 2 : 2 * 1024 * 1000);
    t.op_dtype.resize(n + 1, static_cast<uint8_t>(DType::f16));
    if (n > 0) builder.dep(n, n - 1, 0);
  }
  trace::TraceSet set;
  set.ranks.push_back(std::move(builder).finish());
  return trace::by_class(std::move(set));
}

struct Priced {
  std::vector<Picoseconds> times;
  std::vector<std::string_view> how;
  std::string tags, error;
};
Priced price(trace::ClassJob job, const device::System& system) {
  Priced priced;
  Findings findings;
  const auto rows = retarget(job, system, findings);
  if (!rows) return {{}, {}, "", rows.error().tag};
  for (const ScaledTime& row : *rows) priced.how.push_back(kScalings[static_cast<size_t>(row.how)].name);
  const Trace& t = job.classes[0];
  for (const NodeId n : t.nodes()) priced.times.push_back(t.dur_ps[n]);
  for (const Finding& finding : findings) priced.tags += finding.tag + std::string(" ");
  return priced;
}

using Times = std::vector<Picoseconds>;
using How = std::vector<std::string_view>;

TEST(KernelTimes, GiveNodesTheirTimeByShape) {
  device::System system;
  system.target = measured_device("new", 3);
  system.target->memory_bytes_per_s = 2e12;  // so no time is above the peak
  const Priced made = price(recorded("norm:1024,1000", false), system);
  EXPECT_EQ(made.times, (Times{3 * kPsPerUs, 3 * kPsPerUs / 2}));
  EXPECT_EQ(made.how, How{"table"});
  EXPECT_EQ(made.tags, "sim.device.scaled sim.device.kernels ");
  // What was measured elsewhere is replaced.
  EXPECT_EQ(price(recorded("norm:1024,1000"), system).times, made.times);
}

TEST(KernelTimes, ScaleWhatWasMeasuredWhereBothDevicesHaveTables) {
  device::System system;
  system.target = measured_device("new", 3);
  system.recorded = measured_device("old", 6);
  EXPECT_EQ(price(recorded("norm:1024,1000"), system).times, (Times{5 * kPsPerUs, 2 * kPsPerUs}));
}

TEST(KernelTimes, LeaveWhatWasMeasuredOnTheDevice) {
  device::System system;
  system.target = measured_device("H100-SXM", 3);
  const device::DeviceRow& row = *device::find("H100-SXM");
  system.target->ops_per_s = device::device(row).ops_per_s;
  system.target->memory_bytes_per_s = device::device(row).memory_bytes_per_s;
  EXPECT_EQ(price(recorded("norm:1024,1000"), system).times, (Times{10 * kPsPerUs, 4 * kPsPerUs}));
}

TEST(KernelTimes, SayWhatIsExtrapolated) {
  device::System system;
  system.target = measured_device("new", 3);
  system.target->memory_bytes_per_s = 2e12;  // so no time is above the peak
  const Priced outside = price(recorded("norm:1024,8192", false), system);
  EXPECT_EQ(outside.how, How{"extrapolated"});
  EXPECT_EQ(outside.tags, "sim.device.scaled sim.device.extrapolated ");
}

TEST(KernelTimes, LeaveOtherKernelsToTheConstantsOfOthers) {  // 2 x 4.096 MB at 1 GB/s, and 7 us
  device::System system;
  system.target = measured_device("new", 3);
  system.target->others = device::WorkConstants{1, 2, 7e-6};
  const Priced priced = price(recorded("add:1024,1000", false), system);
  EXPECT_EQ(priced.times, (Times{8199 * kPsPerUs, 4103 * kPsPerUs}));
  EXPECT_EQ(priced.how, How{"others"});
  EXPECT_EQ(price(recorded("norm:1024,1000", false), system).how, How{"table"});
}

TEST(KernelTimes, LeaveOtherKernelsToTheRoofline) {  // 4.096 MB and 2.048 MB at 1 GB/s
  device::System system;
  system.target = measured_device("new", 3);
  for (const char* kernel : {"add:1024,1000", "gemm:1,2", "", "norm.own:1024,1000"}) {
    const Priced priced = price(recorded(kernel, false), system);
    EXPECT_EQ(priced.times, (Times{4096 * kPsPerUs, 2048 * kPsPerUs})) << kernel;
    EXPECT_EQ(priced.how, How{"work"});
  }
}

/// A rank that does `ops` of attention in bf16, as a generator says it.
trace::ClassJob attends(const std::string& kernel, uint64_t ops) {
  trace::ClassJob job = recorded(kernel, false);
  for (const NodeId n : job.classes[0].nodes()) {
    job.classes[0].num_ops.resize(job.classes[0].size(), 0);
    job.classes[0].num_ops.edit(n) = ops;
  }
  return job;
}

constexpr uint64_t kForward = uint64_t{2} * 4 * 1024 * 1024 * 64;  ///< attention:1,1024,4,4,64

/// One that takes 10 us for it, and for half of it.
device::Device attention_device() {
  device::Device device = device::plain("new", 1e15, 1e12);
  device.kernels.emplace_back(device, "attention", DType::f16, device::KernelConstants{},
                              std::vector<MeasuredKernel>{{{1, 1024, 4, 4, 64}, 10e-6}});
  return device;
}

TEST(KernelTimes, OfBackwardAttentionFollowForward) {  // 2.5 times the operations at 0.8 of the rate
  device::System system;
  system.target = attention_device();
  const std::string sizes = ":1,1024,4,4,64";
  EXPECT_EQ(price(attends("attention" + sizes, kForward), system).times[0], 10 * kPsPerUs);
  EXPECT_EQ(price(attends("attention.backward" + sizes, 2 * kForward), system).times[0], 31'250'000);
  EXPECT_EQ(price(attends("attention.part" + sizes, 3 * kForward), system).times[0], 30 * kPsPerUs);
  EXPECT_EQ(price(attends("attention.part_backward" + sizes, kForward), system).times[0], 15'625'000);
}

TEST(KernelTimes, OfAttentionAreTheStacks) {
  device::System system;
  system.target = attention_device();
  system.target->stack.attention_ops_per_s = static_cast<double>(kForward) / 50e-6;
  const Priced priced = price(attends("attention.backward:1,1024,4,4,64", 2 * kForward), system);
  EXPECT_EQ(priced.times[0], 100 * kPsPerUs);
  EXPECT_EQ(priced.how, How{"stack"});
  system.target->kernels.clear();  // it needs no table
  EXPECT_EQ(price(attends("attention:1,1024,4,4,64", kForward), system).times[0], 50 * kPsPerUs);
  // With few operations it takes what its bytes take, 4.096 MB and half of that at 1 TB/s, or what every kernel does.
  EXPECT_EQ(price(attends("attention:1,1024,4,4,64", 1), system).times,
            (Times{4'096'000, picoseconds(device::kUsualPrices.fixed_s)}));
}

TEST(KernelTimes, OfElementwiseKernelsAreTheStacks) {
  device::System system;
  system.target = measured_device("new", 3);
  system.target->stack.elementwise_time = 2;
  EXPECT_EQ(price(recorded("norm:1024,1000", false), system).times[0], 6 * kPsPerUs);
}

TEST(KernelTimes, OfAnotherElementTypeAddItsBytes) {  // 4 bytes an element instead of 2: 4.096 MB more at 1 GB/s
  device::System system;
  system.target = measured_device("new", 3);
  trace::ClassJob job = recorded("norm:1024,1000", false);
  job.classes[0].op_dtype.edit(NodeId(0)) = static_cast<uint8_t>(DType::f32);
  job.classes[0].tensor_bytes.edit(NodeId(0)) = 2 * 1024 * 1000 * 4;
  const Priced priced = price(std::move(job), system);
  EXPECT_EQ(priced.times[0], (3 + 4096) * kPsPerUs);
  EXPECT_EQ(priced.how, (How{"table", "extrapolated"}));
}

/// Of 8 experts, tokens that choose 2 each meet 2 (one token), 8 x (1 - 0.75^4) (four), and nearly all (64).
TEST(KernelTimes, OfExpertsFollowTheChosenOnes) {
  const auto time = [](const std::string& table, const std::string& tokens) {
    device::System system;
    system.target = device::plain("new", 1e15, 1e12);
    std::vector<MeasuredKernel> rows;
    for (const double count : {1, 4, 64}) rows.push_back({{count, 256, 128, 8, 2, 1}, 10e-6});
    system.target->kernels.emplace_back(*system.target, table, DType::f16, device::KernelConstants{}, rows);
    return price(recorded("experts:" + tokens + ",256,128,8,2,1", false), system).times[0];
  };
  EXPECT_EQ(time("experts", "1"), 10 * kPsPerUs);
  EXPECT_NEAR(static_cast<double>(time("experts", "4")), 10e6 * (1 - std::pow(0.75, 4)), 1);
  EXPECT_NEAR(static_cast<double>(time("experts.fp8_block", "4")), 10e6 * (1 - std::pow(0.75, 4)), 1);
  EXPECT_NEAR(static_cast<double>(time("experts", "64")), 10e6, 1);
  EXPECT_EQ(time("experts.power_law_1.2", "4"), 10 * kPsPerUs);  // measured with tokens that choose unevenly
}

/// A GEMM in 32 bits, measured in 16: what is beyond the roofline there stays, the rest is the class's.
TEST(KernelTimes, OfASlowerElementTypeAddItsClass) {
  device::System system;
  system.target = device::find_or_load("A100-SXM-80GB").value();
  constexpr double kOps = 2.0 * 4096 * 4096 * 4096, kHalf = kOps / 312e12, kSingle = kOps / 19.5e12;
  std::vector<MeasuredKernel> rows;
  for (const double k : {2048, 4096, 8192}) rows.push_back({{4096, 4096, k}, 2 * kHalf * k / 4096});
  system.target->kernels.emplace_back(*system.target, "gemm", DType::f16,
                                      device::KernelConstants{1 / 312e12, {1e-12}, 1e-6}, rows);
  trace::ClassJob job = recorded("gemm:4096,4096,4096", false);
  job.classes[0].num_ops.edit(NodeId(0)) = static_cast<uint64_t>(kOps);
  job.classes[0].op_dtype.edit(NodeId(0)) = static_cast<uint8_t>(DType::f32);
  const double expected = 2 * kHalf + (kSingle - kHalf) * device::kUsualPrices.compute.times;
  EXPECT_NEAR(static_cast<double>(price(std::move(job), system).times[0]) / 1e12, expected, 0.01 * expected);
}

}  // namespace
}  // namespace chakra::sim
