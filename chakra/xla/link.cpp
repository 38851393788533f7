// A profile and its programs -> one trace per device: the program gives the edges, the profile the times.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "chakra/trace/metadata.h"
#include "chakra/xla/device_linker.h"
#include "chakra/xla/files.h"

namespace chakra::xla {
namespace {

/// An execution of a program, on several devices.
struct Run {
  Executed* executed = nullptr;
  int64_t id = 0;
  Picoseconds start = INT64_MAX;
  std::map<int64_t, Events> of_device;
};

/// TensorFlow's names have over 100 characters, and tables would cut the number of the run.
std::string short_name(std::string_view program) {
  constexpr size_t kLongest = 48;
  return program.size() > kLongest ? escape(program.substr(0, kLongest - 3)) + "..." : std::string(program);
}

class ProfileLinker {
 public:
  explicit ProfileLinker(Inputs& inputs) : in_(inputs) {}

  Result<LinkedProfile> run() {
    CHAKRA_TRY(check_devices());
    CHAKRA_TRY(choose_programs(in_));
    CHAKRA_TRY(find_programs());
    order_events();
    find_runs();
    CHAKRA_TRY(link_devices());
    report();
    return std::move(out_);
  }

 private:
  using Module = std::pair<std::string_view, int64_t>;  ///< name and number

  /// Profiles of several hosts must not share devices.
  Result<void> check_devices() {
    for (const Profile& profile : in_.profiles) {
      std::set<int64_t> devices;
      for (const Profile::Event& event : profile.events) devices.insert(event.device);
      for (const int64_t device : devices) {
        if (device < 0 || device >= kMostDevices)
          return fail(Code::bad_input, "xla.devices.number", fmt::format("the device number {} is impossible", device),
                      {profile.file});
        if (!profile_of_.emplace(device, &profile).second)
          return fail(Code::bad_input, "xla.devices.twice",
                      fmt::format("device {} is in two profiles: link one profile of a host at a time", device),
                      {profile.file});
      }
      out_.profile += (out_.profile.empty() ? "" : " + ") + profile.file;
    }
    return {};
  }

  Result<void> find_programs() {
    std::map<Module, std::set<std::string_view>> ops;
    for (const Profile& profile : in_.profiles)
      for (const Profile::Event& event : profile.events)
        if (!event.op.empty() && !event.module.empty()) ops[{event.module, event.program}].insert(event.op);
    const bool cpu = has_cpus();
    int64_t tags = 0;
    for (const auto& [module, names] : ops) {
      CHAKRA_ASSIGN(std::optional<Program> program, program_of(module, {names.begin(), names.end()}, !cpu));
      if (!program) {
        missing_.emplace(module, 0);
        continue;
      }
      CHAKRA_TRY(settle_devices(*program));
      auto executed = std::make_unique<Executed>(std::move(*program));
      CHAKRA_ASSIGN(executed->communication, communication_of(executed->program));
      executed->tags = tags;
      tags += static_cast<int64_t>(executed->communication.messages.size());
      programs_[module] = std::move(executed);
    }
    return {};
  }
  Result<std::optional<Program>> program_of(const Module& module, const std::vector<std::string_view>& ops,
                                            bool lenient) const {
    if (in_.profiles.front().browser) return std::optional(in_.dumps[static_cast<size_t>(module.second)]);
    return find_program(in_, module.first, module.second, ops, lenient);
  }
  bool has_cpus() const {
    return std::any_of(in_.profiles.begin(), in_.profiles.end(),
                       [](const Profile& profile) { return profile.kind == Profile::Kind::cpu; });
  }

  /// Bring the events of devices into the order in which the host started them, and number the runs that the profile
  /// does not state: those of GPUs, and of CPUs with TensorFlow.
  void order_events() {
    for (Profile& profile : in_.profiles) {
      const bool started = std::all_of(profile.events.begin(), profile.events.end(), [](const Profile::Event& event) {
        return event.correlation != Profile::kNotStated;
      });
      // An event around others comes before those, and the asynchronous part of an instruction behind the instruction.
      const auto key = [&](const Profile::Event& event) {
        return std::tuple(started ? event.correlation : 0, event.start, profile.lines[event.line].overlaps,
                          -event.length);
      };
      std::stable_sort(profile.events.begin(), profile.events.end(),
                       [&](const Profile::Event& a, const Profile::Event& b) { return key(a) < key(b); });
      if (profile.kind == Profile::Kind::tpu) continue;
      std::map<std::pair<Module, int64_t>, std::vector<Profile::Event*>> of_program;
      for (Profile::Event& event : profile.events)
        if (programs_.contains({event.module, event.program}) && event.run == Profile::kNotStated)
          of_program[{{event.module, event.program}, event.device}].push_back(&event);
      for (const auto& [key, events] : of_program) number_runs(*programs_.at(key.first), profile.kind, events);
      if (!of_program.empty()) without_runs_.push_back(profile.file);
    }
  }

  void find_runs() {
    std::map<std::pair<Module, int64_t>, Run> runs;
    for (const Profile& profile : in_.profiles)
      for (const Profile::Event& event : profile.events) {
        const Module module(event.module, event.program);
        const auto program = programs_.find(module);
        if (event.op.empty() || program == programs_.end()) {
          other_[event.device].push_back(&event);
          if (const auto missing = missing_.find(module); missing != missing_.end()) ++missing->second;
          continue;
        }
        Run& run = runs[{module, event.run}];
        run.executed = program->second.get();
        run.id = event.run;
        run.start = std::min(run.start, event.start);
        run.of_device[event.device].push_back(&event);
      }
    for (auto& [key, run] : runs) runs_.push_back(std::move(run));
    std::stable_sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
    for (auto& [device, events] : other_)
      std::stable_sort(events.begin(), events.end(),
                       [](const Profile::Event* a, const Profile::Event* b) { return a->start < b->start; });
  }

  Result<void> link_devices() {
    std::map<std::vector<int64_t>, uint32_t> groups;
    for (const auto& [device, profile] : profile_of_) {
      DeviceLinker linker(device, *profile, groups);
      trace::Trace& t = linker.builder().trace;
      t.file = profile->file;
      t.base_ns = profile->base_ns;
      add_metadata(t, *profile);
      const Events& other = other_[device];
      auto next = other.begin();
      for (size_t r = 0; r < runs_.size(); ++r) {
        const auto found = runs_[r].of_device.find(device);
        if (found == runs_[r].of_device.end()) continue;
        const auto behind = std::partition_point(
            next, other.end(), [&](const Profile::Event* event) { return event->start < runs_[r].start; });
        linker.add_other({next, behind});
        next = behind;
        // With the steps of a TPU, nodes have the number of their step instead of that of their run.
        const int64_t number = profile->steps.empty() ? static_cast<int64_t>(r) : found->second.front()->step;
        CHAKRA_TRY(linker.add(*runs_[r].executed, number, found->second));
      }
      linker.add_other({next, other.end()});
      out_.devices.push_back(std::move(linker).finish());
    }
    for (const Run& run : runs_) ++run.executed->report.runs;
    return {};
  }

  /// The steps or runs by name, and the memory of the largest program.
  void add_metadata(trace::Trace& t, const Profile& profile) const {
    const Executed* largest = nullptr;
    for (const auto& [module, executed] : programs_)
      if (!largest || executed->program.memory.peak > largest->program.memory.peak) largest = executed.get();
    if (largest) xla::add_metadata(t, largest->program);
    else t.metadata.push_back({t.strings.intern("schema"), t.texts.add("xla")});
    if (!profile.jax_version.empty())
      t.metadata.push_back({t.strings.intern("jax_version"), t.texts.add(profile.jax_version)});
    std::vector<std::string> names;
    for (const std::string_view step : profile.steps) names.push_back(fmt::format("step {}", step));
    if (names.empty())
      for (size_t r = 0; r < runs_.size(); ++r)
        names.push_back(fmt::format("{}#{}", short_name(runs_[r].executed->program.name), r));
    t.metadata.push_back({t.strings.intern(trace::kXlaRuns), static_cast<int64_t>(names.size())});
    for (size_t r = 0; r < names.size(); ++r)
      t.metadata.push_back({t.strings.intern(fmt::format("{}_{}", trace::kXlaRun, r)), t.texts.add(names[r])});
  }

  void report() {
    const auto warn = [&](std::string tag, std::string text) {
      out_.findings.push_back({std::move(tag), Severity::warning, -1, -1, std::move(text)});
    };
    for (const auto& [module, executed] : programs_) {
      report_program(executed->program, {}, out_.findings);
      const std::string name = quote(executed->program.name);
      if (executed->cut_runs > 0)
        warn("xla.run.partial",
             fmt::format("program {}: {} runs of a device have fewer iterations of a loop than the program states: "
                         "record whole runs",
                         name, show_count(static_cast<int64_t>(executed->cut_runs))));
      if (executed->unplaced > 0)
        warn("xla.event.unplaced",
             fmt::format("program {}: {} executed instructions do not fit the program's order and have no dependencies",
                         name, show_count(static_cast<int64_t>(executed->unplaced))));
      out_.programs.push_back(executed->report);
    }
    report_devices();
    report_dumps();
    for (const Profile& profile : in_.profiles) {
      if (profile.aggregated > 0)
        warn("xla.event.aggregated", fmt::format("{}: {} events are sums without times and were left out", profile.file,
                                                 show_count(static_cast<int64_t>(profile.aggregated))));
      for (const auto& [field, count] : profile.unknown)
        out_.findings.push_back({"xla.fields.unknown", Severity::note, -1, -1,
                                 fmt::format("{}: skipped the unknown field {} {} ({} times)", profile.file,
                                             field.first, field.second, show_count(static_cast<int64_t>(count)))});
    }
  }

  bool is_dump(const Program& program) const {
    return std::any_of(in_.dumps.begin(), in_.dumps.end(),
                       [&](const Program& dump) { return dump.bytes == program.bytes; });
  }

  /// Files beside the profiles, and what the form for browsers lacks.
  void report_dumps() {
    for (const Program& dump : in_.dumps)
      if (std::none_of(programs_.begin(), programs_.end(),
                       [&](const auto& one) { return one.second->program.bytes == dump.bytes; }))
        ++unused_;
    if (unused_ > 0)
      out_.findings.push_back({"xla.program.unused", Severity::note, -1, -1,
                               fmt::format("{} dumped programs were not needed: the profile has the programs that it "
                                           "executed, or did not execute these",
                                           show_count(unused_))});
    const auto find = [&](std::string tag, Severity severity, std::string text) {
      out_.findings.push_back({std::move(tag), severity, -1, -1, std::move(text)});
    };
    for (const auto& [module, executed] : programs_)
      if (const Program& p = executed->program;
          is_dump(p) && !in_.profiles.front().browser && p.id != 0 && p.id != module.second)
        find("xla.program.number", Severity::warning,
             fmt::format(
                 "the profile executed program {}, and the dump {} is {}: it has the same instructions; is it of "
                 "this run?",
                 quote(program_name(module.first, module.second)), quote(p.file), p.id));
    for (const Error& error : in_.unreadable)
      find("xla.program.unreadable", Severity::warning,
           fmt::format("a text of a program cannot be read and was not needed: {}", error.message()));
    for (const std::string& file : in_.unused_profiles)
      find("xla.chrome.unused", Severity::note,
           fmt::format("{}: the form for browsers was not needed beside an .xplane.pb", file));
    for (const Profile& profile : in_.profiles) {
      if (!profile.browser) continue;
      if (profile.browser->full)
        find("xla.chrome.full", Severity::warning,
             fmt::format("{}: the file has as many events as the form for browsers keeps, so later events can be "
                         "missing: link the .xplane.pb, or record fewer steps",
                         profile.file));
      if (profile.browser->open_ends > 0)
        find("xla.chrome.ends", Severity::note,
             fmt::format("{}: {} ends of instructions on other threads can belong to several devices: these "
                         "instructions end with their events; the .xplane.pb states which",
                         profile.file, show_count(static_cast<int64_t>(profile.browser->open_ends))));
    }
  }

  /// What the profiles of GPUs and TPUs lack.
  void report_devices() {
    const auto find = [&](std::string tag, Severity severity, std::string text) {
      out_.findings.push_back({std::move(tag), severity, -1, -1, std::move(text)});
    };
    for (const auto& [module, events] : missing_)
      find("xla.program.missing", Severity::warning,
           fmt::format("the profile lacks the program {}: its {} events have the order of their streams, but neither "
                       "dependencies, work nor communication; add its dump (XLA_FLAGS=--xla_dump_to=DIR "
                       "--xla_dump_hlo_as_proto)",
                       quote(program_name(module.first, module.second)), show_count(events)));
    uint64_t left_out = 0;
    for (const LinkedDevice& device : out_.devices) left_out += device.left_out;
    if (left_out > 0)
      find("xla.edge.time", Severity::warning,
           fmt::format("{} dependencies of the programs were left out: by the recorded times, the dependent event "
                       "started first",
                       show_count(static_cast<int64_t>(left_out))));
    for (const Profile& profile : in_.profiles)
      for (const auto& [plane, events] : profile.other_events)
        find("xla.plane.other", Severity::note,
             fmt::format("{}: {} events of {} are not read", profile.file, show_count(static_cast<int64_t>(events)),
                         quote(plane)));
    for (const std::string& file : without_runs_)
      find("xla.run.order", Severity::note,
           fmt::format("{}: the profile does not state runs; a run begins where an instruction of the program comes "
                       "again",
                       file));
  }

  Inputs& in_;
  std::map<int64_t, const Profile*> profile_of_;  ///< by device
  std::map<Module, std::unique_ptr<Executed>> programs_;
  std::map<Module, int64_t> missing_;      ///< programs that nobody has: their events
  std::vector<Run> runs_;                  ///< by start
  std::map<int64_t, Events> other_;        ///< by device: events without a program, by start
  std::vector<std::string> without_runs_;  ///< files
  int64_t unused_ = 0;
  LinkedProfile out_;
};

}  // namespace

Result<LinkedProfile> link_profiles(const std::vector<std::string>& files) {
  CHAKRA_ASSIGN(Inputs inputs, read_inputs(files));
  return ProfileLinker(inputs).run();
}

Result<LinkedProfile> link_profile(ByteSource source) {
  const std::string file = source.file();
  CHAKRA_ASSIGN(auto bytes, read_all(std::move(source)));
  Inputs inputs;
  CHAKRA_ASSIGN(Profile profile, parse_profile(std::move(bytes), file));
  inputs.profiles.push_back(std::move(profile));
  return ProfileLinker(inputs).run();
}

}  // namespace chakra::xla
