// Bytes of storage that a change makes more or fewer.
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
  if (factor == 1 || !has_io(t, io_kind)) return;
  const StringId kind = t.strings.find("io_kind"), bytes = t.strings.find("bytes");
  trace::Attrs attrs;
  Column<size_t> begin;
  for (const NodeId n : t.nodes()) {
    begin.push_back(attrs.position());
    bool scales = false;
    for (auto at = t.attrs_of(n).begin(); at != t.attrs_of(n).end(); ++at)
      if (const trace::Attr attr = *at; attr.name == kind) scales = attr.text().value_or("") == io_kind;
    for (auto at = t.attrs_of(n).begin(); at != t.attrs_of(n).end(); ++at) {
      trace::Attr attr = *at;
      if (const auto number = attr.integer(); scales && number && attr.name == bytes)
        attr.value = static_cast<int64_t>(static_cast<double>(*number) * factor + 0.5);
      attrs.add(attr);
    }
  }
  begin.push_back(attrs.position());
  t.attrs = std::move(attrs);
  t.attr_begin = std::move(begin);
}

}  // namespace chakra::whatif
