// Work of nodes: GEMMs add up to operations, copies to bytes, and a replay does the work of its trace.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "chakra/base/testing/testing.h"
#include "chakra/replay/testing/whole_job.h"
#include "chakra/replay/work/blas.h"
#include "chakra/replay/work/copies.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::replay {
namespace {

using namespace testing;
using chakra::testing::literal;
using chakra::testing::tag_of;
using trace::testing::Job;

TEST(Work, ProductsAddUpToTheOperations) {
  Prng random(7);
  const auto expect_sum = [](uint64_t operations, int size) {
    const std::vector<Product> products = products_of(operations, size);
    unsigned __int128 sum = 0;
    for (const Product& p : products) {
      EXPECT_GE(p.count, 1);
      EXPECT_LE(p.m, size + kExtraRows);
      EXPECT_LE(std::max(p.n, p.k), size);
      sum += static_cast<unsigned __int128>(p.count) * p.operations();
    }
    EXPECT_LE(products.size(), 4);
    EXPECT_TRUE(sum == static_cast<unsigned __int128>(operations) + operations % 2) << operations << " by " << size;
  };
  for (const int size : {16, 17, 512, 4096}) {
    for (uint64_t operations = 0; operations < 3000; ++operations) expect_sum(operations, size);
    const uint64_t cube = Product{1, size, size, size}.operations();
    for (const uint64_t around : {cube, 7 * cube, UINT64_MAX - 1})
      for (const uint64_t operations : {around - 1, around, around + 1}) expect_sum(operations, size);
    for (int i = 0; i < 2000; ++i) expect_sum(random.next() >> random.next() % 64, size);
  }
  EXPECT_TRUE(products_of(0, 512).empty());
  EXPECT_EQ(products_of(uint64_t{2} << 30, 1024).size(), 1);
  EXPECT_DEATH(products_of(1, 15), literal("size >= 16"));
}

TEST(Work, CopiesOfSeveralRanksShareTheirMemory) {
  const auto room = CopyRoom::shared(8 << 20), same = CopyRoom::shared(8 << 20);
  ASSERT_TRUE(room && same);
  EXPECT_EQ(room->get(), same->get());
  const std::atomic<bool> go{false}, stop{true};
  EXPECT_EQ((*room)->move(0, go), 0);
  EXPECT_EQ((*room)->move(1, go), 2);
  EXPECT_EQ((*room)->move(10, stop), 0);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> moved{0};
  for (int t = 0; t < 6; ++t) threads.emplace_back([&] { moved += (*room)->move(50'000'001, go); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(moved, 6 * 50'000'002);
}

JobOptions by_work(const std::string& library = find_plugin("blas_stand_in")) {
  JobOptions options = options_for(kNull, kWork);
  options.run.compute_settings = {{"library", library}, {"size", "16"}, {"buffer", "2"}, {"threads", "3"}};
  return options;
}

/// A rank with nodes that multiply, copy, do both, wait, and have no work; each with a time of a second.
Job working_job() {
  Job job(2);
  for (size_t r = 0; r < 2; ++r) {
    const auto add = [&](uint64_t operations, uint64_t bytes, Picoseconds time) {
      const NodeId n = job.compute(r, time, {});
      trace::Trace& t = job.builders[r].trace;
      t.num_ops.resize(n + 1);
      t.tensor_bytes.resize(n + 1);
      t.num_ops.edit(n) = operations;
      t.tensor_bytes.edit(n) = bytes;
      return n;
    };
    add(100'001 * (r + 1), 0, 1'000'000'000'000);
    add(0, 3'000'001, 1'000'000'000'000);
    add(20'000, 4096, 1'000'000'000'000);
    add(0, 0, 2'000'000'000);
    add(0, 0, 0);
  }
  return job;
}

TEST(Work, AReplayDoesTheWorkOfItsNodes) {
  Job job = working_job();
  const Whole whole(job.finish());
  const auto library = open_library(find_plugin("blas_stand_in"));
  ASSERT_TRUE(library) << library.error().message();
  uint64_t (*operations)() = nullptr;
  int (*threads)() = nullptr;
  ASSERT_TRUE(find_function(*library, "blas_stand_in_operations", operations));
  ASSERT_TRUE(find_function(*library, "blas_stand_in_threads", threads));
  for (const double scale : {1.0, 0.5}) {
    const uint64_t before = operations();
    JobOptions options = by_work();
    options.run.scale_compute = scale;
    options.run.warmup = 1;
    const auto runs = run_all(whole.plans, within(milliseconds(20'000)), options);
    ASSERT_TRUE(runs) << runs.error().message();
    EXPECT_EQ(threads(), 3);
    uint64_t done = 0;
    for (size_t r = 0; r < 2; ++r) {
      ASSERT_TRUE((*runs)[r].computed.work);
      const WorkDone& w = *(*runs)[r].computed.work;
      const uint64_t first = scale == 1 ? (r == 0 ? 100'001 : 200'002) : (r == 0 ? 50'001 : 100'001);  // rounded
      const auto second = static_cast<uint64_t>(20'000 * scale);
      EXPECT_EQ(w.nodes, 3);
      EXPECT_EQ(w.timed, 1);
      EXPECT_EQ(w.silent, 1);
      EXPECT_EQ(w.timed_ps, static_cast<Picoseconds>(2e9 * scale));
      EXPECT_EQ(w.wanted_operations, first + second);
      EXPECT_EQ(w.operations, first + first % 2 + second);
      EXPECT_EQ(w.wanted_bytes, scale == 1 ? 3'004'097 : 1'502'049);  // 1,500,000.5 is rounded up
      EXPECT_EQ(w.bytes, scale == 1 ? 3'004'098 : 1'502'050);
      EXPECT_GT(w.product_ps, 0);
      EXPECT_GT(w.copy_ps, 0);
      EXPECT_FALSE(w.threads_without_effect);
      done += w.operations;
      EXPECT_LT((*runs)[r].times[0].end[0] - (*runs)[r].times[0].start[0], 1'000'000'000'000);  // not as recorded
      EXPECT_GE((*runs)[r].times[0].end[3] - (*runs)[r].times[0].start[3], static_cast<Picoseconds>(2e9 * scale));
    }
    const uint64_t opening = 2 * 3 * 5 * 7 + 2 * 16 * 16 * 16;  // a trial, and a product before the clock runs
    EXPECT_EQ(operations() - before, 2 * done + 2 * opening);   // it ran twice
  }
}

TEST(Work, NodesThatAreNotSelectedDoNone) {
  Job job = working_job();
  const Whole whole(job.finish());
  JobOptions options = by_work();
  options.selected = {{false, false, true, false, false}, {false, false, false, false, false}};
  const auto runs = run_all(whole.plans, within(milliseconds(20'000)), options);
  ASSERT_TRUE(runs) << runs.error().message();
  EXPECT_EQ((*runs)[0].computed.work->operations, 20'000);
  EXPECT_EQ((*runs)[0].computed.work->bytes, 4096);
  EXPECT_EQ((*runs)[0].computed.work->timed, 0);
  EXPECT_EQ((*runs)[1].computed.work->nodes, 0);
}

TEST(Work, ALibraryThatCannotMultiplyIsRefused) {
  Job job = working_job();
  const Whole whole(job.finish());
  const auto tag = [&](const JobOptions& options) {
    return tag_of(run_all(whole.plans, within(milliseconds(20'000)), options));
  };
  EXPECT_EQ(tag(by_work("/nowhere/libblas.so")), "replay.work.library");
  EXPECT_EQ(tag(by_work("libm.so.6")), "replay.work.library");  // without products
  ::setenv("CHAKRA_TEST_BLAS", "wrong", 1);
  EXPECT_EQ(tag(by_work()), "replay.work.library");
  ::unsetenv("CHAKRA_TEST_BLAS");
  EXPECT_EQ(tag(by_work()), "");
  for (const char* size : {"15", "5000", "x", ""}) {
    JobOptions options = by_work();
    options.run.compute_settings["size"] = size;
    EXPECT_EQ(tag(options), "cli.usage");
  }
}

}  // namespace
}  // namespace chakra::replay
