// What each node computes: by the kernel that it names, by its operator or that of its callers (the rows of
// `chakra list work`), in generated jobs by its name.
#include "chakra/whatif/nodes.h"

namespace chakra::whatif {
namespace {

using trace::NodeId;
using trace::Trace;

/// By the operators of a trace.
class Operators {
 public:
  explicit Operators(const Trace& t) : of_(t.strings.size()) {
    for (StringId id = 0; id < of_.size(); ++id) {
      const std::string_view name = t.strings[id];
      if (work::copy_route(name) != work::CopyRoute::none) of_[id] = WorkKind::copy;
      else if (work::is_memset(name)) of_[id] = WorkKind::fill;
      else if (const work::WorkRow* row = work::find_work_row(name)) of_[id] = row->kind;
    }
  }
  std::optional<WorkKind> operator[](StringId name) const { return of_[name]; }

 private:
  std::vector<std::optional<WorkKind>> of_;
};

std::optional<WorkKind> by_kernel(const Trace& t, NodeId n, StringId kernel) {
  const trace::Attrs::Range attrs = t.attrs_of(n);
  for (auto at = attrs.begin(); at != attrs.end(); ++at)
    if (const trace::Attr attr = *at; attr.name == kernel)
      if (const auto shape = work::parse_kernel(attr.text().value_or(""))) return shape->kind->work;
  return std::nullopt;
}

/// Of generated nodes whose kernel is not known: what the operator is whose gradient or repetition it is, else by how
/// the name ends.
class GeneratedNames {
 public:
  GeneratedNames(const Trace& t, const std::vector<std::optional<WorkKind>>& found) : t_(t), of_(t.strings.size()) {
    for (const NodeId n : t.nodes())
      if (found[n]) of_[t.name[n]] = found[n];
  }
  std::optional<WorkKind> operator[](StringId id) const {
    std::string_view name = t_.strings[id];
    do {
      if (const StringId known = t_.strings.find(name); known != 0 && of_[known]) return of_[known];
    } while (work::remove_backward(name));
    return work::kind_of_generated(name);
  }

 private:
  const Trace& t_;
  std::vector<std::optional<WorkKind>> of_;  ///< by name
};

}  // namespace

NodeWorks::NodeWorks(const Trace& t) : works_(t.size(), WorkKind::other) {
  const Operators operators(t);
  const StringId kernel = t.strings.find("kernel");
  std::vector<std::optional<WorkKind>> found(t.size());
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
  for (const NodeId n : t.nodes()) works_[n] = found[n].value_or(WorkKind::other);
}

}  // namespace chakra::whatif
