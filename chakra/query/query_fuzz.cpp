// Any text as SQL over a small job: a query must end with rows or an error, within its limits.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "chakra/query/tables.h"

namespace {

chakra::trace::TraceSet small_job() {
  using namespace chakra;
  trace::TraceSet job;
  for (int64_t rank = 0; rank < 3; ++rank) {
    trace::Builder b;
    b.trace.rank = rank;
    for (uint64_t id = 0; id < 20; ++id) {
      const bool is_comm = id % 5 == 4;
      const std::string name = "node " + std::to_string(id % 7);
      const trace::NodeId n =
          b.add(id, b.trace.strings.intern(name), is_comm ? trace::NodeType::coll : trace::NodeType::comp);
      b.trace.start_ps.edit(n) = static_cast<int64_t>(id) * 1000;
      b.trace.dur_ps.edit(n) = 700;
      b.trace.flags.edit(n) = trace::kHasStart | (id % 3 == 0 ? trace::kHasDuration : 0);
      if (is_comm) b.comm(n).type = trace::CommType::all_reduce;
      if (id > 0) b.dep(n, trace::NodeId(id - 1), 0);
    }
    job.ranks.push_back(std::move(b).finish());
  }
  return job;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra;
  static const trace::TraceSet kJob = small_job();
  query::Tables tables;
  query::add_job(tables, []() -> Result<const trace::TraceSet*> { return &kJob; });
  query::add_columns(tables);
  const auto begin = std::chrono::steady_clock::now();
  const auto made =
      sqlite::select(tables.all, {reinterpret_cast<const char*>(data), size}, {}, {.seconds = 0.05, .bytes = 16 << 20});
  if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) __builtin_trap();  // sanitizers are slow
  if (!made) {
    if (made.error().tag.empty()) __builtin_trap();
    return 0;
  }
  const auto keys = query::keys_of(made->columns);
  if (made->values.size() != keys.size()) __builtin_trap();
  for (const auto& column : made->values)
    if (column.size() != made->rows) __builtin_trap();
  return 0;
}
