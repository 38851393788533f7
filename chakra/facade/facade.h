// The facade of the library: implements chakra/chakra.h, chakra/trace.h and chakra/options.h with the rooms.
// libchakra.so exports the symbols of these headers and hides all others.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "chakra/answer/answer.h"
#include "chakra/chakra.h"
#include "chakra/job/job.h"
#include "chakra/options/options.h"
#include "chakra/trace.h"
#include "chakra/trace/trace.h"

namespace chakra {
inline namespace v1 {

struct AnswerData {
  answer::Answer answer;
  std::string text;  ///< the text that the command prints
};
struct AnswerMaker {
  static Answer make(answer::Answer answer, std::string text);
};
struct TraceMaker {
  static Trace make(std::shared_ptr<const trace::Trace> trace);
  static const trace::Trace& get(const Trace& trace);
};

}  // namespace v1
}  // namespace chakra

namespace chakra::facade {

// Rows for the members of each struct of chakra/options.h, with the keys of the rows of calls (fields.cpp).
options::Options fields_of(LinkOptions& options);
options::Options fields_of(StepOptions& options);
options::Options fields_of(ServeOptions& options);
options::Options fields_of(EditOptions& options);
options::Options fields_of(CheckOptions& options);
options::Options fields_of(SimulateOptions& options);
options::Options fields_of(WhatIfOptions& options);
options::Options fields_of(AnalyzeOptions& options);
options::Options fields_of(RunOptions& options);
options::Options fields_of(DiffOptions& options);
options::Options fields_of(WriteOptions& options);
options::Options fields_of(CalibrateDeviceOptions& options);
options::Options fields_of(CalibrateNetworkOptions& options);

/// Copy to `rows` all `fields` that differ from `fresh` (the unchanged fields). Errors: cli.usage for a value that an
/// option does not accept, including an enumerator out of range.
Result<void> take(const options::Options& fields, const options::Options& fresh, const options::Options& rows);
/// Likewise for an options struct and the struct of a call.
template <class Asked, class Call>
Result<void> take(const Asked& asked, Call& call) {
  Asked copy = asked, fresh;
  return take(fields_of(copy), fields_of(fresh), rows_of(call));
}

}  // namespace chakra::facade
