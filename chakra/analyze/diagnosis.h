// The diagnosis: where the time of a job goes, and how to save it. Each kind of problem has a rule. A rule is a
// function of numbers in the tables of the other analyses, so each sentence has its evidence in the same answer.
// docs/explanation/diagnosis.md has the reasons for the thresholds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/result/result.h"

namespace chakra::analyze {

/// A row of a table of the same answer.
struct Evidence {
  std::string_view table;
  int64_t row = 0;  ///< from 0
};

/// The numbers that rules read. All times are sums over the whole recording.
struct DiagnosisNumbers {
  struct Rank {
    int64_t rank = 0;
    Picoseconds total = 0;                    ///< of all steps; without steps from the first start to the last end
    Picoseconds computes = 0, alone = 0;      ///< computation; computation without communication
    Picoseconds overlapped = 0, exposed = 0;  ///< communication
    Picoseconds idle = 0;       ///< neither computation, communication nor copies: host, gaps, lags, blocked calls
    Picoseconds loader = 0;     ///< of `idle`: loading of data, or host gaps before the first computation of a step
    bool names_loader = false;  ///< operators of a data loader are recorded
    bool device = false;        ///< operations of streams are recorded
    Picoseconds gaps = 0, host_wait = 0;  ///< of the stream with most gaps: all, and those that wait for launches
    Picoseconds allocates = 0;            ///< critical path in calls that allocate or free device memory
    int64_t steps = 0;
    int64_t time_row = 0, overlap_row = 0, step_row = 0, idle_row = 0, allocates_row = 0;  ///< evidence
  };
  struct Waited {
    int64_t rank = 0;
    Picoseconds time = 0;  ///< time that others waited for the rank
    int64_t row = 0;
  };
  struct Transfer {  ///< collectives of one type, group and size
    std::string type, group;
    int64_t bytes = 0, members = 0, count = 0;
    Picoseconds wait = 0, time = 0;
    int64_t row = 0;
  };
  struct Exposed {
    int64_t rank = 0;
    std::string type, group;
    Picoseconds time = 0;
    int64_t row = 0;
  };
  struct Message {
    int64_t from = 0, to = 0, bytes = 0, count = 0;
    Picoseconds time = 0;  ///< sum of the transfers
    int64_t row = 0;
  };
  struct Load {  ///< collectives of unequal sizes
    std::string type, group;
    int64_t rank = 0;  ///< the rank with most bytes
    int64_t members = 0;
    double ratio = 1;  ///< most bytes of a rank, over the uneven collectives, by the mean
    double worst = 1;  ///< most bytes of a rank by the mean, in one collective
    int64_t row = 0;
  };
  struct Uneven {  ///< uneven all-to-alls of a group in which one rank has most bytes
    std::string group;
    int64_t rank = 0, members = 0;
    Picoseconds late = 0;  ///< of the rank, against the mean of the members
    int64_t row = 0;
  };
  struct MessageWait {  ///< waiting of a receiver for messages that are not sent yet
    int64_t rank = 0;
    Picoseconds time = 0;
    int64_t row = 0;
  };
  struct Peak {
    int64_t rank = 0;
    std::string device, node;
    int64_t bytes = 0;
  };
  bool measured = false;
  std::vector<Rank> ranks;
  std::vector<Waited> waited;  ///< largest first
  std::vector<Transfer> transfers;
  std::vector<Exposed> exposed;
  std::vector<Message> messages;
  std::vector<Load> loads;
  std::vector<Uneven> uneven;
  std::vector<MessageWait> message_waits;
  std::vector<Peak> peaks;
  std::map<std::string, std::vector<int64_t>> groups;  ///< ranks of process groups
  std::vector<Picoseconds> step_lengths;  ///< of the rank with the longest, in order; empty: no steps are recorded

  int64_t steps() const;      ///< of the rank with most; at least 1
  Picoseconds whole() const;  ///< time of the longest rank
};

struct Diagnosis {
  std::string_view kind;
  std::string place;     ///< rank, link, group
  Picoseconds cost = 0;  ///< per step
  double share = 0;      ///< of a step
  Evidence evidence;
  std::string sentence;
  std::vector<std::string_view> could_be = {};  ///< kinds that would look the same in this recording
};

/// The sentence of `no_overlap`: `what` is exposed for `exposed`; `at_most` of it can be hidden, empty: all of it.
std::string not_hidden_sentence(std::string_view what, std::string_view exposed, std::string_view at_most);

/// Groups with as many members whose names differ in digits only, such as tp0 and tp1: they run beside each other.
using Beside = std::pair<std::string, int64_t>;
Beside beside_of(std::string group, int64_t members);

/// Return the groups with most cost first, without those that run beside a group with more: groups with as many members
/// and a common type. `Group` has members, types and cost.
template <class Group>
std::vector<Group> without_beside(const std::map<std::string, Group>& groups) {
  std::vector<Group> sorted, kept;
  for (const auto& [name, group] : groups) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) { return a.cost > b.cost; });
  for (Group& group : sorted) {
    const bool beside = std::any_of(kept.begin(), kept.end(), [&](const Group& other) {
      return other.members == group.members &&
             std::find_first_of(other.types.begin(), other.types.end(), group.types.begin(), group.types.end()) !=
                 other.types.end();
    });
    if (!beside) kept.push_back(std::move(group));
  }
  return kept;
}

/// What a rule found.
struct Judgement {
  std::string not_judged;            ///< the missing input; empty: judged
  std::vector<Diagnosis> diagnoses;  ///< of any cost
};

/// Costs that earlier rules have found: a later rule must not count the same time again.
struct Taken {
  std::map<int64_t, Picoseconds> by_rank;
  std::map<std::pair<std::string, std::string>, Picoseconds> by_group;  ///< type and group
  Picoseconds common = 0;                                               ///< idle time of every rank
};

struct DiagnosisRule {
  std::string_view kind;
  Judgement (*judge)(const DiagnosisNumbers& numbers, Taken& taken);
  std::string_view formula;
};
/// All rules, in the order of evaluation: special causes come before general causes.
extern const std::span<const DiagnosisRule> kDiagnosisRules;

// Thresholds of the rules, also of those for simulated runs (chakra/whatif/diagnosis.h).
inline constexpr double kLeastDiagnosedShare = 0.03;  ///< of a step or a run; smaller costs are not reported
inline constexpr double kSlower = 1.25;               ///< time or load of a link by the usual one of its kind
inline constexpr double kSkewed = 1.2;                ///< most bytes by the mean: above, experts are skewed
inline constexpr double kUnbalanced = 1.1;            ///< likewise: routers with a loss for balance stay below
inline constexpr size_t kLeastLinks = 3;              ///< fewer do not show which one is the exception
inline constexpr double kNoOverlap = 0.25;            ///< overlapped share of communication; below, it does not overlap
inline constexpr int64_t kLatencyParts = 4;  ///< a collective is small if its latency is at least this part of its time
inline constexpr int64_t kLeastMessages = 4;  ///< per step or run; fewer are not many

struct Diagnoses {
  std::vector<Diagnosis> rows;  ///< largest cost first; one row of kind `none` if no cost is large enough
  struct Check {
    std::string_view kind;
    std::string not_judged;
    Picoseconds largest = 0;  ///< cost per step, even if the cost is too small for a row
    double share = 0;
  };
  std::vector<Check> checks;  ///< one per rule
};
/// The judgement of a rule, by the kind of the rule.
struct Judged {
  std::string_view kind;
  Judgement judgement;
};
/// Order the judgements of rules: the rows that cost enough, or a row of kind `none`. Cost: O(rows log rows).
Diagnoses in_order(std::vector<Judged> judged);
/// Evaluate all rules. Cost: O(rows log rows).
Diagnoses diagnose(const DiagnosisNumbers& numbers);
/// Return the tables `diagnosis` and `diagnosis_checks`.
std::vector<result::NamedTable> diagnosis_tables(const Diagnoses& diagnoses);

/// Names of the analyses whose tables have the numbers.
extern const std::span<const std::string_view> kDiagnosisSources;
/// Read the numbers from the tables of these analyses; a missing table gives no numbers. Cost: O(cells).
DiagnosisNumbers numbers_of(const std::vector<result::NamedTable>& tables);

}  // namespace chakra::analyze
