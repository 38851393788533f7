// Objects by number. The number of a dropped object is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chakra/base/assert.h"

namespace chakra {

template <class T>
class Pool {
 public:
  /// Return the number of an unused object, in the state in which the object was dropped.
  uint32_t take_unused() {
    if (unused_.empty()) {
      CHAKRA_ASSERT(things_.size() < UINT32_MAX);
      things_.emplace_back();
      return static_cast<uint32_t>(things_.size() - 1);
    }
    const uint32_t number = unused_.back();
    unused_.pop_back();
    return number;
  }
  uint32_t put(T thing) {
    const uint32_t number = take_unused();
    things_[number] = std::move(thing);
    return number;
  }
  T take(size_t number) {
    drop(number);
    return std::move(things_[number]);
  }
  void drop(size_t number) { unused_.push_back(static_cast<uint32_t>(number)); }
  /// The reference is valid until an object is added.
  T& operator[](size_t number) { return things_[number]; }
  const T& operator[](size_t number) const { return things_[number]; }
  bool empty() const { return things_.size() == unused_.size(); }

 private:
  std::vector<T> things_;
  std::vector<uint32_t> unused_;
};

}  // namespace chakra
