// XSpace -> Profile.
#include "chakra/xla/profile.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/xla/plane.h"
#include "chakra/xla/read_device.h"
#include "chakra/xla/read_host.h"

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
    join_calls();
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
      const Plane::Value value = plane.read_stat(stat);
      if (value.stat == Stat::start) start_ns_ = value.number;
      else if (value.stat == Stat::jax) out_.jax_version = value.text;
      else if (value.stat == Stat::process) out_.process = value.number;
    }
    for (const protozero::data_view entry : plane.metadata) read_program(pbf_reader(entry));
    if (!plane.name.starts_with("/device:")) {
      read_host(plane, out_, at_);
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
          if (const Plane::Value value = plane_->read_stat(fields.get_view()); value.stat == Stat::proto)
            program.bytes = value.text;
        } else fields.skip();
      }
      if (!program.bytes.empty()) out_.programs.push_back(program);
    }
  }

  /// Keep the calls that started an event. A call may start several, as that of a graph. Numbers begin at 1.
  void join_calls() {
    constexpr uint32_t kNone = Profile::kNoCall;
    if (out_.kind != Profile::Kind::gpu) out_.calls.clear();
    if (out_.calls.empty()) return;
    absl::flat_hash_map<int64_t, uint32_t> of;  // by correlation: the first call
    for (uint32_t c = 0; c < out_.calls.size(); ++c) of.try_emplace(out_.calls[c].correlation, c);
    std::vector<uint32_t> kept(out_.calls.size(), kNone);
    std::vector<Profile::Call> calls;
    for (Profile::Event& event : out_.events) {
      const auto found = of.find(event.correlation);
      if (found == of.end() || event.correlation < 1) continue;
      if (kept[found->second] == kNone) {
        kept[found->second] = static_cast<uint32_t>(calls.size());
        calls.push_back(out_.calls[found->second]);
      }
      event.call = kept[found->second];
    }
    out_.calls = std::move(calls);
  }

  /// Times are relative to the first line or call; lines count from the start of the profile, or from 1970.
  void settle_times() {
    constexpr int64_t kEpoch = int64_t{1} << 56;  ///< ns: 1972, later than any profile is long
    int64_t first = INT64_MAX;
    for (const Profile::Line& line : out_.lines) first = std::min(first, line.begin_ns);
    for (const Profile::Call& call : out_.calls) {
      const int64_t late = call.start / kPsPerNs;
      first = std::min(first, std::min(call.begin_ns, INT64_MAX - late) + late);
    }
    out_.base_ns = first;
    if (first >= 0 && first < kEpoch && start_ns_ > 0 && start_ns_ < INT64_MAX - first) out_.base_ns += start_ns_;
    for (Profile::Event& event : out_.events) {
      event.start = add_saturated(since(first, out_.lines[event.line].begin_ns), std::max<int64_t>(0, event.start));
      event.length = std::max<int64_t>(0, event.length);
    }
    for (Profile::Annotation& a : out_.annotations) a.start = add_saturated(since(first, a.begin_ns), a.start);
    for (Profile::Start& s : out_.starts) s.start = add_saturated(since(first, s.begin_ns), s.start);
    for (Profile::Call& call : out_.calls)
      call.start = std::max<Picoseconds>(0, add_saturated(since(first, call.begin_ns), call.start));
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
