// Jobs and answers of the facade against the calls below it, on a job that a program builds.
#include <gtest/gtest.h>

#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/chakra.h"
#include "chakra/job/job.h"
#include "chakra/trace.h"

namespace chakra {
namespace {

using testing::TemporaryFolder;

constexpr const char* kNetwork = "topology: [Switch]\nnpus_count: [2]\nbandwidth: [1]\nlatency: [1000]\n";

Job two_ranks() {
  std::vector<Trace> ranks;
  for (int64_t rank = 0; rank < 2; ++rank) {
    Builder b(rank);
    const uint32_t work = b.compute("work", 10'000'000 * (rank + 1));
    const uint32_t reduce = b.communicate("reduce", {.type = CommType::all_reduce, .bytes = 1 << 20});
    b.wait(reduce, work);
    ranks.push_back(*b.finish());
  }
  return *Job::from(ranks);
}

struct WithNetwork {
  TemporaryFolder folder;
  std::string network = folder.path("net.yml");
  WithNetwork() { EXPECT_TRUE(write_file(network, kNetwork)); }
};

TEST(Job, AnswersAsTheCallsOfTheRoomDo) {
  const WithNetwork at;
  const Job job = two_ranks();
  ASSERT_TRUE(job.write(at.folder.path("t")));
  const auto answer = job.simulate({.network = at.network});
  ASSERT_TRUE(answer) << answer.error().message();
  job::SimulateOptions call;
  call.path = at.folder.path("t");
  call.network = at.network;
  const auto same = job::simulate_job(call);
  ASSERT_TRUE(same);
  EXPECT_EQ(answer->whole("makespan_ps"), same->report.makespan_ps);
  const auto finish = answer->table("ranks")->find("finish_ps");
  ASSERT_TRUE(finish);
  EXPECT_EQ(finish->unit(), "ps");
  ASSERT_EQ(finish->whole().size(), 2U);
  EXPECT_EQ(finish->whole()[1], same->report.ranks[1].finish_ps);
  EXPECT_FALSE(answer->table("ranks")->find("no_such"));
  EXPECT_FALSE(answer->table("no_such"));
  EXPECT_FALSE(answer->whole("no_such"));
  EXPECT_NE(answer->to_text().find("finished after"), std::string::npos);
  EXPECT_EQ(answer->verb(), "sim");
  const auto collectives = answer->table("collectives");
  ASSERT_EQ(collectives->rows(), 1U);
  EXPECT_EQ(collectives->find("type")->text(0), "ALL_REDUCE");
  EXPECT_EQ(answer->table("collectives.candidates")->begin().size(), 2U);
  ASSERT_TRUE(answer->write(at.folder.path("a.json")));
  EXPECT_EQ(testing::must_read(at.folder.path("a.json")), answer->to_json());
}

TEST(Answer, IsWrittenAsTextAndTables) {
  const WithNetwork at;
  const auto answer = two_ranks().simulate({.network = at.network});
  ASSERT_TRUE(answer);
  ASSERT_TRUE(answer->write(at.folder.path("a.txt")));
  EXPECT_EQ(testing::must_read(at.folder.path("a.txt")), answer->to_text());
  ASSERT_TRUE(answer->write(at.folder.path("a.csv")));
  const std::string ranks = testing::must_read(at.folder.path("a.ranks.csv"));
  EXPECT_EQ(ranks.substr(0, ranks.find(',')), "rank");
  EXPECT_EQ(std::count(ranks.begin(), ranks.end(), '\n'), 3);
  EXPECT_EQ(Answer().write(at.folder.path("b.csv")).error().tag, "cli.usage");
  EXPECT_EQ(answer->write(at.folder.path("a.txt/b.csv")).error().code, Code::io);
}

TEST(Job, IsDrawn) {
  const TemporaryFolder folder;
  const Job job = two_ranks();
  const auto timeline = job.view(folder.path("t.json"));
  ASSERT_TRUE(timeline) << timeline.error().message();
  EXPECT_EQ(timeline->text("form"), "timeline");
  EXPECT_NE(testing::must_read(folder.path("t.json")).find("\"reduce\""), std::string::npos);
  EXPECT_EQ(job.view(folder.path("g.dot")).error().tag, "cli.usage");  // of two ranks
  const auto graph = job.view(folder.path("g.dot"), {.rank = 1});
  ASSERT_TRUE(graph) << graph.error().message();
  EXPECT_NE(graph->to_text().find("2 nodes"), std::string::npos) << graph->to_text();
  EXPECT_EQ(job.view(folder.path("g.xyz"), {.rank = 1}).error().tag, "cli.usage");
}

TEST(Job, AnswersGiveTheJsonAndTypeOfEachValue) {
  const WithNetwork at;
  const auto answer = two_ranks().simulate({.network = at.network});
  EXPECT_EQ(answer->json("makespan_ps"), std::to_string(*answer->whole("makespan_ps")));
  EXPECT_EQ(answer->json("interrupted"), "false");
  EXPECT_EQ(answer->json("congestion.mode"), "\"closed\"");
  EXPECT_FALSE(answer->json("no_such"));
  using Type = Table::Column::Type;
  const Table collectives = *answer->table("collectives");
  EXPECT_EQ(collectives.find("type")->type(), Type::text);
  EXPECT_EQ(collectives.find("type")->json(0), "\"ALL_REDUCE\"");
  EXPECT_EQ(collectives.find("bytes")->type(), Type::natural);
  EXPECT_EQ(collectives.find("bytes")->json(0), "1048576");
  EXPECT_EQ(collectives.find("candidates")->type(), Type::rows);
  EXPECT_EQ(answer->table("ranks")->find("exposed_storage_ps")->json(0), "null");
  EXPECT_TRUE(collectives.findings().empty());
  EXPECT_EQ(answer->write(at.folder.path("a"), "xml").error().tag, "cli.usage");
  ASSERT_TRUE(answer->write(at.folder.path("a"), "txt"));
  EXPECT_EQ(testing::must_read(at.folder.path("a")), answer->to_text());
}

TEST(Job, GeneratesStepsWithoutAFolder) {
  const auto step = generate(StepOptions{.preset = "tiny"});
  ASSERT_TRUE(step) << step.error().message();
  EXPECT_EQ(step->ranks()->size(), 16U);
  EXPECT_EQ(step->made().whole("rank_count"), 16);
  const auto serve = generate(ServeOptions{.model = "llama3-8b", .contexts = {64}});
  ASSERT_TRUE(serve) << serve.error().message();
  EXPECT_EQ(serve->ranks()->size(), 1U);
}

TEST(Job, ATableOutlivesItsAnswerAndJob) {
  const WithNetwork at;
  std::optional<Table::Column> finish;
  {
    const auto answer = two_ranks().simulate({.network = at.network});
    finish = answer->table("ranks")->find("finish_ps");
  }
  EXPECT_GT(finish->whole()[0], 0);
}

TEST(Job, OpensWhatItWroteInEachForm) {
  const WithNetwork at;
  const Job job = two_ranks();
  for (const char* const name : {"p", "f/", "c.chakra"}) {
    const auto written = job.write(at.folder.path(name));
    ASSERT_TRUE(written) << written.error().message();
    const auto again = chakra::v1::open(at.folder.path(name));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again->ranks(), (std::vector<int64_t>{0, 1})) << name;
    const auto same = job.diff(*again);
    ASSERT_TRUE(same) << same.error().message();
    EXPECT_EQ(again->trace(1)->dur_ps()[0], 20'000'000);
  }
  EXPECT_EQ(job.trace(7).error().tag, "cli.usage");
  EXPECT_EQ(chakra::v1::open(at.folder.path("nothing")).error().code, Code::io);
  EXPECT_EQ(chakra::v1::open("").error().tag, "cli.usage");
}

TEST(Job, EditsRanks) {
  const Job job = two_ranks();
  const auto one = job.edit({.ranks = "1"});
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(*one->ranks(), (std::vector<int64_t>{1}));
  const auto four = job.edit({.expand = "4"});
  ASSERT_TRUE(four) << four.error().message();
  EXPECT_EQ(four->ranks()->size(), 4U);
  EXPECT_FALSE(four->made().findings().empty());
  EXPECT_EQ(job.edit({.ranks = "9"}).error().tag, "cli.usage");
}

TEST(Job, AnExpandedJobSimulatesAsWithTheOption) {
  const WithNetwork at;
  std::vector<Trace> ranks;
  for (int64_t rank = 0; rank < 2; ++rank) {
    Builder b(rank);
    b.group("pair", {0, 1});
    b.communicate("reduce", {.type = CommType::all_reduce, .bytes = 1 << 20, .group = "pair"});
    ranks.push_back(*b.finish());
  }
  const Job job = *Job::from(ranks);
  const auto four = job.edit({.expand = "4"});
  ASSERT_TRUE(four) << four.error().message();
  ASSERT_TRUE(write_file(at.network, "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"));
  const auto edited = four->simulate({.network = at.network});
  ASSERT_TRUE(edited) << edited.error().message();
  const auto asked = job.simulate({.network = at.network, .expand = "4"});
  ASSERT_TRUE(asked) << asked.error().message();
  EXPECT_EQ(edited->whole("makespan_ps"), asked->whole("makespan_ps"));
}

TEST(Job, SeveralThreadsAskOne) {
  const WithNetwork at;
  ASSERT_TRUE(two_ranks().write(at.folder.path("t")));
  const Job job = *chakra::v1::open(at.folder.path("t"));
  std::vector<int64_t> makespans(8);
  std::vector<std::thread> threads;
  for (int64_t& makespan : makespans)
    threads.emplace_back([&] { makespan = job.simulate({.network = at.network})->whole("makespan_ps").value_or(0); });
  for (std::thread& thread : threads) thread.join();
  for (const int64_t makespan : makespans) EXPECT_EQ(makespan, makespans[0]);
  EXPECT_GT(makespans[0], 0);
}

TEST(Job, StopsWhereTheCallerSaysSo) {
  const WithNetwork at;
  const auto stopped = two_ranks().check({}, {[](void*, double) { return false; }, nullptr});
  EXPECT_EQ(stopped.error().code, Code::interrupted);
}

struct Prices : Models {
  Result<void> prices(const Trace& trace, int64_t, std::span<int64_t> inout) override {
    for (size_t row = 0; row < trace.size(); ++row)
      if (trace.type()[row] == NodeType::comp) inout[row] = 5'000'000;
    return {};
  }
};
struct Collectives : Models {
  int asked = 0;
  Result<std::optional<int64_t>> collective(const Meeting& meeting) override {
    ++asked;
    EXPECT_EQ(meeting.type, "ALL_REDUCE");
    EXPECT_EQ(meeting.bytes, 1U << 20);
    EXPECT_EQ(meeting.members, 2U);
    EXPECT_EQ(meeting.last_ps, 20'000'000);
    return std::optional<int64_t>(3'000'000);
  }
};
struct Wrong : Models {
  Result<std::optional<int64_t>> collective(const Meeting&) override { return std::optional<int64_t>(-1); }
};

TEST(Models, SayWhatNodesAndCollectivesTake) {
  const WithNetwork at;
  const Job job = two_ranks();
  Prices prices;
  const auto priced = job.simulate({.network = at.network}, {}, &prices);
  ASSERT_TRUE(priced) << priced.error().message();
  for (const int64_t ps : priced->table("ranks")->find("compute_ps")->whole()) EXPECT_EQ(ps, 5'000'000);
  EXPECT_EQ(job.trace(0)->dur_ps()[0], 10'000'000);  // the job itself stays

  Collectives collectives;
  const auto modelled = job.simulate({.network = at.network}, {}, &collectives);
  ASSERT_TRUE(modelled) << modelled.error().message();
  EXPECT_EQ(collectives.asked, 1);
  EXPECT_EQ(modelled->whole("makespan_ps"), 23'000'000);

  Wrong wrong;
  EXPECT_EQ(job.simulate({.network = at.network}, {}, &wrong).error().tag, "sim.model.time");
  EXPECT_EQ(job.simulate({.network = at.network, .congestion = Congestion::fluid}, {}, &prices).error().tag,
            "cli.usage");
  EXPECT_EQ(job.simulate({.network = at.network, .device = "H100-SXM"}, {}, &prices).error().tag, "cli.usage");
  const std::string roofline = at.folder.path("system.json");
  ASSERT_TRUE(write_file(roofline, R"({"roofline-enabled": 1, "peak-perf": 100, "local-mem-bw": 1000})"));
  EXPECT_TRUE(job.simulate({.network = at.network, .system = roofline}));
  EXPECT_EQ(job.simulate({.network = at.network, .system = roofline}, {}, &prices).error().tag, "cli.usage");
}

TEST(Trace, HasCodesOfNamesAndAllEdges) {
  const Trace trace = *two_ranks().trace(0);
  ASSERT_EQ(trace.name_code().size(), 2U);
  for (size_t row = 0; row < 2; ++row) {
    ASSERT_LT(trace.name_code()[row], trace.codes());
    EXPECT_EQ(trace.name_of(trace.name_code()[row]), trace.name(row));
  }
  EXPECT_EQ(std::vector(trace.edge_begin().begin(), trace.edge_begin().end()), (std::vector<uint32_t>{0, 0, 1}));
  EXPECT_EQ(trace.edge_on().data(), trace.waits_for(1).data());
  EXPECT_TRUE(Trace().edge_on().empty());
}

TEST(Builder, RefusesWhatNoTraceHas) {
  const auto tag = [](auto build) {
    Builder b(0);
    build(b);
    return b.finish().error().tag;
  };
  EXPECT_EQ(tag([](Builder& b) { b.wait(b.compute("a", 1), 7); }), "trace.build");
  EXPECT_EQ(tag([](Builder& b) { b.wait(b.compute("a", 1), 0); }), "trace.build");
  EXPECT_EQ(tag([](Builder& b) { b.compute("a", -1); }), "trace.build");
  EXPECT_EQ(tag([](Builder& b) { b.attribute("a", 1); }), "trace.build");
  EXPECT_EQ(tag([](Builder& b) { b.communicate("a", {}); }), "trace.build");
  EXPECT_EQ(tag([](Builder& b) { b.compute("a", 1), b.dtype("b8"); }), "trace.build");
  EXPECT_EQ(Builder(-1).finish().error().tag, "trace.build");
  EXPECT_EQ(Builder(3).finish()->rank(), 3);
}

TEST(RowFeeder, HandsOutRowsWithTheirTimes) {
  Builder b(0);
  const uint32_t first = b.compute("a", 10), second = b.compute("b", 10);
  b.wait(second, first, EdgeKind::data, 3);
  auto feeder = RowFeeder::of(*b.finish());
  ASSERT_TRUE(feeder);
  std::vector<RowFeeder::Ready> ready;
  feeder->start(ready);
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(feeder->done(second, 0, ready).error().tag, "feed.not_running");
  EXPECT_EQ(feeder->done(9, 0, ready).error().tag, "feed.not_running");
  ASSERT_TRUE(feeder->done(first, 10, ready));
  EXPECT_EQ(feeder->done(first, 10, ready).error().tag, "feed.not_running");
  ASSERT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready[1].row, second);
  EXPECT_EQ(ready[1].time_ps, 13);
  EXPECT_EQ(feeder->remaining(), 1U);
}

TEST(RowFeeder, TakesSeveralRowsAtOnce) {
  Builder b(0);
  for (int i = 0; i < 4; ++i) b.compute("a", 10);
  for (const uint32_t row : {2U, 3U}) b.wait(row, row - 2);
  b.wait(2, 1);
  auto feeder = RowFeeder::of(*b.finish());
  ASSERT_TRUE(feeder);
  std::vector<RowFeeder::Ready> ready;
  feeder->start(ready);
  ready.clear();
  using Rows = std::vector<uint32_t>;
  using Times = std::vector<int64_t>;
  for (const Rows& rows : {Rows{0, 2}, Rows{1, 1}, Rows{0, 9}})
    EXPECT_EQ(feeder->done(rows, Times{5, 6}, ready).error().tag, "feed.not_running");
  EXPECT_EQ(feeder->done(Rows{0, 1}, Times{5}, ready).error().tag, "feed.batch");
  EXPECT_EQ(feeder->remaining(), 4U);
  ASSERT_TRUE(feeder->done(Rows{1, 0}, Times{7, 5}, ready));
  ASSERT_EQ(ready.size(), 2U);  // row 0 made row 2 ready, row 1 row 3 before it
  EXPECT_EQ(ready[0].row, 3U);
  EXPECT_EQ(ready[0].time_ps, 7);
  EXPECT_EQ(ready[1].row, 2U);
  EXPECT_EQ(ready[1].time_ps, 7);
  EXPECT_EQ(feeder->queues(), (Times{1, 1, 1, 1}));  // the device's
}

TEST(RowFeeder, RefusesACycle) {
  Builder b(0);
  for (int i = 0; i < 2; ++i) b.compute("a", 10);
  b.wait(0, 1).wait(1, 0);
  EXPECT_EQ(RowFeeder::of(*b.finish()).error().tag, "sim.stuck.cycle");
}

TEST(Names, AreThoseOfList) {
  EXPECT_EQ(names("no such").error().tag, "cli.usage");
  const auto models = names("models");
  ASSERT_TRUE(models);
  EXPECT_FALSE(models->empty());
}

TEST(Files, AreMadeAndDescribedByTheVerbsOfTheCommand) {
  const WithNetwork at;
  const auto path = [&](const char* name) { return at.folder.path(name); };
  const Job job = two_ranks();
  ASSERT_TRUE(job.write(path("t")));
  EXPECT_EQ(chakra::v1::convert({path("t")}, {.output = path("j"), .to = "json"})->whole("ranks"), 2);
  EXPECT_EQ(chakra::v1::convert({path("t")}, {.output = path("t"), .to = "et"}).error().tag, "cli.usage");
  const auto packed = chakra::v1::pack({path("t")}, {.output = path("t.chakra"), .stats = true});
  ASSERT_TRUE(packed) << packed.error().message();
  EXPECT_EQ(packed->table("ranks")->rows(), 2U);
  EXPECT_NE(packed->to_text().find("2 ranks, 4 nodes packed"), std::string::npos) << packed->to_text();
  EXPECT_EQ(chakra::v1::pack({path("t")}, {}).error().tag, "cli.usage");
  EXPECT_EQ(chakra::v1::unpack(path("t.chakra"), {.output = path("out"), .ranks = {1}})->table("outputs")->rows(), 1U);
  EXPECT_EQ(job.info()->table("ranks")->rows(), 2U);
  const auto both = chakra::v1::check({path("t"), path("t.chakra")});
  EXPECT_EQ(both->table("jobs")->rows(), 2U);
  EXPECT_EQ(both->whole("ok"), 1);
  EXPECT_EQ(chakra::v1::doctor(path("out"))->whole("ok"), 1);
  EXPECT_EQ(chakra::v1::doctor("", {.repair = true}).error().tag, "cli.usage");
  EXPECT_EQ(generate({.output = path("cases"), .num_npus = 2})->verb(), "gen cases");
  EXPECT_GT((*chakra::v1::list("devices")).table("")->rows(), 5U);
  EXPECT_EQ(chakra::v1::list("no such kind").error().tag, "cli.usage");
}

TEST(Files, OfAnswersReplaceNoInputAndAppearTogether) {
  const WithNetwork at;
  const Job job = two_ranks();
  const std::string json = at.folder.path("a.json"), csv = at.folder.path("a");
  EXPECT_EQ(job.simulate({.network = at.network}, {.json = at.network}).error().tag, "cli.usage");
  EXPECT_EQ(testing::must_read(at.network), kNetwork);
  const auto answer = job.simulate({.network = at.network}, {.json = json, .csv = csv, .brief = true});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(testing::must_read(json), answer->to_json());
  EXPECT_TRUE(is_file(csv + ".ranks.csv"));
  EXPECT_NE(answer->to_text("ranks")->find("finish"), std::string::npos);
  EXPECT_EQ(answer->to_text("no_such").error().tag, "cli.usage");
  EXPECT_EQ(job.check({}, {.json = at.network + "/a.json"}).error().code, Code::io);
}

TEST(Control, AStopThatIsSetStopsACall) {
  const WithNetwork at;
  std::atomic<bool> stop{true};
  const Result<Answer> answer = two_ranks().simulate({.network = at.network}, {.stop = &stop});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::interrupted);
  EXPECT_EQ(answer.error().tag, "job.interrupted");
}

TEST(Open, WithoutKeepingAnswersAlike) {
  const WithNetwork at;
  ASSERT_TRUE(two_ranks().write(at.folder.path("t")));
  const Job kept = *open(at.folder.path("t")), read = *open(at.folder.path("t"), {.keep = false});
  EXPECT_EQ(kept.simulate({.network = at.network})->to_json(), read.simulate({.network = at.network})->to_json());
  EXPECT_EQ(kept.analyze()->to_json(), read.analyze()->to_json());
}

}  // namespace
}  // namespace chakra
