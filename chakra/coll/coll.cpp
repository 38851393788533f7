#include "chakra/coll/coll.h"

namespace chakra::coll {

double algorithm_factor(trace::CommType type, uint32_t members) { return trace::algorithm_factor(type, members); }
double bus_factor(trace::CommType type, uint32_t members) { return trace::bus_factor(type, members); }

}  // namespace chakra::coll
