// What carries out nodes of a rank for real, where they do not take their recorded time: recorded operators
// (--compute torch), work by BLAS (--compute work), loads and stores in files (--files). Each computer has a thread of
// its own, which runs one node after the other; a Crew has a rank's computers, and tells what has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/backend.h"
#include "chakra/trace/trace.h"

namespace chakra::replay {

/// Recorded operators by how they ran (--compute torch).
struct OperatorsRun {
  int64_t operators = 0;                  ///< top-level ones
  int64_t ran = 0;                        ///< without an error
  int64_t same_shapes = 0;                ///< of those that ran: their outputs have the recorded shapes
  int64_t substituted = 0, in_float = 0;  ///< of those that ran: another did it; in a wider type
  int64_t unknown_inputs = 0;             ///< recorded arguments that the local operator does not have
  uint64_t live_bytes = 0;                ///< the most that tensors need at a time, in the order of the trace
  using Reasons = std::map<std::pair<std::string, std::string>, int64_t>;  ///< (name, why) -> how often
  Reasons not_run, other_shapes;
};

/// Operations and bytes of nodes of computation (--compute work).
struct WorkDone {
  int64_t nodes = 0;                               ///< that say their work
  int64_t timed = 0;                               ///< that do not, and took their recorded time
  int64_t silent = 0;                              ///< that say neither work nor time
  int64_t other_types = 0;                         ///< of `nodes`: with operations in another type than float32
  Picoseconds timed_ps = 0;                        ///< recorded time of those in `timed`, scaled
  uint64_t wanted_operations = 0, operations = 0;  ///< the second: done
  uint64_t wanted_bytes = 0, bytes = 0;            ///< read and written by copies
  Picoseconds product_ps = 0, copy_ps = 0;         ///< time that each of the two took
  std::string library;                             ///< that did the products
  bool threads_without_effect = false;             ///< `threads` is given, and the library cannot set them
};

/// Loads and stores in files (--files).
struct FilesMoved {
  struct Tier {
    std::string name;  ///< "": the nodes name none
    int64_t loads = 0, stores = 0;
    uint64_t read_bytes = 0, written_bytes = 0;
    Picoseconds read_ps = 0, write_ps = 0;
    uint64_t file_bytes = 0;   ///< all that the rank's nodes move there, in whole blocks
    std::string_view order{};  ///< of kFileOrders
  };
  std::vector<Tier> tiers;  ///< by first use
  int64_t untold = 0;       ///< loads and stores that do not say their bytes, and took what they take without files
};

/// What the computers of a rank did in the last repetition.
struct Computed {
  std::optional<OperatorsRun> operators;
  std::optional<WorkDone> work;
  std::optional<FilesMoved> files;
};

/// What a computer is made for. The trace outlives the computer.
struct ComputerInput {
  const trace::Trace& trace;
  const std::vector<bool>& selected;  ///< per node; empty: all
  const Settings& settings;
  double scale = 1;               ///< of computation
  const std::atomic<bool>& stop;  ///< once it is set, what is made will not be used

  bool selects(trace::NodeId node) const { return selected.empty() || selected[node]; }
};

/// Carries out nodes of a rank for real, one after the other.
class Computer {
 public:
  enum class Part : uint8_t {
    timed,   ///< the executor lets the node take its recorded time
    runs,    ///< run() carries it out
    covered  ///< by a node that runs: takes no time
  };

  virtual ~Computer() = default;
  Computer() = default;
  Computer(const Computer&) = delete;
  Computer& operator=(const Computer&) = delete;

  virtual Part part(trace::NodeId node) const = 0;
  /// A repetition begins; nothing is under way.
  virtual void begin() = 0;
  /// In the computer's thread. False: the node takes its recorded time, since run() began. Returns early once `stop` is
  /// set: what it did does not count then. Requires part() runs. Errors: those of the computer.
  virtual Result<bool> run(trace::NodeId node, const std::atomic<bool>& stop) = 0;
  /// Nothing is under way, and nothing follows. Fills its part of `into`.
  virtual void close(Computed& into) = 0;
};

/// The computers of a rank, and their threads. One thread calls it.
class Crew {
 public:
  using Clock = std::chrono::steady_clock;
  struct Ended {
    trace::NodeId node{0};
    bool ran = false;  ///< else it takes its recorded time, since its begin
    Clock::time_point begin{};
  };

  explicit Crew(std::vector<std::unique_ptr<Computer>> computers);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();  ///< waits for what is under way, which is told to stop

  /// Of the first computer that does not leave the node to the clock. Cost: O(computers).
  Computer::Part part(trace::NodeId node) const;
  /// As Computer::begin(), of each.
  void begin();
  /// Does not block. Requires part() runs.
  void start(trace::NodeId node);
  /// Appends what has ended since the last call; waits for the first of them, `patience` at most. Errors: those of
  /// the computers; nothing may be started then.
  Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ended>& ended);
  /// As Computer::close(), of each.
  Computed close();

 private:
  struct Worker {
    std::unique_ptr<Computer> computer;
    std::deque<trace::NodeId> waiting{};
    std::thread thread{};
  };
  void work(Worker& worker);
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Ended> ended_;
  std::optional<Error> failed_;
  std::atomic<bool> stops_{false};
  std::deque<Worker> workers_;  ///< last: their threads use the others
};

}  // namespace chakra::replay
