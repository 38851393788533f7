// Training steps on random meshes of up to 256 ranks, of 8 models, in every schedule: what can be done is made, and no
// more; the check proves it, groups partition the ranks, operations are the closed form's, and it simulates to the end.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <numeric>

#include "chakra/check/check.h"
#include "chakra/gen/gen.h"
#include "chakra/model/model.h"
#include "chakra/sim/sim.h"

namespace chakra {
namespace {

using gen::StepOptions;

constexpr int64_t kMostRanks = 256;

int meshes() {
  const char* given = std::getenv("CHAKRA_TEST_MESHES");  // 300 for the full test
  return given ? std::atoi(given) : 10;
}

model::Model of_type(const char* type) {
  Findings findings;
  return model::parse_config(fmt::format(R"({{"model_type": "{}"}})", type), type, findings).value();
}

/// Grouped heads, tied and with biases, norms of heads, windows and four norms, parallel parts, experts, experts behind
/// a dense layer with shared ones, latent attention.
const std::vector<model::Model>& models() {
  static const std::vector<model::Model> all = [] {
    std::vector<model::Model> m{of_type("gemma3_text"), of_type("gpt_neox")};
    for (const char* name :
         {"llama3-70b", "gpt3-175b", "qwen3-30b-a3b", "mixtral-8x7b", "deepseek-moe-16b", "deepseek-v3"})
      m.push_back(model::find_model(name)->model);
    return m;
  }();
  return all;
}

/// A divisor of n.
int64_t some_divisor(Prng& random, int64_t n) {
  int64_t d = 1;
  for (const int64_t prime : {2, 3})
    while (n % (d * prime) == 0 && random.chance(0.5)) d *= prime;
  return d;
}

struct Ranks {
  int64_t tp = 1, cp = 1, dp = 1, pp = 1, ep = 1, etp = 0;
  int64_t all() const { return tp * cp * dp * pp; }
};
Ranks random_ranks(Prng& random) {
  Ranks r;
  for (int64_t times = random.between(1, 8); times > 0; --times) {
    int64_t& axis = *std::array{&r.tp, &r.cp, &r.dp, &r.pp}[random.below(4)];
    const int64_t factor = random.chance(0.75) ? 2 : 3;
    if (r.all() * factor <= kMostRanks && axis * factor <= 32) axis *= factor;
  }
  if (random.chance(0.7)) {
    r.ep = some_divisor(random, r.tp * r.cp * r.dp);
    r.etp = random.chance(0.5) ? some_divisor(random, r.tp * r.cp * r.dp / r.ep) : 0;
  }
  return r;
}

StepOptions random_step(Prng& random, const Ranks& r, const model::Model& model, std::string_view schedule) {
  StepOptions o;
  const bool experts = model.blocks.back().experts.has_value();
  o.tp = r.tp, o.cp = r.cp, o.dp = r.dp, o.pp = r.pp;
  if (experts) o.ep = r.ep, o.etp = r.etp;
  o.schedule = schedule;
  o.virtual_stages = schedule == "interleaved" ? random.between(2, 3) : 1;
  const int64_t pieces = o.pp * o.virtual_stages;
  model::ModelChange change;
  change.layers = std::max<int64_t>(2, pieces - random.between(0, 2)) + (pieces < 16 ? random.between(0, pieces) : 0);
  o.model = model::changed(model, change).value();
  o.sequence = std::array{1152, 1536, 1728}[random.below(3)];
  o.micro_batches = o.pp * random.between(1, o.pp > 8 ? 1 : 2) + (random.chance(0.1) ? 1 : 0);
  if (schedule == "dualpipe") o.micro_batches = 2 * o.pp;
  o.micro_batch_size = random.between(1, 2);
  o.order = std::array{"tp-cp-ep-dp-pp", "tp-cp-ep-dp-pp", "dp-cp-tp-ep-pp", "pp-tp-cp-dp-ep"}[random.below(4)];
  o.zero = random.between(0, 3);
  if (!experts && o.zero > 0 && random.chance(0.3)) o.zero_ranks = some_divisor(random, o.dp);
  o.sequence_parallel = random.chance(0.8);
  o.keep_gathered = random.chance(0.3);
  o.fused_attention = random.chance(0.7);
  o.overlap = random.chance(0.7);
  o.clip = random.chance(0.3);
  o.ends = random.chance(0.9);
  o.context = static_cast<gen::ContextKind>(random.below(3));
  o.recompute = std::array{gen::Recompute::none, gen::Recompute::selective, gen::Recompute::full}[random.below(3)];
  return o;
}

std::string describe(const StepOptions& o) {
  return fmt::format(
      "--model {} --layers {} --tp {} --cp {} --dp {} --pp {} --ep {} --etp {} --schedule {} --virtual-stages {} "
      "--micro-batches {} --micro-batch-size {} --sequence {} --order {} --zero {} --zero-ranks {} "
      "--sequence-parallel {} --keep-gathered {} --fused-attention {} --overlap {} --clip {} --ends {} context {} "
      "recompute {}",
      o.model.name, o.model.layers.size(), o.tp, o.cp, o.dp, o.pp, o.ep, o.etp, o.schedule, o.virtual_stages,
      o.micro_batches, o.micro_batch_size, o.sequence, o.order, o.zero, o.zero_ranks, o.sequence_parallel,
      o.keep_gathered, o.fused_attention, o.overlap, o.clip, o.ends, static_cast<int>(o.context),
      static_cast<int>(o.recompute));
}

// ---- what can be done ------------------------------------------------------------------------------------------

bool block_divides(const StepOptions& o, const model::Block& block, int64_t etp) {
  const model::Attention& a = block.attention;
  const bool by_heads = o.cp > 1 && o.context == gen::ContextKind::all_to_all;
  if (a.heads % (by_heads ? o.tp * o.cp : o.tp) != 0) return false;
  if (a.kv_rank == 0 && by_heads && a.kv_heads % (o.tp * o.cp) != 0) return false;
  if (a.kv_rank == 0 && a.kv_heads % o.tp != 0 && o.tp % a.kv_heads != 0) return false;
  if (!block.experts) return block.mlp.width % o.tp == 0;
  return block.experts->count % o.ep == 0 && block.experts->width % etp == 0 &&
         block.experts->shared_width % o.tp == 0 && (o.tp == 1 || o.sequence_parallel);
}

bool schedule_fits(const StepOptions& o) {
  const bool dual = o.schedule == "dualpipe", interleaved = o.schedule == "interleaved";
  const auto layers = static_cast<int64_t>(o.model.layers.size());
  if (o.pp * o.virtual_stages > layers + (o.ends ? 2 : 0)) return false;
  if (dual) return o.pp % 2 == 0 && o.micro_batches % 2 == 0 && o.micro_batches >= 2 * o.pp;
  return !interleaved || (o.pp > 1 && o.micro_batches % o.pp == 0);
}

bool possible(const StepOptions& o) {
  const int64_t etp = o.etp == 0 ? o.tp : o.etp, stage = o.tp * o.cp * o.dp;
  for (const model::Block& block : o.model.blocks)
    if (!block_divides(o, block, etp)) return false;
  if (o.sequence % ((o.sequence_parallel ? o.tp : 1) * o.cp) != 0 || stage % (etp * o.ep) != 0) return false;
  // Experts would lie across stages: tensor parallel ones of other size than the rest, in front of pp.
  return schedule_fits(o);
}

// ---- sums ------------------------------------------------------------------------------------------------------

double real(int64_t n) { return static_cast<double>(n); }

/// FLOPs of the GEMMs of a layer's forward pass for a token: generation.md 3. The second number is that of the scores.
std::pair<double, double> layer_operations(const model::Model& m, const model::Block& block, double s, bool fused) {
  const model::Attention& a = block.attention;
  const double d = real(m.hidden), heads = real(a.heads), qk = real(a.head_dim), v = real(a.value_dim);
  double keys = s;
  if (m.causal) {
    const double w = a.window > 0 ? std::min(real(a.window), s) : s;
    keys = (w * w / 2 + (s - w) * w) / s;  // of all tokens, on average
  }
  double products = heads * v * d;
  if (a.kv_rank > 0) {
    products += a.q_rank > 0 ? d * real(a.q_rank) + real(a.q_rank) * heads * qk : d * heads * qk;
    products += d * real(a.kv_rank + a.rope_dim) + real(a.kv_rank) * heads * (qk - real(a.rope_dim) + v);
  } else {
    products += d * heads * qk + d * real(a.kv_heads) * (qk + v);
  }
  products += keys * heads * (qk + v);
  if (const auto& e = block.experts) {
    products += d * real(e->count) + 3 * d * (real(e->active * e->width) + real(e->shared_width));
    if (e->shared_gate) products += d;
  } else {
    products += d * real(block.mlp.width) * (block.mlp.gated ? 3 : 2);
  }
  return {2 * products, 2 * keys * heads * (fused ? qk : qk + v)};
}

double closed_form(const StepOptions& o) {
  double sum = o.ends ? 3 * 2 * real(o.model.hidden) * real(o.model.vocabulary) : 0;
  for (const uint8_t kind : o.model.layers) {
    const auto [forward, scores] = layer_operations(o.model, o.model.blocks[kind], real(o.sequence), o.fused_attention);
    sum += 3 * forward;
    if (o.recompute == gen::Recompute::selective) sum += scores;
    if (o.recompute == gen::Recompute::full) sum += forward;
  }
  return sum * real(o.sequence * o.micro_batch_size * o.micro_batches * o.dp);
}

/// Of each axis: its groups have the same size, none a rank twice, and together all ranks (tied: of two stages).
std::string wrong_groups(const StepOptions& o, const trace::ClassJob& job) {
  std::map<std::string, std::vector<const trace::ProcessGroup*>> axes;
  for (const trace::ProcessGroup& g : job.groups)
    axes[g.name.substr(0, g.name.find_last_not_of("0123456789") + 1)].push_back(&g);
  for (const auto& [axis, groups] : axes) {
    std::vector<int64_t> members;
    for (const trace::ProcessGroup* g : groups) {
      if (g->ranks.size() != groups[0]->ranks.size() || g->ranks.size() < 2) return axis + " has groups of other sizes";
      members.insert(members.end(), g->ranks.begin(), g->ranks.end());
    }
    std::sort(members.begin(), members.end());
    std::vector<int64_t> ranks(static_cast<size_t>(o.tp * o.cp * o.dp * o.pp));
    std::iota(ranks.begin(), ranks.end(), 0);
    const bool tied = axis == "tied";
    if (tied && std::adjacent_find(members.begin(), members.end()) != members.end()) return "tied has a rank twice";
    if (tied ? members.size() != 2 * ranks.size() / static_cast<size_t>(o.pp) : members != ranks)
      return axis + " does not partition the ranks";
  }
  for (const trace::ClassJob::Rank& rank : job.ranks)
    for (size_t slot = 0; slot < job.group_slots[rank.cls].size(); ++slot) {
      const std::vector<int64_t>& ranks = job.groups[job.group_of[rank.first_group + slot]].ranks;
      if (std::find(ranks.begin(), ranks.end(), rank.rank) == ranks.end()) return "a rank is not in its group";
    }
  return "";
}

std::string wrong_edges(const trace::ClassJob& job) {
  for (const trace::Trace& t : job.classes) {
    if (!t.defects.empty()) return "defects";
    for (const trace::NodeId n : t.nodes())
      for (const trace::NodeId on : t.deps.of(n))
        if (on >= n) return fmt::format("node {} waits for {}", n, on);
  }
  return "";
}

void simulates(trace::ClassJob job) {
  sim::SimInput input;
  input.fabric = {{{net::TopologyKind::switch_, static_cast<int64_t>(job.ranks.size()), 50, 500}}};
  input.classes = std::move(job);
  const auto run = sim::simulate(std::move(input));
  ASSERT_TRUE(run) << run.error().message();
  for (const sim::RankReport& r : run->ranks) {
    EXPECT_GT(r.compute_ps, 0);
    EXPECT_EQ(r.compute_ps + r.exposed_comm_ps + r.host_ps + r.bubble_ps + r.idle_ps, r.finish_ps);
    EXPECT_LE(r.finish_ps, run->makespan_ps);
  }
}

struct Counts {
  int made = 0, refused = 0, simulated = 0;
};

void look_at(const StepOptions& o, bool simulate, Counts& counts) {
  SCOPED_TRACE(describe(o));
  const auto job = gen::step(o);
  ASSERT_EQ(bool(job), possible(o)) << (job ? "made" : job.error().message());
  if (!job) {
    EXPECT_TRUE(job.error().tag.starts_with("gen.step.")) << job.error().message();
    ++counts.refused;
    return;
  }
  ++counts.made;
  EXPECT_EQ(wrong_groups(o, *job), "");
  EXPECT_EQ(wrong_edges(*job), "");
  const auto stats = gen::stats(o, *job);
  ASSERT_TRUE(stats) << stats.error().message();
  double operations = stats->operations;
  for (const gen::Surplus& s : stats->surplus) operations -= s.operations;
  EXPECT_NEAR(operations / closed_form(o), 1, 1e-6);
  for (const Finding& f : check::check(trace::expand(*job)))
    EXPECT_EQ(f.severity, Severity::note) << f.tag << " " << f.text;
  if (!simulate) return;
  ++counts.simulated;
  simulates(*job);
}

TEST(Meshes, EveryStepOnThemIsRight) {
  Prng random(17);
  Counts counts;
  for (int mesh = 0; mesh < meshes(); ++mesh) {
    const Ranks ranks = random_ranks(random);
    for (const model::Model& model : models())
      for (const gen::ScheduleRow& schedule : gen::schedules()) {
        const StepOptions o = random_step(random, ranks, model, schedule.name);
        look_at(o, random.chance(0.2), counts);
        if (HasFatalFailure()) return;
      }
    if (meshes() > 20)
      fmt::print("{} of {} meshes: {} made, {} refused, {} simulated\n", mesh + 1, meshes(), counts.made,
                 counts.refused, counts.simulated);
    if (meshes() > 20) std::fflush(stdout);
  }
  EXPECT_GT(counts.made, 8 * meshes());
  EXPECT_GT(counts.simulated, meshes());
}

}  // namespace
}  // namespace chakra
