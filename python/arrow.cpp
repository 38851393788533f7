// The structs are those of https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html, whose
// layout is fixed.
#include "arrow.h"

#include <cerrno>
#include <exception>

extern "C" {
struct ArrowSchema {
  const char *format = nullptr, *name = nullptr, *metadata = nullptr;
  int64_t flags = 0, n_children = 0;
  ArrowSchema **children = nullptr, *dictionary = nullptr;
  void (*release)(ArrowSchema*) = nullptr;
  void* private_data = nullptr;
};
struct ArrowArray {
  int64_t length = 0, null_count = 0, offset = 0, n_buffers = 0, n_children = 0;
  const void** buffers = nullptr;
  ArrowArray **children = nullptr, *dictionary = nullptr;
  void (*release)(ArrowArray*) = nullptr;
  void* private_data = nullptr;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace chakra::python {
namespace {

using Columns = std::vector<ArrowColumn>;
constexpr int64_t kNullable = 2;

/// Struct of the interface with what its pointers point to; release() ends both.
template <class Struct>
struct Owned {
  std::string metadata;
  std::shared_ptr<const void> owner;
  std::vector<Struct> children;
  std::vector<Struct*> places;
  std::unique_ptr<Struct> dictionary;
};
template <class Struct>
void release(Struct* of) {
  auto* const owned = static_cast<Owned<Struct>*>(of->private_data);
  for (Struct& child : owned->children)
    if (child.release) child.release(&child);
  if (owned->dictionary && owned->dictionary->release) owned->dictionary->release(owned->dictionary.get());
  of->release = nullptr;
  delete owned;
}
/// Children and a dictionary may be moved out by the consumer, so each has its own release().
template <class Struct, class Fill>
void own(Struct& to, Owned<Struct>* owned, size_t children, bool has_dictionary, const Fill& fill) {
  owned->children.resize(children);
  for (size_t c = 0; c < children; ++c) {
    fill(owned->children[c], c);
    owned->places.push_back(&owned->children[c]);
  }
  if (has_dictionary) {
    owned->dictionary = std::make_unique<Struct>();
    fill(*owned->dictionary, 0);
  }
  to.n_children = static_cast<int64_t>(children);
  to.children = owned->places.data();
  to.dictionary = owned->dictionary.get();
  to.release = release<Struct>;
  to.private_data = owned;
}

/// Pairs of texts, each with its length before it.
std::string metadata_of(const ArrowColumn& column) {
  std::string text;
  int32_t pairs = 0;
  const auto number = [](int32_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto add = [&](const std::string& word) { text += number(static_cast<int32_t>(word.size())) + word; };
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>("unit", column.unit), {"meaning", column.meaning}}) {
    if (value.empty()) continue;
    ++pairs;
    add(key);
    add(value);
  }
  return pairs ? number(pairs) + text : std::string();
}

void fill_schema(ArrowSchema& to, const std::shared_ptr<const Columns>& all, const ArrowColumn& column) {
  auto* const owned = new Owned<ArrowSchema>{metadata_of(column), all, {}, {}, {}};
  to = {column.format, column.name.c_str(), owned->metadata.empty() ? nullptr : owned->metadata.c_str(), kNullable};
  own(to, owned, 0, column.dictionary != nullptr,
      [&](ArrowSchema& words, size_t) { fill_schema(words, all, *column.dictionary); });
}
void fill_array(ArrowArray& to, const std::shared_ptr<const Columns>& all, const ArrowColumn& column) {
  auto* const owned = new Owned<ArrowArray>{{}, all, {}, {}, {}};
  to = {column.rows, column.nulls, 0, static_cast<int64_t>(column.buffers.size()), 0};
  to.buffers = const_cast<const void**>(column.buffers.data());
  own(to, owned, 0, column.dictionary != nullptr,
      [&](ArrowArray& words, size_t) { fill_array(words, all, *column.dictionary); });
}

struct Batch {
  std::shared_ptr<const Columns> columns;
  int64_t rows = 0;
  bool done = false;
};
Batch& batch_of(ArrowArrayStream* stream) { return *static_cast<Batch*>(stream->private_data); }

/// Calls `fill`. The caller is C, so no exception may leave the functions of a stream.
template <class Struct, class Fill>
int filled(Struct* to, const Fill& fill) noexcept {
  try {
    fill();
    return 0;
  } catch (const std::exception&) {
    *to = {};
    return ENOMEM;
  }
}
int get_schema(ArrowArrayStream* stream, ArrowSchema* to) {
  const auto& all = batch_of(stream).columns;
  return filled(to, [&] {
    *to = {"+s", ""};
    own(*to, new Owned<ArrowSchema>{{}, all, {}, {}, {}}, all->size(), false,
        [&](ArrowSchema& child, size_t c) { fill_schema(child, all, (*all)[c]); });
  });
}
int get_next(ArrowArrayStream* stream, ArrowArray* to) {
  Batch& batch = batch_of(stream);
  *to = {};
  if (std::exchange(batch.done, true)) return 0;
  static const void* no_validity[1] = {nullptr};
  const auto& all = batch.columns;
  return filled(to, [&] {
    *to = {batch.rows, 0, 0, 1, 0, no_validity};
    own(*to, new Owned<ArrowArray>{{}, all, {}, {}, {}}, all->size(), false,
        [&](ArrowArray& child, size_t c) { fill_array(child, all, (*all)[c]); });
  });
}
const char* get_last_error(ArrowArrayStream*) { return nullptr; }
void release_stream(ArrowArrayStream* stream) {
  delete &batch_of(stream);
  stream->release = nullptr;
}

/// Of the sequence that begins at text[at]; 0: it is none.
size_t length_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = at + 1; i < at + length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const uint8_t second = byte(at + 1);
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_wrong ? 0 : length;
}

}  // namespace

std::string utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = length_at(text, at);
    if (length) out += text.substr(at, length);
    else out += "\xef\xbf\xbd";
    at += length ? length : 1;
  }
  return out;
}

void* make_stream(std::vector<ArrowColumn> columns, int64_t rows) {
  auto all = std::make_shared<const Columns>(std::move(columns));
  return new ArrowArrayStream{get_schema, get_next, get_last_error, release_stream, new Batch{std::move(all), rows}};
}
void free_stream(void* pointer) noexcept {
  auto* const stream = static_cast<ArrowArrayStream*>(pointer);
  if (stream->release) stream->release(stream);
  delete stream;
}

}  // namespace chakra::python
