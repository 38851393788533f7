// A job with collectives of every kind, for tests: all pairs of the values of what a collective is made of, or all
// combinations. Run with --verify, it says whether a back end does what each operation promises.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/replay/elements.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::replay::testing {

inline constexpr size_t kCollectiveRanks = 5;
inline constexpr std::array<uint64_t, 6> kCollectiveBytes{0, 7, 1000, 12'288, 99'991, 1 << 20};
inline constexpr std::array<size_t, 5> kGroupSizes{1, 2, 3, 4, 5};
inline constexpr uint64_t kLargeBytes = 64 << 20;

/// One collective: which value of each factor.
enum Factor : size_t { kType, kBytes, kGroup, kRoot, kUneven, kDtype, kFactors };
using Collective = std::array<size_t, kFactors>;

inline std::array<size_t, kFactors> values_of_factors() {
  return {trace::kCommTypeNames.size(), kCollectiveBytes.size(), kGroupSizes.size(), 2, 2, elements().size()};
}

/// Every two values of two factors stand together in one of them. With `full` every combination.
inline std::vector<Collective> every_collective(bool full) {
  const std::array<size_t, kFactors> values = values_of_factors();
  std::vector<Collective> all, taken;
  for (Collective c{};;) {
    all.push_back(c);
    size_t f = 0;
    while (f < kFactors && ++c[f] == values[f]) c[f++] = 0;
    if (f == kFactors) break;
  }
  if (full) return all;
  std::set<std::array<size_t, 4>> missing;
  const auto each_pair = [](const Collective& c, const auto& see) {
    for (size_t a = 0; a < kFactors; ++a)
      for (size_t b = a + 1; b < kFactors; ++b) see(std::array<size_t, 4>{a, b, c[a], c[b]});
  };
  for (const Collective& c : all) each_pair(c, [&](const auto& pair) { missing.insert(pair); });
  Prng random(5);
  while (!missing.empty()) {
    Collective best{};
    size_t most = 0;
    for (int i = 0; i < 200 || most == 0; ++i) {
      const Collective& c = all[random.below(all.size())];
      size_t covers = 0;
      each_pair(c, [&](const auto& pair) { covers += missing.contains(pair); });
      if (covers > most) best = c, most = covers;
    }
    each_pair(best, [&](const auto& pair) { missing.erase(pair); });
    taken.push_back(best);
  }
  return taken;
}

/// All combinations of the factors instead of all pairs, and all types at 64 MiB; takes hours.
inline bool asks_for_all() { return std::getenv("CHAKRA_TEST_FULL") != nullptr; }

class EveryCollective {
 public:
  /// `large`: one of each type besides, with 64 MiB. `whole`: all bytes are whole elements; else some are not.
  explicit EveryCollective(const std::vector<Collective>& collectives, bool large, bool whole = false)
      : job_(kCollectiveRanks), whole_(whole) {
    for (const size_t size : kGroupSizes) {  // not in the order of their ranks, and not from 0 on
      std::vector<int64_t> members;
      for (size_t i = 0; i < size; ++i) members.push_back(static_cast<int64_t>((2 * i + size) % kCollectiveRanks));
      groups_.emplace_back("g" + std::to_string(size), members);
    }
    last_.resize(kCollectiveRanks);
    for (const Collective& c : collectives) add(c, kCollectiveBytes[c[kBytes]]);
    for (size_t type = 0; large && type < trace::kCommTypeNames.size(); ++type)
      add({type, 0, 1 + type % 2, type % 2, 0, type % 4}, kLargeBytes);
  }
  trace::TraceSet finish() { return job_.finish(); }
  match::GroupTable groups() const { return {groups_.begin(), groups_.end()}; }

 private:
  void add(const Collective& c, uint64_t bytes) {
    const auto type = static_cast<trace::CommType>(c[kType]);
    const auto& [group, members] = groups_[c[kGroup]];
    const uint64_t n = members.size();
    const std::string_view names = elements()[c[kDtype]].names;
    if (type == trace::CommType::all_gather || type == trace::CommType::gather) bytes /= n;  // of each
    if (whole_ || (bytes > 1000 && c[kRoot] == 0)) bytes -= bytes % elements()[c[kDtype]].bytes;
    for (size_t place = 0; place < n; ++place) {
      const auto rank = static_cast<size_t>(members[place]);
      // Some wait for the one before, others are under way at the same time.
      std::vector<trace::NodeId> deps;
      if (!last_[rank].empty() && (count_ % 3 == 0 || bytes > 1 << 20)) deps = {last_[rank].back()};
      const trace::NodeId node = job_.collective(rank, type, bytes, deps, group.c_str());
      last_[rank].push_back(node);
      trace::Comm& comm = job_.builders[rank].comm(node);
      comm.dtype = job_.builders[rank].trace.strings.intern(names.substr(0, names.find(' ')));
      if (trace::has_root(type)) comm.root = members[c[kRoot] == 0 ? 0 : n - 1];
      if (type == trace::CommType::all_to_all && c[kUneven] == 1) split(job_.builders[rank], node, n, place, bytes);
    }
    ++count_;
  }

  /// From member i to member j go (i + 2 j) % 4 parts, which is nothing for some of them.
  static void split(trace::Builder& builder, trace::NodeId node, uint64_t n, size_t place, uint64_t bytes) {
    const uint64_t unit = std::max<uint64_t>(1, bytes / (4 * n));
    std::string in, out;
    uint64_t sent = 0, got = 0;
    for (size_t other = 0; other < n; ++other) {
      const uint64_t to = bytes == 0 ? 0 : (place + 2 * other) % 4 * unit;
      const uint64_t from = bytes == 0 ? 0 : (other + 2 * place) % 4 * unit;
      in += (other ? ", " : "[") + std::to_string(to);
      out += (other ? ", " : "[") + std::to_string(from);
      sent += to;
      got += from;
    }
    trace::Comm& comm = builder.comm(node);
    comm.bytes = sent;
    comm.out_bytes = got;
    comm.in_split = builder.trace.texts.add(in + "]");
    comm.out_split = builder.trace.texts.add(out + "]");
  }

  trace::testing::Job job_;
  bool whole_;
  std::vector<std::pair<std::string, std::vector<int64_t>>> groups_;
  std::vector<std::vector<trace::NodeId>> last_;
  size_t count_ = 0;
};

}  // namespace chakra::replay::testing
