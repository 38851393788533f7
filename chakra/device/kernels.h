// Measured kernels of a device: tables from a kernel's shape to its time. The time between
// measured shapes is interpolated: a plane through the nearest measured shapes, in
// logarithms of the shape, fits the logarithm of the time, less that of a base (constants
// over the roofline). docs/explanation/calibration.md explains the reasons and the accuracy.
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

/// Rows of matrices are read in pieces of this many bytes. Libraries have slower kernels for rows that are not a whole
/// number of pieces (NVIDIA, "Matrix Multiplication Background User's Guide": multiples of 16 bytes are fastest).
inline constexpr double kPieceBytes = 16;

/// The accuracy of a fit: the error of held-out times against a fit to
/// the rest. An error is exp(mean of abs(ln(predicted / measured))) - 1.
struct KernelError {
  double random = 0;     ///< a third of the shapes, chosen at random, held out
  double block = 0;      ///< all shapes with the same value of a size held out: the mean over values
  double worst = 0;      ///< the largest of these
  double roofline = 0;   ///< of the data sheet, for the same third
  std::string worst_of;  ///< "n = 65536"
  /// Parameters of the error of one shape (KernelTable::error_of): the least spread, and factors on
  /// the spread of shapes that are not extrapolated, or extrapolated because all others are far,
  /// because a size was not measured, or because a size is beyond all measured ones. 0: unknown.
  double spread = 0, near = 0, apart = 0, far = 0, beyond = 0;
};

/// By KernelClass, the median of measured / roofline of a table's shapes, of the
/// latency class the median of seconds. 0: too few shapes are of the class.
using ClassMedians = std::array<double, 3>;

/// A shape and its time.
struct MeasuredKernel {
  Sizes sizes{};
  double seconds = 0;
};

/// The parts of a base: ops_time * ops / peak, bytes_time * bytes / memory bandwidth of each tensor, fixed,
/// step * steps. The parts add up, or overlap: the base is then between the longest part and the sum (join_parts).
struct KernelConstants {
  double ops_time = 1;
  Tensors bytes_time{1, 1, 1};
  double fixed_s = 0, step_s = 0;
  bool overlap = false;
};
inline constexpr size_t kBaseParts = kMostTensors + 3;
using BaseParts = std::array<double, kBaseParts>;  ///< operations, tensors, fixed, steps
/// Return the sum of the parts; with overlap (sum of part^1.5)^(2/3).
double join_parts(const BaseParts& parts, bool overlap);

/// The time of a shape by constants alone.
class KernelBase {
 public:
  /// Requires a kind.
  KernelBase(const Device& device, const KernelKind* kind, trace::DType type, const KernelConstants& constants);
  double seconds(const Sizes& sizes) const;
  /// Return the larger one of operations / peak and bytes / bandwidth.
  double roofline(const Sizes& sizes) const;

 private:
  const KernelKind* kind_;
  double roofline_per_op_ = 0, roofline_per_element_ = 0;
  double per_op_;
  Tensors per_element_;
  double fixed_, per_step_;
  bool overlap_;
};

/// The measured times of a kernel and element type on a device.
class KernelTable {
 public:
  /// `cells`: the sizes and seconds of a shape, then of the next shape. Requires: one
  /// shape or more, sizes and times above 0, a kernel of find_kernel_kind, a base above 0.
  KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
              std::vector<double> cells);
  KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
              const std::vector<MeasuredKernel>& measured);
  /// Construct a table whose cells are read on first use. If `read` returns
  /// no cells, the constants alone give the time, and the error is unknown.
  KernelTable(const Device& device, std::string name, trace::DType type, const KernelConstants& constants,
              std::function<std::vector<double>()> read);

  struct Prediction {
    double seconds = 0;
    /// Farther than kFar from all measured shapes; or a size is outside of the measured ones; or a size
    /// was not measured and lies in a gap of more than kGap between measured ones; or `unaligned`.
    bool extrapolated = false;
    /// Device::unaligned_time is a factor: a row of memory ends inside of a piece, unlike all rows of measured shapes.
    bool unaligned = false;
    bool apart = false;   ///< extrapolated, but each size was measured or is in no gap
    bool beyond = false;  ///< extrapolated: a size is outside of the measured ones
    /// Of logarithms of times: how far the kClosest shapes are off their plane in the mean, the difference
    /// of the planes of kClosest and kNeighbours shapes here, and 0.3 of the step from the nearest shape.
    double spread = 0;
  };
  static constexpr double kFar = 0.5;         ///< octaves: the root of the sum of squares over the sizes
  static constexpr double kGap = 0.4;         ///< octaves between neighbouring values of a size
  static constexpr size_t kNeighbours = 20;   ///< for the interpolation of a time
  static constexpr size_t kClosest = 8;       ///< of these, for the error of the time
  static constexpr double kFlattening = 0.3;  ///< ridge, as a share of the neighbours' mean square distance
  /// Predict a time. Cost: O(measured shapes); in tables by ascending sizes only those with a first size nearby. The
  /// first prediction also makes the index, since a job may not use all tables of a file. Threads may share a table.
  Prediction predict(const Sizes& sizes) const;
  /// Return the error of a prediction, in the measure of KernelError::random: three of four predictions
  /// are within this error. If shapes cannot be distinguished, the error of all shapes. 0: unknown.
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
  std::optional<KernelError> error;     ///< absent: no shapes were held out
  std::optional<ClassMedians> classes;  ///< as the file states; absent: class_medians() reads all rows

 private:
  struct Index;                                              ///< the logarithms of the cells, for predictions
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
  double least_of_roofline(const Nearest& nearest) const;
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
  std::shared_ptr<Measured> measured_;  ///< shared by copies
};

/// ops / peak and bytes / bandwidth of a shape, in seconds.
struct RooflineParts {
  double ops_s = 0;
  Tensors tensors_s{};
  double bytes_s() const { return sum_of(tensors_s); }
};
RooflineParts roofline_parts(const Device& device, const KernelKind& kind, trace::DType type, const Sizes& sizes);

/// Return the table of a kernel and element type, or of the other one of bf16 and f16; null if the device has no table.
const KernelTable* find_table(const Device& device, std::string_view name, trace::DType type);

}  // namespace chakra::device
