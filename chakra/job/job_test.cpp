// The calls as a program uses them: on the recorded example job.
#include "chakra/job/job.h"

#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>
#include <atomic>

#include "chakra/base/testing/testing.h"
#include "chakra/doctor/doctor.h"
#include "chakra/io/io.h"
#include "chakra/job/ranks.h"
#include "chakra/job/testing/shown.h"

namespace chakra::job {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

constexpr const char* kRecordings = "examples/traces/ddp_gloo_2ranks";

/// The example job, linked into a folder.
class Job : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string traces_ = folder_.path("traces");
  LinkJobOptions link_{.inputs = {kRecordings}, .output = traces_, .link = {}, .explain = {}, .max_error = {}};
  std::string network_ =
      folder_.write("net.yml", "topology: [Switch]\nnpus_count: [2]\nbandwidth: [50]\nlatency: [500]\n");
  SimulateOptions simulate() const {
    SimulateOptions o;
    o.path = traces_ + "/trace";
    o.network = network_;
    return o;
  }
};

TEST_F(Job, IsLinkedComparedAndWrittenTogether) {
  auto linked = link_job(link_);
  ASSERT_TRUE(linked) << linked.error().message();
  ASSERT_EQ(linked->ranks.size(), 2u);
  EXPECT_EQ(linked->ranks[1].rank, 1);
  EXPECT_TRUE(linked->mismatches.empty());
  ASSERT_TRUE(linked->replay);
  EXPECT_EQ(linked->replays.size(), 3u);  // each rank, and the job
  EXPECT_FALSE(is_file(linked->ranks[0].output));
  ASSERT_TRUE(linked->commit());
  EXPECT_TRUE(is_file(linked->ranks[0].output));
  EXPECT_TRUE(is_file(linked->ranks[1].output));
}

TEST_F(Job, IsSimulatedWithHooks) {
  auto linked = link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  int begun = 0;
  const auto result = simulate_job(simulate(), {.begins = [&] { ++begun; }});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(result->report.ranks.size(), 2u);
  EXPECT_GT(result->report.makespan_ps, 0);
  EXPECT_TRUE(result->replay);
  EXPECT_FALSE(result->recorded_transfers);

  std::atomic<bool> stop{false};
  const auto stopped =
      simulate_job(simulate(), {.progress = [&](const sim::Progress&) { stop = true; }, .stop = &stop});
  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_TRUE(stopped->report.interrupted);
  EXPECT_FALSE(stopped->replay->job().has(recorded::TransferKind::simulated))
      << "a part of the run stands for the whole";
}

TEST_F(Job, HasNoAnswerWhereAnInnerRunWasStopped) {
  auto linked = link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  const std::atomic<bool> stop{true};
  const auto stopped = simulate_job(simulate(), {.stop = &stop});  // in the run with recorded transfers
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().tag, "sim.interrupted");
  EXPECT_EQ(stopped.error().code, Code::interrupted);
  SimulateOptions delayed = simulate();
  delayed.delays = {"0:*:1ms"};
  EXPECT_FALSE(simulate_job(delayed, {.stop = &stop}));
  WhatIfOptions asked;
  asked.path = simulate().path;
  const auto changed = what_if(asked, &stop);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().tag, "sim.interrupted");
}

TEST_F(Job, SaysWhatHadNoEffect) {
  auto linked = link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  SimulateOptions o = simulate();
  o.expand = "2";
  const auto result = simulate_job(o);
  ASSERT_TRUE(result) << result.error().message();
  const Findings& findings = result->report.findings;
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.tag == "sim.option.no_effect" && contains(f.text, "--expand");
  }));
}

TEST_F(Job, ReportsWhatTheCommandShows) {
  auto linked = link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  const std::string of_link = shown(*linked);
  for (const char* line : {"rank 0: ", "\n  host ops       ", "\n  self-check     ", "\n  clock of rank  "})
    EXPECT_TRUE(contains(of_link, line)) << line << "\n" << of_link;
  EXPECT_TRUE(contains(to_json_text(answer_of(*linked)), "\"self_check_error\": "));

  const auto simulated = simulate_job(simulate());
  ASSERT_TRUE(simulated) << simulated.error().message();
  const answer::Answer answer = answer_of(*simulated);
  const std::string of_sim = view::to_text(answer, text_of(*simulated));
  for (const char* line : {": 2 ranks on a ", "\nfinished after ", "measured / simulated"})
    EXPECT_TRUE(contains(of_sim, line)) << line << "\n" << of_sim;
  EXPECT_TRUE(astra_text_of(*simulated).starts_with("sys[0] finished, "));
  EXPECT_TRUE(contains(to_json_text(answer), "\"mode\": \"native\""));

  const auto checked = check_job({.path = traces_, .groups = "", .expand = ""});
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_TRUE(shown(*checked).starts_with(traces_ + ": 2 ranks, "));
  EXPECT_TRUE(contains(to_json_text(answer_of(*checked)), "\"ok\": true"));

  const auto analyzed = analyze_job({.path = traces_, .groups = "", .only = {"time"}, .svg = "i.svg"});
  ASSERT_TRUE(analyzed) << analyzed.error().message();
  EXPECT_TRUE(shown(*analyzed).starts_with(traces_ + ": 2 ranks\n"));
  EXPECT_TRUE(contains(to_json_text(answer_of(*analyzed)), "\"ranks\": 2"));
  EXPECT_TRUE(picture_of(analyzed->imbalances).rows.empty());
}

TEST(Texts, AskForWhatTheirAnswersHave) {
  const auto expect_all = [](const auto& none) {
    EXPECT_EQ(view::defects(text_of(none).shows, answer_of(none)), std::vector<std::string>());
  };
  expect_all(SimulateResult{});
  expect_all(CheckedJob{});
  expect_all(JobSummary{});
  expect_all(WhatIf{});
  expect_all(JobsDiff{});
  expect_all(recorded::TimesCompared{});
  expect_all(AnalyzedJob{});
  expect_all(LinkedJob{});
  expect_all(ReplayedJob{});
  expect_all(calibrate::FittedDevice{});
  expect_all(calibrate::FittedNetwork{});
  expect_all(ConvertedJob{});
  expect_all(ObfuscatedJob{});
  expect_all(PackedJob{});
  expect_all(ReportedJob{});
  expect_all(SelectedJobs{});
  expect_all(CertifiedJob{});
  expect_all(CheckedCertificate{});
  expect_all(ContainerStats{});
  expect_all(RepairedContainer{});
  expect_all(UnpackedJob{});
  expect_all(ImportedJob{});
  expect_all(doctor::CheckedInstallation{});
  expect_all(doctor::ExaminedFiles{});
  expect_all(ViewedJob{});
  StepJob step;
  ServeJob serve;
  step.shows_memory = serve.shows_memory = true;
  expect_all(step);
  expect_all(serve);
  LinkedJob explained;
  explained.ranks.resize(1);
  explained.ranks[0].explanation = "a node";
  expect_all(explained);
}

TEST_F(Job, IsViewed) {
  auto linked = link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  ViewOptions o;
  o.path = traces_;
  o.output = folder_.path("timeline.json");
  o.form = "timeline";
  const auto timeline = view_job(o);
  ASSERT_TRUE(timeline) << timeline.error().message();
  EXPECT_TRUE(contains(shown(*timeline), " of 2 ranks, "));
  EXPECT_TRUE(is_file(o.output));
  o.form = "dot";
  o.output = folder_.path("graph.dot");
  EXPECT_EQ(tag_of(view_job(o)), "cli.usage");  // of one rank
  o.rank = 1;
  const auto graph = view_job(o);
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_TRUE(shown(*graph).starts_with(o.output + ": "));
  o.rank = 2;
  EXPECT_EQ(tag_of(view_job(o)), "cli.usage");
}

TEST_F(Job, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(tag_of(link_job({})), "cli.usage");
  LinkJobOptions explained = link_;
  explained.explain = 1;
  EXPECT_EQ(tag_of(link_job(explained)), "cli.usage");
  SimulateOptions o = simulate();
  o.rules = Rules::astra_sim;
  o.delays = {"a=1us"};
  EXPECT_EQ(tag_of(simulate_job(o)), "cli.usage");
  o = simulate();
  o.packet_bytes = 4096;
  EXPECT_EQ(tag_of(simulate_job(o)), "cli.usage");
  ViewOptions lines;
  lines.path = "lines.csv";
  lines.output = folder_.path("lines.dot");
  EXPECT_EQ(tag_of(view_job(lines)), "cli.usage");
  o = simulate();
  o.network = "none.yml";
  EXPECT_EQ(tag_of(simulate_job(o)), "base.file.open");
}

TEST_F(Job, RefusesWhatIsOutOfRange) {
  const auto simulated = [&](auto change) {
    SimulateOptions o = simulate();
    change(o);
    return tag_of(simulate_job(o));
  };
  EXPECT_EQ(simulated([](SimulateOptions& o) { o.congestion = static_cast<sim::Congestion>(99); }), "cli.usage");
  EXPECT_EQ(simulated([](SimulateOptions& o) { o.transfers = static_cast<recorded::TransferKind>(2); }), "cli.usage");
  EXPECT_EQ(simulated([](SimulateOptions& o) { o.rules = static_cast<Rules>(7); }), "cli.usage");
  EXPECT_EQ(simulated([](SimulateOptions& o) { o.devices.unrecorded = static_cast<Unrecorded>(7); }), "cli.usage");
  EXPECT_EQ(simulated([](SimulateOptions& o) { o.max_error = std::nan(""); }), "cli.usage");
  EXPECT_EQ(simulated([](SimulateOptions& o) {
              o.congestion = sim::Congestion::packet;
              o.packet_bytes = -1;
            }),
            "cli.usage");
  EXPECT_EQ(simulated([](SimulateOptions& o) {
              o.rules = Rules::astra_sim;
              o.compat_options.queues_per_dimension = 0;
            }),
            "cli.usage");
  const auto replayed = [&](auto change) {
    ReplayOptions o;
    o.path = traces_;
    change(o);
    return tag_of(replay_job(o));
  };
  EXPECT_EQ(replayed([](ReplayOptions& o) { o.scale_compute = -1; }), "cli.usage");
  EXPECT_EQ(replayed([](ReplayOptions& o) { o.scale_compute = std::nan(""); }), "cli.usage");
  EXPECT_EQ(replayed([](ReplayOptions& o) { o.repetitions = 0; }), "cli.usage");
  EXPECT_EQ(replayed([](ReplayOptions& o) { o.backend = "nul"; }), "cli.usage");
  EXPECT_EQ(replayed([](ReplayOptions& o) { o.start = static_cast<ReplayStart>(3); }), "cli.usage");
}

}  // namespace
}  // namespace chakra::job
