// What match.cpp and scope.cpp share: whether two recordings are of the same run, and which part of the host trace the
// Kineto trace covers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/row_map.h"
#include "chakra/link/linking.h"

namespace chakra::link {

/// The least share of the smaller side's operators that has to be found on the other.
inline constexpr double kFewestMatches = 0.95;
inline bool enough(int64_t found, int64_t of) {
  return static_cast<double>(found) >= kFewestMatches * static_cast<double>(of);
}

// ---- names (names_agree.cpp) -----------------------------------------------------------------------------------

/// Whether Kineto writes the name of an operator or annotation of the host trace so. Kineto leaves line ends out and
/// makes backslashes slashes; since 2025 it also makes quotes apostrophes, and "unknown" of a name with a byte that is
/// not printable ASCII.
bool names_agree(std::string_view host, std::string_view kineto);

/// Matches operators of equal id that have other names. Requires matches that judge_match() took: the files are of one
/// run. An operator has to be on the thread on which the others of its thread are. Findings: pytorch.match.other_name.
void match_other_names(Linking& l, const RowMap& by_id);

/// Gives matched operators of the Kineto trace the names that the host trace has: those are whole.
void take_host_names(Linking& l);

// ---- processes (process.cpp) -----------------------------------------------------------------------------------

/// Both files name the process. Where the names differ, the files are of different runs or ranks: refused, but where
/// every operator of both matches and they did not run at the same time, as the same program does again.
/// Findings: pytorch.pair.other_process. Errors: pytorch.pair.process.
Result<void> check_process(Linking& l, bool both_whole);

// ---- parts (cover.cpp) -----------------------------------------------------------------------------------------

/// Operators of the host trace that the Kineto trace does not cover.
struct Uncovered {
  std::vector<uint32_t> on_threads;     ///< on threads of which it has nothing
  std::vector<uint32_t> before, after;  ///< what it begins with, what it ends with
  int64_t count() const { return static_cast<int64_t>(on_threads.size() + before.size() + after.size()); }
};
/// Divides `missing`, operators without a match. `known`: by thread, whether the Kineto trace has something
/// of it. `number`: HostOp::id or rf_id, which are given out in the order in which operators begin; the Kineto trace
/// covers `first` to `last`. Missing on a known thread before or after that says that it is one cycle of several.
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
/// Takes them out of what is linked. Findings: pytorch.match.part. `host_ops`: of the whole host trace.
void leave_out(Linking& l, const Uncovered& uncovered, int64_t host_ops);

/// Whether matches by id are of one run, and what then is left out. Errors: pytorch.match.low, pytorch.pair.process.
Result<void> judge_match(Linking& l, const RowMap& by_id);

/// pytorch.match.some_missing: what of the covered part has no match.
void report_missing(Linking& l);

// ---- matches by the order of names (scope.cpp, part_by_names.cpp) ---------------------------------------------

/// Matches where nothing but names and their order joins the two; cuts the Kineto trace down to one iteration if it
/// holds several.
Result<void> match_by_names(Linking& l);
/// Threads::ops alone.
void sort_thread_ops(Linking& l);

/// Where `wanted` stands in `names`, without overlaps (Knuth, Morris, Pratt); and the most of it that
/// stands anywhere.
std::vector<size_t> occurrences(const std::vector<StringId>& wanted, const std::vector<StringId>& names,
                                size_t& longest);
/// Matches a Kineto trace whose threads each stand on a thread of the host trace, and leaves the rest of the host trace
/// out. False where they do not, or in more than one place. Errors: pytorch.pair.process.
Result<bool> match_part_by_names(Linking& l);

// ---- Gloo's records, where only the order of names matches (gloo_order.cpp) --------------------------------------

/// A record of communication that another thread carried out; the host trace has it on the caller's thread.
bool is_host_comm(const Linking& l, const HostOp& op);
/// The n-th record of a name in one file is the n-th of it in the other, since the first matched operator began.
/// `first`, `last`: ids between which the host trace was matched. Requires that operators are matched.
void match_host_comm(Linking& l, uint64_t first, uint64_t last);

}  // namespace chakra::link
