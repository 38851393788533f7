#include "chakra/base/spec.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>

#include "chakra/base/file.h"
#include "chakra/base/strings.h"

namespace chakra {
namespace {

constexpr size_t kLargest = size_t{1} << 28;
constexpr int kDeepest = 100;

const char* name(Spec::Kind kind) {
  switch (kind) {
    case Spec::Kind::null: return "nothing";
    case Spec::Kind::scalar: return "a value";
    case Spec::Kind::list: return "a list";
    case Spec::Kind::map: return "a map";
  }
  return "";
}

/// Aliases can make a file larger than its text, or endless.
struct Budget {
  size_t nodes;  ///< each takes at least a byte of the text unless it is an alias
  int depth = 0;
};

Result<Spec> convert(const YAML::Node& from, const std::shared_ptr<const std::string>& file, Budget& budget) {
  if (budget.depth >= kDeepest || budget.nodes == 0)
    return fail(Code::bad_input, "base.spec.syntax",
                budget.nodes == 0 ? "aliases make the file larger than its text" : "it is nested too deeply",
                {*file, -1, from.Mark().line + 1});
  --budget.nodes;
  ++budget.depth;
  Spec to;
  to.file = file;
  to.line = from.Mark().line + 1;
  switch (from.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null: break;
    case YAML::NodeType::Scalar:
      to.kind = Spec::Kind::scalar;
      to.scalar = from.Scalar();
      to.was_quoted = from.Tag() == "!";
      break;
    case YAML::NodeType::Sequence:
      to.kind = Spec::Kind::list;
      to.items.reserve(from.size());
      for (const YAML::Node& item : from) {
        CHAKRA_ASSIGN(Spec child, convert(item, file, budget));
        to.items.push_back(std::move(child));
      }
      break;
    case YAML::NodeType::Map: {
      to.kind = Spec::Kind::map;
      absl::flat_hash_set<std::string> keys;
      for (const auto& field : from) {
        const int64_t line = field.first.Mark().line + 1;
        if (!field.first.IsScalar())
          return fail(Code::bad_input, "base.spec.syntax", "a key is not a plain value", {*file, -1, line});
        if (!keys.insert(field.first.Scalar()).second)
          return fail(Code::bad_input, "base.spec.duplicate_key",
                      fmt::format("the key {} is there twice", quote(field.first.Scalar())), {*file, -1, line});
        CHAKRA_ASSIGN(Spec child, convert(field.second, file, budget));
        child.line = line;
        to.fields.push_back({field.first.Scalar(), std::move(child)});
      }
      break;
    }
  }
  --budget.depth;
  return to;
}

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
  const char* end = scalar.data() + scalar.size();
  const auto [stop, error] = std::from_chars(scalar.data(), end, value);
  if (kind != Kind::scalar || error != std::errc() || stop != end || !std::isfinite(value))
    return wrong_type(*this, "a number");
  return value;
}

Result<int64_t> Spec::integer() const {
  int64_t value = 0;
  if (kind == Kind::scalar && parse_integer(scalar, value)) return value;
  if (auto real = number(); real && std::abs(*real) < 9e15 && *real == std::floor(*real))
    return static_cast<int64_t>(*real);  // 8.0
  return wrong_type(*this, "a whole number");
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

Result<Spec> parse_spec(std::string_view text, std::string file) {
  auto shared = std::make_shared<const std::string>(std::move(file));
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool flow = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(flow ? without_tabs(text) : std::string(text));
    if (documents.size() > 1)
      return fail(Code::bad_input, "base.spec.syntax", "there is more behind the end of the document",
                  {*shared, -1, documents[1].Mark().line + 1});
    Budget budget{text.size() + 1};
    return convert(documents.empty() ? YAML::Node() : documents[0], shared, budget);
  } catch (const YAML::Exception& error) {
    return fail(Code::bad_input, "base.spec.syntax", error.msg, {*shared, -1, error.mark.line + 1});
  }
}

Result<Spec> load_spec(const std::string& path) {
  CHAKRA_ASSIGN(const std::string text, read_file(path, kLargest));
  return parse_spec(text, path);
}

}  // namespace chakra
