// A Kineto trace in memory: what ran when, on CPU threads and on devices. docs/formats/kineto.md has
// the forms that PyTorch has written since 2021.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/link/comm_record.h"
#include "chakra/link/device_names.h"
#include "chakra/trace/trace.h"

namespace chakra::json {
struct Salvage;
}
namespace chakra::pytorch {

using json::Salvage;

/// What all records have. Times in nanoseconds since Kineto::base_ns.
struct Record {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  StringId name = 0;
  uint32_t lane = 0;  ///< into Kineto::threads or Kineto::streams
  int64_t byte = 0;   ///< where it stands in the file
  int64_t end_ns() const { return start_ns + dur_ns; }
};

/// What CPU operators say of their arguments, each combination once. Texts as in the file.
struct RecordedShapes {
  struct Row {
    StringId dims = 0, types = 0, values = 0;  ///< "Input Dims", "Input type", "Concrete Inputs"; in texts
  };
  StringPool texts;
  std::vector<Row> rows;
};
/// Of CpuOp::shapes: shapes are recorded, but no formula asks for them.
inline constexpr uint32_t kShapesUnused = trace::kNoRow - 1;

struct CpuOp : Record {
  int64_t rf_id = 0;  ///< "Record function id"; 0: none
  int64_t external_id = -1;
  int64_t sequence = -1;            ///< of autograd
  uint32_t comm = trace::kNoRow;    ///< into Kineto::comms
  uint32_t shapes = trace::kNoRow;  ///< into Kineto::shapes; kNoRow: not recorded
  bool annotation = false;          ///< a user_annotation: its own time is not work
  bool host_comm = false;           ///< communication that a CPU thread carries out ("gloo:all_reduce")
};

struct RuntimeCall : Record {
  int64_t correlation = -1;  ///< negative: none
};
/// What joins a call with its device operations and with what synchronisation records say.
inline std::optional<uint64_t> number_of(const RuntimeCall& call) {
  return call.correlation < 0 ? std::nullopt : std::optional<uint64_t>(call.correlation);
}

struct DeviceOp : Record {
  enum class Kind : uint8_t { kernel, copy, memset, other } kind = Kind::kernel;
  int64_t correlation = -1;
  int64_t bytes = -1;
  uint32_t comm = trace::kNoRow;
};

/// A cuda_sync record: which stream or event a synchronisation was about.
struct SyncRecord {
  enum class Kind : uint8_t { device, stream, event, wait_event } kind = Kind::device;
  int64_t correlation = -1;         ///< of the runtime call
  int64_t device = -1;              ///< -1: not said
  int64_t stream = -1;              ///< that waits (wait_event) or is waited for (stream)
  int64_t source_stream = -1;       ///< that the event was recorded on
  int64_t source_correlation = -1;  ///< of the call that recorded the event
};

struct Kineto {
  std::string file;
  int64_t base_ns = 0;
  std::vector<trace::Lane> threads, streams;
  std::vector<CpuOp> ops;
  std::vector<RuntimeCall> calls;
  std::vector<DeviceOp> device_ops;
  std::vector<SyncRecord> syncs;
  std::vector<CommRecord> comms;
  RecordedShapes shapes;
  std::vector<trace::ProcessGroup> groups;
  int64_t rank = -1;  ///< of distributedInfo; -1: not said
  int64_t world_size = -1;
  bool amd = false;  ///< the runtime calls are HIP's
  DeviceNames device_names;
  struct {
    int64_t count = 0;
    std::string category;
  } unknown;              ///< device operations of categories not known here
  int64_t begin_end = 0;  ///< records that were left out: they begin or end, and do not last
};

/// Errors: pytorch.json.*, pytorch.kineto.not_a_kineto_trace, pytorch.kineto.time, pytorch.kineto.field, and those of
/// ByteSource. Cost: O(file).
Result<Kineto> read_kineto(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage = nullptr);

}  // namespace chakra::pytorch
