#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "chakra/foreign/text.h"
#include "chakra/kind/kind.h"

namespace chakra::foreign {
namespace text_form {
namespace {

using trace::CommType;

constexpr std::array<PolicyRow, 8> kPolicies{{
    {"MICRO", Loop::micro, Over::all, Over::all},
    {"DATA", Loop::data, Over::all, Over::all},
    {"MODEL", Loop::model, Over::all, Over::all},
    {"HYBRID_DATA_MODEL", Loop::hybrid, Over::first_dims, Over::other_dims, "_IG_COMM_"},
    {"HYBRID_MODEL_DATA", Loop::hybrid, Over::other_dims, Over::first_dims},
    {"HYBRID_TRANSFORMER", Loop::hybrid, Over::first_dims, Over::other_dims},
    {"HYBRID_DLRM", Loop::dlrm, Over::all, Over::all},
    {"HYBRID_DLRM_ENHANCED", Loop::dlrm, Over::all, Over::all},
}};
constexpr std::array<std::string_view, 3> kRefused{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_CUSTOMIZED",
                                                   "DISTRIBUTED_INFERENCE"};
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
  TextParser(Workload& out, Picoseconds unit) : out_(out), unit_(unit) {}

  Result<void> run() {
    const std::vector<Line> lines = lines_of(out_.text);
    if (lines.empty()) return fail(Code::bad_input, "foreign.text.truncated", "the file is empty", {out_.file});
    number_ = lines[0].number;
    CHAKRA_TRY(header(words(lines[0].text)));
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
    if (out_.policy->loop == Loop::dlrm && (out_.last_bottom < 1 || out_.last_bottom > count - 2)) {
      number_ = lines[0].number;
      return bad("foreign.text.header",
                 fmt::format("the last bottom layer is {}; it has to be from 1 to {}, the last but one",
                             out_.last_bottom, count - 2));
    }
    return {};
  }

 private:
  tl::unexpected<Error> bad(const char* tag, std::string text) {
    return fail(Code::bad_input, tag, std::move(text), {out_.file, -1, number_});
  }
  tl::unexpected<Error> truncated(std::string text, int64_t line) {
    return fail(Code::bad_input, "foreign.text.truncated", std::move(text), {out_.file, -1, line});
  }

  Result<void> header(const std::vector<std::string_view>& w) {
    const auto row =
        std::find_if(kPolicies.begin(), kPolicies.end(), [&](const PolicyRow& p) { return p.name == w[0]; });
    if (row == kPolicies.end()) {
      std::string known;
      for (const PolicyRow& p : kPolicies) known += fmt::format("{}{}", known.empty() ? "" : ", ", p.name);
      const bool refused = std::find(kRefused.begin(), kRefused.end(), w[0]) != kRefused.end();
      return bad("foreign.text.policy", fmt::format("the parallelism {} is {}; known: {}", quote(w[0]),
                                                    refused ? "not carried out" : "not known", known));
    }
    out_.policy = &*row;
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

  Result<void> layer(const std::vector<std::string_view>& w, bool last_line) {
    constexpr size_t kColumns = 12;
    if (w.size() < kColumns && last_line)
      return truncated(fmt::format("the file ends in column {} of 12 of a layer", w.size()), number_);
    if (w.size() != kColumns)
      return bad("foreign.text.layer", fmt::format("a layer has 12 columns, this one has {}", w.size()));
    Layer layer{w[0], {}, {}, {}};
    int64_t ignored = 0;
    for (const size_t column : {size_t{1}, size_t{11}})
      if (!parse_decimal(w[column], ignored)) return no_number(w[column], column);
    size_t column = 2;
    for (Phase* phase : {&layer.forward, &layer.input_gradient, &layer.weight_gradient}) {
      CHAKRA_TRY(this->phase(w, column, *phase));
      column += 3;
    }
    out_.layers.push_back(layer);
    return {};
  }

  tl::unexpected<Error> no_number(std::string_view word, size_t column) {
    return bad("foreign.text.number",
               fmt::format("{} in column {} is no whole number that can stand there", quote(word), column + 1));
  }

  Result<void> phase(const std::vector<std::string_view>& w, size_t column, Phase& phase) {
    uint64_t time = 0;
    if (!parse_decimal(w[column], time) || time > static_cast<uint64_t>(kLongestPs / unit_))
      return no_number(w[column], column);
    phase.time = static_cast<Picoseconds>(time) * unit_;
    phase.comm_name = w[column + 1];
    if (phase.comm_name == "ALLREDUCE") phase.comm = CommType::all_reduce;
    else if (phase.comm_name == "ALLTOALL") phase.comm = CommType::all_to_all;
    else if (phase.comm_name == "ALLGATHER") phase.comm = CommType::all_gather;
    else if (phase.comm_name == "REDUCESCATTER") phase.comm = CommType::reduce_scatter;
    else if (phase.comm_name != "NONE")
      return bad("foreign.text.collective",
                 fmt::format("{} is no collective; known: ALLREDUCE, ALLTOALL, ALLGATHER, REDUCESCATTER, NONE",
                             quote(phase.comm_name)));
    if (!parse_decimal(w[column + 2], phase.bytes) || phase.bytes > std::numeric_limits<int64_t>::max())
      return no_number(w[column + 2], column + 2);
    if (!phase.comm && phase.bytes != 0)
      return bad("foreign.text.collective",
                 fmt::format("NONE with a size of {} in column {}", phase.bytes, column + 3));
    return {};
  }

  Workload& out_;
  Picoseconds unit_;
  int64_t number_ = 1;
};

}  // namespace

Result<void> parse(Workload& out, Picoseconds unit) { return TextParser(out, unit).run(); }

}  // namespace text_form

/// The parallelism, then a number on the next line.
bool is_text_form(std::string_view head) {
  using namespace text_form;
  const std::vector<Line> lines = lines_of(head.substr(0, kind::kTraceHead));
  if (lines.size() < 2) return false;
  const std::string_view policy = words(lines[0].text)[0], count = words(lines[1].text)[0];
  const bool known =
      std::any_of(kPolicies.begin(), kPolicies.end(), [&](const PolicyRow& row) { return row.name == policy; }) ||
      std::find(kRefused.begin(), kRefused.end(), policy) != kRefused.end();
  return known && count.find_first_of("0123456789") == 0;
}

}  // namespace chakra::foreign
