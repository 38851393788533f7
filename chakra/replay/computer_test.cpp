// A crew of computers: who takes a node, what has ended, and errors.
#include "chakra/replay/computer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"

namespace chakra::replay {
namespace {

using chakra::testing::literal;
using chakra::testing::tag_of;
using Part = Computer::Part;
using trace::NodeId;

constexpr NodeId kCovered{7}, kNotRun{8}, kFails{9}, kEndless{10};

/// Takes the nodes from `first` on.
class Recorder : public Computer {
 public:
  Recorder(NodeId first, std::vector<NodeId>& ran) : first_(first), ran_(ran) {}
  Part part(NodeId node) const override {
    return node < first_ ? Part::timed : node == kCovered ? Part::covered : Part::runs;
  }
  void begin() override { ran_.clear(); }
  Result<bool> run(NodeId node, const std::atomic<bool>& stop) override {
    if (node == kFails) return fail(Code::io, "test.fails", "it fails");
    while (node == kEndless && !stop) std::this_thread::yield();
    ran_.push_back(node);
    return node != kNotRun;
  }
  void close(Computed& into) override {
    if (!into.work) into.work.emplace();
    into.work->nodes += static_cast<int64_t>(ran_.size());
  }

 private:
  NodeId first_;
  std::vector<NodeId>& ran_;
};

struct Two {
  std::vector<NodeId> first, second;
  Crew crew{make()};

  std::vector<std::unique_ptr<Computer>> make() {
    std::vector<std::unique_ptr<Computer>> computers;
    computers.push_back(std::make_unique<Recorder>(NodeId(5), first));
    computers.push_back(std::make_unique<Recorder>(NodeId(2), second));
    return computers;
  }
  Result<std::vector<Crew::Ended>> wait_for(size_t count) {
    std::vector<Crew::Ended> ended;
    while (ended.size() < count) CHAKRA_TRY(crew.progress(std::chrono::seconds(10), ended));
    return ended;
  }
};

TEST(Crew, TheFirstThatTakesANodeHasIt) {
  Two two;
  EXPECT_EQ(two.crew.part(NodeId(1)), Part::timed);
  EXPECT_EQ(two.crew.part(NodeId(2)), Part::runs);
  EXPECT_EQ(two.crew.part(kCovered), Part::covered);
  two.crew.begin();
  for (const NodeId n : {NodeId{2}, NodeId{5}, NodeId{3}, NodeId{6}, kNotRun}) two.crew.start(n);
  const auto ended = two.wait_for(5);
  ASSERT_TRUE(ended);
  for (const Crew::Ended& e : *ended) EXPECT_EQ(e.ran, e.node != kNotRun);
  EXPECT_EQ(two.crew.close().work->nodes, 5);
  EXPECT_EQ(two.first, (std::vector<NodeId>{NodeId(5), NodeId(6), kNotRun}));
  EXPECT_EQ(two.second, (std::vector<NodeId>{NodeId(2), NodeId(3)}));
  two.crew.begin();
  EXPECT_EQ(two.crew.close().work->nodes, 0);
}

TEST(Crew, WithoutComputersAllIsTimed) {
  Crew crew({});
  crew.begin();
  EXPECT_EQ(crew.part(NodeId(3)), Part::timed);
  EXPECT_FALSE(crew.close().work);
  EXPECT_DEATH(crew.start(NodeId(3)), literal("takes != workers_.end()"));
}

TEST(Crew, AnErrorEndsTheWait) {
  Two two;
  two.crew.begin();
  two.crew.start(kFails);
  EXPECT_EQ(tag_of(two.wait_for(1)), "test.fails");
}

TEST(Crew, WhatIsUnderWayIsToldToStop) {
  Two two;
  two.crew.begin();
  two.crew.start(kEndless);
  std::vector<Crew::Ended> ended;
  EXPECT_TRUE(two.crew.progress(std::chrono::milliseconds(1), ended));
  EXPECT_TRUE(ended.empty());
}

}  // namespace
}  // namespace chakra::replay
