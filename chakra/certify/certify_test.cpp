// The call that certifies a shared copy: copies of known truth, planted names, changed copies and hostile certificates.
#include "chakra/certify/certify.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/certify/certificate.h"
#include "chakra/generate/generate.h"
#include "chakra/io/io.h"
#include "chakra/share/share.h"
#include "chakra/view/testing/shown.h"

namespace chakra::certify {
namespace {

namespace fs = std::filesystem;
using chakra::testing::must_read;
using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

class Certify : public ::testing::Test {
 protected:
  void SetUp() override {
    generate(job_, 4);
    hide(job_, hidden_, true);
  }
  void hide(const std::string& job, const std::string& to, bool new_key) const {
    share::ObfuscateOptions o;
    o.path = job, o.output = to;
    o.key = folder_.path("key"), o.new_key = new_key;
    const auto made = share::obfuscate_job(o);
    ASSERT_TRUE(made) << made.error().message();
  }
  static void generate(const std::string& folder, size_t layers, bool all_ranks = true) {
    generate::StepJobOptions o;
    o.step.model.layers.assign(layers, 0);
    o.step.tp = 2;
    o.step.pp = 2;
    o.step.micro_batches = 2;
    o.files = {folder, "step", all_ranks};
    Findings findings;
    const auto made = generate::generate_step(o, findings);
    ASSERT_TRUE(made) << made.error().message();
  }
  /// The job with other sizes: all ranks change in the same way.
  void change_sizes(const std::string& folder) const {
    auto job = io::read_job(job_, {.texts = true});
    ASSERT_TRUE(job);
    for (trace::Trace& t : job->ranks) {
      for (trace::Comm& comm : t.comms.edit()) {
        comm.bytes = comm.bytes * 3 / 64 * 64 + 64;
        comm.in_bytes = comm.out_bytes = 0;
      }
      for (uint64_t& ops : t.num_ops.edit()) ops = ops ? ops * 3 + 1 : 0;
      for (uint64_t& bytes : t.tensor_bytes.edit()) bytes = bytes ? bytes * 3 + 1 : 0;
      ASSERT_TRUE(io::write_et(t, fmt::format("{}/step.{}.et", folder, t.rank)));
    }
  }
  CertifyOptions options(const std::string& shared) const { return {.original = job_, .shared = shared}; }
  /// Certify a copy; the certificate is PREFIX.json and PREFIX.html.
  void write_certificate(const std::string& shared, const std::string& prefix) const {
    const auto made = certify_job(options(shared));
    ASSERT_TRUE(made) << made.error().message();
    auto files = certificate_of(*made, prefix);
    ASSERT_TRUE(files && files->commit());
  }
  std::string tag_of_check(const std::string& certificate, const std::string& shared) const {
    return tag_of(check_certificate({.original = certificate, .shared = shared, .check = true}));
  }

  TemporaryFolder folder_;
  std::string job_ = folder_.path("job"), hidden_ = folder_.path("hidden");
};

const CertifiedJob::Claim& claim(const CertifiedJob& job, ClaimKey key) {
  return *std::find_if(job.claims.begin(), job.claims.end(), [&](const auto& c) { return c.key == key; });
}

TEST_F(Certify, ACopyIsFoundByEveryAttack) {
  fs::copy(job_, folder_.path("copy"));
  for (const size_t layers : {2, 6, 8}) generate(folder_.path(fmt::format("fleet/{}", layers)), layers, layers == 6);
  CertifyOptions o = options(folder_.path("copy"));
  o.level = 3;
  o.among = {folder_.path("fleet"), job_, folder_.path("copy")};
  const auto made = certify_job(o);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->among, 3);
  EXPECT_FALSE(made->holds);
  EXPECT_TRUE(made->is_near);
  for (const CertifiedJob::Claim& c : made->claims) {
    EXPECT_TRUE(c.is_within);
    EXPECT_EQ(c.copy, c.original) << c.row().name;
    if (c.original < 1) continue;
    EXPECT_TRUE(c.verdict == Verdict::fails || !c.chance || (c.tries == 1 && c.verdict == Verdict::unproven))
        << c.row().name;
  }
  for (const ClaimKey key : {ClaimKey::names, ClaimKey::sizes, ClaimKey::nearest, ClaimKey::extraction, ClaimKey::model,
                             ClaimKey::width, ClaimKey::stages})
    EXPECT_EQ(claim(*made, key).copy, 1) << claim(*made, key).row().name;
  EXPECT_EQ(claim(*made, ClaimKey::experts).verdict, Verdict::unproven);  // the model has none
  EXPECT_EQ(made->sizes.equal.success(), 1);
  EXPECT_LT(made->longest_run_among, made->longest_run);
  for (const CertifiedJob::Placed& placed : made->placed) EXPECT_EQ(placed.on_copy.rank, 1);
  for (const Figure& figure : made->fidelity) EXPECT_EQ(figure.value, 0) << figure.metric;
  EXPECT_EQ(std::count_if(made->fidelity.begin(), made->fidelity.end(),
                          [](const auto& figure) { return figure.metric == "time"; }),
            5);
}

TEST_F(Certify, AHiddenJobHasNoNames) {
  const auto made = certify_job(options(hidden_));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->level, 1);
  EXPECT_TRUE(made->holds);
  EXPECT_TRUE(made->is_near);
  EXPECT_GT(claim(*made, ClaimKey::names).tries, 20);
  EXPECT_EQ(claim(*made, ClaimKey::names).copy, 0);
  EXPECT_EQ(claim(*made, ClaimKey::names).original, 1);
  EXPECT_EQ(claim(*made, ClaimKey::names).verdict, Verdict::holds);
  EXPECT_EQ(claim(*made, ClaimKey::sizes).copy, 1);
  EXPECT_EQ(claim(*made, ClaimKey::sizes).verdict, Verdict::outside);
  for (const Figure& figure : made->fidelity) EXPECT_EQ(figure.value, 0) << figure.metric;
}

TEST_F(Certify, KnowsTheLevelOfACopy) {
  share::ObfuscateOptions o;
  o.path = job_, o.output = folder_.path("hidden2"), o.key = folder_.path("key"), o.level = 2;
  ASSERT_TRUE(share::obfuscate_job(o));
  const auto made = certify_job(options(o.output));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->level, 2);
  EXPECT_EQ(claim(*made, ClaimKey::names).copy, 0);
  EXPECT_TRUE(claim(*made, ClaimKey::sizes).is_within);
  EXPECT_LT(claim(*made, ClaimKey::sizes).copy, 1);
  EXPECT_FALSE(claim(*made, ClaimKey::layers).is_within);
}

TEST_F(Certify, CountsTheLayersAndStagesOfACopy) {
  const std::string job = folder_.path("deep");
  generate(job, 16);
  share::ObfuscateOptions o;
  o.path = job, o.output = folder_.path("hidden3"), o.key = folder_.path("key"), o.level = 3;
  ASSERT_TRUE(share::obfuscate_job(o));
  const auto made = certify_job({.original = job, .shared = o.output});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->level, 3);
  EXPECT_EQ(claim(*made, ClaimKey::layers).original, 1);
  EXPECT_EQ(claim(*made, ClaimKey::layers).copy, 0);
  EXPECT_EQ(claim(*made, ClaimKey::stages).original, 1);
  EXPECT_EQ(claim(*made, ClaimKey::stages).copy, 0);
}

TEST_F(Certify, FindsANameInAnyFile) {
  struct Row {
    std::string name, bytes;
  };
  const int64_t before = claim(*certify_job(options(job_)), ClaimKey::names).tries;
  EXPECT_GT(before, 0);
  for (const Row& row : {Row{"notes.txt", "about the wgrad"}, Row{"deep/er/a", std::string(1 << 20, ' ') + "wgrad"},
                         Row{"wgrad.bin", "x"}}) {
    folder_.write("hidden/" + row.name, row.bytes);
    const auto made = certify_job(options(hidden_));
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(claim(*made, ClaimKey::names).verdict, Verdict::fails) << row.name;
    EXPECT_FALSE(made->holds);
    EXPECT_EQ(made->unread_files, 1);
    fs::remove_all(folder_.path("hidden/" + row.name));
    fs::remove_all(folder_.path("hidden/deep"));
  }
}

TEST_F(Certify, ChangedSizesAreNotFound) {
  const std::string changed = folder_.path("changed");
  change_sizes(changed);
  CertifyOptions o = options(changed);
  o.level = 2;
  const auto made = certify_job(o);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(claim(*made, ClaimKey::sizes).copy, 0);
  EXPECT_EQ(claim(*made, ClaimKey::sizes).verdict, Verdict::holds);
  EXPECT_EQ(made->longest_run, 0U);
  EXPECT_EQ(claim(*made, ClaimKey::extraction).verdict, Verdict::outside);  // structure stays
  EXPECT_EQ(claim(*made, ClaimKey::names).copy, 1);
  EXPECT_FALSE(made->holds);
  EXPECT_FALSE(made->is_near);  // times three
}

TEST_F(Certify, RefusesOtherJobs) {
  generate(folder_.path("short"), 2);
  hide(folder_.path("short"), folder_.path("short_hidden"), false);
  EXPECT_EQ(tag_of(certify_job(options(folder_.path("short_hidden")))), "job.certify.nodes");
  const auto unmarked = certify_job(options(folder_.path("short")));  // any tool may have made it
  ASSERT_TRUE(unmarked) << unmarked.error().message();
  EXPECT_EQ(unmarked->findings[0].tag, "job.certify.order");
  fs::copy(job_, folder_.path("part"));
  fs::remove(folder_.path("part/step.3.et"));
  EXPECT_EQ(tag_of(certify_job(options(folder_.path("part")))), "job.certify.ranks");
  EXPECT_EQ(tag_of(certify_job(options(folder_.path("none")))), "io.job.none");
}

TEST_F(Certify, ComparesClassesWithRanks) {
  generate(folder_.path("classes"), 4, false);
  const auto made = certify_job(options(folder_.path("classes")));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->sizes.equal.success(), 1);
  EXPECT_EQ(made->longest_run, certify_job(options(job_))->longest_run);
  for (const Figure& figure : made->fidelity) EXPECT_NEAR(figure.value, 0, 1e-9) << figure.metric << figure.of;
}

TEST_F(Certify, ShowsExamplesOutsideOfTheCertificate) {
  CertifyOptions o = options(hidden_);
  o.examples = true;
  const auto made = certify_job(o);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->examples.size(), 10U);
  for (const CertifiedJob::Example& example : made->examples) EXPECT_NE(example.name_before, example.name_after);
  const std::string all = to_json_text(answer_of(*made)), certificate = to_json_text(answer_of(*made, false));
  EXPECT_TRUE(contains(all, made->examples[0].name_before));
  for (const CertifiedJob::Example& example : made->examples) EXPECT_FALSE(contains(certificate, example.name_before));
  EXPECT_FALSE(contains(certificate, "examples"));
  EXPECT_FALSE(contains(certificate, job_));
}

TEST_F(Certify, ACertificateHasNoSizeOfTheOriginal) {
  const std::string changed = folder_.path("changed");
  change_sizes(changed);
  write_certificate(changed, folder_.path("certificate"));
  const std::string text = must_read(folder_.path("certificate.json"));
  const auto job = io::read_job(job_);
  for (const trace::Trace& t : job->ranks)
    for (const trace::Comm& comm : t.comms)
      if (comm.bytes > 9999) EXPECT_FALSE(contains(text, std::to_string(comm.bytes)));
  EXPECT_TRUE(contains(must_read(folder_.path("certificate.html")), "claims"));
}

TEST_F(Certify, ChecksACopyWithoutTheOriginal) {
  write_certificate(hidden_, folder_.path("c"));
  const std::string certificate = folder_.path("c.json");
  const auto checked = check_certificate({.original = certificate, .shared = hidden_, .check = true});
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_TRUE(checked->agrees);
  EXPECT_EQ(checked->files, 4);
  EXPECT_TRUE(contains(view::testing::shown(*checked), "4 files with equal digests"));

  EXPECT_EQ(tag_of_check(certificate, job_), "job.certify.changed");
  folder_.write("hidden/more.txt", "x");
  EXPECT_EQ(tag_of_check(certificate, hidden_), "job.certify.changed");
  fs::remove(folder_.path("hidden/more.txt"));
  const std::string trace = must_read(folder_.path("hidden/trace.2.et"));
  std::string flipped = trace;
  flipped.back() ^= 1;
  folder_.write("hidden/trace.2.et", flipped);
  EXPECT_EQ(tag_of_check(certificate, hidden_), "job.certify.changed");
  folder_.write("hidden/trace.2.et", trace + trace);
  EXPECT_EQ(tag_of_check(certificate, hidden_), "job.certify.changed");
  fs::remove(folder_.path("hidden/trace.2.et"));
  EXPECT_EQ(tag_of_check(certificate, hidden_), "job.certify.changed");
  folder_.write("hidden/trace.2.et", trace);
  EXPECT_EQ(tag_of_check(certificate, hidden_), "");
  EXPECT_EQ(tag_of_check(folder_.path("c.html"), hidden_), "job.certify.form");
  EXPECT_EQ(tag_of_check(folder_.path("none"), hidden_), "base.file.open");
  EXPECT_EQ(tag_of(check_certificate({.original = certificate, .shared = hidden_, .level = 2, .check = true})),
            "cli.usage");

  // A certificate that states other numbers than the copy has.
  std::string forged = must_read(certificate);
  const size_t at = forged.find("\"stages\",\n      \"value\": 2");
  ASSERT_NE(at, std::string::npos);
  forged[forged.find('2', at)] = '7';
  folder_.write("forged.json", forged);
  const auto differs = check_certificate({.original = folder_.path("forged.json"), .shared = hidden_, .check = true});
  ASSERT_TRUE(differs) << differs.error().message();
  EXPECT_FALSE(differs->agrees);
  ASSERT_EQ(differs->findings.size(), 1U);
  EXPECT_EQ(differs->findings[0].tag, "job.certify.differs");

  // A certificate of another level than that of the copy.
  forged = must_read(certificate);
  const size_t level = forged.find("\"level\": 1");
  ASSERT_NE(level, std::string::npos);
  forged[forged.find('1', level)] = '3';
  folder_.write("forged.json", forged);
  const auto other = check_certificate({.original = folder_.path("forged.json"), .shared = hidden_, .check = true});
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_EQ(other->findings.size(), 1U);
  EXPECT_EQ(other->findings[0].tag, "job.certify.level");
}

TEST_F(Certify, RefusesEachPrefixOfACertificate) {
  write_certificate(hidden_, folder_.path("c.json"));
  const std::string whole = must_read(folder_.path("c.json"));
  ASSERT_TRUE(parse_certificate(whole, "c"));
  const size_t end = whole.find_last_of('}');
  for (size_t size = 0; size < end; size += size < 200 || end - size < 50 ? 1 : 37)
    EXPECT_EQ(tag_of(parse_certificate(whole.substr(0, size), "c")), "job.certify.form") << size;
  Prng random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string other = whole;
    for (int n = 0; n < 3; ++n) other[random.below(other.size())] = static_cast<char>(random.below(256));
    (void)parse_certificate(other, "c");  // no crash, whatever the result
  }
  for (const char* text : {"[]", "7", "{}", R"({"certificate": 2})", R"({"certificate": 1, "level": -1})", "\xff"})
    EXPECT_EQ(tag_of(parse_certificate(text, "c")), "job.certify.form") << text;
}

TEST_F(Certify, NamesTheFilesOfACertificate) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(certificate_files(""), Names());
  EXPECT_EQ(certificate_files("a.json"), Names{"a.json"});
  EXPECT_EQ(certificate_files("a.html"), Names{"a.html"});
  EXPECT_EQ(certificate_files("a"), (Names{"a.json", "a.html"}));
}

}  // namespace
}  // namespace chakra::certify
