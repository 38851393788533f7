#include "chakra/analyze/order.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using trace::Trace;

uint64_t pairs_of(uint64_t things) { return things < 2 ? 0 : things * (things - 1) / 2; }

/// Pairs with equal keys, of things that are sorted by them.
template <class Key>
uint64_t equal_pairs(size_t things, const Key& key) {
  uint64_t pairs = 0;
  for (size_t begin = 0, i = 1; i <= things; ++i)
    if (i == things || key(i) != key(begin)) pairs += pairs_of(i - std::exchange(begin, i));
  return pairs;
}

/// Sorts, and counts pairs whose first was the greater one.
uint64_t sort_and_count(std::vector<Picoseconds>& values) {
  uint64_t inversions = 0;
  std::vector<Picoseconds> merged(values.size());
  for (size_t width = 1; width < values.size(); width *= 2) {
    for (size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, values.size()), end = std::min(begin + 2 * width, values.size());
      for (size_t left = begin, right = middle, to = begin; to < end; ++to) {
        const bool takes_right = left == middle || (right < end && values[right] < values[left]);
        if (takes_right) inversions += middle - left;
        merged[to] = values[takes_right ? right++ : left++];
      }
    }
    values.swap(merged);
  }
  return inversions;
}

/// Nodes of which each has a counterpart.
struct Counterparts {
  std::vector<NodeId> was, is;  ///< parallel
  int64_t only_was = 0, only_is = 0;
};

bool has_order(const Trace& t, NodeId n) {
  const std::string_view name = t.name_of(n);
  return t.has_start(n) && t.type[n] != trace::NodeType::metadata && name != trace::kHostGap &&
         name != trace::kInitialCondition;
}

using NodesByName = std::map<std::pair<std::string_view, trace::NodeType>, std::vector<NodeId>>;
NodesByName nodes_by_name(const Trace& t) {
  std::map<std::pair<StringId, trace::NodeType>, std::vector<NodeId>> by_id;
  for (const NodeId n : t.nodes()) by_id[{t.name[n], t.type[n]}].push_back(n);
  NodesByName by_name;
  for (auto& [key, nodes] : by_id) by_name[{t.strings[key.first], key.second}] = std::move(nodes);
  return by_name;
}

Counterparts counterparts(const Trace& a, const Trace& b) {
  Counterparts both;
  const NodesByName of_a = nodes_by_name(a), of_b = nodes_by_name(b);
  for (const auto& [key, nodes] : of_a) {
    const auto others = of_b.find(key);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool was = has_order(a, nodes[i]);
      const bool is = others != of_b.end() && i < others->second.size() && has_order(b, others->second[i]);
      both.only_was += was && !is;
      if (!was || !is) continue;
      both.was.push_back(nodes[i]);
      both.is.push_back(others->second[i]);
    }
  }
  for (const NodeId n : ids<NodeId>(b.size())) both.only_is += has_order(b, n);
  both.only_is -= static_cast<int64_t>(both.is.size());
  return both;
}

double middle_share(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// What all repetitions say of the nodes of a rank, or of its communication.
struct OrderRow {
  int64_t count = 0;
  std::vector<double> neighbours{}, pairs{};
  std::string first{};

  void add(const Trace& a, const Trace& b, const Counterparts& both, bool communication) {
    std::vector<NodeId> nodes, others;
    std::vector<Picoseconds> was, is;
    for (size_t i = 0; i < both.was.size(); ++i) {
      if (communication && !trace::is_comm(a.type[both.was[i]])) continue;
      nodes.push_back(both.was[i]);
      others.push_back(both.is[i]);
      was.push_back(a.start_ps[both.was[i]]);
      is.push_back(b.start_ps[both.is[i]]);
    }
    const OrderDifference d = order_difference(was, is);
    count = static_cast<int64_t>(nodes.size());
    neighbours.push_back(d.neighbours_share());
    pairs.push_back(d.distance());
    if (d.first && first.empty())
      first =
          fmt::format("number {} is {} (node {}), was {} (node {})", d.first->place + 1, b.name_of(others[d.first->is]),
                      b.id[others[d.first->is]], a.name_of(nodes[d.first->was]), a.id[nodes[d.first->was]]);
  }
};

}  // namespace

OrderDifference order_difference(std::span<const Picoseconds> was, std::span<const Picoseconds> is) {
  CHAKRA_ASSERT(was.size() == is.size());
  OrderDifference out;
  const size_t things = was.size();
  std::vector<size_t> before(things), after(things);
  std::iota(before.begin(), before.end(), size_t{0});
  after = before;
  std::sort(before.begin(), before.end(),
            [&](size_t a, size_t b) { return std::tuple(was[a], is[a], a) < std::tuple(was[b], is[b], b); });
  std::sort(after.begin(), after.end(),
            [&](size_t a, size_t b) { return std::tuple(is[a], was[a], a) < std::tuple(is[b], was[b], b); });
  const uint64_t tied_before = equal_pairs(things, [&](size_t i) { return was[before[i]]; });
  const uint64_t tied_after = equal_pairs(things, [&](size_t i) { return is[after[i]]; });
  const uint64_t tied_both = equal_pairs(things, [&](size_t i) { return std::pair(was[before[i]], is[before[i]]); });
  out.pairs = pairs_of(things) - tied_before - tied_after + tied_both;
  std::vector<Picoseconds> again;
  for (const size_t i : before) again.push_back(is[i]);
  for (size_t i = 1; i < things; ++i) {
    if (was[before[i - 1]] == was[before[i]]) continue;
    ++out.neighbours;
    out.neighbours_swapped += again[i - 1] > again[i];
  }
  out.swapped = sort_and_count(again);
  const auto [differs, other] = std::mismatch(before.begin(), before.end(), after.begin());
  if (differs != before.end())
    out.first = OrderDifference::First{static_cast<size_t>(differs - before.begin()), *differs, *other};
  return out;
}

// `analyze.timing.order` (note): nodes that only one of two jobs has, so that the order of starts leaves them out.
Table order_timing(const trace::TraceSet& recorded, std::span<const trace::TraceSet> replayed, Findings& findings) {
  CHAKRA_ASSERT(!replayed.empty());
  Table t{"order of starts",
          {{"rank", Table::Kind::id, "rank", "the rank"},
           {"of", Table::Kind::text, "of", "nodes or communication"},
           {"count", Table::Kind::count, "count", "how many are compared"},
           {"neighbours swapped", Table::Kind::share, "neighbours_swapped",
            "share of neighbours that start in the other order"},
           {"pairs swapped", Table::Kind::share, "pairs_swapped", "share of pairs that start in the other order"},
           {"first in another order", Table::Kind::text, "first_in_another_order",
            "the first place where the orders differ"}},
          {}};
  for (const Trace& was : recorded.ranks) {
    OrderRow nodes, communication;
    for (const trace::TraceSet& job : replayed) {
      const Trace* const is = job.find(was.rank);
      if (!is) continue;
      const Counterparts both = counterparts(was, *is);
      if (nodes.pairs.empty() && both.only_was + both.only_is > 0)
        findings.push_back(
            {"analyze.timing.order", Severity::note, was.rank, -1,
             fmt::format("the order of starts leaves out {} nodes of the first job and {} of the second, "
                         "which have no counterpart of the same name and type with a start",
                         show_count(both.only_was), show_count(both.only_is))});
      nodes.add(was, *is, both, false);
      communication.add(was, *is, both, true);
    }
    for (const auto& [what, row] : {std::pair("nodes", &nodes), std::pair("communication", &communication)})
      if (row->count > 0)
        t.rows.push_back({was.rank, std::string(what), row->count, middle_share(row->neighbours),
                          middle_share(row->pairs), row->first});
  }
  return t;
}

}  // namespace chakra::analyze
