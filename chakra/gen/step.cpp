// A training step of a transformer: the trace of each pipeline stage, and which rank is in which.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/gen/stage.h"

namespace chakra::gen {
namespace {

using trace::ClassJob;
using trace::Trace;

constexpr double kMostRanks = 1 << 22;
constexpr double kMostNodes = 50e6;  // of all classes

tl::unexpected<Error> wrong(const char* tag, std::string text) { return fail(Code::usage, tag, std::move(text)); }

Result<void> check(const StepOptions& o) {
  for (const NumberRow& row : kNumbers)
    if (const int64_t value = o.*row.value; value < row.least || value > row.most)
      return wrong("gen.step.range",
                   fmt::format("{} is {}; from {} to {} are possible", row.name, value, row.least, row.most));
  const auto positive = [](double x) { return x > 0 && x <= 1e24; };
  if (!positive(o.peak_flop_per_s) || !positive(o.memory_bytes_per_s) || !positive(o.efficiency) || o.efficiency > 1)
    return wrong("gen.step.range",
                 "the device's peak and bandwidth are above 0, its efficiency is above 0 and at most 1");
  const auto multiple = [](const char* what, int64_t of, const char* by, int64_t n) -> Result<void> {
    if (of % n == 0) return {};
    return wrong("gen.step.divide", fmt::format("{}, {}, is no multiple of {}, {}", what, of, by, n));
  };
  if (!o.head_dim) CHAKRA_TRY(multiple("hidden", o.hidden, "heads", o.heads));
  CHAKRA_TRY(multiple("heads", o.heads, "kv-heads", kv_heads(o)));
  CHAKRA_TRY(multiple("heads", o.heads, "tp", o.tp));
  if (kv_heads(o) >= o.tp) CHAKRA_TRY(multiple("kv-heads", kv_heads(o), "tp", o.tp));
  else CHAKRA_TRY(multiple("tp", o.tp, "kv-heads", kv_heads(o)));
  CHAKRA_TRY(multiple("ffn", o.ffn, "tp", o.tp));
  CHAKRA_TRY(multiple("sequence", o.sequence, "tp", o.tp));
  if (o.virtual_stages > 1) {
    if (o.pp == 1) return wrong("gen.step.divide", "virtual stages need more than one pipeline stage");
    CHAKRA_TRY(multiple("micro-batches", o.micro_batches, "pp", o.pp));
  }
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double ranks = real(o.tp) * real(o.pp) * real(o.dp), stages = real(o.pp) * real(o.virtual_stages);
  if (ranks > kMostRanks)
    return wrong("gen.step.large", fmt::format("{} ranks; at most {} are possible", ranks, kMostRanks));
  if (stages > real(o.layers) + 2)
    return wrong("gen.step.layers",
                 fmt::format("{} layers cannot be dealt out to {} virtual stages", o.layers, stages));
  if (const double nodes = real(o.micro_batches) * (50 * real(o.layers) + 30 * stages); nodes > kMostNodes)
    return wrong("gen.step.large", fmt::format("about {:.3g} nodes; at most {:.3g} are possible", nodes, kMostNodes));
  return {};
}

/// Where a rank is, as counted along each way of being parallel.
enum Axis : uint8_t { kTp, kDp, kPp };
struct Grid {
  std::array<int64_t, 3> size, stride;

  int64_t index(int64_t rank, Axis axis) const { return rank / stride[axis] % size[axis]; }
  /// The rank as many steps further along an axis, coming round.
  int64_t moved(int64_t rank, Axis axis, int64_t steps) const {
    const int64_t at = index(rank, axis);
    return rank + ((at + steps + size[axis]) % size[axis] - at) * stride[axis];
  }
};

Result<Grid> grid(const StepOptions& o) {
  constexpr std::array<std::string_view, 3> names{"tp", "dp", "pp"};
  Grid grid{{o.tp, o.dp, o.pp}, {0, 0, 0}};
  int64_t stride = 1;
  std::string_view rest = o.order;
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t dash = std::min(rest.find('-'), rest.size());
    const auto axis = static_cast<size_t>(std::find(names.begin(), names.end(), rest.substr(0, dash)) - names.begin());
    if (axis == names.size() || grid.stride[axis] != 0 || (i == 2) != (dash == rest.size()))
      return wrong("gen.step.order", fmt::format("{} is no order of tp, dp and pp, such as tp-dp-pp", quote(o.order)));
    grid.stride[axis] = stride;
    stride *= grid.size[axis];
    rest.remove_prefix(std::min(dash + 1, rest.size()));
  }
  return grid;
}

}  // namespace

double parameters(const StepOptions& o) {
  StepOptions one = o;
  one.tp = 1;
  const Sizes s = sizes(one);
  return static_cast<double>(o.layers) * layer_parameters(one, s) + s.hidden * (2 * s.vocabulary + 1);
}

Result<ClassJob> step(const StepOptions& o) {
  CHAKRA_TRY(check(o));
  CHAKRA_ASSIGN(const Grid grid, gen::grid(o));
  ClassJob job;
  std::vector<Axis> slots;
  if (o.tp > 1) slots.push_back(kTp);
  if (o.dp > 1) slots.push_back(kDp);
  constexpr std::array<std::string_view, 2> slot_names{"tp", "dp"};  // by axis
  const StageWork model(o);
  const std::vector<int64_t> first_layers = deal_layers(o);
  std::vector<std::vector<int64_t>> peers;
  for (int64_t stage = 0; stage < o.pp; ++stage) {
    CHAKRA_ASSIGN(StageTrace built, build_stage(model, first_layers, stage));
    peers.push_back(std::move(built.peers));
    Trace& t = job.classes.emplace_back(std::move(built.trace));
    t.file = fmt::format("stage {}", stage);
    t.rank = stage * grid.stride[kPp];
    t.says_rank = true;
    std::vector<std::string>& names = job.group_slots.emplace_back();
    for (const Axis axis : slots) {
      names.emplace_back(slot_names[axis]);
      t.groups.push_back({names.back(), "", "", {}, 0});
    }
    job.peer_slots.push_back(static_cast<uint32_t>(peers.back().size()));
  }
  const int64_t count = o.tp * o.dp * o.pp;
  std::array<std::vector<uint32_t>, 2> group_of;  // per axis and rank
  for (const Axis axis : slots) {
    group_of[axis].resize(static_cast<size_t>(count));
    int64_t number = 0;
    for (int64_t rank = 0; rank < count; ++rank) {
      if (grid.index(rank, axis) != 0) continue;
      trace::ProcessGroup group{fmt::format("{}{}", slot_names[axis], number++), "", "", {}, grid.size[axis]};
      for (int64_t i = 0; i < grid.size[axis]; ++i) {
        const int64_t member = rank + i * grid.stride[axis];
        group.ranks.push_back(member);
        group_of[axis][static_cast<size_t>(member)] = static_cast<uint32_t>(job.groups.size());
      }
      job.groups.push_back(std::move(group));
    }
  }
  job.ranks.reserve(static_cast<size_t>(count));
  for (int64_t rank = 0; rank < count; ++rank) {
    const auto stage = static_cast<size_t>(grid.index(rank, kPp));
    job.ranks.push_back({rank, static_cast<uint32_t>(stage), static_cast<uint32_t>(job.group_of.size()),
                         static_cast<uint32_t>(job.peer_of.size())});
    for (const Axis axis : slots) job.group_of.push_back(group_of[axis][static_cast<size_t>(rank)]);
    for (const int64_t neighbour : peers[stage]) job.peer_of.push_back(grid.moved(rank, kPp, neighbour));
  }
  return job;
}

}  // namespace chakra::gen
