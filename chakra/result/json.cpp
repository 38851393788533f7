#include "chakra/result/json.h"

#include <algorithm>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"

namespace chakra::result {
namespace {

/// Between brackets, an item a line.
template <class Items, class Print>
void print_items(std::string& out, const Items& items, const char* brackets, size_t indent, const Print& print) {
  out += brackets[0];
  for (const auto& item : items) {
    out += &item == &items.front() ? "\n" : ",\n";
    out.append(indent + 2, ' ');
    print(item);
  }
  if (!items.empty()) (out += '\n').append(indent, ' ');
  out += brackets[1];
}

}  // namespace

Json::Json(std::nullptr_t) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(Json other) noexcept {
  value_.swap(other.value_);
  return *this;
}
Json::~Json() = default;
Json::Json(bool value) : value_(value) {}
Json::Json(Number, int64_t value) : value_(value) {}
Json::Json(Number, uint64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(std::string_view text) : value_(Box<std::string>(std::string(text))) {}
Json::Json(std::string text) : value_(Box<std::string>(std::move(text))) {}
Json::Json(const char* text) : Json(std::string_view(text)) {}
Json::Json(Array items) : value_(Box<Array>(std::move(items))) {}

Json::Json(std::initializer_list<Item> items) {
  const auto is_member = [](const Item& item) {
    const auto* pair = std::get_if<Box<Array>>(&item.value.value_);
    return pair && (**pair).size() == 2 && std::holds_alternative<Box<std::string>>((**pair)[0].value_);
  };
  if (std::all_of(items.begin(), items.end(), is_member)) {
    *this = object(items);
    return;
  }
  Array list;
  list.reserve(items.size());
  for (const Item& item : items) list.push_back(std::move(item.value));
  value_ = Box<Array>(std::move(list));
}

Json Json::object() {
  Json json;
  json.value_ = Box<Object>(Object());
  return json;
}

Json Json::object(std::initializer_list<Item> members) {
  Object object;
  object.reserve(members.size());
  for (const Item& member : members) {
    Array& pair = *std::get<Box<Array>>(member.value.value_);
    object.emplace_back(std::move(*std::get<Box<std::string>>(pair[0].value_)), std::move(pair[1]));
  }
  Json json;
  json.value_ = Box<Object>(std::move(object));
  return json;
}

Json& Json::operator[](std::string_view key) {
  if (std::holds_alternative<std::nullptr_t>(value_)) *this = object();
  CHAKRA_ASSERT(std::holds_alternative<Box<Object>>(value_));
  Object& members = *std::get<Box<Object>>(value_);
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
  return found != members.end() ? found->second : members.emplace_back(std::string(key), nullptr).second;
}

void Json::push_back(Json item) { emplace_back(std::move(item)); }

Json& Json::emplace_back(Json item) {
  if (std::holds_alternative<std::nullptr_t>(value_)) *this = array();
  CHAKRA_ASSERT(std::holds_alternative<Box<Array>>(value_));
  return (*std::get<Box<Array>>(value_)).emplace_back(std::move(item));
}

Json& Json::back() {
  CHAKRA_ASSERT(std::holds_alternative<Box<Array>>(value_) && !empty());
  return (*std::get<Box<Array>>(value_)).back();
}

bool Json::empty() const {
  if (const auto* items = std::get_if<Box<Array>>(&value_)) return (**items).empty();
  if (const auto* members = std::get_if<Box<Object>>(&value_)) return (**members).empty();
  return std::holds_alternative<std::nullptr_t>(value_);
}

std::string Json::text() const {
  std::string out;
  print(out, 0);
  return out;
}

void Json::print(std::string& out, size_t indent) const {
  std::visit(
      [&](const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>) out += "null";
        else if constexpr (std::is_same_v<T, bool>) out += value ? "true" : "false";
        else if constexpr (std::is_same_v<T, double>) answer::append_real(out, value);
        else if constexpr (std::is_integral_v<T>) out += std::to_string(value);
        else if constexpr (std::is_same_v<T, Box<std::string>>) answer::append_text(out, *value);
        else if constexpr (std::is_same_v<T, Box<Array>>)
          print_items(out, *value, "[]", indent, [&](const Json& item) { item.print(out, indent + 2); });
        else
          print_items(out, *value, "{}", indent, [&](const Object::value_type& member) {
            answer::append_text(out, member.first);
            out += ": ";
            member.second.print(out, indent + 2);
          });
      },
      value_);
}

}  // namespace chakra::result
