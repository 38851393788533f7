// All-to-alls: whether what one member sends to another is what that one expects.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/match/agreement.h"

namespace chakra::match {

using trace::Comm;

namespace {

constexpr uint64_t kUnknown = UINT64_MAX;

/// What a member sends, or expects.
struct Side {
  std::vector<uint64_t> split;                ///< elements, by the other member; empty: not known
  uint64_t total = 0, bytes = 0, of_one = 0;  ///< elements, bytes, bytes of an element (0: not known)
};
using Sides = std::vector<Side>;  ///< per member

/// How large an element is, if most sides say the same; else 0.
uint64_t element_size(const Sides& in, const Sides& out) {
  std::map<uint64_t, size_t> sizes;  // and how many say so
  size_t known = 0;
  for (const Sides* sides : {&in, &out})
    for (const Side& side : *sides) {
      known += side.total != 0 && side.bytes != 0;
      if (side.of_one != 0) ++sizes[side.of_one];
    }
  const auto most =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most != sizes.end() && (2 * most->second > known || known <= 2) ? most->first : 0;
}

/// Elements that a side has for a member of n.
uint64_t part(const Side& side, size_t of, size_t n, uint64_t element) {
  if (!side.split.empty()) return side.split[of];
  return element > 0 && side.bytes > 0 && side.bytes % (element * n) == 0 ? side.bytes / (element * n) : kUnknown;
}

/// A side or the stated size is not that of the member's other numbers.
int contradictions(const Comm& c, const Side& in, const Side& out, uint64_t element) {
  int count = 0;
  for (const Side* side : {&in, &out})
    count += element > 0 && side->total > 0 && side->bytes > 0 && side->of_one != element;
  // The size may count what is sent or what is received.
  if (c.in_bytes > 0 && c.out_bytes > 0 && c.bytes != c.in_bytes && c.bytes != c.out_bytes) ++count;
  else if (c.in_bytes > 0 && c.out_bytes == 0 && c.bytes != c.in_bytes) ++count;
  return count;
}

}  // namespace

bool Agreement::compare_splits(const Group& group, uint32_t index, std::span<const NodeRef> members) {
  const size_t n = members.size();
  bool fits = !group.assumed;  // lists for more ranks than the job has are of a larger job
  for (const NodeRef& member : members) {
    if (member.node == trace::kNoNode) return true;
    const Comm& c = comm(member);
    for (const std::string_view text : {c.in_split, c.out_split})
      fits |= !text.empty() && static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1 == n;
  }
  Sides in(n), out(n);
  for (size_t m = 0; fits && m < n; ++m) {
    const Comm& c = comm(members[m]);
    in[m].bytes = c.in_bytes ? c.in_bytes : c.bytes;
    out[m].bytes = c.out_bytes;
    for (auto [side, text, name] :
         {std::tuple(&in[m], c.in_split, "sends"), std::tuple(&out[m], c.out_split, "expects")}) {
      if (text.empty()) continue;
      if (!trace::parse_split(text, side->split) || side->split.size() != n) {
        find("match.collective.split", Severity::error, members[m],
             fmt::format("collective {} of group {}: the list that rank {} {}, {}, does not have one number for "
                         "each of {} ranks",
                         index, quote(group.name), job_.ranks[members[m].rank].rank, name, quote(text), n),
             facts_of(group, index));
        return false;
      }
      for (const uint64_t elements : side->split) side->total += elements;
      if (side->total != 0 && side->bytes % side->total == 0) side->of_one = side->bytes / side->total;
    }
  }
  const uint64_t element = element_size(in, out);
  // Who disagrees with most of the others, or with his own sizes, is wrong.
  std::vector<size_t> blame(n, 0);
  size_t wrong = 0, from = 0, to = 0;
  for (size_t i = 0; i < n; ++i) {
    blame[i] += n * static_cast<size_t>(contradictions(comm(members[i]), in[i], out[i], element));
    for (size_t j = 0; j < n; ++j) {
      const uint64_t sent = part(in[i], j, n, element), expected = part(out[j], i, n, element);
      if (sent == kUnknown || expected == kUnknown || sent == expected) continue;
      if (wrong++ == 0) from = i, to = j;
      ++blame[i];
      if (j != i) ++blame[j];
    }
  }
  const auto worst = static_cast<size_t>(
      std::max_element(blame.begin(), blame.end(), [](size_t a, size_t b) { return a <= b; }) - blame.begin());
  if (n == 0 || blame[worst] == 0) return true;
  const auto rank = [&](size_t m) { return job_.ranks[members[m].rank].rank; };
  std::string text =
      wrong == 0
          ? fmt::format("the size of rank {} differs from the sum of its splits", rank(worst))
          : fmt::format("rank {} sends {} elements to rank {}, which expects {}{}", rank(from),
                        part(in[from], to, n, element), rank(to), part(out[to], from, n, element),
                        wrong > 1 ? fmt::format(" (and {} more such pairs; rank {} is in most)", wrong - 1, rank(worst))
                                  : std::string());
  find(wrong == 0 ? "match.collective.bytes" : "match.collective.split", Severity::error, members[worst],
       fmt::format("collective {} of group {}: {}", index, quote(group.name), text), facts_of(group, index));
  return false;
}

void Agreement::compare_totals(const Group& group, uint32_t index, std::span<const NodeRef> members) {
  uint64_t in = 0, out = 0;
  for (const NodeRef& member : members) {
    if (member.node == trace::kNoNode) return;
    const Comm& c = comm(member);
    if (c.in_bytes == 0 && c.out_bytes == 0) return;  // not said
    in = c.in_bytes > UINT64_MAX - in ? UINT64_MAX : in + c.in_bytes;
    out = c.out_bytes > UINT64_MAX - out ? UINT64_MAX : out + c.out_bytes;
  }
  if (in == out || out == 0 || members.empty()) return;
  find("match.collective.bytes", Severity::error, members[0],
       fmt::format("collective {} of group {}: its members send {} bytes but receive {}", index, quote(group.name), in,
                   out),
       facts_of(group, index));
}

}  // namespace chakra::match
