// Constraints: a recursive descent parser, and the evaluation of its nodes.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chakra/sweep/space.h"

namespace chakra::sweep {

// `sweep.constraint.syntax` (1): a constraint that does not follow the grammar
// `sweep.constraint.value` (1): a constraint without a result, such as a division by zero

namespace {

enum Operation : uint8_t {
  literal,
  name,
  either,
  both,
  negation,
  equal,
  unequal,
  less,
  at_most,
  more,
  at_least,
  plus,
  minus,
  times,
  quotient,
  floor_quotient,
  remainder,
  opposite,
  least,
  most
};

struct OperatorRow {
  std::string_view text;
  Operation operation;
};
constexpr std::array<OperatorRow, 6> kComparisons{
    {{"==", equal}, {"!=", unequal}, {"<=", at_most}, {">=", at_least}, {"<", less}, {">", more}}};
constexpr std::array<OperatorRow, 2> kSums{{{"+", plus}, {"-", minus}}};
constexpr std::array<OperatorRow, 4> kProducts{
    {{"//", floor_quotient}, {"*", times}, {"/", quotient}, {"%", remainder}}};
constexpr std::array<OperatorRow, 2> kFunctions{{{"min", least}, {"max", most}}};

constexpr double kInexact = 0x1p53;  ///< from here on, whole numbers are not exact

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view kind_of(const Value& value) {
  constexpr std::array<std::string_view, 4> kKinds{"null", "true or false", "a number", "a text"};
  return kKinds[value.index()];
}

}  // namespace

Value value_of(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  double number = 0;
  if (parse_decimal(text, number) && std::abs(number) < kInexact) return number;
  return text;
}

class ExpressionParser {
 public:
  ExpressionParser(Expression& made, const std::function<Result<size_t>(std::string_view)>& find)
      : made_(made), text_(made.text_), find_(find) {}

  Result<size_t> whole() {
    CHAKRA_ASSIGN(const size_t root, disjunction());
    skip();
    if (at_ < text_.size()) return wrong("unexpected text");
    return root;
  }

 private:
  Expression& made_;
  std::string_view text_;
  const std::function<Result<size_t>(std::string_view)>& find_;
  size_t at_ = 0, depth_ = 0;

  Failure wrong(std::string_view why) const {
    return fail(Code::bad_input, "sweep.constraint.syntax",
                fmt::format("constraint {}, column {}: {}", quote(text_, 100), at_ + 1, why), made_.place_);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    const size_t end = at_ + word.size();
    if (!text_.substr(at_).starts_with(word) || (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))))
      return false;
    at_ = end;
    return true;
  }
  size_t add(Operation operation, size_t column, std::vector<size_t> operands) {
    made_.nodes_.push_back({operation, column, {}, 0, std::move(operands)});
    return made_.nodes_.size() - 1;
  }
  size_t add(Value value, size_t column) {
    made_.nodes_.push_back({literal, column, std::move(value), 0, {}});
    return made_.nodes_.size() - 1;
  }

  Result<size_t> disjunction() {
    CHAKRA_ASSIGN(size_t left, conjunction());
    while (take_word("or")) {
      const size_t column = at_ - 1;
      CHAKRA_ASSIGN(const size_t right, conjunction());
      left = add(either, column, {left, right});
    }
    return left;
  }
  Result<size_t> conjunction() {
    CHAKRA_ASSIGN(size_t left, inversion());
    while (take_word("and")) {
      const size_t column = at_ - 2;
      CHAKRA_ASSIGN(const size_t right, inversion());
      left = add(both, column, {left, right});
    }
    return left;
  }
  Result<size_t> inversion() {
    if (!take_word("not")) return comparison();
    const size_t column = at_ - 2;
    if (++depth_ > Expression::kDeepest) return wrong("it is nested too deeply");
    CHAKRA_ASSIGN(const size_t of, inversion());
    --depth_;
    return add(negation, column, {of});
  }

  template <class Rows>
  const OperatorRow* operator_of(const Rows& rows) {
    skip();
    for (const OperatorRow& row : rows)
      if (take(row.text)) return &row;
    return nullptr;
  }
  /// a < b <= c is a < b and b <= c.
  Result<size_t> comparison() {
    CHAKRA_ASSIGN(size_t left, sum());
    std::optional<size_t> all;
    while (const OperatorRow* const row = operator_of(kComparisons)) {
      const size_t column = at_ - row->text.size() + 1;
      CHAKRA_ASSIGN(const size_t right, sum());
      const size_t one = add(row->operation, column, {left, right});
      all = all ? add(both, column, {*all, one}) : one;
      left = right;
    }
    return all.value_or(left);
  }
  Result<size_t> sum() {
    CHAKRA_ASSIGN(size_t left, product());
    while (const OperatorRow* const row = operator_of(kSums)) {
      const size_t column = at_;
      CHAKRA_ASSIGN(const size_t right, product());
      left = add(row->operation, column, {left, right});
    }
    return left;
  }
  Result<size_t> product() {
    CHAKRA_ASSIGN(size_t left, unary());
    while (const OperatorRow* const row = operator_of(kProducts)) {
      const size_t column = at_ - row->text.size() + 1;
      CHAKRA_ASSIGN(const size_t right, unary());
      left = add(row->operation, column, {left, right});
    }
    return left;
  }
  Result<size_t> unary() {
    if (!take("-")) return primary();
    const size_t column = at_;
    if (++depth_ > Expression::kDeepest) return wrong("it is nested too deeply");
    CHAKRA_ASSIGN(const size_t of, unary());
    --depth_;
    return add(opposite, column, {of});
  }

  Result<size_t> primary() {
    skip();
    const size_t column = at_ + 1;
    if (at_ == text_.size()) return wrong("a value is missing");
    const char c = text_[at_];
    if (take("(")) {
      if (++depth_ > Expression::kDeepest) return wrong("it is nested too deeply");
      CHAKRA_ASSIGN(const size_t inside, disjunction());
      --depth_;
      if (!take(")")) return wrong("')' is missing");
      return inside;
    }
    if (c == '\'' || c == '"') return text(c);
    if (is_digit(c) || c == '.') return number();
    if (is_letter(c)) return word(column);
    return wrong("expected a number, a text or a name");
  }
  Result<size_t> text(char end) {
    const size_t close = text_.find(end, at_ + 1);
    if (close == std::string_view::npos) return wrong("the text has no end");
    const size_t column = at_ + 1;
    std::string value(text_.substr(at_ + 1, close - at_ - 1));
    at_ = close + 1;
    return add(Value(std::move(value)), column);
  }
  Result<size_t> number() {
    size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || is_letter(text_[end]) || text_[end] == '.' ||
                                  ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e')))
      ++end;
    double value = 0;
    if (!parse_decimal(text_.substr(at_, end - at_), value)) return wrong("not a decimal number");
    if (value >= kInexact) return wrong("a number of 2^53 or more");
    const size_t column = at_ + 1;
    at_ = end;
    return add(Value(value), column);
  }
  Result<size_t> word(size_t column) {
    size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "true" || word == "false" || word == "null") {
      at_ = end;
      return add(word == "null" ? Value() : Value(word == "true"), column);
    }
    const auto function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const OperatorRow& row) { return row.text == word; });
    if (function != kFunctions.end()) {
      at_ = end;
      return call(function->operation, column);
    }
    const Result<size_t> found = find_(word);
    if (!found) return wrong(found.error().text);
    at_ = end;
    const size_t node = add(name, column, {});
    made_.nodes_[node].name = *found;
    return node;
  }
  Result<size_t> call(Operation operation, size_t column) {
    if (!take("(")) return wrong("'(' is missing");
    if (++depth_ > Expression::kDeepest) return wrong("it is nested too deeply");
    std::vector<size_t> operands;
    do {
      CHAKRA_ASSIGN(const size_t operand, disjunction());
      operands.push_back(operand);
    } while (take(","));
    --depth_;
    if (!take(")")) return wrong("',' or ')' is missing");
    return add(operation, column, std::move(operands));
  }
};

Result<Expression> Expression::parse(std::string_view text, const std::function<Result<size_t>(std::string_view)>& find,
                                     const Place& place) {
  Expression made;
  made.text_ = text;
  made.place_ = place;
  if (text.size() > kLongest)
    return fail(Code::bad_input, "sweep.constraint.syntax",
                fmt::format("a constraint of {} bytes; {} are allowed", text.size(), kLongest), place);
  CHAKRA_ASSIGN(made.root_, ExpressionParser(made, find).whole());
  return made;
}

Failure Expression::wrong(const Node& node, std::string_view why) const {
  return fail(Code::bad_input, "sweep.constraint.value",
              fmt::format("constraint {}, column {}: {}", quote(text_, 100), node.column, why), place_);
}

namespace {

/// The remainder with the sign of the divisor, as in Python.
double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// The result of a calculation; NaN stands for a division by zero.
double calculate(uint8_t operation, double a, double b) {
  if (b == 0 && operation >= quotient && operation <= remainder) return NAN;
  switch (operation) {
    case plus: return a + b;
    case minus: return a - b;
    case times: return a * b;
    case quotient: return a / b;
    case floor_quotient: return std::round((a - remainder_of(a, b)) / b);  // a quotient could be rounded up
    case remainder: return remainder_of(a, b);
    case least: return std::min(a, b);
    default: return std::max(a, b);
  }
}

bool is_whole(double value) { return value == std::floor(value); }

bool compare(uint8_t operation, double a, double b) {
  switch (operation) {
    case less: return a < b;
    case at_most: return a <= b;
    case more: return a > b;
    default: return a >= b;
  }
}

}  // namespace

Result<Value> Expression::compute(const Node& node, const Value& left, const Value& right) const {
  const bool some_null = left.index() == 0 || right.index() == 0;
  if (node.operation == equal || node.operation == unequal) {
    if (!some_null && left.index() != right.index())
      return wrong(node, fmt::format("{} is compared with {}", kind_of(left), kind_of(right)));
    return Value((left == right) == (node.operation == equal));
  }
  const double* const a = std::get_if<double>(&left);
  const double* const b = std::get_if<double>(&right);
  if (!a || !b) return wrong(node, fmt::format("needs numbers, not {}", kind_of(a ? right : left)));
  if (node.operation >= less && node.operation <= at_least) return Value(compare(node.operation, *a, *b));
  const double result = calculate(node.operation, *a, *b);
  if (std::isnan(result)) return wrong(node, "division by zero");
  if (!std::isfinite(result) || (is_whole(*a) && is_whole(*b) && std::abs(result) >= kInexact))
    return wrong(node, "the number is too large");
  return Value(result);
}

Result<Value> Expression::evaluate_node(size_t at, std::span<const Value* const> values) const {
  const Node& node = nodes_[at];
  if (node.operation == literal) return node.value;
  if (node.operation == name) return *values[node.name];
  CHAKRA_ASSIGN(Value left, evaluate_node(node.operands[0], values));
  if (node.operation == either || node.operation == both || node.operation == negation) {
    const bool* truth = std::get_if<bool>(&left);
    if (!truth) return wrong(node, fmt::format("needs a condition, not {}", kind_of(left)));
    if (node.operation == negation) return Value(!*truth);
    if (*truth == (node.operation == either)) return left;
    CHAKRA_ASSIGN(Value right, evaluate_node(node.operands[1], values));
    if (!std::holds_alternative<bool>(right))
      return wrong(node, fmt::format("needs a condition, not {}", kind_of(right)));
    return right;
  }
  if (node.operation == opposite) return compute({minus, node.column}, Value(0.0), left);
  for (size_t i = 1; i < node.operands.size(); ++i) {
    CHAKRA_ASSIGN(const Value right, evaluate_node(node.operands[i], values));
    CHAKRA_ASSIGN(left, compute(node, left, right));
  }
  if (node.operands.size() == 1 && !std::holds_alternative<double>(left))  // min(x)
    return wrong(node, fmt::format("needs numbers, not {}", kind_of(left)));
  return left;
}

Result<Value> Expression::evaluate(std::span<const Value* const> values) const { return evaluate_node(root_, values); }

Result<bool> Expression::holds(std::span<const Value* const> values) const {
  CHAKRA_ASSIGN(const Value result, evaluate(values));
  if (const bool* const truth = std::get_if<bool>(&result)) return *truth;
  return wrong(nodes_[root_], fmt::format("the result is {}, not true or false", kind_of(result)));
}

}  // namespace chakra::sweep
