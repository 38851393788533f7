// Trace -> Trace: show sizes by the cells of a grid. Times, edges, kinds of operations and groups stay.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/edit/grid.h"
#include "chakra/trace/roles.h"
#include "chakra/trace/trace.h"

namespace chakra::edit {

/// How the sizes of a job are shown: the same for all ranks.
struct SizeHiding {
  Grid grid;
  int64_t width = 0;         ///< of the model; 0: unknown
  bool is_measured = false;  ///< FleetJob::is_measured of the job
  double growth = 1;         ///< of the bytes of communications of layers, where layers are hidden
  double pass_growth = 1;    ///< of activations, where stages are hidden
  double experts = 1;        ///< factor of the bytes of parameters of experts, where their number is hidden
};

/// Groups that a trace does not describe, such as slots of a class.
struct NamedGroups {
  trace::RolesByName roles;
  std::map<std::string, uint64_t> members;  ///< how many
};

/// Return whether the trace was recorded, with or without times.
bool is_measured(const trace::Trace& trace);
/// Add the sizes of a trace to a job of a fleet, whose `width` and `is_measured` are known. Cost: O(nodes log sizes).
void add_sizes(const trace::Trace& trace, const NamedGroups& groups, FleetJob& job);
/// Add the sizes of all classes that have ranks: the same as those of the ranks.
void add_sizes(const trace::ClassJob& classes, FleetJob& job);

/// What hiding sizes did. Sums over ranks by add().
struct HiddenSizes {
  int64_t sizes = 0;                         ///< of communications and of nodes without a duration
  int64_t kept_works = 0;                    ///< of those, computations
  int64_t works = 0;                         ///< nodes with a duration, whose operations and bytes were removed
  double bytes_before = 0, bytes_after = 0;  ///< of communications
  std::set<uint64_t> shown;                  ///< different sizes of communications in the result

  void add(HiddenSizes&& other);
};

/// Show the sizes of a trace by the cells of a grid:
///   - bytes of communications, and elements for each member of uneven ones. A size first becomes the size that a model
///     of the shown width would have (kQuantities), and then that of its cell;
///   - operations and bytes of computations. They are removed if the node has a duration, else shown by cells.
/// Sizes of collectives of parameters are those of layers, but for the least frequent sizes of a group and a type. Both
/// sides of a message and all members of a group get the same size, since only a size and its quantity decide. Shapes
/// are attributes and arguments, which hide() removes. `grows`: HiddenLayers::grows of each trace; empty: no
/// communication grows. Cost: O(nodes log sizes).
trace::Trace hide_sizes(const trace::Trace& trace, const NamedGroups& groups, const SizeHiding& hiding,
                        HiddenSizes& hidden, std::span<const uint8_t> grows = {});
/// Classes show the same sizes as their ranks. The groups of a class are those of its first rank.
trace::ClassJob hide_sizes(const trace::ClassJob& job, const SizeHiding& hiding, HiddenSizes& hidden,
                           std::span<const std::vector<uint8_t>> grows = {});

}  // namespace chakra::edit
