// Operators by the device time launched under them: the innermost one, and all around it.
#include <algorithm>
#include <map>
#include <tuple>

#include "chakra/analyze/cells.h"
#include "chakra/analyze/host_tree.h"
#include "chakra/analyze/rows.h"

namespace chakra::analyze {
namespace {

using result::Table;
using trace::kNoNode;
using trace::NodeId;
using trace::Trace;
using Kind = Table::Kind;

struct OperatorSums {
  int64_t count = 0, operations = 0;
  Picoseconds host = 0, device = 0, inclusive = 0;
};

class Operators {
 public:
  Operators(const Trace& t, const Schedule& s, const DeviceWork& work) : t_(t), s_(s), work_(work) {}

  /// By name.
  std::map<std::string_view, OperatorSums> run() {
    for (const DeviceOperation& operation : work_.operations) charge(operation);
    add_host_time();
    visit_all();
    std::map<std::string_view, OperatorSums> named;
    for (StringId name = 0; name < by_name_.size(); ++name)
      if (by_name_[name].count > 0) named.emplace(t_.strings[name], by_name_[name]);
    return named;
  }

  OperatorSums none;  ///< of operations that no operator launched

 private:
  /// The innermost operator around the launch: the device operation's caller, or that of the call.
  void charge(const DeviceOperation& operation) {
    const NodeId caller = launching_operator(t_, work_, operation);
    OperatorSums* sums = &none;
    if (caller != kNoNode) {
      if (device_.empty()) device_.assign(t_.size(), 0);
      device_[caller] = add_saturated(device_[caller], operation.time());
      sums = &of(caller);
    }
    ++sums->operations;
    sums->device = add_saturated(sums->device, operation.time());
  }

  OperatorSums& of(NodeId n) {
    if (by_name_.empty()) by_name_.resize(t_.strings.size());
    return by_name_[t_.name[n]];
  }

  void add_host_time() {
    for (const NodeId n : t_.nodes()) {
      const NodeId whole = work_.whole[n];
      if (!work_.is_operator[whole]) continue;
      OperatorSums& sums = of(whole);
      sums.count += whole == n;
      sums.host = add_saturated(sums.host, s_.end[n] - s_.start[n]);
    }
  }

  /// The call tree, callers first. What a file puts into a circle begins anew at the first of it.
  void visit_all() {
    if (device_.empty()) return;
    std::vector<uint32_t> begin(t_.size() + 1, 0);
    std::vector<NodeId> parents(t_.size(), kNoNode);
    for (const NodeId n : t_.nodes()) {
      if (work_.whole[n] != n || !t_.on_cpu(n)) continue;
      const NodeId parent = caller_of(t_, work_, n);
      if (parent != n) parents[n] = parent;
      if (parents[n] != kNoNode) ++begin[parents[n] + 1];
    }
    for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    std::vector<NodeId> children(begin.back());
    std::vector<uint32_t> fill(begin.begin(), begin.end() - 1);
    for (const NodeId n : t_.nodes())
      if (parents[n] != kNoNode) children[fill[parents[n]]++] = n;
    seen_.assign(t_.size(), 0);
    open_.assign(t_.strings.size(), 0);
    for (const bool roots : {true, false})
      for (const NodeId n : t_.nodes())
        if (!seen_[n] && (!roots || parents[n] == kNoNode)) visit(n, begin, children);
  }

  /// Adds to each name what was launched under its outermost operators.
  void visit(NodeId root, const std::vector<uint32_t>& begin, const std::vector<NodeId>& children) {
    struct Open {
      NodeId node;
      uint32_t next;
      Picoseconds device;
    };
    std::vector<Open> stack;
    const auto enter = [&](NodeId n) {
      seen_[n] = 1;
      if (work_.is_operator[n]) ++open_[t_.name[n]];
      stack.push_back({n, begin[n], device_[n]});
    };
    enter(root);
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next < begin[top.node + 1]) {
        const NodeId child = children[top.next++];
        if (!seen_[child]) enter(child);
        continue;
      }
      const Open done = top;
      stack.pop_back();
      if (!stack.empty()) stack.back().device = add_saturated(stack.back().device, done.device);
      if (!work_.is_operator[done.node] || --open_[t_.name[done.node]] > 0) continue;
      OperatorSums& sums = of(done.node);
      sums.inclusive = add_saturated(sums.inclusive, done.device);
    }
  }

  const Trace& t_;
  const Schedule& s_;
  const DeviceWork& work_;
  std::vector<char> seen_;
  std::vector<Picoseconds> device_;    ///< by node: launched right under it; empty where nothing is
  std::vector<uint32_t> open_;         ///< by name: operators on the way from the root
  std::vector<OperatorSums> by_name_;  ///< by name
};

}  // namespace

Result<std::vector<NamedTable>> operators(const Job& job, Findings&) {
  Table table{"Operators by device time launched under them",
              {{"rank", Kind::id, "rank", "the rank"},
               {"operator", Kind::text, "operator", "name of the operator"},
               {"count", Kind::count, "count", "how many there are"},
               {"host self", Kind::time_ps, "host_self_ps", "host self time, without runtime calls"},
               {"operations", Kind::count, "operations", "device operations launched directly by them"},
               {"device", Kind::time_ps, "device_ps", "their time"},
               {"share", Kind::share, "share", "its share of the device time"},
               {"device inclusive", Kind::time_ps, "device_inclusive_ps",
                "time of all operations that they and their callees launched"}},
              {}};
  for (size_t r = 0; r < job.traces.ranks.size(); ++r) {
    const Trace& t = job.traces.ranks[r];
    const DeviceWork& work = device_work(job, r);
    Operators operators(t, job.schedules[r], work);
    auto named = operators.run();
    // A recorded rank without a device has host time alone.
    if (named.empty() || (work.operations.empty() && !job.schedules[r].measured)) continue;
    if (operators.none.operations > 0) named["(no operator)"] = operators.none;
    const Picoseconds total = device_time(work);
    std::vector<std::pair<std::string_view, OperatorSums>> order(named.begin(), named.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::tie(a.second.device, a.second.inclusive, a.second.host) >
             std::tie(b.second.device, b.second.inclusive, b.second.host);
    });
    std::vector<uint64_t> parts;
    for (const auto& [name, sums] : order) {
      parts.push_back(static_cast<uint64_t>(sums.device));
      table.rows.push_back({t.rank, std::string(name), sums.count, sums.host, sums.operations, sums.device,
                            share(sums.device, total), sums.inclusive});
    }
    if (total < kLongestPs) CHAKRA_TRY(check_sum("the device time of operators", static_cast<uint64_t>(total), parts));
  }
  return std::vector<NamedTable>{{"operators", std::move(table)}};
}

}  // namespace chakra::analyze
