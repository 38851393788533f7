// Timeline -> Chrome's trace event format.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/view/layout.h"

namespace chakra::view {
namespace {

using result::Timeline;

constexpr size_t kEventBytes = size_t{1} << 20;

/// Picoseconds as microseconds, without rounding.
void append_us(std::string& out, Picoseconds time) {
  fmt::format_to(std::back_inserter(out), "{}{}", time < 0 ? "-" : "", std::abs(time / kPsPerUs));
  Picoseconds rest = std::abs(time % kPsPerUs);
  if (rest == 0) return;
  std::string digits = fmt::format(".{:06}", rest);
  while (digits.back() == '0') digits.pop_back();
  out += digits;
}

class Writer {
 public:
  Writer(const Timeline& timeline, AtomicFile file)
      : t_(timeline), layout_(lay_out(timeline)), file_(std::move(file)) {}

  Result<void> run() {
    out_ = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    metadata();
    metadata_of_no_rank();
    for (uint32_t s = 0; s < t_.slices.size(); ++s) {
      slice(s);
      CHAKRA_TRY(flush(kEventBytes));
    }
    for (uint32_t f = 0; f < t_.flows.size(); ++f) {
      flow(f);
      CHAKRA_TRY(flush(kEventBytes));
    }
    for (const Timeline::Counter& each : t_.counters) {
      counter(each);
      CHAKRA_TRY(flush(kEventBytes));
    }
    out_ += "\n]}\n";
    CHAKRA_TRY(flush(0));
    return file_.commit();
  }

 private:
  Result<void> flush(size_t above) {
    if (out_.size() <= above) return {};
    CHAKRA_TRY(file_.write(out_));
    out_.clear();
    return {};
  }

  void begin(char phase) {
    out_ += any_ ? ",\n" : "\n";
    any_ = true;
    fmt::format_to(std::back_inserter(out_), "{{\"ph\": \"{}\"", phase);
  }
  void place(uint32_t drawn) {
    fmt::format_to(std::back_inserter(out_), ", \"pid\": {}, \"tid\": {}", t_.tracks[layout_.drawn[drawn].track].rank,
                   drawn + 1);
  }
  void text(const char* key, std::string_view value) {
    fmt::format_to(std::back_inserter(out_), ", \"{}\": ", key);
    append_json_string(out_, value);
  }

  void metadata() {
    int64_t last_rank = INT64_MIN;
    for (uint32_t d = 0; d < layout_.drawn.size(); ++d) {
      const Timeline::Track& track = t_.tracks[layout_.drawn[d].track];
      if (track.rank != last_rank) {
        last_rank = track.rank;
        begin('M');
        fmt::format_to(std::back_inserter(out_),
                       ", \"name\": \"process_name\", \"pid\": {0}, \"args\": {{\"name\": \"rank {0}\"}}}}",
                       track.rank);
        begin('M');
        fmt::format_to(std::back_inserter(out_),
                       ", \"name\": \"process_sort_index\", \"pid\": {0}, \"args\": {{\"sort_index\": {0}}}}}",
                       track.rank);
      }
      begin('M');
      out_ += ", \"name\": \"thread_name\"";
      place(d);
      out_ += ", \"args\": {\"name\": ";
      append_json_string(out_, layout_.name(t_, d));
      out_ += "}}";
    }
  }

  /// Counters of no rank belong to an additional process, after those of ranks.
  void metadata_of_no_rank() {
    int64_t last = -1;
    bool any = false;
    for (const Timeline::Track& track : t_.tracks) last = std::max(last, track.rank);
    for (const Timeline::Counter& each : t_.counters) last = std::max(last, each.rank), any = any || each.rank < 0;
    no_rank_ = last + 1;
    if (!any) return;
    begin('M');
    fmt::format_to(std::back_inserter(out_),
                   ", \"name\": \"process_name\", \"pid\": {}, \"args\": {{\"name\": \"links\"}}}}", no_rank_);
  }

  void slice(uint32_t s) {
    const Timeline::Slice& slice = t_.slices[s];
    begin('X');
    text("name", t_.strings[slice.name]);
    text("cat", t_.strings[slice.category]);
    place(layout_.track_of_slice[s]);
    out_ += ", \"ts\": ";
    append_us(out_, slice.start_ps);
    out_ += ", \"dur\": ";
    append_us(out_, slice.end_ps - slice.start_ps);
    fmt::format_to(std::back_inserter(out_), ", \"args\": {{\"node\": {}}}}}", slice.node);
  }

  void flow(uint32_t f) {
    const Timeline::Flow& flow = t_.flows[f];
    const auto end = [&](char phase, uint32_t slice, Picoseconds time) {
      begin(phase);
      text("name", t_.strings[flow.name]);
      text("cat", "flow");
      fmt::format_to(std::back_inserter(out_), ", \"id\": {}", f + 1);
      place(layout_.track_of_slice[slice]);
      out_ += ", \"ts\": ";
      append_us(out_, time);
      out_ += phase == 'f' ? ", \"bp\": \"e\"}" : "}";
    };
    const FlowEnds ends = ends_of(t_, flow);
    end('s', flow.from, ends.leaves);
    end('f', flow.to, ends.arrives);
  }

  void counter(const Timeline::Counter& counter) {
    for (size_t i = 0; i < counter.values.size(); ++i) {
      begin('C');
      text("name", counter.name);
      fmt::format_to(std::back_inserter(out_), ", \"pid\": {}, \"ts\": ", counter.rank < 0 ? no_rank_ : counter.rank);
      append_us(out_, counter.at_ps[i]);
      out_ += ", \"args\": {";
      append_json_string(out_, counter.unit);
      fmt::format_to(std::back_inserter(out_), ": {}}}}}", counter.values[i]);
    }
  }

  const Timeline& t_;
  const Layout layout_;
  AtomicFile file_;
  std::string out_;
  bool any_ = false;
  int64_t no_rank_ = 0;  ///< the process of counters of no rank
};

}  // namespace

Result<void> write_chrome_trace(const Timeline& timeline, const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return Writer(timeline, std::move(file)).run();
}

}  // namespace chakra::view
