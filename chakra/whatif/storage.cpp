// Bytes of storage that a change makes more or fewer.
#include <algorithm>

#include "chakra/trace/storage.h"
#include "chakra/whatif/nodes.h"

namespace chakra::whatif {

using trace::NodeId;
using trace::Trace;

bool has_io(const Trace& t, std::string_view io_kind) {
  const StringId kind = t.strings.find("io_kind");
  for (NodeId n{0}; kind != 0 && n < t.size(); ++n)
    for (auto at = t.attrs_of(n).begin(); at != t.attrs_of(n).end(); ++at)
      if (const trace::Attr attr = *at; attr.name == kind && attr.text().value_or("") == io_kind) return true;
  return false;
}

void scale_io(Trace& t, std::string_view io_kind, double factor) {
  if (factor == 1) return;
  const trace::StorageReader reader(t);
  std::vector<std::pair<NodeId, double>> moves;
  for (const NodeId n : t.nodes())
    if (trace::is_memory(t.type[n]) && reader.of(n).kind == io_kind) moves.emplace_back(n, factor);
  scale_moves(t, moves);
}

void scale_moves(Trace& t, const std::vector<std::pair<NodeId, double>>& moves) {
  if (moves.empty()) return;
  const trace::StorageReader reader(t);
  const StringId bytes = t.strings.intern("bytes");
  trace::Attrs attrs;
  Column<size_t> begin;
  auto move = moves.begin();
  for (const NodeId n : t.nodes()) {
    begin.push_back(attrs.position());
    const bool scales = move != moves.end() && move->first == n;
    const uint64_t moved = scales ? reader.of(n).bytes.value_or(0) : 0;
    for (const trace::Attr& attr : t.attrs_of(n))
      if (moved == 0 || attr.name != bytes) attrs.add(attr);
    if (moved > 0)
      attrs.add({bytes, static_cast<uint64_t>(std::min(static_cast<double>(moved) * move->second + 0.5, 9e18))});
    if (scales) ++move;
  }
  begin.push_back(attrs.position());
  t.attrs = std::move(attrs);
  t.attr_begin = std::move(begin);
}

}  // namespace chakra::whatif
