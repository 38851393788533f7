#include "chakra/edit/layers.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "chakra/edit/layer_places.h"
#include "chakra/edit/longer.h"

namespace chakra::edit {

// `edit.layers.few` (1): the layers of a trace are too few for the grid
// `edit.layers.order` (1): without the removed layers, nodes wait for each other in a cycle
// `edit.layers.ranks` (1): two ranks would keep other communications

namespace {

using trace::Comm;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kLeastKept = 2;  ///< parts of a run: the first and the last

/// Attributes that number operations, or say what was launched when.
constexpr auto kNumbers = std::to_array<std::string_view>({"rf_id", "seq_id", "correlation", "fw_parent"});
template <class List>
bool is_in(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// ---- what is removed ----

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
    if (!has_cut()) return 1;
    const double whole = static_cast<double>(end) - static_cast<double>(begin);
    const double cut = static_cast<double>(cut_end) - static_cast<double>(cut_begin);
    return whole > cut ? whole / (whole - cut) : 1;
  }
  bool has_cut() const { return cut_begin < cut_end && cut_end <= end; }
  Picoseconds operator()(Picoseconds time) const {
    if (!has_cut()) return time;
    const auto from_begin = [&](Picoseconds at) { return static_cast<double>(at) - static_cast<double>(begin); };
    const double at = from_begin(time), cut_at = from_begin(cut_begin);
    const double kept = at <= cut_at ? at : std::max(cut_at, at - (from_begin(cut_end) - cut_at));
    return add_saturated(begin, longer(Picoseconds{1}, kept * factor()));
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
    const auto stages = static_cast<double>(hiding_.stages);
    const double longest = std::max(1.0, static_cast<double>(hiding_.longest));
    const double of_stage = static_cast<double>(hiding_.layers) / stages;
    const double runs = std::max(1.0, std::round(of_stage / longest));  // virtual stages
    const double apart = std::max(0.0, std::ceil(of_stage / runs) - longest);
    return static_cast<size_t>(std::max(1.0, std::floor(hiding_.cell.low / stages / runs) - apart));
  }

  Result<void> set_cuts() {
    const size_t before = layers_.count(), after = std::min(before, shown_layers());
    hidden_.before = static_cast<int64_t>(before);
    hidden_.after = static_cast<int64_t>(after);
    const size_t fewer = before - after;
    for (uint32_t r = 0; r < layers_.runs().size(); ++r) {
      const Run& run = layers_.runs()[r];
      if (fewer > 0 && run.count < fewer + kLeastKept)
        return fail(
            Code::bad_input, "edit.layers.few",
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
    counterparts_.try_emplace({place.run, place.part, place.at, layers_.kind_of(n)}, n);
  }
  /// The node in `part` that does what `n` does: of its kind, and of the same operation.
  NodeId counterpart(NodeId n, uint32_t part) {
    const Place& place = layers_.place(n);
    if (!place.is_operation) {
      const auto found = counterparts_.find({place.run, part, place.at, layers_.kind_of(n)});
      if (found != counterparts_.end()) return found->second;
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
  enum class Moved : uint8_t { no, waiting, waited };  ///< which of the nodes was removed
  struct Dep {
    NodeId to, from;
    uint8_t kind = 0;
    Moved moved = Moved::no;
    bool is_across = false;                      ///< between runs
    uint32_t run = Place::kNone, node_kind = 0;  ///< of the node waited for
    size_t place = 0;                            ///< among the edges of the node
    Picoseconds lag = 0;
  };
  void add_edges(trace::Builder& builder);
  void add_deps_of(NodeId n, std::vector<Dep>& deps);
  static std::span<const uint32_t> kept_of(const std::vector<Dep>& deps, std::span<uint32_t> of_node);
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
  absl::flat_hash_map<Key, NodeId> counterparts_;
  std::vector<NodeId> rows_;  ///< of the result
};

void Remover::add(NodeId n, trace::Builder& builder) {
  Trace& out = builder.trace;
  const NodeId row = rows_[n];
  const double by = factor(n);
  const auto longer_by = [&](auto value) { return longer(value, by); };
  out.flags.edit(row) = t_.flags[n];
  out.lane.edit(row) = t_.lane[n];
  out.dur_ps.edit(row) = longer_by(t_.dur_ps[n]);
  const Place& place = layers_.place(n);
  out.start_ps.edit(row) =
      place && t_.has_start(n) ? stretches_.at({place.run, t_.lane[n]})(t_.start_ps[n]) : t_.start_ps[n];
  if (!t_.num_ops.empty()) out.num_ops.push_back(longer_by(t_.num_ops[n]));
  if (!t_.tensor_bytes.empty()) out.tensor_bytes.push_back(longer_by(t_.tensor_bytes[n]));
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
    if (by != 1 && is_time(name)) {
      if (const auto time = attr.integer()) attr.value = longer_by(*time);
    }
    builder.attr(attr);
  }
  hidden_.grows.push_back(grows_[n]);
}

void Remover::add_edges(trace::Builder& builder) {
  std::vector<Dep> deps;
  deps.reserve(t_.deps.node.size());
  size_t kept = 0;
  for (const NodeId n : t_.nodes()) {
    add_deps_of(n, deps);
    if (removed_[n]) continue;
    ++kept;
    for (const NodeId parent : t_.ctrl.of(n))
      if (const NodeId on = before(parent); on != n) builder.ctrl(rows_[n], rows_[on]);
  }
  // Numbers of edges by node of the result, in order.
  std::vector<uint32_t> begin(kept + 1, 0), order(deps.size());
  for (const Dep& dep : deps) ++begin[static_cast<uint32_t>(dep.to) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  for (uint32_t i = 0; i < deps.size(); ++i) order[next[static_cast<uint32_t>(deps[i].to)]++] = i;
  for (size_t node = 0; node < kept; ++node) {
    const std::span<uint32_t> of_node = std::span(order).subspan(begin[node], begin[node + 1] - begin[node]);
    for (const uint32_t i : kept_of(deps, of_node)) builder.dep(deps[i].to, deps[i].from, deps[i].kind, deps[i].lag);
  }
}

void Remover::add_deps_of(NodeId n, std::vector<Dep>& deps) {
  const Place& b = layers_.place(n);
  const NodeId to = after(n);
  for (size_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
    const NodeId on = t_.deps.node[e];
    const Place& a = layers_.place(on);
    const Moved moved = removed_[n] ? Moved::waiting : removed_[on] ? Moved::waited : Moved::no;
    if (removed_[n] && removed_[on] && a.run == b.run && a.part == b.part) continue;
    const NodeId from = before(on);
    if (from == to) continue;
    const uint8_t kind = t_.deps.kind.empty() ? uint8_t{0} : t_.deps.kind[e];
    deps.push_back({rows_[to], rows_[from], kind, moved, a.run != b.run, a.run, a ? layers_.kind_of(on) : 0,
                    e - t_.deps.begin[n], t_.deps.lag_of(e)});
  }
}

/// Return the edges of a node that stay, in the order of the result. Edges of removed nodes often repeat an edge that
/// is there. An edge to another run moves only where its node has no other edge to such nodes of that run: parts of
/// runs can begin anywhere in a layer, so the removed nodes of two runs need not be of the same layers.
std::span<const uint32_t> Remover::kept_of(const std::vector<Dep>& deps, std::span<uint32_t> of_node) {
  if (std::none_of(of_node.begin(), of_node.end(), [&](uint32_t i) { return deps[i].moved != Moved::no; }))
    return of_node;
  std::stable_sort(of_node.begin(), of_node.end(),
                   [&](uint32_t a, uint32_t b) { return deps[a].moved < deps[b].moved; });
  absl::flat_hash_set<NodeId> seen;
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> seen_kinds;
  size_t kept = 0;
  for (const uint32_t i : of_node) {
    const Dep& dep = deps[i];
    const bool is_new = seen_kinds.emplace(dep.run, dep.node_kind).second;
    if (dep.moved != Moved::no && dep.is_across && dep.run != Place::kNone && !is_new) continue;
    if (seen.insert(dep.from).second || dep.moved == Moved::no) of_node[kept++] = i;
  }
  std::stable_sort(of_node.begin(), of_node.begin() + static_cast<std::ptrdiff_t>(kept),
                   [&](uint32_t a, uint32_t b) { return deps[a].place < deps[b].place; });
  return of_node.first(kept);
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

// ---- all ranks ----

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
      return fail(
          Code::bad_input, "edit.layers.ranks",
          fmt::format("the layers of rank {} send other messages than those of rank {} receive: no layer can be "
                      "removed from both",
                      ends.first, ends.second));
  return {};
}

}  // namespace chakra::edit
