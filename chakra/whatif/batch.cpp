// Another batch of each replica.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/base/times.h"
#include "chakra/gen/gen.h"
#include "chakra/recorded/recorded.h"
#include "chakra/trace/metadata.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/generated.h"
#include "chakra/whatif/nodes.h"
#include "chakra/whatif/rules.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Nodes of the optimizer: by their names or phases, those of their callers, and those of the calls that launched them.
std::vector<char> of_optimizer(const Trace& t) {
  std::vector<char> named(t.strings.size(), 0);
  for (StringId id = 0; id < named.size(); ++id)
    named[id] = to_lower(t.strings[id]).find("optimizer") != std::string::npos;
  const StringId phase = t.strings.find("phase");
  const auto in_phase = [&](NodeId n) {  // of an imported program
    if (phase != 0)
      for (const trace::Attr& attr : t.attrs_of(n))
        if (attr.name == phase) return attr.text() == "optimizer";
    return false;
  };
  std::vector<char> is(t.size(), 0);
  for (const NodeId n : trace::topological_order(t.ctrl).order) {
    is[n] = named[t.name[n]] || in_phase(n);
    for (const NodeId caller : t.ctrl.of(n)) is[n] |= is[caller];
  }
  for (const NodeId n : t.nodes())
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1] && !t.deps.kind.empty(); ++e)
      if (trace::kind_of(t.deps.kind[e]) == trace::EdgeKind::launch) is[n] |= is[t.deps.node[e]];
  return is;
}

/// What a generated stage says of its computations: how fast the device is taken to be, and which bytes are matrices',
/// which are as many with any batch.
class Roofline {
 public:
  explicit Roofline(const Trace& t)
      : t_(t),
        flop_per_s_(rate("flop_per_s")),
        fp8_flop_per_s_(rate("fp8_flop_per_s")),
        bytes_per_s_(rate("memory_bytes_per_s")) {
    if (!known()) return;
    weights_.resize(t.size(), 0);
    const StringId weight_bytes = t.strings.find("weight_bytes");
    for (const NodeId n : t.nodes())
      for (auto at = t.attrs_of(n).begin(); weight_bytes != 0 && at != t.attrs_of(n).end(); ++at)
        if (const trace::Attr attr = *at; attr.name == weight_bytes) weights_[n] = attr.integer().value_or(0);
  }

  /// The node's time with another batch, over its time before.
  double growth(NodeId n, double factor) const {
    if (!known() || t_.num_ops.empty() || t_.tensor_bytes.empty()) return factor;
    const double before = seconds(n, 1);
    return before > 0 ? seconds(n, factor) / before : factor;
  }

  /// Whether the time of a node with work is not of these rates: of a device's kernels, or edited.
  bool is_other_time(NodeId n) const {
    constexpr double kRounding = 0.01;
    constexpr Picoseconds kLeast = 10 * kPsPerNs;
    if (!known() || t_.num_ops.empty() || t_.tensor_bytes.empty()) return false;
    const double before = seconds(n, 1) * kPsPerSecond, is = static_cast<double>(t_.dur_ps[n]);
    return before > 0 && std::abs(is - before) > kRounding * before + static_cast<double>(kLeast);
  }
  /// Whether a node reads matrices of experts: those of the experts that tokens choose.
  bool is_experts(NodeId n) const {
    return known() && weights_[n] > 0 && t_.name_of(n).find("expert") != std::string_view::npos;
  }

 private:
  /// With `x` times the batch.
  double seconds(NodeId n, double x) const {
    const auto flops = static_cast<double>(t_.num_ops[n]), bytes = static_cast<double>(t_.tensor_bytes[n]);
    const double fixed = std::min(bytes, static_cast<double>(weights_[n]));
    const double peak = t_.dtype_of(n) == trace::DType::f8 ? fp8_flop_per_s_ : flop_per_s_;
    return std::max(x * flops / peak, (fixed + x * (bytes - fixed)) / bytes_per_s_);
  }

  double rate(std::string_view name) const {
    const auto attr = trace::metadata(t_, name);
    const auto* const number = attr ? std::get_if<double>(&attr->value) : nullptr;
    return number ? *number : 0;
  }
  bool known() const { return flop_per_s_ > 0 && fp8_flop_per_s_ > 0 && bytes_per_s_ > 0; }

  const Trace& t_;
  double flop_per_s_, fp8_flop_per_s_, bytes_per_s_;
  std::vector<int64_t> weights_;
};

/// Where what a generated stage does once a step begins: its sums of gradients and its optimizer.
NodeId update_of(const Trace& t) {
  const StringId pass = t.strings.find("pass");
  for (NodeId n{t.size()}; pass != 0 && n > 0;)
    for (auto at = t.attrs_of(--n).begin(); at != t.attrs_of(n).end(); ++at)
      if (const trace::Attr attr = *at; attr.name == pass)
        return attr.text().value_or("") == gen::kUpdate ? n : NodeId(t.size());
  return NodeId(t.size());
}

/// "[1, 2]" with each number multiplied.
std::string scaled_list(std::string_view list, double factor) {
  std::string scaled;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find_first_not_of("0123456789", at), list.size());
    uint64_t number = 0;
    if (end > at && parse_decimal(list.substr(at, end - at), number)) {
      scaled += std::to_string(static_cast<uint64_t>(static_cast<double>(number) * factor + 0.5));
      at = end;
    } else {
      scaled += list[at++];
    }
  }
  return scaled;
}

class Batch {
 public:
  Batch(sim::SimInput& input, double factor, std::string_view pattern)
      : in_(input), factor_(factor), pattern_(pattern), roles_(input.job) {}

  Result<Reached> run() {
    CHAKRA_TRY(know_groups());
    for (size_t r = 0; r < in_.job.ranks.size(); ++r) {
      Trace& t = in_.job.ranks[r];
      const NodeKinds kinds(t);
      const std::vector<char> fixed = of_optimizer(t);
      const NodeId update = update_of(t);
      const Roofline roofline(t);
      for (NodeId n{0}; n < update; ++n) {
        const std::optional<Kind> kind = kinds.of(n);
        if (!kind || fixed[n]) continue;
        if (trace::is_comm(t.type[n])) communicate(r, n);
        else if (bit(*kind) & (bit(Kind::compute) | bit(Kind::copy) | bit(Kind::unrecorded))) compute(t, n, roofline);
      }
      scale_io(t, "dataloader", factor_);
    }
    in_.matching.reset();  // of the sizes before
    warn();
    return std::move(reached_);
  }

 private:
  /// Gradients and parameters are as large with any batch: what groups move that have them stays. All-to-alls move
  /// tokens in any group.
  Result<void> know_groups() {
    std::vector<char> used(in_.matching->groups.size(), 0);
    for (const match::Collective& c : in_.matching->collectives)
      if (c.type != trace::CommType::all_to_all) used[c.group] = 1;
    const bool alone = std::count(used.begin(), used.end(), 1) == 1;
    bool matched = pattern_.empty();
    for (size_t g = 0; g < used.size(); ++g) {
      const std::string& name = in_.matching->groups[g].name;
      const bool named = !pattern_.empty() && recorded::matches_pattern(pattern_, name);
      trace::Moves moves = trace::row_of(roles_.of(name)).moves;
      if (named) moves = trace::Moves::parameters;
      else if (moves == trace::Moves::unknown && !pattern_.empty()) moves = trace::Moves::activations;
      if (moves == trace::Moves::unknown && alone) moves = trace::Moves::parameters;
      if (moves == trace::Moves::unknown && used[g])
        return fail(
            Code::bad_input, "whatif.batch.groups",
            fmt::format(
                "the purpose of group {} is unknown (by name and description), so its collectives may or may not grow "
                "with the batch; name the groups that move parameters or gradients with --batch X:PATTERN",
                quote(name)));
      parameters_.push_back(moves == trace::Moves::parameters);
      matched |= named;
      if (named) note_tokens(static_cast<uint32_t>(g));
    }
    if (!matched)
      return fail(Code::bad_input, "whatif.batch.groups",
                  fmt::format("no group of the job matches {}", quote(pattern_)));
    return {};
  }

  void note_tokens(uint32_t group) {
    const std::vector<match::Collective>& all = in_.matching->collectives;
    const auto count = std::count_if(all.begin(), all.end(), [&](const match::Collective& c) {
      return c.group == group && c.type == trace::CommType::all_to_all;
    });
    if (count == 0) return;
    reached_.findings.push_back(
        {"whatif.batch.all_to_all", Severity::note, -1, -1,
         fmt::format("group {} was named as one that moves parameters, but its {} all-to-alls scale with the batch: "
                     "they move tokens",
                     quote(in_.matching->groups[group].name), show_count(count))});
  }

  void compute(Trace& t, NodeId n, const Roofline& roofline) {
    ++reached_.nodes;
    reached_.time_ps = add_saturated(reached_.time_ps, t.dur_ps[n]);
    if (factor_ == 1) return;
    if (roofline.is_experts(n)) ++experts_;
    else if (roofline.is_other_time(n)) ++other_times_;
    t.dur_ps.edit(n) = times(t.dur_ps[n], roofline.growth(n, factor_));
  }

  void warn() {
    const auto warn = [&](std::string text) {
      reached_.findings.push_back({"whatif.batch.scaled", Severity::warning, -1, -1, std::move(text)});
    };
    if (other_times_ > 0)
      warn(
          fmt::format("{} nodes of this generated job have times of a device, or edited ones: --batch scales them by "
                      "their work at the rates of the generator, so the predicted time may be far off. A batch that "
                      "generates the job again is exact: X times --micro-batch-size (gen step) or --batch (gen "
                      "serve) is a whole number, no PATTERN, and an unedited job",
                      show_count(other_times_)));
    if (experts_ > 0)
      warn(
          fmt::format("{} nodes read matrices of experts: --batch keeps these bytes, but more tokens choose more "
                      "experts, so the predicted time may be far off. A batch that generates the job again is exact: "
                      "X times --micro-batch-size (gen step) or --batch (gen serve) is a whole number, no PATTERN, "
                      "and an unedited job",
                      show_count(experts_)));
  }

  bool moves_parameters(size_t r, NodeId n) const {
    const Trace& t = in_.job.ranks[r];
    if (t.type[n] != NodeType::coll) return false;
    const uint32_t id = in_.matching->of_comm[r][t.comm_row[n]];
    const trace::CommType type = id == trace::kNoRow ? t.comm(n)->type : in_.matching->collectives[id].type;
    if (type == trace::CommType::all_to_all) return false;
    return id == trace::kNoRow || parameters_[in_.matching->collectives[id].group];
  }
  void communicate(size_t r, NodeId n) {
    if (moves_parameters(r, n) || factor_ == 1) return;
    Trace& t = in_.job.ranks[r];
    const uint32_t row = t.comm_row[n];
    ++reached_.nodes;
    trace::Comm& comm = t.comms.edit(row);
    for (uint64_t* bytes : {&comm.bytes, &comm.in_bytes, &comm.out_bytes})
      *bytes = static_cast<uint64_t>(static_cast<double>(*bytes) * factor_ + 0.5);
    for (std::string_view* split : {&comm.in_split, &comm.out_split})
      if (!split->empty()) *split = t.texts.add(scaled_list(*split, factor_));
    if (!in_.transfers || !in_.transfers->rows[r][row].known()) return;
    sim::Transfers::Row& known = in_.transfers->rows[r][row];
    reached_.time_ps = add_saturated(reached_.time_ps, known.transfer_ps);
    known.scale(factor_);
  }

  sim::SimInput& in_;
  double factor_;
  std::string_view pattern_;
  trace::GroupRoles roles_;
  std::vector<char> parameters_;           ///< by group of the matching
  int64_t experts_ = 0, other_times_ = 0;  ///< nodes that do not follow the batch as assumed
  Reached reached_;
};

}  // namespace

Result<BatchFactor> parse_batch(std::string_view value) {
  const size_t colon = value.find(':');
  double factor = 0;
  if (!parse_decimal(value.substr(0, colon), factor) || !(factor > 0 && factor <= kMostFactor))
    return fail(Code::usage, "whatif.rule.form",
                fmt::format("{} does not have the form X or X:PATTERN, with a batch factor X above 0 and up to {:g}",
                            quote(value), kMostFactor));
  return BatchFactor{factor, colon == std::string_view::npos ? std::string_view() : value.substr(colon + 1)};
}

// `whatif.batch.scaled` (warning): the times of a generated job that is not generated again with the batch are those of
// a device, or of experts, so that they do not follow the batch as assumed
// `whatif.batch.all_to_all` (note): all-to-alls of a named group scale with the batch
// `whatif.batch.groups` (1): a group with an unknown role, or a pattern that no group matches
Result<Reached> change_batch(std::string_view value, sim::SimInput& input) {
  CHAKRA_ASSIGN(const BatchFactor batch, parse_batch(value));
  if (auto made = generate_with("batch", value, input)) return *std::move(made);
  if (!input.matching) input.matching = match::match(input.job, input.groups);
  CHAKRA_ASSIGN(Reached reached, Batch(input, batch.factor, batch.pattern).run());
  return reached_something(std::move(reached), "batch", value, "the job has no computation");
}

}  // namespace chakra::whatif
