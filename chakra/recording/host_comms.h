// What a host trace says about communication (host_comms.cpp): attributes of c10d's records, their inputs by position,
// the groups of the job and the rank.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "chakra/recording/host_trace.h"

namespace chakra::recording {

/// The record of one node after the other.
class HostComms {
 public:
  HostComms(StringPool& strings, Arena& texts) : strings_(strings), texts_(texts) {}

  void begin_node() { record_ = {}; }
  const CommRecord& record() const { return record_; }
  bool any() const { return !record_.empty() || record_.sequence >= 0; }

  /// An attribute of a node, as JSON writes its value; others than communication's change nothing.
  void read_attr(std::string_view name, std::string_view json);
  /// What record_param_comms has only by position:
  /// [[tensors], sequence, group, rank, "collective", in_split, out_split, ...]; group is a number
  /// (1.0.2) or ["name", "description"].
  void read_inputs(std::string_view values);

  /// The rank in the job: that in the default group, or what the only group's list says; -1: not said.
  int64_t find_rank(const std::vector<trace::ProcessGroup>& groups) const;

 private:
  bool is_sequence(std::string_view input);
  void note_rank(std::string_view group, bool named, std::string_view text);

  StringPool& strings_;
  Arena& texts_;
  CommRecord record_;
  std::map<std::string, int64_t, std::less<>> rank_in_group_;
};

/// Adds the groups that "## process_group:init ##" has as text: `values[0]` is a string that holds a JSON list of them.
void add_groups(std::string_view values, const std::string& file, std::vector<trace::ProcessGroup>& groups);

}  // namespace chakra::recording
