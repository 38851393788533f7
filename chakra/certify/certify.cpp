#include "chakra/certify/certify.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "chakra/base/progress.h"
#include "chakra/base/quantile.h"
#include "chakra/certify/certificate.h"
#include "chakra/certify/files.h"
#include "chakra/edit/edit.h"
#include "chakra/fleet/fleet.h"
#include "chakra/gen/gen.h"
#include "chakra/job/parts.h"
#include "chakra/share/share.h"
#include "chakra/trace/metadata.h"

namespace chakra::certify {

// `job.certify.narrows` (warning): the figures of a copy with hidden sizes narrow the width within its cell
// `job.certify.ranks` (1): the copy has other ranks than the original
// `job.certify.nodes` (1): the copy has other nodes than the original, although its level keeps them
// `job.certify.order` (note): nodes of a copy without a mark do not match those of the original
// `job.certify.unread` (warning): jobs of the fleet that cannot be read are left out
// `job.certify.few` (note): without jobs of a fleet, some attacks prove little
// `job.certify.time` (warning): a job cannot be simulated, so the times are not compared

constexpr std::array<ClaimRow, 9> kClaims{{
    {"names", 1, "No word of the names of the original is in the copy",
     "Search each word in the texts and in the bytes of all files",
     "Words of 4 letters and more, as plain text, in traces and unpacked files: encoded, translated or shortened words "
     "are not found"},
    {"sizes", 2, "Few sizes of the copy are sizes of the original that few jobs have",
     "Compare each distinct kind and size with those of the original, and count the jobs that have it",
     "A size of fewer than 5 jobs counts; without --among, every equal size. The size of a cell can be equal by "
     "chance"},
    {"nearest", 2, "A reader cannot compute a size of a communication from the size in the copy",
     "Take the nearest size of the same kind among all known jobs, for each distinct size",
     "Sizes of the jobs of --among alone, at least 5 jobs. Sizes of one job depend on each other"},
    {"extraction", 3, "No long sequence of the original is in the copy",
     "Find the longest run of equal kinds, roles and sizes of communications",
     "Exact runs alone, compared with the 99th percentile of runs in common with the jobs of --among. Level 2 keeps "
     "the "
     "structure, and shows the sizes of a width that can be that of the job"},
    {"model", 3, "A reader cannot find the job among candidates",
     "Rank the jobs of --among and the original by their distance to the copy, by features and by multisets",
     "One try with two distances: a better distance can exist. Fewer than 20 candidates prove little"},
    {"width", 2, "A reader cannot compute the width of the model", "Estimate the width from sizes and repetitions",
     "One estimator and one try, right by chance for 1 job in 4. The true width is that of the recipe of a generated "
     "job, else the estimate from the original"},
    {"layers", 3, "A reader cannot count the layers",
     "Count the longest repetition, and the operations of each name in a micro-batch, of all stages",
     "Two estimators and one try each, right by chance for 1 job in 5 each. The true number as for the width"},
    {"stages", 3, "A reader cannot count the pipeline stages", "Read the stages, or follow the messages",
     "One estimator and one try, right by chance for 1 job in 5. The true number as for the width"},
    {"experts", 3, "A reader cannot count the experts", "Read the experts, or find their kernels",
     "One estimator and one try, right by chance for 1 job in 5. The true number as for the width"},
}};

namespace {

/// A cell of the grid of sizes holds at least 4 distinct values, one of the grid of structure 5.
constexpr double kOfSizes = 1.0 / 4, kOfStructure = 1.0 / 5;

/// One of the two jobs.
struct Side {
  job::LoadedPtr loaded;
  std::vector<int64_t> ranks;
  Profile profile;
  synth::Attributes guess;
};

Result<Side> read_side(const std::string& path) {
  Side side;
  CHAKRA_ASSIGN(side.loaded, job::load(path));
  ProfileBuilder builder;
  const auto add = [&](const trace::Trace& t, int64_t ranks, const trace::RolesByName& roles) -> Result<void> {
    builder.add(t, ranks, roles);
    return keep_going();
  };
  if (const trace::ClassJob* const job = side.loaded->classes()) {
    for (const auto& rank : job->ranks) side.ranks.push_back(rank.rank);
    CHAKRA_TRY(fleet::for_each_part(*job, add));
    side.guess = synth::guess_attributes(*job);
  } else {
    const auto& all = std::get<trace::TraceSet>(side.loaded->job);
    for (const trace::Trace& t : all.ranks) {
      side.ranks.push_back(t.rank);
      CHAKRA_TRY(add(t, 1, {}));
    }
    side.guess = synth::guess_attributes(all);
  }
  side.profile = std::move(builder).finish();
  return side;
}

/// The attributes in the recipe of a generated job.
std::optional<synth::Attributes> recorded_truth(const trace::Trace& trace) {
  const auto recipe = gen::recipe_of(trace);
  if (!recipe) return std::nullopt;
  synth::Attributes is{recipe->model.hidden, std::ssize(recipe->model.layers), recipe->pp, 0};
  for (const model::Block& block : recipe->model.blocks)
    if (block.experts) is.experts = std::max(is.experts, block.experts->count);
  return is;
}

/// What a job of the fleet says about the copy and the original.
struct Other {
  double to_copy = 0, to_original = 0;  ///< distances of multisets
  size_t run = 0;                       ///< in common with the copy
  std::vector<double> features;
};

class Certification {
 public:
  explicit Certification(const CertifyOptions& options) : o_(options) {}

  Result<CertifiedJob> run() {
    {
      const ProgressPart part(0, 0.3);
      CHAKRA_ASSIGN(original_, read_side(o_.original));
      CHAKRA_ASSIGN(copy_, read_side(o_.shared));
    }
    CHAKRA_TRY(match_sides());
    CHAKRA_ASSIGN(job_.files, digests_of(o_.shared));
    CHAKRA_TRY(try_names());
    CHAKRA_TRY(read_fleet());
    try_sizes();
    try_nearest_sizes();
    try_extraction();
    try_model();
    try_attributes();
    job_.fidelity = fidelity_of(original_.profile, copy_.profile);
    CHAKRA_TRY(compare_times());
    for (const Figure& figure : job_.fidelity) job_.is_near &= figure.holds();
    if (o_.examples && is_matched_) add_examples();
    constexpr int64_t kOfSizesHidden = 2;
    if (job_.level >= kOfSizesHidden)
      note("job.certify.narrows", Severity::warning,
           "the figures depend on the original: hits, and differences of bytes and times, narrow the width within its "
           "cell; if the width must stay secret, share the copy without the certificate");
    return std::move(job_);
  }

 private:
  void note(const char* tag, Severity severity, std::string text) {
    job_.findings.push_back({tag, severity, -1, -1, std::move(text)});
  }

  /// Whether the copy has whole stages of the original, with ranks from 0 on.
  bool has_fewer_stages() const {
    const auto stages_of = [](const Side& side) { return std::max<int64_t>(1, side.guess.stages); };
    const int64_t before = std::ssize(original_.ranks), after = std::ssize(copy_.ranks);
    return after < before && copy_.ranks.back() == after - 1 &&
           after * stages_of(original_) == before * stages_of(copy_);
  }

  /// Whether both jobs have the same ranks, and the same nodes as far as the level of the copy keeps them.
  Result<void> match_sides() {
    constexpr int64_t kKeepsNodes = 2;  // and ranks
    const std::span<const trace::Trace> before = traces_of(*original_.loaded), after = traces_of(*copy_.loaded);
    CHAKRA_ASSERT(!before.empty() && !after.empty());
    const int64_t marked = marked_level(*copy_.loaded);
    job_.level = o_.level.value_or(marked);
    if (original_.ranks != copy_.ranks && (job_.level <= kKeepsNodes || !has_fewer_stages())) {
      const auto [a, b] =
          std::mismatch(original_.ranks.begin(), original_.ranks.end(), copy_.ranks.begin(), copy_.ranks.end());
      return fail(Code::bad_input, "job.certify.ranks",
                  fmt::format("the copy has {} ranks and the original {}; the first difference is rank {}: the copy is "
                              "not one of this job",
                              copy_.ranks.size(), original_.ranks.size(), a != original_.ranks.end() ? *a : *b),
                  {o_.shared});
    }
    job_.ranks = copy_.profile.ranks;
    job_.nodes = copy_.profile.nodes;
    size_t at = 0;
    const bool same_form = !original_.loaded->classes() == !copy_.loaded->classes();
    is_matched_ = same_form && before.size() == after.size();
    for (; is_matched_ && at < before.size(); ++at) is_matched_ = std::ranges::equal(before[at].type, after[at].type);
    if (is_matched_) return {};
    if (same_form && marked > 0 && job_.level <= kKeepsNodes)
      return fail(Code::bad_input, "job.certify.nodes",
                  fmt::format("the copy has other nodes than the original, although level {} keeps them: it is a copy "
                              "of another job, or the original changed",
                              job_.level),
                  {o_.shared});
    note("job.certify.order", Severity::note,
         "the nodes of the copy are not those of the original one by one, so no examples can be shown");
    return {};
  }

  /// Add a claim with its verdict. `chance`: success of a guess; nullopt: unknown.
  void add_claim(ClaimKey key, const Tries& copy, double original, std::optional<double> chance) {
    constexpr double kSurprising = 0.05, kAllowed = 0.05;
    CertifiedJob::Claim claim{key, copy.tries, copy.success(), original, chance};
    claim.is_within = claim.row().level <= job_.level;
    claim.verdict = !claim.is_within                           ? Verdict::outside
                    : original == 0 || !chance                 ? Verdict::unproven
                    : probability(copy, *chance) < kSurprising ? Verdict::fails
                    : copy.success() > *chance + kAllowed      ? Verdict::unproven
                                                               : Verdict::holds;
    job_.holds &= claim.verdict != Verdict::fails;
    job_.claims.push_back(claim);
  }

  Result<void> try_names() {
    const ProgressPart part(0.3, 0.5);
    CHAKRA_ASSIGN(const NamesFound found, find_names(o_.original, *original_.loaded, o_.shared));
    const Tries copy{found.words, std::ssize(found.in_copy)}, original{found.words, found.in_original};
    add_claim(ClaimKey::names, copy, original.success(), 0);
    if (o_.examples) job_.leaks = found.in_copy;
    CHAKRA_ASSIGN(const share::FoundSecrets doubtful, share::find_secrets(o_.shared));
    job_.doubtful_texts = share::count_of(doubtful);
    for (const share::FoundSecrets::File& file : doubtful.files) job_.unread_files += !file.read;
    return {};
  }

  /// The other jobs, one at a time on each core.
  Result<void> read_fleet() {
    const ProgressPart part(0.5, 0.8);
    add_pairs(original_.profile, pairs_);
    CHAKRA_ASSIGN(fleet::Fleet fleet, fleet::fleet_of(o_.among));
    std::erase_if(fleet.jobs, [&](const std::string& path) {
      return fleet::identity_of(path) == fleet::identity_of(o_.original) ||
             fleet::identity_of(path) == fleet::identity_of(o_.shared);
    });
    std::vector<std::optional<Other>> read(fleet.jobs.size());
    CHAKRA_TRY(each_in_parallel(fleet.jobs.size(), [&](size_t i) -> Result<void> {
      ProfileBuilder builder;
      const auto ranks = fleet::for_each_part(
          fleet.jobs[i], [&](const trace::Trace& t, int64_t count, const trace::RolesByName& roles) -> Result<void> {
            builder.add(t, count, roles);
            return {};
          });
      if (!ranks) return {};
      const Profile profile = std::move(builder).finish();
      read[i] = Other{distance_of_multisets(copy_.profile, profile), distance_of_multisets(original_.profile, profile),
                      longest_common_run(copy_.profile.sequences, profile.sequences), profile.features};
      const std::lock_guard lock(mutex_);
      add_pairs(profile, pairs_);
      return {};
    }));
    CHAKRA_TRY(keep_going());
    for (std::optional<Other>& other : read)
      if (other) others_.push_back(std::move(*other));
    job_.among = std::ssize(others_);
    if (others_.size() < read.size())
      note("job.certify.unread", Severity::warning,
           fmt::format("{} of {} jobs of the fleet cannot be read, and were left out", read.size() - others_.size(),
                       read.size()));
    if (job_.among < kManyJobs)
      note("job.certify.few", Severity::note,
           fmt::format("{} other jobs: attacks that need candidates prove little; pass at least {} by --among",
                       job_.among, kManyJobs));
    return {};
  }

  void try_sizes() {
    job_.sizes = exact_sizes(original_.profile, copy_.profile, pairs_);
    const ExactSizes own = exact_sizes(original_.profile, original_.profile, pairs_);
    add_claim(ClaimKey::sizes, {job_.sizes.equal.tries, job_.sizes.rare}, Tries{own.equal.tries, own.rare}.success(),
              kOfSizes);
  }

  void try_nearest_sizes() {
    std::set<ChangedSize> changed, same;
    const std::span<const trace::Trace> before = traces_of(*original_.loaded), after = traces_of(*copy_.loaded);
    for (size_t i = 0; is_matched_ && i < before.size(); ++i) {
      const auto of_copy = synth::communications(after[i]);
      for (size_t k = 0; const synth::Communication& c : synth::communications(before[i])) {
        const uint64_t bytes = of_copy[k++].bytes;
        if (c.bytes == 0) continue;
        changed.insert({c.kind, c.bytes, bytes});
        same.insert({c.kind, c.bytes, c.bytes});
      }
    }
    add_claim(ClaimKey::nearest, nearest_sizes(changed, pairs_), nearest_sizes(same, pairs_).success(),
              job_.among < kManyJobs ? std::nullopt : std::optional(kOfSizes));
  }

  /// The run is one try, which succeeds if it is longer than the runs in common with other jobs.
  void try_extraction() {
    const auto &before = original_.profile.sequences, &after = copy_.profile.sequences;
    job_.longest_run = longest_common_run(after, before);
    std::vector<double> runs;
    for (const Other& other : others_) runs.push_back(static_cast<double>(other.run));
    const bool known = !runs.empty();
    job_.longest_run_among = static_cast<size_t>(quantile_of(std::move(runs), 0.99));
    const bool longer = job_.longest_run > job_.longest_run_among;
    add_claim(ClaimKey::extraction, {1, longer}, longest(before) > job_.longest_run_among,
              known ? std::optional(0.01) : std::nullopt);
  }

  void try_model() {
    if (others_.empty()) return add_claim(ClaimKey::model, {}, 0, {});
    std::vector<double> copy{distance_of_multisets(copy_.profile, original_.profile)}, own{0};
    std::vector<std::vector<double>> features{original_.profile.features};
    for (const Other& other : others_) {
      copy.push_back(other.to_copy);
      own.push_back(other.to_original);
      features.push_back(other.features);
    }
    job_.placed.push_back({"multisets", identify(copy), identify(own)});
    job_.placed.push_back({"features", identify(distances_of_features(copy_.profile.features, features)),
                           identify(distances_of_features(original_.profile.features, features))});
    double on_copy = 0, on_original = 0;
    for (const CertifiedJob::Placed& placed : job_.placed) {
      on_copy = std::max(on_copy, placed.on_copy.success());
      on_original = std::max(on_original, placed.on_original.success());
    }
    add_claim(ClaimKey::model, {1, on_copy == 1}, on_original, 1 / static_cast<double>(features.size()));
  }

  void try_attributes() {
    job_.guess = copy_.guess;
    const auto recorded = recorded_truth(traces_of(*original_.loaded)[0]);
    synth::Attributes truth = recorded.value_or(original_.guess);
    if (!recorded && truth.layers_by_counts > 0) truth.layers = truth.layers_by_counts;
    const auto attack = [&](ClaimKey key, int64_t synth::Attributes::*of, double chance) {
      const int64_t right = truth.*of;
      add_claim(key, {1, right > 0 && copy_.guess.*of == right}, right > 0 && original_.guess.*of == right, chance);
    };
    attack(ClaimKey::width, &synth::Attributes::width, kOfSizes);
    attack_layers(truth.layers);
    attack(ClaimKey::stages, &synth::Attributes::stages, kOfStructure);
    attack(ClaimKey::experts, &synth::Attributes::experts, kOfStructure);
  }

  /// Two estimates, of which either may be right: two different ones are right by chance twice as often.
  void attack_layers(int64_t right) {
    const auto finds = [right](const synth::Attributes& guess) {
      return right > 0 && (guess.layers == right || guess.layers_by_counts == right);
    };
    const bool differ = copy_.guess.layers != copy_.guess.layers_by_counts;
    add_claim(ClaimKey::layers, {1, finds(copy_.guess)}, finds(original_.guess),
              differ ? 2 * kOfStructure : kOfStructure);
  }

  Result<void> compare_times() {
    const ProgressPart part(0.8, 1);
    constexpr int64_t kTooMany = int64_t{1} << 40;  // ranks, for any network
    const auto times_of = [&](const Side& side) -> Result<std::vector<double>> {
      CHAKRA_ASSIGN(const std::vector<net::Fabric> networks,
                    networks_of(std::min(kTooMany, *std::ranges::max_element(side.ranks)) + 1));
      sim::SimInput input;
      if (const trace::ClassJob* const classes = side.loaded->classes()) input.classes = *classes;
      else input.job = std::get<trace::TraceSet>(side.loaded->job);
      return simulated_times(std::move(input), networks);
    };
    const auto before = times_of(original_);
    const auto after = before ? times_of(copy_) : before;
    CHAKRA_TRY(keep_going());
    if (!after) {
      note("job.certify.time", Severity::warning,
           fmt::format("the {} cannot be simulated, so times are not compared [{}]", before ? "copy" : "original",
                       after.error().tag));
      return {};
    }
    const double limit = limit_of_time(job_.level);
    for (size_t i = 0; i < before->size(); ++i) {
      const double was = (*before)[i], is = (*after)[i];
      job_.fidelity.push_back({"time", std::string(kNetworkNames[i]),
                               was > 0  ? std::abs(is - was) / was
                               : is > 0 ? 1
                                        : 0,
                               limit});
    }
    constexpr double kGap = 0.05;
    job_.fidelity.push_back(
        {"order_of_networks", "", 1 - kendall_tau(*before, *after, kGap), limit_of("order_of_networks")});
    return {};
  }

  /// Communications and other nodes of the first trace, at equal steps.
  void add_examples() {
    const trace::Trace &before = traces_of(*original_.loaded)[0], &after = traces_of(*copy_.loaded)[0];
    std::vector<trace::NodeId> comms, others;
    for (const trace::NodeId n : before.nodes()) (trace::is_comm(before.type[n]) ? comms : others).push_back(n);
    constexpr size_t kOfEach = 5;
    const auto bytes_of = [](const trace::Trace& t, trace::NodeId n) -> int64_t {
      const trace::Comm* const comm = t.comm(n);
      return static_cast<int64_t>(comm ? comm->bytes : t.tensor_bytes.empty() ? 0 : t.tensor_bytes[n]);
    };
    for (const auto* nodes : {&comms, &others}) {
      const size_t count = std::min(kOfEach, nodes->size());
      for (size_t i = 0; i < count; ++i) {
        const trace::NodeId n = (*nodes)[count > 1 ? i * (nodes->size() - 1) / (count - 1) : 0];
        job_.examples.push_back({static_cast<int64_t>(static_cast<uint32_t>(n)), std::string(before.name_of(n)),
                                 std::string(after.name_of(n)), trace::name(before.type[n]), bytes_of(before, n),
                                 bytes_of(after, n), before.dur_ps[n], after.dur_ps[n]});
      }
    }
  }

  const CertifyOptions& o_;
  CertifiedJob job_;
  Side original_, copy_;
  bool is_matched_ = false;  ///< node by node
  std::vector<Other> others_;
  SizePairs pairs_;  ///< of the original and the others
  std::mutex mutex_;
};

}  // namespace

Result<CertifiedJob> certify_job(const CertifyOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  if (o.check) return fail(Code::usage, "cli.usage", "--check compares a certificate: call check_certificate()");
  return Certification(o).run();
}

}  // namespace chakra::certify
