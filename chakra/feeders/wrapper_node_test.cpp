// The same steps on a .et file and a JSON file give the same nodes, those of mlcommons/chakra's tests (tests/feeder).
#include "chakra/feeders/include/wrapper_node.h"
#include "chakra/base/join.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/feeders/testing/records.h"

namespace {

using chakra::testing::TemporaryFolder;

/// Id, and what it waits for.
const std::vector<std::pair<uint64_t, std::vector<uint64_t>>> kNodes{{216, {}}, {217, {216}}, {430, {216}},
                                                                     {432, {}}, {435, {216}}, {436, {217, 430}}};

std::string write_json(const TemporaryFolder& folder) {
  std::string text = "{\"workload_name\": \"x\", \"workload_graph\": [";
  for (const auto& [id, deps] : kNodes)
    text += fmt::format(
        "{}{{\"Id\": {}, \"Name\": \"node {}\", \"NodeType\": {}, \"is_cpu_op\": true, \"runtime\": 7, \"comm_size\": "
        "9, \"data_deps\": [{}]}}",
        id == 216 ? "" : ", ", id, id, id == 432 ? 7 : 4, chakra::join(deps, ", "));
  return folder.write("t.0.json", text + "]}");
}

std::string write_et(const TemporaryFolder& folder) {
  std::vector<ChakraProtoMsg::Node> nodes;
  for (const auto& [id, deps] : kNodes) {
    ChakraProtoMsg::Node& node = nodes.emplace_back(chakra::feeders::testing::node(id, deps));
    node.set_type(id == 432 ? ChakraProtoMsg::COMM_COLL_NODE : ChakraProtoMsg::COMP_NODE);
    node.set_duration_micros(7);
    auto* cpu = node.add_attr();
    cpu->set_name("is_cpu_op");
    cpu->set_bool_val(true);
    auto* size = node.add_attr();
    size->set_name("comm_size");
    size->set_uint64_val(9);
  }
  return folder.write("t.0.et", chakra::feeders::testing::records(nodes));
}

TEST(WrapperNode, IsOneFeederForBothForms) {
  const TemporaryFolder folder;
  for (const std::string& path : {write_json(folder), write_et(folder)}) {
    SCOPED_TRACE(path);
    WrapperNode node(path);
    node.lookupNode(216);
    EXPECT_EQ(node.getNodeID(), 216u);
    if (path.ends_with(".json")) {
      std::vector<JSONNode> children;
      node.getChildren(children);
      ASSERT_EQ(children.size(), 3u);
      EXPECT_EQ(children[2].id(), 435u);
    } else {
      std::vector<std::shared_ptr<Chakra::ETFeederNode>> children;
      node.getChildren(children);
      ASSERT_EQ(children.size(), 3u);
      EXPECT_EQ(children[2]->id(), 435u);
    }
    node.removeNode(216);
    node.removeNode(5);
    EXPECT_THROW(node.lookupNode(216), std::out_of_range);
    node.getNextIssuableNode();  // it was issuable
    EXPECT_EQ(node.getNodeID(), 216u);
    EXPECT_EQ(node.getNodeType(), ChakraProtoMsg::COMP_NODE);
    EXPECT_TRUE(node.isCPUOp());
    EXPECT_EQ(node.getNodeName(), "node 216");
    EXPECT_EQ(node.getRuntime(), 7u);
    node.getNextIssuableNode();
    EXPECT_EQ(node.getNodeID(), 432u);
    EXPECT_EQ(node.getNodeType(), ChakraProtoMsg::COMM_COLL_NODE);
    EXPECT_EQ(node.getCommSize(), 9u);
    node.push_to_queue();
    node.getNextIssuableNode();
    EXPECT_FALSE(node.isValidNode());
    ASSERT_FALSE(node.is_queue_empty());
    node.queue_front();
    node.pop_from_queue();
    EXPECT_EQ(node.getNodeID(), 432u);
    EXPECT_TRUE(node.is_queue_empty());
  }
}

TEST(WrapperNode, ANodeIsIssuedWhenAllForWhichItWaitsAreFreed) {
  const TemporaryFolder folder;
  for (const std::string& path : {write_json(folder), write_et(folder)}) {
    WrapperNode node(path);
    std::vector<uint64_t> issued;
    while (node.hasNodesToIssue()) {
      node.getNextIssuableNode();
      ASSERT_TRUE(node.isValidNode());
      issued.push_back(node.getNodeID());
      node.freeChildrenNodes(issued.back());
      node.removeNode(issued.back());
    }
    EXPECT_EQ(issued, (std::vector<uint64_t>{216, 217, 430, 432, 435, 436})) << path;
  }
}

TEST(WrapperNode, WhatCannotBeReadThrows) {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.write("a.txt", ""), folder.write("b.json", "{}"), folder.write("c.json", "{\"workload_graph\": [{}]}"),
        folder.write("d.json", "{\"workload_graph\": [{\"Id\": 1}, {\"Id\": 1}]}"),
        folder.write("e.json", "{\"workload_graph\": [{\"Id\": 1.5}]}"), folder.path("missing.json"),
        folder.path("missing.et")})
    EXPECT_THROW(WrapperNode{path}, std::runtime_error) << path;
}

}  // namespace
