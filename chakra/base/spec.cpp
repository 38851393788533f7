#include "chakra/base/spec.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "chakra/base/file.h"
#include "chakra/base/spec_json.h"
#include "chakra/base/strings.h"

namespace chakra {
namespace {

constexpr size_t kLargest = size_t{1} << 28;
constexpr size_t kLargestYaml = size_t{1} << 24;  ///< its parser takes its time
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

/// Builds the tree from the parser's events. An error leaves it as an exception, which goes no
/// further than parse_spec.
class SpecBuilder : public YAML::EventHandler {
 public:
  struct Stop {
    Error error;
  };

  /// Every value takes a byte of the text or more; only aliases can make a list or map hold more.
  SpecBuilder(std::shared_ptr<const std::string> file, size_t text_bytes)
      : file_(std::move(file)),
        most_values_(text_bytes + 1),
        most_added_(kManyValues + text_bytes / kBytesOfValue),
        most_copied_(kMostCopied + kMostTimesCopied * text_bytes) {}

  Spec take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(make(mark, Spec::Kind::null), 1, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Spec spec = make(mark, Spec::Kind::scalar);
    spec.scalar = value;
    spec.was_quoted = tag == "!";
    add(std::move(spec), 1, anchor, value.size());
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(mark.line, "base.spec.syntax", "an alias stands for what it is a part of");
    const Anchored& anchored = found->second;
    copy(mark.line, anchored.values + anchored.bytes);
    Spec spec = anchored.spec;
    spec.line = mark.line + 1;
    add(std::move(spec), anchored.values, 0, anchored.bytes);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(mark, Spec::Kind::list), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(mark, Spec::Kind::map), anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Spec spec;
    YAML::anchor_t anchor = 0;
    size_t values = 1, bytes = 0;
    std::optional<Spec> key;
    absl::flat_hash_set<std::string> keys;
  };

  [[noreturn]] void stop(int line, const char* tag, std::string text) const {
    throw Stop{{Code::bad_input, tag, std::move(text), {*file_, -1, line + 1}}};
  }

  Spec make(const YAML::Mark& mark, Spec::Kind kind) const {
    Spec spec;
    spec.kind = kind;
    spec.file = file_;
    spec.line = mark.line + 1;
    return spec;
  }

  void open(Spec spec, YAML::anchor_t anchor) {
    if (open_.size() >= kDeepestSpec)
      stop(static_cast<int>(spec.line) - 1, "base.spec.syntax", "it is nested too deeply");
    open_.push_back({std::move(spec), anchor, 1, 0, {}, {}});
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.spec), done.values, done.anchor, done.bytes);
  }

  void copy(int line, size_t bytes) {
    copied_ += bytes;
    if (copied_ > most_copied_) stop(line, "base.spec.syntax", "aliases make the file larger than its text");
  }

  /// A value is complete, with all in it; `bytes`: of its texts.
  void add(Spec value, size_t values, YAML::anchor_t anchor, size_t bytes = 0) {
    const auto line = static_cast<int>(value.line) - 1;
    if (++added_ > most_added_) stop(line, "base.spec.large", "too many values for YAML; write them as JSON");
    if (anchor != 0) {
      copy(line, values + bytes);
      anchors_[anchor] = {value, values, bytes};
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& in = open_.back();
    in.values += values;
    in.bytes += bytes;
    if (in.values > most_values_) stop(line, "base.spec.syntax", "aliases make the file larger than its text");
    if (in.spec.kind == Spec::Kind::list) {
      in.spec.items.push_back(std::move(value));
    } else if (!in.key) {
      if (value.kind != Spec::Kind::scalar) stop(line, "base.spec.syntax", "a key is not a plain value");
      if (!in.keys.insert(value.scalar).second)
        stop(line, "base.spec.duplicate_key", fmt::format("duplicate key {}", quote(value.scalar)));
      in.key = std::move(value);
    } else {
      value.line = in.key->line;
      in.spec.fields.push_back({std::move(in.key->scalar), std::move(value)});
      in.key.reset();
    }
  }

  struct Anchored {
    Spec spec;
    size_t values = 0, bytes = 0;
  };

  std::shared_ptr<const std::string> file_;
  size_t most_values_, most_added_, most_copied_;
  size_t added_ = 0, copied_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
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

tl::unexpected<Error> Spec::error(std::string tag, std::string text) const {
  return fail(Code::bad_input, std::move(tag), std::move(text), place());
}

namespace {

tl::unexpected<Error> wrong_type(const Spec& spec, std::string_view wanted) {
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
  if (too_many_in_brackets(text))
    return fail(Code::bad_input, "base.spec.large",
                "more than 200,000 values in brackets, and not whole as JSON; write them as JSON, or one a line",
                {*shared});
  try {
    std::istringstream input(flow ? without_tabs(text) : std::string(text));
    YAML::Parser parser(input);
    SpecBuilder builder(shared, text.size()), nothing(shared, text.size());
    (void)parser.HandleNextDocument(builder);
    if (parser.HandleNextDocument(nothing))
      return fail(Code::bad_input, "base.spec.syntax", "there is more behind the end of the document", {*shared});
    return SpecWithTables{builder.take(), {}};
  } catch (const SpecBuilder::Stop& stop) {
    return tl::unexpected<Error>(stop.error);
  } catch (const YAML::Exception& error) {
    return fail(Code::bad_input, "base.spec.syntax", error.msg, {*shared, -1, error.mark.line + 1});
  }
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
  CHAKRA_ASSIGN(const std::string text, read_file(path, kLargest));
  return parse(text, path, kept);
}

}  // namespace chakra
