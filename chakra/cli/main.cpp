#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <csignal>

#include "chakra/cli/cli.h"

namespace {

/// A closed standard descriptor would become that of the first file that is opened, and what is printed would go there.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);  // the lowest that is free: writing to it fails
}

}  // namespace

int main(int argc, char** argv) {
  // Arrays of millions of rows come and go while a trace is linked: the large go back to the system, so that
  // they do not add up; the others stay, for memory from the system is zeroed first.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 4 << 20);
  hold_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error as any other: exit code 3
  chakra::end_on_signals();
  return chakra::cli::exit_code_of(chakra::cli::run(argc, argv));
}
