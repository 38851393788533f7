// The command as a function of the library.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "chakra/chakra.h"
#include "chakra/cli/cli.h"

namespace chakra {
namespace {

/// A closed standard descriptor would become that of the first file that is opened, and what is printed would go there.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);  // the lowest that is free: writing to it fails
}

}  // namespace

int v1::command(int argc, char** argv) {
  hold_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error as any other: exit code 3
  end_on_signals();
  return cli::exit_code_of(cli::run(argc, argv));
}

}  // namespace chakra
