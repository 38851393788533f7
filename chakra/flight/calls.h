// The dumps of a job side by side: groups by their members, and what each member did as the n-th collective.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chakra/flight/flight.h"

namespace chakra::flight {

/// A collective of one member: an entry, or several that were batched (coalesced) with an end of their own.
struct Call {
  size_t dump = 0;                  ///< index among the dumps
  size_t first = 0;                 ///< index among the dump's entries
  std::vector<const Entry*> parts;  ///< without the end of a batch
  State state = State::scheduled;   ///< of the batch, where there is one
  int64_t created_ns = 0, timeout_ms = 0;
};

struct JobGroup {
  std::string name, description;
  std::vector<int64_t> members;  ///< ranks of the job, by rank of the group
  bool known = true;             ///< false: no dump lists them, and `members` are the ranks that used the group
  std::map<int64_t, std::vector<Call>> collectives;  ///< by number; calls by dump
  std::map<size_t, int64_t> last;                    ///< by dump: the last collective that it called
  /// "group '0' (default_pg)".
  std::string text() const;
  /// The rank of the job that a rank of the group is; itself where members are not listed.
  int64_t rank_of(int64_t member) const {
    return known && member >= 0 && static_cast<size_t>(member) < members.size() ? members[static_cast<size_t>(member)]
                                                                                : member;
  }
};

struct CallTable {
  std::vector<JobGroup> groups;
  std::map<std::pair<size_t, uint32_t>, size_t> group_of;  ///< (dump, its group) -> groups
  std::map<int64_t, size_t> dump_of;                       ///< rank -> dump
  std::vector<std::vector<State>> states;                  ///< by dump and entry; of batches that of their end
};
/// Cost: O(entries log entries).
CallTable table_of_calls(const std::vector<Dump>& dumps, Findings& findings);

/// The end of a batch, which has the state of all its parts.
bool ends_batch(const Entry& entry);

/// A collective whose members do not call the same.
struct Difference {
  std::string_view tag;
  std::vector<int64_t> ranks;  ///< that differ from most others; empty: no side has the majority
  std::string text;            ///< "rank 2 calls all_gather, ranks 0-1 call all_reduce"
};
/// Whether the calls of one number are of one kind, size and type; false if nothing differs.
bool find_difference(const std::vector<Dump>& dumps, const JobGroup& group, const std::vector<Call>& calls,
                     Difference& difference);

/// "rank 3", "ranks 0-2, 5".
std::string show_ranks(std::vector<int64_t> ranks);
/// "0-2, 5".
std::string list_ranks(std::vector<int64_t> ranks);
/// "2023-11-14 22:13:20.000 UTC"; "an unknown time" for 0.
std::string show_utc(int64_t ns);

}  // namespace chakra::flight
