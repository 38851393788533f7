// A PyTorch execution trace (the host trace) in memory: the operators that one process
// ran, with tensors, but without times. docs/reference/formats/host_trace.md has the
// layouts; the reader finds fields by name, not by the file's version.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/recording/comm_record.h"
#include "chakra/trace/trace.h"

namespace chakra::json {
struct Salvage;
}
namespace chakra::recording {

using json::Salvage;

struct HostOp {
  enum class Kind : uint8_t { op, process_root, thread_root, process_groups };

  uint64_t id = 0;
  int64_t rf_id = 0;      ///< record-function id, the key to the Kineto trace; 0: absent
  int64_t sequence = -1;  ///< of autograd
  int64_t byte = 0;       ///< offset of the operator in the file
  uint32_t parent_row = trace::kNoRow, fw_parent_row = trace::kNoRow;
  StringId name = 0;
  StringId schema = 0;
  uint32_t thread = 0, fw_thread = 0;  ///< into HostTrace::threads
  uint32_t io = trace::kNoRow;         ///< into HostTrace::ios; kNoRow: no tensors or values
  uint32_t more = trace::kNoRow;       ///< into HostTrace::more; kNoRow: no entry
  int16_t scope = 0;
  Kind kind = Kind::op;
};

/// Fields that only some operators have.
struct HostMore {
  size_t attr_begin = 0, attr_end = 0;  ///< other attributes: positions in HostTrace::attrs
  uint32_t comm = trace::kNoRow;        ///< into HostTrace::comms
};

struct HostTrace {
  trace::Io io(const HostOp& op) const { return op.io == trace::kNoRow ? trace::Io() : trace::Io(ios[op.io]); }
  const CommRecord* comm(const HostOp& op) const {
    return op.more == trace::kNoRow || more[op.more].comm == trace::kNoRow ? nullptr : &comms[more[op.more].comm];
  }
  trace::Attrs::Range other_attrs(const HostOp& op) const {
    const HostMore of = op.more == trace::kNoRow ? HostMore() : more[op.more];
    return attrs.range(of.attr_begin, of.attr_end);
  }

  std::string file;
  std::string schema;
  std::vector<trace::Attr> metadata;  ///< pid, time, start_ts, finish_ts, ...
  std::vector<HostOp> ops;            ///< every node of the file, in file order
  std::vector<int64_t> threads;       ///< thread numbers, in the order of their first use in the file
  std::vector<HostMore> more;
  std::vector<CommRecord> comms;
  trace::Attrs attrs;
  Column<trace::PackedIo> ios;
  std::vector<trace::ProcessGroup> groups;
  size_t op_count = 0;  ///< Kind::op
  int64_t rank = -1;    ///< rank in the communication records, in the default or the only group; -1: not recorded
  struct Open {
    int64_t nodes = 0, parents = 0;
    uint64_t first = 0;    ///< the lowest id of a parent
    bool damaged = false;  ///< the parents may have ended: the file is damaged
  } open;                  ///< nodes with parents outside the file, attached to the roots (open_parents.h)
};

/// Return the rows of the operators by id, which is the order in which the operators began.
std::vector<uint32_t> ops_by_id(const HostTrace& host);

/// Read a host trace. Names and texts go to `strings` and `texts`, which must outlive the result. In the result,
/// ids are unique and parents exist, without cycles. The file lacks operators that were open when the observer
/// stopped; the operators called by an open operator are attached to the root of the thread.
/// Errors: pytorch.json.*, pytorch.host.not_a_host_trace, pytorch.host.field,
/// pytorch.host.duplicate_id, pytorch.host.missing_parent, pytorch.host.parent_cycle, and those of
/// ByteSource. Cost: O(file).
Result<HostTrace> read_host_trace(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage = nullptr);

}  // namespace chakra::recording
