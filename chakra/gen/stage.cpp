#include "chakra/gen/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/gen/nodes.h"

namespace chakra::gen {
namespace {

using trace::CommType;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

// Bytes of Adam with parameters kept in 32 bits: reads gradient, parameter and two moments, writes parameter and
// moments.
constexpr double kOptimizerTraffic = 28;

/// A part of the model with the names of its nodes.
struct Placed {
  Part part;
  std::array<std::vector<StringId>, 4> names;  ///< by Which, then step; of uneven all-to-alls their parts
  std::array<std::vector<StageNodes::Split>, 4> splits;
  double dense = 0, experts = 0;  ///< elements of gradients
  std::vector<NodeId> reduced;
};
enum Which : uint8_t { kForward, kBackward, kInputs, kWeights };

class Stage {
 public:
  Stage(const Plan& plan, int64_t stage, int64_t place) : p_(plan), o_(plan.o), n_(plan.o), stage_(stage) {
    for (const std::string_view axis : kAxisNames) axis_groups_.push_back(n_.intern(axis));
    for (int64_t chunk = 0; chunk < p_.pipeline.chunks; ++chunk) {
      std::vector<Placed>& parts = chunks_.emplace_back();
      for (Part& part : p_.parts(p_.piece(stage, chunk), place)) {
        const double dense = part.parameters.dense, experts = part.parameters.experts;
        parts.push_back({std::move(part), {}, {}, dense, experts, {}});
      }
    }
  }

  Result<StageTrace> build() {
    const std::vector<Task> tasks = p_.schedule->tasks(p_.pipeline, stage_);
    std::vector<size_t> last(chunks_.size());
    for (size_t t = 0; t < tasks.size(); ++t) last[static_cast<size_t>(tasks[t].chunk)] = t;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const Task& task = tasks[t];
      const bool pair = t + 1 < tasks.size() && tasks[t + 1].with_previous;
      if (pair) receive_gradient(tasks[t + 1].chunk);  // it begins when both have their inputs
      const bool ready = o_.zero >= 2 || last[static_cast<size_t>(task.chunk)] == t;
      switch (task.pass) {
        case Pass::forward: forward(task.chunk); break;
        case Pass::backward: backward(task, kBackward, ready); break;
        case Pass::input_gradient: backward(task, kInputs, false); break;
        case Pass::weight_gradient: weights(task.chunk, ready); break;
      }
      ends_.push_back(n_.computed());
    }
    finish_gradients();
    update();
    if (n_.too_large())
      return fail(Code::usage, "gen.step.large",
                  "a node has more operations or bytes, or takes longer, than can be told");
    return StageTrace{n_.take(), n_.peers()};
  }

 private:
  std::vector<Placed>& parts(int64_t chunk) { return chunks_[static_cast<size_t>(chunk)]; }
  /// Posted when the task before the one before has ended: one buffer is filled while one is used.
  NodeId buffer_free() const { return ends_.size() < 2 ? kNoNode : ends_[ends_.size() - 2]; }

  static StageNodes::Stream stream(Axis axis) {
    if (axis == Axis::tp) return StageNodes::kTensor;
    return axis == Axis::cp ? StageNodes::kContext : StageNodes::kExperts;
  }

  // ---- passes --------------------------------------------------------------------------------------------------

  /// The steps of a program as nodes.
  void run(Placed& placed, Which which) {
    const Unit& unit = *placed.part.unit;
    const std::array<const Program*, 4> programs{&unit.forward, &unit.backward, &unit.input_gradient,
                                                 &unit.weight_gradient};
    const Program& program = *programs[which];
    std::vector<StringId>& names = placed.names[which];
    std::vector<StageNodes::Split>& splits = placed.splits[which];
    if (names.empty())
      for (const Step& step : program) {
        names.push_back(n_.intern(placed.part.name + "." + step.name));
        splits.push_back(n_.split(step.in_split, step.out_split));
      }
    std::vector<NodeId>&nodes = nodes_, &on = on_;
    std::vector<uint8_t>& awaited = awaited_;
    nodes.assign(program.size(), kNoNode);
    awaited.assign(program.size(), 0);
    for (size_t i = 0; i < program.size(); ++i) {
      const Step& step = program[i];
      on.clear();
      for (const size_t wait : step.waits) {
        awaited[wait] = 1;
        on.push_back(nodes[wait]);
      }
      if (step.kind == Step::Kind::collective) {
        nodes[i] =
            n_.collective(names[i], step.type, step.bytes, axis_groups_[index(step.axis)], stream(step.axis), on);
        n_.set(nodes[i], splits[i]);
        continue;
      }
      for (const NodeId node : on) n_.wait(node);
      if (step.kind == Step::Kind::compute) nodes[i] = n_.compute(names[i], step.work, step.kernel);
      else nodes[i] = hop(names[i], step);
    }
    for (size_t i = 0; i < program.size(); ++i)
      if (!awaited[i] && (program[i].kind == Step::Kind::collective || program[i].kind == Step::Kind::receive))
        n_.wait(nodes[i]);
  }

  NodeId hop(StringId name, const Step& step) {
    const bool send = step.kind == Step::Kind::send;
    return n_.message(name, send ? NodeType::send : NodeType::recv,
                      send ? StageNodes::kContextSend : StageNodes::kContextReceive, {step.axis, send ? 1 : -1}, 0,
                      step.bytes, n_.computed());
  }

  /// All parts of a chunk. Their parameters, where ranks share them out, are gathered while the part before is done.
  template <class Each>
  void pass(int64_t chunk, bool reverse, bool gather, const Each& each) {
    std::vector<Placed*> order;
    for (Placed& placed : parts(chunk)) order.push_back(&placed);
    if (reverse) std::reverse(order.begin(), order.end());
    const bool gathered = gather && o_.zero == 3;
    std::vector<NodeId> next;
    if (gathered && !order.empty()) next = gather_parameters(*order[0]);
    for (size_t i = 0; i < order.size(); ++i) {
      const std::vector<NodeId> now = std::move(next);
      next.clear();
      if (gathered && i + 1 < order.size()) next = gather_parameters(*order[i + 1]);
      for (const NodeId node : now) n_.wait(node);
      each(*order[i]);
    }
  }

  void forward(int64_t chunk) {
    const int64_t piece = p_.piece(stage_, chunk);
    if (piece > 0) receive("recv activations", StageNodes::kReceiveForward, p_.holder(piece - 1, chunk), 2 * piece);
    pass(chunk, false, true, [&](Placed& placed) { run(placed, kForward); });
    if (piece + 1 < p_.pieces())
      send("send activations", StageNodes::kSendForward, p_.holder(piece + 1, chunk), 2 * (piece + 1));
  }

  void receive_gradient(int64_t chunk) {
    const int64_t piece = p_.piece(stage_, chunk);
    if (piece + 1 < p_.pieces())
      receive("recv gradients", StageNodes::kReceiveBackward, p_.holder(piece + 1, chunk), 2 * piece + 1);
  }

  void backward(const Task& task, Which which, bool ready) {
    const int64_t chunk = task.chunk, piece = p_.piece(stage_, chunk);
    if (!task.with_previous) receive_gradient(chunk);
    pass(chunk, true, true, [&](Placed& placed) {
      run(placed, which);
      if (ready) reduce(placed);
    });
    if (piece > 0) send("send gradients", StageNodes::kSendBackward, p_.holder(piece - 1, chunk), 2 * (piece - 1) + 1);
  }

  void weights(int64_t chunk, bool ready) {
    pass(chunk, true, false, [&](Placed& placed) {
      run(placed, kWeights);
      if (ready) reduce(placed);
    });
  }

  void send(const char* name, StageNodes::Stream stream, int64_t to, int64_t tag) {
    n_.message(n_.intern(name), NodeType::send, stream, {Axis::pp, to - stage_}, tag, p_.kinds[0]->passed,
               n_.computed());
  }
  void receive(const char* name, StageNodes::Stream stream, int64_t from, int64_t tag) {
    n_.wait(n_.message(n_.intern(name), NodeType::recv, stream, {Axis::pp, from - stage_}, tag, p_.kinds[0]->passed,
                       buffer_free()));
  }

  // ---- gradients and parameters over the data-parallel ranks ---------------------------------------------------

  /// Elements of a rank's share.
  static double share(double elements, const Slot& slot) {
    return std::ceil(elements / static_cast<double>(slot.size));
  }
  double updated(double elements, const Slot& slot) const { return o_.zero == 0 ? elements : share(elements, slot); }

  NodeId over(const Slot& slot, const std::string& name, CommType type, double bytes) {
    return n_.collective(n_.intern(name), type, bytes, n_.intern(slot.name), StageNodes::kData);
  }

  template <class Each>
  void each_kind(const Placed& placed, const Each& each) const {
    if (placed.dense > 0) each(p_.data, placed.dense, placed.part.name);
    if (placed.experts > 0) each(p_.experts, placed.experts, placed.part.name + ".experts");
  }

  std::vector<NodeId> gather_parameters(const Placed& placed) {
    std::vector<NodeId> gathered;
    each_kind(placed, [&](const Slot& slot, double elements, const std::string& name) {
      if (slot.size > 1)
        gathered.push_back(over(slot, name + ".parameters.all_gather", CommType::all_gather,
                                share(elements, slot) * static_cast<double>(o_.bytes_per_element)));
    });
    return gathered;
  }

  /// The gradients of a part are complete: they leave while the rest of the backward pass goes on.
  void reduce(Placed& placed) {
    placed.reduced.clear();
    const auto bytes = static_cast<double>(o_.gradient_bytes);
    const Slot& copies = p_.replicas;
    each_kind(placed, [&](const Slot& slot, double elements, const std::string& name) {
      if (slot.size == 1 && copies.size == 1) return;
      if (slot.size > 1)
        placed.reduced.push_back(
            o_.zero == 0 ? over(slot, name + ".gradients.all_reduce", CommType::all_reduce, elements * bytes)
                         : over(slot, name + ".gradients.reduce_scatter", CommType::reduce_scatter,
                                share(elements, slot) * static_cast<double>(slot.size) * bytes));
      if (copies.size > 1)
        placed.reduced.push_back(
            over(copies, name + ".gradients.all_reduce", CommType::all_reduce, share(elements, slot) * bytes));
    });
  }

  /// Sums of gradients over other ranks than those with other data: once a step.
  void finish_gradients() {
    double dense = 0, experts = 0, own = 0;
    for (const std::vector<Placed>& parts : chunks_)
      for (const Placed& placed : parts) {
        dense += placed.part.unit->parameters.shared_dense;
        experts += placed.part.unit->parameters.shared_experts;
        own += updated(placed.dense, p_.data) + updated(placed.experts, p_.experts);
      }
    const auto bytes = static_cast<double>(o_.gradient_bytes);
    const auto sum = [&](const char* name, std::string_view group, double elements) {
      if (elements > 0)
        n_.wait(n_.collective(n_.intern(name), CommType::all_reduce, elements * bytes, n_.intern(group),
                              StageNodes::kTensor));
    };
    sum("norms.gradients.all_reduce", "tp", dense);
    sum("norms.experts.gradients.all_reduce", "etp", experts);
    if (p_.tied_apart() && (stage_ == 0 || stage_ + 1 == p_.pipeline.stages)) {
      const Parameters& table = p_.kinds.back()->parameters;
      wait_for_all();
      n_.wait(n_.collective(n_.intern("embedding.gradients.all_reduce"), CommType::all_reduce,
                            updated(table.largest, p_.data) * bytes, n_.intern("tied"), StageNodes::kData));
    }
    if (p_.schedule->copies > 1) {  // two stages have the same parts, and each the gradients of half of the work
      wait_for_all();
      n_.wait(n_.collective(n_.intern("copies.gradients.all_reduce"), CommType::all_reduce, own * bytes,
                            n_.intern("copy"), StageNodes::kData));
    }
    if (!o_.clip) return;
    wait_for_all();
    n_.compute("gradients.norm", {0, own * bytes});
    if (p_.mesh.ranks() > 1)
      n_.wait(n_.collective(n_.intern("gradients.norm.all_reduce"), CommType::all_reduce, 4, n_.intern(""),
                            StageNodes::kData));
  }
  void wait_for_all() {
    for (const std::vector<Placed>& parts : chunks_)
      for (const Placed& placed : parts)
        for (const NodeId node : placed.reduced) n_.wait(node);
  }

  /// Each rank updates its share of every part and gives it to the others.
  void update() {
    const auto element = static_cast<double>(o_.bytes_per_element);
    for (const std::vector<Placed>& parts : chunks_)
      for (size_t i = parts.size(); i-- > 0;) {
        const Placed& placed = parts[i];
        const double own = updated(placed.dense, p_.data) + updated(placed.experts, p_.experts);
        for (const NodeId node : placed.reduced) n_.wait(node);
        n_.compute(placed.part.name + ".optimizer", {0, own * (kOptimizerTraffic + element)});
        if (o_.zero == 1 || o_.zero == 2) gather_parameters(placed);
      }
  }

  const Plan& p_;
  const StepOptions& o_;
  StageNodes n_;
  const int64_t stage_;
  std::vector<std::vector<Placed>> chunks_;
  std::vector<NodeId> ends_;  ///< of each task so far, its last computation
  std::vector<StringId> axis_groups_;
  // Of run(): by step its node, and whether another waits for it; what the step waits for.
  std::vector<NodeId> nodes_, on_;
  std::vector<uint8_t> awaited_;
};

}  // namespace

Result<StageTrace> build_stage(const Plan& plan, int64_t stage, int64_t place) {
  return Stage(plan, stage, place).build();
}

}  // namespace chakra::gen
