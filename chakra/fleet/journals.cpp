#include "chakra/fleet/journals.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

namespace chakra::fleet {
namespace {

constexpr std::string_view kEnding = ".jsonl", kStem = "outcomes";

/// FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

bool is_journal(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem) || !name.ends_with(kEnding) || name.size() < stem.size() + kEnding.size()) return false;
  name = name.substr(stem.size(), name.size() - stem.size() - kEnding.size());
  if (name.empty()) return true;
  const size_t of = name.find("-of-");
  return name[0] == '.' && of != std::string_view::npos &&
         parse_shard(fmt::format("{}/{}", name.substr(1, of - 1), name.substr(of + 4))).has_value();
}

}  // namespace

bool Shard::has(std::string_view name, uint64_t number) const {
  const auto parts = static_cast<uint64_t>(count);
  return (hash_of(name) % parts + number % parts) % parts == static_cast<uint64_t>(index - 1);
}

Result<Shard> parse_shard(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  Shard shard;
  if (slash == text.size() || !parse_decimal(text.substr(0, slash), shard.index) ||
      !parse_decimal(text.substr(slash + 1), shard.count) || shard.index < 1 || shard.index > shard.count ||
      shard.count > kMostShards)
    return fail(Code::usage, "cli.usage",
                fmt::format("{} is not a shard I/N, with I from 1 to N and N up to {}", quote(text), kMostShards));
  return shard;
}

options::Option shard_option(Shard& shard) {
  const auto show = [&shard] { return shard.is_all() ? "" : fmt::format("{}/{}", shard.index, shard.count); };
  const auto set = [&shard](const std::string& text) -> Result<void> {
    CHAKRA_ASSIGN(shard, parse_shard(text));
    return {};
  };
  return {"--shard",
          options::Form{show, set},
          "Do part I of N of the work; the other parts run elsewhere",
          "I/N",
          {},
          "All parts share the output folder. Without this option, a call does all the work that is left."};
}

std::string journal_name(std::string_view stem, const Shard& shard) {
  return shard.is_all() ? fmt::format("{}{}", stem, kEnding)
                        : fmt::format("{}.{}-of-{}{}", stem, shard.index, shard.count, kEnding);
}

Result<std::vector<std::string>> journals_in(const std::string& folder, std::string_view stem,
                                             const std::optional<Shard>& own) {
  std::vector<std::string> paths;
  if (!is_directory(folder)) return paths;
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(folder));
  for (const std::string& name : names)
    if (is_journal(name, stem) && !(own && name == journal_name(stem, *own)))
      paths.push_back((std::filesystem::path(folder) / name).string());
  return paths;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

void append_key(std::string& to, std::string_view key) {
  if (to.back() != '{') to += ',';
  append_json_string(to, key);
  to += ':';
}

void append_member(std::string& to, std::string_view key, std::string_view text) {
  append_key(to, key);
  append_json_string(to, text);
}

const std::string* text_at(const Spec& spec, std::string_view key) {
  const Spec* const field = spec.find(key);
  return field && field->kind == Spec::Kind::scalar ? &field->scalar : nullptr;
}

std::string line_of(const Outcome& outcome) {
  std::string line = "{";
  append_member(line, "key", outcome.key);
  append_member(line, "state", kStates[static_cast<size_t>(outcome.state)]);
  if (!outcome.tag.empty()) {
    append_member(line, "tag", outcome.tag);
    append_member(line, "text", outcome.text);
  }
  if (outcome.wall_us > 0) line += fmt::format(",\"wall_us\":{}", outcome.wall_us);
  if (!outcome.values.empty()) {
    line += ",\"values\":{";
    for (const auto& [key, value] : outcome.values) append_member(line, key, value);
    line += '}';
  }
  return line + '}';
}

std::optional<Outcome> parse_line(std::string_view line) {
  const Result<Spec> spec = parse_spec(line, "");
  if (!spec || spec->kind != Spec::Kind::map) return std::nullopt;
  const std::string *const key = text_at(*spec, "key"), *const state = text_at(*spec, "state");
  const auto* const known = state ? std::find(kStates.begin(), kStates.end(), *state) : kStates.end();
  if (!key || known == kStates.end()) return std::nullopt;
  Outcome outcome{*key, static_cast<State>(known - kStates.begin())};
  if (const std::string* const tag = text_at(*spec, "tag")) outcome.tag = *tag;
  if (const std::string* const text = text_at(*spec, "text")) outcome.text = *text;
  if (const Spec* const time = spec->find("wall_us")) outcome.wall_us = time->integer().value_or(0);
  if (const Spec* const values = spec->find("values"))
    for (const SpecField& field : values->fields) outcome.values[field.key] = field.value.scalar;
  return outcome;
}

void Journals::take(const Outcome& outcome, Entries& entries) {
  Entry& entry = entries[outcome.key];
  if (outcome.state == State::begun) {
    ++entry.attempts;
    return;
  }
  entry.attempts = 0;
  if (!entry.last || entry.last->state != State::done) entry.last = outcome;
}

void Journals::take(std::string_view line, Entries& entries, int64_t& damaged) {
  if (const std::optional<Outcome> outcome = parse_line(line)) take(*outcome, entries);
  else ++damaged;
}

Result<Journals> Journals::open(const std::string& folder, const Shard& shard) {
  CHAKRA_TRY(make_directories(folder));
  Journals journals;
  journals.folder_ = folder;
  journals.own_shard_ = shard;
  std::string lines;
  const std::string path = (std::filesystem::path(folder) / journal_name(kStem, shard)).string();
  CHAKRA_ASSIGN(journals.file_, AppendFile::open(path, lines));
  for (const std::string_view line : lines_of(lines)) take(line, journals.own_, journals.own_damaged_);
  CHAKRA_TRY(journals.refresh());
  return journals;
}

Result<Journals> Journals::look(const std::string& folder) {
  Journals journals;
  journals.folder_ = folder;
  CHAKRA_TRY(journals.refresh());
  return journals;
}

Result<void> Journals::add(const Outcome& outcome) {
  CHAKRA_ASSERT(file_.has_value());
  const std::lock_guard lock(*mutex_);
  CHAKRA_TRY(file_->add(line_of(outcome)));
  take(outcome, own_);
  return {};
}

Result<bool> Journals::refresh() {
  CHAKRA_ASSIGN(const std::vector<std::string> paths, journals_in(folder_, kStem, own_shard_));
  Entries entries;
  int64_t damaged = 0;
  size_t count = 0;
  for (const std::string& path : paths) {
    CHAKRA_ASSIGN(const std::string text, read_file(path));
    for (const std::string_view line : lines_of(text)) {
      take(line, entries, damaged);
      ++count;
    }
  }
  const std::lock_guard lock(*mutex_);
  others_ = std::move(entries);
  others_damaged_ = damaged;
  return std::exchange(other_lines_, count) != count;
}

Result<void> Journals::sync() {
  const std::lock_guard lock(*mutex_);
  return file_ ? file_->sync() : Result<void>();
}

std::optional<Outcome> Journals::find(const std::string& key) const {
  const std::lock_guard lock(*mutex_);
  std::optional<Outcome> found;
  for (const Entries* const entries : {&own_, &others_})
    if (const auto at = entries->find(key); at != entries->end() && at->second.last)
      if (!found || found->state != State::done) found = at->second.last;
  return found;
}

int64_t Journals::attempts(const std::string& key) const {
  const std::lock_guard lock(*mutex_);
  int64_t attempts = 0;
  for (const Entries* const entries : {&own_, &others_})
    if (const auto at = entries->find(key); at != entries->end()) attempts += at->second.attempts;
  return attempts;
}

int64_t Journals::damaged() const {
  const std::lock_guard lock(*mutex_);
  return own_damaged_ + others_damaged_;
}

}  // namespace chakra::fleet
