// Contracts: what the program promises itself. A broken one is a mistake in the program, never in its input (that is
// an Error), so it ends the process at once and says where.
#pragma once

namespace chakra {

/// Says on stderr what was promised and where, and aborts.
[[noreturn]] void contract_broken(const char* promise, const char* file, int line);

}  // namespace chakra

/// CHAKRA_ASSERT(n < size()): aborts with the condition's text where it does not hold, also in release builds. For what
/// costs little beside the work around it; what costs more is a CHAKRA_ASSERT_SLOW, which sanitizer and debug builds
/// have.
#define CHAKRA_ASSERT(condition)                                 \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::chakra::contract_broken(#condition, __FILE__, __LINE__); \
  } while (false)

#ifdef CHAKRA_SLOW_ASSERTIONS
#define CHAKRA_ASSERT_SLOW(condition) CHAKRA_ASSERT(condition)
#else
#define CHAKRA_ASSERT_SLOW(condition) \
  do {                                \
    if (false && (condition)) break;  \
  } while (false)
#endif
