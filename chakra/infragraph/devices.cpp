#include "chakra/infragraph/devices.h"

#include <fmt/core.h>

namespace chakra::infragraph {
namespace {

using Values = std::span<const int64_t>;

struct Wiring {
  Device& device;
  std::string link;

  void one(std::string a, std::string b) const { add(std::move(a), std::move(b), Scheme::one2one); }
  void many(std::string a, std::string b) const { add(std::move(a), std::move(b), Scheme::many2many); }

 private:
  void add(std::string a, std::string b, Scheme scheme) const {
    device.connections.push_back({{"", std::move(a)}, {"", std::move(b)}, link, scheme});
  }
};

Infrastructure alone(Device device) {
  Infrastructure all{device.name, {}, {{"host", device.name, 1}}, {}, {}};
  all.devices.push_back(std::move(device));
  return all;
}

/// A DGX: the parts that all generations have. Slots hold one network card each.
Device dgx(std::string name, std::vector<Component> parts, const std::string& card) {
  Device device{std::move(name), std::move(parts), {{"cpu_fabric"}, {"xpu_fabric"}, {"pcie"}}, {}};
  int64_t slots = 0;
  for (const Component& part : device.components)
    if (part.name == "pciesl") slots = part.count;
  device.components.push_back({card, slots, "nic"});
  Wiring{device, "cpu_fabric"}.many("cpu", "cpu");
  for (int64_t i = 0; i < slots; ++i) Wiring{device, "pcie"}.one(at("pciesl", i), at(card, i));
  return device;
}

}  // namespace

std::string at(std::string_view name, int64_t index) { return fmt::format("{}[{}]", name, index); }
std::string at(std::string_view name, int64_t first, int64_t end) { return fmt::format("{}[{}:{}]", name, first, end); }

Device server(int64_t factor) {
  Device device{"server",
                {{"cpu", factor, "cpu"},
                 {"xpu", 2 * factor, "xpu"},
                 {"nvlsw", 1, "switch"},
                 {"pciesw", factor, "switch"},
                 {"nic", 2 * factor, "nic"},
                 {"mgmt", 1, "mgmt-nic"}},
                {{"fabric"}, {"nvlink"}, {"pcie"}},
                {}};
  const Wiring pcie{device, "pcie"};
  pcie.one("mgmt", "cpu[0]");
  Wiring{device, "fabric"}.many("cpu", "cpu");
  Wiring{device, "nvlink"}.many("xpu", "nvlsw");
  for (int64_t i = 0; i < factor; ++i) {
    pcie.many(at("cpu", i), at("pciesw", i));
    pcie.many(at("xpu", 2 * i, 2 * i + 2), at("pciesw", i));
    pcie.many(at("nic", 2 * i, 2 * i + 2), at("pciesw", i));
  }
  return device;
}

Device generic_switch(int64_t ports) {
  Device device{"switch", {{"asic", 1, "cpu"}, {"port", ports, "port"}}, {{"ic"}}, {}};
  Wiring{device, "ic"}.many("asic", "port");
  return device;
}

Infrastructure one_server(Values values, std::string&) { return alone(server(values[0])); }

Infrastructure dgx_1(Values, std::string&) {
  Device device =
      dgx("dgx1", {{"cpu", 2, "cpu"}, {"xpu", 8, "xpu"}, {"pciesw", 4, "switch"}, {"pciesl", 4, "pcie_slot"}}, "cx5");
  const Wiring pcie{device, "pcie"}, nvlink{device, "xpu_fabric"};
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t first = i / 2 * 4 + i % 2;
    pcie.many(at("pciesw", i), fmt::format("xpu[{}:{}:2]", first, first + 3));
    pcie.one(at("pciesw", i), at("pciesl", i));
    pcie.one(at("pciesw", i), at("cpu", i / 2));
    nvlink.one(at("xpu", i), at("xpu", i + 4));
  }
  nvlink.many("xpu[0:4]", "xpu[0:4]");
  nvlink.many("xpu[4:8]", "xpu[4:8]");
  return alone(std::move(device));
}

Infrastructure dgx_2(Values, std::string&) {
  Device device = dgx("dgx2",
                      {{"cpu", 2, "cpu"},
                       {"xpu", 16, "xpu"},
                       {"nvsw", 12, "switch"},
                       {"pciesw", 14, "switch"},
                       {"pciesl", 8, "pcie_slot"}},
                      "cx5");
  const Wiring pcie{device, "pcie"}, nvlink{device, "xpu_fabric"};
  for (int64_t i = 0; i < 8; ++i) {
    pcie.many(at("pciesw", i), at("xpu", 2 * i, 2 * i + 2));
    pcie.one(at("pciesw", i), at("pciesl", i));
  }
  for (int64_t i = 0; i < 2; ++i) pcie.many(at("pciesw", 8 + 2 * i, 10 + 2 * i), at("cpu", i));
  for (int64_t i = 0; i < 4; ++i) pcie.many(at("pciesw", 8 + i), at("pciesw", 2 * i, 2 * i + 2));
  nvlink.many("xpu[0:8]", "nvsw[0:6]");
  nvlink.many("xpu[8:16]", "nvsw[6:12]");
  nvlink.many("nvsw[0:6]", "nvsw[6:12]");
  return alone(std::move(device));
}

Infrastructure dgx_a100(Values, std::string&) {
  Device device = dgx("dgx_a100",
                      {{"cpu", 2, "cpu"},
                       {"xpu", 8, "xpu"},
                       {"nvsw", 6, "switch"},
                       {"pciesw", 5, "switch"},
                       {"pciesl", 8, "pcie_slot"}},
                      "cx6");
  const Wiring pcie{device, "pcie"};
  for (int64_t i = 0; i < 4; ++i) {
    pcie.many(at("cpu", i / 2), at("pciesw", i));
    pcie.many(at("pciesw", i), at("pciesl", 2 * i, 2 * i + 2));
    pcie.many(at("pciesw", i), at("xpu", 2 * i, 2 * i + 2));
  }
  pcie.many("pciesw[4]", "nvsw[0:6]");
  pcie.one("pciesw[4]", "pciesw[3]");
  Wiring{device, "xpu_fabric"}.many("xpu[0:8]", "nvsw[0:6]");
  return alone(std::move(device));
}

Infrastructure dgx_h100(Values, std::string&) {
  Device device = dgx("dgx_h100",
                      {{"cpu", 2, "cpu"},
                       {"xpu", 8, "xpu"},
                       {"nvsw", 4, "switch"},
                       {"pciesw", 3, "switch"},
                       {"pciesl", 8, "pcie_slot"}},
                      "cx7");
  const Wiring pcie{device, "pcie"};
  for (int64_t i = 0; i < 2; ++i) {
    pcie.many(at("cpu", i), at("pciesl", 4 * i, 4 * i + 3));
    pcie.one(at("cpu", i), at("pciesw", i));
  }
  for (int64_t i = 0; i < 8; ++i) pcie.one(at("pciesl", i), at("xpu", i));
  pcie.many("nvsw[0:4]", "pciesw[2]");
  pcie.one("cpu[0]", "pciesw[2]");
  Wiring{device, "xpu_fabric"}.many("nvsw[0:4]", "xpu[0:8]");
  return alone(std::move(device));
}

Infrastructure dgx_gb200(Values, std::string&) {
  Device device = dgx(
      "dgx_gb200", {{"cpu", 2, "cpu"}, {"xpu", 4, "xpu"}, {"nvsw", 18, "switch"}, {"pciesl", 4, "pcie_slot"}}, "cx7");
  device.links.push_back({"c2c_link"});
  for (int64_t i = 0; i < 2; ++i) {
    Wiring{device, "pcie"}.many(at("cpu", i), at("pciesl", 2 * i, 2 * i + 2));
    Wiring{device, "c2c_link"}.many(at("cpu", i), at("xpu", 2 * i, 2 * i + 2));
  }
  Wiring{device, "xpu_fabric"}.many("xpu[0:4]", "nvsw[0:18]");
  return alone(std::move(device));
}

Infrastructure mi300x(Values, std::string&) {
  Device device{"mi300x",
                {{"cpu", 2, "cpu"},
                 {"xpu", 8, "xpu"},
                 {"pciesw", 4, "switch"},
                 {"nic", 8, "nic"},
                 {"frontend_nic", 2, "front_end_nic"},
                 {"storage", 8, "nvme"},
                 {"lom", 1, "lom_nic"},
                 {"bmc", 1, "bmc_nic"}},
                {{"qpi"}, {"infinity_fabric"}, {"pcie"}},
                {}};
  const Wiring pcie{device, "pcie"};
  Wiring{device, "qpi"}.many("cpu", "cpu");
  for (int64_t i = 0; i < 4; ++i) {
    pcie.one(at("pciesw", i), at("cpu", i / 2));
    for (const char* part : {"xpu", "nic", "storage"}) pcie.many(at("pciesw", i), at(part, 2 * i, 2 * i + 2));
  }
  Wiring{device, "infinity_fabric"}.many("xpu[0:8]", "xpu[0:8]");
  for (int64_t i = 0; i < 2; ++i) pcie.one(at("cpu", i), at("frontend_nic", i));
  pcie.one("cpu[0]", "lom[0]");
  pcie.one("cpu[0]", "bmc[0]");
  return alone(std::move(device));
}

Infrastructure torus(Values values, std::string& wrong) {
  const int64_t x = values[0], y = values[1], z = values[2], xpus = x * y * z;
  if (xpus % 2 != 0) wrong = fmt::format("{} XPUs; a CPU has two", xpus);
  Device device{"torus_rack",
                {{"xpu", xpus, "xpu"}, {"cpu", xpus / 2, "cpu"}, {"nic", xpus / 2, "nic"}},
                {{"ici", 1400 * kGigabit}, {"pcie_gen5", 128 * kGigabit}},
                {}};
  const Wiring ici{device, "ici"}, pcie{device, "pcie_gen5"};
  for (int64_t i = 0; i < xpus; ++i) {
    const int64_t row = i / x * x, plane = i / (x * y) * (x * y), in_plane = i % (x * y);
    ici.one(at("xpu", i), at("xpu", row + (i % x + 1) % x));
    ici.one(at("xpu", i), at("xpu", plane + (in_plane + x) % (x * y)));
    ici.one(at("xpu", i), at("xpu", (i + x * y) % xpus));
  }
  for (int64_t i = 0; i < xpus / 2; ++i) {
    pcie.many(at("cpu", i), at("xpu", 2 * i, 2 * i + 2));
    pcie.one(at("cpu", i), at("nic", i));
  }
  return alone(std::move(device));
}

}  // namespace chakra::infragraph
