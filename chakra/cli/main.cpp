#include <malloc.h>

#include "chakra/cli/cli.h"

int main(int argc, char** argv) {
  // Large arrays come and go while a trace is linked: memory given back to the system would be zeroed
  // and mapped again, which costs more than the work on it.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  return chakra::cli::run(argc, argv);
}
