#include "chakra/trace/attrs.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "chakra/trace/varint.h"

namespace chakra::trace {
namespace {

/// How a value is kept behind its head, (name << 3 | form) as a varint.
enum class Form : uint8_t {
  integer,   ///< zigzag varint
  natural,   ///< varint
  real,      ///< 8 bytes
  no,        ///< nothing
  yes,       ///< nothing
  text,      ///< varint size, the bytes
  far_text,  ///< varint size, a pointer
};

template <class T>
T plain(const uint8_t*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

void Attrs::add(const Attr& attr) {
  std::array<uint8_t, 2 * kMostVarint + std::max(kInline, sizeof(double))> bytes;
  uint8_t* end = bytes.data();
  const auto head = [&](Form form) { end = put_varint(end, uint64_t{attr.name} << 3 | static_cast<uint8_t>(form)); };
  const auto plain = [&](const void* from, size_t size) {
    end = std::copy_n(static_cast<const uint8_t*>(from), size, end);
  };
  if (const auto* integer = std::get_if<int64_t>(&attr.value)) {
    head(Form::integer);
    end = put_varint(end, static_cast<uint64_t>(*integer) << 1 ^ static_cast<uint64_t>(*integer >> 63));
  } else if (const auto* natural = std::get_if<uint64_t>(&attr.value)) {
    head(Form::natural);
    end = put_varint(end, *natural);
  } else if (const auto* real = std::get_if<double>(&attr.value)) {
    head(Form::real);
    plain(real, sizeof *real);
  } else if (const auto* yes = std::get_if<bool>(&attr.value)) {
    head(*yes ? Form::yes : Form::no);
  } else {
    const std::string_view text = std::get<std::string_view>(attr.value);
    const char* const far = text.data();
    head(text.size() <= kInline ? Form::text : Form::far_text);
    end = put_varint(end, text.size());
    if (text.size() <= kInline) plain(far, text.size());
    else plain(&far, sizeof far);
  }
  bytes_.append({bytes.data(), end});
}

Attr Attrs::decode(const uint8_t*& at) {
  const uint64_t head = take_varint(at);
  Attr attr;
  attr.name = static_cast<StringId>(head >> 3);
  switch (static_cast<Form>(head & 7)) {
    case Form::integer: {
      const uint64_t zigzag = take_varint(at);
      attr.value = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
      break;
    }
    case Form::natural: attr.value = take_varint(at); break;
    case Form::real: attr.value = plain<double>(at); break;
    case Form::no: attr.value = false; break;
    case Form::yes: attr.value = true; break;
    case Form::text: {
      const uint64_t size = take_varint(at);
      attr.value = std::string_view(reinterpret_cast<const char*>(at), size);
      at += size;
      break;
    }
    case Form::far_text: {
      const uint64_t size = take_varint(at);
      attr.value = std::string_view(plain<const char*>(at), size);
      break;
    }
  }
  return attr;
}

}  // namespace chakra::trace
