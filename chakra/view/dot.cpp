// DOT, the language of Graphviz: a line for each box and arrow.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "chakra/view/graph.h"

namespace chakra::view {
namespace {

constexpr size_t kNameShown = 44;  ///< bytes of a name in a box; the tooltip has all

constexpr std::array<std::string_view, 7> kColours{"#e8e8e8", "#b9d8a8", "#f4b183", "#a9cbe8",
                                                   "#ffffff", "#f6f2d5", "#ffd9d9"};  // by Look

/// At most `limit` bytes, cut between characters.
std::string_view head(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t at = 0;
  while (at < limit) {
    const size_t length = std::max<size_t>(1, utf8_length(text, at));
    if (at + length > limit) break;
    at += length;
  }
  return text.substr(0, at);
}

void dot_text(std::string& out, std::string_view text) {
  each_run(
      text, [&](std::string_view run) { out += run; },
      [&](char c) {
        switch (c) {
          case '&': out += "&amp;"; break;
          case '"': out += "\\\""; break;
          case '\\': out += "\\\\"; break;
          case '<':
          case '>': out += c; break;
          default: out += ' ';
        }
      });
}

void dot_begin(std::string& out, std::string_view title) {
  out += "digraph chakra {\n  graph [rankdir=TB, fontname=\"Helvetica\", labelloc=t, label=\"";
  dot_text(out, title);
  out +=
      "\"];\n  node [shape=box, style=\"filled,rounded\", fillcolor=\"#e8e8e8\", fontname=\"Helvetica\", "
      "fontsize=10, "
      "margin=\"0.1,0.05\"];\n  edge [arrowhead=normal, dependency=data, fontname=\"Helvetica\", fontsize=8, "
      "color=\"#404040\"];\n";
}

void dot_frame(std::string& out, std::string_view name, int64_t number) {
  fmt::format_to(std::back_inserter(out),
                 "  subgraph cluster_{} {{\n  style=rounded; color=\"#a0a0a0\"; fontsize=11; label=\"", number);
  dot_text(out, name);
  out += "\";\n";
}

void dot_box(std::string& out, const Box& b) {
  const auto at = std::back_inserter(out);
  out += "  ";
  out += b.key;
  out += " [label=\"";
  const std::string_view shown = head(b.name, kNameShown);
  dot_text(out, shown);
  if (shown.size() < b.name.size()) out += "...";
  if (b.look == Look::absent) {
    out += "\\nnot in the file";
  } else if (b.type.empty()) {  // several
    if (!b.in.empty()) {
      const std::string_view in = head(b.in, kNameShown);
      out += "\\nin ";
      dot_text(out, in);
      if (in.size() < b.in.size()) out += "...";
    }
    fmt::format_to(at, "\\n{}", show_count(b.count, "node"));
    if (b.dur_ps) fmt::format_to(at, ", {}", show_time(b.dur_ps));
    if (b.bytes) fmt::format_to(at, ", {}", show_bytes(static_cast<double>(b.bytes)));
  } else {
    fmt::format_to(at, "\\nnode {}", b.id);
    if (!b.where.empty()) {
      out += ", ";
      dot_text(out, b.where);
    }
    if (!b.comm.empty()) {
      out += "\\n";
      dot_text(out, b.comm);
      if (b.bytes) fmt::format_to(at, " {}", show_bytes(static_cast<double>(b.bytes)));
      if (b.peer >= 0) fmt::format_to(at, " rank {}", b.peer);
      if (!b.group.empty()) {
        out += " group ";
        dot_text(out, b.group);
      }
    }
    if (b.dur_ps) fmt::format_to(at, "\\n{}", show_time(b.dur_ps));
  }
  out += '"';
  if (b.look != Look::host) fmt::format_to(at, ", fillcolor=\"{}\"", kColours[static_cast<size_t>(b.look)]);
  if (b.look == Look::absent) out += ", style=\"filled,dashed\", color=\"#c00000\", absent=true";
  if (b.focus) out += ", penwidth=3";
  if (!b.type.empty() && b.look != Look::absent) {
    out += ", type=";
    out += b.type;
  }
  if (shown.size() < b.name.size()) {
    out += ", tooltip=\"";
    dot_text(out, b.name);
    out += '"';
  }
  out += "];\n";
}

void dot_arrow(std::string& out, const Arrow& a, bool) {
  out += "  ";
  out += a.from;
  out += "->";
  out += a.to;
  const auto at = std::back_inserter(out);
  std::string_view before = " [";
  const auto next = [&] {
    out += before;
    before = ", ";
  };
  if (!a.kind.empty()) next(), out += "kind=", out += a.kind;
  if (a.kind == "indirect" || a.inferred) next(), out += "style=dotted";
  if (a.inferred) next(), out += "inferred=true";
  if (a.lag_ps) next(), fmt::format_to(at, "label=\"+{}\"", show_time(a.lag_ps));
  if (a.count > 1)
    next(), fmt::format_to(at, "label=\"{}\", penwidth={:.2f}", show_count(a.count),
                           1 + std::log10(static_cast<double>(a.count)) / 2);
  if (before != " [") out += ']';
  out += ";\n";
}

}  // namespace

const PenWords kDotWords{
    .begin = dot_begin,
    .frame = dot_frame,
    .frame_end = "  }\n",
    .box = dot_box,
    .controls = "  edge [arrowhead=tee, dependency=control, style=dashed, color=\"#b0b0b0\", constraint=false];\n",
    .arrow = dot_arrow,
    .end = "}\n"};

}  // namespace chakra::view
