// What a job shows without names: sizes, the order of the communication, durations. Attacks and figures of fidelity
// compare the profiles of two jobs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/synth/synth.h"
#include "chakra/trace/trace.h"

namespace chakra::certify {

/// Kinds of sizes: bytes of each kind of communication (synth::kCommKinds), operations of a computation, and bytes that
/// other nodes read and write.
inline constexpr uint8_t kOperations = synth::kCommKinds.size(), kTensorBytes = kOperations + 1;
std::string_view name_of_kind(uint8_t kind);

struct SizeKind {
  uint8_t kind = 0;
  trace::Role role = trace::Role::unknown;  ///< of the group of a communication
  auto operator<=>(const SizeKind&) const = default;
};

/// How many ranks and nodes have a value, by value.
using Counts = std::map<uint64_t, int64_t>;
int64_t sum_of(const Counts& counts);

/// The communication of ranks with the same sequence: a token for kind, role and size.
struct Sequence {
  std::vector<uint64_t> tokens;
  int64_t ranks = 0;
};

/// Lags of autocorrelations: 1 to kLags.
inline constexpr size_t kLags = 64;
using Autocorrelation = std::array<double, kLags>;  ///< NaN: no sequence is long enough

struct Profile {
  int64_t ranks = 0, nodes = 0;
  std::map<SizeKind, Counts> sizes;  ///< without the size 0
  std::array<int64_t, synth::kCommKinds.size()> kinds{};
  Counts durations;  ///< in picoseconds, to a 64th of an octave; without the duration 0
  std::vector<Sequence> sequences;
  Autocorrelation types{};  ///< P(y_t = y_t+lag) - sum of squared shares, of kinds; mean of the ranks
  Autocorrelation order{};  ///< of the logarithm of sizes; mean of the ranks
  /// By role: bytes that a rank communicates, and how many ranks do.
  std::map<trace::Role, std::vector<std::pair<double, int64_t>>> role_bytes;
  std::vector<double> features;  ///< as synth::features()
};

/// Sums up a job, trace by trace.
class ProfileBuilder {
 public:
  /// Add a trace that stands for `ranks` equal ranks, as for synth::JobFeatures. Cost: O(nodes log nodes).
  void add(const trace::Trace& trace, int64_t ranks, const trace::RolesByName& roles = {});
  /// Requires a trace.
  Profile finish() &&;

 private:
  /// Sums of ranks that have a value at a lag.
  struct Sums {
    Autocorrelation sum{};
    std::array<double, kLags> ranks{};
    void add(const Autocorrelation& of, double by);
    Autocorrelation mean() const;
  };

  Profile profile_;
  synth::JobFeatures features_;
  std::map<std::vector<uint64_t>, int64_t> sequences_;
  Sums types_, order_;
};

}  // namespace chakra::certify
