// chakra/options.h is what the table of options says; every option through set() and, out of range, through calls.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "chakra/base/testing/testing.h"
#include "chakra/facade/calls.h"
#include "chakra/facade/testing/public_options.h"

namespace chakra {
namespace {

/// Equal but for the layout, which clang-format makes. CHAKRA_WRITE_OPTIONS writes the file instead.
void expect_made(const std::string& path, const std::string& made) {
  if (std::getenv("CHAKRA_WRITE_OPTIONS")) {
    ASSERT_TRUE(write_file(path, made));
    return;
  }
  const auto words = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '/'; });
    return text;
  };
  EXPECT_EQ(words(testing::must_read(path)), words(made))
      << path << ": CHAKRA_WRITE_OPTIONS=1 facade_test, then clang-format";
}

TEST(PublicOptions, AreThoseOfTheTable) {
  expect_made("chakra/options.h", facade::testing::options_header());
  expect_made("chakra/facade/fields.h", facade::testing::fields_header());
  expect_made("chakra/facade/fields.cpp", facade::testing::fields_source());
  expect_made("python/chakra_et/_verbs.py", facade::testing::python_source());
}

/// What an option may meet, wherever it is.
const std::vector<std::string> kTexts{"",    "0",   "-1",   "1",     "7",    "1.5", "nan",           "inf",
                                      "1e9", "yes", "true", "false", "auto", "?",   "closed",        "fluid",
                                      "a,b", "1,2", "0:3",  "null",  "1us",  "64",  "9999999999999", "\xff"};

/// Each option takes a text and says it again, or refuses it with the tag and keeps its value.
template <class Asked>
size_t try_all() {
  size_t calls = 0;
  Asked fresh;
  for (const options::Option& row : facade::fields_of(fresh)) {
    for (const std::string& text : kTexts) {
      Asked asked;
      const auto before = options::text_of(*options::find(facade::fields_of(asked), options::key_of(row)));
      const Result<void> done = set(asked, options::key_of(row), text);
      const auto after = options::text_of(*options::find(facade::fields_of(asked), options::key_of(row)));
      ++calls;
      if (done) continue;
      EXPECT_EQ(done.error().tag, "cli.usage") << row.names;
      EXPECT_EQ(done.error().code, Code::usage) << row.names;
      EXPECT_EQ(before, after) << row.names << " " << text;
    }
  }
  Asked asked;
  EXPECT_EQ(set(asked, "no-such-option", "1").error().tag, "cli.usage");
  return calls;
}

TEST(PublicOptions, TakeATextOrRefuseIt) {
  const size_t calls =
      try_all<LinkOptions>() + try_all<StepOptions>() + try_all<ServeOptions>() + try_all<EditOptions>() +
      try_all<CheckOptions>() + try_all<SimulateOptions>() + try_all<WhatIfOptions>() + try_all<AnalyzeOptions>() +
      try_all<QueryOptions>() + try_all<ViewOptions>() + try_all<RunOptions>() + try_all<DiffOptions>() +
      try_all<WriteOptions>() + try_all<CalibrateDeviceOptions>() + try_all<CalibrateNetworkOptions>() +
      try_all<CasesOptions>() + try_all<BlueprintOptions>() + try_all<ImportOptions>() + try_all<ConvertOptions>() +
      try_all<PackOptions>() + try_all<UnpackOptions>() + try_all<DoctorOptions>();
  EXPECT_GT(calls, 3000U);
}

TEST(PublicOptions, AWrongWordGetsTheNearestOne) {
  SimulateOptions o;
  EXPECT_NE(set(o, "netwrok", "n.yml").error().text.find("network"), std::string::npos);
  EXPECT_NE(set(o, "congestion", "fliud").error().text.find("fluid"), std::string::npos);
  ASSERT_TRUE(set(o, "congestion", "fluid"));
  EXPECT_EQ(o.congestion, Congestion::fluid);
  ASSERT_TRUE(set(o, "packet_bytes", "4096"));
  EXPECT_EQ(o.packet_bytes, 4096);
}

/// Puts each member of a struct out of range, one after the other; `call` must refuse it.
template <class Asked, class Call>
void expect_all_refused(const Call& call) {
  Asked fresh;
  const size_t fields = facade::fields_of(fresh).size();
  for (size_t i = 0; i < fields; ++i) {
    Asked asked;
    const options::Options rows = facade::fields_of(asked);
    const auto wrong = [&] { EXPECT_EQ(call(asked), "cli.usage") << rows[i].names; };
    if (const auto* choice = std::get_if<options::Choice>(&rows[i].target)) {
      choice->set(200);
      wrong();
    } else if (auto* const* real = std::get_if<double*>(&rows[i].target)) {
      **real = std::numeric_limits<double>::quiet_NaN();
      wrong();
    } else if (auto* const* maybe = std::get_if<std::optional<double>*>(&rows[i].target)) {
      **maybe = -std::numeric_limits<double>::infinity();
      wrong();
    } else if (auto* const* whole = std::get_if<int64_t*>(&rows[i].target)) {
      **whole = INT64_MIN;
      wrong();
    } else if (auto* const* number = std::get_if<std::optional<int64_t>*>(&rows[i].target)) {
      **number = INT64_MIN;
      wrong();
    }
  }
}

template <class T>
std::string tag_of(const Result<T>& result) {
  return result ? "done" : result.error().tag;
}

TEST(PublicOptions, ARunThatIsNotDoneIsNotCompared) {
  Builder builder(0);
  builder.compute("a", 1000);
  const std::vector<Trace> traces{*builder.finish()};
  EXPECT_EQ(Job::from(traces)->run({.dry_run = true, .compare = true}).error().tag, "cli.usage");
}

TEST(PublicOptions, OutOfRangeAreRefusedByEveryVerb) {
  Builder builder(0);
  builder.compute("a", 1000);
  const std::vector<Trace> traces{*builder.finish()};
  const Job job = *Job::from(traces);
  expect_all_refused<CheckOptions>([&](const auto& o) { return tag_of(job.check(o)); });
  expect_all_refused<SimulateOptions>([&](const auto& o) { return tag_of(job.simulate(o)); });
  expect_all_refused<WhatIfOptions>([&](const auto& o) { return tag_of(job.what_if(o)); });
  expect_all_refused<AnalyzeOptions>([&](const auto& o) { return tag_of(job.analyze(o)); });
  expect_all_refused<QueryOptions>([&](const auto& o) { return tag_of(job.query("select 1", o)); });
  expect_all_refused<RunOptions>([&](const auto& o) { return tag_of(job.run(o)); });
  expect_all_refused<DiffOptions>([&](const auto& o) { return tag_of(job.diff(job, o)); });
  expect_all_refused<LinkOptions>([&](const auto& o) { return tag_of(chakra::v1::link({"x"}, o)); });
  expect_all_refused<StepOptions>([&](const auto& o) { return tag_of(chakra::v1::generate(o)); });
  expect_all_refused<ServeOptions>([&](const auto& o) { return tag_of(chakra::v1::generate(o)); });
}

}  // namespace
}  // namespace chakra
