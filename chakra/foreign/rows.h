// The functions of the rows of kForms. Each form has a separate file.
#pragma once

#include "chakra/foreign/foreign.h"

namespace chakra::foreign {

using Matches = bool(std::string_view head);
using Read = Result<trace::TraceSet>(ByteSource source, const Options& options, Findings& findings);
using Write = Result<std::string>(const Job& job, Findings& findings);
Matches is_text_form, is_flexflow, is_msccl, is_feeder_json, is_linked_json, is_torch_program, is_xla;
Read read_text, read_flexflow, read_msccl, read_feeder_json, read_linked_json, read_torch, read_xla;
Write write_text;
using ReadJob = Result<Job>(ByteSource source, const Options& options, Findings& findings);
ReadJob read_text_job, read_torch_job, read_xla_job;

}  // namespace chakra::foreign
