#include "chakra/json/scanner.h"

#include <bit>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace chakra::json {
namespace {

using Masks = Scanner::Masks;

/// One bit per byte of a block. '[' | 0x20 is '{' and ']' | 0x20 is '}'.
Masks masks_of(const char* block) {
  Masks masks;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), line = _mm_set1_epi8('\n');
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
    const __m128i folded = _mm_or_si128(bytes, bit);
    const auto mask = [&](__m128i hits) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hits))) << (16 * i);
    };
    masks.quotes |= mask(_mm_cmpeq_epi8(bytes, quote));
    masks.backslashes |= mask(_mm_cmpeq_epi8(bytes, backslash));
    masks.opens |= mask(_mm_cmpeq_epi8(folded, open));
    masks.closes |= mask(_mm_cmpeq_epi8(folded, close));
    masks.lines |= mask(_mm_cmpeq_epi8(bytes, line));
  }
#else
  for (size_t i = 0; i < kBlock; ++i) {
    const auto bit = [&](bool is) { return static_cast<uint64_t>(is) << i; };
    const char c = block[i];
    masks.quotes |= bit(c == '"');
    masks.backslashes |= bit(c == '\\');
    masks.opens |= bit((c | 0x20) == '{');
    masks.closes |= bit((c | 0x20) == '}');
    masks.lines |= bit(c == '\n');
  }
#endif
  return masks;
}

/// Bit i of the result is the parity of bits 0..i.
uint64_t prefix_parity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

#if defined(CHAKRA_JSON_WIDE)
CHAKRA_JSON_WIDE inline uint64_t wide_mask(__m256i low, __m256i high, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  const auto below = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const auto above = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return below | uint64_t{above} << 32;
}
#endif

}  // namespace

/// Without the quotes that a backslash escapes.
void Scanner::leave_out_escaped(Masks& masks) {
  uint64_t escaped_bytes = escaped ? 1 : 0;
  masks.backslashes &= ~escaped_bytes;
  escaped = false;
  while (masks.backslashes != 0) {  // rare: one by one
    const int i = std::countr_zero(masks.backslashes);
    masks.backslashes &= masks.backslashes - 1;
    if (i == 63) {
      escaped = true;
    } else {
      escaped_bytes |= uint64_t{2} << i;
      masks.backslashes &= ~(uint64_t{2} << i);
    }
  }
  masks.quotes &= ~escaped_bytes;
}

/// `parity`: prefix_parity of the quotes.
inline Scanner::Brackets Scanner::follow(const Masks& masks, uint64_t parity) {
  const uint64_t inside = parity ^ in_string;
  in_string = static_cast<uint64_t>(static_cast<int64_t>(inside) >> 63);
  broken = masks.lines & inside;
  return {masks.opens & ~inside, masks.closes & ~inside};
}

Scanner::Brackets Scanner::step_narrow(const char* block) {
  Masks masks = masks_of(block);
  if (masks.backslashes != 0 || escaped) leave_out_escaped(masks);
  return follow(masks, prefix_parity(masks.quotes));
}

#if defined(CHAKRA_JSON_WIDE)
CHAKRA_JSON_WIDE Scanner::Brackets Scanner::step_wide(const char* block) {
  const auto* at = reinterpret_cast<const __m256i*>(block);
  const __m256i low = _mm256_loadu_si256(at), high = _mm256_loadu_si256(at + 1);
  const __m256i low_folded = _mm256_or_si256(low, _mm256_set1_epi8(0x20));
  const __m256i high_folded = _mm256_or_si256(high, _mm256_set1_epi8(0x20));
  Masks masks{wide_mask(low, high, '"'), wide_mask(low, high, '\\'), wide_mask(low_folded, high_folded, '{'),
              wide_mask(low_folded, high_folded, '}'), wide_mask(low, high, '\n')};
  if (masks.backslashes != 0 || escaped) leave_out_escaped(masks);
  // A carry-less multiplication by all ones adds up all bits below.
  const __m128i quotes = _mm_set_epi64x(0, static_cast<int64_t>(masks.quotes));
  const __m128i parity = _mm_clmulepi64_si128(quotes, _mm_set1_epi8(-1), 0);
  return follow(masks, static_cast<uint64_t>(_mm_cvtsi128_si64(parity)));
}
#endif

}  // namespace chakra::json
