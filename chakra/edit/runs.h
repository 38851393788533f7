// Equal parts that follow each other in sequences of operations: the layers of a model. Inside edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chakra::edit {

/// `count` equal parts of `period` values, from `begin` on in the sequence `lane`.
struct Run {
  size_t lane = 0, begin = 0, period = 0, count = 0;
  size_t end() const { return begin + period * count; }
};

/// The runs of the layers of a trace.
struct LayerRuns {
  size_t layers = 0;      ///< parts of the longest runs; 0: nothing repeats
  std::vector<Run> runs;  ///< disjoint, by lane and begin
};
/// The first and the last layer can differ from the others, in one pass or the other.
inline constexpr size_t kFewer = 2;

/// Find the layers in sequences of numbers that are equal for equal operations. Layers are the innermost equal parts
/// that fill a large share of the operations; micro-batches, which repeat around layers, are not layers. Cost:
/// O(values) for each of at most kMostPeriods periods that are tried.
LayerRuns find_layers(std::span<const std::vector<uint32_t>> lanes);
inline constexpr size_t kMostPeriods = 64;

/// Find runs of layers in sequences of one operation each, whose values are shapes: parts of at least three values that
/// differ. An equal part can have up to four layers, as where a bucket holds one and a half; it counts as that number
/// of parts.
std::vector<Run> find_runs(std::span<const std::vector<uint32_t>> lanes, size_t layers);

}  // namespace chakra::edit
