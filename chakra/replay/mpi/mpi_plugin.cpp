// The plugin of the back end `mpi`: the only source that knows MPI. It has nothing of the rest of the house but
// mpi_api.h.
#include <mpi.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/replay/mpi/mpi_api.h"

namespace chakra::replay::mpi {
namespace {

struct ElementType {
  MPI_Datatype moved = MPI_DATATYPE_NULL, summed = MPI_DATATYPE_NULL;
  std::array<MPI_Op, kReduceOps> reduce{MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL};
};

struct Plugin {
  Start start;
  std::vector<ElementType> types;
  MPI_Comm world = MPI_COMM_NULL;
  std::vector<MPI_Comm> communicators;
  std::vector<MPI_Request> requests;  // by number of the call; null: free
  std::vector<bool> receives;
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::string error, library;
  bool open = false, abandoned = false;
};
Plugin& plugin() {
  static auto* const only = new Plugin();
  return *only;
}

/// Null where `code` is MPI_SUCCESS.
const char* error_of(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  plugin().error.assign(text.data(), static_cast<size_t>(length));
  return plugin().error.c_str();
}

#define TRY_MPI(call)                                 \
  if (const int code = (call); code != MPI_SUCCESS) { \
    return error_of(code);                            \
  }

// ---- types that MPI has, and operators for those that it has not ---------------------------------------------------

MPI_Datatype native_type(std::string_view name) {
  const std::pair<std::string_view, MPI_Datatype> all[] = {
      {"byte", MPI_UINT8_T},  {"float", MPI_FLOAT},     {"double", MPI_DOUBLE}, {"char", MPI_INT8_T},
      {"short", MPI_INT16_T}, {"uint16", MPI_UINT16_T}, {"int", MPI_INT32_T},   {"uint32", MPI_UINT32_T},
      {"long", MPI_INT64_T},  {"uint64", MPI_UINT64_T}};
  for (const auto& [known, type] : all)
    if (known == name) return type;
  return MPI_DATATYPE_NULL;
}

/// MPI's operators know nothing of types: one for each type and operator.
template <int kSlot>
void combine_slot(void* from, void* into, int* count, MPI_Datatype*) {
  constexpr int kType = kSlot / kReduceOps, kReduce = kSlot % kReduceOps;
  const Start& start = plugin().start;
  start.combine(kType, kReduce, into, from, static_cast<uint64_t>(*count) * start.types[kType].bytes);
}
template <int... kSlot>
constexpr std::array<MPI_User_function*, sizeof...(kSlot)> slots(std::integer_sequence<int, kSlot...>) {
  return {combine_slot<kSlot>...};
}
constexpr auto kSlots = slots(std::make_integer_sequence<int, kMostTypes * kReduceOps>());

const char* make_type(int number) {
  const Type& type = plugin().start.types[number];
  ElementType& made = plugin().types.emplace_back();
  TRY_MPI(MPI_Type_contiguous(type.bytes, MPI_BYTE, &made.moved));
  TRY_MPI(MPI_Type_commit(&made.moved));
  made.summed = native_type(type.name);
  if (made.summed != MPI_DATATYPE_NULL) {
    made.reduce = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    return nullptr;
  }
  made.summed = made.moved;
  for (int reduce = 0; reduce < kReduceOps; ++reduce)
    TRY_MPI(MPI_Op_create(kSlots[static_cast<size_t>(number * kReduceOps + reduce)], 1,
                          &made.reduce[static_cast<size_t>(reduce)]));
  return nullptr;
}

// ---- the calls -----------------------------------------------------------------------------------------------------

void end() {
  int ended = 0;
  if (!plugin().abandoned && MPI_Finalized(&ended) == MPI_SUCCESS && !ended) MPI_Finalize();
}

const char* open(const Start* start, Started* started) {
  Plugin& p = plugin();
  if (start->type_count > kMostTypes) return "there are more element types than the plugin has operators for";
  if (!p.open) {
    int provided = 0;
    TRY_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
    TRY_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &p.world));
    TRY_MPI(MPI_Comm_set_errhandler(p.world, MPI_ERRORS_RETURN));
    p.start = *start;
    for (int32_t i = 0; i < start->type_count; ++i)
      if (const char* const why = make_type(i)) return why;
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    TRY_MPI(MPI_Get_library_version(text.data(), &length));
    p.library = std::string(text.data());
    p.library.resize(std::min(p.library.find_first_of(",\n"), p.library.size()));
    std::atexit(end);
    p.open = true;
  }
  int *greatest = nullptr, found = 0;
  TRY_MPI(MPI_Comm_rank(p.world, &started->rank));
  TRY_MPI(MPI_Comm_size(p.world, &started->ranks));
  TRY_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &greatest, &found));
  started->greatest_tag = found ? *greatest : 32767;
  started->library = p.library.c_str();
  p.communicators = {p.world};
  return nullptr;
}

const char* communicator(const int32_t* ranks, int32_t count, int32_t tag, int32_t* number) {
  Plugin& p = plugin();
  MPI_Group all = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  TRY_MPI(MPI_Comm_group(p.world, &all));
  TRY_MPI(MPI_Group_incl(all, count, ranks, &group));
  TRY_MPI(MPI_Comm_create_group(p.world, group, tag, &made));
  TRY_MPI(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  *number = static_cast<int32_t>(p.communicators.size());
  p.communicators.push_back(made);
  return nullptr;
}

int call_mpi(const Call& c, MPI_Request* request) {
  const Plugin& p = plugin();
  const MPI_Comm comm = p.communicators[static_cast<size_t>(c.communicator)];
  const ElementType* const type = c.type < 0 ? nullptr : &p.types[static_cast<size_t>(c.type)];
  const MPI_Datatype moved = type ? type->moved : MPI_BYTE;
  const MPI_Datatype summed = type ? type->summed : MPI_BYTE;
  const MPI_Op op = type ? type->reduce[static_cast<size_t>(c.reduce)] : MPI_OP_NULL;
  switch (c.kind) {
    case CallKind::barrier: return MPI_Ibarrier(comm, request);
    case CallKind::all_reduce: return MPI_Iallreduce(c.in, c.out, c.in_count, summed, op, comm, request);
    case CallKind::reduce: return MPI_Ireduce(c.in, c.out, c.in_count, summed, op, c.root, comm, request);
    case CallKind::reduce_scatter: return MPI_Ireduce_scatter(c.in, c.out, c.out_counts, summed, op, comm, request);
    case CallKind::broadcast: return MPI_Ibcast(c.out, c.out_count, moved, c.root, comm, request);
    case CallKind::all_gather: return MPI_Iallgather(c.in, c.in_count, moved, c.out, c.in_count, moved, comm, request);
    case CallKind::gather: return MPI_Igather(c.in, c.in_count, moved, c.out, c.in_count, moved, c.root, comm, request);
    case CallKind::scatter:
      return MPI_Iscatter(c.in, c.out_count, moved, c.out, c.out_count, moved, c.root, comm, request);
    case CallKind::all_to_all: return MPI_Ialltoall(c.in, c.in_count, moved, c.out, c.out_count, moved, comm, request);
    case CallKind::all_to_all_parts:
      return MPI_Ialltoallv(c.in, c.in_counts, c.in_places, moved, c.out, c.out_counts, c.out_places, moved, comm,
                            request);
    case CallKind::send: return MPI_Isend(c.in, c.in_count, moved, c.root, c.tag, comm, request);
    case CallKind::receive: return MPI_Irecv(c.out, c.out_count, moved, c.root, c.tag, comm, request);
  }
  return MPI_ERR_OTHER;
}

const char* start(const Call* call, int32_t* number) {
  Plugin& p = plugin();
  size_t free = 0;
  while (free < p.requests.size() && p.requests[free] != MPI_REQUEST_NULL) ++free;
  if (free == p.requests.size()) {
    p.requests.push_back(MPI_REQUEST_NULL);
    p.receives.push_back(false);
  }
  p.receives[free] = call->kind == CallKind::receive;
  *number = static_cast<int32_t>(free);
  return error_of(call_mpi(*call, &p.requests[free]));
}

const char* test(Ended* ended, int32_t most, int32_t* count) {
  Plugin& p = plugin();
  *count = 0;
  // One by one, so that no call that has ended is lost where more have than the caller takes.
  for (size_t i = 0; i < p.requests.size() && *count < most; ++i) {
    if (p.requests[i] == MPI_REQUEST_NULL) continue;
    int done = 0;
    MPI_Status status;
    TRY_MPI(MPI_Test(&p.requests[i], &done, &status));
    if (!done) continue;
    p.requests[i] = MPI_REQUEST_NULL;
    Ended& e = ended[(*count)++];
    e.call = static_cast<int32_t>(i);
    MPI_Count bytes = 0;
    if (p.receives[i]) TRY_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &bytes));
    e.bytes = static_cast<uint64_t>(bytes);
  }
  return nullptr;
}

const char* close() {
  Plugin& p = plugin();
  for (size_t i = 1; i < p.communicators.size(); ++i) TRY_MPI(MPI_Comm_free(&p.communicators[i]));
  p.communicators.resize(1);
  return nullptr;
}

void abandon() { plugin().abandoned = true; }

constexpr Api kApi{kApiVersion, open, communicator, start, test, close, abandon};

}  // namespace
}  // namespace chakra::replay::mpi

extern "C" __attribute__((visibility("default"))) const chakra::replay::mpi::Api* chakra_replay_mpi() {
  return &chakra::replay::mpi::kApi;
}
