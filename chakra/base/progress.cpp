#include "chakra/base/progress.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace chakra {

using Clock = std::chrono::steady_clock;

struct ProgressState {
  Watched::Ask ask = nullptr;
  void* user = nullptr;
  std::thread::id thread = std::this_thread::get_id();  ///< of the call
  std::atomic<bool> stopped{false};
  double begin = 0, width = 1;   ///< of the current part; changed in the thread of the call only
  std::atomic<double> share{0};  ///< completed
  Clock::time_point asked = Clock::now();
};

namespace {

// `job.interrupted` (130): the caller's Control said stop

constexpr std::chrono::milliseconds kBetween{10};
constexpr double kAlmost = 0.99;  ///< until the call has returned
thread_local ProgressPtr current;

bool asks(const ProgressState& state) { return state.thread == std::this_thread::get_id(); }

/// Shares never become less.
void reach(ProgressState& state, double share) {
  double before = state.share;
  while (share > before && !state.share.compare_exchange_weak(before, share)) continue;
}

void ask(ProgressState& state) {
  const Clock::time_point now = Clock::now();
  if (now - state.asked < kBetween || state.stopped) return;
  const ProgressPtr hidden = std::exchange(current, nullptr);  // calls that the caller makes meanwhile are no parts
  if (!state.ask(state.user, std::min(state.share.load(), kAlmost))) state.stopped = true;
  current = hidden;
  state.asked = Clock::now();
}

}  // namespace

Watched::Watched(Ask ask, void* user) : before_(std::move(current)) {
  if (!ask) return;
  current = std::make_shared<ProgressState>();
  current->ask = ask;
  current->user = user;
}
Watched::~Watched() { current = std::move(before_); }

WatchedToo::WatchedToo(ProgressPtr of) : before_(std::exchange(current, std::move(of))) {}
WatchedToo::~WatchedToo() { current = std::move(before_); }
ProgressPtr current_watch() { return current; }

bool was_stopped() { return current && current->stopped; }
bool is_stopped() {
  if (!current) return false;
  if (asks(*current)) ask(*current);
  return current->stopped;
}

Failure stopped_by_caller() { return fail(Code::interrupted, "job.interrupted", "stopped, as the caller asked for"); }

Result<void> keep_going() {
  if (!is_stopped()) return {};
  return stopped_by_caller();
}

Result<void> keep_going(size_t done, size_t total) {
  if (current && total > 0)
    reach(*current, current->begin + current->width * static_cast<double>(done) / static_cast<double>(total));
  return keep_going();
}

ProgressPart::ProgressPart(double begin, double end) {
  if (!current || !asks(*current)) return;
  begin_ = std::exchange(current->begin, current->begin + current->width * begin);
  width_ = std::exchange(current->width, current->width * (end - begin));
  reach(*current, current->begin);
}
ProgressPart::~ProgressPart() {
  if (!current || !asks(*current)) return;
  reach(*current, current->begin + current->width);
  current->begin = begin_;
  current->width = width_;
}

void run_while_asking(const std::function<void()>& work) {
  if (!current || !asks(*current)) return work();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread worker;
  try {
    worker = std::thread([&, watch = current] {
      const WatchedToo watched(watch);
      work();
      const std::lock_guard lock(mutex);
      done = true;
      changed.notify_one();
    });
  } catch (const std::system_error&) {  // no thread is left: the caller waits
    return work();
  }
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, kBetween, [&] { return done; })) {
    lock.unlock();
    ask(*current);
    lock.lock();
  }
  lock.unlock();
  worker.join();
}

}  // namespace chakra
