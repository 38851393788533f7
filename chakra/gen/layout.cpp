// Kinds of groups by their names; a layout as metadata.
#include "chakra/gen/layout.h"
#include "chakra/trace/metadata.h"

#include <algorithm>

namespace chakra::gen {
namespace {

constexpr int64_t kMostPlaces = 1 << 22;

/// The numbers of a layout by their names in the metadata. That of stages is also the schedule's.
struct NumberOf {
  std::string_view name;
  int64_t& (*value)(Layout& layout);
};
constexpr auto kLayoutNumbers = std::to_array<NumberOf>({
    {"tp", [](Layout& l) -> int64_t& { return l.mesh.size[index(Axis::tp)]; }},
    {"cp", [](Layout& l) -> int64_t& { return l.mesh.size[index(Axis::cp)]; }},
    {"dp", [](Layout& l) -> int64_t& { return l.mesh.size[index(Axis::dp)]; }},
    {"ep", [](Layout& l) -> int64_t& { return l.mesh.size[index(Axis::ep)]; }},
    {"etp", [](Layout& l) -> int64_t& { return l.mesh.size[index(Axis::etp)]; }},
    {"zero", [](Layout& l) -> int64_t& { return l.zero; }},
    {"zero_ranks", [](Layout& l) -> int64_t& { return l.zero_ranks; }},
});

Slot along(std::string name, Axis axis, const Mesh& mesh) { return {std::move(name), {axis}, mesh.of(axis)}; }

}  // namespace

Slot Layout::data() const {
  const int64_t cp = mesh.of(Axis::cp), dp = mesh.of(Axis::dp);
  const std::vector<Axis> axes = cp > 1 ? std::vector{Axis::dp, Axis::cp} : std::vector{Axis::dp};
  if (zero_ranks > 0) return {"shard", axes, zero_ranks * cp, Slot::Places::near, zero_ranks};
  return {cp > 1 ? "dp-cp" : "dp", axes, dp * cp};
}

Slot Layout::replicas() const {
  if (zero_ranks == 0) return {"replica", {Axis::dp}, 1};
  return {"replica", {Axis::dp}, mesh.of(Axis::dp) / zero_ranks, Slot::Places::far, zero_ranks};
}

std::optional<Slot> slot_named(const Layout& layout, std::string_view name) {
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::etp, Axis::ep, Axis::edp})
    if (kAxisNames[index(axis)] == name) return along(std::string(name), axis, layout.mesh);
  if (Slot data = layout.data(); data.name == name) return data;
  if (name == "replica" && layout.zero_ranks > 0) return layout.replicas();
  if (name == "tables") return along("tables", Axis::dp, layout.mesh);
  const bool pairs = layout.mesh.of(Axis::pp) % 2 == 0;
  if (name == "copy" && pairs) return Slot{"copy", {Axis::pp}, 2, Slot::Places::mirrored};
  if (name == "tied" && layout.mesh.of(Axis::pp) > 1) return Slot{"tied", {Axis::pp}, 2, Slot::Places::ends};
  return std::nullopt;
}

void describe_layout(const Layout& layout, trace::Trace& t) {
  Layout numbers = layout;
  t.metadata.push_back({t.strings.intern("order"), t.texts.add(layout.order)});
  for (const NumberOf& row : kLayoutNumbers) t.metadata.push_back({t.strings.intern(row.name), row.value(numbers)});
  t.metadata.push_back({t.strings.intern("experts"), int64_t{layout.experts}});
}

std::optional<Layout> layout_of(const trace::Trace& t) {
  Layout layout;
  for (const NumberOf& row : kLayoutNumbers) {
    const auto number = trace::metadata_number(t, row.name);
    if (!number || *number < 0 || *number > kMostPlaces) return std::nullopt;
    row.value(layout) = *number;
  }
  const auto order = trace::metadata(t, "order"), stages = trace::metadata(t, "stages"),
             experts = trace::metadata(t, "experts");
  if (!order || !order->text() || !stages || !stages->integer() || !experts || layout.zero > 3) return std::nullopt;
  Mesh& mesh = layout.mesh;
  mesh.size[index(Axis::pp)] = *stages->integer();
  double ranks = 1;
  for (const Axis axis : {Axis::tp, Axis::cp, Axis::dp, Axis::pp}) ranks *= static_cast<double>(mesh.of(axis));
  if (!(ranks >= 1 && ranks <= kMostPlaces) || mesh.of(Axis::etp) < 1 || mesh.of(Axis::ep) < 1) return std::nullopt;
  const int64_t stage = mesh.ranks() / mesh.of(Axis::pp), experts_of = mesh.of(Axis::etp) * mesh.of(Axis::ep);
  if (stage % experts_of != 0) return std::nullopt;
  if (layout.zero_ranks > 0 && mesh.of(Axis::dp) % layout.zero_ranks != 0) return std::nullopt;
  mesh.size[index(Axis::edp)] = stage / experts_of;
  layout.order = std::string(*order->text());
  layout.experts = experts->integer() == 1;
  Result<Mesh> placed = ordered(mesh, layout.order);
  if (!placed) return std::nullopt;
  mesh = *std::move(placed);
  return layout;
}

}  // namespace chakra::gen
