// Every option of every subcommand, walked as rows: accepted values are kept, others are refused with the range.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

using options::Choice;
using options::Option;
using options::Options;

/// A subcommand by its words, made anew.
Command command_of(const std::vector<std::string>& words) {
  for (Command& command : all_commands())
    if (command.words == words) return std::move(command);
  return {};
}

std::string said(const Command& command, const Option& row) {
  return fmt::format("{} {}", join(command.words, " "), row.names);
}

/// Texts that most options do not take.
const std::vector<std::string> kTexts{
    "",     "x",  "-1", "0",    "1.5", "nan",   "inf",  "1e999", "99999999999999999999",
    "0x10", " 1", "1 ", "1,,2", "++",  "1:2:3", "true", "-",     "9223372036854775807",
    "1e-9", "١",  "--", "{}"};

TEST(Options, TakeOrRefuseEveryText) {
  int calls = 0, refused = 0;
  for (const Command& known : all_commands())
    for (size_t r = 0; r < known.syntax.rows.size(); ++r)
      for (const std::string& text : kTexts) {
        const Command command = command_of(known.words), fresh = command_of(known.words);
        const Options& rows = command.syntax.rows;
        const Option& row = rows[r];
        const std::string before = text_of(row);
        const Result<void> done = options::set(rows, name_of(row), text);
        ++calls;
        if (done) {
          const Result<void> whole = options::check(rows, fresh.syntax.rows);  // others may be required
          EXPECT_TRUE(whole || whole.error().tag == "cli.usage") << said(command, row);
          if (is_list(row) || text.empty()) continue;
          const std::string kept = text_of(row);  // which says the same again
          EXPECT_TRUE(options::set(fresh.syntax.rows, name_of(row), kept)) << said(command, row) << " kept " << kept;
          EXPECT_EQ(text_of(fresh.syntax.rows[r]), kept) << said(command, row) << " took " << text;
          if (std::holds_alternative<std::string*>(row.target)) EXPECT_EQ(kept, text) << said(command, row);
          continue;
        }
        ++refused;
        EXPECT_EQ(done.error().tag, "cli.usage") << said(command, row);
        EXPECT_EQ(text_of(row), before) << said(command, row) << " was changed by " << text;
        EXPECT_TRUE(contains(done.error().text, name_of(row))) << done.error().text;
      }
  EXPECT_GT(calls, 3000);
  EXPECT_GT(refused, 1000);
}

/// Puts a value into a member that its option does not take; whether there is one.
bool spoil(const Option& row) {
  const auto wrong = [&](const std::string& text) { return row.accepted.refuse && !row.accepted.refuse(text).empty(); };
  if (const auto* choice = std::get_if<Choice>(&row.target)) {
    choice->set(choice->names.size() + 7);
    return choice->get().value_or(0) >= choice->names.size();  // a bool cannot be spoilt
  }
  if (const auto* number = std::get_if<int64_t*>(&row.target); number && wrong("-77")) return **number = -77, true;
  if (const auto* number = std::get_if<std::optional<int64_t>*>(&row.target); number && wrong("-77"))
    return **number = -77, true;
  if (const auto* number = std::get_if<double*>(&row.target)) return **number = std::nan(""), wrong("nan");
  if (const auto* number = std::get_if<std::optional<double>*>(&row.target))
    return **number = std::numeric_limits<double>::infinity(), wrong("inf");
  if (const auto* text = std::get_if<std::string*>(&row.target); text && wrong("no such name"))
    return **text = "no such name", true;
  if (const auto* list = std::get_if<std::vector<std::string>*>(&row.target); list && wrong("no such name"))
    return (*list)->push_back("no such name"), true;
  return false;
}

TEST(Options, AreCheckedWhereverTheyComeFrom) {
  int spoilt = 0;
  for (const Command& known : all_commands())
    for (size_t r = 0; r < known.syntax.rows.size(); ++r) {
      const Command command = command_of(known.words), fresh = command_of(known.words);
      const Option& row = command.syntax.rows[r];
      if (!spoil(row)) continue;
      ++spoilt;
      const Result<void> done = options::check(std::span(&row, 1), std::span(&fresh.syntax.rows[r], 1));
      ASSERT_FALSE(done) << said(command, row) << " = " << text_of(row);
      EXPECT_EQ(done.error().tag, "cli.usage");
      EXPECT_TRUE(contains(done.error().text, name_of(row)) && contains(done.error().text, " is not "))
          << done.error().text;
    }
  EXPECT_GT(spoilt, 80);
}

TEST(Options, HaveOneSentenceEach) {
  for (const Command& command : all_commands())
    for (const Option& row : command.syntax.rows) {
      EXPECT_FALSE(row.help.empty()) << said(command, row);
      EXPECT_LE(row.help.size(), 80U) << said(command, row) << ": " << row.help;
      EXPECT_TRUE(!row.help.ends_with('.') || row.help.ends_with("...")) << said(command, row);
      EXPECT_TRUE(row.more.empty() || row.more.ends_with('.') || row.more.ends_with('"')) << said(command, row);
      for (const std::string_view others : {row.needs, row.excludes}) {
        std::string_view left = others;
        while (!left.empty()) {  // "--name value, --name"
          const std::string_view word = left.substr(0, left.find(", "));
          const std::string name(word.substr(0, word.find(' ')));
          const Option* const other = find(command.syntax.rows, name);
          ASSERT_NE(other, nullptr) << said(command, row) << " names " << name;
          EXPECT_NE(other, &row) << said(command, row);
          left.remove_prefix(std::min(left.size(), word.size() + 2));
        }
      }
    }
}

TEST(Options, HelpFitsItsColumns) {
  std::vector<Command> all = all_commands();
  for (const Command& command : all) {
    const std::string text = help_text(command.words, command.description, command.syntax, "example");
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace chakra::cli
