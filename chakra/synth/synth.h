// A fleet of jobs. Features are numbers that describe a job; select() chooses the few jobs that represent the fleet by
// their features. Generators of new jobs will join this room.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/synth/attributes.h"     // IWYU pragma: export
#include "chakra/synth/communication.h"  // IWYU pragma: export
#include "chakra/trace/roles.h"
#include "chakra/trace/trace.h"

namespace chakra::synth {

// ---- features ------------------------------------------------------------------------------------------------

inline constexpr size_t kDeciles = 9;

/// A feature of a job. The values of a feature are comparable between jobs; `meaning` says how.
struct FeatureRow {
  std::string name, meaning;
};
/// Return the features, in the order of the values. Each is dimensionless; logarithms have base 2.
const std::vector<FeatureRow>& features();

/// Sums up a job, trace by trace, for its features.
class JobFeatures {
 public:
  /// Add a trace that stands for `ranks` equal ranks. `roles`: as for communications(). Requires ranks > 0. Cost:
  /// O(nodes log nodes).
  void add(const trace::Trace& trace, int64_t ranks, const trace::RolesByName& roles = {});
  /// Return the values, in the order of features(). NaN: the job does not tell, such as the overlap of a job without
  /// times. Requires a trace.
  std::vector<double> finish() const;

 private:
  /// A mean over what has a value.
  struct Mean {
    double sum = 0, weight = 0;
    void add(double value, double by) {
      sum += value * by;
      weight += by;
    }
  };

  double ranks_ = 0, nodes_ = 0, ops_ = 0;  ///< like the arrays: sums over ranks
  std::array<double, kCommKinds.size()> counts_{}, bytes_{};
  std::array<double, trace::kRoles.size()> role_bytes_{};
  std::array<Mean, kDeciles> deciles_{};  ///< of log2 sizes
  Mean autocorrelation_, imbalance_;
  double comm_ps_ = 0, compute_ps_ = 0, hidden_ps_ = 0;
};

// ---- selection -----------------------------------------------------------------------------------------------

/// Points in the space of scaled features, column by column: at(point, feature) is values[feature * points + point].
struct Points {
  size_t points = 0;
  std::vector<float> values;

  size_t dimensions() const { return points ? values.size() / points : 0; }
  float at(size_t point, size_t feature) const { return values[feature * points + point]; }
};

/// How a feature became a dimension of Points: (value - middle) / scale.
struct Scale {
  double middle = 0, scale = 0;  ///< scale 0: all jobs have this value, or none has any: no dimension
  size_t unknown = 0;            ///< jobs without a value, which are placed in the middle
};
/// Scale features by the median and 1.4826 times the median absolute deviation; if that is 0, by 1.2533 times the mean
/// absolute deviation. Scaled values end at -10 and 10. `rows`: a row of features() per job. The dimensions are the
/// features with a scale.
struct ScaledFleet {
  Points points;
  std::vector<Scale> scales;  ///< of each feature
};
ScaledFleet scale(std::span<const std::vector<double>> rows);

enum class Method : uint8_t { medoids, facility };
inline constexpr std::array<std::string_view, 2> kMethodNames{"medoids", "facility"};

/// A row of the coverage of the fleet by the first `jobs` jobs of a greedy order.
struct Coverage {
  size_t jobs = 0;
  double covered = 0;        ///< share of the jobs within `radius` of a chosen one
  double mean_distance = 0;  ///< from a job to the nearest chosen one
};

struct Selection {
  std::vector<size_t> chosen;       ///< points, ascending
  std::vector<size_t> nearest;      ///< per point: its place in `chosen`
  std::vector<double> distance;     ///< per point: to that one
  std::vector<double> weights;      ///< per chosen point: sum 1
  std::vector<size_t> represented;  ///< per chosen point: number of points nearer to it than to the others
  std::vector<Coverage> coverage;   ///< of greedy selections with 1, 2, ... jobs
  double radius = 0;                ///< within which a chosen job covers a job: 10th percentile of the distances
  double sigma = 0;                 ///< of the similarity exp(-d^2 / (2 sigma^2)): median distance to the nearest job
  double covered = 0, mean_distance = 0;
  double difference = 0;         ///< of the weighted selection from the fleet: 1-Wasserstein, mean of the dimensions
  double random_difference = 0;  ///< the same of random selections of as many jobs, mean of 100
};

/// Choose `count` points that represent all points.
///   - medoids: the sum of distances to the nearest chosen point is small (FasterPAM of E. Schubert, P. Rousseeuw,
///     "Fast and eager k-medoids clustering", 2021, from a greedy start);
///   - facility: the sum of similarities to the nearest chosen point is at least 1 - 1/e of the largest possible
///     (lazy greedy; G. Nemhauser, L. Wolsey, M. Fisher, 1978).
/// Weights: the mean of the chosen points is near the mean of all, by non-negative least squares that prefer the shares
/// of represented points where the means leave a choice. The result depends on the points and their order alone.
/// Beyond 2,000 points, percentiles of distances are those of 2,000 evenly spaced points. Requires points, and a count
/// from 1 to their number. Errors: job.interrupted. Cost: O(points^2 dimensions) per pass, few passes; O(points count)
/// memory.
Result<Selection> select(const Points& points, size_t count, Method method);

/// Return the distance of two points.
double distance(const Points& points, size_t a, size_t b);
/// Return the two principal components of each point, for a figure: the directions of the largest spread. Cost:
/// O(points dimensions^2).
std::vector<std::array<double, 2>> plane(const Points& points);

}  // namespace chakra::synth
