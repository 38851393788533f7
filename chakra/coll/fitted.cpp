// Collectives whose times were measured.
#include <algorithm>

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

/// Members that differ in one dimension, or that are as many of each of several nodes (dimension 0 inside them,
/// dimension 1 between them); else none.
std::optional<net::FitQuery> query_of(const Place& place) {
  const auto& dimensions = place.fabric->dimensions;
  std::vector<uint32_t> differ;
  int64_t stride = 1;
  for (uint32_t d = 0; d < dimensions.size(); ++d) {
    const int64_t n = dimensions[d].ranks;
    if (std::any_of(place.ranks.begin(), place.ranks.end(),
                    [&](int64_t rank) { return rank / stride % n != place.ranks[0] / stride % n; }))
      differ.push_back(d);
    stride *= n;
  }
  if (differ.size() == 1) return net::FitQuery{differ[0], place.members(), 1, false};
  if (differ != std::vector<uint32_t>{0, 1}) return std::nullopt;
  std::vector<int64_t> of_node(static_cast<size_t>(dimensions[1].ranks), 0);
  for (const int64_t rank : place.ranks)
    ++of_node[static_cast<size_t>(rank / dimensions[0].ranks % dimensions[1].ranks)];
  std::erase(of_node, 0);
  if (std::any_of(of_node.begin(), of_node.end(), [&](int64_t n) { return n != of_node[0]; })) return std::nullopt;
  return net::FitQuery{0, of_node[0], static_cast<int64_t>(of_node.size()), true};
}

}  // namespace

std::optional<net::FittedTime> fitted_time(const Operation& op, const Place& place) {
  const std::string_view operation = fitted_name(op.type);
  if (place.fabric->fits.empty() || operation.empty() || !op.splits.empty()) return std::nullopt;
  const std::optional<net::FitQuery> query = query_of(place);
  if (!query) return std::nullopt;
  uint64_t bytes = op.bytes;
  if (op.type == trace::CommType::all_gather && __builtin_mul_overflow(bytes, place.members(), &bytes))
    bytes = UINT64_MAX;
  const std::vector<net::CollectiveFit>& fits = place.fabric->fits;
  const auto known = net::fitted_time(fits, operation, *query, bytes);
  if (known || query->across || query->dimension != 1) return known;
  return net::fitted_time(fits, operation, {0, 1, query->per_node, true}, bytes);  // one member of each node
}

}  // namespace chakra::coll
