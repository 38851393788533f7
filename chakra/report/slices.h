// Slices of a timeline, packed for a page. Inside report.
#pragma once

#include <string>

#include "chakra/base/base.h"
#include "chakra/report/page.h"
#include "chakra/result/result.h"

namespace chakra::report {

/// Return the lanes, the names and the packed slices as JSON, and count the slices. On a lane, slices follow each
/// other: a slice that begins before the end of another goes to the next lane of the track. Times are exact, in units
/// of `unit_ps` from the first start. `links` may be null. Errors: job.report.lanes, base.file.write.
/// Cost: O(n log n) for n slices and links.
Result<std::string> packed_slices(const result::Timeline& timeline, const SliceLinks* links, Page& page);

}  // namespace chakra::report
