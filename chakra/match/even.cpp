#include "chakra/match/even.h"

#include <array>

namespace chakra::match {
namespace {

/// What a member sends and receives. Without a size of a direction, both are equal.
std::array<uint64_t, 2> sides_of(const trace::Comm& comm) {
  const uint64_t in = comm.in_bytes > 0 ? comm.in_bytes : comm.bytes;
  return {in, comm.out_bytes > 0 ? comm.out_bytes : in};
}

/// A sum of sizes from a file may be larger than 64 bits.
uint64_t rounded(double bytes) { return bytes < 0x1p64 ? static_cast<uint64_t>(bytes + 0.5) : UINT64_MAX; }

}  // namespace

uint64_t even_bytes(const trace::TraceSet& job, const Collective& collective) {
  double sum = 0;
  size_t sides = 0;
  for (const NodeRef ref : collective.members)
    if (ref.node != trace::kNoNode)
      for (const uint64_t side : sides_of(*job.ranks[ref.rank].comm(ref.node))) {
        sum += static_cast<double>(side);
        ++sides;
      }
  return sides == 0 ? 0 : rounded(sum / static_cast<double>(sides));
}

uint64_t even_bytes(const trace::Comm& comm) {
  const auto [in, out] = sides_of(comm);
  return rounded((static_cast<double>(in) + static_cast<double>(out)) / 2);
}

void make_even(trace::Comm& comm, uint64_t bytes) {
  const bool has_sides = comm.in_bytes > 0 || comm.out_bytes > 0;
  comm.bytes = bytes;
  if (has_sides) comm.in_bytes = comm.out_bytes = bytes;
  comm.in_split = comm.out_split = {};
}

}  // namespace chakra::match
