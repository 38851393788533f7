#include "chakra/xla/work.h"

#include <algorithm>
#include <bit>

#include "chakra/xla/library.h"

namespace chakra::xla {
namespace {

uint64_t log2_floor(uint64_t n) { return n == 0 ? 0 : std::bit_width(n) - 1; }
uint64_t log2_ceiling(uint64_t n) { return n <= 1 ? 0 : std::bit_width(n - 1); }
uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

uint64_t window_size(const Detail& d) {
  uint64_t size = 1;
  for (const WindowDim& dim : d.window)
    size = multiply_bytes(size, static_cast<uint64_t>(std::max<int64_t>(0, dim.size)));
  return size;
}

void add_to(Work& sum, const Work& one) {
  sum.flops = add_bytes(sum.flops, one.flops), sum.bytes = add_bytes(sum.bytes, one.bytes);
  sum.unknown = add_bytes(sum.unknown, one.unknown);
}

}  // namespace

ProgramWork::ProgramWork(const Program& program) : p_(program) {
  reads_.resize(p_.computations.size());
  heaviest_.resize(p_.computations.size());
  for (uint32_t c = 0; c < p_.computations.size(); ++c) {
    const Computation& of = p_.computations[c];
    first_.push_back(works_.size());
    Work sum, whole_sum;
    for (const Instruction& i : of.instructions) {
      const Work work = count(of, i), whole = with_iterations(i, work);
      add_to(sum, work), add_to(whole_sum, whole);
      const bool product = is_product(i);
      auto heaviest = std::pair(product ? work.flops : 0, work.type);
      if (i.row && i.row->flops == Flops::called)
        for (const uint32_t callee : p_.linked(i.called)) heaviest = std::max(heaviest, heaviest_[callee]);
      if (heaviest.first > heaviest_[c].first) heaviest_[c] = heaviest;
      works_.push_back(work), wholes_.push_back(whole);
    }
    sums_.push_back(sum), whole_sums_.push_back(whole_sum);
    reads_[c] = reads_of_parameters(c);
  }
}

const Shape& ProgramWork::operand(const Computation& c, const Instruction& i, uint32_t number) const {
  static const Shape kMissing;
  return number < i.operands.size() ? c.instructions[p_.links[i.operands.begin + number]].shape : kMissing;
}

Work ProgramWork::count(const Computation& c, const Instruction& i) const {
  if (!i.row) return {0, 0, type(c, i), 1};
  if (i.row->flops != Flops::library) return {flops(c, i), bytes(c, i), type(c, i), called(i, &Work::unknown)};
  const auto flops = library_flops(p_, c, i);
  return flops ? Work{*flops, library_bytes(p_, c, i), type(c, i)} : Work{0, 0, type(c, i), 1};
}

bool ProgramWork::is_product(const Instruction& i) const {
  if (!i.row) return false;
  if (i.row->flops != Flops::library) return i.row->flops == Flops::dot || i.row->flops == Flops::convolution;
  const Library is = library_of(p_.detail(i).target);
  return is == Library::product || is == Library::convolution || is == Library::attention;
}

/// A loop with a known number of iterations does not evaluate its condition, which comes behind the body.
Work ProgramWork::with_iterations(const Instruction& i, const Work& once) const {
  Work whole{0, 0, once.type};
  const auto callees = p_.linked(i.called);
  const auto trips = p_.detail(i).trips;
  if (i.kind() == Kind::call) {
    for (const uint32_t callee : callees) add_to(whole, whole_sums_[callee]);
  } else if (i.kind() == Kind::conditional) {
    for (const uint32_t callee : callees) {
      whole.flops = std::max(whole.flops, whole_sums_[callee].flops);
      whole.bytes = std::max(whole.bytes, whole_sums_[callee].bytes);
      whole.unknown = std::max(whole.unknown, whole_sums_[callee].unknown);
    }
  } else if (i.kind() == Kind::loop && callees.size() == 2) {
    const uint64_t times = trips < 0 ? 1 : static_cast<uint64_t>(trips);
    const Work& body = whole_sums_[callees[0]];
    whole.flops = multiply_bytes(body.flops, times), whole.bytes = multiply_bytes(body.bytes, times);
    whole.unknown = multiply_bytes(body.unknown, times);
    if (trips < 0) add_to(whole, whole_sums_[callees[1]]);
  } else {
    return once;
  }
  return whole;
}

trace::DType ProgramWork::type(const Computation& c, const Instruction& i) const {
  if (is_product(i)) return dtype_of(p_, operand(c, i, 0));
  if (i.row && i.row->flops == Flops::called)
    for (const uint32_t callee : p_.linked(i.called))
      if (heaviest_[callee].first > 0) return heaviest_[callee].second;
  return dtype_of(p_, i.shape);
}

/// The sum over the called computations; of a conditional the largest.
uint64_t ProgramWork::called(const Instruction& i, uint64_t Work::*member) const {
  uint64_t sum = 0;
  for (const uint32_t callee : p_.linked(i.called)) {
    const uint64_t one = sums_[callee].*member;
    sum = i.kind() == Kind::conditional ? std::max(sum, one) : add_bytes(sum, one);
  }
  return sum;
}

uint64_t ProgramWork::flops(const Computation& c, const Instruction& i) const {
  if (!i.row) return 0;
  const auto elements_of = [&](uint32_t number) {
    const Shape& shape = operand(c, i, number);
    return p_.elements(shape.parts.size() > 0 ? p_.shapes[shape.parts.begin] : shape);
  };
  const Shape& first = i.shape.parts.size() > 0 ? p_.shapes[i.shape.parts.begin] : i.shape;
  const uint64_t results = p_.elements(first);
  const Detail& d = p_.detail(i);
  const auto once = [&](uint32_t number) {
    return number < i.called.size() ? sums_[p_.links[i.called.begin + number]].flops : 0;
  };
  const auto last_dim = [&](const Shape& shape) {
    return shape.dims.size() == 0 ? uint64_t{1} : static_cast<uint64_t>(p_.numbers[shape.dims.end - 1]);
  };
  switch (i.row->flops) {
    case Flops::none: return 0;
    case Flops::elements: return results;
    case Flops::parts: {
      uint64_t sum = i.shape.parts.size() == 0 ? results : 0;
      for (uint32_t part = i.shape.parts.begin; part < i.shape.parts.end; ++part)
        sum = add_bytes(sum, p_.elements(p_.shapes[part]));
      return sum;
    }
    case Flops::dot: {
      uint64_t width = 1;
      const Shape& left = operand(c, i, 0);
      for (const int64_t dim : p_.dims(d.contracting))
        if (dim >= 0 && dim < static_cast<int64_t>(left.dims.size()))
          width = multiply_bytes(width, static_cast<uint64_t>(p_.dims(left.dims)[static_cast<size_t>(dim)]));
      return multiply_bytes(2, multiply_bytes(results, width));
    }
    case Flops::convolution: return convolution_flops(p_, d, operand(c, i, 0), operand(c, i, 1), i.shape);
    case Flops::library: return 0;  // counted beside
    case Flops::reduce: return multiply_bytes(once(0), less(elements_of(0), results));
    case Flops::window: return multiply_bytes(once(0), multiply_bytes(results, less(window_size(d), 1)));
    case Flops::select_scatter:
      return add_bytes(multiply_bytes(once(0), multiply_bytes(elements_of(1), less(window_size(d), 1))),
                       multiply_bytes(once(1), elements_of(1)));
    case Flops::scatter: return multiply_bytes(once(0), elements_of(i.operands.size() / 2 + 1));
    case Flops::map: return multiply_bytes(once(0), results);
    case Flops::fft: {
      uint64_t factor = 1;
      for (const int64_t length : p_.dims(d.fft_length))
        factor = multiply_bytes(factor, log2_floor(static_cast<uint64_t>(length)));
      return multiply_bytes(8, multiply_bytes(factor, elements_of(0)));
    }
    case Flops::triangular_solve: return multiply_bytes(2, multiply_bytes(last_dim(operand(c, i, 0)), elements_of(1)));
    case Flops::cholesky: return multiply_bytes(last_dim(operand(c, i, 0)), elements_of(0)) / 3;
    case Flops::sort: return multiply_bytes(elements_of(0), log2_ceiling(elements_of(0)));
    case Flops::called: return called(i, &Work::flops);
  }
  return 0;
}

uint64_t ProgramWork::bytes(const Computation& c, const Instruction& i) const {
  const auto operand_bytes = [&](uint32_t from) {
    uint64_t sum = 0;
    for (uint32_t n = from; n < i.operands.size(); ++n) sum = add_bytes(sum, p_.bytes_of(operand(c, i, n)));
    return sum;
  };
  switch (i.row ? i.row->bytes : Bytes::all) {
    case Bytes::none: return 0;
    case Bytes::all: return add_bytes(p_.bytes_of(i.shape), operand_bytes(0));
    case Bytes::slice: return add_bytes(multiply_bytes(2, p_.bytes_of(i.shape)), operand_bytes(1));
    case Bytes::update: return add_bytes(multiply_bytes(2, p_.bytes_of(operand(c, i, 1))), operand_bytes(2));
    case Bytes::scatter: {
      const uint32_t updates = i.operands.size() / 2 + 1;
      return add_bytes(multiply_bytes(3, operand_bytes(updates)), p_.bytes_of(operand(c, i, updates - 1)));
    }
    case Bytes::called: break;
  }
  return i.kind() == Kind::work ? fusion_bytes(i) : called(i, &Work::bytes);
}

uint64_t ProgramWork::fusion_bytes(const Instruction& i) const {
  constexpr uint64_t kMostImmediate = 8;  ///< elements of a constant that is part of the code
  if (i.called.size() == 0) return p_.bytes_of(i.shape);
  const uint32_t callee = p_.links[i.called.begin];
  const Computation& fused = p_.computations[callee];
  uint64_t sum = 0;
  for (const uint64_t read : reads_[callee]) sum = add_bytes(sum, read);
  for (const Instruction& part : fused.instructions)
    if (part.opcode == "constant" && p_.elements(part.shape) > kMostImmediate)
      sum = add_bytes(sum, p_.bytes_of(part.shape));
  const auto written = [&](const Instruction& result) {
    const bool updates = result.opcode == "dynamic-update-slice";
    return p_.bytes_of(updates ? operand(fused, result, 1) : result.shape);
  };
  const Instruction& root = fused.instructions[fused.root];
  if (root.opcode != "tuple") return add_bytes(sum, written(root));
  for (const uint32_t part : p_.linked(root.operands)) sum = add_bytes(sum, written(fused.instructions[part]));
  return sum;
}

/// Bytes that a computation reads of each parameter: slices alone read a part, all other users together the whole once.
std::vector<uint64_t> ProgramWork::reads_of_parameters(uint32_t computation) const {
  const Computation& c = p_.computations[computation];
  std::vector<uint64_t> reads;  // by instruction
  std::vector<uint8_t> whole(c.instructions.size(), 0);
  reads.assign(c.instructions.size(), 0);
  const auto is_parameter = [&](uint32_t row) { return c.instructions[row].opcode == "parameter"; };
  for (const Instruction& user : c.instructions) {
    const auto operands = p_.linked(user.operands);
    for (size_t n = 0; n < operands.size(); ++n) {
      const uint32_t row = operands[n];
      if (!is_parameter(row)) continue;
      if (user.opcode == "slice" || (user.opcode == "dynamic-slice" && n == 0)) {
        reads[row] = add_bytes(reads[row], p_.bytes_of(user.shape));
      } else if (user.opcode == "dynamic-update-slice" && n == 0) {
        continue;  // the result takes its place
      } else if (user.opcode == "fusion" && user.called.size() > 0) {
        const std::vector<uint64_t>& inner = reads_[p_.links[user.called.begin]];
        if (n < inner.size()) reads[row] = add_bytes(reads[row], inner[n]);
      } else if (!whole[row]) {
        whole[row] = 1;
        reads[row] = add_bytes(reads[row], p_.bytes_of(c.instructions[row].shape));
      }
    }
  }
  std::vector<uint64_t> by_parameter;
  for (size_t row = 0; row < c.instructions.size(); ++row) {
    const Instruction& i = c.instructions[row];
    if (i.opcode != "parameter" || i.number < 0 || i.number >= static_cast<int64_t>(c.instructions.size())) continue;
    const auto number = static_cast<size_t>(i.number);
    if (by_parameter.size() <= number) by_parameter.resize(number + 1, 0);
    by_parameter[number] = reads[row];
  }
  return by_parameter;
}

}  // namespace chakra::xla
