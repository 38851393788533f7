#include "chakra/certify/files.h"

#include <filesystem>

#include "chakra/base/progress.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"
#include "chakra/recording/recording.h"
#include "chakra/seal/seal.h"
#include "chakra/share/share.h"
#include "chakra/trace/roles.h"

namespace chakra::certify {

// `job.certify.file` (1): the copy has a pipe or a device

namespace {

namespace fs = std::filesystem;

struct SharedFile {
  std::string path, name;
};

/// All files below a folder; else the files of the job.
Result<std::vector<SharedFile>> files_of(const std::string& shared) {
  std::vector<SharedFile> files;
  if (is_directory(shared)) {
    CHAKRA_ASSIGN(const std::vector<std::string> paths, share::files_below(shared));
    for (const std::string& path : paths) files.push_back({path, fs::path(path).lexically_relative(shared).string()});
  } else {
    CHAKRA_ASSIGN(const std::vector<std::string> paths, job::job_files(shared));
    for (const std::string& path : paths)
      if (files.empty() || files.back().path != path) files.push_back({path, fs::path(path).filename().string()});
  }
  for (const SharedFile& file : files)
    if (!is_file(file.path))
      return fail(Code::bad_input, "job.certify.file", "neither a file nor a folder: its contents are unknown",
                  {file.path});
  return files;
}

/// The traces of a file; none for other files.
std::vector<io::RankFile> traces_of(const std::string& path) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return {};
  const auto begin = source->peek(filetype::kTraceHead);
  const io::FormatRow* const form = begin ? io::form_of(*begin) : nullptr;
  if (!form || (!form->open && form->name != "container")) return {};
  auto ranks = io::find_ranks(path);
  return ranks ? std::move(*ranks) : std::vector<io::RankFile>();
}

/// Adds the texts of a trace to the words of the original.
class WordSink : public share::TextSink {
 public:
  explicit WordSink(SecretWords& words) : words_(words) {}
  void text(std::string_view, std::string_view text) override { words_.add(text); }
  void member(std::string_view name) override { words_.add(name); }

 private:
  SecretWords& words_;
};

/// Looks for words in the texts of a trace.
class SearchSink : public share::TextSink {
 public:
  SearchSink(const SecretWords& words, SecretWords::Found& found) : words_(words), found_(found) {}
  void text(std::string_view, std::string_view text) override { words_.look_at_text(text, found_); }
  void member(std::string_view name) override { words_.look_at_text(name, found_); }

 private:
  const SecretWords& words_;
  SecretWords::Found& found_;
};

/// The bytes of a file, unpacked if they can be.
Result<void> look_at_bytes(const std::string& path, bool short_words, const SecretWords& words,
                           SecretWords::Found& found) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  source.keep_what_is_whole();
  constexpr size_t kPiece = size_t{1} << 20;
  std::string bytes;
  for (size_t kept = 0;;) {
    bytes.resize(kept + kPiece);
    const auto read = source.read({bytes.data() + kept, kPiece});
    const size_t size = read ? *read : 0;  // damaged, or several files: the rest is not plain text
    bytes.resize(kept + size);
    const size_t whole = size < kPiece ? bytes.size() : SecretWords::whole_words(bytes);
    words.look_at_bytes(std::string_view(bytes).substr(0, whole), short_words, found);
    if (size < kPiece) return {};
    CHAKRA_TRY(keep_going());
    bytes.erase(0, whole);
    kept = bytes.size();
  }
}

Result<void> look_at_file(const SharedFile& file, const SecretWords& words, SecretWords::Found& found) {
  words.look_at_text(fs::path(file.name).stem().string(), found);
  const std::vector<io::RankFile> traces = traces_of(file.path);
  SearchSink sink(words, found);
  for (const io::RankFile& trace : traces) CHAKRA_TRY(share::for_each_text(trace, sink));
  const bool packed = !traces.empty() && traces[0].container;
  return look_at_bytes(file.path, !packed, words, found);
}

/// The name of a file of a job by classes: "class" and a number.
bool is_own_name(std::string_view name) {
  int64_t number = 0;
  return name.starts_with("class") && parse_decimal(name.substr(5), number);
}

/// Words that programs write into every job.
void allow_words(SecretWords& words) {
  for (const char* word : {"trace", "ranks", "class"}) words.allow(word);
  for (const trace::RoleRow& role : trace::kRoles) words.allow(role.name);
}

Result<void> add_words(const std::vector<SharedFile>& files, const job::Loaded& loaded, SecretWords& words) {
  WordSink sink(words);
  for (const SharedFile& file : files) {
    if (const std::string name = fs::path(file.name).stem().string(); !is_own_name(name)) words.add(name);
    for (const io::RankFile& trace : traces_of(file.path)) CHAKRA_TRY(share::for_each_text(trace, sink));
  }
  if (const trace::ClassJob* const job = loaded.classes()) {
    for (const trace::ProcessGroup& group : job->groups)
      for (const std::string* text : {&group.name, &group.description, &group.backend}) words.add(*text);
    for (const std::vector<std::string>& slots : job->group_slots)
      for (const std::string& slot : slots) words.add(slot);
  }
  allow_words(words);
  return {};
}

}  // namespace

Result<std::vector<CertifiedJob::File>> digests_of(const std::string& shared) {
  CHAKRA_ASSIGN(const std::vector<SharedFile> paths, files_of(shared));
  std::vector<CertifiedJob::File> files;
  for (const SharedFile& file : paths) {
    CHAKRA_TRY(keep_going());
    CHAKRA_ASSIGN(std::string digest, seal::digest_of_file(file.path));
    files.push_back({file.name, static_cast<int64_t>(file_size(file.path)), std::move(digest)});
  }
  return files;
}

Result<NamesFound> find_names(const std::string& original, const job::Loaded& loaded, const std::string& shared) {
  SecretWords words(recording::is_public_word);
  CHAKRA_ASSIGN(const std::vector<std::string> paths, job::job_files(original));
  std::vector<SharedFile> originals;
  for (const std::string& path : paths) {
    if (!is_directory(path)) {
      if (originals.empty() || originals.back().path != path)
        originals.push_back({path, fs::path(path).filename().string()});
      continue;
    }
    CHAKRA_ASSIGN(const std::vector<SharedFile> inside, files_of(path));
    originals.insert(originals.end(), inside.begin(), inside.end());
  }
  CHAKRA_TRY(add_words(originals, loaded, words));
  CHAKRA_ASSIGN(const std::vector<SharedFile> copies, files_of(shared));
  SecretWords::Found in_original, in_copy;
  for (const SharedFile& file : originals) CHAKRA_TRY(look_at_file(file, words, in_original));
  for (const SharedFile& file : copies) CHAKRA_TRY(look_at_file(file, words, in_copy));
  return NamesFound{static_cast<int64_t>(words.size()), words.count(in_original), words.words_of(in_copy)};
}

}  // namespace chakra::certify
