#include "chakra/replay/computer.h"

#include <algorithm>

namespace chakra::replay {

Crew::Crew(std::vector<std::unique_ptr<Computer>> computers) {
  for (std::unique_ptr<Computer>& computer : computers) workers_.push_back({std::move(computer)});
  try {
    for (Worker& worker : workers_) worker.thread = std::thread([this, &worker] { work(worker); });
  } catch (...) {  // no thread can be started
    end();
    throw;
  }
}

Crew::~Crew() { end(); }

void Crew::end() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (Worker& worker : workers_)
    if (worker.thread.joinable()) worker.thread.join();
}

Computer::Part Crew::part(trace::NodeId node) const {
  for (const Worker& worker : workers_)
    if (const Computer::Part part = worker.computer->part(node); part != Computer::Part::timed) return part;
  return Computer::Part::timed;
}

void Crew::begin() {
  const std::lock_guard lock(mutex_);
  CHAKRA_ASSERT(ended_.empty());
  for (Worker& worker : workers_) {
    CHAKRA_ASSERT(worker.waiting.empty());
    worker.computer->begin();
  }
}

void Crew::start(trace::NodeId node) {
  const auto takes = std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) {
    return worker.computer->part(node) != Computer::Part::timed;
  });
  CHAKRA_ASSERT(takes != workers_.end() && takes->computer->part(node) == Computer::Part::runs);
  {
    const std::lock_guard lock(mutex_);
    takes->waiting.push_back(node);
  }
  changed_.notify_all();
}

Result<void> Crew::progress(std::chrono::nanoseconds patience, std::vector<Ended>& ended) {
  std::unique_lock lock(mutex_);
  if (patience.count() > 0) changed_.wait_for(lock, patience, [this] { return !ended_.empty() || failed_; });
  if (failed_) return Failure(*failed_);
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
  return {};
}

Computed Crew::close() {
  const std::lock_guard lock(mutex_);
  Computed done;
  for (Worker& worker : workers_) worker.computer->close(done);
  return done;
}

void Crew::work(Worker& worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || !worker.waiting.empty(); });
    if (stops_) return;
    const trace::NodeId node = worker.waiting.front();
    worker.waiting.pop_front();
    lock.unlock();
    Ended ended{node, false, Clock::now()};
    const Result<bool> ran = worker.computer->run(node, stops_);
    lock.lock();
    if (ran) {
      ended.ran = *ran;
      ended_.push_back(ended);
    } else if (!failed_) {
      failed_ = ran.error();
    }
    changed_.notify_all();
  }
}

}  // namespace chakra::replay
