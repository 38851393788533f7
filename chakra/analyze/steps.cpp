#include "chakra/analyze/steps.h"
#include "chakra/trace/metadata.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace chakra::analyze {
namespace {

using trace::EdgeKind;
using trace::NodeId;
using trace::Trace;

constexpr uint8_t kBoth = Steps::kBegins | Steps::kEnds;

class StepFinder {
 public:
  explicit StepFinder(const Trace& trace) : t_(trace) {}

  Steps run() {
    out_.of.assign(t_.size(), -1);
    out_.roles.assign(t_.size(), 0);
    find_windows();
    if (!windows_.empty()) by_window();
    else if (trace::metadata(t_, trace::kXlaRuns)) by_run();
    else if (const auto iteration = linked_iteration()) the_iteration(*iteration);
    else one_step();
    return std::move(out_);
  }

 private:
  struct Window {
    NodeId node;
    Picoseconds begin, end;
  };

  bool is_host(NodeId n) const { return t_.has_start(n) && !t_.on_device(n) && t_.lane[n] != trace::kNoLane; }
  /// The call that launched a device operation, or kNoNode.
  NodeId launch_of(NodeId n) const {
    for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e)
      if (trace::kind_of(t_.deps.kind[e]) == EdgeKind::launch) return t_.deps.node[e];
    return trace::kNoNode;
  }
  void put(NodeId n, int32_t step, uint8_t roles) {
    out_.of[n] = step;
    out_.roles[n] |= roles;
  }

  /// Drop the steps nested in another step of the same thread: the outer step has a gap after the nested step begins.
  /// The tree of callers and the times of callees do not show nesting: operators may end late or on other threads.
  void drop_nested() {
    std::vector<Picoseconds> last_own(t_.size(), 0);  // per step: when the last gap directly in it begins
    for (const NodeId n : t_.nodes())
      if (is_host(n) && t_.name_of(n) == trace::kHostGap && t_.ctrl.begin[n] < t_.ctrl.begin[n + 1]) {
        const NodeId caller = t_.ctrl.node[t_.ctrl.begin[n]];
        if (t_.lane[caller] == t_.lane[n]) last_own[caller] = std::max(last_own[caller], t_.start_ps[n]);
      }
    std::vector<Picoseconds> until(t_.lanes.size(), 0);  // per thread: of the steps so far
    std::erase_if(windows_, [&](const Window& step) {
      Picoseconds& last = until[t_.lane[step.node]];
      const bool inside = last > step.begin;
      last = std::max(last, last_own[step.node]);
      return inside;
    });
  }

  void find_windows() {
    const std::vector<Picoseconds> inclusive = trace::inclusive_ends(t_);
    for (const NodeId n : t_.nodes())
      if (is_host(n) && t_.part_of[n] == trace::kNoNode && trace::step_number(t_.name_of(n)))
        windows_.push_back({n, t_.start_ps[n], inclusive[n]});
    std::stable_sort(windows_.begin(), windows_.end(),
                     [](const Window& a, const Window& b) { return a.begin < b.begin; });
    drop_nested();
    for (const Window& window : windows_) out_.names.emplace_back(t_.name_of(window.node));
  }

  int32_t window_at(Picoseconds time) const {
    const auto after = std::upper_bound(windows_.begin(), windows_.end(), time,
                                        [](Picoseconds t, const Window& w) { return t < w.begin; });
    const auto index = static_cast<int32_t>(after - windows_.begin()) - 1;
    return index >= 0 && time < windows_[static_cast<size_t>(index)].end ? index : -1;
  }

  void by_window() {
    for (const NodeId n : t_.nodes()) {
      if (!is_host(n)) continue;
      const int32_t step = window_at(t_.start_ps[n]);
      // A gap of another thread may be its wait for the next step.
      const bool waits = step >= 0 && t_.name_of(n) == trace::kHostGap &&
                         t_.lane[n] != t_.lane[windows_[static_cast<size_t>(step)].node];
      put(n, step, waits ? uint8_t{0} : kBoth);
    }
    bool launches = false;
    for (const NodeId n : t_.nodes())
      if (t_.on_device(n))
        if (const NodeId launch = launch_of(n); launch != trace::kNoNode)
          put(n, out_.of[launch], Steps::kEnds), launches = true;
    if (launches) return;
    for (const NodeId n : t_.nodes())  // without any launch, the start of device work decides
      if (t_.on_device(n) && t_.has_start(n))
        if (const int32_t step = window_at(t_.start_ps[n]); step >= 0) put(n, step, kBoth);
  }

  std::optional<int64_t> linked_iteration() const {
    const auto attr = trace::metadata(t_, "linked_iteration");
    return attr ? attr->integer() : std::nullopt;
  }

  /// A program of XLA runs once a step; each node has the number of its run.
  void by_run() {
    const StringId attribute = t_.strings.find(trace::kXlaRun);
    std::unordered_map<int64_t, int32_t> step_of;
    for (const NodeId n : t_.nodes())
      for (const trace::Attr& attr : t_.attrs_of(n)) {
        if (attr.name != attribute || !attr.integer() || !t_.has_start(n)) continue;
        const int64_t run = *attr.integer();
        const auto [step, added] = step_of.try_emplace(run, static_cast<int32_t>(out_.names.size()));
        if (added) {
          const auto name = trace::metadata(t_, fmt::format("{}_{}", trace::kXlaRun, run));
          out_.names.emplace_back(name && name->text() ? *name->text() : fmt::format("run {}", run));
        }
        put(n, step->second, kBoth);
      }
  }

  void the_iteration(int64_t number) {
    out_.names.push_back(fmt::format("iteration {}", number));
    for (const NodeId n : t_.nodes()) {
      if (is_host(n)) put(n, 0, kBoth);
      else if (t_.on_device(n) && launch_of(n) != trace::kNoNode) put(n, 0, Steps::kEnds);
    }
  }

  void one_step() {
    out_.names.emplace_back("recording");
    for (const NodeId n : t_.nodes()) {
      if (!t_.on_device(n) || !t_.has_start(n)) continue;
      put(n, 0, Steps::kEnds);
      const NodeId launch = launch_of(n);
      put(launch == trace::kNoNode ? n : launch, 0, Steps::kBegins);
    }
  }

  const Trace& t_;
  std::vector<Window> windows_;
  Steps out_;
};

}  // namespace

Steps find_steps(const Trace& trace) {
  trace::assert_whole(trace);
  return StepFinder(trace).run();
}

}  // namespace chakra::analyze
