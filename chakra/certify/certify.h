// `chakra certify` as a call: judge a shared copy of a job against the original, or check a certificate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/certify/attacks.h"
#include "chakra/certify/fidelity.h"
#include "chakra/certify/names.h"
#include "chakra/certify/networks.h"
#include "chakra/certify/profile.h"
#include "chakra/job/parts.h"
#include "chakra/options/options.h"
#include "chakra/synth/synth.h"
#include "chakra/view/view.h"

namespace chakra::certify {

struct CertifyOptions {
  std::string original;                 ///< the job; with `check` the certificate
  std::string shared;                   ///< the copy
  std::string output = {};              ///< the certificate, which the caller writes: FILE.json, FILE.html, or both
  std::vector<std::string> among = {};  ///< jobs among which the copy must not stand out
  std::optional<int64_t> level = {};    ///< that the copy claims; nullopt: by its mark
  bool check = false;                   ///< compare a certificate with the copy
  bool examples = false;                ///< show nodes of the original and of the copy
};
options::Options rows_of(CertifyOptions& options);

/// What a copy claims: a row for each attack.
struct ClaimRow {
  std::string_view name;
  int64_t level;  ///< the first level that claims it
  std::string_view claim, attack, limits;
};
enum class ClaimKey : uint8_t { names, sizes, nearest, extraction, model, width, layers, stages, experts };
extern const std::array<ClaimRow, 9> kClaims;

enum class Verdict : uint8_t { holds, fails, unproven, outside };
inline constexpr std::array<std::string_view, 4> kVerdictNames{"holds", "fails", "not proven", "outside the level"};

struct CertifiedJob {
  struct Claim {
    ClaimKey key = ClaimKey::names;
    int64_t tries = 0;
    double copy = 0, original = 0;      ///< success of the attack: a share
    std::optional<double> chance = {};  ///< success of a guess; nullopt: unknown
    Verdict verdict = Verdict::unproven;
    bool is_within = false;  ///< the level
    const ClaimRow& row() const { return kClaims[static_cast<size_t>(key)]; }
  };
  struct File {
    std::string name;  ///< in the folder of the copy
    int64_t bytes = 0;
    std::string digest;
  };
  struct Placed {
    std::string_view distance;  ///< features or multisets
    Identification on_copy, on_original;
  };
  struct Example {
    int64_t node = 0;  ///< number of the node in both traces
    std::string name_before, name_after;
    std::string_view type;
    int64_t bytes_before = 0, bytes_after = 0;
    Picoseconds dur_before_ps = 0, dur_after_ps = 0;
  };

  int64_t level = 0;             ///< 0: the copy claims none
  int64_t ranks = 0, nodes = 0;  ///< of the copy
  int64_t among = 0;             ///< other jobs
  bool holds = true;             ///< no claim of the level fails
  bool is_near = true;           ///< all figures of fidelity are within their limits
  std::vector<Claim> claims;
  ExactSizes sizes;
  size_t longest_run = 0, longest_run_among = 0;  ///< tokens in common with the original; 99th percentile of the others
  std::vector<Placed> placed;
  std::vector<Figure> fidelity;  ///< exact; an answer has rounded values
  synth::Attributes guess;       ///< from the copy
  int64_t doubtful_texts = 0;    ///< texts of the copy that may be secrets
  int64_t unread_files = 0;      ///< of the copy, of an unknown kind
  std::vector<File> files;       ///< of the copy, by name
  std::vector<Example> examples;
  std::vector<std::string> leaks;  ///< words of the original in the copy; only with examples
  Findings findings;
};

/// Run all attacks on the copy and on the original, and compare both jobs. `loaded_*`: read instead of the paths.
/// Findings: job.certify.unread, .few, .order, .time. Errors: cli.usage; job.certify.ranks and job.certify.nodes for a
/// copy that is not one of this job; as for load(), find_secrets() and fleet_of(). Cost: both jobs in memory, three
/// times the reading of the files, ten simulations; for --among one job at a time on each core.
Result<CertifiedJob> certify_job(const CertifyOptions& options);
/// Return the certificate, or with `examples` all that was found: the examples show the original.
answer::Answer answer_of(const CertifiedJob& job, bool examples = true);
view::Text text_of(const CertifiedJob& job);
/// Return the files to write for CertifyOptions::output: one, or PREFIX.json and PREFIX.html.
std::vector<std::string> certificate_files(const std::string& output);
/// Make these files: the certificate as JSON, and as a page. Errors: base.file.*.
Result<job::Outputs> certificate_of(const CertifiedJob& job, const std::string& output);

// ---- without the original --------------------------------------------------------------------------------------

struct CheckedCertificate {
  struct Number {
    std::string_view name;
    int64_t stated = 0, found = 0;  ///< in the certificate, and in the copy
  };
  int64_t files = 0;  ///< of the copy
  int64_t level = 0;  ///< that the certificate states
  bool agrees = true;
  std::vector<Number> numbers;
  Findings findings;
};
/// Compare a certificate (JSON) with the copy: digests of the files, what the copy shows about the model, and texts
/// that may be secrets. Findings: job.certify.differs, .level. Errors: job.certify.form (not a certificate),
/// job.certify.changed (the copy changed after the certificate); as for reading.
Result<CheckedCertificate> check_certificate(const CertifyOptions& options);
answer::Answer answer_of(const CheckedCertificate& checked);
view::Text text_of(const CheckedCertificate& checked);

}  // namespace chakra::certify
