#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "chakra/foreign/linked_json.h"

namespace chakra::foreign {
namespace {

using trace::Builder;
using trace::CommType;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

/// Bytes of the tensors in a list of values: [id, storage, offset, elements, bytes of one, 'device'], at any depth.
uint64_t bytes_of_tensors(std::string_view values) {
  uint64_t sum = 0;
  std::array<std::string_view, 6> fields;
  size_t count = 0, begin = 0;
  char string = 0;  // the quote that it ends with
  bool open = false, ends_with_string = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const char c = values[i];
    if (string) {
      if (c == '\\') ++i;
      else if (c == string) string = 0;
      continue;
    }
    const auto field = [&] {
      std::string_view f = values.substr(begin, i - begin);
      while (!f.empty() && (f.front() == ' ' || f.front() == '\n' || f.front() == '\t' || f.front() == '\r'))
        f.remove_prefix(1);
      while (!f.empty() && (f.back() == ' ' || f.back() == '\n' || f.back() == '\t' || f.back() == '\r'))
        f.remove_suffix(1);
      if (count < fields.size()) fields[count] = f;
      ++count;
      begin = i + 1;
    };
    if (c == '"' || c == '\'') string = c, ends_with_string = true;
    else if (c == '[') open = true, count = 0, begin = i + 1, ends_with_string = false;
    else if (c == ',' && open) field(), ends_with_string = false;
    else if (c == ']') {
      if (open) field();
      uint64_t elements = 0, each = 0, bytes = 0;
      if (open && count == 6 && ends_with_string && parse_unsigned(fields[3], elements) &&
          parse_unsigned(fields[4], each) && !__builtin_mul_overflow(elements, each, &bytes) &&
          __builtin_add_overflow(sum, bytes, &sum))
        sum = std::numeric_limits<int64_t>::max();
      open = false;
    }
  }
  return std::min<uint64_t>(sum, std::numeric_limits<int64_t>::max());
}

/// As NCCL calls its types of elements in recordings; 0 where not known.
uint64_t bytes_of_type(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> sizes{
      {"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8}, {"Int", 4},           {"Long", 8},
      {"Short", 2}, {"Byte", 1}, {"Char", 1},     {"Bool", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

/// The collective that a kernel or operator name speaks of.
CommType collective_in(std::string_view name) {
  std::string plain = to_lower(name);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  constexpr std::array<std::pair<std::string_view, CommType>, 9> kWords{{{"allreduce", CommType::all_reduce},
                                                                         {"alltoall", CommType::all_to_all},
                                                                         {"allgather", CommType::all_gather},
                                                                         {"reducescatter", CommType::reduce_scatter},
                                                                         {"broadcast", CommType::broadcast},
                                                                         {"barrier", CommType::barrier},
                                                                         {"gather", CommType::gather},
                                                                         {"scatter", CommType::scatter},
                                                                         {"reduce", CommType::reduce}}};
  for (const auto& [word, type] : kWords)
    if (contains(plain, word)) return type;
  return CommType::unknown;
}

class Edges {
 public:
  Edges(Builder& builder, const LinkedNodes& linked, const std::string& file)
      : builder_(builder), linked_(linked), file_(file) {}

  Result<void> run(Findings& findings) {
    Trace& t = builder_.trace;
    for (const NodeId n : t.nodes()) row_of_.try_emplace(t.id[n], n);
    CHAKRA_TRY(times());
    std::vector<NodeId> order(t.size());
    for (const NodeId n : t.nodes()) order[n] = n;
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return t.id[a] < t.id[b]; });
    std::map<int64_t, NodeId> last_of_thread;
    int64_t ignored = 0;
    for (const NodeId n : order) {
      const Linked& linked = linked_.nodes[n];
      const NodeId parent = parent_of(n);
      if (linked.has_parent && parent != n) builder_.ctrl_by_id(n, linked.parent);
      if (linked.device) {
        t.lane.edit(n) = builder_.lane({trace::Lane::Kind::stream, 0, linked.stream});
        if (parent != trace::kNoNode && parent != n) builder_.dep(n, parent, static_cast<uint8_t>(EdgeKind::launch));
        communication(n, parent);
      } else if (t.type[n] != NodeType::metadata) {
        t.lane.edit(n) = builder_.lane({trace::Lane::Kind::thread, 0, linked.tid});
        // Ids are given when operators start: in their order, a thread's operators follow one another.
        const auto [last, first] = last_of_thread.try_emplace(linked.tid, n);
        if (!first) builder_.dep(n, std::exchange(last->second, n), static_cast<uint8_t>(EdgeKind::program));
      }
      if (const auto syncs = linked_.sync_deps.find(n); syncs != linked_.sync_deps.end())
        for (const uint64_t on : syncs->second) ignored += !earlier(n, on, static_cast<uint8_t>(EdgeKind::sync));
      if (linked.has_thread_dep)
        ignored += !earlier(n, linked.thread_dep, static_cast<uint8_t>(EdgeKind::thread) | trace::kInferred);
    }
    if (ignored > 0)
      note(findings, "foreign.json.late_dep", Severity::warning,
           fmt::format("{} dependencies on missing or later nodes are left out", ignored));
    connect_streams();
    return {};
  }

 private:
  NodeId row(uint64_t id) const {
    const auto found = row_of_.find(id);
    return found == row_of_.end() ? trace::kNoNode : found->second;
  }
  NodeId parent_of(NodeId n) const {
    return linked_.nodes[n].has_parent ? row(linked_.nodes[n].parent) : trace::kNoNode;
  }
  /// Return false if the node is missing, or does not start before.
  bool earlier(NodeId n, uint64_t id, uint8_t kind) {
    const NodeId on = row(id);
    if (on == trace::kNoNode || on == n || !linked_.nodes[on].has_ts || !linked_.nodes[n].has_ts ||
        linked_.nodes[on].ts_ns >= linked_.nodes[n].ts_ns)
      return false;
    builder_.dep(n, on, kind);
    return true;
  }

  Result<void> times() {
    Trace& t = builder_.trace;
    int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min(), span = 0;
    for (const Linked& linked : linked_.nodes)
      if (linked.has_ts) first = std::min(first, linked.ts_ns), last = std::max(last, linked.ts_ns);
    if (first > last) return {};
    if (__builtin_sub_overflow(last, first, &span) || span > kLongestPs / kPsPerNs)
      return fail(Code::bad_input, "foreign.json.range", "start times are more than 26 days apart", {file_});
    t.base_ns = first;
    for (const NodeId n : t.nodes()) {
      if (!linked_.nodes[n].has_ts) continue;
      t.start_ps.edit(n) = (linked_.nodes[n].ts_ns - first) * kPsPerNs;
      t.flags.edit(n) |= trace::kHasStart;
    }
    return {};
  }

  void connect_streams() {
    const Trace& t = builder_.trace;
    std::vector<NodeId> device;
    for (const NodeId n : t.nodes())
      if (linked_.nodes[n].device) device.push_back(n);
    std::stable_sort(device.begin(), device.end(), [&](NodeId a, NodeId b) {
      return std::tuple(linked_.nodes[a].stream, linked_.nodes[a].ts_ns, t.id[a]) <
             std::tuple(linked_.nodes[b].stream, linked_.nodes[b].ts_ns, t.id[b]);
    });
    for (size_t i = 1; i < device.size(); ++i)
      if (linked_.nodes[device[i]].stream == linked_.nodes[device[i - 1]].stream)
        builder_.dep(device[i], device[i - 1], static_cast<uint8_t>(EdgeKind::stream));
  }

  /// Type, size and group of a device operation that communicates.
  void communication(NodeId n, NodeId parent) {
    Trace& t = builder_.trace;
    const std::string name = to_lower(t.name_of(n));
    if (!contains(name, "nccl") && !contains(name, "rccl")) return;
    const Linked& linked = linked_.nodes[n];
    CommType type = collective_in(name);
    t.type.edit(n) = NodeType::coll;
    if (contains(name, "sendrecv")) {
      if (parent != trace::kNoNode && contains(t.name_of(parent), "record_param_comms") &&
          parent_of(parent) != trace::kNoNode)
        parent = parent_of(parent);
      const std::string caller = parent == trace::kNoNode ? "" : to_lower(t.name_of(parent));
      type = collective_in(caller);
      if (type == CommType::unknown && contains(caller, "send")) t.type.edit(n) = NodeType::send;
      else if (type == CommType::unknown && contains(caller, "recv")) t.type.edit(n) = NodeType::recv;
    }
    trace::Comm& comm = builder_.comm(n);
    comm.type = t.type[n] == NodeType::coll ? type : CommType::unknown;
    const uint64_t each = bytes_of_type(t.strings[linked.dtype]);
    uint64_t bytes = 0;
    const bool said = linked.has_elements && each > 0 && !__builtin_mul_overflow(linked.in_elements, each, &bytes) &&
                      bytes <= INT64_MAX;
    const uint32_t io = t.io_row[n];
    comm.bytes = said ? bytes : io == trace::kNoRow ? 0 : bytes_of_tensors(trace::Io(t.ios[io]).inputs.values);
    comm.dtype = linked.dtype;
    if (const auto found = linked_.group.find(n); found != linked_.group.end()) comm.group = found->second;
  }

  Builder& builder_;
  const LinkedNodes& linked_;
  const std::string& file_;
  absl::flat_hash_map<uint64_t, NodeId> row_of_;
};

}  // namespace

Result<void> connect(Builder& builder, const LinkedNodes& linked, const std::string& file, Findings& findings) {
  return Edges(builder, linked, file).run(findings);
}

}  // namespace chakra::foreign
