// HLO as text -> Program, as XLA prints a module: compiled.as_text(), --xla_dump_hlo_as_text.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/xla/link_program.h"
#include "chakra/xla/text.h"

namespace chakra::xla {
namespace {

/// A loop calls its body first, then its condition, as in the message.
constexpr std::string_view kCalls[] = {"calls",
                                       "to_apply",
                                       "body",
                                       "condition",
                                       "true_computation",
                                       "false_computation",
                                       "select",
                                       "scatter",
                                       "branch_computations",
                                       "called_computations",
                                       "comparator",
                                       "reducer"};

/// The text, where it is read, and the program in progress.
struct Input {
  Program& program;
  std::string_view text;
  TextCursor cursor;

  Failure wrong(std::string tag, std::string sentence) const {
    const auto before = text.substr(0, std::min(cursor.at(), text.size()));
    const int64_t line = 1 + std::count(before.begin(), before.end(), '\n');
    return fail(Code::bad_input, std::move(tag), std::move(sentence), {program.file, -1, line});
  }
  Failure expected(std::string_view what) const {
    return wrong("xla.program.text", fmt::format("the program (HLO text) is cut or damaged: expected {}", what));
  }
};

bool is_shape(TextCursor ahead) {
  if (ahead.peek() == '(') return true;
  return ahead.peek() != '%' && !ahead.name().empty() && ahead.peek() == '[';
}

/// Whether the bracket begins a computation, not a layout: "{" before the end of the line.
bool is_body(TextCursor ahead) { return ahead.take('{') && ahead.at_line_end(); }

Result<void> read_shape(Input& in, Shape& shape, int depth) {
  Program& p = in.program;
  TextCursor& cursor = in.cursor;
  constexpr int kMostDepth = 64;
  if (depth > kMostDepth) return in.wrong("xla.program.deep", "a shape is nested too deeply");
  if (cursor.take('(')) {
    shape.type = kTuple;
    std::vector<Shape> parts;
    while (!cursor.take(')')) {
      CHAKRA_TRY(read_shape(in, parts.emplace_back(), depth + 1));
      if (!cursor.take(',') && cursor.peek() != ')') return in.expected("')'");
    }
    shape.parts.begin = static_cast<uint32_t>(p.shapes.size());
    p.shapes.insert(p.shapes.end(), parts.begin(), parts.end());
    shape.parts.end = static_cast<uint32_t>(p.shapes.size());
    return {};
  }
  const std::string_view type = cursor.name();
  shape.type = primitive_type(type);
  if (type.empty() || !cursor.take('[')) return in.expected("a shape");
  if (shape.type == 0) ++p.unknown[{type, 0}];
  shape.dims.begin = static_cast<uint32_t>(p.numbers.size());
  while (!cursor.take(']')) {
    int64_t dim = 0;
    p.has_bounds |= cursor.take("<=");
    if (cursor.peek() == '?') return in.wrong("xla.program.shape", std::string(kUnbounded));
    if (!cursor.number(dim)) return in.expected("a size");
    p.numbers.push_back(dim);
    if (!cursor.take(',') && cursor.peek() != ']') return in.expected("']'");
  }
  shape.dims.end = static_cast<uint32_t>(p.numbers.size());
  if (!is_possible(p.dims(shape.dims))) return in.wrong("xla.program.shape", std::string(kImpossible));
  if (cursor.peek() == '{' && !is_body(cursor) && !cursor.skip_brackets()) return in.expected("'}'");
  return {};
}

Result<void> skip_shape(Input& in) {
  const size_t numbers = in.program.numbers.size(), shapes = in.program.shapes.size();
  Shape skipped;
  CHAKRA_TRY(read_shape(in, skipped, 0));
  in.program.numbers.resize(numbers), in.program.shapes.resize(shapes);
  return {};
}

class TextReader {
 public:
  TextReader(Program& program, std::string_view text) : in_{program, text, TextCursor(text)} {}

  Result<void> run() {
    CHAKRA_TRY(header());
    while (!cursor_.at_end()) {
      if (is_computation()) CHAKRA_TRY(computation());
      else cursor_.skip_line();  // tables of files and functions
    }
    if (module_.entry < 0) return wrong("xla.program.empty", "the program has no entry computation");
    CHAKRA_TRY(order_computations(p_, ids_));
    return link_program(p_, ids_, module_.entry, schedule_, {p_.file});
  }

 private:
  Failure wrong(std::string tag, std::string text) const { return in_.wrong(std::move(tag), std::move(text)); }
  Failure expected(std::string_view what) const { return in_.expected(what); }

  /// "HloModule jit_step, is_scheduled=true, num_partitions=8".
  Result<void> header() {
    cursor_.at_end();
    if (!cursor_.take("HloModule ")) return expected("'HloModule'");
    p_.name = cursor_.value();
    int64_t replicas = 0, partitions = 0;
    while (cursor_.take(',')) {
      const std::string_view name = cursor_.name();
      std::string_view value;
      if (cursor_.take('=')) value = cursor_.value();
      if (name == "is_scheduled") module_.scheduled = value.starts_with("true");
      else if (name == "replica_count") replicas = first(value);
      else if (name == "num_partitions") partitions = first(value);
    }
    cursor_.skip_line();
    if (replicas == 0 && partitions == 0) return {};  // as the groups say
    replicas = std::max<int64_t>(1, replicas), partitions = std::max<int64_t>(1, partitions);
    if (replicas > kMostDevices || partitions > kMostDevices / replicas)
      return wrong("xla.program.devices", "the program has too many devices");
    p_.replicas = replicas, p_.partitions = partitions;
    return {};
  }
  static int64_t first(std::string_view value) {
    const std::vector<int64_t> numbers = numbers_in(value);
    return numbers.empty() || numbers[0] < 0 ? kMostDevices + 1 : numbers[0];
  }

  /// "ENTRY %main.3 (a: f32[4]) -> f32[4] {" or "%fused {".
  bool is_computation() const {
    TextCursor ahead = cursor_;
    ahead.take("ENTRY ");
    if (const char c = ahead.peek(); c >= '0' && c <= '9') return false;  // a row of a table: "1 {line=2}"
    if (ahead.name().empty()) return false;
    return ahead.peek() == '(' || ahead.peek() == '{';
  }

  int64_t id_of(std::string_view computation) {
    return computation_ids_.try_emplace(computation, static_cast<int64_t>(computation_ids_.size())).first->second;
  }

  Result<void> computation() {
    Computation c;
    const bool entry = cursor_.take("ENTRY ");
    c.name = cursor_.name();
    c.id = id_of(c.name);
    if (!defined_.insert(c.id).second) return wrong("xla.program.reference", "two computations have one name");
    if (entry) module_.entry = c.id;
    if (cursor_.peek() == '(' && !cursor_.skip_brackets()) return expected("')'");
    if (cursor_.take("->")) CHAKRA_TRY(skip_shape(in_));
    if (!cursor_.take('{')) return expected("'{'");
    rows_.clear();
    c.root_id = -1;
    while (true) {
      if (cursor_.at_end()) return expected("'}'");
      if (cursor_.take('}')) break;
      CHAKRA_TRY(instruction(c));
    }
    cursor_.skip_line();  // execution_thread
    if (c.instructions.empty()) return wrong("xla.program.empty", "a computation has no instructions");
    if (c.root_id < 0) c.root_id = c.instructions.back().id;
    if (module_.scheduled)
      for (const Instruction& i : c.instructions) schedule_[c.id].push_back(i.id);
    p_.computations.push_back(std::move(c));
    return {};
  }

  /// "ROOT %add.1 = f32[4]{0} add(%a, %b), metadata={...}".
  Result<void> instruction(Computation& c) {
    const bool root = cursor_.take("ROOT ");
    Instruction i;
    now_.operands.clear(), now_.controls.clear();
    now_.computation = &c;
    for (auto& called : now_.called) called.clear();
    i.id = next_id_++;
    i.name = cursor_.name();
    if (i.name.empty() || !cursor_.take('=')) return expected("an instruction");
    CHAKRA_TRY(read_shape(in_, i.shape, 0));
    i.opcode = cursor_.name();
    i.row = find_opcode(i.opcode);
    if (cursor_.peek() != '(') return expected("'('");
    if (i.opcode == "parameter") {
      cursor_.take('(');
      if (!cursor_.number(i.number) || !cursor_.take(')')) return expected("the number of a parameter");
    } else if (i.opcode == "constant" || i.opcode == "iota") {
      if (!cursor_.skip_brackets()) return expected("')'");
    } else {
      CHAKRA_TRY(operands());
    }
    while (cursor_.take(',')) CHAKRA_TRY(attribute(i));
    if (!cursor_.at_line_end()) return expected("the end of the line");
    if (!i.row) unwrap(i);
    else i.called = ids_.keep(called());
    i.operands = ids_.keep(now_.operands), i.controls = ids_.keep(now_.controls);
    if (!rows_.emplace(i.name, i.id).second) return wrong("xla.program.reference", "two instructions have one name");
    shapes_of_[i.id] = i.shape;
    if (root) c.root_id = i.id;
    c.instructions.push_back(i);
    return {};
  }

  Result<void> operands() {
    cursor_.take('(');
    if (cursor_.take(')')) return {};
    do {
      if (is_shape(cursor_)) CHAKRA_TRY(skip_shape(in_));
      CHAKRA_TRY(reference(now_.operands));
    } while (cursor_.take(','));
    if (!cursor_.take(')')) return expected("')'");
    return {};
  }
  Result<void> reference(std::vector<int64_t>& to) {
    const std::string_view name = cursor_.name();
    if (name.empty()) return expected("an operand");
    const auto found = rows_.find(name);
    if (found == rows_.end())
      return wrong("xla.program.reference", fmt::format("{} does not precede its use", quote(name)));
    int64_t id = found->second;
    if (cursor_.take('#')) CHAKRA_TRY(element(name, id));
    to.push_back(id);
    return {};
  }
  /// "%all-reduce.3#1" is short for a get-tuple-element with this name. `id`: of the tuple, then of the element.
  Result<void> element(std::string_view tuple, int64_t& id) {
    int64_t index = 0;
    if (!cursor_.number(index)) return expected("the index of an element");
    const Shape& whole = shapes_of_[id];
    if (whole.type != kTuple || index < 0 || static_cast<size_t>(index) >= whole.parts.size())
      return wrong("xla.program.reference", fmt::format("{} has no element {}", quote(tuple), index));
    Instruction i;
    i.name = {tuple.data(), static_cast<size_t>(in_.text.data() + cursor_.at() - tuple.data())};
    if (const auto known = rows_.find(i.name); known != rows_.end()) {
      id = known->second;
      return {};
    }
    i.opcode = "get-tuple-element", i.row = find_opcode(i.opcode);
    i.number = index;
    i.shape = p_.shapes[whole.parts.begin + static_cast<size_t>(index)];
    i.operands = ids_.keep({id});
    i.id = id = next_id_++;
    rows_.emplace(i.name, id);
    shapes_of_[id] = i.shape;
    now_.computation->instructions.push_back(i);
    return {};
  }

  Result<void> attribute(Instruction& i) {
    const std::string_view name = cursor_.name();
    if (name.empty() || !cursor_.take('=')) return expected("an attribute");
    const auto* const call = std::find(std::begin(kCalls), std::end(kCalls), name);
    if (call != std::end(kCalls)) {
      const auto place = static_cast<size_t>(call - kCalls);
      TextCursor names(cursor_.value());
      names.take('{');
      while (!names.at_end() && names.peek() != '}') {
        const std::string_view computation = names.name();
        if (computation.empty()) return expected("the name of a computation");
        now_.called[place].push_back(id_of(computation));
        names.take(',');
      }
      return {};
    }
    if (name == "control-predecessors") {
      if (!cursor_.take('{')) return expected("'{'");
      while (!cursor_.take('}')) {
        CHAKRA_TRY(reference(now_.controls));
        cursor_.take(',');
      }
      return {};
    }
    std::string_view value = cursor_.value();
    if (name == "replica_groups" && value.starts_with("mesh") && value.find('{') == std::string_view::npos) {
      // "mesh['a'=2], device_ids=(1,0) {'a'}" has a comma outside of brackets.
      if (!cursor_.take(',')) return expected("the axes of a mesh");
      const std::string_view more = cursor_.value();
      value = {value.data(), static_cast<size_t>(more.data() + more.size() - value.data())};
    }
    if (!read_attribute(name, value, i, p_)) ++p_.unknown[{name, 0}];
    return {};
  }
  std::vector<int64_t> called() const {
    std::vector<int64_t> all;
    for (const auto& of : now_.called) all.insert(all.end(), of.begin(), of.end());
    return all;
  }

  /// "all-to-all-start(...)" is short for an async-start that calls a computation with an all-to-all.
  void unwrap(Instruction& i) {
    constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
        {"-start", "async-start"}, {"-update", "async-update"}, {"-done", "async-done"}};
    for (const auto& [suffix, opcode] : kSuffixes) {
      if (!i.opcode.ends_with(suffix)) continue;
      const std::string_view inner = i.opcode.substr(0, i.opcode.size() - suffix.size());
      if (!find_opcode(inner)) continue;
      const int64_t wrapper = suffix == "-start" ? wrapped(i, inner) : 0;
      for (auto& called : now_.called) called.clear();
      if (suffix == "-start") now_.called[0].push_back(wrapper);
      i.opcode = opcode, i.row = find_opcode(opcode);
      i.detail = kNone;
      break;
    }
    i.called = ids_.keep(called());
  }
  int64_t wrapped(const Instruction& start, std::string_view opcode) {
    Computation c;
    c.name = start.name;
    c.id = -2 - static_cast<int64_t>(p_.computations.size());  // has no name to which the text could refer
    std::vector<int64_t> parameters;
    for (const int64_t operand : now_.operands) {
      Instruction parameter;
      parameter.name = parameter.opcode = "parameter";
      parameter.row = find_opcode("parameter");
      parameter.number = static_cast<int64_t>(parameters.size());
      parameter.shape = shapes_of_[operand];
      parameter.id = next_id_++;
      parameters.push_back(parameter.id);
      c.instructions.push_back(parameter);
    }
    Instruction inner = start;
    inner.opcode = opcode, inner.row = find_opcode(opcode), inner.id = next_id_++;
    if (start.shape.parts.size() > 1) inner.shape = p_.shapes[start.shape.parts.begin + 1];
    inner.operands = ids_.keep(parameters);
    inner.controls = {};
    inner.called = ids_.keep(called());
    c.root_id = inner.id;
    c.instructions.push_back(inner);
    p_.computations.push_back(std::move(c));
    return p_.computations.back().id;
  }

  Input in_;
  Program& p_ = in_.program;
  TextCursor& cursor_ = in_.cursor;
  struct {
    bool scheduled = false;
    int64_t entry = -1;
  } module_;
  int64_t next_id_ = 1;
  Ids ids_;
  Schedule schedule_;
  absl::flat_hash_map<std::string_view, int64_t> computation_ids_, rows_;  ///< rows_: of the computation
  absl::flat_hash_set<int64_t> defined_;                                   ///< computations
  absl::flat_hash_map<int64_t, Shape> shapes_of_;                          ///< by id of an instruction
  struct {
    Computation* computation = nullptr;
    std::vector<int64_t> operands, controls;
    std::array<std::vector<int64_t>, std::size(kCalls)> called;  ///< by attribute
  } now_;                                                        ///< of the instruction that is read
};

}  // namespace

Result<Program> parse_text(std::shared_ptr<const std::string> bytes, const std::string& file) {
  Program program;
  program.bytes = bytes;
  program.file = file;
  CHAKRA_TRY(TextReader(program, *bytes).run());
  return program;
}

}  // namespace chakra::xla
