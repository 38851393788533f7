#include "chakra/filetype/filetype.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <protozero/pbf_reader.hpp>

#include "chakra/filetype/words.h"

namespace chakra::filetype {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

/// The beginning of a JSON text without blanks.
std::string dense(std::string_view head) {
  std::string text;
  for (const char c : without_mark(head).substr(0, 200))
    if (!contains(kBlanks, std::string_view(&c, 1))) text += c;
  return text;
}

template <class Read>
bool guarded(const Read& read) {
  try {
    return read();
  } catch (const protozero::exception&) {
    return false;
  }
}

// ---- traces --------------------------------------------------------------------------------------

bool is_container(std::string_view head, Words) { return head.starts_with(kContainerMagic); }

bool is_json(std::string_view head, Words) {
  const std::string text = dense(head);
  // A profiler's file may also begin with metadata, which have other keys.
  for (const std::string_view begin :
       {"{\"chakraTrace\":\"json/", "{\"metadata\":{\"version\":", "{\"metadata\":{\"attr\":", "{\"metadata\":{}"})
    if (text.starts_with(begin)) return true;
  return false;
}

bool is_json_lines(std::string_view head, Words) {
  const std::string text = dense(head);
  // mlcommons/chakra's jsonizer also writes objects one after the other.
  for (const std::string_view begin :
       {"{\"chakraTrace\":\"jsonl/", "{\"attr\":[{\"name\":", "{\"version\":\"", "{}{\""})
    if (text.starts_with(begin)) return true;
  return false;
}

/// The first message begins with an id: today's begin with metadata, which has no number.
bool is_eg(std::string_view head, Words) {
  return guarded([&] {
    const char* at = head.data();
    const char* const end = at + std::min(head.size(), kTraceHead);
    const uint64_t length = protozero::decode_varint(&at, end);
    if (length < 2 || at == end || *at++ != '\x08') return false;
    (void)protozero::decode_varint(&at, end);
    return at == end || *at == '\x12';
  });
}

/// A message that begins with the version or an attribute and has only fields in it ("{\n" is not a message).
bool is_et(std::string_view head, Words) {
  constexpr uint32_t kMostField = 1000;
  return guarded([&] {
    const char* at = head.data();
    const char* const end = at + std::min(head.size(), kTraceHead);
    const uint64_t length = protozero::decode_varint(&at, end);
    if (length == 0) return true;
    if (at == end || (*at != '\x0a' && *at != '\x12')) return false;
    if (length > static_cast<uint64_t>(end - at)) return true;  // as far as can be seen
    for (protozero::pbf_reader fields(at, length); fields.next(); fields.skip())
      if (fields.tag() > kMostField) return false;
    return true;
  });
}

// ---- recordings ----------------------------------------------------------------------------------

/// Whether the text names the graph of a host trace. Both names share a beginning, which is searched by leaps.
bool names_graph(std::string_view head) {
  static constexpr std::string_view kBegin = "execution_";
  const std::boyer_moore_horspool_searcher begin(kBegin.begin(), kBegin.end());
  for (auto at = head.begin();;) {
    at = std::search(at, head.end(), begin);
    if (at == head.end()) return false;
    at += kBegin.size();
    const std::string_view rest(at, head.end());
    if (rest.starts_with("trace") || rest.starts_with("graph")) return true;
  }
}

bool is_host_trace(std::string_view head, Words words) {
  return words.is_object && ((words.has(Word::schema) && !member(head, "schema").empty()) ||
                             words.has(Word::record_function_id) || names_graph(head));
}

/// Tried after the rule of host traces, some of which have a key of Kineto's.
bool is_kineto(std::string_view, Words words) {
  return words.is_object && (words.has(Word::trace_events) || words.has(Word::kineto));
}

// ---- the table ------------------------------------------------------------------------------------

/// In the order in which they are tried, after `by_first_key` and those of other tools. The two that are protobuf come
/// last: any bytes may look like a message by chance.
constexpr std::string_view kLinkIt = "'chakra link' makes a trace of it", kReadIt = "'chakra info' reads it";
constexpr Row kKinds[] = {
    {"container", Group::trace, is_container, true, "", "a packed job", kReadIt},
    {"json", Group::trace, is_json, true, "", "a Chakra trace (json)", kReadIt},
    {"jsonl", Group::trace, is_json_lines, true, "", "a Chakra trace (jsonl)", kReadIt},
    {"host", Group::recording, is_host_trace, false, "", "a PyTorch execution trace", kLinkIt},
    {"kineto", Group::recording, is_kineto, false, "", "a Kineto trace", kLinkIt},
    {"eg", Group::trace, is_eg, false, "", "a Chakra trace (eg)", kReadIt},
    {"et", Group::trace, is_et, false, "", "a Chakra trace", kReadIt},
    {"ranks", Group::trace, nullptr, false, "ranks.json", "a job by classes of ranks", kReadIt},
};

const Row* row_of(std::string_view name) {
  return std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Row& row) { return row.name == name; });
}

/// The recording that the first key tells: no rule of another kind fits a text that begins so, and most files do.
const Row* by_first_key(std::string_view head) {
  if (!is_json_object(head)) return nullptr;
  std::string_view text = trimmed(trimmed(head).substr(1));
  const bool is_kineto = text.starts_with("\"schemaVersion\"");
  if (!is_kineto && !text.starts_with("\"schema\"")) return nullptr;
  text.remove_prefix(text.find('"', 1) + 1);
  text = trimmed(text);
  if (!text.starts_with(':')) return nullptr;
  text = trimmed(text.substr(1));
  if (is_kineto) return row_of("kineto");
  return text.starts_with('"') && !text.starts_with("\"\"") ? row_of("host") : nullptr;
}

bool asked_for(const Row& row, unsigned groups) { return (groups & static_cast<unsigned>(row.group)) != 0; }

}  // namespace

const Row* recognise(std::string_view head, unsigned groups) {
  head = head.substr(0, kHead);
  if (const Row* const row = by_first_key(head)) return asked_for(*row, groups) ? row : nullptr;
  const Words words = words_of(head);
  for (const Row& row : kOthers)
    if (row.matches(head, words)) return asked_for(row, groups) ? &row : nullptr;
  for (const Row& row : kKinds)
    if (asked_for(row, groups) && row.matches && row.matches(head, words)) return &row;
  return nullptr;
}

Result<const Row*> recognise(const std::string& path, unsigned groups) {
  constexpr auto kTraces = static_cast<unsigned>(Group::trace);
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  CHAKRA_ASSIGN(const std::string_view head, source.peek(groups == kTraces ? kTraceHead : kHead));
  if (const Row* const row = recognise(head, groups)) return row;
  const std::string name = std::filesystem::path(path).filename().string();
  for (const Row& row : kKinds)
    if (asked_for(row, groups) && !row.file_name.empty() && row.file_name == name) return &row;
  return nullptr;
}

Failure refuse(const Row& row, std::string_view expected, std::string file) {
  return fail(Code::bad_input, "kind.other",
              fmt::format("this is {}, not {}{}{}", row.title, expected, row.advice.empty() ? "" : "; ", row.advice),
              {std::move(file)});
}

Result<void> refuse_others(std::string_view head, std::string_view expected, const std::string& file) {
  if (const Row* const row = recognise(head, Group::other)) return refuse(*row, expected, file);
  return {};
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

bool is_json_object(std::string_view head) {
  const std::string_view object = trimmed(head);
  return object.starts_with('{') && trimmed(object.substr(1)).starts_with('"');
}

std::string_view member(std::string_view head, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\"";
  size_t at = head.find(quoted);
  if (at == std::string_view::npos) return {};
  at = head.find_first_not_of(" \t\r\n:", at + quoted.size());
  if (at == std::string_view::npos || head[at] != '"') return {};
  const size_t end = head.find('"', at + 1);
  return end == std::string_view::npos ? std::string_view() : head.substr(at + 1, end - at - 1);
}

}  // namespace chakra::filetype
