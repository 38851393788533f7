// Options of several subcommands.
#include "chakra/cli/cli.h"

namespace chakra::cli {
Option max_unpacked_option() {
  return {
      "--max-unpacked",
      [](const std::string& text) { set_most_unpacked(bytes_of(text).value_or(0)); },
      "Unpack an input, or read a pipe, up to this many bytes (default: 1,000 times the packed bytes, at most 16 GiB)",
      "BYTES",
      {[](const std::string& text) {
        return bytes_of(text) ? std::string() : quote(text) + " is not a number of bytes, as 5000000 or 64GiB are";
      }}};
}

Option ranks_option(std::string& text) {
  return {"--ranks", &text, "Only these ranks of the job, for example 0:8 (the first 8) or 0,2,5", "FIRST:COUNT"};
}

Option expand_option(std::string& text) {
  return {"--expand", &text, "A job of N ranks: those without a trace are copies of RANK (else of the lowest there is)",
          "N[:RANK]"};
}

Option max_error_option(std::optional<double>& percent) {
  return {"--max-error", &percent,
          "Exit with 1 if a replay with recorded transfers is off the measurement by more than P percent, up or down; "
          "the result is written all the same",
          "P", real_number(0, 1e6)};
}

}  // namespace chakra::cli
