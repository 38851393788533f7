// The answers of generated jobs.
#include <fmt/core.h>

#include <variant>

#include "chakra/answer/rows.h"
#include "chakra/generate/parts.h"

namespace chakra::generate {
namespace {

using answer::by_key;
using answer::ByKey;
using answer::joined;
using answer::kTextRows;

using answer::column;
using answer::Missing;
using answer::rows;
using answer::Unit;
using gen::ClassStats;
using gen::Communication;
using gen::ServeClassStats;
using gen::StepStats;

constexpr std::array kFiles{
    column<GeneratedJob>(
        "folder", Unit::none, "where the job is; not there where nothing was written",
        [](const auto& job) { return job.folder.empty() ? std::nullopt : std::optional(job.folder); },
        Missing::left_out),
    column<&GeneratedJob::classes>("classes", Unit::count, "classes of ranks"),
    column<&GeneratedJob::least_nodes>("nodes_per_rank.least", Unit::count, "of the rank with the fewest nodes"),
    column<&GeneratedJob::most_nodes>("nodes_per_rank.most", Unit::count, "of the rank with the most nodes")};
constexpr std::array kShape{column<&GeneratedJob::name>("name", Unit::none, "what the job is: step or serve"),
                            column<&GeneratedJob::shape>("shape", Unit::none, "sizes of the parallel dimensions")};
constexpr std::array kRankCount{column<&GeneratedJob::ranks>("rank_count", Unit::count, "ranks of the job")};

/// A number of bytes or parameters, which are whole.
template <class Row, class Get>
constexpr auto rounded(std::string_view key, Unit unit, std::string_view meaning, Get) {
  return column<Row>(key, unit, meaning, [](const Row& row) { return whole(Get{}(row)); });
}
/// Only where there is some.
template <auto Member>
constexpr auto if_any(std::string_view key, Unit unit, std::string_view meaning) {
  using Row = typename answer::detail::OfMember<Member>::Row;
  return column<Row>(
      key, unit, meaning, [](const Row& row) { return row.*Member > 0 ? std::optional(row.*Member) : std::nullopt; },
      Missing::left_out);
}
template <class Row>
constexpr auto of_class(std::string_view key, std::string_view meaning) {
  return rounded<Row>(key, Unit::none, meaning, [](const Row& row) { return row.parameters; });
}

constexpr std::array kSentRows{
    column<&Communication::group>("group", Unit::none, "the group; of messages pp, cp or kv"),
    column<&Communication::type>("type", Unit::none, "the operation"),
    column<&Communication::count>("count", Unit::count, "how many there are"),
    rounded<Communication>("bytes", Unit::bytes, "sum of the buffers", [](const auto& c) { return c.bytes; }),
    rounded<Communication>("wire_bytes", Unit::bytes, "what the rank sends, with a ring",
                           [](const auto& c) { return c.wire_bytes; })};
constexpr std::array kStorageRows{
    column<&gen::StorageSum::tier>("tier", Unit::none, "the tier of storage"),
    column<&gen::StorageSum::kind>("io_kind", Unit::none, "the kind of the operations"),
    column<&gen::StorageSum::count>("count", Unit::count, "how many there are"),
    rounded<gen::StorageSum>("bytes", Unit::bytes, "what they move", [](const auto& io) { return io.bytes; })};
template <class Row>
constexpr auto storage_place() {
  return rows<Row>("storage", "what a rank loads and stores", [](const Row& row) { return !row.storage.empty(); });
}
/// The rows below `ranks`.
template <class Classes>
void add_parts(const Classes& classes, answer::Builder& to) {
  to.children(
      "ranks", "communication", classes, [](const auto& c) -> const auto& { return c.communication; }, kSentRows);
  to.children(
      "ranks", "storage", classes, [](const auto& c) -> const auto& { return c.storage; }, kStorageRows);
}
/// That of the rank that needs most.
template <class Classes, size_t N>
void add_memory(const Classes& classes, const std::array<answer::Column<typename Classes::value_type>, N>& columns,
                answer::Builder& to) {
  const typename Classes::value_type none;
  to.values("", classes.empty() ? &none : &fullest(classes), columns);
}

using sim::MemoryUse;
constexpr std::array kSum{
    column<&MemoryUse::rank>("memory_per_rank.rank", Unit::id, "the rank that needs most"),
    rounded<MemoryUse>("memory_per_rank.sum", Unit::bytes, "sum of its parts", [](const auto& m) { return m.bytes; })};
constexpr std::array kAtMost{rounded<MemoryUse>("memory_at_most", Unit::bytes,
                                                "their sum with allocator, context and buffers",
                                                [](const auto& m) { return m.most(); })};
constexpr std::array kFits{
    rounded<MemoryUse>("device_memory", Unit::bytes, "memory of the device",
                       [](const auto& m) { return m.device_bytes; }),
    column<MemoryUse>("fits", Unit::none,
                      "whether it fits into the device: yes, maybe (with allocator and so on) or no",
                      [](const auto& m) { return sim::fits(m); })};
template <class Classes>
MemoryUse use_of(const Classes& classes, double device_gib, bool fsdp) {
  MemoryUse use;
  use.fsdp = fsdp;
  use.device_bytes = device_gib * kGib;
  if (!classes.empty()) use.rank = fullest(classes).first_rank, use.bytes = fullest(classes).memory.sum();
  return use;
}

// ---- cases ---------------------------------------------------------------------------------------------------

struct WrittenCase {
  std::string_view name, description;
  int64_t ranks = 0;
};
constexpr std::array kCases{column<&WrittenCase::name>("case", Unit::none, "the name: files are CASE.RANK.et"),
                            column<&WrittenCase::description>("description", Unit::none, "its contents"),
                            column<&WrittenCase::ranks>("ranks", Unit::count, "its ranks")};

// ---- steps ---------------------------------------------------------------------------------------------------

template <class Get>
constexpr auto of_memory(std::string_view key, std::string_view meaning, Get) {
  return rounded<ClassStats>(key, Unit::bytes, meaning, [](const ClassStats& c) { return Get{}(c.memory); });
}
constexpr std::array kMemory{
    of_memory("memory_per_rank.parameters", "of parameters", [](const auto& m) { return m.parameters; }),
    of_memory("memory_per_rank.gradients", "of gradients", [](const auto& m) { return m.gradients; }),
    of_memory("memory_per_rank.optimizer", "of the optimizer", [](const auto& m) { return m.optimizer; }),
    of_memory("memory_per_rank.activations_peak", "of tensors that backward needs",
              [](const auto& m) { return m.activations_peak; }),
    of_memory("memory_per_rank.working", "of the part at work", [](const auto& m) { return m.working; }),
    of_memory("memory_per_rank.allocator", "what the allocator rounds up and leaves unused",
              [](const auto& m) { return m.allocator(); })};
constexpr std::array kFormulas{
    column<&MemoryFormulas::parameters>("memory_formula.parameters", Unit::none, "how they are counted"),
    column<&MemoryFormulas::gradients>("memory_formula.gradients", Unit::none, "how they are counted"),
    column<&MemoryFormulas::optimizer>("memory_formula.optimizer", Unit::none, "how it is counted"),
    column<&MemoryFormulas::activations>("memory_formula.activations_peak", Unit::none, "how they are counted"),
    column<&MemoryFormulas::working>("memory_formula.working", Unit::none, "how it is counted"),
    column<&MemoryFormulas::allocator>("memory_formula.allocator", Unit::none, "how it is counted")};
constexpr std::array kClass{column<&ClassStats::first_rank>("first_rank", Unit::id, "the first rank of the class"),
                            column<&ClassStats::ranks>("count", Unit::count, "ranks of the class")};
constexpr auto kStepClasses = joined(
    joined(
        joined(kClass, std::array{of_class<ClassStats>("parameters", "parameters of a rank"),
                                  column<&ClassStats::operations>("operations", Unit::flop, "operations of a rank")}),
        kMemory),
    std::array{rows<ClassStats>("communication", "what a rank sends and receives"),
               if_any<&ClassStats::fp8_operations>("fp8_operations", Unit::flop, "FLOPs with 8-bit inputs"),
               storage_place<ClassStats>()});
constexpr std::array kAssumed{
    column<&AssumedDevice::ops_per_s>("ops_per_s", Unit::flop_per_s, "peak of the device"),
    column<&AssumedDevice::bytes_per_s>("bytes_per_s", Unit::bytes_per_s, "bandwidth of its memory"),
    column<&AssumedDevice::efficiency>("efficiency", Unit::share, "share of the peak that kernels reach")};
constexpr std::array kStack{column<&StepJob::stack>("stack", Unit::none, "the software")};
constexpr std::array kStepStats{
    column<&StepStats::parameters>("parameters", Unit::none, "parameters of the model"),
    column<&StepStats::active_parameters>("active_parameters", Unit::none, "those that a token meets"),
    column<StepStats>(
        "trained_parameters", Unit::none, "those of adapters, where all others are frozen",
        [](const auto& s) {
          return s.trained_parameters > 0 ? std::optional(whole(s.trained_parameters)) : std::nullopt;
        },
        Missing::left_out),
    column<&StepStats::tokens>("tokens", Unit::count, "tokens of the step"),
    column<&StepStats::operations>("operations", Unit::flop, "FLOPs of all ranks: matrix multiplications only"),
    if_any<&StepStats::fp8_operations>("fp8_operations", Unit::flop, "those of them with 8-bit inputs"),
    column<&StepStats::bubble>("ideal_bubble", Unit::share, "idle time of the schedule over its work"),
    column<&StepStats::bubble_depends>("ideal_bubble_depends", Unit::none,
                                       "it holds where forward and both gradients take the same time")};
constexpr std::array kSurplus{
    column<&gen::Surplus::name>("name", Unit::none, "the kind of operator"),
    column<&gen::Surplus::operations>("operations", Unit::flop, "duplicate work of ranks, and padding")};

// ---- serving -------------------------------------------------------------------------------------------------

template <class Get>
constexpr auto of_serving(std::string_view key, std::string_view meaning, Get) {
  return rounded<ServeClassStats>(key, Unit::bytes, meaning, [](const ServeClassStats& c) { return Get{}(c.memory); });
}
constexpr std::array kServeMemory{
    of_serving("memory_per_rank.parameters", "of parameters", [](const auto& m) { return m.parameters; }),
    of_serving("memory_per_rank.cache", "of the cache, when all is done", [](const auto& m) { return m.cache; }),
    of_serving("memory_per_rank.expanded", "keys and values of all heads, between chunks of a prompt",
               [](const auto& m) { return m.expanded; }),
    of_serving("memory_per_rank.activations", "inputs and output of an operator, the most of them all",
               [](const auto& m) { return m.activations; })};
constexpr auto kServeClasses = joined(
    joined(
        std::array{
            column<&ServeClassStats::first_rank>("first_rank", Unit::id, "the first rank of the class"),
            column<&ServeClassStats::ranks>("count", Unit::count, "ranks of the class"),
            column<&ServeClassStats::prefill>("prefill", Unit::none, "they do prefill"),
            column<&ServeClassStats::decode>("decode", Unit::none, "they decode"),
            of_class<ServeClassStats>("parameters", "parameters of a rank"),
            column<&ServeClassStats::operations>("operations", Unit::flop, "operations of a rank"),
            column<&ServeClassStats::parameter_bytes>("parameter_bytes", Unit::bytes, "parameters that a rank reads"),
            column<&ServeClassStats::cache_bytes>("cache_bytes", Unit::bytes, "what a rank reads of the cache")},
        kServeMemory),
    std::array{rows<ServeClassStats>("communication", "what a rank sends and receives"),
               storage_place<ServeClassStats>()});
constexpr std::array kServed{
    column<&ServeJob::stack>("stack", Unit::none, "the software"),
    column<ServeJob>("parameters", Unit::none, "parameters of the model",
                     [](const auto& j) { return j.stats.parameters; }),
    column<ServeJob>("active_parameters", Unit::none, "those that a token meets",
                     [](const auto& j) { return j.stats.active_parameters; }),
    column<ServeJob>("kv_bytes_per_token", Unit::bytes, "bytes of the cache for a token, all layers",
                     [](const auto& j) { return j.stats.kv_bytes_per_token; }),
    column<ServeJob>("host.pass_ns", Unit::ns, "what the host takes between passes",
                     [](const auto& j) { return int64_t{j.serve.pass_ns}; }),
    column<ServeJob>("host.sequence_ns", Unit::ns, "what the host takes for each sequence",
                     [](const auto& j) { return int64_t{j.serve.sequence_ns}; })};
constexpr std::array kPhase{
    column<&gen::PhaseStats::tokens>("tokens", Unit::count, "input tokens"),
    column<&gen::PhaseStats::operations>("operations", Unit::flop, "FLOPs of all ranks: matrix multiplications only"),
    column<&gen::PhaseStats::surplus>("surplus", Unit::flop, "what ranks do more than once, or pad"),
    column<&gen::PhaseStats::parameter_bytes>("parameter_bytes", Unit::bytes, "parameters that are read"),
    column<&gen::PhaseStats::cache_bytes>("cache_bytes", Unit::bytes, "bytes of the cache that are read")};
constexpr std::array kBothPhases{
    column<gen::ServeStats>("operations", Unit::flop, "operations of both phases",
                            [](const auto& s) { return s.prefill.operations + s.decode.operations; }),
    column<&gen::ServeStats::transfer_bytes>("transfer_bytes", Unit::bytes,
                                             "of the cache, from ranks of prefill to those that decode")};

void add_findings(const Findings& findings, answer::Builder& to) {
  to.findings("findings", "options without effect, and assumptions", findings, !findings.empty());
}

}  // namespace

answer::Answer answer_of(const CaseOptions& options) {
  std::vector<WrittenCase> cases;
  for (const gen::NamedCase& row : gen::cases()) cases.push_back({row.name, row.description, options.ranks});
  answer::Builder to("gen cases");
  to.table("", "the cases", cases, kCases);
  return std::move(to).finish();
}

answer::Answer answer_of(const StepJob& job) {
  const StepStats& stats = job.stats;
  answer::Builder to("gen step");
  to.values("", &job.files, kFiles);
  to.values("", &job.files, kShape);
  to.values("", &job, kStack);
  to.table("by_stack", "options that mean something else with that stack", job.by_stack, kTextRows,
           !job.by_stack.empty());
  add_findings(job.findings, to);
  to.values("assumed_device.", job.assumed ? &*job.assumed : nullptr, kAssumed);
  const ByKey<TakenValue> taken = taken_options(job);
  to.table("taken", "options that were not given, and what was taken", taken, by_key<TakenValue>(Unit::none),
           !taken.empty());
  to.values("", &stats, kStepStats);
  const MemoryUse fit = use_of(stats.classes, job.device_memory_gib, job.step.framework.fsdp);
  const MemoryFormulas formulas = formulas_of(job);
  add_memory(stats.classes, kMemory, to);
  to.values("", &fit, kSum);
  to.values("", &fit, kAtMost);
  to.values("", &fit, kFits);
  to.values("", &formulas, kFormulas);
  to.table("surplus", "work that some ranks do more than once", stats.surplus, kSurplus);
  to.values("", &job.files, kRankCount);
  to.table("ranks", "classes of ranks", stats.classes, kStepClasses);
  add_parts(stats.classes, to);
  return std::move(to).finish();
}

void add_memory_by_class(std::string key, const std::vector<ClassStats>& classes, answer::Builder& to, bool present) {
  constexpr auto kColumns =
      joined(joined(kClass, kMemory),
             std::array{of_memory("memory_per_rank.sum", "sum of the parts", [](const auto& m) { return m.sum(); })});
  to.table(std::move(key), "memory of a rank of each class, by formulas", classes, kColumns, present);
}

answer::Answer answer_of(const ServeJob& job) {
  const gen::ServeStats& stats = job.stats;
  answer::Builder to("gen serve");
  to.values("", &job.files, kFiles);
  to.values("", &job.files, kShape);
  add_findings(job.findings, to);
  to.values("", &job, kServed);
  to.values("assumed_device.", job.assumed ? &*job.assumed : nullptr, kAssumed);
  to.values("prefill.", &stats.prefill, kPhase);
  to.values("decode.", &stats.decode, kPhase);
  to.values("", &stats, kBothPhases);
  const MemoryUse fit = use_of(stats.classes, job.device_memory_gib, false);
  add_memory(stats.classes, kServeMemory, to);
  to.values("", &fit, kSum);
  to.values("", &fit, kAtMost);
  to.values("", &fit, kFits);
  to.values("", &job.files, kRankCount);
  to.table("ranks", "classes of ranks", stats.classes, kServeClasses);
  add_parts(stats.classes, to);
  return std::move(to).finish();
}

}  // namespace chakra::generate
