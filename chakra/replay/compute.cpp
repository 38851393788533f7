#include "chakra/replay/compute.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::replay {
namespace {

constexpr int kTurnsBetweenLooks = 256;

}  // namespace

Result<std::optional<int64_t>> number_setting(const Settings& settings, std::string_view name, int64_t least,
                                              int64_t most) {
  const std::string text = setting(settings, name);
  if (text.empty() && !settings.contains(name)) return std::optional<int64_t>();
  int64_t number = 0;
  if (!parse_decimal(text, number) || number < least || number > most)
    return fail(Code::usage, "cli.usage",
                fmt::format("--compute-option {}={}: expected a number from {} to {}", name, text, show_count(least),
                            show_count(most)));
  return std::optional(number);
}

void BusyThreads::keep(uint32_t threads) {
  threads = std::min(threads, std::max(1U, std::thread::hardware_concurrency()) - 1);  // the caller has one
  if (busy_.load(std::memory_order_relaxed) == threads) return;
  while (threads_.size() < threads)
    threads_.emplace_back([this, number = static_cast<uint32_t>(threads_.size())] { run(number); });
  busy_ = threads;
  busy_.notify_all();
}

void BusyThreads::run(uint32_t number) {
  for (uint32_t busy = busy_; busy != kEnd; busy = busy_) {
    if (number >= busy) busy_.wait(busy);
    else
      for (int turn = 0; turn < kTurnsBetweenLooks; ++turn) std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

BusyThreads::~BusyThreads() {
  busy_ = kEnd;
  busy_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace chakra::replay
