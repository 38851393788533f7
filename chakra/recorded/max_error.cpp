#include "chakra/recorded/max_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/options/options.h"

namespace chakra::recorded {

using options::no_effect;

std::vector<Replayed> replayed_job(const std::optional<JobReplay>& job, const Findings& findings) {
  if (job && job->job().has(TransferKind::recorded)) return {{"the job", job->job().error(TransferKind::recorded)}};
  const bool failed = std::any_of(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.tag == "sim.job.not_replayed"; });
  return failed ? std::vector<Replayed>{{"the job", std::nullopt}} : std::vector<Replayed>();
}

Findings max_error_without_effect(std::optional<double> percent, const std::vector<Replayed>& replays) {
  if (!percent || !replays.empty()) return {};
  return {no_effect("--max-error", "the self-check has no measured times to compare with")};
}

Result<void> check_errors(std::optional<double> percent, const std::vector<Replayed>& replays) {
  if (!percent) return {};
  constexpr size_t kNamed = 8;
  std::string text;
  size_t beyond = 0;
  for (const Replayed& replay : replays) {
    if (replay.error && std::abs(*replay.error) * 100 <= *percent) continue;
    if (++beyond > kNamed) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", replay.what,
                        replay.error ? fmt::format("{:+.2f} %", 100 * *replay.error) : std::string("could not run"));
  }
  if (beyond == 0) return {};
  if (beyond > kNamed) text += fmt::format(" and {} more", beyond - kNamed);
  return fail(Code::bad_input, "cli.max_error", fmt::format("off by more than {:g} %: {}", *percent, text));
}

}  // namespace chakra::recorded
