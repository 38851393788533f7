// chakra check
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using CheckAsked = With<CheckOptions>;

options::Options check_rows(CheckAsked& o) {
  options::Options rows = rows_of(o.options, {{"path", &o.paths}});
  rows.front() = required({"paths",
                           &o.paths,
                           "Traces, each a job; or dumps of PyTorch's flight recorder",
                           "PATH...",
                           {},
                           "A job is a file, a prefix (PREFIX.<rank>.et), a folder or a container. Dumps are a folder, "
                           "or several files of one job."});
  return rows;
}

Result<int> run_check(const CheckAsked& o, const Globals& globals) {
  return show(globals, check(o.paths, o.options, globals.control()));
}

}  // namespace

Syntax check_syntax() { return syntax_of<CheckAsked>(check_rows, run_check); }

}  // namespace chakra::cli
