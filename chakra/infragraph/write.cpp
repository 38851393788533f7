// An Infrastructure as JSON, an entry a line.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "chakra/infragraph/infragraph.h"

namespace chakra::infragraph {
namespace {

/// The number times 10^shift, without an exponent, so that YAML reads it as a number. Exact: only the point moves.
std::string decimal(double number, int shift) {
  char text[64];
  const char* const end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr;
  const std::string_view all(text, static_cast<size_t>(end - text));
  const size_t e = all.find('e');
  const bool negative = all[e + 1] == '-';
  int64_t exponent = 0;
  for (const char c : all.substr(e + 2)) exponent = 10 * exponent + (c - '0');
  const int64_t point = 1 + shift + (negative ? -exponent : exponent);  // digits before the point
  std::string digits;
  for (const char c : all.substr(0, e))
    if (c != '.') digits += c;
  if (point <= 0) digits.insert(0, static_cast<size_t>(1 - point), '0');
  const auto whole = static_cast<size_t>(std::max(point, int64_t{1}));
  if (digits.size() <= whole) digits.resize(whole + 1, '0');
  return digits.insert(whole, ".");
}

/// Names are ours or have been read; a quotation mark needs a backslash.
std::string text(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

std::string json(const Component& c) {
  static constexpr std::string_view kKinds = " cpu xpu nic memory port switch device ";
  const bool known = contains(kKinds, fmt::format(" {} ", c.kind));
  return fmt::format(R"({{"name": {}, "count": {}, {}}})", text(c.name), c.count,
                     known ? fmt::format(R"("choice": "{}")", c.kind)
                           : fmt::format(R"("choice": "custom", "custom": {{"type": {}}})", text(c.kind)));
}

std::string json(const Link& link) {
  std::string physical;
  if (link.bytes_per_s > 0)
    physical += fmt::format(R"("bandwidth": {{"choice": "gigabytes_per_second", "gigabytes_per_second": {}}})",
                            decimal(link.bytes_per_s, -9));
  if (link.latency_ns >= 0)
    physical += fmt::format(R"({}"latency": {{"choice": "ns", "ns": {}}})", physical.empty() ? "" : ", ",
                            decimal(link.latency_ns, 0));
  return fmt::format(R"({{"name": {}{}}})", text(link.name),
                     physical.empty() ? "" : fmt::format(R"(, "physical": {{{}}})", physical));
}

std::string json(const Instance& i) {
  return fmt::format(R"({{"name": {}, "device": {}, "count": {}}})", text(i.name), text(i.device), i.count);
}

std::string json(const End& end, std::string_view owner) {
  return fmt::format("{{{}\"component\": {}}}",
                     end.owner.empty() ? "" : fmt::format(R"("{}": {}, )", owner, text(end.owner)),
                     text(end.component));
}

std::string json(const Connection& c, std::string_view owner) {
  return fmt::format(R"({{"ep1": {}, "ep2": {}, "scheme": "{}", "link": {}}})", json(c.a, owner), json(c.b, owner),
                     c.scheme == Scheme::one2one ? "one2one" : "many2many", text(c.link));
}

std::string json(const Device& device);

/// A list with an entry a line.
template <class Rows, class... Owner>
std::string list(std::string_view key, const Rows& rows, std::string_view indent, const Owner&... owner) {
  std::string out = fmt::format("{}\"{}\": [", indent, key);
  for (size_t i = 0; i < rows.size(); ++i)
    out += fmt::format("{}\n{}  {}", i == 0 ? "" : ",", indent, json(rows[i], owner...));
  return out + (rows.empty() ? "]" : fmt::format("\n{}]", indent));
}

std::string json(const Device& d) {
  constexpr std::string_view kIndent = "      ";
  return fmt::format("{{\n{}\"name\": {},\n{},\n{},\n{}\n    }}", kIndent, text(d.name),
                     list("components", d.components, kIndent), list("links", d.links, kIndent),
                     list("edges", d.connections, kIndent, "device"));
}

}  // namespace

std::string to_json(const Infrastructure& i) {
  constexpr std::string_view kIndent = "  ";
  return fmt::format("{{\n  \"name\": {},\n{},\n{},\n{},\n{}\n}}\n", text(i.name), list("devices", i.devices, kIndent),
                     list("links", i.links, kIndent), list("instances", i.instances, kIndent),
                     list("edges", i.connections, kIndent, "instance"));
}

}  // namespace chakra::infragraph
