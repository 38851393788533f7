// Device time by nn.Module, and by annotation of the user: who asked for it.
#include <algorithm>
#include <map>
#include <set>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/host_tree.h"
#include "chakra/analyze/moments.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::kNoNode;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

struct ModuleSums {
  int64_t operations = 0;
  Picoseconds self = 0, inclusive = 0;
};

/// The attribute `module` names the modules around a launch, the outermost first: "Net_0/Linear_1".
std::map<std::string, ModuleSums> modules_of(const Trace& t, const DeviceWork& work) {
  std::map<std::string, ModuleSums> modules;
  const StringId name = t.strings.find("module");
  if (name == 0) return modules;
  for (const DeviceOperation& operation : work.operations)
    for (const trace::Attr& attr : t.attrs_of(operation.node)) {
      if (attr.name != name) continue;
      const std::string_view path = attr.text().value_or("");
      for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
        ModuleSums& sums = modules[std::string(path.substr(0, end))];
        sums.inclusive = add_saturated(sums.inclusive, operation.time());
        if (end != std::string_view::npos) continue;
        ++sums.operations;
        sums.self = add_saturated(sums.self, operation.time());
        break;
      }
    }
  return modules;
}

/// One annotation on one stream: from the first start to the last end of what was launched in it.
using Spans = std::map<std::string_view, Moments>;

/// As Kineto makes its gpu_user_annotation records.
Spans annotations_of(const Trace& t, const Schedule& s, const DeviceWork& work) {
  Spans spans;
  const StringId mark = t.strings.find("annotation");
  const LaunchesByThread launches(t, work);
  if (launches.order().empty()) return spans;
  const std::vector<Picoseconds> ends = trace::inclusive_ends(t);
  for (const NodeId n : t.nodes()) {
    if (!t.on_cpu(n) || t.lane[n] == trace::kNoLane || work.whole[n] != n) continue;
    if (!is_step(t.name_of(n)) && !attr_of(t, n, mark)) continue;
    std::map<std::pair<int64_t, int64_t>, std::pair<Picoseconds, Picoseconds>> streams;
    for (const uint32_t i : launches.between(t.lane[n], s.start[n], ends[n])) {
      const DeviceOperation& operation = work.operations[i];
      auto& [first, last] =
          streams
              .try_emplace({device_of(t, operation.node), stream_of(t, operation.node)}, operation.start, operation.end)
              .first->second;
      first = std::min(first, operation.start);
      last = std::max(last, operation.end);
    }
    for (const auto& [stream, span] : streams) spans[t.name_of(n)].add(span.second - span.first);
  }
  return spans;
}

}  // namespace

Result<std::vector<NamedTable>> modules(const Job& job, Findings&) {
  Table by_module{"Device time by nn.Module",
                  {{"rank", Kind::id, "rank", "the rank"},
                   {"module", Kind::text, "module", "path of the modules that were open at the launch"},
                   {"operations", Kind::count, "operations", "operations launched right in it"},
                   {"device", Kind::time_ps, "device_ps", "their time"},
                   {"share", Kind::share, "share", "its share of the device time"},
                   {"device inclusive", Kind::time_ps, "device_inclusive_ps", "the same with the modules inside"}},
                  {}};
  Table by_annotation{"Annotations on devices: first start to last end, a stream each",
                      {{"rank", Kind::id, "rank", "the rank"},
                       {"annotation", Kind::text, "annotation", "name of the annotation"},
                       {"count", Kind::count, "count", "spans on streams"},
                       {"sum", Kind::time_ps, "sum_ps", "sum of their times"},
                       {"mean", Kind::time_ps, "mean_ps", "mean of their times"},
                       {"min", Kind::time_ps, "min_ps", "shortest of them"},
                       {"max", Kind::time_ps, "max_ps", "longest of them"},
                       {"std", Kind::time_ps, "std_ps", "standard deviation of a sample"}},
                      {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    if (!job.schedules[r].measured) continue;
    const DeviceWork& work = device_work(job, r);
    const Picoseconds total = device_time(work);
    const auto modules = modules_of(t, work);
    std::vector<std::pair<std::string, ModuleSums>> order(modules.begin(), modules.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.inclusive > b.second.inclusive; });
    for (const auto& [name, sums] : order)
      by_module.rows.push_back({t.rank, name, sums.operations, sums.self, share(sums.self, total), sums.inclusive});
    const Spans spans = annotations_of(t, job.schedules[r], work);
    std::vector<std::pair<std::string_view, Moments>> sorted(spans.begin(), spans.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.sum > b.second.sum; });
    for (const auto& [name, m] : sorted)
      by_annotation.rows.push_back(
          {t.rank, std::string(name), m.count, m.sum, m.mean_ps(), m.least, m.largest, m.deviation_ps()});
  }
  return std::vector<NamedTable>{{"modules", std::move(by_module)}, {"annotations", std::move(by_annotation)}};
}

}  // namespace chakra::analyze
