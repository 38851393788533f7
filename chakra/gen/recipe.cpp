// Every option by its name, in one walk that both writes and reads them.
#include "chakra/gen/recipe.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>

#include "chakra/gen/gen.h"
#include "chakra/trace/metadata.h"

namespace chakra::gen {
namespace {

constexpr std::string_view kKey = "recipe", kDeviceKey = "recipe_device", kStackKey = "recipe_stack";
constexpr size_t kMostValues = 1 << 20;  // of a list
constexpr int64_t kMostBlocks = 255;     // a layer's kind is a byte

/// The text of an option with what separates options written as numbers.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) c == ';' || c == '%' ? result += fmt::format("%{:02X}", static_cast<int>(c)) : result += c;
  return result;
}
std::string unescaped(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size();
    result += !coded ? text[i] : text.substr(i, 3) == "%3B" ? ';' : '%';
    if (coded) i += 2;
  }
  return result;
}

class Writer {
 public:
  std::string text;

  template <class T>
  void field(const std::string& name, const T& value) {
    if constexpr (std::is_enum_v<T>) put(name, fmt::format("{}", static_cast<int64_t>(value)));
    else if constexpr (std::is_same_v<T, bool>) put(name, value ? "1" : "0");
    else if constexpr (std::is_same_v<T, std::string>) put(name, escaped(value));
    else put(name, fmt::format("{}", value));
  }
  void field(const std::string& name, const std::optional<bool>& value) {
    if (value) field(name, *value);
  }
  void unless_zero(const std::string& name, const int64_t& value) {
    if (value != 0) field(name, value);
  }
  template <class T>
  void list(const std::string& name, const std::vector<T>& values) {
    std::string all;
    for (const T value : values) all += fmt::format("{}{}", all.empty() ? "" : ",", static_cast<int64_t>(value));
    put(name, all);
  }
  bool present(const std::string& name, bool is) {
    field(name, is);
    return is;
  }

 private:
  void put(const std::string& name, const std::string& value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, value);
  }
};

class Reader {
 public:
  bool good = true;

  explicit Reader(std::string_view text) {
    while (!text.empty()) {
      const std::string_view item = text.substr(0, text.find(';'));
      text.remove_prefix(std::min(text.size(), item.size() + 1));
      const size_t equals = item.find('=');
      good &= equals != std::string_view::npos;
      if (good) values_[std::string(item.substr(0, equals))] = item.substr(equals + 1);
    }
  }
  template <class T>
  void field(const std::string& name, T& value) {
    const auto found = values_.find(name);
    if (found == values_.end()) return fail();
    if constexpr (std::is_same_v<T, std::string>) {
      value = unescaped(found->second);
    } else if constexpr (std::is_same_v<T, double>) {
      good &= parse_decimal(found->second, value);
    } else {
      int64_t number = 0;
      good &= parse_decimal(found->second, number) && number >= 0;
      if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) good &= number <= 8;
      value = static_cast<T>(number);
    }
  }
  void field(const std::string& name, std::optional<bool>& value) {
    value.reset();
    if (values_.contains(name)) field(name, value.emplace());
  }
  void unless_zero(const std::string& name, int64_t& value) {
    value = 0;
    if (values_.contains(name)) field(name, value);
  }
  template <class T>
  void list(const std::string& name, std::vector<T>& values) {
    std::string text;
    field(name, text);
    values.clear();
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), item.size() + 1));
      int64_t number = 0;
      good &= parse_decimal(item, number) && number >= 0 && values.size() < kMostValues;
      if (!good) return;
      values.push_back(static_cast<T>(number));
    }
  }
  bool present(const std::string& name, bool) {
    bool is = false;
    field(name, is);
    return is;
  }

 private:
  void fail() { good = false; }

  std::map<std::string, std::string_view, std::less<>> values_;
};

template <class V, class O>
void walk_attention(V& v, const std::string& at, O& a) {
  v.field(at + "heads", a.heads), v.field(at + "kv_heads", a.kv_heads), v.field(at + "head_dim", a.head_dim);
  v.field(at + "value_dim", a.value_dim), v.field(at + "q_rank", a.q_rank), v.field(at + "kv_rank", a.kv_rank);
  v.field(at + "rope_dim", a.rope_dim), v.field(at + "window", a.window), v.field(at + "q_bias", a.q_bias);
  v.field(at + "kv_bias", a.kv_bias), v.field(at + "out_bias", a.out_bias), v.field(at + "q_norm", a.q_norm);
  v.field(at + "k_norm", a.k_norm), v.field(at + "sinks", a.sinks);
}

template <class V, class O>
void walk_block(V& v, const std::string& at, O& b) {
  walk_attention(v, at + "attention.", b.attention);
  v.field(at + "mlp.width", b.mlp.width), v.field(at + "mlp.gated", b.mlp.gated), v.field(at + "mlp.bias", b.mlp.bias);
  v.field(at + "norms", b.norms), v.field(at + "parallel", b.parallel), v.field(at + "first", b.first);
  if (!v.present(at + "has_experts", b.experts.has_value())) return;
  if constexpr (!std::is_const_v<O>) b.experts.emplace(b.experts.value_or(model::Experts{}));
  auto& e = *b.experts;
  const std::string in = at + "experts.";
  v.field(in + "count", e.count), v.field(in + "active", e.active), v.field(in + "width", e.width);
  v.field(in + "shared_width", e.shared_width), v.field(in + "shared_gate", e.shared_gate);
  v.field(in + "bias", e.bias), v.field(in + "shared_bias", e.shared_bias), v.field(in + "router_bias", e.router_bias);
}

template <class V, class O>
void walk_model(V& v, O& m) {
  v.field("model", m.name), v.field("family", m.family), v.field("hidden", m.hidden);
  v.field("vocabulary", m.vocabulary), v.field("learned_positions", m.learned_positions);
  v.field("model.sequence", m.sequence), v.field("norm", m.norm), v.field("norm_weight", m.norm_weight);
  v.field("norm_bias", m.norm_bias), v.field("embedding_norm", m.embedding_norm), v.field("final_norm", m.final_norm);
  v.field("tied", m.tied), v.field("head_bias", m.head_bias), v.field("causal", m.causal);
  v.list("layers", m.layers), v.field("mtp_layers", m.mtp_layers);
  v.field("patches.count", m.patches.count), v.field("patches.width", m.patches.width);
  v.field("noise_width", m.noise_width);
  auto& r = m.recommender;
  v.field("dense", r.dense), v.field("tables", r.tables), v.field("rows", r.rows), v.field("lookups", r.lookups);
  v.list("bottom", r.bottom), v.list("top", r.top);
  auto kinds = static_cast<int64_t>(m.blocks.size());
  v.field("blocks", kinds);
  if constexpr (!std::is_const_v<O>) m.blocks.resize(static_cast<size_t>(std::clamp<int64_t>(kinds, 0, kMostBlocks)));
  for (size_t i = 0; i < m.blocks.size(); ++i) walk_block(v, fmt::format("block{}.", i), m.blocks[i]);
}

template <class V, class O>
void walk(V& v, O& o) {
  for (const NumberRow& row : kNumbers) v.field(std::string(row.name), o.*row.value);
  for (const SwitchRow& row : kSwitches) v.field(std::string(row.name), o.*row.value);
  v.field("order", o.order), v.field("schedule", o.schedule), v.field("dropout", o.dropout);
  v.field("context", o.context), v.field("recompute", o.recompute), v.field("optimizer", o.optimizer);
  v.field("expert-skew", o.expert_skew), v.field("fp16", o.fp16), v.field("fp8", o.fp8);
  auto& f = o.framework;
  v.field("logit-bytes", f.logit_bytes), v.field("eager", f.eager), v.field("fsdp", f.fsdp);
  v.field("per-operator", f.per_operator), v.unless_zero("dispatch-ranks", f.dispatch_ranks);
  v.field("peak", o.peak_flop_per_s), v.field("fp8-peak", o.fp8_flop_per_s);
  v.field("bandwidth", o.memory_bytes_per_s), v.field("efficiency", o.efficiency);
  v.field("host-ns", o.host_ns), v.field("host-waits", o.host_waits);
  auto& s = o.storage;
  v.field("data-tier", s.data_tier), v.field("sample-bytes", s.sample_bytes);
  v.field("checkpoint-tier", s.checkpoint_tier), v.field("restart-tier", s.restart_tier);
  v.field("checkpoint-behind", s.checkpoint_behind);
  walk_model(v, o.model);
}

template <class V>
void walk(V& v, ServeOptions& o) {
  int64_t serving = 1;
  v.field("serve", serving);  // tells it from a step
  for (const ServeNumberRow& row : kServeNumbers) v.field(std::string(row.name), row.value(o));
  for (const ServeSwitchRow& row : kServeSwitches) v.field(std::string(row.name), o.*row.value);
  v.list("contexts", o.contexts);
  v.field("fp8", o.fp8), v.field("kv-tier", o.kv_tier), v.field("kv-tier-share", o.kv_tier_share);
  v.field("peak", o.peak_flop_per_s), v.field("fp8-peak", o.fp8_flop_per_s);
  v.field("bandwidth", o.memory_bytes_per_s), v.field("efficiency", o.efficiency);
  v.field("pass-ns", o.pass_ns), v.field("sequence-ns", o.sequence_ns);
  walk_model(v, o.model);
}

bool possible(const model::Model& m) {
  return m.family <= model::Family::recommender && m.norm <= model::Norm::layer &&
         std::all_of(m.layers.begin(), m.layers.end(), [&](uint8_t kind) { return kind < m.blocks.size(); });
}
/// Whether the numbers of a text are options: enumerators exist, layers have a kind.
bool possible(const StepOptions& o) {
  return static_cast<size_t>(o.context) < kContextNames.size() &&
         static_cast<size_t>(o.recompute) < kRecomputeNames.size() &&
         static_cast<size_t>(o.host_waits) < kHostWaitNames.size() && o.optimizer < kOptimizers.size() &&
         possible(o.model);
}
bool possible(const ServeOptions& o) { return possible(o.model); }

template <class O>
std::string text_of(O options) {
  Writer writer;
  walk(writer, options);
  return writer.text;
}

template <class O>
std::optional<O> read(std::string_view text) {
  Reader reader(text);
  O o;
  walk(reader, o);
  if (!reader.good || !possible(o)) return std::nullopt;
  return o;
}

void describe(const std::string& recipe, trace::Trace& t) {
  t.metadata.push_back({t.strings.intern(kKey), t.texts.add(recipe)});
}

}  // namespace

std::string recipe(const StepOptions& options) { return text_of(options); }
std::string recipe(const ServeOptions& options) { return text_of(options); }
std::optional<StepOptions> read_recipe(std::string_view text) { return read<StepOptions>(text); }
std::optional<ServeOptions> read_serve_recipe(std::string_view text) { return read<ServeOptions>(text); }

std::string_view recipe_text(const trace::Trace& t) {
  const auto attr = trace::metadata(t, kKey);
  return attr ? attr->text().value_or("") : "";
}

void describe_recipe(const StepOptions& options, trace::Trace& t) { describe(recipe(options), t); }
void describe_recipe(const ServeOptions& options, trace::Trace& t) { describe(recipe(options), t); }

void describe_recipe_device(const RecipeDevice& of, trace::Trace& t) {
  for (const auto& [key, text] : {std::pair(kDeviceKey, &of.device), {kStackKey, &of.stack}})
    if (!of.device.empty() && !text->empty()) t.metadata.push_back({t.strings.intern(key), t.texts.add(*text)});
}

RecipeDevice recipe_device_of(const trace::Trace& t) {
  const auto text = [&](std::string_view key) {
    const auto attr = trace::metadata(t, key);
    return std::string(attr ? attr->text().value_or("") : "");
  };
  return {text(kDeviceKey), text(kStackKey)};
}

std::optional<StepOptions> recipe_of(const trace::Trace& t) { return read_recipe(recipe_text(t)); }
std::optional<ServeOptions> serve_recipe_of(const trace::Trace& t) { return read_serve_recipe(recipe_text(t)); }

}  // namespace chakra::gen
