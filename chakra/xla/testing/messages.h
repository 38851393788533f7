// Writes programs and profiles as protobuf messages, for tests and benchmarks.
#pragma once

#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace chakra::xla::testing {

using protozero::pbf_writer;
using Numbers = std::vector<int64_t>;

inline void packed(pbf_writer& to, uint32_t field, const Numbers& numbers) {
  to.add_packed_int64(field, numbers.begin(), numbers.end());
}

/// A shape of f32.
inline std::string shape(const Numbers& dims) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_int64(2, 11);
  packed(to, 3, dims);
  return bytes;
}

struct Op {
  std::string_view opcode;
  int64_t id = 0;
  Numbers dims;
  Numbers operands;
  Numbers called = {};
  std::string more = {};  ///< fields of HloInstructionProto
};
inline std::string instruction(const Op& op) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, std::string(op.opcode) + "." + std::to_string(op.id));
  to.add_string(2, op.opcode.data(), op.opcode.size());
  to.add_message(3, shape(op.dims));
  to.add_int64(35, op.id);
  packed(to, 36, op.operands);
  packed(to, 38, op.called);
  return bytes + op.more;
}
/// The last instruction is the root.
inline std::string computation(int64_t id, const std::vector<Op>& ops) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, "computation" + std::to_string(id));
  for (const Op& op : ops) to.add_message(2, instruction(op));
  to.add_int64(5, id);
  to.add_int64(6, ops.back().id);
  return bytes;
}
/// An HloProto. The last computation is the entry; `devices`: partitions, 0: no device assignment.
inline std::string program(const std::vector<std::string>& computations, int64_t entry, int64_t devices = 0,
                           const std::string& more = {}) {
  std::string module;
  pbf_writer to(module);
  to.add_string(1, "jit_f");
  to.add_string(2, "main");
  for (const std::string& computation : computations) to.add_message(3, computation);
  to.add_int64(5, 7);
  to.add_int64(6, entry);
  if (devices > 0) {
    std::string assignment;
    pbf_writer table(assignment);
    table.add_int64(1, 1);
    table.add_int64(2, devices);
    for (int64_t d = 0; d < devices; ++d) {
      std::string one;
      pbf_writer row(one);
      packed(row, 1, {d});
      table.add_message(3, one);
    }
    to.add_message(15, assignment);
  }
  std::string proto;
  pbf_writer(proto).add_message(1, module + more);
  return proto;
}

inline std::string field(uint32_t number, const std::string& message) {
  std::string bytes;
  pbf_writer(bytes).add_message(number, message);
  return bytes;
}
inline std::string number(uint32_t field, int64_t value) {
  std::string bytes;
  pbf_writer(bytes).add_int64(field, value);
  return bytes;
}
inline std::string list(uint32_t field, const Numbers& numbers) {
  std::string bytes;
  pbf_writer to(bytes);
  packed(to, field, numbers);
  return bytes;
}
inline std::string text(uint32_t field, std::string_view value) {
  std::string bytes;
  pbf_writer(bytes).add_string(field, value.data(), value.size());
  return bytes;
}

}  // namespace chakra::xla::testing
