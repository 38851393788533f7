#include "chakra/query/traces.h"

#include <algorithm>
#include <limits>

#include "chakra/query/column.h"
#include "chakra/trace/starts.h"

namespace chakra::query {

using trace::NodeId;
using trace::Trace;

Traces::Traces(MakeTraces made_by, std::shared_ptr<Findings> to) : make(std::move(made_by)), findings(std::move(to)) {
  const auto take = [&](auto& ids, const auto& names, const auto& name) {
    for (size_t i = 0; i < names.size(); ++i) ids[i] = texts.intern(name(names[i]));
  };
  const auto text = [](std::string_view name) { return name; };
  take(node_types, trace::kNodeTypeNames, text);
  take(comm_types, trace::kCommTypeNames, text);
  take(dtypes, trace::kDTypeNames, text);
  take(edge_kinds, trace::kEdgeKinds, [](const trace::EdgeKindRow& row) { return row.name; });
  data = texts.intern("data");
  control = texts.intern("control");
}

Result<void> Traces::use_ranks() {
  if (job) return {};
  CHAKRA_ASSIGN(job, make());
  int64_t zero_ns = std::numeric_limits<int64_t>::max();
  for (const Trace& t : job->ranks)
    if (trace::has_starts(t)) zero_ns = std::min(zero_ns, t.base_ns);
  ranks.reserve(job->ranks.size());
  for (const Trace& t : job->ranks) {
    RankPart& part = ranks.emplace_back();
    part.of = this;
    part.trace = &t;
    part.file = texts.intern(t.file);
    for (size_t s = 0; s < t.strings.size(); ++s)
      part.names.push_back(texts.intern(t.strings[static_cast<StringId>(s)]));
    // Of ranks without measured starts, and of clocks that are centuries apart, the value is not used or beyond 64
    // bits.
    if (__builtin_sub_overflow(t.base_ns, zero_ns, &part.late_ns)) part.late_ns = std::numeric_limits<int64_t>::max();
  }
  return {};
}

namespace {

Cell text_of(const RankPart& rank, StringId id) { return Cell::text(rank.names[id]); }
Cell text_unless_empty(const RankPart& rank, StringId id) { return cell_if(id != 0, text_of(rank, id)); }

Cell start_of(const RankPart& rank, size_t row) {
  if (!(rank.trace->flags[row] & trace::kHasStart)) return {};
  int64_t late = 0, start = 0;
  if (__builtin_mul_overflow(rank.late_ns, kPsPerNs, &late) ||
      __builtin_add_overflow(late, rank.trace->start_ps[row], &start))
    return {Cell::Kind::large, 0};
  return Cell::whole(start);
}

template <trace::Lane::Kind Kind, int64_t trace::Lane::*Member>
Cell lane_of(const RankPart& rank, size_t row) {
  const uint32_t lane = rank.trace->lane[row];
  if (lane == trace::kNoLane || rank.trace->lanes[lane].kind != Kind) return {};
  return Cell::whole(rank.trace->lanes[lane].*Member);
}

/// A column of communication: `Get` of the Comm, missing for other nodes.
template <class Get>
TableColumn comm_column(std::string name, ValueType type, std::string unit, std::string meaning, Get) {
  return column<RankPart>(std::move(name), type, std::move(unit), std::move(meaning),
                          [](const RankPart& rank, size_t row) {
                            const trace::Comm* const comm = rank.trace->comm(NodeId(row));
                            return comm ? Get{}(rank, *comm) : Cell();
                          });
}
template <int64_t trace::Comm::*Member>
TableColumn comm_number(std::string name, std::string meaning) {
  return comm_column(std::move(name), kWhole, "id", std::move(meaning), [](const RankPart&, const trace::Comm& c) {
    return cell_if(c.*Member >= 0, Cell::whole(c.*Member));
  });
}
template <uint64_t trace::Comm::*Member>
TableColumn comm_bytes(std::string name, std::string meaning) {
  return comm_column(std::move(name), kWhole, "bytes", std::move(meaning),
                     [](const RankPart&, const trace::Comm& c) { return Cell::whole(c.*Member); });
}

/// The columns of trace::kColumns that are stored as attributes.
template <size_t I = 0>
void add_attributes(std::vector<TableColumn>& to) {
  if constexpr (I < std::tuple_size_v<decltype(trace::kColumns)>) {
    constexpr const auto& kRow = std::get<I>(trace::kColumns);
    if constexpr (kRow.stored == trace::Stored::dtype)
      to.push_back(column<RankPart>(std::string(kRow.name), kText, "", std::string(kRow.meaning),
                                    [](const RankPart& rank, size_t row) {
                                      const uint8_t type = std::get<I>(trace::kColumns).of(*rank.trace, NodeId(row));
                                      return cell_if(type != 0, Cell::text(rank.of->dtypes[type]));
                                    }));
    else if constexpr (kRow.is_attribute())
      to.push_back(column<RankPart>(std::string(kRow.name), kWhole, kRow.name.ends_with("bytes") ? "bytes" : "count",
                                    std::string(kRow.meaning) + "; 0 if unknown", [](const RankPart& rank, size_t row) {
                                      return Cell::whole(std::get<I>(trace::kColumns).of(*rank.trace, NodeId(row)));
                                    }));
    add_attributes<I + 1>(to);
  }
}

void add_comm_columns(std::vector<TableColumn>& to) {
  to.push_back(comm_column("comm_type", kText, "", "operation of a collective", [](const RankPart& r, const auto& c) {
    return cell_if(c.type != trace::CommType::unknown,
                   Cell::text(r.of->comm_types[static_cast<size_t>(c.type) % r.of->comm_types.size()]));
  }));
  to.push_back(
      comm_bytes<&trace::Comm::bytes>("comm_bytes", "bytes that the rank contributes (all-gather: its shard)"));
  to.push_back(comm_bytes<&trace::Comm::in_bytes>("comm_in_bytes", "bytes of the input; 0 if unknown"));
  to.push_back(comm_bytes<&trace::Comm::out_bytes>("comm_out_bytes", "bytes of the output; 0 if unknown"));
  to.push_back(comm_column("comm_dtype", kText, "", "type of the elements",
                           [](const RankPart& r, const auto& c) { return text_unless_empty(r, c.dtype); }));
  to.push_back(comm_column("comm_group", kText, "", "name of the process group; '' for all ranks",
                           [](const RankPart& r, const auto& c) { return text_of(r, c.group); }));
  to.push_back(comm_number<&trace::Comm::sequence>("comm_sequence", "number of the collective in its group"));
  to.push_back(comm_number<&trace::Comm::root>("comm_root", "root rank of a collective"));
  to.push_back(comm_number<&trace::Comm::src>("comm_src", "sender of a message"));
  to.push_back(comm_number<&trace::Comm::dst>("comm_dst", "receiver of a message"));
  to.push_back(comm_number<&trace::Comm::tag>("comm_tag", "tag of a message"));
}

/// Functions as types, which column() needs.
struct StartOf {
  Cell operator()(const RankPart& rank, size_t row) const { return start_of(rank, row); }
};
template <trace::Lane::Kind Kind, int64_t trace::Lane::*Member>
struct LaneOf {
  Cell operator()(const RankPart& rank, size_t row) const { return lane_of<Kind, Member>(rank, row); }
};

std::vector<TableColumn> node_columns() {
  using Lane = trace::Lane;
  using Part = RankPart;
  constexpr auto kThread = Lane::Kind::thread, kStream = Lane::Kind::stream;
  std::vector<TableColumn> to;
  to.push_back(key_column("rank", "the rank"));
  to.push_back(column<Part>(
      "id", kWhole, "id", "number of the node in the trace of the rank",
      [](const Part& r, size_t row) { return Cell::whole(r.trace->id[row]); }, true));
  to.push_back(column<Part>("name", kText, "", "name of the node",
                            [](const Part& r, size_t row) { return text_of(r, r.trace->name[row]); }));
  to.push_back(column<Part>(
      "type", kText, "", "COMP_NODE, COMM_COLL_NODE, COMM_SEND_NODE and so on",
      [](const Part& r, size_t row) { return Cell::text(r.of->node_types[static_cast<size_t>(r.trace->type[row])]); }));
  to.push_back(
      column<Part>("on_device", kWhole, "", "1: a device operation; 0: a host operation",
                   [](const Part& r, size_t row) { return Cell::whole(int{r.trace->on_device(NodeId(row))}); }));
  to.push_back(
      column<Part>("start_ps", kWhole, "ps", "measured start, since the earliest base_ns of a rank", StartOf()));
  to.push_back(column<Part>("dur_ps", kWhole, "ps", "duration: of a host operation, the time of this piece alone",
                            [](const Part& r, size_t row) {
                              return cell_if(r.trace->flags[row] & trace::kHasDuration,
                                             Cell::whole(r.trace->dur_ps[row]));
                            }));
  to.push_back(
      column<Part>("part_of", kWhole, "id", "id of the node that this piece continues", [](const Part& r, size_t row) {
        const NodeId whole = r.trace->part_of[row];
        return whole == trace::kNoNode ? Cell() : Cell::whole(r.trace->id[whole]);
      }));
  to.push_back(column<Part>("process", kWhole, "id", "process of a host operation", LaneOf<kThread, &Lane::process>()));
  to.push_back(column<Part>("thread", kWhole, "id", "thread of a host operation", LaneOf<kThread, &Lane::index>()));
  to.push_back(column<Part>("device", kWhole, "id", "device of a device operation", LaneOf<kStream, &Lane::process>()));
  to.push_back(column<Part>("stream", kWhole, "id", "stream of a device operation", LaneOf<kStream, &Lane::index>()));
  add_attributes(to);
  add_comm_columns(to);
  return to;
}

/// Fill a table that has a part for each rank.
template <class Size>
std::function<Result<void>(sqlite::Table&)> load_ranks(std::shared_ptr<Traces> traces, Size size) {
  return [traces = std::move(traces), size](sqlite::Table& table) -> Result<void> {
    CHAKRA_TRY(traces->use_ranks());
    table.owner = traces;
    table.texts = &traces->texts;
    for (const RankPart& rank : traces->ranks) table.parts.push_back({rank.trace->rank, size(*rank.trace), &rank});
    return {};
  };
}

/// An edge of a rank: data dependencies first, then the call tree.
struct Edge {
  const trace::Edges* edges;
  size_t at;
  bool is_data;
};
Edge edge_at(const RankPart& rank, size_t row) {
  const size_t data = rank.trace->deps.node.size();
  if (row < data) return {&rank.trace->deps, row, true};
  return {&rank.trace->ctrl, row - data, false};
}
Cell kind_of_edge(const RankPart& rank, const Edge& edge) {
  if (edge.edges->kind.empty()) return {};
  const auto kind = static_cast<size_t>(trace::kind_of(edge.edges->kind[edge.at]));
  return cell_if(kind < rank.of->edge_kinds.size(), Cell::text(rank.of->edge_kinds[kind % rank.of->edge_kinds.size()]));
}

}  // namespace

sqlite::Table ranks_table(const std::shared_ptr<Traces>& traces) {
  using Part = RankPart;
  std::vector<TableColumn> columns{key_column("rank", "the rank")};
  columns.push_back(column<Part>("nodes", kWhole, "count", "nodes of the trace",
                                 [](const Part& r, size_t) { return Cell::whole(r.trace->size()); }));
  columns.push_back(column<Part>("edges", kWhole, "count", "data dependencies of the trace",
                                 [](const Part& r, size_t) { return Cell::whole(r.trace->deps.node.size()); }));
  columns.push_back(column<Part>("base_ns", kWhole, "ns", "zero of the measured times of the rank, since 1970 if known",
                                 [](const Part& r, size_t) { return Cell::whole(r.trace->base_ns); }));
  columns.push_back(
      column<Part>("file", kText, "", "file of the trace", [](const Part& r, size_t) { return Cell::text(r.file); }));
  return {"ranks", "ranks of the job", std::move(columns), true,
          load_ranks(traces, [](const Trace&) { return size_t{1}; })};
}

sqlite::Table nodes_table(const std::shared_ptr<Traces>& traces) {
  return {"nodes", "nodes of all ranks", node_columns(), true,
          load_ranks(traces, [](const Trace& t) { return t.size(); })};
}

sqlite::Table edges_table(const std::shared_ptr<Traces>& traces) {
  using Part = RankPart;
  std::vector<TableColumn> columns{key_column("rank", "the rank")};
  columns.push_back(column<Part>("node", kWhole, "id", "id of the waiting node", [](const Part& r, size_t row) {
    const Edge edge = edge_at(r, row);
    const auto& begin = edge.edges->begin;
    const auto after = std::upper_bound(begin.begin(), begin.end(), edge.at);
    return Cell::whole(r.trace->id[static_cast<size_t>(after - begin.begin()) - 1]);
  }));
  columns.push_back(column<Part>("waits_for", kWhole, "id", "id of the node waited for; control: the caller",
                                 [](const Part& r, size_t row) {
                                   const Edge edge = edge_at(r, row);
                                   return Cell::whole(r.trace->id[edge.edges->node[edge.at]]);
                                 }));
  columns.push_back(column<Part>(
      "dependency", kText, "", "data (order that must hold) or control (the call tree)",
      [](const Part& r, size_t row) { return Cell::text(edge_at(r, row).is_data ? r.of->data : r.of->control); }));
  columns.push_back(column<Part>("kind", kText, "", "kind of the dependency (chakra list edges)",
                                 [](const Part& r, size_t row) { return kind_of_edge(r, edge_at(r, row)); }));
  columns.push_back(
      column<Part>("inferred", kWhole, "", "1: by a documented rule; 0: by a record", [](const Part& r, size_t row) {
        const Edge edge = edge_at(r, row);
        if (edge.edges->kind.empty()) return Cell();
        return Cell::whole((edge.edges->kind[edge.at] & trace::kInferred) != 0 ? 1 : 0);
      }));
  columns.push_back(column<Part>("lag_ps", kWhole, "ps", "time from the end of the one to the start of the other",
                                 [](const Part& r, size_t row) {
                                   const Edge edge = edge_at(r, row);
                                   return Cell::whole(edge.edges->lag_of(edge.at));
                                 }));
  return {"edges", "dependencies of all ranks", std::move(columns), true,
          load_ranks(traces, [](const Trace& t) { return t.deps.node.size() + t.ctrl.node.size(); })};
}

void add_job(Tables& to, MakeTraces make) {
  const auto traces = std::make_shared<Traces>(std::move(make), to.findings);
  to.all.push_back(ranks_table(traces));
  to.all.push_back(nodes_table(traces));
  to.all.push_back(edges_table(traces));
  add_communication(to.all, traces);
}

}  // namespace chakra::query
