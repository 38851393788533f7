// Findings and tables -> JSON.
#include "chakra/result/result.h"

namespace chakra::result {

Json to_json(const Findings& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json& row = list.emplace_back(Json{{"tag", finding.tag},
                                       {"severity", name(finding.severity)},
                                       {"rank", finding.rank < 0 ? Json(nullptr) : Json(finding.rank)},
                                       {"node", finding.node < 0 ? Json(nullptr) : Json(finding.node)},
                                       {"text", finding.text}});
    for (const Fact& fact : finding.facts)
      row[std::string(fact.name)] = fact.number ? Json(*fact.number) : Json(fact.text);
  }
  return list;
}

Json to_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json& object = rows.emplace_back(Json::object());
    for (size_t i = 0; i < row.size(); ++i)
      std::visit([&](const auto& value) { object[table.columns[i].key] = value; }, row[i]);
  }
  return rows;
}

Json json_ns(Picoseconds time) {
  if (time % kPsPerNs == 0) return time / kPsPerNs;
  return static_cast<double>(time) / static_cast<double>(kPsPerNs);
}

}  // namespace chakra::result
