#include "chakra/xla/findings.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/xla/nodes.h"

namespace chakra::xla {
namespace {

void find(Findings& findings, std::string tag, Severity severity, std::string text) {
  findings.push_back({std::move(tag), severity, -1, -1, std::move(text)});
}

bool is_dump(const Inputs& inputs, const Program& program) {
  return std::any_of(inputs.dumps.begin(), inputs.dumps.end(),
                     [&](const Program& dump) { return dump.bytes == program.bytes; });
}

}  // namespace

void report_programs(const ExecutedPrograms& programs, LinkedProfile& linked) {
  for (const auto& [module, executed] : programs) {
    report_program(executed->program, executed->work, nullptr, linked.findings);
    const std::string name = quote(executed->program.name);
    if (executed->cut_runs > 0)
      find(linked.findings, "xla.run.partial", Severity::warning,
           fmt::format("program {}: {} runs of a device have fewer iterations of a loop than the program states: "
                       "record whole runs",
                       name, show_count(static_cast<int64_t>(executed->cut_runs))));
    if (executed->unplaced > 0)
      find(linked.findings, "xla.event.unplaced", Severity::warning,
           fmt::format("program {}: {} executed instructions do not fit the program's order and have no dependencies",
                       name, show_count(static_cast<int64_t>(executed->unplaced))));
    linked.programs.push_back(executed->report);
  }
}

void report_fields(const Inputs& inputs, Findings& findings) {
  for (const Profile& profile : inputs.profiles) {
    if (profile.aggregated > 0)
      find(findings, "xla.event.aggregated", Severity::warning,
           fmt::format("{}: {} events are sums without times and were left out", profile.file,
                       show_count(static_cast<int64_t>(profile.aggregated))));
    for (const auto& [field, count] : profile.unknown)
      find(findings, "xla.fields.unknown", Severity::note,
           fmt::format("{}: skipped the unknown field {} {} ({} times)", profile.file, field.first, field.second,
                       show_count(static_cast<int64_t>(count))));
  }
}

void report_dumps(const Inputs& inputs, const ExecutedPrograms& programs, Findings& findings) {
  int64_t unused = 0;
  for (const Program& dump : inputs.dumps)
    if (std::none_of(programs.begin(), programs.end(),
                     [&](const auto& one) { return one.second->program.bytes == dump.bytes; }))
      ++unused;
  if (unused > 0)
    find(findings, "xla.program.unused", Severity::note,
         fmt::format("{} dumped programs were not needed: the profile has the programs that it executed, or did not "
                     "execute these",
                     show_count(unused)));
  for (const auto& [module, executed] : programs)
    if (const Program& p = executed->program;
        is_dump(inputs, p) && !inputs.profiles.front().browser && p.id != 0 && p.id != module.second)
      find(findings, "xla.program.number", Severity::warning,
           fmt::format("the profile executed program {}, and the dump {} is {}: it has the same instructions; is it of "
                       "this run?",
                       quote(program_name(module.first, module.second)), quote(p.file), p.id));
  for (const Error& error : inputs.unreadable)
    find(findings, "xla.program.unreadable", Severity::warning,
         fmt::format("a text of a program cannot be read and was not needed: {}", error.message()));
  for (const std::string& file : inputs.unused_profiles)
    find(findings, "xla.chrome.unused", Severity::note,
         fmt::format("{}: the form for browsers was not needed beside an .xplane.pb", file));
  for (const Profile& profile : inputs.profiles) {
    if (!profile.browser) continue;
    if (profile.browser->full)
      find(findings, "xla.chrome.full", Severity::warning,
           fmt::format("{}: the file has as many events as the form for browsers keeps, so later events can be "
                       "missing: link the .xplane.pb, or record fewer steps",
                       profile.file));
    if (profile.browser->open_ends > 0)
      find(findings, "xla.chrome.ends", Severity::note,
           fmt::format("{}: {} ends of instructions on other threads can belong to several devices: these "
                       "instructions end with their events; the .xplane.pb states which",
                       profile.file, show_count(static_cast<int64_t>(profile.browser->open_ends))));
  }
}

void report_devices(const Inputs& inputs, const std::map<ModuleName, int64_t>& missing, uint64_t left_out,
                    const std::vector<std::string>& without_runs, Findings& findings) {
  for (const auto& [module, events] : missing)
    find(findings, "xla.program.missing", Severity::warning,
         fmt::format("the profile lacks the program {}: its {} events have the order of their streams, but neither "
                     "dependencies, work nor communication; add its dump (XLA_FLAGS=--xla_dump_to=DIR "
                     "--xla_dump_hlo_as_proto)",
                     quote(program_name(module.first, module.second)), show_count(events)));
  if (left_out > 0)
    find(findings, "xla.edge.time", Severity::warning,
         fmt::format("{} dependencies of the programs were left out: by the recorded times, the dependent event "
                     "started first",
                     show_count(static_cast<int64_t>(left_out))));
  for (const Profile& profile : inputs.profiles)
    for (const auto& [plane, events] : profile.other_events)
      find(findings, "xla.plane.other", Severity::note,
           fmt::format("{}: {} events of {} are not read", profile.file, show_count(static_cast<int64_t>(events)),
                       quote(plane)));
  for (const std::string& file : without_runs)
    find(findings, "xla.run.order", Severity::note,
         fmt::format("{}: the profile does not state runs; a run begins where an instruction of the program comes "
                     "again",
                     file));
}

}  // namespace chakra::xla
