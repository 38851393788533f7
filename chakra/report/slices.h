// Slices of a timeline, packed for a page. Inside report.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/report/page.h"
#include "chakra/result/result.h"

namespace chakra::report {

struct PackedSlices {
  std::string json;
  bool rounded = false;
};

/// Return the lanes, the names and the packed slices as JSON, and count the slices. On a lane, slices follow each
/// other: a slice that begins before the end of another goes to the next lane of the track. Times count units of
/// `unit_ps` from the first start. The unit divides all times, unless it would be smaller than `least_unit`: then it is
/// `least_unit`, the times are rounded, and the JSON has "rounded": true. `links` may be null.
/// Errors: job.report.lanes, base.file.write. Cost: O(n log n) for n slices and links.
Result<PackedSlices> packed_slices(const result::Timeline& timeline, const SliceLinks* links, Picoseconds least_unit,
                                   Page& page);

}  // namespace chakra::report
