// What the tables of a job share: names of all ranks in one pool, and the matched communication. Inside query.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/query/tables.h"

namespace chakra::query {

struct Traces;

/// A rank, as a part of the tables of nodes and edges.
struct RankPart {
  const Traces* of = nullptr;
  const trace::Trace* trace = nullptr;
  std::vector<StringId> names;  ///< by id in Trace::strings: the id in Traces::texts
  StringId file = 0;
  int64_t late_ns = 0;  ///< Trace::base_ns since the zero of the job
};

struct Traces {
  MakeTraces make;
  const trace::TraceSet* job = nullptr;  ///< null before use_ranks()
  std::shared_ptr<Findings> findings;
  StringPool texts;
  std::vector<RankPart> ranks = {};  ///< empty before use_ranks()
  std::array<StringId, trace::kNodeTypeNames.size()> node_types{};
  std::array<StringId, trace::kCommTypeNames.size()> comm_types{};
  std::array<StringId, trace::kDTypeNames.size()> dtypes{};
  std::array<StringId, trace::kEdgeKinds.size()> edge_kinds{};
  StringId data = 0, control = 0;

  // The matched communication; empty before use_matching().
  std::optional<match::Matching> matching = {};
  struct Group {
    StringId name = 0, description = 0, backend = 0;
  };
  std::vector<Group> groups = {};
  std::vector<std::pair<uint32_t, uint32_t>> members = {};  ///< group, and position in its ranks
  std::vector<std::pair<uint32_t, match::NodeRef>> collective_nodes = {};

  Traces(MakeTraces make, std::shared_ptr<Findings> to);
  Result<void> use_ranks();
  Result<void> use_matching();
};

sqlite::Table ranks_table(const std::shared_ptr<Traces>& traces);
sqlite::Table nodes_table(const std::shared_ptr<Traces>& traces);
sqlite::Table edges_table(const std::shared_ptr<Traces>& traces);
/// Append the tables of matched communication.
void add_communication(std::vector<sqlite::Table>& to, const std::shared_ptr<Traces>& traces);

}  // namespace chakra::query
