// The text of what a change makes of a job, and of what less of each kind of time would save.
#include "chakra/job/text_rows.h"
#include "chakra/job/what_if.h"

namespace chakra::job {
namespace {

constexpr std::array<view::ShowColumn, 5> kShowSensitivity{{
    {.key = "kind", .heading = "less of"},
    {.key = "on_path_ps", .heading = "on the path", .share = "sensitivity.total_ps"},
    {.key = "slope_saves_ps", .heading = "slope saves"},
    {.key = "simulation_saves_ps", .heading = "simulation saves"},
    {.key = "{?path_changes}the path changes", .hide = view::Hide::missing},
}};

constexpr std::string_view kAnswerLine =
    "{subject}: [{?changed}{before_ps} -> {after_ps}, {+change_ps}[ ({+change_ps/before_ps})]"
    "|{sensitivity.less} less {sensitivity.most} saves most, {sensitivity.most_saves_ps} of {sensitivity.total_ps} "
    "({sensitivity.most_saves_ps/sensitivity.total_ps})"
    "|{sensitivity.less} less of any single kind of time does not reduce {sensitivity.total_ps}"
    "|{before_ps} -> {noise.median_ps} by jitter (median)]; "
    "unchanged: [{measured_ps} measured, {before_ps} simulated, off by {+error}"
    "|{before_ps} simulated, not measured, so the error is unknown]";
constexpr std::string_view kTransfersLine =
    "  transfers of the unchanged job: [{?transfers=none}none|{?transfers=recorded}as recorded|by the network file]"
    "[; of the changed one: {network}]";
constexpr std::string_view kBeforeLine =
    "  likely ({before_published.covers}), unchanged: {before_published.least_ps} to {before_published.most_ps}, as "
    "published steps were from their predictions ({before_published.steps}, {before_published.source})";
constexpr std::string_view kAfterLine =
    "  likely ({after_published.covers}), changed: {after_published.least_ps} to {after_published.most_ps}, likewise "
    "({after_published.steps}, {after_published.source})";
constexpr std::string_view kServedBeforeLine =
    "  under load, unchanged: {before_serving.token_ps} per output token[, likely ({before_serving.published.covers}) "
    "{before_serving.published.least_ps} to {before_serving.published.most_ps}, as published times were from their "
    "predictions ({before_serving.published.steps}, {before_serving.published.source})]";
constexpr std::string_view kServedAfterLine =
    "  under load, changed: {after_serving.token_ps} per output token[, likely ({after_serving.published.covers}) "
    "{after_serving.published.least_ps} to {after_serving.published.most_ps}, likewise]";
constexpr std::string_view kChangeLine =
    "  likely ({change_published.covers}), change[{?before_serving.token_ps} of the time per output token]: "
    "{+change_published.least} to {+change_published.most}, as measured "
    "changes were from predicted ones ({change_published.pairs} pairs of published measurements, other "
    "{change_published.options})";
constexpr std::string_view kNoiseLine =
    "  with jitter, {noise.repeats} runs: mean {noise.mean_ps}, least {noise.least_ps}, "
    "quantiles {noise.quantiles_ps*}, most {noise.most_ps}";

constexpr std::array<view::Show, 16> kWhatIfText{{
    {.line = kAnswerLine},
    {.line = kTransfersLine},
    {.when = "{?congestion=fluid}", .line = "  congestion of both jobs fluid: {congestion_reason}"},
    {.line = kBeforeLine},
    {.line = kAfterLine},
    {.line = kServedBeforeLine},
    {.line = kServedAfterLine},
    {.line = kChangeLine},
    {.line = "  --{change} {value}: {nodes} nodes[{?time_ps} of {time_ps}]. {assumes}",
     .table = "changes",
     .first = view::kAllRows},
    {.when = "{?changed}", .table = ".", .columns = kShowChangedJob},
    {.when = "{?changed}", .table = "ranks", .joined = true, .first = 24, .columns = kShowChangedRanks},
    {.when = "{?changed}", .table = "steps", .joined = true, .first = 24, .columns = kShowChangedSteps},
    {.when = "{?changed}", .table = "devices", .first = 24, .columns = kShowDevices},
    {.line = kNoiseLine},
    {.table = "sensitivity.rows", .first = 24, .columns = kShowSensitivity},
    {.findings = true},
}};

}  // namespace

view::Text text_of(const WhatIf& result) { return {kWhatIfText, result.path}; }

}  // namespace chakra::job
