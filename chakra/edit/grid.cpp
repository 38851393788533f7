#include "chakra/edit/grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace chakra::edit {

// `edit.grid.few` (2): the fleet has too few jobs, or too few different widths, for a cell

namespace {

constexpr double kScalars = 64;  ///< bytes or operations
constexpr uint64_t kSmallShown = 1 << 15;
constexpr int kMantissa = 6;  ///< bits of a shown size below the highest one: its parts for ranks are whole

/// A value of a fleet, as it would be shown without cells, and the original.
struct Value {
  double scaled = 0;
  uint64_t original = 0;
  size_t job = 0;
};

uint64_t rounded(double value) {
  const auto whole = static_cast<uint64_t>(std::llround(value));
  const int drop = static_cast<int>(std::bit_width(whole)) - 1 - kMantissa;
  return drop > 0 ? whole >> drop << drop : whole;
}

/// Widths of published models. `shown` is that of the most models, so that the copies of most jobs change little.
constexpr auto kWidths = std::to_array<Cell>({{1, 448, 384},
                                              {512, 1024, 768},
                                              {1152, 1792, 1280},
                                              {2048, 2816, 2048},
                                              {2880, 3840, 3072},
                                              {4096, 5376, 4096},
                                              {5632, 7680, 6144},
                                              {8192, 12288, 8192},
                                              {14336, 25600, 16384}});

/// Numbers of layers of published models. A copy has the least number of its cell; `shown` is a middle one, by which
/// communications grow.
constexpr auto kLayers = std::to_array<Cell>(
    {{4, 11, 6}, {12, 23, 16}, {24, 31, 28}, {32, 43, 36}, {44, 60, 48}, {61, 87, 72}, {88, 126, 96}});

/// Numbers of stages of pipelines. A copy has one fewer than the least number of its cell; `shown` is a middle one.
constexpr auto kStages = std::to_array<Cell>({{2, 6, 4}, {7, 14, 8}, {15, 128, 16}});

/// Numbers of experts of a layer on each rank. The group of expert parallelism stays, and its size divides the number
/// of experts, so that a cell stands for the multiples of the size.
constexpr auto kExperts = std::to_array<Cell>({{1, 8, 4}, {9, 64, 16}, {65, 512, 128}});

/// Cells of at least kLeastJobs jobs, `least` values and 1/bins octaves. Values that are left over at the end
/// belong to the last cell. Empty if there is not enough for one.
Cells cells_of(std::vector<Value> values, double octaves, size_t least = kLeastValues) {
  std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return a.scaled < b.scaled; });
  Cells cells;
  std::set<size_t> jobs;
  std::set<uint64_t> originals;
  size_t begin = 0;
  const auto cell = [&](size_t end) {  // the middle value is shown: values of the cell change least
    return Cell{values[begin].scaled, values[end - 1].scaled, values[begin + (end - begin) / 2].scaled};
  };
  const auto is_whole = [&](size_t end) {
    return jobs.size() >= kLeastJobs && originals.size() >= least &&
           std::log2(values[end - 1].scaled / values[begin].scaled) >= octaves;
  };
  size_t last = 0;  // where the last cell begins
  for (size_t i = 0; i < values.size(); ++i) {
    jobs.insert(values[i].job);
    originals.insert(values[i].original);
    const bool last_of_value = i + 1 == values.size() || values[i + 1].scaled > values[i].scaled;
    if (!last_of_value || !is_whole(i + 1)) continue;
    cells.push_back(cell(i + 1));
    last = std::exchange(begin, i + 1);
    jobs.clear();
    originals.clear();
  }
  if (begin == values.size()) return cells;
  octaves = 0;  // values that lie near together can be a cell of their own
  if (cells.empty() && !is_whole(values.size())) return cells;
  if (!cells.empty()) begin = last, cells.pop_back();
  cells.push_back(cell(values.size()));
  return cells;
}

}  // namespace

const Cell& cell_of(const Cells& cells, double value) {
  CHAKRA_ASSERT(!cells.empty() && value > 0);
  const auto above =
      std::lower_bound(cells.begin(), cells.end(), value, [](const Cell& c, double v) { return c.high < v; });
  if (above == cells.end()) return cells.back();
  if (above == cells.begin() || value >= above->low) return *above;
  const Cell& below = *(above - 1);
  return value / below.high < above->low / value ? below : *above;
}

const Cell& layer_cell_of(const Cells& cells, int64_t number) {
  CHAKRA_ASSERT(!cells.empty() && number > 0);
  const auto above = std::upper_bound(cells.begin(), cells.end(), static_cast<double>(number),
                                      [](double v, const Cell& c) { return v < c.low; });
  return above == cells.begin() ? cells.front() : *std::prev(above);
}

double shown_width(const Grid& grid, int64_t width) {
  return width > 0 && !grid.widths.empty() ? cell_of(grid.widths, static_cast<double>(width)).shown : 0;
}

double scale(const Grid& grid, Quantity quantity, int64_t width) {
  const double shown = shown_width(grid, width);
  return shown > 0 ? std::pow(shown / static_cast<double>(width), row_of(quantity).power) : 1;
}

uint64_t shown(const Grid& grid, Quantity quantity, double value) {
  if (value <= kScalars) return static_cast<uint64_t>(std::llround(value));
  const Cells& cells = grid.sizes[static_cast<size_t>(quantity)];
  if (!cells.empty()) return rounded(cell_of(cells, value).shown);
  const double bins = row_of(quantity).bins;
  if (bins == 0) return kSmallShown;
  return rounded(std::exp2(std::round(std::log2(value) * bins) / bins));
}

Grid shipped_grid() {
  Grid grid;
  grid.widths.assign(kWidths.begin(), kWidths.end());
  grid.layers.assign(kLayers.begin(), kLayers.end());
  grid.layers_of_stage = grid.layers;
  grid.stages.assign(kStages.begin(), kStages.end());
  grid.experts.assign(kExperts.begin(), kExperts.end());
  return grid;
}

Result<Grid> grid_of(std::span<const FleetJob> fleet) {
  Grid grid;
  std::vector<Value> widths;
  for (size_t job = 0; job < fleet.size(); ++job)
    if (fleet[job].width > 0)
      widths.push_back({static_cast<double>(fleet[job].width), static_cast<uint64_t>(fleet[job].width), job});
  const size_t known = widths.size();
  grid.widths = cells_of(std::move(widths), 0);
  if (grid.widths.empty())
    return fail(Code::usage, "edit.grid.few",
                fmt::format("{} of {} jobs show a width; a cell of the grid needs {} jobs with {} different widths",
                            known, fleet.size(), kLeastJobs, kLeastValues));
  const auto cells_of_numbers = [&](int64_t FleetJob::*number, int64_t least) {
    std::vector<Value> values;
    for (size_t job = 0; job < fleet.size(); ++job)
      if (const int64_t is = fleet[job].*number; is >= least)
        values.push_back({static_cast<double>(is), static_cast<uint64_t>(is), job});
    return cells_of(std::move(values), 0, kLeastLayers);
  };
  grid.layers = cells_of_numbers(&FleetJob::layers, 1);
  grid.layers_of_stage = cells_of_numbers(&FleetJob::layers_of_stage, 1);
  grid.stages = cells_of_numbers(&FleetJob::stages, 2);
  grid.experts = cells_of_numbers(&FleetJob::experts, 1);
  for (size_t q = 0; q < kQuantities.size(); ++q) {
    std::vector<Value> values;
    for (size_t job = 0; job < fleet.size(); ++job)
      for (const uint64_t size : fleet[job].sizes[q])
        if (static_cast<double>(size) > kScalars)
          values.push_back(
              {static_cast<double>(size) * scale(grid, static_cast<Quantity>(q), fleet[job].width), size, job});
    grid.sizes[q] = cells_of(std::move(values), kQuantities[q].bins > 0 ? 1 / kQuantities[q].bins : 0);
  }
  return grid;
}

}  // namespace chakra::edit
