#include "chakra/device/kernels.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "chakra/device/device.h"

namespace chakra::device {
namespace {

constexpr double kRounding = 1e-9;  ///< of octaves

using Equations = std::array<std::array<double, kMostSizes + 1>, kMostSizes>;

/// Solves equations with a symmetric, positive definite matrix, by elimination; the right sides are the last column.
Sizes solve(Equations& rows, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n; ++j) {
      const double times = rows[j][i] / rows[i][i];
      for (size_t c = i; c < n; ++c) rows[j][c] -= times * rows[i][c];
      rows[j][kMostSizes] -= times * rows[i][kMostSizes];
    }
  Sizes solution{};
  for (size_t i = n; i-- > 0;) {
    double sum = rows[i][kMostSizes];
    for (size_t j = i + 1; j < n; ++j) sum -= rows[i][j] * solution[j];
    solution[i] = sum / rows[i][i];
  }
  return solution;
}

/// Logarithms of sizes, in octaves. Most are found in a slot that the size's bits say: tables have a hundred sizes in
/// ten thousand rows.
class Octaves {
 public:
  /// Appends to `added` what was in no slot: every size once or more.
  double of(double size, std::vector<double>& added) {
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
    auto& [known, octaves] = slots_[static_cast<size_t>((std::bit_cast<uint64_t>(size) * kSpread) >> 56)];
    if (known != size) {
      known = size;
      octaves = std::log2(size);
      added.push_back(octaves);
    }
    return octaves;
  }

 private:
  std::array<std::pair<double, double>, 256> slots_{};  // no size is 0
};

/// Measured, or in no gap of more than KernelTable::kGap.
bool is_covered(const std::vector<double>& ascending, double at) {
  const auto above = std::lower_bound(ascending.begin(), ascending.end(), at - kRounding);
  if (above == ascending.end()) return false;
  if (*above <= at + kRounding) return true;
  return above != ascending.begin() && *above - *(above - 1) <= KernelTable::kGap;
}

Sizes octaves(const Sizes& sizes, size_t n) {
  Sizes at{};
  for (size_t i = 0; i < n; ++i) at[i] = std::log2(sizes[i]);
  return at;
}

/// A measured shape near a place.
struct Point {
  Sizes at{};
  double rest = 0, square = 0;  ///< ln(measured / base); the square of the distance to the place
};

struct Plane {
  Sizes mean{}, slope{};
  double mean_rest = 0;
  double at(const Sizes& there, size_t n) const {
    double rest = mean_rest;
    for (size_t i = 0; i < n; ++i) rest += slope[i] * (there[i] - mean[i]);
    return rest;
  }
};

/// A plane through points, near ones counting more. Requires: at most KernelTable::kNeighbours.
Plane fit_plane(std::span<const Point> points, size_t n) {
  constexpr double kHere = 1e-6;  // keeps the weight of a measured shape finite, and a million times that of others
  Plane plane;
  double weights = 0;
  std::array<double, KernelTable::kNeighbours> weight{};
  for (size_t p = 0; p < points.size(); ++p) {
    weight[p] = 1 / (std::pow(points[p].square, 1.5) + kHere);
    weights += weight[p];
    plane.mean_rest += weight[p] * points[p].rest;
    for (size_t i = 0; i < n; ++i) plane.mean[i] += weight[p] * points[p].at[i];
  }
  for (double& value : plane.mean) value /= weights;
  plane.mean_rest /= weights;
  Equations rows{};
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t i = 0; i < n; ++i) {
      const double from_mean = weight[p] / weights * (points[p].at[i] - plane.mean[i]);
      for (size_t j = 0; j < n; ++j) rows[i][j] += from_mean * (points[p].at[j] - plane.mean[j]);
      rows[i][kMostSizes] += from_mean * (points[p].rest - plane.mean_rest);
    }
  }
  double square = 0;
  for (size_t i = 0; i < n; ++i) square += rows[i][i];
  for (size_t i = 0; i < n; ++i) rows[i][i] += KernelTable::kFlattening * square / static_cast<double>(n) + 1e-12;
  plane.slope = solve(rows, n);
  return plane;
}

/// What was measured at points, and half as much again on either side. A plane that leads on from points close together
/// soon leaves that by any factor. None at all on either side, or as much, makes kept-out ends of sizes worse.
class Range {
 public:
  explicit Range(std::span<const Point> points) {
    for (const Point& point : points) {
      least_ = std::min(least_, point.rest);
      most_ = std::max(most_, point.rest);
    }
    const double beside = kBesides * (most_ - least_);
    least_ -= beside;
    most_ += beside;
  }
  double nearest(double rest) const { return std::clamp(rest, least_, most_); }

 private:
  static constexpr double kBesides = 0.5;
  double least_ = std::numeric_limits<double>::infinity(), most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

RooflineParts roofline_parts(const Device& device, const KernelKind& kind, trace::DType type, const Sizes& sizes) {
  const double ops = kind.ops(sizes), most = peak(device, type).ops_per_s;
  RooflineParts parts{ops > 0 && most > 0 ? ops / most : 0, kind.elements(sizes)};
  for (double& tensor : parts.tensors_s) tensor *= bytes_of(type) / device.memory_bytes_per_s;
  return parts;
}

double join_parts(const BaseParts& parts, bool overlap) {
  double sum = 0;
  for (const double part : parts)
    if (part > 0) sum += overlap ? part * std::sqrt(part) : part;
  return overlap ? std::cbrt(sum * sum) : sum;
}

KernelBase::KernelBase(const Device& device, const KernelKind* kind, trace::DType type,
                       const KernelConstants& constants)
    : kind_(kind), fixed_(constants.fixed_s), per_step_(constants.step_s), overlap_(constants.overlap) {
  CHAKRA_ASSERT(kind);
  const double most_ops = peak(device, type).ops_per_s;
  roofline_per_op_ = most_ops > 0 ? 1 / most_ops : 0;
  roofline_per_element_ = bytes_of(type) / device.memory_bytes_per_s;
  per_op_ = most_ops > 0 ? constants.ops_time / most_ops : 0;
  per_element_ = constants.bytes_time;
  for (double& tensor : per_element_) tensor *= bytes_of(type) / device.memory_bytes_per_s;
}

double KernelBase::roofline(const Sizes& sizes) const {
  return std::max(kind_->ops(sizes) * roofline_per_op_, sum_of(kind_->elements(sizes)) * roofline_per_element_);
}

double KernelBase::seconds(const Sizes& sizes) const {
  const Tensors elements = kind_->elements(sizes);
  return join_parts({kind_->ops(sizes) * per_op_, elements[0] * per_element_[0], elements[1] * per_element_[1],
                     elements[2] * per_element_[2], fixed_, per_step_ * kind_->steps(sizes)},
                    overlap_);
}

struct KernelTable::Index {
  /// Rows that follow each other with the same first size.
  struct Run {
    double at;  ///< the first size
    uint32_t begin, end;
  };
  std::vector<double> at;                                   ///< each size of each row
  std::array<std::vector<double>, kMostSizes> ascending{};  ///< all values of a size
  std::vector<Run> runs;                                    ///< by ascending first sizes
  bool all_whole = true;                                    ///< all rows of memory: is_whole()
};
struct KernelTable::Measured {
  std::function<std::vector<double>()> read;
  std::vector<double> cells;
  bool none = false;  ///< nothing could be read
  std::atomic<bool> is_read = false;
  std::once_flag reads, indexes;
  Index index;
};

KernelTable::KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
                         std::function<std::vector<double>()> read)
    : name_(std::move(name)),
      type_(type),
      kind_(find_kernel_kind(name_)),
      size_(kind_ ? kind_->size() : 0),
      constants_(constants),
      base_(device, kind_, type, constants),
      pieces_{bytes_of(type), device.unaligned_time},
      measured_(std::make_shared<Measured>()) {
  measured_->read = std::move(read);
}

KernelTable::KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
                         std::vector<double> cells)
    : KernelTable(device, std::move(name), type, constants, std::function<std::vector<double>()>()) {
  CHAKRA_ASSERT(!cells.empty() && cells.size() % (size_ + 1) == 0);
  measured_->cells = std::move(cells);
  measured_->is_read = true;
}

KernelTable::KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
                         const std::vector<MeasuredKernel>& measured)
    : KernelTable(device, name, type, constants, [&] {
        const KernelKind* const kind = find_kernel_kind(name);
        std::vector<double> cells;
        for (const MeasuredKernel& m : measured) {
          CHAKRA_ASSERT(kind && m.seconds > 0);
          cells.insert(cells.end(), m.sizes.begin(), m.sizes.begin() + static_cast<ptrdiff_t>(kind->size()));
          cells.push_back(m.seconds);
        }
        return cells;
      }()) {}

std::span<const double> KernelTable::cells() const {
  if (!measured_->is_read.load(std::memory_order_acquire))
    std::call_once(measured_->reads, [&] {
      measured_->cells = measured_->read();
      if (measured_->cells.empty()) {  // the file lies about its checksum: the constants alone say a time
        measured_->none = true;
        Sizes ones;
        ones.fill(1);
        measured_->cells.assign(size_, 1.0);
        measured_->cells.push_back(base_.seconds(ones));
      }
      CHAKRA_ASSERT(measured_->cells.size() % (size_ + 1) == 0);
      measured_->is_read.store(true, std::memory_order_release);
    });
  return measured_->cells;
}

Sizes KernelTable::sizes_of(size_t row) const {
  Sizes sizes{};
  std::copy_n(this->row(row).begin(), size_, sizes.begin());
  return sizes;
}

KernelTable::Index KernelTable::make_index() const {
  Index index;
  index.at.reserve(row_count() * size_);
  std::array<Octaves, kMostSizes> octaves;
  for (uint32_t r = 0; r < row_count(); ++r) {
    const std::span<const double> sizes = row(r);
    for (size_t i = 0; i < size_; ++i) {
      const size_t known = index.ascending[i].size();
      index.at.push_back(octaves[i].of(sizes[i], index.ascending[i]));
      if (index.ascending[i].size() > known) index.all_whole &= is_whole(i, sizes[i]);
    }
    const double first = index.at[r * size_];
    if (index.runs.empty() || index.runs.back().at != first) index.runs.push_back({first, r, r});
    index.runs.back().end = r + 1;
  }
  for (std::vector<double>& values : index.ascending) std::sort(values.begin(), values.end());
  std::sort(index.runs.begin(), index.runs.end(), [](const Index::Run& a, const Index::Run& b) { return a.at < b.at; });
  return index;
}

const KernelTable::Index& KernelTable::index() const {
  std::call_once(measured_->indexes, [&] { measured_->index = make_index(); });
  return measured_->index;
}

/// The planes through the nearest shapes, and what they tell of the error between shapes.
KernelTable::Interpolated KernelTable::interpolate(const Index& index, const Sizes& at, const Nearest& nearest) const {
  std::array<Point, kNeighbours> all;
  for (size_t p = 0; p < nearest.size(); ++p) {
    const uint32_t row = nearest[p].second;
    const double base = base_.seconds(sizes_of(row));
    CHAKRA_ASSERT(base > 0);
    std::copy_n(&index.at[row * size_], size_, all[p].at.begin());
    all[p].rest = std::log(this->row(row).back() / base);
    all[p].square = nearest[p].first;
  }
  const std::span<const Point> points(all.data(), nearest.size());
  const std::span<const Point> close = points.first(std::min(kClosest, points.size()));
  const Range range(points);
  const double rest = range.nearest(fit_plane(points, size_).at(at, size_));
  const Plane plane = fit_plane(close, size_);
  constexpr double kBeside = 0.01;  // a shape a tenth of an octave away, or nearer, lets its own plane pass through it
  double offs = 0, nearness = 0;
  for (const Point& point : close) {
    const double near = 1 / (point.square + kBeside);
    offs += near * std::abs(point.rest - plane.at(point.at, size_));
    nearness += near;
  }
  constexpr double kStep = 0.3;  // of the step from the nearest shape; 0.2 to 0.5 are as good
  return {rest, offs / nearness + std::abs(rest - range.nearest(plane.at(at, size_))) +
                    kStep * std::abs(rest - points.front().rest)};
}

/// measured / roofline of the fastest of measured shapes, where that is below 1: times in a cache, and bytes that the
/// roofline counts but a kernel does not move.
double KernelTable::least_of_roofline(const Nearest& nearest) const {
  double least = 1;
  for (const auto& [square, row] : nearest)
    if (const double roofline = base_.roofline(sizes_of(row)); roofline > 0)
      least = std::min(least, this->row(row).back() / roofline);
  return least;
}

bool KernelTable::is_whole(size_t size, double value) const {
  return (kind_->rows >> size & 1) == 0 || std::fmod(value * pieces_.element_bytes, kPieceBytes) == 0;
}
bool KernelTable::is_whole(const Sizes& sizes) const {
  for (size_t i = 0; i < size_; ++i)
    if (!is_whole(i, sizes[i])) return false;
  return true;
}

/// Runs nearest in their first size come first, so that most rows are never looked at.
KernelTable::Nearest KernelTable::nearest(const Index& index, const Sizes& at) const {
  const size_t n = size_, most = std::min(kNeighbours, row_count());
  Nearest nearest;
  nearest.reserve(most);
  const auto closer = [](const auto& a, const auto& b) {  // the pairs' own order takes three times as long
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  };
  const auto square = [](double distance) { return distance * distance; };
  const std::vector<Index::Run>& runs = index.runs;
  auto above = std::lower_bound(runs.begin(), runs.end(), at[0],
                                [](const Index::Run& run, double first) { return run.at < first; });
  for (auto below = above; below != runs.begin() || above != runs.end();) {
    const bool down = above == runs.end() || (below != runs.begin() && at[0] - (below - 1)->at < above->at - at[0]);
    const Index::Run& run = down ? *--below : *above++;
    const double first = square(run.at - at[0]);
    if (nearest.size() == most && first > nearest.front().first) break;
    for (uint32_t row = run.begin; row < run.end; ++row) {
      const double* const there = &index.at[row * n];
      std::pair<double, uint32_t> candidate{first, row};
      for (size_t i = 1; i < n; ++i) candidate.first += square(there[i] - at[i]);
      if (nearest.size() == most) {
        if (!closer(candidate, nearest.front())) continue;
        std::pop_heap(nearest.begin(), nearest.end(), closer);
        nearest.pop_back();
      }
      nearest.push_back(candidate);
      std::push_heap(nearest.begin(), nearest.end(), closer);
    }
  }
  std::sort_heap(nearest.begin(), nearest.end(), closer);
  return nearest;
}

KernelTable::Prediction KernelTable::predict(const Sizes& sizes) const {
  const Index& index = this->index();
  const Sizes at = octaves(sizes, size_);
  Prediction prediction;
  for (size_t i = 0; i < size_; ++i) {
    const std::vector<double>& measured = index.ascending[i];
    prediction.extrapolated |= !is_covered(measured, at[i]);
    prediction.beyond |= at[i] < measured.front() - kRounding || at[i] > measured.back() + kRounding;
  }
  const Nearest rows = nearest(index, at);
  prediction.apart = !prediction.extrapolated && rows[0].first > kFar * kFar + kRounding;
  prediction.extrapolated |= prediction.apart;
  const Interpolated interpolated = interpolate(index, at, rows);
  prediction.seconds = base_.seconds(sizes) * std::exp(interpolated.rest);
  if (const double roofline = base_.roofline(sizes); prediction.seconds < roofline)
    prediction.seconds = std::max(prediction.seconds, roofline * least_of_roofline(rows));
  prediction.spread = interpolated.spread;
  if (index.all_whole && !is_whole(sizes)) {
    prediction.seconds *= pieces_.time;
    prediction.extrapolated = prediction.unaligned = true;
  }
  return prediction;
}

double KernelTable::error_of(const Prediction& prediction) const {
  if (!error || measured_->none) return 0;
  const double times = prediction.beyond && error->beyond > 0 ? error->beyond
                       : prediction.apart && error->apart > 0 ? error->apart
                       : prediction.extrapolated              ? error->far
                                                              : error->near;
  if (times == 0) return prediction.extrapolated ? error->block : error->random;
  return std::expm1(times * std::hypot(prediction.spread, error->spread));
}

std::vector<MeasuredKernel> KernelTable::measured() const {
  std::vector<MeasuredKernel> all;
  all.reserve(row_count());
  for (size_t row = 0; row < row_count(); ++row) all.push_back({sizes_of(row), this->row(row).back()});
  return all;
}

std::pair<Sizes, Sizes> KernelTable::range() const {
  Sizes least = sizes_of(0), most = least;
  const std::span<const double> all = cells();
  for (size_t at = 0; at < all.size(); at += size_ + 1)
    for (size_t i = 0; i < size_; ++i) {
      least[i] = std::min(least[i], all[at + i]);
      most[i] = std::max(most[i], all[at + i]);
    }
  return {least, most};
}

const KernelTable* find_table(const Device& device, std::string_view name, trace::DType type) {
  using trace::DType;
  const DType alike = type == DType::bf16 ? DType::f16 : type == DType::f16 ? DType::bf16 : type;
  const KernelTable* found = nullptr;
  for (const KernelTable& table : device.kernels)
    if (table.name() == name && (table.type() == type || (table.type() == alike && !found))) found = &table;
  return found;
}

}  // namespace chakra::device
