// Networks: which devices there are, which links join them, which way a message takes, what it costs. A
// Fabric comes from a file (docs/reference/formats/network.md): dimensions of regular topologies, whose links are
// numbered by arithmetic and never stored; a whole network that a row builds; or any graph. FluidNetwork and
// PacketNetwork carry messages over a Fabric where links are shared.
//
// Devices are numbered: ranks 0 .. size()-1 first, then switches. A link is one direction.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::net {

// ---- topologies: one dimension ---------------------------------------------------------------------

enum class TopologyKind : uint8_t { ring, switch_, fully_connected, mesh, torus };

/// What the places of a row are to each other.
enum class RowForm : uint8_t {
  ring,   ///< a circle: all alike; places half an even circle of more than two apart have two shortest routes
  star,   ///< all on one switch
  pairs,  ///< a link of its own from each place to each other
  line    ///< the places are not alike
};

/// A row of n ranks with places 0 .. n-1; place n is the row's switch, where it has one. All O(1), for n > 1.
struct TopologyRow {
  std::string_view name;  ///< as in the file
  std::string_view description;
  TopologyKind kind;
  RowForm form;

  bool has_switch() const { return form == RowForm::star; }
  /// Links that a message from rank a to rank b passes.
  int64_t (*hops)(int64_t a, int64_t b, int64_t n);
  /// Links of a row. They are numbered from 0 within it.
  int64_t (*links)(int64_t n);
  /// Where link 0 <= link < links(n) begins and ends.
  std::pair<int64_t, int64_t> (*ends)(int64_t link, int64_t n);
  /// The link from place a to place b, or -1 where none joins them.
  int64_t (*between)(int64_t a, int64_t b, int64_t n);
  /// Where a message from rank a to rank b != a goes first, and where it comes from last; the same at every place
  /// on its way.
  int64_t (*next)(int64_t a, int64_t b, int64_t n);
  int64_t (*previous)(int64_t a, int64_t b, int64_t n);
};
extern const std::array<TopologyRow, 5> kTopologies;

/// One dimension of the network.
struct Dimension {
  TopologyKind kind = TopologyKind::ring;
  int64_t ranks = 0;
  double gib_per_s = 0;   ///< of each link and direction; the file's GB/s, which are 2^30 bytes
  double latency_ns = 0;  ///< of each link

  double bytes_per_s() const { return gib_per_s * 1073741824.0; }
  Picoseconds latency_ps() const { return picoseconds(latency_ns * 1e-9); }
  const TopologyRow& topology() const { return kTopologies[static_cast<size_t>(kind)]; }
};

// ---- topologies: whole networks --------------------------------------------------------------------

/// A key of a network file that says how large a whole network is.
struct ShapeKey {
  std::string_view name;
  std::string_view meaning;
  int64_t least = 1;
  bool list = false;  ///< several numbers, else one
};
/// What a file says, by key.
using ShapeNumbers = std::span<const std::vector<int64_t>>;

/// What numbers come to. Doubles, so that no product overflows.
struct ShapeSize {
  double ranks = 0, switches = 0;
  double cables = 0;        ///< a link there and a link back each
  size_t cable_kinds = 0;   ///< entries of `bandwidth` and `latency`
  size_t switch_kinds = 0;  ///< entries of `reduction`; 0: the switches of this shape form no trees
  std::string wrong = {};   ///< why the numbers do not fit each other; empty: they do
};

struct ShapeBuilder;

/// A whole network: numbers in, switches and cables out.
struct ShapeRow {
  std::string_view name;  ///< as in the file
  std::string_view description;
  std::span<const ShapeKey> keys;
  std::string_view cable_kinds;   ///< in the order of `bandwidth` and `latency`
  std::string_view switch_kinds;  ///< in the order of `reduction`
  ShapeSize (*size)(ShapeNumbers numbers);
  /// Adds the switches and cables that size() counts. Cost: O(cables).
  void (*build)(ShapeNumbers numbers, ShapeBuilder& out);
  std::string_view example;  ///< a small one: the keys as a file has them, which the tests route
};
extern const std::span<const ShapeRow> kShapes;

/// The row of that name, or null.
const ShapeRow* find_shape(std::string_view name);

// ---- fitted collectives ----------------------------------------------------------------------------------------

/// Members of a collective: N of each of M nodes. Along one dimension alone: of one node.
struct Members {
  double per_node = 2, nodes = 1;

  double count() const { return per_node * nodes; }
};

/// What an algorithm does, in units that a fit can price: a form of NCCL's own model (time = latency + bytes / rate,
/// per algorithm and protocol), with the bytes that stay on a device beside those that leave it. S: bytes of the whole
/// buffer of a member, of gathers what it ends with.
struct CollectiveForm {
  std::string_view operation;  ///< as in the file: "all_reduce"
  std::string_view algorithm;
  double (*steps)(Members);       ///< inside nodes, one after the other
  double (*wire)(Members);        ///< of S, what a member sends inside its node
  double (*local)(Members);       ///< of S, what it copies on its own device beside that
  double (*node_steps)(Members);  ///< between nodes, one after the other
  double (*rail)(Members);        ///< of S, what a member sends to other nodes on its rail: a network card for each
};
extern const std::array<CollectiveForm, 8> kCollectiveForms;
/// Or null.
const CollectiveForm* find_collective_form(std::string_view operation, std::string_view algorithm);

/// One protocol: time = op + steps * step + node steps * node step + max(wire bytes / wire rate, rail bytes / rail
/// rate)
/// + local bytes / local rate. A rate of 0: such bytes cost nothing. What leaves a node passes beside what stays in it.
struct ProtocolFit {
  std::string name;
  double op_ns = 0, step_ns = 0;
  double wire_gib_per_s = 0, local_gib_per_s = 0;
  /// For each of CollectiveFit::ranks, up to which S it is taken; kAnySize: the least time decides. Empty: so for all.
  std::vector<uint64_t> up_to_bytes = {};
  // Across nodes.
  double node_step_ns = 0, rail_gib_per_s = 0;
  double peer_gib_per_s = 0;  ///< of an all-to-all: what one peer on another node gets at most; 0: the rail's rate

  static constexpr uint64_t kAnySize = UINT64_MAX;
  double time_ns(const CollectiveForm& form, Members members, double bytes) const;
};

/// What protocols leave of the measured times: measured / predicted at some sizes, ascending. Between two of them the
/// time is a straight line; outside the factor is that of the nearest one.
struct Correction {
  std::vector<uint64_t> bytes;
  std::vector<double> factors;
};

/// What one operation takes among members that differ in one dimension alone; or `across` nodes: the nodes' members
/// differ in dimension 0, the nodes in dimension 1.
struct CollectiveFit {
  const CollectiveForm* form = nullptr;
  uint32_t dimension = 0;
  bool across = false;
  std::vector<int64_t> ranks;                     ///< numbers of members (of a node) it was fitted to, ascending
  std::vector<int64_t> nodes;                     ///< likewise of nodes; empty: put together from parts, not measured
  uint64_t from_bytes = 0, to_bytes = 0;          ///< S it was fitted to
  double error_percent = -1, worst_percent = -1;  ///< on measurements that were kept out; -1: not said
  std::vector<ProtocolFit> protocols;             ///< by size: what is for small sizes first
  std::vector<Correction> corrections = {};       ///< for each of `ranks`, or empty; for these numbers of members alone
};

/// Who takes part in an operation that is looked up.
struct FitQuery {
  uint32_t dimension = 0;  ///< in which members of a node differ; across nodes it has no meaning
  int64_t per_node = 2, nodes = 1;
  bool across = false;
};
struct FittedTime {
  const CollectiveFit* fit = nullptr;
  const ProtocolFit* protocol = nullptr;
  double ns = 0;
  bool other_ranks = false;  ///< another number of members, or of nodes, than it was fitted to
  bool other_bytes = false;  ///< a size outside the fitted ones
};
/// What an operation takes, or none where no fit is for it. Of the numbers of members (and nodes) that were fitted, the
/// nearest one (by ratio) says which protocols there are. Of these, in the file's order, the least time is taken; but
/// where one has a limit that the size does not exceed, later ones are not asked. For numbers that were fitted the
/// fit's correction holds. O(fits), and O(log sizes) of a correction.
std::optional<FittedTime> fitted_time(std::span<const CollectiveFit> fits, std::string_view operation,
                                      const FitQuery& query, uint64_t bytes);

// ---- links and paths -------------------------------------------------------------------------------

using LinkId = uint32_t;
inline constexpr LinkId kNoLink = UINT32_MAX;

struct Link {
  uint32_t from = 0, to = 0;  ///< devices
  double bytes_per_s = 0;
  Picoseconds latency_ps = 0;
};

/// What a path of links costs. From a rank to itself: no link, no latency, no limit.
struct Path {
  Picoseconds latency_ps = 0;                                    ///< the sum of its links'
  double bytes_per_s = std::numeric_limits<double>::infinity();  ///< of its narrowest link
  LinkId first = kNoLink, last = kNoLink;
  uint32_t links = 0;

  bool operator==(const Path&) const = default;
};

/// Time to push `bytes` out at a rate; kLongestPs where it would not fit.
Picoseconds serialization(uint64_t bytes, double bytes_per_s);

/// What a switch does that combines the data of several ports (NVLink SHARP, Quantum SHARP).
struct Reduction {
  double bytes_per_s = 0;      ///< of each port and direction; 0: the switch only passes data on
  Picoseconds latency_ps = 0;  ///< added to each collective whose data pass the switch

  bool operator==(const Reduction&) const = default;
};

/// A link that is not like the others of its dimension.
struct OddLink {
  LinkId link = 0;
  double bytes_per_s = 0;
  Picoseconds latency_ps = 0;
};

struct Graph;

/// One coordinate of the ranks: a dimension, or a level of switches. `form`: what those that differ in it alone are.
struct Axis {
  int64_t extent = 1;
  RowForm form = RowForm::star;
  int64_t inner = 1;                                        ///< the product of the extents of the axes inside it
  std::shared_ptr<const std::vector<uint32_t>> table = {};  ///< the place of each rank, where numbers do not say it

  int64_t of(int64_t rank) const { return table ? (*table)[static_cast<size_t>(rank)] : rank / inner % extent; }
};

// ---- which way ---------------------------------------------------------------------------------------

/// Which routes are shortest: those of fewest links; or of least latency, and among these of fewest links; or of fewest
/// links between groups (Graph::groups), and among these of fewest links.
enum class Metric : uint8_t { hops, latency, groups };

/// Which of the shortest routes a message takes, or which detour (valiant.h).
enum class Routing : uint8_t { spread, ecmp, single, adaptive, valiant };
struct RoutingRow {
  std::string_view name;  ///< as in the file
  Routing kind;
  std::string_view description;
  std::string_view stands_for;  ///< in the field
};
extern const std::array<RoutingRow, 5> kRoutings;

struct RoutingOptions {
  Routing kind = Routing::spread;
  uint64_t seed = 0;      ///< of the hash of ecmp and valiant
  uint32_t channels = 1;  ///< ecmp, valiant: flows of a message, each with a hash of its own

  bool hashes() const { return kind == Routing::ecmp || kind == Routing::valiant; }
};
inline constexpr uint32_t kMostChannels = 256;

/// "ecmp", "ecmp,channels=4,seed=7". Errors: net.routing.
Result<RoutingOptions> parse_routing(std::string_view text);

/// Links that `spread` loads alike, as one (trunks.h), also for `adaptive` and `valiant`; with every other routing, and
/// in networks of dimensions, a link.
using TrunkId = LinkId;
struct Trunk {
  double bytes_per_s = 0;  ///< of all its links together
  Picoseconds latency_ps = 0;
  uint32_t links = 0;
};

/// A trunk on the way of a message, and the share of the message that passes it.
struct Use {
  TrunkId trunk = 0;
  double share = 1;
};

/// The ways of the parts of a message: part i takes links[first[i]] .. links[first[i + 1] - 1].
struct Ways {
  std::vector<LinkId> links;
  std::vector<uint32_t> first{0};
  std::vector<double> shares;  ///< of the message, by part; empty: all parts are equal

  size_t parts() const { return first.size() - 1; }
  double share(size_t part) const { return shares.empty() ? 1.0 / static_cast<double>(parts()) : shares[part]; }
  void clear() {
    links.clear();
    first.resize(1);
    shares.clear();
  }
};

/// Rank r stands in dimension d at place (r / (n_0 ... n_{d-1})) mod n_d. The ranks that differ in place d
/// alone are a row of dimension d, with links (and a switch) of its own. Messages are routed dimension by
/// dimension, inner first.
struct Fabric {
  std::vector<Dimension> dimensions = {};   ///< inner first; empty for a graph
  std::vector<OddLink> odd_links = {};      ///< by link, each once
  std::shared_ptr<const Graph> graph = {};  ///< of a network given as devices and links; shared, and safe to share
  RoutingOptions routing = {};
  /// Of every link: one that was idle passes this many bytes at once. What it may so pass grows at its rate while it
  /// carries less (a token bucket, as traffic shapers have it). FluidNetwork alone knows it.
  double burst_bytes = 0;
  std::vector<CollectiveFit> fits = {};  ///< measured collectives; only for networks of dimensions
  /// Of the switches of each dimension; in a graph of each switch. Empty: no switch reduces.
  std::vector<Reduction> reductions = {};

  int64_t size() const;  ///< ranks
  bool has(int64_t rank) const { return rank >= 0 && rank < size(); }
  /// Ranks and switches.
  int64_t devices() const;
  /// What people call a device: "3" is rank 3, "switch 0" the first switch; in a graph its own name.
  std::string device_name(uint32_t device) const;

  /// What a device reduces, or null where it does not. O(dimensions).
  const Reduction* reduction(int64_t device) const;

  /// Coordinates of the ranks, inner first: the dimensions; in a graph the levels of its shape, those that its file
  /// names, or what find_axes() sees. Empty where a graph has none.
  std::vector<Axis> axes() const;

  /// Links are 0 .. link_count()-1. Cost: O(dimensions).
  LinkId link_count() const;
  Link link(LinkId id) const;
  /// The link from one device to another, or kNoLink. Cost: O(dimensions); in a graph O(links of the device).
  LinkId link_between(int64_t from, int64_t to) const;

  /// The one route of Routing::single, whatever the routing is. Requires ranks. Cost: O(dimensions), and O(links of the
  /// path) in rows with odd links. In a graph O(links of the devices on the path), but for the first path to a rank,
  /// which finds the routes of all devices to it: O(links log devices).
  Path path(int64_t from, int64_t to) const;
  /// Appends the links of the path. Cost: O(dimensions + links of the path).
  void route(int64_t from, int64_t to, std::vector<LinkId>& out) const;

  /// Whether two ranks may be joined by several shortest routes. Cost: O(1).
  bool has_choice() const;
  /// Whether every message has one way only: under Routing::single, and where no two ranks have a choice, but for the
  /// detours of Routing::valiant. Cost: O(1).
  bool single_way() const {
    return routing.kind == Routing::single || (routing.kind != Routing::valiant && !has_choice());
  }
  /// Trunks are 0 .. trunk_count()-1.
  TrunkId trunk_count() const;
  Trunk trunk(TrunkId id) const;
  /// Appends its links. O(links).
  void links_of(TrunkId id, std::vector<LinkId>& out) const;
  /// Appends the trunks that a message uses under the routing, each once at most, and returns the latency until its
  /// last part is there. `flow`: what tells its flow from others of the same ranks, for ecmp. `adaptive`, which depends
  /// on what else is under way, counts as `spread`; `valiant` gives what is expected over all intermediates. Cost:
  /// O(links of the way) and that of the first path to a rank.
  Picoseconds uses(int64_t from, int64_t to, uint64_t flow, std::vector<Use>& out) const;
  /// Adds, by trunk, an exchange in which each rank sends one byte to each other, where a graph spreads messages over
  /// switches; elsewhere false. Cost: O(switches of ranks x (ranks + hops)).
  bool add_exchange(std::span<const int64_t> ranks, std::vector<double>& bytes) const;
  /// Kinds of trunks are 0 .. link_kinds()-1: in networks of dimensions a dimension's links, in a graph those that
  /// carry as much, as fast, as one trunk of as many links. O(dimensions).
  uint32_t link_kinds() const;
  uint32_t link_kind(TrunkId id) const;
  /// Of each kind, the sum of the rates of its trunks. O(dimensions + odd links), in a graph O(trunks).
  std::vector<double> rates_by_kind() const;
  /// What a message that is alone pays under the routing: the latency of uses(), and the rate at which its slowest part
  /// leaves. Only these two are filled in. Cost: as uses().
  Path alone(int64_t from, int64_t to, uint64_t flow = 0) const;
  /// The ways of the parts in which a message goes: with ecmp and valiant one per channel; with spread one per shortest
  /// route, with the shares of uses(), or, where there are more than `most`, that many equal parts on routes drawn by
  /// their shares from `turn` on; else one. `load`, for adaptive: how busy a link is; the way whose busiest link is the
  /// least busy is taken. Overwrites `out`.
  void ways(int64_t from, int64_t to, uint64_t flow, uint32_t most, uint64_t turn,
            const std::function<double(LinkId)>& load, Ways& out) const;

  /// What tells how these ranks stand to each other: two lists with equal placement have equal latencies,
  /// rates and numbers of links between their i-th and j-th members for all i and j, and these meet on as many links.
  /// Places relative to the first rank's, packed into one number; in networks whose ranks are not all alike, the ranks
  /// themselves.
  std::vector<int64_t> placement(std::span<const int64_t> ranks) const;

  /// "Ring of 8, 50 GiB/s (53.7 GB/s), 500 ns per link"; "FatTree of 128 ranks, 80 switches, 768 links".
  std::string describe() const;
};

/// `findings`: net.file.unknown_key for keys without effect.
/// Errors: net.file.key, net.file.value, net.file.link, net.graph.device, net.graph.link, net.graph.large,
/// net.graph.unreachable, and those of load_spec.
Result<Fabric> load_fabric(const std::string& path, Findings* findings = nullptr);
/// That the network has what its routing needs: valiant needs a graph with switches. Errors: net.routing.
Result<void> check_routing(const Fabric& fabric);
Result<Fabric> parse_fabric(const Spec& spec, Findings* findings = nullptr);

// ---- messages over shared links --------------------------------------------------------------------
// Both networks are driven alike, by a caller with events of its own:
//
//     for (;;) {
//       const Picoseconds next = its own next event, or kNever;
//       if (next == kNever && network.next_event_time() == kNever) break;
//       const Picoseconds now = network.advance_to(next, done);   // perhaps earlier than next
//       for (const Delivery& d : done) ... send(now, ...) ...     // done.clear()
//       if (now == next) its own events of this time ... send(now, ...) ...
//     }

inline constexpr Picoseconds kNever = INT64_MAX;

struct Message {
  int64_t from = 0, to = 0;  ///< ranks
  uint64_t bytes = 0;
  uint64_t token = 0;  ///< the caller's, given back in the Delivery
  uint64_t flow = 0;   ///< which flow between the two, for ecmp
};

struct Delivery {
  uint64_t token = 0;
  Picoseconds left_ps = 0;     ///< the last byte has left the sender
  Picoseconds arrived_ps = 0;  ///< the last byte is there

  bool operator==(const Delivery&) const = default;
};

/// What a link has carried, counted when a message is through.
struct LinkTotal {
  LinkId link = 0;
  uint64_t bytes = 0;
  Picoseconds busy_ps = 0;  ///< what the link needs for its bytes at its full rate

  bool operator==(const LinkTotal&) const = default;
};

/// Messages as flows that share links max-min fairly (fluid_solver.h). A flow holds all links of its path
/// until its last byte leaves; that arrives the path's latency later. Alone, a message costs what the closed
/// form says: bytes / narrowest rate, then the latency.
/// Cost: a start or an end is O(F H log L) for the F flows, H links each, L links in all, that share links with
/// it, directly or through others; starts and ends of one time are one.
class FluidNetwork {
 public:
  explicit FluidNetwork(const Fabric& fabric);  ///< the fabric must outlive it
  ~FluidNetwork();
  FluidNetwork(FluidNetwork&&) noexcept;
  FluidNetwork& operator=(FluidNetwork&&) noexcept;

  /// Requires that now is the time advanced to, or later but not after next_event_time().
  void send(Picoseconds now, const Message& message);
  /// When something happens next; kNever where nothing is under way. Rates are shared out anew in an event of
  /// its own, at the time of the sends; so send all messages of a time before advancing.
  Picoseconds next_event_time() const;
  /// Goes on to `time`, but stops after the first time at which messages are done. Appends a Delivery when the last
  /// byte of a message has left (arrived_ps may lie ahead), by time and then in the order of sending. Returns the time
  /// reached; with kNever and nothing under way, kNever.
  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& done);
  uint64_t events() const;  ///< starts and ends of flows
  /// By link. Cost: O(links log links).
  std::vector<LinkTotal> totals() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct PacketOptions {
  uint64_t packet_bytes = 4096;  ///< of all packets of a message but the last; 0: a message is one packet
  /// Report a message also when its last byte has left, with arrived_ps = kNever.
  bool report_left = false;
};

/// Messages as packets, stored and forwarded: a link pushes out one packet after the other, in the order in
/// which they come, and each arrives whole, the link's latency later, before it goes on. A sender puts one packet at a
/// time on a link, its messages by turns. At most a window of packets of a message is under way: what the path can hold
/// and one more, so that a message alone is never held up and queues stay short; that a packet has arrived is known to
/// its sender at once.
/// Cost: per packet and link one event, and one more at its sender; O(1) in all but the event queue.
class PacketNetwork {
 public:
  explicit PacketNetwork(const Fabric& fabric, PacketOptions options = {});  ///< the fabric must outlive it
  ~PacketNetwork();
  PacketNetwork(PacketNetwork&&) noexcept;
  PacketNetwork& operator=(PacketNetwork&&) noexcept;

  /// As in FluidNetwork, but that a message is done when its last packet has arrived, and that advance_to() stops
  /// after a million events, too, perhaps before others of that time.
  void send(Picoseconds now, const Message& message);
  Picoseconds next_event_time() const;
  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& done);
  uint64_t events() const;       ///< packets that came to the end of a link, and turns of senders
  uint64_t packet_hops() const;  ///< packets that came to the end of a link
  std::vector<LinkTotal> totals() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chakra::net
