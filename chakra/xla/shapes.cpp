// Element types and sizes of shapes.
#include <algorithm>
#include <array>

#include "chakra/xla/program.h"

namespace chakra::xla {
namespace {

using trace::DType;

struct TypeRow {
  std::string_view name;
  uint32_t bits = 0;
  DType type = DType::unknown;
};
/// By PrimitiveType of xla_data.proto.
constexpr std::array<TypeRow, 35> kTypes{{
    {},
    {"pred", 8, DType::boolean},
    {"s8", 8, DType::i8},
    {"s16", 16, DType::i16},
    {"s32", 32, DType::i32},
    {"s64", 64, DType::i64},
    {"u8", 8, DType::i8},
    {"u16", 16, DType::i16},
    {"u32", 32, DType::i32},
    {"u64", 64, DType::i64},
    {"f16", 16, DType::f16},
    {"f32", 32, DType::f32},
    {"f64", 64, DType::f64},
    {"tuple"},
    {"opaque"},
    {"c64", 64, DType::complex},
    {"bf16", 16, DType::bf16},
    {"token"},
    {"c128", 128, DType::complex},
    {"f8e5m2", 8, DType::f8},
    {"f8e4m3fn", 8, DType::f8},
    {"s4", 4, DType::i8},
    {"u4", 4, DType::i8},
    {"f8e4m3b11fnuz", 8, DType::f8},
    {"f8e5m2fnuz", 8, DType::f8},
    {"f8e4m3fnuz", 8, DType::f8},
    {"s2", 2, DType::i8},
    {"u2", 2, DType::i8},
    {"f8e4m3", 8, DType::f8},
    {"f8e3m4", 8, DType::f8},
    {"s1", 1, DType::i8},
    {"u1", 1, DType::i8},
    {"f4e2m1fn", 4, DType::f4},
    {"f8e8m0fnu", 8, DType::f8},
    {"buffer"},
}};

const TypeRow& row_of(uint8_t type) { return kTypes[type < kTypes.size() ? type : 0]; }

}  // namespace

std::string_view type_name(uint8_t primitive_type) { return row_of(primitive_type).name; }

uint8_t primitive_type(std::string_view name) {
  for (size_t t = 1; t < kTypes.size(); ++t)
    if (kTypes[t].name == name) return static_cast<uint8_t>(t);
  return 0;
}

uint8_t known_type(int64_t primitive_type, UnknownParts& unknown) {
  if (primitive_type >= 0 && primitive_type < static_cast<int64_t>(kTypes.size()))
    return static_cast<uint8_t>(primitive_type);
  ++unknown[{"PrimitiveType", static_cast<uint32_t>(std::clamp<int64_t>(primitive_type, 0, UINT32_MAX))}];
  return 0;
}

bool is_possible(std::span<const int64_t> dims) {
  constexpr uint64_t kMostElements = uint64_t{1} << 60;
  uint64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return false;
    count = multiply_bytes(count, static_cast<uint64_t>(dim));
  }
  return count <= kMostElements;
}

uint64_t Program::elements(const Shape& shape) const {
  uint64_t count = 1;
  for (const int64_t dim : dims(shape.dims)) count = multiply_bytes(count, static_cast<uint64_t>(dim));
  return count;
}

uint64_t Program::bytes_of(const Shape& shape) const {
  uint64_t sum = 0;
  if (const uint32_t bits = row_of(shape.type).bits; bits >= 8) sum = multiply_bytes(elements(shape), bits / 8);
  else if (bits > 0) sum = elements(shape) / (8 / bits) + (elements(shape) % (8 / bits) != 0);
  for (uint32_t part = shape.parts.begin; part < shape.parts.end; ++part) sum = add_bytes(sum, bytes_of(shapes[part]));
  return sum;
}

DType dtype_of(const Program& program, const Shape& shape) {
  if (shape.parts.size() > 0) return dtype_of(program, program.shapes[shape.parts.begin]);
  return row_of(shape.type).type;
}

}  // namespace chakra::xla
