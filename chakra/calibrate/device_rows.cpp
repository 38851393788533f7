#include "chakra/calibrate/device_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>

#include "chakra/calibrate/csv.h"
#include "chakra/work/work.h"

namespace chakra::calibrate {
namespace {

using device::DType;
using device::MeasuredKernel;
using work::KernelKind;

constexpr double kMost = 1e9;                       ///< of sizes, and of times in ms or us
constexpr double kLeastUs = 1e-6, kLeastMs = 1e-9;  ///< a picosecond

/// The cells of a line; one in quotes may hold commas, and "" for a quote.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') cells.back() += line[i++];
      else quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  return cells;
}

/// A row and what its columns are called.
class Row {
 public:
  Row(const std::vector<std::string>& columns, std::vector<std::string> cells, Place place)
      : columns_(columns), cells_(std::move(cells)), place_(std::move(place)) {}

  bool has(std::string_view column) const { return find(column) != nullptr && !find(column)->empty(); }
  std::string text(std::string_view column) const { return has(column) ? *find(column) : ""; }
  /// A number of at least `least` and at most kMost.
  Result<double> number(std::string_view column, double least = 1) const {
    double value = 0;
    if (!has(column) || !parse_decimal(*find(column), value) || !(value >= least && value <= kMost))
      return error("calibrate.csv.value",
                   fmt::format("{} is {}; expected {:g} to {:g}", quote(column), quote(text(column)), least, kMost));
    return value;
  }
  /// A whole number from 1 to kMost.
  Result<double> size(std::string_view column) const {
    CHAKRA_ASSIGN(const double value, number(column));
    if (value != std::floor(value))
      return error("calibrate.csv.value",
                   fmt::format("{} is {}; expected a whole number", quote(column), quote(text(column))));
    return value;
  }
  Failure error(std::string tag, std::string what) const {
    return fail(Code::bad_input, std::move(tag), std::move(what), place_);
  }

 private:
  const std::string* find(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? nullptr : &cells_[static_cast<size_t>(found - columns_.begin())];
  }
  const std::vector<std::string>& columns_;
  std::vector<std::string> cells_;
  Place place_;
};

/// What a row says; without a kernel where it is skipped.
struct Sample {
  std::string kernel, type;
  MeasuredKernel measured;
  std::string device, skipped;
};

Result<void> set_sizes(const Row& row, std::initializer_list<std::string_view> columns, Sample& sample) {
  size_t i = 0;
  for (const std::string_view column : columns) {
    CHAKRA_ASSIGN(sample.measured.sizes[i++], row.size(column));
  }
  return {};
}

/// kernel, type, the kind's sizes by name, time_us; a device.
Result<Sample> own_row(const Row& row) {
  Sample sample{row.text("kernel"), row.text("type"), {}, row.text("device"), ""};
  const KernelKind* kind = work::find_kernel_kind(sample.kernel);
  if (!kind) return row.error("calibrate.csv.value", fmt::format("unknown kernel {}", quote(sample.kernel)));
  for (size_t i = 0; i < kind->size(); ++i) {
    CHAKRA_ASSIGN(sample.measured.sizes[i], row.size(kind->sizes[i]));
  }
  CHAKRA_ASSIGN(const double us, row.number("time_us", kLeastUs));
  sample.measured.seconds = us * 1e-6;
  return sample;
}

/// aiconfigurator's names of element types and of the ways to compute in them.
struct AicType {
  std::string_view name, type, variant;
};
constexpr std::array<AicType, 9> kAicTypes{{{"bfloat16", "bf16", ""},
                                            {"float16", "f16", ""},
                                            {"half", "f16", ""},
                                            {"fp8", "f8", ""},
                                            {"fp8_block", "f8", ".fp8_block"},
                                            {"int8_wo", "bf16", ".int8_wo"},
                                            {"int4_wo", "bf16", ".int4_wo"},
                                            {"w4a16_mxfp4", "bf16", ".w4a16_mxfp4"},
                                            {"int8", "i8", ""}}};

Result<void> set_aic_type(const Row& row, std::string_view column, Sample& sample) {
  const std::string name = row.text(column);
  const auto* const type = find_row(kAicTypes, name);
  if (!type) {
    sample.skipped = fmt::format("element type {}", quote(name));
    return {};
  }
  sample.type = type->type;
  sample.kernel += type->variant;
  sample.device = row.text("device");
  CHAKRA_ASSIGN(const double ms, row.number("latency", kLeastMs));
  sample.measured.seconds = ms * 1e-3;
  return {};
}

Result<Sample> aic_gemm(const Row& row) {
  Sample sample;
  sample.kernel = "gemm";
  CHAKRA_TRY(set_sizes(row, {"m", "n", "k"}, sample));
  CHAKRA_TRY(set_aic_type(row, "gemm_dtype", sample));
  return sample;
}

/// A cache of another element type than attention's is a way to compute it: ".kv_f8".
void add_cache_type(const Row& row, std::string_view column, Sample& sample) {
  const std::string cache = row.text("kv_cache_dtype");
  if (cache == row.text(column)) return;
  const auto* const type = find_row(kAicTypes, cache);
  if (type) sample.kernel += fmt::format(".kv_{}", type->type);
  else sample.skipped = fmt::format("a cache of element type {}", quote(cache));
}

/// One token per sequence; the cache of the sequence holds `isl` tokens and `step` more.
Result<Sample> aic_decode(const Row& row) {
  Sample sample;
  sample.kernel = "decode_attention";
  if (row.text("beam_width") != "1") sample.skipped = "a beam wider than 1";
  add_cache_type(row, "attn_dtype", sample);
  if (!sample.skipped.empty()) return sample;
  CHAKRA_TRY(set_sizes(row, {"batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"}, sample));
  CHAKRA_ASSIGN(const double before, row.number("step", 0));
  const double context = sample.measured.sizes[1] += before;
  double window = context;
  if (row.has("window_size") && row.text("window_size") != "0") {
    CHAKRA_ASSIGN(window, row.size("window_size"));
  }
  sample.measured.sizes[5] = std::min(window, context);
  CHAKRA_TRY(set_aic_type(row, "attn_dtype", sample));
  return sample;
}

Result<Sample> aic_attention(const Row& row) {
  if (row.text("op_name") == "generation_attention") return aic_decode(row);
  Sample sample;
  sample.kernel = "attention";
  if (row.text("op_name") != "context_attention") sample.skipped = "attention outside a context phase";
  else if (row.text("beam_width") != "1") sample.skipped = "a beam wider than 1";
  else if (row.has("step") && row.text("step") != "0") sample.skipped = "attention to earlier tokens";
  else if (row.text("kv_cache_dtype") != row.text("attn_dtype")) sample.skipped = "keys of another element type";
  if (!sample.skipped.empty()) return sample;
  if (row.has("window_size") && row.text("window_size") != "0") {
    CHAKRA_ASSIGN(const double window, row.number("window_size"));
    CHAKRA_ASSIGN(const double tokens, row.number("isl"));
    if (window < tokens) sample.skipped = "attention to a window of the tokens";
    if (!sample.skipped.empty()) return sample;
  }
  CHAKRA_TRY(set_sizes(row, {"batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"}, sample));
  CHAKRA_TRY(set_aic_type(row, "attn_dtype", sample));
  return sample;
}

/// Latent attention. Heads are those of a rank, however many ranks there are.
Result<Sample> aic_latent(const Row& row) {
  Sample sample;
  const bool decode = row.text("op_name") == "mla_generation";
  sample.kernel = decode ? "latent_decode" : "latent_attention";
  if (!decode && row.text("op_name") != "mla_context")
    sample.skipped = fmt::format("operator {}", quote(row.text("op_name")));
  else if (!decode && row.has("step") && row.text("step") != "0") sample.skipped = "attention to earlier tokens";
  add_cache_type(row, "mla_dtype", sample);
  if (!sample.skipped.empty()) return sample;
  CHAKRA_TRY(set_sizes(row, {"batch_size", "isl", "num_heads"}, sample));
  if (decode) {
    CHAKRA_ASSIGN(const double before, row.number("step", 0));
    sample.measured.sizes[1] += before;
  }
  CHAKRA_TRY(set_aic_type(row, "mla_dtype", sample));
  return sample;
}

/// A layer's experts on one rank. Tokens are those of all ranks; how they choose is a way to compute it, unless each
/// expert has as many: ".power_law_1.2".
Result<Sample> aic_experts(const Row& row) {
  Sample sample;
  sample.kernel = "experts";
  CHAKRA_TRY(set_sizes(row, {"num_tokens", "hidden_size", "inter_size", "num_experts", "topk", "moe_ep_size"}, sample));
  CHAKRA_ASSIGN(const double sharers, row.size("moe_tp_size"));
  work::Sizes& sizes = sample.measured.sizes;
  sizes[2] /= sharers;
  if (sizes[2] < 1 || sizes[3] < sizes[5] || sizes[4] > sizes[3])
    sample.skipped = "experts that cannot be distributed over the ranks";
  CHAKRA_TRY(set_aic_type(row, "moe_dtype", sample));
  if (const std::string how = row.text("distribution"); !how.empty() && how != "balanced") sample.kernel += "." + how;
  return sample;
}

/// The kernels of gated delta networks and of Mamba-2 that were timed, each by its own sizes.
Result<Sample> aic_recurrent(const Row& row) {
  const bool mamba = row.text("op_name") == "mamba2";
  const std::string source = row.text("kernel_source");
  Sample sample;
  sample.type = "bf16";
  sample.device = row.text("device");
  CHAKRA_ASSIGN(const double ms, row.number("latency", kLeastMs));
  sample.measured.seconds = ms * 1e-3;
  work::Sizes& sizes = sample.measured.sizes;
  if (source == "causal_conv1d_fn" || source == "causal_conv1d_update") {
    Sample parts;  // what the channels are made of: states, or keys, and heads
    CHAKRA_TRY(mamba ? set_sizes(row, {"n_groups", "d_state", "nheads", "head_dim"}, parts)
                     : set_sizes(row, {"num_k_heads", "head_k_dim", "num_v_heads", "head_v_dim"}, parts));
    const work::Sizes& p = parts.measured.sizes;
    const double channels = 2 * p[0] * p[1] + p[2] * p[3];
    const bool decode = source == "causal_conv1d_update";
    if (row.text("d_conv") != "4") sample.skipped = "convolutions over other numbers of tokens than 4";
    sample.kernel = std::string(decode ? "conv1d_decode" : "conv1d") + (mamba ? ".mamba2" : "");
    CHAKRA_TRY(set_sizes(row, {"batch_size", "seq_len"}, sample));
    sizes[decode ? 1 : 2] = channels;
  } else if (source.starts_with("chunk_gated_delta_rule")) {
    sample.kernel = "gated_delta";
    CHAKRA_TRY(set_sizes(row, {"batch_size", "seq_len", "num_k_heads", "num_v_heads", "head_k_dim"}, sample));
  } else if (source.starts_with("fused_recurrent_gated_delta_rule")) {
    sample.kernel = "gated_delta_decode";
    CHAKRA_TRY(set_sizes(row, {"batch_size", "num_k_heads", "num_v_heads", "head_k_dim"}, sample));
  } else {
    sample.skipped = fmt::format("kernel {}", quote(source));
  }
  if (!mamba && row.text("head_k_dim") != row.text("head_v_dim"))
    sample.skipped = "keys and values of different widths";
  return sample;
}

/// Vidur's operators of a layer, by the sizes of the model and the number of ranks that share it.
Result<Sample> vidur(const Row& row) {
  CHAKRA_ASSIGN(const double tokens, row.number("num_tokens"));
  CHAKRA_ASSIGN(const double ranks, row.number("num_tensor_parallel_workers"));
  CHAKRA_ASSIGN(const double heads, row.number("n_head"));
  CHAKRA_ASSIGN(const double kv_heads, row.number("n_kv_head"));
  CHAKRA_ASSIGN(const double width, row.number("n_embd"));
  CHAKRA_ASSIGN(const double hidden, row.number("n_expanded_embd"));
  const bool gated = row.text("use_gated_mlp") == "True";
  const double head = width / heads;
  struct Operator {
    std::string_view name, kernel;
    work::Sizes sizes;
  };
  const std::array<Operator, 10> operators{{
      {"attn_pre_proj", "gemm", {tokens, (heads + 2 * kv_heads) * head / ranks, width}},
      {"attn_post_proj", "gemm", {tokens, width, width / ranks}},
      {"mlp_up_proj", "gemm", {tokens, (gated ? 2 : 1) * hidden / ranks, width}},
      {"mlp_down_proj", "gemm", {tokens, width, hidden / ranks}},
      {"input_layernorm", "norm", {tokens, width}},
      {"post_attention_layernorm", "norm", {tokens, width}},
      {"emb", "embedding", {tokens, width}},
      {"attn_rope", "rope", {tokens, (heads + kv_heads) * head / ranks}},
      {"mlp_act", "activation", {tokens, hidden / ranks}},
      {"add", "add", {tokens, width}},
  }};
  const std::string name = row.text("op");
  const auto op = std::find_if(operators.begin(), operators.end(), [&](const Operator& o) { return o.name == name; });
  Sample sample;
  if (op == operators.end()) {
    sample.skipped = fmt::format("operator {}", quote(name));
    return sample;
  }
  sample.kernel = op->kernel;
  sample.type = "f16";
  sample.measured.sizes = op->sizes;
  const size_t sizes = work::find_kernel_kind(sample.kernel)->size();
  if (std::any_of(op->sizes.begin(), op->sizes.begin() + sizes, [](double size) { return size < 1; }))
    sample.skipped = "sizes below 1";
  double ms = 0;
  if (!parse_decimal(row.text("median_ms"), ms) || !(ms >= kLeastMs && ms <= kMost))
    sample.skipped = "times that are not above 0";
  sample.measured.seconds = ms * 1e-3;
  return sample;
}

// ---- NeuSight ------------------------------------------------------------------------------------------------------

std::string torch_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTypes{
      {{"torch.float32", "f32"}, {"torch.float16", "f16"}, {"torch.bfloat16", "bf16"}}};
  for (const auto& [torch, type] : kTypes)
    if (torch == name) return std::string(type);
  return "";
}

/// The numbers of each innermost list: of "[[4, 8], [8]]" 4 8 and 8.
std::vector<std::vector<double>> shapes_of(std::string_view text) {
  std::vector<std::vector<double>> shapes;
  bool open = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '[' || text[i] == '(') open = false;
    size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    double number = 0;
    if (end > i && parse_decimal(text.substr(i, end - i), number)) {
      if (!open) shapes.emplace_back();
      open = true;
      shapes.back().push_back(number);
    }
    i = std::max(end, i + 1);
  }
  return shapes;
}

/// A tensor as rows of its last dimension.
std::pair<double, double> rows_and_width(const std::vector<double>& shape) {
  double rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return {rows, shape.back()};
}

/// Operators of a model as torch.fx names them, with the time of their forward pass. That of backward is of several
/// kernels.
Result<Sample> neusight(const Row& row) {
  Sample sample;
  sample.type = torch_type(row.text("dtype"));
  const auto in = shapes_of(row.text("input_shapes")), out = shapes_of(row.text("output_shape"));
  // Of a module, the last class that its path names is its own.
  const std::string target = row.text("target"), meta = row.text("op") == "call_module" ? row.text("meta") : "";
  const std::string type = meta.substr(std::min(meta.rfind("<class '"), meta.size()));
  const bool product = contains(target, "addmm") && in.size() == 3;
  double ms = 0;
  if (sample.type.empty()) sample.skipped = "other element types than float32, float16 and bfloat16";
  else if (in.empty() || out.empty()) sample.skipped = "operators without shapes";
  else if (!parse_decimal(row.text("fw_latency"), ms) || !(ms >= kLeastMs && ms <= kMost))
    sample.skipped = "times of 0 or below";
  if (!sample.skipped.empty()) return sample;
  const auto [rows, width] = rows_and_width(out[0]);
  sample.measured = {{rows, width}, ms * 1e-3};
  if (product || contains(type, "linear.Linear")) {
    sample.kernel = "gemm";
    sample.measured.sizes[2] = in[product ? 1 : 0].back();
  } else if (contains(type, "LayerNorm")) {
    sample.kernel = "norm";
  } else if (contains(type, "sparse.Embedding")) {
    sample.kernel = "embedding";
  } else if (contains(target, "function add>") && in.size() == 2 && in[0] == in[1]) {
    sample.kernel = "add";
  } else {
    sample.skipped = "operators other than matrix multiplications, norms, embedding lookups and additions";
  }
  return sample;
}

// ---- Liger-Kernel -------------------------------------------------------------------------------------------------

/// Forward passes of norms and embedding lookups: PyTorch's, and as variants Liger's and Hugging Face's RMS norm.
Result<Sample> liger(const Row& row) {
  Sample sample;
  const std::string name = row.text("kernel_name"), provider = row.text("kernel_provider");
  const bool norm = name == "layer_norm" || name == "rms_norm", lookup = name == "embedding";
  if (row.text("metric_name") != "speed") sample.skipped = "measurements of memory";
  else if (row.text("kernel_operation_mode") != "forward") sample.skipped = "backward passes";
  else if (!norm && !lookup) sample.skipped = "kernels other than norms and embedding lookups";
  else if (provider != "huggingface" && provider != "torch" && provider != "liger")
    sample.skipped = fmt::format("kernels of {}", quote(provider));
  if (!sample.skipped.empty()) return sample;
  sample.device = row.text("gpu_name");
  sample.kernel = norm ? "norm" : "embedding";
  if (provider == "liger") sample.kernel += ".liger";
  else if (name == "rms_norm") sample.kernel += ".huggingface";  // several kernels, one after the other
  const auto config = parse_spec(row.text("extra_benchmark_config_str"), "extra_benchmark_config_str");
  const auto number = [&](const char* key) {
    const Spec* found = config ? config->find(key) : nullptr;
    return found ? found->number().value_or(0) : 0;
  };
  if (const Spec* type = config ? config->find("dtype") : nullptr) sample.type = torch_type(type->scalar);
  CHAKRA_ASSIGN(const double x, row.size("x_value"));
  sample.measured.sizes = norm ? work::Sizes{number("M"), x} : work::Sizes{number("B") * number("T"), number("D")};
  CHAKRA_ASSIGN(const double ms, row.number("y_value_50", kLeastMs));
  sample.measured.seconds = ms * 1e-3;
  if (sample.type.empty() || !(sample.measured.sizes[0] >= 1 && sample.measured.sizes[1] >= 1))
    sample.skipped = "rows without element type or sizes";
  return sample;
}

/// The forms of tables, by columns that they have.
struct Form {
  std::array<std::string_view, 3> columns;
  Result<Sample> (*read)(const Row& row);
};
constexpr std::array<Form, 10> kForms{{
    {{"kernel", "type", "time_us"}, own_row},
    {{"gemm_dtype", "k", "latency"}, aic_gemm},
    {{"attn_dtype", "isl", "latency"}, aic_attention},
    {{"mla_dtype", "num_heads", "latency"}, aic_latent},
    {{"moe_dtype", "num_experts", "latency"}, aic_experts},
    {{"num_v_heads", "kernel_source", "latency"}, aic_recurrent},
    {{"d_state", "kernel_source", "latency"}, aic_recurrent},
    {{"op", "num_tokens", "median_ms"}, vidur},
    {{"target", "input_shapes", "fw_latency"}, neusight},
    {{"kernel_name", "kernel_provider", "y_value_50"}, liger},
}};

Result<const Form*> form_of(const std::vector<std::string>& columns, const std::string& path) {
  for (const Form& form : kForms)
    if (std::all_of(form.columns.begin(), form.columns.end(), [&](std::string_view column) {
          return std::find(columns.begin(), columns.end(), column) != columns.end();
        }))
      return &form;
  return fail(
      Code::bad_input, "calibrate.csv.columns",
      "the first line is not that of a known table: it needs the columns kernel, type, time_us and those of the "
      "kernel's sizes",
      {path, -1, 1});
}

void add(const Sample& sample, MeasuredRows& rows) {
  if (!sample.skipped.empty()) {
    ++rows.skipped[sample.skipped];
    return;
  }
  rows.kernels[sample.device][{sample.kernel, trace::dtype_of(sample.type)}].push_back(sample.measured);
}

}  // namespace

Result<void> read_measured_kernels(const std::string& path, MeasuredRows& rows) {
  CHAKRA_ASSIGN(const std::string text, read_file(path));
  if (text.starts_with("PAR1"))
    return fail(Code::bad_input, "calibrate.csv.parquet",
                "the file is Parquet, and tables are read as CSV; this converts it: python3 -c \"import pandas; "
                "pandas.read_parquet('TABLE.parquet').to_csv('TABLE.csv', index=False)\"",
                {path});
  rows.source += (rows.source.empty() ? "" : ", ") + std::filesystem::path(path).filename().string();
  std::string_view left = without_byte_order_mark(text);
  std::vector<std::string> columns;
  const Form* form = nullptr;
  for (int64_t line = 1; !left.empty(); ++line) {
    const size_t end = std::min(left.find('\n'), left.size());
    std::string_view one = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (one.ends_with('\r')) one.remove_suffix(1);
    if (one.empty()) continue;
    std::vector<std::string> cells = cells_of(one);
    if (!form) {
      columns = std::move(cells);
      CHAKRA_ASSIGN(form, form_of(columns, path));
      if (const std::string twice = duplicate_column(columns); !twice.empty())
        return fail(Code::bad_input, "calibrate.csv.columns", fmt::format("duplicate column {}", quote(twice)),
                    {path, -1, line});
      continue;
    }
    if (cells.size() != columns.size())
      return fail(Code::bad_input, "calibrate.csv.row",
                  fmt::format("{} cells under {} columns", cells.size(), columns.size()), {path, -1, line});
    const Row row(columns, std::move(cells), {path, -1, line});
    CHAKRA_ASSIGN(const Sample sample, form->read(row));
    if (sample.skipped.empty() && trace::dtype_of(sample.type) == DType::unknown)
      return row.error("calibrate.csv.value", fmt::format("unknown element type {}", quote(sample.type)));
    add(sample, rows);
  }
  if (!form) return fail(Code::bad_input, "calibrate.csv.columns", "the file is empty", {path});
  return {};
}

}  // namespace chakra::calibrate
