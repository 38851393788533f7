// The strings and numbers of a JSON text, without its structure: a damaged or a truncated text also has secrets.
#include <string>

#include "chakra/recording/secrets.h"

namespace chakra::recording {
namespace {

constexpr size_t kLongest = size_t{1} << 16;  ///< longer texts are added in pieces

class Texts {
 public:
  explicit Texts(Secrets& found) : found_(found) {}

  void take(char c) {
    switch (state_) {
      case State::outside: return outside(c);
      case State::text: return inside(c);
      case State::escaped: return escaped(c);
      case State::code: return code(c);
      case State::number: {
        if ((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-') return append(c);
        end_number();
        return outside(c);
      }
    }
  }
  void end() {
    if (state_ == State::number) end_number();
    else if (state_ != State::outside) has_text_ = true;  // the file ends inside of a string
    end_value();
  }

 private:
  enum class State : uint8_t { outside, text, escaped, code, number };

  void outside(char c) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return;
    if (has_text_) {
      if (c == ':') return end_member();
      end_value();
    }
    if (c == '"') state_ = State::text;
    else if ((c >= '0' && c <= '9') || c == '-') state_ = State::number, append(c);
    else if (c == '{' || c == '}' || c == ',') member_.clear();
  }
  void inside(char c) {
    if (c == '"') state_ = State::outside, has_text_ = true;
    else if (c == '\\') state_ = State::escaped;
    else append(c);
  }
  void escaped(char c) {
    state_ = State::text;
    if (c == 'u') state_ = State::code, code_ = 0, digits_ = 0;
    else append(c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f' ? ' ' : c);
  }
  /// \u002f: characters of ASCII count, others stand for a letter.
  void code(char c) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return state_ = State::text, inside(c);
    code_ = code_ * 16 + digit;
    if (++digits_ < 4) return;
    state_ = State::text;
    append(code_ < 0x80 ? static_cast<char>(code_) : '\xff');
  }
  void append(char c) {
    text_ += c;
    if (text_.size() < kLongest) return;
    found_.add(member(), text_);
    text_.clear();
  }

  /// In {"name": "host", "value": "n1"} the member of "n1" is "host".
  std::string_view member() const { return member_ == "value" || member_ == "stringVal" ? name_ : member_; }
  void end_member() {
    found_.add_member(text_);
    member_ = std::move(text_);
    forget();
  }
  void end_value() {
    if (has_text_) found_.add(member(), text_);
    if (has_text_ && member_ == "name") name_ = text_;
    forget();
  }
  void end_number() {
    found_.add_number(member_ == "int64Val" || member_ == "uint64Val" ? std::string_view(name_) : member(), text_);
    state_ = State::outside;
    forget();
  }
  void forget() {
    text_.clear();
    has_text_ = false;
  }

  Secrets& found_;
  State state_ = State::outside;
  bool has_text_ = false;  ///< a string has ended: a colon shows that it is the name of a member
  int code_ = 0, digits_ = 0;
  std::string text_, member_, name_;
};

}  // namespace

Result<void> find_secrets_in_json(ByteSource source, Secrets& found) {
  Texts texts(found);
  std::string block(size_t{1} << 16, 0);
  for (;;) {
    CHAKRA_ASSIGN(const size_t got, source.read(block));
    for (size_t i = 0; i < got; ++i) texts.take(block[i]);
    if (got < block.size()) break;
  }
  texts.end();
  return {};
}

}  // namespace chakra::recording
