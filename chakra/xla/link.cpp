// A profile and its programs -> one trace per device: the program gives the edges, the profile the times.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>

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
  std::map<int64_t, std::vector<const Profile::Event*>> of_device;
};

class ProfileLinker {
 public:
  explicit ProfileLinker(const Inputs& inputs) : in_(inputs) {}

  Result<LinkedProfile> run() {
    CHAKRA_TRY(check_devices());
    CHAKRA_TRY(find_programs());
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
      for (const Profile::Event& event : profile.events) ops[{event.module, event.program}].insert(event.op);
    int64_t tags = 0;
    for (const auto& [module, names] : ops) {
      CHAKRA_ASSIGN(Program program, find_program(in_, module.first, module.second, {names.begin(), names.end()}));
      CHAKRA_TRY(settle_devices(program));
      auto executed = std::make_unique<Executed>(std::move(program));
      CHAKRA_ASSIGN(executed->communication, communication_of(executed->program));
      executed->tags = tags;
      tags += static_cast<int64_t>(executed->communication.messages.size());
      programs_[module] = std::move(executed);
    }
    return {};
  }

  void find_runs() {
    std::map<std::pair<Module, int64_t>, Run> runs;
    for (const Profile& profile : in_.profiles)
      for (const Profile::Event& event : profile.events) {
        const Module module(event.module, event.program);
        Run& run = runs[{module, event.run}];
        run.executed = programs_.at(module).get();
        run.id = event.run;
        run.start = std::min(run.start, event.start);
        run.of_device[event.device].push_back(&event);
      }
    for (auto& [key, run] : runs) runs_.push_back(std::move(run));
    std::stable_sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.start < b.start; });
  }

  Result<void> link_devices() {
    std::map<std::vector<int64_t>, uint32_t> groups;
    for (const auto& [device, profile] : profile_of_) {
      DeviceLinker linker(device, profile->process, groups);
      trace::Trace& t = linker.builder().trace;
      t.file = profile->file;
      t.base_ns = profile->base_ns;
      add_metadata(t, profile->jax_version);
      for (size_t r = 0; r < runs_.size(); ++r)
        if (const auto found = runs_[r].of_device.find(device); found != runs_[r].of_device.end())
          CHAKRA_TRY(linker.add(*runs_[r].executed, static_cast<int64_t>(r), found->second));
      out_.devices.push_back(std::move(linker).finish());
    }
    for (const Run& run : runs_) ++run.executed->report.runs;
    return {};
  }

  /// The runs by name, and the memory of the largest program.
  void add_metadata(trace::Trace& t, std::string_view jax_version) const {
    const Executed* largest = nullptr;
    for (const auto& [module, executed] : programs_)
      if (!largest || executed->program.memory.peak > largest->program.memory.peak) largest = executed.get();
    xla::add_metadata(t, largest->program);
    if (!jax_version.empty()) t.metadata.push_back({t.strings.intern("jax_version"), t.texts.add(jax_version)});
    t.metadata.push_back({t.strings.intern(trace::kXlaRuns), static_cast<int64_t>(runs_.size())});
    for (size_t r = 0; r < runs_.size(); ++r)
      t.metadata.push_back({t.strings.intern(fmt::format("{}_{}", trace::kXlaRun, r)),
                            t.texts.add(fmt::format("{}#{}", runs_[r].executed->program.name, r))});
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
    for (const Profile& profile : in_.profiles) {
      if (profile.aggregated > 0)
        warn("xla.event.aggregated", fmt::format("{}: {} events are sums without times and were left out", profile.file,
                                                 show_count(static_cast<int64_t>(profile.aggregated))));
      for (const auto& [field, count] : profile.unknown)
        out_.findings.push_back({"xla.fields.unknown", Severity::note, -1, -1,
                                 fmt::format("{}: skipped the unknown field {} {} ({} times)", profile.file,
                                             field.first, field.second, show_count(static_cast<int64_t>(count)))});
    }
    for (const Program& dump : in_.dumps)
      if (std::none_of(programs_.begin(), programs_.end(),
                       [&](const auto& one) { return one.second->program.bytes == dump.bytes; }))
        ++unused_;
    if (unused_ > 0)
      out_.findings.push_back({"xla.program.unused", Severity::note, -1, -1,
                               fmt::format("{} dumped programs were not needed: the profile has the programs that it "
                                           "executed, or did not execute these",
                                           show_count(unused_))});
  }

  const Inputs& in_;
  std::map<int64_t, const Profile*> profile_of_;  ///< by device
  std::map<Module, std::unique_ptr<Executed>> programs_;
  std::vector<Run> runs_;  ///< by start
  int64_t unused_ = 0;
  LinkedProfile out_;
};

}  // namespace

Result<LinkedProfile> link_profiles(const std::vector<std::string>& files) {
  CHAKRA_ASSIGN(const Inputs inputs, read_inputs(files));
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
