#include "chakra/base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace chakra {
namespace {

struct Caller {
  std::vector<double> shares;
  std::vector<std::thread::id> threads;
  size_t stop_after = SIZE_MAX;
  static bool ask(void* user, double share) {
    auto* const self = static_cast<Caller*>(user);
    self->shares.push_back(share);
    self->threads.push_back(std::this_thread::get_id());
    return self->shares.size() < self->stop_after;
  }
};
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }

TEST(Progress, CostsNothingWithoutAWatch) {
  EXPECT_TRUE(keep_going(1, 2));
  EXPECT_FALSE(is_stopped());
  EXPECT_FALSE(current_watch());
  const Watched none(nullptr, nullptr);
  EXPECT_FALSE(current_watch());
}

TEST(Progress, SharesAscendAndStayBelowTheEnd) {
  Caller caller;
  {
    const Watched watched(&Caller::ask, &caller);
    for (size_t i = 0; i < 3; ++i) {
      rest();
      EXPECT_TRUE(keep_going(i, 2));
    }
    rest();
    EXPECT_TRUE(keep_going(0, 2));
  }
  EXPECT_EQ(caller.shares, (std::vector<double>{0, 0.5, 0.99, 0.99}));
  EXPECT_TRUE(keep_going());
}

TEST(Progress, PartsAreSharesOfTheOuterPart) {
  Caller caller;
  const Watched watched(&Caller::ask, &caller);
  {
    const ProgressPart outer(0.5, 1);
    const ProgressPart inner(0, 0.5);
    rest();
    EXPECT_TRUE(keep_going(1, 2));
  }
  rest();
  EXPECT_TRUE(keep_going(0, 1));  // the parts are complete
  EXPECT_EQ(caller.shares, (std::vector<double>{0.625, 0.99}));
}

TEST(Progress, StaysStopped) {
  Caller caller;
  caller.stop_after = 1;
  const Watched watched(&Caller::ask, &caller);
  rest();
  EXPECT_EQ(keep_going().error().tag, "job.interrupted");
  rest();
  EXPECT_EQ(keep_going().error().code, Code::interrupted);
  EXPECT_TRUE(is_stopped());
  EXPECT_EQ(caller.shares.size(), 1U);
  const Watched inner(nullptr, nullptr);  // hides it
  EXPECT_FALSE(is_stopped());
}

TEST(Progress, AsksInTheThreadOfTheCallWhileOthersWork) {
  Caller caller;
  caller.stop_after = 3;
  const Watched watched(&Caller::ask, &caller);
  const ProgressPtr watch = current_watch();
  std::atomic<int> stopped{0};
  run_while_asking([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const WatchedToo too(watch);
        while (keep_going(1, 4)) std::this_thread::yield();
        ++stopped;
      });
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(stopped, 4);
  EXPECT_FALSE(keep_going());
  EXPECT_EQ(caller.shares.back(), 0.25);
  for (const std::thread::id thread : caller.threads) EXPECT_EQ(thread, std::this_thread::get_id());
}

}  // namespace
}  // namespace chakra
