// Showing things: a Trace as a Timeline or as a picture of its graph, a Timeline as a file for ui.perfetto.dev, an
// Answer as text.
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

/// What ran when, as measured: operators as nested slices on their threads, device operations on their
/// streams, arrows for launches and communication. Time zero is the earliest start of any rank. Ranks
/// without measured times are laid out as early as their dependencies allow, and a finding says so.
/// Errors: view.cycle. Cost: O(nodes + edges).
Result<result::Timeline> timeline_of(const trace::TraceSet& job, Findings& findings);

/// Chrome's trace event format (docs/reference/formats/timeline.md): a process per rank, a thread per track,
/// times in microseconds. On one track slices nest; where they would not, the later one moves to a
/// second track of the same name. Errors: base.file.*. Cost: O(slices log slices).
Result<void> write_chrome_trace(const result::Timeline& timeline, const std::string& path);

struct EventCsvOptions {
  int64_t ranks = 0;            ///< more are an error; 0: as many as there are
  uint64_t hz = 1'000'000'000;  ///< ticks per second
};
/// The timeline of a simulation from its lines "issue,NAME=rank,NAME=tick,NAME=node,NAME=name" and "callback,..."
/// (docs/reference/formats/event_csv.md): a slice from a node's issue to its callback.
/// Errors: view.csv.form, .rank, .time, .issued_twice, .not_issued, and those of ByteSource. Findings:
/// view.csv.unfinished, .kind, .skipped. Cost: O(file); memory for what is shown.
Result<result::Timeline> read_event_csv(ByteSource source, const EventCsvOptions& options, Findings& findings);
/// "1500" (MHz), "1.5GHz", "800 MHz" in Hz. Errors: view.csv.frequency.
Result<uint64_t> parse_frequency(std::string_view text);

// ---- pictures of the graph (docs/reference/formats/graph.md) ---------------------------------------------------

enum class Only : uint8_t { all, comm, compute, device };
inline constexpr std::array<std::string_view, 4> kOnlyNames{"all", "comm", "compute", "device"};

struct GraphOptions {
  /// Nodes of other kinds are left out; what waits for another through them has an edge of the kind "indirect".
  Only only = Only::all;
  std::optional<uint64_t> focus;  ///< id of a node: only what is within `hops` edges of it, along or against them
  int64_t hops = 2;
  bool group = false;  ///< boxes for many nodes: by lane, by what called them, repetitions as one
  size_t boxes = 30;   ///< at most, with `group`; at least 2
};

struct GraphCounts {
  int64_t boxes = 0;                            ///< without placeholders
  int64_t data = 0, control = 0, indirect = 0;  ///< arrows; with `group` the edges that they stand for
  int64_t inside = 0;                           ///< edges between nodes of one box
  int64_t absent = 0;                           ///< placeholders for nodes that edges name and the file does not have
  int64_t to_absent = 0;                        ///< arrows from them, also counted as data or control
};

/// `form`: the name of a row of kForms, but for the timeline. Those with PenWords are not laid out: the file grows as
/// the graph is walked. The others are laid out by Graphviz's program `dot`, a process of its own, with DOT text on its
/// standard input. Data dependencies and the call tree are both drawn, as dependency = data and dependency = control.
/// Errors: view.graph.focus (no such node), base.file.*; of Graphviz view.graphviz.missing (no such program), .large
/// (more than kMostLaidOut boxes: it would take hours), .failed. Findings: view.graph.cut (too many indirect edges:
/// some were left out), view.graph.hub (nodes with too many edges: a focus is not widened through them).
/// Cost: O(nodes + edges); with `only` some more, each hidden node passes at most 32 others on; that of Graphviz.
Result<GraphCounts> write_graph(const trace::Trace& trace, std::string_view form, const GraphOptions& options,
                                const std::string& path, Findings& findings);
inline constexpr int64_t kMostLaidOut = 1500;

// ---- what there is --------------------------------------------------------------------------------------

struct PenWords;

struct FormRow {
  std::string_view name;
  std::string_view files;
  std::string_view description;
  const PenWords* words = nullptr;  ///< of graphs that are not laid out
};
/// What `chakra view` writes.
extern const std::span<const FormRow> kForms;
/// The form that a file's ending stands for, or "".
std::string_view form_of(std::string_view path);

// ---- text ---------------------------------------------------------------------------------------------

/// Why each edge of a node is there: what it waits for, from which records or by which rule, and how the
/// measured times fit. Records are named if the trace was read with texts. Requires node < trace.size().
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
/// An image (SVG): each cell is coloured by how it compares with the mean of its row; below, the sum of each column as
/// a bar.
std::string to_heat_map(const HeatMap& map);

/// A line per finding.
std::string to_text(const Findings& findings, std::string_view indent = "  ");

}  // namespace chakra::view
