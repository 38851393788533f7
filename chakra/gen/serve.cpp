// A job of serving: the trace of each pipeline stage, and which rank is in which.
#include <fmt/core.h>

#include <array>
#include <map>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/base/real.h"
#include "chakra/gen/recipe.h"
#include "chakra/gen/serve_plan.h"
#include "chakra/gen/stage.h"
#include "chakra/trace/roles.h"

namespace chakra::gen {
namespace {

using trace::ClassJob;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;

// Tags of messages, by what they are.
constexpr int64_t kActivations = 0, kTokens = 1, kCache = 2;
constexpr Neighbour kNextStage{Axis::pp, 1}, kStageBefore{Axis::pp, -1};

/// The nodes of the ranks of a stage that have these links.
class ServeStage {
 public:
  ServeStage(const ServePlan& plan, size_t side, int64_t stage, const Links& links)
      : p_(plan), side_(plan.sides[side]), stage_(stage), links_(links), n_(plan.rates, side_.prefix) {}

  Result<StageTrace> build() {
    n_.describe_rates();
    if (p_.separate() && !prefills()) receive_cache();
    for (size_t i = 0; i < side_.passes.size(); ++i) {
      CHAKRA_TRY(keep_going());
      const ServePass& pass = side_.passes[i];
      const std::vector<Unit> units = p_.units(side_.mesh, pass);
      begin(i, units);
      schedule(pass);
      if (stage_ == 0) run(pass, "embedding", units[units.size() - 2]);
      fetch(pass, first(), n_.computed());
      for (int64_t layer = first(); layer < end(); ++layer) this->layer(pass, layer, units);
      if (last_stage()) run(pass, "head", units.back());
      finish(i, units);
    }
    if (n_.too_large())
      return fail(Code::usage, "gen.serve.large", "the FLOPs, bytes or duration of a node exceed the range of a trace");
    return StageTrace{n_.take(), n_.peers()};
  }

 private:
  bool prefills() const { return &side_ == &p_.sides[0]; }
  int64_t first() const { return side_.first_layers[static_cast<size_t>(stage_)]; }
  int64_t end() const { return side_.first_layers[static_cast<size_t>(stage_) + 1]; }
  bool last_stage() const { return stage_ + 1 == side_.stages(); }
  static const char* phase(const ServePass& pass) { return pass.decode ? "decode" : "prefill"; }
  const std::vector<Link>& links(int64_t layer) const { return links_.layers[static_cast<size_t>(layer - first())]; }

  void run(const ServePass& pass, const std::string& part, const Unit& unit) {
    if (unit.forward.empty()) return;
    StageNodes::Labels& labels = labels_[{pass.decode, part}];
    if (labels.names.empty()) labels = n_.labels(unit.forward, fmt::format("{}.{}", phase(pass), part));
    n_.run(unit.forward, labels);
  }

  /// What a pass takes in: activations of the stage before, or words that the last stage has chosen.
  void begin(size_t i, const std::vector<Unit>& units) {
    const NodeId free = ends_.size() < 2 ? kNoNode : ends_[ends_.size() - 2];  // one buffer is filled while one is used
    if (stage_ > 0)
      return n_.wait(n_.message(n_.intern("recv activations"), NodeType::recv, StageNodes::kReceiveForward,
                                kStageBefore, kActivations, units[0].passed, free));
    const ServePass& pass = side_.passes[i];
    if (!pass.decode) return;
    for (const NodeId node : chosen_) n_.wait(node);
    chosen_.clear();
    if (side_.stages() == 1) return;
    for (; asked_ < i; ++asked_)
      if (const double ends = side_.passes[asked_].ends; ends > 0)
        n_.wait(n_.message(n_.intern("recv tokens"), NodeType::recv, StageNodes::kReceiveBackward, kStageBefore,
                           kTokens, kTokenBytes * ends, free));
  }

  /// Which sequences are next, their numbers, and what was chosen.
  void schedule(const ServePass& pass) {
    double sequences = 0;
    for (const Reach& reach : pass.reaches) sequences += reach.count;
    const auto ns = p_.o.pass_ns + static_cast<int64_t>(sequences * real(p_.o.sequence_ns));
    if (ns > 0 && stage_ == 0) n_.host_works(fmt::format("{}.schedule", phase(pass)), ns);
  }

  void finish(size_t i, const std::vector<Unit>& units) {
    const ServePass& pass = side_.passes[i];
    if (!last_stage()) {
      n_.message(n_.intern("send activations"), NodeType::send, StageNodes::kSendForward, kNextStage, kActivations,
                 units[0].passed, n_.computed());
    } else if (pass.ends > 0) {
      if (side_.stages() > 1 && i + 1 < side_.passes.size() && side_.passes.back().decode)
        n_.message(n_.intern("send tokens"), NodeType::send, StageNodes::kSendBackward, kNextStage, kTokens,
                   kTokenBytes * pass.ends, n_.computed());
      if (p_.separate() && prefills())
        for (const Link& link : links_.tokens)
          n_.message(n_.intern("send first tokens"), NodeType::send, StageNodes::kSendBackward,
                     {Axis::pp, link.peer, true}, kTokens, p_.token_bytes(link, pass), n_.computed());
    }
    ends_.push_back(n_.computed());
  }

  void layer(const ServePass& pass, int64_t layer, const std::vector<Unit>& units) {
    const NodeId start = n_.computed();
    for (const NodeId node : received_[layer]) n_.wait(node);
    received_[layer].clear();
    if (fetched_ != kNoNode) n_.wait(std::exchange(fetched_, kNoNode));
    const auto kind = static_cast<size_t>(p_.o.model.layers[static_cast<size_t>(layer)]);
    run(pass, fmt::format("layer{}", layer), units[kind]);
    if (p_.separate() && prefills()) send_cache(pass, layer);
    evict(pass, layer);
    fetch(pass, layer + 1, start);
  }

  // ---- the cache: to ranks that decode, and in a tier ----------------------------------------------------------

  void send_cache(const ServePass& pass, int64_t layer) {
    for (const Link& link : links(layer))
      if (const double bytes = p_.cache_bytes(link, pass, p_.attention(layer)); bytes > 0)
        n_.message(n_.intern(fmt::format("send cache.layer{}", layer)), NodeType::send, StageNodes::kContextSend,
                   {Axis::pp, link.peer, true}, kCache, bytes, n_.computed());
  }

  void receive_cache() {
    for (const ServePass& pass : p_.sides[0].passes)
      for (int64_t layer = first(); layer < end(); ++layer)
        for (const Link& link : links(layer))
          if (const double bytes = p_.cache_bytes(link, pass, p_.attention(layer)); bytes > 0)
            received_[layer].push_back(n_.message(n_.intern(fmt::format("recv cache.layer{}", layer)), NodeType::recv,
                                                  StageNodes::kContextReceive, {Axis::pp, link.peer, true}, kCache,
                                                  bytes, kNoNode));
    for (const ServePass& pass : p_.sides[0].passes)
      if (pass.ends > 0)
        for (const Link& link : links_.tokens)
          chosen_.push_back(n_.message(n_.intern("recv first tokens"), NodeType::recv, StageNodes::kReceiveBackward,
                                       {Axis::pp, link.peer, true}, kTokens, p_.token_bytes(link, pass), kNoNode));
  }

  double tier_bytes(int64_t layer, double tokens) const {
    const double width = p_.cache_width(p_.attention(layer), side_.mesh);
    return p_.o.kv_tier_share * tokens * width * p_.cache_element();
  }

  /// What a layer will read of earlier tokens, while the layer before it runs. Latent attention has them expanded
  /// while a prompt goes in.
  void fetch(const ServePass& pass, int64_t layer, NodeId after) {
    if (layer >= end() || p_.o.kv_tier.empty()) return;
    const Attention& a = p_.attention(layer);
    if (!pass.decode && p_.o.absorbed && a.kv_rank > 0) return;
    const double bytes = tier_bytes(layer, tokens_read(pass, a) - pass.tokens);
    const auto found = evicted_.find(layer);
    const NodeId evicted = found == evicted_.end() ? kNoNode : found->second;
    if (bytes > 0)
      fetched_ = n_.storage(n_.intern(fmt::format("{}.layer{}.cache.fetch", phase(pass), layer)), NodeType::mem_load,
                            {p_.o.kv_tier, "kv_fetch", bytes}, std::array{after, evicted});
  }
  void evict(const ServePass& pass, int64_t layer) {
    if (const double bytes = tier_bytes(layer, pass.tokens); bytes > 0)
      evicted_[layer] = n_.storage(n_.intern(fmt::format("{}.layer{}.cache.evict", phase(pass), layer)),
                                   NodeType::mem_store, {p_.o.kv_tier, "kv_evict", bytes}, std::array{n_.computed()});
  }

  const ServePlan& p_;
  const Side& side_;
  const int64_t stage_;
  const Links& links_;
  StageNodes n_;
  std::map<std::pair<bool, std::string>, StageNodes::Labels> labels_;  ///< by phase and part
  std::map<int64_t, std::vector<NodeId>> received_;                    ///< by layer
  std::vector<NodeId> chosen_, ends_;  ///< first words, to come; of each pass so far its last computation
  NodeId fetched_ = kNoNode;
  std::map<int64_t, NodeId> evicted_;  ///< by layer, the last time
  size_t asked_ = 0;                   ///< passes whose words the first stage has asked for
};

/// Ranks with the same one have the same nodes.
std::vector<double> signature(int64_t stage, const Links& links) {
  std::vector<double> result{real(stage)};
  const auto add = [&](const std::vector<Link>& of) {
    result.push_back(real(static_cast<int64_t>(of.size())));
    for (const Link& link : of) result.insert(result.end(), {real(link.peer), real(link.sequences), link.width});
  };
  for (const std::vector<Link>& layer : links.layers) add(layer);
  add(links.tokens);
  return result;
}

/// The groups of a side, and for each slot the group of each rank.
std::vector<std::vector<uint32_t>> add_side_groups(const Side& side, const std::vector<Slot>& slots, ClassJob& job) {
  std::vector<std::vector<uint32_t>> of;
  for (const Slot& slot : slots) {
    std::vector<uint32_t>& mine = of.emplace_back(static_cast<size_t>(side.mesh.ranks()));
    std::vector<std::vector<int64_t>> members = groups(side.mesh, slot);
    const std::string role(trace::name(trace::role_named(kAxisNames[index(slot.axes[0])])));
    for (size_t g = 0; g < members.size(); ++g) {
      for (int64_t& rank : members[g]) {
        mine[static_cast<size_t>(rank)] = static_cast<uint32_t>(job.groups.size());
        rank += side.first_rank;
      }
      job.groups.push_back({fmt::format("{}{}", slot.name, g), role, "", std::move(members[g]), slot.size});
    }
  }
  return of;
}

/// The ranks of a side, and a class for each kind of them.
Result<void> add_side(const ServePlan& plan, size_t number, ClassJob& job) {
  const Side& side = plan.sides[number];
  const std::vector<Slot> slots = side.slots(plan.experts);
  const std::vector<std::vector<uint32_t>> group_of = add_side_groups(side, slots, job);
  std::map<std::vector<double>, uint32_t> classes;
  std::vector<std::vector<Neighbour>> peers;  // by class of the side
  const size_t before = job.classes.size();
  for (int64_t at = 0; at < side.mesh.ranks(); ++at) {
    CHAKRA_TRY(keep_going(static_cast<size_t>(at), static_cast<size_t>(side.mesh.ranks())));
    const int64_t rank = side.first_rank + at, stage = side.mesh.place(at, Axis::pp);
    const Links links = plan.links(number, rank);
    const auto [found, added] = classes.try_emplace(signature(stage, links), static_cast<uint32_t>(job.classes.size()));
    if (added) {
      CHAKRA_ASSIGN(StageTrace built, ServeStage(plan, number, stage, links).build());
      peers.push_back(std::move(built.peers));
      trace::Trace& t = job.classes.emplace_back(std::move(built.trace));
      t.file = fmt::format("{}stage {}", side.prefix, stage);
      t.rank = rank;
      t.says_rank = true;
      std::vector<std::string>& names = job.group_slots.emplace_back();
      for (const Slot& slot : slots) {
        names.push_back(slot.name);
        t.groups.push_back({slot.name, "", "", {}, 0});
      }
      job.peer_slots.push_back(static_cast<uint32_t>(peers.back().size()));
    }
    job.ranks.push_back(
        {rank, found->second, static_cast<uint32_t>(job.group_of.size()), static_cast<uint32_t>(job.peer_of.size())});
    for (const auto& of : group_of) job.group_of.push_back(of[static_cast<size_t>(at)]);
    for (const Neighbour& to : peers[found->second - before])
      job.peer_of.push_back(to.listed ? links.peers[static_cast<size_t>(to.steps)]
                                      : side.first_rank + side.mesh.moved(at, to.axis, to.steps));
  }
  return {};
}

}  // namespace

Result<ClassJob> serve(const ServeOptions& options) {
  CHAKRA_ASSIGN(const ServePlan plan, serve_plan(options));
  ClassJob job;
  for (size_t side = 0; side < plan.sides.size(); ++side) {
    const ProgressPart part(static_cast<double>(side) / static_cast<double>(plan.sides.size()), 1);
    CHAKRA_TRY(add_side(plan, side, job));
  }
  for (trace::Trace& t : job.classes) describe_recipe(options, t);
  return job;
}

}  // namespace chakra::gen
