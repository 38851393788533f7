// Whether two traces say the same.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "chakra/foreign/foreign.h"

namespace chakra::foreign {
namespace {

using trace::Attr;
using trace::NodeId;
using trace::Trace;

/// An attribute of the node or file with its texts: comparable between traces.
std::pair<std::string_view, decltype(Attr::value)> plain(const Trace& t, const Attr& attr) {
  return {t.strings[attr.name], attr.value};
}

bool same_edges(const trace::Edges& a, const trace::Edges& b, NodeId n, bool with_kind) {
  const auto list = [&](const trace::Edges& edges) {
    std::vector<std::tuple<NodeId, uint8_t, Picoseconds>> of;
    for (size_t e = edges.begin[n]; e < edges.begin[n + 1]; ++e)
      of.emplace_back(edges.node[e], with_kind ? edges.kind[e] : uint8_t{0}, edges.lag_of(e));
    std::sort(of.begin(), of.end());
    return of;
  };
  return list(a) == list(b);
}

bool same_comm(const Trace& a, const trace::Comm& x, const Trace& b, const trace::Comm& y) {
  const auto numbers = [](const trace::Comm& c) {
    return std::tuple(c.type, c.bytes, c.in_bytes, c.out_bytes, c.in_split, c.out_split, c.sequence, c.root, c.src,
                      c.dst, c.tag, c.priority, c.involved, c.involved_count);
  };
  return numbers(x) == numbers(y) && a.strings[x.dtype] == b.strings[y.dtype] &&
         a.strings[x.group] == b.strings[y.group];
}

bool same_attrs(const Trace& a, const Trace& b, NodeId n) {
  auto left = a.attrs_of(n), right = b.attrs_of(n);
  auto at = left.begin(), other = right.begin();
  for (; !(at == left.end()) && !(other == right.end()); ++at, ++other)
    if (plain(a, *at) != plain(b, *other)) return false;
  return at == left.end() && other == right.end();
}

/// Return the first column that is a separate attribute and differs; "" if none does.
std::string_view different_attribute_column(const Trace& a, const Trace& b, NodeId n) {
  std::string_view first;
  trace::each_column([&](const auto& row) {
    if (row.is_attribute() && first.empty() && row.of(a, n) != row.of(b, n)) first = row.wire;
  });
  return first;
}

}  // namespace

std::string difference(const Trace& a, const Trace& b) {
  if (a.rank != b.rank) return fmt::format("rank {} and rank {}", a.rank, b.rank);
  if (a.size() != b.size()) return fmt::format("rank {} has {} nodes, and {}", a.rank, a.size(), b.size());
  std::vector<std::pair<std::string_view, decltype(Attr::value)>> left, right;
  const auto keep = [](const Trace& t, auto& list) {
    for (const Attr& attr : t.metadata)
      if (t.strings[attr.name] != "version") list.push_back(plain(t, attr));  // of the file's schema, not of the job
  };
  keep(a, left);
  keep(b, right);
  if (left != right) return fmt::format("rank {}: the metadata differ", a.rank);
  const auto group_key = [](const trace::ProcessGroup& g) {
    return std::tie(g.name, g.description, g.backend, g.ranks, g.size);
  };
  if (!std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
                  [&](const auto& x, const auto& y) { return group_key(x) == group_key(y); }))
    return fmt::format("rank {}: the process groups differ", a.rank);
  const auto lane_of = [](const Trace& t, NodeId n) {
    if (t.lane[n] == trace::kNoLane) return std::tuple(-1, int64_t{0}, int64_t{0});
    const trace::Lane& lane = t.lanes[t.lane[n]];
    return std::tuple(static_cast<int>(lane.kind), lane.process, lane.index);
  };
  for (const NodeId n : ids<NodeId>(a.size())) {
    const auto differs = [&](std::string_view what) {
      return fmt::format("rank {}, node {}: the {} differs", a.rank, a.id[n], what);
    };
    if (a.id[n] != b.id[n]) return differs("id");
    if (a.name_of(n) != b.name_of(n)) return differs("name");
    if (a.type[n] != b.type[n]) return differs("type");
    if (a.dur_ps[n] != b.dur_ps[n]) return differs("duration");
    if (a.has_start(n) != b.has_start(n) || a.start_ps[n] != b.start_ps[n]) return differs("start");
    if (((a.flags[n] ^ b.flags[n]) & (trace::kOnCpu | trace::kSaysCpuOrNot)) != 0) return differs("is_cpu_op");
    if (a.part_of[n] != b.part_of[n]) return differs("part_of");
    if (lane_of(a, n) != lane_of(b, n)) return differs("lane");
    if (const std::string_view attribute = different_attribute_column(a, b, n); !attribute.empty())
      return differs(attribute);
    const trace::Comm *x = a.comm(n), *y = b.comm(n);
    if (!x != !y || (x && !same_comm(a, *x, b, *y))) return differs("communication");
    if ((a.io_row[n] == trace::kNoRow) != (b.io_row[n] == trace::kNoRow)) return differs("tensors");
    if (a.io_row[n] != trace::kNoRow) {
      const auto texts = [n](const Trace& t) {
        const trace::Io& io = t.ios[t.io_row[n]];
        return std::tuple(io.inputs.values, t.strings[io.inputs.shapes], t.strings[io.inputs.types],
                          t.strings[io.inputs.strides], io.outputs.values, t.strings[io.outputs.shapes],
                          t.strings[io.outputs.types], t.strings[io.outputs.strides]);
      };
      if (texts(a) != texts(b)) return differs("tensors");
    }
    if (!same_attrs(a, b, n)) return differs("attributes");
    if (!same_edges(a.deps, b.deps, n, true)) return differs("dependencies");
    if (!same_edges(a.ctrl, b.ctrl, n, false)) return differs("caller");
  }
  return "";
}

}  // namespace chakra::foreign
