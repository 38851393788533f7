#include "chakra/device/tiers.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/device/units.h"

namespace chakra::device {
namespace {

constexpr double kLeastTierGb = 1e-6, kMostTierGb = 1e9;  ///< a kilobyte a second, a million times today's
constexpr double kMostNs = 1e15;

Result<double> number(const Spec& row, const char* key, double least, double most) {
  const Spec* value = row.find(key);
  if (!value) return row.error("sim.system.key", fmt::format("a tier needs {}", quote(key)));
  CHAKRA_ASSIGN(const double given, value->number());
  if (!(given >= least && given <= most))
    return value->error("sim.system.value",
                        fmt::format("{} is {}; expected {:g} to {:g}", quote(key), quote(value->scalar), least, most));
  return given;
}

Result<TierScope> scope_of(const Spec& row) {
  const Spec* value = row.find("scope");
  if (!value) return row.error("sim.system.key", "a tier needs 'scope': rank, node or all");
  CHAKRA_ASSIGN(const std::string name, value->string());
  const auto found = std::find(kTierScopeNames.begin(), kTierScopeNames.end(), name);
  if (found == kTierScopeNames.end())
    return value->error("sim.system.value",
                        fmt::format("no scope {}; known: {}", quote(name), join(kTierScopeNames, ", ")));
  return static_cast<TierScope>(found - kTierScopeNames.begin());
}

/// {"bandwidth": GB/s, "latency-ns": 80000, "scope": "node", "ranks-per-node": 8}
Result<Tier> tier(const std::string& name, const Spec& row) {
  if (row.kind != Spec::Kind::map)
    return row.error("sim.system.value", fmt::format("the tier {} must be a map of properties", quote(name)));
  Tier tier;
  tier.name = name;
  CHAKRA_ASSIGN(tier.scope, scope_of(row));
  CHAKRA_ASSIGN(const double gb_per_s, number(row, "bandwidth", kLeastTierGb, kMostTierGb));
  CHAKRA_ASSIGN(const double latency_ns, number(row, "latency-ns", 0, kMostNs));
  tier.bytes_per_s = gb_per_s * kGiga;
  tier.latency_ps = picoseconds(latency_ns * 1e-9);
  const Spec* ranks = row.find("ranks-per-node");
  if ((tier.scope == TierScope::node) != (ranks != nullptr))
    return row.error("sim.system.key", fmt::format("the tier {} has the scope {}: 'ranks-per-node' is for tiers of a "
                                                   "node, which need it",
                                                   quote(name), kTierScopeNames[static_cast<size_t>(tier.scope)]));
  if (ranks) {
    CHAKRA_ASSIGN(tier.ranks_per_node, ranks->integer());
    if (tier.ranks_per_node < 1) return ranks->error("sim.system.value", "'ranks-per-node' is below 1");
  }
  for (const auto& [key, value] : row.fields)
    if (key != "bandwidth" && key != "latency-ns" && key != "scope" && key != "ranks-per-node")
      return value.error("sim.system.key", fmt::format("unknown key {}; a tier has 'bandwidth', 'latency-ns', "
                                                       "'scope' and 'ranks-per-node'",
                                                       quote(key)));
  return tier;
}

/// {"ckpt_write": "pfs", "load": "nvme"}
Result<void> read_rules(const Spec& value, System& system) {
  if (value.kind != Spec::Kind::map)
    return value.error("sim.system.value", "'tier-of' is a map from a kind of I/O to the name of a tier");
  for (const auto& [what, of] : value.fields) {
    const auto is = [&what = what](std::string_view known) { return known == what; };
    if (std::none_of(kIoKinds.begin(), kIoKinds.end(), is) && std::none_of(kOtherIo.begin(), kOtherIo.end(), is))
      return of.error("sim.system.value", fmt::format("unknown kind of I/O {}; known: {}, {}", quote(what),
                                                      join(kIoKinds, ", "), join(kOtherIo, ", ")));
    CHAKRA_ASSIGN(const std::string name, of.string());
    const Tier* const found = find_row(system.tiers, name);
    if (!found) return of.error("sim.system.value", fmt::format("'tiers' has no tier {}", quote(name)));
    system.tier_of[what] = static_cast<uint32_t>(found - system.tiers.data());
  }
  return {};
}

}  // namespace

Result<void> read_tiers(const Spec& file, System& system) {
  if (const Spec* tiers = file.find("tiers")) {
    if (tiers->kind != Spec::Kind::map)
      return tiers->error("sim.system.value", "'tiers' must be a map from tier names to tier properties");
    for (const auto& [name, row] : tiers->fields) {
      CHAKRA_ASSIGN(Tier of_row, tier(name, row));
      system.tiers.push_back(std::move(of_row));
    }
  }
  const Spec* rules = file.find("tier-of");
  return rules ? read_rules(*rules, system) : Result<void>();
}

}  // namespace chakra::device
