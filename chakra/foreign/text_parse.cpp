#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "chakra/filetype/filetype.h"
#include "chakra/foreign/rows.h"
#include "chakra/foreign/text.h"

namespace chakra::foreign {
namespace text_form {
namespace {

using trace::CommType;

constexpr std::array<PolicyRow, 11> kPolicies{{
    {"MICRO", Loop::micro, Over::all, Over::all},
    {"DATA", Loop::data, Over::all, Over::all},
    {"MODEL", Loop::model, Over::all, Over::all},
    {"HYBRID_DATA_MODEL", Loop::hybrid, Over::first_dims, Over::other_dims, "_IG_COMM_"},
    {"HYBRID_MODEL_DATA", Loop::hybrid, Over::other_dims, Over::first_dims},
    {"HYBRID_TRANSFORMER", Loop::hybrid, Over::first_dims, Over::other_dims},
    {"HYBRID_DLRM", Loop::dlrm, Over::all, Over::all},
    {"HYBRID_DLRM_ENHANCED", Loop::dlrm, Over::all, Over::all},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Loop::rows, Over::tp, Over::dp, "", "ns"},
    {"HYBRID_CUSTOMIZED", Loop::hybrid, Over::first_dims, Over::other_dims},
    {"DISTRIBUTED_INFERENCE", Loop::inference, Over::all, Over::nobody},
}};
/// What column 13 of HYBRID_CUSTOMIZED says of a layer.
struct LayerPolicyRow {
  std::string_view name;
  Over activations, weights;
};
constexpr std::array<LayerPolicyRow, 4> kLayerPolicies{{
    {"DATA", Over::nobody, Over::all},
    {"MODEL", Over::all, Over::nobody},
    {"HYBRID_DATA_MODEL", Over::first_dims, Over::other_dims},
    {"HYBRID_MODEL_DATA", Over::other_dims, Over::first_dims},
}};

struct CollectiveRow {
  std::string_view name;
  CommType type;
};
constexpr std::array<CollectiveRow, 5> kCollectives{{
    {"ALLREDUCE", CommType::all_reduce},
    {"ALLTOALL", CommType::all_to_all},
    {"ALLGATHER", CommType::all_gather},
    {"REDUCESCATTER", CommType::reduce_scatter},
    {"BROADCAST", CommType::broadcast},  // AICB writes it, ASTRA-sim 1.0 does not know it
}};
/// Endings of names that SimAI knows: which ranks take part.
constexpr std::array<std::pair<std::string_view, Over>, 2> kEndings{{{"_DP_EP", Over::edp}, {"_EP", Over::ep}}};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    out.push_back(line.substr(begin, at - begin));
  }
  return out;
}

/// The lines that are not empty, with their numbers; without the byte order mark that some editors put first.
struct Line {
  std::string_view text;
  int64_t number = 0;
};
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  int64_t number = 1;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (const std::string_view line = text.substr(at, end - at); !words(line).empty()) out.push_back({line, number});
    at = end + 1;
  }
  return out;
}

class TextParser {
 public:
  TextParser(Workload& out, const std::string& time_unit) : out_(out), time_unit_(time_unit) {}

  Result<void> run() {
    const std::vector<Line> lines = lines_of(out_.text);
    if (lines.empty()) return fail(Code::bad_input, "foreign.text.truncated", "the file is empty", {out_.file});
    number_ = lines[0].number;
    CHAKRA_TRY(header(words(lines[0].text)));
    CHAKRA_ASSIGN(unit_, unit_ps(time_unit_, out_.policy->time_unit));
    if (lines.size() < 2) return truncated("the number of layers is missing", lines.back().number);
    number_ = lines[1].number;
    const auto count_words = words(lines[1].text);
    int64_t count = 0;
    if (count_words.size() != 1 || !parse_decimal(count_words[0], count) || count < 1)
      return bad("foreign.text.header", fmt::format("{} is not a number of layers", quote(lines[1].text)));
    const auto found = static_cast<int64_t>(lines.size()) - 2;
    for (size_t i = 2; i < lines.size() && static_cast<int64_t>(i - 2) < count; ++i) {
      number_ = lines[i].number;
      CHAKRA_TRY(layer(words(lines[i].text), i + 1 == lines.size() && found <= count));
    }
    if (found < count)
      return truncated(fmt::format("{} layers are announced, {} are there", count, found), lines.back().number);
    if (found > count) {
      number_ = lines[static_cast<size_t>(count) + 2].number;
      return bad("foreign.text.layers", fmt::format("{} layers are announced, {} are there", count, found));
    }
    if (out_.policy->loop == Loop::rows) {
      number_ = lines[0].number;
      CHAKRA_TRY(check_checkpoints(count));
    }
    if (out_.policy->loop == Loop::dlrm && (out_.last_bottom < 1 || out_.last_bottom > count - 2)) {
      number_ = lines[0].number;
      return bad("foreign.text.header",
                 fmt::format("the last bottom layer is {}; it has to be from 1 to {}, the last but one",
                             out_.last_bottom, count - 2));
    }
    return {};
  }

 private:
  Failure bad(const char* tag, std::string text) {
    return fail(Code::bad_input, tag, std::move(text), {out_.file, -1, number_});
  }
  Failure truncated(std::string text, int64_t line) {
    return fail(Code::bad_input, "foreign.text.truncated", std::move(text), {out_.file, -1, line});
  }

  Result<void> header(const std::vector<std::string_view>& w) {
    const PolicyRow* const row = find_row(kPolicies, w[0]);
    if (!row)
      return bad("foreign.text.policy",
                 fmt::format("the parallelism {} is not known; known: {}", quote(w[0]), names_of(kPolicies)));
    out_.policy = row;
    if (row->loop == Loop::rows) return spread(w);
    if (row->loop == Loop::dlrm) {
      if (w.size() != 2 || !parse_decimal(w[1], out_.last_bottom))
        return bad("foreign.text.header",
                   fmt::format("{} is followed by the number of the last bottom layer", row->name));
    } else if (row->name == "HYBRID_TRANSFORMER" && w.size() > 1) {
      constexpr std::string_view kKey = "model_parallel_NPU_group:";
      std::string_view value = w.size() == 2 && w[1].starts_with(kKey) ? w[1].substr(kKey.size()) : "";
      if (w.size() == 3 && w[1] == kKey) value = w[2];
      if (!parse_decimal(value, out_.model_group) || out_.model_group < 1)
        return bad("foreign.text.header",
                   "HYBRID_TRANSFORMER is followed by 'model_parallel_NPU_group: ' and a number of ranks");
    } else if (w.size() > 1) {
      return bad("foreign.text.header", fmt::format("nothing is expected behind {}", row->name));
    }
    return {};
  }

  // ---- the header of HYBRID_TRANSFORMER_FWD_IN_BCKWD: keys and numbers ---------------------------------------------

  struct KeyRow {
    std::string_view name;
    int64_t Spread::*value;
  };
  static constexpr std::array<KeyRow, 6> kKeys{{{"model_parallel_NPU_group", &Spread::tp},
                                                {"ep", &Spread::ep},
                                                {"pp", &Spread::pp},
                                                {"vpp", &Spread::vpp},
                                                {"ga", &Spread::ga},
                                                {"all_gpus", &Spread::ranks}}};

  Result<void> spread(const std::vector<std::string_view>& header) {
    std::vector<std::string_view> w;
    for (const std::string_view word : header) {  // "key:7" is "key: 7"
      const size_t end = std::min(word.find(':'), word.size() - 1) + 1;
      w.push_back(word.substr(0, end));
      if (end < word.size()) w.push_back(word.substr(end));
    }
    std::set<std::string_view> seen;
    for (size_t i = 1; i < w.size();) {
      if (!w[i].ends_with(':') && w[i] != "pp_comm")
        return bad("foreign.text.header", fmt::format("{} is not a key, which ends in ':'", quote(w[i])));
      const std::string_view key = w[i].substr(0, w[i].find(':'));
      if (!seen.insert(key).second) return bad("foreign.text.header", fmt::format("duplicate key {}", quote(key)));
      CHAKRA_ASSIGN(i, take_key(w, key, i + 1));
    }
    return {};
  }

  /// Reads what belongs to a key. Returns where the next one is.
  Result<size_t> take_key(const std::vector<std::string_view>& w, std::string_view key, size_t at) {
    const auto expect = [&](std::string_view what) {
      return bad("foreign.text.header", fmt::format("{}: is followed by {}", quote(key), what));
    };
    if (key == "checkpoints" || key == "checkpoint_initiates") {
      std::vector<int64_t>& list = key == "checkpoints" ? out_.spread.checkpoints : out_.spread.initiates;
      int64_t count = 0;
      if (at >= w.size() || !parse_decimal(w[at], count) || count < 0 || count > static_cast<int64_t>(w.size()))
        return expect("how many rows, and their numbers");
      for (++at; count > 0; --count, ++at)
        if (at >= w.size() || !parse_decimal(w[at], list.emplace_back()))
          return expect("how many rows, and their numbers");
      return at;
    }
    if (at >= w.size()) return expect("a number");
    if (key == "pp_comm") {
      std::string_view number = w[at];
      if (number.ends_with(".0")) number.remove_suffix(2);  // AICB divides in floating point
      if (!parse_decimal(number, out_.spread.pp_bytes) || out_.spread.pp_bytes > std::numeric_limits<int64_t>::max())
        return expect("a number of bytes");
    } else if (const KeyRow* const row = find_row(kKeys, key)) {
      if (!parse_decimal(w[at], out_.spread.*row->value) || out_.spread.*row->value < 1)
        return expect("a whole number from 1");
    } else {
      out_.unknown_keys.emplace_back(key);
    }
    return at + 1;
  }

  /// Each row that initiates has a checkpoint before it, and no other such row between the two.
  Result<void> check_checkpoints(int64_t rows) {
    Spread& s = out_.spread;
    for (std::vector<int64_t>* list : {&s.checkpoints, &s.initiates}) {
      std::sort(list->begin(), list->end());
      if (!list->empty() && (list->front() < 0 || list->back() >= rows))
        return bad("foreign.text.header", fmt::format("a checkpoint stands in no row from 0 to {}", rows - 1));
    }
    for (size_t i = 0; i < s.initiates.size(); ++i) {
      const int64_t row = s.initiates[i];
      const auto after = std::upper_bound(s.checkpoints.begin(), s.checkpoints.end(), row);
      if (after == s.checkpoints.begin() || *(after - 1) == row || (i > 0 && s.initiates[i - 1] > *(after - 1)))
        return bad("foreign.text.header",
                   fmt::format("row {} initiates, and the row before it that does the same or a checkpoint is not "
                               "where the forward could begin again",
                               row));
    }
    return {};
  }

  // ---- layers ------------------------------------------------------------------------------------------------------

  Result<void> layer(const std::vector<std::string_view>& w, bool last_line) {
    const bool customized = out_.policy->name == "HYBRID_CUSTOMIZED";
    const size_t columns = customized ? 13 : 12;
    if (w.size() < columns && last_line)
      return truncated(fmt::format("the file ends in column {} of {} of a layer", w.size(), columns), number_);
    if (w.size() != columns)
      return bad("foreign.text.layer", fmt::format("a layer has {} columns, this one has {}", columns, w.size()));
    Layer layer{w[0], {}, {}, {}};
    int64_t ignored = 0;
    for (const size_t column : {size_t{1}, size_t{11}})
      if (!parse_decimal(w[column], ignored)) return no_number(w[column], column);
    Over activations = out_.policy->activations, weights = out_.policy->weights;
    if (customized) {
      const LayerPolicyRow* const row = find_row(kLayerPolicies, w[12]);
      if (!row && last_line && std::any_of(kLayerPolicies.begin(), kLayerPolicies.end(), [&](const LayerPolicyRow& p) {
            return p.name.starts_with(w[12]);
          }))
        return truncated("the file ends in the parallelism of a layer", number_);
      if (!row)
        return bad("foreign.text.policy", fmt::format("the parallelism {} of a layer is not known; known: {}",
                                                      quote(w[12]), names_of(kLayerPolicies)));
      activations = row->activations;
      weights = row->weights;
    }
    size_t column = 2;
    for (Phase* phase : {&layer.forward, &layer.input_gradient, &layer.weight_gradient}) {
      phase->over = phase == &layer.weight_gradient ? weights : activations;
      CHAKRA_TRY(this->phase(w, column, *phase));
      column += 3;
    }
    out_.layers.push_back(layer);
    return {};
  }

  Failure no_number(std::string_view word, size_t column) {
    return bad("foreign.text.number",
               fmt::format("{} in column {} is no whole number that can stand there", quote(word), column + 1));
  }

  Result<void> phase(const std::vector<std::string_view>& w, size_t column, Phase& phase) {
    uint64_t time = 0;
    if (!parse_decimal(w[column], time) || time > static_cast<uint64_t>(kLongestPs / unit_))
      return no_number(w[column], column);
    phase.time = static_cast<Picoseconds>(time) * unit_;
    phase.comm_name = w[column + 1];
    const bool rows = out_.policy->loop == Loop::rows;
    std::string_view kind = phase.comm_name;
    if (rows)
      for (const auto& [ending, over] : kEndings)
        if (kind.ends_with(ending)) {
          kind.remove_suffix(ending.size());
          phase.over = over;
          break;
        }
    if (const CollectiveRow* const row = find_row(kCollectives, kind); row && (rows || kind != "BROADCAST"))
      phase.comm = row->type;
    else if (phase.comm_name != "NONE")
      return bad("foreign.text.collective",
                 fmt::format("{} is no collective; known: {}, NONE", quote(phase.comm_name), names_of(kCollectives)));
    if (!parse_decimal(w[column + 2], phase.bytes) || phase.bytes > std::numeric_limits<int64_t>::max())
      return no_number(w[column + 2], column + 2);
    if (phase.comm || phase.bytes == 0) return {};
    if (!rows)
      return bad("foreign.text.collective",
                 fmt::format("NONE with a size of {} in column {}", phase.bytes, column + 3));
    ++out_.sized_nones;  // AICB leaves the size that another option would have
    phase.bytes = 0;
    return {};
  }

  Workload& out_;
  const std::string& time_unit_;
  Picoseconds unit_ = 0;
  int64_t number_ = 1;
};

}  // namespace

Result<void> parse(Workload& out, const std::string& time_unit) { return TextParser(out, time_unit).run(); }

}  // namespace text_form

/// The parallelism, then a number on the next line.
bool is_text_form(std::string_view head) {
  using namespace text_form;
  const std::vector<Line> lines = lines_of(head.substr(0, filetype::kTraceHead));
  if (lines.size() < 2) return false;
  const std::string_view policy = words(lines[0].text)[0], count = words(lines[1].text)[0];
  return find_row(kPolicies, policy) && count.find_first_of("0123456789") == 0;
}

}  // namespace chakra::foreign
