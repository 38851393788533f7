// GraphML, for Gephi, yEd and networkx.
#include <fmt/core.h>

#include <array>

#include "chakra/view/graph.h"

namespace chakra::view {
namespace {

constexpr std::array<std::string_view, 7> kLookNames{"host",     "compute", "comm",  "memory",
                                                     "metadata", "waiting", "absent"};

struct Key {
  std::string_view name, type, of;
};
constexpr std::array<Key, 22> kKeys{{
    {"label", "string", "node"},      {"type", "string", "node"},        {"look", "string", "node"},
    {"id", "string", "node"},         {"where", "string", "node"},       {"called_by", "string", "node"},
    {"count", "long", "node"},        {"absent", "boolean", "node"},     {"focus", "boolean", "node"},
    {"start_ns", "double", "node"},   {"duration_ns", "double", "node"}, {"comm_type", "string", "node"},
    {"comm_size", "string", "node"},  {"pg_name", "string", "node"},     {"peer", "long", "node"},
    {"dependency", "string", "edge"}, {"kind", "string", "edge"},        {"inferred", "boolean", "edge"},
    {"lag_ns", "double", "edge"},     {"edges", "long", "edge"},         {"title", "string", "graph"},
    {"generator", "string", "graph"},
}};

void xml_data(std::string& out, std::string_view key, std::string_view value) {
  out += "<data key=\"";
  out += key;
  out += "\">";
  append_xml(out, value);
  out += "</data>";
}

void xml_begin(std::string& out, std::string_view title) {
  out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const Key& key : kKeys)
    fmt::format_to(std::back_inserter(out), "<key id=\"{0}\" for=\"{2}\" attr.name=\"{0}\" attr.type=\"{1}\"/>\n",
                   key.name, key.type, key.of);
  out += "<graph id=\"chakra\" edgedefault=\"directed\">\n";
  xml_data(out, "title", title);
  xml_data(out, "generator", "chakra view");
  out += '\n';
}

void xml_box(std::string& out, const Box& b) {
  const auto at = std::back_inserter(out);
  const auto number = [&](std::string_view key, auto value) {
    fmt::format_to(at, "<data key=\"{}\">{}</data>", key, value);
  };
  fmt::format_to(at, "<node id=\"{}\">", b.key);
  xml_data(out, "label", b.name);
  number("look", kLookNames[static_cast<size_t>(b.look)]);
  number("id", b.id);
  if (b.look == Look::absent) {
    number("absent", "true");
    out += "</node>\n";
    return;
  }
  if (b.type.empty()) number("count", b.count);
  else number("type", b.type);
  if (!b.where.empty()) xml_data(out, "where", b.where);
  if (!b.in.empty()) xml_data(out, "called_by", b.in);
  if (b.focus) number("focus", "true");
  if (b.has_start) number("start_ns", exact_ns(b.start_ps));
  number("duration_ns", exact_ns(b.dur_ps));
  if (!b.comm.empty()) number("comm_type", b.comm);
  if (!b.comm.empty() || b.bytes) number("comm_size", b.bytes);
  if (!b.group.empty()) xml_data(out, "pg_name", b.group);
  if (b.peer >= 0) number("peer", b.peer);
  out += "</node>\n";
}

void xml_arrow(std::string& out, const Arrow& a, bool control) {
  const auto at = std::back_inserter(out);
  out += "<edge source=\"";
  out += a.from;
  out += "\" target=\"";
  out += a.to;
  out += control ? "\"><data key=\"dependency\">control</data>" : "\"><data key=\"dependency\">data</data>";
  if (!a.kind.empty()) fmt::format_to(at, "<data key=\"kind\">{}</data>", a.kind);
  if (a.inferred) out += "<data key=\"inferred\">true</data>";
  if (a.lag_ps) fmt::format_to(at, "<data key=\"lag_ns\">{}</data>", exact_ns(a.lag_ps));
  if (a.count > 1) fmt::format_to(at, "<data key=\"edges\">{}</data>", a.count);
  out += "</edge>\n";
}

}  // namespace

extern const PenWords kGraphmlWords{.begin = xml_begin,
                                    .frame = nullptr,
                                    .frame_end = "",
                                    .box = xml_box,
                                    .controls = "",
                                    .arrow = xml_arrow,
                                    .end = "</graph>\n</graphml>\n"};

}  // namespace chakra::view
