#include "chakra/cli/cli.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace chakra::cli {

const std::string_view kVersionText = "chakra " CHAKRA_VERSION;

int report(const Error& error) {
  print_error("chakra: " + error.message() + "\n");
  return static_cast<int>(error.code);
}

namespace {

std::optional<Error> output_lost;  ///< why standard output does not have all that was printed

}  // namespace

void print(std::string_view text) {
  if (output_lost) return;
  const Result<void> done = write_all(STDOUT_FILENO, escape_lines(text), "standard output");
  if (!done) output_lost = done.error();
}

void print_error(std::string_view text) {
  const bool goes_on = text.starts_with('\r');  // a line of progress over the one before
  (void)write_all(STDERR_FILENO, (goes_on ? "\r" : "") + escape_lines(text.substr(goes_on ? 1 : 0)), "standard error");
}

int exit_code_of(int exit_code) { return output_lost ? report(*std::exchange(output_lost, std::nullopt)) : exit_code; }

namespace {

/// Called by the name of a command of mlcommons/chakra.
int run_as(const NameRow& name, int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  for (const std::string& arg : args) {
    if (arg == "--version") return print(fmt::format("{}\n", kVersionText)), 0;
    if (arg != "-h" && arg != "--help") continue;
    print(fmt::format("{}\nUsage: {} FLAGS\n\n{}\nA name for {}; 'chakra --help' lists all commands.\n",
                      name.description, name.name, name.flags(), kVersionText));
    return 0;
  }
  const Result<Translated> to = name.translate(args);
  if (!to) {
    print_error(fmt::format("{}: {} ('{} --help' shows the usage) [{}]\n", name.name, to.error().text, name.name,
                            to.error().tag));
    return static_cast<int>(to.error().code);
  }
  if (!to->note.empty()) print_error(fmt::format("{}: note: {}\n", name.name, to->note));
  std::vector<char*> translated{const_cast<char*>("chakra")};
  for (const std::string& arg : to->args) translated.push_back(const_cast<char*>(arg.c_str()));
  return run(static_cast<int>(translated.size()), translated.data());
}

}  // namespace

int run(int argc, char** argv) {
  for (int word = 0; word < std::min(argc, 2); ++word)  // as its link, or as the first word, by a launcher
    if (const NameRow* const name = find_name(argv[word])) return run_as(*name, argc - word, argv + word);
  return run_command_line(argc, argv);
}

}  // namespace chakra::cli
