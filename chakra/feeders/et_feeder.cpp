#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "chakra/feeders/feeder_state.h"
#include "chakra/feeders/feeders.h"

namespace Chakra {

using chakra::feeders::must;

FeederState::FeederState(const std::string& path, uint64_t cached_bytes)
    : index_(must(chakra::feeders::Index::read(path, false, cached_bytes))),
      missing_(index_->waits_for()),
      flags_(index_->size(), 0),
      alive_(index_->size()) {
  for (Row row = 0; row < index_->size(); ++row) {
    waiting_ += missing_[row] > 0;
    if (missing_[row] > 0) continue;
    flags_[row] = kReady;
    ready_.push_back(index_->id(row));
  }
  std::make_heap(ready_.begin(), ready_.end(), std::greater<>());
  for (const auto& [id, row] : index_->absent()) waiters_[id].push_back(index_->id(row));
}

uint8_t& FeederState::flags(uint64_t id) {
  const auto row = index_->find(id);
  return row ? flags_[*row] : outside_[id];
}
bool FeederState::in_feeder(uint64_t id) {
  if (!added_.empty() && added_.contains(id)) return true;
  const auto row = index_->find(id);
  return row && !(flags_[*row] & kRemoved);
}
void FeederState::require(uint64_t id) {
  if (!in_feeder(id)) throw std::out_of_range(fmt::format("node {} is not in the feeder", id));
}
/// Of a node of the feeder.
uint64_t FeederState::missing(uint64_t id) const {
  if (!added_.empty())
    if (const auto own = added_.find(id); own != added_.end()) return own->second.missing.size();
  return missing_[*index_->find(id)];
}

FeederState::NodePtr FeederState::make(Row row) {
  auto node = std::make_shared<ETFeederNode>(index_->id(row), std::string(must(index_->message(row))));
  node->feeder_ = weak_from_this();
  return node;
}
FeederState::NodePtr FeederState::lookup(uint64_t id) {
  require(id);
  if (!added_.empty())
    if (const auto own = added_.find(id); own != added_.end()) return own->second.node;
  NodePtr& node = held_[id];
  if (!node) node = make(*index_->find(id));
  return node;
}
/// mlcommons/chakra adds children as it reads them.
std::vector<FeederState::Row> FeederState::by_place(std::span<const Row> rows) const {
  std::vector<Row> ordered(rows.begin(), rows.end());
  std::sort(ordered.begin(), ordered.end(), [&](Row a, Row b) { return index_->place(a) < index_->place(b); });
  return ordered;
}
std::vector<FeederState::NodePtr> FeederState::children(uint64_t id) {
  std::vector<NodePtr> children;
  if (const auto row = index_->find(id))
    for (const Row child : by_place(index_->children(*row)))
      children.push_back(in_feeder(index_->id(child)) ? lookup(index_->id(child)) : make(child));
  return children;
}

void FeederState::make_ready(uint64_t id) {
  flags(id) |= kReady;
  ready_.push_back(id);
  std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
}
void FeederState::settle(uint64_t id) {
  if (missing(id) == 0 && !(flags(id) & kIssued)) make_ready(id);
}

void FeederState::add(NodePtr node) {
  const uint64_t id = node->id();
  if (in_feeder(id)) remove(id);
  const auto message = node->getChakraNode();
  std::vector<uint64_t> deps(message->data_deps().begin(), message->data_deps().end());
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  if (!known(id))  // else its parents have it among their children already
    for (const uint64_t dep : deps)
      if (in_feeder(dep)) lookup(dep)->addChild(node);
  std::erase_if(deps, [&](uint64_t dep) { return known(dep) && (flags(dep) & kFreed); });
  flags(id) &= static_cast<uint8_t>(~kRemoved);
  leaving_.erase(id);
  for (const uint64_t dep : deps) waiters_[dep].push_back(id);
  waiting_ += !deps.empty();
  ++alive_;
  added_[id] = {std::move(node), std::move(deps)};
  settle(id);
}

void FeederState::remove(uint64_t id) {
  if (!in_feeder(id)) return;
  waiting_ -= missing(id) > 0;
  if (flags(id) & kReady) leaving_[id] = lookup(id);
  if (const auto own = added_.find(id); own != added_.end()) {
    for (const uint64_t dep : own->second.missing)
      if (const auto list = waiters_.find(dep); list != waiters_.end()) std::erase(list->second, id);
    added_.erase(own);
  }
  held_.erase(id);
  flags(id) |= kRemoved;
  --alive_;
}

FeederState::NodePtr FeederState::next() {
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
    const uint64_t id = ready_.back();
    ready_.pop_back();
    uint8_t& state = flags(id);
    if (!(state & kReady)) continue;
    state = static_cast<uint8_t>((state & ~kReady) | kIssued);
    unfreed_ += !(state & kFreed);
    if (const auto removed = leaving_.find(id); removed != leaving_.end()) {
      NodePtr node = std::move(removed->second);
      leaving_.erase(removed);
      return node;
    }
    return lookup(id);
  }
  if (unfreed_ == 0 && waiting_ > 0) explain();
  return nullptr;
}

void FeederState::push_back(uint64_t id) {
  require(id);
  uint8_t& state = flags(id);
  if (state & kIssued) {
    state &= static_cast<uint8_t>(~kIssued);
    unfreed_ -= !(state & kFreed);
  }
  if (!(state & kReady)) make_ready(id);
}

/// `parent` is freed, for which `child` waits.
void FeederState::one_freed(uint64_t child, uint64_t parent) {
  if (const auto own = added_.empty() ? added_.end() : added_.find(child); own != added_.end()) {
    if (std::erase(own->second.missing, parent) == 0) return;
  } else {
    const auto row = index_->find(child);
    if (!row) return;  // added once, and removed
    --missing_[*row];
    if (flags_[*row] & kRemoved) return;
  }
  if (missing(child) > 0) return;
  --waiting_;
  settle(child);
}

void FeederState::free(uint64_t id) {
  if (!known(id)) throw std::out_of_range(fmt::format("node {} is not in the feeder", id));
  uint8_t& state = flags(id);
  if (state & kFreed) return;
  state |= kFreed;
  unfreed_ -= (state & kIssued) != 0;
  if (const auto list = waiters_.find(id); list != waiters_.end()) {
    const std::vector<uint64_t> waiting = std::move(list->second);
    waiters_.erase(list);
    for (const uint64_t child : waiting) one_freed(child, id);
  }
  if (const auto row = index_->find(id))
    for (const Row child : index_->children(*row))
      if (added_.empty() || !added_.contains(index_->id(child))) one_freed(index_->id(child), id);
}

void FeederState::explain() {
  const auto of_the_file = [&](Row row) { return !(flags_[row] & kRemoved) && !added_.contains(index_->id(row)); };
  std::pair<uint64_t, uint64_t> absent{UINT64_MAX, 0};  // who waits, for what
  uint64_t first = UINT64_MAX;
  for (Row row = 0; row < index_->size(); ++row)
    if (missing_[row] > 0 && of_the_file(row)) first = std::min(first, index_->id(row));
  for (const auto& [dep, row] : index_->absent())
    if (!known(dep) && of_the_file(row)) absent = std::min(absent, {index_->id(row), dep});
  for (const auto& [id, own] : added_)
    for (const uint64_t dep : own.missing) {
      first = std::min(first, id);
      if (!known(dep)) absent = std::min(absent, {id, dep});
    }
  if (absent.first != UINT64_MAX)
    throw std::runtime_error(fmt::format("{}: node {} waits for node {}, which is not in the file [feed.dep.dangling]",
                                         index_->file(), absent.first, absent.second));
  std::string on;
  for (const uint64_t dep : lookup(first)->getChakraNode()->data_deps())
    if (on.empty() && !(flags(dep) & kFreed)) on = fmt::format(", node {} for node {}", first, dep);
  throw std::runtime_error(
      fmt::format("{}: {} nodes wait for each other{} [feed.dep.cycle]", index_->file(), waiting_, on));
}

ETFeeder::ETFeeder(std::string filename) : ETFeeder(std::move(filename), kCachedBytes) {}
ETFeeder::ETFeeder(std::string filename, uint64_t cached_bytes)
    : state_(std::make_shared<FeederState>(filename, cached_bytes)) {}
ETFeeder::~ETFeeder() = default;

void ETFeeder::addNode(std::shared_ptr<ETFeederNode> node) { state_->add(std::move(node)); }
void ETFeeder::removeNode(uint64_t node_id) { state_->remove(node_id); }
bool ETFeeder::hasNodesToIssue() { return !state_->empty(); }
std::shared_ptr<ETFeederNode> ETFeeder::getNextIssuableNode() { return state_->next(); }
void ETFeeder::pushBackIssuableNode(uint64_t node_id) { state_->push_back(node_id); }
std::shared_ptr<ETFeederNode> ETFeeder::lookupNode(uint64_t node_id) { return state_->lookup(node_id); }
void ETFeeder::freeChildrenNodes(uint64_t node_id) { state_->free(node_id); }

}  // namespace Chakra
