// Why each edge of a node is there.
#include <fmt/core.h>

#include <array>

#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using trace::EdgeKind;
using trace::NodeId;
using trace::Trace;

/// What an edge of a kind says, where a record says it and where a rule infers it (docs/explanation/linking.md).
struct Reason {
  EdgeKind kind;
  std::string_view recorded, inferred;
};
constexpr std::array<Reason, 10> kReasons{{
    {EdgeKind::program, "it comes before on the same thread", ""},
    {EdgeKind::launch, "it launched this: equal correlation", ""},
    {EdgeKind::stream, "it comes before on the same stream",
     "the stream was busy before the recording began (rule D1)"},
    {EdgeKind::event, "the stream waits for an event after it: a cuda_sync record names both",
     "cudaStreamWaitEvent without a record, or a graph over several streams (rules W3, D3)"},
    {EdgeKind::sync, "this call blocks until it ends: the call's meaning, or a cuda_sync record",
     "the thread continued when it ended, and no record names the cause of the wait (rules W1 to W6)"},
    {EdgeKind::thread, "it started or woke this thread",
     "the other thread went idle last while this one was (rule T1)"},
    {EdgeKind::data, "this reads a tensor that it writes", "this reads a tensor that it writes"},
    {EdgeKind::comm, "it asked for this communication, or this waits for its completion",
     "the thread was idle until the communication ended (rule C1)"},
    {EdgeKind::contention, "", "it filled the device until this began (rule D2)"},
    {EdgeKind::given, "the edge is in the file", ""},
}};

std::string_view reason_of(uint8_t kind) {
  for (const Reason& row : kReasons)
    if (row.kind == trace::kind_of(kind)) return (kind & trace::kInferred) ? row.inferred : row.recorded;
  return "";
}

std::string show_attr(const Trace& t, NodeId n, std::string_view name) {
  for (const trace::Attr& attr : t.attrs_of(n))
    if (t.strings[attr.name] == name)
      return std::visit([](auto value) { return fmt::format("{}", value); }, attr.value);
  return {};
}

/// Exact: what is explained may hang on a nanosecond.
std::string show_us(Picoseconds time) {
  return fmt::format("{:.3f} us", static_cast<double>(time) / static_cast<double>(kPsPerUs));
}

std::string describe(const Trace& t, NodeId n) {
  std::string text = fmt::format("node {} {}", t.id[n], quote(t.name_of(n)));
  if (t.lane[n] != trace::kNoLane) {
    const trace::Lane& lane = t.lanes[t.lane[n]];
    text += lane.kind == trace::Lane::Kind::thread ? fmt::format(" on thread {}", lane.index)
                                                   : fmt::format(" on device {} stream {}", lane.process, lane.index);
  }
  if (t.has_start(n)) text += fmt::format(", at {} for {}", show_us(t.start_ps[n]), show_us(t.dur_ps[n]));
  if (const std::string source = show_attr(t, n, "source"); !source.empty()) text += fmt::format(", from {}", source);
  if (const std::string id = show_attr(t, n, "correlation"); !id.empty()) text += fmt::format(", correlation {}", id);
  return text;
}

}  // namespace

std::string explain(const Trace& t, NodeId node) {
  CHAKRA_ASSERT(node < t.size());
  std::string out = describe(t, node) + "\n";
  if (t.part_of[node] != trace::kNoNode) out += fmt::format("  continues      {}\n", describe(t, t.part_of[node]));
  for (const NodeId caller : t.ctrl.of(node)) out += fmt::format("  called by      {}\n", describe(t, caller));
  for (uint32_t e = t.deps.begin[node]; e < t.deps.begin[node + 1]; ++e) {
    const uint8_t kind = t.deps.kind[e];
    const NodeId on = t.deps.node[e];
    out += fmt::format("  waits for      {}\n    {}{}: {}\n", describe(t, on), trace::name(trace::kind_of(kind)),
                       (kind & trace::kInferred) ? ", inferred" : "", reason_of(kind));
    if (!t.has_start(on) || !t.has_start(node)) continue;
    const Picoseconds end = add_saturated(t.start_ps[on], t.dur_ps[on]);
    out += fmt::format("    it ended at {}{}; this began {} {}\n", show_us(end),
                       t.deps.lag_of(e) ? fmt::format(", the lag is {}", show_us(t.deps.lag_of(e))) : std::string(),
                       show_us(std::abs(t.start_ps[node] - end)), t.start_ps[node] < end ? "earlier" : "later");
  }
  if (t.deps.begin[node] == t.deps.begin[node + 1]) out += "  waits for nothing\n";
  return out;
}

}  // namespace chakra::view
