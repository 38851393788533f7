#include "chakra/view/template.h"

#include "chakra/base/base.h"

namespace chakra::view {
namespace {

class Filler {
 public:
  using Value = std::function<std::optional<std::string>(std::string_view)>;
  Filler(std::string_view text, const Value& value) : text_(text), value_(value) {}

  /// Up to the end of this part: of the text, or the "|" or "]" of an alternative.
  std::optional<std::string> part(bool inside) {
    std::string out;
    bool all = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (inside && (c == '|' || c == ']')) break;
      ++at_;
      if (c == '[') {
        const bool needed = at_ < text_.size() && text_[at_] == '!';
        at_ += needed;
        const std::optional<std::string> chosen = alternatives();
        all = all && (chosen || !needed);
        out += chosen.value_or("");
      } else if (c == '{') {
        const size_t end = text_.find('}', at_);
        CHAKRA_ASSERT(end != std::string_view::npos);
        const std::optional<std::string> value = value_(text_.substr(at_, end - at_));
        at_ = end + 1;
        all = all && value;
        if (value) out += *value;
      } else {
        out += c;
      }
    }
    return all ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  /// The first that has all it needs.
  std::optional<std::string> alternatives() {
    std::optional<std::string> chosen;
    while (true) {
      std::optional<std::string> each = part(true);
      if (!chosen) chosen = std::move(each);
      CHAKRA_ASSERT(at_ < text_.size());
      if (text_[at_++] == ']') return chosen;
    }
  }

  std::string_view text_;
  const Value& value_;
  size_t at_ = 0;
};

/// The text before the mark; `text` becomes the text after it. Nothing where there is no mark.
std::optional<std::string_view> before_mark(std::string_view& text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(at + mark.size());
  return first;
}

bool take_mark(std::string_view& text, char mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<std::string> filled(std::string_view text, const Filler::Value& value) {
  return Filler(text, value).part(false);
}

Reference reference_of(std::string_view text) {
  Reference of;
  of.asks = take_mark(text, '?');
  of.counts = take_mark(text, '#');
  of.sign = take_mark(text, '+');
  of.key = text;
  if (const auto key = of.asks ? before_mark(text, "=") : std::nullopt) {
    of.key = *key;
    of.equals = text;
  } else if (const auto column = before_mark(text, "..")) {
    of.key = *column;
    of.range = true;
  } else if (const auto listed = before_mark(text, "*")) {
    of.key = *listed;
    of.with = text;
    of.list = true;
  } else if (const auto part = before_mark(text, "/")) {
    of.key = *part;
    of.below = text;
  }
  return of;
}

}  // namespace chakra::view
