// Hugging Face's config.json: its keys, which of them matter, and reading it.
#include "chakra/model/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace chakra::model {
namespace {

constexpr int64_t kMost = int64_t{1} << 28;

/// Keys that change neither shapes nor operations.
constexpr auto kNoEffect = std::to_array<std::string_view>(
    {// Of the file, and of the library that reads it.
     "_attn_implementation", "_attn_implementation_autoset", "_name_or_path", "architectures", "auto_map", "model_type",
     "output_past", "return_dict", "torch_dtype", "dtype", "torchscript", "transformers_version", "use_bfloat16",
     "use_cache", "use_flash_attn", "output_attentions", "output_hidden_states", "output_router_logits",
     "gradient_checkpointing", "cache_implementation", "pretraining_tp", "ep_size", "tokenizer_class",
     "task_specific_params", "prefix", "unsloth_version", "unsloth_fixed", "quantization_config",
     "keys_to_ignore_at_inference", "attn_config_version", "encoder_stride", "pooler_act", "pooler_output_size",
     // Tokens and labels.
     "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "decoder_start_token_id",
     "bad_words_ids", "id2label", "label2id", "num_labels", "problem_type", "finetuning_task",
     // Generating text.
     "begin_suppress_tokens", "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
     "exponential_decay_length_penalty", "forced_bos_token_id", "forced_eos_token_id", "length_penalty", "max_length",
     "max_new_tokens", "min_length", "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences",
     "output_scores", "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
     "temperature", "top_k", "top_p", "typical_p", "tf_legacy_loss", "chunk_size_feed_forward",
     // Training: dropout, initial values, losses.
     "activation_dropout", "attention_probs_dropout_prob", "hidden_dropout_prob", "attention_dropout", "attn_pdrop",
     "classifier_dropout", "dropout", "embd_pdrop", "embedding_dropout", "hidden_dropout", "layerdrop", "resid_pdrop",
     "residual_dropout", "init_std", "initializer_range", "aux_loss_alpha", "router_aux_loss_coef",
     "router_jitter_noise", "seq_aux", "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
     "summary_type", "summary_use_proj",
     // Numbers that values are scaled by, kinds of activation.
     "activation", "activation_function", "attention_multiplier", "attn_logit_softcapping", "clip_qkv",
     "embedding_multiplier", "final_logit_softcapping", "hidden_act", "hidden_activation", "layer_norm_eps",
     "layer_norm_epsilon", "logit_scale", "logits_scaling", "norm_eps", "norm_epsilon", "query_pre_attn_scalar",
     "residual_multiplier", "rms_norm_eps", "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "swiglu_alpha",
     "swiglu_limit", "reorder_and_upcast_attn", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32",
     "slow_but_exact", "apply_residual_connection_post_layernorm",
     // Positions that are computed.
     "initial_context_length", "max_sequence_length", "n_ctx", "no_rope_layer_interval", "no_rope_layers",
     "original_max_position_embeddings", "partial_rotary_factor", "rope_interleave", "rope_local_base_freq",
     "rope_parameters", "rope_scaling", "rope_theta", "rotary", "rotary_dim", "rotary_emb_base", "rotary_pct",
     "seq_length",
     // Which experts a token gets.
     "experts_per_token", "n_group", "norm_topk_prob", "routed_scaling_factor", "scoring_func", "topk_group",
     "topk_method"});

/// Keys without effect where they have this value.
struct Harmless {
  std::string_view key, value;
};
constexpr auto kHarmless = std::to_array<Harmless>({{"add_cross_attention", "false"},
                                                    {"is_decoder", "false"},
                                                    {"is_encoder_decoder", "false"},
                                                    {"moe_layer_freq", "1"},
                                                    {"num_nextn_predict_layers", "0"},
                                                    {"pruned_heads", ""},
                                                    {"tie_encoder_decoder", "false"},
                                                    {"use_bidirectional_attention", "false"}});

/// Older names of keys, which transformers still takes; some belong to one type of model.
struct Alias {
  std::string_view alias, key, type;
};
constexpr auto kAliases = std::to_array<Alias>({{"n_embd", "hidden_size", "gpt2"},
                                                {"n_head", "num_attention_heads", "gpt2"},
                                                {"n_layer", "num_hidden_layers", "gpt2"},
                                                {"n_positions", "max_position_embeddings", "gpt2"},
                                                {"n_embd", "hidden_size", "gptj"},
                                                {"n_head", "num_attention_heads", "gptj"},
                                                {"n_layer", "num_hidden_layers", "gptj"},
                                                {"n_positions", "max_position_embeddings", "gptj"},
                                                {"n_embd", "hidden_size", "gpt_bigcode"},
                                                {"n_head", "num_attention_heads", "gpt_bigcode"},
                                                {"n_layer", "num_hidden_layers", "gpt_bigcode"},
                                                {"n_positions", "max_position_embeddings", "gpt_bigcode"},
                                                {"n_layer", "num_hidden_layers", "bloom"},
                                                {"n_head", "num_attention_heads", "bloom"},
                                                {"n_embed", "hidden_size", "bloom"},
                                                {"num_experts", "num_local_experts", "mixtral"},
                                                {"num_experts", "num_local_experts", "gpt_oss"},
                                                {"num_local_experts", "num_experts", "qwen3_moe"},
                                                {"num_local_experts", "num_experts", "olmoe"},
                                                {"num_local_experts", "n_routed_experts", "deepseek_v3"},
                                                {"num_mtp_layers", "num_nextn_predict_layers", "deepseek_v3"},
                                                {"num_experts", "n_routed_experts", "deepseek_v2"}});

bool is_null(const Spec& value) {
  return value.kind == Spec::Kind::null || (value.kind == Spec::Kind::scalar && !value.was_quoted &&
                                            (value.scalar == "null" || value.scalar.empty() || value.scalar == "~"));
}

std::string shown(const Spec& value) {
  switch (value.kind) {
    case Spec::Kind::null: return "null";
    case Spec::Kind::scalar: return quote(value.scalar);
    case Spec::Kind::list: return "a list";
    case Spec::Kind::map: return "a map";
  }
  return "";
}

}  // namespace

const Spec* Keys::find(std::string_view key) {
  const Spec* found = config_.find(key);
  for (const Alias& a : kAliases) {
    if (a.key != key || a.type != type_.name) continue;
    const Spec* other = config_.find(a.alias);
    if (other) asked_.push_back(other);
    if (found && other && found->scalar != other->scalar)
      refuse(a.alias, "gen.model.key", fmt::format("{} and {} are names of the same number, but differ", a.alias, key));
    if (!found) found = other;
  }
  if (found) asked_.push_back(found);
  return found;
}

int64_t ModelTypeRow::default_of(std::string_view key) const {
  for (size_t i = 0; i < kCommonKeys.size(); ++i)
    if (kCommonKeys[i] == key) return common[i];
  for (const auto& [other, value] : more)
    if (other == key) return value;
  return kNone;
}

void Keys::stop(Error error) {
  if (!error_) error_ = std::move(error);
}

void Keys::refuse(std::string_view key, std::string tag, std::string text) {
  const Spec* at = config_.find(key);
  stop({Code::bad_input, std::move(tag), std::move(text), (at ? at : &config_)->place()});
}

Result<void> Keys::result() const {
  if (error_) return Failure(*error_);
  return {};
}

int64_t Keys::number_of(const Spec& value, std::string_view key, int64_t least) {
  const Result<int64_t> number = value.integer();
  if (!number || value.was_quoted) {
    stop({Code::bad_input, "gen.model.key", fmt::format("{} is {}, not a whole number", key, shown(value)),
          value.place()});
    return 1;
  }
  if (*number >= least && *number <= kMost) return *number;
  stop({Code::bad_input, "gen.model.range",
        fmt::format("{} is {}; from {} to {} are possible", key, *number, least, kMost), value.place()});
  return 1;
}

std::optional<int64_t> Keys::maybe(std::string_view key, int64_t least) {
  if (const Spec* value = find(key)) {
    if (is_null(*value)) return {};
    return number_of(*value, key, least);
  }
  const int64_t value = type_.default_of(key);
  return value == ModelTypeRow::kNone ? std::nullopt : std::optional(value);
}

int64_t Keys::number(std::string_view key, int64_t least) {
  if (const auto value = maybe(key, least)) return *value;
  refuse(key, "gen.model.key", fmt::format("{} is missing, and a model of type {} needs it", key, type_.name));
  return 1;
}

bool Keys::flag(std::string_view key) {
  const Spec* value = find(key);
  if (!value) return type_.default_of(key) == 1;
  if (is_null(*value)) return false;
  const Result<bool> flag = value->boolean();
  if (flag && !value->was_quoted) return *flag;
  stop({Code::bad_input, "gen.model.key", fmt::format("{} is {}, neither true nor false", key, shown(*value)),
        value->place()});
  return false;
}

std::vector<int64_t> Keys::numbers(std::string_view key) {
  std::vector<int64_t> numbers;
  const Spec* list = find(key);
  if (!list || is_null(*list)) return numbers;
  if (list->kind != Spec::Kind::list)
    stop({Code::bad_input, "gen.model.key", fmt::format("{} is {}, not a list", key, shown(*list)), list->place()});
  for (const Spec& item : list->items) {
    numbers.push_back(number_of(item, key, 0));
    if (error_) return {};
  }
  return numbers;
}

std::vector<std::string> Keys::words(std::string_view key) {
  std::vector<std::string> words;
  const Spec* list = find(key);
  if (!list || is_null(*list)) return words;
  if (list->kind != Spec::Kind::list)
    stop({Code::bad_input, "gen.model.key", fmt::format("{} is {}, not a list", key, shown(*list)), list->place()});
  for (const Spec& item : list->items) words.push_back(item.scalar);
  return words;
}

std::optional<int64_t> Keys::entries(std::string_view key) {
  const Spec* value = find(key);
  if (!value || is_null(*value)) return {};
  if (value->kind == Spec::Kind::map) return static_cast<int64_t>(value->fields.size());
  stop({Code::bad_input, "gen.model.key", fmt::format("{} is {}, not a map", key, shown(*value)), value->place()});
  return {};
}

std::array<int64_t, 2> Keys::pair(std::string_view key) {
  const Spec* value = find(key);
  if (!value || value->kind != Spec::Kind::list) {
    const int64_t both = number(key);
    return {both, both};
  }
  if (value->items.size() == 2) return {number_of(value->items[0], key, 1), number_of(value->items[1], key, 1)};
  stop({Code::bad_input, "gen.model.key", fmt::format("{} has {} numbers, not two", key, value->items.size()),
        value->place()});
  return {1, 1};
}

std::string Keys::word(std::string_view key) {
  const Spec* value = find(key);
  if (!value || is_null(*value)) return {};
  if (value->kind == Spec::Kind::scalar) return value->scalar;
  stop({Code::bad_input, "gen.model.key", fmt::format("{} is {}, not a word", key, shown(*value)), value->place()});
  return {};
}

void Keys::note(std::string tag, std::string text) {
  findings_.add({std::move(tag), Severity::warning, -1, -1, fmt::format("{}: {}", config_.place().file, text)});
}

void Keys::append_findings(Findings& findings) && {
  for (const auto& [key, value] : config_.fields) {
    if (is_null(value) || std::find(asked_.begin(), asked_.end(), &value) != asked_.end()) continue;
    if (std::find(kNoEffect.begin(), kNoEffect.end(), key) != kNoEffect.end()) continue;
    const auto harmless =
        std::find_if(kHarmless.begin(), kHarmless.end(), [&key = key, &value = value](const Harmless& h) {
          return h.key == key && h.value == value.scalar && value.fields.empty() && value.items.empty();
        });
    if (harmless != kHarmless.end()) continue;
    findings_.add({"gen.model.unknown_key", Severity::warning, -1, -1,
                   fmt::format("{}: unknown key {} of {}; the model is built without the key", value.place().text(),
                               quote(key), type_.name)});
  }
  std::move(findings_).append_to(findings);
}

Result<Model> parse_config(std::string_view text, std::string file, Findings& findings, const ConfigOptions& options) {
  CHAKRA_ASSIGN(const Spec config, parse_spec(text, file));
  if (config.kind != Spec::Kind::map)
    return fail(Code::bad_input, "gen.model.key", "a config.json must be an object", {std::move(file)});
  const Spec* type = config.find("model_type");
  if (!type || type->kind != Spec::Kind::scalar)
    return (type ? type : &config)->error("gen.model.type", "model_type is missing, the name of the model's kind");
  const auto rows = model_types();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ModelTypeRow& r) { return r.name == type->scalar; });
  if (row == rows.end()) {
    std::string known;
    for (const ModelTypeRow& r : rows) known += fmt::format("{}{}", known.empty() ? "" : ", ", r.name);
    return type->error("gen.model.type", fmt::format("unknown model_type {}; known: {}", quote(type->scalar), known));
  }
  Keys keys(config, *row);
  Model model = row->build(keys);
  if (model.name.empty()) model.name = row->name;
  CHAKRA_TRY(keys.result());
  if (!options.mtp && model.mtp_layers > 0) {
    findings.push_back({"gen.model.mtp", Severity::note, -1, -1,
                        fmt::format("{} layers of multi-token prediction are left out", model.mtp_layers)});
    model.mtp_layers = 0;
  }
  if (Result<void> checked = check_model(model); !checked) {
    checked.error().place = config.place();
    return Failure(std::move(checked.error()));
  }
  std::move(keys).append_findings(findings);
  return model;
}

Result<Model> read_config(const std::string& path, Findings& findings, const ConfigOptions& options) {
  CHAKRA_ASSIGN(const std::string text, read_file(path, size_t{1} << 24));
  return parse_config(text, path, findings, options);
}

}  // namespace chakra::model
