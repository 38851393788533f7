#include "chakra/gen/stage.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/progress.h"
#include "chakra/base/real.h"
#include "chakra/gen/nodes.h"

namespace chakra::gen {
namespace {

using trace::CommType;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

constexpr double kGradient = 4;          // bytes that an optimizer reads of an element's gradient
constexpr double kOrthogonalBytes = 60;  // five steps of three products that read and write a matrix in 16 bits
constexpr double kRowState = 4;          // bytes of a row of a table

/// A part of the model with the names of its nodes.
struct Placed {
  Part part;
  std::array<StageNodes::Labels, 4> labels = {};  ///< by Pass
  std::vector<NodeId> reduced = {};
  bool cast = false;  ///< its matrices have their copies in 8 bits
};

class Stage {
 public:
  Stage(const Plan& plan, int64_t stage, int64_t place) : p_(plan), o_(plan.o), n_(plan.o), stage_(stage) {
    for (int64_t chunk = 0; chunk < p_.pipeline.chunks; ++chunk) {
      std::vector<Placed>& parts = chunks_.emplace_back();
      for (Part& part : p_.parts(p_.piece(stage, chunk), place)) parts.push_back({std::move(part)});
    }
  }

  Result<StageTrace> build() {
    const std::vector<Task> tasks = p_.schedule->tasks(p_.pipeline, stage_);
    std::vector<size_t> last(chunks_.size());
    for (size_t t = 0; t < tasks.size(); ++t) last[static_cast<size_t>(tasks[t].chunk)] = t;
    n_.describe(p_, stage_);
    begin_storage();
    for (size_t t = 0; t < tasks.size(); ++t) {
      CHAKRA_TRY(keep_going(t, tasks.size()));
      const Task& task = tasks[t];
      const bool pair = t + 1 < tasks.size() && tasks[t + 1].with_previous;
      n_.begin(task);
      if (pair) receive_gradient(tasks[t + 1].chunk);  // it begins when both have their inputs
      const bool ready = o_.zero >= 2 || last[static_cast<size_t>(task.chunk)] == t;
      switch (task.pass) {
        case Pass::forward: forward(task.chunk); break;
        case Pass::backward: backward(task, ready); break;
        case Pass::input_gradient: backward(task, false); break;
        case Pass::weight_gradient: weights(task.chunk, ready); break;
      }
      if (o_.host_waits == HostWaits::passes) n_.host_waits();
      ends_.push_back(n_.computed());
    }
    n_.begin_update();
    finish_gradients();
    n_.wait(checkpoint_);
    update();
    if (!o_.storage.checkpoint_behind) write_checkpoint();
    if (n_.too_large())
      return fail(Code::usage, "gen.step.large", "the FLOPs, bytes or duration of a node exceed the range of a trace");
    return StageTrace{n_.take(), n_.peers()};
  }

 private:
  std::vector<Placed>& parts(int64_t chunk) { return chunks_[static_cast<size_t>(chunk)]; }
  /// Posted when the task before the one before has ended: one buffer is filled while one is used.
  NodeId buffer_free() const { return ends_.size() < 2 ? kNoNode : ends_[ends_.size() - 2]; }

  // ---- passes --------------------------------------------------------------------------------------------------

  /// Cast the matrices of GEMMs with 8-bit inputs: two copies for the whole step, one of them transposed. Where ranks
  /// share parameters out, one after each gathering.
  void cast_weights(Placed& placed, Pass pass) {
    const double elements = placed.part.parameters.fp8, element = real(o_.bytes_per_element);
    const bool gathers = p_.gathers(placed.part.parameters);
    if (elements == 0 || pass == Pass::weight_gradient || (placed.cast && !gathers)) return;
    placed.cast = true;
    const double bytes = elements * (element + (gathers ? 1 : 2));
    n_.compute(n_.intern(placed.part.name + ".weights.cast"), {0, bytes}, {}, false, bytes);
  }

  /// The steps of a program as nodes.
  void run(Placed& placed, Pass pass) {
    cast_weights(placed, pass);
    const Program& program = placed.part.unit->program(pass);
    StageNodes::Labels& labels = placed.labels[static_cast<size_t>(pass)];
    if (labels.names.empty()) labels = n_.labels(program, placed.part.name);
    n_.run(program, labels);
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
      if (o_.host_waits == HostWaits::parts) n_.host_waits();
    }
  }

  void forward(int64_t chunk) {
    const int64_t piece = p_.piece(stage_, chunk);
    if (piece == 0) read_data();
    if (piece > 0) receive("recv activations", StageNodes::kReceiveForward, p_.holder(piece - 1, chunk), 2 * piece);
    pass(chunk, false, true, [&](Placed& placed) { run(placed, Pass::forward); });
    if (piece + 1 < p_.pieces())
      send("send activations", StageNodes::kSendForward, p_.holder(piece + 1, chunk), 2 * (piece + 1));
  }

  void receive_gradient(int64_t chunk) {
    const int64_t piece = p_.piece(stage_, chunk);
    if (piece + 1 < p_.pieces())
      receive("recv gradients", StageNodes::kReceiveBackward, p_.holder(piece + 1, chunk), 2 * piece + 1);
  }

  void backward(const Task& task, bool ready) {
    const int64_t chunk = task.chunk, piece = p_.piece(stage_, chunk);
    if (!task.with_previous) receive_gradient(chunk);
    pass(chunk, true, true, [&](Placed& placed) {
      run(placed, task.pass);
      if (ready) reduce(placed);
    });
    if (piece > 0) send("send gradients", StageNodes::kSendBackward, p_.holder(piece - 1, chunk), 2 * (piece - 1) + 1);
  }

  void weights(int64_t chunk, bool ready) {
    pass(chunk, true, false, [&](Placed& placed) {
      run(placed, Pass::weight_gradient);
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

  /// Elements that the optimizer of a rank has.
  double updated(const Placed& placed) const { return p_.held(placed.part.parameters, 1); }

  NodeId over(const Slot& slot, const std::string& name, CommType type, double bytes) {
    return n_.collective(n_.intern(name), type, bytes, n_.intern(slot.name), StageNodes::kData);
  }

  /// `trained`: without what is frozen.
  template <class Each>
  void each_kind(const Placed& placed, bool trained, const Each& each) const {
    const Parameters& p = placed.part.parameters;
    const double dense = p.dense - (trained ? p.frozen_dense : 0);
    const double experts = p.experts - (trained ? p.frozen_experts : 0);
    if (dense > 0) each(p_.data, dense, placed.part.name);
    if (experts > 0) each(p_.experts, experts, placed.part.name + ".experts");
  }

  /// `trained`: of what was updated alone.
  std::vector<NodeId> gather_parameters(const Placed& placed, bool trained = false) {
    std::vector<NodeId> gathered;
    each_kind(placed, trained, [&](const Slot& slot, double elements, const std::string& name) {
      if (slot.size > 1)
        gathered.push_back(over(slot, name + ".parameters.all_gather", CommType::all_gather,
                                slot.share(elements) * static_cast<double>(o_.bytes_per_element)));
    });
    return gathered;
  }

  /// The gradients of a part are complete: they leave while the rest of the backward pass goes on.
  void reduce(Placed& placed) {
    placed.reduced.clear();
    const auto bytes = static_cast<double>(o_.gradient_bytes);
    const Slot& copies = p_.replicas;
    each_kind(placed, true, [&](const Slot& slot, double elements, const std::string& name) {
      if (slot.size == 1 && copies.size == 1) return;
      if (slot.size > 1)
        placed.reduced.push_back(
            o_.zero == 0 ? over(slot, name + ".gradients.all_reduce", CommType::all_reduce, elements * bytes)
                         : over(slot, name + ".gradients.reduce_scatter", CommType::reduce_scatter,
                                slot.share(elements) * static_cast<double>(slot.size) * bytes));
      if (copies.size > 1)
        placed.reduced.push_back(
            over(copies, name + ".gradients.all_reduce", CommType::all_reduce, slot.share(elements) * bytes));
    });
  }

  /// Sums of gradients over other ranks than those with other data: once a step.
  void finish_gradients() {
    double dense = 0, experts = 0, own = 0;
    for (const std::vector<Placed>& parts : chunks_)
      for (const Placed& placed : parts) {
        dense += placed.part.unit->parameters.shared_dense;
        experts += placed.part.unit->parameters.shared_experts;
        own += updated(placed);
      }
    const auto bytes = static_cast<double>(o_.gradient_bytes);
    const auto sum = [&](const char* name, std::string_view group, double elements) {
      if (elements > 0)
        n_.wait(n_.collective(n_.intern(name), CommType::all_reduce, elements * bytes, n_.intern(group),
                              StageNodes::kTensor));
    };
    sum("norms.gradients.all_reduce", "tp", dense);
    sum("norms.experts.gradients.all_reduce", "etp", experts);
    if (o_.lora_rank == 0 && p_.tied_apart() && (stage_ == 0 || stage_ + 1 == p_.pipeline.stages)) {
      const Parameters& table = p_.end()->parameters;
      wait_for_all();
      n_.wait(n_.collective(n_.intern("embedding.gradients.all_reduce"), CommType::all_reduce,
                            (o_.zero == 0 ? table.largest : p_.data.share(table.largest)) * bytes, n_.intern("tied"),
                            StageNodes::kData));
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

  /// Reads gradients, and reads and writes parameters and moments in the optimizer's types; writes a copy of the
  /// parameters in the model's.
  Work update_of(const Placed& placed) const {
    const Parameters& p = placed.part.parameters;
    const double copy = o_.bytes_per_element < 4 ? real(o_.bytes_per_element) : 0;
    const double own = o_.bytes_per_element < 4 ? 0 : real(o_.bytes_per_element);
    const double each = kGradient + 2 * (optimizer_bytes(o_, p) + own) + copy;
    Work work{0, updated(placed) * each};
    if (const double all = Plan::all(p, 1); kOptimizers[o_.optimizer].orthogonal && all > 0) {
      const double share = updated(placed) / all;
      work.flops += share * p.orthogonal_ops;
      work.bytes += share * p.matrices * kOrthogonalBytes;
    }
    return work;
  }

  /// Each rank updates its share of every part and gives it to the others.
  void update() {
    for (const std::vector<Placed>& parts : chunks_)
      for (size_t i = parts.size(); i-- > 0;) {
        const Placed& placed = parts[i];
        for (const NodeId node : placed.reduced) n_.wait(node);
        if (Plan::all(placed.part.parameters, 1) == 0 && o_.lora_rank > 0) continue;
        n_.compute(placed.part.name + ".optimizer", update_of(placed));
        if (o_.zero == 1 || o_.zero == 2) gather_parameters(placed, true);
      }
  }

  // ---- storage -------------------------------------------------------------------------------------------------

  void read_data() {
    const double sample = o_.storage.sample_bytes > 0 ? real(o_.storage.sample_bytes) : 4 * real(o_.sequence);
    if (!o_.storage.data_tier.empty())
      n_.wait(n_.storage(n_.intern("data.read"), NodeType::mem_load,
                         {o_.storage.data_tier, "dataloader", real(o_.micro_batch_size) * sample},
                         std::array{buffer_free()}));
  }

  double table_bytes(const Placed& placed) const {
    const double elements = placed.part.parameters.tables;
    return elements * real(o_.bytes_per_element) + kRowState * elements / real(o_.model.hidden);
  }

  void begin_storage() {
    if (o_.storage.checkpoint_behind) write_checkpoint();
    if (o_.storage.restart_tier.empty()) return;
    double bytes = 0;
    for (const std::vector<Placed>& parts : chunks_)
      for (const Placed& placed : parts) {
        bytes += optimizer_bytes(o_, placed.part.parameters) * updated(placed) +
                 real(o_.bytes_per_element) * p_.held(placed.part.parameters, 3) + table_bytes(placed);
      }
    n_.wait(n_.storage(n_.intern("restart.read"), NodeType::mem_load, {o_.storage.restart_tier, "ckpt_read", bytes},
                       std::array{kNoNode}));
  }

  /// Ranks that hold the same write an equal part of it each.
  void write_checkpoint() {
    if (o_.storage.checkpoint_tier.empty()) return;
    double bytes = 0, tables = 0;
    const double data_ranks = real(p_.mesh.of(Axis::dp) * p_.mesh.of(Axis::cp)), edp = real(p_.mesh.of(Axis::edp));
    for (const std::vector<Placed>& parts : chunks_)
      for (const Placed& placed : parts) {
        const Parameters& p = placed.part.parameters;
        bytes +=
            (p.once_dense / data_ranks + p.once_experts / edp) * (real(o_.bytes_per_element) + optimizer_bytes(o_, p));
        tables += table_bytes(placed);
      }
    bytes = bytes / real(p_.schedule->copies) + tables;
    checkpoint_ = n_.storage(n_.intern("checkpoint.write"), NodeType::mem_store,
                             {o_.storage.checkpoint_tier, "ckpt_write", bytes}, std::array{n_.computed()});
  }

  const Plan& p_;
  const StepOptions& o_;
  StageNodes n_;
  const int64_t stage_;
  std::vector<std::vector<Placed>> chunks_;
  std::vector<NodeId> ends_;     ///< of each task so far, its last computation
  NodeId checkpoint_ = kNoNode;  ///< its writing; the optimizer waits for one that began with the step
};

}  // namespace

Result<StageTrace> build_stage(const Plan& plan, int64_t stage, int64_t place) {
  return Stage(plan, stage, place).build();
}

}  // namespace chakra::gen
