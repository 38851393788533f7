// The dumps of a job side by side: groups by members, and the n-th collective of each member.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/flight/flight.h"

namespace chakra::flight {

/// A collective of one member: an entry, or several entries batched (coalesced) with a separate end.
struct Call {
  size_t dump = 0;                  ///< index among the dumps
  size_t first = 0;                 ///< index among the dump's entries
  std::vector<const Entry*> parts;  ///< without the end of a batch
  State state = State::scheduled;   ///< of the batch, if there is one
  int64_t created_ns = 0, timeout_ms = 0;
};

struct JobGroup {
  std::string name, description;
  std::vector<int64_t> members;  ///< ranks of the job, by rank of the group
  bool known = true;             ///< false: no dump lists the members, and `members` are the ranks that used the group
  std::map<int64_t, std::vector<Call>> collectives;  ///< by number; calls by dump
  std::map<size_t, int64_t> last;                    ///< by dump: the last called collective
  /// Return "group '0' (default_pg)".
  std::string text() const;
  /// Return the job rank of a group rank; unchanged if the members are unknown.
  int64_t rank_of(int64_t member) const {
    return known && member >= 0 && static_cast<size_t>(member) < members.size() ? members[static_cast<size_t>(member)]
                                                                                : member;
  }
};

struct CallTable {
  std::vector<JobGroup> groups;
  std::map<std::pair<size_t, uint32_t>, size_t> group_of;  ///< (dump, its group) -> groups
  std::map<int64_t, size_t> dump_of;                       ///< rank -> dump
  std::vector<std::vector<State>> states;                  ///< by dump and entry; for batches the state of the end
};
/// Build the table. Cost: O(entries log entries).
CallTable table_of_calls(const std::vector<Dump>& dumps, Findings& findings);

/// Whether the entry is the end of a batch, which has the state of all parts of the batch.
bool ends_batch(const Entry& entry);

/// A collective with different calls on its members.
struct Difference {
  std::string_view tag;
  std::vector<int64_t> ranks;  ///< ranks that differ from most others; empty: no side has the majority
  std::string text;            ///< "rank 2 calls all_gather, ranks 0-1 call all_reduce"
};
/// Whether the calls of one number differ in kind, size or type; false if all agree.
bool find_difference(const std::vector<Dump>& dumps, const JobGroup& group, const std::vector<Call>& calls,
                     Difference& difference);

/// Return "rank 3", "ranks 0-2, 5".
std::string show_ranks(std::vector<int64_t> ranks);
/// Return "0-2, 5".
std::string list_ranks(std::vector<int64_t> ranks);
/// Return "2023-11-14 22:13:20.000 UTC"; "an unknown time" for 0.
std::string show_utc(int64_t ns);

}  // namespace chakra::flight
