// The command line is read here, by CLI11, which no other file knows.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <sstream>
#include <system_error>
#include <type_traits>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

template <class T>
CLI::Option* add_one(CLI::App& app, const Option& o, T target) {
  if constexpr (std::is_same_v<T, bool*>) return app.add_flag(o.names, *target, o.help);
  else if constexpr (std::is_pointer_v<T>) return app.add_option(o.names, *target, o.help);
  else return app.add_option_function<std::string>(o.names, target, o.help);
}

void add_option(CLI::App& app, const Option& o) {
  CLI::Option* const option = std::visit([&](const auto& target) { return add_one(app, o, target); }, o.target);
  if (!o.value.empty()) option->type_name(std::string(o.value));
  if (o.accepted.refuse)
    option->check(CLI::Validator([refuse = o.accepted.refuse](const std::string& text) { return refuse(text); },
                                 o.accepted.shown));
  if (o.required) option->required();
  if (o.hidden) option->group("");
  if (o.shows_default) option->capture_default_str();
  if (o.one_each) option->allow_extra_args(false);
  if (o.delimiter) option->delimiter(o.delimiter);
  if (o.most) option->expected(1, o.most);
  if (!o.needs.empty()) option->needs(app.get_option(std::string(o.needs)));
  if (!o.excludes.empty()) option->excludes(app.get_option(std::string(o.excludes)));
}

void add_syntax(CLI::App& app, const Syntax& syntax, int& exit_code) {
  for (const Option& option : syntax.options) add_option(app, option);
  if (!syntax.below.empty()) app.require_subcommand(1);
  for (const BelowRow& below : syntax.below)
    add_syntax(*app.add_subcommand(below.name, below.description), below.syntax(), exit_code);
  if (!syntax.run) return;
  app.callback([&app, run = syntax.run, given = syntax.given, &exit_code] {
    if (given)
      for (const CLI::Option* option : app.get_options())
        if (option->count() > 0) given->push_back(option->get_name());
    const Result<int> code = run();
    exit_code = code ? *code : report(code.error());
  });
}

std::string indented(std::string_view example) {
  std::string text = "Example:\n  ";
  for (const char c : example) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

/// Prints the error on one line.
int usage_error(const CLI::App& app, const CLI::ParseError& error, const char* first) {
  const bool unknown =
      first && first[0] != '-' &&
      std::none_of(kCommands.begin(), kCommands.end(), [&](const CommandRow& row) { return row.name == first; });
  std::string text = unknown ? fmt::format("there is no command {}", quote(first)) : std::string(error.what());
  std::replace(text.begin(), text.end(), '\n', ' ');
  const CLI::App* const command = app.get_subcommands().empty() ? nullptr : app.get_subcommands().front();
  print_error(fmt::format("chakra: {} ('chakra {}--help' shows the usage) [cli.usage]\n", text,
                          command ? command->get_name() + " " : ""));
  return static_cast<int>(Code::usage);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  int exit_code = 0;
  CLI::App app{"Chakra execution traces: link, check, simulate, look.", "chakra"};
  app.set_version_flag("--version", std::string(kVersionText), "Print the version");
  app.require_subcommand(1);
  app.fallthrough(false);
  app.footer(
      "Exit codes: 0 done, 1 the input is wrong, 2 usage, 3 a file cannot be read or written, 4 the\n"
      "simulation cannot finish, 130 interrupted. 'chakra COMMAND --help' shows a worked example.");
  for (const CommandRow& row : kCommands) {
    CLI::App& command = *app.add_subcommand(std::string(row.name), std::string(row.description));
    command.footer(indented(row.example));
    const bool called = std::any_of(argv, argv + argc, [&](const char* text) { return row.name == text; });
    if (!called) continue;  // the options of all commands take a fifth of the shortest command's time
    add_syntax(command, row.syntax(), exit_code);
    if (row.name != "gen" && row.name != "list") add_option(command, max_unpacked_option());  // which read no files
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    std::ostringstream text, errors;
    exit_code = app.exit(done, text, errors);  // --help, --version
    print(text.str());
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc > 1 ? argv[1] : nullptr);
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
