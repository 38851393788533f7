// Uneven all-to-alls as even ones, for a group whose members change: the parts for other members are unknown.
#pragma once

#include "chakra/match/match.h"

namespace chakra::match {

/// Return the bytes that each member of the even all-to-all sends and receives: the mean over the members of
/// `collective` that have a trace. The members together move as much as before. Cost: O(members).
uint64_t even_bytes(const trace::TraceSet& job, const Collective& collective);
/// The same for a node without partners in the job: the mean of both of its directions.
uint64_t even_bytes(const trace::Comm& comm);

/// Make an all-to-all even.
void make_even(trace::Comm& comm, uint64_t bytes);

}  // namespace chakra::match
