// Random jobs on random networks whose links are shared now and then: collectives, messages, bursts after compute,
// several routes, oversubscribed trees.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "chakra/net/testing/graphs.h"
#include "chakra/sim/sim.h"
#include "chakra/trace/testing/small_job.h"

namespace chakra::sim::testing {

class CongestedJob {
 public:
  /// `brief`: messages of up to 128 KiB, of which the latency is a large part.
  explicit CongestedJob(uint64_t seed, bool brief = false) : random_(seed), brief_(brief) {}

  SimInput make() {
    SimInput in;
    in.fabric = network();
    ranks_ = in.fabric.size();
    job_ = trace::testing::Job(static_cast<size_t>(ranks_));
    last_.assign(static_cast<size_t>(ranks_), {});
    grid();
    const int64_t steps = random_.between(1, 6);
    const uint64_t family = random_.below(6);
    name_ += fmt::format(", family {}, {} steps", family, steps);
    for (int64_t s = 0; s < steps; ++s) switch (family) {
        case 0: bursts(); break;
        case 1: scattered_messages(); break;
        case 2: overlapped(); break;
        case 3: incast(); break;
        case 4: world(); break;
        default: mixed(); break;
      }
    in.job = job_.finish();
    in.groups = groups_;
    return in;
  }
  const std::string& name() const { return name_; }

 private:
  using Deps = std::vector<trace::NodeId>;

  static net::Fabric parse(const std::string& text) { return *net::parse_fabric(*parse_spec(text, "network")); }
  template <class T>
  T one_of(std::initializer_list<T> of) {
    return of.begin()[random_.below(of.size())];
  }

  net::Fabric network() {
    net::Fabric fabric;
    const double gib = one_of({25.0, 50.0, 100.0}), ns = brief_ ? one_of({100.0, 500.0, 1000.0, 3000.0}) : 500;
    switch (random_.below(7)) {
      case 0: fabric = {{{net::TopologyKind::ring, random_.between(4, 16), gib, ns}}}; break;
      case 1: fabric = {{{net::TopologyKind::switch_, random_.between(4, 24), gib, ns}}}; break;
      case 2:
        fabric = {
            {{one_of({net::TopologyKind::ring, net::TopologyKind::switch_, net::TopologyKind::fully_connected}),
              one_of<int64_t>({2, 4, 8}), 300, 300},
             {one_of({net::TopologyKind::ring, net::TopologyKind::switch_}), random_.between(2, 6), gib, 2 * ns}}};
        break;
      case 3: fabric = {{{net::TopologyKind::torus, 4, gib, ns}, {net::TopologyKind::torus, 4, gib, ns}}}; break;
      case 4: {
        const int64_t down = one_of<int64_t>({2, 4, 8}), leaves = random_.between(2, 8);
        const int64_t up = one_of<int64_t>({1, 2, down, down});
        name_ = fmt::format("down {} x {} up {}", down, leaves, up);
        fabric = parse(fmt::format("topology: FatTree\ndown: [{}, {}]\nup: [1, {}]\nbandwidth: {}\nlatency: {}\n", down,
                                   leaves, up, gib, ns));
        break;
      }
      case 5: fabric = parse(net::testing::fat_tree(4)); break;
      default: fabric = parse(graph()); break;
    }
    if (random_.chance(0.3)) fabric.routing.kind = net::Routing::ecmp;
    if (random_.chance(0.15)) fabric.routing.kind = net::Routing::single;
    fabric.routing.seed = random_.next();
    if (fabric.routing.kind == net::Routing::ecmp) fabric.routing.channels = one_of({1u, 2u, 8u});
    name_ += " " + fabric.describe() + (fabric.routing.kind == net::Routing::ecmp ? " ecmp" : "");
    return fabric;
  }

  /// Ranks on switches at random, switches joined at random.
  std::string graph() {
    const int64_t ranks = random_.between(4, 16), switches = random_.between(2, 6);
    std::set<std::pair<int64_t, int64_t>> joined;
    for (int64_t r = 0; r < ranks; ++r) joined.insert({r, ranks + random_.between(0, switches - 1)});
    for (int64_t s = 1; s < switches; ++s) joined.insert({ranks + random_.between(0, s - 1), ranks + s});
    for (int64_t i = random_.between(0, switches); i-- > 0;)
      if (const auto [a, b] =
              std::minmax({ranks + random_.between(0, switches - 1), ranks + random_.between(0, switches - 1)});
          a != b)
        joined.insert({a, b});
    std::string text = fmt::format("ranks: {}\nswitches: {}\nlinks:\n", ranks, switches);
    for (const auto& [a, b] : joined) net::testing::link(text, std::to_string(a), std::to_string(b), 50, 500);
    return text;
  }

  /// Rows and columns of ranks, and the world.
  void grid() {
    row_ = 1;
    for (int64_t n = 2; n < ranks_; ++n)
      if (ranks_ % n == 0 && (row_ == 1 || random_.chance(0.4))) row_ = n;
    std::vector<int64_t> world(static_cast<size_t>(ranks_));
    std::iota(world.begin(), world.end(), int64_t{0});
    for (const int64_t r : world) {
      groups_[fmt::format("row{}", r / row_)].push_back(r);
      groups_[fmt::format("column{}", r % row_)].push_back(r);
    }
    groups_["world"] = world;
  }
  std::string group(int64_t rank, int kind) const {
    return kind == 0 ? fmt::format("row{}", rank / row_) : kind == 1 ? fmt::format("column{}", rank % row_) : "world";
  }

  Picoseconds time(double most_us) {
    return static_cast<Picoseconds>(random_.below(static_cast<uint64_t>(most_us * (brief_ ? 1e3 : 1e6))) + 1);
  }
  uint64_t size() {
    if (brief_) return random_.below(uint64_t{1} << random_.between(6, 17)) + 1;
    return uint64_t{1} << random_.between(14, 27);
  }
  trace::CommType operation() {
    using trace::CommType;
    return one_of({CommType::all_reduce, CommType::all_reduce, CommType::all_gather, CommType::reduce_scatter,
                   CommType::all_to_all, CommType::broadcast});
  }
  void compute(size_t r, Picoseconds dur) { last_[r] = {job_.compute(r, dur, last_[r])}; }
  trace::NodeId collective(size_t r, trace::CommType type, uint64_t bytes, int kind) {
    const trace::NodeId n = job_.collective(r, type, bytes, last_[r], group(static_cast<int64_t>(r), kind).c_str());
    trace::Comm& comm = job_.builders[r].comm(n);
    if (type == trace::CommType::broadcast) comm.root = groups_.at(group(static_cast<int64_t>(r), kind))[0];
    return n;
  }

  /// All compute as long, or nearly, then each row or column has a collective.
  void bursts() {
    const Picoseconds dur = time(20000), apart = random_.chance(0.5) ? 0 : dur / 10;
    const int kind = static_cast<int>(random_.below(2));
    const trace::CommType type = operation();
    const uint64_t bytes = size();
    for (size_t r = 0; r < last_.size(); ++r) {
      compute(r, dur + (apart ? static_cast<Picoseconds>(random_.below(static_cast<uint64_t>(apart) + 1)) : 0));
      last_[r] = {collective(r, type, bytes, kind)};
    }
  }

  void send(size_t from, size_t to, uint64_t bytes, bool blocks) {
    const int64_t tag = tag_++;
    const trace::NodeId s =
        job_.message(from, trace::NodeType::send, static_cast<int64_t>(to), bytes, last_[from], tag);
    const trace::NodeId n = job_.message(to, trace::NodeType::recv, static_cast<int64_t>(from), bytes, last_[to], tag);
    if (blocks) last_[from] = {s};
    last_[to].push_back(n);
  }
  void scattered_messages() {
    for (size_t r = 0; r < last_.size(); ++r) compute(r, time(3000));
    for (int64_t i = random_.between(1, ranks_); i-- > 0;) {
      const auto from = static_cast<size_t>(random_.between(0, ranks_ - 1));
      const auto to = static_cast<size_t>(random_.between(0, ranks_ - 1));
      if (from != to) send(from, to, size(), random_.chance(0.5));
    }
  }

  /// Gradients of a layer while the next one is computed, whose activations are reduced in rows.
  void overlapped() {
    const Picoseconds dur = time(5000);
    const uint64_t gradients = size(), activations = size();
    for (size_t r = 0; r < last_.size(); ++r) {
      compute(r, dur);
      const trace::NodeId behind = collective(r, trace::CommType::reduce_scatter, gradients, 1);
      if (random_.chance(0.9)) last_[r] = {collective(r, trace::CommType::all_reduce, activations, 0)};
      else skipped_.push_back(r);
      behind_.push_back({r, behind});
    }
    // All members of a row reduce, or none would end.
    for (const size_t r : skipped_) last_[r] = {collective(r, trace::CommType::all_reduce, activations, 0)};
    skipped_.clear();
    if (random_.chance(0.3)) {
      for (const auto& [r, n] : behind_) last_[r].push_back(n);
      behind_.clear();
    }
  }

  void incast() {
    const auto to = static_cast<size_t>(random_.between(0, ranks_ - 1));
    const uint64_t bytes = size();
    const Picoseconds apart = random_.chance(0.5) ? 0 : time(20000);
    for (size_t r = 0; r < last_.size(); ++r) {
      compute(r, 1'000'000 + apart * static_cast<Picoseconds>(r));
      if (r != to && random_.chance(0.8)) send(r, to, bytes, true);
    }
  }

  /// One collective of all, that all reach at their own time.
  void world() {
    const trace::CommType type = operation();
    const uint64_t bytes = size();
    const double most = one_of({1.0, 500.0, 5000.0});
    for (size_t r = 0; r < last_.size(); ++r) {
      compute(r, time(most));
      last_[r] = {collective(r, type, bytes, 2)};
    }
  }

  /// A pipeline through rows, whose members reduce, and gradients in columns.
  void mixed() {
    const uint64_t activations = size(), gradients = size();
    const Picoseconds dur = time(2000);
    for (size_t r = 0; r < last_.size(); ++r) {
      compute(r, dur);
      last_[r] = {collective(r, trace::CommType::all_reduce, activations, 0)};
      if (static_cast<int64_t>(r) + row_ < ranks_) send(r, r + static_cast<size_t>(row_), activations, false);
    }
    if (random_.chance(0.5))
      for (size_t r = 0; r < last_.size(); ++r)
        last_[r].push_back(collective(r, trace::CommType::all_reduce, gradients, 1));
  }

  Prng random_;
  bool brief_ = false;
  std::string name_;
  int64_t ranks_ = 0, row_ = 1, tag_ = 0;
  trace::testing::Job job_{0};
  std::vector<Deps> last_;  ///< per rank: what its next node waits for
  std::vector<std::pair<size_t, trace::NodeId>> behind_;
  std::vector<size_t> skipped_;
  match::GroupTable groups_;
};

}  // namespace chakra::sim::testing
