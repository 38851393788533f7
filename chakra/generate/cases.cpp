#include "chakra/generate/files.h"
#include "chakra/options/options.h"

namespace chakra::generate {

using options::Options;
using options::required;
using options::whole_number;

Options rows_of(CaseOptions& o) {
  return {required({"-o,--output", &o.output, "Folder for <case>.<rank>.et", "DIR"}),
          {"--num-npus,--num_npus", &o.ranks, "Number of ranks", "N", whole_number(1, 1 << 20)},
          {"--default-runtime,--default_runtime", &o.runtime_us, "Time of a computation in us", "US",
           whole_number(0, kLongestPs / kPsPerUs)},
          {"--default-tensor-size,--default_tensor_size", &o.cases.tensor_bytes, "Bytes of a load, store or message",
           "BYTES", whole_number(0, INT64_MAX)},
          {"--default-comm-size,--default_comm_size", &o.cases.comm_bytes, "Bytes of a collective", "BYTES",
           whole_number(0, INT64_MAX)}};
}

}  // namespace chakra::generate
