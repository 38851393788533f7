// Lines of a device. A stream of a GPU has kernels and copies. A TPU has the lines "XLA Ops" (one instruction after the
// other; loops contain their bodies), "Async XLA Ops" (from -start to -done), "XLA Modules" (runs) and "Steps". Other
// lines repeat these events or have counters.
#include "chakra/xla/read_device.h"

#include <algorithm>

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

struct Description {
  std::string_view name, display, op, module;
  int64_t program = Profile::kNotStated;
};
/// A module or a step.
struct Span {
  Picoseconds start = 0, end = 0;
  std::string_view name;
  int64_t run = Profile::kNotStated;
};

/// "%fusion.1 = f32[8]{0} fusion(...)" -> "fusion.1".
std::string_view instruction_in(std::string_view text) {
  if (!text.starts_with('%')) return text;
  return text.substr(1, text.find(" = ") - 1);
}

/// "jit_step(34)" -> "jit_step", 34.
std::string_view module_in(std::string_view text, int64_t& program) {
  const size_t open = text.rfind('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return text;
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  uint64_t number = 0;
  if (!parse_unsigned(digits, number)) return text;
  program = static_cast<int64_t>(number);  // as in the statistic, which is signed
  return text.substr(0, open);
}

class DeviceReader {
 public:
  DeviceReader(const Plane& plane, DeviceName device, Profile& profile, const char*& at)
      : plane_(plane), device_(device), out_(profile), at_(at), first_(profile.events.size()) {}

  void run() {
    for (const protozero::data_view entry : plane_.metadata) read_description(pbf_reader(entry));
    for (const protozero::data_view line : plane_.lines) read_line(pbf_reader(line));
    if (device_.kind != Profile::Kind::tpu) return;
    place(modules_, [&](Profile::Event& event, const Span& module) { put_in(event, module); });
    std::vector<int64_t> number;
    for (const Span& step : steps_) {
      number.push_back(
          static_cast<int64_t>(std::find(out_.steps.begin(), out_.steps.end(), step.name) - out_.steps.begin()));
      if (number.back() == static_cast<int64_t>(out_.steps.size())) out_.steps.push_back(step.name);
    }
    place(steps_, [&](Profile::Event& event, const Span& step) {
      event.step = number[static_cast<size_t>(&step - steps_.data())];
    });
  }

 private:
  void read_description(pbf_reader entry) {
    int64_t id = 0;
    Description d;
    while (entry.next()) {
      if (entry.tag() == 1 && is_varint(entry)) id = entry.get_int64();
      else if (entry.tag() == 2 && is_text(entry)) {
        for (pbf_reader fields = entry.get_message(); fields.next();) {
          if (fields.tag() == 2 && is_text(fields)) d.name = view(fields.get_view());
          else if (fields.tag() == 4 && is_text(fields)) d.display = view(fields.get_view());
          else if (fields.tag() == 5 && is_text(fields)) {
            const Plane::Value value = plane_.read_stat(fields.get_view());
            if (value.stat == Stat::op) d.op = value.text;
            else if (value.stat == Stat::module) d.module = value.text;
            else if (value.stat == Stat::program) d.program = value.number;
          } else fields.skip();
        }
      } else entry.skip();
    }
    descriptions_[id] = d;
  }

  enum class What : uint8_t { events, modules, steps, other };
  What what(std::string_view line) const {
    if (device_.kind == Profile::Kind::gpu) return line.starts_with("Stream #") ? What::events : What::other;
    if (line == "XLA Ops" || line == "Async XLA Ops") return What::events;
    return line == "XLA Modules" ? What::modules : line == "Steps" ? What::steps : What::other;
  }

  void read_line(pbf_reader reader) {
    Profile::Line line;
    std::string_view name;
    std::vector<protozero::data_view> events;
    while (reader.next()) {
      if (reader.tag() == 1 && is_varint(reader)) line.id = reader.get_int64();
      else if (reader.tag() == 2 && is_text(reader)) name = view(reader.get_view());
      else if (reader.tag() == 3 && is_varint(reader)) line.begin_ns = reader.get_int64();
      else if (reader.tag() == 4 && is_text(reader)) events.push_back(reader.get_view());
      else if (reader.tag() <= 11) reader.skip();
      else skip(reader, "XLine", out_.unknown);
    }
    if (events.empty()) return;
    const What is = what(name);
    if (is == What::other) return;
    line.overlaps = name == "Async XLA Ops";
    out_.lines.push_back(line);
    for (const protozero::data_view event : events) {
      at_ = event.data();
      read_event(pbf_reader(event), is);
    }
  }

  void read_event(pbf_reader reader, What is) {
    Profile::Event event;
    event.device = device_.number, event.run = event.program = Profile::kNotStated;
    event.line = static_cast<uint32_t>(out_.lines.size() - 1);
    int64_t metadata = 0;
    bool aggregated = false;
    std::vector<Plane::Value> values;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1: metadata = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 2: event.start = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 3: event.length = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 4:
          if (!is_text(reader)) reader.skip();
          else values.push_back(plane_.read_stat(reader.get_view()));
          break;
        case 5:
          aggregated = true;
          reader.skip();
          break;
        default: skip(reader, "XEvent", out_.unknown);
      }
    }
    const auto found = descriptions_.find(metadata);
    const Description d = found == descriptions_.end() ? Description() : found->second;
    event.name = d.name, event.op = d.op, event.module = d.module, event.program = d.program;
    for (const Plane::Value& value : values) use(value, event);
    if (aggregated) ++out_.aggregated;
    else if (is == What::events) keep(event, d);
    else (is == What::steps ? steps_ : modules_).push_back(span(event));
  }
  static void use(const Plane::Value& value, Profile::Event& event) {
    switch (value.stat) {
      case Stat::op: event.op = value.text; break;
      case Stat::module: event.module = value.text; break;
      case Stat::program: event.program = value.number; break;
      case Stat::run: event.run = value.number; break;
      case Stat::correlation: event.correlation = value.number; break;
      default: break;
    }
  }

  void keep(Profile::Event event, const Description& d) {
    if (device_.kind == Profile::Kind::tpu) {
      if (event.op.empty()) event.op = d.display.empty() ? instruction_in(d.name) : d.display;
      event.name = event.op;
    }
    out_.events.push_back(event);
  }

  Picoseconds start_of(const Profile::Event& event) const {
    return add_saturated(multiply_saturated(kPsPerNs, std::max<int64_t>(0, out_.lines[event.line].begin_ns)),
                         std::max<Picoseconds>(0, event.start));
  }
  Span span(const Profile::Event& event) const {
    const Picoseconds start = start_of(event);
    return {start, add_saturated(start, std::max<Picoseconds>(0, event.length)), event.name, event.run};
  }

  /// Call `put` with each event of the plane and the last span that starts before the event, if that has not ended.
  template <class Put>
  void place(std::vector<Span>& spans, const Put& put) {
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    for (size_t e = first_; e < out_.events.size(); ++e) {
      Profile::Event& event = out_.events[e];
      const Picoseconds start = start_of(event);
      const auto behind = std::upper_bound(spans.begin(), spans.end(), start,
                                           [](Picoseconds time, const Span& span) { return time < span.start; });
      if (behind != spans.begin() && start <= (behind - 1)->end) put(event, *(behind - 1));
    }
  }
  void put_in(Profile::Event& event, const Span& module) {
    int64_t program = Profile::kNotStated;
    const std::string_view name = module_in(module.name, program);
    if (event.program != Profile::kNotStated && program != Profile::kNotStated && event.program != program) return;
    event.module = name;
    if (program != Profile::kNotStated) event.program = program;
    // Without a number of the run: the place of the module's event.
    event.run = module.run != Profile::kNotStated ? module.run : static_cast<int64_t>(&module - modules_.data());
  }

  const Plane& plane_;
  DeviceName device_;
  Profile& out_;
  const char*& at_;
  size_t first_;  ///< event of the plane
  absl::flat_hash_map<int64_t, Description> descriptions_;
  std::vector<Span> modules_, steps_;
};

}  // namespace

DeviceName device_name(std::string_view plane) {
  for (const auto& [prefix, kind] : {std::pair<std::string_view, Profile::Kind>{"/device:GPU:", Profile::Kind::gpu},
                                     {"/device:TPU:", Profile::Kind::tpu}}) {
    int64_t number = 0;
    if (plane.starts_with(prefix) && parse_integer(plane.substr(prefix.size()), number) && number >= 0)
      return {kind, number};
  }
  return {};
}

void read_device(const Plane& plane, DeviceName device, Profile& profile, const char*& at) {
  DeviceReader(plane, device, profile, at).run();
}

}  // namespace chakra::xla
