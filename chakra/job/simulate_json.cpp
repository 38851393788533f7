// Why there is no simulation, as JSON.
#include "chakra/job/simulate.h"

namespace chakra::job {
namespace {

using result::Json;

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

Json waits_json(const Error& error, const std::vector<sim::Wait>& waits) {
  Json json{{"error", {{"tag", error.tag}, {"text", error.text}}}};
  Json& list = json["waits"] = Json::array();
  for (const sim::Wait& wait : waits) list.push_back(wait_json(wait));
  return json;
}

}  // namespace chakra::job
