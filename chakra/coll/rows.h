// The functions of the rows of kAlgorithms. Each pair has a separate source file, named after the algorithm.
#pragma once

#include "chakra/coll/algorithms.h"

namespace chakra::coll {

using OutlineOf = Outline(const Operation& op, const Place& place);
using RoundOf = void(const Outline& o, uint32_t k, uint32_t senders, Round& head, Moves& moves);
using TrafficOf = void(const Outline& o, uint32_t k, Round& round);
OutlineOf ring, bidirectional_ring, direct, halving_doubling, double_binary_tree, tree, binary_tree, chain, linear,
    pairwise, bruck, dissemination, hierarchical, hierarchical_doubling, hierarchical_direct, multidimensional,
    node_columns, in_network, hierarchical_in_network;
RoundOf ring_round, bidirectional_ring_round, direct_round, halving_doubling_round, pipelined_tree_round, tree_round,
    chain_round, linear_round, pairwise_round, bruck_round, dissemination_round, hierarchical_round, node_columns_round;
TrafficOf in_network_traffic, hierarchical_in_network_traffic;

}  // namespace chakra::coll
