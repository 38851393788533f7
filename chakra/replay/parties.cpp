#include "chakra/replay/parties.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "chakra/replay/data.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {
namespace {

using trace::NodeId;

constexpr uint64_t kMostLooks = 200'000'000;  ///< at nodes, to find out about orders

uint64_t digest(uint64_t a, uint64_t b) { return Prng(a * 0x9e3779b97f4a7c15 ^ b).next(); }

/// Return a digest of the values on which members must agree; of all-to-alls with uneven parts, without a size.
uint64_t size_digest(const Operation& op) {
  return digest(digest(op.index, static_cast<uint64_t>(op.type)), digest(op.root, whole_bytes(op)));
}

std::string key_of(const Operation& op, int64_t own) {
  if (op.kind == Operation::Kind::collective) return fmt::format("group {}", quote(op.group));
  const bool sends = op.kind == Operation::Kind::send;
  return fmt::format("messages from rank {} to rank {} with tag {}", sends ? own : op.partner, sends ? op.partner : own,
                     op.tag);
}

Party party_of(const Operation& op, int64_t own, std::string key) {
  Party party;
  party.key = std::move(key);
  party.is_group = op.kind == Operation::Kind::collective;
  party.group = op.group;
  party.tag = op.tag;
  if (party.is_group) party.members.assign(op.members.begin(), op.members.end());
  else if (op.kind == Operation::Kind::send) party.members = {own, op.partner};
  else party.members = {op.partner, own};
  return party;
}

/// Whether each of the nodes waits for the one before it, whatever else happens.
bool chained(const trace::Trace& t, const trace::Order& order, const std::vector<NodeId>& nodes,
             std::vector<uint32_t>& last) {
  std::fill(last.begin(), last.end(), 0);  // per node: how many of `nodes` are known to be before its end
  std::map<NodeId, uint32_t> number;
  for (uint32_t i = 0; i < nodes.size(); ++i) number[nodes[i]] = i;
  for (const NodeId n : order.order) {
    for (const NodeId on : t.deps.of(n)) last[n] = std::max(last[n], last[on]);
    if (const auto at = number.find(n); at != number.end()) {
      if (last[n] != at->second) return false;
      ++last[n];
    }
  }
  return true;
}

void find_orders(const RankPlan& plan, std::vector<Party>& parties, std::vector<std::vector<NodeId>>& nodes) {
  const trace::Trace& t = *plan.trace;
  const trace::Order order = trace::topological_order(t.deps);
  std::vector<uint32_t> last(t.size());
  uint64_t looks = 0;
  for (size_t p = 0; p < parties.size(); ++p) {
    std::sort(nodes[p].begin(), nodes[p].end(),
              [&](NodeId a, NodeId b) { return plan.step(a).operation.index < plan.step(b).operation.index; });
    // A group without lanes has a separate queue, which runs the operations in this order.
    const bool own_queue = parties[p].is_group && std::all_of(nodes[p].begin(), nodes[p].end(),
                                                              [&](NodeId n) { return t.lane[n] == trace::kNoLane; });
    if (own_queue || nodes[p].size() == 1) parties[p].in_order = true;
    else if ((looks += t.size()) < kMostLooks) parties[p].in_order = chained(t, order, nodes[p], last);
  }
}

}  // namespace

std::vector<Party> parties_of(const RankPlan& plan, const std::vector<bool>& selected) {
  const trace::Trace& t = *plan.trace;
  std::map<std::string, std::pair<Party, std::vector<NodeId>>> by_key;
  for (const NodeId n : t.nodes()) {
    if (!trace::is_comm(t.type[n]) || !(selected.empty() || selected[n])) continue;
    const Operation& op = plan.step(n).operation;
    std::string key = key_of(op, t.rank);
    auto& [party, nodes] = by_key[key];
    if (nodes.empty()) party = party_of(op, t.rank, std::move(key));
    nodes.push_back(n);
    ++party.count;  // the digests are sums, since lanes are listed in any order
    if (party.is_group) party.types += digest(op.index, static_cast<uint64_t>(op.type));
    party.sizes += size_digest(op);
  }
  std::vector<Party> parties;
  std::vector<std::vector<NodeId>> nodes;
  for (auto& [key, found] : by_key) {
    parties.push_back(std::move(found.first));
    nodes.push_back(std::move(found.second));
  }
  find_orders(plan, parties, nodes);
  return parties;
}

Result<void> compare_parties(std::vector<Party>& own, int64_t rank, bool strict, Rendezvous& rendezvous) {
  struct Said {
    uint64_t count = 0, types = 0, sizes = 0, members = 0;
    bool in_order = false;
  };
  const auto hash_of = [](const std::vector<int64_t>& members) {
    return std::accumulate(members.begin(), members.end(), uint64_t{members.size()},
                           [](uint64_t hash, int64_t member) { return digest(hash, static_cast<uint64_t>(member)); });
  };
  BodyWriter mine;
  for (const Party& p : own) {
    mine.text(p.key);
    for (const uint64_t number : {p.count, p.types, p.sizes, hash_of(p.members), uint64_t{p.in_order}})
      mine.number(static_cast<int64_t>(number));
  }
  CHAKRA_ASSIGN(const std::vector<std::string> all, rendezvous.exchange(mine.body));
  std::vector<std::map<std::string_view, Said>> said(all.size());
  for (size_t r = 0; r < all.size(); ++r) {
    BodyReader read(all[r]);
    for (std::string_view key = read.text(); read.ok(); key = read.text()) {
      Said& s = said[r][key];
      for (uint64_t* number : {&s.count, &s.types, &s.sizes, &s.members})
        *number = static_cast<uint64_t>(read.number());
      s.in_order = read.number() != 0;
    }
  }
  for (Party& p : own) {
    p.complete = p.agreed = true;
    for (const int64_t member : p.members) {
      const auto& its = said[static_cast<size_t>(member)];
      const auto found = its.find(p.key);
      const Said s = found == its.end() ? Said{} : found->second;
      const bool same_members = found != its.end() && s.members == hash_of(p.members);
      p.complete = p.complete && same_members;
      p.agreed = p.agreed && same_members && s.count == p.count && s.sizes == p.sizes && s.in_order;
      if (!strict || (same_members && s.count == p.count && s.types == p.types)) continue;
      return fail(Code::bad_input, "replay.comm.differ",
                  fmt::format("{}: rank {} would run {}, but rank {} would run {}{}; 'chakra check' finds the first "
                              "difference, and --no-check skips this check",
                              p.key, rank, p.count, member, s.count,
                              s.count == p.count ? " of other types or with other members" : ""));
    }
  }
  return {};
}

// ---- meetings ------------------------------------------------------------------------------------------------------

std::string meeting_key(const Operation& op, int64_t own) {
  switch (op.kind) {
    case Operation::Kind::send: return fmt::format("m{} {} {} {}", op.index, own, op.partner, op.tag);
    case Operation::Kind::receive: return fmt::format("m{} {} {} {}", op.index, op.partner, own, op.tag);
    default: return fmt::format("c{} {}", op.index, op.group);
  }
}

const std::string& this_machine() {
  static const std::string machine = read_file("/proc/sys/kernel/random/boot_id").value_or("?");
  return machine;
}

std::string bring(const Operation& op, uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return BodyWriter()
      .number(op.recorded_ps)
      .number(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count())
      .text(this_machine())
      .text(op.kind == Operation::Kind::collective
                ? fmt::format("{}{}{}", trace::name(op.type),
                              trace::has_root(op.type) ? fmt::format(" from or to member {}", op.root) : "",
                              bytes > 0 ? fmt::format(" of {} bytes", bytes) : "")
                : fmt::format("a message of {} bytes", bytes))
      .body;
}

Result<Brought> compare_brought(const Met& met, const std::string& described) {
  Brought all;
  int64_t last_ns = INT64_MIN;
  bool one_machine = true;
  std::string what;
  for (size_t i = 0; i < met.brought.size(); ++i) {
    BodyReader read(met.brought[i]);
    const Picoseconds recorded = read.number();
    if (recorded >= 0) all.least_ps = all.least_ps < 0 ? recorded : std::min(all.least_ps, recorded);
    last_ns = std::max(last_ns, read.number());
    one_machine &= read.text() == this_machine();
    const std::string_view does = read.text();
    if (i == 0) what = does;
    else if (does != what)
      return fail(Code::bad_input, "replay.comm.differ",
                  fmt::format("in {}, rank {} runs {}, but rank {} runs {}; 'chakra check' finds the first difference",
                              described, met.ranks[0], what, met.ranks[i], does));
  }
  if (one_machine && !met.brought.empty())
    all.last_came = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(last_ns));
  return all;
}

}  // namespace chakra::replay
