#include "chakra/view/pen.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace chakra::view {
namespace {

constexpr size_t kWrittenAtOnce = size_t{1} << 20;
constexpr size_t kNameShown = 44;  ///< bytes of a name in a box; the tooltip has all

constexpr std::array<std::string_view, 7> kColours{"#e8e8e8", "#b9d8a8", "#f4b183", "#a9cbe8",
                                                   "#ffffff", "#f6f2d5", "#ffd9d9"};
constexpr std::array<std::string_view, 7> kLookNames{"host",     "compute", "comm",  "memory",
                                                     "metadata", "waiting", "absent"};

/// What may stand in a text of either form: well-formed UTF-8 without control characters, else a replacement. Calls
/// `plain` with runs of what needs nothing, `special` with one of & < > " \ and `line` for a line's end.
template <class Plain, class Special>
void each_run(std::string_view text, const Plain& plain, const Special& special) {
  size_t from = 0, at = 0;
  const auto upto = [&](size_t end) {
    if (end > from) plain(text.substr(from, end - from));
  };
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x80) {
      if (c >= 0x20 && c != 0x7f && c != '&' && c != '<' && c != '>' && c != '"' && c != '\\') {
        ++at;
        continue;
      }
      upto(at);
      special(text[at]);
      from = ++at;
      continue;
    }
    const size_t length = utf8_length(text, at);
    // U+FFFE, U+FFFF (EF BF BE, EF BF BF) are no characters of XML.
    if (length > 0 &&
        !(length == 3 && text.substr(at, 2) == "\xef\xbf" && static_cast<unsigned char>(text[at + 2]) >= 0xbe)) {
      at += length;
      continue;
    }
    upto(at);
    plain("\xef\xbf\xbd");
    from = at += length ? length : 1;
  }
  upto(at);
}

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

}  // namespace

void append_xml(std::string& out, std::string_view text) {
  each_run(
      text, [&](std::string_view run) { out += run; },
      [&](char c) {
        switch (c) {
          case '&': out += "&amp;"; break;
          case '<': out += "&lt;"; break;
          case '>': out += "&gt;"; break;
          case '"': out += "&quot;"; break;
          case '\\':
          case '\n':
          case '\t': out += c; break;
          default: out += "\xef\xbf\xbd";
        }
      });
}

Result<void> Pen::flush(size_t above) {
  if (out_.size() <= above) return {};
  CHAKRA_TRY(write_(out_));
  out_.clear();
  return {};
}

void Pen::dot_text(std::string_view text) {
  each_run(
      text, [&](std::string_view run) { out_ += run; },
      [&](char c) {
        switch (c) {
          case '&': out_ += "&amp;"; break;
          case '"': out_ += "\\\""; break;
          case '\\': out_ += "\\\\"; break;
          case '<':
          case '>': out_ += c; break;
          default: out_ += ' ';
        }
      });
}

void Pen::xml_data(std::string_view key, std::string_view value) {
  out_ += "<data key=\"";
  out_ += key;
  out_ += "\">";
  append_xml(out_, value);
  out_ += "</data>";
}

Result<void> Pen::begin(std::string_view title) {
  if (form_ == GraphForm::dot) {
    out_ += "digraph chakra {\n  graph [rankdir=TB, fontname=\"Helvetica\", labelloc=t, label=\"";
    dot_text(title);
    out_ +=
        "\"];\n  node [shape=box, style=\"filled,rounded\", fillcolor=\"#e8e8e8\", fontname=\"Helvetica\", "
        "fontsize=10, "
        "margin=\"0.1,0.05\"];\n  edge [arrowhead=normal, dependency=data, fontname=\"Helvetica\", fontsize=8, "
        "color=\"#404040\"];\n";
    return {};
  }
  out_ += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const Key& key : kKeys)
    fmt::format_to(std::back_inserter(out_), "<key id=\"{0}\" for=\"{2}\" attr.name=\"{0}\" attr.type=\"{1}\"/>\n",
                   key.name, key.type, key.of);
  out_ += "<graph id=\"chakra\" edgedefault=\"directed\">\n";
  xml_data("title", title);
  xml_data("generator", "chakra view");
  out_ += '\n';
  return {};
}

Result<void> Pen::cluster(std::string_view name) {
  if (form_ != GraphForm::dot) return {};
  if (in_cluster_) out_ += "  }\n";
  in_cluster_ = !name.empty();
  if (!in_cluster_) return {};
  fmt::format_to(std::back_inserter(out_),
                 "  subgraph cluster_{} {{\n  style=rounded; color=\"#a0a0a0\"; fontsize=11; label=\"", clusters_++);
  dot_text(name);
  out_ += "\";\n";
  return {};
}

void Pen::dot_box(const Box& b) {
  const auto out = std::back_inserter(out_);
  out_ += "  ";
  out_ += b.key;
  out_ += " [label=\"";
  const std::string_view shown = head(b.name, kNameShown);
  dot_text(shown);
  if (shown.size() < b.name.size()) out_ += "...";
  if (b.look == Look::absent) {
    out_ += "\\nnot in the file";
  } else if (b.type.empty()) {  // several
    if (!b.in.empty()) {
      const std::string_view in = head(b.in, kNameShown);
      out_ += "\\nin ";
      dot_text(in);
      if (in.size() < b.in.size()) out_ += "...";
    }
    fmt::format_to(out, "\\n{} node{}", show_count(b.count), b.count == 1 ? "" : "s");
    if (b.dur_ps) fmt::format_to(out, ", {}", show_time(b.dur_ps));
    if (b.bytes) fmt::format_to(out, ", {}", show_bytes(static_cast<double>(b.bytes)));
  } else {
    fmt::format_to(out, "\\nnode {}", b.id);
    if (!b.where.empty()) {
      out_ += ", ";
      dot_text(b.where);
    }
    if (!b.comm.empty()) {
      out_ += "\\n";
      dot_text(b.comm);
      if (b.bytes) fmt::format_to(out, " {}", show_bytes(static_cast<double>(b.bytes)));
      if (b.peer >= 0) fmt::format_to(out, " rank {}", b.peer);
      if (!b.group.empty()) {
        out_ += " group ";
        dot_text(b.group);
      }
    }
    if (b.dur_ps) fmt::format_to(out, "\\n{}", show_time(b.dur_ps));
  }
  out_ += '"';
  if (b.look != Look::host) fmt::format_to(out, ", fillcolor=\"{}\"", kColours[static_cast<size_t>(b.look)]);
  if (b.look == Look::absent) out_ += ", style=\"filled,dashed\", color=\"#c00000\", absent=true";
  if (b.focus) out_ += ", penwidth=3";
  if (!b.type.empty() && b.look != Look::absent) {
    out_ += ", type=";
    out_ += b.type;
  }
  if (shown.size() < b.name.size()) {
    out_ += ", tooltip=\"";
    dot_text(b.name);
    out_ += '"';
  }
  out_ += "];\n";
}

void Pen::xml_box(const Box& b) {
  const auto out = std::back_inserter(out_);
  const auto number = [&](std::string_view key, auto value) {
    fmt::format_to(out, "<data key=\"{}\">{}</data>", key, value);
  };
  fmt::format_to(out, "<node id=\"{}\">", b.key);
  xml_data("label", b.name);
  number("look", kLookNames[static_cast<size_t>(b.look)]);
  number("id", b.id);
  if (b.look == Look::absent) {
    number("absent", "true");
    out_ += "</node>\n";
    return;
  }
  if (b.type.empty()) number("count", b.count);
  else number("type", b.type);
  if (!b.where.empty()) xml_data("where", b.where);
  if (!b.in.empty()) xml_data("called_by", b.in);
  if (b.focus) number("focus", "true");
  if (b.has_start) number("start_ns", exact_ns(b.start_ps));
  number("duration_ns", exact_ns(b.dur_ps));
  if (!b.comm.empty()) number("comm_type", b.comm);
  if (!b.comm.empty() || b.bytes) number("comm_size", b.bytes);
  if (!b.group.empty()) xml_data("pg_name", b.group);
  if (b.peer >= 0) number("peer", b.peer);
  out_ += "</node>\n";
}

void Pen::dot_arrow(const Arrow& a) {
  out_ += "  ";
  out_ += a.from;
  out_ += "->";
  out_ += a.to;
  const auto out = std::back_inserter(out_);
  std::string_view before = " [";
  const auto next = [&] {
    out_ += before;
    before = ", ";
  };
  if (!a.kind.empty()) next(), out_ += "kind=", out_ += a.kind;
  if (a.kind == "indirect" || a.inferred) next(), out_ += "style=dotted";
  if (a.inferred) next(), out_ += "inferred=true";
  if (a.lag_ps) next(), fmt::format_to(out, "label=\"+{}\"", show_time(a.lag_ps));
  if (a.count > 1)
    next(), fmt::format_to(out, "label=\"{}\", penwidth={:.2f}", show_count(a.count),
                           1 + std::log10(static_cast<double>(a.count)) / 2);
  if (before != " [") out_ += ']';
  out_ += ";\n";
}

void Pen::xml_arrow(const Arrow& a, bool control) {
  const auto out = std::back_inserter(out_);
  out_ += "<edge source=\"";
  out_ += a.from;
  out_ += "\" target=\"";
  out_ += a.to;
  out_ += control ? "\"><data key=\"dependency\">control</data>" : "\"><data key=\"dependency\">data</data>";
  if (!a.kind.empty()) fmt::format_to(out, "<data key=\"kind\">{}</data>", a.kind);
  if (a.inferred) out_ += "<data key=\"inferred\">true</data>";
  if (a.lag_ps) fmt::format_to(out, "<data key=\"lag_ns\">{}</data>", exact_ns(a.lag_ps));
  if (a.count > 1) fmt::format_to(out, "<data key=\"edges\">{}</data>", a.count);
  out_ += "</edge>\n";
}

Result<void> Pen::box(const Box& box) {
  if (form_ == GraphForm::dot) dot_box(box);
  else xml_box(box);
  return flush(kWrittenAtOnce);
}

Result<void> Pen::data(const Arrow& arrow) {
  if (form_ == GraphForm::dot) dot_arrow(arrow);
  else xml_arrow(arrow, false);
  return flush(kWrittenAtOnce);
}

Result<void> Pen::control(const Arrow& arrow) {
  if (form_ == GraphForm::dot && !in_control_) {
    in_control_ = true;
    out_ += "  edge [arrowhead=tee, dependency=control, style=dashed, color=\"#b0b0b0\", constraint=false];\n";
  }
  if (form_ == GraphForm::dot) dot_arrow(arrow);
  else xml_arrow(arrow, true);
  return flush(kWrittenAtOnce);
}

Result<void> Pen::end() {
  out_ += form_ == GraphForm::dot ? "}\n" : "</graph>\n</graphml>\n";
  return flush(0);
}

}  // namespace chakra::view
