// The points of a sweep: all combinations, or a random sample.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/base/progress.h"
#include "chakra/sweep/space.h"

namespace chakra::sweep {

// `sweep.large` (1): a sweep of more than 100,000 points, or 10 million candidates without a sample
// `sweep.none` (1): no point satisfies the constraints
// `sweep.sample.rare` (1): too few random candidates satisfy the constraints
// `sweep.sample.all` (note): the sample has all points
// `sweep.constraint.no_effect` (note): every candidate satisfies the constraint

namespace {

constexpr uint64_t kBetweenQuestions = 4096;  ///< candidates

/// The values of all parameters for the constraints, by dimension and choice.
class Candidates {
 public:
  explicit Candidates(const Plan& plan)
      : plan_(plan), rejected_(plan.constraints.size()), values_(plan.parameters.size(), nullptr) {
    for (const Dimension& dimension : plan.dimensions) {
      auto& of_choices = of_.emplace_back();
      for (const std::vector<Setting>& choice : dimension.choices) {
        auto& of_parameters = of_choices.emplace_back();
        for (const Setting& setting : choice)
          of_parameters.push_back(setting ? value_of(sweep::text_of(setting)) : Value());
      }
    }
  }

  Result<bool> holds(uint64_t point) {
    if (plan_.constraints.empty()) return true;
    for (size_t d = of_.size(); d-- > 0; point /= of_[d].size()) {
      const std::vector<Value>& chosen = of_[d][point % of_[d].size()];
      for (size_t i = 0; i < chosen.size(); ++i) values_[plan_.dimensions[d].parameters[i]] = &chosen[i];
    }
    for (size_t c = 0; c < plan_.constraints.size(); ++c) {
      const Result<bool> is = plan_.constraints[c].holds(values_);
      if (!is) return where(is.error());
      if (*is) continue;
      ++rejected_[c];
      return false;
    }
    return true;
  }

  Findings without_effect() const {
    Findings findings;
    for (size_t c = 0; c < rejected_.size(); ++c)
      if (rejected_[c] == 0)
        findings.push_back({"sweep.constraint.no_effect", Severity::note, -1, -1,
                            fmt::format("constraint {} has no effect: all points satisfy it or fail an earlier one",
                                        quote(plan_.constraints[c].text(), 100))});
    return findings;
  }

 private:
  const Plan& plan_;
  std::vector<std::vector<std::vector<Value>>> of_;
  std::vector<uint64_t> rejected_;  ///< by constraint
  std::vector<const Value*> values_;

  /// Add the values of the point to an error.
  Failure where(Error error) const {
    std::string values;
    for (size_t p = 0; p < values_.size(); ++p) {
      const Value& value = *values_[p];
      const auto* const number = std::get_if<double>(&value);
      const auto* const truth = std::get_if<bool>(&value);
      const auto* const text = std::get_if<std::string>(&value);
      values += fmt::format("{}{} = {}", p > 0 ? ", " : "", plan_.parameters[p].name,
                            number  ? fmt::format("{}", *number)
                            : truth ? fmt::format("{}", *truth)
                            : text  ? quote(*text)
                                    : "null");
    }
    error.text += fmt::format(" (with {})", escape(values.substr(0, 300)));
    return Failure(std::move(error));
  }
};

Failure large(const Plan& plan, std::string_view what) {
  return fail(Code::bad_input, "sweep.large",
              fmt::format("{}; reduce the values, or take a random sample with 'sample: N'", what), {plan.file});
}

Result<std::vector<uint64_t>> enumerate(const Plan& plan, uint64_t size, Candidates& candidates) {
  std::vector<uint64_t> points;
  Prng random(static_cast<uint64_t>(plan.seed));
  uint64_t valid = 0;
  for (uint64_t point = 0; point < size; ++point) {
    if (point % kBetweenQuestions == 0) CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(const bool holds, candidates.holds(point));
    if (!holds) continue;
    ++valid;
    if (!plan.sample && valid > kMostPoints)
      return large(plan, fmt::format("the sweep has more than {} points", show_count(kMostPoints)));
    if (!plan.sample || points.size() < static_cast<uint64_t>(*plan.sample)) {
      points.push_back(point);
    } else if (const uint64_t place = random.below(valid); place < points.size()) {
      points[place] = point;  // each valid point stays with the same probability (reservoir)
    }
  }
  std::sort(points.begin(), points.end());
  return points;
}

/// Draw candidates from a space that is too large to list.
Result<std::vector<uint64_t>> draw(const Plan& plan, uint64_t size, Candidates& candidates) {
  const auto wanted = static_cast<size_t>(*plan.sample);
  std::set<uint64_t> points;
  Prng random(static_cast<uint64_t>(plan.seed));
  for (uint64_t drawn = 0; points.size() < wanted; ++drawn) {
    if (drawn % kBetweenQuestions == 0) CHAKRA_TRY(keep_going());
    if (drawn == kMostCandidates)
      return fail(Code::bad_input, "sweep.sample.rare",
                  fmt::format("only {} of {} random candidates satisfy the constraints; the sample needs {}",
                              points.size(), show_count(kMostCandidates), wanted),
                  {plan.file});
    const uint64_t point = random.below(size);
    CHAKRA_ASSIGN(const bool holds, candidates.holds(point));
    if (holds) points.insert(point);
  }
  return std::vector<uint64_t>(points.begin(), points.end());
}

}  // namespace

std::vector<size_t> choices_of(const Plan& plan, uint64_t point) {
  std::vector<size_t> choices(plan.dimensions.size());
  for (size_t d = choices.size(); d-- > 0; point /= plan.dimensions[d].choices.size())
    choices[d] = point % plan.dimensions[d].choices.size();
  CHAKRA_ASSERT(point == 0);
  return choices;
}

Result<std::vector<uint64_t>> select_points(const Plan& plan, Findings& findings) {
  const std::optional<uint64_t> size = plan.size();
  if (!size) return large(plan, "the sweep has more than 2^63 combinations");
  const bool listed = *size <= kMostCandidates;
  if (!listed && !plan.sample)
    return large(plan, fmt::format("the sweep has {} combinations; {} are allowed", show_count(*size),
                                   show_count(kMostCandidates)));
  Candidates candidates(plan);
  CHAKRA_ASSIGN(std::vector<uint64_t> points,
                listed ? enumerate(plan, *size, candidates) : draw(plan, *size, candidates));
  if (points.empty())
    return fail(Code::bad_input, "sweep.none",
                fmt::format("none of {} candidates satisfies the constraints", show_count(*size)), {plan.file});
  if (plan.sample && std::ssize(points) < *plan.sample)
    findings.push_back({"sweep.sample.all", Severity::note, -1, -1,
                        fmt::format("the sweep has only {} points, so the sample has all", points.size())});
  for (Finding& finding : candidates.without_effect()) findings.push_back(std::move(finding));
  return points;
}

}  // namespace chakra::sweep
