// A profile in memory: the operations on CPU threads and on devices, with their times.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/recording/comm_record.h"
#include "chakra/recording/vendors.h"
#include "chakra/trace/trace.h"

namespace chakra::recording {

/// The fields of all records. Times in nanoseconds since Profile::base_ns.
struct Record {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;
  StringId name = 0;
  uint32_t lane = 0;  ///< into Profile::threads or Profile::streams
  int64_t byte = 0;   ///< offset of the record in the file
  int64_t end_ns() const { return start_ns + dur_ns; }
};

/// Recorded arguments of CPU operators, each combination once. Texts as in the file.
struct RecordedShapes {
  struct Row {
    StringId dims = 0, types = 0, values = 0;  ///< "Input Dims", "Input type", "Concrete Inputs"; in texts
  };
  StringPool texts;
  std::vector<Row> rows;
};
/// For CpuOp::shapes: shapes are recorded, but no formula needs the shapes.
inline constexpr uint32_t kShapesUnused = trace::kNoRow - 1;

/// Which arguments to keep of operators of a name.
struct Wanted {
  bool shapes = false, values = false;
};
using ShapesWanted = Wanted (*)(std::string_view op);

using DeviceNames = std::map<int64_t, std::string>;  ///< by the device's number

struct CpuOp : Record {
  int64_t rf_id = 0;  ///< "Record function id"; 0: absent
  int64_t external_id = -1;
  int64_t sequence = -1;            ///< of autograd
  uint32_t comm = trace::kNoRow;    ///< into Profile::comms
  uint32_t shapes = trace::kNoRow;  ///< into Profile::shapes; kNoRow: not recorded
  bool annotation = false;          ///< a user_annotation, whose time is not work
  bool library_call = false;        ///< a call of NCCL itself; its kernels may be launched at the end of a group
  bool host_comm = false;           ///< communication that a CPU thread carries out ("gloo:all_reduce")
};

struct RuntimeCall : Record {
  int64_t correlation = -1;  ///< negative: absent
};
/// Return the key that joins a call with its device operations and with synchronisation records.
inline std::optional<uint64_t> number_of(const RuntimeCall& call) {
  return call.correlation < 0 ? std::nullopt : std::optional<uint64_t>(call.correlation);
}

struct DeviceOp : Record {
  enum class Kind : uint8_t { kernel, copy, memset, other } kind = Kind::kernel;
  int64_t correlation = -1;
  int64_t bytes = -1;
  uint32_t comm = trace::kNoRow;
};

/// A cuda_sync record: the stream or event of a synchronisation.
struct SyncRecord {
  enum class Kind : uint8_t { device, stream, event, wait_event } kind = Kind::device;
  int64_t correlation = -1;         ///< of the runtime call
  int64_t device = -1;              ///< -1: not recorded
  int64_t stream = -1;              ///< the waiting stream (wait_event) or the awaited stream (stream)
  int64_t source_stream = -1;       ///< the stream on which the event was recorded
  int64_t source_correlation = -1;  ///< of the call that recorded the event
};

struct Profile {
  std::string file;
  int64_t base_ns = 0;
  std::vector<trace::Lane> threads, streams;
  std::vector<CpuOp> ops;
  std::vector<RuntimeCall> calls;
  std::vector<DeviceOp> device_ops;
  std::vector<SyncRecord> syncs;
  std::vector<Record> modules;  ///< calls of nn.Module, by the thread; names without "nn.Module: "
  std::vector<CommRecord> comms;
  RecordedShapes shapes;
  std::vector<trace::ProcessGroup> groups;
  int64_t rank = -1;  ///< of distributedInfo; -1: not recorded
  int64_t world_size = -1;
  size_t vendor = kVendors.size() - 1;  ///< of the runtime calls: row of kVendors
  DeviceNames device_names;
  struct {
    int64_t count = 0;
    std::string category;
  } unknown;                             ///< device operations of unknown categories
  std::vector<std::string> stream_pids;  ///< by stream; if records disagree, a second pid after ", "
  int64_t begin_end = 0;                 ///< number of records left out: begin or end events without a duration
  struct {
    int64_t host = 0, device = 0;
    StringId name = 0;  ///< of the first
    int64_t byte = -1;
  } no_time;  ///< number of records left out: the profiler did not fill in their time
  struct {
    int64_t host = 0, device = 0;
    StringId name = 0;  ///< of the first
    int64_t byte = -1;
  } no_duration;  ///< number of records without a duration, which count as 0
  struct Repeats {
    int64_t host = 0, device = 0;
    StringId name = 0;  ///< of the first
    int64_t byte = -1;
  } repeats;  ///< number of records left out: they repeat earlier ones
  struct Overrun {
    int64_t count = 0;
    StringId name = 0;  ///< of the longest, as are all following fields
    uint32_t lane = 0;
    int64_t byte = -1, dur_ns = 0, clipped_ns = 0;
  } overruns;  ///< clipped device operations: the recorded end is after the end of later operations of the stream
};

}  // namespace chakra::recording
