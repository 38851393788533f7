// Any bytes as a container; and a container with bytes changed and its checksums made good again would need its
// writer, so the blocks' contents are fuzzed as columns: bytes as the columns of a group.
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "chakra/pack/columns.h"
#include "chakra/pack/metadata.h"
#include "chakra/pack/pack.h"
#include "chakra/pack/substitution.h"

namespace {

using namespace chakra;

/// Size-prefixed pieces: first the dictionary's, then the columns', then the replaced values.
void read_columns(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<std::string> entries;
  for (uint64_t left = in.fixed(1); left > 0 && in.ok; --left) entries.emplace_back(in.bytes(in.varint()));
  pack::Columns columns;
  for (uint64_t left = in.fixed(1); left > 0 && in.ok; --left) {
    const auto id = static_cast<uint32_t>(in.varint());
    columns[id] = in.bytes(in.varint());
  }
  const pack::EntryOf entry_of = [&](uint64_t id) -> Result<std::string_view> {
    if (id >= entries.size()) return fail(Code::bad_input, "io.container.damaged", "no such entry", {"fuzz"});
    return std::string_view(entries[id]);
  };
  const auto substitutions = pack::Substitutions::parse(in.bytes(in.varint()), entry_of);
  if (!substitutions) return;
  pack::ColumnReader reader(entry_of, *substitutions);
  const pack::ColumnViews views(columns.begin(), columns.end());
  std::vector<std::string> messages;
  for (const bool again : {false, true}) {  // what the reader remembers changes no node
    if (!reader.begin(views)) return;
    schema::NodeRecord record;
    for (size_t nodes = 0; nodes < 1000; ++nodes) {
      const auto more = reader.next(record);
      if (!more) return again ? __builtin_trap() : void();
      if (!*more) break;
      schema::NodeRecord decoded;
      const std::string message = schema::encode(record);
      if (!schema::decode(message, decoded) || schema::encode(decoded) != message) __builtin_trap();
      if (!again) messages.push_back(message);
      else if (messages[nodes] != message) __builtin_trap();
    }
  }
}

}  // namespace

/// The master's metadata, then the differences.
void read_differences(std::string_view bytes) {
  ByteReader in(bytes);
  const std::string_view master = in.bytes(in.fixed(1));
  const auto own = pack::with_differences(master, in.bytes(static_cast<uint64_t>(in.end - in.at)));
  if (!own) return;
  const auto differences = pack::number_differences(*own, master);
  if (differences && pack::with_differences(master, *differences) != own) __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_columns(bytes);
  read_differences(bytes);
  static const std::string path = "/tmp/chakra-container-fuzz-" + std::to_string(::getpid());
  if (!write_file(path, bytes)) return 0;
  if (auto container = pack::Container::open(path)) (void)(*container)->verify();
  ::unlink(path.c_str());
  return 0;
}
