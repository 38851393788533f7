#include "chakra/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace chakra {

void contract_broken(const char* promise, const char* file, int line) {
  std::fprintf(stderr, "chakra: a mistake in the program, not in its input: %s:%d: %s does not hold\n", file, line,
               promise);
  std::abort();
}

}  // namespace chakra
