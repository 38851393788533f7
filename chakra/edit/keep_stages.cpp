// The last stages of a pipeline.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "chakra/edit/hidden_job.h"
#include "chakra/edit/longer.h"
#include "chakra/edit/stage_passes.h"
#include "chakra/edit/stages.h"
#include "chakra/trace/metadata.h"

namespace chakra::edit {

// `edit.stages.group` (1): a group of several stages has parts of buffers for each member
// `edit.stages.class` (1): the ranks of a class lose other messages or members

namespace {

using trace::Comm;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using Members = std::vector<int64_t>;

constexpr double kForwardShare = 1.0 / 3;  ///< of a slot: a backward pass takes twice as long

/// Return the ranks of a group that stay, by their new numbers.
Members kept_of(const Members& members, const StageHiding& hiding) {
  Members kept;
  for (const int64_t rank : members)
    if (const auto found = hiding.ranks.find(rank); found != hiding.ranks.end()) kept.push_back(found->second.rank);
  return kept;
}

/// Whether a rank is of the stage before `stage`. Removed ranks with messages are neighbours.
bool is_before(const StageHiding& hiding, int64_t rank, int64_t stage) {
  const auto found = hiding.ranks.find(rank);
  return found == hiding.ranks.end() || found->second.stage < stage;
}

/// The times of a measured rank: passes stretch. The time before them shrinks, as if no removed stage had been waited
/// for.
class StretchedPasses {
 public:
  StretchedPasses(const Trace& t, const StageHiding& hiding, int64_t stage,
                  const std::function<bool(int64_t)>& before) {
    std::vector<double> arrived, sent;
    double begin = std::numeric_limits<double>::max();
    for (const NodeId n : t.nodes()) {
      if (!t.has_start(n)) continue;
      const auto start = static_cast<double>(t.start_ps[n]);
      begin = std::min(begin, start);
      has_starts_ = true;
      if (!t.comm(n) || t.part_of[n] != trace::kNoNode) continue;
      if (t.type[n] == NodeType::recv && before(t.comm(n)->src))
        arrived.push_back(start + static_cast<double>(t.dur_ps[n]));
      if (t.type[n] == NodeType::send && before(t.comm(n)->dst)) sent.push_back(start);
    }
    set_knots(begin, std::move(arrived), std::move(sent), hiding, stage);
  }

  bool has_starts() const { return has_starts_; }
  bool is_measured() const { return !knots_.empty(); }
  /// Whether a time is inside of passes.
  bool holds(Picoseconds time) const {
    const auto at = static_cast<double>(time);
    for (size_t i = 2; i < knots_.size(); i += 2)
      if (knots_[i - 1].from <= at && at < knots_[i].from) return true;
    return false;
  }
  Picoseconds operator()(Picoseconds time) const {
    const auto at = static_cast<double>(time);
    auto after =
        std::upper_bound(knots_.begin(), knots_.end(), at, [](double t, const Knot& knot) { return t < knot.from; });
    if (after == knots_.begin()) return time;
    const Knot& a = *std::prev(after);
    if (after == knots_.end()) return longer(Picoseconds{1}, a.to + at - a.from);
    return longer(Picoseconds{1}, a.to + (at - a.from) * (after->to - a.to) / (after->from - a.from));
  }

 private:
  struct Knot {
    double from = 0, to = 0;
  };
  void add(double from, double length) { knots_.push_back({from, knots_.back().to + length}); }

  /// A step has as many arrivals as micro-batches; else all passes are one step.
  void set_knots(double begin, std::vector<double> arrived, std::vector<double> sent, const StageHiding& hiding,
                 int64_t stage) {
    if (arrived.empty() || arrived.size() != sent.size()) return;
    std::sort(arrived.begin(), arrived.end());
    std::sort(sent.begin(), sent.end());
    auto batches = static_cast<size_t>(hiding.micro_batches);
    if (arrived.size() % batches != 0) batches = arrived.size();
    const double slots = static_cast<double>(hiding.micro_batches + hiding.stages - 1 - stage);
    knots_.push_back({begin, begin});
    for (size_t i = 0; i < arrived.size(); i += batches) {
      const double from = arrived[i], to = sent[i + batches - 1], waited = knots_.back().from;
      if (from < waited || to <= from) return knots_.clear();
      const double removed = static_cast<double>(hiding.removed()) * (to - from) / slots;
      add(from, std::max(0.0, from - waited - removed * (i == 0 ? kForwardShare : 1)));
      add(to, (to - from) * hiding.stretch);
    }
  }

  std::vector<Knot> knots_;  ///< ascending; empty: times stay
  bool has_starts_ = false;
};

/// What a trace of a rank, or of a class, says about others.
struct Neighbours {
  std::function<std::optional<int64_t>(int64_t peer)> peer;     ///< the new number; nullopt: removed
  std::function<bool(int64_t peer)> is_before;                  ///< of the stage before
  std::function<const Members*(std::string_view group)> group;  ///< before; null: all ranks, or unknown
};

class StageKeeper {
 public:
  StageKeeper(const Trace& t, const StageHiding& hiding, StageHiding::Place place, const Neighbours& neighbours,
              HiddenStages& hidden)
      : t_(t),
        hiding_(hiding),
        hidden_(hidden),
        place_(place),
        neighbours_(neighbours),
        passes_(t),
        times_(t, hiding, place.stage, neighbours.is_before),
        out_(t) {}

  Result<Trace> run() {
    for (const NodeId n : t_.nodes()) {
      if (t_.comm(n)) CHAKRA_TRY(set_comm(n));
    }
    for (const NodeId n : t_.nodes())  // pieces of communication that is left out take no time, either
      if (const NodeId whole = t_.part_of[n]; whole != trace::kNoNode && out_.type[whole] == NodeType::metadata)
        leave_out(n);
    for (const NodeId n : t_.nodes()) set_times(n);
    hidden_.unstretched += times_.has_starts() && !times_.is_measured();
    set_attrs();
    for (trace::Attr& attr : out_.metadata) {
      const std::string_view name = out_.strings[attr.name];
      if (name == "stage") attr.value = place_.stage - hiding_.removed();
      if (name == "stages") attr.value = hiding_.shown();
    }
    trace::assert_whole(out_);
    return std::move(out_);
  }

 private:
  void leave_out(NodeId n) {
    out_.type.edit(n) = NodeType::metadata;  // holds no lane
    out_.dur_ps.edit(n) = 0;
    out_.flags.edit(n) &= static_cast<uint8_t>(~(trace::kHasStart | trace::kHasDuration));
    if (out_.comm_row[n] == trace::kNoRow) return;
    out_.comms.edit(out_.comm_row[n]) = Comm();  // no class has its peer
    out_.comm_row.edit(n) = trace::kNoRow;
  }

  Result<void> set_comm(NodeId n) {
    const bool sends = t_.type[n] == NodeType::send;
    if (!sends && t_.type[n] != NodeType::recv) return set_collective(n);
    Comm& comm = out_.comms.edit(t_.comm_row[n]);
    const auto peer = neighbours_.peer(sends ? comm.dst : comm.src);
    if (!peer) return leave_out(n), Result<void>();
    (sends ? comm.dst : comm.src) = *peer;
    int64_t& own = sends ? comm.src : comm.dst;
    if (own == t_.rank && own >= 0) own = place_.rank;
    if (const auto tag = hiding_.tags.find(comm.tag); tag != hiding_.tags.end()) comm.tag = tag->second;
    return {};
  }

  Result<void> set_collective(NodeId n) {
    Comm& comm = out_.comms.edit(t_.comm_row[n]);
    const Members* const members = neighbours_.group(t_.strings[comm.group]);
    if (!members && comm.group != 0 && t_.strings[comm.group] != "0") return {};
    const Members kept = members ? kept_of(*members, hiding_) : Members();
    const size_t before = members ? members->size() : static_cast<size_t>(hiding_.ranks_before);
    const size_t after = members ? kept.size() : hiding_.ranks.size();
    if (after < before && after < 2) return leave_out(n), Result<void>();
    if (after < before && !has_whole_buffers(comm.type))
      return fail(Code::bad_input, std::string(kStagesGroup), text_of_parts(t_, n), {t_.file});
    if (comm.root >= 0 && trace::has_root(comm.type)) comm.root = root_of(comm.root, members, kept);
    return {};
  }
  /// A root is a rank, or else a place in the group. The first member replaces a removed one.
  int64_t root_of(int64_t root, const Members* members, const Members& kept) const {
    const bool is_place = members && std::find(members->begin(), members->end(), root) == members->end();
    const int64_t rank = !is_place ? root : root < std::ssize(*members) ? (*members)[static_cast<size_t>(root)] : -1;
    const auto found = hiding_.ranks.find(rank);
    const int64_t first = kept.empty() ? 0 : kept.front();
    const int64_t now = found == hiding_.ranks.end() ? first : found->second.rank;
    return is_place ? std::find(kept.begin(), kept.end(), now) - kept.begin() : now;
  }

  double factor(NodeId n) const {
    if (out_.type[n] != NodeType::comp) return 1;
    if (t_.has_start(n))
      return t_.dur_ps[n] > 0 ? static_cast<double>(out_.dur_ps[n]) / static_cast<double>(t_.dur_ps[n]) : 1;
    return times_.is_measured() || !passes_.holds(n) ? 1 : hiding_.stretch;
  }
  void set_times(NodeId n) {
    if (t_.has_start(n)) {
      if (!times_.is_measured()) return;
      out_.start_ps.edit(n) = times_(t_.start_ps[n]);
      if (out_.type[n] != NodeType::metadata)
        out_.dur_ps.edit(n) = times_(add_saturated(t_.start_ps[n], t_.dur_ps[n])) - out_.start_ps[n];
    } else if (const double by = factor(n); by != 1) {
      out_.dur_ps.edit(n) = longer(t_.dur_ps[n], by);
      if (!t_.num_ops.empty()) out_.num_ops.edit(n) = longer(t_.num_ops[n], by);
      if (!t_.tensor_bytes.empty()) out_.tensor_bytes.edit(n) = longer(t_.tensor_bytes[n], by);
    }
  }
  void set_attrs() {
    out_.attrs = trace::Attrs();
    const std::span<size_t> begin = out_.attr_begin.edit();
    for (const NodeId n : t_.nodes()) {
      begin[n] = out_.attrs.position();
      const double by = factor(n);
      for (trace::Attr attr : t_.attrs_of(n)) {
        if (by != 1 && is_time(t_.strings[attr.name]))
          if (const auto time = attr.integer()) attr.value = longer(*time, by);
        out_.attrs.add(trace::kept(attr, out_.texts));
      }
    }
    begin[t_.size()] = out_.attrs.position();
  }

  const Trace& t_;
  const StageHiding& hiding_;
  HiddenStages& hidden_;
  StageHiding::Place place_;
  const Neighbours& neighbours_;
  Passes passes_;
  StretchedPasses times_;
  Trace out_;
};

/// Groups lose the removed ranks. A group without a list has all ranks, or unknown ones.
void keep_members(std::vector<trace::ProcessGroup>& groups, const StageHiding& hiding) {
  std::erase_if(groups, [&](trace::ProcessGroup& group) {
    const bool listed = !group.ranks.empty();
    if (!listed && group.size > 0 && group.size < hiding.ranks_before) return true;
    group.ranks = kept_of(group.ranks, hiding);
    if (listed) group.size = std::ssize(group.ranks);
    else if (group.size > 0) group.size = std::ssize(hiding.ranks);
    return listed && group.ranks.empty();
  });
}

// ---- a job by classes ----

/// Rewrites the ranks of the classes that stay. Slots of removed ranks, and of groups with one member left, go.
class ClassKeeper {
 public:
  ClassKeeper(const trace::ClassJob& job, const StageHiding& hiding, HiddenStages& hidden)
      : job_(job), hiding_(hiding), hidden_(hidden) {
    for (const trace::ProcessGroup& group : job.groups) kept_.push_back(kept_of(group.ranks, hiding));
  }

  Result<trace::ClassJob> run(std::vector<size_t>& classes) {
    std::map<uint32_t, uint32_t> new_class;
    for (const trace::ClassJob::Rank& rank : job_.ranks) {
      if (!hiding_.ranks.contains(rank.rank)) continue;
      const auto [at, first] = new_class.emplace(rank.cls, static_cast<uint32_t>(classes.size()));
      if (first) {
        classes.push_back(rank.cls);
        CHAKRA_TRY(add_class(rank));
      }
      CHAKRA_TRY(add_rank(rank, at->second));
    }
    return std::move(out_);
  }

 private:
  const trace::ProcessGroup& group_at(const trace::ClassJob::Rank& rank, size_t slot) const {
    return job_.groups[job_.group_of[rank.first_group + slot]];
  }
  bool stays(const trace::ProcessGroup& group) const {
    if (group.ranks.empty()) return true;
    const size_t kept = kept_[static_cast<size_t>(&group - job_.groups.data())].size();
    return kept > 1 || kept == group.ranks.size();
  }
  bool peer_stays(const trace::ClassJob::Rank& rank, size_t slot) const {
    return hiding_.ranks.contains(job_.peer_of[rank.first_peer + slot]);
  }

  /// The class, as its first rank that stays has it.
  Result<void> add_class(const trace::ClassJob::Rank& rank) {
    const std::vector<std::string>& slots = job_.group_slots[rank.cls];
    std::vector<std::optional<int64_t>> peers;
    for (int64_t kept = 0; peers.size() < job_.peer_slots[rank.cls];) {
      const bool stays = peer_stays(rank, peers.size());
      peers.push_back(stays ? std::optional(kept++) : std::nullopt);
    }
    const int64_t own = hiding_.ranks.at(rank.rank).stage;
    const Neighbours neighbours{
        [&](int64_t slot) {
          return slot >= 0 && slot < std::ssize(peers) ? peers[static_cast<size_t>(slot)] : std::nullopt;
        },
        [&](int64_t slot) {
          return slot >= 0 && slot < std::ssize(peers) &&
                 is_before(hiding_, job_.peer_of[rank.first_peer + static_cast<size_t>(slot)], own);
        },
        [&](std::string_view name) -> const Members* {
          const auto slot = std::find(slots.begin(), slots.end(), name);
          if (slot == slots.end()) return nullptr;
          const Members& ranks = group_at(rank, static_cast<size_t>(slot - slots.begin())).ranks;
          return ranks.empty() ? nullptr : &ranks;
        }};
    CHAKRA_ASSIGN(Trace cls, StageKeeper(job_.classes[rank.cls], hiding_, {-1, own}, neighbours, hidden_).run());
    cls.rank = hiding_.ranks.at(rank.rank).rank;
    std::vector<std::string>& kept = out_.group_slots.emplace_back();
    std::vector<uint8_t>& bits = stays_.emplace_back();
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      bits.push_back(stays(group_at(rank, slot)));
      if (bits.back()) kept.push_back(slots[slot]);
    }
    for (const auto& peer : peers) bits.push_back(peer.has_value());
    std::erase_if(cls.groups, [&](const trace::ProcessGroup& group) {
      const auto slot = std::find(slots.begin(), slots.end(), group.name);
      return slot != slots.end() && !bits[static_cast<size_t>(slot - slots.begin())];
    });
    out_.peer_slots.push_back(static_cast<uint32_t>(std::count(bits.begin() + std::ssize(slots), bits.end(), 1)));
    out_.classes.push_back(std::move(cls));
    return {};
  }

  Result<void> add_rank(const trace::ClassJob::Rank& rank, uint32_t cls) {
    out_.ranks.push_back({hiding_.ranks.at(rank.rank).rank, cls, static_cast<uint32_t>(out_.group_of.size()),
                          static_cast<uint32_t>(out_.peer_of.size())});
    const std::vector<uint8_t>& bits = stays_[cls];
    const size_t slots = job_.group_slots[rank.cls].size();
    bool is_equal = true;
    for (size_t slot = 0; slot < slots; ++slot) {
      is_equal &= stays(group_at(rank, slot)) == static_cast<bool>(bits[slot]);
      if (bits[slot]) out_.group_of.push_back(group_number(job_.group_of[rank.first_group + slot]));
    }
    for (size_t slot = 0; slot < job_.peer_slots[rank.cls]; ++slot) {
      const bool stays = peer_stays(rank, slot);
      is_equal &= stays == static_cast<bool>(bits[slots + slot]);
      if (stays) out_.peer_of.push_back(hiding_.ranks.at(job_.peer_of[rank.first_peer + slot]).rank);
    }
    if (is_equal) return {};
    return fail(Code::bad_input, "edit.stages.class",
                fmt::format("rank {} of a class loses other partners than the first rank of the class", rank.rank));
  }

  uint32_t group_number(uint32_t before) {
    const auto [at, first] = groups_.emplace(before, static_cast<uint32_t>(out_.groups.size()));
    if (first) {
      trace::ProcessGroup& group = out_.groups.emplace_back(job_.groups[before]);
      if (!group.ranks.empty()) {
        group.ranks = kept_[before];
        group.size = std::ssize(group.ranks);
      } else if (group.size > 0) {
        group.size = std::ssize(hiding_.ranks);
      }
    }
    return at->second;
  }

  const trace::ClassJob& job_;
  const StageHiding& hiding_;
  HiddenStages& hidden_;
  std::vector<Members> kept_;                ///< by group
  std::vector<std::vector<uint8_t>> stays_;  ///< by new class: of its group slots, then of its peer slots
  std::map<uint32_t, uint32_t> groups_;      ///< new numbers
  trace::ClassJob out_;
};

/// The time of a trace whose nodes take as long as `time` states, in picoseconds.
template <class Time>
double time_of(const Trace& t, std::span<const NodeId> order, const Time& time) {
  std::vector<Picoseconds> durations;
  for (const NodeId n : t.nodes()) durations.push_back(time(n));
  const std::vector<Picoseconds> ends = trace::earliest_ends(t, order, durations);
  return ends.empty() ? 0 : static_cast<double>(*std::max_element(ends.begin(), ends.end()));
}

}  // namespace

double measured_stretch(const Trace& t, StageHiding hiding) {
  const auto place = hiding.ranks.find(t.rank);
  CHAKRA_ASSERT(place != hiding.ranks.end());
  const auto before = [&](int64_t peer) { return is_before(hiding, peer, place->second.stage); };
  const auto order = trace::running_order(t, "edit.stages.order");
  if (!order) return 0;
  const auto is_message = [&](NodeId n) {
    const NodeId whole = trace::whole_communication(t, n);
    const bool sends = t.type[whole] == NodeType::send;
    return t.comm(whole) && (sends || t.type[whole] == NodeType::recv) &&
           before(sends ? t.comm(whole)->dst : t.comm(whole)->src);
  };
  const auto span = static_cast<double>(hiding.span);
  constexpr int kRounds = 4;  // times before passes shrink as passes stretch
  for (int round = 0; round < kRounds; ++round) {
    const StretchedPasses passes(t, hiding, place->second.stage, before);
    if (!passes.is_measured()) return 0;
    const auto time = [&](NodeId n) {
      if (is_message(n) || !t.has_start(n)) return Picoseconds{0};
      return passes(add_saturated(t.start_ps[n], t.dur_ps[n])) - passes(t.start_ps[n]);
    };
    const double now = time_of(t, *order, time);
    const double inside = time_of(t, *order, [&](NodeId n) { return passes.holds(t.start_ps[n]) ? time(n) : 0; });
    if (inside > 0) hiding.stretch = std::max(1.0, hiding.stretch * (1 + (span - now) / inside));
  }
  return hiding.stretch;
}

Result<Trace> keep_stages(const Trace& t, const StageHiding& hiding, HiddenStages& hidden) {
  trace::assert_whole(t);
  std::map<std::string, const Members*, std::less<>> groups;
  for (const trace::ProcessGroup& group : t.groups)
    if (!group.ranks.empty()) groups.emplace(group.name, &group.ranks);
  const auto place = hiding.ranks.find(t.rank);
  CHAKRA_ASSERT(place != hiding.ranks.end());
  const Neighbours neighbours{[&](int64_t peer) -> std::optional<int64_t> {
                                const auto found = hiding.ranks.find(peer);
                                return found == hiding.ranks.end() ? std::nullopt : std::optional(found->second.rank);
                              },
                              [&](int64_t peer) { return is_before(hiding, peer, place->second.stage); },
                              [&](std::string_view name) {
                                const auto found = groups.find(name);
                                return found == groups.end() ? nullptr : found->second;
                              }};
  CHAKRA_ASSIGN(Trace out, StageKeeper(t, hiding, place->second, neighbours, hidden).run());
  out.rank = place->second.rank;
  keep_members(out.groups, hiding);
  return out;
}

Result<trace::ClassJob> keep_stages(const trace::ClassJob& job, const StageHiding& hiding, std::vector<size_t>& classes,
                                    HiddenStages& hidden) {
  return ClassKeeper(job, hiding, hidden).run(classes);
}

}  // namespace chakra::edit
