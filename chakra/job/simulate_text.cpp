// The text of a simulation, as rows of its answer.
#include <fmt/core.h>

#include "chakra/job/simulate.h"
#include "chakra/job/text_rows.h"

namespace chakra::job {
namespace {

using view::Hide;
using view::Show;
using view::ShowColumn;

constexpr std::array<ShowColumn, 4> kShowRules{{
    {.key = "[rank {rank}: ]{pattern}", .heading = "delayed"},
    {.key = "nodes", .heading = "nodes"},
    {.key = "time_ps", .heading = "each"},
    {.key = "total_ps", .heading = "added up"},
}};
constexpr std::array<ShowColumn, 8> kShowRanks{{
    {.key = "rank", .heading = "rank", .alike = true},
    {.key = "finish_ps", .heading = "finish"},
    {.key = "compute_ps", .heading = "compute", .share = "finish_ps"},
    {.key = "exposed_comm_ps", .heading = "exposed comm", .share = "finish_ps"},
    {.key = "exposed_storage_ps", .heading = "exposed storage", .share = "finish_ps", .hide = Hide::missing},
    {.key = "bubble_ps", .heading = "bubble", .share = "finish_ps", .hide = Hide::zero},
    {.key = "host_ps", .heading = "host", .share = "finish_ps", .hide = Hide::zero},
    {.key = "idle_ps", .heading = "idle", .share = "finish_ps"},
}};
constexpr std::array<ShowColumn, 11> kShowCollectives{{
    {.key = "type", .heading = "collective"},
    {.key = "group", .heading = "group", .alike = true, .words = group_text},
    {.key = "members", .heading = "members"},
    {.key = "bytes", .heading = "size"},
    {.key = "count", .heading = "count"},
    {.key = "total_ps", .heading = "time"},
    {.key = "wait_ps", .heading = "waiting"},
    {.key = "algorithm_bytes_per_s", .heading = "algbw"},
    {.key = "bus_bytes_per_s", .heading = "busbw"},
    {.key = "{algorithm}[{?near_order}, near][ {protocol}]", .heading = "algorithm", .hide = Hide::missing},
    {.key = "[!{next_best} {+next_best_longer}|{?choice=fitted}fitted[ +-{fitted_error_percent}]|{choice}]",
     .heading = "next best",
     .hide = Hide::missing},
}};
constexpr std::array<ShowColumn, 4> kShowLinks{{
    {.key = "from", .heading = "from"},
    {.key = "to", .heading = "to"},
    {.key = "bytes", .heading = "carried"},
    {.key = "busy_ps", .heading = "busy", .share = "makespan_ps", .bar = true},
}};
constexpr std::array<ShowColumn, 6> kShowTiers{{
    {.key = "tier", .heading = "tier"},
    {.key = "scope", .heading = "scope"},
    {.key = "places", .heading = "places"},
    {.key = "operations", .heading = "operations"},
    {.key = "bytes", .heading = "moved"},
    {.key = "busy_ps", .heading = "busy", .share = "makespan_ps"},
}};
constexpr std::array<ShowColumn, 3> kShowPath{{
    {.key = "[!{collective} of group [{?group}{group}|all]|storage, tier {tier}|{kind}]", .heading = "critical path"},
    {.key = "#", .heading = "pieces"},
    {.key = "time_ps", .heading = "time", .share = "makespan_ps"},
}};

constexpr std::string_view kHeadLine =
    "{subject}: {#ranks} ranks on a {network}[{?mode=astra-sim}, by the rules of astra-sim]"
    "[{?transfers=recorded}, transfers as recorded]\n"
    "[{?interrupted}stopped|finished] after {makespan_ps}";
constexpr std::string_view kDeviceTimeLine =
    "{?device_time.time_ps}device time: "
    "[{device_time.measured_kernels.time_ps/device_time.time_ps} from measured kernels "
    "([off by {device_time.measured_kernels.error}|error not known of all of it])]"
    "[[{?device_time.measured_kernels.time_ps}, ]{device_time.estimated.time_ps/device_time.time_ps} estimated "
    "([off by {device_time.estimated.error}|error not known of all of it])]"
    "[, {device_time.other.time_ps/device_time.time_ps} scaled or as recorded "
    "([off by {device_time.other.error}|error not known of all of it])]";
constexpr std::string_view kPublishedLine =
    "{?published.steps}likely ({published.covers}): {published.least_ps} to {published.most_ps}, as far from the "
    "prediction as {published.steps} published steps were from theirs ({published.source})";
constexpr std::string_view kServedLine =
    "under load, with answers of {serving.tokens} tokens: {serving.token_ps} per output token (a step of "
    "{serving.sequences} sequences: {serving.step_ps}; a prompt: {serving.prompt_ps})";
constexpr std::string_view kTokenLine =
    "{?serving.published.steps}  likely ({serving.published.covers}): {serving.published.least_ps} to "
    "{serving.published.most_ps}, as far from the prediction as {serving.published.steps} published times were from "
    "theirs ({serving.published.source})";
constexpr std::string_view kFirstTokenLine =
    "{?serving.first_published.steps}  to the first token: {serving.first_token_ps}, likely "
    "({serving.first_published.covers}) {serving.first_published.least_ps} to {serving.first_published.most_ps} "
    "({serving.first_published.steps} published times, {serving.first_published.source})";
constexpr std::string_view kDelayedLine =
    "\n  delayed: the job takes {delays.after_ps} instead of {delays.before_ps}, "
    "{+delays.change_ps}[ ({+delays.change_ps/delays.before_ps})]";
constexpr std::string_view kRatesLine =
    "\n  rates per rank: [!{actors.ops_per_s..}[, memory {actors.bytes_per_s..}]|memory {actors.bytes_per_s..}]"
    "[; HFU {actors.mfu..} of {actors.device*mfu}]";
constexpr std::string_view kThroughputLine =
    "  throughput: {throughput.tokens_per_s} tokens/s, {throughput.tokens_per_s_per_rank} per rank; "
    "the model's operations {throughput.model_ops_per_s_per_rank} per rank[, MFU {throughput.mfu}]";
constexpr std::string_view kLinkUseLine =
    "  {link_use.links} links carried data; the busiest for {link_use.most_busy_ps}, "
    "half of them for {link_use.median_busy_ps} or less";

constexpr std::array<Show, 26> kSimulateText{{
    {.line = kHeadLine},
    {.line = "congestion {congestion.mode}: {congestion.reason}"},
    {.line = kDeviceTimeLine},
    {.line = kPublishedLine},
    {.line = kServedLine},
    {.line = kTokenLine},
    {.line = kFirstTokenLine},
    {.line = kDelayedLine},
    {.table = "delays.rules", .first = 24, .columns = kShowRules},
    {.table = "delays.", .columns = kShowChangedJob},
    {.table = "delays.ranks", .joined = true, .first = 24, .columns = kShowChangedRanks},
    {.table = "delays.steps", .joined = true, .first = 24, .columns = kShowChangedSteps},
    {.table = "ranks", .first = 16, .fold = "actor", .columns = kShowRanks},
    {.line = kRatesLine},
    {.line = kThroughputLine},
    {.table = "devices", .columns = kShowDevices},
    {.table = "collectives",
     .first = 24,
     .fold = "type,members,bytes,count,total_ps,wait_ps",
     .columns = kShowCollectives},
    {.table = "links", .ranked = "busy_ps", .columns = kShowLinks},
    {.line = kLinkUseLine},
    {.table = "tiers", .columns = kShowTiers},
    {.line = "  {kind}[ at {?place}{place}]: {sentence} ({evidence}, row {row})", .table = "diagnosis"},
    {.table = "critical_path", .sum = true, .ranked = "time_ps", .columns = kShowPath},
    {.table = "measured.", .columns = kShowMeasuredJob},
    {.table = "measured.ranks", .joined = true, .first = 16, .columns = kShowMeasuredRanks},
    {.table = "measured.steps", .joined = true, .first = 16, .columns = kShowMeasuredSteps},
    {.findings = true},
}};

}  // namespace

view::Text text_of(const SimulateResult& result) { return {kSimulateText, result.path}; }

std::string astra_text_of(const SimulateResult& result) {
  std::string out;
  for (const sim::RankReport& r : result.report.ranks)
    out += fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n", r.rank,
                       r.finish_ps / kPsPerNs, r.exposed_comm_ps / kPsPerNs);
  return out + view::to_text(result.report.findings, "");
}

}  // namespace chakra::job
