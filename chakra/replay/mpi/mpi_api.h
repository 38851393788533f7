// What the back end `mpi` asks of its plugin, libchakra_replay_mpi.so: plain data, so that the plugin can be built by
// itself against any MPI. Functions return null, or why they could not do it, valid until the next call. Calls come
// from one thread.
#pragma once

#include <cstdint>

namespace chakra::replay::mpi {

inline constexpr int32_t kApiVersion = 1;

enum class CallKind : int32_t {
  barrier,
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  all_gather,
  gather,
  scatter,
  all_to_all,
  all_to_all_parts,
  send,
  receive,
};

/// A non-blocking call of MPI. The memory it names stays where it is until the call has ended.
struct Call {
  CallKind kind = CallKind::barrier;
  int32_t communicator = 0;
  int32_t root = 0;  ///< of messages: the partner, in the job
  int32_t tag = 0;   ///< of messages
  int32_t type = 0;  ///< of the elements: which of Start::types; -1: bytes that are only moved
  int32_t reduce = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int32_t in_count = 0, out_count = 0;  ///< elements; of gathers and all-to-alls per member
  /// Per member: elements and where they begin. Parts of reduce_scatter have out_counts only.
  const int32_t *in_counts = nullptr, *in_places = nullptr, *out_counts = nullptr, *out_places = nullptr;
};

/// An element type: MPI's own where it has it, else combined by Start::combine.
struct Type {
  const char* name = nullptr;
  int32_t bytes = 1;
};
struct Start {
  const Type* types = nullptr;
  int32_t type_count = 0;
  /// into[i] = into[i] (op) from[i], for `bytes` bytes of that type; reduce: 0 .. kReduceOps-1.
  void (*combine)(int32_t type, int32_t reduce, void* into, const void* from, uint64_t bytes) = nullptr;
};
inline constexpr int32_t kReduceOps = 4;  ///< sum, product, minimum, maximum: of Call::reduce
inline constexpr int32_t kMostTypes = 32;

struct Started {
  int32_t rank = 0, ranks = 0;
  int32_t greatest_tag = 0;
  const char* library = nullptr;  ///< name and version
};

/// A call that has ended.
struct Ended {
  int32_t call = 0;    ///< as start() numbered it
  uint64_t bytes = 0;  ///< that came, of receive
};

struct Api {
  int32_t version = kApiVersion;
  /// Starts MPI, once in a process; MPI ends with the process, unless abandon() was called.
  const char* (*open)(const Start* start, Started* started) = nullptr;
  /// Called by all members, in an order that all of them agree on. `ranks`: of the job.
  const char* (*communicator)(const int32_t* ranks, int32_t count, int32_t tag, int32_t* communicator) = nullptr;
  const char* (*start)(const Call* call, int32_t* number) = nullptr;
  /// Moves data. Fills `ended` with up to `most` calls that have ended.
  const char* (*test)(Ended* ended, int32_t most, int32_t* count) = nullptr;
  const char* (*close)() = nullptr;  ///< lets go of the communicators; called by all
  void (*abandon)() = nullptr;       ///< another rank is gone: MPI is not ended in good order, which would wait for it
};

/// The plugin's only name: `const Api* chakra_replay_mpi()`.
inline constexpr const char* kApiName = "chakra_replay_mpi";

}  // namespace chakra::replay::mpi
