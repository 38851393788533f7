// Computers carry out nodes of a rank for real: recorded operators (--compute torch), work by BLAS
// (--compute work), loads and stores in files (--files). Each computer has a thread, which runs
// one node at a time. A Crew has all computers of a rank and reports the nodes that have ended.
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

/// Recorded operators by outcome (--compute torch).
struct OperatorsRun {
  int64_t operators = 0;                  ///< top-level operators
  int64_t ran = 0;                        ///< operators that ran without an error
  int64_t same_shapes = 0;                ///< of those that ran: all outputs have the recorded shapes
  int64_t substituted = 0, in_float = 0;  ///< of those that ran: by a substitute; in a wider type
  int64_t unknown_inputs = 0;             ///< recorded arguments that the local operator does not have
  uint64_t live_bytes = 0;                ///< peak memory of tensors, in the order of the trace
  using Reasons = std::map<std::pair<std::string, std::string>, int64_t>;  ///< (name, why) -> how often
  Reasons not_run, other_shapes;
};

/// FLOPs and bytes of compute nodes (--compute work).
struct WorkDone {
  int64_t nodes = 0;                               ///< nodes with recorded work
  int64_t timed = 0;                               ///< nodes without recorded work, which took their recorded time
  int64_t silent = 0;                              ///< nodes with neither work nor time
  int64_t other_types = 0;                         ///< of `nodes`: nodes with FLOPs in another type than float32
  Picoseconds timed_ps = 0;                        ///< recorded time of the nodes in `timed`, scaled
  uint64_t wanted_operations = 0, operations = 0;  ///< FLOPs asked for; FLOPs done
  uint64_t wanted_bytes = 0, bytes = 0;            ///< asked for; read and written by copies
  Picoseconds product_ps = 0, copy_ps = 0;         ///< time of matrix multiplications; time of copies
  std::string library;                             ///< of the matrix multiplications
  bool threads_without_effect = false;             ///< `threads` is given, but the library cannot set its threads
};

/// Loads and stores in files (--files).
struct FilesMoved {
  struct Tier {
    std::string name;  ///< "" for nodes without a tier name
    int64_t loads = 0, stores = 0;
    uint64_t read_bytes = 0, written_bytes = 0;
    Picoseconds read_ps = 0, write_ps = 0;
    uint64_t file_bytes = 0;   ///< bytes that the rank's nodes move to and from this tier, in whole blocks
    std::string_view order{};  ///< of kFileOrders
  };
  std::vector<Tier> tiers;  ///< by first use
  int64_t untold = 0;       ///< loads and stores without recorded bytes, which took the same time as without files
};

/// Results of a rank's computers for the last repetition.
struct Computed {
  std::optional<OperatorsRun> operators;
  std::optional<WorkDone> work;
  std::optional<FilesMoved> files;
};

/// Input of a computer. The trace must outlive the computer.
struct ComputerInput {
  const trace::Trace& trace;
  const std::vector<bool>& selected;  ///< per node; empty: all
  const Settings& settings;
  double scale = 1;               ///< factor for durations and work of computation
  const std::atomic<bool>& stop;  ///< once set, the new computer will not be used

  bool selects(trace::NodeId node) const { return selected.empty() || selected[node]; }
};

/// Carries out nodes of a rank for real, one after the other.
class Computer {
 public:
  enum class Part : uint8_t {
    timed,   ///< the executor lets the node take its recorded time
    runs,    ///< run() carries it out
    covered  ///< part of another node that runs: takes no time
  };

  virtual ~Computer() = default;
  Computer() = default;
  Computer(const Computer&) = delete;
  Computer& operator=(const Computer&) = delete;

  virtual Part part(trace::NodeId node) const = 0;
  /// Begin a repetition; no node is under way.
  virtual void begin() = 0;
  /// Run a node in the computer's thread. False: the node takes its recorded time, counted from the begin of run().
  /// Return early once `stop` is set; the result is then ignored. Requires part() runs. Errors: those of the computer.
  virtual Result<bool> run(trace::NodeId node, const std::atomic<bool>& stop) = 0;
  /// Fill this computer's part of `into`. No node is under way and no node follows.
  virtual void close(Computed& into) = 0;
};

/// The computers of a rank and their threads. Only one thread may call a Crew.
class Crew {
 public:
  using Clock = std::chrono::steady_clock;
  struct Ended {
    trace::NodeId node{0};
    bool ran = false;  ///< else the node takes its recorded time, counted from `begin`
    Clock::time_point begin{};
  };

  explicit Crew(std::vector<std::unique_ptr<Computer>> computers);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();  ///< stops the nodes under way and waits for them

  /// Return the part of the first computer that does not leave the node to the clock. Cost: O(computers).
  Computer::Part part(trace::NodeId node) const;
  /// Call Computer::begin() of each computer.
  void begin();
  /// Start a node without blocking. Requires part() runs.
  void start(trace::NodeId node);
  /// Append the nodes that have ended since the last call; wait for the first one, at most
  /// `patience`. Errors: those of the computers; after an error no node may be started.
  Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ended>& ended);
  /// Call Computer::close() of each computer.
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
  std::deque<Worker> workers_;  ///< last member: the threads use all others
};

}  // namespace chakra::replay
