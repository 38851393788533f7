// Column: an array of plain values that several owners can share. A copy costs as much as
// a copy of a pointer; a write to a shared column first copies the bytes (copy on write). A
// column grows by realloc, which moves large arrays without touching the values.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "chakra/base/assert.h"
#include "chakra/base/memory.h"

namespace chakra {

/// Reads look like reads of a constant vector. Writes are explicit: edit(). Several threads may read, copy and
/// destroy columns that share bytes; one object belongs to one thread at a time, as with any container.
template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  using value_type = T;
  using const_iterator = const T*;

  Column() = default;
  Column(std::initializer_list<T> values) { append(values); }
  Column(const Column& other) : data_(other.data_), size_(other.size_), capacity_(other.size_) {
    if (data_) head().owners.fetch_add(1, std::memory_order_relaxed);
  }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column other) noexcept {
    swap(other);
    return *this;
  }
  ~Column() { release(); }
  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }  ///< rows that fit without an allocation
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t row) const { return data_[row]; }  ///< requires row < size()
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }  // NOLINT: it is one
  bool operator==(const Column& other) const {
    return data_ == other.data_ ? size_ == other.size_ : *this == std::span<const T>(other);
  }
  bool operator==(std::span<const T> other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  /// Whether both read the same bytes: the columns are then equal, and take the memory of one.
  bool shares_with(const Column& other) const { return data_ == other.data_ && size_ == other.size_; }

  /// Return the rows for writing, until the column is copied or grows. Cost: O(1); O(size) if the column is shared.
  std::span<T> edit() {
    if (is_shared()) grow(size_);
    return {data_, size_};
  }
  T& edit(size_t row) { return edit()[row]; }  ///< requires row < size()

  void push_back(const T& value) {
    const T kept = value;  // may lie in this column
    if (size_ == capacity_) grow(std::max<size_t>(2 * size_, 16));
    data_[size_++] = kept;
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    push_back(T(std::forward<Args>(args)...));
    return data_[size_ - 1];
  }
  void append(std::span<const T> values) {
    if (values.empty()) return;
    if (capacity_ - size_ < values.size()) grow(std::max(2 * size_, size_ + values.size()));
    std::copy(values.begin(), values.end(), data_ + size_);
    size_ += values.size();
  }
  void reserve(size_t size) {
    if (size > capacity_) grow(size);
  }
  /// Change the number of rows; new rows get `value`.
  void resize(size_t size, const T& value = T()) {
    if (size > size_) {
      const T kept = value;
      if (size > capacity_) grow(size > 2 * size_ ? size : 2 * size_);
      std::fill(data_ + size_, data_ + size, kept);
    } else if (is_shared()) {
      capacity_ = size;  // other owners read the rows behind
    }
    size_ = size;
  }
  void assign(size_t size, const T& value) {
    const T kept = value;
    clear();
    resize(size, kept);
  }
  void clear() {
    if (is_shared()) *this = Column();
    size_ = 0;
  }

 private:
  /// Before the rows.
  struct Head {
    std::atomic<size_t> owners{1};  ///< columns that share the block
    size_t bytes = 0;               ///< of the block
  };
  static constexpr size_t kHead = alignof(std::max_align_t);
  static_assert(sizeof(Head) <= kHead);

  // Of columns that share bytes, only one has a capacity above its size. It adds rows unseen by the others.
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;

  char* block() const { return reinterpret_cast<char*>(data_) - kHead; }
  Head& head() const { return *std::launder(reinterpret_cast<Head*>(block())); }
  bool is_shared() const { return data_ && head().owners.load(std::memory_order_acquire) > 1; }

  void release() {
    if (!data_ || head().owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (const size_t bytes = head().bytes; bytes < kLargeBlock) std::free(block());
    else free_large_block(block(), bytes);
  }

  /// Make the bytes unshared, with room for `capacity` rows, at least size().
  void grow(size_t capacity) {
    CHAKRA_ASSERT(capacity >= size_);
    if (capacity > (SIZE_MAX / 2 - kHead) / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = kHead + capacity * sizeof(T);
    const bool keeps = data_ && !is_shared();
    const size_t old_bytes = keeps ? head().bytes : 0;
    if (old_bytes < bytes) {
      const bool large = bytes >= kLargeBlock, moves = keeps && large == (old_bytes >= kLargeBlock);
      void* const old = moves ? block() : nullptr;
      void* const fresh = large ? grow_large_block(old, moves ? old_bytes : 0, bytes) : std::realloc(old, bytes);
      if (!fresh) throw std::bad_alloc();
      T* const rows = reinterpret_cast<T*>(static_cast<char*>(fresh) + kHead);
      if (!moves) {
        new (fresh) Head();
        std::copy(begin(), end(), rows);
        release();
      }
      data_ = rows;
      head().bytes = bytes;
    }
    capacity_ = capacity;
  }
};

}  // namespace chakra
