// Dumps of PyTorch's flight recorder: the last collectives and messages that each rank called, with their state when
// the job hung. A dump of each rank tells which rank hangs in which collective, and since when. Read from pickle, as
// PyTorch writes it, and from JSON (docs/reference/formats/flight_recorder.md).
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
  scheduled,  ///< called; its stream has not come to it, or the recorder was not asked to look (no timing)
  started,    ///< it runs
  completed
};

/// The tensors of one side of a call.
struct Tensors {
  std::vector<std::vector<int64_t>> sizes;
  std::vector<std::string> dtypes;  ///< as PyTorch calls them: "Float"
  /// Elements of all tensors, saturated.
  uint64_t elements() const;
};

/// One call of one rank.
struct Entry {
  int64_t record = 0;  ///< counts up from 0; what is lower than a dump's first was overwritten
  uint32_t group = 0;  ///< into Dump::groups
  int64_t pg_id = -1;
  int64_t collective = 0;      ///< collective_seq_id: counts collectives of the group
  int64_t message = 0;         ///< p2p_seq_id: counts messages of the group
  bool is_message = false;     ///< a send or receive, or a batch of them
  std::string operation;       ///< "all_reduce", "send", "coalesced", without "nccl:"
  int64_t src = -1, dst = -1;  ///< of a message: ranks of the group
  Tensors in, out;
  State state = State::scheduled;
  int64_t created_ns = 0, started_ns = 0, completed_ns = 0;  ///< since 1970; 0: not known
  int64_t timeout_ms = 0;
  std::string caller;  ///< "train.py:34 (main)": the innermost line that is not PyTorch's; may be empty
};

struct Group {
  std::string name, description;
  std::vector<int64_t> ranks;  ///< of the job, by rank of the group; empty: not known
};

struct Dump {
  std::string file;
  int64_t rank = 0;
  std::string version;
  std::vector<Group> groups;
  std::vector<Entry> entries;           ///< in the order of the calls
  std::map<int64_t, int64_t> enqueued;  ///< by pg_id: the last collective that was called (pg_status)
  bool overwritten() const { return !entries.empty() && entries.front().record > 0; }
};

/// Whether a file that begins like this is a dump, in either form.
bool is_dump(std::string_view head);
/// Reads a dump. `rank`: the rank whose dump it is. Errors: flight.dump.version, flight.dump.field, those of the form,
/// and those of ByteSource.
Result<Dump> read_dump(const std::string& path, int64_t rank);
/// The same from memory; `file` is for messages.
Result<Dump> parse_dump(std::string bytes, const std::string& file, int64_t rank);

// ---- the dumps of a job -------------------------------------------------------------------------------

/// The rank that a file's name says: the number after "rank", else the last number in the name; -1 if there is none.
int64_t rank_of_name(std::string_view name);

struct Dumps {
  std::vector<Dump> ranks;  ///< ascending
  Findings findings;
};
/// True for a dump, and for a folder with at least one among its first files.
bool is_dump_path(const std::string& path);
/// Reads the dumps among files and in folders. Errors: flight.dump.none, flight.dump.rank, those of read_dump.
/// Findings: flight.dump.other_file, flight.dump.mixed, flight.group.ranks.
Result<Dumps> read_dumps(const std::vector<std::string>& paths);

/// Where each rank is, and why the job does not go on.
struct Verdict {
  Findings findings;    ///< flight.hang.*: causes are errors, what waits for them is a note
  result::Table ranks;  ///< a row per rank: the call in which it is, since when; the call that it completed last
};
/// Cost: O(entries log entries + members of the last collectives).
Verdict find_hang(const std::vector<Dump>& dumps);

// ---- a dump beside the recording of the same rank ---------------------------------------------------------

/// How many collectives of the trace got what from the dump.
struct Filled {
  int64_t groups = 0, sizes = 0;
  uint64_t bytes = 0;  ///< that those sizes add up to
};

/// Takes groups and sizes that collectives of the trace lack from the dump of its rank. The dump's calls must have the
/// place where all collectives of the recording agree with them: kinds, and groups, sizes, element types and sequence
/// numbers as far as both know them. Of several places, times choose one, or what all have in common is taken. Nothing
/// is taken where no place fits, or where a group has other members in the dump. `counted`: groups whose sequence
/// numbers count from the beginning of the recording; the dump's numbers replace them.
/// Findings: flight.beside.filled, flight.beside.contradiction, flight.beside.open.
/// Cost: O(collectives x calls of the dump), up to 10^8 comparisons.
Filled fill_beside(trace::Trace& trace, const Dump& dump, std::vector<std::string>& counted, Findings& findings);

}  // namespace chakra::flight
