// Options of public structs and rows of calls: from one to the other, by key.
#include "chakra/facade/calls.h"

namespace chakra::facade {
namespace {

using options::Form;
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

/// The member of a public struct is the text itself; the call says whether it has the form.
Form checked_form(const Form& call, std::shared_ptr<void> owner, std::string* member) {
  return {[member] { return *member; },
          [call, owner = std::move(owner), member](const std::string& text) -> Result<void> {
            CHAKRA_TRY(call.set(text));
            *member = call.get();
            return {};
          }};
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

Options bound(const Options& rows, std::shared_ptr<void> call, const Options& fields, const Arguments& arguments) {
  Options all;
  size_t next = 0;  // of `fields`, which are in the order of `rows`
  for (Option row : rows) {
    const std::string key = options::key_of(row);
    const bool member = next < fields.size() && options::key_of(fields[next]) == key;
    const auto argument =
        std::find_if(arguments.begin(), arguments.end(), [&](const auto& each) { return each.first == key; });
    if (!member && argument == arguments.end()) continue;
    const Option::Target target = member ? fields[next++].target : argument->second;
    const Form* const form = std::get_if<Form>(&row.target);
    auto* const* const text = std::get_if<std::string*>(&target);
    if (form && text) row.target = checked_form(*form, call, *text);
    else row.target = target;
    all.push_back(std::move(row));
  }
  CHAKRA_ASSERT(next == fields.size());
  return all;
}

}  // namespace chakra::facade
