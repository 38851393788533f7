// Things that come and go, by number. A number is used again once its thing is dropped.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace chakra::astra {

template <class T>
class Pool {
 public:
  /// The number of a thing that is not in use, as it was left when it was dropped.
  uint64_t take_unused() {
    if (unused_.empty()) return things_.emplace_back(), things_.size() - 1;
    const uint64_t number = unused_.back();
    unused_.pop_back();
    return number;
  }
  uint64_t put(T thing) {
    const uint64_t number = take_unused();
    things_[number] = std::move(thing);
    return number;
  }
  T take(uint64_t number) {
    drop(number);
    return std::move(things_[number]);
  }
  void drop(uint64_t number) { unused_.push_back(number); }
  /// The reference lasts until a thing is added.
  T& operator[](uint64_t number) { return things_[number]; }
  const T& operator[](uint64_t number) const { return things_[number]; }
  bool empty() const { return things_.size() == unused_.size(); }

 private:
  std::vector<T> things_;
  std::vector<uint64_t> unused_;
};

}  // namespace chakra::astra
