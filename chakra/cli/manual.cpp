// chakra manual: manual pages, made of the same rows as --help.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using options::Option;
using options::Options;

struct ManualOptions {
  std::vector<std::string> words;
  std::string folder;
};

Options manual_rows(ManualOptions& o) {
  Option words{"command", &o.words, "Subcommand, such as sim or 'gen step' (default: chakra itself)", "COMMAND"};
  Option folder{"-o,--output", &o.folder, "Write all pages as DIR/man1/chakra*.1 instead of printing one", "DIR"};
  folder.excludes = "command";
  return {std::move(words), std::move(folder)};
}

/// Text that troff takes for nothing else.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += std::string("\\&") + c;
    else out += c;
  }
  return out;
}

std::string page_name(const std::vector<std::string>& words) {
  return words.empty() ? "chakra" : fmt::format("chakra-{}", join(words, "-"));
}

std::string head(const std::vector<std::string>& words, std::string_view description) {
  std::string title = page_name(words);
  std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return fmt::format(".TH {} 1 \"\" \"{}\" \"Chakra execution traces\"\n.SH NAME\n{} \\- {}\n", title, kVersionText,
                     escaped(page_name(words)), escaped(description));
}

std::string option_text(const Option& row) {
  std::string names;
  for (const std::string& spelling : spellings_of(row))
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", escaped(spelling));
  if (is_placed(row)) names = fmt::format("\\fI{}\\fR", escaped(row.value.empty() ? row.names : row.value));
  else if (!row.value.empty()) names += fmt::format(" \\fI{}\\fR", escaped(row.value));
  std::string text = fmt::format(".TP\n{}\n{}{}", names, escaped(row.help), row.help.ends_with('.') ? "" : ".");
  if (!row.more.empty()) text += " " + escaped(row.more);
  if (const std::string shown = shown_of(row); !shown.empty()) text += fmt::format(" Values: {}.", escaped(shown));
  if (const std::string standard = default_of(row); !standard.empty())
    text += fmt::format(" Default: {}.", escaped(standard));
  return text + "\n";
}

std::string page_of(const Command& command) {
  std::string text = head(command.words, command.description);
  text += fmt::format(".SH SYNOPSIS\n\\fBchakra {}\\fR {}\n.SH OPTIONS\n", escaped(join(command.words, " ")),
                      escaped(options::usage_of(command.syntax.rows)));
  Globals globals;
  for (const Options& rows : {command.syntax.rows, rows_of(globals)})
    for (const Option& row : rows)
      if (!row.hidden) text += option_text(row);
  return text + fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n.SH SEE ALSO\nchakra(1)\n", escaped(command.example));
}

std::string main_page() {
  std::string text = head({}, "Chakra execution traces: record, link, check, simulate, run and view AI workloads");
  text += ".SH SYNOPSIS\n\\fBchakra\\fR \\fICOMMAND\\fR [OPTIONS] ...\n.SH COMMANDS\n";
  for (const Command& command : all_commands())
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}.\n", escaped(page_name(command.words)), escaped(command.description));
  return text +
         ".SH EXIT STATUS\n0 done, 1 invalid input, 2 usage, 3 a file cannot be read or written, 4 the simulation "
         "cannot finish, 130 interrupted.\n";
}

Result<void> write_pages(const std::string& folder) {
  CHAKRA_TRY(make_directories(folder + "/man1"));
  CHAKRA_TRY(write_file(folder + "/man1/chakra.1", main_page()));
  for (const Command& command : all_commands())
    CHAKRA_TRY(write_file(fmt::format("{}/man1/{}.1", folder, page_name(command.words)), page_of(command)));
  return {};
}

Result<std::string> page(const std::vector<std::string>& words) {
  if (words.empty()) return main_page();
  for (const Command& command : all_commands())
    if (command.words == words) return page_of(command);
  return fail(Code::usage, "cli.usage", fmt::format("unknown command {}", quote(join(words, " "))));
}

/// An answer with one text.
Result<int> show_text(const Globals& globals, std::string_view key, std::string_view meaning, const std::string& text,
                      const std::string& for_people) {
  const Answer answer = facade::answer_of("manual", {{key, meaning, text}}, for_people);
  CHAKRA_TRY(facade::write_files(answer, globals.control()));
  return show(globals, answer);
}

Result<int> run_manual(const ManualOptions& o, const Globals& globals) {
  if (!o.folder.empty()) {
    CHAKRA_TRY(write_pages(o.folder));
    return show_text(globals, "output", "the folder", o.folder, "");
  }
  CHAKRA_ASSIGN(const std::string text, page(o.words));
  return show_text(globals, "page", "the page, for man", text, text);
}

}  // namespace

Syntax manual_syntax() { return syntax_of<ManualOptions>(manual_rows, run_manual); }

}  // namespace chakra::cli
