#include "chakra/replay_torch/operators.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "chakra/replay_torch/recorded_values.h"

namespace chakra::replay_torch {
namespace {

using trace::kNoNode;
using trace::NodeId;
using trace::Trace;
using Part = replay::Computer::Part;

/// Operators that communicate by themselves: back ends do that.
bool communicates(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("_c10d_functional::") ||
         name.starts_with("c10d_functional::") || name.starts_with("_c10d_functional_autograd::");
}

/// Which nodes are operators, and which of them run.
class Roles {
 public:
  Roles(const Trace& t, const KnowsOperator& knows) : t_(t), knows_(knows) {
    const StringId schema = t.strings.find("op_schema"), kernel = t.strings.find("kernel_backend");
    schema_.resize(t.size());
    for (const NodeId n : t.nodes())
      for (const trace::Attr& attr : t.attrs_of(n)) {
        if (attr.name != schema && attr.name != kernel) continue;
        const auto text = attr.text();
        if (text && !text->empty() && (attr.name == schema || schema_[n].empty())) schema_[n] = *text;
      }
    has_comm_.resize(t.size());
    has_operator_.resize(t.size());
    for (const NodeId n : t.nodes()) {
      if (trace::is_comm(t.type[n])) mark_callers(n, has_comm_);
      if (is_operator(n)) mark_callers(n, has_operator_);
    }
  }

  std::string_view schema(NodeId n) const { return schema_[n]; }

  /// Whether the node stands for itself and what it called.
  bool stands(NodeId n) const {
    if (!is_operator(n) || has_comm_[n]) return false;
    return !has_operator_[n] || known(n);
  }
  /// An operator that does not stand, though nothing in it communicates: what it called stands for it.
  bool decomposed(NodeId n) const { return is_operator(n) && !has_comm_[n] && has_operator_[n] && !known(n); }
  bool known(NodeId n) const {
    const OperatorSchema schema = parse_schema(schema_[n]);
    return knows_(std::string(schema.name).c_str(), std::string(schema.overload).c_str());
  }

  /// Per node whether a caller of it stands.
  std::vector<bool> covered() const {
    enum : uint8_t { unknown, no, yes };
    std::vector<uint8_t> state(t_.size(), unknown), stand(t_.size());
    for (const NodeId n : t_.nodes()) stand[n] = stands(n);
    std::vector<NodeId> way;
    for (const NodeId n : t_.nodes()) {
      way.clear();
      NodeId at = n;
      uint8_t found = no;
      while (at != kNoNode && state[at] == unknown) {  // up the callers; those of a circle are not covered
        state[at] = no;
        way.push_back(at);
        at = caller(at);
      }
      if (at != kNoNode && (state[at] == yes || stand[at])) found = yes;
      for (size_t i = way.size(); i-- > 0;) {
        state[way[i]] = found;
        if (stand[way[i]]) found = yes;
      }
    }
    std::vector<bool> covered(t_.size());
    for (const NodeId n : t_.nodes()) covered[n] = state[n] == yes;
    return covered;
  }

 private:
  bool is_operator(NodeId n) const {
    return !schema_[n].empty() && t_.part_of[n] == kNoNode && !t_.on_device(n) && !trace::is_comm(t_.type[n]) &&
           !communicates(schema_[n]);
  }

  /// Who called it; of a device operation, who launched it.
  NodeId caller(NodeId n) const {
    if (t_.part_of[n] != kNoNode) return t_.part_of[n];
    if (const auto callers = t_.ctrl.of(n); !callers.empty()) return callers[0];
    for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e)
      if (trace::kind_of(t_.deps.kind[e]) == trace::EdgeKind::launch) return t_.deps.node[e];
    return kNoNode;
  }

  void mark_callers(NodeId n, std::vector<bool>& marks) const {
    for (NodeId at = caller(n); at != kNoNode && !marks[at]; at = caller(at)) marks[at] = true;
  }

  const Trace& t_;
  const KnowsOperator& knows_;
  std::vector<std::string_view> schema_;
  std::vector<bool> has_comm_, has_operator_;
};

/// Gives recorded storages their lives.
class Lives {
 public:
  explicit Lives(OperatorPlan& plan) : plan_(plan) {}

  /// Reads what goes into the operator and what comes out.
  void add(const Trace& t, const trace::Io& io, OperatorPlan::Operator& op) {
    op_ = &op;
    own_.clear();
    const TensorSeen take_input = [this](auto& tensor, int64_t storage) { take(tensor, storage, false); };
    const TensorSeen take_output = [this](auto& tensor, int64_t storage) { take(tensor, storage, true); };
    const auto& inputs = read_values(t, io.inputs, plan_, take_input);
    const auto& outputs = read_values(t, io.outputs, plan_, take_output);
    op.call.inputs = static_cast<uint32_t>(inputs.size());
    op.call.input = inputs.data();
    op.call.outputs = static_cast<uint32_t>(outputs.size());
    op.call.output = outputs.data();
    for (const uint32_t storage : op.storages) {
      ++plan_.uses[storage];
      last_[storage] = static_cast<uint32_t>(plan_.operators.size());
    }
  }

  /// All operators are in: tensors learn how far their storages go.
  void finish() {
    for (chakra_torch_tensor& tensor : plan_.tensors)
      if (tensor.storage != CHAKRA_TORCH_NO_STORAGE) tensor.storage_bytes = bytes_[tensor.storage];
    std::vector<uint64_t> begins(plan_.operators.size() + 1), ends(plan_.operators.size() + 1);
    for (size_t s = 0; s < bytes_.size(); ++s) {
      begins[first_[s]] = add_bytes(begins[first_[s]], bytes_[s]);
      ends[last_[s]] = add_bytes(ends[last_[s]], bytes_[s]);
    }
    uint64_t live = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      live = add_bytes(live, begins[i]);
      plan_.counts.live_bytes = std::max(plan_.counts.live_bytes, live);
      live -= std::min(live, ends[i]);
    }
  }

 private:
  struct Life {
    uint32_t storage = 0;
    bool whole = false;  ///< the elements are whole numbers
  };

  void take(chakra_torch_tensor& tensor, int64_t recorded, bool given) {
    if (tensor.storage == CHAKRA_TORCH_NO_STORAGE) return;
    const auto [life, added] = lives_.try_emplace(recorded);
    const bool own = std::find(own_.begin(), own_.end(), recorded) != own_.end();
    const bool whole = holds_whole_numbers(tensor.dtype);
    // Numbers that were of the other kind were overwritten by what the recording does not show.
    if (added || (!own && (given || whole != life->second.whole))) life->second.storage = begin();
    life->second.whole = whole;
    if (!own) {
      own_.push_back(recorded);
      op_->storages.push_back(life->second.storage);
    }
    tensor.storage = life->second.storage;
    bytes_[tensor.storage] = std::max(bytes_[tensor.storage], reach(tensor));
  }

  uint32_t begin() {
    plan_.uses.push_back(0);
    bytes_.push_back(0);
    first_.push_back(static_cast<uint32_t>(plan_.operators.size()));
    last_.push_back(first_.back());
    return static_cast<uint32_t>(bytes_.size() - 1);
  }

  static bool holds_whole_numbers(std::string_view dtype) {
    return !contains(dtype, "float") && !contains(dtype, "Float") && !contains(dtype, "double") &&
           !contains(dtype, "Half") && !contains(dtype, "complex");
  }

  static uint64_t reach(const chakra_torch_tensor& t) {
    if (t.elements == 0) return 0;
    uint64_t end = t.strides ? 1 : static_cast<uint64_t>(t.elements);
    for (uint32_t d = 0; t.strides && d < t.dims; ++d) {
      uint64_t step = 0;
      if (__builtin_mul_overflow(static_cast<uint64_t>(t.sizes[d] - 1), static_cast<uint64_t>(t.strides[d]), &step))
        return UINT64_MAX;
      end = add_bytes(end, step);
    }
    end = add_bytes(end, static_cast<uint64_t>(t.offset));
    return end > UINT64_MAX / static_cast<uint64_t>(t.item_bytes) ? UINT64_MAX
                                                                  : end * static_cast<uint64_t>(t.item_bytes);
  }

  OperatorPlan& plan_;
  OperatorPlan::Operator* op_ = nullptr;
  std::vector<int64_t> own_;                  // recorded storages of this operator
  absl::flat_hash_map<int64_t, Life> lives_;  // by recorded storage: the current one
  std::vector<uint64_t> bytes_;
  std::vector<uint32_t> first_, last_;  // operators
};

void name_call(std::string_view text, OperatorPlan& plan, chakra_torch_operator& call) {
  const OperatorSchema schema = parse_schema(text);
  call.name = plan.texts.emplace_back(schema.name).c_str();
  call.overload = plan.texts.emplace_back(schema.overload).c_str();
  if (schema.arguments.size() < call.inputs) return;
  std::vector<const char*> names;
  for (uint32_t i = 0; i < call.inputs; ++i) names.push_back(plan.texts.emplace_back(schema.arguments[i]).c_str());
  call.input_names = plan.names.emplace_back(std::move(names)).data();
}

}  // namespace

OperatorPlan plan_operators(const Trace& t, const KnowsOperator& knows, const std::vector<bool>& selected) {
  OperatorPlan plan;
  const Roles roles(t, knows);
  const std::vector<bool> covered = roles.covered();
  plan.part.assign(t.size(), Part::timed);
  plan.row.assign(t.size(), trace::kNoRow);
  Lives lives(plan);
  for (const NodeId n : t.nodes()) {
    if (covered[n]) {
      plan.part[n] = Part::covered;
      continue;
    }
    if (roles.schema(n).empty() || (!selected.empty() && !selected[n])) continue;
    const bool decomposed = roles.decomposed(n);
    if (!roles.stands(n) && !decomposed) continue;
    ++plan.counts.operators;
    if (decomposed || !roles.known(n)) {
      ++plan.counts.not_run[{std::string(parse_schema(roles.schema(n)).name),
                             decomposed ? "not in this libtorch; its callees ran instead" : "not in this libtorch"}];
      continue;
    }
    OperatorPlan::Operator op;
    op.node = n;
    lives.add(t, t.io_row[n] == trace::kNoRow ? trace::Io() : trace::Io(t.ios[t.io_row[n]]), op);
    name_call(roles.schema(n), plan, op.call);
    plan.part[n] = Part::runs;
    plan.row[n] = static_cast<uint32_t>(plan.operators.size());
    plan.operators.push_back(std::move(op));
  }
  lives.finish();
  return plan;
}

}  // namespace chakra::replay_torch
