// Fabrics of servers and switches.
#include <fmt/core.h>

#include "chakra/infragraph/devices.h"

namespace chakra::infragraph {
namespace {

constexpr int64_t kMostConnections = 100'000;

using Values = std::span<const int64_t>;

/// An end of a cable: a port or a card of an instance.
struct Plug {
  std::string_view instance;
  int64_t index = 0;
  std::string_view component;
  int64_t part = 0;
};

void cable(Infrastructure& all, const Plug& a, const Plug& b, std::string_view link) {
  all.connections.push_back({{at(a.instance, a.index), at(a.component, a.part)},
                             {at(b.instance, b.index), at(b.component, b.part)},
                             std::string(link),
                             Scheme::one2one});
}

Infrastructure fabric(std::string_view name, Device host, Device device) {
  Infrastructure all{std::string(name), {}, {}, {}, {}};
  all.devices.push_back(std::move(host));
  all.devices.push_back(std::move(device));
  return all;
}

bool too_large(double connections, std::string& wrong) {
  if (connections <= static_cast<double>(kMostConnections)) return false;
  wrong = fmt::format("{:.0f} cables; at most {}", connections, kMostConnections);
  return true;
}

}  // namespace

Infrastructure clos(Values values, std::string& wrong) {
  const int64_t hosts = values[0], spines = values[1], ports = values[2], factor = values[3], cards = 2 * factor;
  if (ports < cards + spines || ports < hosts)
    wrong = fmt::format("a switch needs {} ports", std::max(cards + spines, hosts));
  if (!wrong.empty() || too_large(static_cast<double>(hosts) * static_cast<double>(cards + spines), wrong)) return {};
  Infrastructure all = fabric("closfabric", server(factor), generic_switch(ports));
  all.instances = {{"host", "server", hosts}, {"leafsw", "switch", hosts}, {"spinesw", "switch", spines}};
  all.links = {{"leaf-link", 100 * kGigabit}, {"spine-link", 400 * kGigabit}};
  for (int64_t h = 0; h < hosts; ++h) {
    all.connections.push_back({{at("host", h), "nic"}, {at("leafsw", h), "port"}, "leaf-link", Scheme::one2one});
    for (int64_t s = 0; s < spines; ++s)
      cable(all, {"leafsw", h, "port", cards + s}, {"spinesw", s, "port", h}, "spine-link");
  }
  return all;
}

Infrastructure single_tier(Values values, std::string& wrong) {
  const int64_t hosts = values[0], factor = values[1], cards = 2 * factor;
  if (too_large(static_cast<double>(hosts) * static_cast<double>(cards), wrong)) return {};
  Infrastructure all = fabric("single-tier-fabric", server(factor), generic_switch(hosts * cards));
  all.instances = {{"server", "server", hosts}, {"switch", "switch", 1}};
  all.links = {{"switch-link", 100 * kGigabit}};
  for (int64_t i = 0; i < hosts * cards; ++i)
    cable(all, {"server", i / cards, "nic", i % cards}, {"switch", 0, "port", i}, "switch-link");
  return all;
}

/// Each router has as many ports to hosts as to other groups, and half as many as its group has routers.
Infrastructure dragonfly(Values values, std::string& wrong) {
  const int64_t a = values[0], ports = values[1], factor = values[2], p = a / 2, cards = 2 * factor;
  const int64_t groups = a * p + 1, hosts_per_router = p / cards;
  if (a % 2 != 0 || p % cards != 0) wrong = fmt::format("{} routers of a group, but hosts of {} cards", a, cards);
  else if (ports < 2 * p + a - 1) wrong = fmt::format("a router needs {} ports", 2 * p + a - 1);
  const double routers = static_cast<double>(groups) * static_cast<double>(a);
  if (!wrong.empty() || too_large(routers * static_cast<double>(2 * a), wrong)) return {};
  Infrastructure all = fabric("dragonfly-fabric", server(factor), generic_switch(ports));
  all.instances = {{"server", "server", groups * a * hosts_per_router}, {"router", "switch", groups * a}};
  all.links = {{"host_switch_link", 100 * kGigabit},
               {"intra_switch_link", 100 * kGigabit},
               {"inter_switch_link", 100 * kGigabit}};
  for (int64_t r = 0; r < groups * a; ++r)
    for (int64_t i = 0; i < p; ++i)
      cable(all, {"server", r * hosts_per_router + i / cards, "nic", i % cards}, {"router", r, "port", i},
            "host_switch_link");
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = i + 1; j < a; ++j)
        cable(all, {"router", g * a + i, "port", p + j - 1}, {"router", g * a + j, "port", p + i}, "intra_switch_link");
  // The cables of a group, counted upwards by the other group, fill its routers in turn.
  const auto global = [&](int64_t g, int64_t other) {
    const int64_t n = other < g ? other : other - 1;
    return Plug{"router", g * a + n / p, "port", p + a - 1 + n % p};
  };
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t h = g + 1; h < groups; ++h) cable(all, global(g, h), global(h, g), "inter_switch_link");
  return all;
}

/// Half of a switch's ports lead down, half up; spines have ports down only.
Infrastructure fat_tree(Values values, std::string& wrong) {
  const int64_t ports = values[0], levels = values[1], factor = values[2], cards = 2 * factor, half = ports / 2;
  if (ports % 2 != 0 || half % cards != 0) wrong = fmt::format("{} ports, but hosts of {} cards", ports, cards);
  double most = static_cast<double>(levels) * 2;
  for (int64_t i = 0; i < levels; ++i) most *= static_cast<double>(half);
  if (!wrong.empty() || too_large(most, wrong)) return {};
  Infrastructure all = fabric("clos-fat-tree-fabric", server(factor), generic_switch(ports));
  const int64_t spines = levels == 2 ? half : half * half, leaves = 2 * spines;
  all.instances = {{"server", "server", leaves * half / cards}, {"tier_0", "switch", leaves}};
  all.links = {{"tier_0_link", 100 * kGigabit}, {"tier_1_link", 200 * kGigabit}};
  for (int64_t leaf = 0; leaf < leaves; ++leaf)
    for (int64_t i = 0; i < half; ++i)
      cable(all, {"server", leaf * (half / cards) + i / cards, "nic", i % cards}, {"tier_0", leaf, "port", i},
            "tier_0_link");
  if (levels == 2) {
    all.instances.push_back({"tier_1", "switch", spines});
    for (int64_t s = 0; s < spines; ++s)
      for (int64_t leaf = 0; leaf < leaves; ++leaf)
        cable(all, {"tier_1", s, "port", leaf}, {"tier_0", leaf, "port", half + s}, "tier_1_link");
    return all;
  }
  all.instances.push_back({"tier_1", "switch", leaves});
  all.instances.push_back({"tier_2", "switch", spines});
  all.links.push_back({"tier_2_link", 400 * kGigabit});
  for (int64_t up = 0; up < leaves; ++up)
    for (int64_t i = 0; i < half; ++i)
      cable(all, {"tier_1", up, "port", i}, {"tier_0", up / half * half + i, "port", half + up % half}, "tier_1_link");
  for (int64_t i = 0; i < leaves * half; ++i)
    cable(all, {"tier_2", i % spines, "port", i / spines % ports}, {"tier_1", i / half, "port", half + i % half},
          "tier_2_link");
  return all;
}

}  // namespace chakra::infragraph
