// The table of blueprints, and how their settings are read.
#include <fmt/core.h>

#include "chakra/base/join.h"
#include "chakra/infragraph/devices.h"

namespace chakra::infragraph {
namespace {

constexpr Parameter kFactor{"factor", "half the XPUs of a server", 1, 1, 64};
constexpr Parameter kClos[] = {
    {"hosts", "servers, each with a leaf switch", 4, 1, 4096},
    {"spines", "spine switches", 3, 1, 4096},
    {"ports", "ports of a switch", 16, 2, 4096},
    kFactor,
};
constexpr Parameter kDragonfly[] = {
    {"routers", "routers of a group; half as many hosts' ports, and half as many cables to other groups, per router", 4,
     2, 64},
    {"ports", "ports of a router", 16, 2, 4096},
    kFactor,
};
constexpr Parameter kFatTree[] = {
    {"ports", "ports of a switch", 8, 4, 256},
    {"levels", "levels of switches", 2, 2, 3},
    kFactor,
};
constexpr Parameter kServer[] = {kFactor};
constexpr Parameter kSingleTier[] = {{"hosts", "servers", 2, 1, 4096}, kFactor};
constexpr Parameter kTorus[] = {
    {"x", "XPUs of a row", 4, 1, 64},
    {"y", "rows of a plane", 4, 1, 64},
    {"z", "planes", 4, 1, 64},
};

constexpr Blueprint kRows[] = {
    {"clos", "servers, each on a leaf switch, and spines", kClos, clos},
    {"dgx-1", "NVIDIA DGX-1: 8 XPUs, each linked with four others", {}, dgx_1},
    {"dgx-2", "NVIDIA DGX-2: 16 XPUs on 12 NVSwitches", {}, dgx_2},
    {"dgx-a100", "NVIDIA DGX A100: 8 XPUs on 6 NVSwitches", {}, dgx_a100},
    {"dgx-gb200", "NVIDIA DGX GB200, a compute tray: 4 XPUs on 18 NVSwitches", {}, dgx_gb200},
    {"dgx-h100", "NVIDIA DGX H100: 8 XPUs on 4 NVSwitches", {}, dgx_h100},
    {"dragonfly", "balanced dragonfly of servers", kDragonfly, dragonfly},
    {"fat-tree", "servers below two or three levels of switches with equal ports", kFatTree, fat_tree},
    {"mi300x", "AMD server: 8 XPUs, each linked with each other", {}, mi300x},
    {"server", "generic server: XPUs on one NVLink switch, PCIe switches, NICs", kServer, one_server},
    {"single-tier", "servers on one switch", kSingleTier, single_tier},
    {"torus", "rack of XPUs in a 3D torus, as TPU racks", kTorus, torus},
};

Failure wrong(std::string text) { return fail(Code::bad_input, "infragraph.blueprint", std::move(text)); }

/// Sets a value of all links of a name.
Result<void> set_link(Infrastructure& all, std::string_view name, double Link::*value, double number) {
  std::vector<std::string_view> known;
  bool found = false;
  const auto set = [&](std::vector<Link>& links) {
    for (Link& link : links) {
      known.push_back(link.name);
      if (link.name != name) continue;
      link.*value = number;
      found = true;
    }
  };
  for (Device& device : all.devices) set(device.links);
  set(all.links);
  if (found) return {};
  return wrong(fmt::format("{} has no link {}; its links: {}", all.name, quote(name), join(known, ", ")));
}

struct Setting {
  std::string_view key, value;
};

Result<Setting> split(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return wrong(fmt::format("{} is not a setting, as 'hosts=8' or 'bandwidth.pcie=63'", quote(text)));
  return Setting{text.substr(0, equals), text.substr(equals + 1)};
}

/// "bandwidth" and "latency" of links, which are set after the blueprint was built.
struct LinkKey {
  std::string_view prefix;
  double Link::*value;
  double factor;
  double least, most;
};
constexpr LinkKey kLinkKeys[] = {{"bandwidth.", &Link::bytes_per_s, 1e9, 1e-6, 1e9},
                                 {"latency.", &Link::latency_ns, 1, 0, 1e12}};

const LinkKey* link_key(std::string_view key) {
  for (const LinkKey& row : kLinkKeys)
    if (key.starts_with(row.prefix)) return &row;
  return nullptr;
}

Result<void> set_parameter(const Blueprint& row, const Setting& setting, std::vector<int64_t>& values) {
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    const Parameter& parameter = row.parameters[i];
    if (parameter.name != setting.key) continue;
    if (!parse_decimal(setting.value, values[i]) || values[i] < parameter.least || values[i] > parameter.most)
      return wrong(fmt::format("{} is {}; expected {} to {}", quote(setting.key), quote(setting.value), parameter.least,
                               parameter.most));
    return {};
  }
  std::vector<std::string_view> known;
  for (const Parameter& parameter : row.parameters) known.push_back(parameter.name);
  return wrong(fmt::format("{} has no parameter {}; known: {}", row.name, quote(setting.key), join(known, ", ")));
}

}  // namespace

constinit const std::span<const Blueprint> kBlueprints = kRows;

Result<Infrastructure> build(std::string_view name, std::span<const std::string> settings) {
  const Blueprint* row = nullptr;
  std::vector<std::string_view> names;
  for (const Blueprint& blueprint : kRows) {
    names.push_back(blueprint.name);
    if (blueprint.name == name) row = &blueprint;
  }
  if (!row) return wrong(fmt::format("no blueprint {}; known: {}", quote(name), join(names, ", ")));
  std::vector<int64_t> values;
  for (const Parameter& parameter : row->parameters) values.push_back(parameter.value);
  for (const std::string& text : settings) {
    CHAKRA_ASSIGN(const Setting setting, split(text));
    if (!link_key(setting.key)) CHAKRA_TRY(set_parameter(*row, setting, values));
  }
  std::string why;
  Infrastructure all = row->build(values, why);
  if (!why.empty()) return wrong(fmt::format("{}: {}", name, why));
  for (const std::string& text : settings) {
    CHAKRA_ASSIGN(const Setting setting, split(text));
    const LinkKey* key = link_key(setting.key);
    if (!key) continue;
    double number = 0;
    if (!parse_decimal(setting.value, number) || number < key->least || number > key->most)
      return wrong(fmt::format("{} is {}; expected {:g} to {:g}", quote(setting.key), quote(setting.value), key->least,
                               key->most));
    CHAKRA_TRY(set_link(all, setting.key.substr(key->prefix.size()), key->value, number * key->factor));
  }
  return all;
}

}  // namespace chakra::infragraph
