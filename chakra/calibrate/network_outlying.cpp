// Sizes that take far longer, or far shorter, than all sizes beside them let expect.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "chakra/calibrate/network_fit.h"

namespace chakra::calibrate {
namespace {

constexpr double kFarEnd = 2;         ///< over kFarSize, at an end: a jump beside it would look the same
constexpr double kFarSize = 0.405;    ///< ln 1.5
constexpr size_t kFewestSizes = 5;    ///< fewer do not tell which of them is off
constexpr ptrdiff_t kMostBeside = 3;  ///< sizes on a side that are looked at

using List = std::vector<const CollectiveSample*>;

/// The range of times that lines through two other sizes say: straight ones, and straight ones of the logarithms.
class Expected {
 public:
  void add_line(const CollectiveSample& a, const CollectiveSample& b, double bytes) {
    const auto from = static_cast<double>(a.bytes), to = static_cast<double>(b.bytes);
    add(a.ns + (bytes - from) / (to - from) * (b.ns - a.ns));
    add(a.ns * std::exp(std::log(bytes / from) / std::log(to / from) * std::log(b.ns / a.ns)));
  }
  /// How far a time is outside of the range, as a logarithm; below it is negative.
  double off(double ns) const {
    if (!(most_ > 0)) return 0;
    return ns > most_ ? std::log(ns / most_) : ns < least_ ? std::log(ns / least_) : 0;
  }

 private:
  void add(double ns) {
    if (!(ns > 0)) return;
    least_ = most_ > 0 ? std::min(least_, ns) : ns;
    most_ = std::max(most_, ns);
  }
  double least_ = 0, most_ = 0;
};

/// How far the i-th size is off what all lines through two sizes beside it say: the next one on each side, and pairs on
/// one side. A size next to an outlying one keeps to the lines of its other side, and so does the first one behind a
/// jump. At an end of the sizes, where no line leads across, three sizes on the one side say three lines. 0: not far.
double off_of(const List& list, size_t i) {
  const auto count = static_cast<ptrdiff_t>(list.size()), at = static_cast<ptrdiff_t>(i);
  const auto bytes = static_cast<double>(list[i]->bytes);
  const bool end = at == 0 || at + 1 == count;
  Expected expected;
  if (!end) expected.add_line(*list[i - 1], *list[i + 1], bytes);
  const ptrdiff_t beside = end ? kMostBeside : kMostBeside - 1;
  for (const ptrdiff_t side : {-1, 1})
    for (ptrdiff_t near = 1; near < beside; ++near)
      for (ptrdiff_t far = near + 1; far <= beside; ++far) {
        const ptrdiff_t a = at + side * near, b = at + side * far;
        if (b < 0 || b >= count) continue;
        expected.add_line(*list[static_cast<size_t>(a)], *list[static_cast<size_t>(b)], bytes);
      }
  const double off = expected.off(list[i]->ns);
  return std::abs(off) > kFarSize * (end ? kFarEnd : 1) ? off : 0;
}

struct OutlyingSize {
  const CollectiveSample* sample = nullptr;
  double off = 0;
};

/// The farthest one first, since it is among those beside others; then the rest is looked at again.
std::vector<OutlyingSize> take_outlying(List& list) {
  std::vector<OutlyingSize> outlying;
  while (list.size() >= kFewestSizes) {
    OutlyingSize most;
    size_t at = 0;
    for (size_t i = 0; i < list.size(); ++i)
      if (const double off = off_of(list, i); std::abs(off) > std::abs(most.off)) most = {list[i], off}, at = i;
    if (most.off == 0) break;
    outlying.push_back(most);
    list.erase(list.begin() + static_cast<ptrdiff_t>(at));
  }
  return outlying;
}

/// The same, but all sizes are looked at once.
std::vector<OutlyingSize> find_outlying(const List& list) {
  std::vector<OutlyingSize> outlying;
  for (size_t i = 0; i < list.size(); ++i)
    if (const double off = off_of(list, i); off != 0) outlying.push_back({list[i], off});
  return outlying;
}

std::string outlying_text(const std::vector<OutlyingSize>& outlying, size_t sizes, bool left_out) {
  const OutlyingSize& most =
      *std::max_element(outlying.begin(), outlying.end(),
                        [](const OutlyingSize& a, const OutlyingSize& b) { return std::abs(a.off) < std::abs(b.off); });
  const CollectiveSample& s = *most.sample;
  const std::string nodes = s.nodes > 1 ? fmt::format(" on {} nodes", s.nodes) : "";
  return fmt::format(
      "{} of {} sizes of {} of {} ranks{} differ from adjacent sizes by a factor of more than 1.5, {} is "
      "{:.1f} times as {}; {}",
      outlying.size(), sizes, s.operation, s.ranks, nodes, show_bytes(static_cast<double>(s.bytes)),
      std::exp(std::abs(most.off)), most.off > 0 ? "slow" : "fast",
      left_out ? "the fit leaves them out" : "the fit uses medians of neighbours");
}

}  // namespace

std::vector<CollectiveSample> without_outlying(const std::vector<CollectiveSample>& samples, Findings& findings) {
  std::map<std::tuple<std::string_view, int64_t, int64_t>, List> groups;
  for (const CollectiveSample& s : samples) groups[{s.operation, s.nodes, s.ranks}].push_back(&s);
  std::vector<CollectiveSample> kept;
  LimitedFindings named;
  for (auto& [key, list] : groups) {
    const size_t sizes = list.size();
    const bool left_out = sizes <= kMostSizes;
    const std::vector<OutlyingSize> outlying = left_out ? take_outlying(list) : find_outlying(list);
    if (!outlying.empty())
      named.add({"calibrate.network.outlying", Severity::warning, -1, -1, outlying_text(outlying, sizes, left_out)});
    for (const CollectiveSample* s : list) kept.push_back(*s);
  }
  std::move(named).append_to(findings);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace chakra::calibrate
