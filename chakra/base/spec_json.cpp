#include "chakra/base/spec_json.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "chakra/base/number_rows.h"
#include "chakra/base/strings.h"

namespace chakra {
namespace {

constexpr size_t kManyJsonValues = 400'000, kBytesOfJsonValue = 4;

/// What is part of numbers and names: most of a large file, and of no interest where only its form is looked at.
constexpr std::array<bool, 256> kInWords = [] {
  std::array<bool, 256> in{};
  for (const char c : std::string_view("0123456789.+-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))
    in[static_cast<unsigned char>(c)] = true;
  return in;
}();
size_t behind_word(std::string_view text, size_t at) {
  while (at < text.size() && kInWords[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

size_t most_values(std::string_view text) { return std::max(kManyJsonValues, text.size() / kBytesOfJsonValue); }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kFirst[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
}

class JsonSpec {
 public:
  JsonSpec(std::string_view text, const std::shared_ptr<const std::string>& file, std::string_view kept)
      : text_(text), file_(file), kept_(kept) {}

  /// Finds all lists and maps. False where brackets do not fit.
  bool count() {
    std::vector<size_t> open;
    bool empty = true;       // behind an opening bracket
    size_t checksum_at = 0;  // where the name of the one ends that the next table has; 0: none
    for (size_t i = 0; i < text_.size(); ++i) {
      if (const size_t behind = behind_word(text_, i); behind > i) {
        empty = false;
        if (behind == text_.size()) break;
        i = behind;
      }
      const char c = text_[i];
      if (is_json_blank(c)) continue;
      if (c == ']' || c == '}') {
        if (open.empty()) return false;
        if (!empty) ++lists_[open.back()].values;
        open.pop_back();
        empty = false;
        continue;
      }
      if (c == ',' && !open.empty()) ++lists_[open.back()].values, ++values_;
      empty = false;
      if (c == '"') {
        const size_t first = i + 1;
        for (++i; i < text_.size() && text_[i] != '"'; ++i) i += text_[i] == '\\';
        if (kept_.empty() || i >= text_.size()) continue;
        const std::string_view name = text_.substr(first, i - first);
        if (name == "checksum") checksum_at = i;
        if (name == kept_) i = keep_table(i, std::exchange(checksum_at, 0));
      } else if (c == '[' || c == '{') {
        if (open.size() == kDeepestSpec) return false;
        open.push_back(lists_.size());
        lists_.emplace_back();
        ++values_;
        empty = true;
      }
    }
    return open.empty();
  }
  size_t values() const { return values_; }
  std::vector<NumberTable> take_tables() { return std::move(tables_); }

  std::optional<Spec> parse() {
    Spec root;
    if (!value(root)) return std::nullopt;
    while (!open_.empty())
      if (!step()) return std::nullopt;
    if (peek() != '\0' || at_ < text_.size()) return std::nullopt;
    return root;
  }

 private:
  struct Brackets {
    uint32_t values = 0;
  };
  /// Of a table in the text.
  struct Place {
    size_t table, end;  ///< in tables_, in the text
    int64_t lines;
  };
  struct Open {
    Spec* spec;
    absl::flat_hash_set<std::string_view> keys = {};
  };

  /// The next byte that is not blank; 0 at the end.
  char peek() {
    for (; at_ < text_.size() && is_json_blank(text_[at_]); ++at_) line_ += text_[at_] == '\n';
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  /// One more value of the list or map that is open, or its end.
  bool step() {
    Spec& in = *open_.back().spec;
    const bool list = in.kind == Spec::Kind::list;
    const bool any = list ? !in.items.empty() : !in.fields.empty();
    if (take(list ? ']' : '}')) {
      open_.pop_back();
      return true;
    }
    if (any && !take(',')) return false;
    if (list) return value(in.items.emplace_back());
    std::string key;
    (void)peek();
    const int64_t line = line_;
    if (!string(key) || !take(':')) return false;
    SpecField& field = in.fields.emplace_back(SpecField{std::move(key), {}});
    if (!open_.back().keys.insert(field.key).second) return false;
    const bool keep = !kept_.empty() && field.key == kept_ && peek() == '[' && places_.contains(at_);
    if (!(keep ? take_table(field.value) : value(field.value))) return false;
    field.value.line = line;
    return true;
  }

  bool value(Spec& spec) {
    const char c = peek();
    spec.file = file_;
    spec.line = line_;
    if (c == '[' || c == '{') {
      if (next_ == lists_.size()) return false;
      ++at_;
      const size_t inside = lists_[next_++].values;
      spec.kind = c == '[' ? Spec::Kind::list : Spec::Kind::map;
      open_.push_back({&spec});
      if (c == '[') {
        spec.items.reserve(inside);
      } else {
        spec.fields.reserve(inside);
        open_.back().keys.reserve(inside);
      }
      return true;
    }
    spec.kind = Spec::Kind::scalar;
    if (c == '"') {
      spec.was_quoted = true;
      return string(spec.scalar);
    }
    const size_t end = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    if (word == "null") {
      spec.kind = Spec::Kind::null;
      return true;
    }
    spec.scalar = word;
    return is_json_number(word);
  }

  /// Behind the key at whose last byte count() is: a table, or nothing. Where it is, then.
  size_t keep_table(size_t at, size_t checksum_at) {
    size_t begin = at + 1;
    const auto blanks = [&] {
      while (begin < text_.size() && is_json_blank(text_[begin])) ++begin;
    };
    blanks();
    if (begin >= text_.size() || text_[begin] != ':') return at;
    ++begin;
    blanks();
    if (const RowsText rows = checked_table(begin, checksum_at); rows.end != std::string_view::npos) {
      places_[begin] = {tables_.size(), rows.end, rows.lines};
      const std::string_view text = text_.substr(begin, rows.end - begin), row = text.substr(0, text.find(']'));
      tables_.push_back({static_cast<size_t>(std::count(row.begin(), row.end(), ',')) + 1, {}, text});
      return rows.end - 1;
    }
    std::optional<NumberRows> rows = read_rows(text_, begin, most_values(text_), cells_);
    if (!rows) return at;
    values_ += rows->table.cells.size();
    places_[begin] = {tables_.size(), rows->end, rows->lines};
    tables_.push_back(std::move(rows->table));
    return rows->end - 1;
  }
  /// A table whose checksum is right; no end where there is none.
  RowsText checked_table(size_t begin, size_t at) const {
    if (at == 0) return {};
    const RowsText rows = find_rows(text_, begin);
    const std::string_view said = text_.substr(at + 1, text_.find_first_of(",}", at) - at - 1);
    if (rows.end == std::string_view::npos || said.find('"') == std::string_view::npos) return {};
    const std::string checksum = text_checksum(text_.substr(begin, rows.end - begin));
    return said.substr(said.find('"')) == fmt::format("\"{}\"", checksum) ? rows : RowsText{};
  }
  bool take_table(Spec& spec) {
    const Place& place = places_.at(at_);
    spec.kind = Spec::Kind::list;
    spec.file = file_;
    spec.scalar = std::to_string(place.table);
    line_ += place.lines;
    at_ = place.end;
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') {
        if (!escape(out)) return false;
        continue;
      }
      const size_t length = utf8_length(text_, at_);
      if (length == 0) return false;
      out += text_.substr(at_, length);
      at_ += length;
    }
    return false;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kBytes = "\"\\/\b\f\n\r\t";
    const char name = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (const size_t found = kNames.find(name); name != '\0' && found != std::string_view::npos) {
      out += kBytes[found];
      at_ += 2;
      return true;
    }
    uint32_t code = 0, low = 0;
    if (!unit(code)) return false;
    if (code >= 0xd800 && code < 0xe000) {  // two units are one character
      if (code >= 0xdc00 || !unit(low) || low < 0xdc00 || low >= 0xe000) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
    return true;
  }
  /// \uXXXX
  bool unit(uint32_t& code) {
    const std::string_view digits = text_.substr(std::min(at_ + 2, text_.size()), 4);
    if (text_.substr(at_, 2) != "\\u" || digits.size() < 4) return false;
    code = 0;
    for (const char c : digits) {
      const char low = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
      const size_t digit = std::string_view("0123456789abcdef").find(low);
      if (digit == std::string_view::npos) return false;
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    at_ += 6;
    return true;
  }

  std::string_view text_;
  const std::shared_ptr<const std::string>& file_;
  std::string_view kept_;
  std::vector<Brackets> lists_;      ///< and maps, in the order in which they open
  std::vector<NumberTable> tables_;  ///< their brackets are not among the lists
  std::vector<double> cells_;        ///< room for the one that is read
  std::map<size_t, Place> places_;   ///< by where one begins
  size_t values_ = 0, next_ = 0, at_ = 0;
  int64_t line_ = 1;
  std::vector<Open> open_;
};

}  // namespace

Result<std::optional<SpecWithTables>> parse_json_tables(std::string_view text,
                                                        const std::shared_ptr<const std::string>& file,
                                                        std::string_view kept) {
  JsonSpec json(text, file, kept);
  if (!json.count()) return std::nullopt;
  if (json.values() > most_values(text))
    return fail(Code::bad_input, "base.spec.large",
                fmt::format("{} values are more than a configuration of {} bytes may have", json.values(), text.size()),
                {*file});
  std::optional<Spec> spec = json.parse();
  if (!spec) return std::nullopt;
  return SpecWithTables{std::move(*spec), json.take_tables(), {}};
}

Result<std::optional<Spec>> parse_json_spec(std::string_view text, const std::shared_ptr<const std::string>& file) {
  CHAKRA_ASSIGN(std::optional<SpecWithTables> parsed, parse_json_tables(text, file, ""));
  return parsed ? std::optional(std::move(parsed->spec)) : std::nullopt;
}

NumberTable* SpecWithTables::table_of(const Spec& list) {
  size_t at = 0;
  const bool is = list.kind == Spec::Kind::list && parse_decimal(list.scalar, at);
  return is ? &tables[at] : nullptr;
}

}  // namespace chakra
