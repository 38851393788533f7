// The form of a profile for browsers, as jax.profiler and TensorBoard write it (*.trace.json.gz) -> Profile. The form
// holds no programs and neither their numbers nor arrows.
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "chakra/json/json.h"
#include "chakra/xla/profile.h"

namespace chakra::xla {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr json::Tags kTags{"xla.chrome.json", "xla.chrome.json", "xla.chrome.json", "xla.chrome.json",
                           "xla.chrome.json"};
constexpr int64_t kMostEvents = 1'000'000;  ///< that XLA writes by default: the earliest
constexpr std::string_view kEnd = "end: ";

class ChromeReader {
 public:
  explicit ChromeReader(Profile& profile)
      : out_(profile), names_(*profile.browser.emplace(Profile::Browser{.names = std::make_shared<Names>()}).names) {}

  Result<void> run(ByteSource source) {
    json::JsonStream stream(std::move(source), {"traceEvents"}, json::JsonStream::kWindow, kTags);
    CHAKRA_TRY(json::for_each_element(
        stream, [&](ondemand::object& record) { return add(record); },
        [](std::string_view, ondemand::document&) -> Result<void> { return {}; }));
    for (const std::string& process : processes_of_devices_)
      if (processes_.contains(process))
        return fail(Code::bad_input, "xla.chrome.devices",
                    "the form for browsers is read for CPUs only, and this profile has events of GPUs or TPUs; give "
                    "the .xplane.pb beside the file",
                    {out_.file});
    if (out_.events.empty())
      return fail(Code::bad_input, "xla.profile.empty",
                  "the profile has no executed instructions of XLA (events with the argument hlo_op)", {out_.file});
    out_.browser->full = events_ >= kMostEvents;
    settle_ends();
    return {};
  }

 private:
  using Names = std::set<std::string, std::less<>>;
  struct Record {
    std::string_view phase, name, op, module, process_name;
    std::string process, thread;
    double start_us = 0, length_us = 0;
    int64_t run = Profile::kNotStated, device = Profile::kNotStated, step = Profile::kNotStated;
  };

  Result<void> add(ondemand::object& object) {
    Record record;
    if (const auto code = read(object, record)) return json::json_error(code, {}, kTags);
    if (record.phase == "M") {
      if (record.name == "process_name" &&
          (record.process_name.starts_with("/device:GPU:") || record.process_name.starts_with("/device:TPU:")))
        processes_of_devices_.insert(record.process);
      return {};
    }
    if (record.phase != "X") return {};
    ++events_;
    processes_.insert(record.process);
    const bool is_end = record.op.empty() && record.name.starts_with(kEnd);
    const bool is_annotation = record.op.empty() && record.step != Profile::kNotStated;
    const bool is_start = record.op.empty() && record.run != Profile::kNotStated;
    if (record.op.empty() && !is_end && !is_annotation && !is_start) return {};
    constexpr double kMostMicros = 9e9;  // exact to a picosecond up to here
    for (const double time : {record.start_us, record.length_us})
      if (!(time >= 0 && time <= kMostMicros))
        return fail(Code::bad_input, "xla.chrome.time", "an event begins or lasts a negative time, or over two hours",
                    {});
    const Picoseconds start = std::llround(record.start_us * 1e6), length = std::llround(record.length_us * 1e6);
    const uint32_t line = line_of(record);
    if (is_end) {
      ends_.push_back({line, start, keep(record.name.substr(kEnd.size()))});
      return {};
    }
    if (is_annotation) {
      out_.annotations.push_back({keep(record.name), record.step, line, 0, start, length});
      return {};
    }
    if (is_start) {
      out_.starts.push_back({record.run, line, 0, start});
      return {};
    }
    Profile::Event event;
    event.op = keep(record.op), event.module = keep(record.module);
    event.program = Profile::kNotStated, event.run = record.run;
    event.device = record.device == Profile::kNotStated ? 0 : record.device;
    event.start = start, event.length = length, event.line = line;
    out_.events.push_back(event);
    return {};
  }

  static simdjson::error_code read(ondemand::object& object, Record& record) {
    for (auto field : object) {
      std::string_view key;
      json::JsonValue* value = nullptr;
      if (const auto code = json::open_field(field, key, value)) return code;
      simdjson::error_code code = simdjson::SUCCESS;
      if (key == "ph") code = value->get_string().get(record.phase);
      else if (key == "name") code = value->get_string().get(record.name);
      else if (key == "ts") code = value->get_double().get(record.start_us);
      else if (key == "dur") code = value->get_double().get(record.length_us);
      else if (key == "pid") record.process = json::token(*value);
      else if (key == "tid") record.thread = json::token(*value);
      else if (key == "args") code = read_arguments(*value, record);
      else if (!json::is_sound(*value)) code = simdjson::TAPE_ERROR;
      if (code) return code;
    }
    return simdjson::SUCCESS;
  }

  static simdjson::error_code read_arguments(json::JsonValue& arguments, Record& record) {
    ondemand::object object;
    if (const auto code = arguments.get_object().get(object)) return code;
    for (auto field : object) {
      std::string_view key;
      json::JsonValue* value = nullptr;
      if (const auto code = json::open_field(field, key, value)) return code;
      simdjson::error_code code = simdjson::SUCCESS;
      bool number = true;
      if (key == "hlo_op") code = value->get_string().get(record.op);
      else if (key == "hlo_module") code = value->get_string().get(record.module);
      else if (key == "name") code = value->get_string().get(record.process_name);
      else if (key == "run_id") number = json::to_integer(*value, record.run);
      else if (key == "step_num") number = json::to_integer(*value, record.step);
      else if (key == "device_ordinal") number = json::to_integer(*value, record.device);
      if (code) return code;
      if (!number) return simdjson::NUMBER_ERROR;
    }
    return simdjson::SUCCESS;
  }

  std::string_view keep(std::string_view text) {
    const auto found = kept_.find(text);
    if (found != kept_.end()) return *found;
    return *kept_.insert(*names_.emplace(text).first).first;
  }
  uint32_t line_of(const Record& record) {
    if (last_ && last_->first.first == record.process && last_->first.second == record.thread) return last_->second;
    const auto next = static_cast<uint32_t>(out_.lines.size());
    const auto [found, added] = lines_.try_emplace({record.process, record.thread}, next);
    if (added) out_.lines.push_back({.thread = next});
    last_ = &*found;
    return found->second;
  }

  /// An instruction ends before the event "end: NAME" begins, which mostly comes next on its thread (read_host). An end
  /// on another thread belongs to the only instruction of the name that has none; of several, their events decide.
  void settle_ends() {
    struct Step {
      uint32_t line = 0;
      Picoseconds start = 0, length = 0;
      size_t event = 0, end = SIZE_MAX;
    };
    std::vector<Step> steps;
    for (size_t e = 0; e < out_.events.size(); ++e)
      steps.push_back({out_.events[e].line, out_.events[e].start, out_.events[e].length, e});
    for (size_t e = 0; e < ends_.size(); ++e) steps.push_back({ends_[e].line, ends_[e].start, 0, 0, e});
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
      return std::tuple(a.line, a.start, -a.length) < std::tuple(b.line, b.start, -b.length);
    });
    std::vector<size_t> begun;
    std::vector<size_t> left;  // ends
    std::map<std::string_view, std::vector<size_t>> without;
    const auto leave = [&] {
      for (const size_t event : begun) without[out_.events[event].op].push_back(event);
      begun.clear();
    };
    for (size_t s = 0; s < steps.size(); ++s) {
      if (s > 0 && steps[s].line != steps[s - 1].line) leave();
      if (steps[s].end == SIZE_MAX) begun.push_back(steps[s].event);
      else if (begun.empty() || out_.events[begun.back()].op != ends_[steps[s].end].name) left.push_back(steps[s].end);
      else {
        settle(out_.events[begun.back()], steps[s].start);
        begun.pop_back();
      }
    }
    leave();
    for (const size_t end : left) {
      const auto found = without.find(ends_[end].name);
      if (found == without.end()) continue;
      if (found->second.size() == 1 && out_.events[found->second[0]].start <= ends_[end].start)
        settle(out_.events[found->second[0]], ends_[end].start);
      else ++out_.browser->open_ends;
    }
  }
  static void settle(Profile::Event& event, Picoseconds end) {
    if (end > add_saturated(event.start, event.length)) event.longest = end - event.start;
  }

  struct End {
    uint32_t line = 0;
    Picoseconds start = 0;
    std::string_view name;
  };
  Profile& out_;
  Names& names_;
  std::set<std::string> processes_, processes_of_devices_;
  absl::flat_hash_set<std::string_view> kept_;  ///< those of names_
  std::map<std::pair<std::string, std::string>, uint32_t> lines_;
  const std::pair<const std::pair<std::string, std::string>, uint32_t>* last_ = nullptr;  ///< in lines_
  std::vector<End> ends_;
  int64_t events_ = 0;
};

}  // namespace

Result<Profile> parse_chrome(ByteSource source) {
  Profile profile;
  profile.file = source.file();
  ChromeReader reader(profile);
  CHAKRA_TRY(reader.run(std::move(source)));
  return profile;
}

}  // namespace chakra::xla
