// The values of points, and where the answers of the calls have them.
#include <cmath>

#include "chakra/sweep/parts.h"

namespace chakra::sweep {

using answer::Type;
using answer::Unit;

const std::array<MetricRow, kMetricCount> kMetrics{{
    {"makespan_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "time of the job; of a what-if: with the change, without jitter",
     {{{"sim", "makespan_ps"}, {"whatif", "after_ps"}}}},
    {"likely_least_ps",
     Type::whole,
     Unit::ps,
     Goal::none,
     "the makespan, if as far off as the most overestimated published step of its class",
     {{{"sim", "published.least_ps"}, {"whatif", "after_published.least_ps"}}}},
    {"likely_most_ps",
     Type::whole,
     Unit::ps,
     Goal::none,
     "the same of the most underestimated published step",
     {{{"sim", "published.most_ps"}, {"whatif", "after_published.most_ps"}}}},
    {"likely_covers",
     Type::real,
     Unit::share,
     Goal::none,
     "share of further steps of the class between likely_least_ps and likely_most_ps",
     {{{"sim", "published.covers"}, {"whatif", "after_published.covers"}}}},
    {"token_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "of serving: time per output token under load",
     {{{"sim", "serving.token_ps"}, {"whatif", "after_serving.token_ps"}}}},
    {"likely_token_least_ps",
     Type::whole,
     Unit::ps,
     Goal::none,
     "token_ps, if as far off as the most overestimated published time of its class",
     {{{"sim", "serving.published.least_ps"}, {"whatif", "after_serving.published.least_ps"}}}},
    {"likely_token_most_ps",
     Type::whole,
     Unit::ps,
     Goal::none,
     "the same of the most underestimated published time",
     {{{"sim", "serving.published.most_ps"}, {"whatif", "after_serving.published.most_ps"}}}},
    {"before_ps",
     Type::whole,
     Unit::ps,
     Goal::none,
     "of a what-if: time without the change",
     {{{"whatif", "before_ps"}}}},
    {"change_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "of a what-if: makespan_ps - before_ps",
     {{{"whatif", "change_ps"}}}},
    {"noise_median_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "of a what-if with jitter: median time of the runs",
     {{{"whatif", "noise.median_ps"}}}},
    {"prediction_error",
     Type::real,
     Unit::share,
     Goal::none,
     "of a measured job: simulated / measured - 1 without changes, with recorded transfers (what-if: before_ps)",
     {{{"sim", "measured.recorded_transfers.error"}, {"whatif", "error"}}}},
    {"kernels_error",
     Type::real,
     Unit::share,
     Goal::none,
     "error of device times from measured kernels",
     {{{"sim", "device_time.measured_kernels.error"}}}},
    {"estimates_error",
     Type::real,
     Unit::share,
     Goal::none,
     "error of device times from estimates",
     {{{"sim", "device_time.estimated.error"}}}},
    {"tokens_per_s",
     Type::real,
     Unit::none,
     Goal::larger,
     "tokens per second of the job",
     {{{"sim", "throughput.tokens_per_s"}}}},
    {"tokens_per_s_per_rank",
     Type::real,
     Unit::none,
     Goal::larger,
     "tokens per second and rank",
     {{{"sim", "throughput.tokens_per_s_per_rank"}}}},
    {"model_ops_per_s_per_rank",
     Type::real,
     Unit::flop_per_s,
     Goal::larger,
     "FLOP/s of the model per rank: forward and backward, each once",
     {{{"sim", "throughput.model_ops_per_s_per_rank"}}}},
    {"mfu",
     Type::real,
     Unit::share,
     Goal::larger,
     "share of the peak rate (model FLOPs utilization)",
     {{{"sim", "throughput.mfu"}}}},
    {"compute_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "computation, mean of the ranks",
     {{{"sim", "ranks[].compute_ps"}}}},
    {"exposed_comm_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "exposed communication, mean of the ranks",
     {{{"sim", "ranks[].exposed_comm_ps"}}}},
    {"bubble_ps",
     Type::whole,
     Unit::ps,
     Goal::smaller,
     "pipeline bubble, mean of the ranks",
     {{{"sim", "ranks[].bubble_ps"}}}},
    {"idle_ps", Type::whole, Unit::ps, Goal::smaller, "idle time, mean of the ranks", {{{"sim", "ranks[].idle_ps"}}}},
    {"congestion_model",
     Type::text,
     Unit::none,
     Goal::none,
     "contention model: closed, fluid or packet",
     {{{"sim", "congestion.mode"}}}},
    {"ranks",
     Type::whole,
     Unit::count,
     Goal::smaller,
     "ranks of the job, with the changes of a what-if",
     {{{"gen", "rank_count"}}}},
    {"memory_bytes",
     Type::whole,
     Unit::bytes,
     Goal::smaller,
     "memory of the rank that fills its device most",
     {{{"gen", "memory_per_rank.sum"}}}},
    {"memory_at_most_bytes",
     Type::whole,
     Unit::bytes,
     Goal::smaller,
     "the same with allocator, context and buffers",
     {{{"gen", "memory_at_most"}}}},
    {"device_memory_bytes", Type::whole, Unit::bytes, Goal::none, "memory of the device", {{{"gen", "device_memory"}}}},
    {"fits",
     Type::text,
     Unit::none,
     Goal::none,
     "whether the job fits into the device: yes, maybe or no",
     {{{"gen", "fits"}}}},
}};

namespace {

constexpr std::string_view kRanks = "ranks[].";

/// The mean of a column, weighted equally; missing without rows.
answer::Cell mean_of(const answer::Answer& answer, std::string_view key) {
  const answer::Table* const table = answer.table("ranks");
  const answer::Series* const column = table && table->present ? table->column(key) : nullptr;
  if (!column || column->size() == 0) return {};
  double sum = 0;
  for (size_t r = 0; r < column->size(); ++r) {
    if (!column->has(r)) return {};
    sum += static_cast<double>(column->whole(r));
  }
  return static_cast<int64_t>(std::llround(sum / static_cast<double>(column->size())));
}

answer::Cell cell_of(const answer::Answer& answer, std::string_view key) {
  if (key.starts_with(kRanks)) return mean_of(answer, key.substr(kRanks.size()));
  const answer::Value* const value = answer.value(key);
  if (!value || !value->present) return {};
  const auto* const real = std::get_if<double>(&value->cell);
  return real && !std::isfinite(*real) ? answer::Cell() : value->cell;
}

size_t place_of(std::string_view metric) {
  const MetricRow* const row = find_row(kMetrics, metric);
  CHAKRA_ASSERT(row != nullptr);
  return static_cast<size_t>(row - kMetrics.data());
}

}  // namespace

void take_metrics(const answer::Answer& answer, MetricValues& values) {
  for (size_t m = 0; m < kMetrics.size(); ++m)
    for (const MetricRow::Source& source : kMetrics[m].sources)
      if (values[m].index() == 0 && !source.verb.empty() &&
          (answer.verb() == source.verb || answer.verb().starts_with(std::string(source.verb) + " ")))
        values[m] = cell_of(answer, source.key);
}

answer::Cell& metric_of(MetricValues& values, std::string_view name) { return values[place_of(name)]; }
const answer::Cell& metric_of(const MetricValues& values, std::string_view name) { return values[place_of(name)]; }

}  // namespace chakra::sweep
