// XSpace -> Profile.
#include "chakra/xla/profile.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/xla/wire.h"

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

/// The statistics of events that matter here.
enum class Stat : uint8_t { other, op, module, program, run, device, proto, start, jax, process };
constexpr std::pair<std::string_view, Stat> kStats[] = {
    {"hlo_op", Stat::op},          {"hlo_module", Stat::module},        {"program_id", Stat::program},
    {"run_id", Stat::run},         {"device_ordinal", Stat::device},    {"Hlo Proto", Stat::proto},
    {"hlo_proto", Stat::proto},    {"profile_start_time", Stat::start}, {"jax_version", Stat::jax},
    {"process_id", Stat::process},
};

class ProfileReader {
 public:
  ProfileReader(Profile& profile, std::string_view bytes) : out_(profile), bytes_(bytes), at_(bytes.data()) {}

  Result<void> run() {
    for (pbf_reader space(bytes_.data(), bytes_.size()); space.next();) {
      at_ = space.data().data();
      if (space.tag() == 1 && is_text(space)) CHAKRA_TRY(plane(space.get_message()));
      else if (space.tag() <= 4) space.skip();
      else skip(space, "XSpace", out_.unknown);
    }
    if (out_.events.empty())
      return fail(Code::bad_input, "xla.profile.empty",
                  "the profile has no executed instructions of XLA (events with the statistic hlo_op)", {out_.file});
    settle_times();
    return {};
  }
  int64_t offset() const { return at_ - bytes_.data(); }

 private:
  struct Name {
    std::string_view text;
    Stat stat = Stat::other;
  };
  struct Value {
    Stat stat = Stat::other;
    int64_t number = 0;
    std::string_view text;
  };

  Result<void> plane(pbf_reader reader) {
    names_.clear(), large_names_.clear(), lines_.clear(), metadata_.clear(), stats_.clear();
    std::string_view name;
    while (reader.next()) {
      const uint32_t field = reader.tag();
      if (field == 2 && is_text(reader)) name = view(reader.get_view());
      else if (field == 3 && is_text(reader)) lines_.push_back(reader.get_view());
      else if (field == 4 && is_text(reader)) metadata_.push_back(reader.get_view());
      else if (field == 5 && is_text(reader)) stat_name(reader.get_message());
      else if (field == 6 && is_text(reader)) stats_.push_back(reader.get_view());
      else if (field <= 6) reader.skip();
      else skip(reader, "XPlane", out_.unknown);
    }
    if (name.starts_with("/device:") && !lines_.empty())
      return fail(
          Code::bad_input, "xla.profile.device",
          fmt::format("the profile has the plane {}: profiles of GPUs and TPUs cannot be read yet, only those of "
                      "XLA's CPU devices",
                      quote(name)),
          {out_.file, offset()});
    for (const protozero::data_view stat : stats_) {
      const Value value = read_stat(pbf_reader(stat));
      if (value.stat == Stat::start) start_ns_ = value.number;
      else if (value.stat == Stat::jax) out_.jax_version = value.text;
      else if (value.stat == Stat::process) out_.process = value.number;
    }
    for (const protozero::data_view entry : metadata_) read_program(pbf_reader(entry));
    for (const protozero::data_view line : lines_) read_line(pbf_reader(line));
    return {};
  }

  void stat_name(pbf_reader entry) {
    int64_t id = 0;
    Name name;
    while (entry.next()) {
      if (entry.tag() == 1 && is_varint(entry)) id = entry.get_int64();
      else if (entry.tag() == 2 && is_text(entry)) {
        for (pbf_reader fields = entry.get_message(); fields.next();)
          if (fields.tag() == 2 && is_text(fields)) name.text = view(fields.get_view());
          else fields.skip();
      } else entry.skip();
    }
    for (const auto& [text, stat] : kStats)
      if (text == name.text) name.stat = stat;
    constexpr int64_t kMostDense = 1 << 16;
    if (id < 0 || id >= kMostDense) large_names_[id] = name;
    else {
      if (names_.size() <= static_cast<size_t>(id)) names_.resize(static_cast<size_t>(id) + 1);
      names_[static_cast<size_t>(id)] = name;
    }
  }
  Name name_of(int64_t id) const {
    if (id >= 0 && id < static_cast<int64_t>(names_.size())) return names_[static_cast<size_t>(id)];
    const auto found = large_names_.find(id);
    return found == large_names_.end() ? Name() : found->second;
  }

  Value read_stat(pbf_reader reader) const {
    Value value;
    while (reader.next()) {
      switch (reader.tag()) {
        case 1:
          if (!is_varint(reader)) reader.skip();
          else value.stat = name_of(reader.get_int64()).stat;
          break;
        case 3:
        case 4:
          if (!is_varint(reader)) reader.skip();
          else value.number = reader.get_int64();
          break;
        case 5:
        case 6:
          if (!is_text(reader)) reader.skip();
          else value.text = view(reader.get_view());
          break;
        case 7:
          if (!is_varint(reader)) reader.skip();
          else value.text = name_of(reader.get_int64()).text;
          break;
        default: reader.skip();
      }
    }
    return value;
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
          if (const Value value = read_stat(fields.get_message()); value.stat == Stat::proto)
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
    for (size_t e = first; e < out_.events.size(); ++e) out_.events[e].line = static_cast<uint32_t>(begins_ns_.size());
    begins_ns_.push_back(begin_ns);
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
          else use(read_stat(reader.get_message()), event);
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
    if (event.op.empty()) return;
    if (aggregated) ++out_.aggregated;
    else out_.events.push_back(event);
  }
  static void use(const Value& value, Profile::Event& event) {
    switch (value.stat) {
      case Stat::op: event.op = value.text; break;
      case Stat::module: event.module = value.text; break;
      case Stat::program: event.program = value.number; break;
      case Stat::run: event.run = value.number; break;
      case Stat::device: event.device = value.number; break;
      default: break;
    }
  }

  /// Times are relative to the first line; lines count from the start of the profile, or from 1970.
  void settle_times() {
    constexpr int64_t kEpoch = int64_t{1} << 56;  ///< ns: 1972, later than any profile is long
    const int64_t first = *std::min_element(begins_ns_.begin(), begins_ns_.end());
    out_.base_ns = first;
    if (first >= 0 && first < kEpoch && start_ns_ > 0 && start_ns_ < INT64_MAX - first) out_.base_ns += start_ns_;
    for (Profile::Event& event : out_.events) {
      const int64_t begin_ns = begins_ns_[event.line];
      const int64_t since = first < 0 && begin_ns > INT64_MAX + first ? INT64_MAX : begin_ns - first;
      event.start = add_saturated(multiply_saturated(kPsPerNs, since), std::max<int64_t>(0, event.start));
      event.length = std::max<int64_t>(0, event.length);
    }
  }

  Profile& out_;
  std::string_view bytes_;
  const char* at_;
  std::vector<Name> names_;  ///< of the plane, by id
  absl::flat_hash_map<int64_t, Name> large_names_;
  std::vector<protozero::data_view> lines_, metadata_, stats_;
  std::vector<int64_t> begins_ns_;  ///< by line with executed instructions
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
