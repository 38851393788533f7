#include "chakra/analyze/summary.h"

#include <map>
#include <numeric>

#include "chakra/analyze/analyze.h"
#include "chakra/answer/rows.h"

namespace chakra::analyze {

TraceSummary summarize(const trace::Trace& t) {
  TraceSummary s;
  s.file = t.file;
  s.rank = t.rank;
  s.nodes = t.size();
  for (const trace::NodeId n : t.nodes()) {
    ++s.types[t.type[n]];
    s.on_device += t.on_device(n);
    s.duration = add_saturated(s.duration, t.dur_ps[n]);
    if (t.on_device(n)) s.device_duration = add_saturated(s.device_duration, t.dur_ps[n]);
    if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n])) {
      TraceSummary::Communication& kind = s.communication[{t.type[n], comm->type}];
      ++kind.count;
      kind.bytes = add_bytes(kind.bytes, comm->bytes);
      kind.time = add_saturated(kind.time, t.dur_ps[n]);
    }
  }
  for (const uint8_t kind : t.deps.kind) {
    ++s.edges[static_cast<size_t>(trace::kind_of(kind))];
    s.inferred += (kind & trace::kInferred) != 0;
  }
  s.groups = t.groups;
  for (const trace::Attr& attr : t.metadata)
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<decltype(value), const std::string_view&>)
            s.metadata.emplace_back(t.strings[attr.name], std::string(value));
          else s.metadata.emplace_back(t.strings[attr.name], value);
        },
        attr.value);
  s.defects = static_cast<int64_t>(t.defects.size());
  find_long_times(s.duration, t.rank, s.findings);
  return s;
}

// ---- as an answer ----------------------------------------------------------------------------------------------

namespace {

using answer::by_key;
using answer::ByKey;
using answer::column;
using answer::column_if;
using answer::Missing;
using answer::rows;
using answer::time_column;
using answer::Unit;
using Communication = std::pair<const std::pair<trace::NodeType, trace::CommType>, TraceSummary::Communication>;

std::string communication_name(const std::pair<trace::NodeType, trace::CommType>& kind) {
  return std::string(kind.first == trace::NodeType::coll ? trace::name(kind.second) : trace::name(kind.first));
}

/// A trace, and whether it stands for a class of ranks.
struct Summary {
  const TraceSummary& of;
  bool of_class = false;
};
template <auto Member>
constexpr auto part(std::string_view key, Unit unit, std::string_view meaning) {
  return column<Summary>(key, unit, meaning, [](const Summary& s) { return s.of.*Member; });
}
template <auto Member>
constexpr auto replayed(std::string_view key, std::string_view meaning) {
  return time_column<Summary>(key, meaning, [](const Summary& s) {
    return s.of.replay ? std::optional((*s.of.replay).*Member) : std::nullopt;
  });
}
constexpr std::array kSummaries{
    part<&TraceSummary::file>("file", Unit::none, "its file"),
    part<&TraceSummary::rank>("rank", Unit::id, "the rank"),
    part<&TraceSummary::nodes>("nodes", Unit::count, "its nodes"),
    rows<Summary>("node_types", "nodes by type"),
    part<&TraceSummary::on_device>("device_ops", Unit::count, "nodes on devices"),
    rows<Summary>("edges", "dependencies by kind"),
    column<Summary>("dependencies", Unit::count, "of all kinds",
                    [](const Summary& s) { return std::accumulate(s.of.edges.begin(), s.of.edges.end(), int64_t{0}); }),
    part<&TraceSummary::inferred>("inferred_edges", Unit::count, "dependencies inferred by a rule, without a record"),
    rows<Summary>("communication", "communication by type"),
    rows<Summary>("groups", "process groups"),
    time_column<Summary>("durations_ps", "of all nodes", [](const Summary& s) { return s.of.duration; }),
    time_column<Summary>("device_durations_ps", "of nodes on devices",
                         [](const Summary& s) { return s.of.device_duration; }),
    rows<Summary>("metadata", "metadata of the trace, by name"),
    replayed<&TraceSummary::Replay::measured_ps>("measured_ps", "measured time; null: not measured"),
    replayed<&TraceSummary::Replay::replayed_ps>("replayed_ps", "time in the self-check"),
    column<Summary>("replay_error", Unit::share, "replayed_ps / measured_ps - 1",
                    [](const Summary& s) { return s.of.replay ? std::optional(s.of.replay->error) : std::nullopt; }),
    part<&TraceSummary::defects>("defects", Unit::count, "defects that 'chakra check' reports"),
    rows<Summary>("findings", "findings about it"),
    column_if<Summary>([](const Summary& s) { return s.of_class; }, "ranks", Unit::count, "ranks of the class",
                       [](const Summary& s) { return s.of.ranks; })};
constexpr std::array kCommunication{
    column<Communication>("type", Unit::none, "the operation",
                          [](const auto& c) { return communication_name(c.first); }),
    column<Communication>("count", Unit::count, "nodes", [](const auto& c) { return c.second.count; }),
    column<Communication>("bytes", Unit::bytes, "what they move", [](const auto& c) { return c.second.bytes; }),
    time_column<Communication>("time_ps", "their durations", [](const auto& c) { return c.second.time; })};
constexpr std::array kGroups{
    column<&trace::ProcessGroup::name>("name", Unit::none, "its name"),
    column<&trace::ProcessGroup::description>("description", Unit::none, "purpose of the group"),
    rows<trace::ProcessGroup>("ranks", "its ranks; empty: all"),
    column<&trace::ProcessGroup::size>("size", Unit::count, "how many ranks it has")};
ByKey<int64_t> node_types(const Summary& s) {
  ByKey<int64_t> types;
  for (const auto& [type, count] : s.of.types) types.emplace_back(trace::name(type), count);
  return types;
}
ByKey<int64_t> edges(const Summary& s) {
  ByKey<int64_t> kinds;
  for (size_t i = 0; i < s.of.edges.size(); ++i)
    if (s.of.edges[i]) kinds.emplace_back(trace::kEdgeKinds[i].name, s.of.edges[i]);
  return kinds;
}
/// Of several values of a name the last, at the place of the first.
ByKey<TraceSummary::Value> metadata(const Summary& s) {
  ByKey<TraceSummary::Value> values;
  std::map<std::string_view, size_t> places;
  for (const auto& [name, value] : s.of.metadata) {
    const auto [place, added] = places.try_emplace(name, values.size());
    if (added) values.emplace_back(name, value);
    else values[place->second].second = value;
  }
  return values;
}

}  // namespace

void add_summaries(const std::string& key, std::string_view meaning, const std::vector<TraceSummary>& traces,
                   bool of_classes, bool present, answer::Builder& to) {
  std::vector<Summary> rows;
  std::vector<trace::ProcessGroup> groups;
  for (const TraceSummary& trace : traces) {
    if (!present) break;
    rows.push_back({trace, of_classes});
    groups.insert(groups.end(), trace.groups.begin(), trace.groups.end());
  }
  to.table(key, meaning, rows, kSummaries, present);
  to.children(key, "node_types", rows, node_types, by_key<int64_t>(Unit::count));
  to.children(key, "edges", rows, edges, by_key<int64_t>(Unit::count));
  to.children(
      key, "communication", rows, [](const Summary& s) -> const auto& { return s.of.communication; }, kCommunication);
  to.children(
      key, "groups", rows, [](const Summary& s) -> const auto& { return s.of.groups; }, kGroups);
  to.children(
      key + ".groups", "ranks", groups, [](const auto& group) -> const auto& { return group.ranks; }, answer::kIdRows);
  to.children(key, "metadata", rows, metadata, by_key<TraceSummary::Value>(Unit::none));
  to.child_findings(
      key, "findings", rows, [](const Summary& s) -> const auto& { return s.of.findings; });
}

}  // namespace chakra::analyze
