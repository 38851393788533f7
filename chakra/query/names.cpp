// Names of parameters and of result columns.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "chakra/query/tables.h"

namespace chakra::query {

Result<sqlite::Parameter> parse_parameter(std::string_view text) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0)
    return fail(Code::usage, "query.parameter", fmt::format("expected NAME=VALUE instead of {}", quote(text)));
  const std::string_view value = text.substr(at + 1);
  sqlite::Parameter made{std::string(text.substr(0, at)), std::string(value)};
  int64_t whole = 0;
  double real = 0;
  if (parse_decimal(value, whole)) made.value = whole;
  else if (parse_decimal(value, real)) made.value = real;
  return made;
}

std::vector<std::string> keys_of(const std::vector<std::string>& names) {
  std::vector<std::string> keys;
  std::set<std::string, std::less<>> used;
  for (size_t c = 0; c < names.size(); ++c) {
    std::string key = names[c].empty() ? fmt::format("column_{}", c + 1) : names[c];
    std::replace(key.begin(), key.end(), '.', '_');
    std::string unique = key;
    for (int again = 2; !used.insert(unique).second; ++again) unique = fmt::format("{}_{}", key, again);
    keys.push_back(std::move(unique));
  }
  return keys;
}

}  // namespace chakra::query
