#include "chakra/xla/plane.h"

#include <utility>

namespace chakra::xla {

using protozero::pbf_reader;

namespace {

constexpr std::pair<std::string_view, Stat> kStats[] = {
    {"hlo_op", Stat::op},
    {"hlo_module", Stat::module},
    {"program_id", Stat::program},
    {"run_id", Stat::run},
    {"device_ordinal", Stat::device},
    {"Hlo Proto", Stat::proto},
    {"hlo_proto", Stat::proto},
    {"profile_start_time", Stat::start},
    {"jax_version", Stat::jax},
    {"process_id", Stat::process},
    {"step_num", Stat::step},
    {"correlation_id", Stat::correlation},
    {"_p", Stat::leads_to},
    {"_pt", Stat::leads_to_kind},
    {"_c", Stat::comes_from},
    {"_ct", Stat::comes_from_kind},
};

}  // namespace

Plane::Plane(pbf_reader reader, UnknownParts& unknown) {
  while (reader.next()) {
    const uint32_t field = reader.tag();
    if (field == 2 && is_text(reader)) name = view(reader.get_view());
    else if (field == 3 && is_text(reader)) lines.push_back(reader.get_view());
    else if (field == 4 && is_text(reader)) metadata.push_back(reader.get_view());
    else if (field == 5 && is_text(reader)) add_name(reader.get_message());
    else if (field == 6 && is_text(reader)) stats.push_back(reader.get_view());
    else if (field <= 6) reader.skip();
    else skip(reader, "XPlane", unknown);
  }
}

void Plane::add_name(pbf_reader entry) {
  int64_t id = 0;
  Name name;
  while (entry.next()) {
    if (entry.tag() == 1 && is_varint(entry)) id = entry.get_int64();
    else if (entry.tag() == 2 && is_text(entry)) {
      for (pbf_reader fields = entry.get_message(); fields.next();)
        if (fields.tag() == 2 && is_text(fields)) name.text = view(fields.get_view());
        else fields.skip();
    } else entry.skip();
  }
  for (const auto& [text, stat] : kStats)
    if (text == name.text) name.stat = stat;
  constexpr int64_t kMostDense = 1 << 16;
  if (id < 0 || id >= kMostDense) large_names_[id] = name;
  else {
    if (names_.size() <= static_cast<size_t>(id)) names_.resize(static_cast<size_t>(id) + 1);
    names_[static_cast<size_t>(id)] = name;
  }
}

const Plane::Name& Plane::name_of_large(int64_t id) const {
  static constinit const Name kNone;
  const auto found = large_names_.find(id);
  return found == large_names_.end() ? kNone : found->second;
}

Plane::Value Plane::read_any_stat(protozero::data_view bytes) const {
  Value value;
  for (pbf_reader reader(bytes); reader.next();) {
    switch (reader.tag()) {
      case 1:
        if (!is_varint(reader)) reader.skip();
        else value.stat = name_of(reader.get_int64()).stat;
        break;
      case 3:
      case 4:
        if (!is_varint(reader)) reader.skip();
        else value.number = reader.get_int64();
        break;
      case 5:
      case 6:
        if (!is_text(reader)) reader.skip();
        else value.text = view(reader.get_view());
        break;
      case 7:
        if (!is_varint(reader)) reader.skip();
        else value.text = name_of(reader.get_int64()).text;
        break;
      default: reader.skip();
    }
  }
  return value;
}

}  // namespace chakra::xla
