// The contract between a communication back end and the executor. A back end opens
// a Session for a rank. The executor starts operations in the session and asks which operations have ended.
// One thread of a rank calls the session. One process can hold the sessions of several ranks, one thread each.
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

/// Traces do not record how values are combined. As in comm_replay, the default is a sum.
enum class ReduceOp : uint8_t { sum, average, product, minimum, maximum };
inline constexpr std::array<std::string_view, 5> kReduceOpNames{"sum", "average", "product", "minimum", "maximum"};

/// A collective of a group, a send or a receive, from the view of one rank.
/// The data that it refers to must live until the operation has ended.
struct Operation {
  enum class Kind : uint8_t { collective, send, receive } kind = Kind::collective;

  // Of a collective.
  trace::CommType type = trace::CommType::unknown;
  ReduceOp reduce = ReduceOp::sum;
  std::string_view group;            ///< name; groups with equal names are the same group
  std::span<const int64_t> members;  ///< global ranks, in the group's order; unique
  uint32_t place = 0;                ///< index of this rank in members
  uint32_t root = 0;                 ///< index of the root in members; 0 for types without a root
  /// For all-to-alls with uneven parts: bytes that this rank sends to and receives from each member; else empty.
  std::span<const uint64_t> in_split, out_split;

  // Of a message.
  int64_t partner = -1;  ///< global rank of the receiver or the sender
  int64_t tag = 0;

  /// Position among the operations of the group, or among the messages with the
  /// same sender, receiver and tag. Counts from 0 over all repetitions; the same at
  /// all participants. Operations in different lanes may start in another order.
  uint64_t index = 0;

  std::string_view dtype;  ///< as recorded: "Float", "c10::BFloat16"; "" if not recorded
  /// Bytes that this rank contributes and receives. 0 for a side without data (broadcast: in at the
  /// root, out elsewhere; reduce and gather: out at the root only; scatter: in at the root only).
  uint64_t in_bytes = 0, out_bytes = 0;
  /// Memory of these sizes if the back end moves data (BackendRow::moves_data); else empty. The two do not overlap.
  std::span<const std::byte> in;
  std::span<std::byte> out;

  Picoseconds recorded_ps = -1;  ///< recorded duration; below 0: unknown

  // For messages to people.
  uint64_t node = 0;  ///< id in the trace
  std::string_view name;
};
/// "ALL_REDUCE number 3 of group 'tp' (node 17)", "send number 0 to rank 1 with tag 4 (node 5)".
std::string describe(const Operation& operation);

/// Identifies an operation that was started and has not ended; chosen by the caller.
using Ticket = uint32_t;

struct Party;  // parties.h

class Session {
 public:
  virtual ~Session() = default;
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Announce the operations of this rank by party, and whether data will be verified. All ranks
  /// must call this function once, before the first start(). May wait for the other ranks.
  virtual Result<void> prepare([[maybe_unused]] std::span<const Party> parties, [[maybe_unused]] bool verify) {
    return {};
  }
  /// Start an operation without blocking. `ticket` must not belong to an operation under
  /// way. Errors: those of the back end; after an error the session can only be aborted.
  virtual Result<void> start(const Operation& operation, Ticket ticket) = 0;
  /// Move data and append the tickets of operations that have ended since the last call.
  /// Return as soon as one has ended, after `patience` at the latest; with a patience of 0
  /// return at once. Must not keep a core busy for more than some microseconds of waiting.
  virtual Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ticket>& ended) = 0;
  /// Bytes that this rank has sent and received; 0 if unknown. While the count grows, the job is not stuck.
  virtual uint64_t moved_bytes() const { return 0; }
  /// The end of an operation that progress() has just reported, if the back end
  /// knows the end more precisely than the caller's clock: it may lie in the past.
  virtual std::optional<std::chrono::steady_clock::time_point> ended_at([[maybe_unused]] Ticket ticket) const {
    return std::nullopt;
  }
  /// Time to detect that all participants have arrived. This time is not part of the operation's duration.
  struct MeetingTimes {
    int64_t count = 0;         ///< operations
    int64_t over = 0;          ///< operations that ended late: their detection took longer than the operation itself
    int64_t unknown = 0;       ///< operations across machines without a common clock: their durations include it
    Picoseconds total_ps = 0;  ///< of all operations with a known detection time
    Picoseconds over_ps = 0;   ///< sum of the delays of the operations in `over`
  };
  virtual MeetingTimes meeting_times() const { return {}; }
  /// Return whether all data have arrived: false if operations have ended and some of the data are under way.
  virtual bool quiet() const { return true; }
  /// Release all resources after all operations of all ranks have ended. May wait for the other ranks.
  virtual Result<void> close() = 0;
  /// Release all resources without waiting for other ranks: a rank
  /// is gone, or the job is stuck. Operations under way never end.
  virtual void abort(std::string_view reason) = 0;
};

/// KEY=VALUE pairs with the keys of BackendRow::settings.
using Settings = std::map<std::string, std::string, std::less<>>;
/// Return the value of a key, or `otherwise` if the key was not given.
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
  /// Operations have memory on a device: Operation::in and out are needed only if data will be verified.
  bool own_memory = false;
  /// All ranks may run as threads of one process; else each rank must be a separate process.
  bool threads = true;
  /// Return "" if the back end is usable; else the reason: "built without MPI".
  std::string_view (*missing)() = nullptr;
  /// Open the session of the rank. All ranks call this function, so exchange() may be used for addresses. `world`
  /// and `rendezvous` must outlive the session. Requires settings with keys of `settings`. Errors: of the back end.
  Result<std::unique_ptr<Session>> (*open)(const World& world, Rendezvous& rendezvous,
                                           const Settings& settings) = nullptr;
};

/// Parse texts of the form KEY=VALUE. `of`: owner of the settings, and `option`: its option, for
/// messages. Errors: cli.usage for another form, a key that is not in `rows`, or a duplicate.
Result<Settings> parse_settings(std::string_view of, std::string_view option, std::span<const SettingRow> rows,
                                const std::vector<std::string>& texts);

}  // namespace chakra::replay
