// Code written against mlcommons/chakra's classes sees what it relies on (the list of facts about that feeder), on
// mlcommons/chakra's own test file; ASTRA-sim's calls before FeederV3; and every node of random traces once,
// after its dependencies, however little of the file is kept.
#include "chakra/feeders/feeders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "chakra/base/testing/testing.h"
#include "chakra/feed/feed.h"
#include "chakra/feeders/testing/records.h"
#include "chakra/io/io.h"

namespace {

using Chakra::ETFeeder;
using Chakra::ETFeederNode;
using chakra::Prng;
using chakra::feeders::testing::node;
using chakra::feeders::testing::outcome;
using chakra::feeders::testing::records;
using chakra::testing::TemporaryFolder;

class PeerFile : public ::testing::Test {
 protected:
  void SetUp() override {
    CHAKRA_NEEDS_DATA();
    chakra::testing::unpack(chakra::testing::data_folder() + "/et_proto/chakra_feeder_tests_trace.tar.gz",
                            folder_.path());
    feeder_ = std::make_unique<ETFeeder>(folder_.path("tests/data/chakra.0.et"));
  }
  uint64_t next() { return feeder_->getNextIssuableNode()->id(); }

  TemporaryFolder folder_;
  std::unique_ptr<ETFeeder> feeder_;
};

TEST_F(PeerFile, TheFirstTwo) {
  EXPECT_TRUE(feeder_->hasNodesToIssue());
  const std::shared_ptr<ETFeederNode> first = feeder_->getNextIssuableNode();
  EXPECT_EQ(first->id(), 216u);
  EXPECT_TRUE(first->is_cpu_op());
  EXPECT_EQ(first->type(), ChakraProtoMsg::COMP_NODE);
  EXPECT_EQ(first->name(), "aten::flatten_dense_tensors(0)");
  ASSERT_TRUE(first->has_other_attr("rf_id"));
  EXPECT_EQ(first->get_other_attr("rf_id").int64_val() + first->get_other_attr("rf_id").int32_val(), 2);
  EXPECT_FALSE(first->has_other_attr("is_cpu_op"));
  EXPECT_THROW(first->get_other_attr("nothing"), std::exception);
  EXPECT_EQ(first->getChakraNode()->id(), 216u);
  EXPECT_EQ(first->get_inputs_values(), first->getChakraNode()->inputs().values());
  EXPECT_EQ(first->get_outputs_types(), first->getChakraNode()->outputs().types());
  const std::shared_ptr<ETFeederNode> second = feeder_->getNextIssuableNode();
  EXPECT_EQ(second->id(), 432u);
  EXPECT_EQ(second->type(), ChakraProtoMsg::COMM_COLL_NODE);
  EXPECT_EQ(second->get_other_attr("rf_id").int64_val() + second->get_other_attr("rf_id").int32_val(), 110);
}

TEST_F(PeerFile, Children) {
  const auto children = feeder_->lookupNode(216)->getChildren();
  ASSERT_GE(children.size(), 3u);
  EXPECT_EQ(children[0]->id(), 217u);
  EXPECT_EQ(children[1]->id(), 430u);
  EXPECT_EQ(children[2]->id(), 435u);
}

TEST_F(PeerFile, FreeingChildren) {
  feeder_->freeChildrenNodes(216);
  EXPECT_EQ(next(), 216u);
  EXPECT_EQ(next(), 217u);
}

TEST_F(PeerFile, PushingBack) {
  feeder_->pushBackIssuableNode(217);
  EXPECT_EQ(next(), 216u);
  EXPECT_EQ(next(), 217u);
}

TEST_F(PeerFile, RemovingAndAdding) {
  const auto first = feeder_->lookupNode(216);
  feeder_->removeNode(216);
  EXPECT_THROW(feeder_->lookupNode(216), std::exception);
  feeder_->removeNode(216);          // it is not there any more,
  feeder_->removeNode(999'999'999);  // and this one never was
  EXPECT_THROW(feeder_->lookupNode(999'999'999), std::exception);
  feeder_->addNode(first);
  EXPECT_EQ(feeder_->lookupNode(216), first);
  feeder_->removeNode(216);
  EXPECT_EQ(feeder_->getNextIssuableNode(), first);  // as mlcommons/chakra's, which only forgets it
  EXPECT_EQ(next(), 432u);
  EXPECT_EQ(first->getChildren()[0]->id(), 217u);
}

TEST_F(PeerFile, AllOfItHoweverLittleIsKept) {
  for (const uint64_t cached : {uint64_t{1}, uint64_t{100'000}, ETFeeder::kCachedBytes}) {
    ETFeeder feeder(folder_.path("tests/data/chakra.0.et"), cached);
    size_t issued = 0;
    while (feeder.hasNodesToIssue()) {
      const auto node = feeder.getNextIssuableNode();
      ASSERT_NE(node, nullptr);
      ++issued;
      feeder.freeChildrenNodes(node->id());
      feeder.removeNode(node->id());
    }
    EXPECT_EQ(issued, 3664u);
  }
}

TEST(PeerNode, GettersReadAnyMemberAndHaveDefaults) {
  auto message = std::make_shared<ChakraProtoMsg::Node>(node(7, {}));
  message->set_type(ChakraProtoMsg::COMM_SEND_NODE);
  message->set_duration_micros(12);
  const auto attr = [&](const char* name) {
    auto* added = message->add_attr();
    added->set_name(name);
    return added;
  };
  ETFeederNode bare(message);
  EXPECT_FALSE(bare.is_cpu_op());
  EXPECT_EQ(bare.num_ops() + bare.tensor_size() + bare.comm_size() + bare.tensor_loc() + bare.comm_priority(), 0u);
  EXPECT_EQ(bare.comm_src() + bare.comm_dst() + bare.comm_tag(), 0u);
  EXPECT_EQ(bare.pg_name(), "");
  EXPECT_EQ(bare.runtime(), 12u);
  attr("is_cpu_op")->set_bool_val(true);
  attr("num_ops")->set_int64_val(1);
  attr("tensor_loc")->set_uint32_val(2);
  attr("tensor_size")->set_uint64_val(3);
  attr("comm_type")->set_int32_val(ChakraProtoMsg::BROADCAST);
  attr("comm_priority")->set_int32_val(4);
  attr("comm_size")->set_uint64_val(1ULL << 40);
  attr("comm_src")->set_fixed32_val(5);
  attr("comm_dst")->set_sint64_val(6);
  attr("comm_tag")->set_uint32_val(7);
  attr("pg_name")->set_string_val("tp");
  attr("mine")->set_double_val(0.5);
  message->mutable_inputs()->set_shapes("[[2]]");
  ETFeederNode full(message);
  EXPECT_TRUE(full.is_cpu_op());
  EXPECT_EQ(full.num_ops(), 1u);
  EXPECT_EQ(full.tensor_loc(), 2u);
  EXPECT_EQ(full.tensor_size(), 3u);
  EXPECT_EQ(full.comm_type(), ChakraProtoMsg::BROADCAST);
  EXPECT_EQ(full.comm_priority(), 4u);
  EXPECT_EQ(full.comm_size(), 1ULL << 40);
  EXPECT_EQ(full.comm_src(), 5u);
  EXPECT_EQ(full.comm_dst(), 6u);
  EXPECT_EQ(full.comm_tag(), 7u);
  EXPECT_EQ(full.pg_name(), "tp");
  EXPECT_EQ(full.get_other_attr("mine").double_val(), 0.5);
  EXPECT_EQ(full.get_inputs_shapes(), "[[2]]");
  EXPECT_EQ(full.type(), ChakraProtoMsg::COMM_SEND_NODE);
  EXPECT_EQ(full.getChakraNode(), message);
}

/// What ASTRA-sim did with this feeder: it asks for nodes as long as there is one, puts back those for which there is
/// no room, and when one is done frees its children, issues and removes it. One compute and one communication at a
/// time.
class WorkloadBefore {
 public:
  explicit WorkloadBefore(const std::string& path) : feeder_(path) {}

  std::vector<std::string> run() {
    issue_dep_free_nodes();
    while (!running_.empty()) {
      const uint64_t id = running_.begin()->second;
      now_ = running_.begin()->first;
      running_.erase(running_.begin());
      busy_.erase(is_communication(*feeder_.lookupNode(id)));
      feeder_.freeChildrenNodes(id);
      issue_dep_free_nodes();
      feeder_.removeNode(id);
    }
    log_.push_back(std::to_string(now_) + (feeder_.hasNodesToIssue() ? " stuck" : " finished"));
    return log_;
  }

 private:
  static bool is_communication(ETFeederNode& node) { return node.type() != ChakraProtoMsg::COMP_NODE; }

  void issue_dep_free_nodes() {
    std::queue<std::shared_ptr<ETFeederNode>> put_back;
    while (std::shared_ptr<ETFeederNode> node = feeder_.getNextIssuableNode()) {
      if (busy_.contains(is_communication(*node))) {
        put_back.push(node);
        continue;
      }
      busy_.insert(is_communication(*node));
      uint64_t end = now_ + (is_communication(*node) ? 5 : node->runtime());
      while (running_.contains(end)) ++end;
      running_[end] = node->id();
      log_.push_back(std::to_string(now_) + " " + std::to_string(node->id()) + " " + node->name() + " " +
                     std::to_string(is_communication(*node) ? node->comm_size() : node->num_ops()) + " " +
                     std::to_string(node->getChildren().size()));
    }
    for (; !put_back.empty(); put_back.pop()) feeder_.pushBackIssuableNode(put_back.front()->id());
  }

  ETFeeder feeder_;
  uint64_t now_ = 0;
  std::map<uint64_t, uint64_t> running_;
  std::unordered_set<bool> busy_;
  std::vector<std::string> log_;
};

TEST(PeerFeeder, AstraSimsWorkloadBeforeV3) {
  const auto coll = [](uint64_t id, const std::vector<uint64_t>& deps, int64_t bytes) {
    ChakraProtoMsg::Node out = node(id, deps);
    out.set_type(ChakraProtoMsg::COMM_COLL_NODE);
    auto* size = out.add_attr();
    size->set_name("comm_size");
    size->set_int64_val(bytes);
    return out;
  };
  const auto comp = [](uint64_t id, const std::vector<uint64_t>& deps, uint64_t runtime, int64_t ops) {
    ChakraProtoMsg::Node out = node(id, deps);
    out.set_duration_micros(runtime);
    auto* number = out.add_attr();
    number->set_name("num_ops");
    number->set_int64_val(ops);
    return out;
  };
  auto gated = comp(6, {3}, 1, 60);
  gated.add_ctrl_deps(4);  // orders nothing here
  TemporaryFolder folder;
  const std::string path =
      folder.write("job.0.et", records({gated, coll(5, {1}, 500), comp(3, {1}, 2, 30), coll(4, {1}, 400),
                                        comp(1, {}, 10, 10), comp(2, {}, 3, 20), comp(7, {5, 6}, 1, 70)}));
  // By hand: time, id, name, operations or bytes, children.
  EXPECT_EQ(WorkloadBefore(path).run(),
            (std::vector<std::string>{"0 1 node 1 10 3",    // until 10; 2 is put back
                                      "10 2 node 2 20 0",   // until 13; 3 is put back
                                      "10 4 node 4 400 0",  // until 15; 5 is put back
                                      "13 3 node 3 30 1",   // until 15, which is taken: 16
                                      "15 5 node 5 500 1",  // until 20
                                      "16 6 node 6 60 1",   // until 17
                                      "20 7 node 7 70 0",   // until 21
                                      "21 finished"}));
}

TEST(PeerFeeder, EveryNodeOnceInEveryOrder) {
  Prng random(11);
  for (int round = 0; round < 300; ++round) {
    TemporaryFolder folder;
    const size_t size = 1 + random.below(80);
    std::vector<ChakraProtoMsg::Node> nodes;
    std::map<uint64_t, std::vector<uint64_t>> deps;
    for (size_t i = 0; i < size; ++i) {
      for (uint64_t e = i == 0 ? 0 : random.below(4); e > 0; --e) deps[i].push_back(random.below(i));
      nodes.push_back(node(i, deps[i]));
    }
    for (size_t i = size; i > 1 && round % 2; --i) std::swap(nodes[i - 1], nodes[random.below(i)]);
    const std::string path = folder.write("job.0.et", records(nodes));
    ETFeeder feeder(path, random.chance(0.5) ? random.below(5000) : ETFeeder::kCachedBytes);
    const bool remove = random.chance(0.7);
    std::set<uint64_t> done;
    std::vector<uint64_t> running;
    uint64_t added = 0;
    while (done.size() < size + added) {
      ASSERT_TRUE(feeder.hasNodesToIssue());
      const auto next = running.size() < 3 ? feeder.getNextIssuableNode() : nullptr;
      if (!next) {
        ASSERT_FALSE(running.empty());
        const size_t pick = random.below(running.size());
        const uint64_t id = running[pick];
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(pick));
        done.insert(id);
        feeder.freeChildrenNodes(id);
        if (remove) feeder.removeNode(id);
        continue;
      }
      for (const uint64_t dep : deps[next->id()]) ASSERT_TRUE(done.contains(dep));
      ASSERT_FALSE(done.contains(next->id()));
      if (random.chance(0.1)) feeder.pushBackIssuableNode(next->id());
      else running.push_back(next->id());
      if (added == 0 && random.chance(0.1)) {  // a node of the user's own
        deps[1000] = {next->id()};
        feeder.addNode(std::make_shared<ETFeederNode>(std::make_shared<ChakraProtoMsg::Node>(node(1000, deps[1000]))));
        ++added;
      }
    }
    EXPECT_EQ(feeder.hasNodesToIssue(), !remove);
    EXPECT_EQ(feeder.getNextIssuableNode(), nullptr);
  }
}

std::string thrown(const std::vector<ChakraProtoMsg::Node>& nodes, size_t cut = 0) {
  return outcome<std::exception>(nodes, cut, [](const std::string& path) {
    ETFeeder feeder(path);
    while (feeder.hasNodesToIssue()) {
      const auto next = feeder.getNextIssuableNode();
      if (!next) return "null";
      feeder.freeChildrenNodes(next->id());
      feeder.removeNode(next->id());
    }
    return "done";
  });
}

TEST(PeerFeeder, ChildrenAreInTheOrderOfTheFile) {
  TemporaryFolder folder;
  ETFeeder feeder(
      folder.write("job.0.et", records({node(9, {5}), node(5, {}), node(7, {5}), node(2, {9}), node(6, {5})})));
  std::vector<uint64_t> children;
  for (const auto& child : feeder.lookupNode(5)->getChildren()) children.push_back(child->id());
  EXPECT_EQ(children, (std::vector<uint64_t>{9, 7, 6}));
}

TEST(PeerFeeder, WherethePeerHangsOrCrashesItSaysWhy) {
  EXPECT_EQ(thrown({node(1, {}), node(2, {1}), node(3, {1, 2})}), "done");
  EXPECT_EQ(thrown({}), "done");
  EXPECT_EQ(thrown({node(1, {}), node(2, {9})}), "[feed.dep.dangling]");
  EXPECT_EQ(thrown({node(1, {}), node(2, {3}), node(3, {2})}), "[feed.dep.cycle]");
  EXPECT_EQ(thrown({node(1, {1})}), "[feed.dep.cycle]");
  EXPECT_EQ(thrown({node(1, {}), node(1, {})}), "[feed.id.duplicate]");
  EXPECT_EQ(thrown({node(1, {}), node(2, {1})}, 3), "[io.et.truncated]");
  EXPECT_THROW(ETFeeder("/nowhere/job.0.et"), std::runtime_error);
  TemporaryFolder folder;
  const std::string text = folder.write("text.0.et", std::string(200, 'T'));
  EXPECT_THROW(ETFeeder(text).hasNodesToIssue(), std::runtime_error);
}

TEST(FeedAFile, TheStreamOfAFileIsThatOfTheTrace) {
  if (chakra::testing::golden_folder().empty()) GTEST_SKIP() << "no golden data (CHAKRA_TEST_GOLDEN)";
  const std::string path = chakra::testing::golden_folder() + "/pipeline/resnet_ddp.et.zst";
  const auto trace = chakra::io::read_et(path);
  ASSERT_TRUE(trace) << trace.error().message();
  for (const uint64_t budget : {uint64_t{10'000}, uint64_t{1} << 30})
    for (const bool durations : {false, true}) {
      auto source = chakra::io::open_nodes(path, {.durations = durations});
      ASSERT_TRUE(source);
      chakra::feed::StreamFeeder feeder(std::move(*source), {.budget_bytes = budget});
      std::map<uint64_t, chakra::trace::NodeId> rows;
      for (const chakra::trace::NodeId n : trace->nodes()) rows[trace->id[n]] = n;
      size_t edges = 0;
      chakra::io::NodeRecord record;
      for (;;) {
        const auto next = feeder.next();
        ASSERT_TRUE(next) << next.error().message();
        if (!*next) break;
        const auto n = rows.at((*next)->id);
        edges += (*next)->deps.size();
        if (durations) EXPECT_EQ((*next)->duration, trace->dur_ps[n]);
        ASSERT_TRUE(chakra::io::decode((*next)->message, record));
        EXPECT_EQ(record.name, trace->name_of(n));
        for (const uint64_t dep : (*next)->deps) ASSERT_TRUE(feeder.is_done(dep));
        ASSERT_TRUE(feeder.done((*next)->id));
      }
      EXPECT_TRUE(feeder.finished());
      EXPECT_EQ(feeder.stats().done, trace->size());
      EXPECT_EQ(edges, trace->deps.node.size());
    }
}

TEST(FeedAFile, EveryPrefixIsAnErrorOrAShorterTrace) {
  const std::string bytes = records({node(1, {}), node(2, {1}), node(3, {1, 2})});
  std::set<std::string> tags;
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto source = chakra::io::open_nodes(
        chakra::io::open_et(*chakra::ByteSource::from_memory(std::string_view(bytes).substr(0, size))));
    if (!source) {
      tags.insert(source.error().tag);
      continue;
    }
    chakra::feed::StreamFeeder feeder(std::move(*source));
    const auto next = feeder.next();
    if (!next) tags.insert(next.error().tag);
  }
  EXPECT_EQ(tags, (std::set<std::string>{"io.et.empty", "io.et.truncated"}));
}

}  // namespace
