// Sequences of kernels that operators launch again and again: candidates for fusion or a graph.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/host_tree.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::kNoNode;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

constexpr size_t kShortest = 3, kLongest = 32;

struct Sequence {
  std::string_view op;
  std::vector<StringId> kernels;
  bool operator<(const Sequence& o) const { return std::tie(op, kernels) < std::tie(o.op, o.kernels); }
};
struct SequenceSums {
  int64_t count = 0;
  Picoseconds device = 0, host = 0;
};

std::map<Sequence, SequenceSums> sequences_of(const Trace& t, const Schedule& s, const DeviceWork& work) {
  const LaunchesByThread launches(t, work);
  const std::vector<Picoseconds> ends = trace::inclusive_ends(t);
  std::map<Sequence, SequenceSums> sequences;
  for (const NodeId n : t.nodes()) {
    if (!work.is_operator[n] || t.lane[n] == trace::kNoLane || is_step(t.name_of(n))) continue;
    if (const NodeId caller = caller_of(t, work, n); caller != kNoNode && t.name[caller] == t.name[n]) continue;
    const auto launched = launches.between(t.lane[n], s.start[n], std::max(ends[n], s.end[n]));
    if (launched.size() < kShortest || launched.size() > kLongest) continue;
    Sequence sequence{t.name_of(n), {}};
    Picoseconds device = 0;
    for (const uint32_t i : launched) {
      sequence.kernels.push_back(t.name[work.operations[i].node]);
      device = add_saturated(device, work.operations[i].time());
    }
    SequenceSums& sums = sequences[std::move(sequence)];
    ++sums.count;
    sums.device = add_saturated(sums.device, device);
    sums.host = add_saturated(sums.host, ends[n] - s.start[n]);
  }
  return sequences;
}

}  // namespace

Result<std::vector<NamedTable>> sequences(const Job& job, Findings&) {
  Table table{"Sequences of 3 to 32 device operations that an operator launched more than once",
              {{"rank", Kind::id, "rank", "the rank"},
               {"operator", Kind::text, "operator", "name of the operator"},
               {"count", Kind::count, "count", "how often it launched the sequence"},
               {"operations", Kind::count, "operations", "operations of the sequence"},
               {"device", Kind::time_ps, "device_ps", "sum of the device times"},
               {"host", Kind::time_ps, "host_ps", "sum of the operator's times"},
               {"sequence", Kind::text, "sequence", "names of the operations, in order"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    if (!job.schedules[r].measured) continue;
    const DeviceWork& work = device_work(job, r);
    if (work.operations.empty()) continue;
    const std::map<Sequence, SequenceSums> found = sequences_of(t, job.schedules[r], work);
    std::vector<decltype(found)::const_iterator> order;
    for (auto at = found.begin(); at != found.end(); ++at)
      if (at->second.count > 1) order.push_back(at);
    std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a->second.device > b->second.device; });
    for (const auto& at : order) {
      std::string text;
      for (const StringId kernel : at->first.kernels)
        text += fmt::format("{}{}", text.empty() ? "" : " > ", t.strings[kernel]);
      table.rows.push_back({t.rank, std::string(at->first.op), at->second.count,
                            static_cast<int64_t>(at->first.kernels.size()), at->second.device, at->second.host,
                            std::move(text)});
    }
  }
  return std::vector<NamedTable>{{"sequences", std::move(table)}};
}

}  // namespace chakra::analyze
