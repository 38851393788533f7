// Sums over the collectives, the messages and the storage traffic of a rank.
#pragma once

#include <cstdint>
#include <string>

namespace chakra::gen {

/// Communication of a rank of one type in one group during the job.
struct Communication {
  std::string group;  ///< the slot; for messages "pp", "cp" or "kv"
  std::string type;
  int64_t count = 0;
  double bytes = 0;       ///< sum of the buffers: the larger of in and out
  double wire_bytes = 0;  ///< bytes sent, with a ring
};

/// Nodes of a rank that move data to or from a tier of storage, for the same reason.
struct StorageSum {
  std::string tier, kind;  ///< kind: dataloader, ckpt_write, ...
  int64_t count = 0;
  double bytes = 0;
};

}  // namespace chakra::gen
