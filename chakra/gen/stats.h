// Sums over the nodes of a trace.
#pragma once

#include <string_view>
#include <vector>

#include "chakra/gen/communication.h"
#include "chakra/gen/mesh.h"
#include "chakra/trace/trace.h"

namespace chakra::gen {

/// By group and type. `all_ranks`: members of a group without a slot. `others`: the name of messages on the streams of
/// rings, which are those to ranks of another axis than pp. Of uneven all-to-alls: `place` of the rank among its
/// members, bytes of an `element`.
std::vector<Communication> communication(const trace::Trace& trace, const std::vector<Slot>& slots, double all_ranks,
                                         std::string_view others, int64_t place = 0, int64_t element = 0);
/// By tier and kind.
std::vector<StorageSum> storage(const trace::Trace& trace);

}  // namespace chakra::gen
