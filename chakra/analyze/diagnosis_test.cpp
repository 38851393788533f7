// Jobs with one planted problem each, against the first sentence of the diagnosis; and healthy jobs. A small executor
// computes the times of all ranks, so a problem of one rank delays the other ranks as in a real job.
#include "chakra/analyze/analyze.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "chakra/analyze/testing/numbers.h"

namespace chakra::analyze {
namespace {

using trace::Builder;
using trace::CommType;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;

constexpr Picoseconds kUs = kPsPerUs;
constexpr int64_t kSteps = 4, kLayers = 8;

/// The properties of a job; times in microseconds.
struct Plan {
  uint64_t seed = 0;
  int64_t ranks = 4;
  double jitter = 0.01;
  double kernel = 1000, host_op = 40, launch_latency = 6;
  double latency = 25, bytes_per_us = 20'000;  ///< of all-reduces in group 0
  int64_t bucket_bytes = 20'000'000;           ///< of the gradient of a layer
  bool pairs = false;                          ///< pairs of ranks reduce small results after each layer
  bool experts = false;
  bool loader_named = false;
  double pause_us = 0;   ///< host time without operators after the loader
  double before_us = 0;  ///< host work before the first step
  // Problems.
  int64_t slow = -1;
  double slow_factor = 1;
  int64_t late = -1;  ///< -2: every rank
  double late_us = 0;
  double host_gap = 3;
  int64_t cuts = 1;  ///< parts of a gradient
  bool no_overlap = false;
  int64_t skewed = -1;
  double skew = 1;    ///< load of the experts of this rank, by that of the others
  bool even = false;  ///< all ranks have the mean load of such a job
  int64_t slow_pair = -1;
  double pair_us = 10;
  int64_t allocates = -1;  ///< -2: every rank
  double allocate_us = 0;
};

class Executor {
 public:
  explicit Executor(const Plan& plan)
      : p_(plan), random_(plan.seed * 7919 + 17), ranks_(static_cast<size_t>(p_.ranks)) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      rank.b.trace.rank = static_cast<int64_t>(r);
      rank.b.trace.base_ns = static_cast<int64_t>(random_.next() % 1'000'000);  // clocks differ
    }
  }

  trace::TraceSet run() {
    for (Rank& r : ranks_)
      if (p_.before_us > 0) {
        kernel(r, 10);
        host(r, "aten::prepare", time(p_.before_us));
      }
    for (int64_t step = 0; step < kSteps; ++step) run_step(step);
    trace::TraceSet job;
    for (Rank& rank : ranks_) job.ranks.push_back(std::move(rank.b).finish());
    return job;
  }
  match::GroupTable groups() const {
    match::GroupTable groups;
    for (int64_t r = 0; r < p_.ranks; ++r) groups["0"].push_back(r), groups["ep"].push_back(r);
    for (int64_t r = 0; p_.pairs && r < p_.ranks; ++r) groups[fmt::format("tp{}", r / 2)].push_back(r);
    return groups;
  }

 private:
  struct Rank {
    Builder b;
    NodeId step = trace::kNoNode, last_host = trace::kNoNode, last_kernel = trace::kNoNode, last_comm = trace::kNoNode;
    Picoseconds host = 0, compute = 0, comm = 0;  ///< when each is free
  };

  /// A time with noise, from microseconds.
  Picoseconds time(double us) {
    double noise = 0;
    for (int i = 0; i < 12; ++i) noise += static_cast<double>(random_.next() % 1'000'001) / 1e6;
    return std::max<Picoseconds>(1, std::llround(us * static_cast<double>(kUs) * (1 + p_.jitter * (noise - 6))));
  }
  NodeId node(Rank& r, std::string_view name, NodeType type, Picoseconds start, Picoseconds dur, bool cpu) {
    const NodeId n = r.b.add(r.b.trace.size() + 1, r.b.trace.strings.intern(name), type);
    r.b.trace.flags.edit(n) |= trace::kHasStart | trace::kHasDuration | trace::kSaysCpuOrNot;
    if (cpu) r.b.trace.flags.edit(n) |= trace::kOnCpu;
    r.b.trace.start_ps.edit(n) = start;
    r.b.trace.dur_ps.edit(n) = dur;
    return n;
  }
  static void dep(Rank& r, NodeId n, NodeId on, EdgeKind kind) {
    if (on != trace::kNoNode) r.b.dep(n, on, static_cast<uint8_t>(kind));
  }
  NodeId host(Rank& r, std::string_view name, Picoseconds dur) {
    const NodeId n = node(r, name, NodeType::comp, r.host, dur, true);
    r.b.trace.lane.edit(n) = r.b.lane({trace::Lane::Kind::thread, 1, 1});
    if (name.starts_with("ProfilerStep")) r.step = n;
    else if (r.step != trace::kNoNode) r.b.ctrl(n, r.step);
    dep(r, n, r.last_host, EdgeKind::program);
    r.last_host = n;
    r.host += dur;
    return n;
  }
  NodeId launch(Rank& r) {
    host(r, trace::kHostGap, time(p_.host_gap));
    host(r, "aten::op", time(p_.host_op));
    return host(r, "cudaLaunchKernel", time(5));
  }
  void kernel(Rank& r, double us) {
    const NodeId call = launch(r);
    const Picoseconds start = std::max(r.compute, r.host + time(p_.launch_latency)), dur = time(us);
    const NodeId n = node(r, "gemm", NodeType::comp, start, dur, false);
    r.b.trace.lane.edit(n) = r.b.lane({trace::Lane::Kind::stream, 0, 7});
    dep(r, n, call, EdgeKind::launch);
    dep(r, n, r.last_kernel, EdgeKind::stream);
    dep(r, n, waits_for_comm_ ? r.last_comm : trace::kNoNode, EdgeKind::event);
    r.last_kernel = n;
    r.compute = start + dur;
  }

  /// A collective of the ranks first .. first + count - 1; `received` are the bytes of each member.
  void collective(std::string_view group, size_t first, size_t count, CommType type, int64_t bytes, double us,
                  bool needs_compute, const std::vector<int64_t>& received = {}) {
    Picoseconds last = 0;
    std::vector<std::pair<NodeId, Picoseconds>> members;
    for (size_t i = first; i < first + count; ++i) {
      Rank& r = ranks_[i];
      const NodeId call = launch(r);
      const Picoseconds start =
          std::max({r.comm, r.host + time(p_.launch_latency), needs_compute ? r.compute : Picoseconds{0}});
      const NodeId n = node(r, "ncclDevKernel", NodeType::coll, start, 0, false);
      r.b.trace.lane.edit(n) = r.b.lane({trace::Lane::Kind::stream, 0, 20});
      trace::Comm& comm = r.b.comm(n);
      comm.type = type;
      comm.bytes = static_cast<uint64_t>(bytes);
      if (!received.empty()) comm.out_bytes = static_cast<uint64_t>(received[i - first]);
      comm.group = r.b.trace.strings.intern(group);
      dep(r, n, call, EdgeKind::launch);
      dep(r, n, r.last_comm, EdgeKind::stream);
      if (needs_compute) dep(r, n, r.last_kernel, EdgeKind::event);
      last = std::max(last, start);
      members.emplace_back(n, start);
      r.last_comm = n;
    }
    const Picoseconds end = last + time(us);
    for (size_t i = 0; i < count; ++i) {
      ranks_[first + i].b.trace.dur_ps.edit(members[i].first) = end - members[i].second;
      ranks_[first + i].comm = end;
    }
  }
  void all_reduce(int64_t bytes) {
    for (int64_t i = 0; i < p_.cuts; ++i) {
      const int64_t part = bytes / p_.cuts;
      collective("0", 0, ranks_.size(), CommType::all_reduce, part,
                 p_.latency + static_cast<double>(part) / p_.bytes_per_us, true);
    }
  }
  /// Computation waits for communication.
  void wait() {
    for (Rank& r : ranks_) r.compute = std::max(r.compute, r.comm);
    waits_for_comm_ = true;
  }
  void kernels(double us) {
    for (size_t i = 0; i < ranks_.size(); ++i)
      kernel(ranks_[i], us * (static_cast<int64_t>(i) == p_.slow ? p_.slow_factor : 1));
    waits_for_comm_ = false;
  }
  void pairs() {
    for (size_t i = 0; p_.pairs && i + 1 < ranks_.size(); i += 2)
      collective(fmt::format("tp{}", i / 2), i, 2, CommType::all_reduce, 65'536,
                 static_cast<int64_t>(i / 2) == p_.slow_pair ? p_.pair_us : 10, true);
    if (p_.pairs) wait();
  }
  void experts() {
    if (!p_.experts) return;
    std::vector<double> loads(ranks_.size(), 1);
    if (p_.skewed >= 0) loads[static_cast<size_t>(p_.skewed)] = p_.skew;
    if (p_.even) loads.assign(loads.size(), 1 + (p_.skew - 1) / static_cast<double>(loads.size()));
    std::vector<int64_t> received;
    for (const double load : loads) received.push_back(std::llround(500'000 * load));
    collective("ep", 0, ranks_.size(), CommType::all_to_all, 500'000, 20, true, received);
    wait();
    for (size_t i = 0; i < ranks_.size(); ++i) kernel(ranks_[i], p_.kernel * loads[i]);
    waits_for_comm_ = false;
    collective("ep", 0, ranks_.size(), CommType::all_to_all, 500'000, 20, true);
    wait();
  }

  void run_step(int64_t step) {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      Rank& r = ranks_[i];
      host(r, fmt::format("ProfilerStep#{}", step), time(1));
      const bool late = p_.late == -2 || p_.late == static_cast<int64_t>(i);
      const Picoseconds load = time(p_.loader_named ? 30 + (late ? p_.late_us : 0) : late ? p_.late_us : 5);
      host(r, p_.loader_named ? "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" : trace::kHostGap, load);
      if (p_.pause_us > 0) host(r, trace::kHostGap, time(p_.pause_us));
    }
    for (int64_t l = 0; l < kLayers; ++l) {
      kernels(p_.kernel);
      pairs();
      if (l == 3) experts();
      for (size_t i = 0; l == 5 && i < ranks_.size(); ++i)
        if (p_.allocates == -2 || p_.allocates == static_cast<int64_t>(i)) {
          Rank& r = ranks_[i];
          r.host = std::max(r.host, r.compute);  // freeing waits for the device
          dep(r, host(r, "cudaFree", time(p_.allocate_us / 2)), r.last_kernel, EdgeKind::sync);
          host(r, "cudaMalloc", time(p_.allocate_us / 2));
        }
    }
    for (int64_t l = 0; l < kLayers; ++l) {
      kernels(2 * p_.kernel);
      if (!p_.no_overlap) all_reduce(p_.bucket_bytes);
    }
    for (int64_t l = 0; p_.no_overlap && l < kLayers; ++l) all_reduce(p_.bucket_bytes);
    wait();
    kernels(p_.kernel / 2);
    collective("0", 0, ranks_.size(), CommType::all_reduce, 4, p_.latency, true);
    wait();
    for (Rank& r : ranks_) {
      host(r, "cudaDeviceSynchronize", time(5));
      r.host = std::max(r.host, r.compute);
      dep(r, host(r, trace::kSyncRemainder, time(4)), r.last_comm, EdgeKind::sync);
    }
  }

  const Plan p_;
  Prng random_;
  std::vector<Rank> ranks_;
  bool waits_for_comm_ = false;
};

DiagnosisNumbers measure(const Plan& plan) {
  Executor executor(plan);
  const trace::TraceSet set = executor.run();
  return testing::numbers_of_job(set, executor.groups());
}

/// A healthy job: sizes, options and noise by the number.
Plan healthy(uint64_t seed) {
  Plan p;
  p.seed = seed;
  p.ranks = std::array<int64_t, 3>{2, 4, 8}[seed % 3];
  p.kernel = 600 + static_cast<double>(seed % 7) * 200;
  p.bytes_per_us = 20'000 * (0.8 + static_cast<double>(seed % 5) * 0.2);
  p.pairs = seed % 2 == 1;
  p.experts = seed % 4 >= 2;
  p.loader_named = seed % 5 == 0;
  p.before_us = seed % 7 == 3 ? 50'000 : 0;
  return p;
}

struct Planted {
  std::string_view kind;
  std::string place;
  Plan plan, without;  ///< the same job without the problem
};

Planted planted(std::string_view kind, uint64_t seed) {
  Planted out{kind, "", healthy(seed), {}};
  Plan& p = out.plan;
  const auto size = static_cast<double>(seed % 5);
  if (kind == "skewed_expert") p.experts = true;
  if (kind == "slow_link") p.ranks = seed % 2 == 0 ? 6 : 8, p.pairs = true;
  if (kind == "no_overlap") p.bucket_bytes = 10'000'000 + 5'000'000 * static_cast<int64_t>(seed % 5);
  out.without = p;
  const auto some = static_cast<int64_t>(seed * 3 % static_cast<uint64_t>(p.ranks));
  out.place = fmt::format("rank {}", some);
  if (kind == "slow_rank") {
    p.slow = some, p.slow_factor = 1.08 + 0.08 * size;
  } else if (kind == "late_data_loader") {
    p.late = seed % 2 == 0 ? some : -2, p.late_us = p.kernel * (1.5 + size);
    if (p.late == -2) out.place = "all ranks";
  } else if (kind == "memory_peak") {
    p.allocates = seed % 2 == 0 ? some : -2, p.allocate_us = p.kernel * (1.5 + size);
    if (p.allocates == -2) out.place = "all ranks";
  } else if (kind == "skewed_expert") {
    p.skewed = some, p.skew = out.without.skew = 3 + size;
    out.without.even = true;
  } else if (kind == "host_bound") {
    p.host_gap = p.kernel * (1.1 + 0.2 * size), out.place = "all ranks";
  } else if (kind == "slow_link") {
    p.slow_pair = static_cast<int64_t>(seed % 3), p.pair_us = p.kernel * (0.2 + 0.1 * size);
    out.place = fmt::format("group tp{}", p.slow_pair);
  } else if (kind == "small_messages") {
    p.cuts = 60 + 25 * static_cast<int64_t>(seed % 5), p.latency = 30, p.host_op = 1, p.host_gap = 1,
    out.place = "group 0";
  } else {
    p.no_overlap = true;
    out.place = "group 0";
  }
  return out;
}

/// What a cost may be, in shares of the step: the time that the same job without the problem saves, with an allowance.
/// The cost of host_bound is a lower bound. The costs of small_messages and no_overlap are upper bounds, because the
/// last gradient of a step cannot overlap.
std::pair<double, double> allowed(std::string_view kind, double real) {
  const double wide = 0.01 + 0.05 * real;
  if (kind == "host_bound") return {0.3 * real - wide, real + wide};
  if (kind == "small_messages") return {real - wide, 1.2 * real + 0.03};
  if (kind == "no_overlap") return {real - wide, 1.2 * real + wide};
  return {real - wide, real + wide};
}

/// The share of the step that a problem takes, and whether the first diagnosis has its kind, place and cost.
struct Outcome {
  double real = 0;
  bool right = false;
};
Outcome outcome_of(const Planted& job, uint64_t seed, std::string& wrong) {
  const DiagnosisNumbers numbers = measure(job.plan);
  const Diagnosis first = diagnose(numbers).rows[0];
  const double with = static_cast<double>(numbers.whole());
  const double real = 1 - static_cast<double>(measure(job.without).whole()) / with;
  const auto [least, most] = allowed(job.kind, real);
  const bool right = first.kind == job.kind && first.place == job.place && first.share >= least && first.share <= most;
  if (!right)
    wrong += fmt::format("\n{}: expected {} ({:.1f} %), found {} at {} ({:.1f} %)", seed, job.place, 100 * real,
                         first.kind, first.place, 100 * first.share);
  return {real, right};
}

TEST(Diagnosis, NamesPlantedProblemsAndTheirCost) {
  for (const DiagnosisRule& rule : kDiagnosisRules) {
    if (rule.kind == "pipeline_bubbles") continue;  // waits_test.cpp
    int right = 0;
    std::string wrong;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Outcome outcome = outcome_of(planted(rule.kind, seed), seed, wrong);
      EXPECT_GE(outcome.real, 0.03) << rule.kind << " " << seed << " is not planted";
      right += outcome.right;
    }
    RecordProperty(std::string(rule.kind), right);
    EXPECT_GE(right, 19) << rule.kind << wrong;
  }
}

double uniform(Prng& random, double from, double to) {
  return from + (to - from) * static_cast<double>(random.below(1'000'001)) / 1e6;
}

/// A healthy job of other sizes: any number of ranks, fast and slow kernels, networks and hosts.
Plan unseen(Prng& random) {
  Plan p;
  p.seed = random.next();
  p.ranks = static_cast<int64_t>(random.between(2, 9));
  p.kernel = uniform(random, 300, 3000);
  p.host_op = uniform(random, 10, 60);
  p.latency = uniform(random, 5, 60);
  p.bytes_per_us = uniform(random, 5'000, 60'000);
  p.bucket_bytes = std::llround(p.bytes_per_us * p.kernel * uniform(random, 0.2, 1.2));
  p.pairs = random.below(2) == 0;
  p.experts = random.below(2) == 0;
  p.loader_named = random.below(3) == 0;
  p.before_us = random.below(4) == 0 ? uniform(random, 1'000, 100'000) : 0;
  return p;
}

/// A problem that takes about this share of the step, in a job of other sizes.
Planted unseen_problem(std::string_view kind, Prng& random) {
  Planted out{kind, "", unseen(random), {}};
  Plan& p = out.plan;
  if (kind == "skewed_expert") p.experts = true;
  if (kind == "slow_link") p.ranks = 2 * static_cast<int64_t>(random.between(3, 4)), p.pairs = true;
  if (kind == "host_bound") p.pairs = p.experts = false, p.kernel = uniform(random, 100, 400);
  const double share = uniform(random, 0.04, 0.29), layers = static_cast<double>(kLayers);
  const double cost = 24.5 * p.kernel * share / (1 - share), members = static_cast<double>(p.ranks);
  if (kind == "no_overlap") p.bucket_bytes = std::llround(p.bytes_per_us * cost / layers);
  out.without = p;
  const auto some = static_cast<int64_t>(random.below(static_cast<uint64_t>(p.ranks)));
  const bool all = random.below(2) == 0;
  out.place = fmt::format("rank {}", some);
  if (kind == "slow_rank") {
    p.slow = some, p.slow_factor = 1 + cost / (24.5 * p.kernel);
  } else if (kind == "late_data_loader") {
    p.late = all ? -2 : some, p.late_us = cost;
    if (all) out.place = "all ranks";
  } else if (kind == "memory_peak") {
    p.allocates = all ? -2 : some, p.allocate_us = cost;
    if (all) out.place = "all ranks";
  } else if (kind == "skewed_expert") {
    p.skewed = some, p.skew = out.without.skew = 1 + cost / p.kernel * members / (members - 1);
    out.without.even = true;
  } else if (kind == "host_bound") {
    p.host_gap = p.kernel + cost / 24 - p.host_op, out.place = "all ranks";
  } else if (kind == "slow_link") {
    p.slow_pair = static_cast<int64_t>(random.below(static_cast<uint64_t>(p.ranks / 2))),
    p.pair_us = 10 + cost / layers;
    out.place = fmt::format("group tp{}", p.slow_pair);
  } else if (kind == "small_messages") {
    p.latency = 30, p.host_op = 1, p.host_gap = 1, p.bucket_bytes = 2'000'000;
    p.cuts = std::llround((2 * p.kernel + cost / layers) / p.latency);
    out.without.latency = p.latency, out.without.bucket_bytes = p.bucket_bytes;
    out.place = "group 0";
  } else {
    p.no_overlap = true;
    out.place = "group 0";
  }
  return out;
}

TEST(Diagnosis, NamesUnseenProblemsAndTheirCost) {
  for (const DiagnosisRule& rule : kDiagnosisRules) {
    if (rule.kind == "pipeline_bubbles") continue;  // waits_test.cpp
    int right = 0, all = 0;
    std::string wrong;
    for (uint64_t seed = 61000; all < 20 && seed < 61060; ++seed) {
      Prng random(seed);
      std::string why;
      const Outcome outcome = outcome_of(unseen_problem(rule.kind, random), seed, why);
      if (outcome.real < 0.03 || outcome.real > 0.33) continue;  // another size than planned
      ++all, right += outcome.right;
      wrong += why;
    }
    RecordProperty(std::string(rule.kind), right);
    EXPECT_EQ(all, 20) << rule.kind;
    EXPECT_GE(right, 19) << rule.kind << wrong;
  }
}

TEST(Diagnosis, NamesNoProblemOfUnseenHealthyJobs) {
  for (uint64_t seed = 61500; seed < 61600; ++seed) {
    Prng random(seed);
    const Diagnoses found = diagnose(measure(unseen(random)));
    EXPECT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(found.rows[0].kind, "none") << seed << ": " << found.rows[0].sentence;
  }
}

TEST(Diagnosis, NamesNoProblemOfHealthyJobs) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Diagnoses found = diagnose(measure(healthy(1000 + seed)));
    EXPECT_EQ(found.rows.size(), 1u);
    EXPECT_EQ(found.rows[0].kind, "none") << seed << ": " << found.rows[0].sentence;
  }
}

/// The time of a recorded data loader is known: a later pause of the host is not the loader's.
TEST(Diagnosis, BlamesNoRecordedLoaderForALaterPause) {
  Plan plan = healthy(1000);
  plan.loader_named = true;
  plan.pause_us = 3000;
  for (const Diagnosis& d : diagnose(measure(plan)).rows) EXPECT_NE(d.kind, "late_data_loader") << d.sentence;
}

}  // namespace
}  // namespace chakra::analyze
