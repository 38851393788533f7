// Errors as values. A function that can fail returns Result<T>; library code never prints, exits or throws across the
// border of a room. An Error has a stable tag (for tests), a sentence (for people) and a place (file, and byte or
// line).
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Visible in libchakra.so; all other symbols are hidden.
#define CHAKRA_API __attribute__((visibility("default")))

namespace chakra {
inline namespace v1 {

/// Kind of failure, and exit code of the command.
enum class Code : uint8_t {
  bad_input = 1,     ///< the input was read and found wrong
  usage = 2,         ///< the request makes no sense
  io = 3,            ///< a file cannot be read or written
  stuck = 4,         ///< a simulation cannot finish
  interrupted = 130  ///< stopped by the user
};

/// A place in a file. Negative numbers: unknown.
struct Place {
  std::string file;
  int64_t byte = -1;  ///< offset in the uncompressed file
  int64_t line = -1;  ///< counted from 1

  /// "rank3.et @81234", "net.yml:7", "rank3.et" or "".
  CHAKRA_API std::string text() const;
};

struct Error {
  Code code = Code::bad_input;
  std::string tag;   ///< "room.subject.defect", documented in docs/reference/errors.md
  std::string text;  ///< one sentence without a full stop
  Place place;

  /// "rank3.et @81234: message of 255 bytes runs past the end of the file [io.et.truncated]"
  CHAKRA_API std::string message() const;
};

/// An Error in transit: converts to any Result<T>.
class Failure {
 public:
  explicit Failure(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
  Failure(const Failure& other) : error_(other.error_ ? std::make_unique<Error>(*other.error_) : nullptr) {}
  Failure(Failure&&) noexcept = default;
  Failure& operator=(Failure other) noexcept {
    error_.swap(other.error_);
    return *this;
  }
  ~Failure() = default;
  const Error& error() const { return get(); }  ///< requires that the error was not moved away

 private:
  template <class T>
  friend class Result;
  Failure() = default;
  /// Requires an error. A missing error is a defect of the program, whatever the input.
  Error& get() const {
    if (!error_) std::abort();
    return *error_;
  }
  std::unique_ptr<Error> error_;  ///< null: the Result has a value
};
inline Failure fail(Code code, std::string tag, std::string text, Place place = {}) {
  return Failure(Error{code, std::move(tag), std::move(text), std::move(place)});
}

/// A value, or the error that prevented the value. `*`, `->` and value() require the value, error() requires the error.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result() requires std::default_initializable<T> : value_(std::in_place) {}
  template <class U = T>
  requires(std::constructible_from<T, U> && !std::same_as<std::remove_cvref_t<U>, Result> &&
           !std::same_as<std::remove_cvref_t<U>, Failure>) Result(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}     // NOLINT: a value is a result
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT: so is a failure

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() & { return get(); }
  const T& operator*() const& { return const_cast<Result*>(this)->get(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &const_cast<Result*>(this)->get(); }
  T& value() & { return get(); }
  const T& value() const& { return const_cast<Result*>(this)->get(); }
  T&& value() && { return std::move(get()); }
  template <class U>
  T value_or(U&& other) const& {
    return value_ ? *value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return value_ ? std::move(*value_) : static_cast<T>(std::forward<U>(other));
  }
  Error& error() & { return failure_.get(); }
  const Error& error() const& { return failure_.get(); }
  Error&& error() && { return std::move(failure_.get()); }

  template <class U>
  requires(!std::same_as<U, Result>) friend bool operator==(const Result& a, const U& value) {
    return a.value_ && *a.value_ == value;
  }

 private:
  T& get() {
    if (!value_) std::abort();
    return *value_;
  }
  std::optional<T> value_;
  Failure failure_;
};
/// Success, or an error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Failure failure) : failure_(std::move(failure)) {}  // NOLINT: a failure is a result

  bool has_value() const { return !failure_.error_; }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return failure_.get(); }
  const Error& error() const& { return failure_.get(); }
  Error&& error() && { return std::move(failure_.get()); }

 private:
  Failure failure_;
};

enum class Severity : uint8_t { note, warning, error };
CHAKRA_API const char* name(Severity severity);

/// A fact that locates a finding, in a separate column, e.g. {"group", "tp"}, {"index", 3}. The name is a literal.
struct Fact {
  Fact(std::string_view of, std::integral auto whole) : name(of), number(static_cast<int64_t>(whole)) {}
  Fact(std::string_view of, std::string words) : name(of), text(std::move(words)) {}
  bool operator==(const Fact&) const = default;

  std::string_view name;
  std::optional<int64_t> number = {};  ///< nullopt: the fact is a text
  std::string text = {};
};

/// An observation that does not stop the work. rank, node: -1 if the finding concerns no single rank or node.
struct Finding {
  std::string tag;
  Severity severity = Severity::warning;
  int64_t rank = -1;
  int64_t node = -1;
  std::string text;
  std::vector<Fact> facts = {};  ///< separate columns in the results; docs/reference/errors.md lists the columns by tag
};
using Findings = std::vector<Finding>;

}  // namespace v1
}  // namespace chakra

#define CHAKRA_CONCAT_(a, b) a##b
#define CHAKRA_CONCAT(a, b) CHAKRA_CONCAT_(a, b)

/// CHAKRA_ASSIGN(auto x, f()): assign the value of f() to x, or return the error of f() from the enclosing function.
#define CHAKRA_ASSIGN(left, expression) CHAKRA_ASSIGN_(left, expression, CHAKRA_CONCAT(chakra_result_, __COUNTER__))
#define CHAKRA_ASSIGN_(left, expression, result)                    \
  auto result = (expression);                                       \
  if (!result) return ::chakra::Failure(std::move(result.error())); \
  left = std::move(*result)

/// CHAKRA_TRY(f()): return the error of f(), if any, from the enclosing function. The expression can have the macro.
#define CHAKRA_TRY(expression) CHAKRA_TRY_(expression, CHAKRA_CONCAT(chakra_result_, __COUNTER__))
#define CHAKRA_TRY_(expression, result)                                                           \
  do {                                                                                            \
    if (auto result = (expression); !result) return ::chakra::Failure(std::move(result.error())); \
  } while (false)
