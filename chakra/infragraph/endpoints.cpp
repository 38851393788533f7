// Endpoints: names with Python indices and slices, through nested devices.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

/// One step of an endpoint: "xpu[0:8]" as name and slice. Without brackets, all.
struct Step {
  std::string_view name, slice;
};

Failure wrong(const Spec& place, std::string text) { return place.error("infragraph.endpoint", std::move(text)); }

Result<Step> step_of(const Spec& place, std::string_view text) {
  const size_t open = text.find('[');
  if (open == std::string_view::npos) return Step{text, ""};
  if (text.back() != ']' || text.find('[', open + 1) != std::string_view::npos || text.find(']') != text.size() - 1)
    return wrong(place, fmt::format("{} is not a name with one slice, as 'xpu[0:8]'", quote(text)));
  return Step{text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

const PlacedComponent* find(const PlacedDevice& device, std::string_view name) {
  const auto at = std::find_if(device.components.begin(), device.components.end(),
                               [&](const PlacedComponent& c) { return c.name == name; });
  return at == device.components.end() ? nullptr : &*at;
}

/// The first nodes of some parts of equal kind, and the device that they are; kNone: components.
struct Selected {
  std::vector<uint32_t> first;
  uint32_t device = kNone;
  uint64_t unit = 1;
};

Result<void> select(Model& model, const Spec& place, int64_t count, uint64_t first, uint64_t unit,
                    std::string_view text, Selected& of) {
  CHAKRA_ASSIGN(const std::vector<int64_t> chosen, slice(place, text, count));
  CHAKRA_TRY(model.charge(place, of.first.size() * chosen.size()));
  std::vector<uint32_t> all;
  all.reserve(of.first.size() * chosen.size());
  for (const uint32_t base : of.first)
    for (const int64_t i : chosen) all.push_back(static_cast<uint32_t>(base + first + static_cast<uint64_t>(i) * unit));
  of.first = std::move(all);
  of.unit = unit;
  return {};
}

Result<void> into_component(Model& model, const Spec& place, const Step& step, Selected& of) {
  const PlacedDevice& device = model.devices[of.device];
  const PlacedComponent* component = find(device, step.name);
  if (!component)
    return wrong(place, fmt::format("device {} has no component {}", quote(device.name), quote(step.name)));
  CHAKRA_TRY(select(model, place, component->count, component->first, component->unit, step.slice, of));
  of.device = component->device;
  return {};
}

Result<void> into_instance(Model& model, const Spec& place, const Step& step, Selected& of) {
  const auto found = model.instance_numbers.find(step.name);
  if (found == model.instance_numbers.end()) return wrong(place, fmt::format("unknown instance {}", quote(step.name)));
  const PlacedInstance& instance = model.instances[found->second];
  of.first = {0};
  CHAKRA_TRY(select(model, place, instance.count, instance.first, model.devices[instance.device].size, step.slice, of));
  of.device = instance.device;
  return {};
}

Result<void> into_components(Model& model, const Spec& place, Selected& of) {
  CHAKRA_ASSIGN(const std::string text, place.string());
  for (std::string_view rest = text;;) {
    const size_t dot = rest.find('.');
    CHAKRA_ASSIGN(const Step step, step_of(place, rest.substr(0, dot)));
    if (of.device == kNone) return wrong(place, fmt::format("{} continues behind a component", quote(text)));
    CHAKRA_TRY(into_component(model, place, step, of));
    if (dot == std::string_view::npos) return {};
    rest.remove_prefix(dot + 1);
  }
}

/// The next step of a name in the package's notation: "dgx.0", "dgx[0:2]" or "dgx".
Result<Step> next_step(const Spec& place, std::string_view& rest) {
  const size_t end = std::min(rest.find_first_of(".["), rest.size());
  Step step{rest.substr(0, end), ""};
  rest.remove_prefix(end);
  if (rest.starts_with('[')) {
    const size_t close = rest.find(']');
    if (close == std::string_view::npos) return wrong(place, "a slice without its end");
    step.slice = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  } else if (rest.starts_with('.')) {
    const std::string_view after = rest.substr(1, rest.find('.', 1) - 1);
    int64_t number = 0;
    if (parse_decimal(after, number)) {
      step.slice = after;
      rest.remove_prefix(after.size() + 1);
    }
  }
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return step;
}

}  // namespace

Result<std::vector<int64_t>> slice(const Spec& place, std::string_view text, int64_t count) {
  std::optional<int64_t> parts[3];
  size_t given = 0;
  for (std::string_view rest = text;; ++given) {
    const size_t colon = rest.find(':');
    if (given == 3) return wrong(place, fmt::format("{} is not a slice", quote(text)));
    if (const std::string_view part = rest.substr(0, colon); !part.empty()) {
      int64_t number = 0;
      if (!parse_integer(part, number) || number < -kMostNodes * 2 || number > kMostNodes * 2)
        return wrong(place, fmt::format("{} is not an index", quote(part)));
      parts[given] = number;
    }
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (given == 0 && parts[0]) {
    const int64_t index = *parts[0] < 0 ? *parts[0] + count : *parts[0];
    if (index < 0 || index >= count) return wrong(place, fmt::format("index {} of {}", *parts[0], count));
    return std::vector<int64_t>{index};
  }
  const int64_t step = parts[2].value_or(1);
  if (step == 0) return wrong(place, "a slice with step 0");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? count : count - 1;
  const auto bound = [&](const std::optional<int64_t>& part, int64_t missing) {
    return part ? std::clamp(*part < 0 ? *part + count : *part, low, high) : missing;
  };
  const int64_t start = bound(parts[0], step > 0 ? low : high), stop = bound(parts[1], step > 0 ? high : low);
  std::vector<int64_t> chosen;
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) chosen.push_back(i);
  if (chosen.empty()) return wrong(place, fmt::format("the slice {} selects none of {}", quote(text), count));
  return chosen;
}

Result<std::vector<uint32_t>> expand_end(Model& model, uint32_t device, const Spec& end) {
  Selected of{{0}, device};
  if (device == kNone) {
    CHAKRA_ASSIGN(const Spec* owner, need(end, "instance"));
    CHAKRA_ASSIGN(const Step step, step_of(*owner, owner->scalar));
    CHAKRA_TRY(into_instance(model, *owner, step, of));
  } else if (const Spec* nested = end.find("device"); nested && nested->kind != Spec::Kind::null) {
    CHAKRA_TRY(into_components(model, *nested, of));
    if (of.device == kNone) return wrong(*nested, fmt::format("{} is not a device", quote(nested->scalar)));
  }
  CHAKRA_ASSIGN(const Spec* component, need(end, "component"));
  CHAKRA_TRY(into_components(model, *component, of));
  if (of.device != kNone)
    return wrong(*component, fmt::format("{} is a device; name one of its components", quote(component->scalar)));
  return std::move(of.first);
}

Result<std::vector<uint32_t>> expand_name(Model& model, const Spec& name) {
  CHAKRA_ASSIGN(const std::string text, name.string());
  std::string_view rest = text;
  Selected of;
  for (bool first = true; first || !rest.empty(); first = false) {
    CHAKRA_ASSIGN(const Step step, next_step(name, rest));
    if (!first && of.device == kNone) return wrong(name, fmt::format("{} continues behind a component", quote(text)));
    CHAKRA_TRY(first ? into_instance(model, name, step, of) : into_component(model, name, step, of));
  }
  CHAKRA_TRY(model.charge(name, of.first.size() * of.unit));
  std::vector<uint32_t> nodes;
  for (const uint32_t base : of.first)
    for (uint64_t i = 0; i < of.unit; ++i) nodes.push_back(static_cast<uint32_t>(base + i));
  return nodes;
}

}  // namespace chakra::infragraph
