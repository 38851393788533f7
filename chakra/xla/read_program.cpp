// HloProto -> Program.
#include <fmt/core.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>

#include "chakra/xla/link_program.h"
#include "chakra/xla/read_detail.h"
#include "chakra/xla/wire.h"

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

class ProgramReader {
 public:
  ProgramReader(Program& program, std::string_view bytes) : p_(program), bytes_(bytes), at_(bytes.data()) {}

  Result<void> run() {
    for (pbf_reader proto(bytes_.data(), bytes_.size()); proto.next();) {
      at_ = proto.data().data();
      if (proto.tag() == 1 && is_text(proto)) CHAKRA_TRY(module(proto.get_message()));
      else if (proto.tag() == 3 && is_text(proto)) CHAKRA_TRY(parse_memory(view(proto.get_view()), p_));
      else skip(proto, "HloProto", p_.unknown);
    }
    return {};
  }
  int64_t offset() const { return at_ - p_.bytes->data(); }

 private:
  Result<void> module(pbf_reader reader) {
    Schedule schedule;
    int64_t entry = 0;
    while (reader.next()) {
      const uint32_t field = reader.tag();
      if (field == 1 && is_text(reader)) p_.name = view(reader.get_view());
      else if (field == 3 && is_text(reader)) CHAKRA_TRY(computation(reader.get_message()));
      else if (field == 5 && is_varint(reader)) p_.id = reader.get_int64();
      else if (field == 6 && is_varint(reader)) entry = reader.get_int64();
      else if (field == 7 && is_text(reader)) read_schedule(reader.get_message(), schedule);
      else if (field == 15 && is_text(reader)) CHAKRA_TRY(device_assignment(reader.get_message()));
      else if (field <= 19) reader.skip();
      else skip(reader, "HloModuleProto", p_.unknown);
    }
    return link_program(p_, ids_, entry, schedule, {p_.file, offset()});
  }

  static void read_schedule(pbf_reader reader, Schedule& schedule) {
    while (reader.next()) {
      if (reader.tag() != 1 || !is_text(reader)) {
        reader.skip();
        continue;
      }
      int64_t computation = 0;
      std::vector<int64_t> ids;
      for (pbf_reader entry = reader.get_message(); entry.next();) {
        if (entry.tag() == 1 && is_varint(entry)) computation = entry.get_int64();
        else if (entry.tag() == 2 && is_text(entry)) {
          for (pbf_reader sequence = entry.get_message(); sequence.next();)
            if (sequence.tag() == 1) read_numbers(sequence, ids);
            else sequence.skip();
        } else entry.skip();
      }
      schedule[computation] = std::move(ids);
    }
  }

  Result<void> device_assignment(pbf_reader reader) {
    int64_t replicas = 0, partitions = 0;
    std::vector<std::vector<int64_t>> of_partition;
    while (reader.next()) {
      if (reader.tag() == 1 && is_varint(reader)) replicas = reader.get_int32();
      else if (reader.tag() == 2 && is_varint(reader)) partitions = reader.get_int32();
      else if (reader.tag() == 3 && is_text(reader)) {
        of_partition.emplace_back();
        for (pbf_reader device = reader.get_message(); device.next();)
          if (device.tag() == 1) read_numbers(device, of_partition.back());
          else device.skip();
      } else skip(reader, "DeviceAssignmentProto", p_.unknown);
    }
    const auto wrong = [&] {
      return failure("xla.program.devices", "the device assignment is not a table of devices");
    };
    if (replicas < 1 || partitions < 1 || replicas > kMostDevices || partitions > kMostDevices / replicas)
      return wrong();
    if (of_partition.size() != static_cast<size_t>(partitions)) return wrong();
    p_.replicas = replicas, p_.partitions = partitions;
    p_.devices.assign(static_cast<size_t>(replicas * partitions), 0);
    for (int64_t partition = 0; partition < partitions; ++partition) {
      const std::vector<int64_t>& devices = of_partition[static_cast<size_t>(partition)];
      if (devices.size() != static_cast<size_t>(replicas)) return wrong();
      for (int64_t r = 0; r < replicas; ++r)
        p_.devices[static_cast<size_t>(r * partitions + partition)] = devices[static_cast<size_t>(r)];
    }
    std::vector<int64_t> sorted = p_.devices;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.front() < 0 || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return wrong();
    return {};
  }

  Result<void> computation(pbf_reader reader) {
    Computation c;
    while (reader.next()) {
      const uint32_t field = reader.tag();
      at_ = reader.data().data();
      if (field == 1 && is_text(reader)) c.name = view(reader.get_view());
      else if (field == 2 && is_text(reader)) {
        c.instructions.emplace_back();
        CHAKRA_TRY(instruction(reader.get_message(), c.instructions.back()));
      } else if (field == 5 && is_varint(reader)) c.id = reader.get_int64();
      else if (field == 6 && is_varint(reader)) c.root_id = reader.get_int64();
      else if (field <= 8) reader.skip();
      else skip(reader, "HloComputationProto", p_.unknown);
    }
    if (c.instructions.empty()) return failure("xla.program.empty", "a computation has no instructions");
    p_.computations.push_back(std::move(c));
    return {};
  }

  Result<void> instruction(pbf_reader reader, Instruction& i) {
    operands_.clear(), controls_.clear(), called_.clear();
    std::string_view config;
    while (reader.next()) {
      const bool text = is_text(reader);
      switch (reader.tag()) {
        case 1: i.name = text ? view(reader.get_view()) : skipped(reader); break;
        case 2: i.opcode = text ? view(reader.get_view()) : skipped(reader); break;
        case 3:
          if (!text) reader.skip();
          else CHAKRA_TRY(shape(reader.get_message(), i.shape, 0));
          break;
        case 7: text ? metadata(reader.get_message(), i) : reader.skip(); break;
        case 9:
        case 13: i.number = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 35: i.id = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 36: read_numbers(reader, operands_); break;
        case 37: read_numbers(reader, controls_); break;
        case 38: read_numbers(reader, called_); break;
        case 43: config = text ? view(reader.get_view()) : skipped(reader); break;
        default: read_detail(reader, i, p_);
      }
    }
    i.row = find_opcode(i.opcode);
    if (i.kind() == Kind::loop) detail_of(i, p_).trips = trip_count(config);
    if (i.opcode == "custom-call") detail_of(i, p_).config = config;
    i.operands = ids_.keep(operands_), i.controls = ids_.keep(controls_), i.called = ids_.keep(called_);
    return {};
  }

  static std::string_view skipped(pbf_reader& reader) {
    reader.skip();
    return {};
  }

  Result<void> shape(pbf_reader reader, Shape& shape, int depth) {
    constexpr int kMostDepth = 64;
    if (depth > kMostDepth) return failure("xla.program.deep", "a shape is nested too deeply");
    std::vector<Shape> parts;
    while (reader.next()) {
      if (reader.tag() == 2 && is_varint(reader)) shape.type = known_type(reader.get_int64(), p_.unknown);
      else if (reader.tag() == 3) shape.dims = numbers_of(reader, p_);
      else if (reader.tag() == 4 && is_text(reader)) {
        parts.emplace_back();
        CHAKRA_TRY(this->shape(reader.get_message(), parts.back(), depth + 1));
      } else if (reader.tag() == 6 && is_text(reader)) {
        const std::string_view dynamic = view(reader.get_view());
        p_.has_bounds |= dynamic.find('\1') != std::string_view::npos;
      } else if (reader.tag() <= 6) reader.skip();
      else skip(reader, "ShapeProto", p_.unknown);
    }
    const auto dims = p_.dims(shape.dims);
    if (std::find(dims.begin(), dims.end(), INT64_MIN) != dims.end())
      return failure("xla.program.shape", std::string(kUnbounded));
    if (!is_possible(dims)) return failure("xla.program.shape", std::string(kImpossible));
    if (parts.empty()) return {};
    shape.parts.begin = static_cast<uint32_t>(p_.shapes.size());
    p_.shapes.insert(p_.shapes.end(), parts.begin(), parts.end());
    shape.parts.end = static_cast<uint32_t>(p_.shapes.size());
    return {};
  }

  static void metadata(pbf_reader reader, Instruction& i) {
    while (reader.next())
      if (reader.tag() == 2 && is_text(reader)) i.op_name = view(reader.get_view());
      else reader.skip();
  }

  Failure failure(std::string tag, std::string text) const {
    return fail(Code::bad_input, std::move(tag), std::move(text), {p_.file, offset()});
  }
  Program& p_;
  std::string_view bytes_;
  const char* at_;
  Ids ids_;
  std::vector<int64_t> operands_, controls_, called_;
};

}  // namespace

Result<Program> parse_program(std::shared_ptr<const std::string> bytes, std::string_view part,
                              const std::string& file) {
  Program program;
  program.bytes = std::move(bytes);
  program.file = file;
  ProgramReader reader(program, part);
  try {
    CHAKRA_TRY(reader.run());
  } catch (const protozero::exception& error) {
    return fail(Code::bad_input, "xla.program.damaged",
                fmt::format("the program (HloProto) is cut or damaged ({})", error.what()), {file, reader.offset()});
  }
  if (program.computations.empty())
    return fail(Code::bad_input, "xla.program.empty", "the file has no HLO module", {file});
  return program;
}

Result<Program> parse_program(std::shared_ptr<const std::string> bytes, const std::string& file) {
  const std::string_view all = *bytes;
  return parse_program(std::move(bytes), all, file);
}

}  // namespace chakra::xla
