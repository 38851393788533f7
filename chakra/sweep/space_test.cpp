#include "chakra/sweep/space.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "chakra/base/testing/testing.h"

namespace chakra::sweep {
namespace {

using options::choice;
using options::one_of;
using options::whole_number;
using testing::tag_of;

/// Sections with the options that the tests need.
struct Asked {
  int64_t tp = 1, pp = 1, dp = 1, layers = 1;
  std::string device, network, other_device, output;
  std::vector<int64_t> contexts;
  bool fp8 = false;
  std::string job;

  std::vector<Section> sections() {
    options::Option list{"--contexts", &contexts, "Lengths", "N,...", whole_number(1, 1 << 20)};
    list.delimiter = ',';
    return {{"generate",
             {{"--tp", &tp, "Ranks", "N", whole_number(1, 64)},
              {"--pp", &pp, "Ranks", "N", whole_number(1, 64)},
              {"--dp", &dp, "Ranks", "N", whole_number(1, 1024)},
              {"--micro-batches", &layers, "Number", "N", whole_number(1, 64)},
              std::move(list),
              {"--fp8", &fp8, "8 bits"},
              {"--device", &device, "Device", "NAME"},
              {"-o,--output", &output, "Folder", "DIR"}},
             {"output"}},
            {"job", {{"path", &job, "Job", "PATH"}}, {}, true},
            {"simulate", {{"--network", &network, "Network", "FILE"}, {"--device", &other_device, "Device", "NAME"}}}};
  }
};

Result<Plan> plan_of(std::string_view text) {
  CHAKRA_ASSIGN(const Spec spec, parse_spec(text, "s.yml"));
  Asked asked;
  std::vector<Section> sections = asked.sections();
  constexpr std::array<std::string_view, 2> kTaken{"point", "makespan_ps"};
  return read_plan(spec, sections, kTaken);
}

std::string message_of(std::string_view text) {
  const Result<Plan> plan = plan_of(text);
  return plan ? "accepted" : plan.error().message();
}

/// The points as texts of their settings: "1 8,2 4".
std::string shown(const Plan& plan, const std::vector<uint64_t>& points) {
  std::string all;
  for (const uint64_t point : points) {
    const std::vector<size_t> choices = choices_of(plan, point);
    std::vector<std::string> values(plan.parameters.size());
    for (size_t d = 0; d < choices.size(); ++d)
      for (size_t i = 0; i < plan.dimensions[d].parameters.size(); ++i) {
        const Setting& setting = plan.dimensions[d].choices[choices[d]][i];
        values[plan.dimensions[d].parameters[i]] = setting ? text_of(setting) : "-";
      }
    all += all.empty() ? "" : ",";
    for (size_t i = 0; i < values.size(); ++i) all += (i > 0 ? " " : "") + values[i];
  }
  return all;
}
std::string points_of(std::string_view text, Findings* findings = nullptr) {
  const Result<Plan> plan = plan_of(text);
  if (!plan) return plan.error().message();
  Findings ignored;
  const auto points = select_points(*plan, findings ? *findings : ignored);
  return points ? shown(*plan, *points) : points.error().message();
}

// ---- expressions -----------------------------------------------------------------------------------------------

/// The result with a = 6, b = 4, c = 0.5, name = 'H100', none = null, yes = true.
std::string result_of(std::string_view text) {
  const std::array<std::string_view, 6> names{"a", "b", "c", "name", "none", "yes"};
  const std::array<Value, 6> values{6.0, 4.0, 0.5, std::string("H100"), Value(), true};
  std::vector<const Value*> of;
  for (const Value& value : values) of.push_back(&value);
  const auto made = Expression::parse(text,
                                      [&](std::string_view name) -> Result<size_t> {
                                        for (size_t i = 0; i < names.size(); ++i)
                                          if (names[i] == name) return i;
                                        return fail(Code::bad_input, "x", "unknown name");
                                      },
                                      {"s.yml", -1, 3});
  if (!made) return made.error().tag + ": " + made.error().text;
  const auto result = made->evaluate(of);
  if (!result) return result.error().tag + ": " + result.error().text;
  if (const auto* number = std::get_if<double>(&*result)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&*result)) return *truth ? "true" : "false";
  if (const auto* word = std::get_if<std::string>(&*result)) return *word;
  return "null";
}

TEST(Expression, FollowsTheRulesOfPython) {
  for (const auto& [text, result] :
       std::initializer_list<std::pair<const char*, const char*>>{{"1 + 2 * 3", "7"},
                                                                  {"(1 + 2) * 3", "9"},
                                                                  {"10 - 3 - 2", "5"},
                                                                  {"64 / a / b", "2.6666666666666665"},
                                                                  {"7 // 2", "3"},
                                                                  {"-7 // 2", "-4"},
                                                                  {"7 % -4", "-1"},
                                                                  {"-7 % 4", "1"},
                                                                  {"1 // 0.1", "9"},
                                                                  {"--a", "6"},
                                                                  {"-a * 2", "-12"},
                                                                  {"min(a, b, 5)", "4"},
                                                                  {"max(c)", "0.5"},
                                                                  {"1 < b <= 4", "true"},
                                                                  {"1 < b < 4", "false"},
                                                                  {"a == 6 and not b == 5", "true"},
                                                                  {"not a == 6 or b == 4", "true"},
                                                                  {"false and 1 / 0 == 1", "false"},
                                                                  {"yes or 1 / 0 == 1", "true"},
                                                                  {"name == 'H100'", "true"},
                                                                  {"name != \"A100\"", "true"},
                                                                  {"none == null", "true"},
                                                                  {"none == 4 or name == null", "false"},
                                                                  {"a % 4 == 2", "true"},
                                                                  {"2e3", "2000"}})
    EXPECT_EQ(result_of(text), result) << text;
}

TEST(Expression, RejectsTextsWithTheColumn) {
  for (const auto& [text, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "column 1: a value is missing"},
           {"a ** 2", "column 4: expected a number, a text or a name"},
           {"a = 2", "column 3: unexpected text"},
           {"(a == 2", "column 8: ')' is missing"},
           {"a == d", "column 6: unknown name"},
           {"min 3", "column 5: '(' is missing"},
           {"name == 'x", "column 9: the text has no end"},
           {"1.2.3 < a", "column 1: not a decimal number"},
           {"0x10 < a", "column 1: not a decimal number"},
           {"nan < a", "column 1: unknown name"},
           {"9007199254740993 > a", "column 1: a number of 2^53 or more"},
           {"a == 1 b", "column 8: unexpected text"}}) {
    const std::string result = result_of(text);
    EXPECT_TRUE(result.starts_with("sweep.constraint.syntax: ") && result.find(part) != std::string::npos)
        << text << " gave " << result;
  }
  EXPECT_TRUE(result_of(std::string(99, '(') + "1" + std::string(99, ')')) == "1");
  for (const std::string& deep : {std::string(101, '(') + "1" + std::string(101, ')'), std::string(101, '-') + "1"})
    EXPECT_NE(result_of(deep).find("nested too deeply"), std::string::npos);
  EXPECT_NE(result_of("a" + std::string(2000, ' ')).find("2000 are allowed"), std::string::npos);
}

TEST(Expression, HasNoWrongNumber) {
  for (const auto& [text, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a / 0 == 1", "column 3: division by zero"},
           {"a // (b - 4)", "column 3: division by zero"},
           {"a % 0", "column 3: division by zero"},
           {"9007199254740991 + 1", "column 18: the number is too large"},
           {"1e15 * 1e15", "the number is too large"},
           {"a == name", "column 3: a number is compared with a text"},
           {"yes == 1", "true or false is compared with a number"},
           {"a < name", "needs numbers, not a text"},
           {"none + 1", "needs numbers, not null"},
           {"a and yes", "needs a condition, not a number"},
           {"yes and a", "needs a condition, not a number"},
           {"not a", "needs a condition, not a number"},
           {"max(yes)", "needs numbers, not true or false"}}) {
    const std::string result = result_of(text);
    EXPECT_TRUE(result.starts_with("sweep.constraint.value: ") && result.find(part) != std::string::npos)
        << text << " gave " << result;
  }
}

// ---- the file --------------------------------------------------------------------------------------------------

TEST(Plan, HasAllCombinationsInTheOrderOfTheFile) {
  EXPECT_EQ(points_of("generate: {tp: [1, 2], pp: 3, dp: [4, 5]}"), "1 3 4,1 3 5,2 3 4,2 3 5");
  EXPECT_EQ(points_of("generate: {contexts: [[1, 2], 3, ~], fp8: [true, false]}"),
            "1,2 true,1,2 false,3 true,3 false,- true,- false");
  EXPECT_EQ(points_of("job: [a, b]\nsimulate: {network: n.yml}"), "a n.yml,b n.yml");
  EXPECT_EQ(points_of("generate: {tp: [1, 2]}\npoints: [{pp: 1, dp: 8}, {pp: 8, dp: ~}]"), "1 1 8,1 8 -,2 1 8,2 8 -");
}

TEST(Plan, NamesParameters) {
  const auto plan = plan_of("generate: {device: [A, B], micro-batches: 2}\nsimulate: {device: C}\njob: x");
  ASSERT_TRUE(plan) << plan.error().message();
  std::string names;
  for (const Parameter& parameter : plan->parameters) names += parameter.name + " ";
  EXPECT_EQ(names, "generate.device micro_batches simulate.device job ");
  EXPECT_EQ(points_of("generate: {device: [A, B], micro-batches: [1, 2]}\nsimulate: {device: C}\n"
                      "constraints: generate.device == 'B' and generate.micro_batches == 2 and simulate.device == 'C'"),
            "B 2 C");
}

TEST(Plan, RejectsFilesWithTheLine) {
  for (const auto& [text, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"[1, 2]", "s.yml:1: the file of a sweep is a map"},
           {"a: 1", "unknown key 'a'; known: generate"},
           {"generate: {tp: 1}\nobjektive: x", "s.yml:2: unknown key 'objektive'; did you mean objective?"},
           {"generate:\n  tpp: 1", "s.yml:2: generate has no option 'tpp'; did you mean tp?"},
           {"generate:\n  tp: [1,\n    65]", "s.yml:3: --tp: '65' is not a decimal whole number from 1 to 64"},
           {"generate: {tp: nan}", "'nan' is not a decimal whole number"},
           {"generate: {tp: []}", "tp: the list is empty"},
           {"generate: {tp: [1, 2, 1]}", "tp: the value '1' is given twice"},
           {"generate: {tp: [[1, 2]]}", "tp: expected a value"},
           {"generate: {contexts: [[1, [2]]]}", "expected a text"},
           {"generate: {tp: {min: 1}}", "tp: expected a value"},
           {"generate: {output: x}", "a sweep has no option 'output' of generate"},
           {"generate: [tp]", "generate: expected a map of options"},
           {"generate: {micro-batches: 1, micro_batches: 2}", "option 'micro-batches' of generate is given twice"},
           {"generate: {}\npoints: 3", "points: expected a list of maps"},
           {"generate: {}\npoints: []", "points: expected a list of maps"},
           {"generate: {}\npoints: [{tp: 1}, {pp: 1}]", "points: this point lacks 'tp'"},
           {"generate: {}\npoints: [{tp: 1}, {tp: 2, pp: 1}]", "points: this point has options"},
           {"generate: {tp: 1}\npoints: [{tp: 1}]", "option 'tp' of generate is given twice"},
           {"generate: {}\nsimulate: {}\npoints: [{device: A}]", "'device' is ambiguous: write generate.device"},
           {"generate: {}\npoints: [{simulate.device: A}]", "no section of the file has an option 'simulate.device'"},
           {"generate: {tp: 1}\nconstraints: tq == 1", "gives no option 'tq'; did you mean tp?"},
           {"generate: {tp: 1}\nconstraints: {a: b}", "s.yml:2: expected a text or a list of texts"},
           {"generate: {tp: 1}\nsample: 0", "'sample' is 0, below 1"},
           {"generate: {tp: 1}\nsample: 1000000", "above 100000"},
           {"generate: {tp: 1}\nseed: 1", "seed is for a random sample"},
           {"generate: {tp: 1}\nobjective: a\nobjectives: [b]", "give either objective or objectives"},
           {"generate: {tp: 1}\nrequire_fit: perhaps", "expected true or false"}})
    EXPECT_NE(message_of(text).find(part), std::string::npos) << text << " gave " << message_of(text);
}

// ---- points ----------------------------------------------------------------------------------------------------

TEST(Points, SatisfyAllConstraints) {
  Findings findings;
  EXPECT_EQ(points_of("generate: {tp: [1, 2, 4], pp: [1, 2, 4], dp: [1, 2, 4, 8]}\n"
                      "constraints: [tp * pp <= 4, dp == 8 / (tp * pp), tp < 64]",
                      &findings),
            "1 1 8,1 2 4,1 4 2,2 1 4,2 2 2,4 1 2");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tag, "sweep.constraint.no_effect");
  EXPECT_NE(findings[0].text.find("tp < 64"), std::string::npos);
  const std::string error = points_of("generate: {tp: [2, 1]}\nconstraints: 4 / (tp - 1) == 4");
  EXPECT_NE(error.find("division by zero (with tp = 1)"), std::string::npos) << error;
  EXPECT_NE(points_of("generate: {tp: 2}\nconstraints: tp + 1").find("the result is a number"), std::string::npos);
  EXPECT_NE(points_of("generate: {tp: 2}\nconstraints: tp > 2").find("[sweep.none]"), std::string::npos);
}

std::string large_plan(size_t dimension, std::string_view more) {
  std::string text = "generate: {";
  for (const char* key : {"tp", "pp", "micro-batches"}) {
    text += fmt::format("{}{}: [", text.back() == '{' ? "" : ", ", key);
    for (size_t i = 1; i <= std::min<size_t>(dimension, 64); ++i) text += fmt::format("{}{}", i > 1 ? ", " : "", i);
    text += "]";
  }
  text += ", dp: [";
  for (size_t i = 1; i <= dimension; ++i) text += fmt::format("{}{}", i > 1 ? ", " : "", i);
  return text + "]}\n" + std::string(more);
}

TEST(Points, AreBounded) {
  EXPECT_NE(points_of(large_plan(64, "")).find("16,777,216 combinations; 10,000,000 are allowed"), std::string::npos);
  EXPECT_NE(points_of(large_plan(50, "")).find("more than 100,000 points"), std::string::npos);
  std::string text = "generate: {}\npoints:\n";
  for (int i = 0; i < 70; ++i) text += fmt::format("- {{tp: {}}}\n", i % 60 + 1);
  EXPECT_EQ(tag_of(plan_of(text)), "");  // equal choices of a list are points, too
  Plan plan;
  for (int i = 0; i < 64; ++i) plan.dimensions.push_back({{}, {{}, {}}});
  EXPECT_EQ(plan.size(), std::nullopt);
  Findings findings;
  EXPECT_EQ(tag_of(select_points(plan, findings)), "sweep.large");
}

TEST(Plan, HasALimitOfConstraints) {
  std::string text = "generate: {tp: 1}\nconstraints: [tp == 1";
  for (size_t i = 1; i < kMostConstraints; ++i) text += ", tp == 1";
  EXPECT_EQ(message_of(text + "]"), "accepted");
  EXPECT_NE(message_of(text + ", tp == 1]").find("1001 constraints; 1000 are allowed"), std::string::npos);
}

TEST(Points, AreSampledWithoutRepetition) {
  for (const size_t size : {20UL, 64UL}) {  // listed, drawn
    const auto plan = plan_of(large_plan(size, "constraints: tp <= pp\nsample: 500\nseed: 7"));
    ASSERT_TRUE(plan) << plan.error().message();
    Findings findings;
    const auto points = select_points(*plan, findings), again = select_points(*plan, findings);
    ASSERT_TRUE(points && again);
    EXPECT_EQ(*points, *again);
    EXPECT_EQ(std::set<uint64_t>(points->begin(), points->end()).size(), 500U);
    EXPECT_TRUE(std::is_sorted(points->begin(), points->end()));
    size_t small = 0;
    for (const uint64_t point : *points) {
      const std::vector<size_t> choices = choices_of(*plan, point);
      EXPECT_LE(choices[0], choices[1]);
      small += choices[3] < size / 2;
    }
    EXPECT_NEAR(static_cast<double>(small), 250, 60);  // 5.4 standard deviations
    const auto other = plan_of(large_plan(size, "constraints: tp <= pp\nsample: 500\nseed: 8"));
    EXPECT_NE(*points, *select_points(*other, findings));
  }
  Findings findings;
  EXPECT_EQ(points_of("generate: {tp: [1, 2]}\nsample: 9", &findings), "1,2");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tag, "sweep.sample.all");
  EXPECT_NE(points_of(large_plan(64, "constraints: [tp == 1, pp == 1, micro_batches == 1]\nsample: 1000"))
                .find("[sweep.sample.rare]"),
            std::string::npos);
}

TEST(Points, OfASampleAreEquallyLikely) {
  std::array<int, 10> count{};
  for (int seed = 0; seed < 2000; ++seed) {
    const auto plan =
        plan_of(fmt::format("generate: {{tp: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}\nsample: 3\nseed: {}", seed));
    Findings findings;
    const auto points = select_points(*plan, findings);
    ASSERT_TRUE(points);
    for (const uint64_t point : *points) ++count[point];
  }
  for (const int times : count) EXPECT_NEAR(times, 600, 103);  // 5 standard deviations
}

// ---- results ---------------------------------------------------------------------------------------------------

TEST(Front, IsThatOfEveryPairOfPoints) {
  Prng random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const auto objectives = static_cast<size_t>(random.between(1, 4));
    std::vector<std::vector<double>> points(static_cast<size_t>(random.between(0, 40)));
    for (auto& point : points)
      for (size_t i = 0; i < objectives; ++i) point.push_back(static_cast<double>(random.below(8)));
    const std::vector<bool> front = pareto_front(points);
    for (size_t p = 0; p < points.size(); ++p) {
      bool dominated = false;
      for (const auto& other : points) {
        bool least = true;
        for (size_t i = 0; i < objectives; ++i) least &= other[i] <= points[p][i];
        dominated |= least && other != points[p];
      }
      EXPECT_EQ(front[p], !dominated);
    }
  }
}

TEST(Effects, AreMeansBestAndSpreads) {
  const std::vector<std::optional<double>> results{1, 3, std::nullopt, 10, 14, std::nullopt};
  const std::vector<size_t> choice{0, 0, 0, 1, 1, 2};
  const Effects effects = effects_of(results, choice, 3, true, false);
  EXPECT_EQ(effects.choices[0].points, 3);
  EXPECT_EQ(effects.choices[0].failed, 1);
  EXPECT_EQ(effects.choices[0].mean, 2);
  EXPECT_EQ(effects.choices[0].best, 1);
  EXPECT_EQ(effects.choices[0].spread, 1);
  EXPECT_EQ(effects.choices[1].mean, 12);
  EXPECT_EQ(effects.choices[1].spread, 2);
  EXPECT_EQ(effects.choices[2].mean, std::nullopt);
  EXPECT_EQ(effects.choices[2].failed, 1);
  // 4 x 25 between the choices, 2 + 8 within with 2 degrees of freedom
  EXPECT_DOUBLE_EQ(*effects.importance, (100.0 - 10.0 / 2) / 110);
  EXPECT_EQ(effects_of(results, choice, 3, false, false).choices[1].best, 14);
  const std::vector<std::optional<double>> equal{5, 5};
  EXPECT_EQ(effects_of(equal, std::vector<size_t>{0, 0}, 1, true, false).importance, std::nullopt);
  const std::vector<std::optional<double>> single{5, 6};
  EXPECT_EQ(effects_of(single, std::vector<size_t>{0, 1}, 2, true, false).importance, std::nullopt);
  // A complete grid of two options that add up: each explains half of the variance.
  const std::vector<std::optional<double>> sums{0, 1, 1, 2};
  for (const std::vector<size_t>& of : {std::vector<size_t>{0, 0, 1, 1}, std::vector<size_t>{0, 1, 0, 1}}) {
    EXPECT_DOUBLE_EQ(*effects_of(sums, of, 2, true, true).importance, 0.5);
    EXPECT_DOUBLE_EQ(*effects_of(sums, of, 2, true, false).importance, 0.25);
  }
  const std::vector<std::optional<double>> noise{1, 2, 3, 1, 2, 3};
  EXPECT_EQ(effects_of(noise, std::vector<size_t>{0, 0, 0, 1, 1, 1}, 2, true, false).importance, 0);
}

}  // namespace
}  // namespace chakra::sweep
