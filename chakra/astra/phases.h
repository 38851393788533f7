// A chunk in one dimension, step by step (docs/reference/compat.md,
// 3, 4), and collectives given as traces (10).
#pragma once

#include <cstdint>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::astra {

struct Run;
struct Stream;
struct Event;

/// Delays of a packet bundle: first for the endpoint, then for the reduction of the data received before it.
Picoseconds endpoint_delay(const Run& run, const Stream& s);
Picoseconds reduction(const Run& run, uint64_t bytes);

void begin_phase(Run& run, uint32_t stream);
void reduce(Run& run, const Event& event);
void bundle_done(Run& run, uint32_t stream);
void phase_received(Run& run, uint32_t stream);
void custom_done(Run& run, uint32_t stream, trace::NodeId n);

}  // namespace chakra::astra
