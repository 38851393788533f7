#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/check/proof.h"
#include "chakra/check/rows.h"

namespace chakra::check {

using trace::NodeId;
using trace::Trace;

namespace {
constexpr size_t kWorkPerNode = 64;  ///< of joined(): how often a node may be looked at

std::optional<int64_t> number_of(const trace::Attr& attr) {
  if (const auto* number = std::get_if<uint64_t>(&attr.value); number && *number <= INT64_MAX)
    return static_cast<int64_t>(*number);
  return attr.integer();
}
}  // namespace

std::vector<bool> joined(const Trace& t, std::span<const NodeId> order,
                         std::span<const std::pair<NodeId, NodeId>> pairs, bool otherwise) {
  std::vector<bool> result(pairs.size(), otherwise);
  std::vector<uint32_t> place(t.size());
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<uint32_t> by_place(pairs.size());
  for (uint32_t i = 0; i < pairs.size(); ++i) by_place[i] = i;
  std::sort(by_place.begin(), by_place.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(place[pairs[a].first], a) < std::pair(place[pairs[b].first], b);
  });
  std::vector<uint64_t> behind;  // by place: bit i is set if the node waits for the i-th `from`
  size_t budget = kWorkPerNode * (size_t{t.size()} + t.deps.node.size() + 1);
  for (size_t begin = 0; begin < by_place.size(); begin += 64) {
    const size_t count = std::min<size_t>(64, by_place.size() - begin);
    const uint32_t first = place[pairs[by_place[begin]].first];
    uint32_t last = first;
    for (size_t i = 0; i < count; ++i) last = std::max(last, place[pairs[by_place[begin + i]].second]);
    behind.assign(last - first + 1, 0);
    for (size_t i = 0; i < count; ++i)
      if (const uint32_t at = place[pairs[by_place[begin + i]].first]; at <= last)
        behind[at - first] |= uint64_t{1} << i;
    for (uint32_t at = first; at <= last; ++at) {
      const auto deps = t.deps.of(order[at]);
      if (budget < deps.size() + 1) return result;
      budget -= deps.size() + 1;
      for (const NodeId on : deps)
        if (place[on] >= first) behind[at - first] |= behind[place[on] - first];
    }
    for (size_t i = 0; i < count; ++i) {
      const auto& [from, to] = pairs[by_place[begin + i]];
      result[by_place[begin + i]] = from != to && place[to] >= first && (behind[place[to] - first] >> i & 1) != 0;
    }
  }
  return result;
}

std::vector<Fact> facts_of(const trace::TraceSet& job, const match::Matching& matching, trace::RankIndex r, NodeId n) {
  const Trace& t = job.ranks[r];
  if (!trace::is_comm(t.type[n]) || t.comm_row[n] == trace::kNoRow) return {};
  const uint32_t id = matching.of_comm[r][t.comm_row[n]];
  if (id == trace::kNoRow) return {};
  if (t.type[n] == trace::NodeType::coll) {
    const match::Collective& c = matching.collectives[id];
    return {{"group", matching.groups[c.group].name}, {"index", int64_t{c.index}}};
  }
  const trace::Comm& comm = *t.comm(n);
  const bool send = t.type[n] == trace::NodeType::send;
  const int64_t from = send ? t.rank : comm.src, to = send ? comm.dst : t.rank;
  // Messages of a channel stand together, in order.
  const auto channel = [&](uint32_t m) {
    const match::Message& message = matching.messages[m];
    const bool has_send = message.send.node != trace::kNoNode;
    const match::NodeRef ref = has_send ? message.send : message.recv;
    const Trace& of = job.ranks[ref.rank];
    const trace::Comm& its = *of.comm(ref.node);
    return has_send ? std::tuple(of.rank, its.dst, its.tag) : std::tuple(its.src, of.rank, its.tag);
  };
  uint32_t first = 0;
  for (uint32_t end = id; first < end;) {
    const uint32_t middle = first + (end - first) / 2;
    if (channel(middle) < channel(id)) first = middle + 1;
    else end = middle;
  }
  return {{"sender", from}, {"receiver", to}, {"message_tag", comm.tag}, {"index", int64_t{id - first}}};
}

// `check.wait.unknown` (error): a wait for a request that no node starts.
// `check.wait.early` (error): a wait that no dependency puts behind its request.
// `check.wait.missing` (error): a request that no node waits for.
// `check.wait.request` (error): a request's number that is used twice.
// `check.wait.twice` (error): a request that two nodes wait for.
/// A communication node may name the request that it starts (comm_request), another node the request that it waits
/// for (comm_wait): docs/reference/formats/et.md.
void waits_refer_back(const trace::TraceSet& job, const match::Matching& matching, Findings& all) {
  std::vector<Findings> of_ranks(job.ranks.size());
  trace::each_rank(job, [&](trace::RankIndex r) {
    Findings& findings = of_ranks[r];
    const Trace& t = job.ranks[r];
    const StringId request_name = t.strings.find("comm_request"), wait_name = t.strings.find("comm_wait");
    if (request_name == 0 && wait_name == 0) return;
    const trace::Order order = trace::topological_order(t.deps);
    if (!order.cycle.empty()) return;  // said by no_deadlock
    const auto add = [&](const char* tag, NodeId about, NodeId node, std::string text) {
      findings.push_back({tag, Severity::error, t.rank, static_cast<int64_t>(t.id[node]), std::move(text),
                          facts_of(job, matching, r, about)});
    };
    struct Request {
      NodeId node, wait = trace::kNoNode;
    };
    absl::flat_hash_map<int64_t, Request> requests;
    std::vector<std::pair<NodeId, int64_t>> starts, waits;  // nodes and requests, in order
    for (const NodeId n : order.order)
      for (const trace::Attr& attr : t.attrs_of(n)) {
        const auto number = attr.name != 0 ? number_of(attr) : std::nullopt;
        if (!number) continue;
        if (attr.name == wait_name) waits.emplace_back(n, *number);
        // What an edit leaves out does not communicate any more; its wait stays.
        const bool starts_one = trace::is_comm(t.type[n]) || t.type[n] == trace::NodeType::metadata;
        if (attr.name != request_name || !starts_one) continue;
        if (const auto [found, added] = requests.emplace(*number, Request{n}); added) starts.emplace_back(n, *number);
        else
          add("check.wait.request", n, n,
              fmt::format("starts request {}, but node {} already started it", *number, t.id[found->second.node]));
      }
    std::vector<std::pair<NodeId, NodeId>> pairs;
    std::vector<size_t> unknown;  // findings
    for (const auto& [node, number] : waits) {
      const auto found = requests.find(number);
      if (found == requests.end()) {
        unknown.push_back(findings.size());
        add("check.wait.unknown", node, node, fmt::format("waits for request {}, which no node starts", number));
        continue;
      }
      Request& request = found->second;
      if (request.wait != trace::kNoNode)
        add("check.wait.twice", request.node, node,
            fmt::format("waits for request {}, for which node {} already waits", number, t.id[request.wait]));
      else request.wait = node;
      pairs.emplace_back(request.node, node);
    }
    const std::vector<bool> behind = joined(t, order.order, pairs, true);
    for (size_t i = 0; i < pairs.size(); ++i)
      if (!behind[i])
        add("check.wait.early", pairs[i].first, pairs[i].second,
            fmt::format("waits for the request of node {}, but does not depend on that node", t.id[pairs[i].first]));
    size_t next_unknown = 0;
    for (const auto& [node, number] : starts) {
      if (requests.at(number).wait != trace::kNoNode) continue;
      if (next_unknown < unknown.size()) {  // the one was perhaps meant by the other
        Finding& finding = findings[unknown[next_unknown++]];
        finding.text += fmt::format("; no node waits for that of node {}", t.id[node]);
        finding.facts = facts_of(job, matching, r, node);
      } else {
        add("check.wait.missing", node, node, fmt::format("starts request {}, for which no node waits", number));
      }
    }
  });
  for (Findings& of_rank : of_ranks) std::move(of_rank.begin(), of_rank.end(), std::back_inserter(all));
}

}  // namespace chakra::check
