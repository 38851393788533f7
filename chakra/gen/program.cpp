// Forward: where operators need their tensors, what brings them there, and what they cost.
#include "chakra/gen/program.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "chakra/gen/compiler.h"

namespace chakra::gen {
namespace {

using trace::CommType;

/// "gemm:4096,4096,1024"; "" where a size is not a whole number above 0.
std::string named_kernel(std::string_view name, std::initializer_list<double> sizes) {
  constexpr double kMost = 1e15;
  std::string text(name);
  for (const double size : sizes) {
    if (!(size >= 1 && size <= kMost && size == std::floor(size))) return "";
    text += (text.size() == name.size() ? ":" : ",") + std::to_string(static_cast<int64_t>(size));
  }
  return text;
}

bool is_expert(const Weight& weight) { return weight.dims.size() == 3 && weight.dims[0].dim == Dim::experts; }
const Extent& in_of(const Weight& matrix) { return matrix.dims[matrix.dims.size() - 2]; }

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
    for (const Axis axis : {Axis::etp, Axis::ep, Axis::edp}) spread(axis, Dim::slots);
    return at;
  }
  if (s_.sequence_parallel) spread(Axis::tp, Dim::sequence);
  spread(Axis::cp, Dim::sequence);
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

Placements Compiler::dual(Placements at) {
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
    case OpKind::dispatch:
    case OpKind::combine: {
      for (size_t i = 0; i < op.inputs.size(); ++i) result[i] = natural(op.inputs[i]);
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
      if (weight_at(op.weights[0])[tp] == sharded(Dim::vocabulary)) at[tp] = kPartial;
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
    case OpKind::dispatch:
    case OpKind::combine:
    case OpKind::loss: return natural(op.output);
    default: return inputs[0];
  }
}

// ---- steps -----------------------------------------------------------------------------------------------------

double Spread::load() const {
  if (choices.empty()) return 1;
  const auto sum = static_cast<double>(std::accumulate(choices.begin(), choices.end(), int64_t{0}));
  return static_cast<double>(choices[static_cast<size_t>(place)]) * static_cast<double>(choices.size()) / sum;
}

double Compiler::count(const std::vector<Extent>& dims, const Placements& at) const {
  const bool taken = dims.size() > 1 && dims[1].dim == Dim::slots && at[index(Axis::ep)] == sharded(Dim::experts);
  return elements(dims, at, s_.mesh) * (taken ? s_.load() : 1);
}

double Compiler::bytes(size_t tensor, const Placements& at) const {
  const Tensor& t = g_.tensors[tensor];
  return count(t.dims, at) * (t.wide ? 4 : s_.element);
}

/// Tokens go to the ranks of the experts that they chose, or come back.
void Compiler::split(Step& step, const Value& from) const {
  if (s_.choices.empty() || step.axis != Axis::ep || step.type != CommType::all_to_all) return;
  const std::vector<Extent>& dims = g_.tensors[from.tensor].dims;
  const auto width = static_cast<int64_t>(elements({dims.begin() + 2, dims.end()}, from.at, s_.mesh));
  const auto list = [&](auto choices_of) {
    std::string text;
    for (size_t i = 0; i < s_.choices.size(); ++i)
      text += (i == 0 ? "[" : ", ") + std::to_string(choices_of(i) * width);
    return text + "]";
  };
  step.in_split = list([&](size_t i) { return s_.choices[i]; });
  step.out_split = list([&](size_t) { return s_.choices[static_cast<size_t>(s_.place)]; });
  if (from.at[index(Axis::ep)] == sharded(Dim::experts)) std::swap(step.in_split, step.out_split);
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
                static_cast<Axis>(a)};
      split(step, from);
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

void Compiler::compute(std::string name, const Work& work, const std::vector<size_t>& inputs, std::string kernel) {
  Step step;
  step.name = std::move(name);
  step.work = work;
  step.kernel = std::move(kernel);
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
  const double rows = count({dims.begin(), dims.end() - 1}, x);
  const double in = elements({in_of(matrix)}, w, s_.mesh), out = elements({matrix.dims.back()}, w, s_.mesh);
  return {2 * rows * in * out, s_.element * (rows * (in + out) + elements(matrix.dims, w, s_.mesh))};
}

std::string Compiler::product(const Op& op, const Placements& x, const std::array<size_t, 3>& order) const {
  const Weight& matrix = op.weights[0];
  if (is_expert(matrix)) return "";  // one product for each expert
  const Placements w = weight_at(matrix);
  const std::vector<Extent>& dims = g_.tensors[op.inputs[0]].dims;
  const std::array<double, 3> sizes{count({dims.begin(), dims.end() - 1}, x),
                                    elements({matrix.dims.back()}, w, s_.mesh), elements({in_of(matrix)}, w, s_.mesh)};
  return named_kernel("gemm", {sizes[order[0]], sizes[order[1]], sizes[order[2]]});
}

std::string Compiler::kernel(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const {
  const std::vector<Extent>& dims = g_.tensors[op.output].dims;
  const double rows = count({dims.begin(), dims.end() - 1}, output),
               width = bytes(op.output, output) / s_.element / rows;
  switch (op.kind) {
    case OpKind::matmul: return product(op, inputs[0], {0, 1, 2});
    case OpKind::norm: return named_kernel("norm", {rows, width});
    case OpKind::lookup: return named_kernel("embedding", {rows, width});
    case OpKind::rotate: return named_kernel("rope", {rows, width});
    case OpKind::add: return op.inputs.size() == 2 ? named_kernel("add", {rows, width}) : "";
    case OpKind::activation: return op.inputs.size() == 2 ? named_kernel("activation", {rows, width}) : "";
    case OpKind::attention: {
      const std::vector<Extent>&q = g_.tensors[op.inputs[0]].dims, &k = g_.tensors[op.inputs[1]].dims;
      const double tokens = q[1].count, width_of_head = q.back().unit;
      // Only causal attention to whole sequences, whose keys and values are as wide as queries.
      if (!s_.fused_attention || s_.mesh.of(Axis::cp) > 1 || op.inputs.size() < 3 || op.keys != tokens / 2 ||
          op.widths != 2 * width_of_head)
        return "";
      return named_kernel("attention", {elements({q[0]}, inputs[0], s_.mesh), tokens,
                                        elements({q.back()}, inputs[0], s_.mesh) / width_of_head,
                                        elements({k.back()}, inputs[1], s_.mesh) / k.back().unit, width_of_head});
    }
    default: return "";
  }
}

Work Compiler::work(const Op& op, const std::vector<Placements>& inputs, const Placements& output) const {
  double in = 0;
  for (size_t i = 0; i < inputs.size(); ++i) in += bytes(op.inputs[i], inputs[i]);
  const double out = bytes(op.output, output);
  switch (op.kind) {
    case OpKind::matmul: return matmul(op, inputs[0]);
    case OpKind::attention: {
      const Tensor& q = g_.tensors[op.inputs[0]];
      const double queries = elements(q.dims, inputs[0], s_.mesh) / q.dims.back().unit;
      const double scores = s_.fused_attention ? 0 : 2 * queries * q.dims[1].count * s_.element;
      return {2 * queries * op.keys * op.widths, in + out + scores};
    }
    case OpKind::reduce: return {0, op.reads * in + out};
    case OpKind::lookup:
    case OpKind::dispatch: return {0, 2 * out};
    case OpKind::loss: return {0, 4 * out};
    default: return {0, in + out};
  }
}

void Compiler::forward(Program& program) {
  to_ = &program;
  if (g_.input != Graph::kNone) made_[g_.input] = value(g_.input, natural(g_.input));
  for (const Op& op : g_.ops) {
    const std::vector<Placements> at = needs(op);
    std::vector<size_t> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) inputs.push_back(convert(made_[op.inputs[i]], at[i], ""));
    made_[op.output] = value(op.output, result(op, at));
    const Work cost = work(op, at, values_[made_[op.output]].at);
    if (rings(op)) ring(op, op.name, cost, false, inputs);
    else compute(op.name, cost, inputs, kernel(op, at, values_[made_[op.output]].at));
  }
  if (g_.output == Graph::kNone) return;
  const size_t out = made_[g_.output];
  convert(out, settled(values_[out].at, g_.output), "");
}

// ---- sums ------------------------------------------------------------------------------------------------------

Parameters Compiler::parameters() const {
  Parameters sum;
  for (const Op& op : g_.ops)
    for (size_t i = 0; i < op.weights.size(); ++i) {
      const Weight& weight = op.weights[i];
      const bool expert = is_expert(weight);
      const double own = elements(weight.dims, weight_at(weight), s_.mesh);
      (expert ? sum.experts : sum.dense) += own;
      sum.largest = std::max(sum.largest, own);
      const size_t axis = index(expert ? Axis::etp : Axis::tp);
      if (s_.mesh.size[axis] == 1 || weight.cut != Dim::none) continue;
      // Ranks with other tokens have other terms. A bias is added to sums that are complete.
      const Placements out = settled(values_[made_[op.output]].at, op.output);
      if (out[axis].kind == Placement::Kind::sharded) (expert ? sum.shared_experts : sum.shared_dense) += own;
    }
  return sum;
}

double Compiler::kept(Recompute recompute) const {
  if (recompute == Recompute::full && g_.input != Graph::kNone) return bytes(g_.input, natural(g_.input));
  std::set<std::pair<size_t, Placements>> tensors;
  double sum = 0;
  for (const Op& op : g_.ops) {
    const Placements out = values_[made_[op.output]].at;
    if (op.mask && op.kind == OpKind::add) sum += elements(g_.tensors[op.output].dims, out, s_.mesh);
    if (op.kind == OpKind::attention && !s_.fused_attention && recompute == Recompute::none) {
      const Tensor& q = g_.tensors[op.inputs[0]];
      const double scores = elements(q.dims, out, s_.mesh) / q.dims.back().unit * q.dims[1].count;
      sum += scores * (s_.element + (op.mask ? 1 + s_.element : 0));  // softmax; its mask; the scores that pass it
    }
    if (op.kind == OpKind::add || op.kind == OpKind::reduce || op.kind == OpKind::rotate) continue;
    const std::vector<Placements> at = needs(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const size_t input = op.inputs[i];
      const bool product = op.kind == OpKind::matmul || op.kind == OpKind::norm || op.kind == OpKind::attention ||
                           op.kind == OpKind::activation || op.kind == OpKind::loss || op.kind == OpKind::combine;
      if (!product) continue;
      const Placements place = kept_at(op, i, at[i]);
      if (tensors.insert({input, place}).second) sum += bytes(input, place);
    }
  }
  return sum;
}

double Compiler::passed() const { return g_.output == Graph::kNone ? 0 : bytes(g_.output, natural(g_.output)); }

Unit compile(const Graph& graph, const Spread& spread) {
  Unit unit;
  Compiler compiler(graph, spread);
  compiler.forward(unit.forward);
  compiler.backward(unit.backward, unit.backward);
  compiler.backward(unit.input_gradient, unit.weight_gradient);
  unit.parameters = compiler.parameters();
  unit.kept = compiler.kept(spread.recompute);
  unit.computed_again = compiler.kept(Recompute::none) - unit.kept;
  unit.passed = compiler.passed();
  return unit;
}

}  // namespace chakra::gen
