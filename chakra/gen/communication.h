// Sums over the collectives or messages of a rank, and over what it reads from and writes to storage.
#pragma once

#include <cstdint>
#include <string>

namespace chakra::gen {

/// What a rank does of one type in one group during the job.
struct Communication {
  std::string group;  ///< the slot; of messages "pp", "cp" or "kv"
  std::string type;
  int64_t count = 0;
  double bytes = 0;       ///< sum of the buffers: the larger of in and out
  double wire_bytes = 0;  ///< what it sends, with a ring
};

/// Nodes of a rank that move data to or from a tier of storage, for the same reason.
struct StorageSum {
  std::string tier, kind;  ///< kind: dataloader, ckpt_write, ...
  int64_t count = 0;
  double bytes = 0;
};

}  // namespace chakra::gen
