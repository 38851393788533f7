#include "chakra/sim/run_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace chakra::sim {
namespace {

// Fitted to generated steps (llama3-8b with tp 1 and tp 8, llama3-405b; 128 to 512 ranks, in closed form and with fluid
// likewise): within 7 % of the memory that each further rank took.
constexpr double kNodeBytes = 36, kTransferBytes = 210;
constexpr double kEndBytes = sizeof(Picoseconds);
/// Of a node, times the root of the number of actors: 0.2 to 1.6 times the processor time of 256 to 4,096 ranks.
constexpr double kClosedSeconds = 0.015e-6;

constexpr double kNoticed = 1 << 20;  ///< bytes; below, a run always begins

/// The first rank with the rarest speed, begin and device, where ranks differ in these.
std::string odd_rank(const trace::ClassJob& job, const device::System& system) {
  std::map<std::tuple<int64_t, Picoseconds, int64_t>, std::pair<size_t, size_t>> kinds;  // -> count, first rank
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const device::RankTraits& traits = system.traits(job.ranks[r].rank);
    auto& [count, first] = kinds[{std::bit_cast<int64_t>(traits.speed), traits.start_ps, traits.device}];
    if (count++ == 0) first = r;
  }
  if (kinds.size() < 2) return {};
  const auto rarest =
      std::min_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format(
      "rank {} has another speed, start or device than most ranks, and all ranks that depend on it differ. ",
      job.ranks[rarest->second.second].rank);
}

}  // namespace

double RunSize::bytes() const { return nodes * (kNodeBytes + (bounded ? kEndBytes : 0)) + transfers * kTransferBytes; }
double RunSize::seconds() const { return nodes * std::sqrt(actors) * kClosedSeconds; }

RunSize size_of_run(const trace::ClassJob& job, const std::vector<uint32_t>& colors) {
  std::vector<char> seen(colors.size(), 0);
  RunSize size{.ranks = static_cast<double>(colors.size())};
  for (size_t r = 0; r < colors.size(); ++r) {
    const trace::Trace& t = job.classes[job.ranks[r].cls];
    size.rank_nodes += static_cast<double>(t.size());
    if (std::exchange(seen[colors[r]], 1)) continue;
    ++size.actors;
    size.nodes += static_cast<double>(t.size());
    size.transfers += static_cast<double>(t.comms.size());
  }
  return size;
}

// `sim.memory` (1): the ranks that cannot be simulated as one need more memory than the machine has
Result<void> check_memory(const RunSize& size, uint64_t available, const trace::ClassJob& job,
                          const device::System& system, bool whole) {
  if (size.bytes() <= std::max(static_cast<double>(available), kNoticed)) return {};
  const std::string advice =
      whole ? "Identical ranks are simulated as one without --no-fold, --delay, --transfers recorded and "
              "--congestion packet"
            : odd_rank(job, system) +
                  "Generate the step with fewer replicas (--dp): a slow rank changes a step by nearly the same share "
                  "for any number of replicas";
  return fail(
      Code::bad_input, "sim.memory",
      fmt::format("the run needs about {} of memory and {} of processor time, but only {} are available: {} of "
                  "{} ranks are simulated separately, with {} nodes. {}",
                  show_bytes(size.bytes()), show_time(picoseconds(size.seconds())),
                  show_bytes(static_cast<double>(available)), show_count(static_cast<int64_t>(size.actors)),
                  show_count(static_cast<int64_t>(size.ranks)), show_count(static_cast<int64_t>(size.nodes)), advice),
      {job.classes.empty() ? std::string() : job.classes[job.ranks[0].cls].file});
}

}  // namespace chakra::sim
