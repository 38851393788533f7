// Which dump is the program of a profile.
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "chakra/xla/files.h"

namespace chakra::xla {
namespace {

void describe(const Program& p, const Shape& shape, std::string& out) {
  out += fmt::format(" {}{}", shape.type, p.dims(shape.dims));
  for (uint32_t part = shape.parts.begin; part < shape.parts.end; ++part) {
    const Shape& inner = p.shapes[part];
    out += fmt::format(" {}{}", inner.type, p.dims(inner.dims));
  }
}

bool is_element(const Instruction& i) { return i.opcode == "get-tuple-element"; }
/// The name of an instruction; of an element of a tuple, the tuple and the index, as new texts write it.
std::string name_of(const Computation& c, const Program& p, uint32_t instruction) {
  std::string indices;
  while (is_element(c.instructions[instruction]) && c.instructions[instruction].operands.size() == 1) {
    indices = fmt::format("#{}{}", c.instructions[instruction].number, indices);
    instruction = p.linked(c.instructions[instruction].operands)[0];
  }
  return std::string(c.instructions[instruction].name) + indices;
}

/// What decides nodes, work and communication of a program, without the form of its file; "" if the groups are wrong.
std::string description(Program p) {
  if (!settle_devices(p)) return "";
  std::vector<std::string> computations;
  for (const Computation& c : p.computations) {
    std::vector<std::string> instructions;  // which texts list as scheduled
    for (const Instruction& i : c.instructions) {
      if (is_element(i)) continue;  // each is in the names of its users
      std::string text = fmt::format("{} {}", i.name, i.opcode);
      describe(p, i.shape, text);
      for (const uint32_t operand : p.linked(i.operands)) text += fmt::format(" {}", name_of(c, p, operand));
      const Detail& detail = p.detail(i);
      text += fmt::format(" {} {} {}", p.dims(detail.contracting), detail.trips, detail.target);
      for (const WindowDim& w : detail.window) text += fmt::format(" {}/{}/{}/{}", w.size, w.stride, w.low, w.high);
      if (i.kind() == Kind::collective) {
        const auto groups = groups_of(p, i);
        if (!groups) return "";
        text += fmt::format(" {}", *groups);
      }
      text += fmt::format(" {}", detail.pairs);
      instructions.push_back(std::move(text));
    }
    std::sort(instructions.begin(), instructions.end());
    computations.push_back(fmt::format("{}\n{}", c.name, fmt::join(instructions, "\n")));
  }
  std::sort(computations.begin(), computations.end());
  return fmt::format("{} {} {}", p.replicas, p.partitions, fmt::join(computations, "\n\n"));
}

/// Count the instructions of the entry that execute, and were not.
size_t not_executed(const Program& p, const absl::flat_hash_set<std::string_view>& ops) {
  const auto& entry = p.computations[p.entry].instructions;
  return static_cast<size_t>(std::count_if(entry.begin(), entry.end(), [&](const Instruction& i) {
    return i.kind() != Kind::value && i.kind() != Kind::done && !ops.contains(i.name);
  }));
}

/// Keep the programs with the smallest key.
template <class Key>
void keep_least(std::vector<size_t>& places, const Key& key) {
  if (places.empty()) return;
  size_t least = SIZE_MAX;
  for (const size_t place : places) least = std::min<size_t>(least, key(place));
  std::erase_if(places, [&](size_t place) { return key(place) != least; });
}

/// Whether the devices of two programs are equal, or one of them does not state devices, as a text.
bool may_have_equal_devices(const Program& a, const Program& b) {
  return a.devices.empty() || b.devices.empty() || a.devices == b.devices;
}
/// Whether a program lacks a device that executed the program.
bool lacks_device(const Program& p, const std::vector<int64_t>& devices) {
  return std::any_of(devices.begin(), devices.end(), [&](int64_t device) {
    if (p.devices.empty()) return p.device_count() > 1 && device >= p.device_count();
    return p.devices.size() > 1 && std::find(p.devices.begin(), p.devices.end(), device) == p.devices.end();
  });
}

}  // namespace

bool is_same_program(const Program& a, const Program& b) {
  if (a.name != b.name || a.devices != b.devices) return false;
  const std::string one = description(a);
  return !one.empty() && one == description(b);
}

std::string_view first_missing(const Program& program, const std::vector<std::string_view>& ops) {
  absl::flat_hash_set<std::string_view> names;
  for (const Computation& c : program.computations)
    for (const Instruction& i : c.instructions) names.insert(i.name);
  for (const std::string_view op : ops)
    if (!names.contains(op)) return op;
  return "";
}

Result<std::optional<size_t>> find_dump(const std::vector<Program>& dumps, std::string_view module,
                                        std::optional<int64_t> id, const std::vector<std::string_view>& ops,
                                        const std::vector<int64_t>& devices) {
  std::vector<size_t> fit;
  for (size_t d = 0; d < dumps.size(); ++d)
    if (dumps[d].name == module && first_missing(dumps[d], ops).empty()) fit.push_back(d);
  const absl::flat_hash_set<std::string_view> executed(ops.begin(), ops.end());
  keep_least(fit, [&](size_t d) { return lacks_device(dumps[d], devices); });
  keep_least(fit, [&](size_t d) { return id && dumps[d].id != *id; });
  keep_least(fit, [&](size_t d) { return dumps[d].computations[dumps[d].entry].order.empty(); });
  keep_least(fit, [&](size_t d) { return not_executed(dumps[d], executed); });
  if (fit.empty()) return std::optional<size_t>();
  if (fit.size() > 1) {
    const std::string first = description(dumps[fit[0]]);
    for (size_t f = 1; f < fit.size(); ++f)
      if (first.empty() || !may_have_equal_devices(dumps[fit[0]], dumps[fit[f]]) || description(dumps[fit[f]]) != first)
        return fail(Code::bad_input, "xla.program.ambiguous",
                    fmt::format("the dumps {} and {} differ, and both have every instruction that the profile executed "
                                "of module {}: give the dump of the executed program only, or the .xplane.pb, which "
                                "holds the programs",
                                quote(dumps[fit[0]].file), quote(dumps[fit[f]].file), quote(module)),
                    {dumps[fit[f]].file});
    keep_least(fit, [&](size_t d) { return !dumps[d].memory.known; });
  }
  return std::optional(fit[0]);
}

Failure no_program(const Inputs& inputs, std::string_view program, std::string_view module,
                   const std::vector<std::string_view>& ops, const Place& place) {
  if (!inputs.unreadable.empty()) return Failure(inputs.unreadable.front());
  std::set<std::string_view> others;
  for (const Program& dump : inputs.dumps) {
    if (dump.name != module) {
      others.insert(dump.name);
      continue;
    }
    return fail(Code::bad_input, "xla.program.other",
                fmt::format("the program {} in {} has no instruction {}, which the profile executed; is the dump one "
                            "before optimization, or of another run?",
                            quote(module), quote(dump.file), quote(first_missing(dump, ops))),
                place);
  }
  std::string given;
  for (const std::string_view name : others) {
    if (given.size() > 100) break;
    given += (given.empty() ? "; the dumps are of " : ", ") + quote(name);
  }
  return fail(Code::bad_input, "xla.program.missing",
              fmt::format("the profile lacks the program {}; add its dump (XLA_FLAGS=--xla_dump_to=DIR "
                          "--xla_dump_hlo_as_proto){}",
                          quote(program), given),
              place);
}

Result<void> choose_programs(Inputs& inputs) {
  for (Profile& profile : inputs.profiles) {
    if (!profile.browser) continue;
    using Run = std::pair<std::string_view, int64_t>;                        // module, number
    using Parts = std::pair<std::set<std::string_view>, std::set<int64_t>>;  // instructions, devices
    std::map<Run, Parts> of_run;
    for (const Profile::Event& event : profile.events) {
      if (event.module.empty()) continue;
      Parts& parts = of_run[{event.module, event.run}];
      parts.first.insert(event.op), parts.second.insert(event.device);
    }
    std::map<std::pair<std::string_view, Parts>, size_t> known;
    std::map<Run, size_t> chosen;
    for (auto& [run, parts] : of_run) {
      const std::pair key(run.first, std::move(parts));
      if (const auto found = known.find(key); found != known.end()) {
        chosen[run] = found->second;
        continue;
      }
      const auto& [ops, devices] = key.second;
      const std::vector<std::string_view> executed(ops.begin(), ops.end());
      CHAKRA_ASSIGN(const std::optional<size_t> dump,
                    find_dump(inputs.dumps, run.first, std::nullopt, executed, {devices.begin(), devices.end()}));
      if (!dump) return no_program(inputs, run.first, run.first, executed, {profile.file});
      chosen[run] = known[key] = *dump;
    }
    for (Profile::Event& event : profile.events)
      if (!event.module.empty()) event.program = static_cast<int64_t>(chosen.at({event.module, event.run}));
  }
  return {};
}

}  // namespace chakra::xla
