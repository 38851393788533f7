// mlcommons/chakra's feeder for .et and JSON files in one class. It has a current
// node, which getNextIssuableNode() and lookupNode() set and the getters read.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "chakra/feeders/include/et_feeder.h"
#include "chakra/feeders/include/et_feeder_node.h"
#include "chakra/feeders/include/json_node.h"

/// mlcommons/chakra's own tests use this name for a JSON node.
using JSON = JSONNode;

/// Copies share the feeder. Getters require a current node (isValidNode).
class WrapperNode {
 public:
  WrapperNode() = default;
  explicit WrapperNode(std::string filename) { createWrapper(std::move(filename)); }

  /// Open FILE.et or FILE.json. Throws std::runtime_error for another name, an unreadable file (that of
  /// ETFeeder, base.spec.*), or a node with a missing or duplicate id (feed.id.duplicate, feeders.json.node).
  void createWrapper(std::string filename);
  void releaseMemory();

  std::shared_ptr<Chakra::ETFeederNode> getProtobufNode() { return node_; }
  JSONNode getJSONNode() { return json_node_; }

  // As in ETFeeder, for the format of the file.
  void addNode(JSONNode node);
  void addNode(std::shared_ptr<Chakra::ETFeederNode> node);
  void removeNode(uint64_t node_id);
  bool hasNodesToIssue();
  void getNextIssuableNode();  ///< no current node if no node is issuable
  void pushBackIssuableNode(uint64_t node_id);
  void lookupNode(uint64_t node_id);  ///< throws std::out_of_range
  void freeChildrenNodes(uint64_t node_id);

  bool isValidNode() const { return node_ || json_node_.graph_; }
  // A queue for nodes that the caller cannot issue now.
  void push_to_queue();
  bool is_queue_empty() { return queue_.empty() && json_queue_.empty(); }
  void queue_front();
  void pop_from_queue();

  uint64_t getNodeID();
  std::string getNodeName();
  int getNodeType();
  bool isCPUOp();
  uint64_t getRuntime();
  uint64_t getNumOps();
  uint64_t getTensorSize();
  int64_t getCommType();
  uint32_t getCommPriority();
  uint64_t getCommSize();
  uint32_t getCommSrc();
  uint32_t getCommDst();
  uint32_t getCommTag();
  void getChildren(std::vector<std::shared_ptr<Chakra::ETFeederNode>>& childrenNodes);
  void getChildren(std::vector<JSONNode>& childrenNodes);

 private:
  std::shared_ptr<Chakra::ETFeeder> feeder_;
  std::shared_ptr<Chakra::ETFeederNode> node_;
  std::shared_ptr<JSONNode::Graph> graph_;
  JSONNode json_node_;
  std::queue<std::shared_ptr<Chakra::ETFeederNode>> queue_;
  std::queue<JSONNode> json_queue_;
};
