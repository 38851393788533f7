// Tables of `chakra list`, and what their rows say of other tables.
#include "chakra/list/list.h"

#include <gtest/gtest.h>

#include "chakra/answer/answer.h"
#include "chakra/sweep/sweep.h"

namespace chakra::list {
namespace {

TEST(Kinds, AreTablesOfTextsByName) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const result::Table table = kKinds[i].table();
    EXPECT_TRUE(i == 0 || kKinds[i - 1].name < kKinds[i].name);
    ASSERT_FALSE(table.rows.empty()) << kKinds[i].name;
    for (const auto& row : table.rows) {
      ASSERT_EQ(row.size(), table.columns.size());
      for (const result::Table::Cell& cell : row) EXPECT_TRUE(std::holds_alternative<std::string>(cell));
    }
  }
}

/// Clauses, as --help has them: without a capital letter that begins them and without a full stop.
TEST(Kinds, ResultsSayTheirMeaning) {
  const result::Table table = find_row(kKinds, "results")->table();
  const auto text = [&](size_t row, size_t column) { return std::get<std::string>(table.rows[row][column]); };
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string key = text(row, 0) + " " + text(row, 1), meaning = text(row, 5);
    ASSERT_FALSE(meaning.empty()) << key;
    EXPECT_FALSE(meaning.ends_with('.')) << key;
    EXPECT_FALSE(meaning[0] >= 'A' && meaning[0] <= 'Z' && meaning[1] >= 'a' && meaning[1] <= 'z') << key;
    if (key.ends_with("_ns") && row + 1 < table.rows.size() && text(row + 1, 2) == "ps") {
      EXPECT_EQ(text(row, 0) + " " + answer::key_of_ns(text(row + 1, 1)), key);
    }
  }
}

TEST(Metrics, AreValuesOfAnswers) {
  for (const sweep::MetricRow& row : sweep::kMetrics)
    for (const sweep::MetricRow::Source& source : row.sources) {
      if (source.verb.empty()) continue;
      bool found = false;
      for (const answer::Answer& schema : schemas_of(source.verb)) {
        for (const answer::SchemaRow& value : answer::schema_of(schema))
          if (value.key == source.key) {
            found = true;
            EXPECT_EQ(value.info.unit, row.unit) << row.name;
            const bool is_count = value.info.type == answer::Type::natural && row.type == answer::Type::whole;
            EXPECT_TRUE(is_count || value.info.type == row.type) << row.name;
          }
      }
      EXPECT_TRUE(found) << row.name << " " << source.key;
    }
}

}  // namespace
}  // namespace chakra::list
