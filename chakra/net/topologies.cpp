// Topologies of one dimension: where the links of a row begin and end, and which way leads from place to place.
#include <algorithm>
#include <cstdlib>

#include "chakra/net/net.h"

namespace chakra::net {
namespace {

// n > 1 places in a row.

using Ends = std::pair<int64_t, int64_t>;

int64_t after(int64_t a, int64_t n) { return a + 1 == n ? 0 : a + 1; }
int64_t before(int64_t a, int64_t n) { return a == 0 ? n - 1 : a - 1; }
int64_t steps_up(int64_t a, int64_t b, int64_t n) { return b >= a ? b - a : b - a + n; }
/// The shorter way round; on ties upwards.
bool goes_up(int64_t a, int64_t b, int64_t n) { return 2 * steps_up(a, b, n) <= n; }

// Link a leads up from place a, link n + a down. Two ranks have one link each way.
int64_t ring_hops(int64_t a, int64_t b, int64_t n) {
  const int64_t up = steps_up(a, b, n);
  return std::min(up, n - up);
}
int64_t ring_links(int64_t n) { return n == 2 ? 2 : 2 * n; }
Ends ring_ends(int64_t link, int64_t n) {
  return link < n ? Ends{link, after(link, n)} : Ends{link - n, before(link - n, n)};
}
int64_t ring_between(int64_t a, int64_t b, int64_t n) { return b == after(a, n) ? a : b == before(a, n) ? n + a : -1; }
int64_t ring_next(int64_t a, int64_t b, int64_t n) { return goes_up(a, b, n) ? after(a, n) : before(a, n); }
int64_t ring_previous(int64_t a, int64_t b, int64_t n) { return goes_up(a, b, n) ? before(b, n) : after(b, n); }

// Link a leads up from place a < n - 1, link n - 1 + a down to place a.
int64_t mesh_hops(int64_t a, int64_t b, int64_t) { return std::abs(a - b); }
int64_t mesh_links(int64_t n) { return 2 * (n - 1); }
Ends mesh_ends(int64_t link, int64_t n) {
  return link < n - 1 ? Ends{link, link + 1} : Ends{link - n + 2, link - n + 1};
}
int64_t mesh_between(int64_t a, int64_t b, int64_t n) { return b == a + 1 ? a : b == a - 1 ? n - 1 + b : -1; }
int64_t mesh_next(int64_t a, int64_t b, int64_t) { return a < b ? a + 1 : a - 1; }
int64_t mesh_previous(int64_t a, int64_t b, int64_t) { return a < b ? b - 1 : b + 1; }

// Link a leads from place a to the switch, link n + a back.
int64_t switch_hops(int64_t a, int64_t b, int64_t) { return a == b ? 0 : 2; }
int64_t switch_links(int64_t n) { return 2 * n; }
Ends switch_ends(int64_t link, int64_t n) { return link < n ? Ends{link, n} : Ends{n, link - n}; }
int64_t switch_between(int64_t a, int64_t b, int64_t n) { return a == b ? -1 : b == n ? a : a == n ? n + b : -1; }
int64_t switch_next(int64_t a, int64_t b, int64_t n) { return a == n ? b : n; }
int64_t switch_previous(int64_t, int64_t, int64_t n) { return n; }

// n - 1 links from each place, by where they lead.
int64_t direct_hops(int64_t a, int64_t b, int64_t) { return a == b ? 0 : 1; }
int64_t direct_links(int64_t n) { return n * (n - 1); }
Ends direct_ends(int64_t link, int64_t n) {
  const int64_t a = link / (n - 1), b = link % (n - 1);
  return {a, b < a ? b : b + 1};
}
int64_t direct_between(int64_t a, int64_t b, int64_t n) { return a == b ? -1 : a * (n - 1) + (b < a ? b : b - 1); }
int64_t direct_next(int64_t, int64_t b, int64_t) { return b; }
int64_t direct_previous(int64_t a, int64_t, int64_t) { return a; }

}  // namespace

const std::array<TopologyRow, 5> kTopologies{{
    {"Ring", "each rank linked with the next one, in both directions", TopologyKind::ring, RowForm::ring, ring_hops,
     ring_links, ring_ends, ring_between, ring_next, ring_previous},
    {"Switch", "each rank linked with one switch: two links between any two", TopologyKind::switch_, RowForm::star,
     switch_hops, switch_links, switch_ends, switch_between, switch_next, switch_previous},
    {"FullyConnected", "a link between any two ranks", TopologyKind::fully_connected, RowForm::pairs, direct_hops,
     direct_links, direct_ends, direct_between, direct_next, direct_previous},
    {"Mesh", "a line: each rank linked with the next one, the last not with the first", TopologyKind::mesh,
     RowForm::line, mesh_hops, mesh_links, mesh_ends, mesh_between, mesh_next, mesh_previous},
    {"Torus", "a ring; two or three of them make the torus of that name", TopologyKind::torus, RowForm::ring, ring_hops,
     ring_links, ring_ends, ring_between, ring_next, ring_previous},
}};

}  // namespace chakra::net
