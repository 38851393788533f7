// Shared parts of graph figures: appearance of nodes, and drawing.
#pragma once

#include <string>
#include <vector>

#include "chakra/view/pen.h"
#include "chakra/view/view.h"

namespace chakra::view {

Look look_of(const trace::Trace& trace, trace::NodeId node);
std::string name_of(const trace::Lane& lane);

/// Draw the whole figure, from begin() to end().
Result<GraphCounts> draw(const trace::Trace& trace, const GraphOptions& options, Pen pen, Findings& findings);

/// Draw boxes that stand for all kept nodes, at most options.boxes, and the arrows between the boxes.
Result<GraphCounts> draw_groups(const trace::Trace& trace, const std::vector<char>& keep, const GraphOptions& options,
                                Pen& pen);

extern const PenWords kDotWords;  ///< also the input of Graphviz
/// Implement write_graph for formats that Graphviz writes.
Result<GraphCounts> lay_out(const trace::Trace& trace, std::string_view form, const GraphOptions& options,
                            const std::string& path, Findings& findings);

}  // namespace chakra::view
