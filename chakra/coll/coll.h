// Collectives: (operation, where its members stand) -> Plan. A Plan is what the members send each other, in
// rounds. Each algorithm is one generator that says which blocks of data move in a round; the plan's bytes
// are counted from those blocks, and executing the blocks with symbols must leave every member with what the
// operation promises. A Selection says which algorithm is taken for which operation and size
// (docs/reference/collectives.md).
//
// Sizes. `bytes` is comm_size: for all-gather and gather what one member puts in, otherwise the whole buffer.
// A buffer that is cut into k units is padded to k * ceil(bytes / k), so that all units are equal. An operation
// of 0 bytes sends its messages all the same. Sums of bytes stay at 2^64 - 1 instead of overflowing.
#pragma once

#include <cstdint>
#include <functional>
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

/// What the members send each other at a time: the list, or, where it is empty, the same from every member.
/// Then member i, whose coordinate is c = (i / stride) mod extent, sends `bytes` to each of the members that
/// differ from it in that coordinate only, which is (c + shift + q * apart) mod extent for q = 0 .. shifts-1.
/// As a rule stride is 1 and extent all members, so that it is member (i + shift + q * apart) mod n. A shift of
/// 0: no member sends anything. A member has no part in a round in which it neither sends nor receives.
struct Round {
  uint32_t shift = 0, shifts = 1, apart = 1;
  uint32_t stride = 1, extent = 0;  ///< extent 0: all members; stride * extent divides the number of members
  uint64_t bytes = 0;               ///< of each transfer
  std::vector<Transfer> list;       ///< no member sends to another twice
  uint32_t lane = 0;                ///< a member runs the rounds of a lane one after the other
  /// An earlier round of another lane that a member must have finished before it begins this one, or -1. It is
  /// the last one of that lane listed before this one: "finished" is having done all listed there so far.
  int32_t after = -1;
  /// Of switches that reduce, else -1: bytes leave when all members of the row (of a list: all members) have begun, and
  /// each transfer takes this latency where that of its way is not longer.
  Picoseconds latency_ps = -1;

  bool together() const { return latency_ps >= 0; }
};

/// What a round of a program says beside its list.
struct Behind {
  /// Rounds of other lanes, each with a list, that a member with a part in them must also have finished.
  std::vector<int32_t> waits;
  uint32_t step = 0;  ///< rounds of equal steps are priced as if they were under way together
};

struct Plan {
  uint32_t members = 0, lanes = 1;
  std::vector<Round> rounds;
  std::vector<Behind> behind = {};  ///< by round; empty where no program states the plan

  std::span<const int32_t> waits(size_t round) const {
    return behind.empty() ? std::span<const int32_t>() : behind[round].waits;
  }
};

/// use(from, to, bytes) for each transfer of a member in a round without a list, in the order in which they leave.
template <class Use>
void each_transfer_of(const Plan& plan, const Round& round, uint32_t from, const Use& use) {
  if (round.shift == 0) return;
  const uint32_t extent = round.extent ? round.extent : plan.members;
  const uint32_t c = from / round.stride % extent;
  uint64_t to = c + uint64_t{round.shift};
  for (uint32_t q = 0; q < round.shifts; ++q, to += round.apart)
    use(from, static_cast<uint32_t>(from + (to % extent) * round.stride - uint64_t{c} * round.stride), round.bytes);
}
/// The same for all transfers of any round.
template <class Use>
void each_transfer(const Plan& plan, const Round& round, const Use& use) {
  for (const Transfer& t : round.list) use(t.from, t.to, t.bytes);
  if (!round.list.empty()) return;
  for (uint32_t from = 0; from < plan.members; ++from) each_transfer_of(plan, round, from, use);
}

/// The members of a round that turn among themselves: members that differ in its coordinate alone; of a list all.
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

/// Every member does the same by rotation or translation: no round is a list. O(rounds).
bool rotation_symmetric(const Plan& plan);

// ---- algorithms ------------------------------------------------------------------------------------------

struct Operation {
  trace::CommType type = trace::CommType::all_reduce;
  uint64_t bytes = 0;
  uint32_t root = 0;  ///< a member
  /// All-to-all with sizes of its own: n x n bytes, row = sender. Empty: even. What is 0 is not sent.
  std::span<const uint64_t> splits;
  /// Bytes that no part cuts: of an element where data are sent and summed. The parts are multiples of it.
  uint64_t element = 1;
};

/// An axis of the fabric along which members differ.
struct GridAxis {
  size_t axis = 0;  ///< into net::Fabric::axes()
  net::RowForm form = net::RowForm::star;
  uint32_t stride = 1, extent = 1;  ///< in members: member i is at at[i / stride % extent]
  std::vector<int64_t> at;
};
/// Members that are all combinations of some places on the fabric's axes, the first axis' fastest; empty where they are
/// not.
using Grid = std::vector<GridAxis>;

/// Where the members stand: member i is rank ranks[i] of the fabric.
struct Place {
  const net::Fabric* fabric = nullptr;
  std::span<const int64_t> ranks;
  uint64_t flow = 0;           ///< what tells the group's flows from others of the same ranks (net::Message::flow)
  const Grid* grid = nullptr;  ///< what grid_of() says of them, if it was asked already

  uint32_t members() const { return static_cast<uint32_t>(ranks.size()); }
};

/// The grid that members fill. Cost: O(members x axes); O(1) where the place knows it.
Grid grid_of(const Place& place);

/// Units of data that one member sends another in a round: block, block + step, ..., `count` of them. `reduce`:
/// they are combined with what the receiver has. What a unit is depends on the operation:
///   all-reduce, reduce, broadcast: a part of the buffer; reduce-scatter, scatter: likewise, and member i of n
///   ends with the i-th n-th of them; all-gather, gather: the i-th n-th of them is what member i puts in;
///   all-to-all: of the n * n parts of equal number, part origin * n + destination; barrier: unit i is the news
///   that member i has come.
struct Move {
  uint32_t from = 0, to = 0;
  uint64_t block = 0, count = 1, step = 1;
  bool reduce = false;
};

/// One dimension's part of the way of a lane's units through a grid of members: `rounds` rounds from `first` on.
struct Phase {
  enum class Kind : uint8_t { reduce_scatter, all_gather, exchange } kind = Kind::reduce_scatter;
  uint32_t dimension = 0;  ///< into Outline::grid
  uint32_t passed = 0;  ///< bit d: sums were made in dimension d before; a member has the blocks of its own place there
  uint32_t lane = 0;
  uint32_t slice = 0;  ///< the unit of each block
  bool down = false;   ///< round the ring downwards
  uint32_t first = 0, rounds = 0;
  int32_t after = -1;
};
/// What switches that reduce carry in place of the moves, as transfers between members. Those in `list`, or each member
/// to the next one.
struct SwitchTraffic {
  struct Load {
    uint32_t from = 0, to = 0;
    double units = 0;
  };
  std::vector<Load> list;
  double units = 0;            ///< of each, where there is no list
  double slowdown = 1;         ///< units are as many times as large where the switches are slower than the links
  Picoseconds way_ps = 0;      ///< the latency of the longest way
  Picoseconds latency_ps = 0;  ///< of the switches on it

  /// Of a round: the longest way and, in the round that sums, also the switches.
  Picoseconds latency_of(bool sums) const { return sums ? add_saturated(way_ps, latency_ps) : way_ps; }
};

struct GridDimension {
  uint32_t stride = 1, extent = 1;  ///< in members
  /// How members of a row send: round a ring, all at once, in log2(extent) rounds over growing distances, or as
  /// `direct` through switches that reduce.
  enum class Scheme : uint8_t { ring, direct, doubling, switches } scheme = Scheme::ring;
  SwitchTraffic switches = {};  ///< of a row
};
struct TreeEdge {
  uint32_t parent = 0, child = 0, tree = 0;
  uint32_t start = 0;  ///< step in which the first piece comes down it
};

/// An algorithm's parameters for one operation at one place.
struct Outline {
  trace::CommType type = trace::CommType::all_reduce;
  uint32_t members = 0, root = 0;
  uint32_t rounds = 0, lanes = 1;
  uint64_t units = 0, unit_bytes = 0;
  uint32_t pieces = 1;  ///< of pipelines; units of a block of a grid
  uint32_t steps = 0;   ///< of pipelined trees, one way
  std::vector<GridDimension> grid;
  std::vector<Phase> phases;
  std::vector<std::vector<uint32_t>> nodes;  ///< members of each node, the first `columns` of them columns
  uint32_t columns = 0;
  std::vector<TreeEdge> edges;
  std::span<const uint64_t> splits;
  SwitchTraffic switches;
};

/// The contract of every Plan: rounds of its lanes, each behind earlier ones, transfers between two of its members.
/// Cost: O(rounds); with CHAKRA_SLOW_ASSERTIONS also O(transfers).
void assert_whole(const Plan& plan);

struct Program;

struct AlgorithmRow {
  std::string_view name;
  std::string_view description;
  std::string_view cost;  ///< without contention: n members, S = bytes, latency L and rate B of a path
  uint32_t types = 0;     ///< bit t: does trace::CommType t
  bool splits = false;    ///< does all-to-all with sizes of its own, too
  /// What it needs of its place: members that fill a grid of two or more axes, several nodes of two members or more,
  /// switches that reduce and join all members as a tree, or a grid with such switches in one dimension or more.
  enum class Needs : uint8_t { nothing, grid, nodes, reduction, grid_reduction } needs = Needs::nothing;
  bool needs_grid() const { return needs == Needs::grid || needs == Needs::grid_reduction; }

  Outline (*outline)(const Operation&, const Place&) = nullptr;
  /// Appends what members 0 .. senders-1 send in round k, transfer by transfer, and sets head.lane and
  /// head.after. It sets head.extent (and stride) where all members do what member 0 does, moved; it may then
  /// be asked for member 0 alone.
  void (*round)(const Outline&, uint32_t k, uint32_t senders, Round& head, std::vector<Move>& moves) = nullptr;
  /// Puts what links carry in round k in place of the bytes of its moves; null: they carry these.
  void (*traffic)(const Outline&, uint32_t k, Round& round) = nullptr;
  /// A file states the plan; the row has neither outline nor rounds, and moves() is not for it.
  const Program* program = nullptr;

  bool does(trace::CommType type) const { return type != trace::CommType::unknown && types >> unsigned(type) & 1; }
  /// O(members) for those that need a grid, nodes or (times the links of ways) switches, otherwise O(1).
  bool can(const Operation& op, const Place& place) const;
  /// Requires can(op, place) and a root that is a member. O(rounds) where all members do alike, otherwise
  /// O(transfers), which a limit on pieces keeps below some tens of millions.
  Plan plan(const Operation& op, const Place& place) const;
  /// The blocks of round k of that plan; its bytes are theirs where the row has no traffic of its own.
  std::vector<Move> moves(const Operation& op, const Place& place, uint32_t k) const;
};
extern const std::span<const AlgorithmRow> kAlgorithms;

const AlgorithmRow* find_algorithm(std::string_view name);  ///< or null

/// An algorithm that a file states transfer by transfer, for one operation and groups of one size. Who makes one has
/// proven that it delivers what the operation promises.
struct Program {
  std::string name;  ///< the file, as rules name it
  trace::CommType type = trace::CommType::all_reduce;
  uint32_t root = 0;                   ///< a member; of operations with a root
  uint64_t parts = 1;                  ///< that Operation::bytes are cut into
  uint64_t from = 0, to = UINT64_MAX;  ///< sizes it is meant for: from <= Operation::bytes < to, UINT64_MAX: no end
  Plan plan;                           ///< its bytes are numbers of parts
  AlgorithmRow row;                    ///< refers to this program

  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};
/// Sets `row`, which every other member of a program must precede.
std::shared_ptr<const Program> finished(std::shared_ptr<Program> program);
/// Reads the file that a rule names.
using ProgramReader = std::function<Result<std::shared_ptr<const Program>>(const std::string& file)>;

// ---- one member's part -------------------------------------------------------------------------------------

/// What a member sends to another one, or gets from it, in a round. The moves say which units, in the order in which
/// their bytes stand in the message.
struct PartTransfer {
  uint32_t other = 0;
  uint64_t bytes = 0;
  std::vector<Move> moves;
};

/// A round in which the member has a part. It begins when the member has ended its part before in the lane, and part
/// `after`; it ends when all sends have left and all that comes has arrived. Sends take units as they are when it
/// begins; what comes is combined or stored when it ends.
struct Part {
  uint32_t round = 0, lane = 0;
  int32_t before = -1;  ///< the part before it in its lane, or -1
  int32_t after = -1;   ///< a part of another lane, or -1
  std::vector<PartTransfer> sends, receives;
};

/// All parts of a member in the plan of this algorithm, by round: what row.moves() moves.
/// Requires row.can(op, place) and a member. Cost: O(moves of all members).
std::vector<Part> parts_of(const AlgorithmRow& row, const Operation& op, const Place& place, uint32_t member);

/// Bytes of a unit: Outline::unit_bytes, or what Operation::splits says.
uint64_t unit_bytes(const Outline& outline, uint64_t unit);

// ---- which one -------------------------------------------------------------------------------------------

struct Rule {
  trace::CommType type = trace::CommType::all_reduce;
  uint64_t from = 0, to = UINT64_MAX;  ///< sizes from <= bytes < to; the largest `to` has no end
  const AlgorithmRow* algorithm = nullptr;
  bool alone = false;  ///< an algorithm without an operation: where it cannot run, the default does

  bool covers(const Operation& op) const {
    return type == op.type && from <= op.bytes && (op.bytes < to || to == UINT64_MAX);
  }
};

/// Rules; the first one that fits the operation and its place holds.
struct Selection {
  std::vector<Rule> rules;
  std::vector<std::shared_ptr<const Program>> programs;  ///< that rules refer to

  std::string describe() const;  ///< as parse_selection() reads it, one line per operation
};

/// "allreduce: 0-64KiB tree, 64KiB- ring; alltoall: pairwise", on one line or several, `#` begins a comment. Names of
/// operations as in the schema, in any case, with or without "_" and
/// "-". Sizes in B, KiB, MiB, GiB, TiB or KB, MB, GB, TB. An algorithm alone, "ring", is for every operation that it
/// can do, after what is said of each. A name with a dot is a file, which `read` makes a program of; the rule then
/// holds for the sizes that the program is meant for. Errors, with the line: coll.selection.syntax, .type, .algorithm,
/// .size, and those of `read`. O(text and files).
Result<Selection> parse_selection(std::string_view text, std::string file = "collectives",
                                  const ProgramReader& read = {});

/// Why no rule that names the operation can do it here; empty where one can, and where none does. Cost: as by_rule().
std::string refusal(const Selection& selection, const Operation& op, const Place& place);

/// The first rule's algorithm that can do it, or null. The cost is that of AlgorithmRow::can.
const AlgorithmRow* by_rule(const Selection& selection, const Operation& op, const Place& place);

// ---- what it costs alone ------------------------------------------------------------------------

/// A plan with what its transfers cost at a place; refers to both. Made once, run as often as wanted.
struct PricedPlan {
  const Plan* plan = nullptr;
  Place place;
  /// Every member does the same at the same cost: those that begin together end together.
  bool alike = false;
  Picoseconds together_ps = 0;  ///< how long it takes then
  bool sampled = false;         ///< some of its shifts were looked at, and stand for the others
  /// What the busiest link needs for all rounds beyond what the rounds one after the other take: rounds of several
  /// lanes, or of members that do not wait for each other, meet there.
  double extra_ps = 0;

  static constexpr uint32_t kNotKept = UINT32_MAX;
  struct RoundCost {
    bool uniform = false;  ///< shift round: the same for all members
    uint32_t first = 0;    ///< uniform: into arrive_ps, one per shift; shift round: into fares, shift by shift one per
                           ///< member, or kNotKept; list: into fares, one per transfer
    double left_ps = 0;    ///< uniform: until all that a member sends has left
  };
  /// What a transfer costs while the others of its round are under way.
  struct Fare {
    double ps_per_byte = 0;  ///< list: of a transfer as a whole
    double latency_ps = 0;
  };
  std::vector<RoundCost> rounds;
  std::vector<double> arrive_ps;
  std::vector<Fare> fares;
  std::vector<double> ends_ps;  ///< not alike: when each member ends if all begin at 0, without extra_ps
};
/// Each link is charged with all transfers of a round, under the fabric's routing (`adaptive` counts as `spread`): what
/// passes the busiest link of its way ends when that link has carried all. `most`: transfers to look at, beyond which
/// there is no answer; but exchanges among all members and shifts round all of them are priced for any number, by the
/// busiest link or by a sample of the shifts. Cost: O(rounds) where all members stand alike in a network of dimensions,
/// else O(different transfers x links of their ways).
std::optional<PricedPlan> price(const Plan& plan, const Place& place, uint64_t most);
PricedPlan price(const Plan& plan, const Place& place);

/// When each member has finished the plan, where no other collective contends. ready[i]: when member i begins, within
/// +-kLongestPs; overwritten with when it ends; requires one per member. A member ends a round when what it sent has
/// left and what it receives has arrived, and begins its next one of the lane then; what arrives has left, and then
/// takes the latency of its way. Inside, times are doubles in picoseconds since the earliest start, rounded once, at
/// the end: no error accumulates over rounds (2^53 ps are two and a half hours; beyond that the error is 1e-16 of the
/// time). No end is later than kLongestPs. Cost: O(members) if all begin together, otherwise O(transfers), a fraction
/// of a nanosecond each in shift rounds.
void run_closed(const PricedPlan& plan, std::span<Picoseconds> ready);
void run_closed(const Plan& plan, const Place& place, std::span<Picoseconds> ready);

// ---- the least predicted time ------------------------------------------------------------------------------------

/// What was looked at: an algorithm, with the members as the group lists them or in another order.
struct Candidate {
  const AlgorithmRow* algorithm = nullptr;
  bool near = false;     ///< in that of near_order(), or
  bool by_grid = false;  ///< in that of grid_order()
  /// When all have finished if all begin at 0; none where looking would have cost too much, or where the bytes alone
  /// take longer than another candidate.
  std::optional<Picoseconds> predicted_ps;
  bool sampled = false;  ///< the prediction rests on a sample of the transfers
};

/// What an operation is done with.
struct Choice {
  const AlgorithmRow* algorithm = nullptr;
  /// Member p of the plan is member order[p] of the group; empty: member p.
  std::vector<uint32_t> order;
  Plan plan;
  bool by_rule = false;
  std::vector<Candidate> candidates;  ///< what was looked at, in the order of the table; one if a rule said which
};

/// A rule's algorithm where one fits; else, of all algorithms that can do it, the one of the least predicted time
/// (price()), and among those that take up to `close` times as long the one with the fewest transfers at a time.
/// Requires a known type. Cost: that of a plan and its price for each candidate; keep the answer for operations that
/// repeat.
Choice choose(const Selection& selection, const Operation& op, const Place& place, double close = 1.005);

/// What the network's fits (net::CollectiveFit) say that an operation takes from when the last member has come, or none
/// where they say nothing: another operation, uneven splits, members that differ in several dimensions other than as
/// many of each of several nodes. O(members + nodes + fits).
std::optional<net::FittedTime> fitted_time(const Operation& op, const Place& place);

/// The members in an order in which those that follow each other are near: along a line of links there and back, in a
/// graph from each to the nearest one that is left. Empty where the group lists them so already. Cost: O(members^2)
/// paths for up to 256 members of a graph, else O(members).
std::vector<uint32_t> near_order(const Place& place);

/// The members in an order in which they fill a grid of two or more axes, and go along lines of links there and back.
/// Empty where the group lists them so already, and where they fill none. O(members x axes x log members).
std::vector<uint32_t> grid_order(const Place& place);

/// A place and an operation as a plan for reordered members sees them; keeps what they refer to.
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
