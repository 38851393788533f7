#include "chakra/feeders/include/wrapper_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "chakra/base/base.h"

struct JSONNode::Graph {
  struct Node {
    uint64_t id = 0;
    std::string name;
    int type = 0;
    bool is_cpu_op = false;
    uint64_t runtime = 0, num_ops = 0, tensor_size = 0, comm_size = 0;
    int64_t comm_type = 0;
    uint32_t comm_priority = 0, comm_src = 0, comm_dst = 0, comm_tag = 0;
    std::vector<uint64_t> data_deps;
    std::vector<size_t> children;
    size_t missing = 0;  ///< dependencies that have not been freed
    bool there = true;   ///< not removed
  };
  std::vector<Node> nodes;
  std::unordered_map<uint64_t, size_t> row_of;
  std::set<std::pair<uint64_t, size_t>> ready;  ///< by id
  size_t alive = 0;

  /// Throws std::out_of_range.
  size_t row(uint64_t id) const {
    const auto found = row_of.find(id);
    if (found == row_of.end() || !nodes[found->second].there)
      throw std::out_of_range(fmt::format("node {} is not in the feeder", id));
    return found->second;
  }
};

namespace {

using chakra::Result;
using chakra::Spec;
using Node = JSONNode::Graph::Node;

template <class T>
Result<void> read_whole(const Spec& spec, std::string_view key, T& to) {
  const Spec* const value = spec.find(key);
  if (!value) return {};
  constexpr auto kMost = static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<T>::max(), INT64_MAX));
  constexpr int64_t kLeast = std::is_signed_v<T> ? -kMost : 0;
  CHAKRA_ASSIGN(const int64_t number, value->integer(key, kLeast, kMost, "feeders.json.node"));
  to = static_cast<T>(number);
  return {};
}

Result<Node> read_json_node(const Spec& spec) {
  Node node;
  if (!spec.find("Id")) return spec.error("feeders.json.node", "a node has no 'Id'");
  CHAKRA_TRY(read_whole(spec, "Id", node.id));
  if (const Spec* name = spec.find("Name")) {
    CHAKRA_ASSIGN(node.name, name->string());
  }
  CHAKRA_TRY(read_whole(spec, "NodeType", node.type));
  if (const Spec* cpu = spec.find("is_cpu_op")) {
    CHAKRA_ASSIGN(node.is_cpu_op, cpu->boolean());
  }
  CHAKRA_TRY(read_whole(spec, "runtime", node.runtime));
  CHAKRA_TRY(read_whole(spec, "num_ops", node.num_ops));
  CHAKRA_TRY(read_whole(spec, "tensor_size", node.tensor_size));
  CHAKRA_TRY(read_whole(spec, "comm_type", node.comm_type));
  CHAKRA_TRY(read_whole(spec, "comm_priority", node.comm_priority));
  CHAKRA_TRY(read_whole(spec, "comm_size", node.comm_size));
  CHAKRA_TRY(read_whole(spec, "comm_src", node.comm_src));
  CHAKRA_TRY(read_whole(spec, "comm_dst", node.comm_dst));
  CHAKRA_TRY(read_whole(spec, "comm_tag", node.comm_tag));
  if (const Spec* deps = spec.find("data_deps"))
    for (const Spec& item : deps->items) {
      CHAKRA_ASSIGN(const int64_t id, item.integer("data_deps", 0, INT64_MAX, "feeders.json.node"));
      node.data_deps.push_back(static_cast<uint64_t>(id));
    }
  std::sort(node.data_deps.begin(), node.data_deps.end());
  node.data_deps.erase(std::unique(node.data_deps.begin(), node.data_deps.end()), node.data_deps.end());
  node.missing = node.data_deps.size();
  return node;
}

// `feeders.json.node` (std::runtime_error): a JSON trace without 'workload_graph', or a node without an id
Result<std::shared_ptr<JSONNode::Graph>> read_graph(const std::string& path) {
  CHAKRA_ASSIGN(const Spec spec, chakra::load_spec(path));
  const Spec* const list = spec.find("workload_graph");
  if (!list) return spec.error("feeders.json.node", "the file has no 'workload_graph'");
  auto graph = std::make_shared<JSONNode::Graph>();
  for (const Spec& item : list->items) {
    CHAKRA_ASSIGN(Node node, read_json_node(item));
    if (!graph->row_of.emplace(node.id, graph->nodes.size()).second)
      return item.error("feed.id.duplicate", fmt::format("two nodes have the id {}", node.id));
    if (node.missing == 0) graph->ready.emplace(node.id, graph->nodes.size());
    graph->nodes.push_back(std::move(node));
  }
  graph->alive = graph->nodes.size();
  for (size_t row = 0; row < graph->nodes.size(); ++row)
    for (const uint64_t dep : graph->nodes[row].data_deps)
      if (const auto on = graph->row_of.find(dep); on != graph->row_of.end())
        graph->nodes[on->second].children.push_back(row);
  return graph;
}

}  // namespace

JSONNode::JSONNode(std::shared_ptr<Graph> graph, size_t row) : graph_(std::move(graph)), row_(row) {}
uint64_t JSONNode::id() const { return graph_->nodes[row_].id; }
std::string JSONNode::name() const { return graph_->nodes[row_].name; }
int JSONNode::type() const { return graph_->nodes[row_].type; }
bool JSONNode::isCPUOp() const { return graph_->nodes[row_].is_cpu_op; }
uint64_t JSONNode::getRuntime() const { return graph_->nodes[row_].runtime; }
uint64_t JSONNode::getNumOps() const { return graph_->nodes[row_].num_ops; }
uint64_t JSONNode::getTensorSize() const { return graph_->nodes[row_].tensor_size; }
int64_t JSONNode::getCommType() const { return graph_->nodes[row_].comm_type; }
uint32_t JSONNode::getCommPriority() const { return graph_->nodes[row_].comm_priority; }
uint64_t JSONNode::getCommSize() const { return graph_->nodes[row_].comm_size; }
uint32_t JSONNode::getCommSrc() const { return graph_->nodes[row_].comm_src; }
uint32_t JSONNode::getCommDst() const { return graph_->nodes[row_].comm_dst; }
uint32_t JSONNode::getCommTag() const { return graph_->nodes[row_].comm_tag; }
std::vector<JSONNode> JSONNode::getChildren() const {
  std::vector<JSONNode> children;
  for (const size_t row : graph_->nodes[row_].children) children.emplace_back(graph_, row);
  return children;
}

void WrapperNode::createWrapper(std::string filename) {
  releaseMemory();
  if (filename.ends_with(".et")) {
    feeder_ = std::make_shared<Chakra::ETFeeder>(std::move(filename));
  } else if (filename.ends_with(".json")) {
    Result<std::shared_ptr<JSONNode::Graph>> graph = read_graph(filename);
    if (!graph) throw std::runtime_error(graph.error().message());
    graph_ = std::move(*graph);
  } else {
    throw std::runtime_error(filename + ": a name that ends in .et or .json is expected");
  }
}

void WrapperNode::releaseMemory() { *this = WrapperNode(); }

void WrapperNode::addNode(std::shared_ptr<Chakra::ETFeederNode> node) { feeder_->addNode(std::move(node)); }
void WrapperNode::addNode(JSONNode node) {
  JSONNode::Graph::Node& its = node.graph_->nodes[node.row_];
  if (node.graph_ != graph_ || its.there) return;
  its.there = true;
  ++graph_->alive;
}

void WrapperNode::removeNode(uint64_t node_id) {
  if (feeder_) return feeder_->removeNode(node_id);
  const auto found = graph_->row_of.find(node_id);
  if (found == graph_->row_of.end() || !graph_->nodes[found->second].there) return;
  graph_->nodes[found->second].there = false;  // one that is issuable is still issued
  --graph_->alive;
}

bool WrapperNode::hasNodesToIssue() {
  return feeder_ ? feeder_->hasNodesToIssue() : graph_->alive > 0 || !graph_->ready.empty();
}

void WrapperNode::getNextIssuableNode() {
  if (feeder_) {
    node_ = feeder_->getNextIssuableNode();
    return;
  }
  json_node_ = graph_->ready.empty() ? JSONNode() : JSONNode(graph_, graph_->ready.begin()->second);
  if (json_node_.graph_) graph_->ready.erase(graph_->ready.begin());
}

void WrapperNode::pushBackIssuableNode(uint64_t node_id) {
  if (feeder_) return feeder_->pushBackIssuableNode(node_id);
  graph_->ready.emplace(node_id, graph_->row(node_id));
}

void WrapperNode::lookupNode(uint64_t node_id) {
  if (feeder_) node_ = feeder_->lookupNode(node_id);
  else json_node_ = JSONNode(graph_, graph_->row(node_id));
}

void WrapperNode::freeChildrenNodes(uint64_t node_id) {
  if (feeder_) return feeder_->freeChildrenNodes(node_id);
  for (const size_t row : graph_->nodes[graph_->row(node_id)].children) {
    JSONNode::Graph::Node& child = graph_->nodes[row];
    if (std::erase(child.data_deps, node_id) > 0 && --child.missing == 0) graph_->ready.emplace(child.id, row);
  }
}

void WrapperNode::push_to_queue() {
  if (feeder_) queue_.push(node_);
  else json_queue_.push(json_node_);
}
void WrapperNode::queue_front() {
  if (feeder_) node_ = queue_.front();
  else json_node_ = json_queue_.front();
}
void WrapperNode::pop_from_queue() {
  if (feeder_) queue_.pop();
  else json_queue_.pop();
}

uint64_t WrapperNode::getNodeID() { return feeder_ ? node_->id() : json_node_.id(); }
std::string WrapperNode::getNodeName() { return feeder_ ? node_->name() : json_node_.name(); }
int WrapperNode::getNodeType() { return feeder_ ? static_cast<int>(node_->type()) : json_node_.type(); }
bool WrapperNode::isCPUOp() { return feeder_ ? node_->is_cpu_op() : json_node_.isCPUOp(); }
uint64_t WrapperNode::getRuntime() { return feeder_ ? node_->runtime() : json_node_.getRuntime(); }
uint64_t WrapperNode::getNumOps() { return feeder_ ? node_->num_ops() : json_node_.getNumOps(); }
uint64_t WrapperNode::getTensorSize() { return feeder_ ? node_->tensor_size() : json_node_.getTensorSize(); }
int64_t WrapperNode::getCommType() {
  return feeder_ ? static_cast<int64_t>(node_->comm_type()) : json_node_.getCommType();
}
uint32_t WrapperNode::getCommPriority() { return feeder_ ? node_->comm_priority() : json_node_.getCommPriority(); }
uint64_t WrapperNode::getCommSize() { return feeder_ ? node_->comm_size() : json_node_.getCommSize(); }
uint32_t WrapperNode::getCommSrc() { return feeder_ ? node_->comm_src() : json_node_.getCommSrc(); }
uint32_t WrapperNode::getCommDst() { return feeder_ ? node_->comm_dst() : json_node_.getCommDst(); }
uint32_t WrapperNode::getCommTag() { return feeder_ ? node_->comm_tag() : json_node_.getCommTag(); }
void WrapperNode::getChildren(std::vector<std::shared_ptr<Chakra::ETFeederNode>>& childrenNodes) {
  childrenNodes = node_->getChildren();
}
void WrapperNode::getChildren(std::vector<JSONNode>& childrenNodes) { childrenNodes = json_node_.getChildren(); }
