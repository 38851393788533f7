// The command line is read here, by CLI11, which no other file knows. What an option takes is the business of its row.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <new>
#include <sstream>
#include <system_error>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

using options::Option;
using options::Options;

/// The words of an option, as they were typed.
struct Typed {
  const Option* row = nullptr;
  CLI::Option* option = nullptr;
  std::vector<std::string> texts;
  bool flag = false;
};

/// A subcommand as it is read: what its rows are bound to, and the same rows of what nobody changed.
struct Reading {
  std::vector<std::string> words;
  Syntax syntax, fresh;
  Globals globals, fresh_globals;
  Options global_rows = rows_of(globals), fresh_global_rows = rows_of(fresh_globals);
  std::deque<Typed> typed;  ///< CLI11 writes into them
  const CommandRow* row = nullptr;
};

void add_option(CLI::App& app, const Option& o, std::deque<Typed>& typed) {
  Typed& to = typed.emplace_back();
  to.row = &o;
  if (is_flag(o)) {
    to.option = app.add_flag(o.names, to.flag);
    return;
  }
  to.option = app.add_option(o.names, to.texts);
  if (!is_list(o)) to.option->expected(1)->allow_extra_args(false);
  else if (is_placed(o)) to.option->expected(1, o.most > 0 ? o.most : CLI::detail::expected_max_vector_size);
  if (o.one_each) to.option->allow_extra_args(false);
}

Result<void> set_rows(const std::deque<Typed>& typed) {
  for (const Typed& t : typed) {
    if (t.option->count() == 0) continue;
    if (is_flag(*t.row)) CHAKRA_TRY(set(*t.row, t.flag ? "true" : "false"));
    for (const std::string& text : t.texts) CHAKRA_TRY(set(*t.row, text));
  }
  return {};
}

/// Puts what was typed into the options, and looks whether it goes together.
Result<void> settle(const Reading& reading) {
  CHAKRA_TRY(set_rows(reading.typed));
  CHAKRA_TRY(options::check(reading.global_rows, reading.fresh_global_rows));
  if (reading.syntax.settle) CHAKRA_TRY(reading.syntax.settle());
  return options::check(reading.syntax.rows, reading.fresh.rows);
}

int usage_error(const std::string& text, const std::vector<std::string>& words) {
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  print_error(fmt::format("chakra: {} ('{} --help' shows the usage) [cli.usage]\n", line,
                          words.empty() ? "chakra" : "chakra " + join(words, " ")));
  return static_cast<int>(Code::usage);
}

/// Global options that do nothing for this subcommand.
void find_without_effect(const Reading& reading) {
  Findings findings;
  const std::string name = fmt::format("'chakra {}'", join(reading.words, " "));
  if (reading.globals.jobs > 0 && !reading.row->parallel)
    findings.push_back(options::no_effect("--jobs", name + " works on one core"));
  if (reading.globals.max_unpacked > 0 && !reading.row->reads)
    findings.push_back(options::no_effect("--max-unpacked", name + " does not unpack inputs"));
  if (!findings.empty()) print_error(facade::to_text(findings));
}

int run_subcommand(const Reading& reading) {
  if (const Result<void> settled = settle(reading); !settled)
    return settled.error().tag == "cli.usage" ? usage_error(settled.error().text, reading.words)
                                              : report(settled.error());
  if (const Result<void> known = check_table(reading.globals.all, reading.words); !known) return report(known.error());
  if (reading.globals.max_unpacked > 0) set_most_unpacked(reading.globals.max_unpacked);
  use_cores(static_cast<int>(reading.globals.jobs));
  find_without_effect(reading);
  const Result<int> code = reading.syntax.run(reading.globals);
  return code ? *code : report(code.error());
}

/// Puts the reading into `readings`, which must outlive `app`.
void add_syntax(CLI::App& app, const CommandRow& row, std::vector<std::string> words, Syntax (*syntax)(),
                std::string_view description, std::deque<Reading>& readings, int& exit_code) {
  Reading& reading = readings.emplace_back();
  reading.words = std::move(words);
  reading.syntax = syntax();
  reading.fresh = syntax();
  reading.row = &row;
  app.formatter_fn([&reading, description](const CLI::App*, const std::string&, CLI::AppFormatMode) {
    return help_text(reading.words, description, reading.syntax, reading.row->example);
  });
  if (!reading.syntax.below.empty()) {
    app.require_subcommand(1);
    for (const BelowRow& below : reading.syntax.below) {
      std::vector<std::string> more = reading.words;
      more.push_back(below.name);
      add_syntax(*app.add_subcommand(below.name, below.description), row, std::move(more), below.syntax,
                 below.description, readings, exit_code);
    }
    return;
  }
  for (const Option& option : reading.syntax.rows) add_option(app, option, reading.typed);
  for (const Option& option : reading.global_rows) add_option(app, option, reading.typed);
  app.callback([&reading, &exit_code] { exit_code = run_subcommand(reading); });
}

/// The deepest subcommand that was named, and the words that lead to it.
const CLI::App* last_of(const CLI::App& app, std::vector<std::string>& words) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    words.push_back(at->get_name());
  }
  return at;
}

/// A word that nothing takes, with the nearest one that something does.
std::string unknown_word(const std::string& word, const std::vector<std::string>& words,
                         const std::deque<Reading>& readings) {
  const auto reading =
      std::find_if(readings.begin(), readings.end(), [&](const Reading& r) { return r.words == words; });
  const bool option = word.starts_with('-');
  if (words.empty() && !option)
    return fmt::format("unknown command {}{}", quote(word), options::suggestion(word, options::names(kCommands)));
  if (reading == readings.end()) return fmt::format("unknown option {}", quote(word));
  if (!reading->syntax.below.empty() && !option)
    return fmt::format("unknown command {}{}", quote(word),
                       options::suggestion(word, options::names(reading->syntax.below)));
  if (!option) return fmt::format("unexpected argument {}", quote(word));
  std::vector<std::string> known{"--help"};
  for (const Options* rows : {&reading->syntax.rows, &reading->global_rows})
    for (const Option& row : *rows)
      for (const std::string& spelling : spellings_of(row))
        if (!row.hidden) known.push_back(spelling);
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("unknown option {}{}", quote(name), options::suggestion(name, known));
}

/// What CLI11 says of the number of values and of missing subcommands.
std::string in_our_words(const CLI::ParseError& error) {
  const std::string said = error.what();
  const std::string name = said.substr(0, said.find(':'));
  if (error.get_name() == "RequiredError") return "a command is required";
  if (error.get_name() != "ArgumentMismatch") return said;
  if (contains(said, "missing")) return name + " needs a value";
  return contains(said, "received") ? name + " is given more than once" : said;
}

int parse_error(const CLI::App& app, const CLI::ParseError& error, const char* first,
                const std::deque<Reading>& readings) {
  std::vector<std::string> words;
  const CLI::App* const last = last_of(app, words);
  const bool unknown =  // CLI11 says of it that a subcommand is required
      first && first[0] != '-' &&
      std::none_of(kCommands.begin(), kCommands.end(), [&](const CommandRow& row) { return row.name == first; });
  if (unknown) return usage_error(unknown_word(first, {}, readings), {});
  std::vector<std::string> left = last->remaining(true);
  if (left.empty()) left = app.remaining(true);
  const auto dashed = std::find_if(left.begin(), left.end(), [](const std::string& w) { return w.starts_with('-'); });
  if (dashed != left.end()) return usage_error(unknown_word(*dashed, words, readings), words);
  if (!left.empty()) return usage_error(unknown_word(left.front(), words, readings), words);
  return usage_error(in_our_words(error), words);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  int exit_code = 0;
  std::deque<Reading> readings;
  CLI::App app{"", "chakra"};
  app.set_version_flag("--version", std::string(kVersionText), "Print the version");
  app.require_subcommand(1);
  app.fallthrough(false);
  app.formatter_fn([](const CLI::App*, const std::string&, CLI::AppFormatMode) { return help_text({}, "", {}, ""); });
  for (const CommandRow& row : kCommands) {
    CLI::App& command = *app.add_subcommand(std::string(row.name), std::string(row.description));
    const bool called = std::any_of(argv, argv + argc, [&](const char* text) { return row.name == text; });
    if (called)  // the options of all commands take a fifth of the shortest command's time
      add_syntax(command, row, {std::string(row.name)}, row.syntax, row.description, readings, exit_code);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    std::ostringstream text, errors;
    exit_code = app.exit(done, text, errors);  // --help, --version
    print(text.str());
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return parse_error(app, error, argc > 1 ? argv[1] : nullptr, readings);
  } catch (const std::bad_alloc&) {
    print_error("chakra: not enough memory [cli.memory]\n");
    return static_cast<int>(Code::io);
  } catch (const std::system_error& error) {
    print_error(fmt::format("chakra: not enough memory or threads: {} [cli.memory]\n", error.what()));
    return static_cast<int>(Code::io);
  }
  return exit_code;
}

}  // namespace chakra::cli
