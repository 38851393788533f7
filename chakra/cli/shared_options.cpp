// Options of several subcommands.
#include <array>
#include <utility>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

/// "5000000", "300 MiB", "64GiB"; nothing where it is none of these, or 0.
std::optional<uint64_t> bytes_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kUnits{
      {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};
  int shift = 0;
  for (const auto& [unit, bits] : kUnits)
    if (text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      shift = bits;
      break;
    }
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  uint64_t number = 0;
  if (!digits || text[0] == '0' || !parse_unsigned(text, number) || number > UINT64_MAX >> shift) return std::nullopt;
  return number << shift;
}

}  // namespace

Option max_unpacked_option() {
  return {.names = "--max-unpacked",
          .target = [](const std::string& text) { set_most_unpacked(bytes_of(text).value_or(0)); },
          .help =
              "Unpack an input, or read a pipe, up to this many bytes (default: 1,000 times the packed bytes, at most "
              "16 GiB)",
          .value = "BYTES",
          .accepted = {[](const std::string& text) {
            return bytes_of(text) ? std::string() : quote(text) + " is not a number of bytes, as 5000000 or 64GiB are";
          }}};
}

Option ranks_option(std::string& text) {
  return {.names = "--ranks",
          .target = &text,
          .help = "Only these ranks of the job, for example 0:8 (the first 8) or 0,2,5",
          .value = "FIRST:COUNT"};
}

Option expand_option(std::string& text) {
  return {.names = "--expand",
          .target = &text,
          .help = "A job of N ranks: those without a trace are copies of RANK (else of the lowest there is)",
          .value = "N[:RANK]"};
}

Option max_error_option(std::optional<double>& percent) {
  return {.names = "--max-error",
          .target = &percent,
          .help =
              "Exit with 1 if a replay with recorded transfers is off the measurement by more than P percent, "
              "up or down; the result is written all the same",
          .value = "P",
          .accepted = real_number(0, 1e6)};
}

}  // namespace chakra::cli
