#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "chakra/check/job_graph.h"

namespace chakra::check {
namespace {

constexpr size_t kStarts = 16;  ///< places of a circle from which a shorter one is looked for
constexpr size_t kSearchBudget = 4'000'000;

class CircleFinder {
 public:
  explicit CircleFinder(const JobGraph& graph) : graph_(graph) {}

  /// Depth first, without recursion: each step's vertex is waited for by the one before; the first by the last.
  std::vector<Step> find() {
    state_.assign(graph_.size(), kNew);
    struct Frame {
      Step step;  ///< that led here
      size_t steps_begin;
    };
    std::vector<Frame> stack;
    std::vector<Step> steps;  // those of each frame that are still to be taken, one frame behind the other
    for (uint32_t start = 0; start < graph_.size(); ++start) {
      if (state_[start] != kNew) continue;
      const auto enter = [&](const Step& step) {
        state_[step.vertex] = kOpen;
        stack.push_back({step, steps.size()});
        graph_.waits_of(step.vertex, steps);
      };
      enter({start, {}, {}, Why::dependency});
      while (!stack.empty()) {
        if (steps.size() == stack.back().steps_begin) {
          state_[stack.back().step.vertex] = kClosed;
          stack.pop_back();
          continue;
        }
        const Step step = steps.back();
        steps.pop_back();
        if (state_[step.vertex] == kNew) {
          enter(step);
        } else if (state_[step.vertex] == kOpen) {
          size_t first = stack.size();
          while (stack[--first].step.vertex != step.vertex) {}
          std::vector<Step> circle;
          for (size_t i = first + 1; i < stack.size(); ++i) circle.push_back(stack[i].step);
          circle.push_back(step);
          return circle;
        }
      }
    }
    return {};
  }

  /// The shortest circle through some vertices of this one, communication first. What find() has closed is in
  /// no circle.
  std::vector<Step> shortened(std::vector<Step> best) const {
    std::vector<uint32_t> starts;
    for (const bool comm : {true, false})
      for (const Step& step : best)
        if (graph_.is_comm(step.vertex) == comm && starts.size() < kStarts) starts.push_back(step.vertex);
    size_t budget = kSearchBudget;
    std::vector<Step> steps;
    for (const uint32_t start : starts) {
      absl::flat_hash_map<uint32_t, Step> reached_from;  // vertex: the step to it; Step::vertex: where from
      std::vector<uint32_t> queue{start}, next;
      bool closed = false;
      for (size_t length = 0; !queue.empty() && !closed && length + 1 < best.size(); ++length) {
        next.clear();
        for (const uint32_t v : queue) {
          if (closed) break;
          steps.clear();
          graph_.waits_of(v, steps);
          if (budget < steps.size() + 1) return best;
          budget -= steps.size() + 1;
          for (Step step : steps) {
            const uint32_t to = step.vertex;
            if (state_[to] == kClosed) continue;
            step.vertex = v;
            if (!reached_from.emplace(to, step).second) continue;
            next.push_back(to);
            closed |= to == start;
          }
        }
        std::swap(queue, next);
      }
      if (!closed) continue;
      std::vector<Step> circle;
      uint32_t to = start;
      do {
        Step step = reached_from.at(to);
        std::swap(step.vertex, to);
        circle.push_back(step);
      } while (to != start);
      std::reverse(circle.begin(), circle.end());
      if (circle.size() < best.size()) best = std::move(circle);
    }
    return best;
  }

 private:
  enum : uint8_t { kNew, kOpen, kClosed };

  const JobGraph& graph_;
  std::vector<uint8_t> state_;  ///< per vertex
};

}  // namespace

std::vector<Step> find_circle(const JobGraph& graph) {
  CircleFinder finder(graph);
  std::vector<Step> circle = finder.find();
  return circle.empty() ? circle : finder.shortened(std::move(circle));
}

}  // namespace chakra::check
