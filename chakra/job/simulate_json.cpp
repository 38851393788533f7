// A simulation, and why there is none, as JSON.
#include "chakra/job/report_parts.h"
#include "chakra/job/simulate.h"

namespace chakra::job {
namespace {

using result::Json;

/// "ALL_REDUCE" or "messages".
std::string what(const sim::ActorReport::Exposed& e) {
  return e.type == trace::CommType::unknown ? "messages" : std::string(trace::name(e.type));
}

/// Which algorithm was taken, and what the others were predicted to take.
void add_algorithm(const sim::CollectiveReport& c, Json& json) {
  json["algorithm"] = c.algorithm->name;
  json["near_order"] = c.near;
  json["by_rule"] = c.by_rule;
  Json candidates = Json::array();
  for (const coll::Candidate& candidate : c.candidates)
    candidates.push_back({{"algorithm", candidate.algorithm->name},
                          {"near_order", candidate.near || candidate.by_grid},
                          {"predicted_ps", candidate.predicted_ps ? Json(*candidate.predicted_ps) : Json(nullptr)},
                          {"sampled", candidate.sampled}});
  json["candidates"] = std::move(candidates);
}

/// Which fit of the network file says the time, and how far off it is.
void add_fitted(const sim::FittedCollective& fitted, Json& json) {
  json["algorithm"] = fitted.algorithm;
  json["protocol"] = fitted.protocol;
  json["fitted_error_percent"] = fitted.error_percent < 0 ? Json(nullptr) : Json(fitted.error_percent);
  json["fitted_worst_percent"] = fitted.worst_percent < 0 ? Json(nullptr) : Json(fitted.worst_percent);
  json["fitted_ranks"] = fitted.ranks;
  json["fitted_nodes"] = fitted.nodes;
  json["fitted_from_parts"] = fitted.from_parts;
  json["fitted_from_bytes"] = fitted.from_bytes;
  json["fitted_to_bytes"] = fitted.to_bytes;
  json["extrapolated"] = fitted.other_ranks || fitted.other_bytes;
}

Json ranks_json(const sim::SimReport& report, bool native) {
  Json ranks = Json::array();
  for (const sim::RankReport& r : report.ranks) {
    Json rank{{"rank", r.rank},
              {"finish_ps", r.finish_ps},
              {"compute_ps", r.compute_ps},
              {"exposed_comm_ps", r.exposed_comm_ps}};
    if (native) {
      rank["host_ps"] = r.host_ps;
      rank["bubble_ps"] = r.bubble_ps;
    }
    if (!report.tiers.empty()) rank["exposed_storage_ps"] = r.exposed_storage_ps;
    rank["idle_ps"] = r.idle_ps;
    if (native) rank["actor"] = uint32_t{r.actor};
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

Json collectives_json(const sim::SimReport& report) {
  Json collectives = Json::array();
  for (const sim::CollectiveReport& c : report.collectives) {
    collectives.push_back({{"group", c.group},
                           {"type", trace::name(c.type)},
                           {"bytes", c.bytes},
                           {"members", c.members},
                           {"count", c.count},
                           {"total_ps", c.total_ps},
                           {"wait_ps", c.wait_ps},
                           {"algorithm_bytes_per_s", c.algorithm_bytes_per_s},
                           {"bus_bytes_per_s", c.bus_bytes_per_s}});
    if (c.algorithm) add_algorithm(c, collectives.back());
    if (c.fitted) add_fitted(*c.fitted, collectives.back());
  }
  return collectives;
}

/// Who shared links, why, and which links are shared at the same time.
Json congestion_json(const sim::SimReport& report) {
  Json links = Json::array();
  for (const sim::SharedLink& link : report.sharing.links)
    links.push_back({{"link", link.name}, {"asked", link.most}, {"lacks_ps", link.lacks_ps}});
  return {{"mode", sim::kCongestionNames[static_cast<size_t>(report.congestion)]},
          {"reason", report.congestion_reason},
          {"closed_misses_ps", report.sharing.longer_ps},
          {"shared_links", std::move(links)}};
}

/// What ASTRA-sim's rules do not give.
void add_native(const SimulateResult& result, Json& json) {
  const sim::SimReport& report = result.report;
  json["congestion"] = congestion_json(report);
  Json& actors = json["actors"] = Json::array();
  for (const sim::ActorReport& a : report.actors) {
    Json exposed = Json::array();
    for (const auto& e : a.exposed) exposed.push_back({{"what", what(e)}, {"group", e.group}, {"time_ps", e.time_ps}});
    actors.push_back({{"ranks", a.ranks}, {"exposed", std::move(exposed)}});
    add_rates(a, actors.back());
  }
  json["devices"] = devices_json(report);
  if (result.tokens > 0) json["throughput"] = throughput_json(result);
  Json& links = json["links"] = Json::array();
  for (const sim::LinkReport& l : report.links)
    links.push_back({{"from", l.from}, {"to", l.to}, {"bytes", l.bytes}, {"busy_ps", l.busy_ps}});
  if (!report.tiers.empty()) json["tiers"] = tiers_json(report);
  Json& path = json["critical_path"] = Json::array();
  for (const sim::PathPiece& p : report.critical_path) {
    path.push_back({{"kind", sim::kPathKindNames[static_cast<size_t>(p.kind)]},
                    {"rank", p.rank},
                    {"node", p.node},
                    {"name", p.name},
                    {"start_ps", p.start_ps},
                    {"end_ps", p.end_ps}});
    if (!p.tier.empty()) path.back()["tier"] = p.tier;
  }
  json["transfers"] = result.recorded_transfers ? "recorded" : "simulated";
  if (result.replay) json["measured"] = to_json(*result.replay, "ps");
  if (result.delays) json["delays"] = to_json(*result.delays);
}

Json waiting_json(const std::vector<sim::Wait::Rank>& ranks, bool with_reason) {
  Json list = Json::array();
  for (const sim::Wait::Rank& rank : ranks) {
    Json row{{"rank", rank.rank}, {"node", rank.node ? Json(*rank.node) : Json(nullptr)}};
    if (with_reason) row["why"] = rank.why;
    list.push_back(std::move(row));
  }
  return list;
}

Json wait_json(const sim::Wait& wait) {
  Json json;
  if (wait.type == trace::CommType::unknown) json = {{"type", "message"}, {"message_tag", wait.tag}};
  else json = {{"type", trace::name(wait.type)}, {"groups", wait.groups}, {"index", wait.index}};
  json["waiting"] = waiting_json(wait.waiting, false);
  json["missing"] = waiting_json(wait.missing, true);
  return json;
}

}  // namespace

Json to_json(const SimulateResult& result) {
  const sim::SimReport& report = result.report;
  Json json{{"mode", result.compat ? "astra-sim" : "native"},
            {"network", result.network},
            {"makespan_ps", report.makespan_ps},
            {"interrupted", report.interrupted},
            {"events", report.events},
            {"ranks", ranks_json(report, !result.compat)},
            {"collectives", collectives_json(report)}};
  if (!result.compat) add_native(result, json);
  json["findings"] = result::to_json(report.findings);
  return json;
}

Json waits_json(const Error& error, const std::vector<sim::Wait>& waits) {
  Json json{{"error", {{"tag", error.tag}, {"text", error.text}}}};
  Json& list = json["waits"] = Json::array();
  for (const sim::Wait& wait : waits) list.push_back(wait_json(wait));
  return json;
}

}  // namespace chakra::job
