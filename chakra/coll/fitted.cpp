// Collectives whose times were measured.
#include "chakra/coll/coll.h"

namespace chakra::coll {
namespace {

/// As network files write it; empty for those that no fit is for.
std::string_view fitted_name(trace::CommType type) {
  switch (type) {
    case trace::CommType::all_reduce: return "all_reduce";
    case trace::CommType::reduce: return "reduce";
    case trace::CommType::all_gather: return "all_gather";
    case trace::CommType::broadcast: return "broadcast";
    case trace::CommType::all_to_all: return "all_to_all";
    case trace::CommType::reduce_scatter:
    case trace::CommType::reduce_scatter_block: return "reduce_scatter";
    default: return {};
  }
}

/// The one dimension in which members differ, if it is one.
std::optional<uint32_t> dimension_of(const Place& place) {
  std::optional<uint32_t> found;
  int64_t stride = 1;
  for (uint32_t d = 0; d < place.fabric->dimensions.size(); ++d) {
    const int64_t n = place.fabric->dimensions[d].ranks;
    for (const int64_t rank : place.ranks)
      if (rank / stride % n != place.ranks[0] / stride % n) {
        if (found && *found != d) return std::nullopt;
        found = d;
      }
    stride *= n;
  }
  return found;
}

}  // namespace

std::optional<net::FittedTime> fitted_time(const Operation& op, const Place& place) {
  const std::string_view operation = fitted_name(op.type);
  if (place.fabric->fits.empty() || operation.empty() || !op.splits.empty()) return std::nullopt;
  const std::optional<uint32_t> dimension = dimension_of(place);
  if (!dimension) return std::nullopt;
  uint64_t bytes = op.bytes;
  if (op.type == trace::CommType::all_gather && __builtin_mul_overflow(bytes, place.members(), &bytes))
    bytes = UINT64_MAX;
  return net::fitted_time(place.fabric->fits, operation, *dimension, place.members(), bytes);
}

}  // namespace chakra::coll
