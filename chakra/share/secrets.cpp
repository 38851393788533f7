#include "chakra/share/secrets.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/answer/rows.h"
#include "chakra/base/progress.h"
#include "chakra/filetype/filetype.h"
#include "chakra/io/io.h"
#include "chakra/share/texts.h"

namespace chakra::share {
namespace {

using answer::kTextRows;

namespace fs = std::filesystem;
using recording::Secrets;

/// Adds the texts of a trace to secrets.
class SecretSink : public TextSink {
 public:
  explicit SecretSink(Secrets& found) : found_(found) {}
  void text(std::string_view member, std::string_view text) override { found_.add(member, text); }
  void number(std::string_view member, std::string_view digits) override { found_.add_number(member, digits); }
  void member(std::string_view name) override { found_.add_member(name); }

 private:
  Secrets& found_;
};

// ---- files ---------------------------------------------------------------------------------------------------

/// A text that begins like JSON is read as JSON, whatever it describes.
Result<void> read_file(FoundSecrets::File& file, Secrets& found) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(file.path));
  CHAKRA_ASSIGN(const std::string_view begin, source.peek(filetype::kHead));
  const std::string_view text = filetype::trimmed(begin);
  const std::string name = fs::path(file.path).filename().string();
  const io::FormatRow* const named = io::format_of_name(name);
  const io::FormatRow* const form = io::form_of(begin);
  const bool json = !text.empty() && (text[0] == '{' || text[0] == '[');
  file.read = true;
  if (json && !(named && named->name == "et")) {
    const filetype::Row* const row = filetype::recognise(begin, filetype::kAllGroups);
    file.kind = row ? std::string(row->title) : "JSON";
    return recording::find_secrets_in_json(std::move(source), found);
  }
  if (form || (named && named->name == "et")) {
    file.kind = form ? std::string(form->name) : "et";
    CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(file.path));
    SecretSink sink(found);
    for (const io::RankFile& rank : ranks) CHAKRA_TRY(for_each_text(rank, sink));
    return {};
  }
  file.kind = "not read";
  file.read = false;
  return {};
}

/// PyTorch names files HOST_PID.TIME.pt.trace.json by default.
void add_file_name(const std::string& path, Secrets& found) {
  const std::string name = fs::path(path).filename().string();
  const size_t end = name.find('_');
  if (contains(name, ".pt.trace.json") && end != std::string::npos && end > 0)
    found.add("host", std::string_view(name).substr(0, end));
}

void look_at(FoundSecrets& all, const std::string& path) {
  FoundSecrets::File& file = all.files.emplace_back();
  file.path = path;
  add_file_name(path, all.secrets);
  const int64_t before = all.secrets.texts();
  if (!is_file(path)) {  // a pipe may never end
    file.kind = "not read";
  } else if (auto done = read_file(file, all.secrets); !done) {
    file.wrong = done.error();
    all.findings.push_back(
        {done.error().tag, Severity::warning, -1, -1,
         fmt::format("{}: read up to an error, and not further: {}", quote(path, 200), done.error().text)});
  }
  file.texts = all.secrets.texts() - before;
  if (!file.read && !file.wrong)
    all.findings.push_back(
        {"cli.doctor.not_read", Severity::warning, -1, -1,
         fmt::format("{}: not read, since the kind of the file is unknown; the file may have secrets",
                     quote(path, 200))});
}

}  // namespace

Result<FoundSecrets> find_secrets(const std::string& path) {
  FoundSecrets all;
  all.path = path;
  CHAKRA_ASSIGN(const std::vector<std::string> files, files_below(path));
  for (size_t i = 0; i < files.size(); ++i) {
    CHAKRA_TRY(keep_going(i, files.size()));
    look_at(all, files[i]);
  }
  return all;
}

// ---- as text and as JSON -------------------------------------------------------------------------------------

namespace {

using answer::column;
using answer::Unit;

struct KindOfSecret {
  const recording::SecretKind* kind;
  const Secrets::Found* found;
};

constexpr std::array<view::ShowColumn, 4> kShowKinds{{{.key = "kind", .heading = "kind"},
                                                      {.key = "count", .heading = "texts"},
                                                      {.key = "different", .heading = "different"},
                                                      {.key = "meaning", .heading = "meaning"}}};
constexpr std::array<view::Show, 1> kShowExamples{{{.line = "    {}", .table = "examples", .first = view::kAllRows}}};
constexpr view::Text kInKind{kShowExamples};
constexpr std::array<view::Show, 5> kSecretsText{{
    {.line = "{path}: {#files} file[{?#files=1}|s], {texts} texts, {secrets} of them may be secrets"},
    {.line = "  {kind}: {count} ({different} different): {meaning}",
     .table = "kinds",
     .inside = &kInKind,
     .first = view::kAllRows},
    {.line = "files:"},
    {.line = "  {path}: {kind}[{?error}: {error}]", .table = "files", .first = 40},
    {.table = "findings", .findings = true},
}};

}  // namespace

int64_t count_of(const FoundSecrets& found) {
  int64_t sum = 0;
  for (size_t k = 0; k < recording::kSecretKinds.size(); ++k)
    sum += found.secrets.of(static_cast<recording::Secret>(k)).count;
  return sum;
}

view::Text text_of(const FoundSecrets&) { return {kSecretsText}; }

answer::Answer answer_of(const FoundSecrets& all) {
  constexpr std::array kAll{
      column<&FoundSecrets::path>("path", Unit::none, "the file or folder"),
      column<FoundSecrets>("texts", Unit::count, "strings in the files",
                           [](const auto& f) { return f.secrets.texts(); }),
      column<FoundSecrets>("secrets", Unit::count,
                           "texts and numbers that may be secrets, by kind; a text may have several kinds",
                           [](const auto& f) { return count_of(f); })};
  constexpr std::array kKinds{
      column<KindOfSecret>("kind", Unit::none, "kind of secret",
                           [](const auto& k) { return std::string(k.kind->key); }),
      column<KindOfSecret>("meaning", Unit::none, "its meaning",
                           [](const auto& k) { return std::string(k.kind->meaning); }),
      column<KindOfSecret>("count", Unit::count, "texts of that kind", [](const auto& k) { return k.found->count; }),
      column<KindOfSecret>("different", Unit::count, "different ones",
                           [](const auto& k) { return static_cast<int64_t>(k.found->different.size()); }),
      answer::rows<KindOfSecret>("examples", "the first different ones, cut to 80 bytes",
                                 [](const auto&) { return true; })};
  constexpr std::array kFiles{
      column<&FoundSecrets::File::path>("path", Unit::none, "the file"),
      column<&FoundSecrets::File::kind>("kind", Unit::none, "how it was read, or: not read"),
      column<&FoundSecrets::File::read>("read", Unit::none, "false: its kind is unknown, and it may have secrets"),
      column<&FoundSecrets::File::texts>("texts", Unit::count, "its strings"),
      column<FoundSecrets::File>("error", Unit::none, "the tag of the error that ended reading; null: no error",
                                 [](const auto& f) { return f.wrong ? std::optional(f.wrong->tag) : std::nullopt; })};
  std::vector<KindOfSecret> kinds;
  for (size_t k = 0; k < recording::kSecretKinds.size(); ++k)
    kinds.push_back({&recording::kSecretKinds[k], &all.secrets.of(static_cast<recording::Secret>(k))});
  answer::Builder to("doctor --secrets PATH");
  to.values("", &all, kAll);
  to.table("kinds", "kinds of secrets", kinds, kKinds);
  to.children(
      "kinds", "examples", kinds, [](const KindOfSecret& k) -> const auto& { return k.found->examples; }, kTextRows);
  to.table("files", "files, by name", all.files, kFiles);
  to.findings("findings", "files that were not read, or not completely", all.findings);
  return std::move(to).finish();
}

}  // namespace chakra::share
