// Texts of generated jobs.
#include "chakra/generate/serve.h"
#include "chakra/generate/step.h"

namespace chakra::generate {
namespace {

using view::Show;
using view::ShowColumn;

// ---- a class of ranks ----------------------------------------------------------------------------------------

constexpr std::array<ShowColumn, 5> kShowSent{{
    {.key = "group", .heading = "group"},
    {.key = "type", .heading = "type"},
    {.key = "count", .heading = "count"},
    {.key = "bytes", .heading = "buffers"},
    {.key = "wire_bytes", .heading = "sent with a ring"},
}};
constexpr std::array<ShowColumn, 4> kShowStorage{{
    {.key = "tier", .heading = "tier"},
    {.key = "io_kind", .heading = "kind"},
    {.key = "count", .heading = "count"},
    {.key = "bytes", .heading = "bytes"},
}};
constexpr std::array<Show, 2> kClassText{{
    {.table = "communication", .first = view::kAllRows, .columns = kShowSent},
    {.table = "storage", .first = view::kAllRows, .columns = kShowStorage},
}};
constexpr view::Text kOfClass{kClassText};

constexpr std::string_view kGeneratedLine =
    "[{folder}|{name}]: {rank_count} ranks ({shape}) in {classes} class[{?classes=1}|es], {nodes_per_rank.least} to "
    "{nodes_per_rank.most} nodes each";
constexpr std::string_view kParametersLine =
    "\nparameters    {parameters} (tied once), {active_parameters} active for a token";
constexpr std::string_view kSumLine =
    "  sum          {memory_per_rank.sum}: [{?fits=yes}fits into|{?fits=maybe}may not fit into|does not fit into] the "
    "device with {device_memory}; at most {memory_at_most} with allocator, context and buffers";
constexpr std::string_view kAssumedLine =
    "no device given, taken: multiplications at {assumed_device.efficiency} of {assumed_device.ops_per_s}, memory at "
    "{assumed_device.bytes_per_s}; --device prices kernels, with an error";
constexpr std::string_view kClassLine = "\nranks like rank {first_rank}: {count}";

// ---- steps ---------------------------------------------------------------------------------------------------

constexpr std::string_view kStepLine =
    "{parameters} parameters, {tokens} tokens, {operations}; ideal pipeline bubble {ideal_bubble}"
    "[{?ideal_bubble_depends} where forward and both gradients take the same time]";
constexpr std::array<Show, 19> kStepText{{
    {.line = kGeneratedLine},
    {.line = kStepLine},
    {.line = "trained: {trained_parameters} parameters of adapters (--lora-rank), all others are frozen"},
    {.line = "not given, taken: {taken*}"},
    {.line = "stack {stack}: {by_stack*}"},
    {.line = kAssumedLine},
    {.line = kParametersLine},
    {.line = "FLOPs         {operations} of all ranks: matrix multiplications only, two per multiply-add"},
    {.line = "  with inputs of eight bits {fp8_operations}"},
    {.line = "  surplus     {operations} in {name}: duplicate work of ranks, or padding",
     .table = "surplus",
     .first = view::kAllRows},
    {.line = "memory of rank {memory_per_rank.rank}, which needs most"},
    {.line = "  parameters   {memory_per_rank.parameters}: {memory_formula.parameters}"},
    {.line = "  gradients    {memory_per_rank.gradients}: {memory_formula.gradients}"},
    {.line = "  optimizer    {memory_per_rank.optimizer}: {memory_formula.optimizer}"},
    {.line = "  activations  {memory_per_rank.activations_peak}: {memory_formula.activations_peak}"},
    {.line = "  working      {memory_per_rank.working}: {memory_formula.working}"},
    {.line = "  allocator    {memory_per_rank.allocator}: {memory_formula.allocator}"},
    {.line = kSumLine},
    {.line = kClassLine, .table = "ranks", .inside = &kOfClass, .first = 24},
}};
constexpr size_t kStepHead = 6;  ///< shows without memory

// ---- serving -------------------------------------------------------------------------------------------------

constexpr std::array<Show, 16> kServeText{{
    {.line = kGeneratedLine},
    {.line = "prefill: {?prefill.tokens}{prefill.tokens} tokens, {prefill.operations}, {prefill.parameter_bytes} of "
             "parameters and {prefill.cache_bytes} of the cache read"},
    {.line = "decode: {?decode.tokens}{decode.tokens} tokens, {decode.operations}, {decode.parameter_bytes} of "
             "parameters and {decode.cache_bytes} of the cache read"},
    {.when = "[!{?host.pass_ns}|{?host.sequence_ns}]",
     .line = "stack {stack}: the host takes {host.pass_ns} between passes, and {host.sequence_ns} for each sequence"},
    {.line = kAssumedLine},
    {.line = kParametersLine},
    {.line = "cache         {kv_bytes_per_token} per token, all layers"},
    {.line = "moved         {?transfer_bytes}{transfer_bytes} of the cache, to ranks that decode"},
    {.when = "[!{?prefill.surplus}|{?decode.surplus}]",
     .line = "surplus       [{?prefill.surplus}{prefill.surplus} in prefill][{?prefill.surplus}{?decode.surplus}, ]"
             "[{?decode.surplus}{decode.surplus} in decode]: duplicate work of ranks, or padding"},
    {.line = "memory of rank {memory_per_rank.rank}, which needs most"},
    {.line = "  parameters   {memory_per_rank.parameters}: elements of the rank"},
    {.line = "  cache        {memory_per_rank.cache}: keys and values of its layers and heads, at the end"},
    {.line =
         "  expanded     {?memory_per_rank.expanded}{memory_per_rank.expanded}: keys and values of all heads, between "
         "chunks of a prompt"},
    {.line = "  activations  {memory_per_rank.activations}: inputs and output of the largest operator"},
    {.line = kSumLine},
    {.line = kClassLine, .table = "ranks", .inside = &kOfClass, .first = 24},
}};
constexpr size_t kServeHead = 5;

}  // namespace

view::Text text_of(const StepJob& job) {
  const std::span<const Show> shows(kStepText);
  return {job.shows_memory ? shows : shows.first(kStepHead)};
}
view::Text text_of(const ServeJob& job) {
  const std::span<const Show> shows(kServeText);
  return {job.shows_memory ? shows : shows.first(kServeHead)};
}

}  // namespace chakra::generate
