#include "chakra/sweep/sweep.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "chakra/base/progress.h"
#include "chakra/base/testing/testing.h"
#include "chakra/generate/generate.h"
#include "chakra/job/job.h"
#include "chakra/job/parts.h"
#include "chakra/sweep/parts.h"
#include "chakra/view/view.h"

namespace chakra::sweep {
namespace {

using testing::must_read;
using testing::tag_of;
using testing::TemporaryFolder;

constexpr const char* kNetwork = "topology: [ Ring ]\nnpus_count: [ {} ]\nbandwidth: [ {} ]\nlatency: [ 500 ]\n";

class Sweeps : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string ring_ = folder_.write("ring.yml", fmt::format(fmt::runtime(kNetwork), 4, 50));
  std::string slow_ = folder_.write("slow.yml", fmt::format(fmt::runtime(kNetwork), 4, 10));

  /// The text with $ as the folder.
  SweepOptions options(std::string text, const std::string& output = "out", const fleet::Shard& shard = {}) const {
    for (size_t at = 0; (at = text.find('$', at)) != std::string::npos;) text.replace(at, 1, folder_.path());
    return {folder_.write("s.yml", text), folder_.path(output), shard, ""};
  }
  Sweep swept(const std::string& text, const std::string& output = "out", const fleet::Shard& shard = {}) const {
    Result<Sweep> made = run_sweep(options(text, output, shard));
    EXPECT_TRUE(made) << made.error().message();
    return made ? std::move(*made) : Sweep();
  }
  std::string message(const std::string& text) const {
    const Result<Sweep> made = run_sweep(options(text));
    return made ? "accepted" : made.error().message();
  }
  size_t lines(const std::string& output = "out") const {
    const std::string text = must_read(journal_of(folder_.path(output), {}));
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

constexpr const char* kSmall = R"(
generate: {preset: tiny, layers: [1, 2], tp: [1, 2], pp: 1, virtual-stages: 1, dp: [1, 2]}
simulate: {network: [$/ring.yml, $/slow.yml]}
)";

TEST_F(Sweeps, HaveTheNumbersOfSingleCalls) {
  const Sweep sweep = swept(kSmall);
  ASSERT_EQ(sweep.points.size(), 16U);
  const answer::Answer answer = answer_of(sweep);
  const answer::Table& points = *answer.table("points");
  for (size_t p = 0; p < 16; ++p) {
    generate::GenerateStepOptions step;
    step.preset = "tiny";
    for (const char* key : {"layers", "tp", "dp"})
      ASSERT_TRUE(options::set(step, key, fmt::format("{}", points.column(key)->whole(p))));
    for (const char* key : {"pp", "virtual-stages"}) ASSERT_TRUE(options::set(step, key, "1"));
    Findings findings;
    auto made = generate::generate_step(step, findings);
    ASSERT_TRUE(made) << made.error().message();
    const answer::Answer generated = answer_of(*made);
    job::SimulateOptions simulate;
    simulate.path = "job";
    simulate.network = points.column("network")->text(p);
    simulate.loaded = std::make_shared<const job::Loaded>(job::Loaded{std::move(made->job)});
    const auto result = job::simulate_job(simulate);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(points.column("makespan_ps")->whole(p), result->report.makespan_ps);
    EXPECT_EQ(answer::Cell(points.column("tokens_per_s")->real(p)),
              answer_of(*result).value("throughput.tokens_per_s")->cell);
    EXPECT_EQ(answer::Cell(points.column("memory_bytes")->whole(p)), generated.value("memory_per_rank.sum")->cell);
    int64_t exposed = 0;
    for (const sim::RankReport& rank : result->report.ranks) exposed += rank.exposed_comm_ps;
    const auto ranks = std::ssize(result->report.ranks);
    EXPECT_NEAR(static_cast<double>(points.column("exposed_comm_ps")->whole(p)),
                static_cast<double>(exposed) / static_cast<double>(ranks), 0.5);
    EXPECT_EQ(points.column("ranks")->whole(p), ranks);
  }
}

TEST_F(Sweeps, DoEqualWorkOnce) {
  // tp 2 and micro-batches 4 are the preset's own, "auto" is the default model of contention
  const Sweep sweep = swept(R"(
generate: {preset: tiny, tp: [2, ~], pp: 1, virtual-stages: 1, dp: 2}
simulate: {network: $/ring.yml, congestion: [auto, ~, closed], no-fold: [false, ~]}
)");
  EXPECT_EQ(sweep.points.size(), 12U);
  EXPECT_EQ(sweep.outcomes.size(), 2U);
  for (const Outcome& outcome : sweep.outcomes) EXPECT_EQ(outcome.tag, "") << outcome.text;
  EXPECT_EQ(lines(), 2U);
  const Sweep lists = swept(
      "generate: {preset: tiny, tp: 1, pp: 1, virtual-stages: 1, dp: 2}\nsimulate:\n  network: $/ring.yml\n"
      "  delay: [['a=1us,b=2us'], ['a=1us', 'b=2us']]\n",
      "lists");
  EXPECT_EQ(lists.outcomes.size(), 2U);  // one text with a comma is not two texts
}

TEST_F(Sweeps, ResumeAndRepeatNothing) {
  const Sweep whole = swept(kSmall);
  EXPECT_EQ(whole.resumed, 0);
  EXPECT_EQ(lines(), 16U);
  std::string text = must_read(journal_of(folder_.path("out"), {}));
  // a killed run: five whole lines, one damaged line, and a part of one more
  size_t at = 0;
  for (int i = 0; i < 5; ++i) at = text.find('\n', at) + 1;
  std::ofstream(journal_of(folder_.path("out"), {})) << text.substr(0, at) << "{\"key\": \"x\"}\n"
                                                     << text.substr(at, 40);
  const Sweep resumed = swept(kSmall);
  EXPECT_EQ(resumed.resumed, 5);
  EXPECT_EQ(lines(), 17U);
  ASSERT_FALSE(resumed.findings.empty());
  EXPECT_EQ(resumed.findings.front().tag, "sweep.journal.damaged");
  for (size_t p = 0; p < 16; ++p) EXPECT_EQ(whole.outcome(p).values, resumed.outcome(p).values) << p;
  EXPECT_EQ(swept(kSmall).resumed, 16);
  folder_.write("ring.yml", fmt::format(fmt::runtime(kNetwork), 4, 60));
  EXPECT_EQ(swept(kSmall).resumed, 8);  // those with the other network
  EXPECT_EQ(swept(kSmall).resumed, 16);
}

TEST_F(Sweeps, OfShardsAreTakenTogether) {
  const Sweep whole = swept(kSmall, "whole");
  for (int64_t shard = 1; shard <= 3; ++shard) {
    const Sweep part = swept(kSmall, "parts", {shard, 3});
    EXPECT_TRUE(part.points.size() == 5 || part.points.size() == 6) << part.points.size();
    EXPECT_EQ(part.resumed, 0);
  }
  const Sweep together = swept(kSmall, "parts");
  EXPECT_EQ(together.resumed, 16);
  EXPECT_EQ(lines("parts"), 0U);  // nothing was left
  for (size_t p = 0; p < 16; ++p) EXPECT_EQ(whole.outcome(p).values, together.outcome(p).values) << p;
}

TEST_F(Sweeps, TakeInputsOfInputsIntoAccount) {
  folder_.write("rules", "allreduce: ring");
  const std::string text =
      "generate: {preset: tiny, tp: 1, pp: 1, virtual-stages: 1, dp: 2}\nsimulate: {network: $/ring.yml, collectives: "
      "$/rules}";
  EXPECT_EQ(swept(text).resumed, 0);
  EXPECT_EQ(swept(text).resumed, 1);
  folder_.write("rules", "allreduce: tree");
  EXPECT_EQ(swept(text).resumed, 0);
  const auto files = files_of_setting({"simulate", "collectives", "", 1}, "allreduce: " + ring_ + ";x");
  EXPECT_EQ(files, std::vector<std::string>{ring_});  // a program that a rule names
  const auto device = [&](int peak) {
    folder_.write("own.yml", fmt::format("name: own\npeaks: {{bf16: {}}}\nmemory-bandwidth: 1000\n", peak));
  };
  for (const std::string& name : {folder_.path("own.yml"), std::string("own.yml")}) {
    device(100);
    folder_.write("system.json", fmt::format(R"({{"devices": {{"d": {{"device": "{}", "ranks": [0, 1]}}}}}})", name));
    const std::string on = text.substr(0, text.find(", collectives")) + ", system: $/system.json}";
    EXPECT_EQ(swept(on).resumed, 0);
    EXPECT_EQ(swept(on).resumed, 1);
    device(200);
    EXPECT_EQ(swept(on).resumed, 0);
  }
}

TEST_F(Sweeps, StateTheMemoryOfTheJobThatRan) {
  for (const int gib : {1, 2})
    folder_.write(fmt::format("of{}.yml", gib),
                  fmt::format("name: of{}\npeaks: {{bf16: 100, f32: 50}}\nmemory-bandwidth: 1000\nmemory: {}\n", gib,
                              gib == 1 ? 0.001 : 100));
  const std::string generated = "generate: {preset: tiny, tp: 1, pp: 1, virtual-stages: 1, ";
  const auto cells = [](const Outcome& outcome) {
    std::vector<answer::Cell> out;
    for (const char* name : {"ranks", "memory_bytes", "memory_at_most_bytes", "device_memory_bytes", "fits"})
      out.push_back(metric_of(outcome.values, name));
    return out;
  };
  const Sweep changed = swept(generated + "dp: 2}\nwhat_if: {from-network: $/ring.yml, batch: [~, 2], dp: [~, 4]}");
  const Sweep made = swept(generated + "micro-batch-size: [~, 2], dp: [2, 4]}\nsimulate: {network: $/ring.yml}");
  ASSERT_EQ(changed.outcomes.size(), 4U);
  for (size_t p = 0; p < 4; ++p) {
    EXPECT_EQ(changed.outcome(p).tag, "") << changed.outcome(p).text;
    EXPECT_EQ(cells(changed.outcome(p)), cells(made.outcome(p))) << p;
    for (size_t other = 0; other < p; ++other) EXPECT_NE(cells(made.outcome(p)), cells(made.outcome(other)));
  }
  const std::string devices = "device: [~, $/of1.yml, $/of2.yml]}";
  for (const std::string& run :
       {"simulate: {network: $/ring.yml, " + devices, "what_if: {from-network: $/ring.yml, batch: 2, " + devices}) {
    const Sweep on = swept(generated + "dp: 2}\n" + run);
    EXPECT_EQ(on.outcome(0).tag, "") << on.outcome(0).text;
    EXPECT_EQ(on.outcome(1).tag, "sweep.memory");
    EXPECT_EQ(cells(on.outcome(1))[3], answer::Cell(int64_t{1'000'000}));
    EXPECT_EQ(cells(on.outcome(1))[4], answer::Cell(std::string("no")));
    EXPECT_EQ(metric_of(on.outcome(1).values, "makespan_ps").index(), 0U);
    EXPECT_EQ(on.outcome(2).tag, "") << on.outcome(2).text;
    EXPECT_EQ(cells(on.outcome(2))[3], answer::Cell(int64_t{100'000'000'000}));
    EXPECT_EQ(cells(on.outcome(2))[4], answer::Cell(std::string("yes")));
  }
}

TEST_F(Sweeps, HaveFailuresAsRows) {
  const Sweep sweep = swept(R"(
generate: {preset: tiny, tp: [1, 3], pp: 1, virtual-stages: 1, dp: [2, 8], device-memory-gib: [~, 0.00001]}
simulate: {network: [$/ring.yml, $/none.yml]}
)");
  std::map<std::string, int> tags;
  for (size_t p = 0; p < sweep.points.size(); ++p) ++tags[sweep.outcome(p).tag];
  EXPECT_EQ(tags[""], 1);
  EXPECT_EQ(tags["sweep.memory"], 4);
  EXPECT_EQ(tags["base.file.open"], 1 + 1);
  EXPECT_EQ(sweep.points.size(), 16U);
  EXPECT_EQ(lines(), 16U - 2);  // a file that cannot be read may be there later
  const answer::Answer answer = answer_of(sweep);
  EXPECT_EQ(answer.value("failed")->cell, answer::Cell(int64_t{15}));
  int64_t failed = 0;
  const answer::Table& failures = *answer.table("failures");
  for (size_t r = 0; r < failures.rows; ++r) failed += failures.column("points")->whole(r);
  EXPECT_EQ(failed, 15);
  folder_.write("none.yml", fmt::format(fmt::runtime(kNetwork), 4, 50));
  int64_t opened = 0;
  const Sweep again = swept(
      "generate: {preset: tiny, tp: [1, 3], pp: 1, virtual-stages: 1, dp: [2, 8], device-memory-gib: [~, 0.00001]}\n"
      "simulate: {network: [$/ring.yml, $/none.yml]}");
  for (size_t p = 0; p < again.points.size(); ++p) opened += !again.outcome(p).failed();
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(swept("generate: {preset: tiny, device-memory-gib: 0.00001}\nrequire_fit: false").outcomes[0].tag, "");
}

TEST_F(Sweeps, RankPointsWithJitterByTheMedian) {
  const std::string start = "generate: {preset: tiny}\nwhat_if:\n  from-network: $/ring.yml\n  repeat: 5\n  jitter: ";
  for (const auto& [jitter, objective] : {std::pair("[compute=uniform:0.1, compute=exponential:1]", "noise_median_ps"),
                                          std::pair("[~, compute=exponential:1]", "makespan_ps")}) {
    const Sweep sweep = swept(start + jitter);
    ASSERT_EQ(sweep.objectives.size(), 1U);
    EXPECT_EQ(kMetrics[sweep.objectives[0]].name, objective) << jitter;
  }
}

TEST_F(Sweeps, ChangeJobsThatExist) {
  generate::GenerateStepOptions step;
  step.preset = "tiny";
  step.files.output = folder_.path("job");
  for (const char* key : {"tp", "dp"}) ASSERT_TRUE(options::set(step, key, "2"));
  for (const char* key : {"pp", "virtual-stages"}) ASSERT_TRUE(options::set(step, key, "1"));
  Findings findings;
  ASSERT_TRUE(generate::generate_step(step, findings));
  const Sweep sweep = swept(R"(
job: $/job
what_if: {from-network: $/ring.yml, scale: [compute=0.5, compute=2, [compute=2, all_reduce=0.5]]}
objective: change_ps
)");
  ASSERT_EQ(sweep.outcomes.size(), 3U);
  for (size_t p = 0; p < 3; ++p) {
    EXPECT_EQ(sweep.outcome(p).tag, "") << sweep.outcome(p).text;
    const auto of = [&](const char* name) { return std::get<int64_t>(metric_of(sweep.outcome(p).values, name)); };
    EXPECT_EQ(of("change_ps"), of("makespan_ps") - of("before_ps"));
    EXPECT_EQ(of("change_ps") < 0, p == 0);
  }
  // a changed trace of the job makes new keys
  EXPECT_EQ(swept("job: $/job\nsimulate: {network: $/ring.yml}").resumed, 0);
  EXPECT_EQ(swept("job: $/job\nsimulate: {network: $/ring.yml}").resumed, 1);
  ASSERT_TRUE(options::set(step, "layers", "3"));
  ASSERT_TRUE(generate::generate_step(step, findings));
  EXPECT_EQ(swept("job: $/job\nsimulate: {network: $/ring.yml}").resumed, 0);
}

TEST_F(Sweeps, DependOnTheFileAlone) {
  std::set<std::string> texts;
  for (const int64_t number : {1, 2, 5}) {
    limit_cores(number);
    const Sweep sweep =
        swept(std::string(kSmall) + "objectives: [makespan_ps, memory_bytes]", fmt::format("out{}", number));
    texts.insert(answer::to_json_text(answer_of(sweep)) + sweep_text(sweep) + view::to_scatter(picture_of(sweep)));
  }
  limit_cores(0);
  EXPECT_EQ(texts.size(), 1U);
}

TEST_F(Sweeps, StopWithoutAResult) {
  int asked = 0;
  const auto stop_at_once = [](void* user, double) { return ++*static_cast<int*>(user) < 2; };
  {
    const Watched watched(stop_at_once, &asked);
    std::string text = kSmall;
    text.replace(text.find("[1, 2]"), 6, "[20, 21, 22, 23, 24]");
    EXPECT_EQ(tag_of(run_sweep(options(text))), "job.interrupted");
  }
  EXPECT_LT(lines(), 40U);
}

TEST_F(Sweeps, NameObjectivesWithoutValues) {
  const auto none = [&](const std::string& objective) {
    const Sweep sweep = swept(std::string(kSmall) + "objectives: [makespan_ps, " + objective + "]");
    return std::count_if(sweep.findings.begin(), sweep.findings.end(),
                         [](const Finding& finding) { return finding.tag == "sweep.objective.none"; });
  };
  EXPECT_EQ(none("change_ps"), 1);
  EXPECT_EQ(none("tokens_per_s"), 0);
}

TEST_F(Sweeps, RejectFiles) {
  for (const auto& [text, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"simulate: {network: x}", "give exactly one of generate, serve and job"},
           {"generate: {}\nserve: {}", "give exactly one of generate, serve and job"},
           {"generate: {}\nsimulate: {network: x}\nwhat_if: {}", "give either simulate or what_if"},
           {"job: x", "a job needs simulate or what_if"},
           {"generate: {}\nsimulate: {}", "simulate needs the option 'network'"},
           {"generate: {output: x}", "a sweep has no option 'output' of generate"},
           {"job: x\nsimulate: {network: x, timeline: y}", "a sweep has no option 'timeline' of simulate"},
           {"generate: {preset: tinyy}", "did you mean tiny?"},
           {"generate: {}\nobjective: makespan", "unknown objective 'makespan'; did you mean makespan_ps?"},
           {"generate: {}\nobjective: fits", "unknown objective 'fits'"},
           {"generate: {}\nobjectives: [mfu, mfu]", "objective mfu is given twice"},
           {"generate: {device: H100-SXM}\nsimulate: {network: x}\nobjective: mfu",
            "s.yml:3: objective mfu needs the option device of simulate"}})
    EXPECT_NE(message(text).find(part), std::string::npos) << text << " gave " << message(text);
  SweepOptions with_figure = options("generate: {}");
  with_figure.svg = folder_.path("x.svg");
  EXPECT_EQ(tag_of(run_sweep(with_figure)), "cli.usage");
}

TEST(Journals, ReadWhatTheyWrite) {
  Outcome outcome;
  for (size_t m = 0; m < kMetrics.size(); ++m) {
    if (kMetrics[m].type == answer::Type::whole) outcome.values[m] = INT64_MAX - static_cast<int64_t>(m);
    else if (kMetrics[m].type == answer::Type::real) outcome.values[m] = 1.0 / 3 * std::pow(10, static_cast<double>(m));
    else if (m % 2 == 0) outcome.values[m] = std::string("a \"quoted\"\nline \xc3\xa4 \x01");
  }
  outcome.findings = {{"a.b", Severity::warning, -1, -1, "text\twith \\ all"}};
  for (const bool failed : {false, true}) {
    if (failed) outcome.tag = "x.y", outcome.text = "why\nnot";
    const std::string line = Journal::line_of("k", outcome);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto read = Journal::parse(line);
    ASSERT_TRUE(read) << line;
    EXPECT_EQ(read->first, "k");
    EXPECT_EQ(read->second.values, outcome.values);
    EXPECT_EQ(read->second.tag, outcome.tag);
    EXPECT_EQ(read->second.text, outcome.text);
    ASSERT_EQ(read->second.findings.size(), 1U);
    EXPECT_EQ(read->second.findings[0].text, outcome.findings[0].text);
    for (size_t cut = 0; cut < line.size(); ++cut) EXPECT_FALSE(Journal::parse(line.substr(0, cut))) << cut;
  }
  for (const char* line :
       {"", "1", "[]", "{\"key\":\"k\"}", "{\"key\":\"k\",\"values\":{\"makespan_ps\":\"x\"},\"findings\":[]}",
        "{\"key\":\"k\",\"values\":{\"other\":1},\"findings\":[]}",
        "{\"key\":\"k\",\"values\":{},\"findings\":[{\"tag\":\"a\"}]}"})
    EXPECT_FALSE(Journal::parse(line)) << line;
}

}  // namespace
}  // namespace chakra::sweep
