// Collectives: (operation, place of the members) -> Plan. A Plan lists the messages between
// the members, in rounds. Each algorithm is one generator of the blocks of data that move
// in a round. The plan's bytes are counted from those blocks, and executing the blocks with
// symbols must leave every member with the result that the operation promises. A Selection
// maps each operation and size to an algorithm (docs/reference/collectives.md).
//
// Sizes. `bytes` is comm_size: for all-gather and gather the contribution of one member, otherwise the whole
// buffer. A buffer that is cut into k units is padded to k * ceil(bytes / k), so that all units are equal. An
// operation of 0 bytes still sends its messages. Sums of bytes saturate at 2^64 - 1 instead of overflowing.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/net/net.h"
#include "chakra/trace/trace.h"

namespace chakra::coll {

// ---- plans -----------------------------------------------------------------------------------------------

struct Transfer {
  uint32_t from = 0, to = 0;  ///< members, 0 .. n-1
  uint64_t bytes = 0;
};

/// The messages of one round: the list, or, if the list is empty, the same transfers from every member. In that
/// case member i, whose coordinate is c = (i / stride) mod extent, sends `bytes` to each member that differs from
/// member i in this coordinate only and has coordinate (c + shift + q * apart) mod extent, for q = 0 .. shifts-1.
/// Usually stride is 1 and extent all members, so that the receiver is member (i + shift + q * apart) mod n. A
/// shift of 0: no member sends. A member takes no part in a round in which the member neither sends nor receives.
struct Round {
  uint32_t shift = 0, shifts = 1, apart = 1;
  uint32_t stride = 1, extent = 0;  ///< extent 0: all members; stride * extent divides the number of members
  uint64_t bytes = 0;               ///< of each transfer
  std::vector<Transfer> list;       ///< no member sends to another member twice
  uint32_t lane = 0;                ///< a member runs the rounds of a lane in sequence
  /// An earlier round of another lane that a member must have finished before this one, or -1: the last round of
  /// that lane listed before this one. "Finished": the member has done all rounds of that lane listed so far.
  int32_t after = -1;
  /// For switches that reduce, else -1: bytes leave when all members of the row (of a list: all members)
  /// have begun, and each transfer takes this latency, or the latency of its route if that is longer.
  Picoseconds latency_ps = -1;

  bool together() const { return latency_ps >= 0; }
};

/// Properties of a program's round beside the list.
struct Behind {
  /// Rounds of other lanes, each with a list, that a member with a part in those rounds must also have finished.
  std::vector<int32_t> waits;
  uint32_t step = 0;  ///< rounds of equal steps are priced as if they were under way together
};

struct Plan {
  uint32_t members = 0, lanes = 1;
  std::vector<Round> rounds;
  std::vector<Behind> behind = {};  ///< by round; empty unless a program states the plan

  std::span<const int32_t> waits(size_t round) const {
    return behind.empty() ? std::span<const int32_t>() : behind[round].waits;
  }
};

/// Call use(from, to, bytes) for each transfer of a member in a round without a list, in the order of leaving.
template <class Use>
void each_transfer_of(const Plan& plan, const Round& round, uint32_t from, const Use& use) {
  if (round.shift == 0) return;
  const uint32_t extent = round.extent ? round.extent : plan.members;
  const uint32_t c = from / round.stride % extent;
  uint64_t to = c + uint64_t{round.shift};
  for (uint32_t q = 0; q < round.shifts; ++q, to += round.apart)
    use(from, static_cast<uint32_t>(from + (to % extent) * round.stride - uint64_t{c} * round.stride), round.bytes);
}
/// Call use(from, to, bytes) for all transfers of any round.
template <class Use>
void each_transfer(const Plan& plan, const Round& round, const Use& use) {
  for (const Transfer& t : round.list) use(t.from, t.to, t.bytes);
  if (!round.list.empty()) return;
  for (uint32_t from = 0; from < plan.members; ++from) each_transfer_of(plan, round, from, use);
}

/// Groups of members that a round rotates: members that differ in its coordinate alone; for a list, all members.
struct Rows {
  uint32_t members, extent, stride;
  Rows(const Plan& plan, const Round& round)
      : members(plan.members),
        extent(round.list.empty() && round.extent ? round.extent : plan.members),
        stride(round.list.empty() ? round.stride : 1) {}
  uint32_t count() const { return members / extent; }
  uint32_t of(uint32_t member) const { return member / (stride * extent) * stride + member % stride; }
  uint32_t member(uint32_t row, uint32_t c) const { return row / stride * stride * extent + row % stride + c * stride; }
};

/// Return whether all members do the same by rotation or translation: no round has a list. O(rounds).
bool rotation_symmetric(const Plan& plan);

// ---- algorithms ------------------------------------------------------------------------------------------

struct Operation {
  trace::CommType type = trace::CommType::all_reduce;
  uint64_t bytes = 0;
  uint32_t root = 0;  ///< a member
  /// Uneven sizes of an all-to-all: n x n bytes, row = sender; a size of 0 is not sent. Empty: even.
  std::span<const uint64_t> splits;
  /// Bytes that must stay together: one element if data are sent and summed. The parts are multiples of this size.
  uint64_t element = 1;
};

/// An axis of the fabric along which members differ.
struct GridAxis {
  size_t axis = 0;  ///< into net::Fabric::axes()
  net::RowForm form = net::RowForm::star;
  uint32_t stride = 1, extent = 1;  ///< in members: member i is at at[i / stride % extent]
  std::vector<int64_t> at;
};
/// Members that are all combinations of some places on the fabric's
/// axes, the first axis varying fastest; empty for all other members.
using Grid = std::vector<GridAxis>;

/// The place of the members: member i is rank ranks[i] of the fabric.
struct Place {
  const net::Fabric* fabric = nullptr;
  std::span<const int64_t> ranks;
  uint64_t flow = 0;           ///< distinguishes the group's flows from others of the same ranks (net::Message::flow)
  const Grid* grid = nullptr;  ///< the result of grid_of(), if already known

  uint32_t members() const { return static_cast<uint32_t>(ranks.size()); }
};

/// Return the grid that members fill. Cost: O(members x axes); O(1) if the place already has the grid.
Grid grid_of(const Place& place);

/// Units of data that one member sends another in a round: block, block + step, ..., `count` of them. `reduce`:
/// the receiver combines the units with its data. The meaning of a unit depends on the operation:
///   all-reduce, reduce, broadcast: a part of the buffer; reduce-scatter, scatter: likewise, and member i of n
///   ends with the i-th n-th of the units; all-gather, gather: member i contributes the i-th n-th of the units;
///   all-to-all: the units make n * n equal parts, part origin * n + destination; barrier: unit i is the
///   arrival of member i.
struct Move {
  uint32_t from = 0, to = 0;
  uint64_t block = 0, count = 1, step = 1;
  bool reduce = false;
};

/// The passage of a lane's units through one dimension of a grid of members: `rounds` rounds from `first` on.
struct Phase {
  enum class Kind : uint8_t { reduce_scatter, all_gather, exchange } kind = Kind::reduce_scatter;
  uint32_t dimension = 0;  ///< into Outline::grid
  uint32_t passed = 0;     ///< bit d: dimension d is already summed; there a member has only the blocks of its place
  uint32_t lane = 0;
  uint32_t slice = 0;  ///< the unit of each block
  bool down = false;   ///< round the ring downwards
  uint32_t first = 0, rounds = 0;
  int32_t after = -1;
};
/// The traffic of switches that reduce, which replaces the moves, as transfers
/// between members: the transfers in `list`, or one from each member to the next.
struct SwitchTraffic {
  struct Load {
    uint32_t from = 0, to = 0;
    double units = 0;
  };
  std::vector<Load> list;
  double units = 0;            ///< of each transfer, if there is no list
  double slowdown = 1;         ///< factor on the units if the switches are slower than the links
  Picoseconds way_ps = 0;      ///< the latency of the longest route
  Picoseconds latency_ps = 0;  ///< of the switches on that route

  /// Return the latency of a round: the longest route and, in the round that sums, also the switches.
  Picoseconds latency_of(bool sums) const { return sums ? add_saturated(way_ps, latency_ps) : way_ps; }
};

struct GridDimension {
  uint32_t stride = 1, extent = 1;  ///< in members
  /// How the members of a row send: round a ring, all at once, in log2(extent)
  /// rounds over growing distances, or as `direct` through switches that reduce.
  enum class Scheme : uint8_t { ring, direct, doubling, switches } scheme = Scheme::ring;
  SwitchTraffic switches = {};  ///< of a row
};
struct TreeEdge {
  uint32_t parent = 0, child = 0, tree = 0;
  uint32_t start = 0;  ///< step in which the first piece passes this edge downwards
};

/// An algorithm's parameters for one operation at one place.
struct Outline {
  trace::CommType type = trace::CommType::all_reduce;
  uint32_t members = 0, root = 0;
  uint32_t rounds = 0, lanes = 1;
  uint64_t units = 0, unit_bytes = 0;
  uint32_t pieces = 1;  ///< of pipelines; in a grid, units of a block
  uint32_t steps = 0;   ///< of pipelined trees, one way
  std::vector<GridDimension> grid;
  std::vector<Phase> phases;
  std::vector<std::vector<uint32_t>> nodes;  ///< members of each node; the first `columns` of them are columns
  uint32_t columns = 0;
  std::vector<TreeEdge> edges;
  std::span<const uint64_t> splits;
  SwitchTraffic switches;
};

/// Assert the contract of every Plan: rounds of its lanes, each of which waits for earlier rounds only, and
/// transfers between two of its members. Cost: O(rounds); with CHAKRA_SLOW_ASSERTIONS also O(transfers).
void assert_whole(const Plan& plan);

struct Program;

struct AlgorithmRow {
  std::string_view name;
  std::string_view description;
  std::string_view cost;  ///< without contention: n members, S = bytes, latency L and rate B of a path
  uint32_t types = 0;     ///< bit t: supports trace::CommType t
  bool splits = false;    ///< supports uneven all-to-all, too
  /// Requirements on the place: members that fill a grid of two or more axes, several nodes of two members or more,
  /// switches that reduce and join all members as a tree, or a grid with such switches in one dimension or more.
  enum class Needs : uint8_t { nothing, grid, nodes, reduction, grid_reduction } needs = Needs::nothing;
  bool needs_grid() const { return needs == Needs::grid || needs == Needs::grid_reduction; }

  Outline (*outline)(const Operation&, const Place&) = nullptr;
  /// Append the transfers of members 0 .. senders-1 in round k, one by one, and set
  /// head.lane and head.after. If all members do the same as member 0, shifted, set
  /// head.extent (and stride); the function may then be called for member 0 alone.
  void (*round)(const Outline&, uint32_t k, uint32_t senders, Round& head, std::vector<Move>& moves) = nullptr;
  /// Replace the bytes of the moves in round k by the traffic of the links; null: links carry the moves.
  void (*traffic)(const Outline&, uint32_t k, Round& round) = nullptr;
  /// Program of a file that states the plan; the row has neither outline nor rounds. Do not call moves() then.
  const Program* program = nullptr;

  bool does(trace::CommType type) const { return type != trace::CommType::unknown && types >> unsigned(type) & 1; }
  /// O(members) for rows that need a grid, nodes or (times the links of routes) switches, otherwise O(1).
  bool can(const Operation& op, const Place& place) const;
  /// Return the plan. Requires can(op, place) and a root that is a member. O(rounds) if all members
  /// do the same, otherwise O(transfers), which a limit on pieces keeps below some tens of millions.
  Plan plan(const Operation& op, const Place& place) const;
  /// Return the blocks of round k of that plan. The plan's bytes are those of the blocks unless the row has `traffic`.
  std::vector<Move> moves(const Operation& op, const Place& place, uint32_t k) const;
};
extern const std::span<const AlgorithmRow> kAlgorithms;

const AlgorithmRow* find_algorithm(std::string_view name);  ///< null if unknown

/// An algorithm that a file states transfer by transfer, for one operation and groups of one size. Code
/// that makes a Program must prove that the program delivers the promised result of the operation.
struct Program {
  std::string name;  ///< the file, by the name in rules
  trace::CommType type = trace::CommType::all_reduce;
  uint32_t root = 0;                   ///< a member; for operations with a root
  uint64_t parts = 1;                  ///< number of parts into which Operation::bytes are cut
  uint64_t from = 0, to = UINT64_MAX;  ///< intended sizes: from <= Operation::bytes < to, UINT64_MAX: no end
  Plan plan;                           ///< bytes are numbers of parts
  AlgorithmRow row;                    ///< refers to this program

  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};
/// Set `row`. All other members of the program must be set before.
std::shared_ptr<const Program> finished(std::shared_ptr<Program> program);
/// Read the file that a rule names.
using ProgramReader = std::function<Result<std::shared_ptr<const Program>>(const std::string& file)>;

// ---- one member's part -------------------------------------------------------------------------------------

/// A transfer between a member and another member in a round. The moves
/// list the units in the order in which the bytes stand in the message.
struct PartTransfer {
  uint32_t other = 0;
  uint64_t bytes = 0;
  std::vector<Move> moves;
};

/// A round in which the member takes part. The part begins when the member has ended the previous part of
/// the lane, and part `after`; the part ends when all sends have left and all receives have arrived. Sends
/// take the units as of the beginning of the part; received units are combined or stored at the end.
struct Part {
  uint32_t round = 0, lane = 0;
  int32_t before = -1;  ///< the previous part of the lane, or -1
  int32_t after = -1;   ///< a part of another lane, or -1
  std::vector<PartTransfer> sends, receives;
};

/// Return all parts of a member in the plan of this algorithm, by round, with the blocks of
/// row.moves(). Requires row.can(op, place) and a member. Cost: O(moves of all members).
std::vector<Part> parts_of(const AlgorithmRow& row, const Operation& op, const Place& place, uint32_t member);

/// Return the bytes of a unit: Outline::unit_bytes, or the size in Operation::splits.
uint64_t unit_bytes(const Outline& outline, uint64_t unit);

// ---- selection -------------------------------------------------------------------------------------------

struct Rule {
  trace::CommType type = trace::CommType::all_reduce;
  uint64_t from = 0, to = UINT64_MAX;  ///< sizes from <= bytes < to; the largest `to` has no end
  const AlgorithmRow* algorithm = nullptr;
  bool alone = false;  ///< given without an operation: if the algorithm cannot run, the default runs

  bool covers(const Operation& op) const {
    return type == op.type && from <= op.bytes && (op.bytes < to || to == UINT64_MAX);
  }
};

/// Rules; the first rule that fits the operation and the place applies.
struct Selection {
  std::vector<Rule> rules;
  std::vector<std::shared_ptr<const Program>> programs;  ///< programs of the rules

  std::string describe() const;  ///< in the syntax of parse_selection(), one line per operation
};

/// Parse "allreduce: 0-64KiB tree, 64KiB- ring; alltoall: pairwise", on one line or several; `#` begins a
/// comment. Operations have the names of the schema, in any case, with or without "_" and "-". Sizes are
/// in B, KiB, MiB, GiB, TiB or KB, MB, GB, TB. An algorithm alone, "ring", applies to every operation
/// that the algorithm supports, after the rules of single operations. A name with a dot is a file, which
/// `read` converts to a program; the rule then applies to the intended sizes of the program. Errors, with
/// the line: coll.selection.syntax, .type, .algorithm, .size, and those of `read`. O(text and files).
Result<Selection> parse_selection(std::string_view text, std::string file = "collectives",
                                  const ProgramReader& read = {});

/// Return why no rule for the operation can run here; empty if one can, or if no rule exists. Cost: as by_rule().
std::string refusal(const Selection& selection, const Operation& op, const Place& place);

/// Return the algorithm of the first rule that can run, or null. The cost is that of AlgorithmRow::can.
const AlgorithmRow* by_rule(const Selection& selection, const Operation& op, const Place& place);

// ---- cost without other collectives -------------------------------------------------------------

/// A plan with the cost of its transfers at a place; refers to both. Price a plan once, and run as often as wanted.
struct PricedPlan {
  const Plan* plan = nullptr;
  Place place;
  /// Every member does the same at the same cost: members that begin together end together.
  bool alike = false;
  Picoseconds together_ps = 0;  ///< the duration in that case
  bool sampled = false;         ///< only a sample of the shifts was priced, and represents the others
  /// Time that the busiest link needs for all rounds beyond the time of the rounds in sequence:
  /// rounds of several lanes, or of members that do not wait for each other, meet there.
  double extra_ps = 0;

  static constexpr uint32_t kNotKept = UINT32_MAX;
  struct RoundCost {
    bool uniform = false;  ///< shift round: the same for all members
    uint32_t first = 0;    ///< uniform: into arrive_ps, one per shift; shift round: into fares, shift by shift one per
                           ///< member, or kNotKept; list: into fares, one per transfer
    double left_ps = 0;    ///< uniform: until all sends of a member have left
  };
  /// The cost of a transfer while the other transfers of the round are under way.
  struct Fare {
    double ps_per_byte = 0;  ///< list: of a transfer as a whole
    double latency_ps = 0;
  };
  std::vector<RoundCost> rounds;
  std::vector<double> arrive_ps;
  std::vector<Fare> fares;
  std::vector<double> ends_ps;  ///< if not `alike`: when each member ends if all begin at 0, without extra_ps
};
/// Price a plan. Each link is charged with all transfers of a round, under the fabric's routing (`adaptive`
/// counts as `spread`): a transfer ends when the busiest link of its route has carried all. `most` limits the
/// number of priced transfers, beyond which the result is nullopt; but exchanges among all members and shifts
/// round all members are priced for any number, by the busiest link or by a sample of the shifts. Cost: O(rounds)
/// if all members are equivalent in a network of dimensions, else O(different transfers x links of the routes), and
/// O(rounds x p) if the members differ and their costs repeat every p members. If that is large, and a part of the
/// work shows that all together take longer than `longest` ps, the result is also nullopt.
std::optional<PricedPlan> price(const Plan& plan, const Place& place, uint64_t most,
                                double longest = std::numeric_limits<double>::infinity());
PricedPlan price(const Plan& plan, const Place& place);

/// Compute when each member has finished the plan, without contention by other collectives. ready[i]: when
/// member i begins, within +-kLongestPs; overwritten with the end of member i; requires one per member. A
/// member ends a round when its sends have left and its receives have arrived, and then begins the next round
/// of the lane. A transfer arrives the latency of its route after leaving. Internally, times are doubles in
/// picoseconds since the earliest start, rounded once, at the end: no error accumulates over rounds (2^53 ps
/// are two and a half hours; beyond, the error is 1e-16 of the time). No end is later than kLongestPs. Cost:
/// O(members) if all begin together, otherwise O(transfers), a fraction of a nanosecond each in shift rounds.
void run_closed(const PricedPlan& plan, std::span<Picoseconds> ready);
void run_closed(const Plan& plan, const Place& place, std::span<Picoseconds> ready);

// ---- the least predicted time ------------------------------------------------------------------------------------

/// An examined option: an algorithm, with the members in the order of the group or in another order.
struct Candidate {
  const AlgorithmRow* algorithm = nullptr;
  bool near = false;     ///< in the order of near_order(), or
  bool by_grid = false;  ///< in the order of grid_order()
  /// When all members have finished if all begin at 0; nullopt if the prediction would have
  /// cost too much, or if the bytes or some members alone take longer than another candidate.
  std::optional<Picoseconds> predicted_ps;
  bool sampled = false;  ///< the prediction rests on a sample of the transfers
};

/// The chosen algorithm and plan of an operation.
struct Choice {
  const AlgorithmRow* algorithm = nullptr;
  /// Member p of the plan is member order[p] of the group; empty: member p.
  std::vector<uint32_t> order;
  Plan plan;
  bool by_rule = false;
  std::vector<Candidate> candidates;  ///< examined options, in the order of the table; one if a rule decided
};

/// Choose the algorithm of a rule if a rule fits. Otherwise, keep the algorithms that support the operation and take at
/// most 1.005 times the least predicted time (price()). In the order of the table, each is compared with the best so
/// far: the fewest rounds win if both keep a link busy, else the fewest transfers at a time. Requires a known type.
/// Cost: a plan and its price for each candidate; keep the result for operations that repeat.
Choice choose(const Selection& selection, const Operation& op, const Place& place);

/// Return the time of an operation, counted from the arrival of the last member, by the network's fits
/// (net::CollectiveFit); nullopt if no fit applies: another operation, uneven splits, or members that differ
/// in several dimensions, other than equally many on each of several nodes. O(members + nodes + fits).
std::optional<net::FittedTime> fitted_time(const Operation& op, const Place& place);

/// Return the members in an order in which neighbours are near: along a line of links there
/// and back; in a graph from each member to the nearest one left. Empty if the group already
/// has this order. Cost: O(members^2) paths for up to 256 members of a graph, else O(members).
std::vector<uint32_t> near_order(const Place& place);

/// Return the members in an order in which they fill a grid of two or more axes, and go along lines of links
/// there and back. Empty if the group already has this order, or fills no grid. O(members x axes x log members).
std::vector<uint32_t> grid_order(const Place& place);

/// A place and an operation for the plan of reordered members; holds the data that both refer to.
struct Reordered {
  Reordered(const Operation& op, const Place& place, std::span<const uint32_t> order);
  Reordered(const Reordered&) = delete;
  Reordered& operator=(const Reordered&) = delete;

  Operation op;
  Place place;

 private:
  std::vector<int64_t> ranks_;
  std::vector<uint64_t> splits_;
};

using trace::algorithm_factor;
using trace::bus_factor;

}  // namespace chakra::coll
