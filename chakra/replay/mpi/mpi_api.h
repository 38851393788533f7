// The interface between the back end `mpi` and its plugin, libchakra_replay_mpi.so: plain
// data, so that the plugin can be built separately against any MPI. Functions return null, or
// an error text that stays valid until the next call. All calls must come from one thread.
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

/// A non-blocking call of MPI. The memory that it refers to must stay valid until the call has ended.
struct Call {
  CallKind kind = CallKind::barrier;
  int32_t communicator = 0;
  int32_t root = 0;  ///< of messages: the partner's rank in the job
  int32_t tag = 0;   ///< of messages
  int32_t type = 0;  ///< of the elements: index into Start::types; -1: bytes that are only moved
  int32_t reduce = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int32_t in_count = 0, out_count = 0;  ///< elements; of gathers and all-to-alls per member
  /// Per member: number of elements, and offset of the first. Parts of reduce_scatter have out_counts only.
  const int32_t *in_counts = nullptr, *in_places = nullptr, *out_counts = nullptr, *out_places = nullptr;
};

/// An element type: MPI's type if MPI has it, else combined by Start::combine.
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
  int32_t call = 0;    ///< number from start()
  uint64_t bytes = 0;  ///< received bytes, of receive
};

struct Api {
  int32_t version = kApiVersion;
  /// Start MPI, once per process. MPI ends with the process, unless abandon() was called.
  const char* (*open)(const Start* start, Started* started) = nullptr;
  /// Create a communicator. All members must call, in an order that all of them agree on. `ranks`: of the job.
  const char* (*communicator)(const int32_t* ranks, int32_t count, int32_t tag, int32_t* communicator) = nullptr;
  const char* (*start)(const Call* call, int32_t* number) = nullptr;
  /// Move data. Fill `ended` with up to `most` calls that have ended.
  const char* (*test)(Ended* ended, int32_t most, int32_t* count) = nullptr;
  const char* (*close)() = nullptr;  ///< release the communicators; called by all members
  void (*abandon)() = nullptr;       ///< another rank is gone: skip the regular end of MPI, which would wait for it
};

/// The only exported symbol of the plugin: `const Api* chakra_replay_mpi()`.
inline constexpr const char* kApiName = "chakra_replay_mpi";

}  // namespace chakra::replay::mpi
