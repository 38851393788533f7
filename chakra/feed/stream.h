// Feeding a trace that is larger than memory. A StreamFeeder reads nodes ahead from a source as far as a budget
// of bytes allows (the window), hands out those whose dependencies are done, by the order of a policy, and drops
// them when they are done. Of nodes outside the window it knows only whether they have been read and are done,
// which takes some bits. No order of nodes in the file makes it stall: when all in the window waits for nodes
// that have not been read, the window is written to a temporary file, from where a node comes back when what it
// waits for is done.
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

/// Which of the ready nodes in the window comes first. With a budget that holds the whole trace, the order is that
/// of the whole trace.
enum class Policy : uint8_t { id, critical_path, fifo, user };
struct PolicyRow {
  Policy policy;
  std::string_view name;
  std::string_view description;
};
inline constexpr std::array<PolicyRow, 4> kPolicies{{
    {Policy::id, "id", "lowest id first"},
    {Policy::critical_path, "critical_path",
     "longest path of durations to the end of the window first, then lowest id"},
    {Policy::fifo, "fifo", "in the order in which they became ready; those that wait for nothing in file order"},
    {Policy::user, "user", "lowest value of a function first, then lowest id"},
}};

struct FeedOptions {
  uint64_t budget_bytes = uint64_t{64} << 20;  ///< of nodes in the window; one node always fits
  Policy policy = Policy::id;
  std::function<int64_t(const trace::StreamedNode&)> priority = {};  ///< Policy::user; called once when a node is read
  std::string spill_folder = {};                                     ///< empty: TMPDIR, else /tmp
};

struct FeedStats {
  uint64_t read = 0;         ///< nodes, added ones included
  uint64_t done = 0;         ///< nodes
  uint64_t spilled = 0;      ///< nodes that went to the temporary file
  uint64_t window_peak = 0;  ///< bytes in the window, at most
};

/// Memory: the budget, and beside it 0.5 to 4 bytes for each node read so far where ids are dense (up to 60 where
/// each is far from the others), and 8 for each node that others wait for on disk.
/// Cost: O(1) per node and edge, O(log window) per node for the policy; a node on disk is read once for each
/// of its dependencies at most. Ids are never believed to be dense, sorted or unique.
class StreamFeeder {
 public:
  explicit StreamFeeder(trace::NodeSource source, FeedOptions options = {});
  StreamFeeder(StreamFeeder&&) noexcept;
  StreamFeeder& operator=(StreamFeeder&&) noexcept;
  ~StreamFeeder();

  /// A node whose dependencies are all done; it runs until done() and stays where it is until then. Null when none
  /// is ready: then either finished(), or done() of a running one must come first.
  /// Errors: those of the source; feed.id.duplicate, feed.dep.dangling (a dependency that is not in the whole file),
  /// feed.dep.cycle (all that is left waits for each other), base.file.create, base.file.write, base.file.read
  /// (the temporary file). After an error the feeder gives only that error.
  Result<const trace::StreamedNode*> next();
  /// The node is done and forgotten. Errors: feed.not_running.
  Result<void> done(uint64_t id);
  /// A running node becomes ready again, as if it had not been handed out. Errors: feed.not_running.
  Result<void> put_back(uint64_t id);
  /// A node that is not in the file. What it waits for is done, known, or still to be read. Nodes may be added
  /// until finished() is true, and after that. Errors: feed.id.duplicate, feed.dep.dangling.
  Result<void> add(trace::StreamedNode node);

  /// All nodes have been read and are done.
  bool finished() const;
  uint64_t running() const;
  bool is_done(uint64_t id) const;
  /// A node of the window, ready, waiting or running; null for others.
  const trace::StreamedNode* find(uint64_t id) const;
  FeedStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chakra::feed
