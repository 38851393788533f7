#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/row_map.h"
#include "chakra/link/matching.h"

namespace chakra::link {
namespace {

/// What Kineto writes where a name has a byte that is not printable ASCII.
constexpr std::string_view kUnprintable = "unknown";

bool is_printable(char c) { return c >= 0x20 && c < 0x7f; }

/// Where most operators of each thread of the host trace are, kNone where there are none.
std::vector<uint32_t> lanes_of_threads(const Linking& l) {
  std::vector<absl::flat_hash_map<uint32_t, int64_t>> count(l.host().threads.size());
  for (uint32_t h = 0; h < l.host().ops.size(); ++h)
    if (l.match.op_of_host[h] != kNone) ++count[l.host().ops[h].thread][l.profile().ops[l.match.op_of_host[h]].lane];
  std::vector<uint32_t> lanes(count.size(), kNone);
  for (size_t thread = 0; thread < count.size(); ++thread) {
    int64_t most = 0;
    for (const auto& [lane, ops] : count[thread])
      if (ops > most || (ops == most && lane < lanes[thread])) most = ops, lanes[thread] = lane;
  }
  return lanes;
}

}  // namespace

bool names_agree(std::string_view host, std::string_view kineto) {
  if (host == kineto) return true;
  size_t at = 0;
  bool same = true, printable = true;
  for (const char c : host) {
    if (c == '\n') continue;
    printable &= is_printable(c);
    const char other = at < kineto.size() ? kineto[at] : '\0';
    same &= at < kineto.size() && (other == c || (c == '\\' && other == '/') || (c == '"' && other == '\''));
    ++at;
  }
  return (same && at == kineto.size()) || (!printable && kineto == kUnprintable);
}

void match_other_names(Linking& l, const RowMap& by_id) {
  CHAKRA_ASSERT(l.report.matched_host_ops > 0);
  const std::vector<uint32_t> lanes = lanes_of_threads(l);
  int64_t count = 0;
  std::string example;
  for (uint32_t h = 0; h < l.host().ops.size(); ++h) {
    const HostOp& op = l.host().ops[h];
    if (op.kind != HostOp::Kind::op || op.rf_id == 0 || l.match.op_of_host[h] != kNone) continue;
    if (l.scope.left_out.contains(op.rf_id)) continue;
    const uint32_t found = by_id.find(op.rf_id);
    if (found == kNone || l.match.host_of_op[found] != kNone || l.profile().ops[found].lane != lanes[op.thread])
      continue;
    l.match.host_of_op[found] = h;
    l.match.op_of_host[h] = found;
    ++l.report.matched_host_ops;
    if (count++ == 0)
      example = fmt::format("node {} is {} there, but {} here", op.id, quote(l.text(l.profile().ops[found].name)),
                            quote(l.text(op.name)));
  }
  if (count > 0)
    l.find("pytorch.match.other_name", Severity::note,
           fmt::format("{} operators have another name in the Kineto trace; they match by id and thread, and keep the "
                       "name of the host trace: {}",
                       show_count(count), example));
}

void take_host_names(Linking& l) {
  for (uint32_t op = 0; op < l.profile().ops.size(); ++op)
    if (l.match.host_of_op[op] != kNone) l.profile().ops[op].name = l.host().ops[l.match.host_of_op[op]].name;
}

}  // namespace chakra::link
