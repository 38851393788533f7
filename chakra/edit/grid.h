// The grid that hides sizes: a size of a shared job is the value of a cell, and the cell stands for the sizes of
// several jobs. The grid comes from a fleet of jobs, or is the one that this program ships.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::edit {

/// What a size measures.
enum class Quantity : uint8_t { activations, layers, parameters, buckets, small, work };
struct QuantityRow {
  std::string_view name, meaning;
  double bins = 0;   ///< least width of a cell: an octave has this many; 0: all sizes are in one cell
  double power = 0;  ///< of the width of the model in such sizes
};
inline constexpr std::array<QuantityRow, 6> kQuantities{{
    {"activations", "bytes that grow with the batch: of tensor, context and expert parallelism, and of messages", 8, 1},
    {"layers", "bytes of the parameters of a layer, or of their gradients", 2, 2},
    {"parameters", "bytes of other parameters: embeddings, and outputs of words", 2, 1},
    {"buckets", "bytes of measured all-reduces of gradients, which frameworks keep near a limit", 2, 0},
    {"small", "bytes of communications below 200 times the width: losses and norms", 0, 0},
    {"work", "operations and bytes of nodes that have no duration", 2, 1},
}};
constexpr const QuantityRow& row_of(Quantity quantity) { return kQuantities[static_cast<size_t>(quantity)]; }

/// The least contents of a cell: that many jobs of the fleet, with that many different values.
inline constexpr size_t kLeastJobs = 5, kLeastValues = 4;
/// The least number of different numbers of layers, stages or experts in a cell.
inline constexpr size_t kLeastLayers = 5;

/// Values from `low` to `high` become `shown`.
struct Cell {
  double low = 0, high = 0, shown = 0;
};
/// Ascending. A value between two cells belongs to the nearer one, by ratio; values beyond the ends to the last cell.
using Cells = std::vector<Cell>;

struct Grid {
  Cells widths;                                 ///< of models
  Cells layers;                                 ///< of models; empty: the fleet shows too few
  Cells layers_of_stage;                        ///< of pipelines whose stages are hidden; likewise
  Cells stages;                                 ///< of pipelines; likewise
  Cells experts;                                ///< of a layer, on each rank; likewise
  std::array<Cells, kQuantities.size()> sizes;  ///< by Quantity, of sizes after scale(); empty: `bins` cells an octave
};

/// Return the cell of a value. Requires cells and value > 0. Cost: O(log cells).
const Cell& cell_of(const Cells& cells, double value);
/// Return the width that the grid shows for a width; 0 for an unknown width, which is 0.
double shown_width(const Grid& grid, int64_t width);
/// Return the factor by which a size changes with the width of the model: (shown width / width) to the power of the
/// quantity; 1 for width 0.
double scale(const Grid& grid, Quantity quantity, int64_t width);
/// Return the size that stands for `value`, which is scaled. Values up to 64 stay: they are scalars, not tensors.
uint64_t shown(const Grid& grid, Quantity quantity, double value);

/// Return the grid that this program ships: cells of widths of published models, and cells of kQuantities for sizes.
Grid shipped_grid();

/// A job of a fleet.
struct FleetJob {
  bool is_measured = false;                                  ///< a rank has measured times
  int64_t width = 0;                                         ///< 0: unknown
  int64_t layers = 0;                                        ///< 0: unknown
  int64_t layers_of_stage = 0;                               ///< of a pipeline; likewise
  int64_t stages = 0;                                        ///< 0: unknown; 1: no pipeline
  int64_t experts = 0;                                       ///< of a layer, on each rank; 0: unknown
  std::array<std::set<uint64_t>, kQuantities.size()> sizes;  ///< by Quantity
};
/// Make the grid of a fleet: the smallest cells that hold at least kLeastJobs jobs and kLeastValues different values.
/// Errors: edit.grid.few (the fleet has fewer jobs or widths). Cost: O(sizes log sizes).
Result<Grid> grid_of(std::span<const FleetJob> fleet);

/// Return the cell of a number of layers, stages or experts: the last one that does not begin above it. Requires cells
/// and number > 0.
const Cell& layer_cell_of(const Cells& cells, int64_t number);

}  // namespace chakra::edit
