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
  Value read_any_stat(protozero::pbf_reader reader) const;
  struct Name {
    std::string_view text;
    Stat stat = Stat::other;
  };
  void add_name(protozero::pbf_reader entry);
  const Name& name_of(int64_t id) const;

  std::vector<Name> names_;  ///< by id
  absl::flat_hash_map<int64_t, Name> large_names_;
};

}  // namespace chakra::xla
