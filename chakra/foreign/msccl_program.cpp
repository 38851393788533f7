// MSCCL algorithms as plans of collectives. Each send is a separate round, and each connection of two GPUs on a
// channel a lane. A send waits for the steps before it in its thread block and for the step that it names: for
// what these have sent, received, or waited for themselves.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "chakra/foreign/foreign.h"
#include "chakra/foreign/msccl.h"

namespace chakra::foreign {
namespace {

using msccl::Algorithm;
using msccl::Block;
using msccl::Coll;
using msccl::Step;
using trace::CommType;

// Simulations keep a number for each member and round, prices one for each member and lane.
constexpr uint64_t kMostRoundMembers = uint64_t{1} << 26, kMostLaneMembers = uint64_t{1} << 23;

CommType type_of(Coll coll) {
  switch (coll) {
    case Coll::all_reduce: return CommType::all_reduce;
    case Coll::all_gather: return CommType::all_gather;
    case Coll::reduce_scatter: return CommType::reduce_scatter;
    case Coll::all_to_all: return CommType::all_to_all;
    case Coll::broadcast: return CommType::broadcast;
  }
  return CommType::unknown;
}

/// Requires an algorithm that is verified: nothing waits for ever.
class PlanMaker {
 public:
  explicit PlanMaker(const Algorithm& a) : a_(a) {
    plan_.members = static_cast<uint32_t>(a.gpus.size());
    for (const msccl::Gpu& gpu : a.gpus) states_.emplace_back(gpu.blocks.size());
  }

  coll::Plan run() && {
    for (bool more = true; more;) {
      more = false;
      for (uint32_t g = 0; g < a_.gpus.size(); ++g)
        for (uint32_t b = 0; b < a_.gpus[g].blocks.size(); ++b) more |= go_on(g, b);
    }
    plan_.lanes = std::max(plan_.lanes, 1u);
    return std::move(plan_);
  }

 private:
  /// Rounds that must have ended, one of a lane at most.
  using Rounds = std::vector<int32_t>;
  struct State {
    size_t next = 0;                             ///< step
    Rounds ended;                                ///< by its steps so far
    absl::flat_hash_map<size_t, Rounds> kept{};  ///< after steps that others wait for
  };
  struct Connection {
    uint32_t lane = 0;
    Rounds sent;
    size_t received = 0;
  };

  Connection& connection(int64_t from, int64_t to, int64_t channel) {
    const auto [found, added] = connections_.try_emplace({from, to, channel});
    if (added) {
      found->second = std::make_unique<Connection>();
      found->second->lane = plan_.lanes++;
    }
    return *found->second;
  }

  void add(Rounds& to, int32_t round) const {
    const uint32_t lane = lane_of(round);
    const auto same = std::find_if(to.begin(), to.end(), [&](int32_t r) { return lane_of(r) == lane; });
    if (same == to.end()) to.push_back(round);
    else *same = std::max(*same, round);
  }
  uint32_t lane_of(int32_t round) const { return plan_.rounds[static_cast<size_t>(round)].lane; }
  uint32_t step_of(int32_t round) const { return plan_.behind[static_cast<size_t>(round)].step; }

  /// Steps of a block as far as it goes; whether there were any.
  bool go_on(uint32_t g, uint32_t b) {
    const Block& block = a_.gpus[g].blocks[b];
    State& state = states_[g][b];
    const size_t before = state.next;
    for (; state.next < block.steps.size(); ++state.next) {
      const Step& step = block.steps[state.next];
      Connection* in = step.op->receives ? &connection(block.recv, g, block.channel) : nullptr;
      if (in && in->received == in->sent.size()) break;
      if (step.dep_block >= 0) {
        const State& other = states_[g][static_cast<size_t>(step.dep_block)];
        const auto kept = other.kept.find(static_cast<size_t>(step.dep_step));
        if (kept == other.kept.end()) break;
        for (const int32_t round : Rounds(kept->second)) add(state.ended, round);
      }
      if (in) add(state.ended, in->sent[in->received++]);
      if (step.op->sends) send(g, block, step, state.ended);
      if (step.awaited) state.kept.emplace(state.next, state.ended);
    }
    return state.next > before;
  }

  /// What ended before a send has ended when the send has.
  void send(uint32_t g, const Block& block, const Step& step, Rounds& ended) {
    Connection& out = connection(g, block.send, block.channel);
    const auto number = static_cast<int32_t>(plan_.rounds.size());
    coll::Round& round = plan_.rounds.emplace_back();
    round.lane = out.lane;
    round.list = {{g, static_cast<uint32_t>(block.send), static_cast<uint64_t>(step.count)}};
    std::erase_if(ended, [&](int32_t r) { return lane_of(r) == out.lane; });
    uint32_t after = out.sent.empty() ? 0 : step_of(out.sent.back());
    for (const int32_t wait : ended) after = std::max(after, step_of(wait));
    plan_.behind.push_back({std::exchange(ended, {number}), after + 1});
    out.sent.push_back(number);
  }

  const Algorithm& a_;
  coll::Plan plan_{0, 0, {}};
  std::vector<std::vector<State>> states_;  ///< by GPU and block
  absl::flat_hash_map<std::tuple<int64_t, int64_t, int64_t>, std::unique_ptr<Connection>> connections_;
};

Result<void> check_size(const Algorithm& a) {
  uint64_t sends = 0, blocks = 0;
  for (const msccl::Gpu& gpu : a.gpus)
    for (const Block& block : gpu.blocks) {
      uint64_t own = 0;
      for (const Step& step : block.steps) own += step.op->sends;
      sends += own;
      blocks += own > 0;
      for (const Step& step : block.steps)
        if (step.op->sends && block.send == static_cast<int64_t>(&gpu - a.gpus.data()))
          return fail(Code::bad_input, "foreign.msccl.connection",
                      fmt::format("thread block {} of rank {} sends to its own rank", block.id, block.send),
                      {a.file, step.byte});
    }
  if (sends * a.gpus.size() > kMostRoundMembers || blocks * a.gpus.size() > kMostLaneMembers)
    return fail(Code::bad_input, "foreign.large",
                fmt::format("{} sends over {} connections of {} ranks are too many for the algorithm of a collective",
                            sends, blocks, a.gpus.size()),
                {a.file});
  return {};
}

/// The sizes it is meant for are those of whole buffers; Operation::bytes of an all-gather are one member's.
void set_sizes(const Algorithm& a, coll::Program& program) {
  const auto ranks = a.gpus.size();
  const uint64_t per = a.coll == Coll::all_gather ? ranks : 1;
  program.parts = static_cast<uint64_t>(a.chunks) / per;
  program.from = (static_cast<uint64_t>(a.min_bytes) + per - 1) / per;
  if (a.max_bytes > 0) program.to = static_cast<uint64_t>(a.max_bytes) / per + 1;
}

}  // namespace

Result<std::shared_ptr<const coll::Program>> read_program(ByteSource source, std::string name) {
  Algorithm algorithm;
  algorithm.file = source.file();
  CHAKRA_ASSIGN(const std::string text, read_all(std::move(source)));
  CHAKRA_TRY(msccl::parse(text, algorithm));
  CHAKRA_ASSIGN(const int64_t root, msccl::verify(algorithm));
  CHAKRA_TRY(check_size(algorithm));
  auto program = std::make_shared<coll::Program>();
  program->name = std::move(name);
  program->type = type_of(algorithm.coll);
  program->root = static_cast<uint32_t>(root);
  set_sizes(algorithm, *program);
  program->plan = PlanMaker(algorithm).run();
  return coll::finished(std::move(program));
}

}  // namespace chakra::foreign
