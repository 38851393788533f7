// Timeline -> Chrome's trace event format.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "chakra/view/view.h"

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

/// Where each slice is drawn: a track of the file. Slices of one of them nest.
struct Layout {
  std::vector<uint32_t> track_of_slice;
  struct Drawn {
    uint32_t track;   ///< of the timeline
    uint32_t number;  ///< 0 for the first of that track, 1 for the next ...
  };
  std::vector<Drawn> drawn;
};

Layout lay_out(const Timeline& timeline) {
  std::vector<uint32_t> order(timeline.slices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Timeline::Slice &x = timeline.slices[a], &y = timeline.slices[b];
    if (x.track != y.track) return x.track < y.track;
    if (x.start_ps != y.start_ps) return x.start_ps < y.start_ps;
    if (x.end_ps != y.end_ps) return x.end_ps > y.end_ps;
    return a < b;
  });
  Layout layout;
  layout.track_of_slice.resize(timeline.slices.size());
  size_t i = 0;
  for (uint32_t track = 0; track < timeline.tracks.size(); ++track) {
    const auto first = static_cast<uint32_t>(layout.drawn.size());
    std::vector<std::vector<Picoseconds>> open(1);  // per drawn track: ends of the slices around
    layout.drawn.push_back({track, 0});
    for (; i < order.size() && timeline.slices[order[i]].track == track; ++i) {
      const Timeline::Slice& slice = timeline.slices[order[i]];
      for (size_t d = 0;; ++d) {
        if (d == open.size()) {
          open.emplace_back();
          layout.drawn.push_back({track, static_cast<uint32_t>(d)});
        }
        while (!open[d].empty() && open[d].back() <= slice.start_ps) open[d].pop_back();
        if (!open[d].empty() && open[d].back() < slice.end_ps) continue;  // would stick out
        open[d].push_back(slice.end_ps);
        layout.track_of_slice[order[i]] = first + static_cast<uint32_t>(d);
        break;
      }
    }
  }
  return layout;
}

class Writer {
 public:
  Writer(const Timeline& timeline, AtomicFile file)
      : t_(timeline), layout_(lay_out(timeline)), file_(std::move(file)) {}

  Result<void> run() {
    out_ = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    metadata();
    for (uint32_t s = 0; s < t_.slices.size(); ++s) {
      slice(s);
      CHAKRA_TRY(flush(kEventBytes));
    }
    for (uint32_t f = 0; f < t_.flows.size(); ++f) {
      flow(f);
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
      append_json_string(out_, layout_.drawn[d].number == 0
                                   ? track.name
                                   : fmt::format("{} ({})", track.name, layout_.drawn[d].number + 1));
      out_ += "}}";
    }
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

  /// From the end of one slice, or from inside it where the other begins earlier, to the beginning of the
  /// other. Both ends lie inside their slices: viewers find the slice by its time.
  void flow(uint32_t f) {
    const Timeline::Flow& flow = t_.flows[f];
    const Timeline::Slice &from = t_.slices[flow.from], &to = t_.slices[flow.to];
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
    const Picoseconds leaves = std::max(from.start_ps, std::min(from.end_ps - kPsPerNs, to.start_ps));
    end('s', flow.from, leaves);
    end('f', flow.to, std::clamp(leaves, to.start_ps, to.end_ps));
  }

  const Timeline& t_;
  Layout layout_;
  AtomicFile file_;
  std::string out_;
  bool any_ = false;
};

}  // namespace

Result<void> write_chrome_trace(const Timeline& timeline, const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return Writer(timeline, std::move(file)).run();
}

}  // namespace chakra::view
