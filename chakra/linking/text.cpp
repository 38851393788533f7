// The text of a linked job.
#include "chakra/job/parts.h"
#include "chakra/linking/link.h"

namespace chakra::linking {
namespace {

using view::Hide;
using view::kAllRows;
using view::Show;
using view::ShowColumn;

// ---- a rank --------------------------------------------------------------------------------------------------

constexpr std::string_view kHostLine =
    "  host ops       [!{matched_host_ops} of {host_ops} matched by {matched_by}[ ({matched_host_ops/host_ops})]"
    "|{?device}{host_ops}, without a host trace|{host_ops}, from the host trace alone]";
constexpr std::string_view kDeviceLine =
    "  device ops     {?device_ops}{attached_device_ops} of {device_ops} attached to the operator that launched them"
    "[{?launched_before}; {launched_before} launched before the recording]";
constexpr std::string_view kConstantLine =
    "  constant       {constant}[ of device {device}]: {time_ns} ([{?samples}{samples} samples|default])";
constexpr std::string_view kUnrecordedLine =
    "  unrecorded     {?unrecorded.count}{unrecorded.count} times device work that the recording lacks, "
    "{unrecorded.time_ns} in all";
constexpr std::string_view kWorkLine =
    "  work           {work.operations}, {work.bytes}[; known for {work.covered_ns/work.device_ns} of "
    "{work.device_ns} of computation and copies on the device]";
constexpr std::string_view kHalfLine =
    "  half as long   device operations would give {half_device_ps}[ ({half_device_ps/replayed_ps} of it)]"
    "[{?unrecorded.count}; those that were recorded alone {half_recorded_ps}[ ({half_recorded_ps/replayed_ps})]]";
constexpr std::string_view kStartsLine =
    "  device starts  off by {device_start_error_ps.median} (median), {device_start_error_ps.max} (most); "
    "worst stream stalls {stream_stall_share} of the time without a known reason";
constexpr std::string_view kNoteLine =
    "  note           [!{?device_ops}the host alone explains the time: the self-check says little about the device's "
    "edges"
    "|{?self_check_error=0.00 %}no device operations: the self-check of one rank is an identity]";

constexpr std::array<Show, 18> kRankText{{
    {.line = "  instructions   {?events}{events} executed, one node each"},
    {.when = "[!{?host_ops}|{?device_ops}]", .line = kHostLine},
    {.line = kDeviceLine},
    {.line = "  graph          {nodes} nodes[{?#edges}; edges: {edges*}]; {inferred_edges} inferred"},
    {.line = kConstantLine, .table = "constants", .first = kAllRows},
    {.line = kUnrecordedLine},
    {.line = "  communication  {?comm_nodes}{comm_nodes} nodes, {comm_bytes}"},
    {.when = "[!{?work.operators}|{?work.device_ns}]", .line = kWorkLine},
    {.line = "  without work   {device_ns/work.device_ns} {name} ({reason})", .table = "work.rest", .first = 4},
    {.when = "{?measured_ps}",
     .line = "  self-check     {measured_ps} measured, {replayed_ps} simulated: error {+self_check_error}"},
    {.when = "{?measured_ps}",
     .line = "  steps          {?#steps}{#steps}: median error {step_error.median}, worst {+step_error.worst}"},
    {.line = "                 {name}: {measured_ps}, error {+error}", .table = "steps", .first = 6},
    {.when = "{?measured_ps}", .line = "  critical path  {critical_path*}"},
    {.when = "{?measured_ps}{?device_ops}", .line = kHalfLine},
    {.when = "{?measured_ps}{?device_ops}", .line = kStartsLine},
    {.when = "{?measured_ps}{?device_ops}",
     .line = "                 {?unattributed_sync_ns}{unattributed_sync_ns} in blocking calls without a known "
             "dependency"},
    {.when = "{?measured_ps}{?informative=no}", .line = kNoteLine},
    {.findings = true},
}};
constexpr view::Text kOfRank{kRankText};

// ---- several ranks -------------------------------------------------------------------------------------------

constexpr std::array<ShowColumn, 8> kShowClocks{{
    {.key = "rank", .heading = "clock of rank"},
    {.key = "reference", .heading = "against"},
    {.key = "+offset_ns", .heading = "ahead by"},
    {.key = "uncertainty_ns", .heading = "+-"},
    {.key = "drift_ppm", .heading = "drift (ppm)"},
    {.key = "collectives", .heading = "collectives"},
    {.key = "messages", .heading = "messages"},
    {.key = "unknown", .heading = "unknown", .hide = Hide::missing},
}};
constexpr std::array<ShowColumn, 7> kShowTimedCollectives{{
    {.key = "type", .heading = "collective"},
    {.key = "group", .heading = "group", .words = job::group_text},
    {.key = "members", .heading = "members"},
    {.key = "bytes", .heading = "size"},
    {.key = "count", .heading = "count"},
    {.key = "wait_ns", .heading = "waiting for the last"},
    {.key = "transfer_ns", .heading = "transfer"},
}};
constexpr std::array<ShowColumn, 3> kShowStragglers{{
    {.key = "rank", .heading = "straggler: rank"},
    {.key = "last_at", .heading = "last at"},
    {.key = "waited_ns", .heading = "others waited"},
}};

constexpr std::string_view kRankLine = "rank {rank}: [{host} + {device}|{host}|{device}] -> {output}";
constexpr std::array<Show, 11> kLinkText{{
    {.line = kRankLine, .table = "ranks", .inside = &kOfRank, .first = kAllRows},
    {.table = "programs", .columns = job::kShowPrograms},
    {.table = "programs.collectives", .columns = job::kShowCollectives},
    {.table = "job.clock", .first = 16, .columns = kShowClocks},
    {.table = "job.collectives", .first = 24, .columns = kShowTimedCollectives},
    {.table = "job.stragglers", .first = 4, .columns = kShowStragglers},
    {.table = "job.measured.", .columns = job::kShowMeasuredJob},
    {.table = "job.measured.ranks", .joined = true, .first = 16, .columns = job::kShowMeasuredRanks},
    {.table = "job.measured.steps", .joined = true, .first = 16, .columns = job::kShowMeasuredSteps},
    {.table = "job.mismatches", .findings = true},
    {.findings = true},
}};
constexpr std::array<Show, 2> kExplainText{{
    {.line = "{}", .table = "ranks.explanation", .first = kAllRows},
    {.findings = true},
}};

}  // namespace

view::Text text_of(const LinkedJob& linked) {
  const bool explains = linked.ranks.size() == 1 && !linked.ranks[0].explanation.empty();
  return {explains ? std::span<const Show>(kExplainText) : kLinkText};
}

}  // namespace chakra::linking
