// Writes a graph as DOT or GraphML while it is handed out, box by box and edge by edge: nothing is laid out and
// nothing is kept but what has not yet been written. What both forms say stands here once; how each says it in pen.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/view/view.h"

namespace chakra::view {

/// Takes text in pieces of about a megabyte.
using Write = std::function<Result<void>(std::string_view)>;

/// As the contents of an element or attribute; what XML cannot hold becomes U+FFFD.
void append_xml(std::string& out, std::string_view text);

/// What a box stands for, and so its colour.
enum class Look : uint8_t { host, compute, comm, memory, metadata, waiting, absent };

/// A node of the trace, or several.
struct Box {
  std::string_view key;    ///< unlike that of any other box: letters, digits and _
  std::string_view name;   ///< whole
  std::string_view type;   ///< NodeType's name; "" for several nodes, "ABSENT" for a node that is not there
  std::string_view where;  ///< its lane; "" where it has none
  std::string_view in;     ///< of several nodes: what called them; else ""
  Look look = Look::host;
  uint64_t id = 0;    ///< in the file; of several nodes that of the first
  int64_t count = 1;  ///< nodes that it stands for
  bool focus = false;
  Picoseconds dur_ps = 0;
  bool has_start = false;
  Picoseconds start_ps = 0;
  std::string_view comm;  ///< "ALL_REDUCE"
  uint64_t bytes = 0;
  std::string_view group;
  int64_t peer = -1;  ///< of a message
};

struct Arrow {
  std::string_view from, to;  ///< keys
  std::string_view kind;      ///< EdgeKind's name, "indirect"; "" where nothing is known
  bool inferred = false;
  Picoseconds lag_ps = 0;
  int64_t count = 1;  ///< edges that it stands for
};

/// Calls: begin, then boxes (cluster() before those of one), then data arrows, then control arrows, then end.
class Pen {
 public:
  Pen(GraphForm form, Write write) : form_(form), write_(std::move(write)) {}

  Result<void> begin(std::string_view title);
  Result<void> cluster(std::string_view name);  ///< a frame round the boxes that follow; "" ends it
  Result<void> box(const Box& box);
  Result<void> data(const Arrow& arrow);
  Result<void> control(const Arrow& arrow);
  Result<void> end();

 private:
  Result<void> flush(size_t above);
  void dot_text(std::string_view text);
  void xml_data(std::string_view key, std::string_view value);
  void dot_box(const Box& box);
  void xml_box(const Box& box);
  void dot_arrow(const Arrow& arrow);
  void xml_arrow(const Arrow& arrow, bool control);

  GraphForm form_;
  Write write_;
  std::string out_;
  int64_t clusters_ = 0;
  bool in_cluster_ = false, in_control_ = false;
};

}  // namespace chakra::view
