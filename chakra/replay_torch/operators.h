// The operators of a host trace as calls that libtorch can run: nodes, arguments,
// pieces of memory and their lifetimes. This part does not need torch. Inside replay.
#pragma once

#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "chakra/replay/replay.h"
#include "chakra/replay_torch/torch_abi.h"
#include "chakra/trace/trace.h"

namespace chakra::replay_torch {

/// Whether an operator can run, given its name and overload, both zero-terminated.
using KnowsOperator = std::function<bool(const char*, const char*)>;

struct OperatorPlan {
  struct Operator {
    trace::NodeId node{0};
    chakra_torch_operator call{};
    std::vector<uint32_t> storages;  ///< that the operator needs or makes; unique
  };
  std::vector<replay::Computer::Part> part;  ///< per node
  std::vector<uint32_t> row;                 ///< per node: its operator, or trace::kNoRow
  std::vector<Operator> operators;           ///< in the order of the trace
  std::vector<uint32_t> uses;                ///< per storage: number of operators that use it
  replay::OperatorsRun counts;               ///< known before the run

  // Data that the calls refer to.
  std::deque<std::vector<chakra_torch_value>> values;
  std::deque<chakra_torch_tensor> tensors;
  std::deque<std::vector<int64_t>> numbers;
  std::deque<std::vector<const char*>> names;
  std::deque<std::string> texts;
};

/// Plan the operators that no other operator called, in the order of the trace: each covers the
/// operators that it called, device operations included. If `knows` does not know an operator, its
/// recorded callees run instead. Communication nodes are excluded. `selected`: per node; empty: all.
///
/// Each operator that outputs a storage without having it as an input begins a new life of the
/// storage: recorders name storages by address, and addresses are reused. Cost: O(nodes + values).
OperatorPlan plan_operators(const trace::Trace& trace, const KnowsOperator& knows, const std::vector<bool>& selected);

/// Example: "aten::add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor": "aten::add", "Tensor" and {"self", "alpha"}.
struct OperatorSchema {
  std::string_view name, overload;
  std::vector<std::string_view> arguments;
};
OperatorSchema parse_schema(std::string_view text);

}  // namespace chakra::replay_torch
