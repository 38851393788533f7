// What the pictures of a graph share: what a node looks like, and what draws it.
#pragma once

#include <string>
#include <vector>

#include "chakra/view/pen.h"
#include "chakra/view/view.h"

namespace chakra::view {

Look look_of(const trace::Trace& trace, trace::NodeId node);
std::string name_of(const trace::Lane& lane);

/// Everything, from begin() to end().
Result<GraphCounts> draw(const trace::Trace& trace, const GraphOptions& options, Pen pen, Findings& findings);

/// Boxes that stand for the kept nodes together, at most options.boxes, and the arrows between them.
Result<GraphCounts> draw_groups(const trace::Trace& trace, const std::vector<char>& keep, const GraphOptions& options,
                                Pen& pen);

extern const PenWords kDotWords;  ///< also what Graphviz reads
/// write_graph for a form that Graphviz writes.
Result<GraphCounts> lay_out(const trace::Trace& trace, std::string_view form, const GraphOptions& options,
                            const std::string& path, Findings& findings);

}  // namespace chakra::view
