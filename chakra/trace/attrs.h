// Attributes without a dedicated column: name and value. Linked traces have ten million such
// attributes, so the attributes are packed one after the other in as few bytes as each needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "chakra/base/base.h"

namespace chakra::trace {

struct Attr {
  StringId name = 0;
  std::variant<int64_t, uint64_t, double, bool, std::string_view> value;

  std::optional<int64_t> integer() const {
    const auto* number = std::get_if<int64_t>(&value);
    return number ? std::optional(*number) : std::nullopt;
  }
  std::optional<std::string_view> text() const {
    const auto* text = std::get_if<std::string_view>(&value);
    return text ? std::optional(*text) : std::nullopt;
  }
};

/// Append-only. A position is a number of bytes. Positions stay valid; short text moves when the bytes grow.
/// Cost of an attribute: some bytes and nanoseconds; a text of more than kInline bytes stays in the caller's memory.
class Attrs {
 public:
  static constexpr size_t kInline = 40;

  void add(const Attr& attr);
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  size_t position() const { return bytes_.size(); }

  class Iterator {
   public:
    explicit Iterator(const uint8_t* at) : at_(at), next_(at) {}
    /// Decode the attribute. Call once at each position.
    Attr operator*() { return decode(next_); }
    Iterator& operator++() { return at_ = next_, *this; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const uint8_t *at_, *next_;
  };
  struct Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
  };
  /// Return the attributes added between two positions.
  Range range(size_t from, size_t to) const { return {Iterator(bytes_.data() + from), Iterator(bytes_.data() + to)}; }

 private:
  static Attr decode(const uint8_t*& at);  ///< moves `at` behind the attribute

  Column<uint8_t> bytes_;
};

/// Return the attribute for Attrs::add(), with a text that Attrs does not copy in `texts`.
inline Attr kept(const Attr& attr, Arena& texts) {
  const auto text = attr.text();
  return text && text->size() > Attrs::kInline ? Attr{attr.name, texts.add(*text)} : attr;
}

}  // namespace chakra::trace
