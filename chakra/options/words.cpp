// Words that nearly are known ones.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/options/options.h"

namespace chakra::options {
namespace {

/// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment). Cost: O(a b).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  constexpr size_t kLongest = 64;  // what is longer is no slip of the finger
  if (word.empty() || word.size() > kLongest) return "";
  const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  size_t least = std::max<size_t>(1, letters / 3) + 1;
  std::string best;
  for (const std::string& candidate : known) {
    const size_t far = distance(word, candidate);
    if (far < least) least = far, best = candidate;
  }
  if (!best.empty()) return best;
  for (const std::string& candidate : known)  // "--net" for "--network"
    if (letters >= 3 && candidate.starts_with(word)) return candidate;
  return "";
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

}  // namespace chakra::options
