#include "chakra/sim/storage.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "chakra/base/join.h"
#include "chakra/trace/storage.h"

namespace chakra::sim {
namespace {

using trace::NodeId;
using trace::NodeType;
using trace::Trace;

class StorageFinder {
 public:
  StorageFinder(const trace::ClassJob& job, const device::System& system) : job_(job), system_(system) {}

  Result<Storage> run() {
    for (const Trace& t : job_.classes) CHAKRA_TRY(look_at(t));
    return std::move(storage_);
  }

 private:
  Result<void> look_at(const Trace& t) {
    const trace::StorageReader reader(t);
    std::vector<TierUse>& uses = storage_.of_class.emplace_back();
    for (const NodeId n : t.nodes()) {
      if (!trace::is_memory(t.type[n])) continue;
      trace::StorageUse said = reader.of(n);
      CHAKRA_ASSIGN(const std::optional<uint32_t> charged, tier_of(t, n, said));
      if (!charged) continue;
      if (!said.bytes)
        return bad(
            t, n, "sim.tier.bytes",
            fmt::format("is for the tier {}, but {}", quote(system_.tiers[*charged].name),
                        said.says_bytes ? "its 'bytes' are not a size" : "has neither 'bytes' nor 'tensor_size'"));
      if (said.kind.empty()) said.kind = other_kind(t.type[n]);
      uses.push_back({n, *charged, kind_number(said.kind), *said.bytes});
    }
    return {};
  }

  /// The tier that is charged with a node, if one is.
  Result<std::optional<uint32_t>> tier_of(const Trace& t, NodeId n, const trace::StorageUse& said) const {
    if (!said.tier) {
      auto rule = system_.tier_of.find(said.kind);
      if (rule == system_.tier_of.end()) rule = system_.tier_of.find(other_kind(t.type[n]));
      return rule == system_.tier_of.end() ? std::optional<uint32_t>() : rule->second;
    }
    const auto found = std::find_if(system_.tiers.begin(), system_.tiers.end(),
                                    [&](const device::Tier& tier) { return tier.name == *said.tier; });
    if (found != system_.tiers.end()) return std::optional(static_cast<uint32_t>(found - system_.tiers.begin()));
    std::vector<std::string_view> known;
    for (const device::Tier& tier : system_.tiers) known.push_back(tier.name);
    return bad(t, n, "sim.tier.unknown",
               fmt::format("names the storage tier {}, which the system file does not have; it has {}",
                           quote(*said.tier), join(known, ", ")));
  }

  static std::string_view other_kind(NodeType type) { return device::kOtherIo[type == NodeType::mem_load ? 0 : 1]; }

  static Failure bad(const Trace& t, NodeId n, const char* tag, std::string_view why) {
    return fail(Code::bad_input, tag, fmt::format("node {} of rank {} {}", t.id[n], t.rank, why), {t.file});
  }

  uint32_t kind_number(std::string_view kind) {
    const auto found = std::find(storage_.kinds.begin(), storage_.kinds.end(), kind);
    if (found != storage_.kinds.end()) return static_cast<uint32_t>(found - storage_.kinds.begin());
    storage_.kinds.emplace_back(kind);
    return static_cast<uint32_t>(storage_.kinds.size() - 1);
  }

  const trace::ClassJob& job_;
  const device::System& system_;
  Storage storage_;
};

/// Loads, stores and computations that say what they move or compute, and take no time all the same: no tier is charged
/// with them, or no device computes them. A device computes the smallest ones in less than a picosecond.
void note_free(const trace::ClassJob& job, const Storage& storage, const device::System& system, Findings& findings) {
  std::vector<int64_t> ranks(job.classes.size(), 0);
  std::vector<bool> on_device(job.classes.size());
  for (const trace::ClassJob::Rank& rank : job.ranks) {
    ++ranks[rank.cls];
    on_device[rank.cls] = system.device_of(rank.rank) != nullptr;
  }
  int64_t moves = 0, computations = 0;
  double bytes = 0, operations = 0;
  for (uint32_t c = 0; c < job.classes.size(); ++c) {
    const Trace& t = job.classes[c];
    const trace::StorageReader reader(t);
    for (const NodeId n : t.nodes()) {
      if (t.dur_ps[n] > 0) continue;
      if (trace::is_memory(t.type[n])) {
        if (storage.find(c, n) || reader.of(n).tier) continue;  // sim.tier.none has those that name a tier
        moves += ranks[c];
        bytes += static_cast<double>(ranks[c]) * static_cast<double>(reader.of(n).bytes.value_or(0));
      } else if (t.type[n] == NodeType::comp && !t.num_ops.empty() && t.num_ops[n] > 0) {
        if (on_device[c] && !t.on_cpu(n) && !t.has_start(n)) continue;
        computations += ranks[c];
        operations += static_cast<double>(ranks[c]) * static_cast<double>(t.num_ops[n]);
      }
    }
  }
  if (moves > 0)
    findings.push_back({"sim.memory.free",
                        Severity::warning,
                        -1,
                        -1,
                        fmt::format("{} loads and stores of {} take no time: they have no duration and no tier; "
                                    "'tiers' and 'tier-of' in --system FILE price them",
                                    show_count(moves), show_bytes(bytes)),
                        {{"nodes", moves}, {"bytes", static_cast<int64_t>(std::min(bytes, 9e18))}}});
  if (computations > 0)
    findings.push_back({"sim.compute.free",
                        Severity::warning,
                        -1,
                        -1,
                        fmt::format("{} computations of {:.3g} FLOPs take no time: they have no duration, and no "
                                    "device computes them; --device or a 'roofline' in --system FILE prices those that "
                                    "run on devices",
                                    show_count(computations), operations),
                        {{"nodes", computations}}});
}

/// Nodes that name a tier where the system describes none.
void note_unpriced(const trace::ClassJob& job, Findings& findings) {
  std::vector<int64_t> ranks(job.classes.size(), 0);
  for (const trace::ClassJob::Rank& rank : job.ranks) ++ranks[rank.cls];
  std::set<std::string> named;
  int64_t nodes = 0;
  for (size_t c = 0; c < job.classes.size(); ++c) {
    const Trace& t = job.classes[c];
    const StringId tier = t.strings.find("storage_tier");
    for (NodeId n{0}; tier != 0 && n < t.size(); ++n) {
      if (!trace::is_memory(t.type[n])) continue;
      for (const trace::Attr& attr : t.attrs_of(n)) {
        if (attr.name != tier) continue;
        nodes += ranks[c];
        named.emplace(quote(attr.text().value_or("")));
      }
    }
  }
  if (nodes == 0) return;
  constexpr size_t kNamed = 4;
  const size_t more = named.size() > kNamed ? named.size() - kNamed : 0;
  while (named.size() > kNamed) named.erase(std::prev(named.end()));
  findings.push_back(
      {"sim.tier.none", Severity::warning, -1, -1,
       fmt::format("{} nodes name a storage tier ({}{}), but the system file describes no tiers: their durations come "
                   "from the trace; 'tiers' in --system FILE prices them",
                   show_count(nodes), join(named, ", "), more ? fmt::format(" and {} more", more) : "")});
}

}  // namespace

const TierUse* Storage::find(uint32_t cls, NodeId n) const {
  const std::vector<TierUse>& uses = of_class[cls];
  const auto found =
      std::lower_bound(uses.begin(), uses.end(), n, [](const TierUse& use, NodeId node) { return use.node < node; });
  return found != uses.end() && found->node == n ? &*found : nullptr;
}

std::vector<uint32_t> Storage::tiers_of(uint32_t cls) const {
  std::set<uint32_t> tiers;
  for (const TierUse& use : of_class[cls]) tiers.insert(use.tier);
  return {tiers.begin(), tiers.end()};
}

Result<Storage> find_storage(const trace::ClassJob& job, const device::System& system, Findings& findings) {
  Storage storage;
  storage.of_class.resize(job.classes.size());
  if (system.tiers.empty()) {
    note_unpriced(job, findings);
  } else {
    CHAKRA_ASSIGN(storage, StorageFinder(job, system).run());
  }
  note_free(job, storage, system, findings);
  return storage;
}

std::vector<std::vector<uint32_t>> node_mates(const trace::ClassJob& job, const Storage& storage,
                                              const device::System& system) {
  if (storage.kinds.empty()) return {};
  std::vector<std::vector<uint32_t>> tiers;
  for (uint32_t c = 0; c < job.classes.size(); ++c) tiers.push_back(storage.tiers_of(c));
  std::vector<std::vector<uint32_t>> mates;
  for (uint32_t tier = 0; tier < system.tiers.size(); ++tier) {
    if (system.tiers[tier].scope != device::TierScope::node) continue;
    int64_t last = -1;  // ranks ascend, so those of a node follow each other
    for (uint32_t r = 0; r < job.ranks.size(); ++r) {
      const std::vector<uint32_t>& used = tiers[job.ranks[r].cls];
      if (!std::binary_search(used.begin(), used.end(), tier)) continue;
      const int64_t node = job.ranks[r].rank / system.tiers[tier].ranks_per_node;
      if (node != last) mates.emplace_back();
      last = node;
      mates.back().push_back(r);
    }
  }
  return mates;
}

}  // namespace chakra::sim
