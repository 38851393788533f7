// Find the rounds that cost the same for all members by the form of a fabric of dimensions alone.
#pragma once

#include <optional>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/coll/targets.h"

namespace chakra::coll {

class Symmetry {
 public:
  /// Transfers round a ring: the number that passes each link upwards and downwards.
  struct Crowd {
    double up = 0, down = 0;
  };
  struct Dimension {
    uint64_t stride, extent;
    net::RowForm form;
    bool whole;  ///< evenly spaced round the whole ring
    int64_t spacing;
    double ps_per_byte;

    /// Return whether all pairs of members have the same distance.
    bool equidistant() const { return form == net::RowForm::star || form == net::RowForm::pairs; }
    /// Return whether the round rotates all members of the dimension by equal steps.
    bool turned_by(const Targets& t) const { return t.block() == stride * extent; }
  };

  explicit Symmetry(const Place& place);

  /// Return the dimension in which the round rotates all members equally, or null.
  const Dimension* turns(const Targets& t) const;
  /// Return the transfers of such a round on each link of the dimension. The M members are evenly spaced; a
  /// transfer to a member s places further up passes s - 1 members, so s transfers of that kind pass each link.
  Crowd crowd(const Dimension& d, const Targets& t) const;
  /// Return the parts of shift q that go up and down: transfers to opposite places use both ways, if spread.
  Crowd ways(const Dimension& d, const Targets& t, uint32_t q) const;
  /// Return the time of the busiest link if each member sends each other one byte; nullopt if the form is not enough.
  std::optional<double> exchange_ps_per_byte() const;

 private:
  const net::Fabric& fabric_;
  std::vector<Dimension>
      dimensions_;  ///< empty if members fill no grid of a fabric of dimensions whose links are equal
};

}  // namespace chakra::coll
