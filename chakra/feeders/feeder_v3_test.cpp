// ASTRA-sim's own calls, as its Workload makes them, on a trace of which order, times and values were worked out by
// hand; and the rest of FeederV3's interface.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include "chakra/base/base.h"
#include "chakra/base/testing/testing.h"
#include "chakra/feeders/include/extern/graph_frontend/chakra/src/feeder_v3/et_feeder.h"
#include "chakra/feeders/testing/records.h"

namespace {

using namespace Chakra::FeederV3;
using chakra::feeders::testing::node;
using chakra::feeders::testing::outcome;
using chakra::feeders::testing::records;
using chakra::testing::TemporaryFolder;
using ChakraNodeType = ChakraProtoMsg::NodeType;
using Lines = std::vector<std::string>;

std::string text(uint64_t value) { return std::to_string(value); }

/// What today's ASTRA-sim does with a feeder: all free nodes by ascending id at the start and after every completion,
/// where the hardware has room. A rank does one operation of the processor, one of compute and one of {send,
/// collective, memory} at a time; it is rank 0.
class Workload {
 public:
  explicit Workload(const std::string& path) : feeder_(new ETFeeder(path)) {}

  Lines run() {
    issue_dep_free_nodes();
    while (!events_.empty()) {
      const auto [time, id] = *events_.begin();
      events_.erase(events_.begin());
      now_ = time.first;
      call(id);
    }
    const auto& resolver = feeder_->getDependancyResolver();
    log_.push_back(text(now_) + (resolver.get_ongoing_nodes().empty() && resolver.get_dependancy_free_nodes().empty()
                                     ? " finished"
                                     : " stuck"));
    return log_;
  }

 private:
  void issue_dep_free_nodes() {
    auto& resolver = feeder_->getDependancyResolver();
    auto free_nodes = resolver.get_dependancy_free_nodes();
    std::set<uint64_t> ordered;
    for (const auto node_id : free_nodes) ordered.insert(node_id);
    for (const auto node_id : ordered) {
      std::shared_ptr<ETFeederNode> node = feeder_->lookupNode(node_id);
      if (const char* unit = resource(node); !*unit || !busy_.contains(unit)) issue(node);
    }
  }

  static const char* resource(const std::shared_ptr<ETFeederNode>& node) {
    if (node->is_cpu_op()) return "cpu";
    switch (node->type()) {
      case ChakraNodeType::COMP_NODE: return "compute";
      case ChakraNodeType::COMM_SEND_NODE:
      case ChakraNodeType::COMM_COLL_NODE:
      case ChakraNodeType::MEM_LOAD_NODE: return "network";
      default: return "";
    }
  }

  void issue(std::shared_ptr<Chakra::FeederV3::ETFeederNode> node) {
    feeder_->getDependancyResolver().take_node(node->id());
    busy_.insert(resource(node));
    std::string said = text(now_) + " " + text(node->id()) + " " + node->name() + ":";
    uint64_t lasts = 1;
    switch (node->type()) {
      case ChakraNodeType::METADATA_NODE: said += " groups " + node->get_inputs_values(); break;
      case ChakraNodeType::COMP_NODE:
        if (node->runtime() != 0ul) lasts = node->runtime() * 1000;
        said += node->is_cpu_op<bool>(false) ? " cpu"
                                             : " ops " + text(node->num_ops<uint64_t>()) + " bytes " +
                                                   text(static_cast<uint64_t>(node->tensor_size<double>()));
        break;
      case ChakraNodeType::MEM_LOAD_NODE:
        lasts = 40;
        said += " bytes " + text(node->tensor_size());
        break;
      case ChakraNodeType::COMM_SEND_NODE:
        lasts = 20;
        said += " from " + text(node->comm_src<uint32_t>(kRank)) + " to " + text(node->comm_dst<uint32_t>()) +
                " bytes " + text(node->comm_size<uint64_t>()) + " tag " + text(node->comm_tag<uint32_t>());
        break;
      case ChakraNodeType::COMM_RECV_NODE:
        lasts = 30;
        said += " from " + text(node->comm_src<uint32_t>()) + " to " + text(node->comm_dst<uint32_t>(kRank)) +
                " bytes " + text(node->get_attr<uint64_t>("comm_size", 0)) + " tag " + text(node->comm_tag());
        break;
      case ChakraNodeType::COMM_COLL_NODE: said += collective(node, lasts); break;
      default: said += " skipped"; break;
    }
    log_.push_back(said);
    if (node->type() == ChakraNodeType::METADATA_NODE || node->type() == ChakraNodeType::INVALID_NODE) {
      feeder_->getDependancyResolver().finish_node(node->id());
      busy_.erase(resource(node));
    } else {
      events_[{now_ + lasts, order_++}] = node->id();
    }
  }

  static std::string collective(const std::shared_ptr<ETFeederNode>& node, uint64_t& lasts) {
    std::string dims;
    if (node->has_attr("involved_dim")) {
      const ChakraProtoMsg::AttributeProto& attr = node->get_attr_msg("involved_dim");
      for (int i = 0; i < attr.bool_list().values_size(); ++i) dims += attr.bool_list().values(i) ? "1" : "0";
    }
    const auto type = static_cast<ChakraProtoMsg::CollectiveCommType>(node->comm_type<uint64_t>());
    lasts = type == ChakraProtoMsg::BROADCAST ? node->runtime() * 1000 : 50;
    return " " + ChakraProtoMsg::CollectiveCommType_Name(type) + " bytes " + text(node->comm_size<uint64_t>()) +
           " priority " + text(node->comm_priority<uint32_t>()) + " group " + node->pg_name<std::string>("all") +
           (dims.empty() ? "" : " dims " + dims);
  }

  void call(uint64_t node_id) {
    std::shared_ptr<ETFeederNode> node = feeder_->lookupNode(node_id);
    busy_.erase(resource(node));
    feeder_->getDependancyResolver().finish_node(node_id);
    issue_dep_free_nodes();
  }

  static constexpr int kRank = 0;
  std::unique_ptr<ETFeeder> feeder_;
  uint64_t now_ = 0, order_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> events_;  // time and order -> node
  std::set<std::string> busy_;
  Lines log_;
};

ChakraProtoMsg::Node typed(uint64_t id, ChakraNodeType type, const char* name, const std::vector<uint64_t>& data,
                           const std::vector<uint64_t>& control = {}) {
  ChakraProtoMsg::Node out = node(id, data);
  out.set_type(type);
  out.set_name(name);
  for (const uint64_t dep : control) out.add_ctrl_deps(dep);
  return out;
}
ChakraAttr* attr(ChakraProtoMsg::Node& node, const char* name) {
  ChakraAttr* added = node.add_attr();
  added->set_name(name);
  return added;
}

/// One rank, its nodes in no order of ids, its integers of several types.
std::vector<ChakraProtoMsg::Node> astra_trace() {
  auto metadata = typed(7, ChakraNodeType::METADATA_NODE, "pg", {});
  metadata.mutable_inputs()->set_values("[[groups]]");
  auto host = typed(1, ChakraNodeType::COMP_NODE, "host", {});
  host.set_duration_micros(5);
  attr(host, "is_cpu_op")->set_bool_val(true);
  auto matmul = typed(2, ChakraNodeType::COMP_NODE, "matmul", {1});
  matmul.set_duration_micros(3);
  attr(matmul, "num_ops")->set_int64_val(1000);
  attr(matmul, "tensor_size")->set_uint64_val(64);
  auto reduce = typed(3, ChakraNodeType::COMM_COLL_NODE, "reduce", {2}, {1});
  attr(reduce, "comm_type")->set_int64_val(ChakraProtoMsg::ALL_REDUCE);
  attr(reduce, "comm_size")->set_int64_val(4096);
  attr(reduce, "pg_name")->set_string_val("1");
  attr(reduce, "is_cpu_op")->set_int32_val(0);
  auto* dims = attr(reduce, "involved_dim")->mutable_bool_list();
  dims->add_values(true);
  dims->add_values(false);
  auto send = typed(4, ChakraNodeType::COMM_SEND_NODE, "send", {2});
  attr(send, "comm_dst")->set_int32_val(1);
  attr(send, "comm_tag")->set_uint32_val(9);
  attr(send, "comm_size")->set_uint64_val(128);
  auto recv = typed(5, ChakraNodeType::COMM_RECV_NODE, "recv", {}, {2});
  attr(recv, "comm_src")->set_sint32_val(1);
  attr(recv, "comm_tag")->set_int64_val(8);
  attr(recv, "comm_size")->set_fixed64_val(256);
  auto load = typed(6, ChakraNodeType::MEM_LOAD_NODE, "load", {}, {3});
  attr(load, "tensor_size")->set_uint32_val(512);
  auto after = typed(8, ChakraNodeType::COMP_NODE, "after", {3, 4}, {5});
  attr(after, "num_ops")->set_uint64_val(1);
  attr(after, "tensor_size")->set_uint64_val(2);
  auto invalid = typed(9, ChakraNodeType::INVALID_NODE, "end", {8});
  auto share = typed(10, ChakraNodeType::COMM_COLL_NODE, "share", {6});
  share.set_duration_micros(2);
  attr(share, "comm_type")->set_int64_val(ChakraProtoMsg::BROADCAST);
  attr(share, "comm_size")->set_int64_val(77);
  attr(share, "comm_priority")->set_int32_val(3);
  return {share, metadata, after, reduce, host, invalid, matmul, load, recv, send};
}

/// Worked out by hand. Times in ns: 1 us of `host` is 1000; a collective lasts 50, a load 40, a receive 30, a send 20.
const Lines kAstraRun{
    "0 1 host: cpu",                                                    // until 5000
    "0 7 pg: groups [[groups]]",                                        // at once
    "5000 2 matmul: ops 1000 bytes 64",                                 // until 8000
    "8000 3 reduce: ALL_REDUCE bytes 4096 priority 0 group 1 dims 10",  // until 8050; the send finds the network busy
    "8000 5 recv: from 1 to 0 bytes 256 tag 8",                         // until 8030
    "8050 4 send: from 0 to 1 bytes 128 tag 9",                         // until 8070; the load finds the network busy
    "8070 6 load: bytes 512",                                           // until 8110
    "8070 8 after: ops 1 bytes 2",                                      // until 8071
    "8071 9 end: skipped",
    "8110 10 share: BROADCAST bytes 77 priority 3 group all",  // until 10110
    "10110 finished",
};

TEST(FeederV3, AstraSimsWorkload) {
  TemporaryFolder folder;
  EXPECT_EQ(Workload(folder.write("job.0.et", records(astra_trace()))).run(), kAstraRun);
}

TEST(FeederV3, StatesOfANode) {
  TemporaryFolder folder;
  auto last = node(3, {1});
  last.add_ctrl_deps(2);
  ETFeeder feeder(folder.write("job.0.et", records({node(2, {}), last, node(1, {})})));
  EXPECT_EQ(feeder.global_metadata.version(), "0.0.4");
  DependancyResolver& resolver = feeder.getDependancyResolver();
  using Ids = std::unordered_set<NodeId>;
  EXPECT_EQ(resolver.get_dependancy_free_nodes(), (Ids{1, 2}));
  EXPECT_EQ(resolver.get_ctrl_dependancy().get_dependancy_free_nodes(), (Ids{1, 2}));
  EXPECT_THROW(resolver.take_node(3), std::runtime_error);
  EXPECT_THROW(resolver.finish_node(1), std::runtime_error);
  EXPECT_THROW(resolver.push_back_node(1), std::runtime_error);
  resolver.take_node(2);
  EXPECT_THROW(resolver.take_node(2), std::runtime_error);
  EXPECT_EQ(resolver.get_ongoing_nodes(), Ids{2});
  resolver.push_back_node(2);
  EXPECT_EQ(resolver.get_dependancy_free_nodes(), (Ids{1, 2}));
  EXPECT_EQ(resolver.get_enabled_dependancy().get_parents(3), (Ids{1, 2}));
  EXPECT_EQ(resolver.get_data_dependancy().get_children(1), Ids{3});
  EXPECT_EQ(resolver.get_ctrl_dependancy().get_children(1), Ids{});
  resolver.take_node(1);
  resolver.finish_node(1);
  EXPECT_EQ(resolver.get_dependancy_free_nodes(), Ids{2});  // ctrl_deps count
  EXPECT_EQ(resolver.get_data_dependancy().get_dependancy_free_nodes(), (Ids{2, 3}));
  EXPECT_EQ(resolver.get_enabled_dependancy().get_parents(3), Ids{2});
  EXPECT_THROW(resolver.get_enabled_dependancy().get_children(1), std::out_of_range);
  EXPECT_EQ(feeder.lookupNode(1)->name(), "node 1");  // finished, and still there
  EXPECT_THROW(feeder.lookupNode(4), std::runtime_error);
  EXPECT_THROW(resolver.take_node(4), std::runtime_error);
  EXPECT_THROW(feeder.addNode(nullptr), std::runtime_error);
  feeder.removeNode(2);
  EXPECT_EQ(feeder.getNextIssuableNode()->id(), 2u);
  EXPECT_EQ(feeder.getNextIssuableNode(), nullptr);
  feeder.pushBackIssuableNode(2);
  EXPECT_EQ(feeder.getNextIssuableNode()->id(), 2u);
  feeder.freeChildrenNodes(2);
  EXPECT_TRUE(feeder.hasNodesToIssue());
  EXPECT_EQ(feeder.getNextIssuableNode()->id(), 3u);
  EXPECT_FALSE(feeder.hasNodesToIssue());
}

TEST(FeederV3, TypedGetters) {
  TemporaryFolder folder;
  auto full = node(1, {});
  attr(full, "comm_size")->set_int64_val(-1);
  attr(full, "comm_size")->set_int64_val(5);  // the first counts
  attr(full, "comm_src")->set_bool_val(true);
  attr(full, "ratio")->set_float_val(0.5f);
  attr(full, "pg_name")->set_string_val("tp");
  attr(full, "raw")->set_bytes_val("xy");
  attr(full, "list")->mutable_int64_list()->add_values(1);
  attr(full, "nothing");
  full.mutable_outputs()->set_types("[float]");
  ETFeeder feeder(folder.write("job.0.et", records({full})));
  const std::shared_ptr<Chakra::ETFeederNode> n = feeder.lookupNode(1);
  EXPECT_EQ(n->comm_size<int32_t>(), -1);
  EXPECT_EQ(n->comm_size<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(n->comm_size<double>(), -1.0);
  EXPECT_EQ(n->comm_src<int>(), 1);
  EXPECT_EQ(n->comm_src(7), 1);
  EXPECT_EQ(n->comm_dst(7), 7);
  EXPECT_EQ(n->get_attr<double>("ratio"), 0.5);
  EXPECT_THROW(n->get_attr<int>("ratio"), std::bad_cast);
  EXPECT_EQ(n->pg_name<std::string>(), "tp");
  EXPECT_THROW(n->pg_name<int>(), std::bad_cast);
  EXPECT_THROW(n->comm_size<std::string>(), std::bad_cast);
  EXPECT_EQ(n->get_attr<std::string>("raw"), "xy");
  EXPECT_THROW(n->get_attr<int64_t>("list"), std::invalid_argument);
  EXPECT_THROW(n->get_attr<int64_t>("nothing"), std::invalid_argument);
  EXPECT_EQ(n->get_attr<ChakraAttr>("list").int64_list().values(0), 1);
  EXPECT_EQ(n->get_attr<int64_t>(n->get_attr_msg("comm_size"), true), -1);
  EXPECT_THROW(n->get_attr<int32_t>(n->get_attr_msg("comm_size"), true), std::bad_cast);
  EXPECT_EQ(n->get_attr_type(n->get_attr_msg("ratio")), ChakraAttr::kFloatVal);
  const ChakraAttr* found = nullptr;
  EXPECT_FALSE(n->get_attr_msg("absent", &found));
  ASSERT_TRUE(n->get_attr_msg("raw", &found));
  EXPECT_EQ(found->bytes_val(), "xy");
  EXPECT_FALSE(n->is_cpu_op());
  EXPECT_EQ(n->comm_priority(), 0u);
  EXPECT_EQ(n->tensor_loc<int>(), 0);
  EXPECT_EQ(n->tensor_loc<int>(4), 4);
  EXPECT_THROW(n->num_ops(), std::runtime_error);
  EXPECT_THROW(n->tensor_size<uint64_t>(), std::runtime_error);
  EXPECT_THROW(n->get_attr_msg("absent"), std::runtime_error);
  EXPECT_EQ(n->get_inputs_values("none"), "none");
  EXPECT_EQ(n->get_outputs_types("none"), "[float]");
  EXPECT_EQ(n->get_outputs_values("none"), "");
  ETFeeder second(folder.path("job.0.et"));
  EXPECT_EQ(second.feeder_id(), feeder.feeder_id() + 1);
}

std::string thrown(const std::vector<ChakraProtoMsg::Node>& nodes, size_t cut = 0) {
  return outcome<std::runtime_error>(nodes, cut, [](const std::string& path) {
    ETFeeder feeder(path);
    return feeder.hasNodesToIssue() ? "runs" : "empty";
  });
}

TEST(FeederV3, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(thrown({node(1, {}), node(2, {1})}), "runs");
  EXPECT_EQ(thrown({}), "empty");
  EXPECT_EQ(thrown({node(1, {}), node(2, {9})}), "[feed.dep.dangling]");
  EXPECT_EQ(thrown({node(1, {}), typed(2, ChakraNodeType::COMP_NODE, "x", {}, {9})}), "[feed.dep.dangling]");
  EXPECT_EQ(thrown({node(1, {}), node(2, {3}), node(3, {2})}), "[feed.dep.cycle]");
  EXPECT_EQ(thrown({node(1, {}), node(2, {2})}), "[feed.dep.cycle]");
  EXPECT_EQ(thrown({node(1, {}), node(2, {}), node(1, {})}), "[feed.id.duplicate]");
  EXPECT_EQ(thrown({node(1, {}), node(2, {1})}, 3), "[io.et.truncated]");
  EXPECT_THROW(ETFeeder("/nowhere/job.0.et"), std::runtime_error);
}

/// Ids from dense to far apart, any order in the file, many pages: each node once, after its dependencies.
TEST(FeederV3, RandomTraces) {
  chakra::Prng random(5);
  for (int round = 0; round < 200; ++round) {
    TemporaryFolder folder;
    const size_t size = 1 + random.below(round % 20 == 0 ? 3000 : 60);
    const uint64_t apart = round % 3 == 0 ? 1 : 1 + random.below(1000);
    std::vector<ChakraProtoMsg::Node> nodes;
    std::map<uint64_t, std::set<uint64_t>> deps;
    for (size_t i = 0; i < size; ++i) {
      auto& each = nodes.emplace_back(node(100 + i * apart, {}));
      each.set_name(std::string(random.below(200), 'n'));
      for (uint64_t e = i == 0 ? 0 : random.below(4); e > 0; --e) {
        const uint64_t dep = 100 + random.below(i) * apart;
        deps[each.id()].insert(dep);
        random.chance(0.5) ? each.add_data_deps(dep) : each.add_ctrl_deps(dep);
      }
    }
    for (size_t i = size; i > 1 && round % 2; --i) std::swap(nodes[i - 1], nodes[random.below(i)]);
    std::map<uint64_t, std::string> names;
    for (const auto& each : nodes) names[each.id()] = each.name();
    ETFeeder feeder(folder.write("job.0.et", records(nodes)));
    std::set<uint64_t> done;
    std::vector<uint64_t> running;
    while (done.size() < size) {
      const auto next = running.size() < 3 ? feeder.getNextIssuableNode() : nullptr;
      if (!next) {
        ASSERT_FALSE(running.empty());
        feeder.freeChildrenNodes(running.back());
        done.insert(running.back());
        running.pop_back();
        continue;
      }
      for (const uint64_t dep : deps[next->id()]) ASSERT_TRUE(done.contains(dep));
      ASSERT_FALSE(done.contains(next->id()));
      ASSERT_EQ(next->name(), names[next->id()]);
      if (random.chance(0.1)) feeder.pushBackIssuableNode(next->id());
      else running.push_back(next->id());
    }
    EXPECT_FALSE(feeder.hasNodesToIssue());
  }
}

}  // namespace
