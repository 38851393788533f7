// What each node computes: by the kernel that it names, by its operator or that of its callers (the rows of
// `chakra list work`), in generated jobs by its name.
#include <algorithm>
#include <array>

#include "chakra/device/device.h"
#include "chakra/link/link.h"
#include "chakra/whatif/nodes.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::Trace;

struct Named {
  std::string_view name;
  Work work;
};
/// Kernels of device files (device::kKernelKinds).
constexpr std::array<Named, 16> kKernels{{{"gemm", Work::matrix},
                                          {"attention", Work::attention},
                                          {"norm", Work::normalization},
                                          {"embedding", Work::lookup},
                                          {"rope", Work::elementwise},
                                          {"add", Work::elementwise},
                                          {"activation", Work::elementwise},
                                          {"decode_attention", Work::attention},
                                          {"latent_attention", Work::attention},
                                          {"latent_decode", Work::attention},
                                          {"experts", Work::matrix},
                                          {"gated_delta", Work::attention},
                                          {"gated_delta_decode", Work::attention},
                                          {"conv1d", Work::elementwise},
                                          {"conv1d_decode", Work::elementwise},
                                          {"copy", Work::device_copy}}};
/// How names of generated nodes without a kernel end; the first that fits.
constexpr std::array<Named, 23> kEndings{{{".dgrad", Work::matrix},
                                          {".wgrad", Work::matrix},
                                          {"experts.gate", Work::matrix},
                                          {"experts.up", Work::matrix},
                                          {"experts.down", Work::matrix},
                                          {".cast", Work::device_copy},
                                          {".optimizer", Work::optimizer},
                                          {"gradients.norm", Work::reduction},
                                          {"norm", Work::normalization},
                                          {"loss.max", Work::reduction},
                                          {"loss.sum", Work::reduction},
                                          {"loss.target", Work::reduction},
                                          {"loss", Work::loss},
                                          {"attention", Work::attention},
                                          {"embedding", Work::lookup},
                                          {"positions", Work::lookup},
                                          {"dispatch", Work::device_copy},
                                          {"combine", Work::device_copy},
                                          {".activation", Work::elementwise},
                                          {".modulate", Work::elementwise},
                                          {"residual", Work::elementwise},
                                          {".sum", Work::elementwise},
                                          {".scale", Work::elementwise}}};
/// What backward adds to the name of what it undoes or does again.
constexpr std::array<std::string_view, 2> kBackward{".grad", ".again"};

constexpr bool same_order() {
  for (size_t k = 0; k < link::kWorkKindNames.size(); ++k)
    if (kWorks[k].name != link::kWorkKindNames[k] && link::kWorkKindNames[k] != "copy") return false;
  return link::kWorkKindNames.size() + 1 == kWorks.size() && kWorks.back().name == "other";
}
static_assert(same_order());

/// By the operators of a trace.
class Operators {
 public:
  explicit Operators(const Trace& t) : of_(t.strings.size()) {
    for (StringId id = 0; id < of_.size(); ++id) {
      const std::string_view name = t.strings[id];
      if (name.starts_with("Memcpy")) of_[id] = Work::device_copy;
      else if (name.starts_with("Memset")) of_[id] = Work::fill;
      else if (const link::WorkRow* row = link::find_work_row(name)) of_[id] = static_cast<Work>(row->kind);
    }
  }
  std::optional<Work> operator[](StringId name) const { return of_[name]; }

 private:
  std::vector<std::optional<Work>> of_;
};

std::optional<Work> by_kernel(const Trace& t, NodeId n, StringId kernel) {
  const trace::Attrs::Range attrs = t.attrs_of(n);
  for (auto at = attrs.begin(); at != attrs.end(); ++at)
    if (const trace::Attr attr = *at; attr.name == kernel)
      if (const auto shape = device::parse_kernel(attr.text().value_or("")))
        if (const Named* row = find_row(kKernels, shape->kind->name)) return row->work;
  return std::nullopt;
}

/// Of generated nodes whose kernel is not known: what the operator is whose gradient or repetition it is, else by how
/// the name ends.
class GeneratedNames {
 public:
  GeneratedNames(const Trace& t, const std::vector<std::optional<Work>>& found) : t_(t), of_(t.strings.size()) {
    for (const NodeId n : t.nodes())
      if (found[n]) of_[t.name[n]] = found[n];
  }
  std::optional<Work> operator[](StringId id) const {
    std::string_view name = t_.strings[id];
    for (bool more = true; more;) {
      if (const StringId known = t_.strings.find(name); known != 0 && of_[known]) return of_[known];
      more = false;
      for (const std::string_view ending : kBackward)
        if (name.ends_with(ending)) name.remove_suffix(ending.size()), more = true;
    }
    const auto* const row =
        std::find_if(kEndings.begin(), kEndings.end(), [&](const Named& r) { return name.ends_with(r.name); });
    return row == kEndings.end() ? std::nullopt : std::optional(row->work);
  }

 private:
  const Trace& t_;
  std::vector<std::optional<Work>> of_;  ///< by name
};

}  // namespace

NodeWorks::NodeWorks(const Trace& t) : works_(t.size(), Work::other) {
  const Operators operators(t);
  const StringId kernel = t.strings.find("kernel");
  std::vector<std::optional<Work>> found(t.size());
  for (const NodeId n : trace::topological_order(t.ctrl).order) {
    if (kernel != 0) found[n] = by_kernel(t, n, kernel);
    if (!found[n]) found[n] = operators[t.name[n]];
    for (const NodeId caller : t.ctrl.of(n))
      if (!found[n]) found[n] = found[caller];
  }
  for (const NodeId n : t.nodes())
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1] && !t.deps.kind.empty() && !found[n]; ++e)
      if (trace::kind_of(t.deps.kind[e]) == trace::EdgeKind::launch) found[n] = found[t.deps.node[e]];
  if (kernel != 0 && t.ctrl.node.empty()) {
    const GeneratedNames names(t, found);
    for (const NodeId n : t.nodes())
      if (!found[n]) found[n] = names[t.name[n]];
  }
  for (const NodeId n : t.nodes()) works_[n] = found[n].value_or(Work::other);
}

}  // namespace chakra::whatif
