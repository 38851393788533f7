// Views: a Trace as a Timeline or as a figure of its graph, a Timeline as a file for ui.perfetto.dev, an Answer as
// text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"
#include "chakra/view/show.h"  // IWYU pragma: export

namespace chakra::view {

/// Return the measured timeline: operators as nested slices on threads, device operations on streams, arrows for
/// launches and communication. Time zero is the earliest start of any rank. Ranks without measured times are placed as
/// early as the dependencies allow, and a finding reports this.
/// Errors: view.cycle. Cost: O(nodes + edges).
Result<result::Timeline> timeline_of(const trace::TraceSet& job, Findings& findings);

/// Write Chrome's trace event format (docs/reference/formats/timeline.md): a process per rank, a thread per track,
/// times in microseconds. Slices on a track nest; a later slice that would not nest moves to a second track of the same
/// name. Errors: base.file.*. Cost: O(slices log slices).
Result<void> write_chrome_trace(const result::Timeline& timeline, const std::string& path);
/// Write Perfetto's protobuf stream, with the same processes and tracks: a third of the size. Timestamps are whole
/// nanoseconds, rounded down; slices with other times have the exact picoseconds as annotations `start_ps` and
/// `duration_ps`. Errors and cost: as write_chrome_trace.
Result<void> write_perfetto(const result::Timeline& timeline, const std::string& path);
/// Write the form for the ending of the path: Perfetto's stream for .pftrace and .perfetto-trace, else Chrome's format.
Result<void> write_timeline(const result::Timeline& timeline, const std::string& path);
/// Add a counter for each track with launched slices: how many of its slices are launched and have not begun. The value
/// grows at the begin of the launch, and at the same moment grows first (as the queue_lengths of `chakra analyze`).
/// Cost: O(launches log launches).
void add_queue_counters(result::Timeline& timeline);

struct EventCsvOptions {
  int64_t ranks = 0;            ///< more ranks are an error; 0: as many as in the file
  uint64_t hz = 1'000'000'000;  ///< ticks per second
};
/// Read the timeline of a simulation from lines "issue,NAME=rank,NAME=tick,NAME=node,NAME=name" and "callback,..."
/// (docs/reference/formats/event_csv.md): a slice from the issue of a node to the callback.
/// Errors: view.csv.form, .rank, .time, .issued_twice, .not_issued; as for ByteSource. Findings:
/// view.csv.unfinished, .kind, .skipped. Cost: O(file); memory for the timeline.
Result<result::Timeline> read_event_csv(ByteSource source, const EventCsvOptions& options, Findings& findings);
/// Parse "1500" (MHz), "1.5GHz", "800 MHz"; return Hz. Errors: view.csv.frequency.
Result<uint64_t> parse_frequency(std::string_view text);

// ---- figures of the graph (docs/reference/formats/graph.md) ---------------------------------------------------

enum class Only : uint8_t { all, comm, compute, device };
inline constexpr std::array<std::string_view, 4> kOnlyNames{"all", "comm", "compute", "device"};

struct GraphOptions {
  /// Nodes of other kinds are hidden. A dependency through hidden nodes becomes an edge of the kind "indirect".
  Only only = Only::all;
  std::optional<uint64_t> focus;  ///< id of a node: show only nodes within `hops` edges, in both directions
  int64_t hops = 2;
  bool group = false;  ///< merge nodes into boxes: by lane, by caller, and repetitions into one
  size_t boxes = 30;   ///< maximum number, with `group`; at least 2
};

struct GraphCounts {
  int64_t boxes = 0;                            ///< without placeholders for missing nodes
  int64_t data = 0, control = 0, indirect = 0;  ///< arrows; with `group`, the edges behind the arrows
  int64_t inside = 0;                           ///< edges between nodes in the same box
  int64_t absent = 0;                           ///< placeholders for nodes that edges refer to and the file lacks
  int64_t to_absent = 0;                        ///< arrows from placeholders, also counted as data or control
};

/// Write a figure. `form`: a name in kForms, except the timelines. Formats with PenWords have no layout: the file is
/// written during the walk of the graph. The program `dot` of Graphviz, a separate process, lays out all other formats,
/// from DOT text on standard input. Data dependencies and the call tree are drawn, as dependency = data and dependency
/// = control. Errors: view.graph.focus (unknown node), base.file.*; with Graphviz view.graphviz.missing (program not
/// found), .large (more than kMostLaidOut boxes: hours of work), .failed. Findings: view.graph.cut (too many indirect
/// edges: some were omitted), view.graph.hub (nodes with too many edges: a focus stops there).
/// Cost: O(nodes + edges); with `only`, each hidden node forwards at most 32 others; cost of Graphviz.
Result<GraphCounts> write_graph(const trace::Trace& trace, std::string_view form, const GraphOptions& options,
                                const std::string& path, Findings& findings);
inline constexpr int64_t kMostLaidOut = 1500;

// ---- formats --------------------------------------------------------------------------------------------

struct PenWords;

struct FormRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
  const PenWords* words = nullptr;  ///< for graphs without a layout
  Result<void> (*timeline)(const result::Timeline& timeline, const std::string& path) = nullptr;  ///< else a graph
};
/// Output formats of `chakra view`.
extern const std::span<const FormRow> kForms;
/// Return the format for the ending of a file name, or "".
std::string_view form_of(std::string_view path);

// ---- text ---------------------------------------------------------------------------------------------

/// Explain each edge of a node: the dependency, the records or rule behind the edge, and the agreement with measured
/// times. Records are named if the trace was read with texts. Requires node < trace.size().
std::string explain(const trace::Trace& trace, trace::NodeId node);

/// Bytes by rows and columns.
struct HeatMap {
  struct Row {
    std::string label;
    std::vector<uint64_t> bytes;  ///< parallel to columns
  };
  std::string title;
  std::vector<std::string> columns;
  std::vector<Row> rows;
};
/// Return a figure (SVG): one row of cells per row, coloured by the ratio to the mean of the row. Bars below show the
/// sums of columns.
std::string to_heat_map(const HeatMap& map);

/// Points in a plane, of which some are marked.
struct Scatter {
  struct Point {
    std::string label;
    double x = 0, y = 0;
    double weight = 0;  ///< of a marked point: the area of its circle
    bool marked = false;
  };
  std::string title, note;
  std::string x, y;        ///< names of the axes, which then have ends with numbers; "": places have no meaning
  bool same_scale = true;  ///< a distance has the same length in both directions; else the points fill the figure
  std::vector<Point> points;
};
/// Return a figure (SVG).
std::string to_scatter(const Scatter& figure);

/// Return a line per finding.
std::string to_text(const Findings& findings, std::string_view indent = "  ");

}  // namespace chakra::view
