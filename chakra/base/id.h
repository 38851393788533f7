// Id: a number that names one of several things, as a type. A row of nodes, an actor and the index of a rank are 32
// bits each, and the compiler keeps the kinds apart: a kind of ids is `using NodeId = Id<struct NodeTag>`.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "chakra/base/assert.h"

namespace chakra {

/// An integer becomes an id only explicitly, NodeId(row). An id converts to an integer wherever one is expected, so an
/// id can index arrays and be compared with counts. Ids of two kinds neither convert nor compare. As with pointers, an
/// id and a distance of at most 32 bits give an id, two ids give a distance; other arithmetic is that of integers.
template <class Tag>
class Id {
 public:
  Id() = default;
  template <std::integral Integer>
  constexpr explicit Id(Integer value) : value_(static_cast<uint32_t>(value)) {
    CHAKRA_ASSERT_SLOW(std::in_range<uint32_t>(value));
  }
  constexpr operator uint32_t() const { return value_; }  // NOLINT: it is one

  constexpr Id& operator++() {
    ++value_;
    return *this;
  }
  constexpr Id operator++(int) { return Id(value_++); }
  constexpr Id& operator--() {
    --value_;
    return *this;
  }
  constexpr Id operator--(int) { return Id(value_--); }

  template <std::integral Distance>
  requires(sizeof(Distance) <= sizeof(uint32_t)) friend constexpr Id operator+(Id id, Distance distance) {
    return Id(id.value_ + static_cast<uint32_t>(distance));
  }
  template <std::integral Distance>
  requires(sizeof(Distance) <= sizeof(uint32_t)) friend constexpr Id operator-(Id id, Distance distance) {
    return Id(id.value_ - static_cast<uint32_t>(distance));
  }
  friend constexpr uint32_t operator-(Id id, Id from) { return id.value_ - from.value_; }
  friend constexpr uint32_t format_as(Id id) { return id.value_; }  // fmt from version 10 on asks for it

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
  template <class Hash>
  friend Hash AbslHashValue(Hash hash, Id id) {
    return Hash::combine(std::move(hash), id.value_);
  }

 private:
  uint32_t value_;
};

// Without this, ids of two kinds would compare as integers.
template <class Tag, class Other>
requires(!std::is_same_v<Tag, Other>) bool operator==(Id<Tag>, Id<Other>) = delete;
template <class Tag, class Other>
requires(!std::is_same_v<Tag, Other>) std::strong_ordering operator<=>(Id<Tag>, Id<Other>) = delete;

/// The ids from `first` until before `last`, for a loop: `for (const NodeId n : ids(begin, end))`.
template <class Kind>
class IdRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Kind;
    using difference_type = std::ptrdiff_t;
    using pointer = const Kind*;
    using reference = Kind;

    Iterator() = default;
    constexpr explicit Iterator(Kind at) : at_(at) {}
    constexpr Kind operator*() const { return at_; }
    constexpr Iterator& operator++() {
      ++at_;
      return *this;
    }
    constexpr Iterator operator++(int) { return Iterator(at_++); }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    Kind at_;
  };

  constexpr IdRange(Kind first, Kind last) : first_(first), last_(last) {}
  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(last_); }

 private:
  Kind first_, last_;
};
template <class Kind>
constexpr IdRange<Kind> ids(Kind first, Kind last) {
  return {first, last};
}
/// Return the first `count` ids of a kind: `ids<NodeId>(nodes)`.
template <class Kind, std::integral Count>
constexpr IdRange<Kind> ids(Count count) {
  return {Kind(0), Kind(count)};
}

}  // namespace chakra

template <class Tag>
struct std::hash<chakra::Id<Tag>> {
  size_t operator()(chakra::Id<Tag> id) const { return std::hash<uint32_t>()(id); }
};
