// Devices, links and instances: what each name means, and the place of each component among all nodes.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

constexpr size_t kDeepestDevice = 32;
constexpr std::array<std::string_view, 8> kKinds{"cpu", "xpu", "nic", "memory", "port", "switch", "device", "custom"};

constexpr std::array<std::string_view, 6> kInfrastructureKeys{"name",  "description", "devices",
                                                              "links", "instances",   "edges"};
constexpr std::array<std::string_view, 5> kDeviceKeys{"name", "description", "components", "links", "edges"};
constexpr std::array<std::string_view, 3> kLinkKeys{"name", "description", "physical"};
constexpr std::array<std::string_view, 4> kInstanceKeys{"name", "description", "device", "count"};
constexpr std::array<std::string_view, 4> kComponentKeys{"name", "description", "count", "choice"};

/// Reads a file into a Model.
class Placing {
 public:
  explicit Placing(Findings* findings) : findings_(findings) {}

  Result<Model> run(const Spec& infrastructure) {
    report_unknown(infrastructure, kInfrastructureKeys);
    CHAKRA_ASSIGN(const auto devices, items_of(infrastructure, "devices"));
    for (const Spec& device : devices) CHAKRA_TRY(add_device(device));
    for (uint32_t d = 0; d < devices.size(); ++d) CHAKRA_TRY(read_components(d));
    for (uint32_t d = 0; d < devices.size(); ++d) CHAKRA_TRY(place_device(d, 0));
    CHAKRA_TRY(read_links(infrastructure, model_.links_between));
    CHAKRA_ASSIGN(const auto instances, items_of(infrastructure, "instances"));
    for (const Spec& instance : instances) CHAKRA_TRY(add_instance(instance));
    return std::move(model_);
  }

 private:
  template <size_t n>
  void report_unknown(const Spec& spec, const std::array<std::string_view, n>& known) {
    for (const SpecField& field : spec.fields) {
      if (std::find(known.begin(), known.end(), field.key) != known.end()) continue;
      if (n == kComponentKeys.size() && std::find(kKinds.begin(), kKinds.end(), field.key) != kKinds.end()) continue;
      if (findings_ && std::find(reported_.begin(), reported_.end(), field.key) == reported_.end()) {
        findings_->push_back(
            {"net.file.unknown_key", Severity::warning, -1, -1,
             fmt::format("{}: unknown key {} has no effect", field.value.place().text(), quote(field.key))});
        reported_.push_back(field.key);
      }
    }
  }

  Result<void> add_device(const Spec& spec) {
    CHAKRA_ASSIGN(const Spec* name, need(spec, "name"));
    report_unknown(spec, kDeviceKeys);
    if (!model_.device_numbers.emplace(name->scalar, static_cast<uint32_t>(model_.devices.size())).second)
      return name->error("infragraph.component", fmt::format("a second device {}", quote(name->scalar)));
    model_.devices.push_back({.name = name->scalar, .spec = &spec, .components = {}, .links = {}, .edges = {}});
    return read_links(spec, model_.devices.back().links);
  }

  Result<void> read_links(const Spec& spec, TextMap<uint32_t>& numbers) {
    CHAKRA_ASSIGN(const auto links, items_of(spec, "links"));
    for (const Spec& link : links) {
      CHAKRA_ASSIGN(const Spec* name, need(link, "name"));
      report_unknown(link, kLinkKeys);
      if (!numbers.emplace(name->scalar, static_cast<uint32_t>(model_.links.size())).second)
        return name->error("infragraph.link", fmt::format("a second link {}", quote(name->scalar)));
      PlacedLink& placed = model_.links.emplace_back(PlacedLink{name->scalar, &link});
      CHAKRA_TRY(read_physical(link, placed));
    }
    return {};
  }

  Result<void> read_components(uint32_t d) {
    const Spec& spec = *model_.devices[d].spec;
    CHAKRA_ASSIGN(const auto components, items_of(spec, "components"));
    TextMap<bool> names;
    for (const Spec& component : components) {
      CHAKRA_ASSIGN(const Spec* name, need(component, "name"));
      report_unknown(component, kComponentKeys);
      CHAKRA_ASSIGN(const Spec* kind, need(component, "choice"));
      CHAKRA_ASSIGN(const Spec* count, need(component, "count"));
      PlacedComponent placed{.name = name->scalar, .is_xpu = kind->scalar == "xpu"};
      CHAKRA_ASSIGN(placed.count, count->integer("count", 0, kMostNodes, "infragraph.large"));
      if (!names.emplace(placed.name, true).second)
        return name->error("infragraph.component", fmt::format("a second component {}", quote(placed.name)));
      if (std::find(kKinds.begin(), kKinds.end(), kind->scalar) == kKinds.end())
        return kind->error("infragraph.component", fmt::format("unknown kind of component {}", quote(kind->scalar)));
      if (kind->scalar == "device") {
        const auto found = model_.device_numbers.find(placed.name);
        if (found == model_.device_numbers.end())
          return name->error("infragraph.component", fmt::format("unknown device {}", quote(placed.name)));
        placed.device = found->second;
      }
      model_.devices[d].components.push_back(placed);
    }
    return {};
  }

  /// Nested devices first.
  Result<void> place_device(uint32_t d, size_t depth) {
    using State = PlacedDevice::State;
    PlacedDevice& device = model_.devices[d];
    if (device.state == State::placed) return {};
    if (device.state == State::entered || depth > kDeepestDevice)
      return device.spec->error("infragraph.component",
                                device.state == State::entered
                                    ? fmt::format("device {} contains itself", quote(device.name))
                                    : fmt::format("device {} is nested too deeply", quote(device.name)));
    device.state = State::entered;
    for (PlacedComponent& component : device.components) {
      if (component.device != kNone) {
        CHAKRA_TRY(place_device(component.device, depth + 1));
        component.unit = model_.devices[component.device].size;
      }
      component.first = device.size;
      device.size += static_cast<uint64_t>(component.count) * component.unit;
      CHAKRA_TRY(check_size(*device.spec, device.size));
    }
    device.state = State::placed;
    return {};
  }

  Result<void> add_instance(const Spec& spec) {
    CHAKRA_ASSIGN(const Spec* name, need(spec, "name"));
    report_unknown(spec, kInstanceKeys);
    CHAKRA_ASSIGN(const Spec* device, need(spec, "device"));
    CHAKRA_ASSIGN(const Spec* count, need(spec, "count"));
    const auto found = model_.device_numbers.find(device->scalar);
    if (found == model_.device_numbers.end())
      return device->error("infragraph.component", fmt::format("unknown device {}", quote(device->scalar)));
    PlacedInstance placed{name->scalar, found->second, 0, model_.size};
    CHAKRA_ASSIGN(placed.count, count->integer("count", 0, kMostNodes, "infragraph.large"));
    if (!model_.instance_numbers.emplace(placed.name, static_cast<uint32_t>(model_.instances.size())).second)
      return name->error("infragraph.component", fmt::format("a second instance {}", quote(placed.name)));
    model_.size += static_cast<uint64_t>(placed.count) * model_.devices[placed.device].size;
    CHAKRA_TRY(check_size(spec, model_.size));
    model_.instances.push_back(placed);
    return {};
  }

  static Result<void> check_size(const Spec& place, uint64_t size) {
    if (size <= static_cast<uint64_t>(kMostNodes)) return {};
    return place.error("infragraph.large", fmt::format("{} components; at most {}", size, kMostNodes));
  }

  Findings* findings_;
  Model model_;
  std::vector<std::string_view> reported_;
};

}  // namespace

Result<const Spec*> need(const Spec& in, std::string_view key, Spec::Kind kind) {
  const Spec* found = in.kind == Spec::Kind::map ? in.find(key) : nullptr;
  if (!found || found->kind != kind) return in.error("infragraph.key", fmt::format("{} is missing here", quote(key)));
  return found;
}

Result<std::span<const Spec>> items_of(const Spec& in, std::string_view key) {
  const Spec* found = in.find(key);
  if (!found || found->kind == Spec::Kind::null) return std::span<const Spec>();
  if (found->kind != Spec::Kind::list)
    return found->error("infragraph.key", fmt::format("{} must be a list", quote(key)));
  return std::span<const Spec>(found->items);
}

Result<void> Model::charge(const Spec& place, uint64_t count) {
  if (count > static_cast<uint64_t>(kMostSteps - steps))
    return place.error("infragraph.large", fmt::format("the expansion takes more than {} steps", kMostSteps));
  steps += static_cast<int64_t>(count);
  return {};
}

Result<Model> place(const Spec& infrastructure, Findings* findings) { return Placing(findings).run(infrastructure); }

}  // namespace chakra::infragraph
