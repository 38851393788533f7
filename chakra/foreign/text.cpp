// ASTRA-sim 1.0 workloads: a line per layer with three compute times and three collectives, and one word that says
// how the layers are spread over the ranks (docs/reference/formats/astra_text.md).
#include "chakra/foreign/text.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/foreign/rows.h"

namespace chakra::foreign {

Result<int64_t> text_form::rank_count(const Options& options, int64_t said) {
  int64_t product = 1;
  for (const int64_t size : options.dims)
    if (size < 1 || __builtin_mul_overflow(product, size, &product))
      return fail(Code::usage, "foreign.text.ranks",
                  "a dimension must have at least one rank, and all dimensions together fewer than 2^63");
  const int64_t ranks = options.dims.empty() ? (options.num_npus == 0 ? said : options.num_npus) : product;
  if (options.num_npus != 0 && options.num_npus != ranks)
    return fail(Code::usage, "foreign.text.ranks",
                fmt::format("--num-npus gives {} ranks, but --dims gives {}", options.num_npus, ranks));
  if (ranks < 1)
    return fail(Code::usage, "foreign.text.ranks",
                "the file does not contain the number of ranks; give --num-npus or --dims");
  return ranks;
}

namespace {

using text_form::Layer;
using text_form::Loop;
using text_form::Over;
using text_form::Phase;
using text_form::PolicyRow;
using text_form::Workload;
using trace::Builder;
using trace::ClassJob;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;
using trace::TraceSet;

/// How the ranks are cut into two kinds of groups: blocks of `inner` neighbours (the first dimensions), and those at
/// the same place of all blocks (the others).
struct Layout {
  int64_t ranks = 0;
  int64_t inner = 0;  ///< 0: one group of all

  int64_t outer() const { return ranks / inner; }
};

Result<Layout> layout_of(const Workload& work, const Options& options, Findings& findings) {
  Layout layout;
  CHAKRA_ASSIGN(layout.ranks, text_form::rank_count(options, 0));
  const bool by_dims = std::any_of(work.layers.begin(), work.layers.end(), [](const Layer& layer) {
    return layer.forward.over == Over::first_dims || layer.forward.over == Over::other_dims;
  });
  if (!by_dims) return layout;
  if (work.model_group > 0) {  // of its own accord cuts dimensions where it has to
    const std::vector<int64_t> dims = options.dims.empty() ? std::vector{layout.ranks} : options.dims;
    int64_t inner = 1;
    for (const int64_t size : dims) {
      const int64_t wanted = work.model_group / inner;
      if (inner == work.model_group) break;
      if (work.model_group % inner != 0 || (wanted < size ? size % wanted : wanted % size) != 0)
        return fail(
            Code::usage, "foreign.text.groups",
            fmt::format("model_parallel_NPU_group has {} ranks, which does not match the first dimensions of {}",
                        work.model_group, join(dims, " x ")),
            {work.file, -1, 1});
      inner *= std::min(wanted, size);
    }
    if (inner != work.model_group)
      return fail(
          Code::usage, "foreign.text.groups",
          fmt::format("model_parallel_NPU_group is {}, but the job has {} ranks", work.model_group, layout.ranks),
          {work.file, -1, 1});
    layout.inner = inner;
  } else if (!options.dims.empty()) {
    layout.inner = options.dims[0];
    if (work.policy->name == "HYBRID_TRANSFORMER")
      note(findings, "foreign.text.dims", Severity::warning,
           "the file has no model_parallel_NPU_group: the first dimension is taken as model parallel, the others as "
           "data parallel");
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
    if (!options.dims.empty()) meta("dims", join(options.dims, ","));
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
        case Loop::inference: inference_pass(); break;
        case Loop::rows: break;  // spread_rows()
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
    if (work_.policy->name == "HYBRID_CUSTOMIZED") return over == Over::first_dims ? "first dimension" : "others";
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
    t.dur_ps.edit(node) = time;
    t.flags.edit(node) |= trace::kHasDuration;
    return node;
  }
  /// kNoNode where the layer communicates nothing there.
  NodeId collective(const Layer& layer, const Phase& phase, NodeId after, std::string_view infix = "") {
    if (!phase.comm || phase.over == Over::nobody) return kNoNode;
    Trace& t = builder_.trace;
    const NodeId node = builder_.add(
        t.size(), t.strings.intern(fmt::format("COMM_COLL_NODE_{}{}_{}", layer.name, infix, phase.comm_name)),
        NodeType::coll);
    trace::Comm& comm = builder_.comm(node);
    comm.type = *phase.comm;
    comm.bytes = phase.bytes;
    if (layout_.inner > 0 && phase.over != Over::all)
      comm.group = phase.over == Over::first_dims ? first_group_ : other_group_;
    wait(node, after);
    return node;
  }

  void micro_pass() {
    for (const Layer& layer : work_.layers) collective(layer, layer.weight_gradient, kNoNode);
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
      if (dlrm && i == 0) embeddings = collective(layers[0], layers[0].forward, node);
      done_[i].forward = node;
    }
    embeddings = kNoNode;
    for (size_t i = layers.size(); i-- > 0;) {
      done_[i].weight_gradient = compute(layers[i], "BWD_WG", layers[i].weight_gradient.time);
      wait(done_[i].weight_gradient, i + 1 == layers.size() ? done_[i].forward : done_[i + 1].input_gradient);
      if (i == 0) wait(done_[i].weight_gradient, embeddings);
      done_[i].weight_gradient_comm = collective(layers[i], layers[i].weight_gradient, done_[i].weight_gradient);
      if (i == 0) break;
      done_[i].input_gradient = compute(layers[i], "BWD_IG", layers[i].input_gradient.time);
      wait(done_[i].input_gradient, done_[i].weight_gradient);
      if (dlrm && static_cast<int64_t>(i) == work_.last_bottom + 1)
        embeddings = collective(layers[0], layers[0].input_gradient, done_[i].input_gradient);
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
      done_[i].forward_comm = collective(layers[i], layers[i].forward, node);
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
            collective(layers[i], layers[i].input_gradient, input, policy.input_gradient_infix);
      done_[i].weight_gradient = compute(layers[i], "BWD_WG", layers[i].weight_gradient.time);
      wait(done_[i].weight_gradient, input);
      if (policy.loop == Loop::hybrid)
        done_[i].weight_gradient_comm = collective(layers[i], layers[i].weight_gradient, done_[i].weight_gradient);
    }
  }

  /// Forward alone; a pass begins when the one before is done.
  void inference_pass() {
    const auto& layers = work_.layers;
    NodeId before = done_.back().activations();
    for (size_t i = 0; i < layers.size(); ++i) {
      done_[i].forward = compute(layers[i], "FWD", layers[i].forward.time);
      wait(done_[i].forward, before);
      done_[i].forward_comm = collective(layers[i], layers[i].forward, done_[i].forward);
      before = done_[i].activations();
    }
  }

  const Workload& work_;
  const Layout& layout_;
  const Options& options_;
  Builder builder_;
  std::vector<Done> done_;
  StringId first_group_ = 0, other_group_ = 0;
};

}  // namespace

void text_form::note_unused(const Workload& work, Findings& findings) {
  const auto lost = [](const Phase& phase) { return phase.comm.has_value(); };
  const auto hidden = [](const Phase& phase) { return phase.comm && phase.over == Over::nobody; };
  int64_t unused = 0, computations = 0;
  for (size_t i = 0; i < work.layers.size(); ++i) {
    const Layer& layer = work.layers[i];
    const int64_t activations = lost(layer.forward) + lost(layer.input_gradient);
    switch (work.policy->loop) {
      case Loop::micro:
      case Loop::data: unused += activations; break;
      case Loop::dlrm: unused += i == 0 ? 0 : activations; break;
      case Loop::model: unused += lost(layer.weight_gradient); break;
      case Loop::hybrid:
        unused += hidden(layer.forward) + hidden(layer.input_gradient) + hidden(layer.weight_gradient);
        break;
      case Loop::inference:
        unused += lost(layer.input_gradient) + lost(layer.weight_gradient);
        computations += (layer.input_gradient.time > 0) + (layer.weight_gradient.time > 0);
        break;
      case Loop::rows: break;
    }
  }
  if (unused > 0)
    note(findings, "foreign.text.unused", Severity::warning,
         fmt::format("{} collectives of the file are ignored, because {} has no collective in their place", unused,
                     work.policy->name));
  if (computations > 0)
    note(findings, "foreign.text.unused", Severity::warning,
         fmt::format("{} computations of gradients are left out: {} has only a forward pass", computations,
                     work.policy->name));
  if (!work.unknown_keys.empty())
    note(findings, "foreign.text.key", Severity::warning,
         fmt::format("{} unknown keys of the header have no effect; the first is {}", work.unknown_keys.size(),
                     quote(work.unknown_keys[0])));
  if (work.sized_nones > 0)
    note(findings, "foreign.text.none", Severity::note,
         fmt::format("{} collectives of type NONE have a size; they move no data", work.sized_nones));
}

Result<Job> read_text_job(ByteSource source, const Options& options, Findings& findings) {
  Workload work;
  work.file = source.file();
  CHAKRA_ASSIGN(work.text, read_all(std::move(source)));
  CHAKRA_TRY(text_form::parse(work, options.time_unit));
  if (options.num_passes < 1) return fail(Code::usage, "foreign.text.passes", "at least one pass is required");
  if (work.policy->loop == Loop::rows) {
    note_unused(work, findings);
    CHAKRA_ASSIGN(ClassJob job, spread_rows(work, options, findings));
    return Job(std::move(job));
  }
  CHAKRA_ASSIGN(const Layout layout, layout_of(work, options, findings));
  const double groups = layout.inner == 0 ? 0 : static_cast<double>(layout.inner + layout.outer());
  const double each = 6.0 * static_cast<double>(work.layers.size()) * static_cast<double>(options.num_passes) + groups +
                      static_cast<double>(work.text.size()) / 64;
  if (each * static_cast<double>(layout.ranks) > static_cast<double>(kMostNodes))
    return fail(Code::bad_input, "foreign.large",
                fmt::format("{} ranks with {} layers and {} passes are more than {} nodes", layout.ranks,
                            work.layers.size(), options.num_passes, kMostNodes),
                {work.file});
  note_unused(work, findings);
  TraceSet job;
  for (int64_t rank = 0; rank < layout.ranks; ++rank)
    job.ranks.push_back(RankBuilder(work, layout, options, rank).run());
  return Job(std::move(job));
}

Result<TraceSet> read_text(ByteSource source, const Options& options, Findings& findings) {
  CHAKRA_ASSIGN(Job job, read_text_job(std::move(source), options, findings));
  if (auto* set = std::get_if<TraceSet>(&job)) return std::move(*set);
  return rank_by_rank(std::get<ClassJob>(job));
}

namespace {

/// What of the job's metadata a text is read with again.
struct Origin {
  std::string text;
  Options options;
};
Result<Origin> origin_of(const Trace& first, size_t ranks) {
  const auto meta = [&](std::string_view name) -> std::string {
    for (const trace::Attr& attr : first.metadata)
      if (const auto text = attr.text(); text && first.strings[attr.name] == name) return std::string(*text);
    return "";
  };
  Origin origin{meta("input_file"), {}};
  origin.options.num_npus = static_cast<int64_t>(ranks);
  origin.options.time_unit = meta("time_unit");
  const std::string dims = meta("dims");
  for (std::string_view rest = dims; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    int64_t size = 0;
    if (!parse_decimal(rest.substr(0, comma), size)) return cannot_hold("its metadata dims are not numbers");
    origin.options.dims.push_back(size);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return origin;
}

const Trace* first_trace(const Job& job) {
  if (const auto* set = std::get_if<TraceSet>(&job)) return set->ranks.empty() ? nullptr : &set->ranks[0];
  const auto& classes = std::get<ClassJob>(job);
  return classes.ranks.empty() ? nullptr : &classes.classes[classes.ranks[0].cls];
}

/// What differs, in words; "" where nothing does. Both are rank by rank, or both by classes.
std::string job_difference(const Job& a, const Job& b) {
  if (const auto* left = std::get_if<TraceSet>(&a)) {
    const auto& right = std::get<TraceSet>(b);
    for (size_t r = 0; r < right.ranks.size(); ++r)
      if (std::string differs = difference(left->ranks[r], right.ranks[r]); !differs.empty()) return differs;
    return "";
  }
  const auto &left = std::get<ClassJob>(a), &right = std::get<ClassJob>(b);
  if (left.classes.size() != right.classes.size() || left.group_slots != right.group_slots) return "the classes differ";
  for (size_t c = 0; c < left.classes.size(); ++c)
    if (std::string differs = difference(left.classes[c], right.classes[c]); !differs.empty()) return differs;
  const auto same_group = [&](uint32_t x, uint32_t y) {
    return std::tie(left.groups[x].name, left.groups[x].ranks) == std::tie(right.groups[y].name, right.groups[y].ranks);
  };
  const auto same_rank = [](const ClassJob::Rank& x, const ClassJob::Rank& y) {
    return x.rank == y.rank && x.cls == y.cls;
  };
  const bool same =
      std::equal(left.ranks.begin(), left.ranks.end(), right.ranks.begin(), right.ranks.end(), same_rank) &&
      std::equal(left.group_of.begin(), left.group_of.end(), right.group_of.begin(), right.group_of.end(),
                 same_group) &&
      left.peer_of == right.peer_of;
  return same ? "" : "the groups or the partners of the ranks differ";
}

/// The text that the job was read from, if it still says what the job is.
Result<std::string> text_again(const Job& job, const Origin& origin) {
  Findings ignored;
  const bool by_classes = std::holds_alternative<ClassJob>(job);
  const auto again = [&](const Options& options) -> Result<Job> {
    CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(origin.text, "input_file"));
    CHAKRA_ASSIGN(Job read, read_text_job(std::move(source), options, ignored));
    if (by_classes && std::holds_alternative<TraceSet>(read))
      read = trace::by_class(std::move(std::get<TraceSet>(read)));
    if (!by_classes && std::holds_alternative<ClassJob>(read)) {
      CHAKRA_ASSIGN(read, rank_by_rank(std::get<ClassJob>(read)));
    }
    return read;
  };
  Options options = origin.options;
  CHAKRA_ASSIGN(const Job once, again(options));
  const Trace& first = *first_trace(job);
  const uint32_t pass = first_trace(once)->size();
  if (pass == 0 || first.size() % pass != 0 || first.size() == 0)
    return cannot_hold(
        fmt::format("rank {} has {} nodes, one pass of its table has {}", first.rank, first.size(), pass));
  options.num_passes = first.size() / pass;
  CHAKRA_ASSIGN(const Job all, again(options));
  if (const std::string differs = job_difference(job, all); !differs.empty()) return cannot_hold(differs);
  return origin.text;
}

}  // namespace

// Only the table of layers says what the graph does not show (update times, which layer is which); so it travels in the
// metadata, and whether it still says what the job is, is found out by reading it.
Result<std::string> write_text(const Job& job, Findings& findings) {
  const Trace* const first = first_trace(job);
  if (!first) return cannot_hold("it has no ranks");
  const size_t ranks = std::holds_alternative<TraceSet>(job) ? std::get<TraceSet>(job).ranks.size()
                                                             : std::get<ClassJob>(job).ranks.size();
  CHAKRA_ASSIGN(const Origin origin, origin_of(*first, ranks));
  if (!origin.text.empty()) return text_again(job, origin);
  if (const auto* classes = std::get_if<ClassJob>(&job)) return text_form::write_rows(*classes, findings);
  return text_form::write_rows(trace::by_class(TraceSet(std::get<TraceSet>(job))), findings);
}

}  // namespace chakra::foreign
