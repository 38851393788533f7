// Json: a value of any kind, for results that programs read. Built by hand or from braces as one would write it,
// printed once. Members keep the order in which they were added.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace chakra::result {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;
  struct Item;

  Json(std::nullptr_t = nullptr);  // NOLINT: values become Json by themselves
  Json(const Json& other);         // out of line, as the rest: each source of results would make its own
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();
  Json(bool value);  // NOLINT
  template <std::integral T>
  Json(T value) : Json(Number{}, widest(value)) {}  // NOLINT
  Json(double value);                               // NOLINT: null unless finite
  Json(std::string_view text);                      // NOLINT
  Json(std::string text);                           // NOLINT
  Json(const char* text);                           // NOLINT
  Json(Array items);                                // NOLINT
  template <std::ranges::input_range Range>
  requires(!std::convertible_to<Range, std::string_view> && !std::same_as<std::remove_cvref_t<Range>, Json>)
      Json(const Range& items)
      : Json(Array(std::begin(items), std::end(items))) {}  // NOLINT
  /// {{"key", value}, ...} is an object, any other list an array.
  Json(std::initializer_list<Item> items);

  static Json array() { return Array(); }
  static Json object();
  static Json object(std::initializer_list<Item> members);

  /// The member of that name, added as null if it is missing; null becomes an object. Requires an object or null.
  /// Cost: O(members).
  Json& operator[](std::string_view key);
  /// Null becomes an array. Requires an array or null.
  void push_back(Json item);
  Json& emplace_back(Json item);
  Json& back();        ///< requires an array with items
  bool empty() const;  ///< null, or an array or object without items

  /// Indented by two, without an end of line after it. Bytes that are not UTF-8 become U+FFFD; numbers are as short as
  /// reading them back exactly allows, with a point or an exponent where they are not whole numbers by type.
  std::string text() const;

 private:
  /// A value elsewhere: it is copied with its owner.
  template <class T>
  class Box {
   public:
    explicit Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Box(const Box& other) : value_(std::make_unique<T>(*other)) {}
    Box(Box&&) noexcept = default;
    Box& operator=(Box other) noexcept {
      value_.swap(other.value_);
      return *this;
    }
    ~Box() = default;
    T& operator*() const { return *value_; }

   private:
    std::unique_ptr<T> value_;
  };
  struct Number {};
  Json(Number, int64_t value);
  Json(Number, uint64_t value);
  template <std::integral T>
  static auto widest(T value) {
    if constexpr (std::signed_integral<T>) return int64_t{value};
    else return uint64_t{value};
  }
  void print(std::string& out, size_t indent) const;

  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, Box<std::string>, Box<Array>, Box<Object>> value_;
};

/// One between braces. Lists of the language are constant; this lets the value be moved out of them.
struct Json::Item {
  template <class T>
  requires std::constructible_from<Json, T&&> Item(T&& from) : value(std::forward<T>(from)) {}  // NOLINT
  Item(std::initializer_list<Item> items) : value(items) {}                                     // NOLINT
  mutable Json value;
};

}  // namespace chakra::result
