// Networks: devices, the links that join the devices, the route of each message and its cost. A Fabric
// comes from a file (docs/reference/formats/network.md): dimensions of regular topologies, whose links
// are numbered by arithmetic and never stored; or a whole network that a shape builds (kShapes); or
// any graph. FluidNetwork and PacketNetwork carry messages over the shared links of a Fabric.
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
#include "chakra/net/history.h"  // IWYU pragma: export

namespace chakra::net {

// ---- topologies: one dimension ---------------------------------------------------------------------

enum class TopologyKind : uint8_t { ring, switch_, fully_connected, mesh, torus };

/// How the places of a row relate to each other.
enum class RowForm : uint8_t {
  ring,   ///< a circle of equivalent places; in an even circle of more than two, opposites have two shortest routes
  star,   ///< all places on one switch
  pairs,  ///< a separate link from each place to every other place
  line    ///< the places are not equivalent
};

/// A row of n > 1 ranks with places 0 .. n-1; place n is the row's switch, if any. All functions: O(1).
struct TopologyRow {
  std::string_view name;  ///< as in the file
  std::string_view description;
  TopologyKind kind;
  RowForm form;

  bool has_switch() const { return form == RowForm::star; }
  /// Return the number of links that a message from rank a to rank b passes.
  int64_t (*hops)(int64_t a, int64_t b, int64_t n);
  /// Return the number of links of a row. Links are numbered from 0 within the row.
  int64_t (*links)(int64_t n);
  /// Return the places where link 0 <= link < links(n) begins and ends.
  std::pair<int64_t, int64_t> (*ends)(int64_t link, int64_t n);
  /// Return the link from place a to place b, or -1 if no link joins the two places.
  int64_t (*between)(int64_t a, int64_t b, int64_t n);
  /// Return the first place on the route of a message from rank a to rank b != a, or the
  /// last place before b. Every place on the route, given as a, continues the same route.
  int64_t (*next)(int64_t a, int64_t b, int64_t n);
  int64_t (*previous)(int64_t a, int64_t b, int64_t n);
};
extern const std::array<TopologyRow, 5> kTopologies;

/// One dimension of the network.
struct Dimension {
  TopologyKind kind = TopologyKind::ring;
  int64_t ranks = 0;
  double gib_per_s = 0;   ///< of each link and direction, in the GB/s of the file, which are 2^30 bytes
  double latency_ns = 0;  ///< of each link

  double bytes_per_s() const { return gib_per_s * 1073741824.0; }
  Picoseconds latency_ps() const { return picoseconds(latency_ns * 1e-9); }
  const TopologyRow& topology() const { return kTopologies[static_cast<size_t>(kind)]; }
};

// ---- topologies: whole networks --------------------------------------------------------------------

/// A key of a network file that sets the size of a whole network.
struct ShapeKey {
  std::string_view name;
  std::string_view meaning;
  int64_t least = 1;
  bool list = false;  ///< several numbers instead of one
};
/// The numbers of a file, by key.
using ShapeNumbers = std::span<const std::vector<int64_t>>;

/// The size of a network, computed from the numbers. Doubles, so that no multiplication overflows.
struct ShapeSize {
  double ranks = 0, switches = 0;
  double cables = 0;        ///< each is one link per direction
  size_t cable_kinds = 0;   ///< number of entries of `bandwidth` and `latency`
  size_t switch_kinds = 0;  ///< number of entries of `reduction`; 0: the switches of this shape form no trees
  std::string wrong = {};   ///< why the numbers do not fit each other; empty: the numbers fit
};

struct ShapeBuilder;

/// A shape of whole networks: builds switches and cables from a few numbers.
struct ShapeRow {
  std::string_view name;  ///< as in the file
  std::string_view description;
  std::span<const ShapeKey> keys;
  std::string_view cable_kinds;   ///< in the order of `bandwidth` and `latency`
  std::string_view switch_kinds;  ///< in the order of `reduction`
  ShapeSize (*size)(ShapeNumbers numbers);
  /// Add the switches and cables that size() counts. Cost: O(cables).
  void (*build)(ShapeNumbers numbers, ShapeBuilder& out);
  std::string_view example;  ///< a small network, with the keys as in a file; the tests route this network
};
extern const std::span<const ShapeRow> kShapes;

/// Return the row of that name, or null.
const ShapeRow* find_shape(std::string_view name);

// ---- fitted collectives ----------------------------------------------------------------------------------------

/// Members of a collective: N on each of M nodes. Along one dimension alone, all members are on one node.
struct Members {
  double per_node = 2, nodes = 1;

  double count() const { return per_node * nodes; }
};

/// The work of an algorithm, in units that a fit can price: a form of NCCL's own model (time = latency + bytes /
/// rate, per algorithm and protocol). Bytes that stay on a device are counted separately from bytes that leave
/// the device. S: bytes of the whole buffer of a member; for gathers, of the buffer that a member ends with.
struct CollectiveForm {
  std::string_view operation;  ///< as in the file: "all_reduce"
  std::string_view algorithm;
  double (*steps)(Members);       ///< sequential steps inside nodes
  double (*wire)(Members);        ///< part of S that a member sends inside its node
  double (*local)(Members);       ///< part of S that a member copies on its own device in addition
  double (*node_steps)(Members);  ///< sequential steps between nodes
  double (*rail)(Members);        ///< part of S that a member sends to other nodes on its rail (a network card each)
};
extern const std::array<CollectiveForm, 8> kCollectiveForms;
/// Return the form, or null.
const CollectiveForm* find_collective_form(std::string_view operation, std::string_view algorithm);

/// One protocol: time = op + steps * step + node steps * node step + max(wire bytes /
/// wire rate, rail bytes / rail rate) + local bytes / local rate. A rate of 0 means that
/// such bytes cost no time. Traffic between nodes and traffic inside nodes overlap.
struct ProtocolFit {
  std::string name;
  double op_ns = 0, step_ns = 0;
  double wire_gib_per_s = 0, local_gib_per_s = 0;
  /// For each of CollectiveFit::ranks: the largest S for this protocol; kAnySize (or empty): the least time decides.
  std::vector<uint64_t> up_to_bytes = {};
  // Across nodes.
  double node_step_ns = 0, rail_gib_per_s = 0;
  double peer_gib_per_s = 0;  ///< for an all-to-all: the highest rate to one peer on another node; 0: the rail's rate

  static constexpr uint64_t kAnySize = UINT64_MAX;
  double time_ns(const CollectiveForm& form, Members members, double bytes) const;
};

/// The ratio measured / predicted by the protocols, at some sizes, ascending. Between two
/// sizes the time is linear; outside all sizes, the factor of the nearest size applies.
struct Correction {
  std::vector<uint64_t> bytes;
  std::vector<double> factors;
};

/// The fitted time of one operation among members that differ in one dimension alone; or
/// `across` nodes: the members of a node differ in dimension 0, the nodes in dimension 1.
struct CollectiveFit {
  const CollectiveForm* form = nullptr;
  uint32_t dimension = 0;
  bool across = false;
  std::vector<int64_t> ranks;                     ///< fitted numbers of members (of a node), ascending
  std::vector<int64_t> nodes;                     ///< likewise of nodes; empty: composed from parts, not measured
  uint64_t from_bytes = 0, to_bytes = 0;          ///< fitted range of S
  double error_percent = -1, worst_percent = -1;  ///< on held-out measurements; -1: not stated
  std::vector<ProtocolFit> protocols;             ///< by size: protocols for small sizes first
  std::vector<Correction> corrections = {};       ///< for each of `ranks`, or empty; valid for these numbers alone
};

/// The participants of an operation, for fitted_time().
struct FitQuery {
  uint32_t dimension = 0;  ///< in which the members of a node differ; ignored across nodes
  int64_t per_node = 2, nodes = 1;
  bool across = false;
};
struct FittedTime {
  const CollectiveFit* fit = nullptr;
  const ProtocolFit* protocol = nullptr;
  double ns = 0;
  bool other_ranks = false;  ///< the number of members, or of nodes, is not a fitted one
  bool other_bytes = false;  ///< the size lies outside the fitted range
};
/// Return the time of an operation, or nullopt if no fit covers the operation. Use the fits of the number of
/// members (and nodes) that is nearest by ratio. Among the protocols whose limit the size does not exceed, the
/// least time wins; the first such protocol with a limit, in the file's order, is the last one considered. The
/// fit's correction applies to fitted numbers of members only. Cost: O(fits), and O(log sizes) of a correction.
std::optional<FittedTime> fitted_time(std::span<const CollectiveFit> fits, std::string_view operation,
                                      const FitQuery& query, uint64_t bytes);

// ---- links and paths -------------------------------------------------------------------------------

inline constexpr LinkId kNoLink = UINT32_MAX;

struct Link {
  uint32_t from = 0, to = 0;  ///< devices
  double bytes_per_s = 0;
  Picoseconds latency_ps = 0;
};

/// The cost of a path of links. From a rank to itself: no link, no latency, no limit.
struct Path {
  Picoseconds latency_ps = 0;                                    ///< sum over the links
  double bytes_per_s = std::numeric_limits<double>::infinity();  ///< of the narrowest link
  LinkId first = kNoLink, last = kNoLink;
  uint32_t links = 0;

  bool operator==(const Path&) const = default;
};

/// Return the time to send `bytes` at a rate; kLongestPs if the time would overflow.
Picoseconds serialization(uint64_t bytes, double bytes_per_s);

/// The rate and latency of a switch that combines the data of several ports (NVLink SHARP, Quantum SHARP).
struct Reduction {
  double bytes_per_s = 0;      ///< of each port and direction; 0: the switch only passes data on
  Picoseconds latency_ps = 0;  ///< added to each collective whose data pass the switch

  bool operator==(const Reduction&) const = default;
};

/// A link that differs from the other links of its dimension.
struct OddLink {
  LinkId link = 0;
  double bytes_per_s = 0;
  Picoseconds latency_ps = 0;
};

struct Graph;

/// One coordinate of the ranks: a dimension, or a level of switches. `form` relates ranks that differ in that axis.
struct Axis {
  int64_t extent = 1;
  RowForm form = RowForm::star;
  int64_t inner = 1;                                        ///< product of the extents of all inner axes
  std::shared_ptr<const std::vector<uint32_t>> table = {};  ///< place of each rank, if arithmetic does not suffice

  int64_t of(int64_t rank) const { return table ? (*table)[static_cast<size_t>(rank)] : rank / inner % extent; }
};

// ---- routing -----------------------------------------------------------------------------------------

/// The metric of shortest routes: fewest links; or least latency, then fewest
/// links; or fewest links between groups (Graph::groups), then fewest links.
enum class Metric : uint8_t { hops, latency, groups };

/// The routing policy: which of the shortest routes a message takes, or which detour (valiant.h).
enum class Routing : uint8_t { spread, ecmp, single, adaptive, valiant };
struct RoutingRow {
  std::string_view name;  ///< as in the file
  Routing kind;
  std::string_view description;
  std::string_view stands_for;  ///< the routing of real networks that this policy represents
};
extern const std::array<RoutingRow, 5> kRoutings;

struct RoutingOptions {
  Routing kind = Routing::spread;
  uint64_t seed = 0;      ///< for the hash of ecmp and valiant
  uint32_t channels = 1;  ///< ecmp, valiant: flows per message, each with a separate hash

  bool hashes() const { return kind == Routing::ecmp || kind == Routing::valiant; }
};
inline constexpr uint32_t kMostChannels = 256;
/// Parse "ecmp" or "ecmp,channels=4,seed=7". Errors: net.routing.
Result<RoutingOptions> parse_routing(std::string_view text);

/// Links that `spread` loads equally, as one unit (trunks.h), also for `adaptive` and `valiant`.
/// With every other routing, and in networks of dimensions, a trunk is a single link.
using TrunkId = LinkId;
struct Trunk {
  double bytes_per_s = 0;  ///< sum over all links
  Picoseconds latency_ps = 0;
  uint32_t links = 0;
};

/// A trunk on the route of a message, and the share of the message that passes the trunk.
struct Use {
  TrunkId trunk = 0;
  double share = 1;
};

/// The routes of the parts of a message: part i takes links[first[i]] .. links[first[i + 1] - 1].
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

/// A network. Rank r stands in dimension d at place (r / (n_0 ... n_{d-1})) mod n_d. The
/// ranks that differ in place d alone form a row of dimension d; each row has separate
/// links (and a switch). Messages are routed dimension by dimension, inner first.
struct Fabric {
  std::vector<Dimension> dimensions = {};   ///< inner first; empty for a graph
  std::vector<OddLink> odd_links = {};      ///< by link, each once
  std::shared_ptr<const Graph> graph = {};  ///< of a network given as devices and links; shared, and safe to share
  RoutingOptions routing = {};
  /// A token bucket on every link: an idle link passes this many bytes at once. The allowance refills
  /// at the link's rate while the link carries less than its rate. Only FluidNetwork models bursts.
  double burst_bytes = 0;
  std::vector<CollectiveFit> fits = {};  ///< measured collectives; only for networks of dimensions
  /// Of the switches of each dimension; in a graph of each switch. Empty: no switch reduces.
  std::vector<Reduction> reductions = {};

  int64_t size() const;  ///< number of ranks
  bool has(int64_t rank) const { return rank >= 0 && rank < size(); }
  /// Return the number of ranks and switches.
  int64_t devices() const;
  /// Return the name of a device: "3" is rank 3, "switch 0" the first switch; in a graph, the device's own name.
  std::string device_name(uint32_t device) const;
  /// Return "leaf0 -> spine1".
  std::string link_name(LinkId link) const;

  /// Return the reduction of a device, or null if the device does not reduce. O(dimensions).
  const Reduction* reduction(int64_t device) const;

  /// Return the coordinates of the ranks, inner first: the dimensions; in a graph the levels of the shape,
  /// the levels that the file names, or the result of find_axes(). Empty if a graph has no coordinates.
  std::vector<Axis> axes() const;

  /// Return the number of links. Links are 0 .. link_count()-1. Cost: O(dimensions).
  LinkId link_count() const;
  Link link(LinkId id) const;
  /// Return the link from one device to another, or kNoLink. Cost: O(dimensions); in a graph O(links of the device).
  LinkId link_between(int64_t from, int64_t to) const;

  /// Return the one route of Routing::single, regardless of `routing`. Requires ranks. Cost: O(dimensions),
  /// and O(links of the path) in rows with odd links. In a graph O(links of the devices on the path), except
  /// for the first path to a rank, which finds the routes of all devices to that rank: O(links log devices).
  Path path(int64_t from, int64_t to) const;
  /// Append the links of the path. Cost: O(dimensions + links of the path).
  void route(int64_t from, int64_t to, std::vector<LinkId>& out) const;

  /// Return whether some ranks may be joined by several shortest routes. Cost: O(1).
  bool has_choice() const;
  /// Return whether every message has one route only: under Routing::single, or if no two
  /// ranks have a choice of routes, except for the detours of Routing::valiant. Cost: O(1).
  bool single_way() const {
    return routing.kind == Routing::single || (routing.kind != Routing::valiant && !has_choice());
  }
  /// Return the number of trunks. Trunks are 0 .. trunk_count()-1.
  TrunkId trunk_count() const;
  Trunk trunk(TrunkId id) const;
  /// Append the links of a trunk. O(links).
  void links_of(TrunkId id, std::vector<LinkId>& out) const;
  /// Append the trunks that a message uses under the routing, each at most once, and return the latency
  /// until the last part arrives. For ecmp, `flow` distinguishes flows between the same ranks.
  /// `adaptive`, which depends on concurrent traffic, counts as `spread`; `valiant` gives the expectation
  /// over all intermediates. Cost: O(links of the route) and that of the first path to a rank.
  Picoseconds uses(int64_t from, int64_t to, uint64_t flow, std::vector<Use>& out) const;
  /// Add, by trunk, the bytes of exchanges in which each rank sends one byte to each other rank of its row, if
  /// spreads_exchanges(). `ranks` lists rows of `extent` different ranks, one after the other. Cost: O(rows x switches
  /// of a row x (extent + hops)); rows that the network's symmetry maps onto each other count once.
  void add_exchanges(std::span<const int64_t> ranks, size_t extent, std::vector<double>& bytes) const;
  /// Return whether this is a graph that spreads messages over switches.
  bool spreads_exchanges() const;
  /// Return the number of kinds of trunks; kinds are 0 .. link_kinds()-1. In networks of dimensions, a dimension's
  /// links are one kind; in a graph, trunks of equal rate, latency and number of links are one kind. O(dimensions).
  uint32_t link_kinds() const;
  uint32_t link_kind(TrunkId id) const;
  /// Return, for each kind, the sum of the rates of its trunks. O(dimensions + odd links), in a graph O(trunks).
  std::vector<double> rates_by_kind() const;
  /// Return the cost of a message without other traffic under the routing: the latency of uses(),
  /// and the rate at which the slowest part leaves. Only these two members are set. Cost: as uses().
  Path alone(int64_t from, int64_t to, uint64_t flow = 0) const;
  /// Find the routes of the parts of a message. ecmp and valiant: one part per channel. spread: one
  /// part per shortest route, with the shares of uses(); above `most` routes, `most` equal parts on
  /// routes drawn by their shares from `turn` on. Otherwise one part. For adaptive, `load` returns
  /// how busy a link is; the route whose busiest link is the least busy wins. Overwrites `out`.
  void ways(int64_t from, int64_t to, uint64_t flow, uint32_t most, uint64_t turn,
            const std::function<double(LinkId)>& load, Ways& out) const;

  /// Return the placement of these ranks relative to each other. Two lists with equal placement have
  /// equal latencies, rates and numbers of links between the i-th and j-th members for all i and j, and
  /// the paths share equally many links. Places are relative to the first rank's place, packed into one
  /// number; in networks whose ranks are not all equivalent, the result is the ranks themselves.
  std::vector<int64_t> placement(std::span<const int64_t> ranks) const;

  /// Return "Ring of 8, 50 GiB/s (53.7 GB/s), 500 ns per link"; "FatTree of 128 ranks, 80 switches, 768 links".
  std::string describe() const;
};

/// Load a network file. `findings`: net.file.unknown_key for keys without effect. Errors: net.file.key, net.file.value,
/// net.file.link, net.graph.device, net.graph.link, net.graph.large, net.graph.unreachable, and those of load_spec.
Result<Fabric> load_fabric(const std::string& path, Findings* findings = nullptr);
/// Check the routing: valiant needs a graph with switches, not too many. Errors: net.routing, net.graph.large.
Result<void> check_routing(const Fabric& fabric);
Result<Fabric> parse_fabric(const Spec& spec, Findings* findings = nullptr);
/// Return the network as a file: a graph of devices and links, or InfraGraph with an XPU per rank. Findings:
/// net.file.lost. Errors: net.graph.large above 2^18 links; net.infragraph.direction for a way back that differs.
Result<std::string> to_graph_file(const Fabric& fabric, Findings& findings);
Result<std::string> to_infragraph_file(const Fabric& fabric, Findings& findings);

// ---- messages over shared links --------------------------------------------------------------------
// A caller with other events drives both networks in the same way:
//     for (;;) {
//       const Picoseconds next = next event of the caller, or kNever;
//       if (next == kNever && network.next_event_time() == kNever) break;
//       const Picoseconds now = network.advance_to(next, done);   // perhaps earlier than next
//       for (const Delivery& d : done) ... send(now, ...) ...     // done.clear()
//       if (now == next) the caller's events of this time ... send(now, ...) ...
//     }

inline constexpr Picoseconds kNever = INT64_MAX;

struct Message {
  int64_t from = 0, to = 0;  ///< ranks
  uint64_t bytes = 0;
  uint64_t token = 0;  ///< the caller's token, returned in the Delivery
  uint64_t flow = 0;   ///< distinguishes flows between the two ranks, for ecmp
};

struct Delivery {
  uint64_t token = 0;
  Picoseconds left_ps = 0;     ///< when the last byte leaves the sender
  Picoseconds arrived_ps = 0;  ///< when the last byte arrives

  bool operator==(const Delivery&) const = default;
};

/// Messages as flows that share links max-min fairly (fluid_solver.h). A flow holds all links of its path until the
/// last byte leaves; the last byte arrives the path's latency later. A message alone costs the closed form: bytes /
/// narrowest rate, then the latency. Cost: a start or an end is O(F H log L) for the F flows, H links each, L links in
/// all, that share links with the flow, directly or through others; the starts and ends of one time count as one.
class FluidNetwork {
 public:
  explicit FluidNetwork(const Fabric& fabric);  ///< the fabric must outlive it
  ~FluidNetwork();
  FluidNetwork(FluidNetwork&&) noexcept;
  FluidNetwork& operator=(FluidNetwork&&) noexcept;

  /// Send a message. Requires that `now` is the time advanced to, or later but not after next_event_time().
  void send(Picoseconds now, const Message& message);
  /// Send a message over these trunks, whatever its ranks; shares above 1: it stands for several. Requires no bursts.
  void send(Picoseconds now, const Message& message, std::span<const Use> route, Picoseconds latency);
  /// Return the time of the next event; kNever if no message is under way. The network recomputes the
  /// rates in a separate event at the time of the sends, so send all messages of a time before advancing.
  Picoseconds next_event_time() const;
  /// Advance to `time`, but stop after the first time at which messages are done. Append a Delivery
  /// when the last byte of a message has left (arrived_ps may lie ahead), by time and then in the
  /// order of sending. Return the time reached; with kNever and no message under way, kNever.
  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& done);
  uint64_t events() const;                ///< starts and ends of flows
  std::vector<LinkTotal> totals() const;  ///< the traffic by link; O(links log links)
  void keep_history();                    ///< for history(): costs O(links) for each change of a rate and packet
  LinkHistory history() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct PacketOptions {
  uint64_t packet_bytes = 4096;  ///< of all packets of a message but the last; 0: one packet per message
  /// Report a message also when its last byte has left, with arrived_ps = kNever.
  bool report_left = false;
};

/// Messages as packets, stored and forwarded. A link sends one packet after the other, in the order of arrival; each
/// packet arrives whole, the link's latency later, before the next link sends the packet. A sender puts one packet at a
/// time on a link and takes turns between messages. A window limits the packets of a message under way to the number
/// that the path can hold plus one: a message alone is never held up, and queues stay short. The sender learns of each
/// arrival at once. Cost: per packet and link one event, and one more at the sender; O(1) in all but the event queue.
class PacketNetwork {
 public:
  explicit PacketNetwork(const Fabric& fabric, PacketOptions options = {});  ///< the fabric must outlive it
  ~PacketNetwork();
  PacketNetwork(PacketNetwork&&) noexcept;
  PacketNetwork& operator=(PacketNetwork&&) noexcept;

  /// Send a message, as in FluidNetwork, with two differences: a message is done when its last packet has
  /// arrived, and advance_to() also stops after a million events, perhaps before other events of that time.
  void send(Picoseconds now, const Message& message);
  Picoseconds next_event_time() const;
  Picoseconds advance_to(Picoseconds time, std::vector<Delivery>& done);
  uint64_t events() const;       ///< packets that reached the end of a link, and turns of senders
  uint64_t packet_hops() const;  ///< packets that reached the end of a link
  std::vector<LinkTotal> totals() const;
  void keep_history();  ///< for history(): costs O(links) for each change of a rate and packet
  LinkHistory history() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chakra::net
