// The rows of answers about the difference between two jobs.
#include <algorithm>
#include <string>
#include <variant>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/rows.h"

namespace chakra::analyze {
namespace {

using answer::column;
using answer::time_column;
using answer::Unit;

/// b / a; words where one of them has none.
std::variant<std::string, double> ratio(int64_t a, int64_t b) {
  if (a == 0) return std::string(b == 0 ? "" : "new");
  if (b == 0) return std::string("gone");
  return static_cast<double>(b) / static_cast<double>(a);
}
constexpr auto kDiffers = [](const DiffRow& row) {
  return row.added || row.removed || row.changed || row.time_a != row.time_b || row.bytes_a != row.bytes_b;
};

constexpr std::array kDiff{
    time_column<&Diff::span_a>("span_ps.a", "of the longest rank of a, from its first start to its last end"),
    time_column<&Diff::span_b>("span_ps.b", "of the longest rank of b"),
    time_column<&Diff::time_a>("time_ps.a", "own times of all nodes of a"),
    time_column<&Diff::time_b>("time_ps.b", "own times of all nodes of b"),
    column<&Diff::nodes_a>("nodes.a", Unit::count, "nodes of a"),
    column<&Diff::nodes_b>("nodes.b", Unit::count, "nodes of b"),
    column<&Diff::added>("nodes.added", Unit::count, "nodes that only b has"),
    column<&Diff::removed>("nodes.removed", Unit::count, "nodes that only a has"),
    column<&Diff::changed>("nodes.changed", Unit::count, "nodes with other shapes, types or dependencies"),
    column<&Diff::edges_a>("edges.a", Unit::count, "dependencies of a"),
    column<&Diff::edges_b>("edges.b", Unit::count, "dependencies of b"),
    column<&Diff::edges_added>("edges.added", Unit::count, "dependencies that only b has"),
    column<&Diff::edges_removed>("edges.removed", Unit::count, "dependencies that only a has"),
    column<Diff>("differing_rows", Unit::count, "of `rows`: those that differ",
                 [](const Diff& d) { return std::count_if(d.rows.begin(), d.rows.end(), kDiffers); })};
constexpr std::array kDiffRows{
    column<DiffRow>("kind", Unit::none, "operator, kernel or communication",
                    [](const DiffRow& row) { return kDiffKinds[static_cast<size_t>(row.kind)]; }),
    column<&DiffRow::name>("name", Unit::none, "its name; of communication type, group and size"),
    column<&DiffRow::count_a>("count_a", Unit::count, "nodes of a"),
    column<&DiffRow::count_b>("count_b", Unit::count, "nodes of b"),
    column<&DiffRow::changed>("changed", Unit::count, "nodes with other shapes, types or dependencies"),
    time_column<&DiffRow::time_a>("time_a_ps", "own time of those of a"),
    time_column<&DiffRow::time_b>("time_b_ps", "own time of those of b"),
    column<DiffRow>("ratio", Unit::none, "time of b by time of a; or new, gone, or empty where both are 0",
                    [](const DiffRow& row) { return ratio(row.time_a, row.time_b); }),
    time_column<DiffRow>("mean_a_ps", "own time of one of a",
                         [](const DiffRow& row) { return row.count_a ? row.time_a / row.count_a : 0; }),
    time_column<DiffRow>("mean_b_ps", "own time of one of b",
                         [](const DiffRow& row) { return row.count_b ? row.time_b / row.count_b : 0; }),
    column<&DiffRow::bytes_a>("bytes_a", Unit::bytes, "traffic of a"),
    column<&DiffRow::bytes_b>("bytes_b", Unit::bytes, "traffic of b"),
    column<DiffRow>("differs", Unit::none, "nodes, times or bytes differ", kDiffers)};

}  // namespace

void add_totals(const Diff& diff, answer::Builder& to) { to.values("", &diff, kDiff); }

void add_rows(const Diff& diff, answer::Builder& to) {
  to.table("rows", "operators, kernels and communication, the largest difference of time first", diff.rows, kDiffRows);
}

}  // namespace chakra::analyze
