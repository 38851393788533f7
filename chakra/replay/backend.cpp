#include "chakra/replay/backend.h"

#include <fmt/core.h>

#include "chakra/base/base.h"

namespace chakra::replay {

std::string setting(const Settings& settings, std::string_view name, std::string_view otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string(otherwise) : found->second;
}

Result<Settings> parse_settings(std::string_view of, std::string_view option, std::span<const SettingRow> rows,
                                const std::vector<std::string>& texts) {
  Settings settings;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string known = names_of(rows);
    if (equals == text.npos || !find_row(rows, name))
      return fail(Code::usage, "cli.usage",
                  fmt::format("{} {}: expected KEY=VALUE; {} has {}", option, quote(text), of,
                              known.empty() ? "no keys" : "the keys " + known));
    if (!settings.emplace(name, text.substr(equals + 1)).second)
      return fail(Code::usage, "cli.usage", fmt::format("{} {}: {} is a duplicate", option, quote(text), name));
  }
  return settings;
}

std::string describe(const Operation& op) {
  switch (op.kind) {
    case Operation::Kind::send:
      return fmt::format("send number {} to rank {} with tag {} (node {})", op.index, op.partner, op.tag, op.node);
    case Operation::Kind::receive:
      return fmt::format("receive number {} from rank {} with tag {} (node {})", op.index, op.partner, op.tag, op.node);
    default:
      return fmt::format("{} number {} of group {} (node {})", trace::name(op.type), op.index, quote(op.group),
                         op.node);
  }
}

}  // namespace chakra::replay
