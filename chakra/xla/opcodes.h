// The opcodes of HLO: one row each, with the rule for nodes and the rule for FLOPs. Inside the room.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "chakra/trace/trace.h"

namespace chakra::xla {

/// How an instruction becomes nodes.
enum class Kind : uint8_t {
  work,         ///< a node
  value,        ///< no node: hands values on
  call,         ///< the called computation
  loop,         ///< body and condition
  conditional,  ///< one of several computations
  collective,   ///< a node that communicates, also the start of an asynchronous collective
  permute,      ///< messages between pairs
  send,
  recv,
  wrapped,  ///< async-start: the called computation
  done      ///< waits for its operand, which an asynchronous instruction started
};

inline bool communicates(Kind kind) {
  return kind == Kind::collective || kind == Kind::permute || kind == Kind::send || kind == Kind::recv;
}

/// How many FLOPs an instruction has: the rules of XLA's HloCostAnalysis.
enum class Flops : uint8_t {
  none,
  elements,          ///< one per element of the result
  parts,             ///< one per element of all results
  dot,               ///< 2 x elements x contracted
  convolution,       ///< 2 x multiplications whose input is not padding
  reduce,            ///< the called computation for each element that disappears
  window,            ///< the called computation, elements x (window - 1)
  select_scatter,    ///< select for each element of the window, scatter for each source
  scatter,           ///< the called computation for each update
  map,               ///< the called computation for each element
  fft,               ///< 8 x elements x log2 of each length
  triangular_solve,  ///< 2 x elements of b x width of a
  cholesky,          ///< elements x width / 3
  sort,              ///< elements x log2(elements)
  called,            ///< those of the called computation
  library            ///< by the target of a custom call; bytes too
};

/// Which bytes an instruction reads and writes, by the rules of the same analysis.
enum class Bytes : uint8_t {
  none,
  all,      ///< operands and results, once each
  slice,    ///< the result, read and written, and the indices
  update,   ///< the update, read and written, and the indices
  scatter,  ///< three times the updates, and the indices
  called    ///< what the called computation accesses; a fusion: parameters and results
};

struct OpcodeRow {
  std::string_view name;
  Kind kind = Kind::work;
  Flops flops = Flops::none;
  Bytes bytes = Bytes::all;
  trace::CommType comm = trace::CommType::unknown;  ///< of a collective
};
extern const std::span<const OpcodeRow> kOpcodes;

/// Return the row of an opcode; null if the opcode is unknown.
const OpcodeRow* find_opcode(std::string_view name);

}  // namespace chakra::xla
