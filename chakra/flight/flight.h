// Dumps of PyTorch's flight recorder: the last collectives and messages that each rank called, with their state
// when the job hung. Dumps of all ranks show which rank hangs in which collective, and since when. Read from
// pickle, as written by PyTorch, and from JSON (docs/reference/formats/flight_recorder.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/result/result.h"
#include "chakra/trace/trace.h"

namespace chakra::flight {

// ---- one dump -----------------------------------------------------------------------------------------

enum class State : uint8_t {
  scheduled,  ///< called; still queued on its stream, or the recorder did not check (no timing)
  started,    ///< running
  completed
};

/// The tensors of one side of a call.
struct Tensors {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<std::string> dtypes;  ///< in PyTorch's notation: "Float"
  /// Return the elements of all tensors, saturated.
  uint64_t elements() const;
};

/// One call of one rank.
struct Entry {
  int64_t record = 0;  ///< counts up from 0; records below a dump's first were overwritten
  uint32_t group = 0;  ///< into Dump::groups
  int64_t pg_id = -1;
  int64_t collective = 0;      ///< collective_seq_id: counts collectives of the group
  int64_t message = 0;         ///< p2p_seq_id: counts messages of the group
  bool is_message = false;     ///< a send or receive, or a batch of messages
  std::string operation;       ///< "all_reduce", "send", "coalesced", without "nccl:"
  int64_t src = -1, dst = -1;  ///< of a message: ranks of the group
  Tensors in, out;
  State state = State::scheduled;
  int64_t created_ns = 0, started_ns = 0, completed_ns = 0;  ///< since 1970; 0: unknown
  int64_t timeout_ms = 0;
  std::string caller;  ///< "train.py:34 (main)": the innermost line outside PyTorch; may be empty
};

struct Group {
  std::string name, description;
  std::vector<int64_t> ranks;  ///< of the job, by rank of the group; empty: unknown
};

struct Dump {
  std::string file;
  int64_t rank = 0;
  std::string version;
  std::vector<Group> groups;
  std::vector<Entry> entries;           ///< in the order of the calls
  std::map<int64_t, int64_t> enqueued;  ///< by pg_id: the last called collective (pg_status)
  bool overwritten() const { return !entries.empty() && entries.front().record > 0; }
};

/// Whether a file that begins like this is a dump, in either form.
bool is_dump(std::string_view head);
/// Read a dump. `rank`: the rank of the dump. Errors: flight.dump.version,
/// flight.dump.field, those of the form, and those of ByteSource.
Result<Dump> read_dump(const std::string& path, int64_t rank);
/// Read the same from memory; `file` is for messages.
Result<Dump> parse_dump(std::string bytes, const std::string& file, int64_t rank);

// ---- the dumps of a job -------------------------------------------------------------------------------

/// Return the rank in a file's name: the number after "rank", else the last number in the name; -1 without any number.
int64_t rank_of_name(std::string_view name);

struct Dumps {
  std::vector<Dump> ranks;  ///< ascending
  Findings findings;
};
/// True for a dump, and for a folder with at least one dump among its first files.
bool is_dump_path(const std::string& path);
/// Read the dumps among files and in folders. Errors: flight.dump.none, flight.dump.rank, those of read_dump.
/// Findings: flight.dump.other_file, flight.dump.mixed, flight.group.ranks.
Result<Dumps> read_dumps(const std::vector<std::string>& paths);

/// The position of each rank, and why the job makes no progress.
struct Verdict {
  Findings findings;    ///< flight.hang.*: causes are errors, ranks that wait for causes are notes
  result::Table ranks;  ///< a row per rank: the current call, since when; the last completed call
};
/// Find the causes of a hang. Cost: O(entries log entries + members of the last collectives).
Verdict find_hang(const std::vector<Dump>& dumps);

// ---- a dump beside the recording of the same rank ---------------------------------------------------------

/// The numbers of collectives in the trace that got data from the dump.
struct Filled {
  int64_t groups = 0, sizes = 0;
  uint64_t bytes = 0;  ///< total of these sizes
};

/// Fill in missing groups and sizes of the trace's collectives from the dump of the same rank. The dump's calls must
/// contain a place where all collectives of the recording agree with the calls: in kind, and in group, size, element
/// type and sequence number as far as both are known. Of several places, times choose one; otherwise only the common
/// values of all places are used. No values are used if no place fits, or if a group has other members in the dump.
/// `counted`: groups with sequence numbers from the beginning of the recording; the dump's numbers replace these.
/// Findings: flight.beside.filled, flight.beside.contradiction, flight.beside.open.
/// Cost: O(collectives x calls of the dump), up to 10^8 comparisons.
Filled fill_beside(trace::Trace& trace, const Dump& dump, std::vector<std::string>& counted, Findings& findings);

}  // namespace chakra::flight
