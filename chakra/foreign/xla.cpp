// Programs of XLA, which the room xla reads.
#include "chakra/xla/xla.h"
#include "chakra/foreign/rows.h"

namespace chakra::foreign {

bool is_xla(std::string_view head) { return xla::is_program(head); }

Result<Job> read_xla_job(ByteSource source, const Options&, Findings& findings) {
  CHAKRA_ASSIGN(xla::ImportedProgram program, xla::import_program(std::move(source), findings));
  return Job(std::move(program.job));
}

Result<trace::TraceSet> read_xla(ByteSource source, const Options&, Findings& findings) {
  CHAKRA_ASSIGN(const xla::ImportedProgram program, xla::import_program(std::move(source), findings));
  return rank_by_rank(program.job);
}

}  // namespace chakra::foreign
