// Writes a graph while it is handed out, box by box and edge by edge: nothing is laid out and nothing is kept but what
// has not yet been written. What all forms say is here once; how each says it, its PenWords, in a file of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/view/view.h"

namespace chakra::view {

/// Takes text in pieces of about a megabyte.
using Write = std::function<Result<void>(std::string_view)>;

/// What may stand in a text of any form: well-formed UTF-8 without control characters, else a replacement. Calls
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

/// How a form says each part of a picture; each function appends to the text.
struct PenWords {
  void (*begin)(std::string& out, std::string_view title);
  void (*frame)(std::string& out, std::string_view name, int64_t number);  ///< numbers count up; null: no frames
  std::string_view frame_end;
  void (*box)(std::string& out, const Box& box);
  std::string_view controls;  ///< before the first control arrow
  void (*arrow)(std::string& out, const Arrow& arrow, bool control);
  std::string_view end;
};

/// Calls: begin, then boxes (cluster() before those of one), then data arrows, then control arrows, then end.
class Pen {
 public:
  Pen(const PenWords& words, Write write) : words_(words), write_(std::move(write)) {}

  void begin(std::string_view title);
  void cluster(std::string_view name);  ///< a frame round the boxes that follow; "" ends it
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
