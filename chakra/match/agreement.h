// Checks that the members of groups and the ends of channels agree, and finds the deviating rank and position if not.
// Inside match: match.cpp collects and pairs, agreement.cpp compares, splits.cpp compares the parts of all-to-alls.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "chakra/match/match.h"
#include "chakra/match/sequences.h"

namespace chakra::match {

using Key = std::pair<int64_t, int64_t>;  ///< sequence number, and position among calls with the same number

struct Call {
  Key key;
  trace::NodeId node;
};

/// The collectives of one rank in a group, in order.
struct MemberCalls {
  trace::RankIndex rank{0};
  std::span<const Call> calls;
};

using Channel = std::tuple<int64_t, int64_t, int64_t>;  ///< from, to, tag
struct Ends {
  std::vector<NodeRef> sends, receives;
};

/// Return the rank of a root, given as a rank of the group or else as a place in the group; -1 if there is none.
int64_t root_rank(const trace::Comm& comm, const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of);

/// Return the facts of a collective.
inline std::vector<Fact> facts_of(const Group& group, uint32_t index) {
  return {{"group", group.name}, {"index", int64_t{index}}};
}

class Agreement {
 public:
  Agreement(const trace::TraceSet& job, Findings& findings) : job_(job), findings_(findings) {}

  /// Compare the calls of `members`, by ascending rank. Result: content, if calls in the same place differ. Ends, if
  /// calls are missing or in another order, and nothing but the order pairs the calls of different ranks.
  Doubt compare(const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of,
                std::span<const MemberCalls> members, bool by_number);
  /// Return whether the members of one collective agree.
  Doubt compare(const Group& group, const absl::flat_hash_map<int64_t, size_t>& member_of,
                std::span<const NodeRef> members) const;
  /// Check that each member of an all-to-all expects the bytes sent to it. `members`: parallel to the group's ranks.
  /// Return whether no error was found.
  bool compare_splits(const Group& group, uint32_t index, std::span<const NodeRef> members);
  /// Check an all-to-all without lists of parts: the sums of sent and received bytes must be equal.
  void compare_totals(const Group& group, uint32_t index, std::span<const NodeRef> members);
  /// Compare the ends of all channels. Result: those with findings; ends if messages are missing or in another order.
  std::map<Channel, Doubt> compare(const std::map<Channel, Ends>& channels);
  Doubt compare(const Message& message) const;
  /// Whether the sizes of a gather or reduce-scatter match the number of members.
  enum class Sizes : uint8_t { fit, of_other_group, impossible };
  Sizes sizes_of(const Group& group, NodeRef member) const;
  void report_size(const Group& group, uint32_t index, NodeRef member);
  /// Report a rank with a collective in a wrong place: perhaps the one that it lacks elsewhere.
  void stray(const Group& group, NodeRef first, const char* tag, std::string text);
  /// Merge findings about an element that is missing in one place and additional in another. Must be called last.
  void join();

  void find(const char* tag, Severity severity, NodeRef at, std::string text, std::vector<Fact> facts = {});
  const trace::Comm& comm(NodeRef at) const { return *job_.ranks[at.rank].comm(at.node); }
  std::string_view dtype(NodeRef at) const { return job_.ranks[at.rank].strings[comm(at).dtype]; }
  std::string describe(NodeRef at) const;
  std::string describe(NodeRef at, NodeRef beside) const;  ///< with a size distinguishable from that of `beside`

 private:
  /// A collective or message without a counterpart.
  struct Loose {
    size_t finding;
    int64_t rank;  ///< rank that lacks or has it
    bool lacks;
    NodeRef node;  ///< the collective, of a rank that has it
    const Group* group;
    uint32_t index;
    bool tie;
    int64_t other;  ///< tie: a rank for which the opposite would hold
  };
  struct LooseMessage {
    size_t finding;
    Channel channel;
    uint32_t index;
    NodeRef node;
    bool is_send;
  };
  struct GroupView;
  std::pair<const char*, const char*> difference(NodeRef x, NodeRef y, int64_t root_x, int64_t root_y) const;
  const char* difference(NodeRef send, NodeRef receive) const;
  void tell(const GroupView& view, const Deviation& d, size_t others);
  void join_collectives();
  void join_messages();
  bool alike(NodeRef a, NodeRef b) const;

  const trace::TraceSet& job_;
  Findings& findings_;
  std::vector<Loose> loose_;
  std::vector<LooseMessage> loose_messages_;
  std::vector<bool> drop_;  ///< findings that others cover
  std::map<int64_t, size_t> tag_uses_;
};

}  // namespace chakra::match
