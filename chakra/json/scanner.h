// Tracks the strings and brackets of a JSON text, 64 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#define CHAKRA_JSON_WIDE __attribute__((target("avx2,pclmul")))  // what is built so runs where the machine has them
#endif

namespace chakra::json {

inline constexpr size_t kBlock = 64;

struct Scanner {
  /// One bit for each byte of a block.
  struct Masks {
    uint64_t quotes = 0, backslashes = 0, opens = 0, closes = 0, lines = 0;
  };
  struct Brackets {
    uint64_t opens, closes;  ///< outside strings
  };
  uint64_t in_string = 0;  ///< all ones: the block begins inside a string
  bool escaped = false;    ///< the block's first byte is escaped
  uint64_t broken = 0;     ///< line ends inside strings, which JSON forbids: an earlier quote is missing

  Brackets step(const char* block);

 private:
  Brackets step_narrow(const char* block);
  Brackets step_wide(const char* block);  ///< the same on processors with 32-byte registers
  void leave_out_escaped(Masks& masks);
  Brackets follow(const Masks& masks, uint64_t parity);
};

inline Scanner::Brackets Scanner::step(const char* block) {
#if defined(CHAKRA_JSON_WIDE)
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul");
  if (wide) return step_wide(block);
#endif
  return step_narrow(block);
}

}  // namespace chakra::json
