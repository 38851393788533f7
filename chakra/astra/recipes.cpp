#include "chakra/astra/recipes.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string>

#include "chakra/astra/run.h"

namespace chakra::astra {
namespace {

using trace::CommType;
using trace::NodeId;
using Names = std::vector<std::string>;  ///< of algorithms, per dimension
using Lines = absl::InlinedVector<Plan, 2>;

constexpr int64_t kFirstGroupStream = 1'000'000;
constexpr int64_t kLastGroup = INT32_MAX;  // ASTRA-sim reads an int, and has no group below 1
constexpr uint64_t kMostChunks = 1 << 16;  // of a collective

Result<const Names*> algorithms(const Run& run, uint32_t r, NodeId n, CommType type) {
  const device::System& system = run.in.system;
  switch (type) {
    case CommType::all_reduce: return &system.all_reduce;
    case CommType::all_gather: return &system.all_gather;
    case CommType::reduce_scatter: return &system.reduce_scatter;
    case CommType::all_to_all: return &system.all_to_all;
    default: return bad(run, r, n, "sim.compat.collective", fmt::format("ASTRA-sim has no {}", trace::name(type)));
  }
}

/// The ranks of a group of the file; all of them stand for everyone.
Result<const Members*> group_named(Run& run, uint32_t r, NodeId n, const std::string& name) {
  const auto wrong = [&](const std::string& text) { return bad(run, r, n, "sim.compat.group", text); };
  const auto given = run.in.groups.find(name);
  if (given == run.in.groups.end()) return wrong(fmt::format("group {} is not in the groups file", quote(name)));
  Members& group = run.collectives.groups[name];
  if (group.ranks.empty()) {
    for (const int64_t rank : given->second) {
      if (rank >= static_cast<int64_t>(run.ranks.size()))
        return wrong(fmt::format("group {} names rank {}", quote(name), rank));
      group.ranks.push_back(static_cast<uint32_t>(rank));
    }
    group.everyone = group.ranks.size() == run.ranks.size();
    if (group.everyone) group.ranks = run.collectives.everyone.ranks;
  }
  if (std::find(group.ranks.begin(), group.ranks.end(), r) == group.ranks.end())
    return wrong(fmt::format("the rank is not in its group {}", quote(name)));
  if (group.ranks.size() < 2)
    return wrong(fmt::format("group {} has one member; ASTRA-sim would hang here", quote(name)));
  return &group;
}

Result<const Members*> find_members(Run& run, uint32_t r, NodeId n, Recipe& recipe) {
  const std::string name(run.ranks[r].trace->strings[recipe.group]);
  if (name.empty() || name == "0") return &run.collectives.everyone;
  int64_t number = 0;
  if (!parse_integer(name, number))
    return bad(run, r, n, "sim.compat.group", fmt::format("group {} is not a whole number", quote(name)));
  if (number < 1 || number > kLastGroup)
    return bad(run, r, n, "sim.compat.group",
               fmt::format("group {}: ASTRA-sim has groups of numbers from 1 to {}; give it such a number", quote(name),
                           kLastGroup));
  recipe.named = true;
  recipe.first_stream = number * kFirstGroupStream;
  return group_named(run, r, n, name);
}

Result<Algorithm> algorithm(const Run& run, uint32_t r, NodeId n, const std::string& name) {
  const auto found = algorithm_named(name);
  if (!found) return bad(run, r, n, "sim.compat.algorithm", fmt::format("ASTRA-sim has no algorithm {}", quote(name)));
  return *found;
}

/// ASTRA-sim crashes or waits for ever here.
Result<void> check_algorithm(Run& run, uint32_t r, NodeId n, const Plan& p, bool everyone) {
  const auto wrong = [&](const std::string& text) { return bad(run, r, n, "sim.compat.algorithm", text); };
  const bool power = std::has_single_bit(p.line.places);
  if (p.algorithm.kind == AlgorithmKind::halving_doubling && p.type == CommType::all_to_all)
    return wrong("halvingDoubling has no ALL_TO_ALL");
  if (p.algorithm.kind != AlgorithmKind::packets && !power)
    return wrong(fmt::format("halvingDoubling and doubleBinaryTree need a power of two ranks, not {}", p.line.places));
  if (p.algorithm.kind == AlgorithmKind::tree) {
    if (!everyone) return wrong("doubleBinaryTree requires all ranks, not a group");
    if (p.type != CommType::all_reduce) run.note(Quirk::tree_reduces);
  }
  return {};
}

/// The line of a group is flat; several dimensions make it a ring, whatever the file says [7].
Result<Lines> line_of_group(Run& run, uint32_t r, NodeId n, const Names& names, const Members& members) {
  Plan p;
  CHAKRA_ASSIGN(p.algorithm, algorithm(run, r, n, names.size() == 1 ? names[0] : "ring"));
  const auto self = std::find(members.ranks.begin(), members.ranks.end(), r) - members.ranks.begin();
  p.line = {&members.ranks, 0, 1, static_cast<uint32_t>(members.ranks.size()), static_cast<uint32_t>(self)};
  if (run.dims() > 1) run.note(Quirk::lowest_dimension);
  return Lines{p};
}

/// One line per logical dimension.
Result<Lines> lines_of_all(Run& run, uint32_t r, NodeId n, const Names& names) {
  const auto ranks = static_cast<uint32_t>(run.ranks.size());
  Lines lines;
  uint32_t stride = 1;
  for (uint32_t d = 0; d < names.size(); ++d) {
    Plan& p = lines.emplace_back();
    p.dim = d;
    CHAKRA_ASSIGN(p.algorithm, algorithm(run, r, n, names[d]));
    const auto size = static_cast<uint32_t>(run.in.fabric.dimensions[d].ranks);
    if (p.algorithm.one_line) {
      p.line = {nullptr, 0, 1, ranks, r};
      if (run.dims() > 1) run.note(Quirk::lowest_dimension);
      break;
    }
    const uint32_t self = r / stride % size;
    p.line = {nullptr, r - self * stride, stride, size, self};
    stride *= size;
  }
  if (names.size() < run.dims() && !lines.back().algorithm.one_line) run.note(Quirk::missing_dimensions);
  if (stride < ranks && lines.back().algorithm.kind == AlgorithmKind::tree)
    return bad(run, r, n, "sim.compat.algorithm",
               fmt::format("the system file names {} algorithms for {} dimensions, doubleBinaryTree last, where "
                           "ASTRA-sim crashes; name one for each dimension",
                           names.size(), run.dims()));
  return lines;
}

/// Whether a dimension takes part: all do if the node does not say, but ASTRA-sim then means four.
Result<bool> is_involved(const Run& run, uint32_t r, NodeId n, const Recipe& recipe, size_t dim) {
  const size_t known = recipe.involved_count == 0 ? 4 : recipe.involved_count;
  if (dim >= known)
    return bad(run, r, n, "sim.compat.dimensions", fmt::format("involved_dim has no entry for dimension {}", dim));
  return recipe.involved_count == 0 || (recipe.involved >> dim & 1) != 0;
}

Result<Lines> active_lines(Run& run, uint32_t r, NodeId n, const Recipe& recipe, const Names& names,
                           const Members& members) {
  if (names.empty())
    return bad(run, r, n, "sim.compat.algorithm",
               fmt::format("the system file names no algorithm for {}", trace::name(recipe.type)));
  if (names.size() > run.dims())
    return bad(run, r, n, "sim.compat.algorithm",
               fmt::format("the system file names {} algorithms for {} dimensions", names.size(), run.dims()));
  CHAKRA_ASSIGN(const Lines lines,
                members.everyone ? lines_of_all(run, r, n, names) : line_of_group(run, r, n, names, members));
  Lines active;
  for (size_t d = 0; d < lines.size(); ++d) {
    bool involved = true;  // of a named group, whatever the node says
    if (!recipe.named) {
      CHAKRA_ASSIGN(involved, is_involved(run, r, n, recipe, d));
    }
    if (involved && lines[d].line.places > 1) active.push_back(lines[d]);
  }
  if (active.empty())
    return bad(run, r, n, "sim.compat.dimensions", "no dimension takes part; ASTRA-sim would hang here");
  return active;
}

/// The tree leaves a chunk's size as it is, whatever the phase is for [4].
bool keeps_size(const Plan& p) {
  return p.algorithm.kind == AlgorithmKind::tree &&
         (p.type == CommType::all_gather || p.type == CommType::reduce_scatter);
}

/// The phases of a chunk of `bytes` over lines [2].
Result<void> add_plans(Run& run, uint32_t r, NodeId n, const Lines& lines, uint64_t bytes, Recipe& recipe) {
  using Half = Plan::Half;
  const auto add = [&](const Plan& line, CommType type, Half half) -> Result<void> {
    Plan p = line;
    p.type = type;
    p.half = half;
    p.bytes = bytes;
    CHAKRA_TRY(check_algorithm(run, r, n, p, recipe.everyone));
    if (p.algorithm.kind != AlgorithmKind::tree) {
      if (type == CommType::all_gather) bytes *= p.line.places;
      if (type == CommType::reduce_scatter) bytes /= p.line.places;
    }
    if (!recipe.plans.empty() && keeps_size(recipe.plans.back())) run.note(Quirk::tree_keeps_size);
    recipe.plans.push_back(p);
    return {};
  };
  if (recipe.type == CommType::all_gather) {
    for (size_t i = lines.size(); i-- > 0;) CHAKRA_TRY(add(lines[i], recipe.type, Half::all));
  } else if (recipe.type == CommType::all_reduce && run.in.system.local_bw_aware) {
    for (size_t i = 0; i + 1 < lines.size(); ++i) CHAKRA_TRY(add(lines[i], CommType::reduce_scatter, Half::first));
    CHAKRA_TRY(add(lines.back(), CommType::all_reduce, Half::first));
    for (size_t i = lines.size() - 1; i-- > 0;) CHAKRA_TRY(add(lines[i], CommType::all_gather, Half::second));
  } else {
    for (const Plan& line : lines) CHAKRA_TRY(add(line, recipe.type, Half::all));
  }
  return {};
}

}  // namespace

Recipe recipe_key(const trace::Comm& comm) {
  Recipe key;
  key.type = comm.type;
  key.involved_count = comm.involved_count;
  key.group = comm.group;
  key.bytes = comm.bytes;
  key.involved = comm.involved;
  return key;
}

Result<void> find_recipe(Run& run, uint32_t r, NodeId n, Recipe& recipe) {
  CHAKRA_ASSIGN(const Names* names, algorithms(run, r, n, recipe.type));
  if (!run.in.system.splits_given)
    return fail(Code::bad_input, "sim.compat.splits", "the system file needs 'preferred-dataset-splits'",
                {run.in.system.file});
  CHAKRA_ASSIGN(const Members* members, find_members(run, r, n, recipe));
  recipe.everyone = members->everyone;
  uint64_t size = recipe.bytes;
  const auto splits = static_cast<uint64_t>(run.in.system.splits);
  uint64_t chunk = size / splits;
  if (recipe.type != CommType::all_gather && chunk < run.ranks.size()) {
    chunk = run.ranks.size();
    size = splits * chunk;
  }
  const auto bad_size = [&](const std::string& text) { return bad(run, r, n, "sim.compat.size", text); };
  if (chunk == 0) return bad_size(fmt::format("{} bytes cannot be split into {}", size, splits));
  const uint64_t chunks = (size + chunk - 1) / chunk;
  if (chunks > kMostChunks)
    return bad_size(fmt::format("it would be split into {} chunks; at most {} are possible", chunks, kMostChunks));
  if (size % chunk != 0) run.note(Quirk::remainder);

  if (const auto custom = run.in.custom.find(recipe.type); custom != run.in.custom.end()) {
    if (!custom->second.find(r))
      return bad(run, r, n, "sim.compat.custom", "the custom collective has no trace of this rank");
    recipe.plans.resize(1);
  } else {
    CHAKRA_ASSIGN(const Lines lines, active_lines(run, r, n, recipe, *names, *members));
    CHAKRA_TRY(add_plans(run, r, n, lines, chunk, recipe));
  }
  recipe.chunks = chunks;
  return {};
}

}  // namespace chakra::astra
