#include "chakra/job/no_effect.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/base/join.h"

namespace chakra::job {
namespace {

constexpr size_t kNamed = 4;  ///< of a list of ranks, groups, keys or rules

/// Why an option had no effect, or what it did not reach; empty: it had all of its effect.
struct Why {
  std::string text;
  bool partly = false;
};

template <class List>
std::string some(const List& list) {
  std::string text;
  size_t i = 0;
  for (const auto& item : list) {
    if (i++ == kNamed) return text + fmt::format(" and {} more", list.size() - kNamed);
    text += fmt::format("{}{}", i > 1 ? ", " : "", item);
  }
  return text;
}

std::optional<std::string> if_set(bool set) { return set ? std::optional<std::string>("") : std::nullopt; }

Why if_silent(const JobFacts& job) { return {job.collectives || job.messages ? "" : "nothing communicates", false}; }

bool has(const JobFacts& job, int64_t rank) { return std::binary_search(job.ranks.begin(), job.ranks.end(), rank); }

// ---- devices ---------------------------------------------------------------------------------------------------

/// How much of the device time on the device `to` changed.
Why device_time(const sim::SimReport& report, const std::string& to, std::string_view nothing) {
  Picoseconds all = 0, left = 0;
  std::set<std::string_view> reasons;
  for (const sim::ScaledTime& row : report.devices) {
    if (row.to != to) continue;
    const Picoseconds time = std::max<Picoseconds>(is_predicted(row.how) ? row.after_ps : row.before_ps, 1);
    all = add_saturated(all, time);
    const sim::ScalingRow& scaling = sim::kScalings[static_cast<size_t>(row.how)];
    if (scaling.changes && row.before_ps != row.after_ps) continue;
    left = add_saturated(left, time);
    reasons.insert(scaling.changes ? "unchanged on that device" : scaling.text);
  }
  if (all == 0) return {std::string(nothing), false};
  if (left == 0) return {};
  const std::string share = show_percent(static_cast<double>(left) / static_cast<double>(all));
  return {fmt::format("{} of the device time is {}", share, join(reasons, ", ")), left < all};
}

Why why_device(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  const auto by_row = [&](int64_t rank) { return job.system.traits(rank).device >= 0; };
  if (std::all_of(job.ranks.begin(), job.ranks.end(), by_row))
    return {"the system file's 'devices' names a device for every rank", false};
  return device_time(report, job.system.target->name, kNoDeviceTime);
}

Why why_stack(const SimulateOptions&, const JobFacts& job, const sim::SimReport&) {
  const device::Device& target = *job.system.target;
  const device::StackUse& of = target.stack;
  if (of.attention_ops_per_s > 0 || of.elementwise_time != 1 || of.expert_layer_s > 0) return {};
  if (of.pass_s > 0 || of.sequence_s > 0 || (job.serves && of.prefill_share != 1)) return {};  // or sim.device.*
  return {fmt::format("stack {} does not change {} in a simulation", target.stack.name, target.name), false};
}

Why why_from_device(const SimulateOptions&, const JobFacts&, const sim::SimReport& report) {
  const auto measured = [](const sim::ScaledTime& row) { return !row.from.empty(); };
  if (std::any_of(report.devices.begin(), report.devices.end(), measured)) return {};
  const auto rated = [](const sim::ActorReport& actor) { return actor.rates.mfu.has_value(); };
  if (report.devices.empty() && std::any_of(report.actors.begin(), report.actors.end(), rated)) return {};
  return {"the job has no measured device time, or stays on the recorded device", false};
}

Why why_unrecorded(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  if (!job.unrecorded) return {"the job has no unrecorded device work", false};
  const auto faster = [](const auto& row) { return row.second.speed != 1; };
  if (!report.devices.empty() || std::any_of(job.system.unlike.begin(), job.system.unlike.end(), faster)) return {};
  return {"the job stays on the recorded device and at its speed", false};
}

Why why_roofline(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  if (!job.system.target_is_roofline) return {"--device sets the device of all ranks", false};
  return device_time(report, job.system.target->name, kNoDeviceTime);
}

Why why_devices(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  std::vector<int64_t> absent;
  for (const auto& [rank, traits] : job.system.unlike)
    if (traits.device >= 0 && !has(job, rank)) absent.push_back(rank);
  std::string text;
  if (!absent.empty()) text = fmt::format("not in the job: rank {}", some(absent));
  bool any = false;
  for (const device::Device& device : job.system.devices) {
    const Why why = device_time(report, device.name, "no rank on it computes on a device");
    any |= why.text.empty() || why.partly;
    if (!why.text.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", quote(device.name), why.text);
  }
  return {text, any};
}

// ---- other keys of the system file -----------------------------------------------------------------------------

Why why_ranks(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  std::vector<int64_t> absent, idle;
  size_t rows = 0;
  for (const auto& [rank, traits] : job.system.unlike) {
    if (traits.speed == 1 && traits.start_ps == 0) continue;
    ++rows;
    const auto at = std::lower_bound(report.ranks.begin(), report.ranks.end(), rank,
                                     [](const sim::RankReport& r, int64_t value) { return r.rank < value; });
    if (!has(job, rank)) absent.push_back(rank);
    else if (traits.start_ps == 0 && at != report.ranks.end() && at->compute_ps == 0) idle.push_back(rank);
  }
  std::string text;
  if (!absent.empty()) text = fmt::format("not in the job: rank {}", some(absent));
  if (!idle.empty()) text += fmt::format("{}nothing to compute: rank {}", text.empty() ? "" : "; ", some(idle));
  return {text, absent.size() + idle.size() < rows};
}

Why why_tiers(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  std::vector<std::string_view> idle;
  for (const device::Tier& tier : job.system.tiers)
    if (std::none_of(report.tiers.begin(), report.tiers.end(),
                     [&](const auto& used) { return used.name == tier.name; }))
      idle.push_back(tier.name);
  if (idle.empty()) return {};
  return {fmt::format("no node uses tier {}", some(idle)), idle.size() < job.system.tiers.size()};
}

Why why_rates(const SimulateOptions&, const JobFacts&, const sim::SimReport&) {
  return {"'roofline-enabled' is not set", false};
}

std::optional<std::string> keys_without(const JobFacts& job, bool native) {
  const std::vector<std::string>& keys = native ? job.system.compat_keys : job.system.native_keys;
  return keys.empty() ? std::nullopt : std::optional("(" + some(keys) + ")");
}

// ---- the rest --------------------------------------------------------------------------------------------------

Why why_collectives(const SimulateOptions&, const JobFacts& job, const sim::SimReport& report) {
  std::vector<char> used(job.rules.rules.size(), 0);
  for (const sim::CollectiveReport& c : report.collectives)
    for (size_t i = 0; i < used.size(); ++i)
      if (const coll::Rule& rule = job.rules.rules[i];
          rule.type == c.type && rule.from <= c.bytes && (c.bytes < rule.to || rule.to == UINT64_MAX)) {
        used[i] = 1;
        break;
      }
  std::set<std::string_view> idle;  // rules may name operations that this job does not have
  for (const coll::Rule& rule : job.rules.rules) idle.insert(trace::name(rule.type));
  if (std::find(used.begin(), used.end(), 1) == used.end())
    return {fmt::format("the job has no collectives for its rules of {}", some(idle)), false};
  const bool followed = std::any_of(report.collectives.begin(), report.collectives.end(),
                                    [](const sim::CollectiveReport& c) { return c.by_rule; });
  return {followed ? "" : "no collective is priced, or its algorithm does not support the placement of the groups",
          false};
}

Why why_groups(const SimulateOptions&, const JobFacts& job, const sim::SimReport&) {
  if (job.unnamed.empty() && job.groups_given > 0) return {};
  if (job.groups_given == 0) return {"it has no groups", false};
  return {fmt::format("no communication is of group {}", some(job.unnamed)), job.unnamed.size() < job.groups_given};
}

Why why_no_fold(const SimulateOptions& asked, const JobFacts& job, const sim::SimReport& report) {
  if (report.congestion != sim::Congestion::closed)
    return {fmt::format("--congestion {} simulates every rank",
                        sim::kCongestionNames[static_cast<size_t>(report.congestion)]),
            false};
  if (!asked.timeline.empty() && !job.classes) return {"--timeline shows every rank", false};
  if (report.distinct_traces >= static_cast<int64_t>(job.ranks.size()))
    return {"every rank has a different trace", false};
  return {};
}

Why why_memory(const SimulateOptions& asked, const JobFacts& job, const sim::SimReport&) {
  if (!asked.compat()) return {"only --compat uses it", false};
  const bool used = job.system.memory == device::MemoryKind::none || job.memory;
  return {used ? "" : "the job has no remote memory nodes", false};
}

Why why_expand(const SimulateOptions&, const JobFacts& job, const sim::SimReport&) {
  return {job.copies == 0 ? "every rank has a trace" : "", false};
}

Why why_congestion(const SimulateOptions& asked, const JobFacts& job, const sim::SimReport&) {
  const bool shares = asked.congestion == sim::Congestion::fluid || asked.congestion == sim::Congestion::packet;
  return shares ? if_silent(job) : Why{};
}

Why why_silent(const SimulateOptions&, const JobFacts& job, const sim::SimReport&) { return if_silent(job); }

/// Every option of `chakra sim` that may change nothing.
struct OptionRow {
  std::string_view option;
  Why (*why)(const SimulateOptions&, const JobFacts&, const sim::SimReport&);
};
constexpr std::array<OptionRow, 15> kOptionRows{{
    {"--device", why_device},
    {"--stack", why_stack},
    {"--from-device", why_from_device},
    {"--unrecorded", why_unrecorded},
    {"--memory", why_memory},
    {"--groups", why_groups},
    {"--expand", why_expand},
    {"--congestion", why_congestion},
    {"--packet-bytes", why_silent},
    {"--collectives", why_collectives},
    {"--no-fold", why_no_fold},
    {"--backend", why_silent},
    {"--num-queues-per-dim", why_silent},
    {"--injection-scale", why_silent},
    {"--rendezvous-protocol", why_silent},
}};

/// What of the system file and of nodes may change nothing.
struct KeyRow {
  std::string_view key;
  /// Their names, or ""; nothing where there are none.
  std::optional<std::string> (*given)(const SimulateOptions&, const JobFacts&);
  Why (*why)(const SimulateOptions&, const JobFacts&, const sim::SimReport&);
};
constexpr std::array<KeyRow, 7> kKeyRows{{
    {"--system (roofline-enabled)",
     [](const SimulateOptions& a, const JobFacts& j) { return if_set(!a.compat() && j.system.roofline); },
     why_roofline},
    {"--system (peak-perf, local-mem-bw)",
     [](const SimulateOptions& a, const JobFacts& j) {
       return if_set(!a.compat() && !j.system.roofline &&
                     (j.system.peak_flop_per_s > 0 || j.system.memory_bytes_per_s > 0));
     },
     why_rates},
    {"--system (devices)",
     [](const SimulateOptions& a, const JobFacts& j) { return if_set(!a.compat() && !j.system.devices.empty()); },
     why_devices},
    {"--system (ranks)",
     [](const SimulateOptions& a, const JobFacts& j) { return if_set(!a.compat() && !j.system.unlike.empty()); },
     why_ranks},
    {"--system (tiers)",
     [](const SimulateOptions& a, const JobFacts& j) { return if_set(!a.compat() && !j.system.tiers.empty()); },
     why_tiers},
    {"storage_tier of nodes", [](const SimulateOptions& a, const JobFacts& j) { return if_set(a.compat() && j.tiers); },
     [](const SimulateOptions&, const JobFacts&, const sim::SimReport&) {
       return Why{"ASTRA-sim's rules support one remote memory, that of --memory", false};
     }},
    {"--system", [](const SimulateOptions& a, const JobFacts& j) { return keys_without(j, !a.compat()); },
     [](const SimulateOptions& a, const JobFacts&, const sim::SimReport&) {
       return Why{!a.compat() ? "only --compat uses such keys" : "only the native mode supports these keys", false};
     }},
}};

/// Names of groups that no communication of the traces has.
std::vector<std::string> unnamed(const match::GroupTable& groups, const std::vector<trace::Trace>& traces,
                                 const trace::ClassJob* classes) {
  std::set<std::string_view> named;
  for (const trace::Trace& t : traces)
    for (const trace::Comm& comm : t.comms) named.insert(t.strings[comm.group]);
  if (classes)
    for (const trace::ProcessGroup& group : classes->groups) named.insert(group.name);
  std::vector<std::string> missing;
  for (const auto& [name, members] : groups)
    if (!named.contains(name)) missing.push_back(name);
  return missing;
}

}  // namespace

JobFacts facts_of(const sim::SimInput& input, const match::GroupTable& groups, const Findings& findings) {
  JobFacts facts;
  facts.classes = input.classes.has_value();
  facts.system = input.system;
  facts.rules = input.collectives;
  if (input.classes)
    for (const trace::ClassJob::Rank& rank : input.classes->ranks) facts.ranks.push_back(rank.rank);
  else
    for (const trace::Trace& t : input.job.ranks) facts.ranks.push_back(t.rank);
  const std::vector<trace::Trace>& traces = input.classes ? input.classes->classes : input.job.ranks;
  for (const trace::Trace& t : traces) facts.tiers |= t.strings.find("storage_tier") != 0;
  for (const trace::Trace& t : traces) facts.unrecorded |= t.strings.find(trace::kUnrecorded) != 0;
  for (const trace::Trace& t : traces)
    for (const trace::NodeType type : t.type) {
      facts.collectives |= type == trace::NodeType::coll;
      facts.messages |= type == trace::NodeType::send || type == trace::NodeType::recv;
      facts.memory |= type == trace::NodeType::mem_load || type == trace::NodeType::mem_store;
    }
  facts.groups_given = groups.size();
  if (!groups.empty()) facts.unnamed = unnamed(groups, traces, input.classes ? &*input.classes : nullptr);
  for (const Finding& finding : findings)
    if (finding.tag == "edit.expand")
      for (const Fact& fact : finding.facts)
        if (fact.name == "copies") facts.copies = fact.number.value_or(0);
  return facts;
}

Findings groups_without_effect(const match::GroupTable& groups, const std::vector<trace::Trace>& traces) {
  JobFacts facts;
  facts.groups_given = groups.size();
  facts.unnamed = unnamed(groups, traces, nullptr);
  const Why why = why_groups({}, facts, {});
  if (why.text.empty()) return {};
  return {why.partly ? partial_effect("--groups", why.text) : no_effect("--groups", why.text)};
}

Findings options_without_effect(const SimulateOptions& asked, const JobFacts& job, const sim::SimReport& report) {
  Findings findings;
  const auto add = [&](const std::string& option, const Why& why) {
    if (why.text.empty()) return;
    findings.push_back(why.partly ? partial_effect(option, why.text) : no_effect(option, why.text));
  };
  SimulateOptions copy = asked, fresh;
  const options::Options rows = rows_of(copy), before = rows_of(fresh);
  for (const OptionRow& row : kOptionRows) {
    if (!is_given(rows, before, row.option)) continue;
    const options::Option& option = *find(rows, row.option);
    const std::string value = is_flag(option) ? "" : " " + text_of(option);
    add(std::string(row.option) + value, row.why(asked, job, report));
  }
  for (const KeyRow& row : kKeyRows) {
    const auto given = row.given(asked, job);
    if (!given) continue;
    add(given->empty() ? std::string(row.key) : fmt::format("{} {}", row.key, *given), row.why(asked, job, report));
  }
  return findings;
}

}  // namespace chakra::job
