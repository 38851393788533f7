// Answers on the terminal.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {

Control Globals::control(Control files) const {
  files.json = json;
  files.brief = all.empty() && json.empty();
  files.partial = true;
  return files;
}

Result<void> check_table(const std::string& table, const std::vector<std::string>& words) {
  if (table.empty()) return {};
  const std::string command = join(words, " ");
  const std::vector<std::string> known = facade::tables_of(command);
  if (std::find(known.begin(), known.end(), table) != known.end()) return {};
  if (known.empty())
    return fail(Code::usage, "cli.usage", fmt::format("--all: the answer of 'chakra {}' has no tables", command));
  return fail(Code::usage, "cli.usage",
              fmt::format("--all: no table {}{}; tables: {}", quote(table), options::suggestion(table, known),
                          join(known, ", ")));
}

namespace {

Result<void> print_answer(const Globals& globals, const Answer& answer) {
  if (globals.json == "-") {
    if (!globals.all.empty())
      print_error(facade::to_text({options::no_effect("--all", "--json - prints the whole answer")}));
    return answer.to_json([](void*, std::string_view piece) -> Result<void> {
      print(piece);
      return {};
    });
  }
  if (globals.all.empty()) {
    print(answer.to_text());
    return {};
  }
  CHAKRA_ASSIGN(const std::string table, answer.to_text(globals.all));
  print(table);
  return {};
}

}  // namespace

Result<int> show(const Globals& globals, const Answer& answer) {
  const Result<void> printed = print_answer(globals, answer);
  if (answer.failure()) return Failure(*answer.failure());
  CHAKRA_TRY(printed);
  return answer.whole("ok") == 0 ? static_cast<int>(Code::bad_input) : 0;
}
Result<int> show(const Globals& globals, const Result<Answer>& answer) {
  if (!answer) return Failure(answer.error());
  return show(globals, *answer);
}
Result<int> show(const Globals& globals, const Result<Job>& job) {
  if (!job) return Failure(job.error());
  return show(globals, job->made());
}

Control ProgressLine::on(Control control) {
  control.progress = [](void* line, double share) {
    static_cast<ProgressLine*>(line)->show(share);
    return true;
  };
  control.user = this;
  return control;
}

void ProgressLine::show(double share) {
  static const bool is_terminal = isatty(STDERR_FILENO) != 0;
  const auto now = Clock::now();
  const double passed = std::chrono::duration<double>(now - begun_).count();
  if (!is_terminal || passed < 1 || now - last_ < std::chrono::milliseconds(250)) return;
  last_ = now;
  print_error(fmt::format("\r{:.0f} % of the {} done, {:.0f} s left  ", 100 * share, of_,
                          share > 0 ? passed / share - passed : 0.0));
}

options::Options table_options(Control& files) {
  return {{"--csv", &files.csv, "Write the tables as PREFIX.<table>.csv", "PREFIX"},
          {"--arrow", &files.arrow, "Write the tables as Arrow files PREFIX.<table>.arrow", "PREFIX"}};
}

}  // namespace chakra::cli
