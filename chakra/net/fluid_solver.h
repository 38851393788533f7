// Max-min fair rates of flows through links with capacities, independent of networks.
//
// Given links with capacities c_l > 0 and flows f, each through a set of links L_f, the rates r_f are max-min
// fair if no flow's rate can be raised without lowering that of a flow that is no faster. Max-min fair rates
// exist, are unique, and are the only rates for which (Bertsekas, Gallager: "Data Networks", 1992, section 6.5.2)
//     sum of r_f over the flows of l <= c_l for all l, and
//     each flow f has a bottleneck: a link l of L_f that is full, and on which no flow is faster than f.
//
// Progressive filling finds these rates: all rates grow equally from 0 until a link is full; the flows of that
// link keep their rates; the other flows grow on. Let R_l be the capacity of link l that the fixed flows leave,
// and N_l the number of the link's other flows. The next full link is the link with the least share R_l / N_l,
// which is the rate of those flows. Removing flows that have the least share of all from a link can only raise
// the link's share. So shares wait in a heap and are checked again on removal: a share that has grown goes back.
//
// A flow may put a part w_fl of its rate on a link: below 1 when spread over several paths, above 1 if it stands for
// several flows. The link then carries the sum of w_fl r_f, and N_l is the sum of w_fl of the other flows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chakra::net {

/// The solver, which keeps its working memory between calls.
class FluidSolver {
 public:
  /// Compute the rates. Flow f uses links uses[first[f]] .. uses[first[f + 1] - 1], at least one and none twice;
  /// `first` has one entry more than there are flows. `parts`: the part of the flow's rate, above 0, on each of `uses`;
  /// empty: all of the rate. Writes a rate for each flow, in the unit of the capacities. Cost: O(uses log links).
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
  std::vector<double> weight_;        ///< sum over the parts of these flows
  std::vector<double> least_;         ///< the least part of a flow of the link
  std::vector<uint32_t> first_flow_;  ///< of a link, in flows_
  std::vector<uint32_t> flows_;       ///< by link
  std::vector<Share> heap_;
  std::vector<bool> kept_;
};

}  // namespace chakra::net
