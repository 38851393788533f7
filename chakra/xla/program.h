// A compiled program of XLA (HloProto) in memory: computations of instructions, in flat arrays that views of the file's
// bytes share. Inside the room. The numbers of the fields are those of openxla/xla's hlo.proto and xla_data.proto.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/xla/opcodes.h"
#include "chakra/xla/xla.h"

namespace chakra::xla {

inline constexpr uint32_t kNone = UINT32_MAX;
inline constexpr int64_t kMostDevices = 1 << 20;  ///< of a program

struct Range {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
};

struct Shape {
  uint8_t type = 0;  ///< a PrimitiveType
  Range dims;        ///< in Program::numbers
  Range parts;       ///< of a tuple, in Program::shapes
};
inline constexpr uint8_t kTuple = 13;

struct WindowDim {
  int64_t size = 0, stride = 1, low = 0, high = 0, dilation = 1, base_dilation = 1;
};

/// Which devices communicate, in one of four forms.
struct Groups {
  std::vector<std::vector<int64_t>> lists;
  /// 0, 1, 2 and so on as an array of these sizes, with its dimensions in this order.
  struct Devices {
    std::vector<int64_t> dims, order;
  };
  struct Iota {
    int64_t groups = 0, members = 0;
    Devices devices;
  } iota;
  struct Mesh {
    struct Axis {
      int64_t axis = 0, before = 1, size = 0;  ///< size 0: the whole axis
    };
    std::vector<int64_t> sizes;
    std::vector<int64_t> devices;  ///< none: as `reordered`, or in order
    Devices reordered;
    std::vector<Axis> axes;
  } mesh;
  bool is_iota = false, is_mesh = false;
};

/// Fields that few instructions have.
struct Detail {
  Range contracting;  ///< dimensions of the left operand, in Program::numbers
  Range fft_length;   ///< in Program::numbers
  std::vector<WindowDim> window;
  int64_t input_batch = 0, input_feature = 0, output_feature = 0;
  Range input_spatial, kernel_spatial, output_spatial;  ///< in Program::numbers
  int64_t feature_groups = 1, batch_groups = 1;
  int64_t channel = 0;
  bool global_ids = false;
  Groups groups;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::string_view target;  ///< of a custom call
  std::string_view config;  ///< of a custom call: JSON for the library
  int64_t trips = -1;       ///< of a loop; -1: unknown
};

struct Instruction {
  std::string_view name, opcode, op_name;
  const OpcodeRow* row = nullptr;  ///< null: an unknown opcode
  int64_t id = 0;
  Shape shape;
  Range operands, controls;  ///< in Program::links: instructions of the computation
  Range called;              ///< in Program::links: computations
  int64_t number = 0;        ///< of a parameter; the index of get-tuple-element
  uint32_t detail = kNone;   ///< in Program::details

  Kind kind() const { return row ? row->kind : Kind::work; }
};

struct Computation {
  std::string_view name;
  int64_t id = 0, root_id = 0;
  uint32_t root = 0;                      ///< in instructions
  std::vector<Instruction> instructions;  ///< operands first
  std::vector<uint32_t> order;            ///< as scheduled; empty: as listed
};

struct Program {
  std::shared_ptr<const std::string> bytes;  ///< the views' text
  std::string file;
  std::string_view name;
  int64_t id = 0;
  std::vector<Computation> computations;  ///< callees first
  uint32_t entry = 0;
  int64_t replicas = 0, partitions = 0;  ///< 0: unknown
  std::vector<int64_t> devices;          ///< by replica * partitions + partition; empty: the same numbers
  std::vector<int64_t> numbers;
  std::vector<uint32_t> links;
  std::vector<Shape> shapes;
  std::vector<Detail> details;
  Memory memory;
  bool has_bounds = false;  ///< of sizes that are known at run time: dims has the bounds
  UnknownParts unknown;
  std::vector<std::shared_ptr<const std::string>> kept_texts;  ///< that views refer to and the file has in another form

  const Detail& detail(const Instruction& i) const {
    static const Detail kEmpty;
    return i.detail == kNone ? kEmpty : details[i.detail];
  }
  std::span<const int64_t> dims(Range range) const { return {numbers.data() + range.begin, range.size()}; }
  std::span<const uint32_t> linked(Range range) const { return {links.data() + range.begin, range.size()}; }
  uint64_t elements(const Shape& shape) const;  ///< of an array; saturated
  uint64_t bytes_of(const Shape& shape) const;  ///< of all arrays in it; saturated
  int64_t device_count() const { return replicas * partitions; }
  int64_t device(int64_t logical) const { return devices.empty() ? logical : devices[static_cast<size_t>(logical)]; }
};

/// Return the element type of results: of an array, or of the first array of a tuple.
trace::DType dtype_of(const Program& program, const Shape& shape);
std::string_view type_name(uint8_t primitive_type);  ///< "f32"; "" for an unknown type
uint8_t primitive_type(std::string_view type_name);  ///< 0: unknown
/// Return the number of a type if it is known, else count the number and return 0.
uint8_t known_type(int64_t primitive_type, UnknownParts& unknown);
/// Whether no size is negative, and the shape has at most 2^60 elements.
bool is_possible(std::span<const int64_t> dims);
inline constexpr std::string_view kUnbounded =
    "a size is known at run time only and has no bound; compile the program for fixed sizes";
inline constexpr std::string_view kImpossible = "a shape has a negative size or more than 2^60 elements";

/// Read an HloProto. Errors: xla.program.damaged, .empty, .reference, .deep. Cost: O(bytes).
Result<Program> parse_program(std::shared_ptr<const std::string> bytes, const std::string& file);
/// Read a part of `bytes`.
Result<Program> parse_program(std::shared_ptr<const std::string> bytes, std::string_view part, const std::string& file);
/// Read HLO as text. Errors: xla.program.text, .empty, .reference, .deep, .shape, .devices. Cost: O(bytes).
Result<Program> parse_text(std::shared_ptr<const std::string> bytes, const std::string& file);

/// Read the buffer assignment (field 3 of HloProto) into `program.memory`. Throws protozero::exception.
Result<void> parse_memory(std::string_view part, Program& program);

/// Return the logical devices of each group that an instruction describes.
/// Errors: xla.groups. Cost: O(devices).
Result<std::vector<std::vector<int64_t>>> groups_of(const Program& program, const Instruction& instruction);
/// Return the pairs of logical devices of a permute, a send or a receive. Errors: xla.groups.
Result<std::vector<std::pair<int64_t, int64_t>>> pairs_of(const Program& program, const Instruction& instruction);
/// Set replicas and partitions where the program does not have them, from the numbers in its groups and pairs.
Result<void> settle_devices(Program& program);

}  // namespace chakra::xla
