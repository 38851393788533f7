#include "chakra/sim/engine/actor_job.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <map>

#include "chakra/base/memory.h"
#include "chakra/feed/feed.h"
#include "chakra/sim/retarget.h"

namespace chakra::sim {
namespace {

using trace::NodeId;
using trace::Trace;

Result<void> check_trace(const Trace& t) {
  CHAKRA_TRY(feed::check_defects(t));
  for (const NodeId n : t.nodes())
    if (t.type[n] == trace::NodeType::invalid)
      return fail(Code::bad_input, "sim.trace.defect",
                  fmt::format("node {} of rank {} has no valid type", t.id[n], t.rank), {t.file});
  return {};
}

/// What makes ranks wait for ever is found by running; what makes their data differ is not.
/// What actors count the job's ranks have counted before, where they were matched.
Result<void> check_match(const match::Matching& matching, bool of_actors, Findings& findings) {
  absl::flat_hash_set<std::string> tags;
  absl::flat_hash_set<std::pair<std::string, std::string>> known;
  const auto note = [&](const Finding& finding) {
    tags.insert(finding.tag);
    return known.emplace(finding.tag, finding.text).second;
  };
  for (const Finding& finding : findings) note(finding);
  for (const Finding& finding : matching.findings) {
    const bool counted = of_actors && finding.rank < 0 && tags.contains(finding.tag);
    if (!counted && note(finding)) findings.push_back(finding);
    if (match::is_contradiction(finding))
      return fail(Code::bad_input, "sim.match", fmt::format("{} ({})", finding.text, finding.tag));
  }
  return {};
}

/// Afterwards the job stands in SimInput::classes, and all groups in SimInput::groups.
Result<void> check_job(SimInput& in, Findings& findings) {
  if (in.classes) {
    for (const Trace& t : in.classes->classes) CHAKRA_TRY(check_trace(t));
    return {};
  }
  for (const Trace& t : in.job.ranks) CHAKRA_TRY(check_trace(t));
  if (!in.matching) in.matching = match::match(in.job, in.groups);
  CHAKRA_TRY(check_match(*in.matching, false, findings));
  for (const match::Group& group : in.matching->groups) in.groups[group.name] = group.ranks;
  in.matching.reset();
  in.classes = trace::by_class(std::move(in.job));
  return {};
}

/// The network has a place for every rank.
Result<void> check_fabric(const SimInput& in, Findings& findings) {
  const trace::ClassJob& job = *in.classes;
  const auto ranks = static_cast<int64_t>(job.ranks.size());
  if (ranks > 0 && job.ranks.back().rank >= in.fabric.size())
    return fail(Code::bad_input, "sim.fabric.small",
                fmt::format("rank {} does not fit into a network of {} ranks; enlarge the network (npus_count)",
                            job.ranks.back().rank, in.fabric.size()),
                {job.classes[job.ranks.back().cls].file});
  for (const auto& [name, members] : in.groups)
    for (const int64_t rank : members)
      if (rank >= in.fabric.size())
        return fail(
            Code::bad_input, "sim.fabric.small",
            fmt::format("group {} has rank {}, but the network has {} ranks", quote(name), rank, in.fabric.size()));
  if (ranks < in.fabric.size())
    findings.push_back({"sim.rank.missing", Severity::warning, -1, -1,
                        fmt::format("the network has {} ranks, but the job has traces of {}; the others stay idle",
                                    in.fabric.size(), ranks)});
  return {};
}

void find_members(ActorJob& job) {
  for (const Trace& t : job.folded.actors.ranks) job.member_of.emplace_back(t.comms.size(), 0);
  for (const match::Collective& c : job.matching.collectives)
    for (uint32_t m = 0; m < c.members.size(); ++m)
      if (const match::NodeRef& ref = c.members[m]; ref.node != trace::kNoNode)
        job.member_of[ref.rank][job.trace(ref.rank).comm_row[ref.node]] = m;
}

void find_places(ActorJob& job) {
  const Folded& folded = job.folded;
  std::map<std::string_view, uint32_t> by_name;
  for (uint32_t g = 0; g < folded.groups.size(); ++g) by_name.emplace(folded.groups[g].names.front(), g);
  for (const match::Group& group : job.matching.groups) {
    GroupPlaces& places = job.places.emplace_back();
    places.folded = by_name.at(group.name);
    const Folded::Group& whole = folded.groups[places.folded];
    absl::flat_hash_map<int64_t, uint32_t> member_of;
    for (uint32_t m = 0; m < group.ranks.size(); ++m) member_of.emplace(group.ranks[m], m);
    places.first_place.assign(group.ranks.size(), kNobody);
    for (uint32_t p = 0; p < whole.ranks.size(); ++p) {
      const int64_t rank = whole.actors[p] == kNobody ? whole.ranks[p] : folded.actors.ranks[whole.actors[p]].rank;
      const uint32_t m = member_of.at(rank);
      places.member_at.push_back(m);
      if (places.first_place[m] == kNobody) places.first_place[m] = p;
    }
  }
}

}  // namespace

Result<ActorJob> make_actor_job(SimInput& in, Prices& prices, SimReport& report, double most_share) {
  CHAKRA_ASSERT((in.transfer_factors.empty() && !in.decisive_path && !in.collective_time) ||
                in.congestion == Congestion::closed);
  CHAKRA_TRY(begin_as_recorded(in, report.findings));
  const bool whole =
      !in.fold || in.transfers || in.delays || !in.transfer_factors.empty() || in.congestion == Congestion::packet;
  CHAKRA_TRY(check_job(in, report.findings));
  CHAKRA_TRY(check_fabric(in, report.findings));
  in.system.use_roofline();
  report.distinct_traces = static_cast<int64_t>(in.classes->classes.size());
  CHAKRA_ASSIGN(report.devices, retarget(*in.classes, in.system, report.findings));
  report.memory = std::move(in.memory_use);
  if (std::vector<MemoryUse> uses = memory_uses(*in.classes, in.system); !report.memory && !uses.empty())
    report.memory = std::move(uses.front());
  ActorJob job;
  CHAKRA_ASSIGN(job.storage, find_storage(*in.classes, in.system, report.findings));
  // Neither the caller's model of collectives nor tiers that several ranks share have bounds: an operation that comes
  // later can let another one end earlier.
  const bool bounded = !in.collective_time && !in.decisive_path && job.storage.kinds.empty();
  const bool shared = in.congestion == Congestion::fluid;
  const FoldLimits limits{whole, shared, in.memory > 0 ? in.memory : available_memory(),
                          bounded ? in.exact_nodes : UINT64_MAX, most_share};
  CHAKRA_ASSIGN(job.folded, fold(std::move(*in.classes), in.groups, in.system, job.storage, prices, in.fabric, limits));
  if (job.folded.share > most_share) return job;
  job.matching = match::match(job.folded.actors, job.folded.table);
  CHAKRA_TRY(check_match(job.matching, true, report.findings));
  find_members(job);
  find_places(job);
  return job;
}

}  // namespace chakra::sim
