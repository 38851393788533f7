// set() by name, and public options as those of calls.
#include "chakra/facade/facade.h"
#include "chakra/job/job.h"

namespace chakra::facade {
namespace {

using options::Option;
using options::Options;

/// What a field says, as texts of its option: of a list one for each item.
std::vector<std::string> texts_of(const Option& field) {
  std::vector<std::string> texts;
  if (const auto* list = std::get_if<std::vector<std::string>*>(&field.target)) return **list;
  if (const auto* list = std::get_if<std::vector<int64_t>*>(&field.target)) {
    for (const int64_t item : **list) texts.push_back(std::to_string(item));
    return texts;
  }
  return {options::text_of(field)};
}

}  // namespace

Result<void> take(const Options& fields, const Options& fresh, const Options& rows) {
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::vector<std::string> texts = texts_of(fields[i]);
    if (texts == texts_of(fresh[i])) continue;
    const std::string key = options::key_of(fields[i]);
    for (const std::string& text : texts) CHAKRA_TRY(options::set(rows, key, text));
  }
  return {};
}

namespace {

/// The call's own row says whether the value is one; then the member gets it.
template <class Call, class Asked>
Result<void> set_checked(Asked& asked, std::string_view name, const std::string& text) {
  Call call;
  const Options rows = rows_of(call), fields = fields_of(asked);
  const Option* const field = options::find(fields, name);
  if (!field) return options::set(fields, name, text);  // whose error names the nearest one
  CHAKRA_TRY(options::set(rows, options::key_of(*field), text));
  return options::set(*field, text);
}

}  // namespace
}  // namespace chakra::facade

namespace chakra {
inline namespace v1 {

using facade::set_checked;

Result<void> set(LinkOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::LinkJobOptions>(o, name, text);
}
Result<void> set(StepOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::GenerateStepOptions>(o, name, text);
}
Result<void> set(ServeOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::GenerateServeOptions>(o, name, text);
}
Result<void> set(EditOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::SimulateOptions>(o, name, text);
}
Result<void> set(CheckOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::CheckOptions>(o, name, text);
}
Result<void> set(SimulateOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::SimulateOptions>(o, name, text);
}
Result<void> set(WhatIfOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::WhatIfOptions>(o, name, text);
}
Result<void> set(AnalyzeOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::AnalyzeOptions>(o, name, text);
}
Result<void> set(ViewOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::ViewOptions>(o, name, text);
}
Result<void> set(RunOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::ReplayOptions>(o, name, text);
}
Result<void> set(DiffOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::DiffOptions>(o, name, text);
}
Result<void> set(WriteOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::ConvertOptions>(o, name, text);
}
Result<void> set(CalibrateDeviceOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::CalibrateDeviceOptions>(o, name, text);
}
Result<void> set(CalibrateNetworkOptions& o, std::string_view name, const std::string& text) {
  return set_checked<job::CalibrateNetworkOptions>(o, name, text);
}

}  // namespace v1
}  // namespace chakra
