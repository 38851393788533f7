// The arguments of calls of NCCL in an export of Nsight Systems: payloads of NVTX ranges, each with a schema that the
// export describes. Inside recording.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/recording/export_table.h"

namespace chakra::recording {

/// Numbers that the payload lacks are -1.
struct NcclArguments {
  std::optional<uint64_t> communicator;
  int64_t bytes = -1;            ///< of one message: count x size of an element
  int64_t ranks = -1;            ///< of the communicator; in calls that create the communicator
  int64_t rank = -1;             ///< place of the process in the communicator; in the same calls
  int64_t peer = -1, root = -1;  ///< places in the communicator
};

/// Return the name of a communicator's group: the same in all processes of the communicator.
std::string communicator_name(uint64_t communicator);

class NcclPayloads {
 public:
  /// Read the schemas; none if the export has no payloads. Errors: nsys.table, those of Database.
  static Result<NcclPayloads> read(const ExportedBase& base);
  bool empty() const { return schemas_.empty(); }
  /// Return the arguments; nullopt for a payload with an unknown schema or layout, or without a member of NCCL.
  std::optional<NcclArguments> decode(std::string_view payload) const;

 private:
  struct Field {
    int64_t type = 0, offset = 0;
    size_t member = 0;  ///< row of the table of members
    bool operator==(const Field&) const = default;
  };
  struct Schema {
    std::map<int64_t, Field> fields;  ///< by index
    bool differs = false;             ///< processes describe the schema differently
  };
  std::map<std::pair<int64_t, int64_t>, Schema> schemas_;  ///< by domain and id
};

}  // namespace chakra::recording
