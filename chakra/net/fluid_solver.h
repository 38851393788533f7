// Max-min fair rates, of anything that flows through anything with a capacity; this file knows no networks.
//
// Given links with capacities c_l > 0 and flows f, each through a set of links L_f, the rates r_f are max-min
// fair if no flow's rate can be raised without lowering that of a flow that is no faster. They exist, are
// unique, and are those for which (Bertsekas, Gallager: "Data Networks", 1992, section 6.5.2)
//     sum of r_f over the flows of l <= c_l for all l, and
//     each flow f has a bottleneck: a link l of L_f that is full, and on which no flow is faster than f.
//
// Progressive filling finds them: all rates grow alike from 0 until a link is full; the flows of that link
// keep their rates; the others grow on. With R_l the rest of the capacity of link l after the flows that were kept, and
// N_l the number of its others, the next link to be full is the one with the least share R_l / N_l, which is
// the rate of those flows. Taking from a link flows that have the least share of all can only raise its share,
// so shares wait in a heap and are looked at again when they come out: one that has grown goes back.
//
// A flow may put only a part w_fl of its rate on a link, as where it is spread over several paths: then the sum of
// w_fl r_f is what the link carries, and N_l the sum of w_fl of its others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chakra::net {

/// Keeps its working memory from one call to the next.
class FluidSolver {
 public:
  /// Flow f goes through links uses[first[f]] .. uses[first[f + 1] - 1], at least one and none twice; `first` has one
  /// entry more than there are flows. `parts`: the part of the flow's rate, above 0, on each of `uses`; empty: all of
  /// it. Writes a rate for each flow, in the unit of the capacities. Cost: O(uses log links).
  void solve(std::span<const double> capacity, std::span<const uint32_t> first, std::span<const uint32_t> uses,
             std::span<const double> parts, std::span<double> rate);

 private:
  template <bool kParts>
  void fill(std::span<const double> capacity, std::span<const uint32_t> first, std::span<const uint32_t> uses,
            std::span<const double> parts, std::span<double> rate);

  struct Share {
    double share;
    uint32_t link;
  };
  std::vector<double> left_;          ///< of a link's capacity
  std::vector<uint32_t> waiting_;     ///< flows of a link without a rate
  std::vector<double> weight_;        ///< sum of their parts
  std::vector<uint32_t> first_flow_;  ///< of a link, in flows_
  std::vector<uint32_t> flows_;       ///< by link
  std::vector<Share> heap_;
  std::vector<bool> kept_;
};

}  // namespace chakra::net
