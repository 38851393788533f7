// HloProto -> Program.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>

#include "chakra/xla/program.h"
#include "chakra/xla/wire.h"

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

class Reader {
 public:
  Reader(Program& program, std::string_view bytes) : p_(program), bytes_(bytes), at_(bytes.data()) {}

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
    absl::flat_hash_map<int64_t, std::vector<int64_t>> schedule;
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
    return link(entry, schedule);
  }

  static void read_schedule(pbf_reader reader, absl::flat_hash_map<int64_t, std::vector<int64_t>>& schedule) {
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

  Detail& detail(Instruction& i) {
    if (i.detail == kNone) {
      i.detail = static_cast<uint32_t>(p_.details.size());
      p_.details.emplace_back();
    }
    return p_.details[i.detail];
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
        default: CHAKRA_TRY(rare(reader, i));
      }
    }
    i.row = find_opcode(i.opcode);
    if (i.kind() == Kind::loop) detail(i).trips = trip_count(config);
    i.operands = keep(operands_), i.controls = keep(controls_), i.called = keep(called_);
    return {};
  }

  Result<void> rare(pbf_reader& reader, Instruction& i) {
    const bool text = is_text(reader), number = is_varint(reader);
    switch (const uint32_t field = reader.tag(); field) {
      case 15: text ? window(reader.get_message(), detail(i)) : reader.skip(); break;
      case 16: text ? convolution(reader.get_message(), detail(i)) : reader.skip(); break;
      case 26: detail(i).channel = number ? reader.get_int64() : (reader.skip(), 0); break;
      case 28: detail(i).target = text ? view(reader.get_view()) : skipped(reader); break;
      case 30: text ? dot(reader.get_message(), detail(i)) : reader.skip(); break;
      case 90:
        if (!text) reader.skip();
        else
          for (pbf_reader ragged = reader.get_message(); ragged.next();)
            if (ragged.tag() == 1 && is_text(ragged)) dot(ragged.get_message(), detail(i));
            else ragged.skip();
        break;
      case 32: detail(i).fft_length = numbers(reader); break;
      case 50: detail(i).feature_groups = number ? std::max<int64_t>(1, reader.get_int64()) : (reader.skip(), 1); break;
      case 58: detail(i).batch_groups = number ? std::max<int64_t>(1, reader.get_int64()) : (reader.skip(), 1); break;
      case 71: detail(i).global_ids = number ? reader.get_bool() : (reader.skip(), false); break;
      case 49: text ? replica_group(reader.get_message(), detail(i).groups) : reader.skip(); break;
      case 52: text ? pair(reader.get_message(), detail(i)) : reader.skip(); break;
      case 68: text ? frontend(reader.get_message(), i) : reader.skip(); break;
      case 87: text ? device_list(reader.get_message(), detail(i).groups) : reader.skip(); break;
      case 92: text ? iota(reader.get_message(), detail(i).groups) : reader.skip(); break;
      case 93: text ? mesh(reader.get_message(), detail(i).groups) : reader.skip(); break;
      default:
        if (field <= 93) reader.skip();
        else skip(reader, "HloInstructionProto", p_.unknown);
    }
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
      if (reader.tag() == 2 && is_varint(reader)) shape.type = static_cast<uint8_t>(reader.get_int32());
      else if (reader.tag() == 3) shape.dims = numbers(reader);
      else if (reader.tag() == 4 && is_text(reader)) {
        parts.emplace_back();
        CHAKRA_TRY(this->shape(reader.get_message(), parts.back(), depth + 1));
      } else if (reader.tag() <= 6) reader.skip();
      else skip(reader, "ShapeProto", p_.unknown);
    }
    for (const int64_t dim : p_.dims(shape.dims))
      if (dim < 0) return failure("xla.program.shape", "a shape has a negative size");
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

  static void window(pbf_reader reader, Detail& d) {
    while (reader.next()) {
      if (reader.tag() != 1 || !is_text(reader)) {
        reader.skip();
        continue;
      }
      WindowDim& dim = d.window.emplace_back();
      for (pbf_reader fields = reader.get_message(); fields.next();) {
        if (!is_varint(fields)) fields.skip();
        else {
          const uint32_t field = fields.tag();
          const int64_t value = fields.get_int64();
          if (field == 1) dim.size = value;
          else if (field == 2) dim.stride = value;
          else if (field == 3) dim.low = value;
          else if (field == 4) dim.high = value;
          else if (field == 5) dim.dilation = value;
          else if (field == 6) dim.base_dilation = std::max<int64_t>(1, value);
        }
      }
    }
  }

  void convolution(pbf_reader reader, Detail& d) {
    while (reader.next()) {
      switch (reader.tag()) {
        case 7: d.input_batch = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 8: d.input_feature = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 10: d.output_feature = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
        case 11: d.input_spatial = numbers(reader); break;
        case 6: d.kernel_spatial = numbers(reader); break;
        case 12: d.output_spatial = numbers(reader); break;
        default: reader.skip();
      }
    }
  }

  void dot(pbf_reader reader, Detail& d) {
    while (reader.next())
      if (reader.tag() == 1) d.contracting = numbers(reader);
      else reader.skip();
  }

  static void replica_group(pbf_reader reader, Groups& groups) {
    groups.lists.emplace_back();
    while (reader.next())
      if (reader.tag() == 1) read_numbers(reader, groups.lists.back());
      else reader.skip();
  }
  static void device_list(pbf_reader reader, Groups& groups) {
    while (reader.next())
      if (reader.tag() == 1 && is_text(reader)) replica_group(reader.get_message(), groups);
      else if (reader.tag() == 2 && is_text(reader)) iota(reader.get_message(), groups);
      else reader.skip();
  }
  static void iota(pbf_reader reader, Groups& groups) {
    groups.is_iota = true;
    while (reader.next()) {
      if (reader.tag() == 1 && is_varint(reader)) groups.iota.groups = reader.get_int64();
      else if (reader.tag() == 2 && is_varint(reader)) groups.iota.members = reader.get_int64();
      else if (reader.tag() == 3) read_numbers(reader, groups.iota.dims);
      else if (reader.tag() == 4) read_numbers(reader, groups.iota.order);
      else reader.skip();
    }
  }
  static void mesh(pbf_reader reader, Groups& groups) {
    groups.is_mesh = true;
    while (reader.next()) {
      if (reader.tag() == 1 && is_text(reader)) {
        for (pbf_reader fields = reader.get_message(); fields.next();) {
          if (fields.tag() == 2) read_numbers(fields, groups.mesh.devices);
          else if (fields.tag() == 1 && is_text(fields)) {
            groups.mesh.sizes.push_back(0);
            for (pbf_reader axis = fields.get_message(); axis.next();)
              if (axis.tag() == 2 && is_varint(axis)) groups.mesh.sizes.back() = axis.get_int64();
              else axis.skip();
          } else fields.skip();
        }
      } else if (reader.tag() == 2 && is_text(reader)) axis(reader.get_message(), groups.mesh.axes.emplace_back());
      else reader.skip();
    }
  }
  static void axis(pbf_reader reader, Groups::Mesh::Axis& axis) {
    while (reader.next()) {
      if (reader.tag() == 1 && is_varint(reader)) axis.axis = reader.get_int64();
      else if (reader.tag() == 2 && is_text(reader)) {
        for (pbf_reader part = reader.get_message(); part.next();)
          if (part.tag() == 1 && is_varint(part)) axis.before = part.get_int64();
          else if (part.tag() == 2 && is_varint(part)) axis.size = part.get_int64();
          else part.skip();
      } else reader.skip();
    }
  }

  static void pair(pbf_reader reader, Detail& d) {
    auto& [source, target] = d.pairs.emplace_back(0, 0);
    while (reader.next())
      if (reader.tag() == 1 && is_varint(reader)) source = reader.get_int64();
      else if (reader.tag() == 2 && is_varint(reader)) target = reader.get_int64();
      else reader.skip();
  }

  /// Sends and receives between devices have their pairs in an attribute: "{{0,1},{1,2}}".
  void frontend(pbf_reader reader, Instruction& i) {
    while (reader.next()) {
      if (reader.tag() != 1 || !is_text(reader)) {
        reader.skip();
        continue;
      }
      std::string_view key, value;
      for (pbf_reader entry = reader.get_message(); entry.next();)
        if (entry.tag() == 1 && is_text(entry)) key = view(entry.get_view());
        else if (entry.tag() == 2 && is_text(entry)) value = view(entry.get_view());
        else entry.skip();
      if (key != "_xla_send_recv_source_target_pairs") continue;
      std::vector<int64_t> all;
      for (size_t at = 0; (at = value.find_first_of("0123456789", at)) != std::string_view::npos;) {
        const size_t end = std::min(value.find_first_not_of("0123456789", at), value.size());
        int64_t number = -1;
        if (!parse_integer(value.substr(at, end - at), number)) number = -1;
        all.push_back(number);
        at = end;
      }
      for (size_t n = 0; n + 1 < all.size(); n += 2) detail(i).pairs.emplace_back(all[n], all[n + 1]);
    }
  }

  /// {"known_trip_count":{"n":"4"},...}
  static int64_t trip_count(std::string_view config) {
    const size_t at = config.find("\"known_trip_count\"");
    if (at == std::string_view::npos) return -1;
    const size_t key = config.find("\"n\"", at);
    if (key == std::string_view::npos) return -1;
    const size_t begin = config.find_first_of("0123456789", key);
    if (begin == std::string_view::npos) return -1;
    int64_t trips = -1;
    const size_t end = std::min(config.find_first_not_of("0123456789", begin), config.size());
    return parse_integer(config.substr(begin, end - begin), trips) ? trips : -1;
  }

  Range numbers(pbf_reader& reader) {
    const auto begin = static_cast<uint32_t>(p_.numbers.size());
    read_numbers(reader, p_.numbers);
    return {begin, static_cast<uint32_t>(p_.numbers.size())};
  }
  /// Ids, kept until all instructions and computations are known.
  Range keep(const std::vector<int64_t>& ids) {
    const auto begin = static_cast<uint32_t>(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return {begin, static_cast<uint32_t>(ids_.size())};
  }

  Failure failure(std::string tag, std::string text) const {
    return fail(Code::bad_input, std::move(tag), std::move(text), {p_.file, offset()});
  }
  Failure dangling(const Computation& c, std::string_view kind, std::string_view name) const {
    return failure("xla.program.reference",
                   fmt::format("{} in computation {} refers to {}", quote(name), quote(c.name), kind));
  }

  /// Ids -> rows.
  Result<void> link(int64_t entry, const absl::flat_hash_map<int64_t, std::vector<int64_t>>& schedule) {
    if (p_.computations.empty()) return failure("xla.program.empty", "the program has no computations");
    absl::flat_hash_map<int64_t, uint32_t> computation_of;
    for (size_t c = 0; c < p_.computations.size(); ++c)
      if (!computation_of.emplace(p_.computations[c].id, static_cast<uint32_t>(c)).second)
        return failure("xla.program.reference", "two computations have the same id");
    p_.links.assign(ids_.size(), 0);
    absl::flat_hash_map<int64_t, uint32_t> row_of;
    for (size_t c = 0; c < p_.computations.size(); ++c) {
      Computation& of = p_.computations[c];
      row_of.clear();
      for (size_t row = 0; row < of.instructions.size(); ++row) {
        const Instruction& i = of.instructions[row];
        for (const Range range : {i.operands, i.controls})
          for (uint32_t at = range.begin; at < range.end; ++at) {
            const auto found = row_of.find(ids_[at]);
            if (found == row_of.end()) return dangling(of, "an instruction that does not precede it", i.name);
            p_.links[at] = found->second;
          }
        for (uint32_t at = i.called.begin; at < i.called.end; ++at) {
          const auto found = computation_of.find(ids_[at]);
          if (found == computation_of.end() || found->second >= c)
            return dangling(of, "a computation that does not precede its own", i.name);
          p_.links[at] = found->second;
        }
        if (!row_of.emplace(i.id, static_cast<uint32_t>(row)).second) return dangling(of, "an id used twice", i.name);
      }
      const auto root = row_of.find(of.root_id);
      if (root == row_of.end()) return dangling(of, "no instruction as its root", of.name);
      of.root = root->second;
      if (const auto found = schedule.find(of.id); found != schedule.end())
        CHAKRA_TRY(order(of, found->second, row_of));
    }
    const auto found = computation_of.find(entry);
    if (found == computation_of.end()) return failure("xla.program.reference", "the entry computation is missing");
    p_.entry = found->second;
    return {};
  }

  Result<void> order(Computation& c, const std::vector<int64_t>& ids,
                     const absl::flat_hash_map<int64_t, uint32_t>& row_of) {
    std::vector<uint8_t> done(c.instructions.size(), 0);
    for (const int64_t id : ids) {
      const auto found = row_of.find(id);
      if (found == row_of.end() || done[found->second]) return dangling(c, "a schedule that is not an order", c.name);
      const Instruction& i = c.instructions[found->second];
      for (const Range range : {i.operands, i.controls})
        for (const uint32_t before : p_.linked(range))
          if (!done[before]) return dangling(c, "a schedule in which operands come late", i.name);
      done[found->second] = 1;
      c.order.push_back(found->second);
    }
    if (c.order.size() != c.instructions.size()) return dangling(c, "a schedule that is not complete", c.name);
    return {};
  }

  Program& p_;
  std::string_view bytes_;
  const char* at_;
  std::vector<int64_t> ids_, operands_, controls_, called_;
};

}  // namespace

Result<Program> parse_program(std::shared_ptr<const std::string> bytes, std::string_view part,
                              const std::string& file) {
  Program program;
  program.bytes = std::move(bytes);
  program.file = file;
  Reader reader(program, part);
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
