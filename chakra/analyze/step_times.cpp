// The steps of each rank: their length, and the time before the first computation, as in a late data loader.
#include <algorithm>
#include <utility>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/device_work.h"
#include "chakra/analyze/rows.h"
#include "chakra/analyze/spans.h"
#include "chakra/base/quantile.h"
#include "chakra/trace/storage.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

constexpr std::string_view kLoader = "enumerate(DataLoader)";  ///< PyTorch's operator for the next batch
constexpr std::string_view kLoads = "dataloader";              ///< attribute io_kind of loads from storage
constexpr Picoseconds kShortGaps = 33;                         ///< gaps below 3 % of the step do not count

class RankSteps {
 public:
  RankSteps(const Trace& t, const Schedule& s)
      : t_(t), s_(s), storage_(t), steps_(find_steps(t)), inclusive_(trace::inclusive_ends(t)) {
    spans_ = step_spans(
        steps_, [&](NodeId n) { return s.start[n]; }, [&](NodeId n) { return s.end[n]; });
    for (const NodeId n : t.nodes()) device_ |= t.has_start(n) && on_device(n);
  }

  void add_to(Table& table) {
    find_loaders();
    find_first();
    find_usual_gaps();
    std::vector<Span> busy;
    std::vector<std::vector<Span>> waits(spans_.size());
    std::vector<char> named(spans_.size(), 0);
    for (const NodeId n : t_.nodes()) {
      if (!t_.has_start(n)) continue;
      const bool loads = is_loader(n);
      if (!loads && (t_.on_device(n) || trace::is_comm(t_.type[whole_communication(t_, n)])))
        busy.emplace_back(s_.start[n], s_.end[n]);
      const int32_t of = loads && spans_.size() == 1 ? 0 : steps_.of[n];  // a load has no launch that names its step
      if (of < 0 || (t_.on_device(n) && !loads)) continue;
      const auto step = static_cast<size_t>(of);
      if (loads) {
        waits[step].emplace_back(s_.start[n], inclusive_[n]);
        named[step] = 1;
        // The only step of a recording without steps begins with the first launch, which waits for the load.
        if (spans_.size() == 1) spans_[0].begin = std::min(spans_[0].begin, s_.start[n]);
      } else if (!names_loader_ && is_long_gap(n, step) && s_.start[n] < first_[step]) {
        waits[step].emplace_back(s_.start[n], std::min(s_.end[n], first_[step]));
      }
    }
    busy = merged(std::move(busy));
    for (size_t i = 0; i < spans_.size(); ++i)
      table.rows.push_back({t_.rank, steps_.names[i], spans_[i].length(), outside(merged(std::move(waits[i])), busy),
                            std::string(named[i] ? "yes" : "no")});
  }

 private:
  bool on_device(NodeId n) const { return t_.on_device(n) && bound_of(t_, n) == Bound::compute; }
  bool is_loader(NodeId n) const {
    if (t_.part_of[n] != trace::kNoNode) return false;
    return t_.name_of(n).starts_with(kLoader) || (trace::is_memory(t_.type[n]) && storage_.of(n).kind == kLoads);
  }
  /// A gap of another thread may be its wait for work: such a gap has no role.
  bool is_gap(NodeId n) const { return t_.name_of(n) == trace::kHostGap && steps_.roles[n] != 0; }
  bool is_long_gap(NodeId n, size_t step) const {
    return is_gap(n) && t_.dur_ps[n] >= spans_[step].length() / kShortGaps && t_.dur_ps[n] / 2 >= usual_gap_[step];
  }
  /// The median gap after the first computation: if the gaps before are not longer, the host is late everywhere.
  void find_usual_gaps() {
    std::vector<std::vector<Picoseconds>> gaps(spans_.size());
    for (const NodeId n : t_.nodes())
      if (steps_.of[n] >= 0 && t_.has_start(n) && is_gap(n))
        if (const auto step = static_cast<size_t>(steps_.of[n]); s_.start[n] >= first_[step])
          gaps[step].push_back(t_.dur_ps[n]);
    for (std::vector<Picoseconds>& of : gaps) usual_gap_.push_back(of.empty() ? 0 : nth_of(of, (of.size() - 1) / 2));
  }

  void find_loaders() {
    loaders_.resize(t_.lanes.size());
    for (const NodeId n : t_.nodes())
      if (t_.has_start(n) && is_loader(n)) {
        names_loader_ = true;
        if (t_.lane[n] != trace::kNoLane) loaders_[t_.lane[n]].emplace_back(s_.start[n], inclusive_[n]);
      }
    for (std::vector<Span>& lane : loaders_) lane = merged(std::move(lane));
  }
  bool in_loader(NodeId n) const {
    if (t_.lane[n] == trace::kNoLane) return false;
    const std::vector<Span>& lane = loaders_[t_.lane[n]];
    const auto after = std::upper_bound(lane.begin(), lane.end(), s_.start[n],
                                        [](Picoseconds t, const Span& span) { return t < span.first; });
    return after != lane.begin() && s_.start[n] < std::prev(after)->second;
  }

  /// The first computation of each step: on the device, or in a rank without a device the first operator without
  /// callees that is not part of a data loader.
  void find_first() {
    first_.assign(spans_.size(), INT64_MAX);
    std::vector<char> calls(t_.size(), 0);
    for (const NodeId n : t_.nodes())
      for (uint32_t e = t_.ctrl.begin[n]; e < t_.ctrl.begin[n + 1]; ++e) calls[t_.ctrl.node[e]] = 1;
    for (const NodeId n : t_.nodes()) {
      if (steps_.of[n] < 0 || !t_.has_start(n)) continue;
      const bool computes = device_ ? on_device(n)
                                    : bound_of(t_, n) == Bound::host && t_.type[n] != trace::NodeType::metadata &&
                                          t_.part_of[n] == trace::kNoNode && !calls[n] && !is_step(t_.name_of(n)) &&
                                          !in_loader(n);
      Picoseconds& first = first_[static_cast<size_t>(steps_.of[n])];
      if (computes) first = std::min(first, s_.start[n]);
    }
    for (Picoseconds& first : first_)
      if (first == INT64_MAX) first = 0;  // a step that does not compute
  }

  const Trace& t_;
  const Schedule& s_;
  trace::StorageReader storage_;
  Steps steps_;
  std::vector<Picoseconds> inclusive_;
  std::vector<StepSpan> spans_;
  bool device_ = false, names_loader_ = false;  ///< of a recorded loader the time is known: gaps are something else
  std::vector<std::vector<Span>> loaders_;      ///< by lane
  std::vector<Picoseconds> first_, usual_gap_;  ///< by step
};

}  // namespace

Result<std::vector<NamedTable>> step_times(const Job& job, Findings&) {
  Table table{"Steps",
              {{"rank", Kind::id, "rank", "the rank"},
               {"step", Kind::text, "step", "name of the step"},
               {"length", Kind::time_ps, "length_ps", "from its first start to its last end"},
               {"before the first", Kind::time_ps, "before_first_ps",
                "idle time in recorded data loaders, or without any in long host gaps before the first computation"},
               {"loader", Kind::text, "names_loader", "yes if operators of a data loader are recorded"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r)
    if (job.schedules[r].measured) RankSteps(job.traces.ranks[r], job.schedules[r]).add_to(table);
  return std::vector<NamedTable>{{"step_times", std::move(table)}};
}

}  // namespace chakra::analyze
