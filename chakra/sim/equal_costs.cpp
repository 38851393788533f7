#include "chakra/sim/equal_costs.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace chakra::sim {
namespace {

using trace::ClassJob;
using trace::Comm;
using trace::CommType;

uint64_t mixed(uint64_t x) {  // the finalizer of SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void add(Digest& digest, double value) { digest.add(std::bit_cast<uint64_t>(value)); }

void add(Digest& digest, const coll::Round& round) {
  for (const uint32_t part : {round.shift, round.shifts, round.apart, round.stride, round.extent, round.lane})
    digest.add(part);
  digest.add(round.bytes);
  digest.add(static_cast<uint64_t>(round.after));
  digest.add(static_cast<uint64_t>(round.latency_ps));
  digest.add(round.list.size());
  for (const coll::Transfer& t : round.list) {
    digest.add(uint64_t{t.from} << 32 | t.to);
    digest.add(t.bytes);
  }
}

void add(Digest& digest, const coll::Plan& plan) {
  digest.add(uint64_t{plan.members} << 32 | plan.lanes);
  digest.add(plan.rounds.size());
  for (const coll::Round& round : plan.rounds) add(digest, round);
  digest.add(plan.behind.size());
  for (const coll::Behind& behind : plan.behind) {
    digest.add(behind.step);
    digest.add(behind.waits.size());
    for (const int32_t round : behind.waits) digest.add(static_cast<uint64_t>(round));
  }
}

/// What answers show of a choice beside its plan.
void add(Digest& digest, const coll::Choice& choice) {
  const auto row_number = [](const coll::AlgorithmRow* row) { return reinterpret_cast<uintptr_t>(row); };
  digest.add(row_number(choice.algorithm));
  digest.add(choice.by_rule);
  digest.add(choice.order.size());
  for (const uint32_t member : choice.order) digest.add(member);
  digest.add(choice.candidates.size());
  for (const coll::Candidate& candidate : choice.candidates) {
    digest.add(row_number(candidate.algorithm));
    digest.add(uint64_t{candidate.near} << 2 | uint64_t{candidate.by_grid} << 1 | uint64_t{candidate.sampled});
    digest.add(static_cast<uint64_t>(candidate.predicted_ps.value_or(-1)));
  }
}

bool add(Digest& digest, const coll::PricedPlan& costs) {
  digest.add(uint64_t{costs.alike} << 1 | uint64_t{costs.sampled});
  digest.add(static_cast<uint64_t>(costs.together_ps));
  add(digest, costs.extra_ps);
  for (const coll::PricedPlan::RoundCost& round : costs.rounds) {
    if (!round.uniform && round.first == coll::PricedPlan::kNotKept) return false;
    digest.add(uint64_t{round.first} << 1 | uint64_t{round.uniform});
    add(digest, round.left_ps);
  }
  for (const std::vector<double>* times : {&costs.arrive_ps, &costs.ends_ps}) {
    digest.add(times->size());
    for (const double ps : *times) add(digest, ps);
  }
  digest.add(costs.fares.size());
  for (const coll::PricedPlan::Fare& fare : costs.fares) {
    add(digest, fare.ps_per_byte);
    add(digest, fare.latency_ps);
  }
  return true;
}

using Call = std::tuple<CommType, uint64_t, uint32_t>;  // type, bytes, root

/// The operations of a group; no value if a member is not in the job, or if members act by their places.
std::optional<std::set<Call>> calls_of(const ClassJob& job, const Ties& ties, const Members& group) {
  std::set<std::pair<uint32_t, uint32_t>> ports;
  for (size_t m = 0; m < group.index.size(); ++m) {
    if (group.index[m] == kNobody || group.port[m] == kNobody) return std::nullopt;
    ports.emplace(job.ranks[group.index[m]].cls, group.port[m]);
  }
  std::set<Call> calls;
  for (const auto& [cls, number] : ports) {
    const Port& port = ties.ports[cls][number];
    if (port.by_place) return std::nullopt;
    for (const Comm* call : port.calls) {
      if (call->type == CommType::unknown) return std::nullopt;
      calls.emplace(call->type, call->bytes, root_place(group, call->root));
    }
  }
  return calls;
}

}  // namespace

void Digest::add(uint64_t value) {
  a_ = mixed(a_ * 0x9e3779b97f4a7c15 + value + 1);
  b_ = mixed((b_ ^ value) * 0xd6e8feb86659fd93 + 0x2545f4914f6cdd1d);
}

bool add_costs(const coll::Choice& choice, const coll::PricedPlan* costs, Digest& digest) {
  add(digest, choice);
  add(digest, choice.plan);
  return !costs || add(digest, *costs);
}

void find_equal_costs(const ClassJob& job, Ties& ties, Prices& prices) {
  // The shapes in which groups have the same operations.
  std::vector<std::optional<std::set<Call>>> calls;
  std::map<std::pair<size_t, std::set<Call>>, std::set<uint32_t>> shapes;
  for (const Members& group : ties.groups) {
    calls.push_back(prices.are_comparable() ? calls_of(job, ties, group) : std::nullopt);
    if (calls.back()) shapes[{group.index.size(), *calls.back()}].insert(group.shape);
  }
  Numbering numbers;
  std::map<std::pair<uint32_t, std::set<Call>>, uint32_t> known;
  for (size_t g = 0; g < ties.groups.size(); ++g) {
    Members& group = ties.groups[g];
    const auto by_shape = [&] { return numbers({group.shape}); };
    if (!calls[g] || shapes.at({group.index.size(), *calls[g]}).size() == 1) {
      group.costs = by_shape();
      continue;
    }
    const auto [of_calls, added] = known.try_emplace({group.shape, *calls[g]}, 0);
    if (added) {
      Digest digest;
      const bool stated = std::all_of(calls[g]->begin(), calls[g]->end(), [&](const Call& call) {
        const auto& [type, bytes, root] = call;
        for (const uint64_t part : {static_cast<uint64_t>(type), bytes, uint64_t{root}}) digest.add(part);
        return prices.add_costs(group.shape, {type, bytes, root, {}}, digest);
      });
      const auto [a, b] = digest.value();
      of_calls->second = stated ? numbers({static_cast<int64_t>(a), static_cast<int64_t>(b)}) : by_shape();
    }
    group.costs = of_calls->second;
  }
}

}  // namespace chakra::sim
