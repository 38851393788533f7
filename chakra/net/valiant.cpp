#include "chakra/net/valiant.h"

#include <algorithm>

namespace chakra::net {
namespace {

/// Hops between switches, by the device where they begin or end.
struct SwitchHops {
  std::vector<std::vector<uint32_t>> to, from;
};

SwitchHops switch_hops(const Valiant::Devices& devices, std::span<const Hop> hops) {
  SwitchHops found{std::vector<std::vector<uint32_t>>(devices.count),
                   std::vector<std::vector<uint32_t>>(devices.count)};
  for (const Hop& hop : hops) {
    if (hop.from < devices.ranks || hop.to < devices.ranks) continue;
    found.to[hop.from].push_back(hop.to);
    found.from[hop.to].push_back(hop.from);
  }
  return found;
}

/// Switches in the order in which a search in depth leaves them.
std::vector<uint32_t> leaving_order(uint32_t first, const std::vector<std::vector<uint32_t>>& to) {
  std::vector<uint32_t> order;
  std::vector<char> seen(to.size(), 0);
  std::vector<std::pair<uint32_t, size_t>> stack;  // with the next of its hops
  for (uint32_t start = first; start < to.size(); ++start) {
    if (seen[start]) continue;
    seen[start] = 1;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [device, next] = stack.back();
      if (next == to[device].size()) {
        order.push_back(device);
        stack.pop_back();
        continue;
      }
      const uint32_t other = to[device][next++];
      if (seen[other]) continue;
      seen[other] = 1;
      stack.emplace_back(other, 0);
    }
  }
  return order;
}

/// Of each switch the number of its strongly connected component (Kosaraju's algorithm), and how many there are.
std::pair<std::vector<uint32_t>, uint32_t> components(const Valiant::Devices& devices, std::span<const Hop> hops) {
  const SwitchHops between = switch_hops(devices, hops);
  const std::vector<uint32_t> order = leaving_order(static_cast<uint32_t>(devices.ranks), between.to);
  std::vector<uint32_t> component(devices.count, UINT32_MAX), todo;
  uint32_t count = 0;
  for (auto start = order.rbegin(); start != order.rend(); ++start) {
    if (component[*start] != UINT32_MAX) continue;
    component[*start] = count;
    todo.push_back(*start);
    while (!todo.empty()) {
      const uint32_t device = todo.back();
      todo.pop_back();
      for (const uint32_t other : between.from[device])
        if (component[other] == UINT32_MAX) {
          component[other] = count;
          todo.push_back(other);
        }
    }
    ++count;
  }
  return {std::move(component), count};
}

/// Each trunk once, ascending.
void merge_equal(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.trunk < b.trunk; });
  size_t kept = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (kept > 0 && uses[kept - 1].trunk == uses[i].trunk) uses[kept - 1].share += uses[i].share;
    else uses[kept++] = uses[i];
  }
  uses.resize(kept);
}

/// Appends both, each trunk once. Both are ascending. The loop has no branch that depends on the trunks: it is where
/// the time goes.
void append_sum(const std::vector<Use>& a, const std::vector<Use>& b, std::vector<Use>& out) {
  const size_t before = out.size();
  out.resize(before + a.size() + b.size());
  Use* at = out.data() + before;
  const Use *i = a.data(), *j = b.data(), *const i_end = i + a.size(), *const j_end = j + b.size();
  while (i < i_end && j < j_end) {
    const bool from_a = i->trunk <= j->trunk, from_b = j->trunk <= i->trunk;
    *at++ = {from_a ? i->trunk : j->trunk, (from_a ? i->share : 0.0) + (from_b ? j->share : 0.0)};
    i += from_a;
    j += from_b;
  }
  at = std::copy(i, i_end, at);
  at = std::copy(j, j_end, at);
  out.resize(static_cast<size_t>(at - out.data()));
}

}  // namespace

Valiant::Valiant(Devices devices, std::span<const Hop> hops, const ShortestPaths& paths)
    : devices_(std::move(devices)), paths_(paths) {
  auto [component, count] = components(devices_, hops);
  component_ = std::move(component);
  first_group_ = count;
  const uint32_t groups =
      devices_.groups.empty() ? 0 : *std::max_element(devices_.groups.begin(), devices_.groups.end()) + 1;
  pools_.resize(first_group_ + groups + 1);
  std::vector<char> has_rank(devices_.count, 0);
  for (const Hop& hop : hops) {
    if (hop.from < devices_.ranks) has_rank[hop.to] = 1;
    if (hop.to < devices_.ranks) has_rank[hop.from] = 1;
  }
  const auto add = [&](size_t pool, uint32_t device) {
    pools_[pool].switches.push_back(device);
    pools_[pool].size += size_of(device);
    pools_[pool].joined &= component_[device] == component_[pools_[pool].switches[0]];
  };
  for (auto d = static_cast<uint32_t>(devices_.ranks); d < devices_.count; ++d) {
    if (!has_rank[d]) continue;
    add(component_[d], d);
    if (groups > 0) add(first_group_ + devices_.groups[d], d);
  }
}

const Valiant::Pool& Valiant::pool(uint32_t first, int64_t to) const {
  const Pool& none = pools_.back();
  const uint32_t root = paths_.root_of(to);
  if (first < devices_.ranks || first == root) return none;
  if (root < devices_.ranks) {  // on several switches
    thread_local std::vector<ShortestPaths::Next> nexts;
    paths_.next(first, to, false, nexts);
    // Without a way of switches other ranks pass messages on.
    return nexts.empty() || nexts[0].hop->to == root ? none : pools_[component_[first]];
  }
  if (component_[root] != component_[first]) return none;
  const bool in_group = !devices_.groups.empty() && devices_.groups[first] == devices_.groups[root];
  const Pool& all = pools_[component_[first]];
  if (!in_group) return all;
  const Pool& group = pools_[first_group_ + devices_.groups[first]];
  return group.joined ? group : all;
}

const Valiant::Leg& Valiant::leg(const Pool& pool, uint32_t device, bool back) const {
  const std::pair<const Pool*, uint64_t> key(&pool, uint64_t{device} << 1 | back);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = legs_.find(key); known != legs_.end()) return *known->second;
  }
  auto made = std::make_unique<Leg>();
  std::vector<Use> way;
  for (const uint32_t middle : pool.switches) {
    if (middle == device) continue;
    way.clear();
    made->latency = std::max(made->latency, back ? paths_.uses(middle, device, way) : paths_.uses(device, middle, way));
    for (const Use& use : way) made->uses.push_back({use.trunk, use.share * size_of(middle) / pool.size});
  }
  merge_equal(made->uses);
  const std::lock_guard lock(mutex_);
  return *legs_.try_emplace(key, std::move(made)).first->second;
}

Picoseconds Valiant::uses(int64_t from, int64_t to, std::vector<Use>& out) const {
  const auto sender = static_cast<uint32_t>(from);
  thread_local std::vector<ShortestPaths::Next> firsts;
  const bool through = paths_.through_ranks(from, to);
  paths_.next(sender, to, through, firsts);
  double total = 0;
  bool detour = !through;
  for (const ShortestPaths::Next& f : firsts) {
    total += f.weight;
    detour = detour && !pool(f.hop->to, to).switches.empty();
  }
  if (!detour) return paths_.uses(from, to, out);
  const uint32_t root = paths_.root_of(to);
  thread_local std::vector<Use> sum;
  sum.clear();
  Picoseconds latency = 0;
  for (const ShortestPaths::Next& f : firsts) {
    const double share = firsts.size() == 1 ? 1 : f.weight / total;
    const uint32_t first = f.hop->to;
    out.push_back({f.hop->trunk, share});
    const Pool& all = pool(first, to);
    const Leg &there = leg(all, first, false), &on = leg(all, root, true);
    latency = std::max(latency, add_saturated(f.hop->latency_ps, add_saturated(there.latency, on.latency)));
    if (firsts.size() == 1) {
      append_sum(there.uses, on.uses, out);
      continue;
    }
    for (const Use& use : there.uses) sum.push_back({use.trunk, share * use.share});
    for (const Use& use : on.uses) sum.push_back({use.trunk, share * use.share});
  }
  merge_equal(sum);
  out.insert(out.end(), sum.begin(), sum.end());
  if (root == to) return latency;
  paths_.next(root, to, false, firsts);  // the port to the rank
  out.push_back({firsts[0].hop->trunk, 1});
  return add_saturated(latency, firsts[0].hop->latency_ps);
}

}  // namespace chakra::net
