#include "chakra/edit/sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chakra/base/join.h"
#include "chakra/trace/metadata.h"
#include "chakra/trace/starts.h"
#include "chakra/work/work.h"

namespace chakra::edit {
namespace {

using trace::Comm;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Role;
using trace::Trace;

constexpr size_t kOf(Quantity quantity) { return static_cast<size_t>(quantity); }

uint64_t members_of(const trace::ProcessGroup& group) {
  return static_cast<uint64_t>(std::max<int64_t>(group.size, std::ssize(group.ranks)));
}

/// Return the groups of the slots of each class, by its first rank; empty for a class without ranks.
std::vector<NamedGroups> groups_of_slots(const trace::ClassJob& job) {
  std::vector<NamedGroups> groups(job.classes.size());
  const std::vector<trace::RolesByName> roles = trace::roles_of_slots(job);
  for (size_t c = 0; c < groups.size(); ++c) groups[c].roles = roles[c];
  for (const trace::ClassJob::Rank& rank : job.ranks) {
    const std::vector<std::string>& slots = job.group_slots[rank.cls];
    if (!groups[rank.cls].members.empty()) continue;
    for (size_t s = 0; s < slots.size(); ++s)
      groups[rank.cls].members[slots[s]] = members_of(job.groups[job.group_of[rank.first_group + s]]);
  }
  return groups;
}

constexpr double kSmall = 200;  ///< times the width: fewer bytes are not those of activations

/// What the sizes of the communications of a trace measure.
class Quantities {
 public:
  /// `width`: of the model; 0: unknown. All models of a cell of widths then have the same small communications.
  Quantities(const Trace& t, const NamedGroups& groups, double width, bool is_measured)
      : t_(t), roles_(t, groups.roles), small_(static_cast<uint64_t>(kSmall * width)), is_measured_(is_measured) {
    for (const trace::ProcessGroup& group : t.groups) set_members(group.name, members_of(group));
    for (const auto& [name, members] : groups.members) set_members(name, members);
    for (const NodeId n : t.nodes())
      if (moves_parameters(n)) ++counts_[{t.comm(n)->group, t.comm(n)->type}].by_bytes[t.comm(n)->bytes];
    for (auto& [call, counts] : counts_)
      for (const auto& [bytes, count] : counts.by_bytes) {
        counts.fewest = std::min(counts.fewest, count);
        counts.most = std::max(counts.most, count);
      }
  }

  Quantity of(NodeId n) const {
    const Comm& comm = *t_.comm(n);
    if (comm.in_split.empty() && is_small(comm)) return Quantity::small;
    if (!moves_parameters(n)) return Quantity::activations;
    if (is_measured_ && comm.type == CommType::all_reduce) return Quantity::buckets;
    return is_of_layers(comm) ? Quantity::layers : Quantity::parameters;
  }
  /// Whether a node moves parameters of experts, or their gradients.
  bool is_of_experts(NodeId n) const { return moves_parameters(n) && roles_.of(*t_.comm(n)) == Role::edp; }

 private:
  void set_members(std::string_view group, uint64_t members) {
    if (const StringId name = t_.strings.find(group); name != 0) members_[name] = members;
  }
  /// By the whole tensor: an all-gather states the part of a rank.
  bool is_small(const Comm& comm) const {
    uint64_t bytes = comm.bytes;
    if (const auto found = members_.find(comm.group); comm.type == CommType::all_gather && found != members_.end())
      if (__builtin_mul_overflow(bytes, std::max<uint64_t>(found->second, 1), &bytes)) return false;
    return bytes < small_;
  }
  bool moves_parameters(NodeId n) const {
    const Comm* const comm = t_.comm(n);
    if (!comm || t_.type[n] != NodeType::coll || is_small(*comm) || comm->type == CommType::all_to_all) return false;
    return trace::row_of(roles_.of(*comm)).moves != trace::Moves::activations;
  }
  /// Layers repeat, embeddings do not. Stages share embeddings alone.
  bool is_of_layers(const Comm& comm) const {
    if (roles_.of(comm) == Role::pp) return false;
    const Counts& counts = counts_.at({comm.group, comm.type});
    return counts.fewest == counts.most || counts.by_bytes.at(comm.bytes) > counts.fewest;
  }

  /// How often a group has collectives of parameters of a type.
  struct Counts {
    std::map<uint64_t, int64_t> by_bytes;
    int64_t fewest = INT64_MAX, most = 0;
  };

  const Trace& t_;
  trace::RolesOfTrace roles_;
  uint64_t small_;
  std::map<StringId, uint64_t> members_;  ///< by group
  bool is_measured_;
  std::map<std::pair<StringId, CommType>, Counts> counts_;  ///< equal for all members of the group
};

bool has_duration(const Trace& t, NodeId n) { return t.flags[n] & trace::kHasDuration; }
bool is_storage(NodeType type) { return type == NodeType::mem_load || type == NodeType::mem_store; }

class SizeHider {
 public:
  SizeHider(const Trace& t, const NamedGroups& groups, const SizeHiding& hiding, HiddenSizes& hidden,
            std::span<const uint8_t> grows)
      : t_(t),
        grid_(hiding.grid),
        growth_(hiding.growth),
        pass_growth_(hiding.pass_growth),
        experts_(hiding.experts),
        grows_(grows),
        hidden_(hidden),
        quantities_(t, groups, static_cast<double>(hiding.width), hiding.is_measured) {
    for (size_t q = 0; q < scale_.size(); ++q) scale_[q] = scale(hiding.grid, static_cast<Quantity>(q), hiding.width);
  }

  Trace run() {
    Trace out = t_;
    if (!t_.comms.empty()) {
      const std::span<Comm> comms = out.comms.edit();
      for (const NodeId n : t_.nodes())
        if (t_.comm(n)) set_comm(n, comms[t_.comm_row[n]], out.texts);
    }
    for (const NodeId n : t_.nodes()) set_work(n, out);
    trace::assert_whole(out);
    return out;
  }

 private:
  uint64_t show(uint64_t value, Quantity quantity, double by) const {
    return value == 0 ? 0 : shown(grid_, quantity, static_cast<double>(value) * by);
  }

  void set_work(NodeId n, Trace& out) {
    const work::NodeWork before = work::work_of(t_, n);
    if (before.ops == 0 && before.bytes == 0) return;
    const bool storage = is_storage(t_.type[n]), removed = has_duration(t_, n) && !storage;
    const auto set = [&](Column<uint64_t>& column, uint64_t value) {
      if (n < column.size()) column.edit(n) = removed ? 0 : show(value, Quantity::work, scale_[kOf(Quantity::work)]);
    };
    set(out.num_ops, before.ops);
    set(out.tensor_bytes, before.bytes);
    ++(removed ? hidden_.works : hidden_.sizes);
    hidden_.kept_works += !removed && !storage;
  }

  void set_comm(NodeId n, Comm& comm, Arena& texts) {
    const Quantity quantity = quantities_.of(n);
    const double by = scale_[kOf(quantity)] * (grows_.empty() || !grows_[n] ? 1 : growth_) *
                      (quantity == Quantity::activations ? pass_growth_ : 1) *
                      (quantities_.is_of_experts(n) ? experts_ : 1);
    const Comm before = comm;
    const auto changed = [&](uint64_t value) { return show(value, quantity, by); };
    comm.bytes = changed(before.bytes);
    for (const uint64_t part : {before.in_bytes, before.out_bytes})  // a side can be one of equal parts
      if (part > 0 && part < before.bytes && before.bytes % part == 0)
        comm.bytes = (comm.bytes + before.bytes / part - 1) / (before.bytes / part) * (before.bytes / part);
    // A side of a gather has the bytes of all members: it stays that multiple.
    const auto side = [&](uint64_t value) {
      if (value == 0 || before.bytes == 0) return changed(value);
      if (value % before.bytes == 0) return comm.bytes * (value / before.bytes);
      if (before.bytes % value == 0) return comm.bytes / (before.bytes / value);
      return changed(value);
    };
    comm.in_bytes = side(before.in_bytes);
    comm.out_bytes = side(before.out_bytes);
    if (const auto in = parts(n, before.in_split, changed, texts)) {
      comm.in_split = in->text;
      comm.bytes = in->of(before.bytes, comm.bytes);
      comm.in_bytes = in->of(before.in_bytes, comm.in_bytes);
    }
    if (const auto out = parts(n, before.out_split, changed, texts)) {
      comm.out_split = out->text;
      comm.out_bytes = out->of(before.out_bytes, comm.out_bytes);
    }
    ++hidden_.sizes;
    hidden_.bytes_before += static_cast<double>(before.bytes);
    hidden_.bytes_after += static_cast<double>(comm.bytes);
    hidden_.shown.insert(comm.bytes);
  }

  /// The elements for each member. Each changes by itself, so that the sender and the receiver find the same number.
  struct Parts {
    std::string_view text;
    uint64_t before = 0, after = 0;  ///< elements of all members
    /// The bytes of the elements, if `bytes` are those of the elements before.
    uint64_t of(uint64_t bytes, uint64_t otherwise) const {
      return before > 0 && bytes % before == 0 ? after * (bytes / before) : otherwise;
    }
  };
  template <class Changed>
  std::optional<Parts> parts(NodeId n, std::string_view split, const Changed& changed, Arena& texts) const;

  const Trace& t_;
  const Grid& grid_;
  double growth_ = 1, pass_growth_ = 1, experts_ = 1;
  std::span<const uint8_t> grows_;
  HiddenSizes& hidden_;
  Quantities quantities_;
  std::array<double, kQuantities.size()> scale_{};
};

template <class Changed>
auto SizeHider::parts(NodeId n, std::string_view split, const Changed& changed, Arena& texts) const
    -> std::optional<Parts> {
  std::vector<uint64_t> elements;
  if (split.empty() || !trace::parse_split(split, elements)) return std::nullopt;
  const auto named = static_cast<uint64_t>(work::element_bytes(t_.strings[t_.comm(n)->dtype]));
  const uint64_t element =
      named > 0 ? named : std::max<uint64_t>(1, static_cast<uint64_t>(work::bytes_of(t_.dtype_of(n))));
  Parts made;
  for (uint64_t& part : elements) {
    made.before += part;
    part = changed(part * element) / element;
    made.after += part;
  }
  made.text = texts.add(fmt::format("[{}]", join(elements, ", ")));
  return made;
}

}  // namespace

void HiddenSizes::add(HiddenSizes&& other) {
  sizes += other.sizes;
  works += other.works;
  kept_works += other.kept_works;
  bytes_before += other.bytes_before;
  bytes_after += other.bytes_after;
  shown.merge(other.shown);
}

bool is_measured(const Trace& t) { return trace::metadata(t, "linked_iteration") || trace::has_starts(t); }

void add_sizes(const Trace& t, const NamedGroups& groups, FleetJob& job) {
  const Quantities quantities(t, groups, static_cast<double>(job.width), job.is_measured);
  for (const NodeId n : t.nodes()) {
    const Comm* const comm = t.comm(n);
    if (comm && comm->in_split.empty() && comm->bytes > 0) job.sizes[kOf(quantities.of(n))].insert(comm->bytes);
  }
}

void add_sizes(const trace::ClassJob& classes, FleetJob& job) {
  const std::vector<NamedGroups> groups = groups_of_slots(classes);
  std::set<uint32_t> added;
  for (const trace::ClassJob::Rank& rank : classes.ranks)
    if (added.insert(rank.cls).second) add_sizes(classes.classes[rank.cls], groups[rank.cls], job);
}

Trace hide_sizes(const Trace& t, const NamedGroups& groups, const SizeHiding& hiding, HiddenSizes& hidden,
                 std::span<const uint8_t> grows) {
  trace::assert_whole(t);
  CHAKRA_ASSERT(grows.empty() || grows.size() == t.size());
  return SizeHider(t, groups, hiding, hidden, grows).run();
}

trace::ClassJob hide_sizes(const trace::ClassJob& job, const SizeHiding& hiding, HiddenSizes& hidden,
                           std::span<const std::vector<uint8_t>> grows) {
  trace::ClassJob out = job;
  const std::vector<NamedGroups> groups = groups_of_slots(job);
  for (size_t c = 0; c < out.classes.size(); ++c)
    out.classes[c] = hide_sizes(job.classes[c], groups[c], hiding, hidden,
                                grows.empty() ? std::span<const uint8_t>() : std::span<const uint8_t>(grows[c]));
  return out;
}

}  // namespace chakra::edit
