// What a communication node moves: from the record on the kernel itself, on the operators around its
// launch, or from the tensors of the host trace.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/link/comm_nodes.h"

namespace chakra::link {
namespace {

using trace::CommType;
using trace::NodeType;

constexpr int64_t kLargestGroup = 1 << 20;
/// More bytes of one communication cannot be: the record is damaged (check.comm.size).
constexpr uint64_t kMostBytes = uint64_t{1} << 50;

/// "[[2, 3], [4]]" -> 10 elements.
uint64_t sum_dims(std::string_view dims) {
  uint64_t sum = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != '[' || i + 1 >= dims.size() || dims[i + 1] < '0' || dims[i + 1] > '9') continue;
    const size_t close = dims.find(']', i);
    if (close == std::string_view::npos) break;
    uint64_t product = 1;
    for (const int64_t dim : parse_ranks(dims.substr(i, close - i)))
      product = multiply_bytes(product, static_cast<uint64_t>(dim));
    sum = add_bytes(sum, product);
    i = close;
  }
  return sum;
}

/// The first quoted word of "['Tensor(float)', ...]" or "["float"]".
std::string_view first_word(std::string_view list) {
  const size_t open = list.find_first_of("'\"");
  if (open == std::string_view::npos) return {};
  const size_t close = list.find(list[open], open + 1);
  return close == std::string_view::npos ? std::string_view() : list.substr(open + 1, close - open - 1);
}

}  // namespace

void complete(CommRecord& to, const CommRecord& from) {
  const auto text = [](StringId& a, StringId b) {
    if (a == 0) a = b;
  };
  const auto number = [](int64_t& a, int64_t b) {
    if (a < 0) a = b;
  };
  const auto view = [](std::string_view& a, std::string_view b) {
    if (a.empty()) a = b;
  };
  text(to.collective, from.collective);
  text(to.dtype, from.dtype);
  text(to.group, from.group);
  text(to.group_description, from.group_description);
  view(to.ranks, from.ranks);
  view(to.in_split, from.in_split);
  view(to.out_split, from.out_split);
  number(to.in_elements, from.in_elements);
  number(to.out_elements, from.out_elements);
  number(to.in_bytes, from.in_bytes);
  number(to.out_bytes, from.out_bytes);
  number(to.group_size, from.group_size);
  number(to.rank_start, from.rank_start);
  number(to.rank_stride, from.rank_stride);
  number(to.sequence, from.sequence);
  number(to.root, from.root);
  number(to.src, from.src);
  number(to.dst, from.dst);
  if (to.rank < 0) to.in_group = from.in_group;
  number(to.rank, from.rank);
}

CommNodes::CommNodes(Linking& l) : l_(l) {
  for (const auto* groups : {&l.profile().groups, &l.host().groups})
    for (const trace::ProcessGroup& group : *groups) {
      trace::ProcessGroup* known = find_group(group.name);
      if (!known) groups_.push_back(group);
      else if (known->ranks.empty()) known->ranks = group.ranks;
    }
}

bool CommNodes::device(uint32_t op, CommNode& node) {
  const Profile& p = l_.profile();
  const DeviceOp& x = p.device_ops[op];
  const CommKernelRow* row = l_.device.comm_kernel[op];
  if (x.comm == trace::kNoRow && row == nullptr) return false;
  if (const auto [first, last] = l_.messages_of(op); first < last) return message(first, node);
  CommRecord record;
  if (x.comm != trace::kNoRow) complete(record, p.comms[x.comm]);
  // The operators around the launch, innermost first: nccl:all_reduce, record_param_comms, c10d::...
  std::string_view annotation, tensors, types, dims, dim_types;
  const uint32_t call = l_.device.call_of_op[op];
  for (uint32_t o = call == kNone ? kNone : l_.threads.enclosing_op[call]; o != kNone; o = l_.threads.parent_op[o]) {
    const CpuOp& around = p.ops[o];
    const std::string_view name = l_.text(around.name);
    if (around.comm != trace::kNoRow) complete(record, p.comms[around.comm]);
    if (annotation.empty() && (is_device_comm(name) || name.starts_with("c10d::"))) annotation = after_colon(name);
    if (l_.match.host_of_op[o] != kNone) {
      const HostOp& host = l_.host().ops[l_.match.host_of_op[o]];
      if (const CommRecord* more = l_.host().comm(host)) complete(record, *more);
      if (tensors.empty() && is_comm_record(name)) {
        tensors = l_.host().io(host).inputs.values;
        types = l_.text(l_.host().io(host).inputs.types);
      }
    } else if (dims.empty() && around.comm != trace::kNoRow) {
      dims = p.comms[around.comm].dims;
      dim_types = p.comms[around.comm].types;
    }
    if (name == "record_param_comms") break;
  }
  CommKind kind = comm_kind(l_.text(record.collective));
  if (kind.type == NodeType::invalid) kind = comm_kind(annotation);
  if (kind.type == NodeType::invalid && row && row->type != CommType::unknown) kind = {NodeType::coll, row->type};
  if (kind.type == NodeType::invalid) kind = comm_kind(function_name(l_.text(x.name)));
  if (kind.type == NodeType::invalid) kind.type = NodeType::coll;  // RCCL's generic kernel, alone
  if (record.in_elements < 0 && tensors.empty() && !dims.empty()) {
    record.in_elements = static_cast<int64_t>(sum_dims(dims));
    types = dim_types;
  }
  find_ends(record, kind, annotation);
  const int64_t unknown = size_unknown_;
  fill(node, kind, record, tensors, types, "nccl");
  if (size_unknown_ > unknown && row) ++size_unknown_of_[row->library];
  return true;
}

/// What the host trace says of an operator, if it has it.
void CommNodes::ask_host(uint32_t op, CommRecord& record, std::string_view& tensors, std::string_view& types) const {
  if (l_.match.host_of_op[op] == kNone) return;
  const HostOp& host = l_.host().ops[l_.match.host_of_op[op]];
  if (const CommRecord* more = l_.host().comm(host)) complete(record, *more);
  tensors = l_.host().io(host).inputs.values;
  types = l_.text(l_.host().io(host).inputs.types);
}

bool CommNodes::message(uint32_t row, CommNode& node) {
  const uint32_t op = l_.comms.messages[row].op;
  const CpuOp& o = l_.profile().ops[op];
  CommRecord record;
  if (o.comm != trace::kNoRow) complete(record, l_.profile().comms[o.comm]);
  std::string_view tensors, types;
  ask_host(op, record, tensors, types);
  const CommKind kind = comm_kind(l_.text(record.collective));
  find_ends(record, kind, {});
  fill(node, kind, record, tensors, types, "nccl");
  if (row >= l_.comms.first_lost) {
    ++lost_;
    lost_bytes_ = add_bytes(lost_bytes_, node.comm.bytes);
  }
  return true;
}

bool CommNodes::host(uint32_t op, CommNode& node) {
  const HostComm* comm = l_.host_comm(op);
  if (!comm || comm->part()) return false;
  carried_out(*comm, node);
  return true;
}

bool CommNodes::record(uint32_t host_op, CommNode& node) {
  if (host(host_op, node)) return true;
  const HostOp& host = l_.host().ops[host_op];
  const CommRecord* recorded = l_.host().comm(host);
  if (!recorded || l_.text(host.name) != "record_param_comms") return false;
  CommRecord record = *recorded;
  const CommKind kind = comm_kind(l_.text(record.collective));
  if (kind.type == NodeType::invalid) return false;
  find_ends(record, kind, {});
  const trace::Tensors inputs = l_.host().io(host).inputs;
  fill(node, kind, record, inputs.values, l_.text(inputs.types), "nccl");
  turns_.push_back(kNone);
  return true;
}

/// The root, or the partner. The record says it, and so does the annotation of a message ("send 0->1", "recv 0<-1"): by
/// their place in the group.
void CommNodes::find_ends(CommRecord& record, CommKind kind, std::string_view annotation) {
  const bool sends = kind.type == NodeType::send;
  if (!sends && kind.type != NodeType::recv && !trace::has_root(kind.collective)) return;
  int64_t& end = sends ? record.dst : kind.type == NodeType::recv ? record.src : record.root;
  if (end >= 0) return;
  int64_t place = record.rank;
  if (const size_t arrow = annotation.find(sends ? "->" : "<-"); place < 0 && arrow != std::string_view::npos)
    if (const std::vector<int64_t> number = parse_ranks(annotation.substr(arrow + 2)); !number.empty())
      place = number[0];
  if (place < 0) return;
  if (record.group) note_group(record);
  const trace::ProcessGroup* group = find_group(l_.text(record.group ? record.group : only_group("nccl")));
  const bool known = group && static_cast<size_t>(place) < group->ranks.size();
  if (known || !record.in_group) end = known ? group->ranks[static_cast<size_t>(place)] : place;
}

void CommNodes::fill(CommNode& node, CommKind kind, const CommRecord& record, std::string_view tensors,
                     std::string_view types, std::string_view backend) {
  const std::string_view dtype = record.dtype ? l_.text(record.dtype) : first_word(types);
  describe(node, kind, record, dtype, backend);
  trace::Comm& comm = node.comm;
  const auto size = static_cast<uint64_t>(element_bytes(dtype));
  const auto bytes_of = [&](int64_t elements) {
    return multiply_bytes(static_cast<uint64_t>(std::max<int64_t>(elements, 0)), size);
  };
  const bool is_possible = std::max(bytes_of(record.in_elements), bytes_of(record.out_elements)) <= kMostBytes;
  if (record.in_elements >= 0 && size > 0 && is_possible) {
    comm.in_bytes = bytes_of(record.in_elements);
    comm.out_bytes = bytes_of(record.out_elements);
  } else if (record.in_bytes >= 0) {
    comm.in_bytes = static_cast<uint64_t>(record.in_bytes);
    comm.out_bytes = static_cast<uint64_t>(std::max<int64_t>(record.out_bytes, 0));
  } else {
    const std::vector<TensorRef> moved = parse_tensors(tensors);
    size_unknown_ += moved.empty() && kind.collective != CommType::barrier;
    for (const TensorRef& tensor : moved)
      comm.in_bytes = add_bytes(comm.in_bytes, multiply_bytes(static_cast<uint64_t>(tensor.elements),
                                                              static_cast<uint64_t>(tensor.element_bytes)));
  }
  if (std::max(comm.in_bytes, comm.out_bytes) > kMostBytes) {
    comm.in_bytes = comm.out_bytes = 0;
    ++size_unknown_;
  }
  // The bytes that this rank contributes. A receiver contributes none: its size is the bytes that it receives.
  comm.bytes = kind.type == NodeType::recv && comm.out_bytes > 0 ? comm.out_bytes : comm.in_bytes;
}

/// All but how much is moved.
void CommNodes::describe(CommNode& node, CommKind kind, const CommRecord& record, std::string_view dtype,
                         std::string_view backend) {
  node.type = kind.type;
  trace::Comm& comm = node.comm;
  comm = {};
  comm.type = kind.collective;
  if (!dtype.empty()) comm.dtype = l_.trace.strings.intern(plain_dtype(dtype));
  const auto split = [](std::string_view text) { return text == "[]" ? std::string_view() : text; };
  comm.in_split = split(record.in_split);
  comm.out_split = split(record.out_split);
  comm.sequence = record.sequence;
  comm.root = record.root;
  if (kind.type == NodeType::send) comm.dst = record.dst;
  if (kind.type == NodeType::recv) comm.src = record.src;
  comm.group = record.group ? record.group : only_group(backend);
  if (record.group) note_group(record);
  unnamed_groups_ += comm.group == 0 && groups_.size() > 1;
}

/// The group of a communication that does not name it: the backend's only one.
StringId CommNodes::only_group(std::string_view backend) {
  const trace::ProcessGroup* only = nullptr;
  int candidates = 0;
  for (const trace::ProcessGroup& group : groups_)
    if (group.backend.empty() || contains(group.backend, backend)) {
      only = &group;
      ++candidates;
    }
  if (candidates == 1) return l_.trace.strings.intern(only->name);
  return 0;
}

trace::ProcessGroup* CommNodes::find_group(std::string_view name) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.name == name; });
  return found == groups_.end() ? nullptr : &*found;
}

void CommNodes::note_group(const CommRecord& record) {
  if (record.group == last_noted_) return;
  last_noted_ = record.group;
  const std::vector<std::string>& open = l_.report.open_groups.names;
  const std::string_view name = l_.text(record.group);
  if (name == kOpenBarrier || std::find(open.begin(), open.end(), name) != open.end()) return;  // it stands for others
  trace::ProcessGroup* known = find_group(l_.text(record.group));
  if (known && !known->ranks.empty()) return;
  trace::ProcessGroup& group = known ? *known : groups_.emplace_back();
  group.name = std::string(l_.text(record.group));
  if (group.description.empty()) group.description = std::string(l_.text(record.group_description));
  if (record.group_size > 0) group.size = record.group_size;
  // PyTorch shortens long lists, but it also describes ranks at equal distances.
  if (!contains(record.ranks, "...")) group.ranks = parse_ranks(record.ranks);
  else if (record.rank_start >= 0 && record.rank_stride > 0 && group.size <= kLargestGroup)
    for (int64_t i = 0; i < group.size; ++i) group.ranks.push_back(record.rank_start + i * record.rank_stride);
}

/// Numbers a group's collectives, in order, of which some lack theirs: by order if all do, else from their
/// neighbours' numbers. Where those leave no room, nothing is made up, and order alone joins the ranks.
void CommNodes::number(std::span<trace::Comm* const> collectives) {
  const auto has_number = [](const trace::Comm* comm) { return comm->sequence >= 0; };
  const auto first = std::find_if(collectives.begin(), collectives.end(), has_number) - collectives.begin();
  const auto count = static_cast<ptrdiff_t>(collectives.size());
  std::vector<int64_t> numbers(collectives.size());
  for (ptrdiff_t i = 0; i < count; ++i) {
    const trace::Comm* comm = collectives[static_cast<size_t>(i)];
    int64_t& number = numbers[static_cast<size_t>(i)];
    if (has_number(comm)) number = comm->sequence;
    else if (first == count) number = i;
    else if (i < first) number = collectives[static_cast<size_t>(first)]->sequence - (first - i);
    else number = numbers[static_cast<size_t>(i) - 1] + 1;
    const bool made_up = !has_number(comm) || (i > 0 && !has_number(collectives[static_cast<size_t>(i) - 1]));
    if (number < 0 || (made_up && i > 0 && number <= numbers[static_cast<size_t>(i) - 1])) return;
  }
  for (size_t i = 0; i < numbers.size(); ++i) collectives[i]->sequence = numbers[i];
}

/// Groups that may turn out to be one: by what all calls of the rank have in common, the order in which it made them.
void CommNodes::number_by_turn(std::span<const Turn> collectives) {
  for (const Turn& turn : collectives) turn.comm->sequence = turn.turn == kNone ? -1 : turn.turn;
}

/// " (8 of DeepEP, 2 of vLLM)"; empty where all are of NCCL.
std::string CommNodes::libraries() const {
  std::string text;
  for (const auto& [library, count] : size_unknown_of_)
    if (library != kCommKernels[0].library || size_unknown_of_.size() > 1)
      text += fmt::format("{}{} of {}", text.empty() ? " (" : ", ", show_count(count), library);
  return text.empty() ? text : text + ")";
}

/// Communication without any group is of all ranks, and the recording counts them.
void CommNodes::describe_only_group(const trace::Trace& trace) {
  const int64_t ranks = l_.profile().world_size;
  if (groups_.empty() && ranks > 1 && l_.profile().rank < ranks &&
      std::any_of(trace.comms.begin(), trace.comms.end(), [](const trace::Comm& comm) { return comm.group == 0; }))
    groups_.emplace_back().size = ranks;
}

void CommNodes::finish(trace::Trace& trace) {
  absl::flat_hash_map<StringId, std::vector<Turn>> collectives;  // c10d counts messages by themselves
  size_t on_cpu = 0;
  for (const trace::NodeId node : trace.nodes()) {
    const uint32_t row = trace.comm_row[node];
    if (row == trace::kNoRow) continue;
    const bool described = (trace.flags[node] & trace::kOnCpu) && on_cpu < turns_.size();
    if (const auto peers = peers_.find(on_cpu); described && peers != peers_.end())
      l_.report.open_peers.emplace(trace.id[node], std::move(peers->second));
    const uint32_t turn = described ? turns_[on_cpu++] : kNone;
    if (trace.type[node] == NodeType::coll)
      collectives[trace.comms[row].group].push_back({turn, &trace.comms.edit(row)});
  }
  const StringId barrier = trace.strings.find(kOpenBarrier);
  const bool is_open = !l_.report.open_groups.names.empty() || (barrier != 0 && collectives.contains(barrier));
  for (auto& [group, of_group] : collectives) {
    put_in_turn(of_group);
    std::vector<trace::Comm*> comms;
    for (const Turn& turn : of_group) comms.push_back(turn.comm);
    const bool recorded =
        std::any_of(comms.begin(), comms.end(), [](const trace::Comm* comm) { return comm->sequence >= 0; });
    if (!recorded && is_open) number_by_turn(of_group);
    else number(comms);
    if (!recorded) l_.report.counted_groups.emplace_back(trace.strings[group]);
  }
  std::sort(l_.report.counted_groups.begin(), l_.report.counted_groups.end());
  describe_only_group(trace);
  trace.groups = groups_;
  if (lost_ > 0)
    l_.report.findings.push_back(
        {"comm.no_kernel",
         Severity::warning,
         -1,
         -1,
         fmt::format("{} communications of {} have no kernel in the recording: they have no duration and no "
                     "dependents, and simulations price them by size",
                     show_count(lost_), show_bytes(static_cast<double>(lost_bytes_))),
         {{"nodes", lost_}, {"bytes", static_cast<int64_t>(std::min<uint64_t>(lost_bytes_, INT64_MAX))}}});
  l_.report.comm_without_size = size_unknown_;
  l_.report.comm_without_group = unnamed_groups_;
  if (size_unknown_ > 0)
    l_.find(
        "pytorch.comm.size_unknown", Severity::warning,
        fmt::format("{} communications have no size{}; they count as 0 bytes", show_count(size_unknown_), libraries()));
  if (unnamed_groups_ > 0)
    l_.find("pytorch.comm.group_unknown", Severity::warning,
            show_count(unnamed_groups_) + " communications do not name their group, and several groups are possible");
}

}  // namespace chakra::link
