// Timeline -> Chrome's trace event format.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/view/layout.h"
#include "chakra/view/pieces.h"

namespace chakra::view {
namespace {

using result::Timeline;

/// Picoseconds as microseconds, without rounding.
void append_us(std::string& out, Picoseconds time) {
  fmt::format_to(std::back_inserter(out), "{}{}", time < 0 ? "-" : "", std::abs(time / kPsPerUs));
  const Picoseconds rest = std::abs(time % kPsPerUs);
  if (rest == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:06}", rest);
  while (out.back() == '0') out.pop_back();
}

class Writer {
 public:
  Writer(const Timeline& timeline, AtomicFile file)
      : t_(timeline), layout_(lay_out(timeline)), file_(std::move(file)) {}

  Result<void> run() {
    CHAKRA_TRY(file_.write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": ["));
    std::string processes;
    metadata(processes);
    metadata_of_no_rank(processes);
    CHAKRA_TRY(write(processes));
    CHAKRA_TRY(write_each(t_.slices.size(), [this](std::string& out, size_t s) { slice(out, s); }));
    CHAKRA_TRY(write_each(t_.flows.size(), [this](std::string& out, size_t f) { flow(out, f); }));
    for (const Timeline::Counter& each : t_.counters)
      CHAKRA_TRY(write_each(each.values.size(), [&](std::string& out, size_t i) { counter(out, each, i); }));
    CHAKRA_TRY(file_.write("\n]}\n"));
    return file_.commit();
  }

 private:
  /// Write events, of which each begins with the comma after the one before.
  Result<void> write(std::string_view events) {
    if (events.empty()) return {};
    CHAKRA_TRY(file_.write(any_ ? events : events.substr(1)));
    any_ = true;
    return {};
  }

  /// Write the events of event(out, 0), ..., event(out, count - 1), which several cores make in pieces.
  template <class Event>
  Result<void> write_each(size_t count, const Event& event) {
    const auto fill = [&](std::string& out, size_t piece) {
      const size_t first = piece * kPieceEvents;
      for (size_t i = first; i < std::min(count, first + kPieceEvents); ++i) event(out, i);
    };
    return write_pieces<std::string>((count + kPieceEvents - 1) / kPieceEvents, fill,
                                     [&](const std::string& events) { return write(events); });
  }

  static void begin(std::string& out, char phase) {
    out += ",\n{\"ph\": \"";
    out += phase;
    out += '"';
  }
  void place(std::string& out, uint32_t drawn) const {
    fmt::format_to(std::back_inserter(out), ", \"pid\": {}, \"tid\": {}", t_.tracks[layout_.drawn[drawn].track].rank,
                   drawn + 1);
  }
  static void text(std::string& out, const char* key, std::string_view value) {
    fmt::format_to(std::back_inserter(out), ", \"{}\": ", key);
    append_json_string(out, value);
  }

  void metadata(std::string& out) const {
    int64_t last_rank = INT64_MIN;
    for (uint32_t d = 0; d < layout_.drawn.size(); ++d) {
      const Timeline::Track& track = t_.tracks[layout_.drawn[d].track];
      if (track.rank != last_rank) {
        last_rank = track.rank;
        begin(out, 'M');
        fmt::format_to(std::back_inserter(out),
                       ", \"name\": \"process_name\", \"pid\": {0}, \"args\": {{\"name\": \"rank {0}\"}}}}",
                       track.rank);
        begin(out, 'M');
        fmt::format_to(std::back_inserter(out),
                       ", \"name\": \"process_sort_index\", \"pid\": {0}, \"args\": {{\"sort_index\": {0}}}}}",
                       track.rank);
      }
      begin(out, 'M');
      out += ", \"name\": \"thread_name\"";
      place(out, d);
      out += ", \"args\": {\"name\": ";
      append_json_string(out, layout_.name(t_, d));
      out += "}}";
    }
  }

  /// Counters of no rank belong to an additional process, after those of ranks.
  void metadata_of_no_rank(std::string& out) {
    int64_t last = -1;
    bool any = false;
    for (const Timeline::Track& track : t_.tracks) last = std::max(last, track.rank);
    for (const Timeline::Counter& each : t_.counters) last = std::max(last, each.rank), any = any || each.rank < 0;
    no_rank_ = last + 1;
    if (!any) return;
    begin(out, 'M');
    fmt::format_to(std::back_inserter(out),
                   ", \"name\": \"process_name\", \"pid\": {}, \"args\": {{\"name\": \"links\"}}}}", no_rank_);
  }

  void slice(std::string& out, size_t s) const {
    const Timeline::Slice& slice = t_.slices[s];
    begin(out, 'X');
    text(out, "name", t_.strings[slice.name]);
    text(out, "cat", t_.strings[slice.category]);
    place(out, layout_.track_of_slice[s]);
    out += ", \"ts\": ";
    append_us(out, slice.start_ps);
    out += ", \"dur\": ";
    append_us(out, slice.end_ps - slice.start_ps);
    fmt::format_to(std::back_inserter(out), ", \"args\": {{\"node\": {}}}}}", slice.node);
  }

  void flow(std::string& out, size_t f) const {
    const Timeline::Flow& flow = t_.flows[f];
    const auto end = [&](char phase, uint32_t slice, Picoseconds time) {
      begin(out, phase);
      text(out, "name", t_.strings[flow.name]);
      text(out, "cat", "flow");
      fmt::format_to(std::back_inserter(out), ", \"id\": {}", f + 1);
      place(out, layout_.track_of_slice[slice]);
      out += ", \"ts\": ";
      append_us(out, time);
      out += phase == 'f' ? ", \"bp\": \"e\"}" : "}";
    };
    const FlowEnds ends = ends_of(t_, flow);
    end('s', flow.from, ends.leaves);
    end('f', flow.to, ends.arrives);
  }

  void counter(std::string& out, const Timeline::Counter& counter, size_t i) const {
    begin(out, 'C');
    text(out, "name", counter.name);
    fmt::format_to(std::back_inserter(out), ", \"pid\": {}, \"ts\": ", counter.rank < 0 ? no_rank_ : counter.rank);
    append_us(out, counter.at_ps[i]);
    out += ", \"args\": {";
    append_json_string(out, counter.unit);
    fmt::format_to(std::back_inserter(out), ": {}}}}}", counter.values[i]);
  }

  const Timeline& t_;
  const Layout layout_;
  AtomicFile file_;
  bool any_ = false;
  int64_t no_rank_ = 0;  ///< the process of counters of no rank
};

}  // namespace

Result<void> write_chrome_trace(const Timeline& timeline, const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return Writer(timeline, std::move(file)).run();
}

}  // namespace chakra::view
