#include "chakra/replay_torch/plugin/substitutes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace chakra_torch {
namespace {

using Tensors = std::vector<at::Tensor>;

// ---- what a CPU needs not do ---------------------------------------------------------------------------------------

Tensors self_again(const Recorded& r) { return {r.tensor("self")}; }
Tensors nothing(const Recorded&) { return {}; }  // what comes out is made as recorded: match_outputs()
Tensors copied(const Recorded& r) { return {r.tensor("self").clone()}; }

// ---- vendors' convolutions and norms -------------------------------------------------------------------------------

std::vector<int64_t> integers(const Recorded& r, std::string_view name) {
  const c10::IValue value = r.argument(name, c10::ListType::ofInts());
  return value.isNone() ? std::vector<int64_t>() : value.toIntVector();
}

Tensors convolution(const Recorded& r) {
  const c10::IValue groups = r.argument("groups", c10::IntType::get());
  const at::Tensor bias = r.tensor("bias");
  return {at::convolution(r.tensor("self"), r.tensor("weight"),
                          bias.defined() ? c10::optional<at::Tensor>(bias) : c10::nullopt, integers(r, "stride"),
                          integers(r, "padding"), integers(r, "dilation"), false,
                          std::vector<int64_t>(integers(r, "padding").size(), 0), groups.isInt() ? groups.toInt() : 1)};
}

c10::optional<at::Tensor> optional(const at::Tensor& t) {
  return t.defined() ? c10::optional<at::Tensor>(t) : c10::nullopt;
}

Tensors batch_norm(const Recorded& r) {
  const auto [out, mean, invstd] = at::native_batch_norm(
      r.tensor("input"), optional(r.tensor("weight")), optional(r.tensor("bias")), optional(r.tensor("running_mean")),
      optional(r.tensor("running_var")), r.flag("training", true), r.real("exponential_average_factor", 0.1),
      r.real("epsilon", 1e-5));
  return {out, mean, invstd};
}

Tensors batch_norm_backward(const Recorded& r) {
  const auto [input, weight, bias] = at::native_batch_norm_backward(
      r.tensor("grad_output"), r.tensor("input"), optional(r.tensor("weight")), optional(r.tensor("running_mean")),
      optional(r.tensor("running_var")), optional(r.tensor(r.has("save_mean") ? "save_mean" : "saved_mean")),
      optional(r.tensor(r.has("save_var") ? "save_var" : "saved_var")), true, r.real("epsilon", 1e-5),
      {true, true, true});
  return {input, weight, bias};
}

// ---- attention: torch has many kernels of it, and each version has others ------------------------------------------

struct Attention {
  at::Tensor query, key, value, weights, logsumexp;
  double scale = 1;
  at::ScalarType type = at::kFloat;
  int64_t shared = 1;  ///< query heads to a head of keys
};

at::Tensor calculable(const at::Tensor& t) {
  return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16 ? t.to(at::kFloat) : t;
}

Attention attend(const Recorded& r) {
  Attention a;
  a.type = r.tensor("query").scalar_type();
  a.query = calculable(r.tensor("query"));
  a.key = calculable(r.tensor("key"));
  a.value = calculable(r.tensor("value"));
  if (a.query.dim() > 2 && a.key.size(-3) > 0 && a.query.size(-3) > a.key.size(-3)) {
    a.shared = a.query.size(-3) / a.key.size(-3);
    a.key = a.key.repeat_interleave(a.shared, -3);
    a.value = a.value.repeat_interleave(a.shared, -3);
  }
  a.scale = r.real("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, a.query.size(-1)))));
  at::Tensor scores = at::matmul(a.query, a.key.transpose(-2, -1)).mul_(a.scale);
  if (r.flag("is_causal", false)) {
    const at::Tensor later = at::ones({scores.size(-2), scores.size(-1)}, at::kBool).triu(1);
    scores.masked_fill_(later, -INFINITY);
  }
  at::Tensor mask = r.tensor("attn_mask");
  if (!mask.defined()) mask = r.tensor("attn_bias");
  if (mask.defined() && mask.scalar_type() == at::kBool) scores.masked_fill_(mask.logical_not(), -INFINITY);
  else if (mask.defined()) scores.add_(calculable(mask));
  a.logsumexp = scores.logsumexp(-1);
  a.weights = scores.softmax(-1);
  return a;
}

Tensors attention(const Recorded& r) {
  const Attention a = attend(r);
  return {at::matmul(a.weights, a.value).to(a.type), a.logsumexp};
}

Tensors attention_with_weights(const Recorded& r) {
  const Attention a = attend(r);
  return {at::matmul(a.weights, a.value).to(a.type), a.weights.to(a.type)};
}

at::Tensor add_up_shared(const Attention& a, const at::Tensor& gradient) {
  if (a.shared == 1) return gradient;
  std::vector<int64_t> sizes = gradient.sizes().vec();
  const auto heads = sizes.end() - 3;
  *heads /= a.shared;
  sizes.insert(heads + 1, a.shared);
  return gradient.reshape(sizes).sum(-3);
}

Tensors attention_backward(const Recorded& r) {
  const Attention a = attend(r);
  const at::Tensor gradient = calculable(r.tensor(r.has("grad_out") ? "grad_out" : "grad_out_"));
  const at::Tensor of_value = at::matmul(a.weights.transpose(-2, -1), gradient);
  const at::Tensor of_weights = at::matmul(gradient, a.value.transpose(-2, -1));
  const at::Tensor of_scores =
      (a.weights * (of_weights - (of_weights * a.weights).sum(-1, /*keepdim=*/true))).mul_(a.scale);
  return {at::matmul(of_scores, a.key).to(a.type),
          add_up_shared(a, at::matmul(of_scores.transpose(-2, -1), a.query)).to(a.type),
          add_up_shared(a, of_value).to(a.type)};
}

// ---- tables of embeddings, as torchrec's library has them ----------------------------------------------------------

at::Tensor in_range(const at::Tensor& index, int64_t bound) {
  return index.reshape({-1}).to(at::kLong).clamp(0, std::max<int64_t>(0, bound - 1));
}

Tensors complete_cumsum(const Recorded& r) {
  const at::Tensor in = r.tensor("t_in");
  at::Tensor sums = at::zeros({in.numel() + 1}, in.scalar_type());
  sums.slice(0, 1).copy_(in.reshape({-1}).cumsum(0));
  return {sums};
}

/// Lengths in another order of rows, and as many values as belong to them, also in another order.
Tensors permute_sparse(const Recorded& r) {
  const at::Tensor lengths = r.tensor("lengths"), values = r.tensor("values"), weights = r.tensor("weights");
  const at::Tensor order = in_range(r.tensor("permute"), lengths.size(0));
  const auto count = static_cast<int64_t>(r.real("permuted_lengths_sum", static_cast<double>(values.numel())));
  const at::Tensor places = in_range(at::arange(count, at::kLong).flip(0), values.numel());
  Tensors out{lengths.index_select(0, order), values.reshape({-1}).index_select(0, places)};
  if (weights.defined()) out.push_back(weights.reshape({-1}).index_select(0, places));
  return out;
}

Tensors check_bounds(const Recorded& r) {
  const at::Tensor rows = r.tensor("rows_per_table");
  if (rows.numel() > 0) r.tensor("indices").clamp_(0, std::max<int64_t>(0, rows.min().item<int64_t>() - 1));
  return {};
}

// ---- the table -----------------------------------------------------------------------------------------------------

constexpr std::string_view kAttention = "query key value attn_mask dropout_p is_causal";
constexpr std::string_view kEfficient = "query key value attn_bias compute_log_sumexp dropout_p is_causal";
constexpr std::string_view kFlash = "query key value dropout_p is_causal";
constexpr std::string_view kBackward = "grad_out query key value out logsumexp";
constexpr std::string_view kConvolution = "self weight padding stride dilation groups";
constexpr std::string_view kNorm =
    "input weight bias running_mean running_var training exponential_average_factor epsilon";
constexpr std::string_view kNormBackward =
    "input grad_output weight running_mean running_var save_mean save_var epsilon reserveSpace";

constexpr std::array kSubstitutes{
    Substitute{"aten::record_stream", "self s", nothing, true},
    Substitute{"aten::_pin_memory", "self device", copied, true},
    Substitute{"aten::pin_memory", "self device", copied, true},
    Substitute{"aten::set_.source_Storage", "self source", nothing, true},
    Substitute{"aten::set_.source_Storage_storage_offset", "self source", nothing, true},
    Substitute{"aten::lift_fresh", "self", self_again},
    Substitute{"aten::_cudnn_init_dropout_state", "dropout train dropout_seed", nothing, true},
    Substitute{"aten::cudnn_convolution", kConvolution, convolution, true},
    Substitute{"aten::miopen_convolution", "self weight bias padding stride dilation groups", convolution, true},
    Substitute{"aten::mkldnn_convolution", "self weight bias padding stride dilation groups", convolution, true},
    Substitute{"aten::cudnn_batch_norm", kNorm, batch_norm, true},
    Substitute{"aten::miopen_batch_norm", kNorm, batch_norm, true},
    Substitute{"aten::cudnn_batch_norm_backward", kNormBackward, batch_norm_backward, true},
    Substitute{"aten::miopen_batch_norm_backward", kNormBackward, batch_norm_backward, true},
    Substitute{"fbgemm::asynchronous_complete_cumsum", "t_in", complete_cumsum},
    Substitute{"fbgemm::permute_2D_sparse_data", "permute lengths values weights permuted_lengths_sum", permute_sparse},
    Substitute{"fbgemm::bounds_check_indices", "rows_per_table indices offsets", check_bounds},
    Substitute{"aten::scaled_dot_product_attention", kAttention, attention},
    Substitute{"aten::_scaled_dot_product_attention_math", kAttention, attention_with_weights},
    Substitute{"aten::_scaled_dot_product_flash_attention", kFlash, attention, true},
    Substitute{"aten::_scaled_dot_product_flash_attention_for_cpu", kFlash, attention},
    Substitute{"aten::_scaled_dot_product_efficient_attention", kEfficient, attention, true},
    Substitute{"aten::_scaled_dot_product_cudnn_attention", kEfficient, attention, true},
    Substitute{"aten::_scaled_dot_product_flash_attention_backward", kBackward, attention_backward, true},
    Substitute{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kBackward, attention_backward},
    Substitute{"aten::_scaled_dot_product_efficient_attention_backward", kBackward, attention_backward, true},
    Substitute{"aten::_scaled_dot_product_cudnn_attention_backward", kBackward, attention_backward, true},
};

}  // namespace

const Substitute* find_substitute(const char* name, const char* overload) {
  const std::string whole = std::string(name) + "." + overload;
  const auto row = std::find_if(kSubstitutes.begin(), kSubstitutes.end(),
                                [&](const Substitute& s) { return s.name == name || s.name == whole; });
  return row == kSubstitutes.end() ? nullptr : &*row;
}

void match_outputs(const chakra_torch_operator& op, Values& given) {
  size_t there = 0, recorded = 0;
  for (const c10::IValue& value : given) for_each_tensor(value, [&](const at::Tensor& t) { there += t.defined(); });
  for (uint32_t i = 0; i < op.outputs; ++i)
    for_each_tensor(op.output[i], [&](const chakra_torch_tensor& t) {
      if (recorded++ >= there) given.emplace_back(at::zeros(sizes_of(t), element_type(t)));
    });
  if (given.size() > recorded) given.resize(recorded);
}

const chakra_torch_value* Recorded::find(std::string_view name) const {
  if (op_.input_names) return find_input(op_, name, 0);
  size_t position = 0;
  for (std::string_view rest = names_; !rest.empty(); ++position) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (word == name) return position < op_.inputs ? &op_.input[position] : nullptr;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return nullptr;
}

bool Recorded::has(std::string_view name) const { return find(name) != nullptr; }

at::Tensor Recorded::tensor(std::string_view name) const {
  const chakra_torch_value* const value = find(name);
  return value && value->kind == CHAKRA_TORCH_TENSOR ? storages_.view(*value->tensor) : at::Tensor();
}

double Recorded::real(std::string_view name, double otherwise) const {
  const chakra_torch_value* const value = find(name);
  if (value && value->kind == CHAKRA_TORCH_REAL) return value->real;
  return value && value->kind == CHAKRA_TORCH_INTEGER ? static_cast<double>(value->integer) : otherwise;
}

bool Recorded::flag(std::string_view name, bool otherwise) const {
  const chakra_torch_value* const value = find(name);
  return value && value->kind == CHAKRA_TORCH_BOOLEAN ? value->integer != 0 : otherwise;
}

c10::IValue Recorded::argument(std::string_view name, const c10::TypePtr& type) const {
  const chakra_torch_value* const value = find(name);
  return value && value->kind != CHAKRA_TORCH_NONE ? to_argument(*value, type, storages_) : c10::IValue();
}

}  // namespace chakra_torch
