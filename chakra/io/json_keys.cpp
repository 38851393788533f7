#include "chakra/io/json_keys.h"

#include <array>
#include <deque>
#include <string>
#include <utility>

#include "chakra/base/text_map.h"
#include "chakra/io/records.h"

namespace chakra::io {
namespace {

constexpr std::array<std::pair<std::string_view, Key>, 19> kNames{{
    {"id", Key::id},
    {"name", Key::name},
    {"type", Key::type},
    {"ctrl_deps", Key::ctrl_deps},
    {"data_deps", Key::data_deps},
    {"start_time_micros", Key::start},
    {"duration_micros", Key::duration},
    {"inputs", Key::inputs},
    {"outputs", Key::outputs},
    {"attr", Key::attr},
    {"unknown_fields", Key::unknown_fields},
    {"version", Key::version},
    {"doc_string", Key::doc},
    {"values", Key::values},
    {"shapes", Key::shapes},
    {"types", Key::types},
    {"chakra_trace", Key::trace},
    {"chakra_nodes", Key::nodes},
    {"metadata", Key::metadata},
}};

}  // namespace

const TextMap<KeyRow>& json_keys() {
  static const TextMap<KeyRow> table = [] {
    static std::deque<std::string> names;  // the map holds views
    TextMap<KeyRow> map;
    const auto add = [&](std::string_view name, KeyRow row) {
      map.emplace(name, row);
      names.push_back(json_name(name));
      map.emplace(names.back(), row);
    };
    for (const auto& [name, key] : kNames) add(name, {key});
    for (uint32_t field = 3; field < schema::kMembers.size(); ++field)
      add(schema::kMembers[field].name, {Key::member, field});
    return map;
  }();
  return table;
}

}  // namespace chakra::io
