// Collectives and messages that began on some rank and have not ended: who is in them, who is late, and what keeps the
// late ones.
#pragma once

#include "chakra/flight/calls.h"

namespace chakra::flight {

inline constexpr size_t kNoStop = SIZE_MAX;

struct Late {
  enum class Why : uint8_t { no_dump, not_called, not_begun } why = Why::no_dump;
  int64_t rank = 0;
  size_t behind = kNoStop;  ///< the stop in which the rank is; kNoStop: nothing recorded keeps it
};

struct Stop {
  size_t group = 0;
  int64_t number = -1;         ///< of a collective
  int64_t src = -1, dst = -1;  ///< of a message, ranks of the job
  std::string operation;
  std::vector<int64_t> waiting;    ///< ranks that are in it
  std::vector<int64_t> completed;  ///< ranks that have left it
  std::vector<Late> late;
  std::vector<std::pair<size_t, size_t>> entries;  ///< (dump, entry) of those who wait
  int64_t since_ns = 0, timeout_ms = 0;
  std::string caller;  ///< where one of the waiting ranks called it
  bool differs = false;
  size_t beside = kNoStop;  ///< a message of a batch that another message of it holds up

  bool is_message() const { return src >= 0; }
};

/// Of each group the first collective that has not ended on a member.
void find_collective_stops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops);
/// Of each pair of ranks in a group the first message that has not ended on one of them.
void find_message_stops(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops,
                        Findings& findings);
/// Fills in Late::behind, and adds those who have called but wait for an earlier call of their own.
void find_reasons(const std::vector<Dump>& dumps, const CallTable& table, std::vector<Stop>& stops);

/// Adds a rank that waits.
void add_waiting(const std::vector<Dump>& dumps, size_t dump, size_t entry, Stop& stop);

}  // namespace chakra::flight
