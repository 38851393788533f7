#include "chakra/trace/attrs.h"

#include <cstring>

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

uint64_t varint(const uint8_t*& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = *at++;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

template <class T>
T plain(const uint8_t*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

void Attrs::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<uint8_t>(value | 0x80));
  bytes_.push_back(static_cast<uint8_t>(value));
}

void Attrs::add(const Attr& attr) {
  const auto head = [&](Form form) { varint(uint64_t{attr.name} << 3 | static_cast<uint8_t>(form)); };
  const auto plain = [&](const auto& value) {
    const auto* from = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  };
  if (const auto* integer = std::get_if<int64_t>(&attr.value)) {
    head(Form::integer);
    varint(static_cast<uint64_t>(*integer) << 1 ^ static_cast<uint64_t>(*integer >> 63));
  } else if (const auto* natural = std::get_if<uint64_t>(&attr.value)) {
    head(Form::natural);
    varint(*natural);
  } else if (const auto* real = std::get_if<double>(&attr.value)) {
    head(Form::real);
    plain(*real);
  } else if (const auto* yes = std::get_if<bool>(&attr.value)) {
    head(*yes ? Form::yes : Form::no);
  } else {
    const std::string_view text = std::get<std::string_view>(attr.value);
    head(text.size() <= kInline ? Form::text : Form::far_text);
    varint(text.size());
    if (text.size() <= kInline) bytes_.insert(bytes_.end(), text.begin(), text.end());
    else plain(text.data());
  }
}

Attr Attrs::decode(const uint8_t*& at) {
  const uint64_t head = trace::varint(at);
  Attr attr;
  attr.name = static_cast<StringId>(head >> 3);
  switch (static_cast<Form>(head & 7)) {
    case Form::integer: {
      const uint64_t zigzag = trace::varint(at);
      attr.value = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
      break;
    }
    case Form::natural: attr.value = trace::varint(at); break;
    case Form::real: attr.value = plain<double>(at); break;
    case Form::no: attr.value = false; break;
    case Form::yes: attr.value = true; break;
    case Form::text: {
      const uint64_t size = trace::varint(at);
      attr.value = std::string_view(reinterpret_cast<const char*>(at), size);
      at += size;
      break;
    }
    case Form::far_text: {
      const uint64_t size = trace::varint(at);
      attr.value = std::string_view(plain<const char*>(at), size);
      break;
    }
  }
  return attr;
}

}  // namespace chakra::trace
