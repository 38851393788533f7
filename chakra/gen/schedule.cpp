#include "chakra/gen/schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/base/real.h"

namespace chakra::gen {
namespace {

void assert_runs(const Pipeline& p, int64_t stage) {
  CHAKRA_ASSERT(p.stages >= 1 && p.chunks >= 1 && p.micro_batches >= 1);
  CHAKRA_ASSERT(stage >= 0 && stage < p.stages);
}

double sum(const PassTimes& t) { return t.forward + t.input_gradient + t.weight_gradient; }

// ---- one chunk a stage -----------------------------------------------------------------------------------

std::string refuse_chunks(const Pipeline& p) {
  return p.chunks == 1 ? "" : fmt::format("{} chunks a stage; this schedule has 1", p.chunks);
}
int64_t piece_of_stage(const Pipeline&, int64_t stage, int64_t) { return stage; }

/// Huang et al., "GPipe" (2019): all forwards, then all backwards.
std::vector<Task> gpipe(const Pipeline& p, int64_t stage) {
  assert_runs(p, stage);
  std::vector<Task> tasks;
  for (const Pass pass : {Pass::forward, Pass::backward})
    for (int64_t k = 0; k < p.micro_batches; ++k) tasks.push_back({pass, k});
  return tasks;
}

/// (p-1) (t_f + t_b + t_w): the first micro-batch reaches the last stage after p-1 forwards, and the last one's
/// gradient comes back in p-1 backwards; between the two the last stage never idles.
double idle_of_whole_backward(const Pipeline& p, const PassTimes& t) { return real(p.stages - 1) * sum(t); }

/// Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM" (2021), section
/// 2.2.1: as many forwards ahead as there are stages behind, then one forward, one backward.
std::vector<Task> one_f_one_b(const Pipeline& p, int64_t stage) {
  assert_runs(p, stage);
  const int64_t all = p.micro_batches, ahead = std::min(p.stages - 1 - stage, all);
  std::vector<Task> tasks;
  for (int64_t k = 0; k < all + ahead; ++k) {
    if (k < all) tasks.push_back({Pass::forward, k});
    if (k >= ahead) tasks.push_back({Pass::backward, k - ahead});
  }
  return tasks;
}

/// Qi et al., "Zero bubble pipeline parallelism" (2023), ZB-H1: 1F1B, but stage i keeps the weight gradients of i
/// micro-batches back. So the input gradients leave earlier, and the weight gradients fill the time at the end.
std::vector<Task> zb_h1(const Pipeline& p, int64_t stage) {
  std::vector<Task> tasks;
  int64_t weights = 0;
  for (Task& task : one_f_one_b(p, stage)) {
    if (task.pass == Pass::backward) task.pass = Pass::input_gradient;
    tasks.push_back(task);
    if (task.pass == Pass::input_gradient && task.micro_batch >= stage)
      tasks.push_back({Pass::weight_gradient, weights++});
  }
  while (weights < p.micro_batches) tasks.push_back({Pass::weight_gradient, weights++});
  return tasks;
}

/// With m >= p and t_w <= t_f, t_b it is the paper's (p-1) (t_f + t_b - t_w). Weight gradients cannot fill more: the
/// first stage idles (p-1) t_b before its first gradient, the last one (p-1) t_f before its first micro-batch.
double zb_h1_idle(const Pipeline& p, const PassTimes& t) {
  const double filled = std::min({t.forward, t.input_gradient, t.weight_gradient});
  return real(p.stages - 1) * (t.forward + t.input_gradient) - real(std::min(p.micro_batches, p.stages) - 1) * filled;
}

// ---- interleaved -----------------------------------------------------------------------------------------

std::string refuse_interleaved(const Pipeline& p) {
  if (p.chunks < 2) return "interleaving needs at least 2 chunks a stage";
  if (p.stages < 2) return "interleaving needs at least 2 stages";
  if (p.micro_batches % p.stages != 0)
    return fmt::format("{} micro-batches are not a multiple of {} stages", p.micro_batches, p.stages);
  return "";
}

/// Narayanan et al. (2021), section 2.2.2, in Megatron-LM's order: p micro-batches go through the stage's first chunk,
/// the same p through the next, and so on; backwards likewise from the last chunk on.
std::vector<Task> interleaved(const Pipeline& p, int64_t stage) {
  assert_runs(p, stage);
  CHAKRA_ASSERT(p.micro_batches % p.stages == 0);
  const int64_t all = p.micro_batches * p.chunks;
  const int64_t ahead = std::min((p.stages - 1 - stage) * 2 + (p.chunks - 1) * p.stages, all);
  const auto task = [&](Pass pass, int64_t k) {
    const int64_t round = k / (p.stages * p.chunks), chunk = k / p.stages % p.chunks;
    return Task{pass, round * p.stages + k % p.stages, pass == Pass::forward ? chunk : p.chunks - 1 - chunk};
  };
  std::vector<Task> tasks;
  for (int64_t k = 0; k < all + ahead; ++k) {
    if (k < all) tasks.push_back(task(Pass::forward, k));
    if (k >= ahead) tasks.push_back(task(Pass::backward, k - ahead));
  }
  return tasks;
}
int64_t interleaved_piece(const Pipeline& p, int64_t stage, int64_t chunk) { return chunk * p.stages + stage; }

// ---- DualPipe --------------------------------------------------------------------------------------------

std::string refuse_dual_pipe(const Pipeline& p) {
  if (p.chunks != 2) return fmt::format("{} chunks a stage; this schedule has 2, one of each direction", p.chunks);
  if (p.stages % 2 != 0) return fmt::format("{} stages are not an even number", p.stages);
  if (p.micro_batches % 2 != 0) return fmt::format("{} micro-batches are not an even number", p.micro_batches);
  if (p.micro_batches / 2 < p.stages)
    return fmt::format("{} micro-batches are fewer than twice the {} stages", p.micro_batches, p.stages);
  return "";
}

/// Chunk 0 is on the way down the stages, and the first half of the micro-batches takes it; chunk 1 is on the way up.
int64_t dual_pipe_piece(const Pipeline& p, int64_t stage, int64_t chunk) {
  return chunk == 0 ? stage : p.stages - 1 - stage;
}

/// Adds tasks of a stage; each direction counts its micro-batches, and weight gradients are done in the order in which
/// they were put off.
struct DualPipeTasks {
  std::vector<Task> tasks;
  std::array<int64_t, 2> next_forward, next_backward;
  std::vector<Task> put_off;
  size_t caught_up = 0;

  void forward(int64_t chunk) { tasks.push_back({Pass::forward, next_forward[chunk]++, chunk}); }
  void backward(int64_t chunk) { tasks.push_back({Pass::backward, next_backward[chunk]++, chunk}); }
  void input_gradient(int64_t chunk) {
    put_off.push_back({Pass::weight_gradient, next_backward[chunk], chunk});
    tasks.push_back({Pass::input_gradient, next_backward[chunk]++, chunk});
  }
  void weight_gradient() { tasks.push_back(put_off[caught_up++]); }
  void pair(int64_t forward_chunk, int64_t backward_chunk) {
    forward(forward_chunk);
    backward(backward_chunk);
    tasks.back().with_previous = true;
  }
};

/// DeepSeek-AI, "DeepSeek-V3 technical report" (2024), section 3.2.1, and deepseek-ai/DualPipe. The pipeline is its own
/// mirror image. `near` is the direction that enters at the nearer end of the pipeline, `outside` the number of stages
/// between that end and this one, `inside` that between this one and the middle. The repository's code does not pair
/// the first backward of the stages in the middle, and idles less than the report's formula where t_b > t_f.
std::vector<Task> dual_pipe(const Pipeline& p, int64_t stage) {
  assert_runs(p, stage);
  CHAKRA_ASSERT(refuse_dual_pipe(p).empty());
  const int64_t outside = std::min(stage, p.stages - 1 - stage), inside = p.stages / 2 - 1 - outside;
  const int64_t near = stage == outside ? 0 : 1, far = 1 - near, half = p.micro_batches / 2;
  DualPipeTasks t;
  t.next_forward = t.next_backward = {0, half};
  const auto times = [](int64_t n, const auto& what) {
    for (int64_t i = 0; i < n; ++i) what(i);
  };
  times(2 * inside, [&](int64_t) { t.forward(near); });
  times(outside + 1, [&](int64_t) { t.forward(near), t.forward(far); });
  times(inside, [&](int64_t) { t.input_gradient(far), t.weight_gradient(), t.forward(far); });
  times(half - p.stages + outside + 1, [&](int64_t) { t.pair(near, far), t.pair(far, near); });
  times(inside, [&](int64_t) { t.backward(far), t.pair(far, near); });
  times(2 * (outside + 1), [&](int64_t i) {
    const int64_t chunk = i % 2 == 0 ? far : near;
    if (i <= outside) t.backward(chunk);
    else t.input_gradient(chunk);
  });
  times(inside, [&](int64_t) { t.weight_gradient(), t.input_gradient(near); });
  times(outside + 1, [&](int64_t) { t.weight_gradient(); });
  CHAKRA_ASSERT(t.caught_up == t.put_off.size() && t.tasks.size() == 2 * p.micro_batches + t.put_off.size());
  return std::move(t.tasks);
}

/// With t_f <= t_b and t_w <= t_b it is the report's (p/2-1) (t_fb + t_b - 2 t_w).
double dual_pipe_idle(const Pipeline& p, const PassTimes& t) {
  return real(p.stages / 2 - 1) * (t.pair + std::max(t.forward, t.input_gradient) - t.weight_gradient -
                                   std::min(t.input_gradient, t.weight_gradient));
}

constexpr ScheduleRow kSchedules[] = {
    {"gpipe", "all forwards, then all backwards; holds all micro-batches", "(p-1) (t_f + t_b + t_w)", 1, 1,
     refuse_chunks, gpipe, piece_of_stage, idle_of_whole_backward},
    {"1f1b", "one forward, one backward; stage i holds p - i micro-batches", "(p-1) (t_f + t_b + t_w)", 1, 1,
     refuse_chunks, one_f_one_b, piece_of_stage, idle_of_whole_backward},
    {"interleaved", "1f1b with v chunks of the model on each stage; m is a multiple of p",
     "(p-1) (t_f + t_b + t_w), times of a chunk, 1/v of a stage's", 0, 1, refuse_interleaved, interleaved,
     interleaved_piece, idle_of_whole_backward},
    {"zb-h1", "1f1b with deferred weight gradients; each stage holds p micro-batches",
     "(p-1) (t_f + t_b) - (min(m, p) - 1) min(t_f, t_b, t_w)", 1, 1, refuse_chunks, zb_h1, piece_of_stage, zb_h1_idle},
    {"dualpipe",
     "micro-batches from both ends, parameters twice; p and m even, m at least 2p; holds p + 1 micro-batches",
     "(p/2-1) (t_fb + max(t_f, t_b) - t_w - min(t_b, t_w))", 2, 2, refuse_dual_pipe, dual_pipe, dual_pipe_piece,
     dual_pipe_idle},
};

}  // namespace

std::span<const ScheduleRow> schedules() { return kSchedules; }

const ScheduleRow* find_schedule(std::string_view name) {
  const auto* row = std::ranges::find(kSchedules, name, &ScheduleRow::name);
  return row == std::end(kSchedules) ? nullptr : row;
}

int64_t pieces(const ScheduleRow& schedule, const Pipeline& pipeline) {
  return pipeline.stages * pipeline.chunks / schedule.copies;
}

int64_t in_flight(std::span<const Task> tasks) {
  int64_t now = 0, most = 0;
  for (const Task& task : tasks) {
    if (task.pass == Pass::forward) most = std::max(most, ++now);
    if (task.pass == Pass::backward || task.pass == Pass::weight_gradient) --now;
  }
  return most;
}

}  // namespace chakra::gen
