// The operators of a host trace as calls that libtorch can run: which nodes are run, with which values, in which pieces
// of memory, and how long each piece is needed. Nothing here needs torch. Inside replay.
#pragma once

#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "chakra/replay/computer.h"
#include "chakra/replay/torch/torch_abi.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

/// Whether an operator can be run: its name and its overload, both ending with a zero.
using KnowsOperator = std::function<bool(const char*, const char*)>;

struct OperatorPlan {
  struct Operator {
    trace::NodeId node{0};
    chakra_torch_operator call{};
    std::vector<uint32_t> storages;  ///< that it needs or makes; unique
  };
  std::vector<Computer::Part> part;  ///< per node
  std::vector<uint32_t> row;         ///< per node: its operator, or trace::kNoRow
  std::vector<Operator> operators;   ///< in the order of the trace
  std::vector<uint32_t> uses;        ///< per storage: operators that have it
  OperatorsRun counts;               ///< as far as they are known before anything runs

  // What the calls refer to.
  std::deque<std::vector<chakra_torch_value>> values;
  std::deque<chakra_torch_tensor> tensors;
  std::deque<std::vector<int64_t>> numbers;
  std::deque<std::vector<const char*>> names;
  std::deque<std::string> texts;
};

/// The operators that were called by no other operator, in the order of the trace: what they called is covered by them,
/// device operations included. One that `knows` does not know is left to what it called, where that was recorded.
/// Nothing that communicates is among them. `selected`: per node; empty: all.
///
/// A recorded storage has one life from each operator that gives it, and is not given it, to the next: recorders name
/// storages by their address, which is used again. Cost: O(nodes + values).
OperatorPlan plan_operators(const trace::Trace& trace, const KnowsOperator& knows, const std::vector<bool>& selected);

/// "aten::add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor": "aten::add", "Tensor" and {"self", "alpha"}.
struct OperatorSchema {
  std::string_view name, overload;
  std::vector<std::string_view> arguments;
};
OperatorSchema parse_schema(std::string_view text);

}  // namespace chakra::replay
