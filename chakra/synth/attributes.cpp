#include "chakra/synth/attributes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "chakra/trace/metadata.h"
#include "chakra/trace/roles.h"
#include "chakra/work/work.h"

namespace chakra::synth {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr auto kWidths =
    std::to_array<int64_t>({512,  768,  896,  960,  1024, 1152,  1280,  1536,  1600,  1792,  2048,  2304, 2560, 2688,
                            2816, 2880, 3072, 3200, 3584, 3840,  4096,  4544,  4608,  5120,  5376,  5632, 6144, 6656,
                            7168, 7680, 8192, 8704, 9216, 10240, 12288, 14336, 16384, 18432, 20480, 25600});

constexpr size_t kMostPeriod = 400, kLeastPeriod = 3, kLeastParts = 3;
constexpr size_t kMostValues = 20'000;   ///< a sequence is judged by that many values from its middle
constexpr double kPerWidthSquared = 12;  ///< parameters of a dense layer: 4 of the attention, 8 of the MLP
constexpr double kNear = 1.3;
constexpr uint64_t kElementBytes = 2;
constexpr uint64_t kLeastBytes = 1 << 16;  ///< smaller sizes are losses and norms

int64_t most_frequent(const std::map<int64_t, int64_t>& votes) {
  int64_t best = 0, most = 0;
  for (const auto& [value, count] : votes)
    if (count >= most) best = value, most = count;
  return best;
}

/// What equal operations of two layers have in common. Times are measured, and differ; names differ by layer.
using Token = std::array<uint64_t, 6>;
Token token_of(const Trace& t, NodeId n) {
  const trace::Comm* const comm = t.comm(n);
  const work::NodeWork work = work::work_of(t, n);
  const bool sized = comm || work.ops > 0 || work.bytes > 0;
  return {static_cast<uint64_t>(t.type[n]),
          comm ? static_cast<uint64_t>(comm->type) : 0,
          comm ? comm->bytes : 0,
          work.ops,
          work.bytes,
          sized ? 0 : t.name[n]};
}

/// The operations of the device and the communications, or all nodes of a trace without devices, as numbers that are
/// equal for equal operations: those in the middle of the trace.
std::vector<uint64_t> operations_of(const Trace& t) {
  std::vector<NodeId> nodes;
  for (const bool all : {false, true}) {
    if (!nodes.empty()) break;
    for (const NodeId n : t.nodes())
      if (t.type[n] != NodeType::metadata && (all || t.on_device(n) || trace::is_comm(t.type[n]))) nodes.push_back(n);
  }
  const size_t first = nodes.size() > kMostValues ? (nodes.size() - kMostValues) / 2 : 0;
  std::map<Token, uint64_t> numbers;
  std::vector<uint64_t> values;
  for (size_t i = first; i < std::min(nodes.size(), first + kMostValues); ++i)
    values.push_back(numbers.emplace(token_of(t, nodes[i]), numbers.size()).first->second);
  return values;
}

/// The rows of a matrix and their size.
struct Rows {
  int64_t count = 0, size = 0;
};
/// Those of the first tensor of an operator: of the size of a norm, or of the inner size of a matrix multiplication.
std::optional<Rows> first_rows(const Trace& t, NodeId n) {
  const trace::Io io = t.ios[t.io_row[n]];
  std::vector<work::Argument> inputs;
  if (!work::parse_arguments(t.strings[io.inputs.shapes], t.strings[io.inputs.types], io.inputs.values, inputs))
    return std::nullopt;
  for (const work::Argument& input : inputs)
    if (input.tensors.size() == 1 && input.tensors[0].rank() > 1) {
      const std::span<const uint64_t> sizes(input.tensors[0].dims);
      uint64_t rows = 1;
      for (const uint64_t size : sizes.first(sizes.size() - 1)) rows *= size;  // a vote, whatever it is
      return Rows{static_cast<int64_t>(rows), static_cast<int64_t>(sizes.back())};
    }
  return std::nullopt;
}

/// How often the micro-batches of a trace pass: by their numbers, else by operations that each pass has once, else by
/// messages of a pipeline.
int64_t passes_of(const Trace& t, const std::map<std::string, int64_t>& kinds) {
  std::set<int64_t> numbers;
  std::map<int64_t, int64_t> messages;  // by peer
  const StringId micro_batch = t.strings.find("micro_batch");
  for (const NodeId n : t.nodes()) {
    if (t.type[n] == NodeType::send && t.comm(n)) ++messages[t.comm(n)->dst];
    if (micro_batch == 0) continue;
    for (const trace::Attr& attr : t.attrs_of(n))
      if (attr.name == micro_batch) numbers.insert(attr.integer().value_or(0));
  }
  if (!numbers.empty()) return std::ssize(numbers);
  int64_t fewest = 0;
  const auto take = [&](int64_t count) { fewest = fewest == 0 ? count : std::min(fewest, count); };
  for (const char* const name : {"aten::embedding", "aten::cross_entropy_loss", "aten::mse_loss"})
    if (const auto found = kinds.find(name); found != kinds.end()) take(found->second);
  if (fewest == 0)
    for (const auto& [peer, count] : messages) take(count);
  return std::max<int64_t>(1, fewest);
}

/// The number that most kinds of operations have in a pass; the largest one of several. 0: no kind repeats.
int64_t layers_by_counts(const Trace& t) {
  std::map<std::string, int64_t> kinds;
  for (const NodeId n : t.nodes()) {
    if (t.type[n] == NodeType::metadata || t.part_of[n] != trace::kNoNode) continue;
    std::string kind(t.name_of(n));
    std::erase_if(kind, [](unsigned char c) { return c >= '0' && c <= '9'; });
    ++kinds[kind];
  }
  const int64_t passes = passes_of(t, kinds);
  std::map<int64_t, int64_t> votes;
  for (const auto& [kind, count] : kinds)
    if (count % passes == 0 && count > passes) ++votes[count / passes];
  return most_frequent(votes);
}

}  // namespace

const std::span<const int64_t> kPopularWidths = kWidths;

Repetition find_repetition(std::span<const uint64_t> values) {
  for (size_t period = kLeastPeriod; period <= kMostPeriod && period * kLeastParts <= values.size(); ++period) {
    Repetition longest;
    size_t covered = 0;
    for (size_t begin = 0; begin + period < values.size();) {
      size_t end = begin;  // values[i] == values[i + period] for i in [begin, end)
      while (end + period < values.size() && values[end] == values[end + period]) ++end;
      const size_t count = (end - begin) / period + 1;
      if (count >= kLeastParts) {
        covered += count * period;
        if (count > longest.count) longest = {begin, period, count};
      }
      begin = end + 1;
    }
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(longest.begin);
    const bool varies = longest.count > 0 && std::count(first, first + static_cast<std::ptrdiff_t>(period), *first) !=
                                                 static_cast<std::ptrdiff_t>(period);
    if (varies && covered * 4 >= values.size()) return longest;
  }
  return {};
}

void AttributeGuess::add(const Trace& t, bool is_class) {
  add_shapes(t);
  add_sizes(t);
  for (const NodeId n : t.nodes())
    if (!is_class && t.type[n] == NodeType::send && t.comm(n)) add_message(t.rank, t.comm(n)->dst);
  stages_ = std::max(stages_, trace::metadata_number(t, "stages").value_or(0));
  int64_t& repeats = repeats_[trace::metadata_number(t, "stage").value_or(0)];
  repeats = std::max(repeats, static_cast<int64_t>(find_repetition(operations_of(t)).count));
  int64_t& counted = counts_[trace::metadata_number(t, "stage").value_or(0)];
  counted = std::max(counted, layers_by_counts(t));
}

void AttributeGuess::add(const AttributeGuess& other) {
  const auto add_votes = [](auto& to, const auto& from) {
    for (const auto& [value, count] : from) to[value] += count;
  };
  add_votes(widths_, other.widths_);
  add_votes(depths_, other.depths_);
  add_votes(rows_, other.rows_);
  add_votes(experts_, other.experts_);
  add_votes(sizes_, other.sizes_);
  messages_.insert(other.messages_.begin(), other.messages_.end());
  for (const auto& [stage, repeats] : other.repeats_) repeats_[stage] = std::max(repeats_[stage], repeats);
  for (const auto& [stage, counted] : other.counts_) counts_[stage] = std::max(counts_[stage], counted);
  stages_ = std::max(stages_, other.stages_);
  gradient_bytes_ = std::max(gradient_bytes_, other.gradient_bytes_);
  parts_ = std::max(parts_, other.parts_);
  expert_ranks_ = std::max(expert_ranks_, other.expert_ranks_);
}

void AttributeGuess::add_shapes(const Trace& t) {
  const StringId kernel = t.strings.find("kernel");
  for (const NodeId n : t.nodes()) {
    const work::WorkRow* const row = t.io_row[n] == trace::kNoRow ? nullptr : work::find_work_row(t.name_of(n));
    const bool norm = row && row->kind == work::WorkKind::normalization;
    if (norm || (row && row->kind == work::WorkKind::matrix))
      if (const auto rows = first_rows(t, n)) {
        ++(norm ? widths_ : depths_)[rows->size];
        if (!norm) ++rows_[rows->count];
      }
    for (const trace::Attr& attr : t.attrs_of(n)) {
      const auto shape = attr.name == kernel && attr.text() ? work::parse_kernel(*attr.text()) : std::nullopt;
      if (!shape) continue;
      const auto size = [&](std::string_view name) {
        const auto at = std::find(shape->kind->sizes.begin(), shape->kind->sizes.end(), name);
        return static_cast<int64_t>(shape->sizes[static_cast<size_t>(at - shape->kind->sizes.begin())]);
      };
      if (shape->kind->work == work::WorkKind::normalization) ++widths_[size("width")];
      if (shape->kind->name == "gemm") ++depths_[size("k")], ++rows_[size("m")];
      if (shape->kind->name == "experts") ++experts_[size("experts")];
    }
  }
}

void AttributeGuess::add_sizes(const Trace& t) {
  const trace::RolesOfTrace roles(t);
  for (const trace::ProcessGroup& group : t.groups)
    for (const auto& [role, members] :
         {std::pair(trace::Role::tp, &parts_), std::pair(trace::Role::ep, &expert_ranks_)})
      if (trace::role_of(group) == role)
        *members = std::max({*members, group.size, static_cast<int64_t>(group.ranks.size())});
  expert_ranks_ = std::max(expert_ranks_, trace::metadata_number(t, "ep").value_or(1));
  uint64_t gradients = 0;
  for (const NodeId n : t.nodes()) {
    const trace::Comm* const comm = t.comm(n);
    if (!comm || comm->bytes < kLeastBytes) continue;
    ++sizes_[comm->bytes];
    const bool reduces = comm->type == trace::CommType::all_reduce || comm->type == trace::CommType::reduce_scatter;
    if (reduces && trace::row_of(roles.of(*comm)).moves == trace::Moves::parameters) gradients += comm->bytes;
  }
  gradient_bytes_ = std::max(gradient_bytes_, gradients);
}

void AttributeGuess::add_message(int64_t from, int64_t to) {
  if (from >= 0 && to >= 0) messages_.emplace(std::min(from, to), std::max(from, to));
}

/// The ranks that messages join: the largest set.
int64_t AttributeGuess::joined_ranks() const {
  std::map<int64_t, int64_t> above, members;  // `above`: a rank of the same set; the top of a set is above itself
  const auto top = [&](int64_t rank) {
    for (int64_t* up = &above.emplace(rank, rank).first->second; *up != rank; up = &above[rank]) {
      *up = above[*up];  // halves the way
      rank = *up;
    }
    return rank;
  };
  for (const auto& [a, b] : messages_) above[top(a)] = top(b);
  int64_t most = 0;
  for (const auto& [rank, parent] : above) most = std::max(most, ++members[top(rank)]);
  return most;
}

int64_t AttributeGuess::width_by_depths() const {
  Votes depths = depths_;
  if (depths.size() > 1) depths.erase(most_frequent(rows_));
  return most_frequent(depths);
}

int64_t AttributeGuess::width_by_sizes() const {
  int64_t layers = 0;  // of a rank
  for (const auto& [stage, repeats] : repeats_) layers = std::max(layers, repeats);
  if (gradient_bytes_ == 0 || layers == 0) return 0;
  const double parameters = static_cast<double>(gradient_bytes_) / kElementBytes * static_cast<double>(parts_);
  const double near = std::sqrt(parameters / static_cast<double>(layers) / kPerWidthSquared);
  int64_t best = 0, most = -1;
  for (const int64_t width : kWidths) {
    if (static_cast<double>(width) > near * kNear || static_cast<double>(width) * kNear < near) continue;
    int64_t divided = 0;
    for (const auto& [bytes, count] : sizes_) divided += bytes % static_cast<uint64_t>(width) == 0;
    const bool nearer = std::abs(static_cast<double>(width) - near) < std::abs(static_cast<double>(best) - near);
    if (divided > most || (divided == most && nearer)) best = width, most = divided;
  }
  return best;
}

Attributes AttributeGuess::finish() const {
  Attributes guess;
  guess.stages = stages_ > 0 ? stages_ : joined_ranks();
  for (const auto& [stage, repeats] : repeats_) guess.layers += repeats;
  for (const auto& [stage, counted] : counts_) guess.layers_by_counts += counted;
  // A trace that does not name its stage stands for the others.
  const int64_t stages = repeats_.size() == 1 ? std::max<int64_t>(1, guess.stages) : 1;
  guess.layers *= stages;
  guess.layers_by_counts *= stages;
  guess.experts = most_frequent(experts_) * expert_ranks_;
  guess.width = !widths_.empty() ? most_frequent(widths_) : !depths_.empty() ? width_by_depths() : width_by_sizes();
  return guess;
}

Attributes guess_attributes(const trace::TraceSet& job) {
  AttributeGuess guess;
  for (const Trace& t : job.ranks) guess.add(t);
  return guess.finish();
}

Attributes guess_attributes(const trace::ClassJob& job) {
  AttributeGuess guess;
  for (const Trace& t : job.classes) guess.add(t, true);
  add_messages(job, guess);
  return guess.finish();
}

void add_messages(const trace::ClassJob& job, AttributeGuess& guess) {
  for (const trace::ClassJob::Rank& rank : job.ranks)
    for (uint32_t slot = 0; slot < job.peer_slots[rank.cls]; ++slot)
      guess.add_message(rank.rank, job.peer_of[rank.first_peer + slot]);
}

}  // namespace chakra::synth
