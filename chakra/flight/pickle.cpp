// Pickles without a machine that runs them: the instructions that make plain data, each by a row of a table.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/flight/document.h"

namespace chakra::flight {
namespace {

using Kind = Value::Kind;

constexpr size_t kMostLevels = 64;
constexpr uint32_t kNothing = UINT32_MAX;

/// What an instruction does.
enum class Step : uint8_t {
  refuse,
  skip,
  stop,
  mark,
  none,
  boolean,
  unsigned_number,
  signed_number,
  long_number,
  real,
  text,
  list,
  dict,
  tuple,
  short_tuple,
  append,
  appends,
  set_item,
  set_items,
  put,
  get,
  memoize
};

struct Opcode {
  uint8_t code = 0;
  Step step = Step::refuse;
  uint8_t argument = 0;  ///< bytes that follow; of a text those of its length
  uint8_t value = 0;     ///< of a boolean; items of a short tuple
};

/// Those that c10's Pickler writes (protocol 2), and those that Python's pickle writes instead for the same values.
constexpr Opcode kOpcodes[] = {
    {0x80, Step::skip, 1},  // PROTO
    {0x95, Step::skip, 8},  // FRAME
    {'.', Step::stop},      // STOP
    {'(', Step::mark},      // MARK
    {'N', Step::none},      // NONE
    {0x88, Step::boolean, 0, 1},
    {0x89, Step::boolean, 0, 0},  // NEWTRUE, NEWFALSE
    {'K', Step::unsigned_number, 1},
    {'M', Step::unsigned_number, 2},  // BININT1, BININT2
    {'J', Step::signed_number, 4},    // BININT
    {0x8a, Step::long_number, 1},     // LONG1
    {'G', Step::real, 8},             // BINFLOAT
    {'X', Step::text, 4},
    {0x8c, Step::text, 1},  // BINUNICODE, SHORT_BINUNICODE
    {0x8d, Step::text, 8},  // BINUNICODE8
    {']', Step::list},
    {'}', Step::dict},  // EMPTY_LIST, EMPTY_DICT
    {')', Step::short_tuple, 0, 0},
    {0x85, Step::short_tuple, 0, 1},  // EMPTY_TUPLE, TUPLE1
    {0x86, Step::short_tuple, 0, 2},
    {0x87, Step::short_tuple, 0, 3},  // TUPLE2, TUPLE3
    {'t', Step::tuple},               // TUPLE
    {'a', Step::append},
    {'e', Step::appends},  // APPEND, APPENDS
    {'s', Step::set_item},
    {'u', Step::set_items},  // SETITEM, SETITEMS
    {'q', Step::put, 1},
    {'r', Step::put, 4},  // BINPUT, LONG_BINPUT
    {'h', Step::get, 1},
    {'j', Step::get, 4},    // BINGET, LONG_BINGET
    {0x94, Step::memoize},  // MEMOIZE
};
constexpr std::array<Opcode, 256> kByCode = [] {
  std::array<Opcode, 256> rows{};
  for (const Opcode& row : kOpcodes) rows[row.code] = row;
  return rows;
}();

// `flight.pickle.opcode` (1): a pickle that would import or call something, or has another instruction that a flight
// recorder does not write; no code was executed.
// `flight.pickle.damaged` (1): a truncated pickle, or one with inconsistent instructions.
class Unpickler {
 public:
  Unpickler(std::string bytes, const std::string& file) : file_(file) {
    document_.size = bytes.size();
    document_.bytes = std::move(bytes);
  }

  Result<Document> run() {
    for (;;) {
      opcode_at_ = at_;
      if (at_ == text().size()) return damaged("ends before its end mark");
      const auto code = static_cast<uint8_t>(text()[at_++]);
      const Opcode& row = kByCode[code];
      if (row.step == Step::refuse)
        return fail(
            Code::bad_input, "flight.pickle.opcode",
            fmt::format(
                "the pickle instruction 0x{:02x} does not belong in a flight recorder's dump; no code was executed",
                code),
            place());
      if (row.argument > text().size() - at_) return damaged("ends inside an instruction");
      if (row.step == Step::stop) return finish();
      if (document_.values.size() >= kMostValues)
        return fail(Code::bad_input, "flight.dump.large",
                    fmt::format("more than {} values", show_count(static_cast<int64_t>(kMostValues))), place());
      const uint64_t argument = number_at(at_, row.argument);
      at_ += row.argument;
      CHAKRA_TRY(execute(row, argument));
    }
  }

 private:
  std::string_view text() const { return document_.bytes; }
  Place place() const { return {file_, static_cast<int64_t>(opcode_at_)}; }
  Failure damaged(const char* how) const {
    return fail(Code::bad_input, "flight.pickle.damaged", fmt::format("the pickle {}", how), place());
  }

  /// Little endian, as everything but reals is.
  uint64_t number_at(size_t at, size_t bytes) const {
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; ++i) number |= uint64_t{static_cast<uint8_t>(text()[at + i])} << (8 * i);
    return number;
  }

  void push(const Value& value) {
    stack_.push_back(static_cast<uint32_t>(document_.values.size()));
    document_.values.push_back(value);
  }
  void push_list(Kind kind, size_t from) {
    const Value value{kind, static_cast<int64_t>(document_.lists.size())};
    document_.lists.emplace_back(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    push(value);
  }
  /// Where the values after the last mark begin; the mark is gone. Values before an open mark cannot be taken.
  Result<size_t> take_mark() {
    if (marks_.empty()) return damaged("has no mark where one is needed");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  /// Moves what is on the stack from `from` on into the list or dictionary below it.
  Result<void> add_items(Kind kind, size_t from) {
    if (from <= floor()) return damaged("adds to a missing value");
    const Value& into = document_.values[stack_[from - 1]];
    if (into.kind != kind || (kind == Kind::dict && (stack_.size() - from) % 2 != 0))
      return damaged("adds to a value of the wrong type");
    std::vector<uint32_t>& list = document_.lists[static_cast<size_t>(into.number)];
    list.insert(list.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return {};
  }
  Result<void> add_last(Kind kind, size_t count) {
    if (stack_.size() < floor() + count) return damaged("adds missing values");
    return add_items(kind, stack_.size() - count);
  }

  Result<void> execute(const Opcode& row, uint64_t argument) {
    switch (row.step) {
      case Step::mark:
        if (marks_.size() == kMostLevels) return damaged("is nested too deeply");
        marks_.push_back(stack_.size());
        return {};
      case Step::none: push({}); return {};
      case Step::boolean: push({Kind::boolean, row.value}); return {};
      case Step::unsigned_number: push({Kind::integer, static_cast<int64_t>(argument)}); return {};
      case Step::signed_number: push({Kind::integer, static_cast<int32_t>(argument)}); return {};
      case Step::long_number: return push_long(argument);
      case Step::real: push({Kind::real, static_cast<int64_t>(__builtin_bswap64(argument))}); return {};
      case Step::text: return push_text(argument);
      case Step::list: push_list(Kind::list, stack_.size()); return {};
      case Step::dict: push_list(Kind::dict, stack_.size()); return {};
      case Step::short_tuple:
        if (stack_.size() < floor() + row.value) return damaged("makes a tuple of missing values");
        push_list(Kind::list, stack_.size() - row.value);
        return {};
      case Step::append: return add_last(Kind::list, 1);
      case Step::set_item: return add_last(Kind::dict, 2);
      case Step::tuple:
      case Step::appends:
      case Step::set_items: return take_marked(row.step);
      case Step::put:
      case Step::get:
      case Step::memoize: return remember(row.step, argument);
      case Step::refuse:
      case Step::stop:
      case Step::skip: return {};
    }
    return {};
  }

  Result<void> take_marked(Step step) {
    CHAKRA_ASSIGN(const size_t mark, take_mark());
    if (step != Step::tuple) return add_items(step == Step::appends ? Kind::list : Kind::dict, mark);
    push_list(Kind::list, mark);
    return {};
  }

  Result<void> remember(Step step, uint64_t argument) {
    if (step == Step::get) {
      if (argument >= memo_.size() || memo_[argument] == kNothing)
        return damaged("takes a value that it did not store");
      stack_.push_back(memo_[argument]);
      return {};
    }
    if (stack_.size() <= floor()) return damaged("stores a missing value");
    if (step == Step::memoize) argument = memo_.size();
    if (argument >= kMostValues) return damaged("stores more values than a dump has");
    if (argument >= memo_.size()) memo_.resize(argument + 1, kNothing);
    memo_[argument] = stack_.back();
    return {};
  }

  /// Two's complement of up to eight bytes.
  Result<void> push_long(uint64_t bytes) {
    if (bytes > 8) return damaged("has a number of more than 64 bits");
    if (bytes > text().size() - at_) return damaged("ends inside a number");
    uint64_t number = number_at(at_, bytes);
    if (bytes > 0 && bytes < 8 && (number >> (8 * bytes - 1)) != 0) number |= ~uint64_t{0} << (8 * bytes);
    at_ += bytes;
    push({Kind::integer, static_cast<int64_t>(number)});
    return {};
  }

  Result<void> push_text(uint64_t size) {
    if (size > text().size() - at_) return damaged("ends inside a text");
    push({Kind::text, 0, text().substr(at_, size)});
    at_ += size;
    return {};
  }

  Result<Document> finish() {
    if (stack_.size() != 1 || !marks_.empty()) return damaged("does not end with one value");
    if (at_ != text().size()) return damaged("continues after its end mark");
    document_.root = stack_[0];
    return std::move(document_);
  }

  const std::string& file_;
  Document document_;
  size_t at_ = 0, opcode_at_ = 0;
  std::vector<uint32_t> stack_;  ///< into values
  std::vector<size_t> marks_;    ///< places on the stack
  std::vector<uint32_t> memo_;   ///< into values, or kNothing
};

}  // namespace

Result<Document> read_pickle(std::string bytes, const std::string& file) {
  return Unpickler(std::move(bytes), file).run();
}

}  // namespace chakra::flight
