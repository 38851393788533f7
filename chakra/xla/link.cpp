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
#include "chakra/xla/findings.h"
#include "chakra/xla/hosts.h"
#include "chakra/xla/steps.h"

namespace chakra::xla {
namespace {

/// An execution of a program, on several devices.
struct Run {
  Executed* executed = nullptr;
  int64_t id = 0;
  Picoseconds start = INT64_MAX;
  std::map<int64_t, Events> of_device;
  int64_t number = 0;  ///< of its step or, without steps, of the run
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
    CHAKRA_TRY(number_ranks());
    order_events();
    find_runs();
    CHAKRA_TRY(check_runs());
    name_runs();
    CHAKRA_TRY(link_devices());
    report();
    return std::move(out_);
  }

 private:
  using Module = ModuleName;
  using HostModule = std::pair<const Profile*, Module>;  ///< each host numbers its programs

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
                      fmt::format("device {} is in two profiles: profiles of several hosts are joined where no two "
                                  "devices have the same number; link the profile of one host at a time",
                                  device),
                      {profile.file});
      }
      out_.profile += (out_.profile.empty() ? "" : " + ") + profile.file;
    }
    return {};
  }

  Result<void> find_programs() {
    const bool cpu = has_cpus();
    for (const Profile& profile : in_.profiles) {
      std::map<Module, ExecutedParts> of_module;
      for (const Profile::Event& event : profile.events) {
        if (event.op.empty() || event.module.empty()) continue;
        ExecutedParts& parts = of_module[{event.module, event.program}];
        parts.ops.insert(event.op), parts.devices.insert(event.device);
      }
      for (const auto& [module, parts] : of_module) {
        CHAKRA_ASSIGN(std::optional<Program> program, program_of(profile, module, parts, !cpu));
        if (!program) {
          missing_.emplace(module, 0);
          continue;
        }
        CHAKRA_TRY(settle_devices(*program));
        programs_[{&profile, module}] = known(std::move(*program), module);
      }
    }
    return {};
  }
  Result<std::optional<Program>> program_of(const Profile& profile, const Module& module, const ExecutedParts& parts,
                                            bool lenient) const {
    if (profile.browser) return std::optional(in_.dumps[static_cast<size_t>(module.second)]);
    return find_program(in_, profile, module.first, module.second, parts, lenient);
  }
  /// The program of another host, if it is the same.
  Executed* known(Program program, const Module& module) {
    for (auto& [number, executed] : executed_)
      if (in_.profiles.size() > 1 && is_same_program(executed->program, program)) return executed.get();
    return executed_.emplace_back(module, std::make_unique<Executed>(std::move(program))).second.get();
  }

  /// From here on, devices have the numbers of their ranks.
  Result<void> number_ranks() {
    std::set<int64_t> devices;
    for (const auto& [device, profile] : profile_of_) devices.insert(device);
    for (const auto& [module, executed] : executed_)
      devices.insert(executed->program.devices.begin(), executed->program.devices.end());
    if (const Ranks ranks = has_cpus() ? ranks_of(devices) : Ranks(); !ranks.empty()) {
      for (const auto& [module, executed] : executed_) set_ranks(ranks, executed->program);
      for (Profile& profile : in_.profiles)
        for (Profile::Event& event : profile.events) event.device = ranks.at(event.device);
      std::map<int64_t, const Profile*> of_rank;
      for (const auto& [device, profile] : profile_of_) of_rank.emplace(ranks.at(device), profile);
      profile_of_ = std::move(of_rank);
    }
    int64_t tags = 0;
    for (const auto& [module, executed] : executed_) {
      CHAKRA_ASSIGN(executed->communication, communication_of(executed->program));
      executed->tags = tags;
      tags += static_cast<int64_t>(executed->communication.messages.size());
    }
    return {};
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
        if (event.run == Profile::kNotStated && programs_.contains({&profile, {event.module, event.program}}))
          of_program[{{event.module, event.program}, event.device}].push_back(&event);
      for (const auto& [key, events] : of_program)
        number_runs(*programs_.at({&profile, key.first}), profile.kind, events);
      if (!of_program.empty()) without_runs_.push_back(profile.file);
    }
  }

  void find_runs() {
    std::map<std::pair<size_t, int64_t>, Run> runs;  // by the program's place, and number
    std::map<const Executed*, size_t> place;
    for (size_t e = 0; e < executed_.size(); ++e) place[executed_[e].second.get()] = e;
    for (const Profile& profile : in_.profiles)
      for (const Profile::Event& event : profile.events) {
        const Module module(event.module, event.program);
        const auto program = programs_.find({&profile, module});
        if (event.op.empty() || program == programs_.end()) {
          other_[event.device].push_back(&event);
          if (const auto missing = missing_.find(module); missing != missing_.end()) ++missing->second;
          continue;
        }
        Run& run = runs[{place.at(program->second), event.run}];
        run.executed = program->second;
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

  /// Profiles of several hosts must have the same runs of a program that joins their devices: the order of its
  /// collectives would join others than in the job.
  Result<void> check_runs() const {
    if (in_.profiles.size() < 2) return {};
    for (const Run& run : runs_) {
      const Program& p = run.executed->program;
      for (int64_t logical = 0; logical < p.device_count() && p.device_count() > 1; ++logical) {
        const auto host = profile_of_.find(p.device(logical));
        if (host == profile_of_.end() || run.of_device.contains(host->first)) continue;
        return fail(Code::bad_input, "xla.run.hosts",
                    fmt::format("{} has no events of the device {} for run {} of program {}, which another host "
                                "recorded: record the same steps on all hosts, or link one profile",
                                quote(host->second->file), host->first, run.id, quote(p.name)),
                    {host->second->file});
      }
    }
    return {};
  }

  /// The steps that the user annotated are those of their runs; each other run is a step.
  void name_runs() {
    std::map<const Profile*, AnnotatedSteps> annotated;
    for (const Profile& profile : in_.profiles) annotated.try_emplace(&profile, profile);
    std::map<AnnotatedSteps::Step, int64_t> number_of;
    for (size_t r = 0; r < runs_.size(); ++r) {
      const AnnotatedSteps::Step* step = nullptr;
      for (const auto& [device, events] : runs_[r].of_device)
        if (const Profile* const profile = profile_of_.at(device); !step && !is_without_runs(*profile))
          step = annotated.at(profile).of(runs_[r].id, *events.front());
      const auto next = static_cast<int64_t>(names_.size());
      const auto [found, added] = step ? number_of.try_emplace(*step, next) : std::pair(number_of.end(), true);
      runs_[r].number = step ? found->second : next;
      if (!added) continue;
      names_.push_back(step ? fmt::format("{} {}", short_name(step->name), step->number)
                            : fmt::format("{}#{}", short_name(runs_[r].executed->program.name), r));
    }
  }
  bool is_without_runs(const Profile& profile) const {
    return std::find(without_runs_.begin(), without_runs_.end(), profile.file) != without_runs_.end();
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
        const int64_t number = profile->steps.empty() ? runs_[r].number : found->second.front()->step;
        CHAKRA_TRY(linker.add(*runs_[r].executed, number, found->second));
      }
      linker.add_other({next, other.end()});
      out_.devices.push_back(std::move(linker).finish());
    }
    for (const Run& run : runs_) ++run.executed->report.runs;
    return {};
  }

  /// The steps or runs by name, and the memory of the largest program.
  void add_metadata(trace::Trace& t, const Profile& profile) {
    const Executed* largest = nullptr;
    for (const auto& [module, executed] : executed_)
      if (!largest || executed->program.memory.peak > largest->program.memory.peak) largest = executed.get();
    if (largest) xla::add_metadata(t, largest->program);
    else t.metadata.push_back({t.strings.intern("schema"), t.texts.add("xla")});
    if (!profile.jax_version.empty())
      t.metadata.push_back({t.strings.intern("jax_version"), t.texts.add(profile.jax_version)});
    std::vector<std::string> names;
    for (const std::string_view step : profile.steps) names.push_back(fmt::format("step {}", step));
    if (names.empty()) names = names_;
    t.metadata.push_back({t.strings.intern(trace::kSharedClock), clock_of(profile)});
    t.metadata.push_back({t.strings.intern(trace::kXlaRuns), static_cast<int64_t>(names.size())});
    for (size_t r = 0; r < names.size(); ++r)
      t.metadata.push_back({t.strings.intern(fmt::format("{}_{}", trace::kXlaRun, r)), t.texts.add(names[r])});
  }

  /// A number for the clock of a process: the same for its devices, and for no other profile.
  int64_t clock_of(const Profile& profile) {
    const auto [found, added] = clocks_.try_emplace(&profile, 0);
    if (!added) return found->second;
    uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3; };
    add(profile.base_ns), add(profile.process);
    for (const Profile::Event& event : profile.events) add(event.start), add(event.length), add(event.device);
    return found->second = static_cast<int64_t>(hash >> 16);
  }

  void report() {
    uint64_t left_out = 0;
    for (const LinkedDevice& device : out_.devices) left_out += device.left_out;
    report_programs(executed_, out_);
    report_devices(in_, missing_, left_out, without_runs_, out_.findings);
    report_dumps(in_, executed_, out_.findings);
    report_fields(in_, out_.findings);
  }

  Inputs& in_;
  std::map<int64_t, const Profile*> profile_of_;  ///< by device
  ExecutedPrograms executed_;
  std::map<HostModule, Executed*> programs_;
  std::map<Module, int64_t> missing_;      ///< programs that nobody has: their events
  std::vector<Run> runs_;                  ///< by start
  std::vector<std::string> names_;         ///< of steps, and of runs without one
  std::map<int64_t, Events> other_;        ///< by device: events without a program, by start
  std::vector<std::string> without_runs_;  ///< files
  std::map<const Profile*, int64_t> clocks_;
  LinkedProfile out_;
};

}  // namespace

Result<LinkedProfile> link_inputs(Inputs& inputs) { return ProfileLinker(inputs).run(); }

Result<LinkedProfile> link_profiles(const std::vector<std::string>& files) {
  CHAKRA_ASSIGN(Inputs inputs, read_inputs(files));
  return link_inputs(inputs);
}

Result<LinkedProfile> link_profile(ByteSource source) {
  const std::string file = source.file();
  CHAKRA_ASSIGN(auto bytes, read_all(std::move(source)));
  Inputs inputs;
  CHAKRA_ASSIGN(Profile profile, parse_profile(std::move(bytes), file));
  inputs.profiles.push_back(std::move(profile));
  return link_inputs(inputs);
}

}  // namespace chakra::xla
