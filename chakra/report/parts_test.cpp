#include "chakra/report/parts.h"

#include <gtest/gtest.h>

namespace chakra::report {
namespace {

using Kind = sim::PathPiece::Kind;

sim::PathPiece piece(Kind kind, Picoseconds start, Picoseconds end, trace::CommType type = {}) {
  sim::PathPiece is;
  is.kind = kind;
  is.start_ps = start;
  is.end_ps = end;
  is.type = type;
  return is;
}

TEST(PathParts, AddUpToTheStepByKindAndOperation) {
  sim::SimReport report;
  report.makespan_ps = 200;
  report.critical_path = {piece(Kind::compute, 0, 60), piece(Kind::collective, 60, 90, trace::CommType::all_reduce),
                          piece(Kind::compute, 90, 100), piece(Kind::collective, 100, 190, trace::CommType::all_gather),
                          piece(Kind::collective, 190, 200, trace::CommType::all_reduce)};
  const std::vector<PathPart> parts = path_parts(report);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].operation, "ALL_GATHER");
  EXPECT_EQ(parts[0].time_ps, 90);
  EXPECT_DOUBLE_EQ(parts[0].share, 0.45);
  EXPECT_EQ(parts[1].kind, "compute");
  EXPECT_EQ(parts[1].pieces, 2);
  EXPECT_EQ(parts[1].time_ps, 70);
  EXPECT_EQ(parts[2].time_ps, 40);
  EXPECT_TRUE(path_parts({}).empty());
}

TEST(PathChanges, HaveThePartsOfEitherSide) {
  const std::vector<PathPart> a{{"compute", "", 2, 70, 0.7}, {"host", "", 1, 30, 0.3}};
  const std::vector<PathPart> b{{"collective", "ALL_REDUCE", 1, 10, 0.1}, {"compute", "", 2, 90, 0.9}};
  const std::vector<PathChange> rows = path_changes(a, b);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].kind, "step");
  EXPECT_EQ(rows[0].a_ps, 100);
  EXPECT_EQ(rows[0].change_ps, 0);
  EXPECT_EQ(rows[1].kind, "host");
  EXPECT_EQ(rows[1].change_ps, -30);
  EXPECT_DOUBLE_EQ(rows[1].share, -0.3);
  EXPECT_EQ(rows[2].kind, "compute");
  EXPECT_EQ(rows[2].change_ps, 20);
  EXPECT_EQ(rows[3].operation, "ALL_REDUCE");
  EXPECT_EQ(rows[3].a_ps, 0);
}

sim::CollectiveReport collective(Picoseconds time, std::optional<double> error, bool outside = false) {
  sim::CollectiveReport is;
  is.total_ps = time;
  if (!error) return is;
  is.fitted.emplace();
  is.fitted->error_percent = *error;
  is.fitted->other_bytes = outside;
  return is;
}
const Reliability* row_of(const std::vector<Reliability>& rows, std::string_view what) {
  for (const Reliability& row : rows)
    if (row.what.find(what) != std::string::npos) return &row;
  return nullptr;
}
std::vector<Reliability> rows_of(const sim::SimReport& report) {
  answer::Builder to("sim");
  sim::add_report(report, {true, false, {}}, to);
  return reliability_of(std::move(to).finish({}), report);
}

TEST(Reliability, WeighsErrorsOfFitsByTime) {
  sim::SimReport report;
  report.collectives = {collective(300, 10), collective(100, 30), collective(50, 10, true),
                        collective(7, std::nullopt)};
  std::vector<Reliability> rows = rows_of(report);
  EXPECT_DOUBLE_EQ(row_of(rows, "from measurements")->error.value(), 0.15);
  EXPECT_EQ(row_of(rows, "from measurements")->time_ps, 400);
  EXPECT_EQ(row_of(rows, "outside")->time_ps, 50);
  EXPECT_FALSE(row_of(rows, "outside")->error);
  EXPECT_EQ(row_of(rows, "network model")->time_ps, 7);
  EXPECT_FALSE(row_of(rows, "network model")->error);
  report.collectives.push_back(collective(1, -1));  // a fit without a known error
  rows = rows_of(report);
  EXPECT_EQ(row_of(rows, "from measurements")->time_ps, 401);
  EXPECT_FALSE(row_of(rows, "from measurements")->error);
}

TEST(Reliability, OfTheStepIsNotKnownWithoutAMeasurement) {
  sim::SimReport report;
  report.makespan_ps = 1000;
  report.sharing.longer_ps = 50;
  const std::vector<Reliability> rows = rows_of(report);
  EXPECT_EQ(rows[0].what, "step");
  EXPECT_EQ(rows[0].time_ps, 1000);
  EXPECT_FALSE(rows[0].error);
  EXPECT_DOUBLE_EQ(row_of(rows, "contention")->error.value(), 0.05);
}

}  // namespace
}  // namespace chakra::report
