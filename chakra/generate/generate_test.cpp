// Generated jobs among other files: nothing that is there becomes a part of the job, and nothing is lost.
#include "chakra/generate/files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "chakra/base/testing/testing.h"
#include "chakra/device/device.h"
#include "chakra/gen/gen.h"
#include "chakra/generate/parts.h"
#include "chakra/generate/serve.h"
#include "chakra/generate/step.h"
#include "chakra/io/io.h"
#include "chakra/model/model.h"
#include "chakra/sim/sim.h"
#include "chakra/view/testing/shown.h"

namespace chakra::generate {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

trace::ClassJob two_ranks() {
  gen::StepOptions o;
  o.model.layers.resize(1);
  o.dp = 2;
  return gen::step(o).value();
}

TEST(Generate, WritesEitherFormAndOnlyReplacesTheSame) {
  const TemporaryFolder folder;
  const trace::ClassJob job = two_ranks();
  const auto write = [&](const std::string& to, bool all_ranks, const std::string& report = {}) {
    return generate_job(job, {.output = folder.path(to), .name = "step", .all_ranks = all_ranks, .report = report});
  };
  const auto classes = write("classes", false), all = write("all", true), none = generate_job(job, {{}, "step"});
  ASSERT_TRUE(classes && all && none);
  EXPECT_EQ(classes->ranks, 2U);
  EXPECT_EQ(classes->classes, 1U);
  EXPECT_EQ(classes->most_nodes, job.classes[0].size());
  EXPECT_EQ(io::read_job(folder.path("classes"))->ranks.size(), 2U);
  EXPECT_TRUE(is_file(folder.path("all") + "/step.1.et"));
  EXPECT_EQ(none->name, "step");
  EXPECT_EQ(none->ranks, 2U);
  EXPECT_TRUE(write("classes", false));
  EXPECT_TRUE(write("all", true));
  EXPECT_EQ(tag_of(write("classes", true)), "cli.usage");
  EXPECT_EQ(tag_of(write("all", false)), "cli.usage");
  EXPECT_EQ(tag_of(write("new", false, folder.path("new") + "/ranks.json")), "cli.usage");
  EXPECT_EQ(tag_of(write("new", true, folder.path("new") + "/step.0.et")), "cli.usage");
  EXPECT_TRUE(write("new", true, folder.path("new") + "/report.json"));
}

TEST(Generate, StepIsCountedAndSaysWhatHadNoEffect) {
  StepJobOptions o;
  o.step.model.layers.resize(1);
  o.step.dp = 2;
  o.given = {"--overlap", "--context", "--all-ranks"};
  Findings findings;
  const auto step = generate_step(o, findings);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->files.ranks, 2U);
  EXPECT_NE(to_json_text(answer_of(*step)).find(fmt::format("\"parameters\": {}", step->stats.parameters)),
            std::string::npos);
  EXPECT_EQ(findings.size(), 3U);  // nothing is written, and cp is 1
  EXPECT_EQ(findings[0].tag, "sim.option.no_effect");
  const auto fits = [](const auto& made) { return std::get<std::string>(answer_of(made).value("fits")->cell); };
  EXPECT_EQ(fits(*step), "yes");
  o.device_memory_gib = 1e-6;
  EXPECT_EQ(fits(*generate_step(o, findings)), "no");
  o.device = "H100-SXM";
  o.device_memory_gib = {};
  EXPECT_GT(generate_step(o, findings)->device_memory_gib, 70);
  o.device = "no such device";
  EXPECT_FALSE(generate_step(o, findings));
}

/// The answer, the finding of the generator and that of a simulation of the job agree whether the job fits.
TEST(Generate, WhatDoesNotFitIsSaid) {
  const auto severity = [](const Findings& findings) -> std::string {
    for (const Finding& f : findings)
      if (f.tag == "sim.device.memory") return f.severity == Severity::warning ? "no" : "maybe";
    return "yes";
  };
  const auto expect_same = [&](const auto& made, const Findings& findings, double gib) {
    const std::string fits = std::get<std::string>(answer_of(made).value("fits")->cell);
    EXPECT_EQ(severity(findings), fits) << gib;
    trace::ClassJob job = made.job;
    device::System system;
    system.target = device::device(*device::find("H100-SXM"));
    system.target->memory_bytes = gib * kGib;
    Findings simulated;
    EXPECT_TRUE(sim::retarget(job, system, simulated));
    EXPECT_EQ(severity(simulated), fits) << gib;
    return fits;
  };
  std::map<std::string, int> seen;
  for (const double gib : {1.0, 3.0, 4.0, 5.0, 6.0, 8.0, 80.0})
    for (const char* const device : {"", "H100-SXM"}) {
      StepJobOptions step;
      step.step.model.layers.resize(2);
      step.step.pp = 2;
      step.device = device;
      step.device_memory_gib = gib;
      Findings findings;
      const auto made = generate_step(step, findings);
      ASSERT_TRUE(made) << made.error().message();
      ++seen[expect_same(*made, findings, gib)];
      ServeJobOptions serve;
      serve.serve.model = model::default_model();
      serve.device = device;
      serve.device_memory_gib = gib;
      findings.clear();
      const auto served = generate_serve(serve, findings);
      ASSERT_TRUE(served) << served.error().message();
      ++seen[expect_same(*served, findings, gib)];
    }
  EXPECT_EQ(seen.size(), 3U) << "yes, maybe and no";
}

TEST(Generate, ServeIsCounted) {
  ServeJobOptions o;
  o.serve.model = model::default_model();
  o.given = {"--chunk"};
  o.serve.chunk = 4096;
  Findings findings;
  const auto serve = generate_serve(o, findings);
  ASSERT_TRUE(serve);
  ASSERT_EQ(serve->findings.size(), 1U);
  EXPECT_NE(to_json_text(answer_of(*serve)).find("\"rank_count\": 1"), std::string::npos);
  EXPECT_EQ(view::testing::shown(*serve).substr(0, 14), "serve: 1 ranks");
}

TEST(Generate, CasesAreFilesByRank) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_cases({.output = folder.path("cases"), .ranks = 2, .cases = {}}));
  for (const gen::NamedCase& row : gen::cases())
    EXPECT_TRUE(is_file(folder.path("cases") + "/" + std::string(row.name) + ".1.et")) << row.name;
}

}  // namespace
}  // namespace chakra::generate
