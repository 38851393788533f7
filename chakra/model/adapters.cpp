// LoRA (Hu et al., arXiv 2106.09685): beside a GEMM with frozen weights two small ones, which alone are trained.
#include "chakra/base/real.h"
#include "chakra/model/blocks.h"

namespace chakra::model {
namespace {

bool is_adapted(const Op& op, bool mlp) {
  if (op.kind != OpKind::matmul || op.precise || op.weights[0].dims.size() != 2) return false;  // routers; experts
  return op.name.starts_with("attention.") || (mlp && op.name.starts_with("mlp."));
}

class Adapting {
 public:
  Adapting(const Graph& frozen, const Lora& lora) : from_(frozen), lora_(lora) {
    to_.tensors = frozen.tensors;
    to_.inputs = frozen.inputs;
    to_.outputs = frozen.outputs;
  }

  Graph run() {
    for (Op op : from_.ops) {
      for (Weight& weight : op.weights) weight.frozen = true;
      if (is_adapted(op, lora_.mlp)) adapt(std::move(op));
      else to_.ops.push_back(std::move(op));
    }
    return std::move(to_);
  }

 private:
  size_t tensor(std::string name, std::vector<Extent> dims) {
    to_.tensors.push_back({std::move(name), std::move(dims)});
    return to_.tensors.size() - 1;
  }

  /// y = x W + (x A) B, where the sum takes the place of the tensor that the GEMM had written.
  void adapt(Op base) {
    const size_t x = base.inputs[0], y = base.output;
    const Extent in = base.weights[0].dims[0], out = base.weights[0].dims[1], few{Dim::none, real(lora_.rank)};
    const Dim cut = base.weights[0].cut;
    const std::string name = base.name;
    std::vector<Extent> narrow = from_.tensors[x].dims;
    narrow.back() = few;
    base.output = tensor(name + ".frozen", from_.tensors[y].dims);
    const size_t frozen = base.output, low = tensor(name + ".lora_a", std::move(narrow)),
                 high = tensor(name + ".lora_b", from_.tensors[y].dims);
    to_.ops.push_back(std::move(base));
    product(name + ".lora_a", x, low, {{in, few}, cut == in.dim ? cut : Dim::none});
    product(name + ".lora_b", low, high, {{few, out}, cut == out.dim ? cut : Dim::none});
    to_.ops.push_back({OpKind::add, name + ".lora", {frozen, high}, y, {}});
  }
  void product(const std::string& name, size_t from, size_t to, Weight matrix) {
    to_.ops.push_back({OpKind::matmul, name, {from}, to, {std::move(matrix)}});
    to_.ops.back().precise = true;  // adapters stay in 16 bits
  }

  const Graph& from_;
  const Lora& lora_;
  Graph to_;
};

double elements(const Weight& weight) {
  double product = 1;
  for (const Extent& extent : weight.dims) product *= extent.count * extent.unit;
  return product;
}

}  // namespace

double trained(const Graph& graph) {
  double sum = 0;
  for (const Op& op : graph.ops)
    for (const Weight& weight : op.weights)
      if (!weight.frozen && !weight.borrowed) sum += elements(weight);
  return sum;
}

Graph adapted(const Graph& graph, const Lora& lora) { return Adapting(graph, lora).run(); }

}  // namespace chakra::model
