// Measured kernels of a device: tables from a kernel's shape to its time. Between measured shapes the time is
// interpolated: its logarithm, less that of a base (constants over the roofline), is fitted by a plane through
// the nearest measured shapes, in logarithms of the shape. docs/explanation/calibration.md says why, and how good it
// is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"
#include "chakra/work/work.h"

namespace chakra::device {

struct Device;

using work::bytes_of;
using work::find_kernel_kind;
using work::KernelKind;
using work::kMostSizes;
using work::kMostTensors;
using work::Sizes;
using work::sum_of;
using work::Tensors;

/// Rows of matrices are read in pieces of that many bytes. Libraries have slower kernels for rows that are not a whole
/// number of pieces (NVIDIA, "Matrix Multiplication Background User's Guide": multiples of 16 bytes are fastest).
inline constexpr double kPieceBytes = 16;

/// What the fit was found to be: times that were kept out while the rest was fitted, against the fit. An error is
/// exp(mean of abs(ln(predicted / measured))) - 1.
struct KernelError {
  double random = 0;     ///< a third of the shapes, chosen at random, kept out
  double block = 0;      ///< all shapes with the same value of a size kept out: the mean over values
  double worst = 0;      ///< the largest of these
  double roofline = 0;   ///< the data sheet's, for the same third
  std::string worst_of;  ///< "n = 65536"
  /// What tells how far off one shape is (KernelTable::error_of): the least spread, and times the spread of shapes that
  /// are not extrapolated, that are because all others are far, because a size was not measured, and because it is
  /// beyond all that was. 0: not known.
  double spread = 0, near = 0, apart = 0, far = 0, beyond = 0;
};

/// A shape and how long it took.
struct MeasuredKernel {
  Sizes sizes{};
  double seconds = 0;
};

/// The parts of a base: ops_time * ops / peak, bytes_time * bytes / memory bandwidth of each tensor, fixed, step *
/// steps. They add up, or overlap: then the base is between the longest of them and their sum (join_parts).
struct KernelConstants {
  double ops_time = 1;
  Tensors bytes_time{1, 1, 1};
  double fixed_s = 0, step_s = 0;
  bool overlap = false;
};
inline constexpr size_t kBaseParts = kMostTensors + 3;
using BaseParts = std::array<double, kBaseParts>;  ///< operations, tensors, fixed, steps
/// Their sum; where they overlap (sum of part^1.5)^(2/3).
double join_parts(const BaseParts& parts, bool overlap);

/// What a shape takes by constants alone.
class KernelBase {
 public:
  /// Requires a kind.
  KernelBase(const Device& device, const KernelKind* kind, trace::DType type, const KernelConstants& constants);
  double seconds(const Sizes& sizes) const;

 private:
  const KernelKind* kind_;
  double per_op_;
  Tensors per_element_;
  double fixed_, per_step_;
  bool overlap_;
};

/// The measured times of a kernel and element type on a device.
class KernelTable {
 public:
  /// cells: the sizes and seconds of a shape, then those of the next. Requires: one shape or more, sizes and times
  /// above 0, a kernel of find_kernel_kind, a base above 0.
  KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
              std::vector<double> cells);
  KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
              const std::vector<MeasuredKernel>& measured);
  /// With cells that are read when they are first asked for. Where `read` gives none, the constants alone say a time,
  /// and its error is not known.
  KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
              std::function<std::vector<double>()> read);

  struct Prediction {
    double seconds = 0;
    /// Farther than kFar from all that was measured; or a size is outside of the measured ones, or was not measured
    /// itself and is in a gap of more than kGap between those that were; or `unaligned`.
    bool extrapolated = false;
    /// Device::unaligned_time is a factor: a row of memory ends inside of a piece, and none of a measured shape does.
    bool unaligned = false;
    bool apart = false;   ///< extrapolated, but each size was measured or is in no gap
    bool beyond = false;  ///< extrapolated: a size is outside of the measured ones
    double spread = 0;    ///< of the measured shapes around it about their plane: mean absolute value of logarithms
  };
  static constexpr double kFar = 0.5;         ///< octaves: the root of the sum of squares over the sizes
  static constexpr double kGap = 0.4;         ///< octaves between neighbouring values of a size
  static constexpr size_t kNeighbours = 20;   ///< that a time is interpolated from
  static constexpr double kFlattening = 0.3;  ///< ridge, as a share of the neighbours' mean square distance
  /// Cost: O(measured shapes); for tables by ascending sizes those with a first size nearby. The first prediction also
  /// makes the index: files have tables that a job does not use. Threads may share a table.
  Prediction predict(const Sizes& sizes) const;
  /// How far a prediction is off, as KernelError::random: what three of four predictions are not beyond. Where nothing
  /// tells one shape from another, the error of all. 0: not known.
  double error_of(const Prediction& prediction) const;

  const std::string& name() const { return name_; }
  trace::DType type() const { return type_; }
  const KernelKind& kind() const { return *kind_; }
  const KernelConstants& constants() const { return constants_; }
  std::span<const double> cells() const;  ///< the sizes and seconds of each row
  size_t row_count() const { return cells().size() / (size_ + 1); }
  std::vector<MeasuredKernel> measured() const;
  std::pair<Sizes, Sizes> range() const;  ///< the least and the most of each size

  std::string source;
  std::optional<KernelError> error;  ///< none: nothing was kept out

 private:
  struct Index;                                              ///< what predictions need of the cells, in logarithms
  struct Measured;                                           ///< the cells and their index
  using Nearest = std::vector<std::pair<double, uint32_t>>;  ///< squared distances and rows, ascending

  std::span<const double> row(size_t row) const { return cells().subspan(row * (size_ + 1), size_ + 1); }
  Sizes sizes_of(size_t row) const;
  bool is_whole(size_t size, double value) const;  ///< no row of memory of that length ends inside of a piece
  bool is_whole(const Sizes& sizes) const;
  Index make_index() const;
  const Index& index() const;
  Nearest nearest(const Index& index, const Sizes& at) const;
  struct Interpolated {
    double rest, spread;  ///< ln(measured / base) at a place, and Prediction::spread
  };
  Interpolated interpolate(const Index& index, const Sizes& at, const Nearest& nearest) const;

  std::string name_;
  trace::DType type_;
  const KernelKind* kind_;
  size_t size_;  ///< kind_->size()
  KernelConstants constants_;
  KernelBase base_;
  struct {
    double element_bytes, time;  ///< time: Device::unaligned_time
  } pieces_;
  std::shared_ptr<Measured> measured_;  ///< copies share it
};

/// ops / peak and bytes / bandwidth of a shape, in seconds.
struct RooflineParts {
  double ops_s = 0;
  Tensors tensors_s{};
  double bytes_s() const { return sum_of(tensors_s); }
};
RooflineParts roofline_parts(const Device& device, const KernelKind& kind, trace::DType type, const Sizes& sizes);

/// The table of a kernel and element type, or of the other of bf16 and f16; null where the device has none.
const KernelTable* find_table(const Device& device, std::string_view name, trace::DType type);

}  // namespace chakra::device
