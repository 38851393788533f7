#include "chakra/sim/retarget.h"

#include <gtest/gtest.h>

#include "chakra/sim/sim.h"

namespace chakra::sim {
namespace {

using device::System;
using trace::Builder;
using trace::DType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr Picoseconds kUs = kPsPerUs;

/// A rank that was recorded on a device: kernels one after the other.
struct Recording {
  Builder builder;
  Picoseconds at = 0;

  explicit Recording(std::string_view device = "Tesla V100-SXM2-32GB", int64_t rank = 0) {
    builder.trace.rank = rank;
    if (!device.empty()) metadata("device_name", device);
  }
  void metadata(std::string_view name, std::string_view value) {
    Trace& t = builder.trace;
    t.metadata.push_back({t.strings.intern(name), t.texts.add(value)});
  }
  NodeId kernel(std::string_view name, Picoseconds dur, work::NodeWork work = {}, int64_t device = 0,
                NodeId part_of = trace::kNoNode) {
    Trace& t = builder.trace;
    const NodeId n = builder.add(t.size() + 1, t.strings.intern(name), NodeType::comp);
    t.flags.edit(n) = trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot;
    t.start_ps.edit(n) = at;
    t.dur_ps.edit(n) = dur;
    t.part_of.edit(n) = part_of;
    t.lane.edit(n) = builder.lane({trace::Lane::Kind::stream, device, 7});
    t.num_ops.resize(n + 1, work.ops);
    t.tensor_bytes.resize(n + 1, work.bytes);
    t.op_dtype.resize(n + 1, static_cast<uint8_t>(work.type));
    if (n > 0) builder.dep(n, n - 1, 0);
    at += dur;
    return n;
  }
  Trace finish() { return std::move(builder).finish(); }
};

struct Carried {
  trace::ClassJob job;
  std::vector<ScaledTime> rows;
  Findings findings;
  std::string error;
  bool found(std::string_view tag) const {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.tag == tag; });
  }
};

Carried carry(std::vector<Trace> ranks, const System& system) {
  Carried c;
  trace::TraceSet set;
  set.ranks = std::move(ranks);
  c.job = trace::by_class(std::move(set));
  auto rows = retarget(c.job, system, c.findings);
  if (rows) c.rows = std::move(*rows);
  else c.error = rows.error().tag;
  return c;
}

std::vector<Trace> one(Recording&& recording) {
  std::vector<Trace> ranks;
  ranks.push_back(recording.finish());
  return ranks;
}

System on(std::string_view name) {
  System system;
  system.target = device::device(*device::find(name));
  return system;
}

/// From V100-SXM2 (125 TFLOP/s f16, 15.7 f32, 900 GB/s) to H100-SXM (989.4, 67, 3350): the figures by hand.
TEST(Retarget, ScalesEachKernelByWhatBoundsIt) {
  Recording r;
  const work::NodeWork gemm{125'000'000'000, 1'000'000, DType::f16};     // 1 ms of operations; on H100 0.12634 ms
  const work::NodeWork add{1000, 450'000'000, DType::f32};               // 0.5 ms of bytes; on H100 0.13433 ms
  const work::NodeWork between{12'500'000'000, 80'000'000, DType::f16};  // 0.1 ms of operations, 0.0889 of bytes; on
                                                                         // H100 0.01263 and 0.02388
  r.kernel("gemm", 2000 * kUs, gemm);
  r.kernel("add", 1000 * kUs, add);
  r.kernel("ridge", 200 * kUs, between);
  r.kernel("not known", 900 * kUs);
  r.kernel("Memcpy HtoD (Pageable -> Device)", 100 * kUs);
  r.kernel("Memcpy DtoD (Device -> Device)", 335 * kUs);
  r.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50 * kUs);
  const Carried c = carry(one(std::move(r)), on("H100-SXM"));
  ASSERT_EQ(c.error, "");
  const Trace& t = c.job.classes[0];
  const auto us = [&](size_t n) { return static_cast<double>(t.dur_ps[n]) / kUs; };
  EXPECT_NEAR(us(0), 2000 * 125 / 989.4, 1e-5);
  EXPECT_NEAR(us(1), 1000 * 900.0 / 3350, 1e-5);
  EXPECT_NEAR(us(2), 200 * (80e6 / 3350e9) / 0.1e-3, 1e-5);
  EXPECT_NEAR(us(3), 900 * 900.0 / 3350, 1e-5);
  EXPECT_EQ(us(4), 100);
  EXPECT_NEAR(us(5), 90, 1e-5);
  EXPECT_EQ(us(6), 50);
  ASSERT_EQ(c.rows.size(), 4u);
  EXPECT_EQ(c.rows[0].how, Scaling::roofline);
  EXPECT_EQ(c.rows[0].from, "V100-SXM2");
  EXPECT_EQ(c.rows[0].nodes, 3);
  EXPECT_EQ(c.rows[0].before_ps, 3200 * kUs);
  EXPECT_EQ(c.rows[1].how, Scaling::bandwidth);
  EXPECT_EQ(c.rows[1].before_ps, 1235 * kUs);
  EXPECT_EQ(c.rows[2].how, Scaling::host_copy);
  EXPECT_EQ(c.rows[3].how, Scaling::communication);
  EXPECT_TRUE(c.found("sim.device.scaled"));
  EXPECT_FALSE(c.found("sim.device.peak"));
  EXPECT_FALSE(c.found("sim.device.too_fast"));
}

TEST(Retarget, ToTheSameDeviceChangesNothing) {
  Recording r;
  r.kernel("gemm", 2'000'001, {125'000, 1'000, DType::f16});
  r.kernel("other", 3'000'007);
  const Carried c = carry(one(std::move(r)), on("V100-SXM2"));
  EXPECT_EQ(c.job.classes[0].dur_ps, (std::vector<Picoseconds>{2'000'001, 3'000'007}));
}

/// A kernel that another one of its stream interrupted is two nodes; its work stands at the first.
TEST(Retarget, PiecesOfAKernelScaleAlike) {
  Recording r;
  const NodeId first = r.kernel("gemm", 1000 * kUs, {125'000'000'000, 1, DType::f16});
  r.kernel("gemm", 1000 * kUs, {}, 0, first);
  const Carried c = carry(one(std::move(r)), on("H100-SXM"));
  EXPECT_EQ(c.job.classes[0].dur_ps[0], c.job.classes[0].dur_ps[1]);
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_EQ(c.rows[0].nodes, 2);
}

TEST(Retarget, AnUnknownDeviceIsAnError) {
  for (const char* name : {"", "AMD Radeon Graphics", "NVIDIA H100"}) {
    Recording r(name);
    r.kernel("gemm", 10);
    EXPECT_EQ(carry(one(std::move(r)), on("H100-SXM")).error, "sim.device.unknown") << name;
    Recording again(name);
    again.kernel("gemm", 10 * kUs);
    System system = on("H100-SXM");
    system.recorded = device::plain("own", 1e12, 335e9);
    const Carried c = carry(one(std::move(again)), system);
    EXPECT_EQ(c.error, "");
    EXPECT_EQ(c.job.classes[0].dur_ps[0], 1 * kUs);
  }
  Recording host("AMD Radeon Graphics");  // that ran nothing on its device
  EXPECT_EQ(carry(one(std::move(host)), on("H100-SXM")).error, "");
}

TEST(Retarget, SeveralDevicesInOneRecording) {
  Recording r("");
  r.metadata("device_name_0", "Tesla V100-SXM2-32GB");
  r.metadata("device_name_3", "NVIDIA H100 PCIe");
  r.kernel("a", 900 * kUs, {}, 0);
  r.kernel("b", 900 * kUs, {}, 3);
  const Carried c = carry(one(std::move(r)), on("H100-NVL"));  // 3900 GB/s
  EXPECT_NEAR(static_cast<double>(c.job.classes[0].dur_ps[0]), 900.0 * 900 / 3900 * kUs, 1);
  EXPECT_NEAR(static_cast<double>(c.job.classes[0].dur_ps[1]), 900.0 * 2000 / 3900 * kUs, 1);
}

/// Ranks whose traces are equal share a class until they are on different devices.
TEST(Retarget, ClassesSplitByDevice) {
  std::vector<Trace> ranks;
  for (int64_t rank = 0; rank < 4; ++rank) {
    Recording r("V100-SXM2-32GB", rank);
    r.kernel("k", 900 * kUs);
    ranks.push_back(r.finish());
  }
  System system;
  system.devices = {device::plain("a", 1e12, 450e9), device::plain("b", 1e12, 1800e9)};
  system.unlike[1].device = 0;
  system.unlike[2].device = 1;
  const Carried c = carry(std::move(ranks), system);
  ASSERT_EQ(c.error, "");
  std::vector<Picoseconds> times;
  for (const auto& rank : c.job.ranks) times.push_back(c.job.classes[rank.cls].dur_ps[0]);
  EXPECT_EQ(times, (std::vector<Picoseconds>{900 * kUs, 1800 * kUs, 450 * kUs, 900 * kUs}));
  EXPECT_EQ(c.job.ranks[0].cls, c.job.ranks[3].cls);
  EXPECT_EQ(c.job.group_slots.size(), c.job.classes.size());
  EXPECT_EQ(c.job.peer_slots.size(), c.job.classes.size());
}

TEST(Retarget, FoldedIsUnfolded) {
  const auto run = [](bool fold) {
    SimInput in;
    in.fabric = {{{net::TopologyKind::ring, 8, 100, 1000}}};
    for (int64_t rank = 0; rank < 8; ++rank) {
      Recording r("Tesla V100-SXM2-32GB", rank);
      r.kernel("k", 900 * kUs, {1'000'000'000, 100'000'000, DType::f16});
      in.job.ranks.push_back(r.finish());
    }
    in.system = on("H100-SXM");
    in.system.devices = {device::device(*device::find("T4"))};
    in.system.unlike[1].device = in.system.unlike[5].device = 0;
    in.fold = fold;
    auto report = simulate(std::move(in));
    EXPECT_TRUE(report) << report.error().message();
    return std::move(*report);
  };
  const SimReport folded = run(true), whole = run(false);
  EXPECT_LT(folded.actors.size(), whole.actors.size());
  for (size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(folded.ranks[r].finish_ps, whole.ranks[r].finish_ps);
    EXPECT_EQ(folded.ranks[r].compute_ps, whole.ranks[r].compute_ps);
  }
  EXPECT_NE(folded.ranks[0].compute_ps, folded.ranks[1].compute_ps);
  ASSERT_EQ(folded.devices.size(), whole.devices.size());
  for (size_t i = 0; i < folded.devices.size(); ++i) EXPECT_EQ(folded.devices[i].after_ps, whole.devices[i].after_ps);
}

/// The roofline of a system file, as everyone has used it: one peak, and recordings of an unknown device stay.
TEST(Retarget, TheSystemFilesRoofline) {
  System system;
  system.roofline = true;
  system.peak_flop_per_s = 1e12;
  system.memory_bytes_per_s = 90e9;
  system.use_roofline();
  Recording known;
  known.kernel("k", 10 * kUs);
  EXPECT_EQ(carry(one(std::move(known)), system).job.classes[0].dur_ps[0], 100 * kUs);
  Recording unknown("");
  unknown.kernel("k", 10 * kUs);
  const Carried c = carry(one(std::move(unknown)), system);
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(c.job.classes[0].dur_ps[0], 10 * kUs);
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_EQ(c.rows[0].how, Scaling::unknown);
}

TEST(Retarget, SaysWhatItCannotKnow) {
  Recording r("NVIDIA H100 80GB HBM3");
  r.kernel("fast", 100 * kUs, {989'400'000'000, 1, DType::bf16});  // 1 ms at the peak
  const Carried c = carry(one(std::move(r)), on("V100-SXM2"));
  EXPECT_TRUE(c.found("sim.device.peak"));  // bf16 on V100
  EXPECT_TRUE(c.found("sim.device.too_fast"));
  EXPECT_NEAR(static_cast<double>(c.job.classes[0].dur_ps[0]), 100.0 * kUs * 989.4 / 15.7, 10);
  for (const char* from : {"Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB"}) {  // names of kernels tell where tf32 ran
    Recording floats(from);
    floats.kernel("sgemm", 100 * kUs, {1'000'000'000, 1, DType::f32});
    EXPECT_EQ(carry(one(std::move(floats)), on("H100-SXM")).found("sim.device.peak"), from[0] == 'T');
  }
}

/// A node that was generated: 1 ms at the peak of an H100.
Recording generated() {
  Recording r("");
  r.kernel("gemm", 77, {989'400'000'000, 1, DType::bf16});
  r.builder.trace.flags.edit(0) = trace::kSaysCpuOrNot;  // no start
  return r;
}

TEST(Retarget, NamesWhatIsPricedAboveThePeak) {
  System system = on("H100-SXM");
  for (const double times : {0.1, 0.9, 1.0}) {
    system.target->others = {times, times, 0};
    EXPECT_EQ(carry(one(generated()), system).found("sim.device.too_fast"), times < 0.5) << times;
  }
  system.target->others.reset();
  system.target->kernels.emplace_back(*system.target, "gemm", DType::bf16, device::KernelConstants{},
                                      std::vector<double>{8192, 8192, 8192, 1e-6});  // a unit that is wrong
  Recording r("");
  r.kernel("layer0.up", 77, {2ULL << 39, 3ULL << 27, DType::bf16});
  r.builder.trace.flags.edit(0) = trace::kSaysCpuOrNot;
  r.builder.attr({r.builder.trace.strings.intern("kernel"), std::string_view("gemm:8192,8192,8192")});
  const Carried c = carry(one(std::move(r)), system);
  ASSERT_TRUE(c.found("sim.device.too_fast"));
  for (const Finding& f : c.findings) {
    if (f.tag != "sim.device.too_fast") continue;
    EXPECT_EQ(
        f.text,
        "1 computations are faster than H100-SXM can be; the worst is 'layer0.up' (by the rows of 'gemm' in bf16), "
        "at 1111 times the peak FLOP/s; check the unit of the times and the element types in the device file");
  }
}

// What rounds to no time was computed all the same.
TEST(Retarget, WorkOfADeviceIsNotFree) {
  for (const bool device : {false, true}) {
    Recording r("");
    r.kernel("tiny", 0, {100, 0, DType::bf16});
    r.builder.trace.flags.edit(0) = trace::kSaysCpuOrNot;
    SimInput in;
    in.job.ranks = one(std::move(r));
    in.fabric = *net::parse_fabric(
        *parse_spec("topology: [ Ring ]\nnpus_count: [ 1 ]\nbandwidth: [ 1 ]\nlatency: [ 0 ]\n", "net.yml"));
    if (device) in.system.target = device::plain("fast", 1e15, 1e12);
    const auto report = simulate(std::move(in));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(std::any_of(report->findings.begin(), report->findings.end(),
                          [](const Finding& f) { return f.tag == "sim.compute.free"; }),
              !device);
  }
}

TEST(Retarget, WorkWithoutTimeIsPricedByItsClass) {
  const Carried c = carry(one(generated()), on("H100-SXM"));
  EXPECT_NEAR(static_cast<double>(c.job.classes[0].dur_ps[0]),
              device::kUsualPrices.compute.times * 1000 * kUs + device::kUsualPrices.fixed_s * 1e12, 1);
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_EQ(c.rows[0].how, Scaling::compute_bound);
  EXPECT_NEAR(c.rows[0].error(), device::kUsualPrices.compute.error, 0.01);
}

TEST(Retarget, AStackTakesItsTimeOfAnExpertLayerInFourParts) {
  const auto time = [](std::string_view name, double layer_s) {
    Recording r("");
    r.kernel(name, 77, {0, 1'000'000, DType::bf16});
    r.builder.trace.flags.edit(0) = trace::kSaysCpuOrNot;
    System system = on("H100-SXM");
    system.target->stack.expert_layer_s = layer_s;
    return carry(one(std::move(r)), system).job.classes[0].dur_ps[0];
  };
  Picoseconds layer = 0;
  for (const char* moves : {".dispatch", ".combine", ".combine.grad", ".dispatch.grad"})
    layer += time(std::string("layer0.experts") + moves, 0.002) - time(std::string("layer0.experts") + moves, 0);
  EXPECT_EQ(layer, 2000 * kUs);
  EXPECT_EQ(time("layer0.experts.activation", 0.002), time("layer0.experts.activation", 0));
}

TEST(Retarget, ARooflineThatIsAskedForStaysOne) {
  device::System system;
  system.target = device::plain("roofline", 989.4e12, 1e12);
  const Carried c = carry(one(generated()), system);
  EXPECT_EQ(c.job.classes[0].dur_ps[0], 1000 * kUs);
  EXPECT_EQ(c.rows[0].how, Scaling::work);
  EXPECT_EQ(c.rows[0].error(), 0);
}

TEST(Retarget, HugeTimesStay) {
  Recording r;
  r.kernel("k", kLongestPs);
  r.kernel("l", kLongestPs);
  const Carried c = carry(one(std::move(r)), on("GP100"));
  EXPECT_EQ(c.job.classes[0].dur_ps[0], kLongestPs);
  EXPECT_EQ(c.rows[0].after_ps, kLongestPs);
}

/// 1 ms at the f16 peak of a V100 in 2 ms: half of it is used; and what the H100 gives.
TEST(Rates, OfASimulatedRank) {
  for (const auto& [device, mfu] : {std::pair("", 0.5), std::pair("H100-SXM", 0.5)}) {
    Recording r;
    r.kernel("gemm", 2000 * kUs, {125'000'000'000, 900'000, DType::f16});
    SimInput in;
    in.fabric = {{{net::TopologyKind::ring, 1, 100, 1000}}};
    in.job.ranks.push_back(r.finish());
    if (*device) in.system = on(device);
    auto report = simulate(std::move(in));
    ASSERT_TRUE(report) << report.error().message();
    const ActorReport& actor = report->actors[0];
    ASSERT_TRUE(actor.rates.mfu);
    EXPECT_NEAR(*actor.rates.mfu, mfu, 1e-8) << device;
    EXPECT_EQ(actor.device, *device ? device : "V100-SXM2");
    EXPECT_EQ(actor.work.all_ops(), 125'000'000'000u);
    EXPECT_NEAR(actor.rates.ops_per_s, *device ? 494.7e12 : 62.5e12, 1e7);
  }
}

}  // namespace
}  // namespace chakra::sim
