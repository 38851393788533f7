#include "chakra/edit/layers.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "chakra/edit/runs.h"

namespace chakra::edit {

// `edit.layers.few` (1): the layers of a trace are too few for the grid
// `edit.layers.order` (1): without the removed layers, nodes wait for each other in a cycle
// `edit.layers.ranks` (1): two ranks would keep other communications

namespace {

using trace::Comm;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kLeastKept = 2;  ///< parts of a run: the first and the last
constexpr uint32_t kNone = UINT32_MAX;

/// Attributes that number operations, or say what was launched when.
constexpr auto kNumbers = std::to_array<std::string_view>({"rf_id", "seq_id", "correlation", "fw_parent"});
/// Attributes in nanoseconds or microseconds.
constexpr auto kTimes = std::to_array<std::string_view>({"inside_dur_ns", "call_dur_ns", "call_late_ns", "duration_micros"});

template <class List>
bool is_in(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Calls of the runtime and of communication libraries come at other places in each layer.
bool is_call(std::string_view name) {
  for (const std::string_view start : {"cuda", "hip", "cuLaunch", "nccl", "rccl", "gloo", "c10d::", "record_param_comms",
                                       "[chakra|"})
    if (name.starts_with(start)) return true;
  return false;
}

// ---- where a node belongs --------------------------------------------------------------------------------------------

/// The place of a node in a run.
struct Place {
  uint32_t run = kNone, part = 0;
  uint32_t at = 0;          ///< the operation of the part: itself, or the one that the node belongs to
  bool is_operation = false;
  explicit operator bool() const { return run != kNone; }
};

class Layers {
 public:
  explicit Layers(const Trace& t) : t_(t), places_(t.size()) {
    set_sequences();
    found_ = find_layers(kinds_of(sequences_));
    place_operations(0);
    if (has_threads_) {
      place_scattered();
      place_on_threads();
    }
    place_others();
  }

  size_t count() const { return found_.layers; }
  std::span<const Run> runs() const { return found_.runs; }
  const Place& place(NodeId n) const { return places_[n]; }
  Place& place(NodeId n) { return places_[n]; }
  NodeId operation(uint32_t run, size_t part, size_t at) const {
    const Run& of = found_.runs[run];
    return sequences_[of.lane][of.begin + part * of.period + at];
  }
  /// A number that is equal for equal operations.
  uint32_t kind_of(NodeId n) {
    const Comm* const comm = t_.comm(n);
    const StringId shapes = t_.io_row[n] == trace::kNoRow ? 0 : trace::Io(t_.ios[t_.io_row[n]]).inputs.shapes;
    const auto key = std::tuple(stem_of(t_.name[n]), static_cast<uint32_t>(t_.type[n]),
                                comm ? static_cast<uint32_t>(comm->type) : 0, comm ? comm->group : shapes);
    return kinds_.emplace(key, static_cast<uint32_t>(kinds_.size())).first->second;
  }

 private:
  bool is_on_thread(NodeId n) const {
    return t_.lane[n] != trace::kNoLane && t_.lanes[t_.lane[n]].kind == trace::Lane::Kind::thread;
  }
  bool is_operation(NodeId n) const {
    if (t_.type[n] == NodeType::metadata || t_.part_of[n] != trace::kNoNode) return false;
    if (!has_threads_) return !t_.name_of(n).starts_with("[chakra|");
    return is_on_thread(n) && !trace::is_comm(t_.type[n]) && !is_call(t_.name_of(n));
  }
  void set_sequences() {
    has_threads_ = std::any_of(t_.nodes().begin(), t_.nodes().end(), [&](NodeId n) {
      return is_on_thread(n) && t_.type[n] == NodeType::comp && t_.part_of[n] == trace::kNoNode;
    });
    sequences_.resize(has_threads_ ? t_.lanes.size() : 1);
    for (const NodeId n : t_.nodes())
      if (is_operation(n)) sequences_[has_threads_ ? t_.lane[n] : 0].push_back(n);
  }

  /// The text without digits: "layer3.norm" and "layer12.norm" are equal.
  uint32_t stem_of(StringId name) {
    if (stems_.size() <= name) stems_.resize(t_.strings.size(), kNone);
    uint32_t& stem = stems_[name];
    if (stem != kNone) return stem;
    std::string text(t_.strings[name]);
    std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    return stem = stem_numbers_.emplace(std::move(text), static_cast<uint32_t>(stem_numbers_.size())).first->second;
  }

  std::vector<std::vector<uint32_t>> kinds_of(std::span<const std::vector<NodeId>> sequences) {
    std::vector<std::vector<uint32_t>> kinds;
    for (const std::vector<NodeId>& sequence : sequences) {
      std::vector<uint32_t>& of = kinds.emplace_back();
      for (const NodeId n : sequence) of.push_back(kind_of(n));
    }
    return kinds;
  }

  /// Operations outside of layers that come once for each tensor of a layer, with others between them: copies of
  /// gradients from buckets. Each operation has a sequence of its own.
  void place_scattered() {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<NodeId>> by_stem;
    for (const NodeId n : t_.nodes())
      if (is_operation(n) && !places_[n]) by_stem[{t_.lane[n], stem_of(t_.name[n])}].push_back(n);
    std::vector<std::vector<NodeId>> sequences;
    for (auto& [stem, nodes] : by_stem) sequences.push_back(std::move(nodes));
    const size_t first = found_.runs.size();
    for (Run run : find_runs(kinds_of(sequences), found_.layers)) {
      run.lane += sequences_.size();
      found_.runs.push_back(run);
    }
    sequences_.insert(sequences_.end(), std::make_move_iterator(sequences.begin()),
                      std::make_move_iterator(sequences.end()));
    place_operations(static_cast<uint32_t>(first));
  }

  void place_operations(uint32_t first) {
    for (uint32_t r = first; r < found_.runs.size(); ++r) {
      const Run& run = found_.runs[r];
      for (size_t i = 0; i < run.period * run.count; ++i)
        places_[sequences_[run.lane][run.begin + i]] = {r, static_cast<uint32_t>(i / run.period),
                                                        static_cast<uint32_t>(i % run.period), true};
    }
  }
  /// The operation that a node belongs to, if it says so.
  std::optional<Place> owner(NodeId n) const {
    if (t_.part_of[n] != trace::kNoNode) return beside(t_.part_of[n]);
    for (size_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
      const EdgeKind kind = t_.deps.kind.empty() ? EdgeKind::given : trace::kind_of(t_.deps.kind[e]);
      const bool waited = t_.name_of(t_.deps.node[e]) == trace::kHostGap;  // a thread that waits for calls of others
      if (kind == EdgeKind::launch || kind == EdgeKind::comm || waited) return beside(t_.deps.node[e]);
    }
    return std::nullopt;
  }
  Place beside(NodeId n) const {
    Place place = places_[n];
    place.is_operation = false;
    return place;
  }
  /// Gaps, calls and pieces on a thread belong to the operation before them.
  void place_on_threads() {
    std::vector<NodeId> last(t_.lanes.size(), trace::kNoNode);
    for (const NodeId n : t_.nodes()) {
      if (!is_on_thread(n)) continue;
      if (is_operation(n)) last[t_.lane[n]] = n;
      else if (t_.part_of[n] != trace::kNoNode) places_[n] = beside(t_.part_of[n]);
      else if (last[t_.lane[n]] != trace::kNoNode && t_.type[n] != NodeType::metadata)
        places_[n] = beside(last[t_.lane[n]]);
    }
  }
  void place_others() {
    NodeId last = trace::kNoNode;
    for (const NodeId n : t_.nodes()) {
      if (is_operation(n)) {
        last = n;
        continue;
      }
      if (places_[n] || t_.type[n] == NodeType::metadata) continue;
      if (const auto place = owner(n)) places_[n] = *place;
      else if (!has_threads_ && last != trace::kNoNode) places_[n] = beside(last);
    }
  }

  const Trace& t_;
  bool has_threads_ = false;
  std::vector<std::vector<NodeId>> sequences_;
  LayerRuns found_;
  std::vector<Place> places_;
  std::vector<uint32_t> stems_;
  absl::flat_hash_map<std::string, uint32_t> stem_numbers_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> kinds_;
};

// ---- what is removed -------------------------------------------------------------------------------------------------

/// The parts of a run that are removed: neither the first nor the last.
struct Cut {
  uint32_t begin = 0, end = 0;  ///< empty: nothing
  bool holds(const Place& place) const { return begin <= place.part && place.part < end; }
};

/// The times of a run on a lane: those of removed parts shrink to nothing, the others stretch over the whole.
struct Stretch {
  Picoseconds begin = std::numeric_limits<Picoseconds>::max(), end = std::numeric_limits<Picoseconds>::min();
  Picoseconds cut_begin = begin, cut_end = begin;

  double factor() const {
    const double whole = static_cast<double>(end - begin), cut = static_cast<double>(cut_end - cut_begin);
    return has_cut() && whole > cut ? whole / (whole - cut) : 1;
  }
  bool has_cut() const { return cut_begin < cut_end && cut_end <= end; }
  Picoseconds operator()(Picoseconds time) const {
    if (!has_cut()) return time;
    const Picoseconds kept = time <= cut_begin ? time : std::max(cut_begin, time - (cut_end - cut_begin));
    return begin + std::llround(static_cast<double>(kept - begin) * factor());
  }
};

class Remover {
 public:
  Remover(const Trace& t, const LayerHiding& hiding, HiddenLayers& hidden)
      : t_(t), hiding_(hiding), hidden_(hidden), layers_(t), removed_(t.size(), 0), grows_(t.size(), 0) {}

  Result<Trace> run() {
    if (layers_.count() == 0) {
      hidden_.grows.assign(t_.size(), 0);
      note_communications();
      return t_;
    }
    CHAKRA_TRY(set_cuts());
    set_removed();
    set_stretches();
    Trace out = made();
    CHAKRA_ASSIGN(const std::vector<NodeId> order, trace::running_order(out, "edit.layers.order"));
    keep_starts_in_order(out, order);
    note_communications();
    set_sequences(out);
    trace::assert_whole(out);
    return out;
  }

 private:
  /// The layers of a run that the copy shows: those of a model with the least number of layers of the cell.
  size_t shown_layers() const {
    const auto in_run = static_cast<double>(layers_.count());
    const auto of_stage = static_cast<double>(hiding_.layers) / static_cast<double>(hiding_.stages);
    const double runs = std::max(1.0, std::round(of_stage / in_run));  // virtual stages
    return static_cast<size_t>(std::max(1.0, std::floor(hiding_.cell.low / static_cast<double>(hiding_.stages) / runs)));
  }

  Result<void> set_cuts() {
    const size_t before = layers_.count(), after = std::min(before, shown_layers());
    hidden_.before = static_cast<int64_t>(before);
    hidden_.after = static_cast<int64_t>(after);
    const size_t fewer = before - after;
    for (uint32_t r = 0; r < layers_.runs().size(); ++r) {
      const Run& run = layers_.runs()[r];
      if (fewer > 0 && run.count < fewer + kLeastKept)
        return fail(Code::bad_input, "edit.layers.few",
                    fmt::format("rank {} has {} equal layers in a row, and the copy would keep {}; at least {} must stay",
                                t_.rank, run.count, run.count - std::min(run.count, fewer), kLeastKept),
                    {t_.file});
      const size_t begin = is_backward(r) ? run.count - 1 - fewer : 1;
      cuts_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + fewer)});
    }
    return {};
  }
  /// Whether the parts of a run depend on those of earlier runs in reverse order.
  bool is_backward(uint32_t r) {
    double sum_xy = 0, sum_x = 0, sum_y = 0, count = 0;
    const Run& run = layers_.runs()[r];
    for (uint32_t part = 0; part < run.count; ++part)
      for (uint32_t at = 0; at < run.period; ++at)
        for (const NodeId on : t_.deps.of(layers_.operation(r, part, at))) {
          const Place& place = layers_.place(on);
          if (!place || place.run >= r) continue;
          const bool mirrored = cuts_[place.run].begin != 1;
          const double x = part, y = mirrored ? -static_cast<double>(place.part) : place.part;
          sum_xy += x * y, sum_x += x, sum_y += y, ++count;
        }
    return count > 0 && sum_xy - sum_x * sum_y / count < 0;
  }

  void set_removed() {
    const std::vector<uint8_t> regular = runs_with_equal_communications();
    for (const NodeId n : t_.nodes()) {
      Place& place = layers_.place(n);
      if (!place) continue;
      if (trace::is_comm(t_.type[n]) && !regular[place.run]) {
        place = {};
        continue;
      }
      removed_[n] = cuts_[place.run].holds(place);
      hidden_.nodes += removed_[n];
      if (removed_[n] && t_.comm(n)) hidden_.bytes += static_cast<double>(t_.comm(n)->bytes);
      grows_[n] = trace::is_comm(t_.type[n]);
    }
    for (const NodeId n : t_.nodes())
      if (!removed_[n] && layers_.place(n)) add_counterpart(n);
  }
  /// Whether all removed parts of a run have the same communications.
  std::vector<uint8_t> runs_with_equal_communications() {
    using Shown = std::tuple<uint32_t, uint64_t, int64_t, int64_t>;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<Shown>> of_part;
    for (const NodeId n : t_.nodes()) {
      const Place& place = layers_.place(n);
      const Comm* const comm = t_.comm(n);
      if (place && comm && cuts_[place.run].holds(place))
        of_part[{place.run, place.part}].emplace_back(layers_.kind_of(n), comm->bytes, comm->src, comm->dst);
    }
    std::vector<uint8_t> regular(cuts_.size(), 1);
    if (hiding_.removes_uneven) return regular;
    for (uint32_t r = 0; r < cuts_.size(); ++r)
      for (uint32_t part = cuts_[r].begin; part < cuts_[r].end; ++part)
        regular[r] &= of_part[{r, part}] == of_part[{r, cuts_[r].begin}];
    return regular;
  }

  void set_stretches() {
    for (const NodeId n : t_.nodes()) {
      const Place& place = layers_.place(n);
      if (!place || !t_.has_start(n)) continue;
      Stretch& s = stretches_[{place.run, t_.lane[n]}];
      const Picoseconds start = t_.start_ps[n];
      s.begin = std::min(s.begin, start);
      s.end = std::max(s.end, add_saturated(start, t_.dur_ps[n]));
      const Cut& cut = cuts_[place.run];
      if (cut.holds(place)) s.cut_begin = std::min(s.cut_begin, start);
      else if (place.part >= cut.end) s.cut_end = std::min(s.cut_end, start);
    }
  }
  /// The factor of durations of a node.
  double factor(NodeId n) const {
    const Place& place = layers_.place(n);
    if (!place) return 1;
    if (t_.has_start(n)) {
      const double by = stretches_.at({place.run, t_.lane[n]}).factor();
      if (by > 1) return by;
    }
    const Cut& cut = cuts_[place.run];
    const auto count = static_cast<double>(layers_.runs()[place.run].count);
    return count / (count - (cut.end - cut.begin));
  }

  // ---- counterparts ----

  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;  ///< run, part, operation, kind
  void add_counterpart(NodeId n) {
    const Place& place = layers_.place(n);
    const Cut& cut = cuts_[place.run];
    if (cut.begin == cut.end || place.is_operation || (place.part + 1 != cut.begin && place.part != cut.end)) return;
    counterparts_[{place.run, place.part, place.at, layers_.kind_of(n)}].push_back(n);
  }
  /// The node in `part` that does what `n` does. `nth`: of the nodes of its kind that belong to its operation.
  NodeId counterpart(NodeId n, uint32_t part) {
    const Place& place = layers_.place(n);
    if (!place.is_operation) {
      const auto found = counterparts_.find({place.run, part, place.at, layers_.kind_of(n)});
      if (found != counterparts_.end()) return found->second.front();
    }
    return layers_.operation(place.run, part, place.at);
  }
  NodeId before(NodeId n) { return removed_[n] ? counterpart(n, cuts_[layers_.place(n).run].begin - 1) : n; }
  NodeId after(NodeId n) { return removed_[n] ? counterpart(n, cuts_[layers_.place(n).run].end) : n; }

  // ---- the result ----

  Trace made() {
    trace::Builder builder;
    Trace& out = builder.trace;
    out.file = t_.file, out.rank = t_.rank, out.says_rank = t_.says_rank, out.base_ns = t_.base_ns;
    out.strings = t_.strings, out.texts = t_.texts;
    out.lanes = t_.lanes, out.groups = t_.groups, out.metadata = t_.metadata;
    rows_.assign(t_.size(), trace::kNoNode);
    uint64_t places = 0;
    for (const NodeId n : t_.nodes()) {
      if (removed_[n]) continue;
      rows_[n] = builder.add(++places, t_.name[n], t_.type[n]);
      add(n, builder);
    }
    for (const NodeId n : t_.nodes())
      if (!removed_[n] && t_.part_of[n] != trace::kNoNode) out.part_of.edit(rows_[n]) = rows_[after(t_.part_of[n])];
    add_edges(builder);
    for (const trace::Defect& defect : t_.defects)
      if (!removed_[defect.node]) out.defects.push_back({defect.kind, rows_[defect.node], defect.id});
    return std::move(builder).finish();
  }
  void add(NodeId n, trace::Builder& builder);
  void add_edges(trace::Builder& builder);
  void note_communications();
  /// Lanes stretch by different times, so that a start can move before that of a node waited for.
  static void keep_starts_in_order(Trace& out, std::span<const NodeId> order);
  /// Sequence numbers of each group count up again.
  void set_sequences(Trace& out) const;

  const Trace& t_;
  const LayerHiding& hiding_;
  HiddenLayers& hidden_;
  Layers layers_;
  std::vector<Cut> cuts_;
  std::vector<uint8_t> removed_, grows_;
  std::map<std::pair<uint32_t, uint32_t>, Stretch> stretches_;  ///< by run and lane
  absl::flat_hash_map<Key, std::vector<NodeId>> counterparts_;
  std::vector<NodeId> rows_;  ///< of the result
};

void Remover::add(NodeId n, trace::Builder& builder) {
  Trace& out = builder.trace;
  const NodeId row = rows_[n];
  const double by = factor(n);
  const auto longer = [&](auto value) {
    return by == 1 ? value : static_cast<decltype(value)>(std::llround(static_cast<double>(value) * by));
  };
  out.flags.edit(row) = t_.flags[n];
  out.lane.edit(row) = t_.lane[n];
  out.dur_ps.edit(row) = longer(t_.dur_ps[n]);
  const Place& place = layers_.place(n);
  out.start_ps.edit(row) =
      place && t_.has_start(n) ? stretches_.at({place.run, t_.lane[n]})(t_.start_ps[n]) : t_.start_ps[n];
  if (!t_.num_ops.empty()) out.num_ops.push_back(longer(t_.num_ops[n]));
  if (!t_.tensor_bytes.empty()) out.tensor_bytes.push_back(longer(t_.tensor_bytes[n]));
  if (!t_.op_dtype.empty()) out.op_dtype.push_back(t_.op_dtype[n]);
  if (const Comm* const comm = t_.comm(n)) builder.comm(row) = *comm;
  if (t_.io_row[n] != trace::kNoRow) {
    out.io_row.edit(row) = static_cast<uint32_t>(out.ios.size());
    out.ios.push_back(t_.ios[t_.io_row[n]]);
  }
  const trace::Attrs::Range range = t_.attrs_of(n);
  for (auto at = range.begin(); at != range.end(); ++at) {
    trace::Attr attr = *at;
    const std::string_view name = t_.strings[attr.name];
    if (layers_.count() > 0 && is_in(kNumbers, name)) continue;
    if (by != 1 && is_in(kTimes, name)) {
      if (const auto time = attr.integer()) attr.value = longer(*time);
    }
    builder.attr(attr);
  }
  hidden_.grows.push_back(grows_[n]);
}

void Remover::add_edges(trace::Builder& builder) {
  struct Dep {
    NodeId to, from;
    uint8_t kind = 0;
    bool moved = false;  ///< of a removed node
    Picoseconds lag = 0;
  };
  std::vector<Dep> deps;
  for (const NodeId n : t_.nodes()) {
    for (size_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
      const NodeId on = t_.deps.node[e];
      const Place &a = layers_.place(on), &b = layers_.place(n);
      const bool moved = removed_[n] || removed_[on];
      if (removed_[n] && removed_[on] && a.run == b.run && a.part == b.part) continue;
      const NodeId from = before(on), to = after(n);
      const uint8_t kind = t_.deps.kind.empty() ? uint8_t{0} : t_.deps.kind[e];
      if (from != to) deps.push_back({rows_[to], rows_[from], kind, moved, t_.deps.lag_of(e)});
    }
    if (removed_[n]) continue;
    for (const NodeId parent : t_.ctrl.of(n))
      if (const NodeId kept = before(parent); kept != n) builder.ctrl(rows_[n], rows_[kept]);
  }
  // Edges of removed nodes often repeat an edge that is there. A node keeps the order of its edges.
  std::stable_sort(deps.begin(), deps.end(), [](const Dep& a, const Dep& b) {
    return std::pair(a.to, a.moved) < std::pair(b.to, b.moved);
  });
  absl::flat_hash_set<NodeId> seen;
  NodeId node = trace::kNoNode;
  for (const Dep& dep : deps) {
    if (dep.to != node) seen.clear(), node = dep.to;
    if (seen.insert(dep.from).second || !dep.moved) builder.dep(dep.to, dep.from, dep.kind, dep.lag);
  }
}

void Remover::note_communications() {
  struct Call {
    int64_t sequence = 0;
    NodeId node;
  };
  std::map<StringId, std::vector<Call>> calls;
  for (const NodeId n : t_.nodes()) {
    const Comm* const comm = t_.comm(n);
    if (!comm || t_.part_of[n] != trace::kNoNode) continue;
    if (t_.type[n] == NodeType::coll) calls[comm->group].push_back({comm->sequence, n});
    else if (removed_[n] && t_.type[n] == NodeType::send) ++hidden_.messages[comm->dst].sent;
    else if (removed_[n]) ++hidden_.messages[comm->src].received;
  }
  for (auto& [group, of] : calls) {
    std::stable_sort(of.begin(), of.end(), [](const Call& a, const Call& b) { return a.sequence < b.sequence; });
    uint64_t hash = 0;
    for (size_t k = 0; k < of.size(); ++k)
      if (!removed_[of[k].node]) hash = absl::HashOf(hash, k);
    hidden_.collectives.emplace(t_.strings[group], hash);
  }
}

void Remover::keep_starts_in_order(Trace& out, std::span<const NodeId> order) {
  const std::span<Picoseconds> starts = out.start_ps.edit();
  for (const NodeId n : order) {
    if (!out.has_start(n)) continue;
    for (const NodeId on : out.deps.of(n))
      if (out.has_start(on)) starts[n] = std::max(starts[n], starts[on]);
  }
}

void Remover::set_sequences(Trace& out) const {
  std::map<StringId, std::set<int64_t>> gone;
  for (const NodeId n : t_.nodes())
    if (const Comm* const comm = t_.comm(n); comm && removed_[n] && comm->sequence >= 0)
      gone[comm->group].insert(comm->sequence);
  if (gone.empty()) return;
  std::map<StringId, std::vector<int64_t>> sorted;
  for (const auto& [group, numbers] : gone) sorted[group].assign(numbers.begin(), numbers.end());
  for (Comm& comm : out.comms.edit()) {
    const auto of = sorted.find(comm.group);
    if (of == sorted.end() || comm.sequence < 0) continue;
    comm.sequence -= std::lower_bound(of->second.begin(), of->second.end(), comm.sequence) - of->second.begin();
  }
}

}  // namespace

int64_t layers_of(const Trace& t) { return static_cast<int64_t>(Layers(t).count()); }

double growth(const LayerHiding& hiding) { return hiding.cell.shown / hiding.cell.low; }

Result<Trace> hide_layers(const Trace& t, const LayerHiding& hiding, HiddenLayers& hidden) {
  trace::assert_whole(t);
  return Remover(t, hiding, hidden).run();
}

// ---- all ranks -------------------------------------------------------------------------------------------------------

Result<void> LayerAgreement::add(int64_t rank, const HiddenLayers& hidden, const GroupKey& group_of,
                                 const PeerOf& peer_of) {
  for (const auto& [group, hash] : hidden.collectives) {
    const std::string key = group_of(group);
    const auto [at, first] = collectives_.emplace(key, std::pair(hash, rank));
    if (!first && at->second.first != hash)
      return fail(Code::bad_input, "edit.layers.ranks",
                  fmt::format("the layers of ranks {} and {} have other collectives of their group {}: no layer can be "
                              "removed from both",
                              at->second.second, rank, quote(group)));
  }
  ranks_.insert(rank);
  for (const auto& [peer, removed] : hidden.messages) {
    const int64_t other = peer_of(peer);
    messages_[{rank, other}] += removed.sent;
    messages_[{other, rank}] -= removed.received;
  }
  return {};
}

Result<void> LayerAgreement::finish() const {
  for (const auto& [ends, balance] : messages_)
    if (balance != 0 && ranks_.contains(ends.first) && ranks_.contains(ends.second))
      return fail(Code::bad_input, "edit.layers.ranks",
                  fmt::format("the layers of rank {} send other messages than those of rank {} receive: no layer can be "
                              "removed from both",
                              ends.first, ends.second));
  return {};
}

}  // namespace chakra::edit
