#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "chakra/compat/compat.h"
#include "chakra/io/io.h"

namespace Chakra {
namespace {

/// Ids, 64 neighbours a word.
class IdSet {
 public:
  bool has(uint64_t id) const {
    const auto word = words_.find(id / 64);
    return word != words_.end() && (word->second >> (id % 64) & 1);
  }
  /// False if it was there.
  bool add(uint64_t id) {
    uint64_t& word = words_[id / 64];
    return !(word >> (id % 64) & 1) && (word |= uint64_t{1} << (id % 64), true);
  }
  void erase(uint64_t id) {
    if (const auto word = words_.find(id / 64); word != words_.end()) word->second &= ~(uint64_t{1} << (id % 64));
  }

 private:
  absl::flat_hash_map<uint64_t, uint64_t> words_;
};

template <class T>
T must(chakra::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

constexpr uint64_t kPerNode = 400;  ///< bytes beside message and dependencies

}  // namespace

struct ETFeeder::State {
  struct Entry {
    std::shared_ptr<ETFeederNode> node;
    std::vector<uint64_t> missing;  ///< dependencies not freed yet, ascending
    uint64_t bytes = 0;
  };

  State(const std::string& path, uint64_t window)
      : source(must(chakra::io::open_nodes(path))), file(path), window_bytes(window) {
    fill();
  }

  chakra::trace::NodeSource source;
  std::string file;
  uint64_t window_bytes, bytes = 0;
  bool ended = false;
  absl::flat_hash_map<uint64_t, Entry> nodes;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> waiters;  ///< by what they wait for, in file order
  std::set<uint64_t> ready;
  IdSet seen, freed, issued;
  uint64_t unfreed = 0;  ///< nodes that were issued and not freed: more may come of them
  uint64_t waiting = 0;  ///< nodes that wait

  Entry& entry(uint64_t id) {
    const auto found = nodes.find(id);
    if (found == nodes.end()) throw std::out_of_range(fmt::format("node {} is not in the feeder", id));
    return found->second;
  }

  void settle(uint64_t id, const Entry& e) {
    if (e.missing.empty() && !issued.has(id)) ready.insert(id);
  }

  /// `known`: its parents have it among their children already.
  void put(std::shared_ptr<ETFeederNode> node, std::vector<uint64_t> deps, uint64_t size, bool known = false) {
    const uint64_t id = node->id();
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
    for (const uint64_t dep : known ? std::vector<uint64_t>() : deps)
      if (const auto parent = nodes.find(dep); parent != nodes.end()) parent->second.node->addChild(node);
    std::erase_if(deps, [&](uint64_t dep) { return freed.has(dep); });
    Entry& e = nodes[id];
    e = {std::move(node), std::move(deps), size};
    bytes += size;
    for (const uint64_t dep : e.missing) waiters[dep].push_back(id);
    waiting += !e.missing.empty();
    settle(id, e);
  }

  void read() {
    chakra::trace::StreamedNode next;
    if (!must(source(next))) {
      ended = true;
      return;
    }
    if (!seen.add(next.id))
      throw std::runtime_error(fmt::format("{}: node {} is there twice [feed.id.duplicate]", file, next.id));
    const uint64_t size = kPerNode + next.message.size() + 2 * next.deps.size() * sizeof(uint64_t);
    auto node = std::make_shared<ETFeederNode>(next.id, std::move(next.message));
    if (const auto children = waiters.find(next.id); children != waiters.end())
      for (const uint64_t child : children->second)
        if (const auto c = nodes.find(child); c != nodes.end()) node->addChild(c->second.node);
    put(std::move(node), std::move(next.deps), size);
  }

  void fill() {
    while (!ended && nodes.size() < kWindowNodes && bytes < window_bytes) read();
  }

  void remove(uint64_t id) {
    const Entry& e = entry(id);
    bytes -= e.bytes;
    waiting -= !e.missing.empty();
    for (const uint64_t dep : e.missing)
      if (const auto list = waiters.find(dep); list != waiters.end()) std::erase(list->second, id);
    ready.erase(id);
    nodes.erase(id);
  }

  [[noreturn]] void explain() {
    uint64_t first = UINT64_MAX;
    for (const auto& [id, e] : nodes)
      if (!e.missing.empty()) first = std::min(first, id);
    std::pair<uint64_t, uint64_t> absent{UINT64_MAX, 0};
    for (const auto& [id, e] : nodes)
      for (const uint64_t dep : e.missing)
        if (!seen.has(dep)) absent = std::min(absent, {id, dep});
    if (absent.first != UINT64_MAX)
      throw std::runtime_error(
          fmt::format("{}: node {} waits for node {}, which is not in the file [feed.dep.dangling]", file, absent.first,
                      absent.second));
    throw std::runtime_error(fmt::format("{}: {} nodes wait for each other, node {} for node {} [feed.dep.cycle]", file,
                                         waiting, first, nodes[first].missing.front()));
  }
};

ETFeeder::ETFeeder(std::string filename) : ETFeeder(std::move(filename), kWindowBytes) {}
ETFeeder::ETFeeder(std::string filename, uint64_t window_bytes)
    : state_(std::make_unique<State>(filename, window_bytes)) {}
ETFeeder::~ETFeeder() = default;

void ETFeeder::addNode(std::shared_ptr<ETFeederNode> node) {
  State& s = *state_;
  const uint64_t id = node->id();
  if (s.nodes.contains(id)) s.remove(id);
  const bool known = !s.seen.add(id);
  const auto message = node->getChakraNode();
  s.put(std::move(node), {message->data_deps().begin(), message->data_deps().end()}, kPerNode, known);
}

void ETFeeder::removeNode(uint64_t node_id) {
  State& s = *state_;
  s.remove(node_id);
  if (s.nodes.size() < kWindowNodes / 2 && s.bytes < s.window_bytes / 2) s.fill();
}

bool ETFeeder::hasNodesToIssue() {
  State& s = *state_;
  if (s.nodes.empty()) s.fill();
  return !s.nodes.empty() || !s.ended;
}

std::shared_ptr<ETFeederNode> ETFeeder::getNextIssuableNode() {
  State& s = *state_;
  while (s.ready.empty() && !s.ended && (s.unfreed == 0 || (s.nodes.size() < kWindowNodes && s.bytes < s.window_bytes)))
    s.read();
  if (s.ready.empty()) {
    if (s.ended && s.unfreed == 0 && s.waiting > 0) s.explain();
    return nullptr;
  }
  const uint64_t id = *s.ready.begin();
  s.ready.erase(s.ready.begin());
  s.issued.add(id);
  s.unfreed += !s.freed.has(id);
  return s.nodes[id].node;
}

void ETFeeder::pushBackIssuableNode(uint64_t node_id) {
  State& s = *state_;
  s.entry(node_id);
  if (s.issued.has(node_id)) {
    s.issued.erase(node_id);
    s.unfreed -= !s.freed.has(node_id);
  }
  s.ready.insert(node_id);
}

std::shared_ptr<ETFeederNode> ETFeeder::lookupNode(uint64_t node_id) { return state_->entry(node_id).node; }

void ETFeeder::freeChildrenNodes(uint64_t node_id) {
  State& s = *state_;
  if (!s.seen.has(node_id)) throw std::out_of_range(fmt::format("node {} is not in the feeder", node_id));
  if (!s.freed.add(node_id)) return;
  s.unfreed -= s.issued.has(node_id);
  const auto list = s.waiters.find(node_id);
  if (list == s.waiters.end()) return;
  const std::vector<uint64_t> children = std::move(list->second);
  s.waiters.erase(list);
  for (const uint64_t child : children) {
    const auto found = s.nodes.find(child);
    if (found == s.nodes.end()) continue;
    std::erase(found->second.missing, node_id);
    if (!found->second.missing.empty()) continue;
    --s.waiting;
    s.settle(child, found->second);
  }
}

}  // namespace Chakra
