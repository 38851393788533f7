// Timeline -> Perfetto's protobuf stream: TracePackets of perfetto_trace.proto.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "chakra/schema/schema.h"
#include "chakra/view/layout.h"
#include "chakra/view/pieces.h"
#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using result::Timeline;
using schema::wire::Bytes;
using schema::wire::kFixed64;
using schema::wire::kMostVarint;
using schema::wire::kText;
using schema::wire::kVarint;
using schema::wire::tag_at;
using schema::wire::varint_at;

// Numbers of the fields that are written, by message.
namespace trace_file {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13,
                   kTrackDescriptor = 60;
}
namespace descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8, kChildOrder = 11, kSiblingRank = 12;
}
namespace process {
constexpr uint32_t kPid = 1, kSortIndex = 3, kName = 6;
}
namespace counter {
constexpr uint32_t kUnit = 6;
}
namespace event {
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11, kCounterValue = 30, kFlow = 47,
                   kLastFlow = 48;
}
namespace annotation {
constexpr uint32_t kName = 1, kNatural = 3, kWhole = 4;
}
namespace interned {
constexpr uint32_t kCategories = 1, kNames = 2, kAnnotations = 3, kId = 1, kText = 2;
}

constexpr uint64_t kSequence = 1;                     // all packets come from one writer
constexpr uint64_t kCleared = 1, kNeedsState = 2;     // sequence flags
constexpr uint64_t kBegin = 1, kEnd = 2, kValue = 4;  // types of events
constexpr uint64_t kExplicit = 3;                     // order of children: by sibling_order_rank
constexpr std::array<std::string_view, 3> kAnnotations{"node", "start_ps", "duration_ps"};
constexpr uint64_t kNode = 1, kStart = 2, kDuration = 3;  // into kAnnotations, from 1
constexpr uint64_t kFirstProcess = uint64_t{1} << 40;     // uuids, above those of tracks
constexpr size_t kPieceBytes = size_t{1} << 20;

/// One event of a slice without its flows needs less.
constexpr size_t kMostEvent = 24 * kMostVarint;

char* number_at(char* at, uint32_t field, uint64_t value) { return varint_at(tag_at(at, field, kVarint), value); }
char* fixed_at(char* at, uint32_t field, uint64_t value) {
  at = tag_at(at, field, kFixed64);
  for (int i = 0; i < 8; ++i) *at++ = static_cast<char>(value >> (8 * i));
  return at;
}
void put(Bytes& out, uint32_t field, uint64_t value) { out.end(number_at(out.room(2 * kMostVarint), field, value)); }
template <class Fill>
void put_message(Bytes& out, uint32_t field, const Fill& fill) {
  out.end(tag_at(out.room(kMostVarint), field, kText));
  schema::wire::put_sized(out, 1, fill);
}
/// The same text as in Chrome's format. A text of protobuf must be UTF-8.
void put_name(Bytes& out, uint32_t field, std::string_view name) {
  std::string text;
  append_utf8(text, name);
  schema::wire::put_text(out, field, text);
}

class StreamWriter {
 public:
  StreamWriter(const Timeline& timeline, AtomicFile file)
      : t_(timeline), layout_(lay_out(timeline)), file_(std::move(file)) {}

  Result<void> run() {
    for (const Timeline::Slice& slice : t_.slices) base_ps_ = std::min(base_ps_, slice.start_ps);
    CHAKRA_TRY(names());
    CHAKRA_TRY(tracks());
    group_flows();
    CHAKRA_TRY(slices());
    CHAKRA_TRY(counters());
    return file_.commit();
  }

 private:
  Result<void> flush(size_t above) {
    if (out_.size() <= above) return {};
    CHAKRA_TRY(file_.write(out_.view()));
    out_.clear();
    return {};
  }
  template <class Fill>
  static void put_packet(Bytes& out, const Fill& fill) {
    put_message(out, trace_file::kPacket, [&] {
      put(out, packet::kSequence, kSequence);
      fill();
    });
  }

  /// The texts to which events refer by number: that of a text in the timeline, plus one.
  Result<void> names() {
    std::vector<bool> name(t_.strings.size()), category(t_.strings.size());
    for (const Timeline::Slice& slice : t_.slices) name[slice.name] = category[slice.category] = true;
    put_packet(out_, [&] {
      put(out_, packet::kSequenceFlags, kCleared);
      put_message(out_, packet::kInternedData, [&] {
        for (size_t a = 0; a < kAnnotations.size(); ++a) text(interned::kAnnotations, a + 1, kAnnotations[a]);
      });
    });
    for (StringId s = 0; s < t_.strings.size(); ++s) {
      if (!name[s] && !category[s]) continue;
      put_packet(out_, [&] {
        put(out_, packet::kSequenceFlags, kNeedsState);
        put_message(out_, packet::kInternedData, [&] {
          if (name[s]) text(interned::kNames, s + 1, t_.strings[s]);
          if (category[s]) text(interned::kCategories, s + 1, t_.strings[s]);
        });
      });
      CHAKRA_TRY(flush(kPieceBytes));
    }
    return {};
  }
  void text(uint32_t field, uint64_t id, std::string_view value) {
    put_message(out_, field, [&] {
      put(out_, interned::kId, id);
      put_name(out_, interned::kText, value);
    });
  }

  /// A process for each rank, in which tracks keep the order of the timeline, and counters come last. Counters of no
  /// rank are beside the processes.
  Result<void> tracks() {
    for (uint32_t d = 0; d < layout_.drawn.size(); ++d) {
      CHAKRA_TRY(track(layout_.name(t_, d), "", t_.tracks[layout_.drawn[d].track].rank));
    }
    first_counter_ = next_uuid_;
    for (const Timeline::Counter& each : t_.counters) CHAKRA_TRY(track(each.name, each.unit, each.rank));
    return {};
  }
  Result<void> track(std::string_view name, std::string_view unit, int64_t rank) {
    const uint64_t parent = rank < 0 ? 0 : process_of(rank), uuid = next_uuid_++;
    put_packet(out_, [&] {
      put_message(out_, packet::kTrackDescriptor, [&] {
        put(out_, descriptor::kUuid, uuid);
        if (rank >= 0) put(out_, descriptor::kParent, parent);
        put_name(out_, descriptor::kName, name);
        put(out_, descriptor::kSiblingRank, uuid);
        if (!unit.empty()) put_message(out_, descriptor::kCounter, [&] { put_name(out_, counter::kUnit, unit); });
      });
    });
    return flush(kPieceBytes);
  }
  uint64_t process_of(int64_t rank) {
    if (const auto found = processes_.find(rank); found != processes_.end()) return found->second;
    const uint64_t uuid = kFirstProcess + processes_.size();
    processes_.emplace(rank, uuid);
    put_packet(out_, [&] {
      put_message(out_, packet::kTrackDescriptor, [&] {
        put(out_, descriptor::kUuid, uuid);
        put(out_, descriptor::kChildOrder, kExplicit);
        put_message(out_, descriptor::kProcess, [&] {
          put(out_, process::kPid, static_cast<uint64_t>(rank + 1));  // viewers treat process 0 as idle
          put(out_, process::kSortIndex, static_cast<uint64_t>(rank));
          schema::wire::put_text(out_, process::kName, fmt::format("rank {}", rank));
        });
      });
    });
    return uuid;
  }

  /// The flows of each slice: which begin there, and which end there.
  void group_flows() {
    flows_begin_.assign(t_.slices.size() + 2, 0);
    for (const Timeline::Flow& flow : t_.flows) ++flows_begin_[flow.from + 2], ++flows_begin_[flow.to + 2];
    for (size_t s = 2; s < flows_begin_.size(); ++s) flows_begin_[s] += flows_begin_[s - 1];
    flows_.resize(2 * t_.flows.size());
    for (uint32_t f = 0; f < t_.flows.size(); ++f) {
      flows_[flows_begin_[t_.flows[f].from + 1]++] = {f, false};
      flows_[flows_begin_[t_.flows[f].to + 1]++] = {f, true};
    }
    flows_begin_.pop_back();
  }

  uint64_t ns(Picoseconds time) const { return static_cast<uint64_t>(time - base_ps_) / kPsPerNs; }

  Result<void> slices() {
    CHAKRA_TRY(flush(0));
    const std::vector<uint32_t> pieces = whole_tracks();
    return write_pieces<Bytes>(
        pieces.size() - 1, [&](Bytes& out, size_t i) { slices(out, pieces[i], pieces[i + 1]); },
        [&](const Bytes& events) { return file_.write(events.view()); });
  }

  /// Where pieces of Layout::order begin and end: each has the slices of whole tracks.
  std::vector<uint32_t> whole_tracks() const {
    std::vector<uint32_t> pieces{0};
    const auto track_at = [&](uint32_t i) { return t_.slices[layout_.order[i]].track; };
    const auto count = static_cast<uint32_t>(layout_.order.size());
    for (uint32_t i = 1; i < count; ++i)
      if (i - pieces.back() >= kPieceEvents && track_at(i) != track_at(i - 1)) pieces.push_back(i);
    pieces.push_back(count);
    return pieces;
  }

  void slices(Bytes& out, uint32_t first, uint32_t last) const {
    std::map<uint32_t, std::vector<uint32_t>> open;  // by drawn track: slices that have not ended, the innermost last
    const auto end_until = [&](uint32_t drawn, std::vector<uint32_t>& around, Picoseconds time) {
      for (; !around.empty() && t_.slices[around.back()].end_ps <= time; around.pop_back())
        end(out, drawn, around.back());
    };
    for (uint32_t i = first; i < last; ++i) {
      const uint32_t s = layout_.order[i], drawn = layout_.track_of_slice[s];
      std::vector<uint32_t>& around = open[drawn];
      end_until(drawn, around, t_.slices[s].start_ps);
      begin(out, drawn, s);
      around.push_back(s);
    }
    for (auto& [drawn, around] : open) end_until(drawn, around, INT64_MAX);
  }

  void begin(Bytes& out, uint32_t drawn, uint32_t s) const {
    const Timeline::Slice& slice = t_.slices[s];
    put_event(out, slice.start_ps, kBegin, drawn + 1, s, [&](char* at) {
      at = number_at(at, event::kCategory, slice.category + 1);
      at = number_at(at, event::kName, slice.name + 1);
      at = annotation_at(at, kNode, annotation::kNatural, slice.node);
      if (slice.start_ps % kPsPerNs == 0 && slice.end_ps % kPsPerNs == 0) return at;
      at = annotation_at(at, kStart, annotation::kWhole, static_cast<uint64_t>(slice.start_ps));
      return annotation_at(at, kDuration, annotation::kWhole, static_cast<uint64_t>(slice.end_ps - slice.start_ps));
    });
  }
  void end(Bytes& out, uint32_t drawn, uint32_t s) const {
    put_event(out, t_.slices[s].end_ps, kEnd, drawn + 1, s, [](char* at) { return at; });
  }
  /// Write the flows of a slice that belong to its begin or to its end. A viewer reads flows in the order of time: one
  /// that ends in a slice that begins no later than the slice of its origin belongs to the end.
  void put_flows(Bytes& out, uint32_t s, uint64_t type) const {
    for (uint32_t i = flows_begin_[s]; i < flows_begin_[s + 1]; ++i) {
      const auto [flow, last] = flows_[i];
      const bool at_end =
          last && t_.slices[s].start_ps / kPsPerNs <= t_.slices[t_.flows[flow].from].start_ps / kPsPerNs;
      if (at_end == (type == kEnd))
        out.end(fixed_at(out.room(2 * kMostVarint), last ? event::kLastFlow : event::kFlow, flow + 1));
    }
  }

  /// The end of a slice has no names, so a reader needs no earlier packet for it.
  template <class Fill>
  void put_event(Bytes& out, Picoseconds time, uint64_t type, uint64_t track, uint32_t slice, const Fill& fill) const {
    put_packet(out, [&] {
      char* at = number_at(out.room(kMostEvent), packet::kTimestamp, ns(time));
      if (type == kBegin) at = number_at(at, packet::kSequenceFlags, kNeedsState);
      out.end(at);
      put_message(out, packet::kTrackEvent, [&] {
        char* to = number_at(out.room(kMostEvent), event::kType, type);
        out.end(fill(number_at(to, event::kTrack, track)));
        if (type != kValue) put_flows(out, slice, type);
      });
    });
  }
  static char* annotation_at(char* at, uint64_t name, uint32_t field, uint64_t value) {
    const size_t size = 2 + 1 + schema::wire::varint_size(value);
    at = varint_at(tag_at(at, event::kAnnotation, kText), size);
    return number_at(number_at(at, annotation::kName, name), field, value);
  }

  Result<void> counters() {
    for (size_t c = 0; c < t_.counters.size(); ++c) {
      const Timeline::Counter& each = t_.counters[c];
      const size_t count = each.values.size();
      const auto fill = [&](Bytes& out, size_t piece) {
        for (size_t i = piece * kPieceEvents; i < std::min(count, (piece + 1) * kPieceEvents); ++i)
          put_event(out, each.at_ps[i], kValue, first_counter_ + c, 0, [&](char* at) {
            return number_at(at, event::kCounterValue, static_cast<uint64_t>(each.values[i]));
          });
      };
      CHAKRA_TRY(write_pieces<Bytes>((count + kPieceEvents - 1) / kPieceEvents, fill,
                                     [&](const Bytes& events) { return file_.write(events.view()); }));
    }
    return {};
  }

  struct FlowEnd {
    uint32_t flow;
    bool last;
  };

  const Timeline& t_;
  const Layout layout_;
  AtomicFile file_;
  Bytes out_;
  Picoseconds base_ps_ = 0;  ///< the earliest start if that is negative: times in the file are natural
  uint64_t next_uuid_ = 1;   ///< of a drawn track: its place in the layout, plus one; then of counters
  uint64_t first_counter_ = 0;
  std::map<int64_t, uint64_t> processes_;  ///< uuid by rank
  std::vector<uint32_t> flows_begin_;      ///< by slice, into flows_
  std::vector<FlowEnd> flows_;
};

}  // namespace

Result<void> write_perfetto(const Timeline& timeline, const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return StreamWriter(timeline, std::move(file)).run();
}

}  // namespace chakra::view
