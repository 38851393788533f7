// The change of a step and of the diagnosis.
#include "chakra/analyze/analyze.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "chakra/answer/rows.h"
#include "chakra/base/quantile.h"

namespace chakra::analyze {
namespace {

using answer::column;
using answer::time_column;
using answer::Unit;

constexpr double kLeastChange = 0.01;  ///< of the share of a step

double spread_of(const std::vector<Picoseconds>& lengths, Picoseconds middle) {
  if (lengths.size() < 3 || middle <= 0) return 0;
  double sum = 0, squares = 0;
  for (const Picoseconds length : lengths) sum += static_cast<double>(length);
  const auto count = static_cast<double>(lengths.size());
  for (const Picoseconds length : lengths) squares += std::pow(static_cast<double>(length) - sum / count, 2);
  return std::sqrt(squares / (count - 1)) / static_cast<double>(middle);
}

const Diagnosis* find(const Diagnoses& in, const Diagnosis& d) {
  for (const Diagnosis& other : in.rows)
    if (other.kind == d.kind && other.place == d.place) return &other;
  return nullptr;
}

/// Markup of Markdown and HTML as text.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (std::string_view("\\`*_[]|#~!@").find(c) != std::string_view::npos) (out += '\\') += c;
    else if (c == '\n' || c == '\r') out += ' ';
    else out += c;
  }
  return out;
}

std::string percent_of(double change) { return fmt::format("{:+.2f} %", change * 100); }

constexpr std::array kStep{
    time_column<&StepChange::step_a>("a_ps", "median length of a step of a; the longest rank if no steps are recorded"),
    time_column<&StepChange::step_b>("b_ps", "median length of a step of b"),
    column<&StepChange::change>("change", Unit::share, "b / a - 1"),
    column<&StepChange::steps_a>("steps_a", Unit::count, "recorded steps of a"),
    column<&StepChange::steps_b>("steps_b", Unit::count, "recorded steps of b"),
    column<&StepChange::spread_a>("spread_a", Unit::share, "standard deviation of the steps of a by the median"),
    column<&StepChange::spread_b>("spread_b", Unit::share, "standard deviation of the steps of b by the median"),
    column<&StepChange::limit>("limit", Unit::share,
                               "accepted change: --fail-over, or twice the larger spread; null: any"),
    column<&StepChange::longer>("longer", Unit::none, "the change is above the limit")};
constexpr std::array kChanges{
    column<&StepChange::Row::change>("change", Unit::none, "new, gone, larger or smaller"),
    column<&StepChange::Row::kind>("kind", Unit::none, "kind of problem"),
    column<&StepChange::Row::place>("place", Unit::none, "rank, link or group"),
    time_column<&StepChange::Row::cost_a>("cost_a_ps", "time of a step that the problem costs in a"),
    time_column<&StepChange::Row::cost_b>("cost_b_ps", "time of a step that the problem costs in b"),
    column<&StepChange::Row::sentence>("sentence", Unit::none, "the problem in b, or in a if the problem is gone")};

}  // namespace

Result<DiagnosedJob> diagnose_job(const trace::TraceSet& set) {
  Findings known;  // diff() reports the findings about schedules
  CHAKRA_ASSIGN(const Job job, prepare(set, {}, known));
  CHAKRA_ASSIGN(const DiagnosisNumbers numbers, diagnosis_numbers(job, known));
  DiagnosedJob out{diagnose(numbers), 0, 0, 0};
  if (std::vector<Picoseconds> lengths = numbers.step_lengths; !lengths.empty())
    out.step = nth_of(lengths, lengths.size() / 2);
  out.steps = static_cast<int64_t>(numbers.step_lengths.size());
  out.spread = spread_of(numbers.step_lengths, out.step);
  if (out.step == 0) out.step = numbers.whole();
  return out;
}

StepChange step_change(const DiagnosedJob& a, const DiagnosedJob& b, std::optional<double> percent) {
  StepChange out{a.step, b.step, a.spread, b.spread, a.steps, b.steps, 0, {}, false, {}};
  if (a.step > 0) out.change = static_cast<double>(b.step) / static_cast<double>(a.step) - 1;
  if (percent) {
    out.limit = std::max(*percent / 100, 2 * std::max(a.spread, b.spread));
    out.longer = static_cast<double>(b.step - a.step) > *out.limit * static_cast<double>(a.step);
  }
  for (const Diagnosis& d : b.diagnoses.rows) {
    if (d.kind == "none") continue;
    const Diagnosis* const before = find(a.diagnoses, d);
    if (before && std::abs(d.share - before->share) < kLeastChange) continue;
    out.rows.push_back({!before                 ? "new"
                        : d.cost > before->cost ? "larger"
                                                : "smaller",
                        std::string(d.kind), d.place, before ? before->cost : 0, d.cost, d.sentence});
  }
  for (const Diagnosis& d : a.diagnoses.rows)
    if (d.kind != "none" && !find(b.diagnoses, d))
      out.rows.push_back({"gone", std::string(d.kind), d.place, d.cost, 0, d.sentence});
  std::stable_sort(out.rows.begin(), out.rows.end(), [](const StepChange::Row& x, const StepChange::Row& y) {
    return std::abs(x.cost_b - x.cost_a) > std::abs(y.cost_b - y.cost_a);
  });
  return out;
}

std::vector<std::string> markdown_of(const StepChange& c, const std::vector<std::string>& exceeding) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("**Step: {} -> {} ({})**", show_time(c.step_a), show_time(c.step_b),
                              c.step_a > 0 ? percent_of(c.change) : "new"));
  lines.push_back(fmt::format("- Recorded steps: {} and {}; spread {} and {}.", c.steps_a, c.steps_b,
                              show_percent(c.spread_a), show_percent(c.spread_b)));
  if (c.limit)
    lines.push_back(
        fmt::format("{} The limit is {}.",
                    c.longer ? "- **The step is longer than the limit allows.**" : "- The step is within the limit.",
                    percent_of(*c.limit)));
  if (c.rows.empty()) lines.emplace_back("- The diagnosis is unchanged.");
  for (const StepChange::Row& row : c.rows)
    lines.push_back(fmt::format("- **{}** ({} -> {} of a step): {}", row.change, show_time(row.cost_a),
                                show_time(row.cost_b), escaped(row.sentence)));
  for (const std::string& sentence : exceeding)
    lines.push_back(fmt::format("- above the threshold: {}", escaped(sentence)));
  return lines;
}

void add_steps(const std::optional<StepChange>& change, answer::Builder& to) {
  to.values("step.", change ? &*change : nullptr, kStep);
  to.table("diagnosis_changes", "changed diagnoses, the largest change first",
           change ? change->rows : std::vector<StepChange::Row>(), kChanges, change.has_value());
}

}  // namespace chakra::analyze
