// Calibration: fit measured times, write a file that predicts other times, and estimate the error of predictions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/device/device.h"
#include "chakra/net/net.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"
#include "chakra/view/view.h"

namespace chakra::calibrate {

// ---- devices -------------------------------------------------------------------------------------------------------

struct DeviceOptions {
  std::vector<std::string> files;         ///< CSV, docs/reference/formats/measured_kernels.md
  std::string device;                     ///< a name or a device file; "": the device that the files name
  std::vector<trace::Trace> traces = {};  ///< linked: measured nodes with a kernel's shape also count
};

inline constexpr double kUndetermined = 0.5;  ///< a standard error, as a share of the constant
/// The fit of a kernel's table, and its accuracy.
struct KernelFit {
  int64_t rows = 0;                  ///< measured
  device::KernelConstants accuracy;  ///< one standard error of each constant, as a share of the constant
  double extrapolated = 0;           ///< share of the blocks' shapes that is marked as extrapolated
  double random_95 = 0;              ///< error that 95 % of the random third do not exceed
};

struct FittedDevice {
  device::Device device;        ///< with kernels
  std::vector<KernelFit> fits;  ///< of Device::kernels, in the same order
  std::string output = {};      ///< the file that the caller wrote, for the text
  Findings findings;
};

/// Fit a table for each kernel and element type in the files, and judge the table on held-out shapes.
/// Findings: calibrate.device.other (rows name another device), calibrate.device.skipped (rows),
/// calibrate.device.undetermined (constants), calibrate.device.few (too few shapes to judge). Errors:
/// calibrate.device.unknown, calibrate.device.several, calibrate.device.rows, calibrate.csv.*, and
/// those of device::find_or_load and read_file. Cost: O(rows^2) of a kernel; 10,000 rows in 3 s.
Result<FittedDevice> fit_device(const DeviceOptions& options);

view::Text text_of(const FittedDevice& fitted);
/// Return the answer: shares instead of the percents in the text, null if a kernel is not judged.
answer::Answer answer_of(const FittedDevice& fitted);
/// Return the device file, in the form of docs/reference/formats/device.md.
std::string to_device_file(const device::Device& device);

// ---- networks ------------------------------------------------------------------------------------------------------

struct NetworkOptions {
  std::vector<std::string> files;  ///< nccl-tests logs and CSV, docs/reference/formats/measured_collectives.md
  std::vector<std::string> judge;  ///< files of the same forms, which are held out from the fit
  std::vector<std::string> where;  ///< "COLUMN=VALUE": rows to use, in tables that have the column
  std::string operation;           ///< of logs that do not name the operation: "all_reduce"
  /// Size of the network to write: ranks; or GPUs of a node, and nodes. Empty: the largest measured size.
  std::vector<int64_t> npus;
};

/// One measured time: the median of all rows with the same other values.
struct CollectiveSample {
  std::string operation;  ///< as in network files: "all_reduce"; or "send_recv": each rank to the next one
  int64_t ranks = 0;      ///< of all nodes
  uint64_t bytes = 0;     ///< of the whole buffer of a member, as nccl-tests counts
  double ns = 0;
  int64_t nodes = 1;  ///< with as many ranks each

  auto operator<=>(const CollectiveSample&) const = default;
};
/// Read the samples of files, ascending. Findings: calibrate.network.skipped (operations and rows without a form),
/// calibrate.network.spread (how far equal rows differ), calibrate.network.outlying (sources that are far off).
/// Errors: calibrate.network.columns, .row, .operation, .where, and those of read_file. Cost: O(rows log rows).
Result<std::vector<CollectiveSample>> read_collectives(const NetworkOptions& options, Findings& findings);

/// A parameter and its standard error; `determined`: the value is more than twice the error.
struct Parameter {
  double value = 0, error = 0;
  bool determined = false;
};
struct ProtocolParameters {
  Parameter op_ns, step_ns, wire_ns_per_byte, local_ns_per_byte;
};
/// The error of predictions: exp(mean |ln(predicted / measured)|) - 1, and the worst error likewise, as shares.
struct FitError {
  double mean = 0, worst = 0;
  int64_t points = 0;
  double most_of_95 = 0;  ///< error that 95 % of the points do not exceed; 0: unknown
};
struct FittedOperation {
  net::CollectiveFit fit;                      ///< protocols are named by size: small, middle, large
  std::vector<ProtocolParameters> parameters;  ///< of the protocols
  FitError held_out;                           ///< each eighth of the sizes, predicted from the others
};
/// Fit the operations on one node, in the order of net::kCollectiveForms. The parameters minimise
/// the sum of squares of relative errors and are not negative. The number of protocols, at most
/// four, is the one that predicts held-out sizes best. Numbers of ranks with less than three
/// sizes are left out, with a finding, if other numbers have more. Cost: O(operations * sizes^2).
std::vector<FittedOperation> fit_collectives(const std::vector<CollectiveSample>& samples, Findings& findings);
/// Return |ln(predicted / measured)| of each sample that a fit covers.
std::vector<double> offs(const std::vector<net::CollectiveFit>& fits, const std::vector<CollectiveSample>& samples);
/// Return the error from values of |ln(predicted / measured)|.
FitError error_of(std::vector<double> offs);
/// Return the error of fits on samples. Samples without a fit do not count.
FitError judge(const std::vector<net::CollectiveFit>& fits, const std::vector<CollectiveSample>& samples);

struct FittedNetwork {
  std::vector<FittedOperation> operations;
  std::string text;     ///< the network file
  int64_t samples = 0;  ///< measured times: medians of equal rows
  result::Table table;  ///< the parameters
  FitError held_out;    ///< of all operations
  /// Across nodes: measurements with more ranks per node, predicted from the fewest and from one node.
  FitError scale;
  /// Across nodes, for operations without a measurement there: rate of a rail, and time of a step by NCCL's model. 0:
  /// no such operation.
  double rail_bytes_per_s = 0, node_step_ns = 0;
  FitError judged;             ///< on NetworkOptions::judge
  result::Table judged_table;  ///< by operation and ranks
  Findings findings;
};
/// Fit a network. Errors: calibrate.network.few (no samples to fit), and those of read_collectives().
Result<FittedNetwork> fit_network(const NetworkOptions& options);
answer::Answer answer_of(const FittedNetwork& fitted);
view::Text text_of(const FittedNetwork& fitted);

}  // namespace chakra::calibrate
