// Random jobs for tests: up to 16 ranks with overlapping groups, all collectives, all-to-all with splits, messages,
// streams, requests and waits. All ranks follow one global order, so an unchanged job cannot deadlock. A job is a plain
// description that tests can change at will and build into traces; a broken description can also be built.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "chakra/trace/trace.h"

namespace chakra::trace::testing {

struct JobNode {
  uint32_t key = 0;  ///< unique on the rank; the id is key + 1
  NodeType type = NodeType::comp;
  std::vector<uint32_t> deps;  ///< keys
  int lane = -1;               ///< a stream; -1: none
  Picoseconds dur = 0;
  CommType comm = CommType::unknown;
  uint64_t bytes = 0, in_bytes = 0, out_bytes = 0;
  std::string dtype, group;
  int64_t sequence = -1, root = -1;
  std::vector<uint64_t> in_split, out_split;
  int64_t src = -1, dst = -1, tag = -1;
  int64_t request = -1, wait = -1;

  bool is_coll() const { return type == NodeType::coll; }
};

struct RandomJob {
  std::vector<std::vector<JobNode>> ranks;
  using Groups = std::map<std::string, std::vector<int64_t>, std::less<>>;
  Groups groups;
  bool chained = false;   ///< every node waits for the one before it
  bool numbered = false;  ///< collectives have sequence numbers

  uint32_t new_key(size_t rank) const {
    uint32_t key = 0;
    for (const JobNode& n : ranks[rank]) key = std::max(key, n.key + 1);
    return key;
  }
  /// Remove a node; nodes that waited for the node now wait for the node's dependencies.
  JobNode remove(size_t rank, size_t at) {
    JobNode gone = ranks[rank][at];
    ranks[rank].erase(ranks[rank].begin() + static_cast<ptrdiff_t>(at));
    for (JobNode& n : ranks[rank])
      if (const auto i = std::find(n.deps.begin(), n.deps.end(), gone.key); i != n.deps.end()) {
        n.deps.erase(i);
        for (const uint32_t on : gone.deps)
          if (std::find(n.deps.begin(), n.deps.end(), on) == n.deps.end()) n.deps.push_back(on);
      }
    return gone;
  }
  /// Make each node wait for the node before, in the current order.
  void chain(size_t rank) {
    for (size_t i = 1; i < ranks[rank].size(); ++i) {
      auto& deps = ranks[rank][i].deps;
      std::erase_if(deps, [&](uint32_t on) {
        return std::none_of(ranks[rank].begin(), ranks[rank].begin() + static_cast<ptrdiff_t>(i),
                            [&](const JobNode& n) { return n.key == on; });
      });
      if (std::find(deps.begin(), deps.end(), ranks[rank][i - 1].key) == deps.end())
        deps.push_back(ranks[rank][i - 1].key);
    }
    if (!ranks[rank].empty()) ranks[rank][0].deps.clear();
  }

  TraceSet build() const {
    const auto list = [](const std::vector<uint64_t>& split) {
      std::string text;
      for (const uint64_t n : split) text += (text.empty() ? "[" : ", ") + std::to_string(n);
      return text.empty() ? text : text + "]";
    };
    TraceSet set;
    for (size_t r = 0; r < ranks.size(); ++r) {
      Builder b;
      Trace& t = b.trace;
      t.rank = static_cast<int64_t>(r);
      for (const JobNode& node : ranks[r]) {
        const NodeId n = b.add(node.key + 1, t.strings.intern("node"), node.type);
        t.dur_ps.edit(n) = node.dur;
        if (node.type == NodeType::comp) t.flags.edit(n) |= kHasDuration | kSaysCpuOrNot;
        for (const uint32_t on : node.deps) b.dep_by_id(n, on + 1, 0, 0);
        if (node.lane >= 0) t.lane.edit(n) = b.lane({Lane::Kind::stream, 0, node.lane});
        if (node.request >= 0) b.attr({t.strings.intern("comm_request"), node.request});
        if (node.wait >= 0) b.attr({t.strings.intern("comm_wait"), node.wait});
        if (!is_comm(node.type)) continue;
        Comm& c = b.comm(n);
        c.type = node.comm;
        c.bytes = node.bytes;
        c.in_bytes = node.in_bytes;
        c.out_bytes = node.out_bytes;
        c.dtype = t.strings.intern(node.dtype);
        c.group = t.strings.intern(node.group);
        c.sequence = node.sequence;
        c.root = node.root;
        c.src = node.src;
        c.dst = node.dst;
        c.tag = node.tag;
        c.in_split = t.texts.add(list(node.in_split));
        c.out_split = t.texts.add(list(node.out_split));
      }
      set.ranks.push_back(std::move(b).finish());
    }
    return set;
  }
};

/// Return a job of `least` to `most` ranks, with `steps` communications and some compute between them.
inline RandomJob random_job(Prng& random, size_t least = 2, size_t most = 16, size_t steps = 30) {
  RandomJob job;
  const size_t count = least + random.below(most - least + 1);
  job.ranks.resize(count);
  job.chained = random.chance(0.5);
  job.numbered = random.chance(0.3);
  const bool streams = random.chance(0.5), alike = random.chance(0.3);
  std::vector<std::string> names{"0"};
  std::vector<int64_t> everyone(count);
  for (size_t r = 0; r < count; ++r) everyone[r] = static_cast<int64_t>(r);
  job.groups["0"] = everyone;
  for (uint64_t g = 1; g <= 1 + random.below(5) && count > 2; ++g) {
    std::vector<int64_t> ranks = everyone;
    for (size_t i = ranks.size(); i-- > 1;) std::swap(ranks[i], ranks[random.below(i + 1)]);
    ranks.resize(2 + random.below(count - 1));
    names.push_back("g" + std::to_string(g));
    job.groups[names.back()] = ranks;
  }
  std::map<std::string, int64_t> sequence;
  std::vector<int64_t> requests(count, 0);
  std::vector<std::vector<std::pair<int64_t, uint32_t>>> open(count);  // requests and their nodes

  const auto add = [&](size_t r, JobNode node) {
    auto& nodes = job.ranks[r];
    node.key = static_cast<uint32_t>(nodes.size());
    const auto wait_for = [&](uint32_t key) {
      if (std::find(node.deps.begin(), node.deps.end(), key) == node.deps.end()) node.deps.push_back(key);
    };
    if (!nodes.empty() && job.chained) wait_for(nodes.back().key);
    for (uint64_t i = random.below(3); i > 0 && !nodes.empty(); --i)
      wait_for(nodes[nodes.size() - 1 - random.below(std::min<size_t>(nodes.size(), 8))].key);
    if (node.lane >= 0)  // as on a real stream: one after the other
      for (size_t i = nodes.size(); i-- > 0;)
        if (nodes[i].lane == node.lane) {
          wait_for(nodes[i].key);
          break;
        }
    nodes.push_back(std::move(node));
    return nodes.back().key;
  };
  const auto maybe_request = [&](JobNode& node, size_t r) {
    if (random.chance(0.2)) node.request = requests[r]++;
  };
  const auto added = [&](size_t r, const JobNode& node, uint32_t key) {
    if (node.request >= 0) open[r].emplace_back(node.request, key);
  };
  const auto wait = [&](size_t r, size_t i) {
    JobNode node;
    node.wait = open[r][i].first;
    node.deps.push_back(open[r][i].second);
    open[r].erase(open[r].begin() + static_cast<ptrdiff_t>(i));
    add(r, node);
  };
  const char* kDtypes[] = {"Float", "BFloat16", "Int", ""};

  for (size_t step = 0; step < steps; ++step) {
    for (size_t r = 0; r < count; ++r) {
      if (random.chance(0.3)) {
        JobNode node;
        node.dur = static_cast<Picoseconds>(random.below(5'000'000));
        add(r, node);
      }
      if (!open[r].empty() && random.chance(0.3)) wait(r, random.below(open[r].size()));
    }
    if (random.chance(0.3)) {
      const size_t from = random.below(count), to = (from + 1 + random.below(count - 1)) % count;
      JobNode node;
      node.bytes = alike ? 64 : 1 + random.below(100'000);
      node.dtype = kDtypes[random.below(4)];
      node.tag = static_cast<int64_t>(random.below(4));
      for (const bool sends : {true, false}) {
        JobNode end = node;
        const size_t r = sends ? from : to;
        end.type = sends ? NodeType::send : NodeType::recv;
        (sends ? end.dst : end.src) = static_cast<int64_t>(sends ? to : from);
        if (streams) end.lane = sends ? 90 : 91;
        maybe_request(end, r);
        added(r, end, add(r, end));
      }
      continue;
    }
    JobNode node;
    node.type = NodeType::coll;
    node.group = names[random.below(names.size())];
    const std::vector<int64_t>& members = job.groups[node.group];
    node.comm = alike ? CommType::all_reduce : static_cast<CommType>(random.below(10));
    node.dtype = node.comm == CommType::barrier ? "" : alike ? "Float" : kDtypes[random.below(3)];
    node.bytes = node.comm == CommType::barrier ? 0 : alike ? 1024 : 4 * (1 + random.below(100'000));
    if (has_root(node.comm)) node.root = members[random.below(members.size())];
    if (job.numbered) node.sequence = sequence[node.group]++;
    if (streams) node.lane = node.group == "0" ? 7 : 8;
    const bool uneven = node.comm == CommType::all_to_all && random.chance(0.7);
    std::vector<std::vector<uint64_t>> elements(members.size());
    for (auto& row : elements)
      for (size_t i = 0; uneven && i < members.size(); ++i) row.push_back(1 + random.below(1000));
    for (size_t m = 0; m < members.size(); ++m) {
      JobNode mine = node;
      const auto r = static_cast<size_t>(members[m]);
      if (uneven) {
        mine.in_split = elements[m];
        mine.bytes = 0;
        for (const uint64_t n : mine.in_split) mine.bytes += 4 * n;
        for (const auto& row : elements) mine.out_split.push_back(row[m]);
      }
      maybe_request(mine, r);
      added(r, mine, add(r, mine));
    }
  }
  for (size_t r = 0; r < count; ++r)
    while (!open[r].empty()) wait(r, 0);
  return job;
}

}  // namespace chakra::trace::testing
