#include "chakra/options/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>

#include "chakra/base/join.h"

namespace chakra::options {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

Failure usage(std::string text) { return fail(Code::usage, "cli.usage", std::move(text)); }

std::optional<bool> bool_of(const std::string& text) {
  for (const char* yes : {"true", "1", "on", "yes"})
    if (text == yes) return true;
  for (const char* no : {"false", "0", "off", "no"})
    if (text == no) return false;
  return std::nullopt;
}

std::string bounds_of(const Option& option) {
  const std::string shown = shown_of(option);
  return shown.empty() ? "" : " (" + shown + ")";
}

template <class Number>
Result<void> set_number(const Option& option, Number& to, const std::string& text, std::string_view kind) {
  if (!parse_decimal(text, to))
    return usage(fmt::format("{}: {} is not a decimal {}{}", name_of(option), quote(text), kind, bounds_of(option)));
  return {};
}

Result<void> set_bool(const Option& option, bool& to, const std::string& text) {
  const std::optional<bool> value = bool_of(text);
  if (!value) return usage(fmt::format("{}: {} is not true or false", name_of(option), quote(text)));
  to = *value;
  return {};
}

Result<void> set_value(const Option& o, bool& to, const std::string& text) { return set_bool(o, to, text); }
Result<void> set_value(const Option&, std::string& to, const std::string& text) {
  to = text;
  return {};
}
Result<void> set_value(const Option& o, int64_t& to, const std::string& text) {
  return set_number(o, to, text, "whole number");
}
Result<void> set_value(const Option& o, uint64_t& to, const std::string& text) {
  return set_number(o, to, text, "whole number");
}
Result<void> set_value(const Option& o, double& to, const std::string& text) {
  return set_number(o, to, text, "number");
}
template <class Value>
Result<void> set_value(const Option& o, std::optional<Value>& to, const std::string& text) {
  Value value{};
  CHAKRA_TRY(set_value(o, value, text));
  to = value;
  return {};
}
template <class Value>
Result<void> set_value(const Option& o, std::vector<Value>& to, const std::string& text) {
  Value value{};
  CHAKRA_TRY(set_value(o, value, text));
  to.push_back(std::move(value));
  return {};
}

Result<void> set_choice(const Option& option, const Choice& choice, const std::string& text) {
  const auto at = std::find(choice.names.begin(), choice.names.end(), text);
  if (at == choice.names.end())
    return usage(fmt::format("{}: {} is not one of {{{}}}{}", name_of(option), quote(text), join(choice.names, ","),
                             suggestion(text, choice.names)));
  choice.set(static_cast<size_t>(at - choice.names.begin()));
  return {};
}

Result<void> set_form(const Option& option, const Form& form, const std::string& text) {
  const Result<void> done = form.set(text);
  return done ? done : usage(fmt::format("{}: {}", name_of(option), done.error().text));
}

/// Why a text is not a value of an option; "": it is one.
std::string why_not(const Option& option, const std::string& text) {
  return option.accepted.refuse ? option.accepted.refuse(text) : std::string();
}

/// The value of a percentage may end in "%".
std::string without_percent(const Option& option, const std::string& text) {
  return option.value == "P" && text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
}

Result<void> set_one(const Option& option, const std::string& given) {
  const std::string text = without_percent(option, given);
  if (const std::string why = why_not(option, text); !why.empty())
    return usage(fmt::format("{}: {}", name_of(option), why));
  return std::visit(Overloaded{[&](const Choice& choice) { return set_choice(option, choice, text); },
                               [&](const Form& form) { return set_form(option, form, text); },
                               [&](auto* to) { return set_value(option, *to, text); }},
                    option.target);
}

std::string shown(bool value) { return value ? "true" : "false"; }
std::string shown(const std::string& value) { return value; }
std::string shown(int64_t value) { return fmt::format("{}", value); }
std::string shown(uint64_t value) { return fmt::format("{}", value); }
std::string shown(double value) { return fmt::format("{}", value); }

/// A choice whose value is out of range, as text; "": it is in range.
std::string out_of_range(const Choice& choice) {
  const std::optional<size_t> place = choice.get();
  return place && *place >= choice.names.size() ? fmt::format("value {}", *place) : std::string();
}

/// As a member of a struct is called, too: "no_fold" is "no-fold".
bool is_same_key(std::string_view known, std::string_view key) {
  return std::equal(known.begin(), known.end(), key.begin(), key.end(),
                    [](char a, char b) { return a == b || (a == '-' && b == '_'); });
}

/// The words "--a, --b x" of `needs` and `excludes`.
struct Word {
  std::string_view name, value;
};
std::vector<Word> words_of(std::string_view list) {
  std::vector<Word> words;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(", "), list.size());
    const std::string_view word = list.substr(0, comma);
    const size_t space = std::min(word.find(' '), word.size());
    words.push_back({word.substr(0, space), space < word.size() ? word.substr(space + 1) : std::string_view()});
    list.remove_prefix(std::min(comma + 2, list.size()));
  }
  return words;
}

bool holds(const Word& word, std::span<const Option> rows, std::span<const Option> fresh) {
  if (word.value.empty()) return is_given(rows, fresh, word.name);
  const Option* const option = find(rows, word.name);
  return option && text_of(*option) == word.value;
}

std::string or_list(std::string_view list) {
  std::string text;
  for (const Word& word : words_of(list))
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " or ", word.name, word.value.empty() ? "" : " ", word.value);
  return text;
}

size_t length_of(const Option& list) {
  if (const auto* texts = std::get_if<std::vector<std::string>*>(&list.target)) return (*texts)->size();
  return (*std::get_if<std::vector<int64_t>*>(&list.target))->size();
}
void shorten(const Option& list, size_t length) {
  if (const auto* texts = std::get_if<std::vector<std::string>*>(&list.target)) return (*texts)->resize(length);
  (*std::get_if<std::vector<int64_t>*>(&list.target))->resize(length);
}

/// Each value that a member has is one that its option takes.
Result<void> check_value(const Option& option) {
  const std::string name = name_of(option);
  if (const auto* choice = std::get_if<Choice>(&option.target)) {
    const std::string wrong = out_of_range(*choice);
    return wrong.empty() ? Result<void>()
                         : usage(fmt::format("{}: {} is not one of {{{}}}", name, wrong, join(choice->names, ",")));
  }
  const auto refuse = [&](const std::string& text) -> Result<void> {
    const std::string why = why_not(option, text);
    return why.empty() ? Result<void>() : usage(fmt::format("{}: {}", name, why));
  };
  const auto each = [&](const auto& items) -> Result<void> {
    for (const auto& item : items) CHAKRA_TRY(refuse(shown(item)));
    return {};
  };
  if (const auto* texts = std::get_if<std::vector<std::string>*>(&option.target)) return each(**texts);
  if (const auto* numbers = std::get_if<std::vector<int64_t>*>(&option.target)) return each(**numbers);
  return refuse(text_of(option));
}

Result<void> check_together(const Option& option, std::span<const Option> rows, std::span<const Option> fresh) {
  const auto holds_word = [&](const Word& word) { return holds(word, rows, fresh); };
  const std::vector<Word> needs = words_of(option.needs), excludes = words_of(option.excludes);
  if (!needs.empty() && std::none_of(needs.begin(), needs.end(), holds_word))
    return usage(fmt::format("{} is for {}", name_of(option), or_list(option.needs)));
  const auto other = std::find_if(excludes.begin(), excludes.end(), holds_word);
  if (other != excludes.end())
    return usage(fmt::format("{} cannot be given together with {}{}{}", name_of(option), other->name,
                             other->value.empty() ? "" : " ", other->value));
  return {};
}

}  // namespace

void add(Options& rows, Options more) {
  rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<std::string> spellings_of(const Option& option) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= option.names.size();) {
    const size_t comma = std::min(option.names.find(',', at), option.names.size());
    all.push_back(option.names.substr(at, comma - at));
    at = comma + 1;
  }
  return all;
}

std::string name_of(const Option& option) {
  const std::vector<std::string> all = spellings_of(option);
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  const auto at = std::find_if(all.begin(), all.end(), is_long);
  return at == all.end() ? all.front() : *at;
}

std::string key_of(const Option& option) {
  const std::string name = name_of(option);
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

bool is_placed(const Option& option) { return !option.names.starts_with('-'); }
bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.target) && option.value.empty(); }
bool is_list(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.target) ||
         std::holds_alternative<std::vector<int64_t>*>(option.target);
}

const std::vector<std::string>& names_of(const Option& option) {
  const auto* choice = std::get_if<Choice>(&option.target);
  return choice ? choice->names : option.accepted.names;
}

std::string shown_of(const Option& option) {
  if (const auto* choice = std::get_if<Choice>(&option.target)) return fmt::format("{{{}}}", join(choice->names, ","));
  return option.accepted.shown;
}

std::string_view type_of(const Option& option) {
  if (!names_of(option).empty()) return "name";
  return std::visit(
      Overloaded{[&](bool*) -> std::string_view { return option.value.empty() ? "flag" : "true or false"; },
                 [](std::optional<bool>*) -> std::string_view { return "true or false"; },
                 [](int64_t*) -> std::string_view { return "whole number"; },
                 [](uint64_t*) -> std::string_view { return "whole number"; },
                 [](std::optional<int64_t>*) -> std::string_view { return "whole number"; },
                 [](std::optional<uint64_t>*) -> std::string_view { return "whole number"; },
                 [](double*) -> std::string_view { return "number"; },
                 [](std::optional<double>*) -> std::string_view { return "number"; },
                 [](std::vector<std::string>*) -> std::string_view { return "list of texts"; },
                 [](std::vector<int64_t>*) -> std::string_view { return "list of whole numbers"; },
                 [](const auto&) -> std::string_view { return "text"; }},
      option.target);
}

std::string text_of(const Option& option) {
  const auto of_choice = [](const Choice& choice) {
    const std::optional<size_t> place = choice.get();
    if (!place) return std::string();
    return *place < choice.names.size() ? choice.names[*place] : out_of_range(choice);
  };
  const auto of_list = [](const auto& items) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ",") + shown(item);
    return text;
  };
  const auto of_optional = [](const auto& value) { return value ? shown(*value) : std::string(); };
  return std::visit(Overloaded{of_choice, [](const Form& form) { return form.get(); },
                               [&](std::vector<std::string>* items) { return of_list(*items); },
                               [&](std::vector<int64_t>* items) { return of_list(*items); },
                               [&](std::optional<bool>* value) { return of_optional(*value); },
                               [&](std::optional<int64_t>* value) { return of_optional(*value); },
                               [&](std::optional<uint64_t>* value) { return of_optional(*value); },
                               [&](std::optional<double>* value) { return of_optional(*value); },
                               [](auto* value) { return shown(*value); }},
                    option.target);
}

std::string default_of(const Option& option) {
  const std::string text = is_flag(option) ? "" : text_of(option);
  return why_not(option, text).empty() ? text : "";
}

const Option* find(std::span<const Option> rows, std::string_view name) {
  const std::string_view bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  for (const Option& option : rows)
    for (std::string_view left = option.names; !left.empty();) {
      const std::string_view spelling = left.substr(0, left.find(','));
      left.remove_prefix(std::min(spelling.size() + 1, left.size()));
      const std::string_view known = spelling.substr(spelling.find_first_not_of('-'));
      if (name == spelling || (name.size() == bare.size() && is_same_key(known, bare))) return &option;
    }
  return nullptr;
}

Result<void> set(const Option& option, const std::string& text) {
  if (!is_list(option) || option.delimiter == 0) return set_one(option, text);
  const size_t before = length_of(option);
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(option.delimiter, at), text.size());
    if (Result<void> done = set_one(option, text.substr(at, end - at)); !done) return shorten(option, before), done;
    at = end + 1;
  }
  return {};
}

Result<void> set(std::span<const Option> rows, std::string_view name, const std::string& text) {
  const Option* const option = find(rows, name);
  if (!option) {
    const bool dashed = name.starts_with('-');
    std::vector<std::string> known;
    for (const Option& row : rows) known.push_back(dashed ? name_of(row) : key_of(row));
    return usage(fmt::format("unknown option {}{}", quote(name), suggestion(name, known)));
  }
  return set(*option, text);
}

bool is_given(std::span<const Option> rows, std::span<const Option> fresh, std::string_view name) {
  const Option* const option = find(rows, name);
  const Option* const before = find(fresh, name);
  return option && before && text_of(*option) != text_of(*before);
}

std::vector<std::string> given(std::span<const Option> rows, std::span<const Option> fresh) {
  CHAKRA_ASSERT(rows.size() == fresh.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < rows.size(); ++i)
    if (text_of(rows[i]) != text_of(fresh[i])) names.push_back(name_of(rows[i]));
  return names;
}

Result<void> check(std::span<const Option> rows, std::span<const Option> fresh) {
  CHAKRA_ASSERT(rows.size() == fresh.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string text = text_of(rows[i]);
    if (text == text_of(fresh[i])) {
      if (rows[i].required && text.empty()) return usage(name_of(rows[i]) + " is required");
      continue;
    }
    CHAKRA_TRY(check_value(rows[i]));
    CHAKRA_TRY(check_together(rows[i], rows, fresh));
  }
  return {};
}

}  // namespace chakra::options
