// Feeding a trace that is larger than memory. A StreamFeeder reads nodes ahead from a
// source, up to a budget of bytes (the window), and no further than the order of the
// ready nodes, the policy, needs. It returns nodes with finished dependencies in this
// order, and drops nodes that are done. For other nodes
// the state alone (read, done) is kept, which takes some bits. Progress does not depend
// on the order of nodes in the file. If the whole window waits for unread nodes, the
// window moves to a temporary file, and each node returns when its dependency is done.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::feed {

/// Order of the ready nodes in the window. If the budget holds
/// the whole trace, this is the order over the whole trace.
enum class Policy : uint8_t { id, critical_path, fifo, user, file };
struct PolicyRow {
  Policy policy;
  std::string_view name;
  std::string_view description;
};
inline constexpr std::array<PolicyRow, 5> kPolicies{{
    {Policy::id, "id", "lowest id first"},
    {Policy::critical_path, "critical_path",
     "longest path of durations to the end of the window first, then lowest id"},
    {Policy::fifo, "fifo", "in the order in which nodes become ready; nodes without dependencies in file order"},
    {Policy::user, "user", "lowest value of a function first, then lowest id"},
    {Policy::file, "file", "first in the file first; nodes are read when no other node is ready"},
}};

struct FeedOptions {
  uint64_t budget_bytes = uint64_t{64} << 20;  ///< of nodes in the window; a single node always fits
  Policy policy = Policy::file;
  std::function<int64_t(const trace::StreamedNode&)> priority = {};  ///< Policy::user; called once per node, when read
  std::string spill_folder = {};                                     ///< empty: TMPDIR, else /tmp
};

struct FeedStats {
  uint64_t read = 0;         ///< nodes, including added ones
  uint64_t done = 0;         ///< nodes
  uint64_t spilled = 0;      ///< nodes written to the temporary file
  uint64_t window_peak = 0;  ///< largest size of the window, in bytes
};

/// Memory: the budget, plus about 1.5 bytes per node read so far with dense ids (up to
/// 100 with scattered ids), plus 8 per node with dependents on disk.
/// Cost: O(1) per node and edge, O(log window) per node for the policy; a node on disk
/// is read at most once per dependency. Ids may be sparse, unsorted or duplicate.
class StreamFeeder {
 public:
  explicit StreamFeeder(trace::NodeSource source, FeedOptions options = {});
  StreamFeeder(StreamFeeder&&) noexcept;
  StreamFeeder& operator=(StreamFeeder&&) noexcept;
  ~StreamFeeder();

  /// Return a node with finished dependencies. The node runs until done() and stays valid until then.
  /// Null: no node is ready; either the trace is finished(), or a running node must be done() first.
  /// Errors: those of the source; feed.id.duplicate, feed.dep.dangling (a dependency that is not in the
  /// whole file), feed.dep.cycle (the remaining nodes form a cycle), base.file.create, base.file.write,
  /// base.file.read (the temporary file). After an error every call returns this error.
  Result<const trace::StreamedNode*> next();
  /// Mark a running node as done and drop it. Errors: feed.not_running.
  Result<void> done(uint64_t id);
  /// Make a running node ready again, as if it had not been returned. Errors: feed.not_running.
  Result<void> put_back(uint64_t id);
  /// Add a node that is not in the file. Its dependencies may be done, known, or still unread. Nodes may
  /// be added at any time, even after finished() is true. Errors: feed.id.duplicate, feed.dep.dangling.
  Result<void> add(trace::StreamedNode node);

  /// Return whether all nodes have been read and are done.
  bool finished() const;
  uint64_t running() const;
  bool is_done(uint64_t id) const;
  /// Return a node of the window, whether ready, waiting or running; null for others.
  const trace::StreamedNode* find(uint64_t id) const;
  FeedStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chakra::feed
