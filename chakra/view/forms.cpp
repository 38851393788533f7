// The table of forms, and the file of one of them.

#include "chakra/view/graph.h"

namespace chakra::view {

// Each is defined in a separate file, as extern.
extern const PenWords kGraphmlWords;

constexpr FormRow kFormRows[] = {
    {"timeline", "*.json", "timeline for ui.perfetto.dev and chrome://tracing; written", nullptr, write_chrome_trace},
    {"perfetto", "*.pftrace, *.perfetto-trace", "timeline for ui.perfetto.dev, a third of the size; written", nullptr,
     write_perfetto},
    {"dot", "*.dot, *.gv", "the graph as DOT, the language of Graphviz; written", &kDotWords},
    {"graphml", "*.graphml", "the graph as GraphML, for Gephi, yEd, networkx; written", &kGraphmlWords},
    {"svg", "*.svg", "the graph as a vector image, by Graphviz; written"},
    {"pdf", "*.pdf", "the graph as a page, by Graphviz; written"},
    {"png", "*.png", "the graph as an image, by Graphviz; written"},
};
constinit const std::span<const FormRow> kForms = kFormRows;

std::string_view form_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  const std::string ending = dot == std::string_view::npos ? "" : to_lower(path.substr(dot));
  for (const FormRow& row : kForms)
    for (size_t at = 0; (at = row.files.find("*.", at)) != std::string_view::npos; ++at)
      if (row.files.substr(at + 1, row.files.find(',', at) - at - 1) == ending && !ending.empty()) return row.name;
  return "";
}

Result<void> write_timeline(const result::Timeline& timeline, const std::string& path) {
  const FormRow* const row = find_row(kForms, form_of(path));
  return row && row->timeline ? row->timeline(timeline, path) : write_chrome_trace(timeline, path);
}

Result<GraphCounts> write_graph(const trace::Trace& t, std::string_view form, const GraphOptions& options,
                                const std::string& path, Findings& findings) {
  const FormRow* const row = find_row(kForms, form);
  CHAKRA_ASSERT(row && !row->timeline);
  if (!row->words) return lay_out(t, form, options, path, findings);
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_ASSIGN(const GraphCounts counts,
                draw(t, options, Pen(*row->words, [&](std::string_view text) { return file.write(text); }), findings));
  CHAKRA_TRY(file.commit());
  return counts;
}

}  // namespace chakra::view
