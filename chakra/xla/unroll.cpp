#include "chakra/xla/unroll.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

namespace chakra::xla {

using trace::EdgeKind;

Occurrences::Occurrences(const Program& program, std::vector<Event> events) : events_(std::move(events)) {
  size_t count = 0;
  for (const Computation& c : program.computations) {
    first_.push_back(count);
    count += c.instructions.size();
  }
  std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return std::tie(a.instruction, a.start) < std::tie(b.instruction, b.start);
  });
  next_.assign(count, 0), end_.assign(count, 0);
  for (size_t e = 0; e < events_.size(); ++e) {
    if (e == 0 || events_[e].instruction != events_[e - 1].instruction)
      next_[events_[e].instruction] = static_cast<uint32_t>(e);
    end_[events_[e].instruction] = static_cast<uint32_t>(e + 1);
  }
}

Picoseconds Occurrences::next_start(uint32_t computation, uint32_t instruction) const {
  const size_t at = first_[computation] + instruction;
  return next_[at] == end_[at] ? kNever : events_[next_[at]].start;
}

Picoseconds Occurrences::second_start(uint32_t computation, uint32_t instruction) const {
  const size_t at = first_[computation] + instruction;
  return end_[at] - next_[at] < 2 ? kNever : events_[next_[at] + 1].start;
}

uint32_t Occurrences::take(uint32_t computation, uint32_t instruction, Picoseconds limit) {
  const size_t at = first_[computation] + instruction;
  if (next_[at] == end_[at] || events_[next_[at]].start >= limit) return kNone;
  return next_[at]++;
}

std::vector<uint32_t> Occurrences::left() const {
  std::vector<uint32_t> left;
  for (size_t at = 0; at < next_.size(); ++at)
    for (uint32_t e = next_[at]; e < end_[at]; ++e) left.push_back(e);
  return left;
}

namespace {

/// Where a value comes from: the ops that write it, or a value per part of a tuple.
struct Value {
  std::vector<uint32_t> ops;
  std::vector<std::shared_ptr<const Value>> parts;
  uint64_t leaves = 0;  ///< ops and parts, of all parts
  int depth = 0;        ///< of parts
};
using ValueRef = std::shared_ptr<const Value>;

ValueRef value_of(uint32_t op) { return std::make_shared<const Value>(Value{{op}, {}, 0, 0}); }

void add_leaves(const ValueRef& value, std::vector<uint32_t>& to) {
  if (!value) return;
  to.insert(to.end(), value->ops.begin(), value->ops.end());
  for (const ValueRef& part : value->parts) add_leaves(part, to);
}
void sort_unique(std::vector<uint32_t>& ops) {
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
}

/// Tuples beyond these are one value.
constexpr uint64_t kMostLeaves = 1 << 16;
constexpr int kMostTuples = 32;

constexpr uint64_t kMostWalked = 400'000'000, kMostDeps = 100'000'000;
constexpr int kMostDepth = 200;

/// Which loops are folded: those without communication, if the program would be too large otherwise.
class Folding {
 public:
  explicit Folding(const Program& program) : p_(program) {}

  /// False: the program is too large in either way.
  bool choose() {
    fold_ = false;
    if (count_ops() <= kMostOps) return true;
    fold_ = true;
    return count_ops() <= kMostOps;
  }
  bool folds(const Instruction& i) const { return fold_ && p_.detail(i).trips > 1 && is_quiet(i); }

 private:
  uint64_t count_ops() {
    std::vector<uint64_t> ops(p_.computations.size(), 0);
    quiet_.assign(p_.computations.size(), true);
    for (size_t c = 0; c < ops.size(); ++c)
      for (const Instruction& i : p_.computations[c].instructions) {
        uint64_t inside = 0;
        if (i.kind() == Kind::value || i.kind() == Kind::done) continue;
        if (i.kind() == Kind::work || communicates(i.kind())) inside = 1;
        else
          for (const uint32_t callee : p_.linked(i.called)) {
            inside = add_bytes(inside, ops[callee]);
            quiet_[c] = quiet_[c] && quiet_[callee];
          }
        const int64_t trips = p_.detail(i).trips;
        if (i.kind() == Kind::loop && trips > 1 && !folds(i))
          inside = multiply_bytes(inside, static_cast<uint64_t>(trips));
        if (communicates(i.kind())) quiet_[c] = false;
        ops[c] = add_bytes(ops[c], inside);
      }
    return ops[p_.entry];
  }
  bool is_quiet(const Instruction& i) const {
    const auto callees = p_.linked(i.called);
    return std::all_of(callees.begin(), callees.end(), [&](uint32_t c) { return quiet_[c]; });
  }

  const Program& p_;
  std::vector<bool> quiet_;  ///< by computation: without communication
  bool fold_ = false;
};

using Values = std::vector<ValueRef>;
/// The region of ops that is being written out.
struct Around {
  uint32_t region = 0;    ///< its first op
  uint32_t mark = kNone;  ///< that begins the region
  Picoseconds limit = Occurrences::kNever;
  uint64_t times = 1;
};
struct At {
  uint32_t computation, instruction;
};

Failure large(const Program& p) {
  return fail(Code::bad_input, "xla.program.large",
              fmt::format("the program executes more than {} instructions on a device", show_count(int64_t{kMostOps})),
              {p.file});
}

Values operands_of(const Program& p, const Instruction& i, const Values& values) {
  Values all;
  for (const uint32_t operand : p.linked(i.operands)) all.push_back(values[operand]);
  return all;
}

class Unroller {
 public:
  Unroller(const Program& program, const ProgramWork& work, Occurrences* run)
      : p_(program), work_(work), run_(run), folding_(program), visited_(program.computations.size(), 0) {}

  Result<Unrolled> run() {
    if (!run_ && !folding_.choose()) return large(p_);
    std::vector<ValueRef> none;
    CHAKRA_TRY(computation(p_.entry, none));
    return std::move(out_);
  }

 private:
  const Instruction& at(At a) const { return p_.computations[a.computation].instructions[a.instruction]; }

  // ---- values ----------------------------------------------------------------------------------------------------

  ValueRef joined(const Instruction& i, const Values& values) {
    const auto operands = p_.linked(i.operands);
    if (operands.size() == 1 && (!values[operands[0]] || values[operands[0]]->parts.empty()))
      return values[operands[0]];
    Value all;
    for (const uint32_t operand : operands) add_leaves(values[operand], all.ops);
    sort_unique(all.ops);
    walked_ = add_bytes(walked_, all.ops.size());
    return std::make_shared<const Value>(std::move(all));
  }

  ValueRef tuple(const Instruction& i, const Values& values) {
    Value all;
    for (const uint32_t operand : p_.linked(i.operands)) {
      const ValueRef& part = values[operand];
      all.parts.push_back(part);
      ++all.leaves;
      if (!part) continue;
      all.leaves = add_bytes(all.leaves, part->leaves + part->ops.size());
      all.depth = std::max(all.depth, part->depth + 1);
    }
    return all.leaves > kMostLeaves || all.depth > kMostTuples ? joined(i, values)
                                                               : std::make_shared<const Value>(std::move(all));
  }

  // ---- ops -------------------------------------------------------------------------------------------------------

  /// Add an op that waits for the values of its operands, for its control predecessors, and, as the first of its
  /// region, for the mark that begins the region.
  uint32_t add(At a, const Values& values, uint32_t event) {
    const Instruction& i = at(a);
    Op op;
    op.computation = a.computation, op.instruction = a.instruction, op.event = event, op.times = around_.times;
    op.deps.begin = static_cast<uint32_t>(out_.deps.size());
    std::vector<uint32_t> data, given;
    for (const uint32_t operand : p_.linked(i.operands)) add_leaves(values[operand], data);
    for (const uint32_t control : p_.linked(i.controls)) add_leaves(values[control], given);
    walked_ = add_bytes(walked_, data.size() + given.size());
    sort_unique(data), sort_unique(given);
    const bool inside =
        (!data.empty() && data.back() >= around_.region) || (!given.empty() && given.back() >= around_.region);
    if (around_.mark != kNone && !inside) given.push_back(around_.mark);
    for (const uint32_t on : data) out_.deps.push_back({on, EdgeKind::data});
    for (const uint32_t on : given)
      if (!std::binary_search(data.begin(), data.end(), on)) out_.deps.push_back({on, EdgeKind::given});
    op.deps.end = static_cast<uint32_t>(out_.deps.size());
    out_.ops.push_back(op);
    return static_cast<uint32_t>(out_.ops.size() - 1);
  }

  /// Add a later mark of `first`: it waits for the last ops of the region that ends here.
  uint32_t add_mark(uint32_t first, uint32_t previous, uint32_t begin) {
    const auto end = static_cast<uint32_t>(out_.ops.size());
    Op op = out_.ops[first];
    op.first = first, op.before = {begin, end}, op.after = {};
    op.deps.begin = static_cast<uint32_t>(out_.deps.size());
    std::vector<uint8_t> used(end - begin, 0);
    for (uint32_t o = begin; o < end; ++o)
      for (const Dep& dep : out_.deps_of(out_.ops[o]))
        if (dep.op >= begin) used[dep.op - begin] = 1;
    for (uint32_t o = begin; o < end; ++o)
      if (!used[o - begin]) out_.deps.push_back({o, EdgeKind::given});
    if (begin == end) out_.deps.push_back({previous, EdgeKind::given});
    op.deps.end = static_cast<uint32_t>(out_.deps.size());
    out_.ops[previous].after = {begin, end};
    out_.ops.push_back(op);
    return end;
  }

  // ---- the walk --------------------------------------------------------------------------------------------------

  Result<ValueRef> computation(uint32_t c, const Values& parameters) {
    const Computation& of = p_.computations[c];
    walked_ = add_bytes(walked_, of.instructions.size());
    if (++depth_ > kMostDepth)
      return fail(Code::bad_input, "xla.program.deep", "computations are nested too deeply", {p_.file});
    Values values(of.instructions.size());
    const auto visit = [&](uint32_t row) -> Result<void> {
      if (walked_ > kMostWalked || out_.deps.size() > kMostDeps) return large(p_);
      CHAKRA_ASSIGN(values[row], instruction({c, row}, values, parameters));
      return {};
    };
    if (of.order.empty())
      for (uint32_t row = 0; row < of.instructions.size(); ++row) CHAKRA_TRY(visit(row));
    for (const uint32_t row : of.order) CHAKRA_TRY(visit(row));
    --depth_;
    return values[of.root];
  }

  Result<ValueRef> instruction(At a, const Values& values, const Values& parameters) {
    const Instruction& i = at(a);
    switch (i.kind()) {
      case Kind::loop: return loop(a, values);
      case Kind::conditional: return conditional(a, values);
      case Kind::call:
      case Kind::wrapped: return call(a, values);
      case Kind::value:
        if (ValueRef passed; !happened(a) && pass(i, values, parameters, passed)) return passed;
        break;
      case Kind::done:
        if (!run_) return joined(i, values);
        break;
      default: break;
    }
    if (!run_) return value_of(add(a, values, kNone));
    const uint32_t event = run_->take(a.computation, a.instruction, around_.limit);
    return event == kNone ? joined(i, values) : value_of(add(a, values, event));
  }

  bool happened(At a) const { return run_ && run_->next_start(a.computation, a.instruction) < around_.limit; }

  /// Values that no op computes. False: as the union of the operands, which the caller makes where there is a profile.
  bool pass(const Instruction& i, const Values& values, const Values& parameters, ValueRef& passed) {
    const auto operands = p_.linked(i.operands);
    if (i.opcode == "parameter") {
      const auto number = static_cast<uint64_t>(i.number);
      if (number < parameters.size()) passed = parameters[number];
    } else if (i.opcode == "tuple") {
      passed = tuple(i, values);
    } else if (i.opcode == "get-tuple-element" && !operands.empty()) {
      const ValueRef& tuple = values[operands[0]];
      const auto part = static_cast<uint64_t>(i.number);
      passed = tuple && part < tuple->parts.size() ? tuple->parts[part] : tuple;
    } else {
      passed = joined(i, values);
    }
    return true;
  }

  /// When the next event of a computation starts, with all computations inside.
  Picoseconds next_start(uint32_t c) {
    ++query_;
    return next_start_inside(c, 0);
  }
  Picoseconds next_start_inside(uint32_t c, int depth) {
    if (visited_[c] == query_ || depth > kMostDepth) return Occurrences::kNever;
    visited_[c] = query_;
    Picoseconds next = Occurrences::kNever;
    const Computation& of = p_.computations[c];
    walked_ = add_bytes(walked_, of.instructions.size());
    for (uint32_t row = 0; row < of.instructions.size(); ++row) {
      next = std::min(next, run_->next_start(c, row));
      const Instruction& i = of.instructions[row];
      if (i.kind() == Kind::loop || i.kind() == Kind::conditional || i.kind() == Kind::call ||
          i.kind() == Kind::wrapped)
        for (const uint32_t callee : p_.linked(i.called)) next = std::min(next, next_start_inside(callee, depth + 1));
    }
    return next;
  }

  /// The part of the walk inside an instruction: what is around is restored at the end.
  struct Inside {
    explicit Inside(Unroller& u) : unroller(u), before(u.around_) {}
    Inside(const Inside&) = delete;
    ~Inside() { unroller.around_ = before; }
    Unroller& unroller;
    Around before;
  };
  /// Begin a region after a mark.
  void begin_region(uint32_t mark) {
    around_.region = static_cast<uint32_t>(out_.ops.size());
    if (mark != kNone) around_.mark = mark;
  }

  Result<ValueRef> call(At a, const Values& values) {
    const Instruction& i = at(a);
    if (i.called.size() == 0) return leaf(a, values);
    return branch(a, values, p_.links[i.called.begin], operands_of(p_, i, values));
  }
  Result<ValueRef> leaf(At a, const Values& values) {
    const uint32_t event = run_ ? run_->take(a.computation, a.instruction, around_.limit) : kNone;
    return run_ && event == kNone ? joined(at(a), values) : value_of(add(a, values, event));
  }

  /// Take the event of an instruction with others inside, which start before its next event. They may outlast the
  /// event: XLA's CPU devices continue a loop on other threads.
  uint32_t take_whole(At a) {
    const uint32_t event = run_->take(a.computation, a.instruction, around_.limit);
    if (event != kNone) around_.limit = std::min(around_.limit, run_->next_start(a.computation, a.instruction));
    return event;
  }

  /// A computation that runs once.
  Result<ValueRef> branch(At a, const Values& values, uint32_t callee, const Values& arguments) {
    const Inside inside(*this);
    if (!run_) return computation(callee, arguments);
    const uint32_t event = take_whole(a);
    const bool runs = next_start(callee) < around_.limit;
    if (event == kNone) return runs ? computation(callee, arguments) : Result<ValueRef>(joined(at(a), values));
    const uint32_t first = add(a, values, event);
    if (!runs) return value_of(first);
    begin_region(first);
    const uint32_t begin = around_.region;
    CHAKRA_TRY(computation(callee, arguments));
    return value_of(add_mark(first, first, begin));
  }

  Result<ValueRef> conditional(At a, const Values& values) {
    const Instruction& i = at(a);
    const auto callees = p_.linked(i.called);
    const Values arguments = operands_of(p_, i, values);
    if (callees.empty() || arguments.size() != callees.size() + 1) return leaf(a, values);
    size_t chosen = 0;
    if (run_) {
      Picoseconds limit = around_.limit, best = Occurrences::kNever;
      if (happened(a)) limit = std::min(limit, run_->second_start(a.computation, a.instruction));
      for (size_t b = 0; b < callees.size(); ++b)
        if (const Picoseconds start = next_start(callees[b]); start < limit && start < best) best = start, chosen = b;
    } else {
      ++out_.conditionals;
      for (size_t b = 1; b < callees.size(); ++b) {
        const Work &one = work_.of(callees[b]), &most = work_.of(callees[chosen]);
        if (std::tie(one.flops, one.bytes) > std::tie(most.flops, most.bytes)) chosen = b;
      }
    }
    return branch(a, values, callees[chosen], {arguments[chosen + 1]});
  }

  Result<ValueRef> loop(At a, const Values& values) {
    const Instruction& i = at(a);
    if (i.called.size() != 2) return leaf(a, values);
    // The body comes first, then the condition.
    const uint32_t body = p_.links[i.called.begin], condition = p_.links[i.called.begin + 1];
    Values state = operands_of(p_, i, values);
    const int64_t trips = p_.detail(i).trips;
    const Inside inside(*this);
    if (run_) return recorded_loop(a, values, body, condition);
    if (trips < 0) {
      ++out_.open_loops;
      CHAKRA_TRY(computation(condition, state));
    }
    if (folding_.folds(i)) {
      ++out_.folded;
      around_.times = multiply_bytes(around_.times, static_cast<uint64_t>(trips));
      return computation(body, state);
    }
    for (int64_t k = 0; k < (trips < 0 ? 1 : trips); ++k) {
      CHAKRA_ASSIGN(ValueRef next, computation(body, state));
      state.assign(1, std::move(next));
    }
    return state.empty() ? ValueRef() : state[0];
  }

  /// As often as the events say. Iterations run one after another; a mark stands between them.
  Result<ValueRef> recorded_loop(At a, const Values& values, uint32_t body, uint32_t condition) {
    const int64_t trips = p_.detail(at(a)).trips;
    const uint32_t event = take_whole(a);
    const uint32_t first = event == kNone ? kNone : add(a, values, event);
    Values state = operands_of(p_, at(a), values);
    uint32_t mark = first;
    int64_t iterations = 0;
    for (bool more = true; more;) {
      begin_region(mark);
      const uint32_t begin = around_.region;
      if (next_start(condition) < around_.limit) CHAKRA_TRY(computation(condition, state));
      more = (trips < 0 || iterations < trips) && next_start(body) < around_.limit;
      if (more) {
        ++iterations;
        CHAKRA_ASSIGN(ValueRef next, computation(body, state));
        state.assign(1, std::move(next));
      }
      if (out_.ops.size() == begin) break;
      if (first != kNone) mark = add_mark(first, mark, begin);
    }
    if (trips > 0 && iterations > 0 && iterations < trips) ++out_.cut_loops;
    if (first != kNone) return value_of(mark);
    return state.empty() ? ValueRef() : state[0];
  }

  const Program& p_;
  const ProgramWork& work_;
  Occurrences* run_;
  Folding folding_;
  Unrolled out_;
  std::vector<uint64_t> visited_;  ///< by computation: the last query
  uint64_t query_ = 0, walked_ = 0;
  int depth_ = 0;
  Around around_;
};

}  // namespace

Result<Unrolled> unroll(const Program& program, const ProgramWork& work, Occurrences* run) {
  return Unroller(program, work, run).run();
}

}  // namespace chakra::xla
