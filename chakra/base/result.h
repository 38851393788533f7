// Errors as values. A function that can fail returns Result<T>; library code never prints, exits or
// throws across a room's border. An Error has a stable tag (tests match it), a sentence (people read
// it) and a place (file, and byte or line in it).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace chakra {

/// What kind of failure it is; the command's exit code.
enum class Code : uint8_t {
  bad_input = 1,     ///< the input was read and found wrong
  usage = 2,         ///< the request makes no sense
  io = 3,            ///< a file cannot be read or written
  stuck = 4,         ///< a simulation cannot finish
  interrupted = 130  ///< stopped by the user
};

/// Where in a file something is. Negative numbers: unknown.
struct Place {
  std::string file;
  int64_t byte = -1;  ///< offset in the uncompressed file
  int64_t line = -1;  ///< counted from 1

  /// "rank3.et @81234", "net.yml:7", "rank3.et" or "".
  std::string text() const;
};

struct Error {
  Code code = Code::bad_input;
  std::string tag;   ///< "room.subject.defect", documented in docs/reference/errors.md
  std::string text;  ///< one sentence without a full stop
  Place place;

  /// "rank3.et @81234: message of 255 bytes runs past the end of the file [io.et.truncated]"
  std::string message() const;
};

template <class T>
using Result = tl::expected<T, Error>;

/// An Error on its way out: converts to any Result<T>.
inline tl::unexpected<Error> fail(Code code, std::string tag, std::string text, Place place = {}) {
  return tl::unexpected<Error>(Error{code, std::move(tag), std::move(text), std::move(place)});
}

enum class Severity : uint8_t { note, warning, error };
const char* name(Severity severity);

/// A column of a finding's own: what else says where it is, e.g. {"group", "tp"}, {"index", 3}. The name is a literal.
using Fact = std::pair<std::string_view, std::variant<int64_t, std::string>>;

/// Something noticed that does not stop the work. rank, node: -1 where it concerns no single one.
struct Finding {
  std::string tag;
  Severity severity = Severity::warning;
  int64_t rank = -1;
  int64_t node = -1;
  std::string text;
  std::vector<Fact> facts = {};  ///< columns of their own in the results; docs/reference/errors.md names them by tag
};
using Findings = std::vector<Finding>;

/// Keeps the first findings of each tag and rank, and counts the others: a file may give one for every three bytes.
class LimitedFindings {
 public:
  explicit LimitedFindings(size_t limit = 100) : limit_(limit) {}
  void add(Finding finding);
  /// Errors first; one more per tag and rank says how many others there are.
  Findings take() &&;
  /// The same, behind those of `to`.
  void append_to(Findings& to) &&;

 private:
  size_t limit_;
  Findings listed_;
  std::map<std::pair<std::string, int64_t>, std::pair<size_t, Severity>> count_;
};

}  // namespace chakra

#define CHAKRA_CONCAT_(a, b) a##b
#define CHAKRA_CONCAT(a, b) CHAKRA_CONCAT_(a, b)

/// CHAKRA_ASSIGN(auto x, f()): x is f()'s value, or the enclosing function returns f()'s error.
#define CHAKRA_ASSIGN(left, expression) CHAKRA_ASSIGN_(left, expression, CHAKRA_CONCAT(chakra_result_, __LINE__))
#define CHAKRA_ASSIGN_(left, expression, result)                                  \
  auto result = (expression);                                                     \
  if (!result) return tl::unexpected<::chakra::Error>(std::move(result.error())); \
  left = std::move(*result)

/// CHAKRA_TRY(f()): returns f()'s error from the enclosing function, if there is one.
#define CHAKRA_TRY(expression)                                                  \
  do {                                                                          \
    if (auto chakra_result = (expression); !chakra_result)                      \
      return tl::unexpected<::chakra::Error>(std::move(chakra_result.error())); \
  } while (false)
