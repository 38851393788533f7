// Forward: where operators need their tensors, and what brings them there.
#include "chakra/gen/program.h"

#include <algorithm>

#include "chakra/base/real.h"
#include "chakra/gen/compiler.h"

namespace chakra::gen {
namespace {

using trace::CommType;

bool has(const std::vector<Extent>& dims, Dim dim) {
  return std::any_of(dims.begin(), dims.end(), [dim](const Extent& extent) { return extent.dim == dim; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

/// Collectives that make a tensor smaller come first, those that make it larger last.
int phase(CommType type) {
  if (type == CommType::all_gather) return 2;
  return type == CommType::all_to_all ? 1 : 0;
}

}  // namespace

// ---- placements ------------------------------------------------------------------------------------------------

Placements Compiler::natural(size_t tensor) const {
  const std::vector<Extent>& dims = g_.tensors[tensor].dims;
  Placements at{};
  const auto spread = [&](Axis axis, Dim dim) {
    if (s_.mesh.of(axis) > 1) at[index(axis)] = sharded(dim);
  };
  if (dims[0].dim == Dim::experts) {
    for (const Axis axis : {Axis::etp, Axis::ep, Axis::edp})
      if (axis != Axis::etp || !same_tokens()) spread(axis, Dim::slots);
    return at;
  }
  if (s_.sequence_parallel && has(dims, Dim::sequence)) spread(Axis::tp, Dim::sequence);
  if (has(dims, Dim::sequence)) spread(Axis::cp, Dim::sequence);
  spread(Axis::dp, Dim::batch);
  return at;
}

Placements Compiler::settled(const Placements& at, size_t tensor) const {
  Placements result = at;
  const Placements whole = natural(tensor);
  for (size_t a = 0; a < at.size(); ++a)
    if (at[a] == kPartial) result[a] = whole[a];
  return result;
}

bool Compiler::is_source(size_t tensor) const {
  return std::any_of(g_.ops.begin(), g_.ops.end(),
                     [tensor](const Op& op) { return op.kind == OpKind::source && op.output == tensor; });
}

Placements Compiler::gradient_at(size_t tensor) const {
  Placements at = settled(values_[made_[tensor]].at, tensor);
  if (g_.tensors[tensor].condition)
    for (const Axis axis : {Axis::tp, Axis::cp})
      if (s_.mesh.of(axis) > 1 && at[index(axis)] == kReplicated) at[index(axis)] = kPartial;
  return at;
}

Placements Compiler::wanted(const Op& op) const {
  if (g_.tensors[op.output].condition) return gradient_at(op.output);
  Placements at = values_[made_[op.output]].at;
  for (Placement& p : at)
    if (p == kPartial) p = kReplicated;
  return at;
}

Placements Compiler::weight_at(const Weight& weight) const {
  Placements at{};
  const bool expert = is_expert(weight);
  const Axis cut = expert ? Axis::etp : Axis::tp;
  if (weight.cut != Dim::none && s_.mesh.of(cut) > 1) at[index(cut)] = sharded(weight.cut);
  if (expert && s_.mesh.of(Axis::ep) > 1) at[index(Axis::ep)] = sharded(Dim::experts);
  if (weight.cut == Dim::tables) {
    at[index(cut)] = kReplicated;
    if (s_.mesh.of(Axis::dp) > 1) at[index(Axis::dp)] = sharded(Dim::tables);
  }
  return at;
}

std::vector<Placements> Compiler::needs(const Op& op) const {
  std::vector<Placements> result;
  for (const size_t input : op.inputs) result.push_back(settled(values_[made_[input]].at, input));
  switch (op.kind) {
    case OpKind::matmul: {
      const Weight& matrix = op.weights[0];
      const Dim in = in_of(matrix).dim;
      const Placements at = weight_at(matrix), whole = natural(op.inputs[0]);
      for (size_t a = 0; a < at.size(); ++a) {
        Placement& x = result[0][a];
        if (at[a] == kReplicated) x = x == sharded(in) ? whole[a] : x;
        else if (at[a] == sharded(in) || at[a] == sharded(Dim::experts)) x = at[a];
        else x = kReplicated;
      }
      break;
    }
    case OpKind::attention:
      if (s_.mesh.of(Axis::cp) == 1 || s_.context == ContextKind::ring) break;
      for (size_t i = 0; i < result.size(); ++i) {
        Placement& p = result[i][index(Axis::cp)];
        if (s_.context == ContextKind::all_to_all) p = sharded(i == 0 ? Dim::heads : Dim::kv_heads);
        else if (i > 0) p = kReplicated;
      }
      break;
    case OpKind::loss:  // a number of a token is where its logits are
      for (size_t i = 1; i < result.size(); ++i)
        for (size_t a = 0; a < result[i].size(); ++a)
          result[i][a] = result[0][a] == sharded(Dim::vocabulary) ? kReplicated : result[0][a];
      break;
    case OpKind::add: {  // terms of sums are added before they are summed
      for (size_t a = 0; a < result[0].size(); ++a)
        if (std::all_of(op.inputs.begin(), op.inputs.end(),
                        [&](size_t input) { return values_[made_[input]].at[a] == kPartial; }))
          for (Placements& at : result) at[a] = kPartial;
      break;
    }
    case OpKind::modulate: {  // all numbers, of the examples that the tokens are of
      result[1] = natural(op.inputs[1]);
      break;
    }
    case OpKind::interact:
    case OpKind::dispatch:
    case OpKind::combine: {
      for (size_t i = 0; i < op.inputs.size(); ++i) result[i] = natural(op.inputs[i]);
      // The terms of an expert's results are summed after those of a token's experts are.
      if (Placement& terms = result[0][index(Axis::etp)];
          same_tokens() && values_[made_[op.inputs[0]]].at[index(Axis::etp)] == kPartial)
        terms = kPartial;
      break;
    }
    default: break;
  }
  return result;
}

Placements Compiler::result(const Op& op, const std::vector<Placements>& inputs) const {
  switch (op.kind) {
    case OpKind::lookup: {
      Placements at = natural(op.output);
      const size_t tp = index(Axis::tp);
      const Placements table = weight_at(op.weights[0]);
      if (table[tp] == sharded(Dim::vocabulary)) at[tp] = kPartial;
      if (table[index(Axis::dp)] == sharded(Dim::tables)) at[index(Axis::dp)] = sharded(Dim::tables);
      return at;
    }
    case OpKind::matmul: {
      Placements at = inputs[0];
      const Weight& matrix = op.weights[0];
      const Placements w = weight_at(matrix);
      for (size_t a = 0; a < at.size(); ++a)
        if (w[a] == sharded(in_of(matrix).dim)) at[a] = kPartial;
        else if (w[a] != kReplicated) at[a] = w[a];
      return at;
    }
    case OpKind::reduce: {
      Placements at = inputs[0];
      for (Placement& p : at)
        if (p == sharded(Dim::vocabulary)) p = kPartial;
      return at;
    }
    case OpKind::combine: {
      Placements at = natural(op.output);
      if (inputs[0][index(Axis::etp)] == kPartial) at[index(Axis::tp)] = kPartial;
      return at;
    }
    case OpKind::source:
    case OpKind::interact:
    case OpKind::dispatch:
    case OpKind::loss: return natural(op.output);
    default: return inputs[0];
  }
}

// ---- steps -----------------------------------------------------------------------------------------------------

/// Tokens go to the ranks of the experts that they chose, or come back.
void Compiler::split(Step& step, const Value& from) const {
  if (s_.choices.empty() || step.axis != Axis::ep || step.type != CommType::all_to_all) return;
  const std::vector<Extent>& dims = g_.tensors[from.tensor].dims;
  const auto width = static_cast<int64_t>(elements({dims.begin() + 2, dims.end()}, from.at, s_.mesh));
  for (const int64_t choices : s_.choices) step.in_split.push_back(choices * width);
  step.out_split.assign(s_.choices.size(), s_.choices[static_cast<size_t>(s_.place)] * width);
  if (from.at[index(Axis::ep)] == sharded(Dim::experts)) std::swap(step.in_split, step.out_split);
}

size_t Compiler::convert(size_t v, const Placements& to, const char* suffix) {
  if (values_[v].at == to) return v;
  const auto [found, added] = moved_.try_emplace({v, to, values_[v].element}, kNone);
  if (!added && values_[found->second].program == now_.to) return found->second;
  size_t last = v;
  for (int now = 0; now < 3; ++now)
    for (size_t a = 0; a < to.size(); ++a) {
      const Value from = values_[last];
      const Move m = move(from.at[a], to[a]);
      CHAKRA_ASSERT(m.possible);
      if (!m.collective || phase(*m.collective) != now) continue;
      if (now_.again && now == 0) {  // it was kept
        Placements at = from.at;
        at[a] = to[a];
        last = value(from.tensor, at, from.element);
        continue;
      }
      Step step{g_.tensors[from.tensor].name + suffix + "." + lower(trace::name(*m.collective)),
                Step::Kind::collective,
                {},
                *m.collective,
                bytes(from.tensor, from.at, from.element) * (static_cast<Axis>(a) == Axis::ep ? s_.dispatched : 1),
                static_cast<Axis>(a)};
      split(step, from);
      if (from.program == now_.to && from.wait != kNone) step.waits.push_back(from.wait);
      Placements at = from.at;
      at[a] = to[a];
      last = value(from.tensor, at, from.element);
      values_[last].program = now_.to;
      values_[last].wait = now_.to->size();
      now_.to->push_back(std::move(step));
    }
  if (values_[last].at != to) {  // the other moves cost nothing
    const Value from = values_[last];
    last = value(from.tensor, to, from.element);
    values_[last].program = now_.to;
    values_[last].wait = from.program == now_.to ? from.wait : kNone;
  }
  return found->second = last;
}

void Compiler::compute(std::string name, const Work& work, const std::vector<size_t>& inputs, std::string kernel) {
  Step step;
  step.name = std::move(name);
  step.work = work;
  step.kernel = std::move(kernel);
  step.of = now_.op->name;
  for (const size_t v : inputs)
    if (values_[v].program == now_.to && values_[v].wait != kNone) {
      step.waits.push_back(values_[v].wait);
      values_[v].wait = kNone;  // computations follow each other
    }
  now_.to->push_back(std::move(step));
}

double Compiler::fixed_bytes(const Op& op, const Placements& x, Product product) const {
  const bool in_8_bits = reads_fp8(op) && product != Product::weight_gradient;
  return weights_read(op, x) / (in_8_bits ? s_.element : 1);
}

double Compiler::multiplied(const Op& op) const {
  const Extent &in = in_of(op.weights[0]), &all = g_.tensors[op.inputs[0]].dims.back();
  return in.count * in.unit / (all.count * all.unit);
}

/// In training two copies, one of them transposed: the gradient of the weights needs it so.
size_t Compiler::cast(size_t v, double share, const char* suffix) {
  if (const auto found = cast_.find(v); found != cast_.end()) return found->second;
  const Value from = values_[v];
  const double elements = share * count(g_.tensors[from.tensor].dims, from.at);
  compute(g_.tensors[from.tensor].name + suffix + ".cast", {0, (s_.element + (s_.trains ? 2 : 1)) * elements}, {v});
  const size_t to = value(from.tensor, from.at, cast_element(share));
  values_[to].program = now_.to;
  return cast_[v] = to;
}

size_t Compiler::operand(const Op& op, size_t v, const Placements& to, double share, const char* suffix) {
  if (!reads_fp8(op)) return convert(v, to, suffix);
  bool gathered = !is_expert(op.weights[0]);
  for (size_t a = 0; a < to.size(); ++a)
    gathered &= move(values_[v].at[a], to[a]).collective.value_or(CommType::all_gather) == CommType::all_gather;
  return gathered ? convert(cast(v, share, suffix), to, suffix) : cast(convert(v, to, suffix), share, suffix);
}

bool Compiler::rings(const Op& op) const {
  return op.kind == OpKind::attention && s_.mesh.of(Axis::cp) > 1 && s_.context == ContextKind::ring;
}

/// Keys and values go round: each rank multiplies its queries with what it has, while the next part is on its way.
/// Backward their gradients go round after them.
void Compiler::ring(const Op& op, const std::string& name, const Kernel& kernel, bool gradients,
                    const std::vector<size_t>& inputs) {
  double block = 0;
  for (size_t i = 1; i < op.inputs.size(); ++i) block += bytes(op.inputs[i], needs(op)[i]);
  const auto hop = [&](const char* what, std::vector<size_t> waits) {
    now_.to->push_back({name + what + "send", Step::Kind::send, {}, trace::CommType::unknown, block, Axis::cp, waits});
    now_.to->push_back({name + what + "recv", Step::Kind::receive, {}, trace::CommType::unknown, block, Axis::cp, {}});
    return now_.to->size() - 1;
  };
  const int64_t ranks = s_.mesh.of(Axis::cp);
  const Work part{kernel.work.flops / real(ranks), kernel.work.bytes / real(ranks)};
  std::vector<size_t> here;
  for (int64_t i = 0; i < ranks; ++i) {
    std::vector<size_t> next;
    if (i + 1 < ranks) next.push_back(hop(".ring.", here));
    compute(name, part, i == 0 ? inputs : std::vector<size_t>{}, kernel.name);
    for (const size_t wait : here) now_.to->back().waits.push_back(wait);
    if (i + 1 < ranks && gradients) next.push_back(hop(".ring.grad.", {}));
    here = std::move(next);
  }
}

/// The softmax scales, masks and sums up in one kernel; dropout is one more, which writes a mask.
void Compiler::attend(const Op& op, const std::string& name, const std::vector<size_t>& inputs) {
  const AttentionWork w = attention(op, needs(op));
  compute(name + ".scores", {w.keys.flops, w.keys.bytes + w.scores}, inputs);
  compute(name + ".softmax", {0, 2 * w.scores}, {});
  if (op.mask) compute(name + ".dropout", {0, 2 * w.scores + w.mask}, {});
  compute(name + ".values", {w.values.flops, w.values.bytes + w.scores}, {});
}

void Compiler::attend_gradients(const Op& op, const std::vector<size_t>& inputs) {
  const AttentionWork w = attention(op, needs(op));
  const Work keys{w.keys.flops, w.keys.bytes + w.scores}, values{w.values.flops, w.values.bytes + w.scores};
  compute(op.name + ".values.grad_scores", values, inputs);
  compute(op.name + ".values.grad_v", values, {});
  if (op.mask) compute(op.name + ".dropout.grad", {0, 2 * w.scores + w.mask}, {});
  compute(op.name + ".softmax.grad", {0, 3 * w.scores}, {});
  compute(op.name + ".scores.grad_q", keys, {});
  compute(op.name + ".scores.grad_k", keys, {});
}

bool Compiler::merge(const Op& op, const Placements& x, const Work& cost) {
  if (!s_.merges || op.kind != OpKind::matmul || is_expert(op.weights[0])) {
    now_.merged = nullptr;
    return false;
  }
  const double columns = elements({op.weights[0].dims.back()}, weight_at(op.weights[0]), s_.mesh);
  const Op* const first = now_.merged;
  const bool same = first && first->inputs[0] == op.inputs[0] && reads_fp8(*first) == reads_fp8(op) &&
                    in_of(first->weights[0]).count == in_of(op.weights[0]).count;
  if (!same) {
    now_.merged = &op;
    now_.columns = columns;
    return false;
  }
  now_.columns += columns;
  const std::vector<Extent>& dims = g_.tensors[op.inputs[0]].dims;
  const double rows = count({dims.begin(), dims.end() - 1}, x);
  const double in = elements({in_of(op.weights[0])}, weight_at(op.weights[0]), s_.mesh);
  Step& step = now_.to->back();
  step.name += "_" + op.name.substr(op.name.rfind('.') + 1);
  step.work.flops += cost.flops;
  step.work.bytes += cost.bytes - (reads_fp8(op) ? 1 : s_.element) * rows * in;  // the input is read once
  step.weights += fixed_bytes(op, x, Product::forward);
  step.kernel = named_kernel("gemm", {rows, now_.columns, in});
  return true;
}

void Compiler::forward(Program& program) {
  now_.to = &program;
  now_.merged = nullptr;
  for (const size_t input : g_.inputs) made_[input] = value(input, natural(input));
  const std::vector<uint8_t> stays = now_.again ? this->stays() : std::vector<uint8_t>(g_.ops.size());
  const std::vector<uint8_t> needed = now_.again ? this->needed(stays) : std::vector<uint8_t>(g_.tensors.size(), 1);
  for (size_t i = 0; i < g_.ops.size(); ++i) {
    const Op& op = g_.ops[i];
    now_.op = &op;
    const std::vector<Placements> at = needs(op);
    if (stays[i] || !needed[op.output]) {
      made_[op.output] = value(op.output, result(op, at));
      continue;
    }
    std::vector<size_t> inputs;
    for (size_t j = 0; j < op.inputs.size(); ++j)
      inputs.push_back(operand(op, made_[op.inputs[j]], at[j], reads_fp8(op) ? multiplied(op) : 1, ""));
    made_[op.output] = value(op.output, result(op, at));
    const Work cost = work(op, at, values_[made_[op.output]].at);
    if (merge(op, at[0], cost)) continue;
    if (rings(op)) ring(op, op.name, {cost, kernel(op, at, result(op, at))}, false, inputs);
    else if (in_kernels(op)) attend(op, op.name, inputs);
    else compute(op.name, cost, inputs, kernel(op, at, values_[made_[op.output]].at));
    now_.to->back().fp8 = reads_fp8(op);
    if (op.kind == OpKind::matmul) now_.to->back().weights = fixed_bytes(op, at[0], Product::forward);
    if (op.kind == OpKind::lookup && op.weights[0].cut == Dim::tables)
      convert(made_[op.output], natural(op.output), "");
  }
  if (now_.again) return;
  for (const size_t output : g_.outputs) convert(made_[output], natural(output), "");
}

Unit compile(const Graph& graph, const Spread& spread) {
  Unit unit;
  Compiler compiler(graph, spread);
  compiler.forward(unit.forward);
  compiler.backward(unit.backward, unit.backward);
  compiler.backward(unit.input_gradient, unit.weight_gradient);
  unit.parameters = compiler.parameters();
  unit.kept = compiler.kept(spread.recompute);
  unit.computed_again = std::max(0.0, compiler.kept(Recompute::none) - unit.kept);
  unit.of_loss = compiler.copies_of_logits();
  unit.passed = compiler.passed();
  return unit;
}

Unit compile_forward(const Graph& graph, const Spread& spread) {
  Unit unit;
  Compiler compiler(graph, spread);
  compiler.forward(unit.forward);
  unit.parameters = compiler.parameters();
  unit.passed = compiler.passed();
  unit.reads = compiler.reads();
  unit.largest = compiler.largest();
  return unit;
}

}  // namespace chakra::gen
