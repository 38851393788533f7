// Which operator a device operation works for, and how much work that is.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "chakra/link/linking.h"

namespace chakra::link {
namespace {

using trace::DType;

/// The row of each operator's name, looked up once.
class RowCache {
 public:
  explicit RowCache(const StringPool& strings) : strings_(strings), rows_(strings.size(), kUnseen) {}
  const WorkRow* operator[](StringId name) {
    int32_t& row = rows_[name];
    if (row == kUnseen) {
      const WorkRow* found = find_work_row(strings_[name]);
      row = found ? static_cast<int32_t>(found - kWorkRows.data()) : kNone32;
    }
    return row == kNone32 ? nullptr : &kWorkRows[static_cast<size_t>(row)];
  }

 private:
  static constexpr int32_t kUnseen = -2, kNone32 = -1;
  const StringPool& strings_;
  std::vector<int32_t> rows_;
};

/// Why nothing is known of a device operation's work.
enum class Reason : uint8_t { none, graph, no_operator, no_row, no_shapes, insufficient, inside };
constexpr std::array<std::string_view, 7> kReasons{
    "",
    "launched by a graph",
    "launched outside of operators",
    "no formula for this operator",
    "its shapes are not recorded",
    "its recorded shapes are insufficient",
    "an operator inside it has the work",
};

/// What the texts of an operator's arguments come to.
struct Known {
  Work work;
  bool has_shapes = false;  ///< of a tensor
  bool sufficient = false;
  bool impossible = false;
};

/// Work of operators; equal arguments are looked at once.
class Works {
 public:
  Works(Linking& l, RowCache& rows) : l_(l), rows_(rows) {}

  /// Of an operator of the host trace that has a row.
  Known of_host(uint32_t h) {
    const HostOp& op = l_.host().ops[h];
    const WorkRow& row = *rows_[op.name];
    const trace::Io io = l_.host().io(op);
    const Key key{&row, io.inputs.shapes, io.inputs.types, io.outputs.shapes, io.outputs.types, io.inputs.strides};
    const bool keep = !row_of(row.kind).needs_values;
    if (keep)
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Arguments arguments;
    arguments.impossible =
        !parse_arguments(l_.text(io.inputs.shapes), l_.text(io.inputs.types), io.inputs.values, arguments.inputs,
                         l_.text(io.inputs.strides)) ||
        !parse_arguments(l_.text(io.outputs.shapes), l_.text(io.outputs.types), {}, arguments.outputs);
    const Known known = evaluate(row, op.name, arguments);
    if (keep) known_.emplace(key, known);
    return known;
  }

  /// Of an operator of the Kineto trace that has a row. `kernel`, the longest that it launched, says what lists
  /// of tensors consist of.
  Known of_cpu(uint32_t o, std::string_view kernel) {
    const CpuOp& op = l_.profile().ops[o];
    const WorkRow& row = *rows_[op.name];
    if (const uint32_t h = l_.match.host_of_op[o];
        h != kNone && l_.host().ops[h].io != trace::kNoRow && !l_.match.other_shapes.contains(o))
      if (const Known known = of_host(h); known.has_shapes || op.shapes >= kShapesUnused) return known;
    if (op.shapes >= kShapesUnused) return {};
    const RecordedShapes& recorded = l_.profile().shapes;
    const RecordedShapes::Row& texts = recorded.rows[op.shapes];
    const std::string_view types = recorded.texts[texts.types];
    const ElementType of_lists = contains(types, "TensorList") ? element_type_of_kernel(kernel) : ElementType();
    const uint32_t list_key = static_cast<uint32_t>(of_lists.bytes * 256) + static_cast<uint32_t>(of_lists.dtype) + 1;
    const Key key{&row, texts.dims, texts.types, texts.values, list_key, kOfProfile};
    const bool by_autograd = row.kind == WorkKind::convolution && texts.values == 0;
    if (!by_autograd)
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
    Arguments arguments;
    arguments.impossible =
        !parse_arguments(recorded.texts[texts.dims], types, recorded.texts[texts.values], arguments.inputs);
    for (Argument& argument : arguments.inputs)
      for (TensorShape& tensor : argument.tensors)
        if (argument.is_list && tensor.element_bytes == 0) {
          tensor.dtype = of_lists.dtype;
          tensor.element_bytes = of_lists.bytes;
        }
    if (by_autograd) add_output(o, arguments);
    const Known known = evaluate(row, op.name, arguments);
    if (!by_autograd) known_.emplace(key, known);
    return known;
  }

 private:
  Known evaluate(const WorkRow& row, StringId name, const Arguments& arguments) {
    Known known;
    known.has_shapes = arguments.any_tensor() || arguments.impossible;
    known.sufficient = work_of(row, l_.text(name), arguments, known.work);
    known.impossible = arguments.impossible;
    return known;
  }

  /// Old recordings have shapes, but not a convolution's stride and sizes.
  void add_output(uint32_t o, Arguments& arguments) {
    const CpuOp& op = l_.profile().ops[o];
    const std::string_view name = l_.text(op.name);
    if (name.ends_with("_backward_input")) return add_argument_around(o, 0, arguments);
    if (name.ends_with("_backward_weight")) return add_argument_around(o, 2, arguments);
    add_gradient(op, arguments);
  }

  /// cudnn_convolution_backward(x, dy, weight) around what computes one of the gradients.
  void add_argument_around(uint32_t o, size_t index, Arguments& arguments) {
    const uint32_t around = l_.threads.parent_op[o];
    if (around == kNone || l_.profile().ops[around].shapes >= kShapesUnused) return;
    if (!l_.text(l_.profile().ops[around].name).ends_with("_convolution_backward")) return;
    const RecordedShapes& recorded = l_.profile().shapes;
    const RecordedShapes::Row& texts = recorded.rows[l_.profile().ops[around].shapes];
    std::vector<Argument> given;
    if (parse_arguments(recorded.texts[texts.dims], recorded.texts[texts.types], {}, given) && given.size() == 11)
      arguments.outputs = {given[index]};
  }

  /// Autograd's node of the same sequence number is given the gradient of the output, which has its shape.
  void add_gradient(const CpuOp& op, Arguments& arguments) {
    if (gradients_.empty() && !looked_for_gradients_) find_gradients();
    looked_for_gradients_ = true;
    const auto found = op.sequence < 0 ? gradients_.end() : gradients_.find(op.sequence);
    const TensorShape *x = arguments.input(0), *w = arguments.input(1);
    if (found == gradients_.end() || !x || !w || !arguments.outputs.empty()) return;
    const RecordedShapes& recorded = l_.profile().shapes;
    std::vector<Argument> given;
    if (!parse_arguments(recorded.texts[found->second.dims], recorded.texts[found->second.types], {}, given)) return;
    if (given.empty() || given[0].is_list || given[0].tensors.empty()) return;
    const TensorShape& dy = given[0].tensors[0];
    if (dy.rank() != x->rank() || x->rank() < 3 || w->rank() != x->rank() || dy[0] != (*x)[0] || dy[1] != (*w)[0])
      return;
    arguments.outputs = std::move(given);
  }
  void find_gradients() {
    for (const CpuOp& op : l_.profile().ops)
      if (op.sequence >= 0 && op.shapes < kShapesUnused && is_convolution_node(l_.text(op.name)))
        gradients_.emplace(op.sequence, l_.profile().shapes.rows[op.shapes]);
  }

  static constexpr uint32_t kOfProfile = UINT32_MAX;  ///< in place of the strides, which profiles do not have
  using Key = std::tuple<const WorkRow*, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  Linking& l_;
  RowCache& rows_;
  absl::flat_hash_map<Key, Known> known_;
  absl::flat_hash_map<int64_t, RecordedShapes::Row> gradients_;  ///< by sequence number
  bool looked_for_gradients_ = false;
};

/// Which kinds of work are done inside of each operator, by operators that have a row.
class KindsInside {
 public:
  KindsInside(size_t operators, const std::vector<uint32_t>& parents) : inside_(operators, 0), parents_(parents) {}
  void add(uint32_t op, WorkKind kind) {
    const auto bit = static_cast<uint16_t>(1U << static_cast<unsigned>(kind));
    for (uint32_t at = parents_[op]; at != kNone && !(inside_[at] & bit); at = parents_[at]) inside_[at] |= bit;
  }
  bool has(uint32_t op, WorkKind kind) const { return inside_[op] >> static_cast<unsigned>(kind) & 1; }

 private:
  static_assert(work::kWorkKinds.size() <= 16);
  std::vector<uint16_t> inside_;
  const std::vector<uint32_t>& parents_;
};

/// part / whole of a count, without overflow.
uint64_t share(uint64_t count, int64_t part, int64_t whole) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(count) * static_cast<uint64_t>(part) /
                               static_cast<uint64_t>(whole));
}

void add(WorkReport& report, WorkKind kind, const Work& work, int64_t device_ns) {
  WorkReport::Kind& of = report.kinds[static_cast<size_t>(kind)];
  const auto sum = [](uint64_t& to, Count more) { to = (Count(to) + more).value(); };
  sum(of.operations, work.operations);
  sum(of.bytes, work.bytes);
  sum(report.operations, work.operations);
  sum(report.bytes, work.bytes);
  of.device_ns += device_ns;
  ++report.operators;
  report.estimated += work.estimated;
}

void report_doubts(Linking& l) {
  const WorkReport& report = l.report.work;
  if (report.impossible > 0)
    l.find("pytorch.work.shape", Severity::warning,
           fmt::format("{} operators have invalid shapes; their work is unknown", show_count(report.impossible)));
  if (report.estimated > 0)
    l.find("pytorch.work.estimated", Severity::note,
           fmt::format("the work of {} operators is an estimate, because the recording lacks details",
                       show_count(report.estimated)));
}

class DeviceWork {
 public:
  explicit DeviceWork(Linking& l)
      : l_(l), p_(l.profile()), rows_(l.trace.strings), works_(l, rows_), inside_(p_.ops.size(), l.threads.parent_op) {}

  void run() {
    reasons_.assign(p_.device_ops.size(), Reason::none);
    owner_.assign(p_.device_ops.size(), kNone);
    l_.graph.work.resize(p_.device_ops.size());
    for (uint32_t d = 0; d < p_.device_ops.size(); ++d) find_direct(d);
    for (uint32_t d = 0; d < p_.device_ops.size(); ++d)
      if (reasons_[d] == Reason::no_row) find_around(d);
    std::vector<uint32_t> owned;
    for (uint32_t d = 0; d < p_.device_ops.size(); ++d)
      if (owner_[d] != kNone) owned.push_back(d);
    std::stable_sort(owned.begin(), owned.end(), [&](uint32_t a, uint32_t b) { return owner_[a] < owner_[b]; });
    for (size_t first = 0, last = 0; first < owned.size(); first = last) {
      while (last < owned.size() && owner_[owned[last]] == owner_[owned[first]]) ++last;
      share_out(std::span(owned).subspan(first, last - first));
    }
    account();
    if (l_.report.work.operators == 0) release(l_.graph.work);
    report_doubts(l_);
  }

 private:
  bool communicates(uint32_t d) const {
    return p_.device_ops[d].comm != trace::kNoRow || l_.device.comm_kernel[d] != nullptr;
  }
  /// The innermost operator around the launch.
  uint32_t launcher(uint32_t d) const {
    const uint32_t call = l_.device.call_of_op[d];
    uint32_t op = call == kNone ? kNone : l_.threads.enclosing_op[call];
    while (op != kNone && p_.ops[op].annotation) op = l_.threads.parent_op[op];
    return op;
  }

  /// Copies say themselves how much they move; for others, the innermost operator if it has a row.
  void find_direct(uint32_t d) {
    const DeviceOp& op = p_.device_ops[d];
    if (communicates(d)) return;
    if (op.kind != DeviceOp::Kind::kernel && op.bytes >= 0) {
      const bool both = work::copy_route(l_.text(op.name)) == work::CopyRoute::within_device;
      Work work;
      work.bytes = Count(static_cast<uint64_t>(op.bytes)) * (both ? 2 : 1);  // of the device's memory
      l_.graph.work[d].bytes = work.bytes.value();
      add(l_.report.work, op.kind == DeviceOp::Kind::memset ? WorkKind::fill : WorkKind::copy, work, op.dur_ns);
      return;
    }
    const uint32_t call = l_.device.call_of_op[d];
    const uint32_t o = launcher(d);
    if (call != kNone && l_.waits.roles[call].graph) reasons_[d] = Reason::graph;
    else if (o == kNone) reasons_[d] = Reason::no_operator;
    else if (const WorkRow* row = rows_[p_.ops[o].name]) {
      owner_[d] = o;
      inside_.add(o, row->kind);
    } else {
      reasons_[d] = Reason::no_row;
    }
  }

  /// The next operator around with a row, unless operators inside of it do that kind of work themselves.
  void find_around(uint32_t d) {
    for (uint32_t o = l_.threads.parent_op[launcher(d)]; o != kNone; o = l_.threads.parent_op[o])
      if (const WorkRow* row = rows_[p_.ops[o].name]) {
        if (inside_.has(o, row->kind)) return;
        owner_[d] = o;
        reasons_[d] = Reason::none;
        return;
      }
  }

  /// An operator's work among the device operations that it launched, by their time.
  void share_out(std::span<const uint32_t> group) {
    const uint32_t o = owner_[group[0]];
    const WorkRow& row = *rows_[p_.ops[o].name];
    const auto refuse = [&](Reason reason) {
      for (const uint32_t d : group) reasons_[d] = reason;
    };
    if (row_of(row.kind).product && inside_.has(o, row.kind)) return refuse(Reason::inside);
    const uint32_t longest = *std::max_element(group.begin(), group.end(), [&](uint32_t a, uint32_t b) {
      return p_.device_ops[a].dur_ns < p_.device_ops[b].dur_ns;
    });
    const std::string_view kernel = l_.text(p_.device_ops[longest].name);
    const Known known = works_.of_cpu(o, kernel);
    l_.report.work.impossible += known.impossible;
    if (!known.sufficient) return refuse(known.has_shapes ? Reason::insufficient : Reason::no_shapes);
    int64_t whole = 0, before = 0;
    for (const uint32_t d : group) whole += p_.device_ops[d].dur_ns;
    const DType type = computed_in(row.kind, known.work.dtype, kernel);
    const uint64_t operations = known.work.operations.value(), bytes = known.work.bytes.value();
    const auto [m, n, k] = known.work.product;
    const StringId product =
        m > 0 && n > 0 && k > 0 ? l_.trace.strings.intern(fmt::format("gemm:{},{},{}", m, n, k)) : 0;
    add(l_.report.work, row.kind, known.work, whole);
    for (const uint32_t d : group) {
      const int64_t after = before + p_.device_ops[d].dur_ns;
      NodeWork& work = l_.graph.work[d];
      if (whole > 0)
        work = {share(operations, after, whole) - share(operations, before, whole),
                share(bytes, after, whole) - share(bytes, before, whole), type};
      else if (d == group[0]) work = {operations, bytes, type};
      if (work.operations > 0) work.kernel = product;
      before = after;
    }
  }

  /// Whether either trace has the shape of a tensor that the operator works on.
  bool has_shapes(uint32_t o) const {
    const auto says = [](std::string_view shapes) {
      return shapes.find_first_of("0123456789") != std::string_view::npos;
    };
    const uint32_t row = p_.ops[o].shapes, h = l_.match.host_of_op[o];
    if (row == kShapesUnused || (row < kShapesUnused && says(p_.shapes.texts[p_.shapes.rows[row].dims]))) return true;
    return h != kNone && says(l_.text(l_.host().io(l_.host().ops[h]).inputs.shapes));
  }

  void account() {
    WorkReport& report = l_.report.work;
    absl::flat_hash_map<std::pair<StringId, Reason>, size_t> rest;
    for (uint32_t d = 0; d < p_.device_ops.size(); ++d) {
      const DeviceOp& op = p_.device_ops[d];
      if (communicates(d)) {
        report.communication_ns += op.dur_ns;
        continue;
      }
      report.device_ns += op.dur_ns;
      const uint32_t o = launcher(d);
      const bool covered = reasons_[d] == Reason::none;
      if (covered) report.covered_ns += op.dur_ns;
      if (o != kNone && reasons_[d] != Reason::graph && l_.text(p_.ops[o].name).starts_with("aten::") &&
          has_shapes(o)) {
        report.aten_ns += op.dur_ns;
        if (covered) report.aten_covered_ns += op.dur_ns;
      }
      if (covered) continue;
      const bool by_kernel = o == kNone || reasons_[d] == Reason::graph;
      const StringId name = by_kernel ? op.name : p_.ops[o].name;
      const auto [at, added] = rest.try_emplace({name, reasons_[d]}, report.rest.size());
      if (added) report.rest.push_back({std::string(l_.text(name)), kReasons[static_cast<size_t>(reasons_[d])], 0, 0});
      report.rest[at->second].device_ns += op.dur_ns;
      ++report.rest[at->second].count;
    }
    std::sort(report.rest.begin(), report.rest.end(), [](const WorkReport::Rest& a, const WorkReport::Rest& b) {
      return std::tie(b.device_ns, a.name, a.reason) < std::tie(a.device_ns, b.name, b.reason);
    });
  }

  Linking& l_;
  const Profile& p_;
  RowCache rows_;
  Works works_;
  KindsInside inside_;
  std::vector<Reason> reasons_;  ///< per device operation
  std::vector<uint32_t> owner_;  ///< per device operation: the operator whose work it does, or kNone
};

}  // namespace

void derive_work(Linking& l) {
  if (!l.profile().device_ops.empty()) DeviceWork(l).run();
  else if (l.recording.has_host) derive_host_work(l);
  const RecordedShapes& recorded = l.profile().shapes;
  for (const RecordedShapes::Row& row : recorded.rows)
    if (!l.recording.has_host) l.graph.shapes.push_back(l.trace.strings.intern(recorded.texts[row.dims]));
  if (l.comms.host_comms.empty()) release(l.profile().shapes);  // else assembling reads the arguments of c10d's calls
}

void derive_host_work(Linking& l) {
  RowCache rows(l.trace.strings);
  Works works(l, rows);
  std::vector<uint32_t> parents(l.host().ops.size(), kNone);
  for (uint32_t h = 0; h < parents.size(); ++h)
    if (const uint32_t parent = l.host().ops[h].parent_row; parent != trace::kNoRow && parent != h) parents[h] = parent;
  KindsInside inside(l.host().ops.size(), parents);
  std::vector<std::pair<uint32_t, Work>> found;
  for (uint32_t h = 0; h < l.host().ops.size(); ++h) {
    const HostOp& op = l.host().ops[h];
    const WorkRow* row = op.kind == HostOp::Kind::op ? rows[op.name] : nullptr;
    if (!row || op.io == trace::kNoRow) continue;
    if (!l.profile().file.empty() && l.match.op_of_host[h] == kNone) continue;  // not covered, or left out
    const uint32_t o = l.profile().file.empty() ? kNone : l.match.op_of_host[h];
    const Known known = o != kNone && l.match.other_shapes.contains(o) ? works.of_cpu(o, {}) : works.of_host(h);
    l.report.work.impossible += known.impossible;
    if (!known.sufficient) continue;
    found.emplace_back(h, known.work);
    inside.add(h, row->kind);
  }
  for (const auto& [h, work] : found) {
    const WorkKind kind = rows[l.host().ops[h].name]->kind;
    if (inside.has(h, kind)) continue;
    l.graph.work.resize(l.host().ops.size());
    l.graph.work[h] = {work.operations.value(), work.bytes.value(), work.dtype};
    add(l.report.work, kind, work, 0);
  }
  report_doubts(l);
}

}  // namespace chakra::link
