// Collectives and messages that began on some rank and have not ended: the
// waiting ranks, the late ranks, and the reasons of the late ranks.
#pragma once

#include "chakra/flight/calls.h"

namespace chakra::flight {

inline constexpr size_t kNoStop = SIZE_MAX;

struct Late {
  enum class Why : uint8_t { no_dump, not_called, not_begun } why = Why::no_dump;
  int64_t rank = 0;
  size_t behind = kNoStop;  ///< the stop in which the rank is; kNoStop: no recorded reason
};

struct Stop {
  size_t group = 0;
  int64_t number = -1;         ///< of a collective
  int64_t src = -1, dst = -1;  ///< of a message, ranks of the job
  std::string operation;
  std::vector<int64_t> waiting;    ///< ranks that are in the call
  std::vector<int64_t> completed;  ///< ranks that have left the call
  std::vector<Late> late;
  std::vector<std::pair<size_t, size_t>> entries;  ///< (dump, entry) of the waiting ranks
  int64_t since_ns = 0, timeout_ms = 0;
  std::string caller;  ///< the source line of the call on one of the waiting ranks
  bool differs = false;
  size_t beside = kNoStop;  ///< for a message of a batch: the stop of another message in the batch that blocks it

  bool is_message() const { return src >= 0; }
};

/// Find, for each group, the first collective that has not ended on a member.
void find_collective_stops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops);
/// Find, for each pair of ranks in a group, the first message that has not ended on one of the two.
void find_message_stops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops,
                        Findings& findings);
/// Fill in Late::behind, and add ranks that have made the call but wait for an earlier call on the same rank.
void find_reasons(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops);

/// Add a waiting rank.
void add_waiting(const std::vector<Dump>& dumps, size_t dump, size_t entry, Stop& stop);

}  // namespace chakra::flight
