// Which layer each node of a trace belongs to. Inside edit.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "chakra/edit/runs.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// The place of a node in a run of layers.
struct Place {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t run = kNone, part = 0;
  uint32_t at = 0;  ///< the operation of the part: itself, or the one that the node belongs to
  bool is_operation = false;
  explicit operator bool() const { return run != kNone; }
};

/// The layers of a trace. The trace must outlive this object.
class Layers {
 public:
  explicit Layers(const trace::Trace& t);

  size_t count() const { return found_.layers; }
  std::span<const Run> runs() const { return found_.runs; }
  const Place& place(trace::NodeId n) const { return places_[n]; }
  Place& place(trace::NodeId n) { return places_[n]; }
  trace::NodeId operation(uint32_t run, size_t part, size_t at) const {
    const Run& of = found_.runs[run];
    return sequences_[of.lane][of.begin + part * of.period + at];
  }
  /// A number that is equal for equal operations of a micro-batch.
  uint32_t kind_of(trace::NodeId n);

 private:
  uint32_t micro_batch_of(trace::NodeId n) const;
  /// A message of a pipeline, which is between layers. Layers have messages where rings exchange keys and values.
  bool is_message(trace::NodeId n) const;
  bool is_on_thread(trace::NodeId n) const;
  bool is_operation(trace::NodeId n) const;
  void set_sequences();

  /// The text without digits: "layer3.norm" and "layer12.norm" are equal.
  uint32_t stem_of(StringId name);

  std::vector<std::vector<uint32_t>> kinds_of(std::span<const std::vector<trace::NodeId>> sequences);

  /// Operations outside of layers that come once for each tensor of a layer, with others between them: copies of
  /// gradients from buckets. Each operation has a separate sequence.
  void place_scattered();

  void place_operations(uint32_t first);
  /// The operation that a node belongs to, if it says so.
  std::optional<Place> owner(trace::NodeId n) const;
  Place beside(trace::NodeId n) const {
    Place place = places_[n];
    place.is_operation = false;
    return place;
  }
  /// Gaps, calls and pieces on a thread belong to the operation before them.
  void place_on_threads();
  void place_others();

  const trace::Trace& t_;
  StringId micro_batch_;  ///< the name of the attribute; 0: absent
  bool has_ring_;         ///< of context parallelism
  uint32_t once_ = 0;     ///< operations outside of layers
  bool has_threads_ = false;
  std::vector<std::vector<trace::NodeId>> sequences_;
  LayerRuns found_;
  std::vector<Place> places_;
  std::vector<uint32_t> kind_;   ///< by node; unknown until asked for
  std::vector<uint32_t> stems_;  ///< by name, likewise
  absl::flat_hash_map<std::string, uint32_t> stem_numbers_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> kinds_;
};

}  // namespace chakra::edit
