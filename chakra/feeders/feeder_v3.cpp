#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <utility>

#include "chakra/feeders/include/feeder_v3/et_feeder.h"
#include "chakra/feeders/index.h"
#include "chakra/io/io.h"

namespace Chakra::FeederV3 {
namespace {

using chakra::feeders::Index;
using chakra::feeders::must;

constexpr uint64_t kCachedBytes = uint64_t{2} << 20;

std::atomic<ETFeederId> next_id{0};

/// What can never run makes the file unusable: the feeder has no other place to say so.
std::shared_ptr<Index> checked(const std::string& path) {
  auto index = must(Index::read(path, true, kCachedBytes));
  if (!index->absent().empty()) {
    const auto& [dep, row] = index->absent().front();
    throw std::runtime_error(fmt::format("{}: node {} waits for node {}, which is not in the file [feed.dep.dangling]",
                                         path, index->id(row), dep));
  }
  if (const auto row = index->cycle())
    throw std::runtime_error(
        fmt::format("{}: node {} waits for itself, or for nodes that do; run 'chakra check' to "
                    "see the circle [feed.dep.cycle]",
                    path, index->id(*row)));
  return index;
}

Index::Row row_of(const Index& index, NodeId node) {
  const auto row = index.find(node);
  if (!row) throw std::runtime_error(fmt::format("{}: node {} does not exist", index.file(), node));
  return *row;
}

}  // namespace

// ---- states -----------------------------------------------------------------------------------------------

DependancyResolver::DependancyResolver(std::shared_ptr<Index> index)
    : index_(std::move(index)), missing_(index_->waits_for()), finished_(index_->size(), false) {
  for (Index::Row row = 0; row < index_->size(); ++row)
    if (missing_[row] == 0) free_.insert(index_->id(row));
}

void DependancyResolver::set_free(NodeId node) {
  free_.insert(node);
  if (!ordered_) return;
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

NodeId DependancyResolver::lowest_free() {
  if (!std::exchange(ordered_, true)) {
    heap_.assign(free_.begin(), free_.end());
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  for (;;) {
    const NodeId node = heap_.front();
    if (free_.contains(node)) return node;
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
  }
}

void DependancyResolver::take_node(const NodeId& node) {
  const NodeId id = node;  // it may be a reference into free_
  if (free_.erase(id) == 0)
    throw std::runtime_error(
        fmt::format("{}: node {} is not free: it waits, is taken or has finished", index_->file(), id));
  ongoing_.insert(id);
}

void DependancyResolver::push_back_node(const NodeId& node) {
  const NodeId id = node;
  if (ongoing_.erase(id) == 0) throw std::runtime_error(fmt::format("{}: node {} is not taken", index_->file(), id));
  set_free(id);
}

void DependancyResolver::finish_node(const NodeId& node) {
  const NodeId id = node;
  if (ongoing_.erase(id) == 0) throw std::runtime_error(fmt::format("{}: node {} is not taken", index_->file(), id));
  const Index::Row row = row_of(*index_, id);
  finished_[row] = true;
  for (const Index::Row child : index_->children(row))
    if (--missing_[child] == 0) set_free(index_->id(child));
}

// ---- one kind of dependency -------------------------------------------------------------------------------

namespace {

/// Calls visit(id) for what a node waits for, by one kind or both; an id may come twice.
template <class Visit>
void each_dep(Index& index, Index::Row row, _DependancyLayer::Kind kind, const Visit& visit) {
  chakra::io::NodeRecord record;
  must(chakra::io::decode(must(index.message(row)), record));
  if (kind != _DependancyLayer::Kind::ctrl) std::for_each(record.data_deps.begin(), record.data_deps.end(), visit);
  if (kind != _DependancyLayer::Kind::data) std::for_each(record.ctrl_deps.begin(), record.ctrl_deps.end(), visit);
}

}  // namespace

std::unordered_set<NodeId> _DependancyLayer::get_dependancy_free_nodes() const {
  if (kind_ == Kind::enabled) return resolver_->free_;
  std::unordered_set<NodeId> free;
  Index& index = *resolver_->index_;
  for (Index::Row row = 0; row < index.size(); ++row) {
    const NodeId node = index.id(row);
    if (resolver_->finished_[row] || resolver_->ongoing_.contains(node)) continue;
    bool waits = false;
    each_dep(index, row, kind_, [&](NodeId dep) { waits = waits || !resolver_->finished_[row_of(index, dep)]; });
    if (!waits) free.insert(node);
  }
  return free;
}

const std::unordered_set<NodeId>& _DependancyLayer::get_ongoing_nodes() const { return resolver_->ongoing_; }

std::unordered_set<NodeId> _DependancyLayer::get_children(NodeId node) const {
  Index& index = *resolver_->index_;
  const auto row = index.find(node);
  if (!row || resolver_->finished_[*row]) throw std::out_of_range(fmt::format("node {} is not in the graph", node));
  std::unordered_set<NodeId> children;
  for (const Index::Row child : index.children(*row))
    each_dep(index, child, kind_, [&](NodeId dep) {
      if (dep == node) children.insert(index.id(child));
    });
  return children;
}

std::unordered_set<NodeId> _DependancyLayer::get_parents(NodeId node) const {
  Index& index = *resolver_->index_;
  const auto row = index.find(node);
  if (!row || resolver_->finished_[*row]) throw std::out_of_range(fmt::format("node {} is not in the graph", node));
  std::unordered_set<NodeId> parents;
  each_dep(index, *row, kind_, [&](NodeId dep) {
    if (!resolver_->finished_[row_of(index, dep)]) parents.insert(dep);
  });
  return parents;
}

// ---- the feeder -------------------------------------------------------------------------------------------

ETFeeder::ETFeeder(const std::string& file_path) : ETFeeder(checked(file_path)) {}

ETFeeder::ETFeeder(std::shared_ptr<Index> index)
    : index_(std::move(index)),
      resolver_(index_),
      cache_(std::min<size_t>(DEFAULT_ETFEEDER_CACHE_SIZE, index_->size())),
      id_(next_id++) {
  if (!global_metadata.ParseFromString(index_->metadata()))
    throw std::runtime_error(
        fmt::format("{}: the metadata is not a message of the Chakra schema [io.et.damaged]", index_->file()));
}
ETFeeder::~ETFeeder() = default;

std::shared_ptr<const ChakraNode> ETFeeder::parsed(NodeId node) {
  const Index::Row row = row_of(*index_, node);
  auto& cached = cache_[row % cache_.size()];
  if (cached && cached->id() == node) return cached;
  const std::string_view bytes = must(index_->message(row));
  auto message = std::make_shared<ChakraNode>();
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || message->id() != node)
    throw std::runtime_error(
        fmt::format("{}: node {} is not a message of the Chakra schema [io.et.damaged]", index_->file(), node));
  return cached = std::move(message);
}

std::shared_ptr<ETFeederNode> ETFeeder::lookupNode(const NodeId& node_id) {
  (void)row_of(*index_, node_id);
  return std::make_shared<ETFeederNode>(*this, node_id);
}

bool ETFeeder::hasNodesToIssue() { return !resolver_.get_dependancy_free_nodes().empty(); }
std::shared_ptr<ETFeederNode> ETFeeder::getNextIssuableNode() {
  if (!hasNodesToIssue()) return nullptr;
  const NodeId node = resolver_.lowest_free();
  resolver_.take_node(node);
  return lookupNode(node);
}
void ETFeeder::pushBackIssuableNode(const NodeId& node_id) { resolver_.push_back_node(node_id); }
void ETFeeder::freeChildrenNodes(const NodeId& node_id) { resolver_.finish_node(node_id); }

void ETFeeder::addNode(std::shared_ptr<ETFeederNode> /*node*/) {
  throw std::runtime_error(
      fmt::format("{}: cannot add nodes to this feeder; the graph of the file is fixed", index_->file()));
}
void ETFeeder::removeNode(const NodeId& /*node_id*/) {}

// ---- a node -----------------------------------------------------------------------------------------------

const ChakraNode& ETFeederNode::message() const {
  if (!message_) message_ = feeder_->parsed(node_id_);
  return *message_;
}

bool ETFeederNode::get_attr_msg(const std::string& attr_name, const ChakraAttr** attr) const {
  for (const ChakraAttr& each : message().attr())
    if (each.name() == attr_name) return *attr = &each, true;
  return false;
}
bool ETFeederNode::has_attr(const std::string& attr_name) const {
  const ChakraAttr* attr = nullptr;
  return get_attr_msg(attr_name, &attr);
}
ChakraAttr ETFeederNode::get_attr_msg(const std::string& attr_name) const {
  const ChakraAttr* attr = nullptr;
  if (!get_attr_msg(attr_name, &attr))
    throw std::runtime_error(
        fmt::format("node {} of feeder {} has no attribute {}", node_id_, feeder_->feeder_id(), attr_name));
  return *attr;
}

NodeId ETFeederNode::id() const { return message().id(); }
std::string ETFeederNode::name() const { return message().name(); }
ChakraProtoMsg::NodeType ETFeederNode::type() const { return message().type(); }
uint64_t ETFeederNode::runtime() const { return message().duration_micros(); }

std::string ETFeederNode::get_inputs_values(const std::string& default_value) const {
  return message().has_inputs() ? message().inputs().values() : default_value;
}
std::string ETFeederNode::get_inputs_shapes(const std::string& default_value) const {
  return message().has_inputs() ? message().inputs().shapes() : default_value;
}
std::string ETFeederNode::get_inputs_types(const std::string& default_value) const {
  return message().has_inputs() ? message().inputs().types() : default_value;
}
std::string ETFeederNode::get_outputs_values(const std::string& default_value) const {
  return message().has_outputs() ? message().outputs().values() : default_value;
}
std::string ETFeederNode::get_outputs_shapes(const std::string& default_value) const {
  return message().has_outputs() ? message().outputs().shapes() : default_value;
}
std::string ETFeederNode::get_outputs_types(const std::string& default_value) const {
  return message().has_outputs() ? message().outputs().types() : default_value;
}

}  // namespace Chakra::FeederV3
