#include "chakra/xla/read_host.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

class HostReader {
 public:
  HostReader(const Plane& plane, Profile& profile, const char*& at)
      : plane_(plane),
        out_(profile),
        at_(at),
        first_call_(profile.calls.size()),
        first_annotation_(profile.annotations.size()) {}

  void run() {
    reserve();
    for (const protozero::data_view line : plane_.lines) read_line(pbf_reader(line));
    settle_ends();
    name_calls();
  }

 private:
  /// Make room for the events, of which the shortest executed one has 24 bytes.
  void reserve() {
    size_t events = 0, bytes = 0;
    for (const protozero::data_view line : plane_.lines) {
      bytes += line.size();
      for (pbf_reader fields(line); fields.next(); fields.skip()) events += fields.tag() == 4;
    }
    out_.events.reserve(out_.events.size() + std::min(events, bytes / 24));
  }

  void read_line(pbf_reader reader) {
    const size_t event = out_.events.size(), call = out_.calls.size(), end = ends_.size();
    const size_t annotation = out_.annotations.size(), start = out_.starts.size();
    line_ = event;
    Profile::Line line;
    while (reader.next()) {
      if (reader.tag() == 1 && is_varint(reader)) line.id = reader.get_int64();
      else if (reader.tag() == 3 && is_varint(reader)) line.begin_ns = reader.get_int64();
      else if (reader.tag() == 4 && is_text(reader)) {
        const auto bytes = reader.get_view();
        at_ = bytes.data();
        read_event(pbf_reader(bytes));
      } else if (reader.tag() <= 11) reader.skip();
      else skip(reader, "XLine", out_.unknown);
    }
    for (size_t c = call; c < out_.calls.size(); ++c) {
      out_.calls[c].thread = line.id;
      out_.calls[c].begin_ns = line.begin_ns;
    }
    for (size_t e = end; e < ends_.size(); ++e) ends_[e].begin_ns = line.begin_ns;
    for (size_t a = annotation; a < out_.annotations.size(); ++a) out_.annotations[a].begin_ns = line.begin_ns;
    for (size_t s = start; s < out_.starts.size(); ++s) out_.starts[s].begin_ns = line.begin_ns;
    line.thread = thread_++;
    if (out_.events.size() == event) return;
    for (size_t e = event; e < out_.events.size(); ++e) out_.events[e].line = static_cast<uint32_t>(out_.lines.size());
    line.id = 0;
    out_.lines.push_back(line);
  }

  static constexpr int64_t kGeneral = 0;
  /// What an event of any kind states. Events are copied into their lists once their kind is known.
  struct Fields {
    std::string_view op, module;
    int64_t program = 0, run = 0, device = 0;
    int64_t correlation = Profile::kNotStated, step = Profile::kNotStated;
    Picoseconds start = 0, length = 0;
    int64_t leads_to = Profile::kNotStated, comes_from = Profile::kNotStated;  ///< numbers of arrows
    bool leads = true, comes = true;                                           ///< by general arrows
    bool has_run = false;
  };

  void read_event(pbf_reader reader) {
    Fields event;
    int64_t metadata = 0;
    bool aggregated = false;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: metadata = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 2: event.start = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 3: event.length = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 4:
          if (!is_text(reader)) reader.skip();
          else use(plane_.read_stat(reader.get_view()), event);
          break;
        case 5:
          aggregated = true;
          reader.skip();
          break;
        default: skip(reader, "XEvent", out_.unknown);
      }
    }
    const bool is_call = event.correlation != Profile::kNotStated;
    if (aggregated) out_.aggregated += !is_call && !event.op.empty();
    else if (!is_call && !event.op.empty()) add_executed(event);
    else add_other(event, metadata);
  }

  void add_executed(const Fields& event) {
    if (event.leads && event.leads_to != Profile::kNotStated) begins_.push_back({event.leads_to, out_.events.size()});
    Profile::Event& executed = out_.events.emplace_back();
    executed.op = event.op;
    executed.module = event.module;
    executed.program = event.program;
    executed.run = event.run;
    executed.device = event.device;
    executed.start = event.start;
    executed.length = event.length;
  }

  void add_other(const Fields& event, int64_t metadata) {
    const Picoseconds start = std::max<Picoseconds>(0, event.start);
    if (event.correlation != Profile::kNotStated) {
      // A call that starts an event of a GPU, and may have the event's instruction.
      out_.calls.push_back({{}, event.correlation, 0, 0, start, std::max<Picoseconds>(0, event.length)});
      names_of_calls_.push_back(metadata);
    } else if (event.step != Profile::kNotStated) {
      out_.annotations.push_back({{}, event.step, thread_, 0, start, std::max<Picoseconds>(0, event.length)});
      names_of_annotations_.push_back(metadata);
    } else if (event.has_run) {
      out_.starts.push_back({event.run, thread_, 0, start});
    } else if (event.comes && event.comes_from != Profile::kNotStated) {
      // Most ends follow their event on the same line.
      if (begins_.empty() || begins_.back().arrow != event.comes_from || begins_.back().event < line_) {
        ends_.push_back({event.comes_from, 0, start});
      } else {
        settle_end(out_.events[begins_.back().event], start);
        begins_.pop_back();
      }
    }
  }

  static void use(const Plane::Value& value, Fields& event) {
    switch (value.stat) {
      case Stat::op: event.op = value.text; break;
      case Stat::module: event.module = value.text; break;
      case Stat::program: event.program = value.number; break;
      case Stat::run: event.run = value.number, event.has_run = true; break;
      case Stat::step: event.step = value.number; break;
      // TensorFlow's CPU has no number.
      case Stat::device: event.device = value.number == Profile::kNotStated ? 0 : value.number; break;
      case Stat::correlation: event.correlation = value.number; break;
      case Stat::leads_to: event.leads_to = value.number; break;
      case Stat::leads_to_kind: event.leads = value.number == kGeneral; break;
      case Stat::comes_from: event.comes_from = value.number; break;
      case Stat::comes_from_kind: event.comes = value.number == kGeneral; break;
      default: break;
    }
  }

  /// An instruction that other threads compute, as a convolution, ends later than its event, but before the event
  /// "end: " begins.
  void settle_ends() {
    if (ends_.empty()) return;
    absl::flat_hash_map<int64_t, End> end_of;
    for (const End& end : ends_) end_of.try_emplace(end.arrow, end);
    for (const auto& [arrow, e] : begins_) {
      Profile::Event& event = out_.events[e];
      const auto end = end_of.find(arrow);
      if (end == end_of.end()) continue;
      settle_end(event, add_saturated(since(out_.lines[event.line].begin_ns, end->second.begin_ns), end->second.time));
    }
  }
  /// `end`: since its line begins.
  static void settle_end(Profile::Event& event, Picoseconds end) {
    const Picoseconds start = std::max<Picoseconds>(0, event.start);
    if (end > add_saturated(start, std::max<Picoseconds>(0, event.length))) event.longest = end - start;
  }

  void name_calls() {
    if (names_of_calls_.empty() && names_of_annotations_.empty()) return;
    absl::flat_hash_map<int64_t, std::string_view> names;
    for (const protozero::data_view entry : plane_.metadata) {
      int64_t id = 0;
      std::string_view name;
      for (pbf_reader fields(entry); fields.next();)
        if (fields.tag() == 1 && is_varint(fields)) id = fields.get_int64();
        else if (fields.tag() == 2 && is_text(fields)) {
          for (pbf_reader of = fields.get_message(); of.next();)
            if (of.tag() == 2 && is_text(of)) name = view(of.get_view());
            else of.skip();
        } else fields.skip();
      names[id] = name;
    }
    for (size_t c = 0; c < names_of_calls_.size(); ++c)
      if (const auto found = names.find(names_of_calls_[c]); found != names.end())
        out_.calls[first_call_ + c].name = found->second;
    for (size_t a = 0; a < names_of_annotations_.size(); ++a)
      if (const auto found = names.find(names_of_annotations_[a]); found != names.end())
        out_.annotations[first_annotation_ + a].name = found->second;
  }

  struct End {
    int64_t arrow = 0;
    int64_t begin_ns = 0;  ///< of its line
    Picoseconds time = 0;
  };
  const Plane& plane_;
  Profile& out_;
  const char*& at_;
  size_t first_call_, first_annotation_, line_ = 0;             ///< line_: the first event of the line that is read
  uint32_t thread_ = 0;                                         ///< of the line that is read
  std::vector<int64_t> names_of_calls_, names_of_annotations_;  ///< in the plane's descriptions
  struct Begin {
    int64_t arrow = 0;
    size_t event = 0;  ///< in Profile::events
  };
  std::vector<Begin> begins_;  ///< of executed instructions
  std::vector<End> ends_;
};

}  // namespace

void read_host(const Plane& plane, Profile& profile, const char*& at) { HostReader(plane, profile, at).run(); }

}  // namespace chakra::xla
