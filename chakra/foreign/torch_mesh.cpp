// The mesh of a program of torch.compile: which ranks form each group, and which dimensions may grow.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/foreign/torch.h"
#include "chakra/trace/roles.h"

namespace chakra::foreign::torch_form {

using trace::ClassJob;
using trace::Trace;

namespace {

constexpr int64_t kMostRanksInFile = 1 << 15, kMostMeshRanks = 1 << 18;  ///< by the file alone; if they are asked for

Failure refuse(const Program& program, std::string tag, std::string text) {
  return fail(Code::bad_input, std::move(tag), std::move(text), {program.file});
}
Failure refuse_ranks(const Program& program, std::string text) {
  return fail(Code::usage, "foreign.torch.retarget", std::move(text), {program.file});
}

/// Ranks in row-major order of the mesh, and the groups along some of its dimensions.
class Mesh {
 public:
  explicit Mesh(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  int64_t ranks() const {
    int64_t ranks = 1;
    for (const int64_t size : sizes_) ranks *= size;
    return ranks;
  }
  /// Return the members of the group of `rank`, ascending.
  std::vector<int64_t> members(const std::vector<bool>& along, int64_t rank) const {
    std::vector<int64_t> members{rank - part(along, rank)};
    int64_t stride = ranks();
    for (size_t d = 0; d < sizes_.size(); ++d) {
      stride /= sizes_[d];
      if (!along[d]) continue;
      const std::vector<int64_t> before = std::move(members);
      members.clear();
      for (const int64_t first : before)
        for (int64_t place = 0; place < sizes_[d]; ++place) members.push_back(first + place * stride);
    }
    return members;
  }
  /// Return the first member of the group of `rank`.
  int64_t first(const std::vector<bool>& along, int64_t rank) const { return rank - part(along, rank); }

 private:
  /// The share of `rank` in the distance from rank 0 that the dimensions have.
  int64_t part(const std::vector<bool>& along, int64_t rank) const {
    int64_t part = 0, stride = 1;
    for (size_t d = sizes_.size(); d-- > 0; stride *= sizes_[d])
      if (along[d]) part += rank / stride % sizes_[d] * stride;
    return part;
  }

  std::vector<int64_t> sizes_;
};

/// A group of the file that collectives use, with its dimensions.
struct Slot {
  const GroupUse* use = nullptr;
  const ProgramGroup* group = nullptr;
  std::vector<bool> along;
  std::string name, description;  ///< "dp", or "world" for all dimensions; the name may have a number behind
};

bool is_data_parallel(std::string_view dim) {
  const trace::Role role = trace::role_named(dim);
  return role == trace::Role::dp || role == trace::Role::shard || role == trace::Role::replica ||
         role == trace::Role::edp;
}

Result<void> check_mesh(const Program& p) {
  if (p.version != 1)
    return refuse(p, "foreign.torch.version",
                  fmt::format("the program has version {}; this release reads version 1", p.version));
  int64_t ranks = 1;
  for (const MeshDim& dim : p.mesh)
    if (dim.size < 1 || dim.size > kMostRanksInFile || (ranks *= dim.size) > kMostRanksInFile)
      return refuse(p, "foreign.large",
                    fmt::format("the mesh has a size below 1 or more than {} ranks; export fewer, and give --num-npus",
                                kMostRanksInFile));
    else if (dim.name.empty()) return refuse(p, "foreign.torch.mesh", "a dimension of the mesh has no name");
  for (size_t d = 0; d < p.mesh.size(); ++d)
    for (size_t e = 0; e < d; ++e)
      if (p.mesh[d].name == p.mesh[e].name)
        return refuse(p, "foreign.torch.mesh", fmt::format("two dimensions are called {}", quote(p.mesh[d].name)));
  if (p.mesh.empty() || ranks != p.world || p.rank < 0 || p.rank >= p.world)
    return refuse(p, "foreign.torch.mesh",
                  fmt::format("rank {} and a world_size of {} do not fit a mesh of {} ranks", p.rank, p.world, ranks));
  return {};
}

Result<std::vector<Slot>> slots_of(const Program& p, const Trace& t) {
  std::vector<int64_t> sizes;
  for (const MeshDim& dim : p.mesh) sizes.push_back(dim.size);
  const Mesh mesh(std::move(sizes));
  std::vector<Slot> slots;
  for (const GroupUse& use : p.uses) {
    const std::string_view name = t.strings[use.name];
    const auto group =
        std::find_if(p.groups.begin(), p.groups.end(), [&](const ProgramGroup& g) { return g.name == name; });
    if (group == p.groups.end())
      return refuse(p, "foreign.torch.group", fmt::format("the group {} of a collective is missing", quote(name)));
    Slot slot{&use, &*group, std::vector<bool>(p.mesh.size(), false), "", ""};
    for (const std::string& dim : group->dims) {
      const size_t d = static_cast<size_t>(
          std::find_if(p.mesh.begin(), p.mesh.end(), [&](const MeshDim& m) { return m.name == dim; }) - p.mesh.begin());
      if (d == p.mesh.size())
        return refuse(p, "foreign.torch.group", fmt::format("the mesh has no dimension {}", quote(dim)));
      slot.along[d] = true;
    }
    if (mesh.members(slot.along, p.rank) != group->ranks)
      return refuse(p, "foreign.torch.group",
                    fmt::format("the ranks of the group {} are not those along {} of the mesh", quote(name),
                                join(group->dims, ", ")));
    const bool all = p.mesh.size() > 1 && std::find(slot.along.begin(), slot.along.end(), false) == slot.along.end();
    slot.name = all ? "world" : group->dims.empty() ? "alone" : join(group->dims, "_");
    slot.description = slot.name;
    for (int copy = 2; find_row(slots, slot.name); ++copy) slot.name = fmt::format("{}_{}", slot.description, copy);
    slots.push_back(std::move(slot));
  }
  return slots;
}

/// Return the number of ranks along each dimension.
Result<std::vector<int64_t>> sizes_wanted(const Program& p, const Options& options) {
  std::vector<int64_t> sizes;
  for (const MeshDim& dim : p.mesh) sizes.push_back(dim.size);
  if (!options.dims.empty()) {
    if (options.dims.size() != sizes.size())
      return refuse_ranks(
          p, fmt::format("--dims has {} numbers, the mesh {} dimensions", options.dims.size(), sizes.size()));
    sizes.assign(options.dims.rbegin(), options.dims.rend());
  } else if (options.num_npus > 0 && options.num_npus != p.world) {
    size_t grows = p.mesh.size();
    for (size_t d = 0; d < p.mesh.size(); ++d)
      if (is_data_parallel(p.mesh[d].name)) {
        if (grows < p.mesh.size())
          return refuse_ranks(p, fmt::format("{} and {} are both data parallel; give --dims, innermost first",
                                             p.mesh[grows].name, p.mesh[d].name));
        grows = d;
      }
    if (grows == p.mesh.size())
      return refuse_ranks(p, "no dimension of the mesh is data parallel; export the program with that number of ranks");
    const int64_t others = p.world / sizes[grows];
    if (options.num_npus % others != 0)
      return refuse_ranks(p, fmt::format("{} ranks are not a multiple of the {} ranks of the other dimensions",
                                         options.num_npus, others));
    sizes[grows] = options.num_npus / others;
  }
  int64_t ranks = 1;
  for (const int64_t size : sizes)
    if (size < 1 || size > kMostMeshRanks || (ranks *= size) > kMostMeshRanks)
      return fail(Code::usage, "foreign.large", fmt::format("at most {} ranks are possible", kMostMeshRanks), {p.file});
  if (options.num_npus > 0 && ranks != options.num_npus)
    return refuse_ranks(p, fmt::format("--num-npus gives {} ranks, but --dims gives {}", options.num_npus, ranks));
  return sizes;
}

/// Whether the program of one rank stays the same if the dimension has another size.
Result<void> check_growth(const Program& p, const std::vector<Slot>& slots, size_t d) {
  const MeshDim& dim = p.mesh[d];
  const auto no = [&](const std::string& why) {
    return refuse_ranks(p, fmt::format("the number of ranks along {} cannot change: {}; export the program with that "
                                       "number of ranks",
                                       quote(dim.name), why));
  };
  if (!is_data_parallel(dim.name)) return no("the dimension is not data parallel");
  for (const Placement& placement : p.placements) {
    if (placement.dim != dim.name) continue;
    if (placement.how != "Replicate") return no(fmt::format("{} is divided along it", quote(placement.parameter)));
    if (dim.size == 1) return no("DTensor does not communicate along a dimension of one rank");
  }
  int64_t collectives = 0;
  for (const Slot& slot : slots) {
    if (dim.size == 1 && !slot.group->exact) return no(fmt::format("{} may be along it or not", slot.name));
    if (!slot.along[d]) continue;
    if (!slot.use->sized_by.empty())
      return no(fmt::format("the shapes of {} depend on that number", slot.use->sized_by));
    collectives += slot.use->count;
  }
  if (collectives == 0) return no("no collective is along it");
  return {};
}

}  // namespace

Result<ClassJob> spread(const Program& p, Trace&& trace, const Options& options, Findings& findings) {
  CHAKRA_TRY(check_mesh(p));
  CHAKRA_ASSIGN(const std::vector<Slot> slots, slots_of(p, trace));
  CHAKRA_ASSIGN(const std::vector<int64_t> sizes, sizes_wanted(p, options));
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != p.mesh[d].size) CHAKRA_TRY(check_growth(p, slots, d));
  const Mesh mesh(sizes);
  const int64_t ranks = mesh.ranks();
  if (static_cast<uint64_t>(ranks) * slots.size() > kMostNodes)
    return refuse(p, "foreign.large", fmt::format("{} ranks are too many for {} groups", ranks, slots.size()));
  ClassJob job;
  job.group_slots.emplace_back();
  int64_t alone = 0;
  std::vector<std::vector<uint32_t>> group_of;  // by slot and rank
  for (const Slot& slot : slots) {
    job.group_slots[0].push_back(slot.name);
    trace.groups.push_back({slot.name, "", "", {}, 0});
    std::vector<uint32_t>& of = group_of.emplace_back(ranks);
    const size_t before = job.groups.size();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const int64_t first = mesh.first(slot.along, rank);
      if (first == rank) {
        std::vector<int64_t> members = mesh.members(slot.along, rank);
        const auto size = static_cast<int64_t>(members.size());
        of[rank] = static_cast<uint32_t>(job.groups.size());
        job.groups.push_back({fmt::format("{}.{}", slot.name, job.groups.size() - before), slot.description, "",
                              std::move(members), size});
      }
      of[rank] = of[first];
    }
    if (job.groups.back().size == 1) alone += slot.use->count;
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    job.ranks.push_back({rank, 0, static_cast<uint32_t>(job.group_of.size()), 0});
    for (const std::vector<uint32_t>& of : group_of) job.group_of.push_back(of[static_cast<size_t>(rank)]);
  }
  for (const trace::NodeId n : trace.nodes())
    if (const trace::Comm* comm = trace.comm(n)) {
      const auto slot =
          std::find_if(slots.begin(), slots.end(), [&](const Slot& s) { return s.use->name == comm->group; });
      trace.comms.edit(trace.comm_row[n]).group = trace.strings.intern(slot->name);
    }
  job.peer_slots.push_back(0);
  job.classes.push_back(std::move(trace));
  if (alone > 0)
    note(findings, "foreign.torch.alone", Severity::warning,
         fmt::format("{} collectives have a group of one rank", alone));
  return job;
}

}  // namespace chakra::foreign::torch_form
