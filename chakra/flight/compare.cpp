// Whether the members of a collective call the same: its kind, then its sizes, then its element types.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "chakra/flight/calls.h"

namespace chakra::flight {
namespace {

/// What has to be equal on all members.
struct OperationRow {
  std::string_view name, family;
  bool in = false, out = false;
  bool swaps = false;  ///< the inputs of all members together are the outputs of all members
};
/// By PyTorch's names of them; one that is missing here is compared by its name alone.
constexpr OperationRow kOperations[] = {
    {"all_reduce", "all_reduce", true, true},
    {"allreduce_coalesced", "all_reduce", true, true},
    {"broadcast", "broadcast", false, true},
    {"_broadcast_oop", "broadcast", false, true},
    {"reduce", "reduce", true, false},
    {"_reduce_oop", "reduce", true, false},
    {"all_gather", "all_gather", true, true},
    {"_all_gather_base", "all_gather", true, true},
    {"all_gather_single", "all_gather", true, true},
    {"all_gather_into_tensor_coalesced", "all_gather", true, true},
    {"reduce_scatter", "reduce_scatter", true, true},
    {"_reduce_scatter_base", "reduce_scatter", true, true},
    {"reduce_scatter_single", "reduce_scatter", true, true},
    {"reduce_scatter_tensor_coalesced", "reduce_scatter", true, true},
    {"gather", "gather", true, false},
    {"scatter", "scatter", false, true},
    {"all_to_all", "all_to_all", false, false, true},
    {"all_to_all_single", "all_to_all", false, false, true},
    {"all_to_all_v_single", "all_to_all", false, false, true},
};

OperationRow row_of(std::string_view name) {
  for (const OperationRow& row : kOperations)
    if (row.name == name) return row;
  return {name, name, false, false, false};
}

std::string types_of(const Tensors& tensors) {
  std::vector<std::string> types = tensors.dtypes;
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : "+") + type;
  return text;
}

/// Nearly all are, and need no words.
bool same(const Call& a, const Call& b) {
  const auto tensors = [](const Tensors& x, const Tensors& y) { return x.sizes == y.sizes && x.dtypes == y.dtypes; };
  return a.parts.size() == b.parts.size() &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), [&](const Entry* x, const Entry* y) {
           return x->operation == y->operation && !row_of(x->operation).swaps && tensors(x->in, y->in) &&
                  tensors(x->out, y->out);
         });
}

/// Who shows what, in the words of messages.
using Sides = std::map<std::string, std::vector<int64_t>>;

/// True if there is more than one side; the ranks outside of the largest, if it is larger than all others.
bool differ(const Sides& sides, Difference& difference, std::string_view tag) {
  if (sides.size() < 2) return false;
  size_t most = 0, ties = 0;
  for (const auto& [what, ranks] : sides) {
    if (ranks.size() > most) ties = 0;
    most = std::max(most, ranks.size());
    ties += ranks.size() == most;
  }
  difference = {tag, {}, {}};
  std::string others;
  for (const auto& [what, ranks] : sides) {
    const bool is_most = ties == 1 && ranks.size() == most;
    if (ties == 1 && !is_most) difference.ranks.insert(difference.ranks.end(), ranks.begin(), ranks.end());
    const std::string side = fmt::format("{} call{} {}", show_ranks(ranks), ranks.size() == 1 ? "s" : "", what);
    if (is_most) others = side;
    else difference.text += (difference.text.empty() ? "" : ", ") + side;
  }
  if (!others.empty()) difference.text += ", " + others;
  return true;
}

/// All-to-all: sums over all members.
bool sums_differ(const JobGroup& group, const std::vector<Call>& calls, size_t part, Difference& difference) {
  if (!group.known || calls.size() != group.members.size()) return false;
  uint64_t in = 0, out = 0;
  for (const Call& call : calls) {
    in = add_bytes(in, call.parts[part]->in.elements());
    out = add_bytes(out, call.parts[part]->out.elements());
  }
  if (in == out || in == 0 || out == 0) return false;
  difference = {"flight.hang.size",
                {},
                fmt::format("its members send {} elements but expect {}", show_count(static_cast<int64_t>(in)),
                            show_count(static_cast<int64_t>(out)))};
  return true;
}

bool part_differs(const std::vector<Dump>& dumps, const JobGroup& group, const std::vector<Call>& calls, size_t part,
                  Difference& difference) {
  Sides kinds, sizes, types;
  for (const Call& call : calls) {
    const Entry& entry = *call.parts[part];
    const OperationRow row = row_of(entry.operation);
    const int64_t rank = dumps[call.dump].rank;
    kinds[std::string(row.family)].push_back(rank);
    std::string size(row.family), type(row.family);
    if (row.in) size += fmt::format(" with {} elements in", show_count(static_cast<int64_t>(entry.in.elements())));
    if (row.out)
      size += fmt::format(" {} {} elements out", row.in ? "and" : "with",
                          show_count(static_cast<int64_t>(entry.out.elements())));
    if (row.in || row.out) type += " of " + types_of(row.in ? entry.in : entry.out);
    sizes[size].push_back(rank);
    types[type].push_back(rank);
  }
  return differ(kinds, difference, "flight.hang.order") ||
         (row_of(calls[0].parts[part]->operation).swaps
              ? sums_differ(group, calls, part, difference)
              : differ(sizes, difference, "flight.hang.size") || differ(types, difference, "flight.hang.dtype"));
}

}  // namespace

bool find_difference(const std::vector<Dump>& dumps, const JobGroup& group, const std::vector<Call>& calls,
                     Difference& difference) {
  if (calls.size() < 2 || std::all_of(calls.begin(), calls.end(), [&](const Call& c) { return same(c, calls[0]); }))
    return false;
  Sides counts;
  size_t parts = calls[0].parts.size();
  for (const Call& call : calls) {
    const size_t count = call.parts.size();
    parts = std::min(parts, count);
    counts[count == 1 ? call.parts[0]->operation : fmt::format("a batch of {} operations", count)].push_back(
        dumps[call.dump].rank);
  }
  for (size_t part = 0; part < parts; ++part)
    if (part_differs(dumps, group, calls, part, difference)) return true;
  const bool unequal = std::any_of(calls.begin(), calls.end(), [&](const Call& c) { return c.parts.size() != parts; });
  return unequal && differ(counts, difference, "flight.hang.order");
}

}  // namespace chakra::flight
