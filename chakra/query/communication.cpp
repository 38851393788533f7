// Groups, collectives and messages, as match::match() pairs them.
#include <algorithm>
#include <map>

#include "chakra/query/column.h"
#include "chakra/query/traces.h"

namespace chakra::query {

Result<void> Traces::use_matching() {
  if (matching) return {};
  CHAKRA_TRY(use_ranks());
  matching = match::match(*job);
  add_findings(*findings, matching->findings);  // an analysis may have told them
  std::map<std::string_view, const trace::ProcessGroup*> described;
  for (const trace::Trace& t : job->ranks)
    for (const trace::ProcessGroup& group : t.groups) described.try_emplace(group.name, &group);
  for (uint32_t g = 0; g < matching->groups.size(); ++g) {
    const match::Group& group = matching->groups[g];
    Group& made = groups.emplace_back();
    made.name = texts.intern(group.name);
    if (const auto at = described.find(group.name); at != described.end()) {
      made.description = texts.intern(at->second->description);
      made.backend = texts.intern(at->second->backend);
    }
    for (uint32_t position = 0; position < group.ranks.size(); ++position) members.emplace_back(g, position);
  }
  for (uint32_t c = 0; c < matching->collectives.size(); ++c)
    for (const match::NodeRef& member : matching->collectives[c].members)
      if (member.node != trace::kNoNode) collective_nodes.emplace_back(c, member);
  return {};
}

namespace {

Cell rank_of(const Traces& t, const match::NodeRef& ref) {
  return ref.node == trace::kNoNode ? Cell() : Cell::whole(t.job->ranks[ref.rank].rank);
}
Cell id_of(const Traces& t, const match::NodeRef& ref) {
  return ref.node == trace::kNoNode ? Cell() : Cell::whole(t.job->ranks[ref.rank].id[ref.node]);
}

/// A table with a row for each element of a list of the communication.
template <class Rows>
sqlite::Table table_of(const std::shared_ptr<Traces>& traces, std::string name, std::string meaning,
                       std::vector<TableColumn> columns, Rows rows) {
  return {std::move(name), std::move(meaning), std::move(columns), false,
          [traces, rows](sqlite::Table& table) -> Result<void> {
            CHAKRA_TRY(traces->use_matching());
            table.owner = traces;
            table.texts = &traces->texts;
            table.parts = {{0, rows(*traces), traces.get()}};
            return {};
          }};
}

template <class Get>
TableColumn number(std::string name, std::string unit, std::string meaning, Get get, bool unique = false) {
  return column<Traces>(std::move(name), kWhole, std::move(unit), std::move(meaning), get, unique);
}
template <class Get>
TableColumn text(std::string name, std::string meaning, Get get) {
  return column<Traces>(std::move(name), kText, "", std::move(meaning), get);
}

sqlite::Table groups_table(const std::shared_ptr<Traces>& traces) {
  return table_of(traces, "groups", "process groups",
                  {text("name", "name of the group; '' for all ranks",
                        [](const Traces& t, size_t g) { return Cell::text(t.groups[g].name); }),
                   text("description", "description in the traces; '' if unknown",
                        [](const Traces& t, size_t g) { return Cell::text(t.groups[g].description); }),
                   text("backend", "back end in the traces; '' if unknown",
                        [](const Traces& t, size_t g) { return Cell::text(t.groups[g].backend); }),
                   number("size", "count", "expected number of ranks",
                          [](const Traces& t, size_t g) {
                            return cell_if(t.matching->groups[g].size > 0, Cell::whole(t.matching->groups[g].size));
                          }),
                   number("known", "", "1: the members are listed; 0: the members are the users of the group",
                          [](const Traces& t, size_t g) { return Cell::whole(int{t.matching->groups[g].known}); })},
                  [](const Traces& t) { return t.groups.size(); });
}

sqlite::Table members_table(const std::shared_ptr<Traces>& traces) {
  return table_of(traces, "members", "members of process groups",
                  {text("group_name", "name of the group",
                        [](const Traces& t, size_t row) { return Cell::text(t.groups[t.members[row].first].name); }),
                   number("position", "id", "position in the group, from 0",
                          [](const Traces& t, size_t row) { return Cell::whole(t.members[row].second); }),
                   number("rank", "id", "the rank",
                          [](const Traces& t, size_t row) {
                            const auto [group, position] = t.members[row];
                            return Cell::whole(t.matching->groups[group].ranks[position]);
                          })},
                  [](const Traces& t) { return t.members.size(); });
}

Cell type_of(const Traces& t, trace::CommType type) {
  if (type == trace::CommType::unknown) return {};
  return Cell::text(t.comm_types[static_cast<size_t>(type)]);
}

sqlite::Table collectives_table(const std::shared_ptr<Traces>& traces) {
  return table_of(
      traces, "collectives", "collectives that the ranks make together",
      {number(
           "collective", "id", "number of the collective in the job",
           [](const Traces&, size_t c) { return Cell::whole(c); }, true),
       text("group_name", "name of the group; '' for all ranks",
            [](const Traces& t, size_t c) { return Cell::text(t.groups[t.matching->collectives[c].group].name); }),
       number("position", "id", "position among the collectives of the group, from 0",
              [](const Traces& t, size_t c) { return Cell::whole(t.matching->collectives[c].index); }),
       text("type", "operation", [](const Traces& t, size_t c) { return type_of(t, t.matching->collectives[c].type); }),
       number("bytes", "bytes", "largest comm_bytes of the members",
              [](const Traces& t, size_t c) { return Cell::whole(t.matching->collectives[c].bytes); }),
       number("root", "id", "root rank",
              [](const Traces& t, size_t c) {
                return cell_if(t.matching->collectives[c].root >= 0, Cell::whole(t.matching->collectives[c].root));
              }),
       number("members", "count", "ranks of the group",
              [](const Traces& t, size_t c) { return Cell::whole(t.matching->collectives[c].members.size()); })},
      [](const Traces& t) { return t.matching->collectives.size(); });
}

sqlite::Table collective_nodes_table(const std::shared_ptr<Traces>& traces) {
  return table_of(traces, "collective_nodes", "nodes of collectives: one row for each member that has a node",
                  {number("collective", "id", "number of the collective",
                          [](const Traces& t, size_t row) { return Cell::whole(t.collective_nodes[row].first); }),
                   number("rank", "id", "rank of the member",
                          [](const Traces& t, size_t row) { return rank_of(t, t.collective_nodes[row].second); }),
                   number("node", "id", "id of the node",
                          [](const Traces& t, size_t row) { return id_of(t, t.collective_nodes[row].second); })},
                  [](const Traces& t) { return t.collective_nodes.size(); });
}

sqlite::Table messages_table(const std::shared_ptr<Traces>& traces) {
  return table_of(traces, "messages", "messages: a send and its receive",
                  {number("src", "id", "rank of the sender; NULL without a send",
                          [](const Traces& t, size_t m) { return rank_of(t, t.matching->messages[m].send); }),
                   number("src_node", "id", "id of the send",
                          [](const Traces& t, size_t m) { return id_of(t, t.matching->messages[m].send); }),
                   number("dst", "id", "rank of the receiver; NULL without a receive",
                          [](const Traces& t, size_t m) { return rank_of(t, t.matching->messages[m].recv); }),
                   number("dst_node", "id", "id of the receive",
                          [](const Traces& t, size_t m) { return id_of(t, t.matching->messages[m].recv); }),
                   number("bytes", "bytes", "size of the message",
                          [](const Traces& t, size_t m) { return Cell::whole(t.matching->messages[m].bytes); })},
                  [](const Traces& t) { return t.matching->messages.size(); });
}

}  // namespace

void add_communication(std::vector<sqlite::Table>& to, const std::shared_ptr<Traces>& traces) {
  to.push_back(groups_table(traces));
  to.push_back(members_table(traces));
  to.push_back(collectives_table(traces));
  to.push_back(collective_nodes_table(traces));
  to.push_back(messages_table(traces));
}

}  // namespace chakra::query
