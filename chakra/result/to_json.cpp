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
  using Kind = Table::Kind;
  std::vector<std::string> keys;
  for (const auto& column : table.columns) {
    std::string key;
    for (const char c : to_lower(column.name)) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (plain) key += c;
      else if (!key.empty() && key.back() != '_') key += '_';
    }
    while (!key.empty() && key.back() == '_') key.pop_back();
    if (column.kind == Kind::time_ps) key += "_ns";
    if (column.kind == Kind::bytes && !contains(key, "bytes")) key += "_bytes";
    keys.push_back(std::move(key));
  }
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); ++i) {
      if (table.columns[i].kind == Kind::time_ps) object[keys[i]] = json_ns(std::get<int64_t>(row[i]));
      else std::visit([&](const auto& value) { object[keys[i]] = value; }, row[i]);
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

Json json_ns(Picoseconds time) {
  if (time % kPsPerNs == 0) return time / kPsPerNs;
  return static_cast<double>(time) / static_cast<double>(kPsPerNs);
}

}  // namespace chakra::result
