// chakra info
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

struct InfoAsked {
  std::string path;
};

options::Options info_rows(InfoAsked& o) {
  return {required({"path", &o.path, "Traces: a file, a prefix (PREFIX.<rank>.et), a folder or a container", "PATH"})};
}

Result<int> run_info(const InfoAsked& o, const Globals& globals) {
  CHAKRA_ASSIGN(const Job job, open(o.path, {.keep = false}));
  return show(globals, job.info(globals.control()));
}

}  // namespace

Syntax info_syntax() { return syntax_of<InfoAsked>(info_rows, run_info); }

}  // namespace chakra::cli
