// Stream a graph to a file, box by box and edge by edge, without a layout: only unwritten text is in memory. This file
// has the common part of all formats; PenWords, in one file per format, has the syntax of the format.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/view/view.h"

namespace chakra::view {

/// Consume text in pieces of about a megabyte.
using Write = std::function<Result<void>(std::string_view)>;

/// Split text into parts. Call `plain` with runs of well-formed UTF-8 without special characters (U+FFFD for invalid
/// bytes), and `special` for each of & < > " \ and for each control character.
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
    // U+FFFE, U+FFFF (EF BF BE, EF BF BF) are not characters in XML.
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

/// Append the text as contents of an element or attribute. Characters that are invalid in XML become U+FFFD.
void append_xml(std::string& out, std::string_view text);

/// Meaning of a box, which sets the colour.
enum class Look : uint8_t { host, compute, comm, memory, metadata, waiting, absent };

/// A node of the trace, or several.
struct Box {
  std::string_view key;    ///< unique: letters, digits and _
  std::string_view name;   ///< not abbreviated
  std::string_view type;   ///< name of the NodeType; "" for several nodes, "ABSENT" for a missing node
  std::string_view where;  ///< the lane, or ""
  std::string_view in;     ///< for several nodes: the callers; else ""
  Look look = Look::host;
  uint64_t id = 0;    ///< in the file; for several nodes, of the first node
  int64_t count = 1;  ///< number of nodes in the box
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
  std::string_view kind;      ///< name of the EdgeKind, or "indirect"; "" if unknown
  bool inferred = false;
  Picoseconds lag_ps = 0;
  int64_t count = 1;  ///< number of edges
};

/// Syntax of a format: each function appends a part of a figure to the text.
struct PenWords {
  void (*begin)(std::string& out, std::string_view title);
  void (*frame)(std::string& out, std::string_view name, int64_t number);  ///< numbered in order; null: no frames
  std::string_view frame_end;
  void (*box)(std::string& out, const Box& box);
  std::string_view controls;  ///< before the first control arrow
  void (*arrow)(std::string& out, const Arrow& arrow, bool control);
  std::string_view end;
};

/// Required order of calls: begin, boxes (cluster() before the boxes of a cluster), data arrows, control arrows, end.
class Pen {
 public:
  Pen(const PenWords& words, Write write) : words_(words), write_(std::move(write)) {}

  void begin(std::string_view title);
  void cluster(std::string_view name);  ///< start a frame round the following boxes; "" ends the frame
  Result<void> box(const Box& box);
  Result<void> data(const Arrow& arrow);
  Result<void> control(const Arrow& arrow);
  Result<void> end();

 private:
  Result<void> flush(size_t above);

  const PenWords& words_;
  Write write_;
  std::string out_;
  int64_t frames_ = 0;
  bool in_frame_ = false, in_control_ = false;
};

}  // namespace chakra::view
