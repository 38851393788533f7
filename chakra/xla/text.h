// The words of HLO as text. Inside the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/xla/program.h"

namespace chakra::xla {

/// Walks over text. Blanks and comments (/*index=5*/) are skipped between words.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text, size_t at = 0) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  void skip_blanks();
  /// Whether the text is at its end, behind blanks.
  bool at_end();
  bool at_line_end();
  char peek();
  bool take(char wanted);
  bool take(std::string_view wanted);
  /// A name of an instruction, a computation, a type or an attribute, without "%"; "": none.
  std::string_view name();
  bool number(int64_t& value);
  /// Skip to behind the bracket that closes the one at the cursor. Text in quotes has no brackets. False: none closes.
  bool skip_brackets();
  /// The value of an attribute: until a comma or the end of the line outside of brackets.
  std::string_view value();
  void skip_line();

 private:
  std::string_view text_;
  size_t at_;
};

/// The numbers in a text, in order: "{{0,1},{2,3}}" -> 0 1 2 3.
std::vector<int64_t> numbers_in(std::string_view text);

/// Set the detail of an instruction by an attribute. False: this version does not know the attribute.
bool read_attribute(std::string_view name, std::string_view value, Instruction& i, Program& p);

/// Text between double quotes without the quotes; with \\" and the like replaced in a copy that the program keeps.
std::string_view unquoted(std::string_view text, Program& p);

}  // namespace chakra::xla
