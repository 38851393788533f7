// XSpace -> Profile.
#include "chakra/xla/profile.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/xla/plane.h"
#include "chakra/xla/read_device.h"

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

class ProfileReader {
 public:
  ProfileReader(Profile& profile, std::string_view bytes) : out_(profile), bytes_(bytes), at_(bytes.data()) {}

  Result<void> run() {
    for (pbf_reader space(bytes_.data(), bytes_.size()); space.next();) {
      at_ = space.data().data();
      if (space.tag() == 1 && is_text(space)) CHAKRA_TRY(plane(Plane(space.get_message(), out_.unknown)));
      else if (space.tag() <= 4) space.skip();
      else skip(space, "XSpace", out_.unknown);
    }
    leave_out_host();
    if (out_.events.empty())
      return fail(Code::bad_input, "xla.profile.empty",
                  "the profile has no executed instructions of XLA (events of GPUs or TPUs, or with the statistic "
                  "hlo_op)",
                  {out_.file});
    settle_times();
    return {};
  }
  int64_t offset() const { return at_ - bytes_.data(); }

 private:
  Result<void> plane(const Plane& plane) {
    plane_ = &plane;
    for (const protozero::data_view stat : plane.stats) {
      const Plane::Value value = plane.read_stat(pbf_reader(stat));
      if (value.stat == Stat::start) start_ns_ = value.number;
      else if (value.stat == Stat::jax) out_.jax_version = value.text;
      else if (value.stat == Stat::process) out_.process = value.number;
    }
    for (const protozero::data_view entry : plane.metadata) read_program(pbf_reader(entry));
    if (!plane.name.starts_with("/device:")) {
      for (const protozero::data_view line : plane.lines) read_line(pbf_reader(line));
      return {};
    }
    const DeviceName device = device_name(plane.name);
    if (device.kind == Profile::Kind::cpu) {
      count_events(plane);
      return {};
    }
    const size_t before = devices_.events.size();
    read_device(plane, device, devices_, at_);
    return devices_.events.size() > before ? set_kind(device.kind) : Result<void>();
  }

  void count_events(const Plane& plane) {
    for (const protozero::data_view line : plane.lines)
      for (pbf_reader fields(line); fields.next(); fields.skip())
        if (fields.tag() == 4) ++out_.other_events[plane.name];
  }

  Result<void> set_kind(Profile::Kind kind) {
    if (out_.kind != Profile::Kind::cpu && out_.kind != kind)
      return fail(Code::bad_input, "xla.profile.kinds", "the profile has events of both GPUs and TPUs", {out_.file});
    out_.kind = kind;
    return {};
  }

  /// Numbers of CPU devices would be those of GPUs or TPUs.
  void leave_out_host() {
    out_.aggregated += devices_.aggregated;
    for (const auto& [field, count] : devices_.unknown) out_.unknown[field] += count;
    if (devices_.events.empty()) return;
    if (!out_.events.empty()) out_.other_events["/host:CPU"] += out_.events.size();
    out_.events = std::move(devices_.events), out_.lines = std::move(devices_.lines);
    out_.steps = std::move(devices_.steps);
  }

  /// A program is a statistic of the description of an event.
  void read_program(pbf_reader entry) {
    while (entry.next()) {
      if (entry.tag() != 2 || !is_text(entry)) {
        entry.skip();
        continue;
      }
      Profile::Program program;
      for (pbf_reader fields = entry.get_message(); fields.next();) {
        if (fields.tag() == 2 && is_text(fields)) program.name = view(fields.get_view());
        else if (fields.tag() == 5 && is_text(fields)) {
          if (const Plane::Value value = plane_->read_stat(fields.get_message()); value.stat == Stat::proto)
            program.bytes = value.text;
        } else fields.skip();
      }
      if (!program.bytes.empty()) out_.programs.push_back(program);
    }
  }

  void read_line(pbf_reader reader) {
    const size_t first = out_.events.size();
    int64_t begin_ns = 0;
    while (reader.next()) {
      if (reader.tag() == 3 && is_varint(reader)) begin_ns = reader.get_int64();
      else if (reader.tag() == 4 && is_text(reader)) {
        const auto event = reader.get_view();
        at_ = event.data();
        read_event(pbf_reader(event));
      } else if (reader.tag() <= 11) reader.skip();
      else skip(reader, "XLine", out_.unknown);
    }
    if (out_.events.size() == first) return;
    for (size_t e = first; e < out_.events.size(); ++e) out_.events[e].line = static_cast<uint32_t>(out_.lines.size());
    out_.lines.push_back({.begin_ns = begin_ns});
  }

  void read_event(pbf_reader reader) {
    Profile::Event event;
    bool aggregated = false;
    while (reader.next()) {
      switch (reader.tag()) {
        case 2: event.start = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 3: event.length = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 4:
          if (!is_text(reader)) reader.skip();
          else use(plane_->read_stat(reader.get_message()), event);
          break;
        case 5:
          aggregated = true;
          reader.skip();
          break;
        default:
          if (reader.tag() <= 5) reader.skip();
          else skip(reader, "XEvent", out_.unknown);
      }
    }
    // Calls that start events of GPUs have the number of the call.
    if (event.op.empty() || event.correlation != Profile::kNotStated) return;
    if (aggregated) ++out_.aggregated;
    else out_.events.push_back(event);
  }
  static void use(const Plane::Value& value, Profile::Event& event) {
    switch (value.stat) {
      case Stat::op: event.op = value.text; break;
      case Stat::module: event.module = value.text; break;
      case Stat::program: event.program = value.number; break;
      case Stat::run: event.run = value.number; break;
      case Stat::device: event.device = value.number; break;
      case Stat::correlation: event.correlation = value.number; break;
      default: break;
    }
  }

  /// Times are relative to the first line; lines count from the start of the profile, or from 1970.
  void settle_times() {
    constexpr int64_t kEpoch = int64_t{1} << 56;  ///< ns: 1972, later than any profile is long
    int64_t first = INT64_MAX;
    for (const Profile::Line& line : out_.lines) first = std::min(first, line.begin_ns);
    out_.base_ns = first;
    if (first >= 0 && first < kEpoch && start_ns_ > 0 && start_ns_ < INT64_MAX - first) out_.base_ns += start_ns_;
    for (Profile::Event& event : out_.events) {
      const int64_t begin_ns = out_.lines[event.line].begin_ns;
      const int64_t since = first < 0 && begin_ns > INT64_MAX + first ? INT64_MAX : begin_ns - first;
      event.start = add_saturated(multiply_saturated(kPsPerNs, since), std::max<int64_t>(0, event.start));
      event.length = std::max<int64_t>(0, event.length);
    }
  }

  Profile& out_;
  std::string_view bytes_;
  const char* at_;
  const Plane* plane_ = nullptr;  ///< that is read
  Profile devices_;               ///< events of GPUs and TPUs
  int64_t start_ns_ = 0;
};

}  // namespace

Result<Profile> parse_profile(std::shared_ptr<const std::string> bytes, const std::string& file) {
  Profile profile;
  profile.bytes = bytes;
  profile.file = file;
  ProfileReader reader(profile, *bytes);
  try {
    CHAKRA_TRY(reader.run());
  } catch (const protozero::exception& error) {
    return fail(Code::bad_input, "xla.profile.damaged",
                fmt::format("the profile (XPlane) is cut or damaged ({})", error.what()), {file, reader.offset()});
  }
  return profile;
}

}  // namespace chakra::xla
