// More or fewer data-parallel ranks of a generated job.
#include "chakra/whatif/layouts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/base/times.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/nodes.h"

namespace chakra::whatif {
namespace {

using gen::Axis;
using gen::Layout;
using gen::Slot;
using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr int64_t kMostPlaces = 1 << 22;

bool same(const Layout& a, const Layout& b) {
  return a.mesh.size == b.mesh.size && a.mesh.stride == b.mesh.stride && a.zero == b.zero &&
         a.zero_ranks == b.zero_ranks && a.experts == b.experts;
}

Failure refuse(const std::string& why) {
  return fail(Code::bad_input, "whatif.dp.mesh", fmt::format("this number of replicas is not supported: {}", why));
}

double real(int64_t n) { return static_cast<double>(n); }

/// "dp" of "dp3", and 3.
struct GroupName {
  std::string slot;
  size_t number = 0;
};
std::optional<GroupName> split_name(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  GroupName split{std::string(name.substr(0, digits))};
  if (digits == 0 || !parse_decimal(name.substr(digits), split.number)) return std::nullopt;
  return split;
}

/// The groups of a slot, and by rank which is its own.
struct SlotGroups {
  Slot slot;
  std::vector<std::vector<int64_t>> groups;
  std::vector<size_t> of;
};
SlotGroups groups_of(const Layout& layout, const Slot& slot) {
  SlotGroups all{slot, gen::groups(layout.mesh, slot), {}};
  all.of.resize(static_cast<size_t>(layout.mesh.ranks()), SIZE_MAX);
  for (size_t g = 0; g < all.groups.size(); ++g)
    for (const int64_t rank : all.groups[g]) all.of[static_cast<size_t>(rank)] = g;
  return all;
}

/// The rank of `now` at the same place, or at that of a replica modulo their number.
int64_t rank_at(const gen::Mesh& now, const gen::Mesh& then, int64_t rank) {
  int64_t at = then.place(rank, Axis::dp) % now.of(Axis::dp) * now.stride[gen::index(Axis::dp)];
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::pp}) at += then.place(rank, axis) * now.stride[gen::index(axis)];
  return at;
}
/// A rank of `now` that runs the trace of `rank`: the one at the same place, else any of its stage and its experts.
int64_t rank_like(const gen::Mesh& now, const gen::Mesh& then, int64_t rank) {
  const int64_t like = rank_at(now, then, rank);
  const int64_t ep = then.place(rank, Axis::ep);
  if (now.place(like, Axis::ep) == ep) return like;
  return then.place(rank, Axis::pp) * now.stride[gen::index(Axis::pp)] + ep * now.stride[gen::index(Axis::ep)];
}

class Relayout {
 public:
  Relayout(sim::SimInput& input, const Layout& before, const Layout& after)
      : in_(input), before_(before), after_(after) {
    const double share = real(before.data().size) / real(after.data().size);
    if (before.zero > 0) share_ = share;
  }

  Result<Reached> run() {
    CHAKRA_TRY(check_sizes());
    CHAKRA_TRY(find_groups());
    CHAKRA_TRY(check_storage());
    trace::TraceSet job;
    for (int64_t rank = 0; rank < after_.mesh.ranks(); ++rank) {
      const int64_t like = rank_like(before_.mesh, after_.mesh, rank);
      job.ranks.push_back(in_.job.ranks[static_cast<size_t>(like)]);
      settle(job.ranks.back(), like, rank);
    }
    move_rank_rows(before_.mesh, after_.mesh, in_.system);
    in_.groups.clear();
    for (const auto& [name, slot] : new_)
      for (size_t g = 0; g < slot.groups.size(); ++g) in_.groups[fmt::format("{}{}", name, g)] = slot.groups[g];
    in_.job = std::move(job);
    in_.matching.reset();
    return reached_;
  }

 private:
  /// Who exchanges nothing in the job has no node that says what it would exchange.
  Result<void> check_sizes() const {
    const auto grows = [](const Slot& old_slot, const Slot& new_slot) {
      return old_slot.size == 1 && new_slot.size > 1;
    };
    const Slot old_experts = *gen::slot_named(before_, "edp"), new_experts = *gen::slot_named(after_, "edp");
    if (grows(before_.data(), after_.data()) || grows(before_.replicas(), after_.replicas()) ||
        (before_.experts && grows(old_experts, new_experts)))
      return fail(Code::bad_input, "whatif.dp.alone",
                  "some parameters of the job have one replica, so the communication between several replicas is "
                  "unknown; generate the job with at least two replicas of each parameter");
    const bool shrinks = after_.data().size == 1 || (before_.experts && new_experts.size == 1);
    for (const Trace& t : in_.job.ranks)
      for (StringId id = 0; id < t.strings.size() && shrinks && before_.zero == 3; ++id)
        if (t.strings[id].ends_with(".weights.cast"))
          return refuse("weights are cast once per step without gathering, but once per pass with gathering");
    return {};
  }

  /// The groups of the job are those of its layout, and have others of the same kind in the new one.
  Result<void> find_groups() {
    for (const match::Group& group : in_.matching->groups) {
      if (group.name.empty()) continue;
      const auto name = split_name(group.name);
      const auto slot = name ? gen::slot_named(before_, name->slot) : std::nullopt;
      if (!slot) return refuse(fmt::format("no generated step has a group {}", quote(group.name)));
      if (name->slot == "tables") return refuse("each rank has different embedding tables");
      auto old_slot = old_.find(name->slot);
      if (old_slot == old_.end()) {
        old_slot = old_.emplace(name->slot, groups_of(before_, *slot)).first;
        new_.emplace(name->slot, groups_of(after_, *gen::slot_named(after_, name->slot)));
      }
      const auto& groups = old_slot->second.groups;
      std::vector<int64_t> members = group.ranks;
      std::sort(members.begin(), members.end());
      if (name->number >= groups.size() || groups[name->number] != members)
        return refuse(fmt::format("group {} has other ranks than the generated group", quote(group.name)));
    }
    return {};
  }

  Result<void> check_storage() const {
    const bool mixed = before_.zero == 1 || before_.zero == 2;
    for (const Trace& t : in_.job.ranks)
      if (mixed && share_ != 1 && has_io(t, "ckpt_read"))
        return refuse("a restart reads both replicated parameters and the sharded optimizer");
    return {};
  }

  /// The partner of `rank` that lies as `partner` does to `like`: stages along pp, parts of a context along cp.
  int64_t moved(int64_t partner, int64_t like, int64_t rank) const {
    if (partner < 0) return partner;
    const gen::Mesh& mesh = before_.mesh;
    const auto steps = [&](Axis axis) { return mesh.place(partner, axis) - mesh.place(like, axis); };
    return after_.mesh.moved(after_.mesh.moved(rank, Axis::pp, steps(Axis::pp)), Axis::cp, steps(Axis::cp));
  }

  /// The trace of rank `like` becomes that of `rank`.
  void settle(Trace& t, int64_t like, int64_t rank) {
    t.rank = rank;
    trace::forget_members(t);  // the table has them
    for (trace::Attr& attr : t.metadata)
      if (t.strings[attr.name] == "dp") attr.value = after_.mesh.of(Axis::dp);
    std::map<StringId, const SlotGroups*> slot_of;  // by the name of a group
    std::map<StringId, StringId> name_of;
    for (const NodeId n : t.nodes()) {
      if (t.type[n] == NodeType::coll) collective(t, n, rank, slot_of, name_of);
      if (t.type[n] == NodeType::comp && share_ != 1) update(t, n);
      if (t.type[n] != NodeType::send && t.type[n] != NodeType::recv) continue;
      trace::Comm& comm = t.comms.edit(t.comm_row[n]);
      comm.src = moved(comm.src, like, rank);
      comm.dst = moved(comm.dst, like, rank);
    }
    scale_io(t, "ckpt_write", real(before_.mesh.of(Axis::dp)) / real(after_.mesh.of(Axis::dp)));
    if (before_.zero == 3) scale_io(t, "ckpt_read", share_);
  }

  /// What each rank gathers is its share; sums of shares of gradients are as large.
  void collective(Trace& t, NodeId n, int64_t rank, std::map<StringId, const SlotGroups*>& slot_of,
                  std::map<StringId, StringId>& name_of) {
    const StringId old_name = t.comms[t.comm_row[n]].group;
    if (t.strings[old_name].empty()) return;
    const auto [found, added] = slot_of.try_emplace(old_name, nullptr);
    if (added) {
      const std::string slot = split_name(t.strings[old_name])->slot;
      found->second = &new_.at(slot);
      name_of[old_name] = t.strings.intern(fmt::format("{}{}", slot, found->second->of[static_cast<size_t>(rank)]));
    }
    trace::Comm& comm = t.comms.edit(t.comm_row[n]);
    comm.group = name_of[old_name];
    const Slot& now = found->second->slot;
    const bool data = now.name == after_.data().name || now.name == "edp";
    double factor = 1;
    if (data && comm.type == CommType::all_gather) factor = real(old_.at(now.name).slot.size) / real(now.size);
    if (now.name == "tied" || now.name == "copy") factor = share_;
    if (data) ++reached_.nodes;
    if (factor != 1) comm.bytes = static_cast<uint64_t>(std::ceil(static_cast<double>(comm.bytes) * factor));
  }

  /// The optimizer, and the norm of the gradients, of what a rank has of them.
  void update(Trace& t, NodeId n) {
    const std::string_view name = t.name_of(n);
    if (!name.ends_with(".optimizer") && name != "gradients.norm") return;
    t.dur_ps.edit(n) = times(t.dur_ps[n], share_);
    ++reached_.nodes;
  }

  sim::SimInput& in_;
  const Layout &before_, &after_;
  double share_ = 1;  ///< of what a rank updated, that it updates now
  std::map<std::string, SlotGroups> old_, new_;
  Reached reached_;
};

}  // namespace

Result<std::optional<Layout>> common_layout(const trace::TraceSet& job) {
  std::optional<Layout> common;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const std::optional<Layout> own = gen::layout_of(job.ranks[r]);
    if (r == 0) common = own;
    if (!own && !common) continue;
    if (!own || !common || !same(*own, *common))
      return fail(Code::bad_input, "whatif.dp.groups",
                  "by their metadata, ranks of the job were generated for different meshes");
  }
  if (!common) return common;
  if (std::ssize(job.ranks) != common->mesh.ranks() || job.ranks.back().rank + 1 != common->mesh.ranks())
    return fail(Code::bad_input, "whatif.dp.groups",
                fmt::format("the job was generated for {} ranks, and has the traces of {}", common->mesh.ranks(),
                            job.ranks.size()));
  return common;
}

void move_rank_rows(const gen::Mesh& now, const gen::Mesh& then, device::System& system) {
  if (system.unlike.empty()) return;
  std::map<int64_t, device::RankTraits> rows;
  for (int64_t rank = 0; rank < then.ranks(); ++rank) {
    const auto row = system.unlike.find(rank_at(now, then, rank));
    if (row != system.unlike.end()) rows[rank] = row->second;
  }
  system.unlike = std::move(rows);
}

// `whatif.dp.mesh` (1): a generated job that cannot have that many replicas, or of which they would change more
Result<Reached> change_layout(const Layout& before, int64_t wanted, sim::SimInput& input) {
  Layout after = before;
  gen::Mesh& mesh = after.mesh;
  mesh.size[gen::index(Axis::dp)] = wanted;
  const int64_t stage = mesh.of(Axis::tp) * mesh.of(Axis::cp) * wanted;
  const int64_t experts = mesh.of(Axis::etp) * mesh.of(Axis::ep);
  if (stage > kMostPlaces / mesh.of(Axis::pp)) return refuse(fmt::format("at most {} ranks are possible", kMostPlaces));
  if (stage % experts != 0)
    return refuse(fmt::format("tp x cp x dp, {}, is not a multiple of etp x ep, {}", stage, experts));
  if (after.zero_ranks > 0 && wanted % after.zero_ranks != 0)
    return refuse(fmt::format("dp, {}, is not a multiple of zero-ranks, {}", wanted, after.zero_ranks));
  mesh.size[gen::index(Axis::edp)] = stage / experts;
  Result<gen::Mesh> placed = gen::ordered(mesh, after.order);
  if (!placed) return refuse(placed.error().message());
  mesh = *std::move(placed);
  return Relayout(input, before, after).run();
}

}  // namespace chakra::whatif
