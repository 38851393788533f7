#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "chakra/base/join.h"
#include "chakra/foreign/msccl.h"

namespace chakra::foreign::msccl {
namespace {

/// One memory of a rank in which its input, output and scratch lie; in place, input and output overlap.
struct Memory {
  int64_t base[3] = {0, 0, 0};
  int64_t size[3] = {0, 0, 0};
  int64_t all = 0;
};

/// Chunks of a rank's share of a collective that moves shares: of its input for all-gather, of its output for
/// reduce-scatter.
int64_t share(const Algorithm& a) { return a.chunks / static_cast<int64_t>(a.gpus.size()); }

Memory memory_of(const Algorithm& a, size_t rank) {
  const Gpu& gpu = a.gpus[rank];
  Memory m;
  const auto at = static_cast<int64_t>(rank) * share(a);
  const bool gathers = a.coll == Coll::all_gather, scatters = a.coll == Coll::reduce_scatter;
  m.size[kInput] = gathers ? share(a) : a.chunks;
  m.size[kOutput] = scatters ? share(a) : a.chunks;
  m.size[kScratch] = gpu.chunks[kScratch];
  if (a.in_place) {
    m.base[kInput] = gathers ? at : 0;
    m.base[kOutput] = scatters ? at : 0;
    m.base[kScratch] = a.chunks;
  } else {
    m.base[kOutput] = m.size[kInput];
    m.base[kScratch] = m.size[kInput] + m.size[kOutput];
  }
  m.all = m.base[kScratch] + m.size[kScratch];
  return m;
}

/// Sums of chunks as small numbers: 0 is nothing, 1 what makes no sense, the others a chunk of the collective added up
/// over a set of ranks, each once.
class Values {
 public:
  static constexpr uint32_t kNothing = 0, kNonsense = 1;

  Values() : all_(2) {}

  uint32_t single(int64_t chunk, int64_t rank) { return intern({chunk, {static_cast<uint32_t>(rank)}}); }

  /// False where there are too many to go on.
  bool sum(uint32_t a, uint32_t b, uint32_t& out) {
    out = kNonsense;
    if (a == kNonsense || b == kNonsense || a == kNothing || b == kNothing || all_[a]->first != all_[b]->first)
      return true;
    const auto [found, added] = sums_.try_emplace({std::min(a, b), std::max(a, b)}, kNonsense);
    if (added) {
      const auto &x = all_[a]->second, &y = all_[b]->second;
      Value value{all_[a]->first, {}};
      std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(value.second));
      work_ += value.second.size();
      if (work_ > kMostWork) return false;
      if (value.second.size() == x.size() + y.size()) found->second = intern(std::move(value));
    }
    out = found->second;
    return true;
  }

  std::string text(uint32_t value) const {
    if (value == kNothing) return "nothing";
    if (value == kNonsense) return "an invalid sum (of different chunks, or with a duplicate)";
    const auto& [chunk, ranks] = *all_[value];
    if (ranks.size() > 8) return fmt::format("chunk {} of {} ranks", chunk, ranks.size());
    return fmt::format("chunk {} of rank {}", chunk, join(ranks, " + "));
  }

  uint32_t intern(std::pair<int64_t, std::vector<uint32_t>> value) {
    const auto [found, added] = ids_.try_emplace(std::move(value), static_cast<uint32_t>(all_.size()));
    if (added) all_.push_back(&found->first);
    return found->second;
  }

 private:
  using Value = std::pair<int64_t, std::vector<uint32_t>>;
  static constexpr size_t kMostWork = size_t{1} << 25;
  std::map<Value, uint32_t> ids_;
  std::vector<const Value*> all_;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> sums_;
  size_t work_ = 0;
};

/// Carries the algorithm out on symbols.
class Execution {
 public:
  Execution(const Algorithm& a, Values& values) : a_(a), values_(values) {
    for (size_t r = 0; r < a.gpus.size(); ++r) {
      const Memory m = memory_of(a, r);
      memory_.push_back(m);
      cells_.emplace_back(static_cast<size_t>(m.all), Values::kNothing);
      const bool gathers = a.coll == Coll::all_gather;
      for (int64_t c = 0; c < m.size[kInput]; ++c)
        cells_[r][static_cast<size_t>(m.base[kInput] + c)] =
            values_.single(gathers ? static_cast<int64_t>(r) * share(a) + c : c, static_cast<int64_t>(r));
      done_.emplace_back(a.gpus[r].blocks.size(), 0);
    }
  }

  /// `turn` chooses among the blocks that can go on: 0 the first, 1 the last, others at random. What an algorithm
  /// delivers must not depend on it.
  Result<void> run(uint64_t turn) {
    Prng random(turn);
    std::vector<std::pair<uint32_t, uint32_t>> ready;
    for (uint32_t r = 0; r < a_.gpus.size(); ++r)
      for (uint32_t b = 0; b < a_.gpus[r].blocks.size(); ++b) {
        if (!a_.gpus[r].blocks[b].steps.empty()) ready.emplace_back(r, b);
        remaining_ += a_.gpus[r].blocks[b].steps.size();
      }
    if (turn == 0) std::reverse(ready.begin(), ready.end());
    while (!ready.empty()) {
      const size_t pick = turn < 2 ? ready.size() - 1 : static_cast<size_t>(random.below(ready.size()));
      std::swap(ready[pick], ready.back());
      const auto [r, b] = ready.back();
      ready.pop_back();
      CHAKRA_TRY(go_on(r, b, ready, turn >= 2));
    }
    if (remaining_ > 0) return stuck();
    return {};
  }

  /// Returns the root of a broadcast, else 0.
  Result<int64_t> check() const {
    if (a_.coll == Coll::broadcast) return check_broadcast();
    const auto ranks = static_cast<int64_t>(a_.gpus.size());
    std::vector<uint32_t> all(a_.gpus.size()), sums;
    std::iota(all.begin(), all.end(), 0U);
    if (a_.coll == Coll::all_reduce || a_.coll == Coll::reduce_scatter)
      for (int64_t at = 0; at < a_.chunks; ++at) sums.push_back(values_.intern({at, all}));
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t at = 0; at < memory_[static_cast<size_t>(r)].size[kOutput]; ++at) {
        uint32_t promised = 0;
        switch (a_.coll) {
          case Coll::all_reduce: promised = sums[static_cast<size_t>(at)]; break;
          case Coll::reduce_scatter: promised = sums[static_cast<size_t>(r * share(a_) + at)]; break;
          case Coll::all_gather: promised = values_.single(at, at / share(a_)); break;
          case Coll::all_to_all: promised = values_.single(r * share(a_) + at % share(a_), at / share(a_)); break;
          case Coll::broadcast: break;
        }
        CHAKRA_TRY(holds(r, at, promised));
      }
    return 0;
  }

 private:
  using Connection = std::tuple<int64_t, int64_t, int64_t>;  // sender, receiver, channel
  using Chunks = std::vector<uint32_t>;
  using BlockRef = std::pair<uint32_t, uint32_t>;

  uint32_t output(int64_t rank, int64_t at) const {
    const auto r = static_cast<size_t>(rank);
    return cells_[r][static_cast<size_t>(memory_[r].base[kOutput] + at)];
  }

  Result<void> holds(int64_t rank, int64_t at, uint32_t promised) const {
    const uint32_t there = output(rank, at);
    if (there == promised) return {};
    return fail(Code::bad_input, "foreign.msccl.wrong",
                fmt::format("{} requires {} in chunk {} of rank {}, but the algorithm leaves {}", a_.coll_name,
                            values_.text(promised), at, rank, values_.text(there)),
                {a_.file, a_.gpus[static_cast<size_t>(rank)].byte});
  }

  /// The root is not named: it is the rank whose input the first chunk came from.
  Result<int64_t> check_broadcast() const {
    for (int64_t root = 0; root < static_cast<int64_t>(a_.gpus.size()); ++root)
      if (output(0, 0) == values_.single(0, root)) {
        for (int64_t r = 0; r < static_cast<int64_t>(a_.gpus.size()); ++r)
          for (int64_t at = 0; at < a_.chunks; ++at) CHAKRA_TRY(holds(r, at, values_.single(at, root)));
        return root;
      }
    CHAKRA_TRY(holds(0, 0, values_.single(0, 0)));
    return 0;
  }

  /// Steps of a block as far as it goes; wakes who waits for them.
  Result<void> go_on(uint32_t r, uint32_t b, std::vector<BlockRef>& ready, bool one_step) {
    const Block& block = a_.gpus[r].blocks[b];
    for (size_t& at = done_[r][b]; at < block.steps.size();) {
      const Step& step = block.steps[at];
      if (step.dep_block >= 0 && static_cast<int64_t>(done_[r][static_cast<size_t>(step.dep_block)]) <= step.dep_step) {
        waits_for_step_[{r, step.dep_block, step.dep_step}].push_back({r, b});
        return {};
      }
      std::deque<Chunks>* in = nullptr;
      const Connection from{block.recv, r, block.channel}, to{r, block.send, block.channel};
      if (step.op->receives) {
        in = &messages_[from];
        if (in->empty()) {
          waits_for_message_[from] = {r, b};
          return {};
        }
        if (static_cast<int64_t>(in->front().size()) != step.count)
          return at_step(r, b, at,
                         fmt::format("receives {} chunks where {} were sent", step.count, in->front().size()));
      }
      CHAKRA_TRY(carry_out(r, b, at, step, in, to));
      if (step.op->sends)
        if (const auto waiting = waits_for_message_.find(to); waiting != waits_for_message_.end()) {
          ready.push_back(waiting->second);
          waits_for_message_.erase(waiting);
        }
      if (step.awaited)
        if (const auto waiting = waits_for_step_.find({r, b, static_cast<int64_t>(at)});
            waiting != waits_for_step_.end()) {
          ready.insert(ready.end(), waiting->second.begin(), waiting->second.end());
          waits_for_step_.erase(waiting);
        }
      ++at;
      --remaining_;
      if (one_step && at < block.steps.size()) {
        ready.push_back({r, b});
        return {};
      }
    }
    return {};
  }

  Result<void> carry_out(uint32_t r, uint32_t b, size_t at, const Step& step, std::deque<Chunks>* in,
                         const Connection& to) {
    if (step.op->op == Op::nop) return {};
    const Memory& m = memory_[r];
    const bool reads_source = !step.op->receives || step.op->reduces;
    for (const auto& [used, span] : {std::pair(reads_source, step.src), std::pair(step.op->copies, step.dst)})
      if (used && (span.offset > m.size[span.buffer] || step.count > m.size[span.buffer] - span.offset))
        return at_step(r, b, at, fmt::format("goes beyond the {} chunks of its buffer", m.size[span.buffer]));
    auto& cells = cells_[r];
    Chunks out;
    for (int64_t c = 0; c < step.count; ++c) {
      const auto cell = [&](const Span& span) -> uint32_t& {
        return cells[static_cast<size_t>(m.base[span.buffer] + span.offset + c)];
      };
      uint32_t value = step.op->receives ? in->front()[static_cast<size_t>(c)] : cell(step.src);
      if (step.op->reduces && !values_.sum(value, step.op->receives ? cell(step.src) : cell(step.dst), value))
        return fail(Code::bad_input, "foreign.large", "too many different sums to follow",
                    {a_.file, a_.gpus[r].blocks[b].steps[at].byte});
      if (step.op->copies) cell(step.dst) = value;
      if (step.op->sends) out.push_back(value);
    }
    if (step.op->receives) in->pop_front();
    if (step.op->sends) messages_[to].push_back(std::move(out));
    return {};
  }

  Failure at_step(uint32_t r, uint32_t b, size_t at, std::string what) const {
    return fail(Code::bad_input, "foreign.msccl.step",
                fmt::format("step {} of thread block {} of rank {} {}", at, b, r, what),
                {a_.file, a_.gpus[r].blocks[b].steps[at].byte});
  }

  Failure stuck() const {
    for (uint32_t r = 0; r < a_.gpus.size(); ++r)
      for (uint32_t b = 0; b < a_.gpus[r].blocks.size(); ++b) {
        const Block& block = a_.gpus[r].blocks[b];
        const size_t at = done_[r][b];
        if (at == block.steps.size()) continue;
        const Step& step = block.steps[at];
        return fail(
            Code::bad_input, "foreign.msccl.stuck",
            fmt::format("step {} of thread block {} of rank {} waits forever for {}; {} steps cannot finish", at, b, r,
                        step.op->receives ? fmt::format("a message of rank {}", block.recv)
                                          : fmt::format("thread block {}", step.dep_block),
                        remaining_),
            {a_.file, step.byte});
      }
    return fail(Code::bad_input, "foreign.msccl.stuck", "deadlock: no step can run", {a_.file});
  }

  const Algorithm& a_;
  Values& values_;
  std::vector<Memory> memory_;
  std::vector<std::vector<uint32_t>> cells_;
  std::vector<std::vector<size_t>> done_;  ///< steps, by rank and block
  std::map<Connection, std::deque<Chunks>> messages_;
  std::map<Connection, BlockRef> waits_for_message_;
  std::map<std::tuple<uint32_t, int64_t, int64_t>, std::vector<BlockRef>> waits_for_step_;  ///< by rank, block, step
  size_t remaining_ = 0;
};

/// A channel between two GPUs has one sender and one receiver.
Result<void> check_connections(const Algorithm& a) {
  std::map<std::tuple<size_t, bool, int64_t, int64_t>, int64_t> owner;
  for (size_t r = 0; r < a.gpus.size(); ++r)
    for (const Block& block : a.gpus[r].blocks)
      for (const bool sends : {true, false}) {
        const int64_t peer = sends ? block.send : block.recv;
        if (peer < 0 || block.steps.empty()) continue;
        const auto [found, added] = owner.try_emplace({r, sends, peer, block.channel}, block.id);
        if (!added)
          return fail(Code::bad_input, "foreign.msccl.connection",
                      fmt::format("thread blocks {} and {} of rank {} both {} rank {} on channel {}", found->second,
                                  block.id, r, sends ? "send to" : "receive from", peer, block.channel),
                      {a.file, a.gpus[r].byte});
      }
  return {};
}

}  // namespace

Result<int64_t> verify(const Algorithm& a) {
  const auto ranks = static_cast<int64_t>(a.gpus.size());
  if (a.coll != Coll::all_reduce && a.coll != Coll::broadcast && a.chunks % ranks != 0)
    return fail(Code::bad_input, "foreign.msccl.attribute",
                fmt::format("{} chunks do not divide evenly among {} ranks", a.chunks, ranks),
                {a.file, a.gpus[0].byte});
  int64_t cells = 0;
  for (size_t r = 0; r < a.gpus.size(); ++r) cells += memory_of(a, r).all;
  if (cells > kMostChunks)
    return fail(Code::bad_input, "foreign.large", fmt::format("buffers of more than {} chunks", kMostChunks), {a.file});
  CHAKRA_TRY(check_connections(a));
  Values values;
  constexpr uint64_t kTurns = 4;
  int64_t root = 0;
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    Execution execution(a, values);
    CHAKRA_TRY(execution.run(turn));
    CHAKRA_ASSIGN(root, execution.check());
  }
  return root;
}

}  // namespace chakra::foreign::msccl
