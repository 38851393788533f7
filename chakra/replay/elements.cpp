// The table of element types, and their arithmetic.
#include "chakra/replay/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "chakra/replay/plan.h"

namespace chakra::replay {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Types that the processor has. Integers are added and multiplied without a sign, which wraps around.
template <class T, class Wrapping = T>
struct Native {
  static constexpr uint32_t kBytes = sizeof(T);
  using Value = T;
  static T get(const std::byte* at) { return load<T>(at); }
  static void put(std::byte* at, T value) { store(at, value); }
  static T add(T a, T b) { return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)); }
  static T multiply(T a, T b) { return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b)); }
  static T quotient(T a, uint32_t n) {
    if constexpr (sizeof(T) < 4) return static_cast<T>(int64_t{a} / int64_t{n});
    else if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) return a / static_cast<T>(n);
    else return static_cast<T>(a / n);
  }
};

struct Bool {
  static constexpr uint32_t kBytes = 1;
  using Value = bool;
  static bool get(const std::byte* at) { return *at != std::byte{0}; }
  static void put(std::byte* at, bool value) { *at = std::byte{value}; }
  static bool add(bool a, bool b) { return a || b; }
  static bool multiply(bool a, bool b) { return a && b; }
  static bool quotient(bool a, uint32_t) { return a; }
};

/// Floating-point numbers narrower than the processor's: computed as float and rounded to nearest, ties to even.
/// `kMost`: the bits of the largest finite one; the exponent of ones alone stands for others in most types.
template <unsigned kExponent, unsigned kMantissa, class Bits,
          uint32_t kMost = (1u << (kExponent + kMantissa)) - (1u << kMantissa) - 1>
struct Narrow {
  static constexpr uint32_t kBytes = sizeof(Bits);
  static constexpr unsigned kBias = (1u << (kExponent - 1)) - 1, kShift = 23 - kMantissa;
  static constexpr uint32_t kSign = 1u << (kExponent + kMantissa);
  using Value = float;
  /// 2^exponent, of a normal float.
  static constexpr float power(int exponent) {
    return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
  }
  /// The bits in the places of a float's are the value but for the bias, subnormal or not.
  static float get(const std::byte* at) {
    const uint32_t bits = load<Bits>(at);
    const float size = std::bit_cast<float>((bits & (kSign - 1)) << kShift) * power(127 - static_cast<int>(kBias));
    return bits & kSign ? -size : size;
  }
  /// What is too large becomes the largest finite number.
  static void put(std::byte* at, float value) {
    const float size = std::fabs(value);
    const auto bits = std::bit_cast<uint32_t>(size);
    // Adding a number whose last bit is worth the last bit of a subnormal result rounds to it.
    constexpr float kRounder = power(24 - static_cast<int>(kBias + kMantissa));
    const uint32_t subnormal = std::bit_cast<uint32_t>(size + kRounder) - std::bit_cast<uint32_t>(kRounder);
    // A carry out of the mantissa goes into the exponent by itself.
    const uint32_t even = bits >> kShift & 1;
    const uint32_t normal = ((bits + (1u << (kShift - 1)) - 1 + even) >> kShift) - ((127 - kBias) << kMantissa);
    const uint32_t rounded = size < power(1 - static_cast<int>(kBias)) ? subnormal : std::min(normal, kMost);
    store(at, static_cast<Bits>((std::signbit(value) ? kSign : 0) | rounded));
  }
  static float add(float a, float b) { return a + b; }
  static float multiply(float a, float b) { return a * b; }
  static float quotient(float a, uint32_t n) { return a / static_cast<float>(n); }
};

template <class Type, class Combine>
void each(std::span<std::byte> into, std::span<const std::byte> from, const Combine& combine) {
  for (size_t i = 0; i + Type::kBytes <= into.size(); i += Type::kBytes)
    Type::put(&into[i], static_cast<typename Type::Value>(combine(Type::get(&into[i]), Type::get(&from[i]))));
}

template <class Type>
void combine(ReduceOp op, std::span<std::byte> into, std::span<const std::byte> from) {
  CHAKRA_ASSERT(into.size() == from.size() && into.size() % Type::kBytes == 0);
  using Value = typename Type::Value;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average: return each<Type>(into, from, Type::add);
    case ReduceOp::product: return each<Type>(into, from, Type::multiply);
    case ReduceOp::minimum: return each<Type>(into, from, [](Value a, Value b) { return b < a ? b : a; });
    case ReduceOp::maximum: return each<Type>(into, from, [](Value a, Value b) { return a < b ? b : a; });
  }
}

template <class Type>
void divide(std::span<std::byte> values, uint32_t n) {
  for (size_t i = 0; i + Type::kBytes <= values.size(); i += Type::kBytes)
    Type::put(&values[i], Type::quotient(Type::get(&values[i]), n));
}

template <class Type>
void set(std::byte* element, uint32_t value) {
  Type::put(element, static_cast<typename Type::Value>(value));
}

/// A pair of numbers: (value, 0).
template <class Part>
void set_pair(std::byte* element, uint32_t value) {
  set<Part>(element, value);
  set<Part>(element + Part::kBytes, 0);
}

template <class Type>
constexpr ElementRow row(std::string_view names, uint32_t exact) {
  return {names, Type::kBytes, exact, true, combine<Type>, divide<Type>, set<Type>};
}
template <class Part>
constexpr ElementRow pair(std::string_view names, uint32_t exact) {
  return {names, 2 * Part::kBytes, exact, false, combine<Part>, divide<Part>, set_pair<Part>};
}

constexpr uint32_t kMany = 1u << 24;
constexpr std::array kElements{
    row<Native<uint8_t, uint32_t>>("byte uint8 u8 unsigned_char", 255),
    row<Native<float>>("float float32 f32", kMany),
    row<Native<double>>("double float64 f64", kMany),
    row<Narrow<5, 10, uint16_t>>("half float16 f16 fp16", 2048),
    row<Narrow<8, 7, uint16_t>>("bfloat16 bf16", 256),
    row<Narrow<4, 3, uint8_t, 0x7e>>("float8_e4m3fn float8_e4m3fnuz float8 f8 fp8", 16),
    row<Narrow<5, 2, uint8_t>>("float8_e5m2 float8_e5m2fnuz", 8),
    row<Native<int8_t, uint32_t>>("char int8 i8 signed_char", 127),
    row<Native<int16_t, uint32_t>>("short int16 i16", 32767),
    row<Native<uint16_t, uint32_t>>("uint16 u16", 65535),
    row<Native<int32_t, uint32_t>>("int int32 i32", kMany),
    row<Native<uint32_t>>("uint32 u32", kMany),
    row<Native<int64_t, uint64_t>>("long int64 i64", kMany),
    row<Native<uint64_t>>("uint64 u64", kMany),
    row<Bool>("bool", 1),
    pair<Native<float>>("complexfloat complex64 complex<float>", kMany),
    pair<Native<double>>("complexdouble complex128 complex<double>", kMany),
};

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

std::span<const ElementRow> elements() { return kElements; }

uint64_t element_bytes(std::string_view dtype) { return element_of(dtype).bytes; }

const ElementRow& element_of(std::string_view dtype) {
  std::string name = to_lower(dtype);
  for (const std::string_view prefix : {"c10::", "at::", "torch."})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  const auto found =
      std::find_if(kElements.begin(), kElements.end(), [&](const ElementRow& r) { return has_word(r.names, name); });
  return found == kElements.end() ? kElements.front() : *found;
}

}  // namespace chakra::replay
