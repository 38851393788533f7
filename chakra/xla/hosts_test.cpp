// Profiles of several hosts, steps that the user annotated, and sizes with bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/metadata.h"
#include "chakra/xla/testing/messages.h"
#include "chakra/xla/xla.h"

namespace chakra::xla {
namespace {

using namespace testing;
using Texts = std::vector<std::string>;

constexpr std::string_view kStatNames[] = {"hlo_op",         "hlo_module", "program_id", "run_id",
                                           "device_ordinal", "Hlo Proto",  "step_num"};
enum StatNumber : int64_t { kOp = 1, kModule, kProgram, kRun, kDevice, kProto, kStep };
std::string stat(StatNumber name, int64_t value) { return field(4, number(1, name) + number(4, value)); }
std::string stat(StatNumber name, std::string_view value) { return field(4, number(1, name) + text(5, value)); }

struct Event {
  int64_t name = 0;  ///< in kNames
  int64_t start = 0, length = 0;
  std::string stats = {};
};
constexpr std::string_view kNames[] = {"", "instruction", "train", "Execute"};

std::string plane(const std::vector<std::vector<Event>>& lines) {
  std::string bytes = text(2, "/host:CPU");
  for (const auto& events : lines) {
    std::string line;
    for (const Event& e : events)
      line += field(4, number(1, e.name) + number(2, e.start) + number(3, e.length) + e.stats);
    bytes += field(3, line);
  }
  for (int64_t n = 1; n < 4; ++n)
    bytes += field(4, number(1, n) + field(2, number(1, n) + text(2, kNames[static_cast<size_t>(n)])));
  for (int64_t s = 1; const std::string_view name : kStatNames) {
    bytes += field(5, number(1, s) + field(2, number(1, s) + text(2, name)));
    ++s;
  }
  return field(1, bytes);
}
std::string metadata(const std::string& name, const std::string& proto) {
  const std::string of = field(5, number(1, kProto) + text(6, proto));
  return field(1, text(2, "/host:metadata") + field(4, number(1, 1) + field(2, number(1, 1) + text(2, name) + of)) +
                      field(5, number(1, kProto) + field(2, number(1, kProto) + text(2, "Hlo Proto"))));
}
Event executed(std::string_view op, int64_t program, int64_t device, int64_t run, int64_t start) {
  return {1, start, 10,
          stat(kOp, op) + stat(kModule, "jit_f") + stat(kProgram, program) + stat(kDevice, device) + stat(kRun, run)};
}

/// An all-reduce among the devices, with the device assignment of JAX: one partition each.
std::string reducing(const Numbers& devices) {
  std::string assignment;
  protozero::pbf_writer table(assignment);
  table.add_int64(1, 1);
  table.add_int64(2, static_cast<int64_t>(devices.size()));
  for (const int64_t device : devices) table.add_message(3, list(1, {device}));
  return program(
      {computation(1, {{"parameter", 1, {}, {}}, {"add", 2, {}, {1, 1}}}),
       computation(2, {{"parameter", 3, {4}, {}}, {"all-reduce", 4, {4}, {3}, {1}, number(26, 1) + number(71, 1)}})},
      2, 0, field(15, assignment));
}

/// The profile of a host with these devices, which gives the program another number than the other host.
std::string host(const Numbers& devices, int64_t program, const Numbers& runs) {
  std::vector<Event> events;
  for (const int64_t run : runs)
    for (const int64_t device : devices) events.push_back(executed("all-reduce.4", program, device, run, run * 100));
  return metadata("jit_f(" + std::to_string(program) + ")", reducing({0, 1, 2048, 2049})) + plane({events});
}

std::string write(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
std::vector<std::string> steps_of(const trace::Trace& t) {
  std::vector<std::string> names;
  for (int64_t n = 0; n < trace::metadata_number(t, trace::kXlaRuns).value_or(0); ++n)
    if (const auto name = trace::metadata(t, std::string(trace::kXlaRun) + "_" + std::to_string(n)))
      names.emplace_back(*name->text());
  return names;
}

TEST(Hosts, AreOneJob) {
  const std::string one = write("hosts_one.xplane.pb", host({0, 1}, 0, {5, 6}));
  const std::string other = write("hosts_other.xplane.pb", host({2048, 2049}, 6, {5, 6}));
  const auto linked = link_profiles({one, other});
  ASSERT_TRUE(linked) << linked.error().message();
  ASSERT_EQ(linked->devices.size(), 4U);
  ASSERT_EQ(linked->programs.size(), 1U);
  EXPECT_EQ(linked->programs[0].runs, 2);
  EXPECT_EQ(linked->programs[0].collectives[0].executions, 8U);
  std::vector<int64_t> clocks;
  for (int64_t rank = 0; const LinkedDevice& device : linked->devices) {
    EXPECT_EQ(device.trace.rank, rank++);
    ASSERT_EQ(device.trace.groups.size(), 1U);
    EXPECT_EQ(device.trace.groups[0].ranks, (std::vector<int64_t>{0, 1, 2, 3}));
    clocks.push_back(trace::metadata_number(device.trace, trace::kSharedClock).value_or(-1));
  }
  EXPECT_EQ(clocks[0], clocks[1]);
  EXPECT_EQ(clocks[2], clocks[3]);
  EXPECT_NE(clocks[0], clocks[2]);
  // Alone, a host has the same ranks.
  const auto alone = link_profiles({other});
  ASSERT_TRUE(alone) << alone.error().message();
  EXPECT_EQ(alone->devices[0].trace.rank, 2);
}

TEST(Hosts, WithDifferentRunsAreRefused) {
  const auto linked = link_profiles(
      {write("hosts_a.xplane.pb", host({0, 1}, 0, {5, 6})), write("hosts_b.xplane.pb", host({2048, 2049}, 0, {6}))});
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().tag, "xla.run.hosts");
}

/// Equal names and numbers on two hosts can be different programs.
TEST(Hosts, HaveProgramsOfTheirOwn) {
  const std::string negate = program({computation(1, {{"parameter", 1, {4}, {}}, {"negate", 2, {4}, {1}}})}, 1, 1);
  const std::string abs = program({computation(1, {{"parameter", 1, {4}, {}}, {"abs", 2, {4}, {1}}})}, 1, 1);
  const auto linked = link_profiles(
      {write("hosts_c.xplane.pb", metadata("jit_f(3)", negate) + plane({{executed("negate.2", 3, 0, 1, 10)}})),
       write("hosts_d.xplane.pb", metadata("jit_f(3)", abs) + plane({{executed("abs.2", 3, 2048, 2, 10)}}))});
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(linked->programs.size(), 2U);
  EXPECT_EQ(linked->devices[1].trace.rank, 1);
}

/// The call of the host decides, even if the run begins in the next step; other threads wait for the run. A step in a
/// step does not count.
TEST(Steps, AreThoseOfTheUser) {
  const std::string chain = program({computation(1, {{"parameter", 1, {4}, {}}, {"negate", 2, {4}, {1}}})}, 1, 1);
  const std::vector<Event> host{{2, 0, 100, stat(kStep, 10)}, {2, 10, 20, stat(kStep, 99)},  {3, 15, 1, stat(kRun, 1)},
                                {3, 20, 1, stat(kRun, 2)},    {2, 100, 50, stat(kStep, 11)}, {3, 110, 1, stat(kRun, 3)},
                                {3, 160, 1, stat(kRun, 4)}};
  std::vector<Event> device;
  for (int64_t run = 1; run <= 4; ++run) device.push_back(executed("negate.2", 3, 0, run, run * 200));
  const std::string bytes = metadata("jit_f(3)", chain) + plane({host, device, {{3, 30, 50, stat(kRun, 1)}}});
  auto source = ByteSource::from_memory(bytes);
  ASSERT_TRUE(source);
  const auto linked = link_profile(std::move(*source));
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_EQ(steps_of(linked->devices[0].trace), (Texts{"train 10", "train 11", "jit_f#3"}));
}

TEST(Sizes, KnownAtRunTimeCountWithTheirBounds) {
  for (const auto& [size, tag] : {std::pair("<=8", "xla.shape.bound"), std::pair("?", "xla.program.shape")}) {
    const std::string of = std::string("f32[") + size + ",4]{1,0}";
    const std::string hlo = "HloModule f, is_scheduled=true\n\nENTRY %main (p: " + of + ") -> " + of +
                            " {\n  %p = " + of + " parameter(0)\n  ROOT %a = " + of + " add(%p, %p)\n}\n";
    auto source = ByteSource::from_memory(hlo);
    ASSERT_TRUE(source);
    Findings findings;
    const auto imported = import_program(std::move(*source), findings);
    if (!imported) {
      EXPECT_EQ(imported.error().tag, tag);
      continue;
    }
    EXPECT_EQ(imported->report.flops, 32U);
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.tag == tag; }));
  }
}

}  // namespace
}  // namespace chakra::xla
