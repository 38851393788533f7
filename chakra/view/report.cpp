// Report -> text.
#include <fmt/core.h>

#include "chakra/view/view.h"

namespace chakra::view {
namespace {

struct ReportWriter {
  std::string out;
  void operator()(const std::string& lines) { out += lines; }
  void operator()(const result::Report::Fact& fact) {
    out += fmt::format("  {:<15}{}\n", fact.label, escape(fact.text));
  }
  void operator()(const result::Report::Rows& rows) {
    out += "\n" + to_text(rows.table);
    if (rows.more) out += fmt::format("  ... and {} more {} (--json has all)\n", rows.more, rows.of);
  }
  void operator()(const result::Report::Found& found) { out += to_text(found.findings, found.indented ? "  " : ""); }
};

}  // namespace

std::string to_text(const Findings& findings, std::string_view indent) {
  std::string out;
  for (const Finding& f : findings) {
    out += fmt::format("{}{}: ", indent, chakra::name(f.severity));
    if (f.rank >= 0) out += fmt::format("rank {}: ", f.rank);
    if (f.node >= 0) out += fmt::format("node {}: ", f.node);
    out += fmt::format("{} [{}]\n", escape(f.text), f.tag);
  }
  return out;
}

std::string to_text(const result::Report& report) {
  ReportWriter writer;
  for (const result::Report::Part& part : report.parts) std::visit(writer, part);
  return std::move(writer.out);
}

}  // namespace chakra::view
