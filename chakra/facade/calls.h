// The way of a verb: options of a public struct into the options of a call, and the result of the call into
// a public answer with its files. Inside facade.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/progress.h"
#include "chakra/certify/certify.h"
#include "chakra/convert/convert.h"
#include "chakra/doctor/doctor.h"
#include "chakra/facade/facade.h"
#include "chakra/fleet/fleet.h"
#include "chakra/generate/generate.h"
#include "chakra/job/job.h"
#include "chakra/job/parts.h"
#include "chakra/linking/linking.h"
#include "chakra/list/list.h"
#include "chakra/query/query.h"
#include "chakra/report/report.h"
#include "chakra/run/run.h"
#include "chakra/share/share.h"
#include "chakra/sweep/sweep.h"
#include "chakra/trace.h"
#include "chakra/trace/trace.h"

namespace chakra {
inline namespace v1 {

struct AnswerData {
  answer::Answer answer;
  std::string subject;  ///< of `text`
  view::Text text;
  std::string words;  ///< the text, if `text` does not make it
  std::optional<Error> failure;
  std::shared_ptr<const void> owner = {};  ///< of texts that the answer refers to
};
struct AnswerMaker {
  static Answer make(answer::Answer answer, const view::Text& text, std::optional<Error> failure = {});
  static Answer make(answer::Answer answer, std::string words, std::optional<Error> failure = {},
                     std::shared_ptr<const void> owner = {});
  static const answer::Answer& get(const Answer& answer);
};
struct TraceMaker {
  static Trace make(std::shared_ptr<const trace::Trace> trace);
  static const trace::Trace& get(const Trace& trace);
};

}  // namespace v1
}  // namespace chakra

namespace chakra::facade {

// ---- options -----------------------------------------------------------------------------------------------------

/// Copy to `rows` all `fields` that differ from `fresh` (the unchanged fields). Errors: cli.usage for a value that an
/// option does not accept, including an enumerator out of range.
Result<void> take(const options::Options& fields, const options::Options& fresh, const options::Options& rows);
/// Likewise for an options struct and the struct of a call.
template <class Asked, class Call>
Result<void> take(const Asked& asked, Call& call) {
  Asked copy = asked, fresh;
  return take(fields_of(copy), fields_of(fresh), rows_of(call));
}

/// Bind the rows of a call to `fields` and `arguments` by key; omit all other rows. `call` is the struct of `rows`, for
/// the check of texts with a special form.
options::Options bound(const options::Options& rows, std::shared_ptr<void> call, const options::Options& fields,
                       const Arguments& arguments);
template <class Call>
options::Options bound(const options::Options& fields, const Arguments& arguments) {
  auto call = std::make_shared<Call>();
  return bound(rows_of(*call), call, fields, arguments);
}
/// Check a text by the row of the call; then the member gets the text.
template <class Call, class Asked>
Result<void> set_checked(Asked& asked, std::string_view name, const std::string& text) {
  Call call;
  const options::Options rows = rows_of(call), fields = fields_of(asked);
  const options::Option* const field = options::find(fields, name);
  if (!field) return options::set(fields, name, text);  // whose error names the nearest one
  CHAKRA_TRY(options::set(rows, options::key_of(*field), text));
  return options::set(*field, text);
}

/// Put the models of a caller into a simulation. Errors: job.models.time, and those of the models.
Result<void> use_models(sim::SimInput& input, Models& models);

// ---- answers -----------------------------------------------------------------------------------------------------

// `job.busy` (2): a progress function uses the job that is being read

/// Ask the Control of a caller: whether the call goes on. Requires a `control` of type const Control*.
bool goes_on(void* control, double share);
/// Return the Control for a call inside of a watched one.
Control unwatched(Control control);
/// Run a verb so that the Control of the caller hears the progress and can stop the verb: loops of the rooms ask.
/// Errors: job.interrupted, and those of `run`.
template <class Run>
auto watched(const Control& control, const Run& run) -> decltype(run()) {
  if (!control.progress && !control.stop) return run();
  void* const user = const_cast<Control*>(&control);
  if (!goes_on(user, 0) && !control.partial) return stopped_by_caller();
  auto made = [&]() -> decltype(run()) {
    const Watched watch(goes_on, user);
    auto result = run();
    if (!was_stopped() || (result && control.partial)) return result;
    if (!result && result.error().code == Code::interrupted) return result;
    return stopped_by_caller();  // also where a room gave another error for the input that it lacked
  }();
  if (made) (void)goes_on(user, 1);  // too late to stop
  return made;
}
/// Reject files of the answer that are inputs or `outputs`. `schema` makes an answer for the names of CSV files.
Result<void> keep_apart(const std::vector<std::string>& inputs, std::vector<std::string> outputs,
                        const Control& control, const std::function<answer::Answer()>& schema = {});
/// Publish `files` and the files of the answer together.
Result<void> commit(const answer::Answer& answer, const Control& control, job::Outputs files = {});

/// Publish the files, and make the answer of a result.
template <class Made>
Result<Answer> deliver(const Made& made, const Control& control, job::Outputs files = {}) {
  answer::Answer answer = answer_of(made);
  CHAKRA_TRY(commit(answer, control, std::move(files)));
  return AnswerMaker::make(std::move(answer), text_of(made));
}
/// Run a call with the options of a public struct, and return the answer.
template <class Call, class Asked, class Run>
Result<Answer> answer(const Asked& asked, const Control& control, Call call, const Run& run) {
  CHAKRA_TRY(take(asked, call));
  CHAKRA_ASSIGN(auto made, run(std::as_const(call)));
  CHAKRA_TRY(keep_going());
  return deliver(made, control);
}

}  // namespace chakra::facade
