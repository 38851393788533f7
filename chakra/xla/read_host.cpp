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
  /// What an event of any kind states. Its numbers are not cleared: a profile has millions of events.
  class Fields {
   public:
    Picoseconds start = 0, length = 0;
    int64_t metadata = 0;

    void set(const Plane::Value& value) {
      const auto stat = static_cast<size_t>(value.stat);
      stated_ |= 1U << stat;
      numbers_[stat] = value.number;
      if (stat < std::size(texts_)) texts_[stat] = value.text;
    }
    bool has(Stat stat) const { return (stated_ >> static_cast<size_t>(stat) & 1U) != 0; }
    int64_t number(Stat stat, int64_t otherwise = Profile::kNotStated) const {
      return has(stat) ? numbers_[static_cast<size_t>(stat)] : otherwise;
    }
    std::string_view op() const { return texts_[static_cast<size_t>(Stat::op)]; }
    std::string_view module() const { return texts_[static_cast<size_t>(Stat::module)]; }

   private:
    uint32_t stated_ = 0;          ///< a bit for each Stat
    std::string_view texts_[3];    ///< by Stat, up to `module`
    int64_t numbers_[kStatCount];  ///< by Stat
  };

  void read_event(pbf_reader reader) {
    Fields event;
    bool aggregated = false;
    const auto number = [&] { return is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); };
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: event.metadata = number(); break;
        case 2: event.start = number(); break;
        case 3: event.length = number(); break;
        case 4:
          if (!is_text(reader)) reader.skip();
          else event.set(plane_.read_stat(reader.get_view()));
          break;
        case 5:
          aggregated = true;
          reader.skip();
          break;
        default: skip(reader, "XEvent", out_.unknown);
      }
    }
    const bool is_executed = !event.op().empty() && event.number(Stat::correlation) == Profile::kNotStated;
    if (aggregated) out_.aggregated += is_executed;
    else if (is_executed) add_executed(event);
    else add_other(event);
  }

  void add_executed(const Fields& event) {
    const int64_t arrow = event.number(Stat::leads_to);
    if (arrow != Profile::kNotStated && event.number(Stat::leads_to_kind, kGeneral) == kGeneral)
      begins_.push_back({arrow, out_.events.size()});
    Profile::Event& executed = out_.events.emplace_back();
    executed.op = event.op();
    executed.module = event.module();
    executed.program = event.number(Stat::program, 0);
    executed.run = event.number(Stat::run, 0);
    // TensorFlow's CPU has no number.
    executed.device = event.number(Stat::device);
    if (executed.device == Profile::kNotStated) executed.device = 0;
    executed.start = event.start;
    executed.length = event.length;
  }

  void add_other(const Fields& event) {
    const Picoseconds start = std::max<Picoseconds>(0, event.start);
    const Picoseconds length = std::max<Picoseconds>(0, event.length);
    const int64_t arrow = event.number(Stat::comes_from);
    if (const int64_t call = event.number(Stat::correlation); call != Profile::kNotStated) {
      // A call that starts an event of a GPU, and may have the event's instruction.
      out_.calls.push_back({{}, call, 0, 0, start, length});
      names_of_calls_.push_back(event.metadata);
    } else if (const int64_t step = event.number(Stat::step); step != Profile::kNotStated) {
      out_.annotations.push_back({{}, step, thread_, 0, start, length});
      names_of_annotations_.push_back(event.metadata);
    } else if (event.has(Stat::run)) {
      out_.starts.push_back({event.number(Stat::run), thread_, 0, start});
    } else if (arrow != Profile::kNotStated && event.number(Stat::comes_from_kind, kGeneral) == kGeneral) {
      // Most ends follow their event on the same line.
      if (begins_.empty() || begins_.back().arrow != arrow || begins_.back().event < line_) {
        ends_.push_back({arrow, 0, start});
      } else {
        settle_end(out_.events[begins_.back().event], start);
        begins_.pop_back();
      }
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
