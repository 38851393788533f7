// Nodes of a program of torch.compile -> the trace of one rank. Computation is one stream, in the order of the program.
// A collective begins when the computation before has ended, on the stream of its group; the users of its wait_tensor
// wait for it, and what comes between overlaps.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "chakra/base/join.h"
#include "chakra/filetype/filetype.h"
#include "chakra/foreign/json_fields.h"
#include "chakra/foreign/rows.h"
#include "chakra/foreign/torch.h"
#include "chakra/work/work.h"

namespace chakra::foreign {
namespace {

using torch_form::Program;
using trace::Builder;
using trace::CommType;
using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr size_t kMostGroups = 256;  ///< of one rank
constexpr size_t kMostNamed = 100;   ///< operators of a warning

/// Functional collectives. The bytes of each are those of its first argument.
struct FunctionalRow {
  std::string_view names;  ///< without the library, separated by spaces
  CommType type;
  bool keeps_shape;  ///< the result has the shape of the argument, for any number of members
};
constexpr FunctionalRow kCollectives[] = {
    {"all_reduce all_reduce_ all_reduce_coalesced all_reduce_coalesced_", CommType::all_reduce, true},
    {"all_gather_into_tensor all_gather_into_tensor_out all_gather_into_tensor_coalesced", CommType::all_gather, false},
    {"reduce_scatter_tensor reduce_scatter_tensor_coalesced", CommType::reduce_scatter, false},
    {"all_to_all_single shard_dim_alltoall", CommType::all_to_all, false},
};
constexpr std::string_view kLibraries[] = {"_c10d_functional::", "_c10d_functional_autograd::", "_dtensor::"};
/// Libraries whose operators communicate: an unknown one must not pass as computation.
constexpr std::string_view kCommunicating[] = {"c10d", "dtensor::", "symm_mem::", "fsdp::"};
/// Copies of fully_shard.
constexpr std::string_view kLocal[] = {"fsdp::all_gather_copy_in",
                                       "fsdp::split_with_sizes_copy",
                                       "fsdp::chunk_cat",
                                       "fsdp::chunk_cat_mixed_dtype",
                                       "fsdp::copy_",
                                       "fsdp::set_"};

/// Return the name of a functional collective without its library; empty for other operators.
std::string_view functional(std::string_view op) {
  for (const std::string_view library : kLibraries)
    if (op.starts_with(library)) return op.substr(library.size());
  return {};
}
const FunctionalRow* find_collective(std::string_view op) {
  const std::string_view name = functional(op);
  for (const FunctionalRow& row : kCollectives)
    for (std::string_view left = row.names; !left.empty() && !name.empty();) {
      const size_t end = std::min(left.find(' '), left.size());
      if (left.substr(0, end) == name) return &row;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  return nullptr;
}
bool communicates(std::string_view op) {
  if (std::find(std::begin(kLocal), std::end(kLocal), op) != std::end(kLocal)) return false;
  return std::any_of(std::begin(kCommunicating), std::end(kCommunicating),
                     [&](std::string_view part) { return contains(op.substr(0, op.find("::") + 2), part); });
}

/// A node of the file.
struct FileNode {
  std::optional<uint64_t> id;
  std::string op, phase, module, group;
  bool view = false;
  std::vector<uint64_t> deps;
  trace::Io io;
  std::string in_values, out_values;
};

/// What a node of the file is waited for by: a node of the trace, if any.
struct NodeResult {
  NodeId node = kNoNode;
  EdgeKind kind = EdgeKind::data;
  bool view = false;
};

/// One warning with every operator, at most kMostNamed.
void name_operators(const std::map<std::string, int64_t>& operators, std::string_view tag, std::string_view what,
                    Findings& findings) {
  work::Count count = 0;
  std::vector<std::string> names;
  for (const auto& [op, times] : operators) {
    count = count + static_cast<uint64_t>(times);
    if (names.size() < kMostNamed) names.push_back(fmt::format("{} ({})", op, times));
  }
  if (names.empty()) return;
  const size_t more = operators.size() - names.size();
  note(findings, std::string(tag), Severity::warning,
       fmt::format("{} {}: {}{}", count.value(), what, join(names, ", "),
                   more > 0 ? fmt::format(", and {} more", more) : ""));
}

/// The arguments of an operator of the program; nullopt for impossible shapes.
std::optional<work::Arguments> arguments_of(const FileNode& node, const StringPool& strings) {
  work::Arguments arguments;
  arguments.alone = true;
  const auto parse = [&](const trace::Tensors& side, std::vector<work::Argument>& to) {
    return work::parse_arguments(strings[side.shapes], strings[side.types], side.values, to, strings[side.strides]);
  };
  return parse(node.io.inputs, arguments.inputs) && parse(node.io.outputs, arguments.outputs)
             ? std::optional(std::move(arguments))
             : std::nullopt;
}

class ProgramReader {
 public:
  ProgramReader(json::JsonStream& stream, Builder& builder) : stream_(stream), builder_(builder) {}

  Program program;

  Result<void> node(ondemand::object& object) {
    if (results_.size() >= kMostNodes) return fail(Code::bad_input, "foreign.large", "too many nodes");
    FileNode node;
    const auto use = [&](std::string_view key, JsonValue& value) -> Result<void> { return field(key, value, node); };
    CHAKRA_TRY(for_each_field(object, stream_, use));
    if (node.op.empty()) return bad("foreign.json.field", "a node has no op");
    if (!node.id || *node.id != results_.size())
      return bad("foreign.torch.id", fmt::format("node {} has another id; ids count from 0", results_.size()));
    for (const uint64_t dep : node.deps)
      if (dep >= results_.size() || results_[dep].view)
        return bad("foreign.torch.dep", fmt::format("node {} uses the result of node {}, which {}", *node.id, dep,
                                                    dep >= results_.size() ? "is not before it" : "computes nothing"));
    return add(node);
  }

  Result<void> member(std::string_view key, const Spec& value) {
    const auto number = [&](int64_t& to) -> Result<void> {
      CHAKRA_ASSIGN(to, value.integer());
      return {};
    };
    if (key == "chakra_torch_program") return number(program.version);
    if (key == "world_size") return number(program.world);
    if (key == "rank") return number(program.rank);
    if (key == "torch") program.torch = value.scalar;
    else if (key == "outside") return outside(value);
    else if (key == "mesh") return each(value, [&](const Spec& item) { return dimension(item); });
    else if (key == "groups") return each(value, [&](const Spec& item) { return group(item); });
    else if (key == "parameters") return each(value, [&](const Spec& item) { return parameter(item); });
    else unused_.add({"foreign.json.unused", Severity::note, -1, -1, fmt::format("{} is not used", quote(key))});
    return {};
  }

  Result<void> finish(Findings& findings) {
    std::move(unused_).append_to(findings);
    if (builder_.trace.size() == 0)
      return fail(Code::bad_input, "foreign.json.empty", "the file has no nodes that compute or communicate",
                  {program.file});
    Trace& t = builder_.trace;
    const auto meta = [&](std::string_view name, auto value) { t.metadata.push_back({t.strings.intern(name), value}); };
    meta("schema", std::string_view("torch.compile"));
    meta("torch", t.texts.add(program.torch));
    meta("parameters", parameters_);
    meta("parameter_bytes", static_cast<int64_t>(parameter_bytes_.value()));
    name_operators(unknown_, "foreign.torch.unknown", "nodes have no formula for their work, and take no time",
                   findings);
    name_operators(outside_, "foreign.torch.outside",
                   "operators ran outside of the compiled functions, and are missing; export inside of `with capture`",
                   findings);
    return {};
  }

 private:
  Failure bad(std::string tag, std::string text) const {
    return fail(Code::bad_input, std::move(tag), std::move(text), stream_.current_place());
  }

  // ---- parts that are not nodes ------------------------------------------------------------------------------------

  template <class Use>
  Result<void> each(const Spec& list, const Use& use) {
    if (list.kind != Spec::Kind::list) return list.error("foreign.json.field", "a list is expected");
    for (const Spec& item : list.items) {
      if (item.kind != Spec::Kind::map) return item.error("foreign.json.field", "an object is expected");
      CHAKRA_TRY(use(item));
    }
    return {};
  }
  static Result<const Spec*> need(const Spec& item, std::string_view key) {
    if (const Spec* field = item.find(key)) return field;
    return item.error("foreign.json.field", fmt::format("{} is missing", quote(key)));
  }
  static Result<std::string> text_of(const Spec& item, std::string_view key) {
    CHAKRA_ASSIGN(const Spec* field, need(item, key));
    return field->string();
  }
  static Result<std::vector<int64_t>> numbers_of(const Spec& item, std::string_view key) {
    CHAKRA_ASSIGN(const Spec* field, need(item, key));
    std::vector<int64_t> numbers;
    for (const Spec& number : field->items) {
      CHAKRA_ASSIGN(numbers.emplace_back(), number.integer());
    }
    return numbers;
  }

  /// Operators that ran outside of the compiled functions, each with its number.
  Result<void> outside(const Spec& value) {
    for (const SpecField& field : value.fields) {
      CHAKRA_ASSIGN(const int64_t times, field.value.integer());
      if (times < 1) return field.value.error("foreign.json.field", "a number is below 1");
      outside_[field.key] = times;
    }
    return {};
  }
  Result<void> dimension(const Spec& item) {
    CHAKRA_ASSIGN(const Spec* size, need(item, "size"));
    torch_form::MeshDim& dim = program.mesh.emplace_back();
    CHAKRA_ASSIGN(dim.name, text_of(item, "name"));
    CHAKRA_ASSIGN(dim.size, size->integer());
    if (program.mesh.size() > 16) return item.error("foreign.torch.mesh", "more than 16 dimensions");
    return {};
  }
  Result<void> group(const Spec& item) {
    torch_form::ProgramGroup group;
    CHAKRA_ASSIGN(group.name, text_of(item, "name"));
    CHAKRA_ASSIGN(group.ranks, numbers_of(item, "ranks"));
    CHAKRA_ASSIGN(const Spec* dims, need(item, "dims"));
    for (const Spec& dim : dims->items) group.dims.push_back(dim.scalar);
    CHAKRA_ASSIGN(const Spec* exact, need(item, "exact"));
    CHAKRA_ASSIGN(group.exact, exact->boolean());
    program.groups.push_back(std::move(group));
    return {};
  }
  Result<void> parameter(const Spec& item) {
    CHAKRA_ASSIGN(const std::string name, text_of(item, "name"));
    CHAKRA_ASSIGN(const std::string dtype, text_of(item, "dtype"));
    CHAKRA_ASSIGN(const std::vector<int64_t> shape, numbers_of(item, "shape"));
    work::Count bytes = work::element_type(dtype).bytes;
    for (const int64_t size : shape) {
      if (size < 0) return item.error("foreign.torch.shape", "a size is negative");
      bytes = bytes * static_cast<uint64_t>(size);
    }
    ++parameters_;
    parameter_bytes_ = parameter_bytes_ + bytes;
    if (const Spec* placements = item.find("placements"))
      for (const SpecField& placement : placements->fields)
        program.placements.push_back({placement.key, placement.value.scalar, name});
    return {};
  }

  // ---- nodes -------------------------------------------------------------------------------------------------------

  Result<void> field(std::string_view key, JsonValue& value, FileNode& node) {
    const auto set = [&](auto& to, auto got) -> Result<void> {
      if (!got) return Failure(got.error());
      to = *std::move(got);
      return {};
    };
    if (key == "id") return set(node.id, natural(key, value));
    if (key == "op") return set(node.op, text(key, value));
    if (key == "phase") return set(node.phase, text(key, value));
    if (key == "module") return set(node.module, text(key, value));
    if (key == "group") return set(node.group, text(key, value));
    if (key == "view") return set(node.view, boolean(key, value));
    if (key == "deps") return set(node.deps, ids(key, value));
    if (key == "inputs") return texts_.read(key, value, node.io.inputs, node.in_values);
    if (key == "outputs") return texts_.read(key, value, node.io.outputs, node.out_values);
    if (key != "name")
      unused_.add({"foreign.json.unused", Severity::note, -1, -1, fmt::format("{} of nodes is not used", quote(key))});
    return {};
  }

  Result<void> add(const FileNode& node) {
    if (node.view) {
      results_.push_back({kNoNode, EdgeKind::data, true});
      return {};
    }
    if (functional(node.op) == "wait_tensor") return add_wait(node);
    const std::optional<work::Arguments> read = arguments_of(node, builder_.trace.strings);
    if (!read) return bad("foreign.torch.shape", fmt::format("{} has a tensor of an impossible shape", node.op));
    const work::Arguments& arguments = *read;
    const FunctionalRow* const row = find_collective(node.op);
    if (row) return add_collective(node, *row, arguments);
    if (!node.group.empty() || communicates(node.op))
      return bad("foreign.torch.collective", fmt::format("{} communicates, but is not known", node.op));
    add_compute(node, arguments);
    return {};
  }

  /// Its users wait for the collective; nodes between the two overlap.
  Result<void> add_wait(const FileNode& node) {
    if (node.deps.size() > 1)
      return bad("foreign.torch.dep", fmt::format("node {} waits for {} results", *node.id, node.deps.size()));
    results_.push_back({node.deps.empty() ? kNoNode : results_[node.deps[0]].node, EdgeKind::comm, false});
    return {};
  }

  NodeId add_node(const FileNode& node, NodeType type, int64_t stream) {
    Trace& t = builder_.trace;
    const NodeId added = builder_.add(*node.id, t.strings.intern(node.op), type);
    results_.push_back({added, EdgeKind::data, false});
    t.flags.edit(added) |= trace::kSaysCpuOrNot;  // on the device
    t.lane.edit(added) = builder_.lane({trace::Lane::Kind::stream, 0, stream});
    if (!node.io.inputs.empty() || !node.io.outputs.empty()) {
      t.io_row.edit(added) = static_cast<uint32_t>(t.ios.size());
      t.ios.emplace_back(node.io, t.texts);
    }
    for (const auto& [key, value] : {std::pair("phase", &node.phase), std::pair("module", &node.module)})
      if (!value->empty()) builder_.attr({t.strings.intern(key), std::string_view(*value)});
    edges_.clear();
    for (const uint64_t dep : node.deps) add_edge(results_[dep].node, results_[dep].kind);
    return added;
  }
  void add_edge(NodeId on, EdgeKind kind) {
    if (on != kNoNode) edges_.emplace_back(on, static_cast<uint8_t>(kind));
  }
  /// The first kind of two edges to one node counts.
  void write_edges(NodeId node) {
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    std::stable_sort(edges_.begin(), edges_.end(), before);
    edges_.erase(std::unique(edges_.begin(), edges_.end(), same), edges_.end());
    for (const auto& [on, kind] : edges_) builder_.dep(node, on, kind);
  }

  void add_compute(const FileNode& node, const work::Arguments& arguments) {
    const NodeId added = add_node(node, NodeType::comp, 0);
    add_edge(last_compute_, EdgeKind::stream);
    write_edges(added);
    last_compute_ = added;
    const work::WorkRow* const row = work::find_work_row(node.op);
    work::Work work;
    if (!row || !work::work_of(*row, node.op, arguments, work)) {
      ++unknown_[node.op];
      return;
    }
    Trace& t = builder_.trace;
    const auto put = [&](auto& column, auto value) {
      if (value == 0) return;
      column.resize(uint32_t{added} + size_t{1});
      column.edit(added) = value;
    };
    put(t.num_ops, work.operations.value());
    put(t.tensor_bytes, work.bytes.value());
    put(t.op_dtype, static_cast<uint8_t>(work.dtype));
    const auto [m, n, k] = work.product;
    if (m > 0 && n > 0 && k > 0)
      builder_.attr({t.strings.intern("kernel"), std::string_view(fmt::format("gemm:{},{},{}", m, n, k))});
  }

  Result<void> add_collective(const FileNode& node, const FunctionalRow& row, const work::Arguments& arguments) {
    work::Count bytes = 0;
    std::string_view dtype;
    for (const work::TensorShape& tensor : arguments.list(0)) {
      if (tensor.element_bytes == 0)
        return bad("foreign.torch.collective", fmt::format("{} has elements of an unknown type", node.op));
      bytes = bytes + tensor.full_bytes();
    }
    if (arguments.list(0).empty() || node.group.empty() || bytes.full())
      return bad("foreign.torch.collective",
                 fmt::format("{} has no {}", node.op, node.group.empty() ? "group" : "tensor of a possible size"));
    if (row.type == CommType::all_to_all && !has_even_splits(arguments))
      return bad(
          "foreign.torch.uneven",
          fmt::format("{} has uneven splits: ranks differ, and a program of one rank does not suffice", node.op));
    Trace& t = builder_.trace;
    const StringId group = t.strings.intern(node.group);
    auto use = std::find_if(program.uses.begin(), program.uses.end(), [&](const auto& u) { return u.name == group; });
    if (use == program.uses.end()) {
      if (program.uses.size() == kMostGroups) return bad("foreign.large", "collectives have too many groups");
      use = program.uses.insert(use, {group, kNoNode, 0, ""});
    }
    const NodeId added = add_node(node, NodeType::coll, 1 + (use - program.uses.begin()));
    add_edge(last_compute_, EdgeKind::event);
    add_edge(use->last, EdgeKind::stream);
    write_edges(added);
    use->last = added;
    ++use->count;
    if (!row.keeps_shape && use->sized_by.empty()) use->sized_by = node.op;
    const std::vector<std::string_view> types = work::list_items(t.strings[node.io.inputs.types]);
    if (!types.empty()) dtype = work::plain_dtype(types[0]);
    const StringId type = t.strings.intern(std::string(dtype));
    trace::Comm& comm = builder_.comm(added);
    comm.type = row.type;
    comm.bytes = bytes.value();
    comm.group = group;
    comm.dtype = type;
    return {};
  }

  /// all_to_all_single(input, output splits, input splits, group): empty lists are even.
  static bool has_even_splits(const work::Arguments& arguments) {
    for (const size_t side : {1, 2})
      if (const auto splits = arguments.numbers(side))
        if (std::any_of(splits->begin(), splits->end(), [&](int64_t split) { return split != splits->front(); }))
          return false;
    return true;
  }

  json::JsonStream& stream_;
  Builder& builder_;
  TensorTexts texts_{builder_.trace.strings};
  LimitedFindings unused_;
  std::vector<NodeResult> results_;  ///< by node of the file
  NodeId last_compute_ = kNoNode;
  std::vector<std::pair<NodeId, uint8_t>> edges_;  ///< of the node that is added
  std::map<std::string, int64_t> unknown_;         ///< operators without work, and how many nodes
  std::map<std::string, int64_t> outside_;         ///< operators that the file lacks, and how many
  int64_t parameters_ = 0;
  work::Count parameter_bytes_ = 0;
};

}  // namespace

bool is_torch_program(std::string_view head) {
  return filetype::is_json_object(head) &&
         filetype::trimmed(filetype::trimmed(head).substr(1)).starts_with("\"chakra_torch_program\"");
}

Result<Job> read_torch_job(ByteSource source, const Options& options, Findings& findings) {
  json::JsonStream stream(std::move(source), {"nodes"}, json::JsonStream::kWindow, kTags);
  Builder builder;
  begin_trace(builder, 0, stream.file());
  ProgramReader reader(stream, builder);
  reader.program.file = stream.file();
  CHAKRA_TRY(json::for_each_element(
      stream, [&](ondemand::object& object) { return reader.node(object); },
      [&](std::string_view key, ondemand::document&) -> Result<void> {
        CHAKRA_ASSIGN(const Spec value, parse_spec(std::string_view(stream.value()), stream.file()));
        return reader.member(key, value);
      }));
  CHAKRA_TRY(reader.finish(findings));
  CHAKRA_ASSIGN(trace::ClassJob job, spread(reader.program, std::move(builder).finish(), options, findings));
  return Job(std::move(job));
}

Result<trace::TraceSet> read_torch(ByteSource source, const Options& options, Findings& findings) {
  CHAKRA_ASSIGN(const Job job, read_torch_job(std::move(source), options, findings));
  return rank_by_rank(std::get<trace::ClassJob>(job));
}

}  // namespace chakra::foreign
