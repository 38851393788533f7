#include "chakra/replay_fabric/flow_log.h"

#include <fmt/core.h>

#include <chrono>
#include <iterator>

namespace chakra::replay_fabric {
namespace {

/// A text in a CSV: in quotes, inner ones doubled.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

}  // namespace

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void FlowLog::add(const replay::Operation& o, uint32_t round, int64_t source, uint64_t bytes, int64_t first_ns) {
  if (name_.empty()) return;
  const bool collective = o.kind == replay::Operation::Kind::collective;
  fmt::format_to(std::back_inserter(rows_), "{},{},{},{},{},{},{},{},{},{},{}\n", o.node, quoted(o.name),
                 quoted(collective ? o.group : ""), collective ? trace::name(o.type) : "MESSAGE", o.index, round,
                 source, rank_, bytes, first_ns, now_ns());
}

Result<void> FlowLog::write() const {
  if (name_.empty()) return {};
  return write_file(fmt::format("{}.{}.csv", name_, rank_),
                    "node,name,group,type,index,round,source,destination,bytes,first_ns,last_ns\n" + rows_);
}

}  // namespace chakra::replay_fabric
