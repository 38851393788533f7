// The members that a member sends to in a shift round.
#pragma once

#include <cstdint>

#include "chakra/coll/coll.h"

namespace chakra::coll {

struct Targets {
  uint32_t extent, stride, shift, shifts, apart;
  Targets(const Plan& plan, const Round& round)
      : extent(round.extent ? round.extent : plan.members),
        stride(round.stride),
        shift(round.shift % extent),
        shifts(round.shifts),
        apart(round.apart % extent) {}
  /// Send to the next of `along` members that are `inner` apart.
  Targets(uint32_t along, uint32_t inner) : extent(along), stride(inner), shift(1), shifts(1), apart(1) {}
  uint32_t of(uint32_t from, uint32_t q) const {
    const uint32_t c = from / stride % extent;
    const auto to = static_cast<uint32_t>((c + shift + uint64_t{q} * apart) % extent);
    return from - c * stride + to * stride;
  }
  /// Members form blocks of stride * extent; within a block, shift q rotates places by by(q).
  uint32_t block() const { return stride * extent; }
  uint32_t by(uint32_t q) const { return static_cast<uint32_t>((shift + uint64_t{q} * apart) % extent) * stride; }
  bool operator==(const Targets&) const = default;
  template <class Hash>
  friend Hash AbslHashValue(Hash hash, const Targets& t) {
    return Hash::combine(std::move(hash), t.extent, t.stride, t.shift, t.shifts, t.apart);
  }
};

}  // namespace chakra::coll
