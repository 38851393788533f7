// The space of a sweep: parameters with their choices, constraints, all combinations or a random sample, and
// the comparison of results (Pareto front, effects of parameters). Independent of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/options/options.h"

namespace chakra::sweep {

// ---- constraints -----------------------------------------------------------------------------------------------

/// monostate: the option is not given.
using Value = std::variant<std::monostate, bool, double, std::string>;

/// Return the value of an option from its text: true or false, a decimal number, or else the text.
Value value_of(const std::string& text);

/// A condition or a number over named values. The grammar, with rising priority: `or`; `and`; `not`; comparisons
/// (== != < <= > >=, also chained: 1 < tp <= 8); + -; * / // %; unary -; numbers, 'texts', true, false, null, names,
/// min(a, b, ...), max(a, b, ...), parentheses. As in Python, / is the exact quotient, // rounds down, and the result
/// of % has the sign of the divisor.
class Expression {
 public:
  static constexpr size_t kLongest = 2000, kDeepest = 100;  ///< bytes, and levels of nesting

  /// `find`: returns the number of a name. `place`: for errors, with the column in the text.
  /// Errors: sweep.constraint.syntax, and those of `find`.
  static Result<Expression> parse(std::string_view text, const std::function<Result<size_t>(std::string_view)>& find,
                                  const Place& place);
  /// Evaluate with the values of all names, by number. Errors: sweep.constraint.value (division by zero, a number that
  /// is not exact or not finite, operands of different types). Cost: O(text).
  Result<Value> evaluate(std::span<const Value* const> values) const;
  /// Evaluate a condition. Errors: also for a result other than true or false.
  Result<bool> holds(std::span<const Value* const> values) const;
  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  struct Node {
    uint8_t operation = 0;
    size_t column = 0;  ///< from 1
    Value value = {};
    size_t name = 0;
    std::vector<size_t> operands = {};  ///< nodes
  };
  Result<Value> evaluate_node(size_t node, std::span<const Value* const> values) const;
  Result<Value> compute(const Node& node, const Value& left, const Value& right) const;
  Failure wrong(const Node& node, std::string_view why) const;

  std::string text_;
  Place place_;
  std::vector<Node> nodes_;
  size_t root_ = 0;
};

// ---- the file --------------------------------------------------------------------------------------------------

/// The options that a section of the file may have.
struct Section {
  std::string_view name;                  ///< "simulate"
  options::Options rows = {};             ///< of a struct of the caller; values are set there for the check
  std::vector<std::string> refused = {};  ///< keys of rows that a sweep cannot have
  bool plain = false;                     ///< the section is its only row, and has values instead of options
};

struct Parameter {
  std::string section, key;  ///< "simulate", "packet-bytes"
  std::string name;          ///< in constraints and tables: "packet_bytes"; "simulate.device" if the key is ambiguous
  int64_t line = -1;
};
/// Texts, one except for lists; nullopt: the option is not given.
using Setting = std::optional<std::vector<std::string>>;
/// Return the setting for people: items of a list are separated by commas; "" if the option is not given.
std::string text_of(const Setting& setting);

struct Dimension {
  std::vector<size_t> parameters;             ///< of Plan::parameters
  std::vector<std::vector<Setting>> choices;  ///< for each choice: a setting of each parameter
};

struct Named {
  std::string text;
  Place place;
};

struct Plan {
  std::vector<std::string> sections;    ///< those of the file
  std::vector<Parameter> parameters;    ///< in the order of the file
  std::vector<Dimension> dimensions;    ///< each parameter is in one dimension
  std::vector<Expression> constraints;  ///< names are numbers of parameters
  std::optional<int64_t> sample;        ///< number of random points; nullopt: all points
  int64_t seed = 1;
  std::vector<Named> objectives;
  bool require_fit = true;  ///< jobs that do not fit into the memory of the device are not simulated
  std::string file;

  bool has(std::string_view section) const;
  /// Return the number of points without constraints; nullopt beyond 2^63.
  std::optional<uint64_t> size() const;
};

/// Read the file of a sweep (docs/reference/formats/sweep.md). Each value is checked by the row of its option.
/// `taken`: names of columns of results, which parameters must not have. Errors: sweep.file, sweep.option,
/// sweep.value, sweep.constraint.syntax; those of load_spec.
Result<Plan> read_plan(const Spec& spec, std::span<Section> sections, std::span<const std::string_view> taken);

// ---- points ----------------------------------------------------------------------------------------------------

inline constexpr size_t kMostConstraints = 1000;
inline constexpr uint64_t kMostPoints = 100'000, kMostCandidates = 10'000'000;

/// Return the choice of each dimension. Requires point < plan.size().
std::vector<size_t> choices_of(const Plan& plan, uint64_t point);
/// Return the points that satisfy all constraints, ascending; or a random sample of these points.
/// Findings: sweep.sample.all, sweep.constraint.no_effect. Errors: sweep.large, sweep.none, sweep.sample.rare,
/// sweep.constraint.value, job.interrupted. Cost: O(candidates x constraints), or O(sample x rejected candidates).
Result<std::vector<uint64_t>> select_points(const Plan& plan, Findings& findings);

// ---- results ---------------------------------------------------------------------------------------------------

/// Return which points no other point dominates: no other point is smaller in one objective and at most as large in all
/// others. `points`: the same number of finite objectives for each point. Cost: O(n log n) for up to two objectives,
/// else O(n x front).
std::vector<bool> pareto_front(std::span<const std::vector<double>> points);

/// The results of the points with one choice of a parameter.
struct Effect {
  int64_t points = 0, failed = 0;
  std::optional<double> mean, best, spread;  ///< spread: standard deviation; nullopt: all points failed
};
struct Effects {
  std::vector<Effect> choices;
  /// Share of the variance of the results that lies between the choices (eta squared). Of a part of the grid, less the
  /// share that chance gives (epsilon squared; T. Kelley, "An unbiased correlation ratio measure", 1935). nullopt
  /// without variance, and if no choice has several results.
  std::optional<double> importance;
};
/// `results`: of each point, nullopt if the point failed; `choice`: of each point, below `choices`; `complete`: each
/// combination of the choices of all parameters has one result.
Effects effects_of(std::span<const std::optional<double>> results, std::span<const size_t> choice, size_t choices,
                   bool smaller_is_better, bool complete);

}  // namespace chakra::sweep
