// From measured collectives to the parameters of protocols.
//
// The times of one operation are cut, for each number of ranks, into runs of sizes: a protocol each. Which cut and
// which parameters is found by turns: cut as best the parameters allow (dynamic programming), fit the parameters to the
// cut (least squares of relative errors over all numbers of ranks together, none negative), until the cut stays. It
// begins with the cut that straight lines of each number of ranks would make.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "chakra/base/quantile.h"
#include "chakra/calibrate/network_fit.h"

namespace chakra::calibrate {
namespace {

using net::CollectiveFit;
using net::CollectiveForm;
using net::ProtocolFit;

constexpr size_t kMostProtocols = 4, kMostTurns = 12, kLeastRun = 2;
constexpr size_t kMostFolds = 8;         ///< of sizes that are held out in turn
constexpr double kNoCorrection = 0.002;  ///< protocols that are this good need none
constexpr double kNearlyAsGood = 0.1;    ///< times that differ by less need no limit
constexpr double kWorthAProtocol = 0.9;  ///< one more must make the error on held-out sizes this much smaller
/// An all-reduce with so much more bus bandwidth than any all-gather or reduce-scatter is not a ring: switches reduce.
constexpr double kBeyondARing = 1.2;

Features features(const CollectiveForm& form, const SizedTimes& of, double bytes) {
  const net::Members m = of.members;
  if (of.across) return {1, form.node_steps(m), form.rail(m) * bytes, form.local(m) * bytes};
  return {1, form.steps(m), form.wire(m) * bytes, form.local(m) * bytes};
}

// ---- cuts ------------------------------------------------------------------------------------------------------

using Cut = std::vector<size_t>;  ///< of each size, which protocol
/// What it costs that sizes i .. j-1 are of protocol k.
using RunCost = std::function<double(size_t k, size_t i, size_t j)>;

/// The cheapest cut into `protocols` runs of kLeastRun sizes or more; `may_miss`: or of none.
Cut cheapest_cut(size_t sizes, size_t protocols, bool may_miss, const RunCost& cost) {
  if (protocols == 1) return Cut(sizes, 0);
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(protocols + 1, std::vector<double>(sizes + 1, never));
  std::vector<std::vector<size_t>> from(protocols + 1, std::vector<size_t>(sizes + 1, 0));
  least[0][0] = 0;
  for (size_t k = 1; k <= protocols; ++k)
    for (size_t j = 0; j <= sizes; ++j)
      for (size_t i = 0; i <= j; ++i) {
        if (least[k - 1][i] == never || (i == j ? !may_miss : j - i < kLeastRun)) continue;
        const double here = least[k - 1][i] + (i == j ? 0 : cost(k - 1, i, j));
        if (here < least[k][j]) least[k][j] = here, from[k][j] = i;
      }
  Cut cut(sizes, 0);
  if (least[protocols][sizes] == never) return cut;
  for (size_t k = protocols, j = sizes; k > 0; j = from[k--][j])
    std::fill(cut.begin() + static_cast<ptrdiff_t>(from[k][j]), cut.begin() + static_cast<ptrdiff_t>(j), k - 1);
  return cut;
}

/// Cut as straight lines would: one line for each run.
Cut cut_by_lines(const SizedTimes& sizes, size_t protocols) {
  std::vector<Gram> sums(sizes.count() + 1);
  for (size_t i = 0; i < sizes.count(); ++i) {
    sums[i + 1] = sums[i];
    sums[i + 1].add({1, 0, sizes.bytes[i], 0}, sizes.ns[i]);
  }
  return cheapest_cut(sizes.count(), protocols, false,
                      [&](size_t, size_t i, size_t j) { return least_line(sums[j].minus(sums[i])); });
}

double predicted(const Solution& s, const CollectiveForm& form, const SizedTimes& of, double bytes) {
  const Features f = features(form, of, bytes);
  double ns = 0;
  for (size_t p = 0; p < kParameters; ++p) ns += s.value[p] * f[p];
  return ns;
}

Cut cut_by_parameters(const SizedTimes& sizes, const CollectiveForm& form, const std::vector<Solution>& solutions) {
  std::vector<std::vector<double>> sums(solutions.size(), std::vector<double>(sizes.count() + 1, 0));
  for (size_t k = 0; k < solutions.size(); ++k)
    for (size_t i = 0; i < sizes.count(); ++i) {
      const double off = predicted(solutions[k], form, sizes, sizes.bytes[i]) / sizes.ns[i] - 1;
      sums[k][i + 1] = sums[k][i] + (solutions[k].points ? off * off : 1e6);
    }
  return cheapest_cut(sizes.count(), solutions.size(), true,
                      [&](size_t k, size_t i, size_t j) { return sums[k][j] - sums[k][i]; });
}

// ---- one operation -----------------------------------------------------------------------------------------------

struct Fitted {
  std::vector<Cut> cuts;  ///< by number of ranks
  std::vector<Solution> solutions;
};

std::vector<Solution> solve(const std::vector<SizedTimes>& all, const CollectiveForm& form,
                            const std::vector<Cut>& cuts, size_t protocols) {
  std::vector<Gram> grams(protocols);
  for (size_t r = 0; r < all.size(); ++r)
    for (size_t i = 0; i < all[r].count(); ++i)
      grams[cuts[r][i]].add(features(form, all[r], all[r].bytes[i]), all[r].ns[i]);
  std::vector<Solution> solutions;
  for (const Gram& gram : grams) solutions.push_back(least_squares(gram));
  return solutions;
}

Fitted fit_by_turns(const std::vector<SizedTimes>& all, const CollectiveForm& form, size_t protocols) {
  Fitted fitted;
  for (const SizedTimes& sizes : all) fitted.cuts.push_back(cut_by_lines(sizes, protocols));
  for (size_t turn = 0; turn < kMostTurns; ++turn) {
    fitted.solutions = solve(all, form, fitted.cuts, protocols);
    std::vector<Cut> cuts;
    for (const SizedTimes& sizes : all) cuts.push_back(cut_by_parameters(sizes, form, fitted.solutions));
    if (cuts == fitted.cuts) break;
    fitted.cuts = std::move(cuts);
  }
  fitted.solutions = solve(all, form, fitted.cuts, protocols);
  return fitted;
}

/// Up to which size the protocols before `k + 1` are taken.
uint64_t limit_after(size_t k, const SizedTimes& sizes, const Cut& cut, const CollectiveForm& form,
                     const std::vector<Solution>& solutions) {
  const auto behind = std::find_if(cut.begin(), cut.end(), [&](size_t protocol) { return protocol > k; });
  if (behind == cut.begin()) return 0;
  if (behind == cut.end()) return ProtocolFit::kAnySize;
  const auto at = static_cast<size_t>(behind - cut.begin());
  const double below = sizes.bytes[at - 1], above = sizes.bytes[at];
  const Solution &before = solutions[cut[at - 1]], &after = solutions[cut[at]];
  const auto more = [&](double bytes) {
    return predicted(after, form, sizes, bytes) - predicted(before, form, sizes, bytes);
  };
  const double slope = more(1) - more(0);
  const double crossing = slope != 0 ? -more(0) / slope : -1;
  return static_cast<uint64_t>(crossing >= below && crossing < above ? crossing : std::sqrt(below * above));
}

/// Limits, but where the least time alone makes the cut, or one that is nearly as good.
void set_limits(const std::vector<SizedTimes>& all, const Fitted& fitted, CollectiveFit& fit) {
  const size_t protocols = fit.protocols.size();
  for (size_t k = 0; k < protocols; ++k)
    for (size_t r = 0; r < all.size(); ++r)
      fit.protocols[k].up_to_bytes.push_back(k + 1 == protocols
                                                 ? ProtocolFit::kAnySize
                                                 : limit_after(k, all[r], fitted.cuts[r], *fit.form, fitted.solutions));
  const auto makes_the_cut = [&](size_t r) {
    for (size_t i = 0; i < all[r].count(); ++i) {
      const auto taken =
          net::fitted_time({&fit, 1}, fit.form->operation, all[r].query(), static_cast<uint64_t>(all[r].bytes[i]));
      const double cut = predicted(fitted.solutions[fitted.cuts[r][i]], *fit.form, all[r], all[r].bytes[i]);
      if (std::abs(taken->ns / cut - 1) > kNearlyAsGood) return false;
    }
    return true;
  };
  bool any = false;
  for (size_t r = 0; r < all.size(); ++r)
    for (size_t k = 0; k + 1 < protocols; ++k) {
      uint64_t& limit = fit.protocols[k].up_to_bytes[r];
      const uint64_t before = std::exchange(limit, ProtocolFit::kAnySize);
      if (!makes_the_cut(r)) limit = before;
      any = any || limit != ProtocolFit::kAnySize;
    }
  for (size_t k = 0; !any && k < protocols; ++k) fit.protocols[k].up_to_bytes.clear();
}

/// By size alone: times do not say which protocol of NCCL it was.
std::string_view protocol_name(size_t k, size_t protocols) {
  constexpr std::string_view kNames[][kMostProtocols] = {
      {"all"}, {"small", "large"}, {"small", "middle", "large"}, {"small", "middle", "large", "largest"}};
  return kNames[protocols - 1][k];
}

FittedOperation fit_with(const std::vector<SizedTimes>& all, const CollectiveForm& form, size_t protocols) {
  const Fitted fitted = fit_by_turns(all, form, protocols);
  FittedOperation operation;
  CollectiveFit& fit = operation.fit;
  fit.form = &form;
  fit.across = all[0].across;
  fit.from_bytes = UINT64_MAX;
  for (const SizedTimes& sizes : all) {
    fit.ranks.push_back(static_cast<int64_t>(sizes.members.per_node));
    if (sizes.across) fit.nodes = {static_cast<int64_t>(sizes.members.nodes)};
    fit.from_bytes = std::min(fit.from_bytes, static_cast<uint64_t>(sizes.bytes.front()));
    fit.to_bytes = std::max(fit.to_bytes, static_cast<uint64_t>(sizes.bytes.back()));
  }
  for (size_t k = 0; k < protocols; ++k) {
    const Solution& s = fitted.solutions[k];
    ProtocolFit& protocol = fit.protocols.emplace_back();
    protocol.name = protocol_name(k, protocols);
    protocol.op_ns = s.value[0];
    (fit.across ? protocol.node_step_ns : protocol.step_ns) = s.value[1];
    (fit.across ? protocol.rail_gib_per_s : protocol.wire_gib_per_s) = gib_per_s(s.value[2]);
    protocol.local_gib_per_s = gib_per_s(s.value[3]);
    const auto parameter = [&](size_t p) {
      return Parameter{s.value[p], s.error[p], s.value[p] > 0 && s.value[p] > 2 * s.error[p]};
    };
    operation.parameters.push_back({parameter(0), parameter(1), parameter(2), parameter(3)});
  }
  set_limits(all, fitted, fit);
  return operation;
}

/// The sizes whose place is `fold` modulo `folds`, or all others.
std::vector<SizedTimes> part_of(const std::vector<SizedTimes>& all, size_t fold, size_t folds, bool others) {
  std::vector<SizedTimes> part;
  for (const SizedTimes& sizes : all) {
    SizedTimes& kept = part.emplace_back(SizedTimes{sizes.members, sizes.across, {}, {}});
    for (size_t i = 0; i < sizes.count(); ++i) {
      if ((i % folds == fold) == others) continue;
      kept.bytes.push_back(sizes.bytes[i]);
      kept.ns.push_back(sizes.ns[i]);
    }
  }
  return part;
}

std::vector<CollectiveSample> samples_of(const std::vector<SizedTimes>& all, const CollectiveForm& form) {
  std::vector<CollectiveSample> samples;
  for (const SizedTimes& sizes : all)
    for (size_t i = 0; i < sizes.count(); ++i)
      samples.push_back({std::string(form.operation), static_cast<int64_t>(sizes.members.count()),
                         static_cast<uint64_t>(sizes.bytes[i]), sizes.ns[i],
                         static_cast<int64_t>(sizes.members.nodes)});
  return samples;
}

}  // namespace

void set_corrections(const std::vector<SizedTimes>& all, CollectiveFit& fit) {
  fit.corrections.clear();
  std::vector<net::Correction> corrections(all.size());
  double most = 0;
  for (size_t r = 0; r < all.size(); ++r)
    for (size_t i = 0; i < all[r].count(); ++i) {
      const auto bytes = static_cast<uint64_t>(all[r].bytes[i]);
      const auto known = net::fitted_time({&fit, 1}, fit.form->operation, all[r].query(), bytes);
      corrections[r].bytes.push_back(bytes);
      corrections[r].factors.push_back(all[r].ns[i] / known->ns);
      most = std::max(most, std::abs(corrections[r].factors.back() - 1));
    }
  if (most > kNoCorrection) fit.corrections = std::move(corrections);
}

namespace {

/// Each fold of the sizes predicted from the others, by the protocols alone and corrected.
struct HeldOut {
  FitError protocols, corrected;
};
HeldOut held_out(const std::vector<SizedTimes>& all, const CollectiveForm& form, size_t protocols, size_t folds) {
  HeldOut error;
  for (size_t fold = 0; fold < folds; ++fold) {
    const std::vector<SizedTimes> learn = part_of(all, fold, folds, true);
    const std::vector<CollectiveSample> test = samples_of(part_of(all, fold, folds, false), form);
    CollectiveFit fit = fit_with(learn, form, protocols).fit;
    error.protocols = together(error.protocols, judge({fit}, test));
    set_corrections(learn, fit);
    error.corrected = together(error.corrected, judge({fit}, test));
  }
  return error;
}

}  // namespace

double gib_per_s(double ns_per_byte) { return ns_per_byte > 0 ? 1e9 / ns_per_byte / 1073741824.0 : 0; }

FittedOperation fit_operation(const std::vector<SizedTimes>& all, const CollectiveForm& form) {
  size_t fewest = SIZE_MAX;
  for (const SizedTimes& sizes : all) fewest = std::min(fewest, sizes.count());
  HeldOut best;
  size_t protocols = 1;
  const size_t folds = std::min(fewest, kMostFolds);
  for (size_t k = 1; folds > 1 && k <= kMostProtocols && fewest > 2 * k; ++k) {
    const HeldOut error = held_out(all, form, k, folds);
    if (k > 1 && error.protocols.mean >= best.protocols.mean * kWorthAProtocol) continue;
    best = error;
    protocols = k;
  }
  FittedOperation operation = fit_with(all, form, protocols);
  set_corrections(all, operation.fit);
  operation.held_out = best.corrected;
  if (operation.held_out.points > 0) {
    operation.fit.error_percent = 100 * operation.held_out.mean;
    operation.fit.worst_percent = 100 * operation.held_out.worst;
  }
  return operation;
}

// ---- all operations ----------------------------------------------------------------------------------------------

SizedTimes sizes_of(net::Members members, bool across, const std::vector<const CollectiveSample*>& samples) {
  SizedTimes sizes{members, across, {}, {}};
  const size_t step = (samples.size() + kMostSizes - 1) / kMostSizes;
  for (size_t i = 0; i < samples.size(); i += step) {
    // Of sizes next to each other the middle one, with the median time.
    const size_t end = std::min(samples.size(), i + step);
    std::vector<double> times;
    for (size_t j = i; j < end; ++j) times.push_back(samples[j]->ns);
    sizes.bytes.push_back(static_cast<double>(samples[(i + end - 1) / 2]->bytes));
    sizes.ns.push_back(quantile_of(std::move(times), 0.5));
  }
  return sizes;
}

namespace {

using BySize = std::map<std::pair<std::string, int64_t>, std::vector<const CollectiveSample*>>;

/// At the largest size, the bytes that a ring would send per nanosecond.
double bus_rate(const CollectiveSample& largest) {
  const CollectiveForm* ring = net::find_collective_form(largest.operation, "ring");
  return ring ? ring->wire({static_cast<double>(largest.ranks)}) * static_cast<double>(largest.bytes) / largest.ns : 0;
}

/// What no ring of these links exceeds; infinite where nothing says it.
double most_of_a_ring(const BySize& all) {
  double most = 0;
  for (const auto& [key, samples] : all)
    if (key.first == "all_gather" || key.first == "reduce_scatter") most = std::max(most, bus_rate(*samples.back()));
  return most > 0 ? most * kBeyondARing : std::numeric_limits<double>::infinity();
}

}  // namespace

namespace {

/// Leave out a number of ranks with too few sizes to judge, if others of the operation have enough: it would decide how
/// many protocols are distinguished, and no size could be held out.
// `calibrate.network.skipped` (warning): measurements that are not used, and why
void leave_out_small(const CollectiveForm& form, std::vector<SizedTimes>& all, Findings& findings) {
  constexpr size_t kEnough = 3;
  const auto small = [](const SizedTimes& sizes) { return sizes.count() < kEnough; };
  if (std::all_of(all.begin(), all.end(), small)) return;
  for (const SizedTimes& sizes : all)
    if (small(sizes))
      findings.push_back(
          {"calibrate.network.skipped", Severity::warning, -1, -1,
           fmt::format("left out {} of {} ranks: {} size{} measured, but at least three are required", form.operation,
                       static_cast<int64_t>(sizes.members.count()), sizes.count(), sizes.count() == 1 ? "" : "s")});
  std::erase_if(all, small);
}

}  // namespace

std::vector<FittedOperation> fit_collectives(const std::vector<CollectiveSample>& samples, Findings& findings) {
  BySize by_size;
  for (const CollectiveSample& sample : samples)
    if (sample.nodes == 1) by_size[{sample.operation, sample.ranks}].push_back(&sample);
  for (auto& [key, list] : by_size)
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  const double most = most_of_a_ring(by_size);
  std::vector<FittedOperation> operations;
  for (const CollectiveForm& form : net::kCollectiveForms) {
    std::vector<SizedTimes> all;
    if (form.algorithm == "tree") continue;  // times alone do not tell it from a ring
    for (const auto& [key, list] : by_size)
      if (key.first == form.operation && key.second > 1 &&
          (form.operation != "all_reduce" || (form.algorithm == "nvls") == (bus_rate(*list.back()) > most)))
        all.push_back(sizes_of({static_cast<double>(key.second)}, false, list));
    leave_out_small(form, all, findings);
    if (!all.empty()) operations.push_back(fit_operation(all, form));
  }
  return operations;
}

std::vector<double> offs(const std::vector<net::CollectiveFit>& fits, const std::vector<CollectiveSample>& samples) {
  std::vector<double> all;
  for (const CollectiveSample& sample : samples) {
    const net::FitQuery query{0, sample.ranks / sample.nodes, sample.nodes, sample.nodes > 1};
    if (const auto known = net::fitted_time(fits, sample.operation, query, sample.bytes))
      all.push_back(std::abs(std::log(known->ns / sample.ns)));
  }
  return all;
}

FitError judge(const std::vector<net::CollectiveFit>& fits, const std::vector<CollectiveSample>& samples) {
  return error_of(offs(fits, samples));
}

}  // namespace chakra::calibrate
