// Backward: a rule per operator for the gradients of its inputs and of its weights.
#include <map>

#include "chakra/base/real.h"
#include "chakra/gen/compiler.h"

namespace chakra::gen {

namespace {

/// "attention.backward:2,4096,32,8,128"; "" where forward has no name.
std::string backward_kernel(std::string forward) {
  if (!forward.empty()) forward.insert(forward.find(':'), contains(forward, ".") ? "_backward" : ".backward");
  return forward;
}

}  // namespace

/// Keep tokens that were gathered for a GEMM as they were before the gathering, unless requested otherwise.
Placements Compiler::kept_at(const Op& op, size_t input, const Placements& needed) const {
  Placements at = needed;
  const size_t tp = index(Axis::tp);
  const Placement made = settled(values_[made_[op.inputs[input]]].at, op.inputs[input])[tp];
  if (op.kind == OpKind::modulate) return at;  // few numbers
  if (!s_.keep_gathered && made.kind == Placement::Kind::sharded && at[tp] == kReplicated) at[tp] = made;
  return at;
}

void Compiler::backward(Program& inputs, Program& weights) {
  now_.to = &inputs;
  now_.weights = &weights;
  moved_.clear();
  late_.clear();
  const bool again = s_.recompute == Recompute::full || s_.recompute == Recompute::per_operator;
  if (again && !g_.inputs.empty() && !g_.outputs.empty()) recompute();
  count_terms();
  for (const Op& op : g_.ops)  // beside what is done before it is needed
    if (op.kind == OpKind::lookup && op.weights[0].cut == Dim::tables)
      gradient_[op.output] = convert(gradient_[op.output], wanted(op), ".grad");
  for (size_t i = g_.ops.size(); i-- > 0;)
    if (g_.ops[i].kind != OpKind::reduce && g_.ops[i].kind != OpKind::source) gradients_of(g_.ops[i]);
  late_gradients();
}

/// How many terms each gradient has; what comes from the part after is one, or all of it.
void Compiler::count_terms() {
  terms_.assign(g_.tensors.size(), {});
  gradient_.assign(g_.tensors.size(), kNone);
  left_.assign(g_.tensors.size(), 0);
  for (const Op& op : g_.ops) {
    if (op.kind == OpKind::reduce) continue;
    const size_t numbers = op.kind == OpKind::loss ? 1 : op.inputs.size();  // those of a token have no gradient
    for (size_t i = 0; i < numbers; ++i) ++left_[op.inputs[i]];
  }
  for (const size_t output : g_.outputs) {
    Placements at = natural(output);
    if (g_.tensors[output].condition) at = gradient_at(output);
    const size_t arrived = value(output, at);
    if (left_[output] > 0) terms_[output].push_back(arrived);
    else gradient_[output] = arrived;
  }
}

/// The forward pass again, or what of it was not kept. What it gathers is not kept by it either.
void Compiler::recompute() {
  const std::vector<size_t> made = made_;
  const size_t first = now_.to->size();
  Program* const program = now_.to;
  now_.again = s_.recompute == Recompute::per_operator;
  forward(*program);
  now_.again = false;
  for (size_t i = first; i < program->size(); ++i) (*program)[i].name += ".again";
  made_ = made;
  moved_.clear();
}

void Compiler::gradients_of(const Op& op) {
  now_.op = &op;
  const auto same = [&](double times) {  // passes over the tensors of forward
    std::vector<Placements> at = needs(op);
    Work w = work(op, at, result(op, at));
    return Work{times * w.flops, times * w.bytes};
  };
  if (op.kind == OpKind::loss) {
    const Placements at = needs(op)[0];
    compute("loss.grad", {0, 2 * bytes(op.inputs[0], at)}, {});
    return contribute(op.inputs[0], value(op.inputs[0], at));
  }
  const size_t arrived = gradient_[op.output];
  if (op.kind == OpKind::add) {
    for (const size_t input : op.inputs) contribute(input, arrived);
    return;
  }
  const Placements needed = wanted(op);
  if (op.kind == OpKind::lookup) {
    if (op.weights[0].frozen) return;
    late_.push_back({static_cast<size_t>(&op - g_.ops.data()), arrived, kNone});
    return late_gradients();
  }
  const size_t dy = operand(op, arrived, needed, 1, ".grad");
  switch (op.kind) {
    case OpKind::matmul: return matmul_gradients(op, dy);
    case OpKind::attention: {
      const Work w = same(1);
      const double scores = g_.tensors[op.inputs[0]].dims.back().unit / op.widths;  // the share of queries times keys
      if (s_.recompute == Recompute::selective) {  // fused: only the scores; else all of it
        if (in_kernels(op)) attend(op, op.name + ".again", {});
        else compute(op.name + ".again", {w.flops * (s_.fused_attention ? scores : 1), w.bytes}, {});
      }
      const Work twice{2 * w.flops, 2 * w.bytes};
      const std::string name = backward_kernel(kernel(op, needs(op), result(op, needs(op))));
      if (rings(op)) ring(op, op.name + ".grad", {twice, name}, true, {dy});
      else if (in_kernels(op)) attend_gradients(op, {dy});
      else compute(op.name + ".grad", twice, {dy}, name);
      break;
    }
    case OpKind::select:
      compute(op.name + ".grad", {0, bytes(op.inputs[0], needs(op)[0]) + bytes(op.output, needed)}, {dy});
      break;
    default: compute(op.name + ".grad", same(2), {dy});
  }
  const std::vector<Placements> at = needs(op);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    Placements gradient = at[i];
    // Every rank's queries met these keys and values.
    if (op.kind == OpKind::attention && s_.mesh.of(Axis::cp) > 1 && s_.context == ContextKind::gather && i > 0)
      gradient[index(Axis::cp)] = kPartial;
    if (op.kind == OpKind::modulate && i > 0)  // a term of each token
      for (const Axis axis : {Axis::tp, Axis::cp})
        if (at[0][index(axis)] == sharded(Dim::sequence)) gradient[index(axis)] = kPartial;
    if (op.kind != OpKind::modulate && g_.tensors[op.inputs[i]].condition) gradient = gradient_at(op.inputs[i]);
    contribute(op.inputs[i], value(op.inputs[i], gradient));
  }
}

/// The inputs' gradient first: others wait for it.
void Compiler::matmul_gradients(const Op& op, size_t dy) {
  const size_t input = op.inputs[0], made = made_[input];
  const Placements at = needs(op)[0], kept = kept_at(op, 0, at);
  size_t x = made;
  if (kept != values_[made].at || reads_fp8(op)) {
    const auto [found, added] = moved_.try_emplace({made, kept, element_read(op)}, kNone);
    if (added) found->second = value(input, kept, element_read(op));
    x = found->second;
  }
  if (now_.weights == now_.to) x = convert(x, at, ".again");
  if (!op.weights[0].frozen) late_.push_back({static_cast<size_t>(&op - g_.ops.data()), dy, x});
  if (is_source(input)) return late_gradients();
  multiply(op, Product::input_gradient, {dy});
  // Sharded outputs: each rank has a term of the gradient. Sharded inputs: each has its part.
  const Placements weight = weight_at(op.weights[0]);
  Placements gradient = at;
  for (size_t a = 0; a < at.size(); ++a)
    if (weight[a] != kReplicated && at[a] == kReplicated) gradient[a] = kPartial;
  if (g_.tensors[input].condition) gradient = gradient_at(input);
  contribute(input, value(input, gradient));
}

void Compiler::multiply(const Op& op, Product product, const std::vector<size_t>& inputs) {
  const Placements at = needs(op)[0];
  const auto kernel = [&](const std::array<size_t, 3>& order) {
    const std::string name = this->product(op, at, order);
    return is_expert(op.weights[0]) ? backward_kernel(name) : name;
  };
  if (product == Product::input_gradient)
    compute(op.name + ".dgrad", matmul(op, at, product), inputs, kernel({0, 2, 1}));
  else compute(op.name + ".wgrad", matmul(op, at, product), inputs, kernel({2, 1, 0}));
  now_.to->back().fp8 = reads_fp8(op);
  now_.to->back().weights = fixed_bytes(op, at, product);
}

void Compiler::contribute(size_t tensor, size_t gradient) {
  terms_[tensor].push_back(gradient);
  if (--left_[tensor] > 0) return;
  finish_gradient(tensor);
  late_gradients();
}

/// Terms that are at the same places are added up before they move.
void Compiler::finish_gradient(size_t tensor) {
  const Placements target = gradient_at(tensor);
  const std::string name = g_.tensors[tensor].name + ".grad.sum";
  const auto sum = [&](const std::vector<size_t>& terms) {
    if (terms.size() == 1) return terms[0];
    const Placements at = values_[terms[0]].at;
    compute(name, {0, static_cast<double>(terms.size() + 1) * bytes(tensor, at)}, terms);
    return value(tensor, at);
  };
  std::map<Placements, std::vector<size_t>> alike;
  for (const size_t term : terms_[tensor]) alike[values_[term].at].push_back(term);
  std::vector<size_t> moved;
  for (const auto& [at, terms] : alike) moved.push_back(convert(sum(terms), target, ".grad"));
  gradient_[tensor] = sum(moved);
}

void Compiler::late_gradients() {
  Program* const inputs = now_.to;
  const Op* const doing = now_.op;
  now_.to = now_.weights;
  for (const LateGradient& late : late_) {
    const Op& op = g_.ops[late.op];
    now_.op = &op;
    if (op.kind == OpKind::lookup) {
      const size_t dy = convert(late.dy, wanted(op), ".grad");
      compute(op.name + ".grad", {0, (1 + 2 * op.reads) * bytes(op.output, values_[dy].at)}, {dy});
      continue;
    }
    const Placements at = needs(op)[0];
    const size_t x = convert(late.x, at, ".again");
    multiply(op, Product::weight_gradient, {late.dy, x});
  }
  late_.clear();
  now_.to = inputs;
  now_.op = doing;
}

}  // namespace chakra::gen
