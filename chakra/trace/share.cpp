#include "chakra/trace/share.h"

#include <algorithm>
#include <tuple>

namespace chakra::trace {
namespace {

bool equal(const StringPool& a, const StringPool& b) {
  if (a.shares_with(b)) return true;
  if (a.size() != b.size()) return false;
  for (StringId id = 0; id < a.size(); ++id)
    if (a[id] != b[id]) return false;
  return true;
}

auto fields(const Comm& c) {
  static_assert(sizeof(Comm) == 136, "also compare the new field of Comm");
  return std::tie(c.type, c.bytes, c.in_bytes, c.out_bytes, c.dtype, c.group, c.sequence, c.root, c.src, c.dst, c.tag,
                  c.priority, c.involved, c.involved_count);
}
/// Splits are views into the texts of their trace, so rows that have some are not moved to another.
bool equal_without_splits(const Comm& a, const Comm& b) {
  return fields(a) == fields(b) && a.in_split.empty() && a.out_split.empty() && b.in_split.empty() &&
         b.out_split.empty();
}

template <class Part>
void share(Part& part, const Part& other) {
  if (part == other) part = other;
}

void share(Edges& edges, const Edges& other) {
  share(edges.begin, other.begin);
  share(edges.node, other.node);
  share(edges.kind, other.kind);
  share(edges.lag, other.lag);
}

}  // namespace

void share_equal(Trace& trace, const Trace& other) {
  if (trace.size() != other.size()) return;
  if (equal(trace.strings, other.strings)) trace.strings = other.strings;
  share(trace.id, other.id);
  each_column([&](const auto& row) { share(trace.*row.column, other.*row.column); });
  share(trace.attr_begin, other.attr_begin);
  share(trace.deps, other.deps);
  share(trace.ctrl, other.ctrl);
  if (std::equal(trace.comms.begin(), trace.comms.end(), other.comms.begin(), other.comms.end(), equal_without_splits))
    trace.comms = other.comms;
}

bool share_all(const Trace& a, const Trace& b) {
  bool all =
      a.deps.identity() == b.deps.identity() && a.ctrl.identity() == b.ctrl.identity() && a.comms.shares_with(b.comms);
  each_column([&](const auto& row) { all = all && (a.*row.column).shares_with(b.*row.column); });
  return all;
}

}  // namespace chakra::trace
