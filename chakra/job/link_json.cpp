// A linked job as JSON.
#include <fmt/core.h>

#include "chakra/job/link.h"
#include "chakra/job/report_parts.h"

namespace chakra::job {
namespace {

using result::Json;

Json constants_json(const link::LinkingReport& report) {
  Json json = Json::object();
  for (const auto& row : report.constants) {
    const std::string at = report.constants.size() > 1 ? fmt::format("@{}", row.device) : "";
    if (row.used_launch) json["launch_latency" + at] = row.launch_ns;
    if (row.used_graph) json["graph_launch_latency" + at] = row.graph_launch_ns;
    if (row.used_gap) json["dispatch_gap" + at] = row.dispatch_gap_ns;
  }
  return json;
}

Json rank_json(const LinkedRank& rank) {
  const link::LinkingReport& r = rank.report;
  const analyze::SelfReplay& s = rank.replay;
  Json edges = Json::object();
  for (size_t i = 0; i < r.edges.size(); ++i)
    if (r.edges[i] > 0) edges[std::string(trace::kEdgeKinds[i].name)] = r.edges[i];
  Json steps = Json::array();
  for (const auto& step : s.steps)
    steps.push_back({{"name", step.name}, {"measured_ns", result::json_ns(step.measured_ps)}, {"error", step.error}});
  Json path = Json::object();
  for (size_t i = 0; i < s.critical_path.size(); ++i) path[std::string(analyze::kPathParts[i])] = s.critical_path[i];
  return {
      {"rank", rank.rank},
      {"host", rank.input.host.empty() ? Json(nullptr) : Json(rank.input.host)},
      {"device", rank.input.device.empty() ? Json(nullptr) : Json(rank.input.device)},
      {"output", rank.output},
      {"nodes", rank.nodes},
      {"host_ops", r.host_ops},
      {"matched_host_ops", r.has_host_trace && !rank.input.device.empty() ? Json(r.matched_host_ops) : Json(nullptr)},
      {"matched_by",
       !r.has_host_trace || rank.input.device.empty() ? Json(nullptr) : Json(r.by_names ? "names" : "ids")},
      {"iteration", r.iteration < 0 ? Json(nullptr) : Json(r.iteration)},
      {"device_ops", r.device_ops},
      {"attached_device_ops", r.attached_device_ops},
      {"launched_before", r.launched_before},
      {"edges", edges},
      {"inferred_edges", r.inferred_edges},
      {"constants_ns", constants_json(r)},
      {"comm_nodes", r.comm_nodes},
      {"comm_bytes", r.comm_bytes},
      {"work", to_json(r.work)},
      {"measured_ns", result::json_ns(s.measured_ps)},
      {"replayed_ns", result::json_ns(s.replayed_ps)},
      {"self_replay_error", s.error},
      {"steps", steps},
      {"step_error", {{"median", s.median_error}, {"worst", s.worst_error}}},
      {"half_device_ns", result::json_ns(s.half_device_ps)},
      {"half_recorded_ns", result::json_ns(s.half_recorded_ps)},
      {"unrecorded", {{"count", r.unrecorded}, {"time_ns", r.unrecorded_ns}}},
      {"critical_path", path},
      {"informative", s.informative},
      {"device_start_error_ns",
       {{"median", result::json_ns(s.start_error_median_ps)}, {"max", result::json_ns(s.start_error_max_ps)}}},
      {"stream_stall_share", s.stream_stall_share},
      {"unattributed_sync_ns", r.unattributed_sync_ns},
      {"findings", result::to_json(r.findings)}};
}

Json times_json(const analyze::JobTimes& times, const Findings& mismatches) {
  Json clocks = Json::array(), stragglers = Json::array(), collectives = Json::array();
  for (const analyze::Clock& c : times.clocks)
    clocks.push_back({{"rank", c.rank},
                      {"reference", c.known ? Json(c.reference) : Json(nullptr)},
                      {"offset_ns", c.known ? Json(c.offset_ns) : Json(nullptr)},
                      {"drift_ppm", c.known ? Json(c.drift_ppm) : Json(nullptr)},
                      {"uncertainty_ns", c.known ? Json(c.uncertainty_ns) : Json(nullptr)},
                      {"collectives", c.collectives},
                      {"messages", c.messages}});
  for (const analyze::Straggler& s : times.stragglers)
    stragglers.push_back({{"rank", s.rank}, {"last_at", s.last_at}, {"waited_ns", s.waited_ns}});
  for (const analyze::CollectiveTimes& c : times.collectives)
    collectives.push_back({{"group", c.group},
                           {"type", trace::name(c.type)},
                           {"bytes", c.bytes},
                           {"members", c.members},
                           {"count", c.count},
                           {"wait_ns", c.wait_ns},
                           {"transfer_ns", c.transfer_ns}});
  return {{"mismatches", result::to_json(mismatches)},
          {"clock", clocks},
          {"stragglers", stragglers},
          {"collectives", collectives}};
}

}  // namespace

Json to_json(const LinkedJob& linked) {
  Json json;
  json["ranks"] = Json::array();
  for (const LinkedRank& rank : linked.ranks) json["ranks"].push_back(rank_json(rank));
  if (linked.ranks.size() > 1) json["job"] = times_json(linked.times, linked.mismatches);
  if (linked.replay) json["job"]["measured"] = to_json(*linked.replay);
  json["findings"] = result::to_json(linked.findings);
  return json;
}

}  // namespace chakra::job
