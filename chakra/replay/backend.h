// What carries out communication: a table of back ends, and what they agree on with the executor. A back end opens a
// Session for a rank; the executor starts operations in it and asks which have ended. One thread of a rank calls its
// session; sessions of several ranks may stand in threads of one process.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/rendezvous.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

/// The traces do not say how values are combined; as comm_replay does, they are added up.
enum class ReduceOp : uint8_t { sum, average, product, minimum, maximum };
inline constexpr std::array<std::string_view, 5> kReduceOpNames{"sum", "average", "product", "minimum", "maximum"};

/// A collective of a group, a send or a receive, as one rank sees it. What it refers to lives until the operation has
/// ended.
struct Operation {
  enum class Kind : uint8_t { collective, send, receive } kind = Kind::collective;

  // Of a collective.
  trace::CommType type = trace::CommType::unknown;
  ReduceOp reduce = ReduceOp::sum;
  std::string_view group;            ///< its name; groups of equal names are the same group
  std::span<const int64_t> members;  ///< global ranks, in the group's order; unique
  uint32_t place = 0;                ///< of this rank in members
  uint32_t root = 0;                 ///< likewise; of types without a root 0
  /// Bytes that this rank sends to each member, and receives from each: of all-to-alls whose parts differ; else empty.
  std::span<const uint64_t> in_split, out_split;

  // Of a message.
  int64_t partner = -1;  ///< global rank: who receives it or sends it
  int64_t tag = 0;

  /// Which one among the operations of its group, or among the messages from the same sender to the same receiver with
  /// the same tag: counts from 0, over all repetitions, and is the same at all who take part. They may be started in
  /// another order than this, where they run in different lanes.
  uint64_t index = 0;

  std::string_view dtype;  ///< as the trace has it: "Float", "c10::BFloat16"; "" where it does not say
  /// What this rank puts in and gets out. Types of which it does one only: 0 for the other (broadcast: in at the root,
  /// out elsewhere; reduce and gather: out at the root only; scatter: in at the root only).
  uint64_t in_bytes = 0, out_bytes = 0;
  /// Memory of these sizes, where the back end moves data (BackendRow::moves_data); else empty. They do not overlap.
  std::span<const std::byte> in;
  std::span<std::byte> out;

  Picoseconds recorded_ps = -1;  ///< how long it took when it was recorded; below 0: not known

  // For messages to people.
  uint64_t node = 0;  ///< id in the trace
  std::string_view name;
};
/// "ALL_REDUCE number 3 of group 'tp' (node 17)", "send number 0 to rank 1 with tag 4 (node 5)".
std::string describe(const Operation& operation);

/// Names an operation that was started and has not ended; the caller chooses it.
using Ticket = uint32_t;

struct Party;  // parties.h

class Session {
 public:
  virtual ~Session() = default;
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// What this rank will do with whom, and whether its data will be looked at: called once, by all ranks, before the
  /// first start(). May wait for the other ranks.
  virtual Result<void> prepare([[maybe_unused]] std::span<const Party> parties, [[maybe_unused]] bool verify) {
    return {};
  }
  /// Does not block. `ticket` names none that is under way. Errors: those of the back end; the session can then only
  /// be aborted.
  virtual Result<void> start(const Operation& operation, Ticket ticket) = 0;
  /// Moves data, and appends the tickets of operations that have ended since the last call. Comes back as soon as there
  /// is one, after `patience` at the latest; with a patience of 0 at once. Does not keep a core busy while it waits for
  /// more than some microseconds.
  virtual Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ticket>& ended) = 0;
  /// Bytes that this rank has sent and received; 0 where the back end cannot tell. While they grow nobody is stuck.
  virtual uint64_t moved_bytes() const { return 0; }
  /// When an operation that progress() has just given ended, where the back end knows it better than the caller's
  /// clock: it may have been earlier.
  virtual std::optional<std::chrono::steady_clock::time_point> ended_at([[maybe_unused]] Ticket ticket) const {
    return std::nullopt;
  }
  /// What the back end needs to find out that all who take part have come, which is none of the operation's time.
  struct MeetingTimes {
    int64_t count = 0;         ///< of operations
    int64_t over = 0;          ///< that took longer for it than the operation's own time, so that they ended late
    int64_t unknown = 0;       ///< with members on several machines, whose clocks are not one: it is in their times
    Picoseconds total_ps = 0;  ///< of all whose meeting is known
    Picoseconds over_ps = 0;   ///< by how much those ended late, all together
  };
  virtual MeetingTimes meeting_times() const { return {}; }
  /// Nothing is left to move: false where operations have ended whose data have not arrived yet.
  virtual bool quiet() const { return true; }
  /// All operations of all ranks have ended: lets go of what it holds. May wait for the other ranks.
  virtual Result<void> close() = 0;
  /// Lets go of what it holds and waits for nobody: another rank is gone, or the job is stuck. Operations under way
  /// never end.
  virtual void abort(std::string_view reason) = 0;
};

/// KEY=VALUE, of the rows in BackendRow::settings.
using Settings = std::map<std::string, std::string, std::less<>>;
/// The value of that key, or `otherwise` where it was not given.
std::string setting(const Settings& settings, std::string_view name, std::string_view otherwise = "");
struct SettingRow {
  std::string_view name;
  std::string_view description;
};

struct BackendRow {
  std::string_view name;
  std::string_view description;
  std::span<const SettingRow> settings;
  bool moves_data = false;  ///< operations need memory
  /// They have it elsewhere, on a device: Operation::in and out are needed only where their data will be looked at.
  bool own_memory = false;
  /// All ranks may run as threads of one process; else each is a process of its own.
  bool threads = true;
  /// Empty where it can be used; else why not: "built without MPI".
  std::string_view (*missing)() = nullptr;
  /// Opens the rank's session; called by all ranks, so it may exchange() addresses. `world` and `rendezvous` outlive
  /// the session. Requires settings whose names are in `settings`. Errors: of the back end.
  Result<std::unique_ptr<Session>> (*open)(const World& world, Rendezvous& rendezvous,
                                           const Settings& settings) = nullptr;
};
extern const std::span<const BackendRow> kBackends;
const BackendRow* find_backend(std::string_view name);  ///< or null

/// "KEY=VALUE" for each. `of`: whose they are, and `option` that gave them, for messages. Errors: cli.usage for another
/// form, a name that is not in `rows`, a duplicate.
Result<Settings> parse_settings(std::string_view of, std::string_view option, std::span<const SettingRow> rows,
                                const std::vector<std::string>& texts);

}  // namespace chakra::replay
