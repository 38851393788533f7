#include "chakra/xla/executions.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <optional>

namespace chakra::xla {
namespace {

/// Instructions around others. A GPU's events of these are copies of conditions, not the time of those inside.
bool is_around(Kind kind) { return kind == Kind::loop || kind == Kind::conditional || kind == Kind::call; }

/// XLA's CPU devices copy operands of a sort that must stay, with an event each.
bool has_copies(const Instruction& i) { return i.opcode == "sort"; }

/// How many events of a CPU are one execution of an instruction, which executes as often as the others of its
/// computation.
class Copies {
 public:
  Copies(const Executed& executed, const std::vector<const Profile::Event*>& events) : executed_(executed) {
    for (const Profile::Event* const event : events)
      if (const auto at = executed.number_of.find(event->op); at != executed.number_of.end()) ++events_[at->second];
    for (const auto& [number, count] : events_)
      if (const Instruction& i = executed.instruction(number); i.kind() == Kind::work && !has_copies(i)) {
        uint64_t& most = executions_[executed.place(number).first];
        most = std::max(most, count);
      }
  }
  uint64_t events_of(uint32_t number) const {
    if (!has_copies(executed_.instruction(number))) return 1;
    const uint64_t events = events_.at(number);
    if (executed_.runs_once(number)) return events;
    const auto executions = executions_.find(executed_.place(number).first);
    return executions == executions_.end() || events % executions->second != 0 ? 1 : events / executions->second;
  }

 private:
  const Executed& executed_;
  absl::flat_hash_map<uint32_t, uint64_t> events_;      ///< by instruction
  absl::flat_hash_map<uint32_t, uint64_t> executions_;  ///< by computation
};

/// Decides whether a kernel begins another execution of its instruction.
class Kernels {
 public:
  /// `again`: the first kernel of an instruction begins another execution.
  bool begins(uint32_t instruction, std::string_view kernel, Kind kind, bool again) {
    const bool same =
        instruction == instruction_ && (communicates(kind) ? !contains(kernel) : !again || kernel != names_.front());
    if (!same) names_.clear();
    instruction_ = instruction;
    if (!contains(kernel)) names_.push_back(kernel);
    return !same;
  }

 private:
  bool contains(std::string_view kernel) const {
    return std::find(names_.begin(), names_.end(), kernel) != names_.end();
  }

  uint32_t instruction_ = kNone;
  std::vector<std::string_view> names_;
};

/// Whether all events are of one instruction, so that only its kernels tell the executions apart.
bool is_alone(const std::vector<Profile::Event*>& events) {
  return std::all_of(events.begin(), events.end(),
                     [&](const Profile::Event* event) { return event->op == events.front()->op; });
}

}  // namespace

const Profile::Event& Execution::longest() const {
  return **std::max_element(events.begin(), events.end(),
                            [](const Profile::Event* a, const Profile::Event* b) { return a->length < b->length; });
}

void number_runs(const Executed& executed, Profile::Kind kind, const std::vector<Profile::Event*>& events) {
  absl::flat_hash_set<uint32_t> seen;
  Kernels kernels;
  int64_t run = 0;
  const bool alone = is_alone(events);
  for (Profile::Event* const event : events) {
    const auto found = executed.number_of.find(event->op);
    if (found != executed.number_of.end()) {
      const Instruction& i = executed.instruction(found->second);
      if (!is_around(i.kind()) && !(kind == Profile::Kind::cpu && has_copies(i)) &&
          kernels.begins(found->second, event->name, i.kind(), alone) && executed.runs_once(found->second) &&
          !seen.insert(found->second).second) {
        ++run;
        seen.clear();
        seen.insert(found->second);
      }
    }
    event->run = run;
  }
}

Executions find_executions(const Executed& executed, const Profile& profile,
                           const std::vector<const Profile::Event*>& events) {
  Executions found;
  Kernels kernels;
  // By instruction: the execution of a TPU that has no asynchronous event yet, or of a CPU that may have more events.
  absl::flat_hash_map<uint32_t, size_t> started;
  const std::optional<Copies> copies =
      profile.kind == Profile::Kind::cpu ? std::make_optional<Copies>(executed, events) : std::nullopt;
  for (const Profile::Event* const event : events) {
    const auto at = executed.number_of.find(event->op);
    const bool known = at != executed.number_of.end();
    const Kind kind = known ? executed.instruction(at->second).kind() : Kind::work;
    if (!known || (profile.kind == Profile::Kind::gpu && is_around(kind))) {
      found.other.push_back(event);
      continue;
    }
    const uint32_t number = at->second;
    if (profile.kind == Profile::Kind::gpu) {
      if (!kernels.begins(number, event->name, kind, !executed.runs_once(number))) {
        found.all.back().events.push_back(event);
        continue;
      }
    } else if (copies && copies->events_of(number) > 1) {
      const auto [open, first] = started.try_emplace(number, found.all.size());
      if (!first) {
        Execution& execution = found.all[open->second];
        execution.events.push_back(event);
        if (execution.events.size() == copies->events_of(number)) started.erase(open);
        continue;
      }
    } else if (profile.lines[event->line].overlaps) {
      if (const auto start = started.find(number); start != started.end()) {
        found.all[start->second].events.push_back(event);
        started.erase(start);
        continue;
      }
    } else {
      started[number] = found.all.size();
    }
    found.all.push_back({number, {event}});
  }
  return found;
}

}  // namespace chakra::xla
