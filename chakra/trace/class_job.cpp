// Traces of many ranks as those of a few classes, and back.
#include <absl/container/flat_hash_map.h>

#include <bit>

#include "chakra/base/text_map.h"
#include "chakra/trace/trace.h"

namespace chakra::trace {
namespace {

/// All that a trace says, but for its file and its rank, as bytes: two traces say the same if these are equal.
class Content {
 public:
  explicit Content(const Trace& t) : t_(t), number_of_(t.strings.size(), UINT32_MAX) {
    number(t.size());
    number(static_cast<uint64_t>(t.base_ns));
    for (const NodeId n : t.nodes()) number(t.id[n]);
    for (const StringId name : t.name) string(name);
    each_column([&](const auto& row) {
      if (row.name != "name") column(t.*row.column);
    });
    column(t.deps.begin), column(t.deps.node), column(t.deps.kind);
    for (uint32_t e = 0; e < t.deps.node.size() && !t.deps.lag.empty(); ++e)
      if (const Picoseconds lag = t.deps.lag_of(e); lag != 0) numbers({e, static_cast<uint64_t>(lag)});
    column(t.ctrl.begin), column(t.ctrl.node);
    number(t.lanes.size());
    for (const Lane& lane : t.lanes)
      numbers(
          {static_cast<uint64_t>(lane.kind), static_cast<uint64_t>(lane.process), static_cast<uint64_t>(lane.index)});
    number(t.comms.size());
    for (const Comm& c : t.comms) comm(c);
    number(t.ios.size());
    for (const Io io : t.ios)
      for (const Tensors* tensors : {&io.inputs, &io.outputs}) {
        text(tensors->values);
        string(tensors->shapes), string(tensors->types), string(tensors->strides);
      }
    for (const NodeId n : t.nodes()) {
      for (const Attr& a : t.attrs_of(n)) attr(a);
      bytes_ += '\xff';  // no attribute begins so
    }
    number(t.groups.size());
    for (const ProcessGroup& g : t.groups) {
      text(g.name), text(g.description), text(g.backend);
      number(static_cast<uint64_t>(g.size));
      column(g.ranks);
    }
    number(t.metadata.size());
    for (const Attr& a : t.metadata) attr(a);
    number(t.defects.size());
    for (const Defect& d : t.defects) numbers({static_cast<uint64_t>(d.kind), d.node, d.id});
  }
  std::string take() { return std::move(bytes_); }

 private:
  void number(uint64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void numbers(std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) number(value);
  }
  template <class T>
  void column(const T& values) {
    number(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  }
  void text(std::string_view view) {
    number(view.size());
    bytes_ += view;
  }
  /// The ids of equal strings may differ between traces: they are numbered as they come.
  void string(StringId id) {
    const bool first = number_of_[id] == UINT32_MAX;
    if (first) number_of_[id] = strings_++;
    bytes_.append(reinterpret_cast<const char*>(&number_of_[id]), sizeof(uint32_t));
    if (first) text(t_.strings[id]);
  }
  void attr(const Attr& a) {
    bytes_ += static_cast<char>(a.value.index());
    string(a.name);
    std::visit(
        [this](auto value) {
          if constexpr (std::is_same_v<decltype(value), std::string_view>) text(value);
          else if constexpr (std::is_same_v<decltype(value), double>) number(std::bit_cast<uint64_t>(value));
          else number(static_cast<uint64_t>(value));
        },
        a.value);
  }
  void comm(const Comm& c) {
    numbers({static_cast<uint64_t>(c.type), c.bytes, c.in_bytes, c.out_bytes, static_cast<uint64_t>(c.sequence),
             static_cast<uint64_t>(c.root), static_cast<uint64_t>(c.src), static_cast<uint64_t>(c.dst),
             static_cast<uint64_t>(c.tag), static_cast<uint64_t>(c.priority), c.involved, c.involved_count});
    string(c.dtype), string(c.group);
    text(c.in_split), text(c.out_split);
  }

  const Trace& t_;
  std::vector<uint32_t> number_of_;  ///< per string of the trace
  uint32_t strings_ = 0;
  std::string bytes_;
};

/// What a rank's trace had where its class has slots.
struct Slots {
  std::vector<std::string> names;
  std::vector<ProcessGroup> groups;
  std::vector<int64_t> peers;
};

/// Puts slots in the place of a trace's groups and peers.
Slots put_slots(Trace& t) {
  Slots slots;
  const auto add = [&](ProcessGroup&& group) {
    slots.names.push_back("group" + std::to_string(slots.groups.size()));
    slots.groups.push_back(std::move(group));
    return slots.groups.size() - 1;
  };
  absl::flat_hash_map<StringId, size_t> described;  // the first in Trace::groups of that name
  for (size_t g = t.groups.size(); g-- > 0;) described[t.strings.intern(t.groups[g].name)] = g;
  std::vector<size_t> slot_of(t.groups.size(), SIZE_MAX);  // of those described
  absl::flat_hash_map<StringId, size_t> slot_of_name;
  absl::flat_hash_map<int64_t, int64_t> peer_slot;
  for (Comm& c : t.comms.edit()) {
    if (const auto by = described.find(c.group); by != described.end() || c.group != 0) {
      const auto [slot, added] = slot_of_name.try_emplace(c.group, slots.groups.size());
      if (added && by != described.end()) slot_of[by->second] = add(ProcessGroup(t.groups[by->second]));
      else if (added) add({std::string(t.strings[c.group]), "", "", {}, 0});
      c.group = t.strings.intern(slots.names[slot->second]);
    }
    for (int64_t* peer : {&c.src, &c.dst})
      if (*peer >= 0) {
        const auto [slot, added] = peer_slot.try_emplace(*peer, static_cast<int64_t>(slots.peers.size()));
        if (added) slots.peers.push_back(*peer);
        *peer = slot->second;
      }
  }
  for (size_t g = 0; g < t.groups.size(); ++g) {
    if (slot_of[g] == SIZE_MAX) slot_of[g] = add(std::move(t.groups[g]));
    t.groups[g] = {slots.names[slot_of[g]], "", "", {}, 0};
  }
  return slots;
}

/// All that a group is, for finding equal ones.
std::string key_of(const ProcessGroup& g) {
  std::string key;
  for (const std::string* text : {&g.name, &g.description, &g.backend}) {
    const uint64_t size = text->size();
    key.append(reinterpret_cast<const char*>(&size), sizeof size).append(*text);
  }
  key.append(reinterpret_cast<const char*>(&g.size), sizeof g.size);
  return key.append(reinterpret_cast<const char*>(g.ranks.data()), g.ranks.size() * sizeof(int64_t));
}

}  // namespace

Trace concrete(const ClassJob& job, size_t index) {
  CHAKRA_ASSERT(index < job.ranks.size());
  const ClassJob::Rank& rank = job.ranks[index];
  Trace t = job.classes[rank.cls];
  t.rank = rank.rank;
  t.says_rank = true;
  const std::vector<std::string>& names = job.group_slots[rank.cls];
  TextMap<const ProcessGroup*> group_of;
  absl::flat_hash_map<StringId, StringId> name_of;
  for (size_t s = 0; s < names.size(); ++s) {
    const ProcessGroup& group = job.groups[job.group_of[rank.first_group + s]];
    group_of.emplace(names[s], &group);
    if (const StringId slot = t.strings.find(names[s])) name_of.emplace(slot, t.strings.intern(group.name));
  }
  for (Comm& c : t.comms.edit()) {
    if (const auto found = name_of.find(c.group); found != name_of.end()) c.group = found->second;
    for (int64_t* peer : {&c.src, &c.dst})
      if (*peer >= 0) *peer = job.peer_of[rank.first_peer + static_cast<size_t>(*peer)];
  }
  for (ProcessGroup& group : t.groups)
    if (const auto found = group_of.find(group.name); found != group_of.end()) group = *found->second;
  return t;
}

TraceSet expand(const ClassJob& job) {
  TraceSet set;
  set.ranks.reserve(job.ranks.size());
  for (size_t i = 0; i < job.ranks.size(); ++i) set.ranks.push_back(concrete(job, i));
  return set;
}

ClassJob by_class(TraceSet&& set) {
  ClassJob job;
  absl::flat_hash_map<std::string, uint32_t> classes, groups;
  for (Trace& t : set.ranks) {
    Slots slots = put_slots(t);
    const auto [cls, is_new] = classes.try_emplace(Content(t).take(), static_cast<uint32_t>(job.classes.size()));
    job.ranks.push_back(
        {t.rank, cls->second, static_cast<uint32_t>(job.group_of.size()), static_cast<uint32_t>(job.peer_of.size())});
    for (ProcessGroup& group : slots.groups) {
      const auto [found, added] = groups.try_emplace(key_of(group), static_cast<uint32_t>(job.groups.size()));
      if (added) job.groups.push_back(std::move(group));
      job.group_of.push_back(found->second);
    }
    job.peer_of.insert(job.peer_of.end(), slots.peers.begin(), slots.peers.end());
    if (is_new) {
      job.group_slots.push_back(std::move(slots.names));
      job.peer_slots.push_back(static_cast<uint32_t>(slots.peers.size()));
      job.classes.push_back(std::move(t));
    }
    t = Trace();  // what is not needed any more
  }
  set.ranks.clear();
  return job;
}

}  // namespace chakra::trace
