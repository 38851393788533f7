// The table of algorithms.
#include "chakra/coll/algorithms.h"
#include "chakra/coll/rows.h"

namespace chakra::coll {

namespace {

using Needs = AlgorithmRow::Needs;

constexpr uint32_t bit(CommType type) { return 1u << static_cast<unsigned>(type); }

constexpr uint32_t kSums =
    bit(CommType::all_reduce) | bit(CommType::reduce_scatter) | bit(CommType::reduce_scatter_block);
constexpr uint32_t kRooted =
    bit(CommType::broadcast) | bit(CommType::reduce) | bit(CommType::gather) | bit(CommType::scatter);

/// In the cost, K = ceil(log2 n); p pieces of at least 128 KiB, at most 64.
constexpr AlgorithmRow kAlgorithmRows[] = {
    {"ring", "each member passes blocks on to the next one",
     "all-reduce 2 (n-1) (L + S/(n B)); reduce-scatter (n-1) (L + S/(n B)); all-gather (n-1) (L + S/B); "
     "all-to-all (n-1) L + (n-1) S/(2 B)",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), false, Needs::nothing, ring, ring_round},
    {"bidirectional_ring", "half of each block goes around the ring in each direction, on separate links",
     "all-reduce 2 (n-1) (L + S/(2 n B)); reduce-scatter (n-1) (L + S/(2 n B)); all-gather (n-1) (L + S/(2 B))",
     kSums | bit(CommType::all_gather), false, Needs::nothing, bidirectional_ring, bidirectional_ring_round},
    {"direct", "each member sends to all others at once",
     "with a link for each pair: L + S/(n B), all-gather L + S/B, all-reduce 2 (L + S/(n B)); with one link per "
     "member the term with S times n-1",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), true, Needs::nothing, direct, direct_round},
    {"halving_doubling",
     "half of the rest goes to partners 1, 2, 4, ... away, and comes back; members beyond a power "
     "of two give all to a neighbour first",
     "n = 2^K: all-reduce 2 K L + 2 (n-1) S/(n B); reduce-scatter K L + (n-1) S/(n B); all-gather K L + (n-1) S/B; "
     "else two rounds more",
     kSums | bit(CommType::all_gather), false, Needs::nothing, halving_doubling, halving_doubling_round},
    {"double_binary_tree",
     "two trees, each with half of the data in pieces; an inner member of one tree is a leaf of the other",
     "about 2 (2 K + 2 p) (L + S/(2 p B)), p pieces per tree", bit(CommType::all_reduce), false, Needs::nothing,
     double_binary_tree, pipelined_tree_round},
    {"tree", "binomial tree: in each round twice as many have it",
     "K (L + S/B) for broadcast and reduce, twice that for all-reduce; gather K L + (n-1) S/B; scatter "
     "K L + (n-1) S/(n B); barrier 2 K L",
     kRooted | bit(CommType::all_reduce) | bit(CommType::barrier), false, Needs::nothing, tree, tree_round},
    {"binary_tree", "binary tree, the data in p pieces", "about 2 K L + (2 K + 2 p) S/(p B)",
     bit(CommType::broadcast) | bit(CommType::reduce), false, Needs::nothing, binary_tree, pipelined_tree_round},
    {"chain", "from member to member, the data in p pieces", "(n-1) L + (n-1 + p-1) S/(p B)",
     bit(CommType::broadcast) | bit(CommType::reduce), false, Needs::nothing, chain, chain_round},
    {"linear", "the root exchanges data with one member after the other",
     "scatter L + (n-1) S/(n B); gather L + S/B, without contention at the root",
     bit(CommType::gather) | bit(CommType::scatter), false, Needs::nothing, linear, linear_round},
    {"pairwise", "in round k each member sends to the one k places on", "(n-1) (L + S/(n B))",
     bit(CommType::all_to_all), true, Needs::nothing, pairwise, pairwise_round},
    {"bruck", "in round k, data with bit k set in its distance moves 2^k places",
     "n = 2^K: all-to-all K (L + S/(2 B)); all-gather K L + (n-1) S/B",
     bit(CommType::all_to_all) | bit(CommType::all_gather), true, Needs::nothing, bruck, bruck_round},
    {"dissemination", "in round k each member signals the member 2^k places on", "K L", bit(CommType::barrier), false,
     Needs::nothing, dissemination, dissemination_round},
    {"hierarchical",
     "dimension by dimension, sums from the inside out, results back; chunks of 1 MiB and more follow each other. For "
     "members that fill a grid of two or more dimensions or of nodes",
     "per chunk and dimension ring's, or direct's on FullyConnected, for the part that is left; c chunks overlap",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), false, Needs::grid, hierarchical,
     hierarchical_round},
    {"hierarchical_doubling", "hierarchical, on switches in log2 n rounds over distances that double, for any n",
     "per chunk and dimension on switches K L + (n-1) S/(n B) for the part that is left; c chunks overlap",
     kSums | bit(CommType::all_gather), false, Needs::grid, hierarchical_doubling, hierarchical_round},
    {"hierarchical_direct", "hierarchical, on switches from each member of a row to all others at once",
     "per chunk and dimension on switches L + (n-1) S/(n B) for the part that is left; c chunks overlap",
     kSums | bit(CommType::all_gather) | bit(CommType::all_to_all), false, Needs::grid, hierarchical_direct,
     hierarchical_round},
    {"multidimensional",
     "parts of the buffer go through the dimensions in different orders, half of each either way round, so that all "
     "ports work at once; for members that fill a grid of two or more dimensions",
     "on a cube of d dimensions 2 d (n^(1/d) - 1) L + 2 (n-1) S/(2 d n B)", kSums | bit(CommType::all_gather), false,
     Needs::grid, multidimensional, hierarchical_round},
    {"node_columns",
     "nodes of any sizes: sums in the node onto as many members as the smallest node has, from node to node among "
     "those "
     "of equal place, and back",
     "g members in the smallest of N nodes: in the node direct's, between nodes 2 log2 N L + 2 (N-1) S/(g N B); c "
     "chunks "
     "overlap",
     kSums | bit(CommType::all_gather), false, Needs::nodes, node_columns, node_columns_round},
    {"in_network",
     "switches reduce the data of the members below them, and multicast the results (NVLink SHARP, Quantum SHARP); "
     "requires 'reduction' in the network file",
     "R of the switches: all-reduce 2 L + l + S (1 + 1/n)/min(B, R), between switches S/min(B, R); reduce-scatter "
     "L + l + S/min(B, R); all-gather L + l + n S/min(B, R)",
     kSums | bit(CommType::all_gather), false, Needs::reduction, in_network, direct_round, in_network_traffic},
    {"hierarchical_in_network",
     "hierarchical: in_network in dimensions with reducing switches, hierarchical_doubling in the others (NVLSTree)",
     "per chunk, the cost of in_network in dimensions with reducing switches and of hierarchical_doubling in the "
     "others; c chunks overlap",
     kSums | bit(CommType::all_gather), false, Needs::grid_reduction, hierarchical_in_network, hierarchical_round,
     hierarchical_in_network_traffic},
};

}  // namespace

constinit const std::span<const AlgorithmRow> kAlgorithms = kAlgorithmRows;

const AlgorithmRow* find_algorithm(std::string_view name) {
  for (const AlgorithmRow& row : kAlgorithmRows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace chakra::coll
