#include "chakra/certify/certificate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "chakra/base/spec_json.h"
#include "chakra/certify/files.h"
#include "chakra/edit/edit.h"
#include "chakra/report/report.h"
#include "chakra/share/share.h"
#include "chakra/trace/metadata.h"

namespace chakra::certify {

// `job.certify.form` (1): not a certificate
// `job.certify.changed` (1): the copy changed after the certificate
// `job.certify.differs` (error): a number of the certificate is not that of the copy
// `job.certify.level` (warning): the certificate is for another level than the copy is marked with

namespace {

constexpr size_t kMostOfCertificate = size_t{64} << 20;
Failure not_a_certificate(const Spec& at, std::string_view key) {
  return at.error("job.certify.form", fmt::format("not a certificate of 'chakra certify -o FILE.json': {}", key));
}
Result<const Spec*> member(const Spec& of, std::string_view key, Spec::Kind kind) {
  const Spec* const found = of.find(key);
  if (!found || found->kind != kind) return not_a_certificate(of, fmt::format("{} is missing or invalid", quote(key)));
  return found;
}
Result<int64_t> number(const Spec& of, std::string_view key) {
  CHAKRA_ASSIGN(const Spec* const found, member(of, key, Spec::Kind::scalar));
  const auto value = found->integer();
  if (!value || *value < 0) return not_a_certificate(of, fmt::format("{} is not a number from 0", quote(key)));
  return *value;
}
Result<std::string> text(const Spec& of, std::string_view key) {
  CHAKRA_ASSIGN(const Spec* const found, member(of, key, Spec::Kind::scalar));
  return found->scalar;
}

Result<void> read_files(const Spec& rows, Certificate& is) {
  for (const Spec& row : rows.items) {
    CHAKRA_ASSIGN(std::string name, text(row, "name"));
    CHAKRA_ASSIGN(std::string digest, text(row, "digest"));
    CHAKRA_ASSIGN(const int64_t size, number(row, "bytes"));
    if (!is.files.try_emplace(name, CertifiedJob::File{name, size, std::move(digest)}).second)
      return not_a_certificate(row, fmt::format("{} is listed twice", quote(name)));
  }
  return {};
}

Result<void> read_guess(const Spec& rows, Certificate& is) {
  std::array<bool, kAttributes.size()> known{};
  for (const Spec& row : rows.items) {
    CHAKRA_ASSIGN(const std::string name, text(row, "attribute"));
    const auto at = static_cast<size_t>(std::find(kAttributes.begin(), kAttributes.end(), name) - kAttributes.begin());
    if (at == kAttributes.size() || known[at])
      return not_a_certificate(row, fmt::format("attribute {} is unknown or listed twice", quote(name)));
    known[at] = true;
    CHAKRA_ASSIGN(is.guess[at], number(row, "value"));
  }
  if (std::find(known.begin(), known.end(), false) != known.end())
    return not_a_certificate(rows, "attributes of the model are missing");
  return {};
}

}  // namespace

Result<Certificate> parse_certificate(std::string_view bytes, const std::string& path) {
  const auto file = std::make_shared<const std::string>(path);
  CHAKRA_ASSIGN(const std::optional<Spec> spec, parse_json_spec(bytes, file));
  if (!spec || spec->kind != Spec::Kind::map)
    return fail(Code::bad_input, "job.certify.form",
                "not a certificate: 'chakra certify -o FILE.json' writes certificates that can be checked", {path});
  CHAKRA_ASSIGN(const int64_t version, number(*spec, "certificate"));
  if (version != 1) return not_a_certificate(*spec, fmt::format("version {}; this program knows version 1", version));
  Certificate is;
  CHAKRA_ASSIGN(is.level, number(*spec, "level"));
  CHAKRA_ASSIGN(is.doubtful_texts, number(*spec, "doubtful_texts"));
  CHAKRA_ASSIGN(const Spec* const files, member(*spec, "files", Spec::Kind::list));
  CHAKRA_TRY(read_files(*files, is));
  CHAKRA_ASSIGN(const Spec* const guesses, member(*spec, "guesses", Spec::Kind::list));
  CHAKRA_TRY(read_guess(*guesses, is));
  return is;
}

namespace {

/// The copy must have the files of the certificate, and no others.
Result<void> compare_files(const Certificate& stated, const std::vector<CertifiedJob::File>& found,
                           const std::string& shared) {
  const auto changed = [&](std::string text) {
    return fail(Code::bad_input, "job.certify.changed",
                fmt::format("the copy changed after the certificate, or is another one: {}", text), {shared});
  };
  std::map<std::string, CertifiedJob::File> missing = stated.files;
  for (const CertifiedJob::File& file : found) {
    const auto at = missing.find(file.name);
    if (at == missing.end()) return changed(fmt::format("{} is not in the certificate", quote(file.name)));
    if (at->second.bytes != file.bytes || at->second.digest != file.digest)
      return changed(fmt::format("{} has other bytes", quote(file.name)));
    missing.erase(at);
  }
  if (!missing.empty()) return changed(fmt::format("{} is missing", quote(missing.begin()->first)));
  return {};
}

}  // namespace

std::span<const trace::Trace> traces_of(const job::Loaded& loaded) {
  if (const trace::ClassJob* const job = loaded.classes()) return job->classes;
  return std::get<trace::TraceSet>(loaded.job).ranks;
}

int64_t marked_level(const job::Loaded& copy) {
  const std::span<const trace::Trace> traces = traces_of(copy);
  if (traces.empty() || !trace::metadata(traces.front(), edit::kHiddenMark)) return 0;
  return std::clamp<int64_t>(trace::metadata_number(traces.front(), edit::kHiddenLevel).value_or(1), 1, 3);
}

Result<CheckedCertificate> check_certificate(const CertifyOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  if (!o.output.empty() || !o.among.empty() || o.level || o.examples)
    return fail(Code::usage, "cli.usage",
                "--output, --among, --level and --examples have no effect with --check, which has no original");
  CHAKRA_ASSIGN(const std::string bytes, read_file(o.original, kMostOfCertificate));
  CHAKRA_ASSIGN(const Certificate stated, parse_certificate(bytes, o.original));
  CHAKRA_ASSIGN(const std::vector<CertifiedJob::File> files, digests_of(o.shared));
  CHAKRA_TRY(compare_files(stated, files, o.shared));
  CHAKRA_ASSIGN(const job::LoadedPtr loaded, job::load(o.shared));
  const synth::Attributes guess = std::visit([](const auto& job) { return synth::guess_attributes(job); }, loaded->job);
  CHAKRA_ASSIGN(const share::FoundSecrets doubtful, share::find_secrets(o.shared));
  CheckedCertificate is;
  is.files = std::ssize(files);
  is.level = stated.level;
  if (const int64_t marked = marked_level(*loaded); marked != is.level)
    is.findings.push_back({"job.certify.level", Severity::warning, -1, -1,
                           fmt::format("the certificate is for level {}, and the copy is marked as of level {}: either "
                                       "its maker gave another --level, or the certificate was edited",
                                       is.level, marked)});
  const std::array<int64_t, kAttributes.size()> found = values_of(guess);
  for (size_t i = 0; i < found.size(); ++i) is.numbers.push_back({kAttributes[i], stated.guess[i], found[i]});
  is.numbers.push_back({"doubtful_texts", stated.doubtful_texts, share::count_of(doubtful)});
  for (const CheckedCertificate::Number& each : is.numbers) {
    if (each.stated == each.found) continue;
    is.agrees = false;
    is.findings.push_back(
        {"job.certify.differs", Severity::error, -1, -1,
         fmt::format("{} is {} in the certificate, and the copy has {}", each.name, each.stated, each.found)});
  }
  return is;
}

std::vector<std::string> certificate_files(const std::string& output) {
  if (output.empty()) return {};
  if (output.ends_with(".json") || output.ends_with(".html")) return {output};
  return {output + ".json", output + ".html"};
}

Result<job::Outputs> certificate_of(const CertifiedJob& job, const std::string& output) {
  job::Outputs files;
  const answer::Answer certificate = answer_of(job, false);
  const report::Subject page{"certificate", job.ranks, {{&certificate}}};
  for (const std::string& file : certificate_files(output))
    if (file.ends_with(".html")) {
      CHAKRA_ASSIGN(const report::Page html, report::page_of({&page, 1}));
      CHAKRA_TRY(job::add_text(files, file, html.html));
    } else {
      CHAKRA_TRY(job::add_answer(files, file, certificate));
    }
  return files;
}

}  // namespace chakra::certify
