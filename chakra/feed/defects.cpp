#include <fmt/core.h>

#include "chakra/feed/feed.h"
#include "chakra/trace/misread.h"

namespace chakra::feed {

using trace::Defect;

Result<void> check_defects(const trace::Trace& t) {
  for (const Defect& d : t.defects) {
    const char* what = nullptr;
    switch (d.kind) {
      case Defect::Kind::dangling_ctrl: continue;  // orders nothing
      case Defect::Kind::self_dep:
        return fail(Code::stuck, "sim.stuck.cycle",
                    fmt::format("rank {} cannot finish: node {} waits for itself", t.rank, t.id[d.node]), {t.file});
      case Defect::Kind::duplicate_id: what = "has an id that is used before"; break;
      case Defect::Kind::dangling_dep: what = "waits for a node that is not in the file"; break;
      case Defect::Kind::negative_size: what = "has a negative number of bytes or operations"; break;
    }
    return fail(Code::bad_input, "sim.trace.defect",
                fmt::format("node {} of rank {} {}; run 'chakra check' for the list", t.id[d.node], t.rank, what),
                {t.file});
  }
  for (const trace::Misread& m : trace::misread(t))
    if (!m.second)
      return fail(Code::bad_input, "sim.trace.defect",
                  fmt::format("node {} of rank {}: {} {}; run 'chakra check' for the list", t.id[m.node], t.rank,
                              m.name, m.why),
                  {t.file});
  return {};
}

}  // namespace chakra::feed
