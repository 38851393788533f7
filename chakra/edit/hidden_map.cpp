#include <fmt/core.h>

#include "chakra/base/bytes.h"
#include "chakra/edit/hide.h"

namespace chakra::edit {

// `edit.names.form` (1): not a map of hidden names

namespace {

constexpr std::string_view kHead = "chakra-names-1\n";
constexpr int kSizeBytes = 4;

void put(std::string& bytes, std::string_view text) {
  put_fixed(bytes, text.size(), kSizeBytes);
  bytes += text;
}

std::string_view take(ByteReader& in) { return in.bytes(in.fixed(kSizeBytes)); }

}  // namespace

std::string to_bytes(const HiddenMap& map) {
  CHAKRA_ASSERT(map.mark.find('\n') == std::string::npos);
  std::string bytes(kHead);
  bytes += map.mark;
  bytes += '\n';
  for (const auto& [name, text] : map.texts) {
    put(bytes, name);
    put(bytes, text);
  }
  return bytes;
}

Result<HiddenMap> parse_hidden_map(std::string_view bytes, const std::string& file) {
  const auto wrong = [&](std::string_view why) {
    return fail(Code::bad_input, "edit.names.form", fmt::format("not a map of hidden names: {}", why), {file});
  };
  if (!bytes.starts_with(kHead)) return wrong("another first line");
  bytes.remove_prefix(kHead.size());
  const size_t end = bytes.find('\n');
  if (end == bytes.npos) return wrong("no second line");
  HiddenMap map{std::string(bytes.substr(0, end)), {}};
  bytes.remove_prefix(end + 1);
  for (ByteReader in(bytes); !in.done();) {
    const std::string_view name = take(in), text = take(in);
    if (!in.ok) return wrong("it ends within a text");
    if (!map.texts.emplace(name, text).second) return wrong(fmt::format("{} stands twice", quote(name)));
  }
  return map;
}

}  // namespace chakra::edit
