#include "chakra/replay_torch/plugin/ranges.h"

#include <algorithm>
#include <map>
#include <string>

namespace chakra_torch {
namespace {

/// The arguments of a call by name.
class Call {
 public:
  Call(const chakra_torch_operator& op, const c10::FunctionSchema& schema, Values& values)
      : recorded(op), schema_(schema), values_(values) {}

  c10::IValue get(const char* name) const {
    for (size_t i = 0; i < values_.size(); ++i)
      if (schema_.arguments()[i].name() == name) return values_[i];
    return {};
  }
  at::Tensor tensor(const char* name) const {
    const c10::IValue value = get(name);
    return value.isTensor() ? value.toTensor() : at::Tensor();
  }
  int64_t integer(const char* name) const {
    const c10::IValue value = get(name);
    return value.isInt() ? value.toInt() : 0;
  }
  int64_t size(const char* name, int64_t dim) const {
    const at::Tensor t = tensor(name);
    if (!t.defined() || t.dim() == 0) return 1;
    return t.size(std::clamp<int64_t>(dim < 0 ? dim + t.dim() : dim, 0, t.dim() - 1));
  }

  const chakra_torch_operator& recorded;

 private:
  const c10::FunctionSchema& schema_;
  Values& values_;
};

/// Makes the tensor count 0, 1, ... bound-1, 0, ... where it does not lie in between.
void limit(const at::Tensor& index, int64_t bound) {
  if (!index.defined() || index.numel() == 0 || bound <= 0 || !at::isIntegralType(index.scalar_type(), false)) return;
  if (index.min().item<int64_t>() >= 0 && index.max().item<int64_t>() < bound) return;
  index.copy_(at::arange(index.numel(), at::kLong).remainder_(bound).view(index.sizes()));
}

/// Offsets of bags: even ones, where they do not ascend from 0 to the number of indices.
void limit_offsets(const at::Tensor& offsets, int64_t indices) {
  if (!offsets.defined() || offsets.numel() == 0 || !at::isIntegralType(offsets.scalar_type(), false)) return;
  const at::Tensor flat = offsets.reshape({-1}).to(at::kLong);
  const bool ascends = flat.numel() < 2 || (flat.slice(0, 1) >= flat.slice(0, 0, -1)).all().item<bool>();
  if (ascends && flat[0].item<int64_t>() == 0 && flat[-1].item<int64_t>() <= indices) return;
  offsets.copy_(at::arange(flat.numel(), at::kLong).mul_(indices).floor_divide_(flat.numel()).view(offsets.sizes()));
}

/// Exactly `count` elements are not zero.
void set_nonzero(const at::Tensor& mask, int64_t count) {
  if (count < 0 || count > mask.numel() || mask.count_nonzero().item<int64_t>() == count) return;
  at::Tensor flat = at::zeros({mask.numel()}, mask.scalar_type());
  flat.narrow(0, 0, count).fill_(1);
  mask.copy_(flat.view(mask.sizes()));
}

/// Rows of the first output, which the values decide.
int64_t recorded_rows(const chakra_torch_operator& op) {
  int64_t rows = -1;
  if (op.outputs > 0)
    for_each_tensor(op.output[0], [&](const chakra_torch_tensor& t) { rows = t.dims > 0 ? t.sizes[0] : -1; });
  return rows;
}

void along_dim(const Call& c) { limit(c.tensor("index"), c.size("self", c.integer("dim"))); }
void rows_of_weight(const Call& c) { limit(c.tensor("indices"), c.size("weight", 0)); }
void rows_by_number(const Call& c) { limit(c.tensor("indices"), c.integer("num_weights")); }
void bags(const Call& c) {
  rows_of_weight(c);
  limit_offsets(c.tensor("offsets"), c.size("indices", 0));
}
void bags_backward(const Call& c) {
  rows_by_number(c);
  limit_offsets(c.tensor("offsets"), c.size("indices", 0));
  limit(c.tensor("offset2bag"), c.size("grad", 0));
}
void classes(const Call& c) {
  const at::Tensor scores = c.tensor("self");
  limit(c.tensor("target"), c.size("self", scores.defined() && scores.dim() == 1 ? 0 : 1));
}
void pooled(const Call& c) {
  const at::Tensor self = c.tensor("self");
  if (self.defined() && self.dim() >= 2) limit(c.tensor("indices"), self.size(-1) * self.size(-2));
}
void flat(const Call& c) { limit(c.tensor("index"), c.tensor("self").numel()); }
void counted(const Call& c) { set_nonzero(c.tensor("self"), recorded_rows(c.recorded)); }
void masked(const Call& c) { set_nonzero(c.tensor("mask"), recorded_rows(c.recorded)); }
void by_list(const Call& c) {
  const at::Tensor self = c.tensor("self");
  const c10::IValue indices = c.get("indices");
  if (!self.defined() || !indices.isList()) return;
  int64_t dim = 0;
  for (const c10::IValue& item : indices.toListRef()) {
    if (dim >= self.dim()) return;
    if (!item.isTensor() || !item.toTensor().defined()) {
      ++dim;
      continue;
    }
    const at::Tensor index = item.toTensor();
    const bool mask = index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
    if (mask) set_nonzero(index, recorded_rows(c.recorded));
    else limit(index, self.size(dim));
    dim += mask ? index.dim() : 1;
  }
}

const std::map<std::string, void (*)(const Call&)>& rows() {
  static const std::map<std::string, void (*)(const Call&)> all{
      {"aten::embedding", rows_of_weight},
      {"aten::embedding_backward", rows_by_number},
      {"aten::embedding_dense_backward", rows_by_number},
      {"aten::embedding_bag", bags},
      {"aten::_embedding_bag", bags},
      {"aten::_embedding_bag_forward_only", bags},
      {"aten::_embedding_bag_backward", bags_backward},
      {"aten::_embedding_bag_dense_backward", bags_backward},
      {"aten::index_select", along_dim},
      {"aten::index_add", along_dim},
      {"aten::index_add_", along_dim},
      {"aten::index_copy", along_dim},
      {"aten::index_copy_", along_dim},
      {"aten::index_fill", along_dim},
      {"aten::index_fill_", along_dim},
      {"aten::gather", along_dim},
      {"aten::gather_backward", along_dim},
      {"aten::scatter", along_dim},
      {"aten::scatter_", along_dim},
      {"aten::scatter_add", along_dim},
      {"aten::scatter_add_", along_dim},
      {"aten::scatter_reduce", along_dim},
      {"aten::scatter_reduce_", along_dim},
      {"aten::take", flat},
      {"aten::put_", flat},
      {"aten::index", by_list},
      {"aten::_unsafe_index", by_list},
      {"aten::index_put", by_list},
      {"aten::index_put_", by_list},
      {"aten::_index_put_impl_", by_list},
      {"aten::nll_loss", classes},
      {"aten::nll_loss_nd", classes},
      {"aten::nll_loss_forward", classes},
      {"aten::nll_loss_backward", classes},
      {"aten::nll_loss2d", classes},
      {"aten::nll_loss2d_forward", classes},
      {"aten::nll_loss2d_backward", classes},
      {"aten::cross_entropy_loss", classes},
      {"aten::max_pool2d_with_indices_backward", pooled},
      {"aten::nonzero", counted},
      {"aten::masked_select", masked},
  };
  return all;
}

}  // namespace

void bring_into_range(const chakra_torch_operator& op, const c10::FunctionSchema& schema, Values& arguments) {
  const auto row = rows().find(schema.name());
  if (row != rows().end()) row->second(Call(op, schema, arguments));
}

}  // namespace chakra_torch
