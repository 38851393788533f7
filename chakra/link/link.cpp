// Linking one rank: read, walk the steps, assemble.
#include "chakra/link/link.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/assemble.h"
#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

Result<void> check_options(bool has_host, bool has_profile, const RankInput& input, const LinkOptions& options) {
  if (!has_profile && (options.steps || options.fit_steps || options.iteration))
    return fail(Code::bad_input, options.iteration ? "pytorch.scope.iteration" : "pytorch.scope.steps",
                "a host trace alone has no steps or iterations", {input.host});
  if (!has_host && options.iteration)
    return fail(Code::bad_input, "pytorch.scope.iteration",
                "a Kineto trace alone is linked as a whole; select a part with --steps", {input.device});
  return {};
}

/// Shapes for which no formula asks take memory for nothing.
Wanted wanted_shapes(std::string_view op) {
  const WorkRow* row = find_work_row(op);
  const bool comm = op.starts_with("c10d::") || contains(op, "c10d_functional::");
  return {row || comm || is_convolution_node(op) || is_comm_caller(op),
          comm || (row && row_of(row->kind).needs_values)};
}

Result<void> check_ranks(const Recording& recording, const RankInput& input) {
  const int64_t host = recording.host.rank, profile = recording.profile.rank;
  if (input.rank_known && profile >= 0 && profile != input.rank)
    return fail(
        Code::bad_input, "pytorch.pair.rank",
        fmt::format("the trace is of rank {}, but its name or its counterpart is of rank {}", profile, input.rank),
        {input.device});
  const int64_t device_rank = profile >= 0 ? profile : input.rank_known ? input.rank : -1;
  if (host >= 0 && device_rank >= 0 && host != device_rank)
    return fail(
        Code::bad_input, "pytorch.pair.rank",
        fmt::format("the communication in the host trace is of rank {}, but the Kineto trace is of rank {}; --rank N "
                    "links them all the same",
                    host, device_rank),
        {input.host});
  return {};
}

/// What was asked for, else what the files or their names say, else what was recorded, else 0.
int64_t rank_of(const RankInput& input, const LinkOptions& options, int64_t recorded) {
  if (options.rank) return *options.rank;
  return input.rank_known ? input.rank : std::max<int64_t>(recorded, 0);
}

Result<void> walk(std::span<const Step> steps, Linking& l) {
  for (const Step& step : steps) {
    CHAKRA_TRY(step.run(l));
    l.filled.add(step.fills);
  }
  return {};
}

}  // namespace

Result<Linked> link_rank(const RankInput& input, const LinkOptions& options) {
  std::optional<ByteSource> host, device;
  if (!input.host.empty()) {
    CHAKRA_ASSIGN(host, ByteSource::open(input.host));
  }
  if (!input.device.empty()) {
    CHAKRA_ASSIGN(device, ByteSource::open(input.device));
  }
  return link_rank(std::move(host), std::move(device), input, options);
}

Result<Linked> link_rank(std::optional<ByteSource> host, std::optional<ByteSource> device, const RankInput& input,
                         const LinkOptions& options) {
  const bool has_profile = device.has_value();
  CHAKRA_TRY(check_options(host.has_value(), has_profile, input, options));
  trace::Builder builder;  // its trace owns all names and texts
  CHAKRA_ASSIGN(Recording recording,
                read_recording(std::move(host), std::move(device), builder.trace.strings, builder.trace.texts,
                               {options.salvage, wanted_shapes, {input.process, input.groups}}));
  if (has_profile && !options.rank) CHAKRA_TRY(check_ranks(recording, input));

  Linking l{std::move(recording), builder.trace, options};
  l.rank = rank_of(input, options, has_profile ? l.profile().rank : l.host().rank);
  l.report.left_out = l.recording.left_out;
  l.report.findings = std::move(l.recording.findings);
  CHAKRA_TRY(walk(has_profile ? kSteps : kHostSteps, l));
  trace::Trace trace = assemble(l, builder);
  for (Finding& finding : l.report.findings) finding.rank = l.rank;
  return Linked{std::move(trace), std::move(l.report)};
}

}  // namespace chakra::link
