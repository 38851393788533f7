// Tables -> JSON.
#include "chakra/result/result.h"

namespace chakra::result {

Json to_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json& object = rows.emplace_back(Json::object());
    for (size_t i = 0; i < row.size(); ++i)
      std::visit([&](const auto& value) { object[table.columns[i].key] = value; }, row[i]);
  }
  return rows;
}

}  // namespace chakra::result
