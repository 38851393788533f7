// Forward: where operators need their tensors, what brings them there, and what they cost.
#include "chakra/gen/program.h"

#include <algorithm>
#include <set>

#include "chakra/gen/compiler.h"
#include "chakra/gen/real.h"

namespace chakra::gen {
namespace {

using trace::CommType;

bool is_expert(const Weight& weight) { return weight.dims.size() == 3 && weight.dims[0].dim == Dim::experts; }
bool has(const std::vector<Extent>& dims, Dim dim) {
  return std::any_of(dims.begin(), dims.end(), [dim](const Extent& extent) { return extent.dim == dim; });
}
const Extent& in_of(const Weight& matrix) { return matrix.dims[matrix.dims.size() - 2]; }

/// Whether backward needs what went in.
bool keeps_inputs(OpKind kind) {
  switch (kind) {
    case OpKind::matmul:
    case OpKind::norm:
    case OpKind::attention:
    case OpKind::activation:
    case OpKind::modulate:
    case OpKind::interact:
    case OpKind::loss:
    case OpKind::combine: return true;
    default: return false;
  }
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

double Compiler::bytes(size_t tensor, const Placements& at) const {
  const Tensor& t = g_.tensors[tensor];
  return elements(t.dims, at, s_.mesh) * (t.wide ? 4 : s_.element);
}

size_t Compiler::convert(size_t v, const Placements& to, const char* suffix) {
  if (values_[v].at == to) return v;
  const auto [found, added] = moved_.try_emplace({v, to}, kNone);
  if (!added && values_[found->second].program == to_) return found->second;
  size_t last = v;
  for (int now = 0; now < 3; ++now)
    for (size_t a = 0; a < to.size(); ++a) {
      const Value from = values_[last];
      const Move m = move(from.at[a], to[a]);
      CHAKRA_ASSERT(m.possible);
      if (!m.collective || phase(*m.collective) != now) continue;
      Step step{g_.tensors[from.tensor].name + suffix + "." + lower(trace::name(*m.collective)),
                Step::Kind::collective,
                {},
                *m.collective,
                bytes(from.tensor, from.at),
                static_cast<Axis>(a),
                {}};
      if (from.program == to_ && from.wait != kNone) step.waits.push_back(from.wait);
      Placements at = from.at;
      at[a] = to[a];
      last = value(from.tensor, at);
      values_[last].program = to_;
      values_[last].wait = to_->size();
      to_->push_back(std::move(step));
    }
  if (values_[last].at != to) {  // the other moves cost nothing
    const Value from = values_[last];
    last = value(from.tensor, to);
    values_[last].program = to_;
    values_[last].wait = from.program == to_ ? from.wait : kNone;
  }
  return found->second = last;
}

void Compiler::compute(std::string name, const Work& work, const std::vector<size_t>& inputs) {
  Step step;
  step.name = std::move(name);
  step.work = work;
  for (const size_t v : inputs)
    if (values_[v].program == to_ && values_[v].wait != kNone) {
      step.waits.push_back(values_[v].wait);
      values_[v].wait = kNone;  // computations follow each other
    }
  to_->push_back(std::move(step));
}

bool Compiler::rings(const Op& op) const {
  return op.kind == OpKind::attention && s_.mesh.of(Axis::cp) > 1 && s_.context == ContextKind::ring;
}

/// Keys and values go round: each rank multiplies its queries with what it has, while the next part is on its way.
/// Backward their gradients go round after them.
void Compiler::ring(const Op& op, const std::string& name, const Work& work, bool gradients,
                    const std::vector<size_t>& inputs) {
  double block = 0;
  for (size_t i = 1; i < op.inputs.size(); ++i) block += bytes(op.inputs[i], needs(op)[i]);
  const auto hop = [&](const char* what, std::vector<size_t> waits) {
    to_->push_back({name + what + "send", Step::Kind::send, {}, trace::CommType::unknown, block, Axis::cp, waits});
    to_->push_back({name + what + "recv", Step::Kind::receive, {}, trace::CommType::unknown, block, Axis::cp, {}});
    return to_->size() - 1;
  };
  const int64_t ranks = s_.mesh.of(Axis::cp);
  std::vector<size_t> here;
  for (int64_t i = 0; i < ranks; ++i) {
    std::vector<size_t> next;
    if (i + 1 < ranks) next.push_back(hop(".ring.", here));
    compute(name, {work.flops / static_cast<double>(ranks), work.bytes}, i == 0 ? inputs : std::vector<size_t>{});
    for (const size_t wait : here) to_->back().waits.push_back(wait);
    if (i + 1 < ranks && gradients) next.push_back(hop(".ring.grad.", {}));
    here = std::move(next);
  }
}

Work Compiler::matmul(const Op& op, const Placements& x) const {
  const Weight& matrix = op.weights[0];
  const Placements w = weight_at(matrix);
  const std::vector<Extent>& dims = g_.tensors[op.inputs[0]].dims;
  const double rows = elements({dims.begin(), dims.end() - 1}, x, s_.mesh);
  const double in = elements({in_of(matrix)}, w, s_.mesh), out = elements({matrix.dims.back()}, w, s_.mesh);
  return {2 * rows * in * out, s_.element * rows * (in + out) + weights_read(op, x)};
}

/// Bytes of the matrix. Where an expert has less than a token, on average, some have one and the others are not read.
double Compiler::weights_read(const Op& op, const Placements& x) const {
  const Weight& matrix = op.weights[0];
  const double all = s_.element * elements(matrix.dims, weight_at(matrix), s_.mesh);
  if (!is_expert(matrix)) return all;
  return all * std::min(1.0, elements({g_.tensors[op.inputs[0]].dims[1]}, x, s_.mesh));
}

double Compiler::cache_read(const Op& op, const std::vector<Placements>& inputs) const {
  return op.cache.empty() ? 0 : op.cache_element * elements(op.cache, inputs[1], s_.mesh);
}

Work Compiler::work(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const {
  double in = 0;
  for (size_t i = 0; i < inputs.size(); ++i) in += bytes(op.inputs[i], inputs[i]);
  const double out = bytes(op.output, output);
  switch (op.kind) {
    case OpKind::matmul: return matmul(op, inputs[0]);
    case OpKind::per_head: {
      const std::vector<Extent>& part = op.weights[0].dims;
      const double vectors =
          elements(g_.tensors[op.inputs[0]].dims, inputs[0], s_.mesh) / g_.tensors[op.inputs[0]].dims.back().unit;
      return {2 * vectors * part[1].count * part[2].count, in + out + weights_read(op, inputs[0])};
    }
    case OpKind::attention: {
      const Tensor& q = g_.tensors[op.inputs[0]];
      const double queries = elements(q.dims, inputs[0], s_.mesh) / q.dims.back().unit;
      const double scores = s_.fused_attention ? 0 : 2 * queries * q.dims[1].count * s_.element;
      const double read = op.cache.empty() ? in : bytes(op.inputs[0], inputs[0]) + cache_read(op, inputs);
      return {2 * queries * op.keys * op.widths, read + out + scores};
    }
    case OpKind::reduce: return {0, op.reads * in + out};
    case OpKind::lookup: return {0, (1 + op.reads) * out};
    case OpKind::source:
    case OpKind::select:
    case OpKind::dispatch: return {0, 2 * out};
    case OpKind::modulate: return {0, bytes(op.inputs[0], inputs[0]) + op.reads * bytes(op.inputs[1], inputs[1]) + out};
    case OpKind::interact: {
      const double examples = elements({g_.tensors[op.output].dims[0]}, output, s_.mesh);
      return {2 * examples * op.keys * op.keys * op.widths, in + out};
    }
    case OpKind::loss: return {0, op.reads * in + 4 * out};
    default: return {0, in + out};
  }
}

void Compiler::forward(Program& program) {
  to_ = &program;
  for (const size_t input : g_.inputs) made_[input] = value(input, natural(input));
  for (const Op& op : g_.ops) {
    const std::vector<Placements> at = needs(op);
    std::vector<size_t> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(convert(made_[op.inputs[i]], at[i], ""));
    made_[op.output] = value(op.output, result(op, at));
    const Work cost = work(op, at, values_[made_[op.output]].at);
    if (rings(op)) ring(op, op.name, cost, false, inputs);
    else compute(op.name, cost, inputs);
    if (op.kind == OpKind::lookup && op.weights[0].cut == Dim::tables)
      convert(made_[op.output], natural(op.output), "");
  }
  for (const size_t output : g_.outputs) convert(made_[output], natural(output), "");
}

// ---- sums ------------------------------------------------------------------------------------------------------

Parameters Compiler::parameters() const {
  Parameters sum;
  for (const Op& op : g_.ops)
    for (size_t i = 0; i < op.weights.size(); ++i) {
      const Weight& weight = op.weights[i];
      const bool expert = is_expert(weight);
      const double own = elements(weight.dims, weight_at(weight), s_.mesh);
      if (weight.borrowed || weight.cut == Dim::tables) {
        (weight.borrowed ? sum.borrowed : sum.tables) += own;
        continue;
      }
      (expert ? sum.experts : sum.dense) += own;
      sum.largest = std::max(sum.largest, own);
      const double sharers = real(expert ? s_.mesh.of(Axis::etp) * s_.mesh.of(Axis::ep) : s_.mesh.of(Axis::tp));
      (expert ? sum.once_experts : sum.once_dense) += elements(weight.dims, {}, Mesh{}) / sharers;
      const size_t axis = index(expert ? Axis::etp : Axis::tp);
      if (s_.mesh.size[axis] == 1 || weight.cut != Dim::none) continue;
      // Ranks with other tokens have other terms. A bias is added to sums that are complete.
      const Placements out = gradient_at(op.output);
      if (out[axis].kind != Placement::Kind::replicated) (expert ? sum.shared_experts : sum.shared_dense) += own;
    }
  return sum;
}

double Compiler::kept() const {
  std::set<std::pair<size_t, Placements>> tensors;
  double sum = 0;
  if (s_.recompute == Recompute::full && !g_.inputs.empty()) {
    for (const size_t input : g_.inputs) sum += bytes(input, natural(input));
    return sum;
  }
  for (const Op& op : g_.ops) {
    const Placements out = values_[made_[op.output]].at;
    if (op.mask && op.kind == OpKind::add) sum += elements(g_.tensors[op.output].dims, out, s_.mesh);
    if (op.kind == OpKind::attention && !s_.fused_attention && s_.recompute == Recompute::none) {
      const Tensor& q = g_.tensors[op.inputs[0]];
      const double scores = elements(q.dims, out, s_.mesh) / q.dims.back().unit * q.dims[1].count;
      sum += scores * (s_.element + (op.mask ? 1 + s_.element : 0));  // softmax; its mask; the scores that pass it
    }
    if (!keeps_inputs(op.kind)) continue;
    const std::vector<Placements> at = needs(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const size_t input = op.inputs[i];
      const Placements place = kept_at(op, i, at[i]);
      if (tensors.insert({input, place}).second) sum += bytes(input, place);
    }
  }
  return sum;
}

Reads Compiler::reads() const {
  Reads sum;
  for (const Op& op : g_.ops) {
    const std::vector<Placements> at = needs(op);
    if (op.kind == OpKind::matmul || op.kind == OpKind::per_head) sum.parameters += weights_read(op, at[0]);
    if (op.kind == OpKind::lookup) sum.parameters += bytes(op.output, values_[made_[op.output]].at);
    sum.cache += cache_read(op, at);
  }
  return sum;
}

double Compiler::largest() const {
  double most = 0;
  for (const Op& op : g_.ops) {
    const std::vector<Placements> at = needs(op);
    double sum = bytes(op.output, values_[made_[op.output]].at);
    for (size_t i = 0; i < op.inputs.size(); ++i) sum += bytes(op.inputs[i], at[i]);
    most = std::max(most, sum);
  }
  return most;
}

double Compiler::passed() const {
  double sum = 0;
  for (const size_t output : g_.outputs) sum += bytes(output, natural(output));
  return sum;
}

Unit compile(const Graph& graph, const Spread& spread) {
  Unit unit;
  Compiler compiler(graph, spread);
  compiler.forward(unit.forward);
  compiler.backward(unit.backward, unit.backward);
  compiler.backward(unit.input_gradient, unit.weight_gradient);
  unit.parameters = compiler.parameters();
  unit.kept = compiler.kept();
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
