// --expand, of several subcommands
#include <fmt/format.h>

#include "chakra/cli/cli.h"
#include "chakra/edit/edit.h"

namespace chakra::cli {

Option expand_option(std::string& text) {
  return {.names = "--expand",
          .target = &text,
          .help = "A job of N ranks: those without a trace are copies of RANK (else of the lowest there is)",
          .value = "N[:RANK]"};
}

Result<void> expand_job(const std::string& text, trace::TraceSet& job, match::GroupTable& groups, Findings& findings) {
  if (text.empty()) return {};
  const std::string_view view = text;
  const size_t colon = view.find(':');
  int64_t ranks = 0, like = -1;
  if (!parse_decimal(view.substr(0, colon), ranks) || ranks < 1 ||
      (colon != std::string_view::npos && (!parse_decimal(view.substr(colon + 1), like) || like < 0)))
    return fail(Code::usage, "cli.usage",
                fmt::format("--expand {}: a number of ranks is expected, or N:RANK", quote(text)));
  CHAKRA_ASSIGN(job, edit::expand(std::move(job), groups, ranks, like, findings));
  return {};
}

}  // namespace chakra::cli
