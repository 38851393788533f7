// Which rounds cost the same for all members, as far as the form of a fabric of dimensions alone says.
#pragma once

#include <optional>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/coll/targets.h"

namespace chakra::coll {

class Symmetry {
 public:
  /// Transfers round a ring: how many pass each of its links upwards and downwards.
  struct Crowd {
    double up = 0, down = 0;
  };
  struct Dimension {
    uint64_t stride, extent;
    net::RowForm form;
    bool whole;  ///< evenly spaced all the way round a ring
    int64_t spacing;
    double ps_per_byte;

    /// Any two are as far from each other as any other two.
    bool equidistant() const { return form == net::RowForm::star || form == net::RowForm::pairs; }
    /// The round moves all its members round, by equal steps.
    bool turned_by(const Targets& t) const { return t.block() == stride * extent; }
  };

  explicit Symmetry(const Place& place);

  /// The dimension in which the round turns all members alike, or null.
  const Dimension* turns(const Targets& t) const;
  /// Such a round's transfers on each link of the dimension. Members are M, evenly spaced; s members further up, a
  /// transfer passes s - 1 of them, so s transfers of that kind pass each link.
  Crowd crowd(const Dimension& d, const Targets& t) const;
  /// The parts of shift q that go up and down: opposite places share both ways, if they are spread.
  Crowd ways(const Dimension& d, const Targets& t, uint32_t q) const;
  /// How long the busiest link takes where each member sends each other one byte; none where the form does not say it.
  std::optional<double> exchange_ps_per_byte() const;

 private:
  const net::Fabric& fabric_;
  std::vector<Dimension>
      dimensions_;  ///< none where members fill no grid of a fabric of dimensions whose links are alike
};

}  // namespace chakra::coll
