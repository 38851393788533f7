#include "chakra/calibrate/device_fit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "chakra/base/quantile.h"
#include "chakra/work/work.h"

namespace chakra::calibrate {
namespace {

using device::KernelConstants;
using device::KernelError;
using device::KernelTable;
using device::MeasuredKernel;
using work::Sizes;

using Parts = device::BaseParts;
using Matrix = std::array<Parts, device::kBaseParts>;

constexpr double kRobust = 0.1;  ///< the s of the sum
constexpr double kNoise = 0.01;
constexpr double kAlike = 0.03;     ///< how much tensors' times are drawn together, which decides where shapes do not
constexpr size_t kMostBlocks = 24;  ///< of a size
constexpr double kEnd = 0.15;       ///< of a size's range in octaves, where a base is chosen
constexpr double kCovered = 0.77;   ///< of kept-out shapes, that are off by no more than a table states
/// The same of values that were not measured. It is more, since all shapes of a value are off together.
constexpr double kCoveredOfValues = 0.8;
constexpr uint64_t kFolds = 8;        ///< each fold is held out in turn: nearly as many shapes stay as the table has
constexpr double kLeastSpread = 0.6;  ///< over the median: shapes that happen to be on their plane
constexpr size_t kMostTried = 500, kMostKeptOut = 100;

/// The inverse of a symmetric, positive definite matrix, by elimination.
Matrix inverse(Matrix m) {
  Matrix result{};
  for (size_t i = 0; i < m.size(); ++i) result[i][i] = 1;
  for (size_t i = 0; i < m.size(); ++i) {
    const double pivot = m[i][i];
    for (size_t c = 0; c < m.size(); ++c) m[i][c] /= pivot, result[i][c] /= pivot;
    for (size_t j = 0; j < m.size(); ++j) {
      const double times = j == i ? 0 : m[j][i];
      for (size_t c = 0; c < m.size(); ++c) m[j][c] -= times * m[i][c], result[j][c] -= times * result[i][c];
    }
  }
  return result;
}

/// What a base is to the power of: its parts to that power add up (device::join_parts).
double power_of(bool overlap) { return overlap ? 1.5 : 1; }

/// The parts of the base for a shape, at constants of 1 (1 us for the fixed part, 1 ns a step), to the power of
/// power_of(), and the logarithm of the time.
struct Terms {
  Parts parts{};
  double log_seconds = 0;
};

std::vector<Terms> terms_of(const KernelData& data, bool overlap) {
  std::vector<Terms> terms;
  const work::KernelKind& kind = *work::find_kernel_kind(data.name);
  for (const MeasuredKernel& m : data.measured) {
    const device::RooflineParts parts = device::roofline_parts(*data.device, kind, data.type, m.sizes);
    const work::Tensors& bytes = parts.tensors_s;
    const double steps = overlap ? kind.steps(m.sizes) * 1e-9 : 0;
    Terms& t = terms.emplace_back(Terms{{parts.ops_s, bytes[0], bytes[1], bytes[2], 1e-6, steps}, std::log(m.seconds)});
    for (double& part : t.parts) part = overlap ? part * std::sqrt(part) : part;
  }
  return terms;
}

/// The sum to minimise (device_fit.h), its gradient and the matrix of second derivatives as Gauss and Newton take them.
struct Sum {
  double value = 0;
  Parts gradient{};
  Matrix curvature{};
};
/// With p = power_of(overlap): base^p is the sum of its parts^p, so that the slope of ln(base) by the logarithm of a
/// constant is the share of its part in that sum.
Sum sum_at(const std::vector<Terms>& terms, const Parts& logs, bool overlap) {
  Sum sum;
  const double power = power_of(overlap);
  Parts times{};
  for (size_t i = 0; i < times.size(); ++i) times[i] = std::exp(power * logs[i]);
  for (const Terms& t : terms) {
    Parts slope{};
    double parts = 0;
    for (size_t i = 0; i < slope.size(); ++i) parts += slope[i] = times[i] * t.parts[i];
    const double r = std::log(parts) / power - t.log_seconds, root = std::sqrt(1 + r * r / (kRobust * kRobust));
    const double share = 1 / parts, weight = 1 / root;
    sum.value += 2 * (root - 1);
    for (size_t i = 0; i < slope.size(); ++i) {
      slope[i] *= share;
      const double weighted = slope[i] * weight;
      sum.gradient[i] += r * weighted;
      for (size_t j = 0; j <= i; ++j) sum.curvature[i][j] += weighted * slope[j];
    }
  }
  for (size_t i = 0; i < times.size(); ++i)
    for (size_t j = 0; j < i; ++j) sum.curvature[j][i] = sum.curvature[i][j];
  return sum;
}

/// With the term that draws the times of tensors together.
Sum drawn_sum_at(const std::vector<Terms>& terms, const Parts& logs, bool overlap) {
  Sum sum = sum_at(terms, logs, overlap);
  constexpr size_t kFirst = 1, kBehind = 1 + work::kMostTensors;  // of the tensors' parts
  const auto weight = static_cast<double>(terms.size()) * kAlike * kAlike;
  const double mean = (logs[1] + logs[2] + logs[3]) / 3;
  for (size_t i = kFirst; i < kBehind; ++i) {
    const double from_mean = logs[i] - mean;
    sum.value += weight * from_mean * from_mean;
    sum.gradient[i] += weight * kRobust * kRobust * from_mean;
    for (size_t j = kFirst; j < kBehind; ++j)
      sum.curvature[i][j] += weight * kRobust * kRobust * ((i == j ? 1.0 : 0.0) - 1.0 / work::kMostTensors);
  }
  return sum;
}

/// A longer step runs past the least sum, to where a part has vanished and does not come back: 6 of 3,328 fits to parts
/// of the H100's GEMMs ended there, up to a fifth above the least sum.
constexpr double kLongestStep = 1;

/// From `logs` towards `next`.
Parts step_towards(const Parts& next, const Parts& logs) {
  Parts there{};
  for (size_t i = 0; i < logs.size(); ++i)
    there[i] = std::clamp(std::clamp(next[i], logs[i] - kLongestStep, logs[i] + kLongestStep), -20.0, 12.0);
  return there;
}

/// Which parts the base of a kernel has.
std::array<bool, device::kBaseParts> parts_of(const KernelData& data, bool overlap) {
  const work::KernelKind& kind = *work::find_kernel_kind(data.name);
  const Sizes& shape = data.measured[0].sizes;
  const size_t tensors = kind.tensor_count();
  return {kind.ops(shape) > 0, tensors > 0, tensors > 1, tensors > 2, true, overlap && kind.steps(shape) > 0};
}

/// Of parts that the base does not have: those of the data sheet, and no steps.
KernelConstants constants_of(const Parts& times, const std::array<bool, device::kBaseParts>& has, bool overlap) {
  const auto time = [&](size_t i) { return has[i] ? times[i] : 1; };
  return {time(0), {time(1), time(2), time(3)}, times[4] * 1e-6, has[5] ? times[5] * 1e-9 : 0, overlap};
}

KernelData without(const KernelData& data, const std::vector<bool>& out, std::vector<MeasuredKernel>& kept_out) {
  KernelData rest{data.device, data.name, data.type, {}};
  for (size_t i = 0; i < out.size(); ++i) (out[i] ? kept_out : rest.measured).push_back(data.measured[i]);
  return rest;
}

/// At most `most` of them, evenly taken.
std::vector<MeasuredKernel> some_of(const std::vector<MeasuredKernel>& all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<MeasuredKernel> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

KernelTable make_table(const KernelData& data, bool overlap) {
  return {*data.device, data.name, data.type, fit_constants(data, overlap).constants, data.measured};
}

double roofline_error(const KernelData& data, const std::vector<MeasuredKernel>& kept_out) {
  const work::KernelKind& kind = *work::find_kernel_kind(data.name);
  double sum = 0;
  for (const MeasuredKernel& m : kept_out) {
    const device::RooflineParts parts = device::roofline_parts(*data.device, kind, data.type, m.sizes);
    sum += std::abs(std::log(std::max(parts.ops_s, parts.bytes_s()) / m.seconds));
  }
  return std::exp(sum / static_cast<double>(kept_out.size())) - 1;
}

/// All shapes with a size from `least` to `most`.
struct Block {
  size_t size;
  double least, most;
};
/// For each size its values in groups of neighbours, at most kMostBlocks.
std::vector<Block> blocks_of(const KernelData& data) {
  std::vector<Block> blocks;
  for (size_t size = 0; size < work::find_kernel_kind(data.name)->size(); ++size) {
    std::set<double> distinct;
    for (const MeasuredKernel& m : data.measured) distinct.insert(m.sizes[size]);
    const std::vector<double> values(distinct.begin(), distinct.end());
    const size_t count = std::min(kMostBlocks, values.size());
    for (size_t b = 0; b < count && values.size() > 1; ++b)
      blocks.push_back({size, values[b * values.size() / count], values[(b + 1) * values.size() / count - 1]});
  }
  return blocks;
}

using Offs = std::vector<std::pair<KernelTable::Prediction, double>>;

/// Return the error of each shape when its fold is held out, with the constants that were fitted to all shapes.
Offs fold_offs(const KernelData& data, const KernelConstants& constants) {
  std::vector<uint64_t> fold_of;
  Prng random(2);
  for (size_t i = 0; i < data.measured.size(); ++i) fold_of.push_back(random.below(kFolds));
  std::array<Offs, kFolds> offs;
  all_in_parallel(kFolds, [&](size_t fold) {
    std::vector<bool> out;
    for (const uint64_t of : fold_of) out.push_back(of == fold);
    std::vector<MeasuredKernel> kept_out;
    const KernelData rest = without(data, out, kept_out);
    if (rest.measured.empty() || kept_out.empty()) return;
    offs[fold] = judge({*data.device, data.name, data.type, constants, rest.measured}, kept_out).offs;
  });
  Offs all;
  for (const Offs& of_fold : offs) all.insert(all.end(), of_fold.begin(), of_fold.end());
  return all;
}

/// KernelError::near, apart, far or beyond: what is off by how much, over the spread around it. 0 where there are too
/// few.
double spread_time(const Offs& offs, double least_spread, double covered,
                   const std::function<bool(const KernelTable::Prediction&)>& is) {
  std::vector<double> times;
  for (const auto& [predicted, off] : offs)
    if (is(predicted)) times.push_back(off / std::hypot(predicted.spread, least_spread));
  return times.size() < kFewest / 3 ? 0 : quantile_of(std::move(times), covered);
}
void set_times(KernelError& error, const Offs& offs) {
  using Prediction = KernelTable::Prediction;
  const auto time = [&](double covered, const std::function<bool(const Prediction&)>& is) {
    return spread_time(offs, error.spread, covered, is);
  };
  error.near = time(kCovered, [](const Prediction& p) { return !p.extrapolated; });
  error.apart = time(kCovered, [](const Prediction& p) { return p.apart; });
  error.far = time(kCoveredOfValues, [](const Prediction& p) { return p.extrapolated && !p.apart && !p.beyond; });
  error.beyond = time(kCoveredOfValues, [](const Prediction& p) { return p.beyond; });
}

struct JudgedBlock {
  Judgement judgement;
  double shapes = 0;
};
JudgedBlock judge_without(const KernelData& data, const Block& block) {
  std::vector<bool> out;
  for (const MeasuredKernel& m : data.measured)
    out.push_back(m.sizes[block.size] >= block.least && m.sizes[block.size] <= block.most);
  std::vector<MeasuredKernel> kept_out;
  const KernelTable of_rest = make_table(without(data, out, kept_out));
  return {judge(of_rest, kept_out), static_cast<double>(kept_out.size())};
}

}  // namespace

std::vector<MeasuredKernel> medians(std::vector<MeasuredKernel> measured) {
  std::sort(measured.begin(), measured.end(), [](const MeasuredKernel& a, const MeasuredKernel& b) {
    return std::tie(a.sizes, a.seconds) < std::tie(b.sizes, b.seconds);
  });
  std::vector<MeasuredKernel> result;
  for (size_t first = 0, last = 0; first < measured.size(); first = last) {
    while (last < measured.size() && measured[last].sizes == measured[first].sizes) ++last;
    const double low = measured[first + (last - first - 1) / 2].seconds, high = measured[(first + last) / 2].seconds;
    result.push_back({measured[first].sizes, (low + high) / 2});
  }
  return result;
}

FittedConstants fit_constants(const KernelData& data, bool overlap) {
  const std::vector<Terms> terms = terms_of(data, overlap);
  const double tiny = 1e-9 * static_cast<double>(terms.size());
  Parts logs{0.3, 0.3, 0.3, 0.3, 1.4, -2};  // 1.35 times the roofline's, 4 us, 0.14 ns
  Sum sum = drawn_sum_at(terms, logs, overlap);
  double damping = 1e-3;
  for (int step = 0; step < 60 && damping < 1e8; ++step) {
    Matrix matrix = sum.curvature;
    for (size_t i = 0; i < logs.size(); ++i) matrix[i][i] += damping * matrix[i][i] + tiny;
    const Matrix inverted = inverse(matrix);
    Parts next = logs;
    for (size_t i = 0; i < logs.size(); ++i)
      for (size_t j = 0; j < logs.size(); ++j) next[i] -= inverted[i][j] * sum.gradient[j];
    next = step_towards(next, logs);
    const Sum there = drawn_sum_at(terms, next, overlap);
    const bool better = there.value < sum.value;
    const bool settled = better && sum.value - there.value < 1e-9 * sum.value;
    if (better) {
      logs = next;
      sum = there;
    }
    damping = better ? std::max(damping / 5, 1e-9) : damping * 5;
    if (settled) break;
  }
  sum = sum_at(terms, logs, overlap);  // what the shapes determine
  for (size_t i = 0; i < logs.size(); ++i) sum.curvature[i][i] += tiny;
  const Matrix inverted = inverse(sum.curvature);
  // The residuals' mean square as far as the robust sum counts them; a measurement is not better than kNoise.
  const auto has = parts_of(data, overlap);
  const auto free = static_cast<double>(terms.size()) - static_cast<double>(std::count(has.begin(), has.end(), true));
  const double variance = std::max(kNoise * kNoise, sum.value * kRobust * kRobust / std::max(1.0, free));
  Parts errors{};
  for (size_t i = 0; i < logs.size(); ++i) {
    errors[i] = std::sqrt(variance * inverted[i][i]);
    logs[i] = std::exp(logs[i]);
  }
  return {constants_of(logs, has, overlap), {errors[0], {errors[1], errors[2], errors[3]}, errors[4], errors[5]}};
}

bool parts_overlap(const KernelData& data) {
  double add_up = 0, overlap = 0;  // sums of logarithms
  for (size_t size = 0; size < work::find_kernel_kind(data.name)->size(); ++size) {
    const auto [least, most] = std::minmax_element(data.measured.begin(), data.measured.end(),
                                                   [&](auto& a, auto& b) { return a.sizes[size] < b.sizes[size]; });
    const double from = std::log2(least->sizes[size]), to = std::log2(most->sizes[size]), end = kEnd * (to - from);
    for (const auto& [low, high] : {std::pair(from, from + end), std::pair(to - end, to)}) {
      std::vector<bool> out;
      for (const MeasuredKernel& m : data.measured) {
        const double at = std::log2(m.sizes[size]);
        out.push_back(at >= low && at <= high);
      }
      std::vector<MeasuredKernel> kept_out;
      KernelData rest = without(data, out, kept_out);
      if (rest.measured.size() < kFewest) continue;  // of a size that does not vary, nothing is left
      rest.measured = some_of(rest.measured, kMostTried);
      kept_out = some_of(kept_out, kMostKeptOut);
      add_up += std::log1p(judge(make_table(rest, false), kept_out).error);
      overlap += std::log1p(judge(make_table(rest, true), kept_out).error);
    }
  }
  return overlap < add_up;
}

FittedConstants fit_constants(const KernelData& data) { return fit_constants(data, parts_overlap(data)); }

KernelTable make_table(const KernelData& data) {
  return {*data.device, data.name, data.type, fit_constants(data).constants, data.measured};
}

Judgement judge(const KernelTable& table, const std::vector<MeasuredKernel>& kept_out) {
  Judgement judgement;
  std::vector<double> errors;
  double sum = 0;
  for (const MeasuredKernel& m : kept_out) {
    const KernelTable::Prediction predicted = table.predict(m.sizes);
    errors.push_back(std::abs(std::log(predicted.seconds / m.seconds)));
    sum += errors.back();
    judgement.offs.emplace_back(predicted, errors.back());
    judgement.extrapolated += predicted.extrapolated;
  }
  const auto count = static_cast<double>(kept_out.size());
  judgement.error = std::exp(sum / count) - 1;
  judgement.error_95 = std::exp(quantile_of(std::move(errors), 0.95)) - 1;
  judgement.extrapolated /= count;
  return judgement;
}

KernelJudgement judge_kernel(const KernelData& data) {
  CHAKRA_ASSERT(data.measured.size() >= kFewest);
  KernelJudgement result;
  std::vector<bool> out;
  Prng random(1);
  for (size_t i = 0; i < data.measured.size(); ++i) out.push_back(random.chance(1.0 / 3));
  std::vector<MeasuredKernel> kept_out;
  const KernelTable of_rest = make_table(without(data, out, kept_out));
  const Judgement third = judge(of_rest, kept_out);
  result.error.random = third.error;
  result.random_95 = third.error_95;
  result.error.roofline = roofline_error(data, kept_out);
  Offs offs = fold_offs(data, of_rest.constants());
  std::vector<double> spreads;
  for (const auto& off : offs) spreads.push_back(off.first.spread);
  result.error.spread = std::max(1e-4, kLeastSpread * quantile_of(spreads, 0.5));
  const std::vector<Block> blocks = blocks_of(data);
  std::vector<JudgedBlock> judged(blocks.size());
  all_in_parallel(blocks.size(), [&](size_t b) { judged[b] = judge_without(data, blocks[b]); });
  double shapes = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const auto& [judgement, count] = judged[b];
    for (const auto& off : judgement.offs)
      if (off.first.extrapolated && !off.first.apart) offs.push_back(off);
    result.error.block += judgement.error / static_cast<double>(blocks.size());
    result.extrapolated += judgement.extrapolated * count;
    shapes += count;
    if (judgement.error <= result.error.worst) continue;
    result.error.worst = judgement.error;
    const auto& [size, least, most] = blocks[b];
    const std::string_view name = work::find_kernel_kind(data.name)->sizes[size];
    result.error.worst_of =
        least == most ? fmt::format("{} = {:g}", name, least) : fmt::format("{} = {:g} to {:g}", name, least, most);
  }
  set_times(result.error, offs);
  if (shapes > 0) result.extrapolated /= shapes;
  return result;
}

}  // namespace chakra::calibrate
