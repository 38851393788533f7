// Rule W4b: the CPU spins on memory that a kernel writes, and no call records it. Such a wait ends while the kernel
// still runs, or just after. One such coincidence proves nothing; that a kernel's launches are followed by them nearly
// always does.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

constexpr int64_t kSpinNs = 300'000;       ///< shorter pieces of host time are not looked at
constexpr int64_t kBeforeEndNs = 100'000;  ///< of a kernel that has written and goes on
constexpr int64_t kAfterEndNs = 10'000;
constexpr int64_t kFewestSpins = 2;

struct Candidate {
  uint32_t item, op;
};

/// The kernel that a thread launched last before `time`; kNone: none, or something else.
uint32_t last_kernel(const Linking& l, uint32_t thread, int64_t time) {
  const std::vector<uint32_t>& launches = l.threads.launches[thread];
  const auto after = std::lower_bound(launches.begin(), launches.end(), time,
                                      [&](uint32_t call, int64_t t) { return l.profile().calls[call].start_ns < t; });
  if (after == launches.begin()) return kNone;
  const CallRole& role = l.waits.roles[*std::prev(after)];
  if (role.launched() != 1 || role.graph) return kNone;
  const uint32_t op = l.device.op_order[role.first_op];
  return l.profile().device_ops[op].kind == DeviceOp::Kind::kernel ? op : kNone;
}

std::vector<Candidate> find_candidates(const Linking& l) {
  std::vector<Candidate> found;
  for (uint32_t thread = 0; thread < l.graph.chains.size(); ++thread)
    for (const uint32_t id : l.graph.chains[thread]) {
      const Item& it = l.graph.items[id];
      const bool piece = it.kind == Item::Kind::op || it.kind == Item::Kind::op_rest || it.kind == Item::Kind::gap;
      if (!piece || it.dur < kSpinNs || l.communicates(it)) continue;
      const uint32_t op = last_kernel(l, thread, it.start);
      if (op == kNone) continue;
      const DeviceOp& kernel = l.profile().device_ops[op];
      if (it.end() > kernel.start_ns && it.end() >= kernel.end_ns() - kBeforeEndNs &&
          it.end() <= kernel.end_ns() + kAfterEndNs)
        found.push_back({id, op});
    }
  return found;
}

/// By name: how many kernels whose launch is recorded, and how many of them seem to have been waited for.
struct Share {
  int64_t kernels = 0, spins = 0;
  bool enough() const { return spins >= kFewestSpins && spins * 5 >= kernels * 4; }  // 80 %
};

std::map<StringId, Share> count(const Linking& l, const std::vector<Candidate>& candidates) {
  std::map<StringId, Share> shares;
  for (const Candidate& candidate : candidates) ++shares[l.profile().device_ops[candidate.op].name].spins;
  for (uint32_t op = 0; op < l.profile().device_ops.size(); ++op)
    if (l.device.call_of_op[op] != kNone)
      if (const auto share = shares.find(l.profile().device_ops[op].name); share != shares.end())
        ++share->second.kernels;
  return shares;
}

/// Cuts a piece of host time into the wait, which takes none, and what the thread did after it. Returns the latter.
uint32_t split(Linking& l, const Candidate& candidate) {
  const Item waits = l.graph.items[candidate.item];
  Item rest = waits;
  rest.kind = Item::Kind::sync_remainder;
  rest.start = std::min(waits.end(), l.profile().device_ops[candidate.op].end_ns());
  rest.dur = waits.end() - rest.start;
  rest.of = waits.continues() ? waits.of : candidate.item;
  l.graph.items[candidate.item].dur = 0;
  const auto rest_id = static_cast<uint32_t>(l.graph.items.size());
  l.graph.items.push_back(rest);
  l.graph.spins.push_back({rest_id, candidate.op, rest.start});
  return rest_id;
}

void report_spins(Linking& l, const std::map<StringId, Share>& shares) {
  l.report.host_spins = static_cast<int64_t>(l.graph.spins.size());
  if (l.graph.spins.empty()) return;
  std::string names;
  for (const auto& [name, share] : shares)
    if (share.enough())
      names += fmt::format("{}{} of {} {}", names.empty() ? "" : ", ", share.spins, share.kernels, quote(l.text(name)));
  l.find("pytorch.sync.spin", Severity::note,
         fmt::format("{} times a thread continued just before the end of the kernel that it launched last, without a "
                     "recorded synchronisation; treated as waits for the kernel's output: {}",
                     show_count(l.report.host_spins), names));
}

}  // namespace

void find_host_spins(Linking& l) {
  const std::vector<Candidate> candidates = find_candidates(l);
  if (candidates.empty()) return;
  const std::map<StringId, Share> shares = count(l, candidates);
  auto next = candidates.begin();  // in the order of the chains
  for (std::vector<uint32_t>& chain : l.graph.chains) {
    std::vector<uint32_t> whole;
    whole.reserve(chain.size());
    for (const uint32_t id : chain) {
      whole.push_back(id);
      if (next == candidates.end() || next->item != id) continue;
      if (shares.at(l.profile().device_ops[next->op].name).enough()) whole.push_back(split(l, *next));
      ++next;
    }
    chain = std::move(whole);
  }
  report_spins(l, shares);
}

}  // namespace chakra::link
