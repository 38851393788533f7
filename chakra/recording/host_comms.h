// Communication in a host trace (host_comms.cpp): attributes of c10d's
// records, inputs by position, the groups of the job and the rank.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "chakra/recording/host_trace.h"

namespace chakra::recording {

/// Builds the records of nodes, one node at a time.
class HostComms {
 public:
  HostComms(StringPool& strings, Arena& texts) : strings_(strings), texts_(texts) {}

  void begin_node() { record_ = {}; }
  const CommRecord& record() const { return record_; }
  bool any() const { return !record_.empty() || record_.sequence >= 0; }

  /// Read an attribute of a node, value as JSON; attributes other than communication's are ignored.
  void read_attr(std::string_view name, std::string_view json);
  /// Read the inputs that record_param_comms has only by position:
  /// [[tensors], sequence, group, rank, "collective", in_split, out_split, ...]; group is a number
  /// (1.0.2) or ["name", "description"].
  void read_inputs(std::string_view values);

  /// Return the rank in the job: the rank in the default group, or from the list of the only group; -1: not recorded.
  int64_t find_rank(const std::vector<trace::ProcessGroup>& groups) const;

 private:
  bool is_sequence(std::string_view input);
  void note_rank(std::string_view group, bool named, std::string_view text);

  StringPool& strings_;
  Arena& texts_;
  CommRecord record_;
  std::map<std::string, int64_t, std::less<>> rank_in_group_;
};

/// Add the groups in the text of "## process_group:init ##": `values[0]` is a string with a JSON list of groups.
void add_groups(std::string_view values, const std::string& file, std::vector<trace::ProcessGroup>& groups);

}  // namespace chakra::recording
