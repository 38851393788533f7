// The calls as a program uses them: on the recorded example job.
#include "chakra/certify/certify.h"
#include "chakra/convert/convert.h"
#include "chakra/generate/generate.h"
#include "chakra/job/job.h"
#include "chakra/linking/linking.h"
#include "chakra/report/report.h"
#include "chakra/run/run.h"
#include "chakra/share/share.h"

#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>
#include <atomic>

#include "chakra/base/testing/testing.h"
#include "chakra/doctor/doctor.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/view/testing/shown.h"

namespace chakra::facade {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

constexpr const char* kRecordings = "examples/traces/ddp_gloo_2ranks";

/// The example job, linked into a folder.
class ExampleJob : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string traces_ = folder_.path("traces");
  linking::LinkJobOptions link_{.inputs = {kRecordings}, .output = traces_, .link = {}, .explain = {}, .max_error = {}};
  std::string network_ =
      folder_.write("net.yml", "topology: [Switch]\nnpus_count: [2]\nbandwidth: [50]\nlatency: [500]\n");
  job::SimulateOptions simulate() const {
    job::SimulateOptions o;
    o.path = traces_ + "/trace";
    o.network = network_;
    return o;
  }
};

TEST_F(ExampleJob, IsSimulatedWithHooks) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  int begun = 0;
  const auto result = job::simulate_job(simulate(), {.begins = [&] { ++begun; }});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(result->report.ranks.size(), 2u);
  EXPECT_GT(result->report.makespan_ps, 0);
  EXPECT_TRUE(result->replay);
  EXPECT_FALSE(result->recorded_transfers);

  std::atomic<bool> stop{false};
  const auto stopped =
      job::simulate_job(simulate(), {.progress = [&](const sim::Progress&) { stop = true; }, .stop = &stop});
  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_TRUE(stopped->report.interrupted);
  EXPECT_FALSE(stopped->replay->job().has(recorded::TransferKind::simulated))
      << "a part of the run stands for the whole";
}

TEST_F(ExampleJob, HasNoAnswerWhereAnInnerRunWasStopped) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  const std::atomic<bool> stop{true};
  const auto stopped = job::simulate_job(simulate(), {.stop = &stop});  // in the run with recorded transfers
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().tag, "sim.interrupted");
  EXPECT_EQ(stopped.error().code, Code::interrupted);
  job::SimulateOptions delayed = simulate();
  delayed.delays = {"0:*:1ms"};
  EXPECT_FALSE(job::simulate_job(delayed, {.stop = &stop}));
  job::WhatIfOptions asked;
  asked.path = simulate().path;
  const auto changed = job::what_if(asked, &stop);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().tag, "sim.interrupted");
}

TEST_F(ExampleJob, SaysWhatHadNoEffect) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  job::SimulateOptions o = simulate();
  o.expand = "2";
  const auto result = job::simulate_job(o);
  ASSERT_TRUE(result) << result.error().message();
  const Findings& findings = result->report.findings;
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const Finding& f) {
    return f.tag == "sim.option.no_effect" && contains(f.text, "--expand");
  }));
}

TEST_F(ExampleJob, ReportsWhatTheCommandShows) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  const std::string of_link = view::testing::shown(*linked);
  for (const char* line : {"rank 0: ", "\n  host ops       ", "\n  self-check     ", "\n  clock of rank  "})
    EXPECT_TRUE(contains(of_link, line)) << line << "\n" << of_link;
  EXPECT_TRUE(contains(to_json_text(answer_of(*linked)), "\"self_check_error\": "));

  const auto simulated = job::simulate_job(simulate());
  ASSERT_TRUE(simulated) << simulated.error().message();
  const answer::Answer answer = answer_of(*simulated);
  const std::string of_sim = view::to_text(answer, text_of(*simulated));
  for (const char* line : {": 2 ranks on a ", "\nfinished after ", "measured / simulated"})
    EXPECT_TRUE(contains(of_sim, line)) << line << "\n" << of_sim;
  EXPECT_TRUE(job::astra_text_of(*simulated).starts_with("sys[0] finished, "));
  EXPECT_TRUE(contains(to_json_text(answer), "\"mode\": \"native\""));

  const auto checked = job::check_job({.path = traces_, .groups = "", .expand = ""});
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_TRUE(view::testing::shown(*checked).starts_with(traces_ + ": 2 ranks, "));
  EXPECT_TRUE(contains(to_json_text(answer_of(*checked)), "\"ok\": true"));

  const auto analyzed = job::analyze_job({.path = traces_, .groups = "", .only = {"time"}, .svg = "i.svg"});
  ASSERT_TRUE(analyzed) << analyzed.error().message();
  EXPECT_TRUE(view::testing::shown(*analyzed).starts_with(traces_ + ": 2 ranks\n"));
  EXPECT_TRUE(contains(to_json_text(answer_of(*analyzed)), "\"ranks\": 2"));
  EXPECT_TRUE(job::picture_of(analyzed->imbalances).rows.empty());
}

TEST(Texts, AskForWhatTheirAnswersHave) {
  const auto expect_all = [](const auto& none) {
    EXPECT_EQ(view::defects(text_of(none).shows, answer_of(none)), std::vector<std::string>());
  };
  expect_all(job::SimulateResult{});
  expect_all(job::CheckedJob{});
  expect_all(job::JobSummary{});
  expect_all(job::WhatIf{});
  expect_all(job::JobsDiff{});
  expect_all(recorded::TimesCompared{});
  expect_all(job::AnalyzedJob{});
  expect_all(linking::LinkedJob{});
  expect_all(run::ReplayedJob{});
  expect_all(calibrate::FittedDevice{});
  expect_all(calibrate::FittedNetwork{});
  expect_all(convert::ConvertedJob{});
  expect_all(share::ObfuscatedJob{});
  expect_all(convert::PackedJob{});
  expect_all(report::ReportedJob{});
  expect_all(share::SelectedJobs{});
  expect_all(certify::CertifiedJob{});
  expect_all(certify::CheckedCertificate{});
  expect_all(convert::ContainerStats{});
  expect_all(convert::RepairedContainer{});
  expect_all(convert::UnpackedJob{});
  expect_all(convert::ImportedJob{});
  expect_all(doctor::CheckedInstallation{});
  expect_all(doctor::ExaminedFiles{});
  expect_all(job::ViewedJob{});
  generate::StepJob step;
  generate::ServeJob serve;
  step.shows_memory = serve.shows_memory = true;
  expect_all(step);
  expect_all(serve);
  linking::LinkedJob explained;
  explained.ranks.resize(1);
  explained.ranks[0].explanation = "a node";
  expect_all(explained);
}

TEST_F(ExampleJob, IsViewed) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  job::ViewOptions o;
  o.path = traces_;
  o.output = folder_.path("timeline.json");
  o.form = "timeline";
  const auto timeline = job::view_job(o);
  ASSERT_TRUE(timeline) << timeline.error().message();
  EXPECT_TRUE(contains(view::testing::shown(*timeline), " of 2 ranks, "));
  EXPECT_TRUE(is_file(o.output));
  o.form = "dot";
  o.output = folder_.path("graph.dot");
  EXPECT_EQ(tag_of(job::view_job(o)), "cli.usage");  // of one rank
  o.rank = 1;
  const auto graph = job::view_job(o);
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_TRUE(view::testing::shown(*graph).starts_with(o.output + ": "));
  o.rank = 2;
  EXPECT_EQ(tag_of(job::view_job(o)), "cli.usage");
}

TEST_F(ExampleJob, RefusesWhatDoesNotGoTogether) {
  EXPECT_EQ(tag_of(linking::link_job({})), "cli.usage");
  linking::LinkJobOptions explained = link_;
  explained.explain = 1;
  EXPECT_EQ(tag_of(linking::link_job(explained)), "cli.usage");
  job::SimulateOptions o = simulate();
  o.rules = job::Rules::astra_sim;
  o.delays = {"a=1us"};
  EXPECT_EQ(tag_of(job::simulate_job(o)), "cli.usage");
  o = simulate();
  o.packet_bytes = 4096;
  EXPECT_EQ(tag_of(job::simulate_job(o)), "cli.usage");
  job::ViewOptions lines;
  lines.path = "lines.csv";
  lines.output = folder_.path("lines.dot");
  EXPECT_EQ(tag_of(job::view_job(lines)), "cli.usage");
  o = simulate();
  o.network = "none.yml";
  EXPECT_EQ(tag_of(job::simulate_job(o)), "base.file.open");
}

TEST_F(ExampleJob, RefusesWhatIsOutOfRange) {
  const auto simulated = [&](auto change) {
    job::SimulateOptions o = simulate();
    change(o);
    return tag_of(job::simulate_job(o));
  };
  EXPECT_EQ(simulated([](job::SimulateOptions& o) { o.congestion = static_cast<sim::Congestion>(99); }), "cli.usage");
  EXPECT_EQ(simulated([](job::SimulateOptions& o) { o.transfers = static_cast<recorded::TransferKind>(2); }),
            "cli.usage");
  EXPECT_EQ(simulated([](job::SimulateOptions& o) { o.rules = static_cast<job::Rules>(7); }), "cli.usage");
  EXPECT_EQ(simulated([](job::SimulateOptions& o) { o.devices.unrecorded = static_cast<job::Unrecorded>(7); }),
            "cli.usage");
  EXPECT_EQ(simulated([](job::SimulateOptions& o) { o.max_error = std::nan(""); }), "cli.usage");
  EXPECT_EQ(simulated([](job::SimulateOptions& o) {
              o.congestion = sim::Congestion::packet;
              o.packet_bytes = -1;
            }),
            "cli.usage");
  EXPECT_EQ(simulated([](job::SimulateOptions& o) {
              o.rules = job::Rules::astra_sim;
              o.compat_options.queues_per_dimension = 0;
            }),
            "cli.usage");
  const auto replayed = [&](auto change) {
    run::ReplayOptions o;
    o.path = traces_;
    change(o);
    return tag_of(run::replay_job(o));
  };
  EXPECT_EQ(replayed([](run::ReplayOptions& o) { o.scale_compute = -1; }), "cli.usage");
  EXPECT_EQ(replayed([](run::ReplayOptions& o) { o.scale_compute = std::nan(""); }), "cli.usage");
  EXPECT_EQ(replayed([](run::ReplayOptions& o) { o.repetitions = 0; }), "cli.usage");
  EXPECT_EQ(replayed([](run::ReplayOptions& o) { o.backend = "nul"; }), "cli.usage");
  EXPECT_EQ(replayed([](run::ReplayOptions& o) { o.start = static_cast<run::ReplayStart>(3); }), "cli.usage");
}

TEST_F(ExampleJob, IsSummarized) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  const auto summary = job::summarize_job(traces_);
  ASSERT_TRUE(summary) << summary.error().message();
  ASSERT_EQ(summary->traces.size(), 2u);
  const analyze::TraceSummary& one = summary->traces[1];
  EXPECT_EQ(one.rank, 1);
  int64_t nodes = 0;
  for (const auto& [type, count] : one.types) nodes += count;
  EXPECT_EQ(nodes, one.nodes);
  EXPECT_FALSE(one.communication.empty());
  ASSERT_TRUE(one.replay);
  EXPECT_GT(one.replay->measured_ps, 0);
  EXPECT_TRUE(contains(view::testing::shown(*summary), "trace.1.et: rank 1\n  nodes          "));
  EXPECT_TRUE(contains(to_json_text(answer_of(*summary)), "\"replayed_ns\""));
}

TEST_F(ExampleJob, IsCompared) {
  auto linked = linking::link_job(link_);
  ASSERT_TRUE(linked && linked->commit());
  const std::string rank0 = traces_ + "/trace.0.et";
  const auto same = job::diff_jobs({.a = rank0, .b = rank0, .threshold = 5});
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_TRUE(same->exceeding.empty());
  EXPECT_FALSE(same->diff.rows.empty());
  EXPECT_TRUE(contains(view::testing::shown(*same), "no kind of node differs"));
  const auto diff = job::diff_jobs({.a = traces_, .b = rank0, .threshold = 5});
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_EQ(diff->ranks_a, 2u);
  EXPECT_GT(diff->diff.removed, 0);
  EXPECT_FALSE(diff->exceeding.empty());
  EXPECT_TRUE(contains(to_json_text(answer_of(*diff)), "\"threshold_percent\": 5"));
}

/// A name of metadata that comes twice is one member, whatever it is called; numbers are exact.
TEST(Answers, MetadataIsOneObject) {
  job::JobSummary job{"a", false, 1, 0, {}};
  job.traces.emplace_back().metadata = {
      {"a.b", int64_t{1}}, {"most", UINT64_MAX}, {"a.b", std::string("two")}, {"", true}};
  EXPECT_TRUE(contains(to_json_text(answer_of(job)), R"("metadata": {
        "a.b": "two",
        "most": 18446744073709551615,
        "": true
      },)"))
      << to_json_text(answer_of(job));
}

}  // namespace
}  // namespace chakra::facade
