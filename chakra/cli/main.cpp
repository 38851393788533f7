// The command: all of it is in libchakra.so.
#include <malloc.h>

#include <climits>

#include "chakra/chakra.h"

int main(int argc, char** argv) {
  // Arrays of millions of rows come and go while a trace is linked: the large go back to the system, so that
  // they do not add up; the others stay, for memory from the system is zeroed first.
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 4 << 20);
  return chakra::command(argc, argv);
}
