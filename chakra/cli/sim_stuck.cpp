#include "chakra/cli/sim_stuck.h"

namespace chakra::cli {
namespace {

Json to_json(const std::vector<sim::Wait::Rank>& ranks, bool with_reason) {
  Json list = Json::array();
  for (const sim::Wait::Rank& rank : ranks) {
    Json row{{"rank", rank.rank}, {"node", rank.node ? Json(*rank.node) : Json(nullptr)}};
    if (with_reason) row["why"] = rank.why;
    list.push_back(std::move(row));
  }
  return list;
}

Json to_json(const sim::Wait& wait) {
  Json json;
  if (wait.type == trace::CommType::unknown) json = {{"type", "message"}, {"message_tag", wait.tag}};
  else json = {{"type", trace::name(wait.type)}, {"groups", wait.groups}, {"index", wait.index}};
  json["waiting"] = to_json(wait.waiting, false);
  json["missing"] = to_json(wait.missing, true);
  return json;
}

}  // namespace

Result<void> write_waits(const Error& error, const std::vector<sim::Wait>& waits, const std::string& path) {
  if (path.empty() || waits.empty()) return {};
  Json json{{"error", {{"tag", error.tag}, {"text", error.text}}}};
  Json& list = json["waits"] = Json::array();
  for (const sim::Wait& wait : waits) list.push_back(to_json(wait));
  return write_json(json, path);
}

}  // namespace chakra::cli
