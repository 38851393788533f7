// Groups and sizes of a recording's collectives from the dump of the same rank, which has those that recordings of
// older releases lack. The calls of the dump are laid beside the recording's at each place where all agree.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "chakra/base/quantile.h"
#include "chakra/flight/calls.h"
#include "chakra/recording/recording.h"
#include "chakra/work/work.h"

namespace chakra::flight {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::Trace;

constexpr int64_t kMostCompared = 100'000'000;
constexpr int64_t kNearer = 4;       ///< times as even as at any other place: the right one
constexpr int64_t kSameNs = 20'000;  ///< spreads that are no farther apart tell nothing

/// A call of the dump; a batch is one.
struct DumpCall {
  const Entry* entry;
  CommType type;
  bool barrier;
  uint64_t in_bytes, out_bytes;  ///< 0: not known, or nothing
  std::string dtype;
};

/// A collective of the trace.
struct Recorded {
  NodeId node;
  int64_t called_ns;
  bool numbered;  ///< its sequence number is that of the job
};

uint64_t bytes_of(const Tensors& tensors) {
  if (tensors.dtypes.empty()) return 0;
  const auto size = static_cast<uint64_t>(work::element_bytes(tensors.dtypes[0]));
  uint64_t bytes = 0;
  return __builtin_mul_overflow(tensors.elements(), size, &bytes) ? 0 : bytes;
}

std::vector<DumpCall> calls_of(const Dump& dump) {
  std::vector<DumpCall> calls;
  for (const Entry& entry : dump.entries) {
    if (entry.is_message) continue;
    const Entry* const last = calls.empty() ? nullptr : calls.back().entry;
    const bool goes_on = last && last->group == entry.group && last->collective == entry.collective;
    if (goes_on && ends_batch(entry)) continue;
    if (!goes_on) {
      const bool barrier = contains(entry.operation, "barrier");
      const CommType type = barrier ? CommType::barrier : recording::comm_kind(entry.operation).collective;
      const std::string dtype = entry.in.dtypes.empty() ? "" : entry.in.dtypes[0];
      calls.push_back({&entry, type, barrier, 0, 0, std::string(work::plain_dtype(dtype))});
    }
    calls.back().in_bytes = add_bytes(calls.back().in_bytes, bytes_of(entry.in));
    calls.back().out_bytes = add_bytes(calls.back().out_bytes, bytes_of(entry.out));
  }
  return calls;
}

/// When the host called a collective: the launch of its kernel; without one its own start, or that of its caller.
std::optional<int64_t> called_ns(const Trace& t, NodeId n) {
  for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
    if (trace::kind_of(t.deps.kind[e]) == trace::EdgeKind::launch && t.has_start(t.deps.node[e]))
      return t.start_ps[t.deps.node[e]] / kPsPerNs;
  if (t.has_start(n)) return t.start_ps[n] / kPsPerNs;
  const auto callers = t.ctrl.of(n);
  if (callers.empty() || !t.has_start(callers.front())) return std::nullopt;
  return t.start_ps[callers.front()] / kPsPerNs;
}

/// In the order of their calls. Collectives on CPU threads are of another backend where a device also has some.
std::vector<Recorded> collectives_of(const Trace& t, const std::vector<std::string>& counted) {
  std::vector<Recorded> found;
  const auto is_collective = [&](NodeId n) { return t.comm(n) && t.type[n] == trace::NodeType::coll; };
  const auto nodes = t.nodes();
  const bool any_on_device =
      std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return is_collective(n) && !t.on_cpu(n); });
  for (const NodeId n : nodes) {
    if (!is_collective(n) || (any_on_device && t.on_cpu(n) && t.has_start(n))) continue;
    const std::optional<int64_t> at = called_ns(t, n);
    if (!at) continue;
    const std::string_view group = t.strings[t.comm(n)->group];
    const bool numbered =
        !group.empty() && t.comm(n)->sequence >= 0 && std::find(counted.begin(), counted.end(), group) == counted.end();
    found.push_back({n, *at, numbered});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Recorded& a, const Recorded& b) { return a.called_ns < b.called_ns; });
  return found;
}

class Filler {
 public:
  Filler(Trace& trace, const Dump& dump, std::vector<std::string>& counted, Findings& findings)
      : t_(trace), dump_(dump), counted_(counted), findings_(findings) {}

  Filled run() {
    calls_ = calls_of(dump_);
    recorded_ = collectives_of(t_, counted_);
    if (recorded_.empty() || calls_.empty() || groups_differ()) return {};
    if (!find_places()) return {};
    if (places_.empty()) return contradict(), Filled{};
    if (places_.size() > 1) choose_by_times();
    fill();
    if (filled_.groups > 0 || filled_.sizes > 0) tell();
    return filled_;
  }

 private:
  const Comm& comm(size_t i) const { return *t_.comm(recorded_[i].node); }
  const Group& group(const DumpCall& call) const { return dump_.groups[call.entry->group]; }
  void find(const char* tag, Severity severity, std::string text) {
    findings_.push_back({tag, severity, dump_.rank, -1, std::move(text)});
  }

  // `flight.beside.contradiction` (warning): a dump that does not fit the recording of its rank; nothing is taken.
  bool groups_differ() {
    std::set<uint32_t> used;
    for (const DumpCall& call : calls_) used.insert(call.entry->group);
    const auto sorted = [](std::vector<int64_t> ranks) {
      std::sort(ranks.begin(), ranks.end());
      return ranks;
    };
    for (const uint32_t g : used) {
      const Group& theirs = dump_.groups[g];
      if (!theirs.ranks.empty() &&
          std::find(theirs.ranks.begin(), theirs.ranks.end(), dump_.rank) == theirs.ranks.end()) {
        find("flight.beside.contradiction", Severity::warning,
             fmt::format("{}: group {} has calls in the dump but lacks the rank; the dump is ignored", dump_.file,
                         quote(theirs.name)));
        return true;
      }
      const auto ours = std::find_if(t_.groups.begin(), t_.groups.end(),
                                     [&](const trace::ProcessGroup& known) { return known.name == theirs.name; });
      if (ours == t_.groups.end() || ours->ranks.empty() || theirs.ranks.empty() ||
          sorted(ours->ranks) == sorted(theirs.ranks))
        continue;
      find("flight.beside.contradiction", Severity::warning,
           fmt::format("{}: group {} has the members {} in the dump and {} in the recording; the dump is ignored",
                       dump_.file, quote(theirs.name), list_ranks(theirs.ranks), list_ranks(ours->ranks)));
      return true;
    }
    return false;
  }

  // ---- where in the dump the recording is --------------------------------------------------------------

  /// What contradicts that a collective is a call; null if nothing does.
  const char* difference(size_t i, const DumpCall& call) const {
    const Comm& c = comm(i);
    if (!same_kind(c, call)) return "the operation";
    if (c.group != 0 && t_.strings[c.group] != group(call).name) return "the group";
    const bool rooted = c.type == CommType::scatter || c.type == CommType::gather;
    if (!rooted && c.bytes > 0 && call.in_bytes > 0 && c.bytes != call.in_bytes) return "the size";
    if (c.dtype != 0 && !call.dtype.empty() && t_.strings[c.dtype] != call.dtype) return "the element type";
    if (recorded_[i].numbered && c.sequence != call.entry->collective) return "the sequence number";
    return nullptr;
  }
  /// Without a record only the kernel's name tells: barriers are all-reduces, and gathers are sends and receives.
  static bool same_kind(const Comm& c, const DumpCall& call) {
    if (c.type == CommType::unknown || call.type == CommType::unknown || c.type == call.type) return true;
    if (c.type == CommType::all_reduce) return call.barrier;
    return c.type == CommType::all_to_all && c.bytes == 0 &&
           (call.type == CommType::gather || call.type == CommType::scatter);
  }

  /// The first call of a place is `place - recorded`: that of the recording's collective i is place + i - recorded.
  /// A dump that was overwritten may lack the first half of them.
  std::optional<size_t> call_at(size_t place, size_t i) const {
    const size_t call = place + i;
    if (call < recorded_.size() || call - recorded_.size() >= calls_.size()) return std::nullopt;
    return call - recorded_.size();
  }

  bool find_places() {
    const size_t n = recorded_.size();
    const size_t first = dump_.overwritten() ? n - n / 2 : n;
    int64_t compared = 0;
    for (size_t place = first; place <= calls_.size(); ++place) {
      size_t wrong = 0;
      const size_t most = places_.empty() ? least_wrong_ : 1;  // the nearest place is told where none fits
      for (size_t i = 0; i < n && wrong < most; ++i, ++compared)
        if (const auto call = call_at(place, i)) wrong += difference(i, calls_[*call]) != nullptr;
      if (wrong == 0) places_.push_back(place);
      else if (wrong < least_wrong_) least_wrong_ = wrong, nearest_ = place;
      if (compared > kMostCompared) {
        find("flight.beside.open", Severity::warning,
             fmt::format("{}: too many calls match the recording's collectives; the dump is ignored", dump_.file));
        return false;
      }
    }
    return true;
  }

  void contradict() {
    std::string text;
    if (nearest_ == 0) {
      text = fmt::format("it has {} collectives, the recording {}", calls_.size(), recorded_.size());
    } else {
      for (size_t i = 0; i < recorded_.size() && text.empty(); ++i)
        if (const auto at = call_at(nearest_, i))
          if (const char* what = difference(i, calls_[*at]))
            text = fmt::format(
                "at the nearest place {} of {} collectives differ, first in {} of node {}: {} in the "
                "recording, {} in the dump",
                least_wrong_, recorded_.size(), what, t_.id[recorded_[i].node], show(comm(i)), show(calls_[*at]));
    }
    find("flight.beside.contradiction", Severity::warning,
         fmt::format("{}: does not match the recording: {}; the dump is ignored", dump_.file, text));
  }
  std::string show(const Comm& c) const {
    return fmt::format("{} of {}{}", trace::name(c.type), show_bytes(static_cast<double>(c.bytes)),
                       c.group == 0 ? "" : fmt::format(" in group {}", quote(t_.strings[c.group])));
  }
  std::string show(const DumpCall& call) const {
    return fmt::format("{} {} of {} in group {}", call.entry->operation, call.entry->collective,
                       show_bytes(static_cast<double>(call.in_bytes)), quote(group(call).name));
  }

  /// How unevenly the recording's calls and the dump's lie beside each other: the largest deviation from the median
  /// but for a tenth, as a call may have taken long.
  std::optional<int64_t> spread(size_t place) const {
    std::vector<int64_t> apart;
    for (size_t i = 0; i < recorded_.size(); ++i)
      if (const auto call = call_at(place, i)) {
        const int64_t created = calls_[*call].entry->created_ns;
        if (created <= 0) return std::nullopt;
        apart.push_back(created - recorded_[i].called_ns);
      }
    if (apart.size() < 2) return std::nullopt;
    const int64_t median = nth_of(apart, apart.size() / 2);
    for (int64_t& value : apart) value = std::abs(value - median);
    return nth_of(apart, apart.size() - 1 - apart.size() / 10);
  }

  void choose_by_times() {
    std::optional<size_t> best;
    int64_t least = 0, next = INT64_MAX;
    for (const size_t place : places_) {
      const std::optional<int64_t> found = spread(place);
      if (!found) return;
      if (!best || *found < least) next = best ? least : INT64_MAX, least = *found, best = place;
      else next = std::min(next, *found);
    }
    if (best && least < (next - kSameNs) / kNearer) places_ = {*best};
  }

  // ---- what it adds ------------------------------------------------------------------------------------

  /// The call that a collective is at all places, as far as group and size go.
  std::optional<size_t> agreed(size_t i) const {
    std::optional<size_t> first;
    for (const size_t place : places_) {
      const auto call = call_at(place, i);
      if (!call) return std::nullopt;
      if (!first) first = call;
      const DumpCall &a = calls_[*first], &b = calls_[*call];
      if (a.entry->group != b.entry->group || a.in_bytes != b.in_bytes || a.out_bytes != b.out_bytes ||
          a.dtype != b.dtype)
        return std::nullopt;
    }
    return first;
  }

  // `flight.beside.open` (warning): collectives that fit several calls of other groups or sizes.
  void fill() {
    std::set<StringId> grown;
    std::map<NodeId, int64_t> numbers;
    int64_t open = 0;
    for (size_t i = 0; i < recorded_.size(); ++i) {
      const Comm& known = comm(i);
      const bool lacks_group = known.group == 0;
      const bool lacks_size = known.bytes == 0 && known.in_bytes == 0 && known.type != CommType::barrier;
      const std::optional<size_t> at = agreed(i);
      if (!at) {
        open += places_.size() > 1 && (lacks_group || lacks_size);
        continue;
      }
      const DumpCall& call = calls_[*at];
      numbers[recorded_[i].node] = call.entry->collective;
      Comm& c = t_.comms.edit(t_.comm_row[recorded_[i].node]);
      if (lacks_group) {
        c.group = t_.strings.intern(group(call).name);
        grown.insert(c.group);
        note(group(call));
        ++filled_.groups;
      }
      if (lacks_size && call.in_bytes > 0) {
        c.bytes = c.in_bytes = call.in_bytes;
        c.out_bytes = call.out_bytes;
        if (c.dtype == 0) c.dtype = t_.strings.intern(call.dtype);
        ++filled_.sizes;
        filled_.bytes = add_bytes(filled_.bytes, c.bytes);
      }
    }
    if (!grown.empty()) number(grown, numbers);
    if (open > 0)
      find("flight.beside.open", Severity::warning,
           fmt::format(
               "{}: {} collectives match several calls of other groups or sizes; their group or size stays unknown",
               dump_.file, show_count(open)));
  }

  void note(const Group& from) {
    const auto known = std::find_if(t_.groups.begin(), t_.groups.end(),
                                    [&](const trace::ProcessGroup& group) { return group.name == from.name; });
    trace::ProcessGroup& to = known == t_.groups.end() ? t_.groups.emplace_back() : *known;
    to.name = from.name;
    if (to.description.empty()) to.description = from.description;
    if (to.ranks.empty()) to.ranks = from.ranks;
    if (to.size == 0) to.size = static_cast<int64_t>(from.ranks.size());
  }

  /// Number the collectives of groups that grew: as in the dump if the only place found numbers all of them, else from
  /// the beginning.
  void number(const std::set<StringId>& grown, const std::map<NodeId, int64_t>& numbers) {
    std::map<StringId, std::vector<NodeId>> of_group;
    for (const Recorded& recorded : recorded_) of_group[t_.comm(recorded.node)->group].push_back(recorded.node);
    for (const StringId id : grown) {
      const std::string name(t_.strings[id]);
      const std::vector<NodeId>& nodes = of_group[id];
      const bool known =
          places_.size() == 1 && std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return numbers.contains(n); });
      for (size_t i = 0; i < nodes.size(); ++i)
        t_.comms.edit(t_.comm_row[nodes[i]]).sequence = known ? numbers.at(nodes[i]) : static_cast<int64_t>(i);
      std::erase(counted_, name);
      if (!known) counted_.push_back(name);
    }
    if (!of_group.contains(0)) std::erase(counted_, "");
    std::sort(counted_.begin(), counted_.end());
  }

  // `flight.beside.filled` (note): collectives whose group or size the dump has.
  void tell() {
    find("flight.beside.filled", Severity::note,
         fmt::format("{}: {} of {} collectives have their group from this dump, {} their size", dump_.file,
                     show_count(filled_.groups), show_count(static_cast<int64_t>(recorded_.size())),
                     show_count(filled_.sizes)));
  }

  Trace& t_;
  const Dump& dump_;
  std::vector<std::string>& counted_;
  Findings& findings_;
  std::vector<DumpCall> calls_;
  std::vector<Recorded> recorded_;
  std::vector<size_t> places_;  ///< that fit; place p: the recording's collective i is call p + i - recorded
  size_t least_wrong_ = SIZE_MAX, nearest_ = 0;
  Filled filled_;
};

}  // namespace

Filled fill_beside(Trace& trace, const Dump& dump, std::vector<std::string>& counted, Findings& findings) {
  return Filler(trace, dump, counted, findings).run();
}

}  // namespace chakra::flight
