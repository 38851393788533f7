// Contracts: promises of the program to itself. A broken contract is a mistake in the program, never in
// the input (a bad input is an Error), so the process ends at once with the place of the contract.
#pragma once

namespace chakra {

/// Print the promise and its place on stderr, then abort.
[[noreturn]] void contract_broken(const char* promise, const char* file, int line);

}  // namespace chakra

/// CHAKRA_ASSERT(n < size()): print the text of the condition and abort where the condition is false, also
/// in release builds. Use CHAKRA_ASSERT for checks that cost little beside the work around the check. A more
/// expensive check should be a CHAKRA_ASSERT_SLOW, which only sanitizer and debug builds contain.
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
