// The fields that few instructions have -> Detail.
#include "chakra/xla/read_detail.h"

#include <algorithm>

#include "chakra/xla/wire.h"

namespace chakra::xla {

using protozero::pbf_reader;

Range numbers_of(pbf_reader& reader, Program& p) {
  const auto begin = static_cast<uint32_t>(p.numbers.size());
  read_numbers(reader, p.numbers);
  return {begin, static_cast<uint32_t>(p.numbers.size())};
}

Detail& detail_of(Instruction& i, Program& p) {
  if (i.detail == kNone) {
    i.detail = static_cast<uint32_t>(p.details.size());
    p.details.emplace_back();
  }
  return p.details[i.detail];
}

int64_t trip_count(std::string_view config) {
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

namespace {

void window(pbf_reader reader, Detail& d) {
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

void convolution(pbf_reader reader, Detail& d, Program& p) {
  while (reader.next()) {
    switch (reader.tag()) {
      case 7: d.input_batch = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
      case 8: d.input_feature = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
      case 10: d.output_feature = is_varint(reader) ? reader.get_int64() : (reader.skip(), 0); break;
      case 11: d.input_spatial = numbers_of(reader, p); break;
      case 6: d.kernel_spatial = numbers_of(reader, p); break;
      case 12: d.output_spatial = numbers_of(reader, p); break;
      default: reader.skip();
    }
  }
}

void dot(pbf_reader reader, Detail& d, Program& p) {
  while (reader.next())
    if (reader.tag() == 1) d.contracting = numbers_of(reader, p);
    else reader.skip();
}

void replica_group(pbf_reader reader, Groups& groups) {
  groups.lists.emplace_back();
  while (reader.next())
    if (reader.tag() == 1) read_numbers(reader, groups.lists.back());
    else reader.skip();
}
void iota(pbf_reader reader, Groups& groups) {
  groups.is_iota = true;
  while (reader.next()) {
    if (reader.tag() == 1 && is_varint(reader)) groups.iota.groups = reader.get_int64();
    else if (reader.tag() == 2 && is_varint(reader)) groups.iota.members = reader.get_int64();
    else if (reader.tag() == 3) read_numbers(reader, groups.iota.devices.dims);
    else if (reader.tag() == 4) read_numbers(reader, groups.iota.devices.order);
    else reader.skip();
  }
}
void device_list(pbf_reader reader, Groups& groups) {
  while (reader.next())
    if (reader.tag() == 1 && is_text(reader)) replica_group(reader.get_message(), groups);
    else if (reader.tag() == 2 && is_text(reader)) iota(reader.get_message(), groups);
    else reader.skip();
}
void axis(pbf_reader reader, Groups::Mesh::Axis& axis) {
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

void mesh(pbf_reader reader, Groups::Mesh& mesh, UnknownParts& unknown) {
  while (reader.next()) {
    if (reader.tag() == 2) read_numbers(reader, mesh.devices);
    else if (reader.tag() == 1 && is_text(reader)) {
      mesh.sizes.push_back(0);
      for (pbf_reader axis = reader.get_message(); axis.next();)
        if (axis.tag() == 2 && is_varint(axis)) mesh.sizes.back() = axis.get_int64();
        else axis.skip();
    } else if (reader.tag() == 3 && is_text(reader)) {
      for (pbf_reader fields = reader.get_message(); fields.next();)
        if (fields.tag() == 1) read_numbers(fields, mesh.reordered.dims);
        else if (fields.tag() == 2) read_numbers(fields, mesh.reordered.order);
        else skip(fields, "the devices of a mesh", unknown);
    } else skip(reader, "MeshProto", unknown);
  }
}
void mesh_groups(pbf_reader reader, Groups& groups, UnknownParts& unknown) {
  groups.is_mesh = true;
  while (reader.next()) {
    if (reader.tag() == 1 && is_text(reader)) mesh(reader.get_message(), groups.mesh, unknown);
    else if (reader.tag() == 2 && is_text(reader)) axis(reader.get_message(), groups.mesh.axes.emplace_back());
    else skip(reader, "MeshAxesReplicaGroupListProto", unknown);
  }
}
void pair(pbf_reader reader, Detail& d) {
  auto& [source, target] = d.pairs.emplace_back(0, 0);
  while (reader.next())
    if (reader.tag() == 1 && is_varint(reader)) source = reader.get_int64();
    else if (reader.tag() == 2 && is_varint(reader)) target = reader.get_int64();
    else reader.skip();
}

/// Sends and receives between devices have their pairs in an attribute: "{{0,1},{1,2}}".
void frontend(pbf_reader reader, Instruction& i, Program& p) {
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
    for (size_t n = 0; n + 1 < all.size(); n += 2) detail_of(i, p).pairs.emplace_back(all[n], all[n + 1]);
  }
}

}  // namespace

void read_detail(pbf_reader& reader, Instruction& i, Program& p) {
  const bool text = is_text(reader), number = is_varint(reader);
  switch (const uint32_t field = reader.tag(); field) {
    case 15: text ? window(reader.get_message(), detail_of(i, p)) : reader.skip(); break;
    case 16: text ? convolution(reader.get_message(), detail_of(i, p), p) : reader.skip(); break;
    case 26: detail_of(i, p).channel = number ? reader.get_int64() : (reader.skip(), 0); break;
    case 28: detail_of(i, p).target = text ? view(reader.get_view()) : (reader.skip(), std::string_view()); break;
    case 30: text ? dot(reader.get_message(), detail_of(i, p), p) : reader.skip(); break;
    case 90:
      if (!text) reader.skip();
      else
        for (pbf_reader ragged = reader.get_message(); ragged.next();)
          if (ragged.tag() == 1 && is_text(ragged)) dot(ragged.get_message(), detail_of(i, p), p);
          else ragged.skip();
      break;
    case 32: detail_of(i, p).fft_length = numbers_of(reader, p); break;
    case 50:
      detail_of(i, p).feature_groups = number ? std::max<int64_t>(1, reader.get_int64()) : (reader.skip(), 1);
      break;
    case 58:
      detail_of(i, p).batch_groups = number ? std::max<int64_t>(1, reader.get_int64()) : (reader.skip(), 1);
      break;
    case 71: detail_of(i, p).global_ids = number ? reader.get_bool() : (reader.skip(), false); break;
    case 49: text ? replica_group(reader.get_message(), detail_of(i, p).groups) : reader.skip(); break;
    case 52: text ? pair(reader.get_message(), detail_of(i, p)) : reader.skip(); break;
    case 68: text ? frontend(reader.get_message(), i, p) : reader.skip(); break;
    case 87: text ? device_list(reader.get_message(), detail_of(i, p).groups) : reader.skip(); break;
    case 92: text ? iota(reader.get_message(), detail_of(i, p).groups) : reader.skip(); break;
    case 93: text ? mesh_groups(reader.get_message(), detail_of(i, p).groups, p.unknown) : reader.skip(); break;
    default:
      if (field <= 93) reader.skip();
      else skip(reader, "HloInstructionProto", p.unknown);
  }
}

}  // namespace chakra::xla
