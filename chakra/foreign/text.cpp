// ASTRA-sim 1.0 workloads: a line per layer with three compute times and three collectives, and one word that says
// how the layers are spread over the ranks (docs/formats/astra_text.md).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "chakra/foreign/forms.h"
#include "chakra/kind/kind.h"

namespace chakra::foreign {
namespace {

using trace::Builder;
using trace::CommType;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

/// The order of a training iteration.
enum class Loop : uint8_t { micro, data, model, hybrid, dlrm };
/// Which ranks a collective is over.
enum class Over : uint8_t { all, first_dims, other_dims };

struct PolicyRow {
  std::string_view name;
  Loop loop;
  Over activations;  ///< forward and input-gradient collectives
  Over weights;      ///< weight-gradient collectives
  std::string_view input_gradient_infix = "";
};
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
/// A file is told by these.
static_assert(std::equal(kind::kTextPolicies.begin(), kind::kTextPolicies.begin() + kPolicies.size(), kPolicies.begin(),
                         [](std::string_view name, const PolicyRow& row) { return name == row.name; }));
static_assert(std::equal(kRefused.begin(), kRefused.end(), kind::kTextPolicies.begin() + kPolicies.size(),
                         kind::kTextPolicies.end()));

struct Phase {
  Picoseconds time = 0;
  std::optional<CommType> comm;
  std::string_view comm_name;
  uint64_t bytes = 0;
};
struct Layer {
  std::string_view name;
  Phase forward, input_gradient, weight_gradient;
};

struct Workload {
  std::string text, file;
  const PolicyRow* policy = nullptr;
  int64_t last_bottom = 0;  ///< HYBRID_DLRM: the layer that waits for the embeddings
  int64_t model_group = 0;  ///< HYBRID_TRANSFORMER: ranks of a model-parallel group; 0: not said
  std::vector<Layer> layers;
};

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

class Parser {
 public:
  Parser(Workload& out, Picoseconds unit) : out_(out), unit_(unit) {}

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
      return bad("foreign.text.header", fmt::format("{} is no number of layers", quote(lines[1].text)));
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

/// How the ranks are cut into two kinds of groups: blocks of `inner` neighbours (the first dimensions), and those at
/// the same place of all blocks (the others).
struct Layout {
  int64_t ranks = 0;
  int64_t inner = 0;  ///< 0: one group of all

  int64_t outer() const { return ranks / inner; }
};

/// The ranks that --dims and --num-npus ask for.
Result<int64_t> rank_count(const Options& options) {
  int64_t product = 1;
  for (const int64_t size : options.dims)
    if (size < 1 || __builtin_mul_overflow(product, size, &product))
      return fail(Code::usage, "foreign.text.ranks",
                  "a dimension has at least one rank, and all together fewer than 2^63");
  const int64_t ranks = options.dims.empty() ? options.num_npus : product;
  if (options.num_npus != 0 && options.num_npus != ranks)
    return fail(Code::usage, "foreign.text.ranks",
                fmt::format("--num-npus says {} ranks, --dims {}", options.num_npus, ranks));
  if (ranks < 1)
    return fail(Code::usage, "foreign.text.ranks", "the form does not say how many ranks: --num-npus or --dims");
  return ranks;
}

Result<Layout> layout_of(const Workload& work, const Options& options, Findings& findings) {
  Layout layout;
  CHAKRA_ASSIGN(layout.ranks, rank_count(options));
  if (work.policy->activations == Over::all) return layout;
  if (work.model_group > 0) {  // of its own accord cuts dimensions where it has to
    const std::vector<int64_t> dims = options.dims.empty() ? std::vector{layout.ranks} : options.dims;
    int64_t inner = 1;
    for (const int64_t size : dims) {
      const int64_t wanted = work.model_group / inner;
      if (inner == work.model_group) break;
      if (work.model_group % inner != 0 || (wanted < size ? size % wanted : wanted % size) != 0)
        return fail(Code::usage, "foreign.text.groups",
                    fmt::format("{} ranks of model_parallel_NPU_group are no first dimensions of {}", work.model_group,
                                fmt::join(dims, " x ")),
                    {work.file, -1, 1});
      inner *= std::min(wanted, size);
    }
    if (inner != work.model_group)
      return fail(Code::usage, "foreign.text.groups",
                  fmt::format("model_parallel_NPU_group is {}, the job has {} ranks", work.model_group, layout.ranks),
                  {work.file, -1, 1});
    layout.inner = inner;
  } else if (!options.dims.empty()) {
    layout.inner = options.dims[0];
    if (work.policy->name == "HYBRID_TRANSFORMER")
      note(findings, "foreign.text.dims", Severity::warning,
           "the file does not say model_parallel_NPU_group: the first dimension is model parallel, the others are data "
           "parallel");
  } else {
    note(findings, "foreign.text.dims", Severity::warning,
         fmt::format("{} without --dims: all its collectives are over all ranks", work.policy->name));
  }
  return layout;
}

/// Builds the trace of one rank.
class RankBuilder {
 public:
  RankBuilder(const Workload& work, const Layout& layout, const Options& options, int64_t rank)
      : work_(work), layout_(layout), options_(options), done_(work.layers.size()) {
    begin_trace(builder_, rank, work.file);
    Trace& t = builder_.trace;
    meta("schema", "1.0.2-chakra.1.0.0");  // as mlcommons/chakra's converter says
    meta("input_file", work.text);
    if (!options.dims.empty()) meta("dims", fmt::format("{}", fmt::join(options.dims, ",")));
    if (!options.time_unit.empty() && options.time_unit != "us") meta("time_unit", options.time_unit);
    if (layout_.inner == 0) return;
    const int64_t block = rank / layout_.inner, place = rank % layout_.inner;
    trace::ProcessGroup first{fmt::format("{}", 1 + block), describe(Over::first_dims), "", {}, layout_.inner};
    for (int64_t i = 0; i < layout_.inner; ++i) first.ranks.push_back(block * layout_.inner + i);
    trace::ProcessGroup other{
        fmt::format("{}", 1 + layout_.outer() + place), describe(Over::other_dims), "", {}, layout_.outer()};
    for (int64_t i = 0; i < layout_.outer(); ++i) other.ranks.push_back(i * layout_.inner + place);
    first_group_ = t.strings.intern(first.name);
    other_group_ = t.strings.intern(other.name);
    t.groups = {std::move(first), std::move(other)};
  }

  Trace run() && {
    for (int64_t pass = 0; pass < options_.num_passes; ++pass) switch (work_.policy->loop) {
        case Loop::micro: micro_pass(); break;
        case Loop::data:
        case Loop::dlrm: data_pass(); break;
        case Loop::model:
        case Loop::hybrid: model_pass(); break;
      }
    return std::move(builder_).finish();
  }

 private:
  /// The last nodes of each kind of a layer.
  struct Done {
    NodeId forward = kNoNode, forward_comm = kNoNode;
    NodeId input_gradient = kNoNode, input_gradient_comm = kNoNode;
    NodeId weight_gradient = kNoNode, weight_gradient_comm = kNoNode;
    NodeId weights() const { return weight_gradient_comm == kNoNode ? weight_gradient : weight_gradient_comm; }
    NodeId activations() const { return forward_comm == kNoNode ? forward : forward_comm; }
  };

  std::string describe(Over over) const {
    return work_.policy->activations == over ? "model parallel" : "data parallel";
  }
  void meta(std::string_view name, std::string_view text) {
    Trace& t = builder_.trace;
    t.metadata.push_back({t.strings.intern(name), t.texts.add(text)});
  }
  void wait(NodeId node, NodeId on) {
    if (on != kNoNode) builder_.dep(node, on, kGiven);
  }
  NodeId compute(const Layer& layer, std::string_view phase, Picoseconds time) {
    Trace& t = builder_.trace;
    const NodeId node =
        builder_.add(t.size(), t.strings.intern(fmt::format("COMP_NODE_{}_{}", layer.name, phase)), NodeType::comp);
    t.dur_ps[node] = time;
    t.flags[node] |= trace::kHasDuration;
    return node;
  }
  /// kNoNode where the layer communicates nothing there.
  NodeId collective(const Layer& layer, const Phase& phase, Over over, NodeId after, std::string_view infix = "") {
    if (!phase.comm) return kNoNode;
    Trace& t = builder_.trace;
    const NodeId node = builder_.add(
        t.size(), t.strings.intern(fmt::format("COMM_COLL_NODE_{}{}_{}", layer.name, infix, phase.comm_name)),
        NodeType::coll);
    trace::Comm& comm = builder_.comm(node);
    comm.type = *phase.comm;
    comm.bytes = phase.bytes;
    if (layout_.inner > 0 && over != Over::all) comm.group = over == Over::first_dims ? first_group_ : other_group_;
    wait(node, after);
    return node;
  }

  void micro_pass() {
    for (const Layer& layer : work_.layers) collective(layer, layer.weight_gradient, Over::all, kNoNode);
  }

  /// DATA, and with the exchange of embeddings HYBRID_DLRM.
  void data_pass() {
    const bool dlrm = work_.policy->loop == Loop::dlrm;
    const auto& layers = work_.layers;
    NodeId embeddings = kNoNode;
    for (size_t i = 0; i < layers.size(); ++i) {
      const NodeId node = compute(layers[i], "FWD", layers[i].forward.time);
      wait(node, done_[i].weights());  // of the previous pass
      if (i > 0) wait(node, done_[i - 1].forward);
      if (dlrm && static_cast<int64_t>(i) == work_.last_bottom) wait(node, embeddings);
      if (dlrm && i == 0) embeddings = collective(layers[0], layers[0].forward, Over::all, node);
      done_[i].forward = node;
    }
    embeddings = kNoNode;
    for (size_t i = layers.size(); i-- > 0;) {
      done_[i].weight_gradient = compute(layers[i], "BWD_WG", layers[i].weight_gradient.time);
      wait(done_[i].weight_gradient, i + 1 == layers.size() ? done_[i].forward : done_[i + 1].input_gradient);
      if (i == 0) wait(done_[i].weight_gradient, embeddings);
      done_[i].weight_gradient_comm =
          collective(layers[i], layers[i].weight_gradient, Over::all, done_[i].weight_gradient);
      if (i == 0) break;
      done_[i].input_gradient = compute(layers[i], "BWD_IG", layers[i].input_gradient.time);
      wait(done_[i].input_gradient, done_[i].weight_gradient);
      if (dlrm && static_cast<int64_t>(i) == work_.last_bottom + 1)
        embeddings = collective(layers[0], layers[0].input_gradient, Over::all, done_[i].input_gradient);
    }
  }

  void model_pass() {
    const PolicyRow& policy = *work_.policy;
    const auto& layers = work_.layers;
    for (size_t i = 0; i < layers.size(); ++i) {
      const NodeId node = compute(layers[i], "FWD", layers[i].forward.time);
      wait(node, done_[i].weights());  // of the previous pass
      if (i > 0) wait(node, done_[i - 1].activations());
      done_[i].forward = node;
      done_[i].forward_comm = collective(layers[i], layers[i].forward, policy.activations, node);
    }
    for (size_t i = layers.size(); i-- > 0;) {
      const NodeId input = compute(layers[i], "BWD_IG", layers[i].input_gradient.time);
      if (i + 1 == layers.size()) {
        wait(input, done_[i].activations());
      } else {
        wait(input, done_[i + 1].weight_gradient);
        wait(input, done_[i + 1].input_gradient_comm);
      }
      done_[i].input_gradient = input;
      if (i > 0)
        done_[i].input_gradient_comm =
            collective(layers[i], layers[i].input_gradient, policy.activations, input, policy.input_gradient_infix);
      done_[i].weight_gradient = compute(layers[i], "BWD_WG", layers[i].weight_gradient.time);
      wait(done_[i].weight_gradient, input);
      if (policy.loop == Loop::hybrid)
        done_[i].weight_gradient_comm =
            collective(layers[i], layers[i].weight_gradient, policy.weights, done_[i].weight_gradient);
    }
  }

  const Workload& work_;
  const Layout& layout_;
  const Options& options_;
  Builder builder_;
  std::vector<Done> done_;
  StringId first_group_ = 0, other_group_ = 0;
};

/// Collectives that the loop of the policy has no place for.
void count_unused(const Workload& work, Findings& findings) {
  int64_t unused = 0;
  for (size_t i = 0; i < work.layers.size(); ++i) {
    const Layer& layer = work.layers[i];
    const int64_t activations = layer.forward.comm.has_value() + layer.input_gradient.comm.has_value();
    switch (work.policy->loop) {
      case Loop::micro:
      case Loop::data: unused += activations; break;
      case Loop::dlrm: unused += i == 0 ? 0 : activations; break;
      case Loop::model: unused += layer.weight_gradient.comm.has_value(); break;
      case Loop::hybrid: break;
    }
  }
  if (unused > 0)
    note(
        findings, "foreign.text.unused", Severity::warning,
        fmt::format("{} collectives of the file stand where {} has none, and are left out", unused, work.policy->name));
}

}  // namespace

Result<TraceSet> read_text(ByteSource source, const Options& options, Findings& findings) {
  Workload work;
  work.file = source.file();
  CHAKRA_ASSIGN(const Picoseconds unit, unit_ps(options.time_unit, "us"));
  CHAKRA_ASSIGN(work.text, read_all(std::move(source)));
  CHAKRA_TRY(Parser(work, unit).run());
  if (options.num_passes < 1) return fail(Code::usage, "foreign.text.passes", "there is at least one pass");
  CHAKRA_ASSIGN(const Layout layout, layout_of(work, options, findings));
  const double groups = layout.inner == 0 ? 0 : static_cast<double>(layout.inner + layout.outer());
  const double each = 6.0 * static_cast<double>(work.layers.size()) * static_cast<double>(options.num_passes) + groups +
                      static_cast<double>(work.text.size()) / 64;
  if (each * static_cast<double>(layout.ranks) > static_cast<double>(kMostNodes))
    return fail(Code::bad_input, "foreign.large",
                fmt::format("{} ranks with {} layers and {} passes are more than {} nodes", layout.ranks,
                            work.layers.size(), options.num_passes, kMostNodes),
                {work.file});
  count_unused(work, findings);
  TraceSet job;
  for (int64_t rank = 0; rank < layout.ranks; ++rank)
    job.ranks.push_back(RankBuilder(work, layout, options, rank).run());
  return job;
}

Result<std::string> write_text(const TraceSet& job) {
  const auto refuse = [](std::string text) {
    return fail(Code::bad_input, "foreign.write.cannot_hold",
                "an ASTRA-sim 1.0 workload cannot hold this job: " + text);
  };
  if (job.ranks.empty()) return refuse("it has no ranks");
  const Trace& first = job.ranks[0];
  const auto meta = [&](std::string_view name) -> std::string {
    for (const trace::Attr& attr : first.metadata)
      if (const auto text = attr.text(); text && first.strings[attr.name] == name) return std::string(*text);
    return "";
  };
  // Only the table of layers says what the graph does not show (update times, which layer is which); so it travels in
  // the metadata, and whether it still says what the job is, is found out by reading it.
  const std::string text = meta("input_file");
  if (text.empty()) return refuse("it does not come from such a file (metadata input_file)");
  Options options;
  options.num_npus = static_cast<int64_t>(job.ranks.size());
  options.time_unit = meta("time_unit");
  const std::string dims = meta("dims");
  for (std::string_view rest = dims; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    int64_t size = 0;
    if (!parse_decimal(rest.substr(0, comma), size)) return refuse("its metadata dims are no numbers");
    options.dims.push_back(size);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  Findings ignored;
  const auto again = [&]() -> Result<TraceSet> {
    CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(text, "input_file"));
    return read_text(std::move(source), options, ignored);
  };
  CHAKRA_ASSIGN(const TraceSet once, again());
  const NodeId pass = once.ranks[0].size();
  if (pass == 0 || first.size() % pass != 0 || first.size() == 0)
    return refuse(fmt::format("rank {} has {} nodes, one pass of its table has {}", first.rank, first.size(), pass));
  options.num_passes = first.size() / pass;
  CHAKRA_ASSIGN(const TraceSet all, again());
  for (size_t r = 0; r < all.ranks.size(); ++r)
    if (const std::string differs = difference(job.ranks[r], all.ranks[r]); !differs.empty()) return refuse(differs);
  return text;
}

}  // namespace chakra::foreign
