// Shared by match.cpp and scope.cpp: decide whether two recordings are of the
// same run, and which part of the host trace the Kineto trace covers.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "chakra/base/row_map.h"
#include "chakra/link/linking.h"

namespace chakra::link {

/// The least share of the smaller side's operators that the other side must contain.
inline constexpr double kFewestMatches = 0.95;
inline bool enough(int64_t found, int64_t of) {
  return static_cast<double>(found) >= kFewestMatches * static_cast<double>(of);
}

// ---- names (names_agree.cpp) -----------------------------------------------------------------------------------

/// Whether `kineto` is Kineto's spelling of a name in the host trace. Kineto omits line
/// ends and turns backslashes into slashes. Since 2025, Kineto also turns quotes into
/// apostrophes, and a name with a byte that is not printable ASCII into "unknown".
bool names_agree(std::string_view host, std::string_view kineto);

/// Match operators of equal id but other names. Requires matches that judge_match() accepted: the files are of one
/// run. An operator must be on the thread of its thread's other operators. Findings: pytorch.match.other_name.
void match_other_names(Linking& l, const RowMap& by_id);

/// Give matched operators of the Kineto trace the names in the host trace, which are complete.
void take_host_names(Linking& l);

// ---- processes (process.cpp) -----------------------------------------------------------------------------------

/// Compare the processes named by both files. Different processes mean different runs or ranks, and are rejected. The
/// exception: every operator of both files matches and the times do not overlap, as in two runs of one program.
/// Findings: pytorch.pair.other_process. Errors: pytorch.pair.process.
Result<void> check_process(Linking& l, bool both_whole);

// ---- parts (cover.cpp) -----------------------------------------------------------------------------------------

/// Operators of the host trace outside the Kineto trace.
struct Uncovered {
  std::vector<uint32_t> on_threads;     ///< on threads absent from the Kineto trace
  std::vector<uint32_t> before, after;  ///< at the beginning, at the end
  int64_t count() const { return static_cast<int64_t>(on_threads.size() + before.size() + after.size()); }
};
/// Divide `missing`, the operators without a match. `known`: by thread, whether the Kineto trace contains the thread.
/// `number`: HostOp::id or rf_id, which count up in the order in which operators begin; the Kineto trace covers
/// `first` to `last`. Operators missing on a known thread before or after mean one cycle of several.
template <class Number>
Uncovered find_uncovered(const std::vector<HostOp>& ops, const std::vector<uint32_t>& missing,
                         const std::vector<char>& known, Number HostOp::*number, Number first, Number last) {
  bool before = false, after = false;
  for (const uint32_t h : missing) {
    before |= known[ops[h].thread] && ops[h].*number < first;
    after |= known[ops[h].thread] && ops[h].*number > last;
  }
  Uncovered out;
  for (const uint32_t h : missing) {
    if (before && ops[h].*number < first) out.before.push_back(h);
    else if (after && ops[h].*number > last) out.after.push_back(h);
    else if (!known[ops[h].thread]) out.on_threads.push_back(h);
  }
  return out;
}
/// Remove the uncovered operators from the linking. Findings: pytorch.match.part. `host_ops`: of the whole host trace.
void leave_out(Linking& l, const Uncovered& uncovered, int64_t host_ops);

/// Check that matches by id are of one run, and leave out the rest. Errors: pytorch.match.low, pytorch.pair.process.
Result<void> judge_match(Linking& l, const RowMap& by_id);

/// Report pytorch.match.some_missing: operators of the covered part without a match.
void report_missing(Linking& l);

// ---- shapes (shapes_agree.cpp) ---------------------------------------------------------------------------------

/// Compares the sizes of inputs, where both recordings have them.
class ShapeComparer {
 public:
  explicit ShapeComparer(const Linking& l) : l_(l) {}
  /// Whether an operator of the Kineto trace has an input of other sizes than row `h` of the host trace.
  bool differ(uint32_t op, uint32_t h);

 private:
  const Linking& l_;
  absl::flat_hash_map<std::tuple<uint32_t, StringId, StringId>, bool> known_;
};

/// Fill Matches::other_shapes. Requires matches by names. Findings: pytorch.match.shapes.
void compare_shapes(Linking& l);

// ---- matches by the order of names (scope.cpp, part_by_names.cpp) ---------------------------------------------

/// Match by names and their order, if there is no other connection;
/// cut the Kineto trace down to one iteration of several.
Result<void> match_by_names(Linking& l);
/// Fill only Threads::ops.
void sort_thread_ops(Linking& l);

/// Return the positions of `wanted` in `names`, without overlaps (Knuth, Morris, Pratt).
/// `longest`: the length of the longest prefix of `wanted` found anywhere.
std::vector<size_t> occurrences(const std::vector<StringId>& wanted, const std::vector<StringId>& names,
                                size_t& longest);
/// Match a Kineto trace whose threads each lie on a thread of the host trace, and leave out the rest of the host trace.
/// False if a thread lies on no thread, or in more than one place. Errors: pytorch.pair.process.
Result<bool> match_part_by_names(Linking& l);

// ---- Gloo's records, if only the order of names matches (gloo_order.cpp) -----------------------------------------

/// Whether the operator is communication that another thread carried out; the host trace records the caller's thread.
bool is_host_comm(const Linking& l, const HostOp& op);
/// Match the n-th record of a name in one file with the n-th in the other, from the first matched operator on.
/// `first`, `last`: the range of ids in which the host trace was matched. Requires that operators are matched.
void match_host_comm(Linking& l, uint64_t first, uint64_t last);

}  // namespace chakra::link
