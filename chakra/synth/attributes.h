// Estimates attributes of a model from the sizes and the structure of a job, as a reader of a shared trace can do
// without names. `chakra obfuscate` hides these numbers, and `chakra certify` attacks them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/trace/trace.h"

namespace chakra::synth {

/// Widths of published models, ascending.
extern const std::span<const int64_t> kPopularWidths;

/// Numbers of a model, each 0 if the job does not show it.
struct Attributes {
  int64_t width = 0;             ///< elements of a token between layers
  int64_t layers = 0;            ///< of all stages
  int64_t stages = 0;            ///< of the pipeline
  int64_t experts = 0;           ///< of a layer
  int64_t layers_by_counts = 0;  ///< a second estimate
  bool operator==(const Attributes&) const = default;
};

/// Estimates the attributes of a job, trace by trace:
///   - width: the most frequent width of normalisations; without any, the most frequent inner size of matrix
///     multiplications other than their most frequent number of rows: that is the tokens, over which gradients of
///     weights are summed. For a trace without shapes, gradients give a first width, since a dense layer has 12 width^2
///     of them. The estimate is then a popular width within 30 % of the first width: the width that divides the most
///     sizes of communications;
///   - stages: the attribute `stages`, else the ranks that messages join;
///   - layers: the longest repetition of equal operations, of all stages;
///   - layers by counts: the number that most kinds of operations have in a micro-batch, of all stages. Kinds are names
///     without digits. It also counts layers that differ from the others, but needs names;
///   - experts: the sizes of kernels of experts, which count those of a rank, times the members of their group.
class AttributeGuess {
 public:
  /// Add a rank, or a class of ranks. Messages of a class have slots as peers: pass their ranks to add_message(). Cost:
  /// O(nodes + edges), and O(20,000 * 400) for repetitions.
  void add(const trace::Trace& trace, bool is_class = false);
  void add_message(int64_t from, int64_t to);
  /// Add the traces that another guess has. The order of traces does not matter.
  void add(const AttributeGuess& other);
  Attributes finish() const;
  /// Return the number of ranks that share the experts of a layer.
  int64_t expert_ranks() const { return expert_ranks_; }

 private:
  using Votes = std::map<int64_t, int64_t>;

  void add_shapes(const trace::Trace& trace);
  void add_sizes(const trace::Trace& trace);
  int64_t width_by_depths() const;
  int64_t width_by_sizes() const;
  int64_t joined_ranks() const;

  Votes widths_, depths_, rows_, experts_;          ///< nodes by number
  std::map<uint64_t, int64_t> sizes_;               ///< communications by bytes
  std::set<std::pair<int64_t, int64_t>> messages_;  ///< the lower rank first
  Votes counts_;                                    ///< layers by stage, by counts
  Votes repeats_;                                   ///< layers by stage
  int64_t stages_ = 0;
  uint64_t gradient_bytes_ = 0;  ///< of the trace with the most
  int64_t parts_ = 1;            ///< members of the tensor-parallel group
  int64_t expert_ranks_ = 1;     ///< members of the expert-parallel group
};

/// Return the estimate for a whole job.
Attributes guess_attributes(const trace::TraceSet& job);
Attributes guess_attributes(const trace::ClassJob& job);
/// Add the messages of all ranks of a job by classes.
void add_messages(const trace::ClassJob& job, AttributeGuess& guess);

/// The longest repetition in a sequence: `count` equal parts of `period` values each, one behind the other.
struct Repetition {
  size_t begin = 0, period = 0, count = 0;
};
/// Find the longest repetition of the shortest period. A period has 3 to 400 values, and its runs of at least 3 parts
/// cover a quarter of the sequence. All zero without such a period. Cost: O(400 values).
Repetition find_repetition(std::span<const uint64_t> values);

}  // namespace chakra::synth
