// Communication that takes as long as it was recorded to.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/match/match.h"
#include "chakra/recorded/recorded.h"
#include "chakra/trace/roles.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

using trace::Trace;

/// The measured times of communication nodes. The members of a collective take the shortest of their times, since the
/// last member to come waits least.
class OwnTimes {
 public:
  OwnTimes(const sim::SimInput& input, sim::Transfers& transfers) : job_(input.job), transfers_(transfers) {
    for (const match::Collective& c : input.matching->collectives) fill({c.members.begin(), c.members.end()});
    for (const match::Message& m : input.matching->messages) fill({m.send, m.recv});
  }
  int64_t filled = 0, unmeasured = 0;

 private:
  sim::Transfers::Row& row(const match::NodeRef& ref) {
    return transfers_.rows[ref.rank][job_.ranks[ref.rank].comm_row[ref.node]];
  }
  void fill(std::vector<match::NodeRef> refs) {
    std::erase_if(refs, [](const match::NodeRef& ref) { return ref.node == trace::kNoNode; });
    if (refs.empty() || row(refs.front()).known()) return;
    Picoseconds shortest = INT64_MAX;
    for (const match::NodeRef& ref : refs) {
      const Trace& t = job_.ranks[ref.rank];
      if (t.has_start(ref.node)) shortest = std::min(shortest, t.dur_ps[ref.node]);
    }
    ++(shortest == INT64_MAX ? unmeasured : filled);
    if (shortest == INT64_MAX) return;
    for (const match::NodeRef& ref : refs) row(ref) = {shortest, -1, -1, 1};
  }

  const trace::TraceSet& job_;
  sim::Transfers& transfers_;
};

/// Empties lists of what goes to each member where members are missing: in groups that are `smaller` than recorded, and
/// in those that nobody lists but whose lists are for more ranks than there are; these are then also `smaller`.
void forget_splits(sim::SimInput& input, std::vector<char>& smaller) {
  for (size_t r = 0; r < input.job.ranks.size(); ++r) {
    Trace& t = input.job.ranks[r];
    for (size_t row = 0; row < t.comms.size(); ++row) {
      const trace::Comm& c = t.comms[row];
      const uint32_t id = input.matching->of_comm[r][row];
      if (id == trace::kNoRow || (c.in_split.empty() && c.out_split.empty())) continue;
      const uint32_t g = input.matching->collectives[id].group;
      const match::Group& group = input.matching->groups[g];
      const auto numbers = [](std::string_view list) { return std::count(list.begin(), list.end(), ',') + 1; };
      const bool larger =
          group.assumed && std::max(numbers(c.in_split), numbers(c.out_split)) > std::ssize(group.ranks);
      if (!smaller[g] && !larger) continue;
      smaller[g] = 1;
      t.comms.edit(row).in_split = t.comms.edit(row).out_split = {};
    }
  }
}

/// Leave out missing ranks, so that no rank waits for them: groups keep those of their ranks that the job has.
// `whatif.rank.missing` (finding): ranks of groups have no trace; no rank waits for them
void leave_out_missing(sim::SimInput& input, Findings& findings) {
  input.matching = match::match(input.job, input.groups);
  match::GroupTable there;
  std::vector<char> smaller;  // by group
  for (const match::Group& group : input.matching->groups) {
    std::vector<int64_t>& ranks = there[group.name] = group.ranks;
    smaller.push_back(std::erase_if(ranks, [&](int64_t rank) { return !input.job.find(rank); }) > 0 ||
                      group.size > std::ssize(ranks));
  }
  forget_splits(input, smaller);
  if (std::find(smaller.begin(), smaller.end(), 1) == smaller.end()) return;
  input.groups = std::move(there);
  for (Trace& t : input.job.ranks) trace::forget_members(t);  // the table has them
  input.matching = match::match(input.job, input.groups);
  findings.push_back({"whatif.rank.missing", Severity::warning, -1, -1,
                      fmt::format("the job has {} rank{}, but its groups have more: ranks without a trace cause no "
                                  "waits, so the answer leaves out their effect",
                                  input.job.ranks.size(), input.job.ranks.size() == 1 ? "" : "s")});
}

}  // namespace

/// Without a network, all communication takes as long as it was recorded to.
// `whatif.network` (1): the duration of communication is unknown: the job was not recorded, and no network is given
// `whatif.transfer.own` (finding): collectives or messages that are not recorded on all their ranks by one clock: each
// takes its own measured time, waiting included
Result<void> give_transfers(sim::SimInput& input, Findings& findings) {
  leave_out_missing(input, findings);
  CHAKRA_ASSIGN(sim::Transfers transfers, recorded::recorded_transfers(input.job, *input.matching));
  const OwnTimes own(input, transfers);
  if (own.unmeasured > 0)
    return fail(Code::bad_input, "whatif.network",
                fmt::format("{} collectives and messages have no measured time; describe the network of the job with "
                            "--from-network FILE",
                            show_count(own.unmeasured)));
  if (own.filled > 0)
    findings.push_back({"whatif.transfer.own", Severity::warning, -1, -1,
                        fmt::format("{} of {} collectives and messages are not recorded on all of their ranks by one "
                                    "clock: each keeps its measured time, including waits",
                                    show_count(own.filled), show_count(transfers.known + transfers.unknown))});
  input.transfers = std::move(transfers);
  return {};
}

}  // namespace chakra::whatif
