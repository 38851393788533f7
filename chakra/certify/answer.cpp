#include "chakra/answer/rows.h"
#include "chakra/certify/certificate.h"

namespace chakra::certify {

using answer::kTextRows;

using answer::column;
using answer::Unit;

namespace {

using Claim = CertifiedJob::Claim;
using File = CertifiedJob::File;
using Placed = CertifiedJob::Placed;
using Example = CertifiedJob::Example;

constexpr std::array kCertificate{
    column<CertifiedJob>("certificate", Unit::none, "version of the form of certificates",
                         [](const auto&) { return int64_t{1}; }),
    column<&CertifiedJob::level>("level", Unit::count,
                                 "level that the copy claims: 1 names, 2 also sizes, 3 also structure; 0: none"),
    column<&CertifiedJob::holds>("holds", Unit::none, "no claim of the level fails"),
    column<&CertifiedJob::is_near>("is_near", Unit::none, "all figures of fidelity are within their limits"),
    column<&CertifiedJob::ranks>("ranks", Unit::count, "ranks of the copy"),
    column<&CertifiedJob::nodes>("nodes", Unit::count, "nodes of the copy, of all ranks"),
    column<&CertifiedJob::among>("among", Unit::count, "other jobs, the candidates of the attacks"),
    column<CertifiedJob>("equal_sizes", Unit::share, "distinct kinds and sizes of the copy that the original has",
                         [](const auto& job) { return job.sizes.equal.success(); }),
    column<CertifiedJob>("supported_sizes", Unit::share,
                         "distinct kinds and sizes of the copy that at least 5 known jobs have, the original included",
                         [](const auto& job) {
                           return Tries{job.sizes.equal.tries, job.sizes.supported}.success();
                         }),
    column<CertifiedJob>("longest_run", Unit::count, "longest run of communications in common with the original",
                         [](const auto& job) { return static_cast<int64_t>(job.longest_run); }),
    column<CertifiedJob>("longest_run_among", Unit::count,
                         "the same in common with other jobs: the 99th percentile of the jobs",
                         [](const auto& job) { return static_cast<int64_t>(job.longest_run_among); }),
    column<&CertifiedJob::doubtful_texts>("doubtful_texts", Unit::count,
                                          "texts of the copy that 'chakra doctor --secrets' lists"),
    column<&CertifiedJob::unread_files>("unread_files", Unit::count, "files of the copy of an unknown kind")};
constexpr std::array kClaimColumns{
    column<Claim>("name", Unit::none, "name of the claim", [](const Claim& c) { return c.row().name; }),
    column<Claim>("level", Unit::count, "first level that claims it", [](const Claim& c) { return c.row().level; }),
    column<Claim>(
        "verdict", Unit::none,
        "holds; fails: more success than by chance; not proven: no success on the original, or too few tries; or "
        "outside the level",
        [](const Claim& c) { return kVerdictNames[static_cast<size_t>(c.verdict)]; }),
    column<&Claim::copy>("success_on_copy", Unit::share, "success of the attack on the copy"),
    column<&Claim::original>("success_on_original", Unit::share, "success of the same attack on the original"),
    column<&Claim::chance>("chance", Unit::share, "success of a guess; null: unknown"),
    column<&Claim::tries>("tries", Unit::count, "words, sizes, sequences or guesses that were tried"),
    column<Claim>("claim", Unit::none, "the claim", [](const Claim& c) { return c.row().claim; }),
    column<Claim>("attack", Unit::none, "the attack", [](const Claim& c) { return c.row().attack; }),
    column<Claim>("limits", Unit::none, "what the attack does not prove",
                  [](const Claim& c) { return c.row().limits; })};
constexpr std::array kPlaces{
    column<&Placed::distance>("distance", Unit::none, "distance between jobs: multisets or features"),
    column<Placed>("candidates", Unit::count, "the original and the other jobs",
                   [](const Placed& p) { return p.on_copy.candidates; }),
    column<Placed>("place", Unit::count, "place of the original by distance to the copy; 1: nearest",
                   [](const Placed& p) { return p.on_copy.rank; }),
    column<Placed>("as_near", Unit::count, "candidates as near as the original, which is one of them",
                   [](const Placed& p) { return p.on_copy.as_near; }),
    column<Placed>("place_unprotected", Unit::count, "place of the original by distance to the original itself",
                   [](const Placed& p) { return p.on_original.rank; })};
constexpr std::array kFigures{
    column<&Figure::metric>("metric", Unit::none, "name of the figure (docs/explanation/certificate.md)"),
    column<&Figure::of>("of", Unit::none, "kind of size and role, role, or network"),
    column<Figure>("at_most", Unit::none,
                   "value, rounded up to 1, 2 or 5 times a power of ten: an exact value would show the original",
                   [](const Figure& f) { return rounded_up(f.value, f.limit); }),
    column<&Figure::limit>("limit", Unit::none, "value up to which the copy counts as near"),
    column<Figure>("differs", Unit::none, "the value is not 0, apart from rounding",
                   [](const Figure& f) { return rounded_up(f.value, f.limit) > 0; }),
    column<Figure>("holds", Unit::none, "the value is within the limit", [](const Figure& f) { return f.holds(); })};

struct Guess {
  std::string_view name;
  int64_t value;
};
constexpr std::array kGuesses{
    column<&Guess::name>("attribute", Unit::none, "attribute of the model"),
    column<&Guess::value>("value", Unit::count, "what the copy alone shows, right or wrong; 0: unknown")};
constexpr std::array kFileColumns{column<&File::name>("name", Unit::none, "name in the folder of the copy"),
                                  column<&File::bytes>("bytes", Unit::bytes, "size of the file"),
                                  column<&File::digest>("digest", Unit::none, "BLAKE2b-256 of the bytes")};
constexpr std::array kExamples{
    column<&Example::node>("node", Unit::id, "number of the node in the first trace, from 0"),
    column<&Example::type>("type", Unit::none, "type of the node"),
    column<&Example::name_before>("name_before", Unit::none, "name in the original"),
    column<&Example::name_after>("name_after", Unit::none, "name in the copy"),
    column<&Example::bytes_before>("bytes_before", Unit::bytes, "size in the original"),
    column<&Example::bytes_after>("bytes_after", Unit::bytes, "size in the copy"),
    column<&Example::dur_before_ps>("dur_before_ps", Unit::ps, "duration in the original"),
    column<&Example::dur_after_ps>("dur_after_ps", Unit::ps, "duration in the copy")};

std::vector<Guess> guesses_of(const synth::Attributes& attributes) {
  std::vector<Guess> guesses;
  for (size_t i = 0; i < kAttributes.size(); ++i) guesses.push_back({kAttributes[i], values_of(attributes)[i]});
  return guesses;
}

}  // namespace

answer::Answer answer_of(const CertifiedJob& job, bool examples) {
  answer::Builder to("certify");
  to.values("", &job, kCertificate);
  to.table("claims", "claims of the copy, and the attacks on them", job.claims, kClaimColumns);
  to.table("places", "places of the original among the candidates", job.placed, kPlaces);
  to.table("fidelity", "how near the copy is to the original", job.fidelity, kFigures);
  to.table("guesses", "what the copy shows about the model", guesses_of(job.guess), kGuesses);
  to.table("files", "files of the copy", job.files, kFileColumns);
  to.table("examples", "nodes before and after: this table shows the original, and is in no certificate", job.examples,
           kExamples, examples);
  to.table("leaks", "words of the original that are in the copy: these are in no certificate either", job.leaks,
           kTextRows, examples);
  return std::move(to).finish(job.findings);
}

view::Text text_of(const CertifiedJob&) {
  using view::ShowColumn;
  static constexpr std::array<ShowColumn, 7> kClaimsText{{{.key = "name", .heading = "claim"},
                                                          {.key = "level", .heading = "level"},
                                                          {.key = "tries", .heading = "tries"},
                                                          {.key = "success_on_copy", .heading = "on the copy"},
                                                          {.key = "success_on_original", .heading = "on the original"},
                                                          {.key = "chance", .heading = "by chance"},
                                                          {.key = "verdict", .heading = "verdict"}}};
  static constexpr std::array<ShowColumn, 4> kPlacesText{{{.key = "distance", .heading = "distance"},
                                                          {.key = "candidates", .heading = "candidates"},
                                                          {.key = "place", .heading = "place of the original"},
                                                          {.key = "as_near", .heading = "as near"}}};
  static constexpr std::array<ShowColumn, 5> kFiguresText{{{.key = "metric", .heading = "fidelity"},
                                                           {.key = "of", .heading = "of"},
                                                           {.key = "at_most", .heading = "at most"},
                                                           {.key = "limit", .heading = "limit"},
                                                           {.key = "holds", .heading = "holds"}}};
  static constexpr std::array<ShowColumn, 8> kExamplesText{{{.key = "node", .heading = "node"},
                                                            {.key = "type", .heading = "type"},
                                                            {.key = "name_before", .heading = "name"},
                                                            {.key = "name_after", .heading = "in the copy"},
                                                            {.key = "bytes_before", .heading = "bytes"},
                                                            {.key = "bytes_after", .heading = "in the copy"},
                                                            {.key = "dur_before_ps", .heading = "time"},
                                                            {.key = "dur_after_ps", .heading = "in the copy"}}};
  static constexpr std::array<view::Show, 15> kText{{
      {.line =
           "[{?level=0}the copy claims no level|level {level}]: [{?holds}no claim of the level fails|A CLAIM OF THE "
           "LEVEL FAILS]; {ranks} rank[{?ranks=1}|s], {nodes} nodes, {#files} file[{?#files=1}|s], {among} other "
           "job[{?among=1}|s]"},
      {.line = ""},
      {.table = "claims", .first = view::kAllRows, .columns = kClaimsText},
      {.line = "  {equal_sizes} of the sizes are equal, and {supported_sizes} are sizes of several jobs; the "
               "longest common run has {longest_run} communications "
               "(with other jobs {longest_run_among})"},
      {.line = "  {doubtful_texts} texts of the copy may be secrets; {unread_files} files are of an unknown kind"},
      {.table = "places", .first = view::kAllRows, .columns = kPlacesText},
      {.line = ""},
      {.line =
           "fidelity: [{?is_near}all|NOT ALL] of {#fidelity} figures are within their limits; those that differ from "
           "the original:"},
      {.table = "fidelity", .first = view::kAllRows, .only = "differs", .columns = kFiguresText},
      {.line = ""},
      {.line = "  the copy shows {attribute} {value}", .table = "guesses", .first = view::kAllRows},
      {.line = ""},
      {.table = "examples", .first = view::kAllRows, .columns = kExamplesText},
      {.line = "  in the copy: {}", .table = "leaks", .first = 20},
      {.findings = true},
  }};
  return {kText};
}

// ---- without the original --------------------------------------------------------------------------------------

answer::Answer answer_of(const CheckedCertificate& checked) {
  using Number = CheckedCertificate::Number;
  constexpr std::array kChecked{
      column<&CheckedCertificate::agrees>("agrees", Unit::none, "all numbers of the certificate are those of the copy"),
      column<&CheckedCertificate::files>("files", Unit::count,
                                         "files of the copy, all with the digest of the "
                                         "certificate"),
      column<&CheckedCertificate::level>("level", Unit::count, "level that the certificate states")};
  constexpr std::array kNumbers{column<&Number::name>("name", Unit::none, "the number"),
                                column<&Number::stated>("stated", Unit::count, "in the certificate"),
                                column<&Number::found>("found", Unit::count, "in the copy")};
  answer::Builder to("certify --check");
  to.values("", &checked, kChecked);
  to.table("numbers", "numbers that need no original", checked.numbers, kNumbers);
  return std::move(to).finish(checked.findings);
}

view::Text text_of(const CheckedCertificate&) {
  static constexpr std::array<view::ShowColumn, 3> kNumbers{{{.key = "name", .heading = "number"},
                                                             {.key = "stated", .heading = "certificate"},
                                                             {.key = "found", .heading = "copy"}}};
  static constexpr std::array<view::Show, 3> kText{{
      {.line = "[{?agrees}the certificate is about this copy|THE CERTIFICATE DIFFERS]: {files} file[{?files=1}|s] with "
               "equal digests, level {level}"},
      {.table = "numbers", .first = view::kAllRows, .columns = kNumbers},
      {.findings = true},
  }};
  return {kText};
}

}  // namespace chakra::certify
