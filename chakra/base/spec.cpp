#include "chakra/base/spec.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "chakra/base/file.h"
#include "chakra/base/spec_json.h"
#include "chakra/base/strings.h"

namespace chakra {
namespace {

constexpr size_t kLargest = size_t{1} << 28;
constexpr size_t kLargestYaml = size_t{1} << 24;  ///< a tree takes 20 times as much memory
/// The most values and keys: 200,000 in any text, and one more per 12 bytes of the text.
constexpr size_t kManyValues = 200'000, kBytesOfValue = 12;
/// Bytes that copies for aliases and anchors may take: 64 KiB and 8 times those of the text.
constexpr size_t kMostCopied = size_t{1} << 16, kMostTimesCopied = 8;

const char* name(Spec::Kind kind) {
  switch (kind) {
    case Spec::Kind::null: return "nothing";
    case Spec::Kind::scalar: return "a value";
    case Spec::Kind::list: return "a list";
    case Spec::Kind::map: return "a map";
  }
  return "";
}

/// Null as YAML spells it, without quotes.
bool is_null(std::string_view plain) {
  return plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL";
}

/// The parser of libyaml, and the event that it is at.
class Events {
 public:
  /// Requires a text that lives as long.
  explicit Events(std::string_view text) {
    CHAKRA_ASSERT(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  bool next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) == 1;
  }
  const yaml_event_t& event() const { return event_; }
  const yaml_parser_t& parser() const { return parser_; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

std::string_view text_of(const yaml_char_t* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

/// Builds the tree of one document from the parser's events.
class SpecBuilder {
 public:
  /// Every value takes a byte of the text or more; only aliases can make a list or map hold more.
  SpecBuilder(std::shared_ptr<const std::string> file, size_t text_bytes)
      : file_(std::move(file)),
        most_values_(text_bytes + 1),
        most_added_(kManyValues + text_bytes / kBytesOfValue),
        most_copied_(kMostCopied + kMostTimesCopied * text_bytes) {
    root_.file = file_;  // of an empty text, too
  }

  Spec take() { return std::move(root_); }

  Result<void> see(const yaml_event_t& event) {
    const auto line = static_cast<int64_t>(event.start_mark.line) + 1;
    const auto& is = event.data;
    switch (event.type) {
      case YAML_SCALAR_EVENT: return scalar(line, event);
      case YAML_ALIAS_EVENT: return alias(line, text_of(is.alias.anchor));
      case YAML_SEQUENCE_START_EVENT: return open(line, Spec::Kind::list, text_of(is.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT: return open(line, Spec::Kind::map, text_of(is.mapping_start.anchor));
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: return close();
      default: return {};
    }
  }

 private:
  struct Open {
    Spec spec;
    std::string anchor;
    size_t values = 1, bytes = 0;
    std::optional<Spec> key;
    absl::flat_hash_set<std::string> keys;
  };

  Failure wrong(int64_t line, const char* tag, std::string text) const {
    return fail(Code::bad_input, tag, std::move(text), {*file_, -1, line});
  }

  Spec make(int64_t line, Spec::Kind kind) const {
    Spec spec;
    spec.kind = kind;
    spec.file = file_;
    spec.line = line;
    return spec;
  }

  Result<void> scalar(int64_t line, const yaml_event_t& event) {
    const auto& is = event.data.scalar;
    const std::string_view value(reinterpret_cast<const char*>(is.value), is.length);
    const bool plain = is.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && is.plain_implicit && is_null(value)) return add(make(line, Spec::Kind::null), 1, text_of(is.anchor));
    Spec spec = make(line, Spec::Kind::scalar);
    spec.scalar = value;
    spec.was_quoted = !plain;
    return add(std::move(spec), 1, text_of(is.anchor), value.size());
  }

  Result<void> alias(int64_t line, std::string_view anchor) {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      return wrong(line, "base.spec.syntax",
                   fmt::format("the alias {} is unknown or refers to a value that contains the alias", quote(anchor)));
    const Anchored& anchored = found->second;
    CHAKRA_TRY(copy(line, anchored.values + anchored.bytes));
    Spec spec = anchored.spec;
    spec.line = line;
    return add(std::move(spec), anchored.values, {}, anchored.bytes);
  }

  Result<void> open(int64_t line, Spec::Kind kind, std::string_view anchor) {
    if (open_.size() >= kDeepestSpec) return wrong(line, "base.spec.syntax", "it is nested too deeply");
    if (const auto old = anchors_.find(anchor); old != anchors_.end())
      anchors_.erase(old);  // what has this name from here on is not yet complete
    open_.push_back({make(line, kind), std::string(anchor), 1, 0, {}, {}});
    return {};
  }
  Result<void> close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done.spec), done.values, done.anchor, done.bytes);
  }

  Result<void> copy(int64_t line, size_t bytes) {
    copied_ += bytes;
    if (copied_ > most_copied_) return wrong(line, "base.spec.syntax", "aliases make the file larger than its text");
    return {};
  }

  /// A value is complete, with all in it; `bytes`: of its texts.
  Result<void> add(Spec value, size_t values, std::string_view anchor, size_t bytes = 0) {
    const int64_t line = value.line;
    if (++added_ > most_added_) return wrong(line, "base.spec.large", "too many values for YAML; write them as JSON");
    if (!anchor.empty()) {
      CHAKRA_TRY(copy(line, values + bytes));
      anchors_.insert_or_assign(std::string(anchor), Anchored{value, values, bytes});
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return {};
    }
    Open& in = open_.back();
    in.values += values;
    in.bytes += bytes;
    if (in.values > most_values_) return wrong(line, "base.spec.syntax", "aliases make the file larger than its text");
    if (in.spec.kind == Spec::Kind::list) {
      in.spec.items.push_back(std::move(value));
    } else if (!in.key) {
      if (value.kind != Spec::Kind::scalar) return wrong(line, "base.spec.syntax", "a key is not a plain value");
      if (value.scalar == "<<" && !value.was_quoted)
        return wrong(line, "base.spec.syntax", "merge keys ('<<') are not supported: write the keys out");
      if (!in.keys.insert(value.scalar).second)
        return wrong(line, "base.spec.duplicate_key", fmt::format("duplicate key {}", quote(value.scalar)));
      in.key = std::move(value);
    } else {
      value.line = in.key->line;
      in.spec.fields.push_back({std::move(in.key->scalar), std::move(value)});
      in.key.reset();
    }
    return {};
  }

  struct Anchored {
    Spec spec;
    size_t values = 0, bytes = 0;
  };

  std::shared_ptr<const std::string> file_;
  size_t most_values_, most_added_, most_copied_;
  size_t added_ = 0, copied_ = 0;
  std::vector<Open> open_;
  std::map<std::string, Anchored, std::less<>> anchors_;
  Spec root_;
};

/// Tabs may indent JSON but not YAML; outside of strings a blank means the same.
std::string without_tabs(std::string_view text) {
  std::string out(text);
  bool in_string = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (in_string && out[i] == '\\') ++i;
    else if (out[i] == '"') in_string = !in_string;
    else if (out[i] == '\t' && !in_string) out[i] = ' ';
  }
  return out;
}

}  // namespace

const Spec* Spec::find(std::string_view key) const {
  for (const auto& [name, value] : fields)
    if (name == key) return &value;
  return nullptr;
}

Place Spec::place() const { return {file ? *file : std::string(), -1, line}; }

Failure Spec::error(std::string tag, std::string text) const {
  return fail(Code::bad_input, std::move(tag), std::move(text), place());
}

namespace {

Failure wrong_type(const Spec& spec, std::string_view wanted) {
  const std::string got = spec.kind == Spec::Kind::scalar ? quote(spec.scalar) : std::string(name(spec.kind));
  return spec.error("base.spec.type", fmt::format("expected {}, got {}", wanted, got));
}

}  // namespace

Result<double> Spec::number() const {
  double value = 0;
  if (kind != Kind::scalar || !parse_decimal(scalar, value)) return wrong_type(*this, "a decimal number");
  return value;
}

Result<int64_t> Spec::integer() const {
  int64_t value = 0;
  if (kind == Kind::scalar && parse_decimal(scalar, value)) return value;
  if (auto real = number(); real && std::abs(*real) < 9e15 && *real == std::floor(*real))
    return static_cast<int64_t>(*real);  // 8.0
  return wrong_type(*this, "a decimal whole number");
}

Result<int64_t> Spec::integer(std::string_view key, int64_t least, int64_t most, std::string tag) const {
  CHAKRA_ASSIGN(const int64_t value, integer());
  if (value < least) return error(std::move(tag), fmt::format("{} is {}, below {}", quote(key), value, least));
  if (value > most) return error(std::move(tag), fmt::format("{} is {}, above {}", quote(key), value, most));
  return value;
}

Result<bool> Spec::boolean() const {
  if (kind == Kind::scalar && (scalar == "true" || scalar == "True" || scalar == "1")) return true;
  if (kind == Kind::scalar && (scalar == "false" || scalar == "False" || scalar == "0")) return false;
  return wrong_type(*this, "true or false");
}

Result<std::string> Spec::string() const {
  if (kind != Kind::scalar) return wrong_type(*this, "a text");
  return scalar;
}

namespace {

/// What the parser stopped at.
Error syntax_error(const yaml_parser_t& parser, std::string_view text, const std::string& file) {
  int64_t line = static_cast<int64_t>(parser.problem_mark.line) + 1;
  if (parser.error == YAML_READER_ERROR)
    line = 1 + std::count(text.begin(),
                          text.begin() + static_cast<int64_t>(std::min(parser.problem_offset, text.size())), '\n');
  std::string why = parser.problem ? parser.problem : "it is not YAML";
  if (parser.context) why += fmt::format(", {}", parser.context);
  return {Code::bad_input, "base.spec.syntax", why, {file, -1, line}};
}

Result<SpecWithTables> parse(std::string_view text, std::string file, std::string_view kept) {
  auto shared = std::make_shared<const std::string>(std::move(file));
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool flow = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  if (flow) {
    CHAKRA_ASSIGN(std::optional<SpecWithTables> json, parse_json_tables(text, shared, kept));
    if (json) return std::move(*json);
  }
  if (text.size() > kLargestYaml)
    return fail(Code::bad_input, "base.spec.large", "YAML of more than 16 MiB; write it as JSON", {*shared});
  const std::string spaced = flow ? without_tabs(text) : std::string();
  if (flow) text = spaced;
  Events events(text);
  SpecBuilder builder(shared, text.size());
  size_t documents = 0;
  while (events.next()) {
    const yaml_event_t& event = events.event();
    if (event.type == YAML_STREAM_END_EVENT) return SpecWithTables{builder.take(), {}, {}};
    if (event.type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
      return fail(Code::bad_input, "base.spec.syntax", "unexpected text after the end of the document",
                  {*shared, -1, static_cast<int64_t>(event.start_mark.line) + 1});
    CHAKRA_TRY(builder.see(event));
  }
  return Failure(syntax_error(events.parser(), text, *shared));
}

}  // namespace

Result<Spec> parse_spec(std::string_view text, std::string file) {
  CHAKRA_ASSIGN(SpecWithTables parsed, parse(text, std::move(file), ""));
  return std::move(parsed.spec);
}

Result<Spec> load_spec(const std::string& path) {
  CHAKRA_ASSIGN(SpecWithTables parsed, load_spec_tables(path, ""));
  return std::move(parsed.spec);
}

Result<SpecWithTables> load_spec_tables(const std::string& path, std::string_view kept) {
  CHAKRA_ASSIGN(std::string read, read_file(path, kLargest));
  const auto text = std::make_shared<const std::string>(std::move(read));
  CHAKRA_ASSIGN(SpecWithTables parsed, parse(*text, path, kept));
  parsed.text = text;
  return parsed;
}

}  // namespace chakra
