// Kineto traces with times that cannot be, and with records of several processes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/recording/kineto.h"
#include "chakra/recording/recording.h"

namespace chakra::recording {
namespace {

using chakra::testing::tag_of;

Result<Profile> parse_kineto(const std::string& events, const std::string& more = "") {
  static StringPool strings;
  static Arena texts;
  const std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]" + more + "}";
  return read_kineto(*ByteSource::from_memory(text), strings, texts);
}

std::string kernel(double ts, double dur, int correlation, int stream = 7) {
  return fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": {:.3f}, \"dur\": {:.3f}, "
      "\"args\": {{\"device\": 0, \"stream\": {}, \"correlation\": {}}}}},",
      ts, dur, stream, correlation);
}
std::string host_record(const char* cat, double ts, double dur, const char* pid = "9") {
  return fmt::format(
      "{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"x\", \"pid\": {}, \"tid\": 9, \"ts\": {:.3f}, \"dur\": {:.3f}}},",
      cat, pid, ts, dur);
}
std::string without_comma(std::string events) {
  if (!events.empty()) events.pop_back();
  return events;
}

TEST(BrokenTimes, RecordsWithoutATimeAreLeftOut) {
  constexpr double kFar = 864e9;  // microseconds
  const auto read = [](const std::string& events, const char* more = "") {
    return *parse_kineto(without_comma(events), more);
  };
  const std::string good = host_record("cpu_op", kFar, 5) + kernel(kFar + 9, 10, 1);
  for (const std::string& broken : {kernel(0, 0, 2), kernel(0, kFar + 20, 2), kernel(kFar + 3, -kFar - 3, 2)}) {
    const Profile p = read(good + broken + kernel(0, 0, 3));
    EXPECT_EQ(p.no_time.device, 2) << broken;
    EXPECT_EQ(p.no_time.host, 0);
    EXPECT_EQ(p.device_ops.size(), 1);
  }
  const Profile host = read(good + host_record("cpu_op", 0, 0) + host_record("cuda_runtime", 0, 0));
  EXPECT_EQ(host.no_time.host, 2);
  EXPECT_EQ(host.ops.size() + host.calls.size(), 1);
  // Times since a base: 0 since the epoch is the base with a minus.
  const Profile based =
      read(host_record("cpu_op", 100, 5) + kernel(-kFar, 0, 2), ", \"baseTimeNanoseconds\": 864000000000000");
  EXPECT_EQ(based.no_time.device, 1);
  // A recording may begin at 0.
  const Profile whole =
      read(host_record("cpu_op", 0, 5) + host_record("cpu_op", 0, 0) + host_record("cpu_op", 90, 5) + kernel(95, 1, 1));
  EXPECT_EQ(whole.no_time.host + whole.no_time.device, 0);
  EXPECT_EQ(whole.ops.size(), 3);
}

/// Streams that run in order, where kernels begin up to 30 us early, stay as they are; of those made too long each is
/// clipped to the next start, and no other.
TEST(BrokenTimes, OverrunsAreClipped) {
  Prng random(7);
  for (int round = 0; round < 200; ++round) {
    std::string events;
    std::vector<double> start, length;
    std::vector<char> broken;
    double time = 1000;
    const int count = 4 + static_cast<int>(random.below(12));
    for (int i = 0; i < count; ++i) {
      start.push_back(time);
      length.push_back(40 + static_cast<double>(random.below(200)));
      time += length.back() + static_cast<double>(random.below(60)) - 30;
      broken.push_back(i + 2 < count && random.chance(0.2));
      events += kernel(start[i], broken.back() ? 1e6 : length[i], i + 1, 7) + kernel(start[i] + 1, 5, 100 + i, 8);
    }
    const Profile p = *parse_kineto(without_comma(events));
    int64_t expected = 0;
    for (int i = 0; i < count; ++i) {
      expected += broken[i];
      const double dur = static_cast<double>(p.device_ops[2 * static_cast<size_t>(i)].dur_ns) / 1000;
      EXPECT_DOUBLE_EQ(dur, broken[i] ? start[i + 1] - start[i] : length[i]) << round << " " << i;
    }
    EXPECT_EQ(p.overruns.count, expected);
  }
  // The stream goes on where the long one ends: it is right, and what ran inside it is odd.
  EXPECT_EQ(parse_kineto(without_comma(kernel(0, 900, 1) + kernel(10, 20, 2) + kernel(901, 9, 3)))->overruns.count, 0);
  EXPECT_EQ(parse_kineto(without_comma(kernel(0, 900, 1) + kernel(10, 20, 2) + kernel(920, 9, 3)))->overruns.count, 1);
  // The operations of one launch may overlap in any way, as those of a graph do.
  EXPECT_EQ(parse_kineto(without_comma(kernel(0, 900, 1) + kernel(10, 20, 1) + kernel(40, 20, 1)))->overruns.count, 0);
  EXPECT_EQ(parse_kineto(without_comma(kernel(1, 900, 1) + kernel(10, 20, 1) + kernel(40, 20, 2)))->overruns.count, 1);
}

TEST(BrokenTimes, SeveralProcessesAreRefused) {
  StringPool strings;
  Arena texts;
  const auto tag = [&](const std::string& events) {
    const std::string text = "{\"traceEvents\": [" + without_comma(events) + "]}";
    return tag_of(read_recording(std::nullopt, *ByteSource::from_memory(text), strings, texts, {}));
  };
  EXPECT_EQ(tag(host_record("cpu_op", 1, 5) + host_record("cpu_op", 1, 5)), "");
  EXPECT_EQ(tag(host_record("cpu_op", 1, 5) + host_record("user_annotation", 1, 5, "10")), "");
  EXPECT_EQ(tag(host_record("cpu_op", 1, 5) + host_record("cpu_op", 1, 5, "10")), "kineto.two_ranks");
  EXPECT_EQ(tag(host_record("cpu_op", 1, 5, "\"[TP00] 9\"") + host_record("cuda_runtime", 1, 5, "\"[TP01] 9\"")),
            "kineto.two_ranks");
}

TEST(Repeats, CountOnce) {
  const auto read = [](const std::string& events) { return *parse_kineto(without_comma(events)); };
  const std::string once = host_record("cpu_op", 100, 5) + host_record("cuda_runtime", 101, 2) + kernel(110, 5, 1) +
                           kernel(115, 5, 2) + kernel(110, 5, 1, 8);
  const Profile single = read(once), twice = read(once + once + kernel(110, 5, 1));
  EXPECT_EQ(single.repeats.host + single.repeats.device, 0);
  EXPECT_EQ(twice.repeats.host, 2);
  EXPECT_EQ(twice.repeats.device, 4);
  EXPECT_EQ(twice.ops.size(), single.ops.size());
  EXPECT_EQ(twice.calls.size(), single.calls.size());
  ASSERT_EQ(twice.device_ops.size(), single.device_ops.size());
  for (size_t i = 0; i < single.device_ops.size(); ++i) EXPECT_EQ(twice.device_ops[i].byte, single.device_ops[i].byte);
  // Events without length and ids may repeat; other times, streams or calls are other records.
  const Profile events = read(host_record("cpu_op", 100, 0) + host_record("cpu_op", 100, 0) + kernel(110, 5, 1) +
                              kernel(110, 5, 2) + kernel(110, 6, 1, 9));
  EXPECT_EQ(events.repeats.host + events.repeats.device, 0);
  EXPECT_EQ(events.ops.size(), 2);
}

}  // namespace
}  // namespace chakra::recording
