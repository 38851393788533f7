// A plane of a profile as a message, with the names that its parts refer to. Reading throws protozero::exception.
// Inside the room. The numbers of the fields are those of openxla/xla's xplane.proto.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <string_view>
#include <vector>

#include "chakra/xla/wire.h"

namespace chakra::xla {

/// The statistics that matter here.
enum class Stat : uint8_t {
  other,
  op,
  module,
  program,
  run,
  device,
  proto,
  start,
  jax,
  process,
  step,
  correlation,
  leads_to,       ///< the number of an arrow that begins here
  leads_to_kind,  ///< 0: a general one
  comes_from,     ///< the number of an arrow that ends here
  comes_from_kind
};
inline constexpr size_t kStatCount = static_cast<size_t>(Stat::comes_from_kind) + 1;

class Plane {
 public:
  /// Read the names and the places of the parts. Fields that this version does not know are counted.
  Plane(protozero::pbf_reader reader, UnknownParts& unknown);

  std::string_view name;
  std::vector<protozero::data_view> lines, metadata, stats;  ///< messages

  struct Value {
    Stat stat = Stat::other;
    int64_t number = 0;
    std::string_view text;
  };
  Value read_stat(protozero::data_view bytes) const;

 private:
  [[gnu::noinline]] Value read_any_stat(protozero::data_view bytes) const;
  struct Name {
    std::string_view text;
    Stat stat = Stat::other;
  };
  void add_name(protozero::pbf_reader entry);
  const Name& name_of(int64_t id) const {
    return static_cast<uint64_t>(id) < names_.size() ? names_[static_cast<size_t>(id)] : name_of_large(id);
  }
  [[gnu::noinline]] const Name& name_of_large(int64_t id) const;

  std::vector<Name> names_;  ///< by id
  absl::flat_hash_map<int64_t, Name> large_names_;
};

// Nearly all statistics are a name and a number or name, in this order: they are read without a loop over fields, and
// without a call, since a profile has millions of them.
inline Plane::Value Plane::read_stat(protozero::data_view bytes) const {
  constexpr char kName = 1 << 3, kUint64 = 3 << 3, kInt64 = 4 << 3, kReference = 7 << 3;  // keys of varints
  const char *at = bytes.data(), *end = at + bytes.size();
  if (bytes.size() < 4 || *at++ != kName) return read_any_stat(bytes);
  const Name& name = name_of(static_cast<int64_t>(protozero::decode_varint(&at, end)));
  if (end - at < 2) return read_any_stat(bytes);
  const char key = *at++;
  if (key != kUint64 && key != kInt64 && key != kReference) return read_any_stat(bytes);
  const auto number = static_cast<int64_t>(protozero::decode_varint(&at, end));
  if (at != end) return read_any_stat(bytes);
  return key == kReference ? Value{name.stat, 0, name_of(number).text} : Value{name.stat, number, {}};
}

}  // namespace chakra::xla
